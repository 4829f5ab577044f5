"""Meshes of Abaqus input files: nodes, elements, sets and surfaces of one part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import numbers
from pinnpoint.io.decks.abaqus.text import Keyword, keywords
from pinnpoint.io.meshes.blocks import Block, Blocks, node_finder

KINDS = {  # element families by the name's beginning: kind and vertices
    r"(C3D4|DC3D4|AC3D4)": ("tetra", 4),
    r"(CPS3|CPE3|CAX3|DC2D3|S3|STRI3|R3D3|M3D3|SFM3D3)": ("triangle", 3),
    r"(T2D2|T3D2|B21|B31|DC1D2|R2D2)": ("line", 2),
}
SECOND = {"C3D10": ("tetra", 4, 10), "CPS6": ("triangle", 3, 6), "CPE6": ("triangle", 3, 6)}
"""Second-order elements of solids: kind, vertices and nodes."""
MESHES = {  # of meshes alone, by the name's beginning: kind, vertices, and nodes where mid-side nodes follow
    r"(C3D8|DC3D8|AC3D8)": ("hexahedron", 8, 0),
    r"(C3D6|DC3D6|AC3D6)": ("wedge", 6, 0),
    r"(CPS4|CPE4|CAX4|DC2D4|S4|M3D4|SFM3D4|R3D4)": ("quad", 4, 0),
    r"(C3D20|DC3D20|AC3D20)": ("hexahedron", 8, 20),
    r"(C3D15|DC3D15|AC3D15)": ("wedge", 6, 15),
    r"(CPS8|CPE8|CAX8|DC2D8|S8|M3D8|SFM3D8)": ("quad", 4, 8),
    r"(C3D10|DC3D10|AC3D10)": ("tetra", 4, 10),
    r"(CPS6|CPE6|CAX6|DC2D6|STRI65|M3D6|SFM3D6)": ("triangle", 3, 6),
    r"(T2D3|T3D3|B22|B32)": ("line", 2, 3),
}
FACES = {  # vertices of the faces S1, S2, …
    "tetra": ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    "triangle": ((0, 1), (1, 2), (2, 0)),
    "hexahedron": ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0)),
}
UNREAD = ("INCLUDE", "NGEN", "NFILL", "NCOPY", "ELGEN", "ELCOPY", "SYSTEM")
"""Keywords that change the mesh and are not read."""


@dataclass
class Part:
    """Nodes, elements, sets and surfaces, as the file gives them."""

    tags: list[Index] = field(default_factory=list)
    points: list[Vector] = field(default_factory=list)
    blocks: list[tuple[str, Index, Index]] = field(default_factory=list)
    """Kind, element numbers, vertices by node number."""
    sets: dict[tuple[str, str], list[Index]] = field(default_factory=dict)
    """Numbers by (NSET or ELSET, name)."""
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    """Set names as they were first spelt; Abaqus does not tell cases apart."""
    surfaces: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Name to (element set or number, face), or to (node set or number, "")."""
    middles: dict[int, Index] = field(default_factory=dict)
    """Mid-side nodes of each block of second-order elements, by its place in `blocks` and by node number."""


def read_abaqus(data: bytes) -> Blocks:
    """The mesh of an input file; node sets name the boundary facets whose vertices they hold."""
    part = read_part(keywords(data))
    file, find = blocks_of(part), node_finder(np.concatenate(part.tags))
    blocks = list(file.blocks)
    for k, middles in part.middles.items():
        kind = f"{blocks[k].kind}{blocks[k].cells.shape[1] + middles.shape[1]}"
        cells = np.concatenate([blocks[k].cells, find(middles)], axis=1)
        blocks[k] = replace(blocks[k], kind=kind, cells=_ends_first(cells, file.points) if kind == "line3" else cells)
    return replace(file, blocks=blocks, middles=0)


def _ends_first(lines: Index, X: Vector) -> Index:
    """Lines by their ends, then the node between these: programs differ in which of the three it is."""
    V = X[lines]
    away = ((3.0 * V - V.sum(axis=1, keepdims=True)) ** 2).sum(axis=2)  # from the middle of the other two
    order = np.argsort(np.arange(3) == np.argmin(away, axis=1)[:, None], axis=1, kind="stable")
    return np.asarray(np.take_along_axis(lines, order, axis=1))


