"""All steps in time as one matrix, and the sweeps that solve it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.evolution.stepper import SlabFactors, Stepper


def block_matrix(M: Matrix, K: Matrix, grid: TimeGrid) -> Any:
    """G ⊗ M + H ⊗ K over all levels; the rows of the first level, which is held, are empty.

    An entry is a product of stored numbers, or the sum of two: at most three roundings.
    """
    G, H = grid.matrices()
    A = sp.csr_array(sp.kron(G, M, format="csr") + sp.kron(H, K, format="csr"))  # stepping.md, step 1a
    n = M.shape[0]
    indptr = np.concatenate([np.zeros(n, dtype=A.indptr.dtype), A.indptr])
    return sp.csr_array((A.data, A.indices, indptr), shape=(n * grid.levels.size, n * grid.levels.size))


@dataclass(frozen=True, eq=False)
class SweepSolver:
    """The block matrix of the free entries, solved slab by slab: forward, and backward for its transpose.

    Nothing is factorised but the blocks of slabs. *Cost:* one solve a slab and a product with M and K each.
    """

    factors: SlabFactors = field(repr=False)
    grid: TimeGrid

    name = "sweeps in time"
    accurate = True

    __repr__ = brief

    @classmethod
    def of(cls, stepper: Stepper) -> SweepSolver:
        """With the factors of a stepper."""
        return cls(stepper.factors, stepper.grid)

    def solve(self, b: Vector) -> Vector:
        """B⁻¹ b for a vector, or for columns."""
        rest, m, n = *self._shaped(b), self.factors.M.shape[0]
        found = np.empty_like(rest)
        for slab in range(self.grid.steps):
            G, H = self.grid.coefficients(slab)
            here = rest[slab * m : (slab + 1) * m]
            if slab:
                MU, KU = self._both(found[slab * m - 1], transposed=False)
                here = here - (_times(G[:, 0], MU) + _times(H[:, 0], KU))
            solver = self.factors.of(G[:, 1:], H[:, 1:])
            x = solver.solve(np.ascontiguousarray(here.reshape(m * n, -1)))  # stepping.md, step 1b
            found[slab * m : (slab + 1) * m] = x.reshape(here.shape)
        return found.reshape(b.shape)

    def solve_transposed(self, b: Vector) -> Vector:
        """B⁻ᵀ b."""
        rest, m, n = *self._shaped(b), self.factors.M.shape[0]
        found = np.empty_like(rest)
        for slab in range(self.grid.steps - 1, -1, -1):
            here = rest[slab * m : (slab + 1) * m].copy()
            if slab < self.grid.steps - 1:  # the next slab's rows act on this slab's last level
                G, H = self.grid.coefficients(slab + 1)
                after = found[(slab + 1) * m : (slab + 2) * m]
                for r in range(m):
                    MZ, KZ = self._both(after[r], transposed=True)
                    here[-1] -= G[r, 0] * MZ + H[r, 0] * KZ
            G, H = self.grid.coefficients(slab)
            solver = self.factors.of(G[:, 1:], H[:, 1:])
            x = solver.solve_transposed(np.ascontiguousarray(here.reshape(m * n, -1)))
            found[slab * m : (slab + 1) * m] = x.reshape(here.shape)
        return found.reshape(b.shape)

    def _shaped(self, b: Vector) -> tuple[Vector, int]:
        """As (rows, n, columns), and the rows of a slab."""
        n = self.factors.M.shape[0]
        return np.asarray(b, dtype=np.float64).reshape(self.grid.rows, n, -1), self.grid.per_slab

    def _both(self, v: Vector, *, transposed: bool) -> tuple[Vector, Vector]:
        """M v and K v, or their transposes'."""
        M, K = self.factors.M, self.factors.K
        return np.asarray(M @ v), np.asarray((K.T if transposed else K) @ v)


def _times(g: Vector, v: Vector) -> Vector:
    """g_r v for every row of a slab."""
    return np.asarray(g[:, None, None] * v[None])
