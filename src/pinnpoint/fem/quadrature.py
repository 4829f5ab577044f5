"""Quadrature on simplices, from scikit-fem's tables, as points of a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from skfem.quadrature import get_quadrature
from skfem.refdom import RefLine, RefTet, RefTri

from pinnpoint.arrays import Vector, whole
from pinnpoint.errors import InputError

REFERENCE: dict[int, Any] = {1: RefLine, 2: RefTri, 3: RefTet}
HIGHEST = {0: 1000, 1: 60, 2: 30, 3: 20}
MEASURE = {0: 1.0, 1: 1.0, 2: 0.5, 3: 1.0 / 6.0}


def rule(dim: int, order: int) -> tuple[Vector, Vector]:
    """Barycentric points (Q, dim + 1) and weights (Q,) that sum to one, exact for polynomials of this order."""
    order = whole("quadrature", order, low=1)
    if order > HIGHEST[dim]:
        raise InputError(f"quadrature: order {order} is not available in {dim}D; at most {HIGHEST[dim]}")
    if dim == 0:
        return np.ones((1, 1)), np.ones(1)
    X, w = get_quadrature(REFERENCE[dim], order)
    X = X.T
    bary = np.concatenate([1.0 - X.sum(axis=1, keepdims=True), X], axis=1)
    return bary, np.asarray(w) / MEASURE[dim]


def at_points(vertices: Vector, bary: Vector) -> Vector:
    """Quadrature points (S, Q, d) of simplices with the given vertices (S, k, d)."""
    return np.asarray(np.einsum("qk,skd->sqd", bary, vertices))
