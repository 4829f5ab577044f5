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

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, gamma, split, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.doubles import STEP, Pair, add, scale, whole
from pinnpoint.rounding.matrices import EnclosedMatrix
from pinnpoint.systems.semilinear.base import AbstractSemilinear
from pinnpoint.systems.spaces import AdmissibleSpace

LARGEST = 2.0**150
"""Coefficients beyond this could overflow when cubed."""
CHUNK = 16384


def share(m: int) -> float:
    """Mean of u³λ_i over an m-simplex, divided by h₃(u, u_i); its reciprocal is a whole number."""
    return 1.0 / (factorial(m + 4) // (6 * factorial(m)))


@dataclass(frozen=True, eq=False)
class CubicSystem(AbstractSemilinear):
    """N(U)_i = Σ_c w_c h₃(U_c, U_i), with everything stored exactly as it stands.

    Parameters
    ----------
    w
        (C,), λ|K| m! 3!/(m + 4)! rounded once: these floats are what is certified.
    A, b, space, cells, slot, weight
        As in `AbstractSemilinear`.
    """

    A: Any
    b: Vector
    space: AdmissibleSpace
    cells: Any
    w: Vector
    slot: Any
    weight: Any = None

    proved = True
    claims = ()

    __repr__ = brief

    @cached_property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether λ ≥ 0."""
        return bool(np.all(self.w >= 0.0))

    @property
    def target(self) -> str:
        """With the cubic integrated exactly."""
        return "the root of Zᵀ(A U + N(U) − b) = 0 over the admissible space, N the cubic reaction integrated exactly"

    @cached_property
    def _scatter(self) -> EnclosedMatrix:
        """Sums w_c times values at (cell, vertex) into the free rows."""
        C, k = self.cells.shape
        S = sp.csr_array((np.repeat(self.w, k), (self.cells.ravel(), np.arange(C * k))), shape=(self.N, C * k))
        return EnclosedMatrix(sp.csr_array(S[self.space.free]), name="w")

    def residual(self, y: Vector, *, rounding: bool = True) -> Ball:
        """In double-double arithmetic."""
        U, free = self.space.vector_of(y), self.space.free
        if not rounding:
            return Ball(self.A[free] @ U - self.b[free] + self._scatter.A @ _thirds(U[self.cells]).ravel())
        if not float(np.max(np.abs(U))) < LARGEST:
            raise InputError("U: entries must be below 2**150 (1e45) in magnitude to be cubed; rescale the problem")
        linear = self._linear.affine(exact(U), exact(self.b[free]))
        return linear + self._scatter.affine(self._cubes(U[self.cells]))

    def jacobian(self, y: Vector, *, rounding: bool = True) -> tuple[Any, Any]:
        """J(y)_ij = A_ij + Σ_c w_c (1 + δ_ij) h₂(U_c, U_i, U_j)."""
        U = self._local(y)
        k = U.shape[1]
        both = (np.ones((k, k)) + np.eye(k)) * self.w[:, None, None]
        J = self._cut(self.A.data + self._counted(both * _seconds(U)))
        if not rounding:
            return J, None
        size = self._counted(np.abs(both) * _seconds(np.abs(U)))
        # proofs.md, step 6g
        error = up(gamma(self._valence + 24) * size + 2.0**-52 * (np.abs(self.A.data) + size) + TINY)
        return J, self._cut(error)

    def second(self, y: Vector, z: Ball, *, rounding: bool = True) -> tuple[Any, Any]:
        """G_ij = Σ_c w_c Σ_k z_k ∂_i∂_j∂_k h₄(U_c)."""
        U = self._local(y)
        G = self._cut(self._counted(_thirds_tensor(U, self._spread(z.hi)) * self.w[:, None, None]))
        if not rounding:
            return G, None
        wide, size = np.abs(self.w)[:, None, None], np.abs(U)
        whole_z = self._counted(_thirds_tensor(size, self._spread(z.magnitude())) * wide)
        away = np.zeros(self.n) if z.lo is None else np.abs(z.lo)
        away = away if z.err is None else away + z.err
        apart = self._counted(_thirds_tensor(size, self._spread(np.asarray(up(away)))) * wide)
        g = gamma(self._valence + 48)
        return G, self._cut(np.asarray(up((g * whole_z + apart) * (1.0 + g) + TINY)))

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
                    h[p] = add(h[p], scale(x, h[p - 1], parts))  # proofs.md, step 6g
            for i, (x, parts) in enumerate(zip(part, cut, strict=True)):
                inner = add(h[2], scale(x, add(h[1], whole(x)), parts))
                top = add(h[3], scale(x, inner, parts))
                hi[a : a + CHUNK, i], lo[a : a + CHUNK, i] = top
        size = np.abs(U)
        far = size.max(axis=1, keepdims=True)
        err = up((3.0 * k + 4.0) * STEP * _thirds(size) + TINY * (1.0 + far) ** 2, 16)  # proofs.md, step 6g
        return Ball(hi.ravel(), lo.ravel(), np.asarray(err).ravel())

    @cached_property
    def lumps(self) -> Vector:
        """|w_c| h₃(1, …, 1) with m + 2 ones."""
        each = up(np.abs(self.w) * comb(self.m + 4, 3))
        return np.repeat(each[:, None], self.m + 1, axis=1)

    def slope(self, y: Vector, reach: Vector | float) -> Vector:
        """6 (|u| + reach)."""
        return np.asarray(up(6.0 * (self.state_top(y) + reach)))

    def bend(self, y: Vector, reach: Vector | float) -> Vector:
        """|3u − e| ≤ 3|u| + reach."""
        return np.asarray(up(3.0 * self.state_top(y) + reach))


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
