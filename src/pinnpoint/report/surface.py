"""What of a mesh can be seen: triangles or boundary, the edges that give it shape, with a limited number of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Drawn
from pinnpoint.report.bent_edges import between, fans
from pinnpoint.report.cuts import cut, levels

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
    second, weight
        Nodes of cuts lie between two of the mesh: ``(1 − weight) nodes + weight second``.
    cuts
        Levels of y, and the triangles (F, 3) of the cut there.
    """

    dim: int
    nodes: Index
    points: Vector
    triangles: Index
    edges: Index
    whole: int
    second: Index
    weight: Vector
    cuts: tuple[tuple[float, Index], ...] = ()

    def at(self, values: Vector) -> Vector:
        """The drawn nodes' values, from those of the mesh, (N, c)."""
        found = values[self.nodes]
        between = np.flatnonzero(self.weight)
        w = self.weight[between, None]
        found[between] = (1.0 - w) * found[between] + w * values[self.second[between]]
        return np.asarray(found)


def surface(mesh: Mesh, most: int = MAX_NODES, at: Vector | None = None) -> Surface:
    """The surface of a mesh, with at most so many nodes; solids are also cut, through the points given if any."""
    none = np.zeros((0, 2), dtype=np.intp)
    if mesh.dim == 1:
        order = np.argsort(mesh.points[:, 0], kind="stable")
        flat = np.zeros((0, 3), dtype=np.intp)
        return Surface(1, order, mesh.points[order], flat, none, len(order), order, np.zeros(len(order)))
    faces = mesh.cells if mesh.dim == 2 else mesh.boundary
    used, triangles = compact(faces, len(mesh.points))
    points = np.pad(mesh.points[used], ((0, 0), (0, 3 - mesh.dim)))
    whole = len(used)
    if whole > most:
        kept, triangles = merge(points, triangles, most)
        used, points = used[kept], points[kept]
    if mesh.dim == 2 and mesh.drawn is not None and whole <= most:
        return _with_curves(mesh, used, points, triangles, mesh.drawn)
    plain = Surface(mesh.dim, used, points, triangles, outline(points, triangles), whole, used, np.zeros(len(used)))
    return plain if mesh.dim == 2 else _with_cuts(plain, mesh, most, at)


def _with_curves(mesh: Mesh, used: Index, points: Vector, triangles: Index, drawn: Drawn) -> Surface:
    """The surface of a plane mesh whose curved edges are drawn as they are."""
    one, two, weight, places = between(drawn)
    T = fans(triangles, used, drawn, len(mesh.points))
    X = np.concatenate([points, places])
    nodes, second = np.concatenate([used, one]), np.concatenate([used, two])
    return Surface(2, nodes, X, T, outline(X, T), len(used), second, np.concatenate([np.zeros(len(used)), weight]))


def _with_cuts(plain: Surface, mesh: Mesh, most: int, at: Vector | None) -> Surface:
    nodes, second, weight, cuts = [plain.nodes], [plain.second], [plain.weight], []
    count = len(plain.nodes)
    for level in levels(mesh, at):
        found = cut(mesh, level)
        if count + len(found.first) > 1.5 * most or not len(found.triangles):
            continue
        nodes, second, weight = [*nodes, found.first], [*second, found.second], [*weight, found.weight]
        cuts.append((found.level, found.triangles + count))
        count += len(found.first)
    both = replace(plain, nodes=np.concatenate(nodes), second=np.concatenate(second), weight=np.concatenate(weight))
    return replace(both, points=both.at(mesh.points), cuts=tuple(cuts))


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
    used, T = compact(T, len(kept))
    return kept[used], T


def compact(triangles: Index, count: int) -> tuple[Index, Index]:
    """Which of so many nodes are used, and the triangles in their numbers."""
    flags = np.zeros(count, dtype=bool)
    flags[triangles] = True
    return np.flatnonzero(flags), (np.cumsum(flags) - 1)[triangles]


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
