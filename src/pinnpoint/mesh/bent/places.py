"""Points of a curved domain on the straight mesh: which cell is bent onto them, and how far cells are moved."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.bent.faces import along_edges, between_edges
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.mesh.location import boundary_distance
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.bernstein import children
from pinnpoint.taylor.geometry import Simplices, coordinates
from pinnpoint.taylor.models import constant

STEPS = 20
"""Of Newton's method."""
LEVELS = {2: 4, 3: 2}
"""How often facets are cut for distances from them."""
ORDER = 4
INSIDE = 1e-9
"""Barycentric coordinates may be negative by this much."""


def moves(bends: Bends, simplices: Index) -> Vector:
    """Upper bounds of |Φ(x) − x| on cells or facets, by their vertices."""
    away = np.sqrt((bends.offset**2).sum(axis=1))[simplices].max(axis=1, initial=0.0)
    faces = [np.delete(simplices, k, axis=1) for k in range(4)] if simplices.shape[1] == 4 else [simplices]
    between = sum(between_edges(bends, face) for face in faces)
    found = along_edges(bends, simplices) + between + away  # curved.md, step 1f
    return np.asarray(up(found, 8))


def back(bends: Bends, X: Vector, what: str = "points") -> tuple[Index, Vector, Vector]:
    """Cells and barycentric coordinates of the points that Φ takes to X, up to rounding, and bounds of |Φ − X|.

    Refuses points that no cell is bent onto.
    """
    X = np.asarray(X, dtype=np.float64)
    if not np.isfinite(X).all():
        raise InputError(f"{what}: point {int(np.argmin(np.isfinite(X).all(axis=1)))} is not finite")
    cell, bary = bends.locator.found(X)
    for k in np.flatnonzero(cell < 0).tolist():  # the search ends at the first point that no cell holds
        cell[k : k + 1], bary[k : k + 1] = bends.locator.found(X[k : k + 1])
    some = np.flatnonzero((cell < 0) | (bends.row_of[np.maximum(cell, 0)] < len(bends.cells)))
    V, T = bends.vertices, bends.mesh.cells[bends.cells]
    middle = V.mean(axis=1)
    wide = np.sqrt(((V - middle[:, None]) ** 2).sum(axis=2)).max(axis=1) + moves(bends, T)
    for k in some.tolist():
        near = np.flatnonzero(((middle - X[k]) ** 2).sum(axis=1) <= wide**2)
        lam = _solved(bends, X[k], near, middle)
        best = int(np.argmax(lam.min(axis=1))) if len(near) else -1
        if best < 0 or not lam[best].min() >= -INSIDE:
            gap = boundary_distance(bends.mesh, X[k])
            raise InputError(
                f"{what}: point {k} at {X[k].tolist()} is outside the curved domain, about {gap:.3g} from its mesh"
            )
        clipped = np.clip(lam[best], 0.0, 1.0)
        cell[k], bary[k] = bends.cells[near[best]], clipped / clipped.sum()
    Y = np.einsum("ni,nik->nk", bary, bends.mesh.points[bends.mesh.cells[cell]])
    local = bends.at([constant(y) for y in Y.T])
    off = [np.abs(np.broadcast_to(x.C[0], len(X)) - X[:, k]) + x.e for k, x in enumerate(local.x)]
    return cell, bary, np.asarray(up(np.sqrt(sum(o * o for o in off)) + 4.0 * UNIT * np.abs(X).max(axis=1), 8))


def _solved(bends: Bends, x: Vector, near: Index, middle: Vector) -> Vector:
    """Newton's method in each of some bent cells, as if its map went on outside; barycentric coordinates there."""
    Y = np.array(middle[near])
    V = bends.vertices[near]
    inverse = np.linalg.inv((V[:, 1:] - V[:, :1]).swapaxes(1, 2)) if len(near) else np.zeros((0, bends.d, bends.d))
    for _ in range(STEPS):
        P, J, _ = bends.moved(Y, near)
        with np.errstate(all="ignore"):
            step = np.linalg.solve(J, (P - x)[:, :, None])[:, :, 0]
        Y = Y - np.where(np.isfinite(step), step, 0.0)
        lam = np.einsum("nij,nj->ni", inverse, Y - V[:, 0])
        lam = np.clip(lam, -0.5, 1.5)
        Y = V[:, 0] + np.einsum("ni,nik->nk", lam, V[:, 1:] - V[:, :1])
    return np.concatenate([1.0 - lam.sum(axis=1, keepdims=True), lam], axis=1)


def followed(bends: Bends, facets: Vector) -> tuple[Vector, Vector]:
    """Flat pieces (n, d, d) along facets with corners (F, d, d) as they are in the domain, and bounds of the distance.

    Models of Φ over small parts of the facets: their linear terms are the pieces, all others the distance.
    """
    d = bends.d
    parts = [np.eye(d)]
    for _ in range(LEVELS[d]):
        parts = [child @ T for T in parts for child in children(d - 1)]
    V = np.einsum("pij,fjk->fpik", np.stack(parts), facets).reshape(-1, d, d)
    slack = np.full((len(V), d), 4.0 * UNIT * float(np.abs(facets).max()))
    X = coordinates(Simplices(V, slack), np.zeros(len(V), dtype=np.intp), ORDER)
    found, away = np.empty_like(V), np.zeros(len(V))
    ends = np.array([[1.0 if j < i else -1.0 for j in range(d - 1)] for i in range(d)])  # of the parts' coordinates
    for k, x in enumerate(bends.at(X).x):
        C = np.broadcast_to(x.C, (len(x.C), len(V)))
        found[:, :, k] = (C[0] + ends @ C[1:d]).T
        size = np.abs(C).sum(axis=0)
        away += (np.abs(C[d:]).sum(axis=0) + x.e + 8.0 * UNIT * size) ** 2  # curved.md, step 1f
    return found, np.asarray(up(np.sqrt(away), 8))
