"""From a file's element blocks to a mesh: nothing is dropped that carries meaning."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import BOUNDARY, CELLS, Mesh
from pinnpoint.mesh.middles import Middles

DIMENSION = {"vertex": 0, "line": 1, "triangle": 2, "tetra": 3}
OTHER = {"line3": 1, "triangle6": 2, "quad": 2, "tetra10": 3, "hexahedron": 3, "wedge": 3, "pyramid": 3}
OTHER |= {"quad8": 2, "quad9": 2, "hexahedron20": 3, "hexahedron27": 3, "wedge15": 3, "wedge18": 3}
OTHER |= {"pyramid13": 3, "pyramid14": 3}
"""Dimensions of kinds that become simplices."""
AXES = "xyz"
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Block:
    """Elements of one kind, and which of them belong to which group."""

    kind: str
    cells: Index
    groups: Mapping[str, Index] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Blocks:
    """What a mesh file holds.

    Attributes
    ----------
    facets
        Further boundary groups, given by vertex numbers.
    point_sets
        Point numbers; a boundary facet belongs to the set when all its vertices do.
    unnamed
        Dimension and number of groups without a name, and how to name them.
    middles
        How many of the points are mid-side nodes, which belong to no cell here.
    """

    points: Vector
    blocks: Sequence[Block]
    facets: Mapping[str, Index] = field(default_factory=dict)
    point_sets: Mapping[str, Index] = field(default_factory=dict)
    unnamed: Mapping[tuple[int, str], str] = field(default_factory=dict)
    middles: int = 0


def build_mesh(file: Blocks, halves: Any = None, source: str = "the mesh", remarks: tuple[str, ...] = ()) -> Mesh:
    """The mesh of the blocks of highest dimension; those one dimension lower name boundary groups.

    `halves` are mid-side nodes of second-order elements, `source` what to call the file, `remarks` what was cut.
    """
    blocks = [b for b in file.blocks if len(b.cells)]
    dim = _dimension(blocks)
    _require_no_lower_groups(blocks, dim)
    X = np.asarray(file.points, dtype=np.float64)
    _require_range(blocks, len(X))
    cells, cell_groups = _join([b for b in blocks if DIMENSION[b.kind] == dim], dim + 1)
    sides, side_groups = _join([b for b in blocks if DIMENSION[b.kind] == dim - 1], dim)
    facet_groups = {name: sides[rows] for name, rows in side_groups.items()}
    for name, rows in file.facets.items():
        facet_groups[name] = np.concatenate([facet_groups.get(name, np.zeros((0, dim), dtype=np.intp)), rows])
    used = np.zeros(len(X), dtype=bool)
    used[cells] = True
    number = np.cumsum(used) - 1
    _require_used(facet_groups, used)
    if not used.all():
        if (left := int((~used).sum()) - file.middles) > 0:
            log.warning("%d of %d points belong to no cell and are left out", left, len(X))
        X, cells = X[used], number[cells]
    facets = {n: number[f] for n, f in facet_groups.items()}
    X, middles = _cut(X, dim), None
    if halves is not None:
        mine = used[halves.edges].all(axis=1)
        places = _cut(np.asarray(file.points, dtype=np.float64)[halves.nodes[mine]], dim)
        middles = Middles(np.sort(number[halves.edges[mine]], axis=1), places, source).off(X)
    mesh = Mesh(X, cells, cell_groups, facets, file.unnamed, middles=middles, remarks=remarks)
    sets = {name: number[p[used[p]]] for name, p in file.point_sets.items() if name not in facet_groups}
    if sets:
        mesh = mesh.with_facets(_facets_of_sets(mesh, sets))
    _require_whole_boundary(mesh)
    if file.unnamed:
        listed = ", ".join(f"{tag} (dimension {dim})" for dim, tag in file.unnamed)
        log.warning("groups without a name are left out: %s; field data of a .vtu name them", listed)
    return mesh


def members(tags: Index) -> dict[int, Index]:
    """Rows of each tag; 0 means none."""
    order = np.argsort(tags, kind="stable")
    values, start = np.unique(tags[order], return_index=True)
    return {int(v): np.sort(rows) for v, rows in zip(values, np.split(order, start[1:]), strict=True) if v != 0}


def numbered(
    kinds: Sequence[tuple[str, Index, Index]], names: Mapping[str, Any]
) -> tuple[list[Block], dict[tuple[int, str], str]]:
    """Blocks of formats that number their groups, and what to say about the numbers that have no name.

    Parameters
    ----------
    kinds
        Kind, cells and the number of each cell's group; 0 means none.
    names
        Field data: a group's name to its number and its dimension, as meshio keeps Gmsh's.
    """
    known = {tuple(np.ravel(v).tolist()): str(k) for k, v in names.items() if np.size(v) == 2}
    blocks: list[Block] = []
    unnamed: dict[tuple[int, str], str] = {}
    for kind, cells, tags in kinds:
        dim = {**DIMENSION, **OTHER}.get(kind, -1)
        groups = {}
        for tag, rows in members(tags).items():
            if (tag, dim) in known:
                groups[known[tag, dim]] = rows
            else:
                unnamed[dim, str(tag)] = (
                    f"group {tag} of dimension {dim} has no name and is left out; in a .vtu, add field data with its "
                    f"name that hold [{tag}, {dim}]"
                )
        blocks.append(Block(kind, cells, groups))
    return blocks, unnamed


def node_finder(tags: Index) -> Callable[[Index], Index]:
    """From node numbers, which may be sparse and in any order, to rows; unknown numbers are refused."""
    order = np.argsort(tags, kind="stable")
    ordered = tags[order]
    twice = np.flatnonzero(np.diff(ordered) == 0)
    if twice.size:
        raise InputError(f"node {int(ordered[twice[0]])} is given twice")

    top = int(ordered[-1]) if len(ordered) else 0
    if len(ordered) and ordered[0] >= 0 and top <= 8 * len(ordered):  # numbers without large gaps: a table
        row = np.full(top + 2, -1, dtype=np.intp)
        row[tags] = np.arange(len(tags))

        def look_up(wanted: Index) -> Index:
            found = row[np.clip(wanted, -1, top + 1)]
            if (found < 0).any():
                raise InputError(f"node {int(wanted[found < 0][0])} is used but not given")
            return np.asarray(found)

        return look_up

    def find(wanted: Index) -> Index:
        place = np.minimum(np.searchsorted(ordered, wanted), max(len(ordered) - 1, 0))
        missing = ordered[place] != wanted if len(ordered) else np.ones(wanted.shape, dtype=bool)
        if missing.any():
            raise InputError(f"node {int(wanted[missing][0])} is used but not given")
        return np.asarray(order[place])

    return find


def _dimension(blocks: Sequence[Block]) -> int:
    foreign: dict[str, int] = {}
    for b in blocks:
        if b.kind not in DIMENSION:
            foreign[b.kind] = foreign.get(b.kind, 0) + len(b.cells)
    if foreign:
        listed = ", ".join(f"{count} of type {kind}" for kind, count in sorted(foreign.items()))
        raise InputError(
            f"{listed}: not supported; mesh again with triangles, tetrahedra, quadrilaterals or hexahedra of first or "
            "second order"
        )
    dim = max((DIMENSION[b.kind] for b in blocks), default=0)
    if dim == 0:
        raise InputError("the file holds no intervals, triangles or tetrahedra")
    return dim


def _require_no_lower_groups(blocks: Sequence[Block], dim: int) -> None:
    for b in blocks:
        if DIMENSION[b.kind] < dim - 1 and any(len(rows) for rows in b.groups.values()):
            name = next(n for n, rows in b.groups.items() if len(rows))
            raise InputError(
                f"group '{name}': holds {len(b.groups[name])} elements of type {b.kind} in a mesh of {CELLS[dim]}; "
                f"a group can hold cells or facets of cells only; remove it"
            )


def _require_range(blocks: Sequence[Block], count: int) -> None:
    for b in blocks:
        if int(b.cells.min()) < 0 or int(b.cells.max()) >= count:
            raise InputError(
                f"elements of type {b.kind}: point numbers must lie between 0 and {count - 1}; "
                f"got {int(b.cells.min())} to {int(b.cells.max())}"
            )


def _require_used(facet_groups: Mapping[str, Index], used: Index) -> None:
    for name, rows in facet_groups.items():
        if not used[rows].all():
            raise InputError(f"facet group '{name}': uses points that belong to no cell; mesh again")


def _require_whole_boundary(mesh: Mesh) -> None:
    if BOUNDARY in mesh.facet_groups:
        given = np.unique(np.sort(mesh.facet_groups[BOUNDARY], axis=1), axis=0)
        if len(given) != len(mesh.boundary) or not np.array_equal(given, np.unique(mesh.boundary, axis=0)):
            raise InputError(
                f"group '{BOUNDARY}': holds {len(given)} facets, but the name stands for the whole boundary, "
                f"which has {len(mesh.boundary)}; rename the group"
            )


def _join(blocks: Sequence[Block], width: int) -> tuple[Index, dict[str, Index]]:
    """All cells of blocks of one kind, with the groups renumbered."""
    if not blocks:
        return np.zeros((0, width), dtype=np.intp), {}
    groups: dict[str, list[Index]] = {}
    offset = 0
    for b in blocks:
        for name, rows in b.groups.items():
            if len(rows):
                groups.setdefault(name, []).append(np.asarray(rows, dtype=np.intp) + offset)
        offset += len(b.cells)
    cells = np.concatenate([b.cells for b in blocks]).astype(np.intp)
    return cells, {name: np.concatenate(rows) for name, rows in groups.items()}


def _cut(X: Vector, dim: int) -> Vector:
    """Points in the file's space of dimension `dim`: the further coordinates must be 0."""
    if X.shape[1] < dim:
        raise InputError(f"points: {CELLS[dim]} need {dim} coordinates; got {X.shape[1]}")
    for axis in range(dim, X.shape[1]):
        if not np.all(X[:, axis] == 0.0):
            low, high = float(X[:, axis].min()), float(X[:, axis].max())
            raise InputError(
                f"points: a mesh of {CELLS[dim]} must have {AXES[axis]} = 0 everywhere; it runs from {low:g} to "
                f"{high:g} (curves and surfaces in space are not supported; if the "
                "file should hold triangles or tetrahedra, its cells need a physical group in Gmsh too)"
            )
    return X[:, :dim]


def _facets_of_sets(mesh: Mesh, sets: Mapping[str, Index]) -> dict[str, Index]:
    groups = {}
    for name, points in sets.items():
        inside = np.zeros(len(mesh.points), dtype=bool)
        inside[points] = True
        facets = mesh.boundary[inside[mesh.boundary].all(axis=1)]
        if len(facets):
            groups[name] = facets
    return groups
