"""Elements of other kinds as simplices: second-order ones by their vertices, quadrilaterals and the like cut.

Quadrilaterals are cut from their vertex with the smallest number, and so are the faces of hexahedra, prisms and
pyramids: whatever cell a face is seen from, the cut is the same. A cell is then the cones from its smallest vertex over
the triangles of the faces that do not hold it. Those of second order keep their curved sides (diagonals.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.io.meshes.blocks import Block, Blocks
from pinnpoint.io.meshes.diagonals import PLAIN, Faces, bent, edges_of
from pinnpoint.mesh.mesh import CUT

SECOND = {"line3": ("line", 2), "triangle6": ("triangle", 3), "tetra10": ("tetra", 4)}
"""Second-order kinds: their simplices and vertices. Mid-side nodes follow in the order of `SIDES`."""
SIDES = {
    "line3": ((0, 1),),
    "triangle6": ((0, 1), (1, 2), (2, 0)),
    "tetra10": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
}
FACES = {
    "hexahedron": ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    "wedge": ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    "pyramid": ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
}
NAMES = {"quad": "quadrilaterals", "hexahedron": "hexahedra", "wedge": "prisms", "pyramid": "pyramids"}
KNOWN = (*SECOND, *NAMES, *PLAIN)


@dataclass(frozen=True, eq=False)
class Sides:
    """Edges (E, 2) of second-order elements and the points in their middles, by the file's rows."""

    edges: Index
    nodes: Index

    __repr__ = brief


def simplified(file: Blocks) -> tuple[Blocks, Sides | None, tuple[str, ...]]:
    """The file's elements as simplices, the mid-side nodes of second-order ones, and what was cut, in words."""
    edges: list[Index] = []
    nodes: list[Index] = []
    faces: list[Faces] = []
    blocks, said, inner = [], [], []
    warped, X = 0.0, np.asarray(file.points, dtype=np.float64)
    for block in file.blocks:
        order = ""
        if block.kind in PLAIN and len(block.cells):
            inner.append(block.cells.ravel())
            block, ends, between, more = edges_of(block, X)
            order, edges, nodes, faces = " of second order", [*edges, ends], [*nodes, between], [*faces, *more]
        if block.kind in SECOND and len(block.cells):
            kind, count = SECOND[block.kind]
            blocks.append(replace(block, kind=kind, cells=block.cells[:, :count]))
            for k, (a, b) in enumerate(SIDES[block.kind]):
                edges.append(np.sort(block.cells[:, [a, b]], axis=1))
                nodes.append(block.cells[:, count + k])
        elif block.kind in NAMES and len(block.cells):
            made = cut(block)
            blocks.append(made)
            what = "triangles" if made.kind == "triangle" else "tetrahedra"
            said.append(f"{len(block.cells):,} {NAMES[block.kind]}{order} {CUT} {len(made.cells):,} {what}")
            warped = warped if order else max(warped, _warp(block, X))
        else:
            blocks.append(block)
    if faces:
        X, ends, between, away = bent(faces, X)
        edges, nodes, warped = [*edges, ends], [*nodes, between], max(warped, away)
    top = [text for text in said if "tetrahedra" in text] or said
    notes: tuple[str, ...] = ()
    if top:
        flat = f"; their faces are up to {warped:.2g} off the cut ones" if warped > 0.0 else ""
        notes = (
            f"{' and '.join(top)}{flat}; intervals of the PDE's own solution are on these, and values at the nodes of "
            "the file are the prediction, whatever elements they came from",
        )
    sides = _sides(np.concatenate(edges), np.concatenate(nodes)) if edges else None
    left = 0
    if sides is not None:
        vertices = np.concatenate([block.cells.ravel() for block in blocks])
        _require_own(sides.nodes, vertices)
        left = len(np.setdiff1d(np.concatenate([sides.nodes, *inner]), vertices))
    return replace(file, points=X, blocks=blocks, middles=file.middles + left), sides, notes


