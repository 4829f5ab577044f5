"""A lower bound of A(x) on each cell by a constant matrix, proved.

R with R A(x) Rᵀ ≥ I on K. With R₀ the inverse of a Cholesky factor of A at K's centre, as computed, the entries of
N(x) = R₀ A(x) R₀ᵀ are near those of I; by Gershgorin N ≥ g I with g = min_i (min N_ii − Σ_j max |N_ij|), and
R = R₀/√g. Where g is not positive the cell is cut, and the smallest eigenvalue bound of its parts counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import down, up
from pinnpoint.taylor.geometry import Simplices
from pinnpoint.taylor.inputs import ORDER, enclosed, fixed, models
from pinnpoint.taylor.minima import below, minimum
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.transfer.media.coefficients import Coefficients, matrix

DEPTH = {1: 8, 2: 5, 3: 3}
ENOUGH = 0.2
"""Cells with a smaller g are cut."""
CHUNK = 2048


@dataclass(frozen=True, eq=False)
class Metric:
    """R (C, d, d) and lower bounds α of A's eigenvalues (C,)."""

    R: Vector
    alpha: Vector

    __repr__ = brief

    @classmethod
    def of(cls, entries: Sequence[Sequence[Any]], given: Coefficients, vertices: Vector) -> Metric:
        """From the models of A's entries on the cells."""
        d, regions = vertices.shape[2], given.regions
        known = [None if isinstance(A, tuple) else fixed(A) for A in given.diffusion]
        # scalars that are numbers first: there may be as many as cells
        alpha = np.array([0.0 if k is None else k[0] if k[1] == 0.0 else down(k[0] - k[1], 1) for k in known])[regions]
        R = np.zeros((len(vertices), d, d))
        for r, A in enumerate(given.diffusion):
            cells = np.flatnonzero(regions == r) if known[r] is None else np.zeros(0, dtype=np.intp)
            if not cells.size:
                continue
            if isinstance(A, tuple):
                for a in range(0, len(cells), CHUNK):
                    some = cells[a : a + CHUNK]
                    R[some], alpha[some] = _bounded([[_some(p, some) for p in row] for row in entries])
                weak = cells[~(alpha[cells] > 0.0)]
                alpha[weak] = _cut(A, vertices[weak])
            elif enclosed(A):
                alpha[cells] = minimum(A, vertices[cells])
        _require(alpha, vertices, scalar=given.scalar)
        plain = ~R.any(axis=(1, 2))
        R[plain] = up(1.0 / down(np.sqrt(alpha[plain]), 2), 4)[:, None, None] * np.eye(d)  # varying.md, step 1a
        return cls(R, alpha)


def _some(piece: Any, cells: Index) -> TaylorModel:
    return TaylorModel(piece.space, np.ascontiguousarray(piece.C[:, cells]), piece.e[cells])


def _bounded(A: Sequence[Sequence[TaylorModel]]) -> tuple[Vector, Vector]:
    """R and α from models of A's entries; zero where this does not prove a bound worth having."""
    d, n = len(A), max(a.e.size for row in A for a in row)
    middle = np.empty((n, d, d))
    for i in range(d):
        for j in range(d):
            middle[:, i, j] = A[i][j].C[0] if i <= j else A[j][i].C[0]
    w, Q = np.linalg.eigh(middle)
    R = _short(np.swapaxes(Q, 1, 2) / np.sqrt(np.maximum(w, 1e-300))[:, :, None])
    low, off = np.full((d, n), np.inf), np.zeros((d, n))
    for i in range(d):
        for j in range(i, d):
            N = _congruent(A, R, i, j)
            if i == j:
                low[i] = below(N)[0]
            else:
                size = np.maximum(-below(N)[0], -below(-N)[0])
                off[i], off[j] = up(off[i] + size), up(off[j] + size)
    with np.errstate(invalid="ignore"):
        g = np.where(w[:, 0] > 0.0, down(low - off).min(axis=0), -1.0)
    good = g > ENOUGH
    t = _short(up(1.0 / down(np.sqrt(np.where(good, g, 1.0)), 2), 6) * (1.0 + 2.0**-22))
    R = R * t[:, None, None]  # exact, so that R A Rᵀ is t² N; varying.md, step 1a
    return np.where(good[:, None, None], R, 0.0), np.where(good, down(1.0 / _norm(R), 4), 0.0)  # varying.md, step 1b


