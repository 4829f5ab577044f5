"""Mesh files of simplices of first order, read by the checker: plain .msh and .vtu; decks.py has .bdf and .inp.

A file says points, cells by dimension, and groups: of cells or facets by their vertices, or of nodes. What is not read
here is told by `Unread`, and then nothing but the digest of the file was compared.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pinnpoint_verify.reader import Array, need

VERTICES = {15: 1, 1: 2, 2: 3, 4: 4}
"""Of Gmsh's elements of first order."""
VTK = {1: 1, 3: 2, 5: 3, 10: 4}
"""Vertices of VTK's cells of first order."""
TYPES = {f"{sign}Int{n}": f"<{letter}{n // 8}" for sign, letter in (("", "i"), ("U", "u")) for n in (8, 16, 32, 64)}
TYPES |= {"Float32": "<f4", "Float64": "<f8"}
TAGS = ("gmsh:physical", "medit:ref", "cell_tags", "CellEntityIds", "MaterialIds")
"""Cell data that number groups, the first that is there."""
FACES = {4: ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)), 3: ((0, 1), (1, 2), (2, 0))}
"""Vertices of the faces S1, S2, … of Abaqus' tetrahedra and triangles."""


class Unread(Exception):  # noqa: N818
    """What a file holds that is not read here."""


class MeshFile:
    """Points (n, 3); simplices by dimension, and by group and dimension; groups of nodes."""

    def __init__(self) -> None:
        self.points: Array = np.zeros((0, 3))
        self.cells: dict[int, list[Array]] = {}
        self.groups: dict[tuple[str, int], list[Array]] = {}
        self.nodes: dict[str, set[int]] = {}
        self.at: dict[int, int] = {}

    def number(self, ids: Any, points: Array) -> None:
        """Points by their numbers in the file."""
        self.points, self.at = points, {int(k): i for i, k in enumerate(ids)}
        need(len(self.at) == len(points), "mesh: a node is given twice")

    def add(self, rows: Any, names: list[str]) -> None:
        """Simplices by numbers of nodes, and the groups that they are in."""
        simplices = np.array([[self.at[int(k)] for k in row] for row in rows])
        if len(simplices):
            d = simplices.shape[1] - 1
            self.cells.setdefault(d, []).append(simplices)
            for name in names:
                self.groups.setdefault((name, d), []).append(simplices)


def msh(text: str) -> MeshFile:
    """Gmsh's plain text, 2.2 or 4.1."""

    def section(name: str, without: str | None = None) -> str:
        _, found, rest = text.partition(f"${name}\n")
        need(found or without is not None, f"mesh: no ${name}")
        return rest.partition(f"$End{name}")[0].strip() if found else str(without)

    version, binary = section("MeshFormat").split()[:2]
    if version not in ("2.2", "4.1") or binary != "0":
        raise Unread("a .msh file that is not plain text 2.2 or 4.1")
    file, split = MeshFile(), [line.split(None, 2) for line in section("PhysicalNames", "0").splitlines()[1:]]
    names = {(int(d), int(tag)): word.strip().strip('"') for d, tag, word in split}

    def add(kind: int, tags: list[int], rows: list[list[int]]) -> None:
        if kind not in VERTICES:
            raise Unread("elements that are no simplices of first order")
        d = VERTICES[kind] - 1
        file.add(rows, [names[d, tag] for tag in tags if (d, tag) in names])

    if version == "2.2":
        nodes = np.array(section("Nodes").split()[1:], dtype=float).reshape(-1, 4)
        file.number(nodes[:, 0].astype(int), nodes[:, 1:])
        for line in section("Elements").splitlines()[1:]:
            numbers = [int(x) for x in line.split()]
            add(numbers[1], [numbers[3]] if numbers[2] else [], [numbers[3 + numbers[2] :]])
        return file
    tags = _entities(iter(section("Entities").split()))
    lines = iter(section("Nodes").splitlines()[1:])
    ids, points = list[int](), list[list[float]]()
    for line in lines:
        count = int(line.split()[3])
        ids += [int(next(lines)) for _ in range(count)]
        points += [[float(x) for x in next(lines).split()[:3]] for _ in range(count)]
    file.number(ids, np.array(points))
    lines = iter(section("Elements").splitlines()[1:])
    for line in lines:
        d, own, kind, count = (int(x) for x in line.split())
        rows = [[int(x) for x in next(lines).split()[1:]] for _ in range(count)]
        add(kind, [abs(tag) for tag in tags[d, own]], rows)
    return file


def _entities(numbers: Any) -> dict[tuple[int, int], list[int]]:
    """Tags of the entities of version 4.1, by dimension and number."""
    counts, tags = [int(next(numbers)) for _ in range(4)], dict[tuple[int, int], list[int]]()
    for d, count in enumerate(counts):
        for _ in range(count):
            own = int(next(numbers))
            for _ in range(3 if d == 0 else 6):
                next(numbers)
            tags[d, own] = [int(next(numbers)) for _ in range(int(next(numbers)))]
            for _ in range(int(next(numbers)) if d else 0):
                next(numbers)
    return tags