def cut(block: Block) -> Block:
    """Quadrilaterals as triangles, or hexahedra, prisms and pyramids as tetrahedra; groups follow their elements."""
    T = np.asarray(block.cells, dtype=np.intp)
    if block.kind == "quad":
        cells, owner = _triangles(T, np.arange(len(T)))
        return Block("triangle", *_in_order(cells, owner, block))
    cells_, owners = [], []
    first = np.argmin(T, axis=1)
    for p in range(T.shape[1]):
        these = np.flatnonzero(first == p)
        for face in FACES[block.kind]:
            if p in face or not len(these):
                continue
            tops, owner = (T[these][:, list(face)], these)
            if len(face) == 4:
                tops, owner = _triangles(tops, these)
            cells_.append(np.concatenate([T[owner, p][:, None], tops], axis=1))
            owners.append(owner)
    return Block("tetra", *_in_order(np.concatenate(cells_), np.concatenate(owners), block))


def _triangles(quads: Index, owner: Index) -> tuple[Index, Index]:
    """Each quadrilateral as two triangles, cut from the vertex with the smallest number."""
    start = np.argmin(quads, axis=1)  # curved.md, step 4a
    turned = np.take_along_axis(quads, (start[:, None] + np.arange(4)) % 4, axis=1)
    return np.concatenate([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]]]), np.concatenate([owner, owner])


def _in_order(cells: Index, owner: Index, block: Block) -> tuple[Index, dict[str, Index]]:
    """Cells in the order of the elements they came from, and their groups."""
    order = np.argsort(owner, kind="stable")
    cells, owner = cells[order], owner[order]
    groups = {}
    for name, rows in block.groups.items():
        inside = np.zeros(len(block.cells), dtype=bool)
        inside[rows] = True
        groups[name] = np.flatnonzero(inside[owner])
    return cells, groups


def _warp(block: Block, X: Vector) -> float:
    """The largest distance of a face from the two triangles that it is cut into; a bilinear face's is |…|/4."""
    if block.kind == "quad":
        return 0.0
    faces = [block.cells[:, list(f)] for f in FACES[block.kind] if len(f) == 4]
    V = X[np.concatenate(faces)]
    size = np.abs(V).max(initial=0.0)
    away = 0.25 * float(np.sqrt(((V[:, 0] - V[:, 1] + V[:, 2] - V[:, 3]) ** 2).sum(axis=1)).max(initial=0.0))
    normal = np.cross(V[:, 2] - V[:, 0], V[:, 3] - V[:, 1])
    with np.errstate(all="ignore"):
        unit = normal / np.sqrt((normal**2).sum(axis=1))[:, None]
    out = 0.25 * np.abs(((V[:, 0] - V[:, 1] + V[:, 2] - V[:, 3]) * unit).sum(axis=1)).max(initial=0.0)
    return away if float(out) > 1e-12 * size else 0.0


def _sides(edges: Index, nodes: Index) -> Sides:
    """Each edge once; refuses one with two nodes."""
    n = int(edges.max()) + 1
    key = edges[:, 0] * n + edges[:, 1]
    order = np.lexsort((nodes, key))
    fresh = np.concatenate([[True], np.diff(key[order]) > 0])
    apart = ~fresh[1:] & (np.diff(nodes[order]) != 0)
    if apart.any():
        k = int(nodes[order][1:][apart][0])
        raise InputError(
            f"point {k}: neighbouring elements have other nodes in the middle of the same side; join them in the mesher"
        )
    return Sides(edges[order[fresh]], nodes[order[fresh]])


def _require_own(middles: Index, vertices: Index) -> None:
    """Mid-side nodes belong to one edge, and are no vertices: cells would hang on the edge of a neighbour."""
    wrong = np.isin(middles, vertices)
    if wrong.any():
        raise InputError(
            f"point {int(middles[wrong][0])}: is a vertex and in the middle of a side; mesh with elements of one order"
        )
    ordered = np.sort(middles)
    twice = np.flatnonzero(np.diff(ordered) == 0)
    if twice.size:
        raise InputError(f"point {int(ordered[twice[0]])}: is in the middle of two sides; each needs a node of its own")
