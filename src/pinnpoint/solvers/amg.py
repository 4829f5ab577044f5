"""Conjugate gradients with algebraic multigrid, set up by PyAMG (extra ``amg``), applied to blocks of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sp

from pinnpoint.arrays import is_symmetric
from pinnpoint.errors import DependencyMissingError, InputError
from pinnpoint.rounding.arithmetic import Vector
from pinnpoint.solvers.blocks import conjugate_gradients
from pinnpoint.threads import CORES

COARSEST = 500
"""Unknowns of the coarsest level, which is inverted densely."""
DEGREE, SPREAD = 3, 12.0
"""Degree of the Chebyshev smoother, and the part of the spectrum it is made for: from 1/SPREAD of the top up."""
BLOCK = 16
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
        R = B.copy() if X is None else B - self.A @ X
        D = self.scale[:, None] * R / middle
        X = D.copy() if X is None else X + D
        rho = half / middle
        for _ in range(DEGREE - 1):
            R -= self.A @ D
            after = 1.0 / (2.0 * middle / half - rho)
            D = after * rho * D + (2.0 * after / half) * (self.scale[:, None] * R)
            rho = after
            X += D
        return X


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
        self, B: Any, modes: Vector | None = None, size: int = 1, tolerance: float = 1e-9, iterations: int = 400
    ) -> None:
        if not (is_symmetric(B) and float(B.diagonal().min()) > 0.0):
            raise InputError(
                "solver: 'amg' needs a symmetric matrix with a positive diagonal; use 'superlu' or 'krylov'"
            )
        self._levels, self._coarsest = _hierarchy(B, modes, size)
        self._tolerance, self._iterations = tolerance, iterations

    @property
    def sizes(self) -> list[int]:
        """Unknowns of each level."""
        return [*(level.A.shape[0] for level in self._levels), len(self._coarsest)]

    def solve(self, b: Vector) -> Vector:
        """Approximate B⁻¹ b; columns are solved side by side."""
        block = b if b.ndim == 2 else b[:, None]
        A = self._levels[0].A if self._levels else None
        if A is None:
            return np.asarray(self._coarsest @ b)
        x = conjugate_gradients(lambda V: A @ V, self._cycle, block, self._tolerance, self._iterations)
        return x if b.ndim == 2 else x[:, 0]

    solve_transposed = solve

    def width(self, count: int) -> int:
        """How many of so many right-hand sides to hand over at a time."""
        each = max(1, -(-count // CORES))
        return -(-each // -(-each // BLOCK))

    def _cycle(self, B: Vector, depth: int = 0) -> Vector:
        """One V-cycle for A X = B from zero."""
        if depth == len(self._levels):
            return np.asarray(self._coarsest @ B)
        level = self._levels[depth]
        X = level.smooth(None, B)
        X += level.P @ self._cycle(level.R @ (B - level.A @ X), depth + 1)
        return level.smooth(X, B)


def _hierarchy(B: Any, modes: Vector | None, size: int) -> tuple[list[Level], Vector]:
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
        levels = []
        for fine in made.levels[:-1]:
            M = sp.csr_array(fine.A)
            scale = 1.0 / M.diagonal()
            top = 1.1 * float(approximate_spectral_radius(sp.csr_matrix(sp.diags_array(scale) @ M)))
            levels.append(Level(M, sp.csr_array(fine.P), sp.csr_array(fine.P.T), scale, top))
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return levels, dense.pinvh(made.levels[-1].A.toarray())
