"""Flat faces beside curved ones: what is moved onto a curve stays in them.

Boundary facets without a curve, and facets between different groups of cells, are flat. Vertices and edges that they
share with a curve are moved along them only. A facet across an axis keeps its coordinate exactly.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.facets import both, facet_keys
from pinnpoint.mesh.mesh import Mesh

SAME = 1e-6
"""Normals of facets that differ by less are those of one plane."""
AXIS = 1e-20
"""Squares of components that are rounding: the facet lies across this axis."""


def flat_facets(mesh: Mesh, known: Collection[str]) -> Index:
    """Boundary facets that are in none of the known groups, and facets between groups of cells, (F, d)."""
    unique, opposite, count = mesh._facet_table
    n = len(mesh.points)
    curved = np.concatenate([facet_keys(mesh.facets(group), n) for group in known])
    free = ~np.isin(facet_keys(unique, n), curved)
    alone = (count == 1) & free
    label = np.zeros(len(mesh.cells), dtype=np.intp)
    for cells in mesh.cell_groups.values():
        mark = np.zeros(len(mesh.cells), dtype=np.intp)
        mark[cells] = 1
        label = np.unique(2 * label + mark, return_inverse=True)[1].reshape(-1)
    if label.any():
        one, two = both(opposite, np.broadcast_to(label, opposite.shape), len(count))
        alone |= (count == 2) & (one != two) & free
    return np.asarray(unique[alone], dtype=np.intp)


def normals(points: Vector, facets: Index) -> Vector:
    """Unit normals (F, d); exactly an axis where a coordinate is the same at all vertices."""
    V = points[facets]
    if V.shape[2] == 2:
        e = V[:, 1] - V[:, 0]
        N = np.stack([-e[:, 1], e[:, 0]], axis=1)
    else:
        N = np.cross(V[:, 1] - V[:, 0], V[:, 2] - V[:, 0])
    size = np.sqrt((N**2).sum(axis=1))
    with np.errstate(all="ignore"):
        N = np.where(size[:, None] > 0.0, N / size[:, None], 0.0)
    for k, axis in enumerate(np.eye(V.shape[2])):
        N[(V[:, :, k] == V[:, :1, k]).all(axis=1)] = axis
    return N


def kept_flat(points: Vector, facets: Index, parts: Index, wanted: Index, slope: Vector) -> Vector:
    """Directions (N, d) without what leads out of facets that hold the part `wanted` (−1: none) among their `parts`."""
    d = points.shape[1]
    N, count = normals(points, facets), int(parts.max()) + 1 if parts.size else 0
    M = np.zeros((count + 1, d, d))
    for j in range(parts.shape[1]):
        np.add.at(M, parts[:, j], N[:, :, None] * N[:, None, :])
    size, axes = np.linalg.eigh(M[wanted])
    out = size > SAME * np.maximum(size.max(axis=1), 1.0)[:, None]
    full = out.all(axis=1)  # a corner, or a surface that is not given: nothing to slide along
    keep = np.where(out & ~full[:, None], 0.0, 1.0)
    P = np.einsum("nki,ni,nji->nkj", axes, keep, axes)
    straight = np.abs(np.einsum("nkk->nk", P)) < AXIS
    found = np.einsum("nkj,nj->nk", P, slope)
    free = ~(out & ~full[:, None]).any(axis=1)
    return np.where(straight, 0.0, np.where(free[:, None], slope, found))
