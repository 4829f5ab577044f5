"""Abaqus and CalculiX decks: linear statics of tetrahedra or plane triangles, step by step.

What is not understood and may change the physics is refused with its name and its line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.io.decks.abaqus.mesh import Part, blocks_of, members_of, read_part
from pinnpoint.io.decks.abaqus.steps import Steps
from pinnpoint.io.decks.abaqus.text import Keyword, keywords
from pinnpoint.io.decks.deck import DeckData
from pinnpoint.io.decks.middles import off_chords, on_edges
from pinnpoint.io.decks.text import Text
from pinnpoint.io.decks.thickness import Thickness
from pinnpoint.io.meshes.blocks import build_mesh, node_finder

ELEMENTS = {"C3D4": None, "CPS3": "stress", "CPE3": "strain", "C3D10": None, "CPS6": "stress", "CPE6": "strain"}
MESH = frozenset("NODE,ELEMENT,NSET,ELSET,SURFACE,PART,END PART,ASSEMBLY,END ASSEMBLY,INSTANCE,END INSTANCE".split(","))
NAMED = {"NSET": "NSET", "ELSET": "ELSET", "SURFACE": "NAME"}
SETS = ("GENERATE", "UNSORTED", "INSTANCE", "INTERNAL")
PHYSICS = frozenset(
    "MATERIAL,ELASTIC,DENSITY,EXPANSION,SOLID SECTION,INITIAL CONDITIONS,BOUNDARY,CLOAD,DLOAD,DSLOAD,TEMPERATURE,STEP,"
    "STATIC,END STEP".split(",")
)
HARMLESS = frozenset(
    "HEADING,PREPRINT,RESTART,OUTPUT,NODE OUTPUT,ELEMENT OUTPUT,ENERGY OUTPUT,CONTACT OUTPUT,NODE PRINT,EL PRINT,"
    "NODE FILE,EL FILE,SECTION PRINT,SECTION FILE,ENERGY PRINT,ENERGY FILE,FILE FORMAT,MONITOR,PRINT,"
    "CONDUCTIVITY,SPECIFIC HEAT,USER MATERIAL OUTPUT,DIAGNOSTICS,FILTER,TIME POINTS".split(",")
)
"""Output and names, and data of materials that statics without body forces and temperatures does not use."""


def read_abaqus_deck(text: Text) -> DeckData:
    """Mesh, material and steps of an input file."""
    sections = keywords(text.data)
    if not sections:
        raise InputError("not an Abaqus file: it holds no keyword")
    plane = _require_known(sections)
    part = read_part([s for s in sections if s.name in MESH], deck=True)
    _require_scopes(sections)
    nodes, node_ids, cell_ids, notes = _mesh(part)
    mesh = nodes.mesh
    young, poisson, thickness, density, expansion = _materials(sections, part, cell_ids, mesh.dim)
    thick = Thickness.of(thickness)
    steps = Steps(nodes, part, node_ids, cell_ids, thick, density)
    cases = steps.read([s for s in sections if s.name in PHYSICS])
    warm = any(case.meaning is not None and case.meaning.warmth is not None for case in cases.values())
    passed = HARMLESS if warm else HARMLESS | {"EXPANSION"}
    ignored = tuple(dict.fromkeys(f"*{s.name}" for s in sections if s.name in passed))
    kept = (nodes.degree, (*notes, *thick.notes), expansion if warm else None, thick.uneven)
    return DeckData(mesh, node_ids, cell_ids, young * thick.share, poisson, plane, cases, ignored, *kept)


def _require_known(sections: Sequence[Keyword]) -> str | None:
    """Refuse keywords and elements that are not known; the plane state of the elements."""
    kinds: dict[str, Keyword] = {}
    parts = 0
    for s in sections:
        if s.name == "ELEMENT":
            kinds.setdefault(s.options.get("TYPE", "").upper(), s)
            s.only(("TYPE", "ELSET"))
        elif s.name == "NODE":
            s.only(("NSET",))
        elif s.name in NAMED:
            s.only((NAMED[s.name], *(("TYPE", "INTERNAL") if s.name == "SURFACE" else SETS)))
            if not s.options.get(NAMED[s.name]):
                raise s.refuse(f"has no name; say {NAMED[s.name]}=")
            if s.options.get("TYPE", "ELEMENT").upper() not in ("ELEMENT", "NODE"):
                raise s.refuse("only surfaces of TYPE=ELEMENT or TYPE=NODE are read")
        elif s.name == "PART":
            parts += 1
            if parts > 1:
                raise s.refuse("only one part is read")
        elif s.name not in MESH | PHYSICS | HARMLESS:
            raise s.refuse(
                "this keyword is not read and may change the physics; remove it, or write the deck without it"
            )
    for kind, s in kinds.items():
        if kind not in ELEMENTS:
            raise s.refuse(f"elements of type '{kind[:20]}': only {', '.join(ELEMENTS)} are read, and plain")
    if len(kinds) != 1:
        raise InputError(f"*ELEMENT: one type of element is read; got {', '.join(sorted(kinds)) or 'none'}")
    return ELEMENTS[next(iter(kinds))]


def _require_scopes(sections: Sequence[Keyword]) -> None:
    """A set's name means one thing: it is not given in the part and again in the assembly."""
    inside = False
    given: dict[tuple[str, str], bool] = {}
    for s in sections:
        if s.name in ("PART", "INSTANCE", "END PART", "END INSTANCE"):
            inside = not s.name.startswith("END")
        name = s.options.get(s.name) if s.name in ("NSET", "ELSET") else None
        if name and given.setdefault((s.name, name.upper()), inside) != inside:
            raise s.refuse(f"the set '{name}' is given in the part and in the assembly; give them different names")


