"""Quadrature on simplices with positive weights, as points of a mesh."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import roots_jacobi
from skfem.quadrature import get_quadrature
from skfem.refdom import RefLine, RefTet, RefTri

from pinnpoint.base.arrays import Vector, whole
from pinnpoint.base.errors import InputError

REFERENCE: dict[int, Any] = {1: RefLine, 2: RefTri, 3: RefTet}
HIGHEST = {0: 1000, 1: 60, 2: 30, 3: 20}
MEASURE = {0: 1.0, 1: 1.0, 2: 0.5, 3: 1.0 / 6.0}
TABLES = {
    1: {n: n for n in range(1, 61)},
    2: {n: n for n in range(1, 20)} | {3: 4, 7: 8},
    3: {1: 1, 2: 2, 3: 5, 4: 5, 5: 6, 6: 7},
}
"""Order to the number of scikit-fem's table that reaches it with positive weights.

Its tables 5 to 9 for tetrahedra are one order weaker than their numbers, and 3 and 4, as 3 and 7 for triangles, have
negative weights, with which ∫ c φ² could be negative for a c ≥ 0.
"""


def rule(dim: int, order: int) -> tuple[Vector, Vector]:
    """Barycentric points (Q, dim + 1) and positive weights (Q,) that sum to one, exact for polynomials of this order.

    From scikit-fem's tables, and beyond them a product of Gauss–Jacobi rules.
    """
    order = whole("quadrature", order, low=1)
    if order > HIGHEST[dim]:
        raise InputError(f"quadrature: order {order} is not available in {dim}D; at most {HIGHEST[dim]}")
    bary, weights = _rule(dim, order)
    return bary.copy(), weights.copy()


@cache
def _rule(dim: int, order: int) -> tuple[Vector, Vector]:
    if dim == 0:
        return np.ones((1, 1)), np.ones(1)
    if order not in TABLES[dim]:
        return _conical(dim, order // 2 + 1)
    X, w = get_quadrature(REFERENCE[dim], TABLES[dim][order])
    X = X.T
    bary = np.concatenate([1.0 - X.sum(axis=1, keepdims=True), X], axis=1)
    return bary, np.asarray(w) / MEASURE[dim]


def _conical(dim: int, count: int) -> tuple[Vector, Vector]:
    """The cube's Gauss–Jacobi rule collapsed onto the simplex: coordinate k takes its share of what is left."""
    lines = [roots_jacobi(count, dim - 1 - k, 0) for k in range(dim)]
    share = np.stack(np.meshgrid(*[0.5 * (t + 1.0) for t, _ in lines], indexing="ij"), axis=-1).reshape(-1, dim)
    weights = np.ones(1)
    for _, w in lines:
        weights = np.outer(weights, w / w.sum()).ravel()
    left = np.cumprod(1.0 - share, axis=1)
    X = share * np.concatenate([np.ones((len(share), 1)), left[:, :-1]], axis=1)
    return np.concatenate([left[:, -1:], X], axis=1), weights


def at_points(vertices: Vector, bary: Vector) -> Vector:
    """Quadrature points (S, Q, d) of simplices with the given vertices (S, k, d)."""
    return np.asarray(np.einsum("qk,skd->sqd", bary, vertices))