def read_part(sections: Sequence[Keyword], *, deck: bool = False) -> Part:
    """Nodes, elements, sets and surfaces of the keywords that are about them; a `deck` has elements of solids alone."""
    if not sections:
        raise InputError("not an Abaqus file: it holds no keyword")
    part = Part()
    instances = 0
    for section in sections:
        if section.name in UNREAD:
            raise InputError(
                f"*{section.name} changes the mesh and is not read (line {section.line}); write the mesh out in full"
            )
        if section.name in ("NODE", "ELEMENT"):
            for option in ("SYSTEM", "INPUT"):
                if option in section.options:
                    raise section.refuse(f"the option {option} is not read; write the mesh out in full, in x, y, z")
        if section.name == "INSTANCE":
            instances += 1
            if instances > 1 or section.body.strip():
                raise InputError("*INSTANCE: only one part, not moved, is read; write the mesh out flat")
        _read(part, section.name, section.options, section.body, deck=deck)
    return part


def _read(part: Part, keyword: str, options: dict[str, str], body: str, *, deck: bool) -> None:
    if keyword == "NODE":
        width = len([t for t in body.strip().partition("\n")[0].split(",") if t.strip()])
        table = _table(keyword, body, width)
        part.tags.append(_whole(keyword, table[:, 0]))
        part.points.append(np.pad(table[:, 1:4], ((0, 0), (0, 4 - min(width, 4)))))
        _add(part, "NSET", options.get("NSET"), part.tags[-1])
    elif keyword == "ELEMENT":
        name = options.get("TYPE", "").upper()
        kind, corners, width = _second(name, deck) or (*_kind(name, body), 0)
        rows = _whole(keyword, _table(keyword, body, max(width, corners) + 1))
        if width:
            part.middles[len(part.blocks)] = rows[:, 1 + corners :]
        part.blocks.append((kind, rows[:, 0], rows[:, 1 : 1 + corners]))
        _add(part, "ELSET", options.get("ELSET"), rows[:, 0])
    elif keyword in ("NSET", "ELSET"):
        _add(part, keyword, options.get(keyword), _members(part, keyword, options, body))
    elif keyword == "SURFACE":
        lines = [[t.strip() for t in line.split(",")] for line in body.splitlines() if line.strip()]
        kind = options.get("TYPE", "ELEMENT").upper()
        part.surfaces[options.get("NAME", "")] = [
            (r[0], "".join(r[1:2]).upper() if kind == "ELEMENT" else "") for r in lines
        ]


def _second(name: str, deck: bool) -> tuple[str, int, int] | None:
    if deck:
        return SECOND.get(name)
    return next((kind for pattern, kind in MESHES.items() if re.fullmatch(pattern + "[A-Z]*", name)), None)


def _kind(name: str, body: str) -> tuple[str, int]:
    for pattern, kind in KINDS.items():
        if re.fullmatch(pattern + "[A-Z]*", name.upper()):
            return kind
    count = len(body.strip().splitlines())
    raise InputError(
        f"{count} lines of elements of type {name[:20]}: not supported; mesh with triangles (CPS3, CPS6) or tetrahedra "
        "(C3D4, C3D10)"
    )


def _table(keyword: str, body: str, width: int) -> Vector:
    try:
        flat = numbers(re.sub(r",\s*$|\n", ",", re.sub(r",?\s*\n\s*", "\n", body.strip())).strip(","), ",")
    except ValueError as error:
        raise InputError(f"*{keyword}: holds {error}") from error
    if width < 2 or flat.size % width:
        raise InputError(f"*{keyword}: holds {flat.size} numbers, which are not rows of {width}")
    return flat.reshape(-1, width)


def _whole(keyword: str, numbers_: Vector) -> Index:
    with np.errstate(invalid="ignore"):
        fits = (numbers_ == np.rint(numbers_)) & (np.abs(numbers_) < 2.0**53)
    if not fits.all():
        raise InputError(f"*{keyword}: a number that should be whole is not")
    return numbers_.astype(np.intp)


def _members(part: Part, keyword: str, options: dict[str, str], body: str) -> Index:
    words = [w.strip() for w in body.replace("\n", ",").split(",") if w.strip()]
    if "GENERATE" in options:
        rows = _table(keyword, body, 3 if len(words) % 3 == 0 else 2)
        given = part.tags if keyword == "NSET" else [ids for _, ids, _ in part.blocks]
        return _generated(keyword, rows, sum(len(g) for g in given))
    known = [np.array([int(w) for w in words if w.isdigit()], dtype=np.intp)]
    for word in words:
        if not word.isdigit():
            known.append(members_of(part, keyword, word))
    return np.concatenate(known)


