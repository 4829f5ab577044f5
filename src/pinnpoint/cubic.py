"""The discrete system of a cubic reaction: A U − b + Σ over cells of w_c ∇h₄(U on the cell).

With h_p the complete homogeneous symmetric polynomial of degree p, P1 shape functions λ_i on an m-simplex K and
u = Σ u_i λ_i,

    ∫_K u³ λ_i = |K| m! 3!/(m + 4)! · h₃(u_0, …, u_m, u_i),

and ∂h_p/∂x_i = h_{p−1}(x, x_i) gives the Jacobian and the second derivative: no quadrature is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.arrays import Vector
from pinnpoint.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, gamma, split, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.doubles import STEP, Pair, add, scale, whole
from pinnpoint.rounding.matrices import EnclosedMatrix
from pinnpoint.spaces import AdmissibleSpace

LARGEST = 2.0**150
"""Coefficients beyond this could overflow when cubed."""
CHUNK = 16384


def share(m: int) -> float:
    """Mean of u³λ_i over an m-simplex, divided by h₃(u, u_i); its reciprocal is a whole number."""
    return 1.0 / (factorial(m + 4) // (6 * factorial(m)))


@dataclass(frozen=True, eq=False)
class CubicSystem:
    """F(U) = Zᵀ(A U − b + N(U)), N(U)_i = Σ_c w_c h₃(U_c, U_i), with everything stored exactly as it stands.

    Parameters
    ----------
    A, b
        The linear part, N × N and bitwise symmetric, and the load.
    space
        Admissible vectors with some entries fixed.
    cells
        (C, m + 1) vertex numbers.
    w
        (C,), λ|K| m! 3!/(m + 4)! rounded once: these floats are what is certified.
    slot
        Where each (cell, i, j) lies in the data of A.
    weight
        W of the residual: None, a positive vector, a symmetric positive definite matrix, or "energy" for W = J(y)⁻¹.
    """

    A: Any
    b: Vector
    space: AdmissibleSpace
    cells: Any
    w: Vector
    slot: Any
    weight: Any = None

    is_square = True
    covers_rounding = True
    claims: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.space.free is None:
            raise InputError("space: a cubic system needs entries that are fixed or free")

    @property
    def N(self) -> int:
        """Length of U."""
        return self.space.N

    @property
    def n(self) -> int:
        """Number of free coordinates."""
        return self.space.n

    @property
    def M(self) -> int:
        """Number of reduced residual entries."""
        return self.n

    @property
    def m(self) -> int:
        """Dimension of the cells."""
        return int(self.cells.shape[1]) - 1

    @cached_property
    def monotone(self) -> bool:
        """Whether λ ≥ 0: then J(y) ⪰ A for every y, and the root is unique where A is positive definite."""
        return bool(np.all(self.w >= 0.0))

    @property
    def target(self) -> str:
        """What the certified value belongs to, in words."""
        return "the root of Zᵀ(A U + N(U) − b) = 0 over the admissible space, N the cubic reaction integrated exactly"

    def require(self, U: Vector, name: str = "U") -> Vector:
        """Refuse coefficients that cannot be cubed."""
        if U.size and not float(np.max(np.abs(U))) < LARGEST:
            raise InputError(f"{name}: entries must be below 2**150 (1e45) in magnitude; rescale the problem")
        return U

    # Values

    @cached_property
    def _linear(self) -> EnclosedMatrix:
        return EnclosedMatrix(self.A[self.space.free])

    @cached_property
    def _scatter(self) -> EnclosedMatrix:
        """Sums w_c times values at (cell, vertex) into the free rows."""
        C, k = self.cells.shape
        S = sp.csr_array((np.repeat(self.w, k), (self.cells.ravel(), np.arange(C * k))), shape=(self.N, C * k))
        return EnclosedMatrix(sp.csr_array(S[self.space.free]), name="w")

    def residual(self, y: Vector, *, rounding: bool = True) -> Ball:
        """F at the coordinates y; enclosed in double-double arithmetic, or in plain floats."""
        U, free = self.space.vector_of(y), self.space.free
        if not rounding:
            return Ball(self.A[free] @ U - self.b[free] + self._scatter.A @ _thirds(U[self.cells]).ravel())
        self.require(U)
        linear = self._linear.affine(exact(U), exact(self.b[free]))
        return linear + self._scatter.affine(self._cubes(U[self.cells]))

    def jacobian(self, y: Vector, *, rounding: bool = True) -> tuple[Any, Any]:
        """J(y) rounded and bitwise symmetric, and entrywise bounds of its error (None in plain floats)."""
        U = self.space.vector_of(y)[self.cells]
        k = U.shape[1]
        both = (np.ones((k, k)) + np.eye(k)) * self.w[:, None, None]
        N = self._counted(both * _seconds(U))
        J = self._cut(self.A.data + N)
        if not rounding:
            return J, None
        size = self._counted(np.abs(both) * _seconds(np.abs(U)))
        error = up(gamma(self._valence + 24) * size + 2.0**-52 * (np.abs(self.A.data) + size) + TINY)
        return J, self._cut(error)

    def second(self, y: Vector, z: Ball, *, rounding: bool = True) -> tuple[Any, Any]:
        """G = Σ_k z_k ∇²F_k(y), and entrywise bounds of its error over the ball z."""
        U = self.space.vector_of(y)[self.cells]

        def spread(v: Vector) -> Vector:
            full = np.zeros(self.N)
            full[self.space.free] = v
            return np.asarray(full[self.cells])

        G = self._cut(self._counted(_thirds_tensor(U, spread(z.hi)) * self.w[:, None, None]))
        if not rounding:
            return G, None
        wide = np.abs(self.w)[:, None, None]
        size = self._counted(_thirds_tensor(np.abs(U), spread(np.asarray(z.magnitude()))) * wide)
        away = np.zeros(self.n) if z.lo is None else np.abs(z.lo)
        away = away if z.err is None else away + z.err
        apart = self._counted(_thirds_tensor(np.abs(U), spread(np.asarray(up(away)))) * wide)
        grown = 1.0 + gamma(self._valence + 48)
        return G, self._cut(up(gamma(self._valence + 48) * size * grown + apart * grown + TINY))

    @cached_property
    def _valence(self) -> int:
        return int(np.bincount(self.cells.ravel()).max())

    def _counted(self, local: Vector) -> Vector:
        return np.bincount(self.slot, local.ravel(), minlength=self.A.nnz)

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

    def _cubes(self, U: Vector) -> Ball:
        """h₃(u, u_i) for every cell and vertex, flattened."""
        C, k = U.shape
        hi, lo = np.empty((C, k)), np.empty((C, k))
        for a in range(0, C, CHUNK):
            part = np.ascontiguousarray(U[a : a + CHUNK].T)
            cut = [split(x) for x in part]
            one = whole(np.ones(part.shape[1]))
            h: list[Pair] = [one, *(whole(np.zeros(part.shape[1])) for _ in range(3))]
            for x, parts in zip(part, cut, strict=True):
                for p in (1, 2, 3):
                    h[p] = add(h[p], scale(x, h[p - 1], parts))
            for i, (x, parts) in enumerate(zip(part, cut, strict=True)):
                inner = add(h[2], scale(x, add(h[1], whole(x)), parts))
                top = add(h[3], scale(x, inner, parts))
                hi[a : a + CHUNK, i], lo[a : a + CHUNK, i] = top
        size = np.abs(U)
        far = size.max(axis=1, keepdims=True)
        err = up((3.0 * k + 4.0) * STEP * _thirds(size) + TINY * (1.0 + far) ** 2, 16)
        return Ball(hi.ravel(), lo.ravel(), np.asarray(err).ravel())

    # How far the Jacobian and the residual bend

    @cached_property
    def _lumps(self) -> Vector:
        """Upper bounds of |λ| ∫_K λ_i for each cell: |w_c| h₃(1, …, 1) with m + 2 ones."""
        return np.asarray(up(np.abs(self.w) * comb(self.m + 4, 3)))

    def gather(self, per_cell: Vector) -> Vector:
        """Upper bounds of Σ_c |λ| ∫_K λ_i · per_cell_c, by free rows."""
        k = self.cells.shape[1]
        found = np.bincount(self.cells.ravel(), np.repeat(self._lumps * per_cell, k), minlength=self.N)
        return np.asarray(up(found[self.space.free] * (1.0 + 2.0 * gamma(self._valence + 2))))

    def cell_top(self, v: Vector) -> Vector:
        """The largest |v| over each cell's vertices, for free coordinates v."""
        full = np.zeros(self.N)
        full[self.space.free] = np.abs(v)
        return np.asarray(full[self.cells].max(axis=1))

    def state_top(self, y: Vector) -> Vector:
        """The largest |U| on each cell."""
        return np.asarray(np.abs(self.space.vector_of(y)[self.cells]).max(axis=1))

    def slope(self, top: Vector, reach: Vector | float) -> Vector:
        """Upper bounds, per cell and divided by |λ|, of |g″| within `reach` of a state with |u| ≤ top: 6 (top + reach)."""
        return np.asarray(up(6.0 * (top + reach)))

    def bend(self, top: Vector, reach: Vector | float) -> Vector:
        """Upper bounds, divided by |λ| e², of |g(u − e) − g(u) + g′(u) e| for |e| ≤ reach: 3 top + reach."""
        return np.asarray(up(3.0 * top + reach))


