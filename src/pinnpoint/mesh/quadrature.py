"""Quadrature on simplices with positive weights, as points of a mesh."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import scipy

from pinnpoint.base.arrays import Vector, whole
from pinnpoint.base.errors import InputError

HIGHEST = {0: 1000, 1: 60, 2: 30, 3: 20}
TABLES = Path(__file__).parents[1] / "data" / "simplex_rules.txt"
"""Symmetric rules with few points, for triangles to order 19 and tetrahedra to order 6.

Only rules with positive weights: with others ∫ c φ² could be negative for a c ≥ 0.
"""
RULE_DEFECT = 2.0**-46
"""Bounds Σ_α |Σ_q w_q B_α(λ_q) − mean B_α| over the Bernstein basis of a conical rule's degree (checked in exact
rationals by the tests), so that it errs on a polynomial by at most this times its largest Bernstein coefficient."""


def rule(dim: int, order: int) -> tuple[Vector, Vector]:
    """Barycentric points (Q, dim + 1) and positive weights (Q,) that sum to one, exact for polynomials of this order.

    Gauss's on lines; from tables in the plane and in space, and beyond them conical products of Gauss–Jacobi rules.
    """
    order = whole("quadrature", order, low=1)
    if order > HIGHEST[dim]:
        raise InputError(f"quadrature: order {order} is not available in {dim}D; at most {HIGHEST[dim]}")
    bary, weights = _rule(dim, order)
    return bary.copy(), weights.copy()


def inner_order(dim: int, order: int) -> int:
    """The least order from this one on whose rule has all its points inside the simplex, so that they have one cell."""
    while order < HIGHEST[dim] and not np.all(rule(dim, order)[0] > 0.0):
        order += 1
    return order


@cache
def _rule(dim: int, order: int) -> tuple[Vector, Vector]:
    if dim == 0:
        return np.ones((1, 1)), np.ones(1)
    if dim == 1:
        x, w = np.polynomial.legendre.leggauss(max(2, order // 2 + 1))
        return _with_first(np.array([0.5 * x + 0.5])), w / 2.0
    tabulated = [reached for d, reached in _tables() if d == dim and reached >= order]
    if not tabulated:
        points, weights = conical(dim, order // 2 + 1)
        return np.roll(points, 1, axis=1), weights
    *X, w = _tables()[dim, min(tabulated)].T
    return _with_first(np.array(X)), w.copy()


def _with_first(X: Vector) -> Vector:
    """Barycentric coordinates (Q, d + 1) of points (d, Q) of the reference simplex."""
    X = X.T
    return np.concatenate([1.0 - X.sum(axis=1, keepdims=True), X], axis=1)


@cache
def _tables() -> dict[tuple[int, int], Vector]:
    """Points and weights (Q, d + 1), by dimension and order."""
    lines = [line.split() for line in TABLES.read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    tables, at = {}, 0
    while at < len(lines):
        dim, order, count = map(int, lines[at])
        tables[dim, order] = np.array(lines[at + 1 : at + 1 + count], dtype=np.float64)
        at += 1 + count
    return tables


@cache
def conical(d: int, n: int) -> tuple[Vector, Vector]:
    """Conical product of n Gauss–Jacobi points a direction: barycentric points (Q, d + 1) and weights with sum one.

    Weights are positive; exact to degree 2n − 1 up to `RULE_DEFECT`.
    """
    points, weights = np.ones((1, 1)), np.ones(1)  # the last column is what is left of one
    for a in range(d - 1, -1, -1):
        x, w = scipy.special.roots_jacobi(n, float(a), 0.0)
        x, w = 0.5 * (1.0 + x), w / w.sum()
        left = points[:, -1:]
        columns = [np.repeat(points[:, :-1], n, axis=0), (left * x).reshape(-1, 1), (left * (1.0 - x)).reshape(-1, 1)]
        points, weights = np.concatenate(columns, axis=1), (weights[:, None] * w).reshape(-1)
    points.setflags(write=False)
    weights.setflags(write=False)
    return points, weights


def at_points(vertices: Vector, bary: Vector) -> Vector:
    """Quadrature points (S, Q, d) of simplices with the given vertices (S, k, d)."""
    return np.asarray(np.einsum("qk,skd->sqd", bary, vertices))