def _generated(keyword: str, rows: Vector, most: int) -> Index:
    """Numbers from first to last in steps; there cannot be more of them than were given."""
    _whole(keyword, rows)
    first, last = rows[:, 0], rows[:, 1]
    step = rows[:, 2] if rows.shape[1] == 3 else np.ones(len(rows))
    if not len(rows) or np.any(step < 1) or np.any((last - first) / step >= most):
        raise InputError(f"*{keyword}, GENERATE: holds numbers that are not given")
    return np.concatenate([np.arange(a, b + 1, s) for a, b, s in zip(first, last, step, strict=True)]).astype(np.intp)


def members_of(part: Part, keyword: str, name: str) -> Index:
    """Numbers in a set of nodes or elements."""
    if (keyword, name.upper()) not in part.sets:
        raise InputError(f"*{keyword}: the set '{name}' is used before it is given")
    return np.concatenate(part.sets[keyword, name.upper()])


def _add(part: Part, keyword: str, name: str | None, numbers_: Index) -> None:
    if name:
        part.sets.setdefault((keyword, name.upper()), []).append(numbers_)
        part.names.setdefault((keyword, name.upper()), name)


def blocks_of(part: Part) -> Blocks:
    """The part as element blocks with groups."""
    if not part.points or not part.blocks:
        raise InputError("the file holds no *NODE or no *ELEMENT")
    find = node_finder(np.concatenate(part.tags))
    every = np.concatenate([ids for _, ids, _ in part.blocks])
    if len(np.unique(every)) < len(every):
        raise InputError("*ELEMENT: an element number is given twice")
    sets = {key: np.unique(np.concatenate(rows)) for key, rows in part.sets.items()}
    groups = {part.names[key]: rows for key, rows in sets.items() if key[0] == "ELSET"}
    for name, rows in groups.items():
        unknown = rows[~np.isin(rows, every)]
        if unknown.size:
            raise InputError(f"*ELSET '{name}': element {int(unknown[0])} is not given")
    blocks = [
        Block(kind, find(cells), {n: np.flatnonzero(np.isin(ids, g)) for n, g in groups.items()})
        for kind, ids, cells in part.blocks
    ]
    points = {part.names[key]: find(rows) for key, rows in sets.items() if key[0] == "NSET"}
    facets = {}
    for name, pairs in part.surfaces.items():
        if pairs and not pairs[0][1]:
            numbered = [np.array([int(w)]) if w.isdigit() else members_of(part, "NSET", w) for w, _ in pairs]
            points[name] = find(np.concatenate(numbered))
        elif pairs:
            facets[name] = np.concatenate([_faces(part, name, *pair) for pair in pairs])
            if facets[name].shape[1] == 4:  # they are cut as cells are
                faces = find(facets.pop(name))
                blocks.append(Block("quad", faces, {name: np.arange(len(faces))}))
    count = len(np.unique(np.concatenate([m.ravel() for m in part.middles.values()]))) if part.middles else 0
    return Blocks(np.concatenate(part.points), blocks, {n: find(f) for n, f in facets.items()}, points, middles=count)


def _faces(part: Part, name: str, target: str, face: str) -> Index:
    """Vertices, by node number, of one face of a set of elements."""
    wanted = np.array([int(target)]) if target.isdigit() else members_of(part, "ELSET", target)
    kinds = {k for k, _, _ in part.blocks}
    kind = next((k for k in ("tetra", "hexahedron", "triangle", "quad") if k in kinds), "triangle")
    if face not in [f"S{i + 1}" for i in range(len(FACES[kind]))]:
        raise InputError(f"*SURFACE '{name}': '{face[:10]}' is not a face of an element of type {kind}")
    corners = list(FACES[kind][int(face[1]) - 1])
    rows = [cells[np.isin(ids, wanted)][:, corners] for k, ids, cells in part.blocks if k == kind]
    found = np.concatenate([np.zeros((0, len(corners)), dtype=np.intp), *rows])
    if len(found) != len(np.unique(wanted)):
        raise InputError(f"*SURFACE '{name}': {target} holds elements that are not of type {kind}")
    return found
