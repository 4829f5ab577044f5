"""How large a ball about a point is, before it meets given facets."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, gamma


def largest_ball(x0: Vector, facets: Vector) -> float:
    """A radius at most the distance from x0 to every facet, and close to it; infinite where there is none."""
    return float(distances(x0, facets).min(initial=np.inf))


def distances(x0: Vector, facets: Vector) -> Vector:
    """Lower bounds, close to the distances, of those from x0 to each facet.

    For any direction n the distance to a convex set is at least min n·(v − x0)/|n| over its corners v. Directions from
    the nearest points of the edges, and the normals of triangles, contain the best one; whatever rounding does to them,
    the bound holds, and its own rounding is subtracted.

    Parameters
    ----------
    x0
        The point, (d,).
    facets
        Corners (n, d, d): points, segments or triangles.
    """
    x0 = np.asarray(x0, dtype=np.float64).reshape(-1)
    d = x0.size
    if d not in (1, 2, 3) or facets.ndim != 3 or facets.shape[1:] != (d, d):
        raise InputError(f"facets: must have shape (n, {d}, {d}) for a point with {d} coordinates; got {facets.shape}")
    v = facets - x0
    size = np.sqrt(np.einsum("nij,nij->ni", v, v)).max(axis=1)
    best = np.zeros(len(v))
    for n in _directions(v):
        scale = np.abs(n).max(axis=1)
        n = n / np.where(scale > 0.0, scale, 1.0)[:, None]
        length = np.sqrt(np.einsum("ni,ni->n", n, n))
        ahead = np.einsum("nij,nj->ni", v, n).min(axis=1)
        # continuous.md, step 4e
        bound = ahead / np.where(length > 0.0, length, 1.0) * (1.0 - gamma(20)) - gamma(20) * size - TINY
        best = np.maximum(best, np.where(scale > 0.0, bound, 0.0))
    return best


def largest_ellipsoid(x0: Vector, facets: Vector, A: Vector, error: Vector) -> float:
    """R such that no facet meets the ellipsoid (x − x₀)ᵀA⁻¹(x − x₀) < R², and close to the largest one.

    The ellipsoid lies in n·(x − x₀) < R √(nᵀAn) for every direction n, and a facet beyond that if all its corners are.

    Parameters
    ----------
    x0, facets
        As for `largest_ball`.
    A, error
        The matrix, positive definite, and bounds of the errors of its entries.
    """
    if not len(facets):
        return float(np.inf)
    v, L = facets - x0, np.linalg.cholesky(A)
    back, above = np.linalg.inv(L), np.abs(A) + error
    best = np.zeros(len(v))
    for y in _directions(v @ back.T):
        n = y @ back  # the normal in the coordinates of the facets
        scale = np.abs(n).max(axis=1)
        n = n / np.where(scale > 0.0, scale, 1.0)[:, None]
        wide = np.einsum("ni,ij,nj->n", n, A, n)
        wide += np.einsum("ni,ij,nj->n", np.abs(n), error + gamma(16) * above, np.abs(n))
        slip = gamma(16) * np.einsum("nij,nj->ni", np.abs(v), np.abs(n))
        ahead = (np.einsum("nij,nj->ni", v, n) - slip).min(axis=1)
        bound = ahead / np.sqrt(np.where(wide > 0.0, wide, 1.0)) * (1.0 - gamma(20)) - TINY  # kernels.md, step 2b
        best = np.maximum(best, np.where((scale > 0.0) & (wide > 0.0), bound, 0.0))
    return float(best.min())


def _directions(v: Vector) -> list[Vector]:
    """Directions from the origin to the nearest points of edges, and normals of triangles."""
    d = v.shape[2]
    directions = [v[:, i] for i in range(d)] if d == 1 else []
    for i in range(d):
        for j in range(i + 1, d):
            a, edge = v[:, i], v[:, j] - v[:, i]
            length2 = np.einsum("ni,ni->n", edge, edge)
            t = np.clip(-np.einsum("ni,ni->n", a, edge) / np.where(length2 > 0.0, length2, 1.0), 0.0, 1.0)
            directions.append(a + t[:, None] * edge)
    if d == 3:
        normal = np.cross(v[:, 1] - v[:, 0], v[:, 2] - v[:, 0])
        side = np.sign(np.einsum("ni,ni->n", normal, v.sum(axis=1)))
        directions.append(normal * side[:, None])
    return directions
