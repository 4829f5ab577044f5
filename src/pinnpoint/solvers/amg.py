"""Conjugate gradients with algebraic multigrid, set up by PyAMG (extra ``amg``), applied to blocks of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from pinnpoint.base.arrays import Matrix, Vector, is_symmetric
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.base.threads import CORES, on_all_cores
from pinnpoint.rounding.slices import rows_of_product
from pinnpoint.solvers.blocks import conjugate_gradients

COARSEST = 500
"""Unknowns of the coarsest level, which is inverted densely."""
DEGREE, SPREAD = 3, 12.0
"""Degree of the Chebyshev smoother, and the part of the spectrum it is made for: from 1/SPREAD of the top up."""
PROBE = 8
"""Iterations that are tried before multigrid is settled on."""
BLOCK = 16
ROWS = 4096
"""Rows of a block of vectors that are worked on at a time."""
STRENGTH = 0.08
"""Couplings weaker than this, relative to the diagonal, do not aggregate."""


@dataclass(frozen=True, eq=False)
class Level:
    """One matrix of the hierarchy, with the way down and the reciprocal diagonal."""

    A: Any
    P: Any
    R: Any
    scale: Vector
    top: float
    """Bound of the spectrum of diag(A)⁻¹A, estimated."""

    def smooth(self, X: Vector | None, B: Vector) -> Vector:
        """Chebyshev iteration in diag(A)⁻¹A; the same polynomial before and after keeps the cycle symmetric."""
        low, high = self.top / SPREAD, self.top
        middle, half = 0.5 * (high + low), 0.5 * (high - low)
        R, D, E, new = (np.empty_like(B) for _ in range(4))

        def begin(at: slice) -> None:
            R[at] = B[at] if X is None else B[at] - rows_of(self.A, X, at)
            D[at] = self.scale[at, None] * R[at] * B.dtype.type(1.0 / middle)
            new[at] = D[at] if X is None else X[at] + D[at]

        in_chunks(begin, len(B))
        rho = half / middle
        for _ in range(DEGREE - 1):
            after = 1.0 / (2.0 * middle / half - rho)
            old, fresh = B.dtype.type(after * rho), B.dtype.type(2.0 * after / half)

            def go_on(at: slice, D: Vector = D, E: Vector = E, old: Any = old, fresh: Any = fresh) -> None:
                R[at] -= rows_of(self.A, D, at)
                E[at] = old * D[at] + fresh * (self.scale[at, None] * R[at])
                new[at] += E[at]

            in_chunks(go_on, len(B))
            D, E, rho = E, D, after
        return new

    def restrict(self, X: Vector, B: Vector) -> Vector:
        """What X leaves of B, on the next level."""
        left = np.empty_like(B)

        def part(at: slice) -> None:
            left[at] = B[at] - rows_of(self.A, X, at)

        in_chunks(part, len(B))
        return product(self.R, left)


def in_chunks(work: Callable[[slice], None], count: int) -> None:
    """Rows in parts that stay in cache, on all cores."""
    on_all_cores(work, [slice(a, min(a + ROWS, count)) for a in range(0, count, ROWS)])


def rows_of(A: Matrix, X: Vector, at: slice) -> Vector:
    """Some rows of A X."""
    out = np.zeros((at.stop - at.start, X.shape[1]), dtype=X.dtype)
    return rows_of_product(A, X, at.start, at.stop - at.start, out)


def product(A: Any, X: Vector) -> Vector:
    """A X."""
    Y = np.empty((A.shape[0], X.shape[1]), dtype=X.dtype)

    def part(at: slice) -> None:
        Y[at] = rows_of(A, X, at)

    in_chunks(part, len(Y))
    return Y


class Multigrid:
    """Smoothed aggregation for a symmetric positive definite matrix.

    Parameters
    ----------
    B
        The matrix.
    modes
        Vectors that B hardly sees, shape (n, m): constants by default; rigid-body motions for elasticity.
    size
        Unknowns per node, where they follow each other.
    tolerance, iterations
        Where the iteration stops; certificates refine once more, so half the digits are enough.
    """

    name = "AMG-CG"
    accurate = False

    def __init__(
        self, B: Matrix, modes: Vector | None = None, size: int = 1, tolerance: float = 1e-9, iterations: int = 400
    ) -> None:
        if not (is_symmetric(B) and float(B.diagonal().min()) > 0.0):
            raise InputError(
                "solver: 'amg' needs a symmetric matrix with a positive diagonal; use 'superlu' or 'krylov'"
            )
        self._A = sp.csr_array(B)
        self._levels, self._coarsest = _hierarchy(self._A, modes, size)
        self._tolerance, self._iterations = tolerance, iterations

    @property
    def sizes(self) -> list[int]:
        """Unknowns of each level."""
        return [*(level.A.shape[0] for level in self._levels), len(self._coarsest)]

    def solve(self, b: Vector) -> Vector:
        """Approximate B⁻¹ b; columns are solved side by side."""
        if not self._levels:
            return np.asarray(self._coarsest @ b)
        block = np.ascontiguousarray(b if b.ndim == 2 else b[:, None])
        x = conjugate_gradients(
            lambda V: product(self._A, V), self._precondition, block, self._tolerance, self._iterations
        )
        return x if b.ndim == 2 else x[:, 0]

    solve_transposed = solve

    def solve_to(self, b: Vector, tolerance: float) -> Vector:
        """Approximate B⁻¹ b for a vector, to another tolerance."""
        if not self._levels:
            return np.asarray(self._coarsest @ b)
        apply = lambda V: product(self._A, V)  # noqa: E731
        return conjugate_gradients(apply, self._precondition, b[:, None].copy(), tolerance, self._iterations)[:, 0]

    def roughly(self, b: Vector) -> Vector:
        """One cycle for a vector, or for columns: symmetric, positive, and near B⁻¹ b."""
        if not self._levels:
            return np.asarray(self._coarsest @ b)
        return np.asarray(self._precondition(b.reshape(len(b), -1)).reshape(b.shape))

    def foreseen(self) -> float:
        """Iterations that a solve will take, from how far `PROBE` of them bring an arbitrary right-hand side."""
        b = np.random.default_rng(0).standard_normal((self._A.shape[0], 1))
        if not self._levels:
            return 1.0
        A = self._A
        x = conjugate_gradients(lambda V: product(A, V), self._precondition, b, self._tolerance, PROBE)
        left = b - np.asarray(A @ x)
        fell = float(np.linalg.norm(left) / np.linalg.norm(b))
        if not 0.0 < fell < 1.0:
            return float(self._iterations) if fell > 0.0 else 1.0
        return min(float(self._iterations), PROBE * math.log(self._tolerance) / math.log(fell))

    def width(self, count: int) -> int:
        """How many of so many right-hand sides to hand over at a time."""
        each = max(1, -(-count // CORES))
        return -(-each // -(-each // BLOCK))

    def _precondition(self, B: Vector) -> Vector:
        """One cycle in the hierarchy's precision, columns brought to size one and back."""
        size = np.max(np.abs(B), axis=0, initial=0.0)
        size[~(size > 0.0)] = 1.0
        return np.asarray(self._cycle((B / size).astype(self._levels[0].scale.dtype)) * size)

    def _cycle(self, B: Vector, depth: int = 0) -> Vector:
        """One V-cycle for A X = B from zero."""
        if depth == len(self._levels):
            return np.asarray(self._coarsest @ B)
        level = self._levels[depth]
        X = level.smooth(None, B)
        X += product(level.P, self._cycle(level.restrict(X, B), depth + 1))
        return level.smooth(X, B)


