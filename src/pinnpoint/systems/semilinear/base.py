"""What discrete semilinear systems share: F(U) = Zᵀ(A U − b + N(U)) with N a sum over cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.matrices import EnclosedMatrix
from pinnpoint.systems.spaces import AdmissibleSpace


class AbstractSemilinear(ABC):
    """A linear part, cells, and a reaction N whose Jacobian is symmetric with A's pattern.

    Attributes
    ----------
    A, b
        The linear part, N × N and bitwise symmetric, and the load.
    space
        Admissible vectors with some entries fixed.
    cells
        (C, m + 1) vertex numbers.
    slot
        Where each (cell, i, j) lies in the data of A.
    weight
        W of the residual: None, a positive vector, a symmetric positive definite matrix, or "energy" for W = J(y)⁻¹.
    monotone
        Whether the reaction is λu³ with λ ≥ 0: then J(y) ⪰ A for every y, and the root is unique where A is positive
        definite.
    proved
        Whether the bounds of the second derivative are proved.
    claims
        What rests on the caller's word, as texts with their status.
    """

    A: Any
    b: Vector
    space: AdmissibleSpace
    cells: Any
    slot: Any
    weight: Any
    monotone: bool
    proved: bool
    claims: tuple[tuple[str, str], ...]

    is_square = True
    covers_rounding = True

    @abstractmethod
    def residual(self, y: Vector, *, rounding: bool = True) -> Ball:
        """F at the coordinates y, enclosed, or in plain floats."""

    @abstractmethod
    def jacobian(self, y: Vector, *, rounding: bool = True) -> tuple[Any, Any]:
        """J(y) rounded and bitwise symmetric, and entrywise bounds of its error (None in plain floats)."""

    @abstractmethod
    def second(self, y: Vector, z: Ball, *, rounding: bool = True) -> tuple[Any, Any]:
        """G = Σ_k z_k ∇²F_k(y), and entrywise bounds of its error over the ball z."""

    @abstractmethod
    def slope(self, y: Vector, reach: Vector | float) -> Vector:
        """Upper bounds of |g″| per cell (per |λ| for a cubic) for states within `reach` of y."""

    @abstractmethod
    def bend(self, y: Vector, reach: Vector | float) -> Vector:
        """Upper bounds of |g(u − e) − g(u) + g′(u) e| / e² per cell (per |λ| for a cubic) for |e| ≤ reach."""

    @property
    @abstractmethod
    def lumps(self) -> Vector:
        """Upper bounds of ∫_K λ_i (times |λ| for a cubic), (C, m + 1), as the system integrates."""

    @property
    @abstractmethod
    def target(self) -> str:
        """What the certified value belongs to, in words."""

    @property
    def N(self) -> int:
        """Length of U."""
        return self.space.N

    @property
    def n(self) -> int:
        """Number of free coordinates."""
        return self.space.n

    @property
    def m(self) -> int:
        """Dimension of the cells."""
        return int(self.cells.shape[1]) - 1

    def gather(self, per_cell: Vector) -> Vector:
        """Upper bounds of Σ_c ∫_K λ_i · per_cell_c, by free rows."""
        found = np.bincount(self.cells.ravel(), (self.lumps * per_cell[:, None]).ravel(), minlength=self.N)
        return np.asarray(up(found[self.space.free] * (1.0 + 2.0 * gamma(self._valence + 2))))

    def cell_top(self, v: Vector) -> Vector:
        """The largest |v| over each cell's vertices, for free coordinates v."""
        return np.asarray(np.abs(self._spread(v)).max(axis=1))

    def state_top(self, y: Vector) -> Vector:
        """The largest |U| on each cell."""
        return np.asarray(np.abs(self._local(y)).max(axis=1))

    @cached_property
    def _linear(self) -> EnclosedMatrix:
        return EnclosedMatrix(self.A[self.space.free])

    @cached_property
    def _valence(self) -> int:
        return int(np.bincount(self.cells.ravel()).max())

    def _local(self, y: Vector) -> Vector:
        """U at the vertices of each cell."""
        return np.asarray(self.space.vector_of(y)[self.cells])

    def _spread(self, v: Vector) -> Vector:
        """Free coordinates at the vertices of each cell, zero at fixed ones."""
        full = np.zeros(self.N)
        full[self.space.free] = v
        return np.asarray(full[self.cells])

    def _counted(self, local: Vector) -> Vector:
        """Σ over cells of (C, k, k) matrices, as data of A's pattern."""
        return np.asarray(np.bincount(self.slot, local.ravel(), minlength=self.A.nnz), dtype=np.float64)

    def _cut(self, data: Vector) -> Any:
        """The free rows and columns of a matrix with A's pattern."""
        if self.space.is_whole:
            return sp.csr_array((data, self.A.indices, self.A.indptr), shape=self.A.shape)
        where, indices, indptr = self._free_pattern
        return sp.csr_array((data[where], indices, indptr), shape=(self.n, self.n))

    @cached_property
    def _free_pattern(self) -> tuple[Any, Any, Any]:
        numbers = sp.csr_array((np.arange(1.0, self.A.nnz + 1.0), self.A.indices, self.A.indptr), shape=self.A.shape)
        cut = sp.csr_array(numbers[self.space.free][:, self.space.free])
        cut.sort_indices()
        return (cut.data - 1.0).astype(np.intp), cut.indices, cut.indptr