def vtu(data: bytes) -> MeshFile:
    """An unstructured grid of VTK in one piece: plain, base64 or appended arrays, with zlib or without."""
    arrays = VtuArrays(data)
    kinds = arrays.of("Cells", "types").astype(int)
    ends, flat = arrays.of("Cells", "offsets").astype(int), arrays.of("Cells", "connectivity").astype(int)
    points = arrays.of("Points", None).reshape(-1, 3).astype(float)
    if not set(kinds.tolist()) <= VTK.keys():
        raise Unread("cells that are no simplices of first order")
    starts = np.concatenate([[0], ends[:-1]])
    need(np.array_equal(ends - starts, [VTK[int(k)] for k in kinds]), "mesh: cells with another number of vertices")
    file, own = MeshFile(), next((arrays.of("CellData", t) for t in TAGS if arrays.has("CellData", t)), None)
    file.number(range(len(points)), points)
    tags = np.zeros(len(kinds), dtype=int) if own is None else np.abs(own.astype(int))
    pairs = {name: tuple(arrays.of("FieldData", name).astype(int)) for name in arrays.names("FieldData")}
    known = {pair: name for name, pair in pairs.items() if len(pair) == 2}
    for kind in np.unique(kinds).tolist():
        for tag in np.unique(tags[kinds == kind]).tolist():
            some = np.flatnonzero((kinds == kind) & (tags == tag))
            rows = flat[starts[some, None] + np.arange(VTK[kind])]
            file.add(rows, [known[tag, VTK[kind] - 1]] if (tag, VTK[kind] - 1) in known else [])
    return file


class VtuArrays:
    """The arrays of a .vtu file, by section and name."""

    def __init__(self, data: bytes) -> None:
        raw, tail = b"", data.find(b"<AppendedData")
        if tail >= 0 and b'encoding="raw"' in data[tail : tail + 200]:  # which is no XML
            start = data.index(b"_", data.index(b">", tail)) + 1
            raw, data = data[start : data.rindex(b"</AppendedData>")], data[:tail] + b"</VTKFile>"
        need(b"<!DOCTYPE" not in data and b"<!ENTITY" not in data, "mesh: a .vtu file with declarations")
        root = ElementTree.fromstring(data)
        self.head, self.zipped = TYPES[root.get("header_type", "UInt32")], root.get("compressor") is not None
        if root.get("byte_order", "LittleEndian") != "LittleEndian" or (
            self.zipped and root.get("compressor") != "vtkZLibDataCompressor"
        ):
            raise Unread("a .vtu file with another byte order or compressor")
        pieces = root.findall("UnstructuredGrid/Piece")
        if len(pieces) != 1:
            raise Unread("a .vtu file of several pieces")
        appended = root.find("AppendedData")
        self.raw, self.coded = raw, "" if appended is None else (appended.text or "").strip().removeprefix("_")
        self.found = {
            (part.tag, array.get("Name")): array
            for part in [*pieces[0], *root.findall("UnstructuredGrid/FieldData")]
            for array in part
        }

    def has(self, section: str, name: str) -> bool:
        """Whether there is an array of this name."""
        return (section, name) in self.found

    def names(self, section: str) -> list[str]:
        """Of all arrays of numbers in a section."""
        return [str(k) for (s, k), a in self.found.items() if s == section and a.get("type") in TYPES]

    def of(self, section: str, name: str | None) -> Array:
        """An array, flat; without a name the only one of its section."""
        found = [a for (s, k), a in self.found.items() if s == section and name in (None, k)]
        need(len(found) == 1, f"mesh: no {name or section}, or two")
        dtype, form = TYPES[found[0].get("type", "")], found[0].get("format", "ascii")
        if form == "ascii":
            return np.array((found[0].text or "").split(), dtype=float).astype(dtype)
        if form == "binary":
            return np.frombuffer(self._unpacked((found[0].text or "").strip()), dtype)
        start = int(found[0].get("offset", "0"))
        return np.frombuffer(self._unpacked(self.coded[start:]) if self.coded else self._cut(self.raw[start:]), dtype)

    def _unpacked(self, text: str) -> bytes:
        """Base64 of a length and so many bytes; of compressed blocks the lengths are coded apart."""
        size = int(self.head[2])
        first = _decoded(text, 3 * size if self.zipped else size)
        if not self.zipped:
            return _decoded(text, size + int(np.frombuffer(first[:size], self.head)[0]))[size:]
        count = int(np.frombuffer(first[:size], self.head)[0])
        coded = 4 * (-(-(3 + count) * size // 3))
        return self._cut(base64.b64decode(text[:coded]) + _decoded(text[coded:], None))

    def _cut(self, data: bytes) -> bytes:
        """What follows the lengths, unpacked."""
        size = int(self.head[2])
        if not self.zipped:
            return data[size : size + int(np.frombuffer(data[:size], self.head)[0])]
        count = int(np.frombuffer(data[:size], self.head)[0])
        parts, at, found = np.frombuffer(data[3 * size : (3 + count) * size], self.head), (3 + count) * size, b""
        for length in parts.tolist():
            found, at = found + zlib.decompress(data[at : at + length]), at + length
        return found


def _decoded(text: str, most: int | None) -> bytes:
    """The first bytes of a text in base64; None: up to where it ends."""
    part = text.partition("=")[0] if most is None else text[: 4 * (-(-most // 3))]
    return base64.b64decode(part + "=" * (-len(part) % 4))[:most]


def boundary_rows(file: MeshFile, name: str, outer: Array) -> Array | None:
    """Facets of a group: by their vertices, or those of the boundary all of whose vertices are in a group of nodes."""
    d = outer.shape[1] - 1
    if (name, d) in file.groups:
        return np.concatenate(file.groups[name, d])
    if name in file.nodes:
        inside = np.isin(outer, np.array(sorted(file.nodes[name])))
        return np.asarray(outer[np.all(inside, axis=1)])
    return None