def _thirds(U: Vector) -> Vector:
    """h₃(u, u_i) in plain floats, (C, k)."""
    h1 = U.sum(axis=1, keepdims=True)
    h2 = _plain(U, 2)[:, None]
    h3 = _plain(U, 3)[:, None]
    return np.asarray(h3 + U * (h2 + U * (h1 + U)))


def _seconds(U: Vector) -> Vector:
    """h₂(u, u_i, u_j), (C, k, k), symmetric to the last bit."""
    h1, h2 = U.sum(axis=1)[:, None, None], _plain(U, 2)[:, None, None]
    a, b = U[:, :, None], U[:, None, :]
    return np.asarray(h2 + ((a + b) * h1 + ((a * a + b * b) + a * b)))


def _thirds_tensor(U: Vector, z: Vector) -> Vector:
    """Σ_k z_k ∂_i∂_j∂_k h₄(u), (C, k, k), symmetric to the last bit: the multiplicities' factorials times h₁."""
    C, k = U.shape
    h1 = U.sum(axis=1)
    found = np.zeros((C, k, k))
    for i in range(k):
        for j in range(i, k):
            total = np.zeros(C)
            for e in range(k):
                times = float(np.prod([factorial([i, j, e].count(a)) for a in {i, j, e}]))
                total += times * z[:, e] * (h1 + ((U[:, i] + U[:, j]) + U[:, e]))
            found[:, i, j] = found[:, j, i] = total
    return found


def _plain(U: Vector, degree: int) -> Vector:
    """h_degree(u) in plain floats, (C,)."""
    h = [np.ones(len(U))] + [np.zeros(len(U)) for _ in range(degree)]
    for x, p in product(U.T, range(1, degree + 1)):
        h[p] = h[p] + x * h[p - 1]
    return h[degree]
