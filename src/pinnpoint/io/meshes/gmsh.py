"""Gmsh's MSH files, 2.2 and 4.1, text and binary; groups are joined by (dimension, tag)."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.base.errors import InputError
from pinnpoint.io.meshes.blocks import Block, Blocks, members, node_finder
from pinnpoint.io.meshes.gmsh_sections import Section

ELEMENTS = {  # Gmsh's number to kind, vertices and dimension
    1: ("line", 2, 1),
    2: ("triangle", 3, 2),
    3: ("quad", 4, 2),
    4: ("tetra", 4, 3),
    5: ("hexahedron", 8, 3),
    6: ("wedge", 6, 3),
    7: ("pyramid", 5, 3),
    8: ("line3", 3, 1),
    9: ("triangle6", 6, 2),
    10: ("quad9", 9, 2),
    11: ("tetra10", 10, 3),
    12: ("hexahedron27", 27, 3),
    13: ("wedge18", 18, 3),
    14: ("pyramid14", 14, 3),
    15: ("vertex", 1, 0),
    16: ("quad8", 8, 2),
    17: ("hexahedron20", 20, 3),
    18: ("wedge15", 15, 3),
    19: ("pyramid13", 13, 3),
    20: ("triangle9", 9, 2),
    21: ("triangle10", 10, 2),
    23: ("triangle15", 15, 2),
    26: ("line4", 4, 1),
    29: ("tetra20", 20, 3),
}
MIDDLES = {  # where Gmsh has the mid-side nodes, in VTK's order
    "tetra10": (4, 5, 6, 7, 9, 8),
    "hexahedron20": (8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15),
    "hexahedron27": (8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15),
    "wedge15": (6, 9, 7, 12, 14, 13, 8, 10, 11),
    "wedge18": (6, 9, 7, 12, 14, 13, 8, 10, 11),
    "pyramid13": (5, 8, 10, 6, 7, 9, 11, 12),
    "pyramid14": (5, 8, 10, 6, 7, 9, 11, 12),
}
FORMAT = re.compile(
    rb"\s*(?:\$Comments.*?\$EndComments\s*)?\$MeshFormat\s+(\S+)\s+(\d)\s+(\d+)[ \t]*\r?\n(.{4})?", re.S
)
NAME = re.compile(r'^\s*(\d)\s+(-?\d+)\s+"(.*)"\s*$', re.M)
ENTITIES = ("Point", "Curve", "Surface", "Volume")
Names = Mapping[tuple[int, int], str]


def read_gmsh(data: bytes) -> Blocks:
    """The points and element blocks of an MSH file."""
    match = FORMAT.match(data)
    if match is None:
        raise InputError("not a Gmsh file: it does not begin with $MeshFormat")
    version, binary, size = match.group(1).decode(errors="replace"), match.group(2) == b"1", int(match.group(3))
    if version not in ("2.2", "2", "4.1"):
        raise InputError(f"MSH version {version[:20]} is not read; save the mesh as version 4.1 or 2.2")
    if binary and match.group(4) != np.array([1], dtype="<i4").tobytes():
        raise InputError("the binary file was written on a machine with another byte order; save it as text")
    if b"$PartitionedEntities" in data:
        raise InputError("the mesh is partitioned; save it without partitions")
    names = _physical_names(data)
    if version == "4.1":
        return _read_41(data, names, binary, size)
    return _read_22(data, names, binary)


def _physical_names(data: bytes) -> Names:
    match = re.search(rb"\$PhysicalNames\s+(\d+)(.*?)\$EndPhysicalNames", data, re.S)
    if match is None:
        return {}
    rows = NAME.findall(match.group(2).decode("utf-8", errors="replace").replace("\r", ""))
    if len(rows) != int(match.group(1)):
        raise InputError(f"section $PhysicalNames: announces {int(match.group(1))} names and holds {len(rows)}")
    return {(int(dim), int(tag)): name for dim, tag, name in rows}


def _read_41(data: bytes, names: Names, binary: bool, size: int) -> Blocks:
    physical = _entities(data, binary, size) if b"$Entities" in data else {}
    nodes = Section(data, "Nodes", binary=binary, size=size)
    blocks, count, _, _ = nodes.sizes(4)
    tags, points = [], []
    for _ in range(blocks):
        dim, _, parametric = nodes.ints(3)
        (n,) = nodes.sizes(1)
        tags.append(nodes.sizes(int(n)))
        width = 3 + (int(dim) if parametric else 0)
        points.append(nodes.doubles(int(n) * width).reshape(n, width)[:, :3])
    nodes.close()
    every = np.concatenate([np.zeros(0, np.intp), *tags])
    _require_count("Nodes", len(every), int(count))
    find = node_finder(every)
    elements = Section(data, "Elements", binary=binary, size=size)
    blocks, count, _, _ = elements.sizes(4)
    found = []
    for _ in range(blocks):
        dim, entity, kind = (int(v) for v in elements.ints(3))
        (n,) = elements.sizes(1)
        name, width, _ = _element(kind, int(n))
        cells = elements.sizes(int(n * (1 + width))).reshape(n, 1 + width)[:, 1:]
        if physical and (dim, entity) not in physical:
            raise InputError(f"section $Entities: entity {entity} of dimension {dim} is used but not given")
        groups = {_group(names, dim, tag): np.arange(n) for tag in physical.get((dim, entity), [])}
        found.append(Block(name, _as_others(name, find(cells)), groups))
    elements.close()
    _require_count("Elements", sum(len(b.cells) for b in found), int(count))
    return Blocks(np.concatenate([np.zeros((0, 3)), *points]), found)


def _entities(data: bytes, binary: bool, size: int) -> dict[tuple[int, int], list[int]]:
    """Physical tags of each entity, by (dimension, entity)."""
    section = Section(data, "Entities", binary=binary, size=size)
    physical = {}
    for dim, count in enumerate(section.sizes(4)):
        for _ in range(count):
            tag = int(section.ints(1)[0])
            section.doubles(6 if dim else 3)  # bounding box
            physical[dim, tag] = [abs(int(t)) for t in section.ints(int(section.sizes(1)[0]))]
            if dim:
                section.ints(int(section.sizes(1)[0]))  # bounding entities
    section.close()
    return physical


def _read_22(data: bytes, names: Names, binary: bool) -> Blocks:
    nodes = Section(data, "Nodes", binary=binary)
    count = nodes.line()
    if binary:
        rows = nodes.raw(np.dtype([("tag", "<i4"), ("x", "<f8", (3,))]), count)
        tags, points = rows["tag"].astype(np.intp), rows["x"].astype(np.float64)
    else:
        table = nodes.doubles(4 * count).reshape(count, 4)
        tags, points = nodes.whole(table[:, 0]), table[:, 1:]
    nodes.close()
    find = node_finder(tags)
    elements = Section(data, "Elements", binary=binary)
    count = elements.line()
    runs = _runs_binary(elements, count) if binary else _runs_text(elements)
    elements.close()
    _require_count("Elements", sum(len(rows) for _, _, rows in runs), count)
    return Blocks(points, [_once(b.kind, find(b.cells), b.groups) for b in _merged(names, runs)])


def _runs_binary(section: Section, count: int) -> list[tuple[int, int, Index]]:
    """Runs of equal elements: type, number of tags, rows of tags and vertices."""
    runs, seen = [], 0
    while seen < count:
        kind, n, tags = (int(v) for v in section.ints(3))
        width = 1 + tags + _element(kind, n)[1]
        if n < 1 or tags < 0:
            raise section.error("a block header is broken")
        runs.append((kind, tags, section.ints(n * width).reshape(n, width)[:, 1:]))
        seen += n
    return runs


def _runs_text(section: Section) -> list[tuple[int, int, Index]]:
    v, at = section.whole(section.values), section.at
    runs = []
    while at < len(v):
        if at + 3 > len(v) or v[at + 2] < 0:
            raise section.error("an element is cut short")
        kind, tags = int(v[at + 1]), int(v[at + 2])
        width = 3 + tags + _element(kind, 1)[1]
        block = 64
        while True:  # look ahead in growing steps, so that alternating types stay cheap
            rows = v[at : at + width * min(block, (len(v) - at) // width)].reshape(-1, width)
            same = (rows[:, 1] == kind) & (rows[:, 2] == tags)
            if not same.all() or len(rows) < block:
                break
            block *= 4
        n = len(rows) if same.all() else int(np.argmin(same))
        if n == 0:
            raise section.error("an element is cut short")
        runs.append((kind, tags, rows[:n, 3:]))
        at += n * width
    section.at = at
    return runs


def _tagged(names: Names, kind: int, tags: int, rows: Index) -> Block:
    name, _, dim = ELEMENTS[kind]
    groups = {_group(names, dim, t): r for t, r in members(np.abs(rows[:, 0])).items()} if tags else {}
    return Block(name, _as_others(name, rows[:, tags:]), groups)


def _merged(names: Names, runs: list[tuple[int, int, Index]]) -> list[Block]:
    """One block a kind, its elements in the order of the file where all have the same number of tags."""
    alike: dict[tuple[int, int], list[Index]] = {}
    for kind, tags, rows in runs:
        alike.setdefault((kind, tags), []).append(rows)
    merged: dict[str, Block] = {}
    for (kind, tags), parts in alike.items():
        block = _tagged(names, kind, tags, np.concatenate(parts))
        before = merged.get(block.kind)
        if before is not None:
            groups = dict(before.groups)
            for name, rows in block.groups.items():
                groups[name] = np.concatenate([groups.get(name, np.zeros(0, np.intp)), rows + len(before.cells)])
            block = Block(block.kind, np.concatenate([before.cells, block.cells]), groups)
        merged[block.kind] = block
    return list(merged.values())


def _once(kind: str, cells: Index, groups: Mapping[str, Index]) -> Block:
    """MSH 2.2 repeats an element for each of its groups: keep it once, in all of them."""
    ordered = np.sort(cells, axis=1)
    order = np.lexsort(ordered.T)
    fresh = np.concatenate([[True], np.any(np.diff(ordered[order], axis=0) != 0, axis=1)])
    if fresh.all():
        return Block(kind, cells, groups)
    number = np.empty(len(cells), dtype=np.intp)
    number[order] = np.cumsum(fresh) - 1
    for name, rows in groups.items():
        if len(np.unique(number[rows])) < len(rows):
            raise InputError(f"group '{name}': holds an element of type {kind} twice; remove the double elements")
    if sum(len(rows) for rows in groups.values()) < len(cells):
        raise InputError(f"elements of type {kind}: some are given twice; remove the double elements")
    return Block(kind, cells[order[fresh]], {name: number[rows] for name, rows in groups.items()})


def _element(kind: int, count: int) -> tuple[str, int, int]:
    if kind not in ELEMENTS:
        raise InputError(f"{count} elements of Gmsh's type {kind}: not supported; mesh with simplices of first order")
    return ELEMENTS[kind]


def _as_others(kind: str, cells: Index) -> Index:
    """Nodes in the order of VTK, whose mid-side nodes go round the faces."""
    if kind not in MIDDLES:
        return cells
    order = MIDDLES[kind]
    return np.concatenate([cells[:, : min(order)], cells[:, order], cells[:, max(order) + 1 :]], axis=1)


def _group(names: Names, dim: int, tag: int) -> str:
    """The name of a physical group; one without a name is refused."""
    if (dim, tag) not in names:
        raise InputError(
            f"physical group {tag} of dimension {dim}: has no name, so that no case can refer to it; name it in Gmsh, "
            f'Physical {ENTITIES[dim]}("name", {tag}) = ..., or add \'{dim} {tag} "name"\' to $PhysicalNames'
        )
    return names[dim, tag]


def _require_count(section: str, found: int, announced: int) -> None:
    if found != announced:
        raise InputError(f"section ${section}: announces {announced} entries and holds {found}")