def _mesh(part: Part) -> tuple[Nodes, Index, Index, tuple[str, ...]]:
    """The nodes, vertices in order of increasing number; the numbers of nodes and cells; and what is to be said."""
    if not part.tags or not part.blocks:
        raise InputError("the file holds no *NODE or no *ELEMENT")
    tags, points = np.concatenate(part.tags), np.concatenate(part.points)
    order = np.argsort(tags, kind="stable")
    part.tags, part.points = [tags[order]], [points[order]]
    mesh = build_mesh(blocks_of(part))
    used = np.isin(part.tags[0], np.concatenate([cells.ravel() for _, _, cells in part.blocks]))
    own, cells = part.tags[0][used], np.concatenate([ids for _, ids, _ in part.blocks])
    if not part.middles:
        return Nodes(mesh), own, cells, ()
    middles = node_finder(part.tags[0])(np.concatenate(list(part.middles.values())))
    if used[middles].any():
        raise InputError(
            f"node {int(part.tags[0][middles[used[middles]][0]])}: is a vertex and in the middle of a side"
        )
    nodes, rows = on_edges(mesh, middles, part.tags[0])
    ids = part.tags[0][rows]
    return nodes, np.concatenate([own, ids]), cells, off_chords(nodes, part.points[0][rows][:, : mesh.dim], ids)


def _materials(sections: Sequence[Keyword], part: Part, cell_ids: Index, dim: int) -> tuple[Vector, ...]:
    """E, ν, thickness, density and expansion of each cell; NaN for a density that is not given.

    Expansion is zero where it is not given, and NaN where it is more than a number.
    """
    elastic: dict[str, tuple[float, float]] = {}
    density: dict[str, float] = {}
    expansion: dict[str, float] = {}
    current = ""
    for s in sections:
        if s.name == "MATERIAL":
            s.only(("NAME",))
            current = s.options.get("NAME", "").upper()
        elif s.name == "ELASTIC":
            elastic[current] = _elastic(s, current, elastic)
        elif s.name == "DENSITY":
            rows = s.rows()
            density[current] = s.number(rows[0][0]) if len(rows) == 1 and len(rows[0]) == 1 else np.nan
        elif s.name == "EXPANSION":
            rows, kind = s.rows(), s.options.get("TYPE", "ISO").upper()
            plain = len(rows) == 1 and len(rows[0]) <= 2 and kind == "ISO" and set(s.options) <= {"TYPE", "ZERO"}
            expansion[current] = s.number(rows[0][0]) if plain else np.nan
    found = np.full((len(cell_ids), 5), np.nan)
    for s in sections:
        if s.name != "SOLID SECTION":
            continue
        s.only(("ELSET", "MATERIAL"))
        name = s.options.get("MATERIAL", "").upper()
        if name not in elastic:
            raise s.refuse(f"the material '{name}' has no *ELASTIC")
        inside = np.isin(cell_ids, members_of(part, "ELSET", s.options.get("ELSET", "")))
        if not np.isnan(found[inside, 0]).all():
            raise s.refuse("some of its elements have a section already")
        rows = s.rows()
        thickness = s.number(rows[0][0]) if rows and rows[0][0] and dim == 2 else 1.0
        if len(rows) > 1 or not thickness > 0.0:
            raise s.refuse("must have one data line at most, with a thickness > 0")
        found[inside] = *elastic[name], thickness, density.get(name, np.nan), expansion.get(name, 0.0)
    missing = np.isnan(found[:, 0])
    if missing.any():
        number = int(cell_ids[np.argmax(missing)])
        raise InputError(f"*SOLID SECTION: {int(missing.sum())} elements have none, the first is element {number}")
    return tuple(found.T)


def _elastic(s: Keyword, material: str, known: dict[str, tuple[float, float]]) -> tuple[float, float]:
    s.only(("TYPE",))
    if s.options.get("TYPE", "ISOTROPIC").upper() not in ("ISO", "ISOTROPIC"):
        raise s.refuse(f"only isotropic materials are read; got TYPE={s.options['TYPE'][:20]}")
    rows = s.rows()
    if len(rows) != 1 or not 1 <= len(rows[0]) <= 3 or not material or material in known:
        raise s.refuse("a named material has one *ELASTIC with one line: Young's modulus, Poisson's ratio")
    E, nu = s.number(rows[0][0]), s.number(rows[0][1]) if len(rows[0]) > 1 else 0.0
    if not E > 0.0 or not -1.0 < nu < 0.5:
        raise s.refuse(f"needs E > 0 and −1 < ν < 0.5; got {E!r} and {nu!r}")
    return E, nu
