"""Quadrilaterals, hexahedra, prisms and pyramids of second order: the middles of the edges that they are cut along.

Their own edges have mid-side nodes. Diagonals are straight, but for those of faces of the boundary in space that are
not flat: their middle is where the element's own map takes that of the face, a node of the file where there is one, and
otherwise the place that the face's eight nodes make of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.io.meshes.blocks import Block

PLAIN = {
    "quad8": ("quad", 4),
    "quad9": ("quad", 4),
    "hexahedron20": ("hexahedron", 8),
    "hexahedron27": ("hexahedron", 8),
    "wedge15": ("wedge", 6),
    "wedge18": ("wedge", 6),
    "pyramid13": ("pyramid", 5),
    "pyramid14": ("pyramid", 5),
}
"""Kinds of second order: those of first order, and vertices. Mid-side nodes follow in the order of `EDGES`."""
EDGES = {
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "hexahedron": (
        *((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)),
        *((0, 4), (1, 5), (2, 6), (3, 7)),
    ),
    "wedge": ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)),
    "pyramid": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4)),
}
QUADS = {
    "hexahedron": ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    "wedge": ((0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    "pyramid": ((0, 1, 2, 3),),
}
"""Faces of cells with four vertices."""
FLAT = 1e-12
"""Of a face's size: what is less off its plane is rounding of the file's numbers."""
BELOW = ((0.5, 0.25), (0.75, 0.25), (2 / 3, 1 / 3), (0.75, 0.5))
"""Places of a face's lower half, by its two coordinates, at which it is compared with what it is cut into."""


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces of cells: vertices and mid-side nodes in turn, (n, 4) each, and a node in the middle or −1, (n,)."""

    vertices: Index
    middles: Index
    centre: Index

    __repr__ = brief


def edges_of(block: Block, X: Vector) -> tuple[Block, Index, Index, list[Faces]]:
    """The elements by their vertices, their edges with mid-side nodes, and their faces."""
    kind, count = PLAIN[block.kind]
    T, pairs = np.asarray(block.cells, dtype=np.intp), EDGES[kind]
    V, sides, more = T[:, :count], T[:, count : count + len(pairs)], T[:, count + len(pairs) :]
    own = {frozenset(pair): k for k, pair in enumerate(pairs)}
    faces = []
    for face in QUADS.get(kind, ()):
        F, M = V[:, face], sides[:, [own[frozenset((face[k], face[k - 3]))] for k in range(4)]]
        faces.append(Faces(F, M, _nearest(more, _middle(F, M, X), X)))
    edges = np.concatenate([np.sort(V[:, pair], axis=1) for pair in pairs])
    return replace(block, kind=kind, cells=V), edges, sides.T.ravel(), faces


def bent(found: Sequence[Faces], X: Vector) -> tuple[Vector, Index, Index, float]:
    """The points with those that are new, the bent diagonals with their nodes, and how far faces are off their cut."""
    V, M, centre = (
        np.concatenate(part) for part in zip(*((f.vertices, f.middles, f.centre) for f in found), strict=True)
    )
    _, first, often = np.unique(np.sort(V, axis=1), axis=0, return_index=True, return_counts=True)
    rows = first[often == 1]
    rows = rows[_off(V[rows], M[rows], X)]
    V, M, centre = V[rows], M[rows], centre[rows].copy()
    start, each = np.argmin(V, axis=1), np.arange(len(V))
    edges = np.sort(np.stack([V[each, start], V[each, (start + 2) % 4]], axis=1), axis=1)
    new = np.flatnonzero(centre < 0)
    centre[new] = len(X) + np.arange(len(new))
    X = np.concatenate([X, _middle(V[new], M[new], X)])
    return X, edges, centre, _away(X[V], X[M], X[centre], start)  # curved.md, step 4b


def _middle(V: Index, M: Index, X: Vector) -> Vector:
    """Where the map of a face with eight nodes takes its middle."""
    return np.asarray(0.5 * X[M].sum(axis=1) - 0.25 * X[V].sum(axis=1))


def _nearest(more: Index, place: Vector, X: Vector) -> Index:
    """The further node of each element that is nearest to a place; −1 where it has none."""
    if not more.shape[1]:
        return np.full(len(place), -1, dtype=np.intp)
    best = np.argmin(((X[more] - place[:, None]) ** 2).sum(axis=2), axis=1)
    return np.asarray(more[np.arange(len(more)), best])


def _unit(corners: Vector) -> Vector:
    """Unit normals of the planes of faces, about."""
    normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    return np.asarray(normal / np.maximum(np.sqrt((normal**2).sum(axis=1)), 1e-300)[:, None])


def _off(V: Index, M: Index, X: Vector) -> Index:
    """Which faces are not flat."""
    nodes = X[np.concatenate([V, M], axis=1)]
    arms = nodes - nodes[:, :1]
    height = np.abs((arms * _unit(X[V])[:, None]).sum(axis=2)).max(axis=1, initial=0.0)
    return np.flatnonzero(height > FLAT * (np.abs(arms).max(axis=(1, 2), initial=0.0) + np.abs(nodes).max(initial=0.0)))


def _away(corners: Vector, middles: Vector, centre: Vector, start: Index) -> float:
    """About how far faces are from the two second-order triangles that they are cut into, across their planes.

    With coordinates s, t of the face from its vertex of smallest number: the difference of the face's map, quadratic in
    each of them, and of the triangle's on t ≤ s, by their common nodes.
    """
    turn = ((start[:, None] + np.arange(4)) % 4)[:, :, None]
    c, m = (np.take_along_axis(v, turn, axis=1).transpose(1, 0, 2) for v in (corners, middles))
    unit, worst = _unit(corners), 0.0
    for (b, ab, bd), (o, ao, od) in (
        ((c[1], m[0], m[1]), (c[3], m[3], m[2])),
        ((c[3], m[3], m[2]), (c[1], m[0], m[1])),
    ):
        for s, t in BELOW:
            grid = ((c[0], ab, b), (ao, centre, bd), (o, od, c[2]))
            face = sum(v * w * grid[j][i] for j, v in enumerate(_line(t)) for i, w in enumerate(_line(s)))
            x, y, z = 1.0 - s, s - t, t
            half = x * (2.0 * x - 1.0) * c[0] + y * (2.0 * y - 1.0) * b + z * (2.0 * z - 1.0) * c[2]
            half = half + 4.0 * (x * y * ab + y * z * bd + x * z * centre)
            worst = max(worst, float(np.abs(((face - half) * unit).sum(axis=1)).max(initial=0.0)))
    return worst if worst > FLAT * float(np.abs(corners).max(initial=0.0)) else 0.0


def _line(t: float) -> tuple[float, float, float]:
    """The quadratics of the nodes 0, ½ and 1."""
    return (1.0 - t) * (1.0 - 2.0 * t), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0)
