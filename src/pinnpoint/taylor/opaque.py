"""Data given as a function of points that nothing is known about: quadrature, and estimates instead of proofs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.taylor.bernstein import Density, inverse_gram, pairs, values

CHUNK = 4096


@cache
def rule(m: int, order: int) -> tuple[Vector, Vector]:
    """Barycentric points (Q, m + 1) and positive weights with sum one, exact for polynomials of this order.

    Gauss–Jacobi rules on the cube collapsed onto the simplex.
    """
    bary, weights = np.ones((1, 1)), np.ones(1)
    for k in range(m):  # a point of the simplex below, drawn towards a new vertex
        t, w = scipy.special.roots_jacobi(order // 2 + 1, k, 0)
        s = 0.5 * (1.0 + t)  # share of the new vertex; the Jacobi weight is (1 − s)^k
        inner = bary[None] * (1.0 - s)[:, None, None]
        outer = np.broadcast_to(s[:, None, None], (*inner.shape[:2], 1))
        bary = np.concatenate([inner, outer], axis=2).reshape(-1, k + 2)
        weights = np.outer(w / w.sum(), weights).ravel()
    return bary, weights


def density(f: Callable[[Vector], Any], vertices: Vector, q: int) -> Density:
    """Projections by quadrature of order q + 6 against q + 2; their difference stands for the error, unproved."""
    m, N = vertices.shape[1] - 1, len(vertices)
    rows = (np.empty((N, len(pairs(m)))), np.empty(N), np.empty(N))
    for start in range(0, N, CHUNK):
        part = slice(start, start + CHUNK)
        coarse, _ = _project(f, vertices[part], rule(m, q + 2))
        fine, high = _project(f, vertices[part], rule(m, q + 6))
        # continuous.md, step 8d
        for row, value in zip(rows, (fine, high, np.abs(fine - coarse).max(axis=1)), strict=True):
            row[part] = value
    return Density(*rows, rows[2], proved=False)


def sample(f: Callable[[Vector], Any], vertices: Vector, bary: Vector) -> Vector:
    """Values (N, Q) at the points with barycentric coordinates (Q, m + 1); finite or refused."""
    points = np.einsum("qk,nkd->nqd", bary, vertices)
    N, Q, d = points.shape
    found = floats("f", f(points.reshape(N * Q, d)))
    if found.size != N * Q:
        raise InputError(f"f: must return one value for each of {N * Q} points; got shape {found.shape}")
    if not np.isfinite(found).all():
        raise InputError(f"f: not finite at {int((~np.isfinite(found)).sum())} of {N * Q} points")
    return found.reshape(N, Q)


def _project(f: Callable[[Vector], Any], vertices: Vector, points: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    bary, weights = points
    F, B = sample(f, vertices, bary), values(bary)
    beta = (F * weights) @ B @ inverse_gram(vertices.shape[1] - 1)
    rest = F - beta @ B.T
    return beta, np.sqrt((rest * rest) @ weights)
