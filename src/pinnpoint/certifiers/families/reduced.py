"""Reduced-basis predictors U = U_a + V a: values and residual norms from precomputed products."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, vector
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.ground import Ground
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, norm_up, require_range, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.forms import DiagonalForm


class ReducedStates:
    """Products of one basis with the system.

    The residual of U_a + V a under b_μ is M x with x = (1, a, −μ) and M = [A U_a − b₀, A V, F] enclosed column by
    column. With a computed factorization M ≈ QR, D = M − QR and ‖QᵀQ − I‖_F ≤ δ, all bounded with their rounding,

        ‖M x‖ ≤ √(1 + δ) ‖R x‖ + Σ_j |x_j| ‖D_j‖:

    no square of a residual is formed, so small residuals stay accurate, at O((m + p)²) a load. Norms are computed for
    identity and diagonal weights; for others they are None.

    Parameters
    ----------
    V
        Basis, (N, m): directions of the admissible space (zero where values are prescribed).
    offset
        An admissible vector; the space's own U₀ by default.
    """

    def __init__(self, ground: Ground, F: Vector, base: Vector, V: ArrayLike, offset: ArrayLike | None = None) -> None:
        space = ground.core.system.space
        self.V = floats("V", V)
        if self.V.ndim != 2 or self.V.shape[0] != space.N or not np.all(np.isfinite(self.V)):
            raise InputError(
                f"V: must be finite with shape ({space.N}, m), one basis vector a column; got {self.V.shape}"
            )
        self.offset = space.U0.copy() if offset is None else vector("offset", offset, space.N)
        space.require_member(self.offset, "offset")
        for j, v in enumerate(self.V.T):
            space.require_member(self.offset + v, f"offset + V[:, {j}]")
        if space.free is not None:  # what is certified has its prescribed values exactly
            self.offset[space.fixed], self.V[space.fixed] = space.U0[space.fixed], 0.0
        queries = ground.queries
        self.values = np.asarray(queries.L @ self.V)
        self.constant = np.asarray(queries.L @ self.offset + queries.constants)
        self.m = self.V.shape[1]
        self.R: Vector | None = None
        if isinstance(ground.proof.form, DiagonalForm):
            self._factorize(ground, ground.proof.form.roots[0], F, base)

    def _factorize(self, ground: Ground, roots: Vector | None, F: Vector, base: Vector) -> None:
        core = ground.core
        if core.rounding:
            require_range("V", self.V)
        load = core.load(base)
        columns = [core.residual(core.state(self.offset)[1], load)]
        none = exact(np.zeros_like(load.hi))
        columns += [core.residual(self._direction(ground, v), none) for v in self.V.T]
        start = exact(np.zeros(core.system.N))
        columns += [core.residual(start, exact(-core.load(f).hi)) for f in F]
        M = np.stack([c.hi if roots is None else roots * c.hi for c in columns], axis=1)
        rest = np.array([_rest(c, roots) for c in columns])
        Q, R = np.linalg.qr(M)
        d, n = M.shape[1], M.shape[0]
        D = np.abs(M - Q @ R) + gamma(d + 2) * 1.01 * (np.abs(M) + np.abs(Q) @ np.abs(R)) + d * TINY
        self.defect = np.array([float(up(norm_up(np.ascontiguousarray(D[:, j])) + rest[j])) for j in range(d)])
        longest = max(norm_up(np.ascontiguousarray(q)) for q in Q.T)
        off = norm_up((Q.T @ Q - np.eye(Q.shape[1])).ravel()) + (gamma(n + 2) * longest**2 + 2.0 * UNIT) * d * 1.01
        self.stretch = float(up(np.sqrt(up(1.0 + off))))  # families.md, step 3
        self.R = R

    def _direction(self, ground: Ground, v: Vector) -> Ball:
        core = ground.core
        free = core.system.space.free
        if free is not None:
            return core.direction(exact(v[free]))
        return core.direction(exact(core.system.space._coordinates(v)))

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is an infinite bound
    def norms(self, a: Vector, mu: Vector) -> Vector | None:
        """Upper bounds of the residual norms."""
        if self.R is None:
            return None
        x = np.concatenate([np.ones((len(a), 1)), a, mu], axis=1)
        x[:, 1 + self.m :] *= -1.0
        size, d = np.abs(x), x.shape[1]
        y = np.abs(x @ self.R.T) + gamma(d + 1) * 1.01 * (size @ np.abs(self.R.T)) + d * TINY
        lengths = np.sqrt(np.einsum("ij,ij->i", y, y)) * (1.0 + 2.0 * gamma(d + 4)) + d * TINY
        found = up(self.stretch * lengths + (size @ self.defect) * (1.0 + 2.0 * gamma(d + 1)), 8)  # families.md, step 3
        return np.where(np.isnan(found), np.inf, found)


def _rest(column: Ball, roots: Vector | None) -> float:
    """Bound of the distance, in norm, between an enclosed column and the floats that stand for it."""
    small = np.zeros_like(column.hi)
    for part in (column.lo, column.err):
        small = small if part is None else small + np.abs(part)
    if roots is not None:
        small = roots * (small + 2.0 * UNIT * np.abs(column.hi))
    return norm_up(np.asarray(up(small, 8)))