def _hierarchy(B: Matrix, modes: Vector | None, size: int) -> tuple[list[Level], Vector]:
    try:
        import pyamg
        from pyamg.util.linalg import approximate_spectral_radius
    except ImportError as error:
        raise DependencyMissingError("solver: 'amg' needs PyAMG; pip install 'pinnpoint[amg]'") from error
    A = sp.csr_matrix(B)
    near = np.tile(np.eye(size), (A.shape[0] // size, 1)) if modes is None else np.asarray(modes)
    state = np.random.get_state()  # noqa: NPY002 (PyAMG draws from numpy's global generator)
    try:
        np.random.seed(0)  # noqa: NPY002
        made = pyamg.smoothed_aggregation_solver(
            A.tobsr((size, size)) if size > 1 else A,
            B=near,
            strength=("symmetric", {"theta": STRENGTH}),
            smooth=("jacobi", {"omega": 4.0 / 3.0}),
            improve_candidates=None,
            max_coarse=COARSEST,
        )
        levels, M, last = [], A, made.levels[-1].A.toarray()
        moderate = len(made.levels) > 1 and all(_moderate(level.A) for level in made.levels)
        kind = np.float32 if moderate else np.float64
        for depth in range(len(made.levels) - 1):
            fine, made.levels[depth] = made.levels[depth], None
            M = A if depth == 0 else sp.csr_array(fine.A)
            diagonal = M.diagonal()
            scale = 1.0 / np.where(diagonal > 0.0, diagonal, 1.0)  # a candidate that vanishes leaves a row of zeros
            relative = LinearOperator(M.shape, matvec=lambda v, M=M, scale=scale: scale * (M @ v.ravel()), dtype=float)
            top = 1.1 * float(approximate_spectral_radius(relative))
            P = sp.csr_array(fine.P).astype(kind)
            levels.append(Level(M.astype(kind), P, sp.csr_array(P.T), scale.astype(kind), top))
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return levels, _inverse(last).astype(kind)


def _inverse(A: Vector) -> Vector:
    """By Cholesky's factors, and by eigenvalues where A is singular."""
    R, stopped = dense.lapack.dpotrf(A, lower=1)
    if not stopped:
        half = np.tril(dense.lapack.dpotri(R, lower=1)[0])
        X = half + np.tril(half, -1).T
        probe = np.cos(np.arange(len(A)))
        if float(np.max(np.abs(A @ (X @ probe) - probe))) < 1e-3:
            return np.asarray(X)
    return np.asarray(dense.pinvh(A))


def _moderate(A: Matrix) -> bool:
    """Whether single precision, which is enough for a preconditioner, holds the entries."""
    size = np.abs(A.diagonal())
    return bool(np.all((size > 1e-20) & (size < 1e20)))