def _short(x: Vector) -> Vector:
    """Numbers of 24 bits, whose products are exact, off by 2⁻²⁴ relatively."""
    with np.errstate(over="ignore"):
        return np.asarray(x.astype(np.float32).astype(np.float64))


def _congruent(A: Sequence[Sequence[TaylorModel]], R: Vector, i: int, j: int) -> TaylorModel:
    """The entry (i, j) of R A Rᵀ."""
    d, total = len(A), constant(0.0)
    for k in range(d):
        for m in range(d):
            total = total + A[k][m] * (constant(R[:, i, k]) * constant(R[:, j, m]))
    return total


def _norm(R: Vector) -> Vector:
    """Upper bounds of ‖R‖², the largest eigenvalue of RᵀR, by ‖M‖ ≤ ‖M^16‖_F^(1/16)."""
    M, size = np.swapaxes(R, 1, 2) @ R, np.swapaxes(np.abs(R), 1, 2) @ np.abs(R)
    scale = np.maximum(np.abs(size).max(axis=(1, 2)), 1e-300)
    M, size = M / scale[:, None, None], size / scale[:, None, None]
    for _ in range(4):
        M, size = M @ M, size @ size
    # 16 factors, each a sum of d products: off by less than 16 · 8 units of (|R|ᵀ|R|)^16, entry by entry
    slip = 1e-13 * np.sqrt((size * size).sum(axis=(1, 2)))
    return np.asarray(up((np.sqrt((M * M).sum(axis=(1, 2))) + slip) ** (1.0 / 16.0) * scale, 64))


def _cut(A: Any, vertices: Vector) -> Vector:
    """Lower bounds of A's eigenvalues from parts of cells."""
    d, N = vertices.shape[2], len(vertices)
    lower, owner = np.full(N, np.inf), np.arange(N)
    simplices = Simplices(vertices, np.zeros((N, d)))
    for level in range(DEPTH[d] + 1):
        alpha = np.empty(len(simplices))
        for a in range(0, len(simplices), CHUNK):
            part = simplices[a : a + CHUNK]
            M = [[_model(x, part) for x in row] for row in matrix(A, d)]
            alpha[a : a + CHUNK] = _bounded(M)[1]
        done = alpha > 0.0 if level < DEPTH[d] else np.ones(len(simplices), dtype=bool)
        np.minimum.at(lower, owner[done], alpha[done])
        if done.all():
            break
        left = np.flatnonzero(~done)
        owner, simplices = np.repeat(owner[left], 2**d), simplices[left].children()
    return lower


def _model(given: Any, simplices: Simplices) -> TaylorModel:
    known = fixed(given)
    if known is not None:
        return constant(np.full(len(simplices), known[0]), known[1])
    return models(given, simplices, ORDER[simplices.m])[0]


def _require(alpha: Vector, vertices: Vector, *, scalar: bool) -> None:
    """Refuse coefficients that are not proved positive."""
    worst = int(np.argmin(alpha))
    if not alpha[worst] > 0.0:
        where = [float(x) for x in np.round(vertices[worst].mean(axis=0), 6)]
        what = "must be > 0" if scalar else "must be positive definite"
        number = f"its lower bound is {alpha[worst]:.3e}" if scalar else "no lower bound of its eigenvalues is positive"
        raise InputError(f"diffusion: {what}; {number} near {where}; change the formula, or say target='discrete'")
