"""What of a mesh can be seen: triangles or boundary, the edges that give it shape, with a limited number of nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.mesh import Index, Mesh

MAX_NODES = 60_000
"""Above this many nodes of the surface they are merged on a grid."""
CREASE = np.cos(np.radians(30.0))


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles in space, or the nodes of an interval in order.

    Attributes
    ----------
    nodes
        The mesh's node behind each drawn one.
    points
        (n, 3), or (n, 1) for an interval.
    triangles
        (F, 3) drawn nodes; empty for an interval.
    edges
        (E, 2): the outline in 2D, creases in 3D.
    whole
        How many nodes the surface had before nodes were merged.
    """

    dim: int
    nodes: Index
    points: Vector
    triangles: Index
    edges: Index
    whole: int


def surface(mesh: Mesh, most: int = MAX_NODES) -> Surface:
    """The surface of a mesh, with at most so many nodes."""
    none = np.zeros((0, 2), dtype=np.intp)
    if mesh.dim == 1:
        order = np.argsort(mesh.points[:, 0], kind="stable")
        return Surface(1, order, mesh.points[order], np.zeros((0, 3), dtype=np.intp), none, len(order))
    faces = mesh.cells if mesh.dim == 2 else mesh.boundary
    used, flat = np.unique(faces, return_inverse=True)
    triangles, points = flat.reshape(faces.shape), np.pad(mesh.points[used], ((0, 0), (0, 3 - mesh.dim)))
    whole = len(used)
    if whole > most:
        kept, triangles = merge(points, triangles, most)
        used, points = used[kept], points[kept]
    return Surface(mesh.dim, used, points, triangles, outline(points, triangles), whole)


def merge(points: Vector, triangles: Index, most: int) -> tuple[Index, Index]:
    """One node for each occupied cell of a grid, coarse enough to leave at most so many of them."""
    points = _normal(points)
    lo, span = points.min(axis=0), np.ptp(points, axis=0)
    P = points[triangles]
    area = 0.5 * np.linalg.norm(np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]), axis=1).sum()
    width = max(np.sqrt(area / most), float(span.max()) / most)
    while True:
        place = ((points - lo) / width).astype(np.int64)
        size = place.max(axis=0) + 1
        keys = (place[:, 0] * size[1] + place[:, 1]) * size[2] + place[:, 2]
        _, kept, group = np.unique(keys, return_index=True, return_inverse=True)
        if len(kept) <= most:
            break
        width *= 1.15
    T = group[triangles]
    T = T[(T[:, 0] != T[:, 1]) & (T[:, 1] != T[:, 2]) & (T[:, 0] != T[:, 2])]
    _, once = np.unique(np.sort(T, axis=1) @ np.array([len(kept) ** 2, len(kept), 1]), return_index=True)
    T = T[np.sort(once)]
    used, flat = np.unique(T, return_inverse=True)
    return kept[used], flat.reshape(T.shape)


def _normal(points: Vector) -> Vector:
    """Of size one, so that areas neither vanish nor overflow."""
    return np.asarray(points / max(float(np.abs(points).max()), 1e-300))


def outline(points: Vector, triangles: Index) -> Index:
    """Edges with one triangle, and those where the surface bends by more than 30°."""
    points = _normal(points)
    pairs = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    keys = pairs[:, 0] * len(points) + pairs[:, 1]
    order = np.argsort(keys, kind="stable")
    start = np.flatnonzero(np.diff(keys[order], prepend=-1))
    count = np.diff(start, append=len(keys))
    P = points[triangles]
    normal = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    drawn = count != 2
    two = start[count == 2]
    one, other = order[two] // 3, order[two + 1] // 3
    drawn[count == 2] = np.abs(np.einsum("ij,ij->i", normal[one], normal[other])) < CREASE
    return np.asarray(pairs[order[start[drawn]]])
