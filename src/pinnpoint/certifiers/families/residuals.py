"""Norms of residuals of many states, in one sparse product each."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.base.workspace import Workspace
from pinnpoint.certifiers.ground import Ground
from pinnpoint.rounding.arithmetic import TINY, gamma, norm_up, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.forms import DiagonalForm
from pinnpoint.rounding.matrices import EnclosedMatrix, PlainMatrix, kernels, product_up

GROUP_FROM = 4
"""States from which the compiled product of a whole group is quicker than one by one."""


@np.errstate(over="ignore", invalid="ignore")
def lengths_up(U: Vector) -> Vector:
    """Upper bounds of ‖u‖₂ for the rows of U; infinite or NaN where an entry is, or where squares overflow."""
    n = U.shape[1]
    squares = up(np.einsum("ij,ij->i", U, U) * (1.0 + 2.0 * gamma(n + 1)) + n * TINY)
    return np.asarray(up(np.sqrt(squares)))


class ResidualNorms:
    """Upper bounds of ‖A U − b_μ‖_W.

    For identity and diagonal weights, stored matrices and spaces that fix entries, the residual is formed in plain
    floating point: fl(A U − Fᵀμ − b₀) differs from the exact one by at most γ_{k+p+2}(|A||U| + |F|ᵀ|μ| + |b₀|), whose
    norm is at most γ (‖|A|‖ ‖U‖ + Σ|μ_k| ‖F_k‖ + ‖b₀‖) with ‖|A|‖² ≤ ‖A‖₁‖A‖_∞. Otherwise it is enclosed state by
    state.
    """

    def __init__(self, ground: Ground, F: Vector, base: Vector) -> None:
        core = ground.core
        self.ground = ground
        self.F, self.base, self._work = F, base, Workspace()
        form = ground.proof.form
        plain = isinstance(core.A, EnclosedMatrix | PlainMatrix) and sp.issparse(core.A.A) and core._restrict is None
        self.quick = plain and isinstance(form, DiagonalForm) and core.system.A_error is None and core.b.err is None
        if not self.quick or not isinstance(form, DiagonalForm):
            return
        self.A, self.roots = core.A.A, form.roots[0]
        rows = slice(None) if core._rows is None else core._rows
        self.loads, self.own = np.ascontiguousarray(F[:, rows]), base[rows]
        size = abs(self.A).tocsr()
        one = np.ones(size.shape[1])
        tall = float(np.max(product_up(size, one), initial=0.0))
        wide = float(np.max(product_up(size.T.tocsr(), np.ones(size.shape[0])), initial=0.0))
        self.length = float(up(np.sqrt(tall * wide)))
        self.entries = int(np.diff(self.A.indptr).max(initial=0)) + len(F) + 4
        self.load_norms = np.array([norm_up(f) for f in self.loads])

    def __call__(self, U: Vector, mu: Vector, lengths: Vector) -> Vector:
        """Bounds for rows of states, their own lengths (bounded from above), and μ."""
        if not self.quick:
            return np.array([self._enclosed(u, m) for u, m in zip(U, mu, strict=True)])
        n = len(self.own)
        squares = self._squares(U, mu) * (1.0 + 2.0 * gamma(n + 4)) + n * TINY
        scale = 1.0 if self.roots is None else float(np.max(self.roots))
        sizes = lengths * self.length + np.abs(mu) @ self.load_norms + norm_up(self.own)
        slack = up(gamma(self.entries) * scale * sizes * (1.0 + 2.0 * gamma(len(self.loads) + 8)), 8)
        found = up(np.sqrt(up(squares)) * (1.0 + 2.0**-50) + slack + n * TINY)
        return np.where(np.isnan(found), np.inf, found)

    @np.errstate(over="ignore", invalid="ignore")  # overflow ends as an infinite bound
    def _squares(self, U: Vector, mu: Vector) -> Vector:
        """Rounded sums of squares; the roots' own rounding is the factor 1 + 2⁻⁵⁰ of the bound."""
        if len(U) >= GROUP_FROM and kernels(self.A.nnz * len(U)) is not None:
            from pinnpoint.rounding.compiled_norms import squared_lengths

            return np.asarray(squared_lengths(self.A, U, self.loads, mu, self.own, self.roots, self._work))
        r = self.A @ np.ascontiguousarray(U.T)
        r -= self.loads.T @ mu.T
        r -= self.own[:, None]
        if self.roots is not None:
            r *= self.roots[:, None]
        return np.asarray(np.einsum("ij,ij->j", r, r))

    def _enclosed(self, U: Vector, mu: Vector) -> float:
        core = self.ground.core
        _, ball = core.state(U)
        b = self.base + mu @ self.F
        err = up(gamma(len(mu) + 2) * (np.abs(self.base) + np.abs(mu) @ np.abs(self.F)), 2 * len(mu) + 8)
        if core._rows is not None:
            b, err = b[core._rows], err[core._rows]
        err = err if core.b.err is None else up(err + core.b.err)
        r = core.residual(ball, Ball(b, None, np.asarray(err)) if core.rounding else exact(b))
        return self.ground.proof.form.norm(r)
