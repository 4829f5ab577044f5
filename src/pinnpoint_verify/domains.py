"""Domains that a case may name: the stored mesh fills them, and groups of facets are their sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import areas
from pinnpoint_verify.glued import names_of
from pinnpoint_verify.reader import Array, need

Row = dict[str, Any]
SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))
ENDS = {
    "interval": [(0.0, 1.0)],
    "square": [(0.0, 1.0)] * 2,
    "cube": [(0.0, 1.0)] * 3,
    "lshape": [(-1.0, 1.0)] * 2,
    "frame": [(-1.0, 1.0)] * 2,
    "fichera": [(-1.0, 1.0)] * 3,
    "dumbbell": [(0.0, 3.0), (0.0, 1.0)],
}
"""Ends of every axis."""
HOLES = {
    "lshape": [[(0.0, 1.0), (-1.0, 0.0)]],
    "frame": [[(-0.5, 0.5), (-0.5, 0.5)]],
    "fichera": [[(0.0, 1.0)] * 3],
    "dumbbell": [[(1.0, 2.0), (0.0, 0.375)], [(1.0, 2.0), (0.625, 1.0)]],
}
"""Boxes that are taken out."""
MORE = {"lshape": "reentrant", "fichera": "reentrant", "frame": "hole", "dumbbell": "bridge"}
"""Groups that are no sides."""
FREE = {"bracket": 3, "disc": 2, "annulus": 2}
"""Domains of which only the dimension is compared."""
SLIP = 1e-12
"""Of the coordinates of holes."""


def named(case: Row) -> str:
    """The domain that the case names, empty where the mesh is a file or given in Python."""
    kind = (case.get("mesh") or {}).get("generate")
    need(kind is None or kind in ENDS or kind in FREE, f"case.json: unknown domain {str(kind)[:100]!r}")
    return kind or ""


def unfolded(mesh: Any) -> None:
    """Two cells that share a facet lie on either side of it."""
    inner = np.nonzero((mesh.kind == 0) & ~mesh.paired)[0]
    order = np.argsort(mesh.cell_facets.ravel(), kind="stable")
    first = np.searchsorted(mesh.cell_facets.ravel()[order], inner)
    V, sides = mesh.points[mesh.facets[inner]], []
    for k in (0, 1):
        opposite = mesh.points[mesh.cells.ravel()[order[first + k]]]
        E = np.concatenate([V[:, 1:] - V[:, :1], (opposite - V[:, 0])[:, None]], axis=1)
        sides.append(np.sign(np.linalg.det(E)))
    need(np.all(sides[0] * sides[1] < 0.0), "mesh: cells that share a facet overlap")


def outer(cells: Array) -> Array:
    """Facets of one cell only, as sorted vertices."""
    every = np.concatenate([np.delete(cells, k, axis=1) for k in range(cells.shape[1])])
    _, at, count = np.unique(names_of(every, int(cells.max()) + 1), return_index=True, return_counts=True)
    return np.asarray(every[at[count == 1]])


def domain_agrees(nodes: Array, cells: Array, case: Row, certificate: Row) -> None:
    """A domain that the case names is filled once: its size, and all of the mesh's boundary on its boundary.

    Then the number of cells over a point is the same everywhere inside, and by the size it is one.
    """
    kind, d = named(case), nodes.shape[1]
    need(FREE.get(kind, d) == d, f"mesh: not the domain {kind!r} of the case")
    if kind == "" or kind in FREE:
        return
    ends = np.array(ENDS[kind])
    fits = d == len(ends) and np.array_equal(nodes.min(axis=0), ends[:, 0])
    need(fits and np.array_equal(nodes.max(axis=0), ends[:, 1]), f"mesh: not the domain {kind!r} of the case")
    holes = [np.array(hole) for hole in HOLES.get(kind, [])]
    size = float(np.prod(np.ptp(ends, axis=1)) - sum(np.prod(np.ptp(hole, axis=1)) for hole in holes))
    X, F = nodes[cells], nodes[outer(cells)]
    volumes, middles = np.abs(np.linalg.det(X[:, 1:] - X[:, :1])) / math.factorial(d), X.mean(axis=1)
    on = np.any([np.all(F[:, :, a] == e, axis=1) for a in range(d) for e in ends[a]], axis=0)
    fits = abs(float(volumes.sum()) - size) <= 1e-9 * size
    for hole in holes:
        fits = fits and not np.any(np.all((middles > hole[:, 0]) & (middles < hole[:, 1]), axis=1))
        within = np.all((F >= hole[:, 0] - SLIP) & (F <= hole[:, 1] + SLIP), axis=(1, 2))
        rim = [np.all(np.abs(F[:, :, a] - e) <= SLIP, axis=1) for a in range(d) for e in hole[a]]
        on |= within & np.any(rim, axis=0)
    need(fits and np.all(on), f"mesh: not the domain {kind!r} of the case")
    count_agrees(kind, d, size, len(cells), case, certificate)


def count_agrees(kind: str, d: int, size: float, count: int, case: Row, certificate: Row) -> None:
    """As many cells as the case says, before refinement."""
    n = case["mesh"].get("cells", 32)
    n = 32 if n is None else n
    need(type(n) is int and 0 < n < 10**6, "case.json: a wrong number of cells")
    if kind == "dumbbell":  # its rows are rounded across the bridge
        return
    n += n % 2 if kind == "frame" else 0
    steps = certificate.get("refinement", {}).get("steps")
    first = steps[0]["cells"] if steps else count
    fits = first == round(size * n**d) * math.factorial(d)
    need(fits, f"mesh: it has {first} cells, other than {n} per unit length make")


def sides_agree(nodes: Array, groups: dict[str, Array], case: Row) -> None:
    """Groups of a domain that the case names, where they are its sides: facets there, and all of them."""
    kind, d = named(case), nodes.shape[1]
    if kind == "" or kind in FREE:
        return
    known = {name for names in SIDES[:d] for name in names} | {"boundary", MORE.get(kind, "boundary")}
    need(groups.keys() <= known, f"group {str(sorted(groups.keys() - known))[:100]}: not one of the domain {kind!r}")
    for axis, names in enumerate(SIDES[:d]):
        for name, value in zip(names, ENDS[kind][axis], strict=True):
            if name in groups:
                F = nodes[groups[name]]
                need(np.all(F[..., axis] == value), f"group {name!r}: its facets are elsewhere")
                area, size = float(areas(F).m.sum()), side_size(kind, axis, value)
                need(abs(area - size) <= 1e-9 * size, f"group {name!r}: not the whole side")


def side_size(kind: str, axis: int, value: float) -> float:
    """The measure of a side."""
    rest = [a for a in range(len(ENDS[kind])) if a != axis]
    boxes = [ENDS[kind], *(hole for hole in HOLES.get(kind, []) if value in hole[axis])]
    sizes = [float(np.prod([box[a][1] - box[a][0] for a in rest])) for box in boxes]
    return sizes[0] - sum(sizes[1:])


def side_of(name: str, nodes: Array, case: Row) -> Array | None:
    """Which points lie on the plane of a side; None where the group is no side of a domain that is named."""
    kind = named(case)
    for axis, names in enumerate(SIDES[: nodes.shape[1]] if kind in ENDS else ()):
        if name in names:
            return np.asarray(nodes[:, axis] == ENDS[kind][axis][names.index(name)])
    return None
