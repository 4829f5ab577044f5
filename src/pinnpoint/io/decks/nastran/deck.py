"""Nastran and OptiStruct decks: linear statics of tetrahedra or plane triangles.

What is not understood and may change the physics is refused with its name and its line.
"""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.elastic.thermal import weight_load
from pinnpoint.io.decks.deck import DeckData, Subcase
from pinnpoint.io.decks.middles import off_chords, on_edges
from pinnpoint.io.decks.nastran.cards import Cards, read_cards
from pinnpoint.io.decks.nastran.control import read_control, split
from pinnpoint.io.decks.nastran.coordinates import KINDS as SYSTEMS
from pinnpoint.io.decks.nastran.loads import Loads, read_averages
from pinnpoint.io.decks.nastran.mesh import VERTICES, Elements, Grids, read_elements, read_grids, read_materials
from pinnpoint.io.decks.nastran.supports import Supports, read_rigid, rows_of
from pinnpoint.io.decks.nastran.temperatures import read_expansion, warmth
from pinnpoint.io.decks.solids import Meaning
from pinnpoint.io.decks.text import Text
from pinnpoint.io.meshes.blocks import Block, Blocks, members
from pinnpoint.mesh.mesh import Mesh

log = logging.getLogger(__name__)
BARS = ("CBAR", "CBEAM", "CROD")
"""Elements along lines, as mesh generators write them for groups of a boundary."""
READ = {
    *(
        "GRID",
        "CTETRA",
        "CTRIA3",
        "CTRIA6",
        "MAT1",
        "PSOLID",
        "PSHELL",
        "SPC",
        "SPC1",
        "SPCADD",
        "FORCE",
        "MOMENT",
        "PLOAD4",
    ),
    *("LOAD", "RBE2", "RBE3", "PARAM", "GRAV", "TEMP", "TEMPD", *SYSTEMS),
}
HARMLESS = {
    "PLOTEL",
    "SET",
    "SET1",
    "CONM1",
    "CONM2",
    "EIGR",
    "EIGRL",
    "ECHOON",
    "ECHOOFF",
    "CORD1R",
    "CORD1C",
    "CORD1S",
}
"""Cards without an effect on statics: masses, output, systems of coordinates (refused where they are used)."""
PARAMETERS = frozenset(
    "POST PRTMAXIM PRGPST GRDPNT AUTOSPC COUPMASS WTMASS MAXRATIO OGEOM NOCOMPS BAILOUT CHECKOUT K6ROT USETPRT OUGCORD "
    "OMID SRCOMPS PATVER DBALL NASPRT EXTOUT ERROR DBDICT RSPRINT PRTPOST OIBULK OMSGLVL TINY COMPMATT HFREQ LFREQ "
    "NEWSE PRINT PRTRESLT SEP1XOVR SNORM EFFMASS RCONTACT CURVPLOT PRTCSTM CHECKEL".split()
)
"""Parameters that do not change a linear static solution."""


def read_nastran(text: Text) -> DeckData:
    """Mesh, material and subcases of a deck."""
    head, bulk, first = split(text.data)
    if not head.strip():
        raise InputError("the deck has no case control: say SPC = and LOAD = before BEGIN BULK")
    control = read_control(head, text.where)
    cards = _cards(text, bulk, first)
    ignored = [*control.ignored, *_passed(cards, control.parameters, text)]
    grids, systems = read_grids(cards)
    elements = _elements(cards)
    nodes, number, notes = _mesh(grids, elements)
    mesh, rows = nodes.mesh, rows_of(number)
    young, poisson, density, thick = read_materials(cards, elements)
    rigid, averages = read_rigid(cards, grids, number), read_averages(cards, grids, number)
    if mesh.dim == 2 and (rigid or averages):
        raise InputError("RBE2 and RBE3 are read for tetrahedra only")
    references = {a.reference: a.name for a in averages}
    for r in rigid:
        if r.centre in references:
            raise InputError(
                f"{r.name}: its centre is the reference node of {references[r.centre]}; chains are not read"
            )
    if grids.turned[number >= 0].any():
        log.warning("some GRIDs have axes of their own (field CD); displacements are read and told in the basic ones")
    supports = Supports(cards, grids, number, mesh.dim, rigid, references)
    loads = Loads(cards, grids, systems, nodes, number, elements, rigid, averages, density)
    expansion = read_expansion(cards, elements)
    spaces: dict[int | None, Any] = {}
    cases = {}
    for case in control.cases.values():
        try:
            if case.spc not in spaces:
                spaces[case.spc] = supports.space(case.spc)
            load = _planar(loads.of(case.load), mesh.dim) / thick.largest
            body = loads.body(case.load)
            if body is not None:
                body = _planar(body, mesh.dim)
                load = load + weight_load(nodes, body)
            held = supports.table(case.spc)[rows][:, : mesh.dim]
            carried = loads.carried(case.load)
            alone = _planar(loads.of(case.load, alone=True), mesh.dim) / thick.largest
            tied = tuple(r.name for r in rigid)
            faces = loads.pressed(case.load) if mesh.dim == 3 else (np.zeros((0, 2), dtype=np.intp), np.zeros(0))
            pulled, pull = loads.pulled(case.load) if mesh.dim == 3 else (None, None)
            warm = warmth(cards, grids, rows, case.warmth, expansion)
            more: dict[str, Any] = {"warmth": warm, "pulled": pulled, "pull": pull, "carried": carried}
            meaning = Meaning(held, alone, *faces, tied, body, **more)
        except InputError as error:
            raise InputError(f"SUBCASE {case.number}: {error}") from error
        cases[case.number] = Subcase(case.number, case.label, spaces[case.spc], load, f"SPC {case.spc}", meaning)
    sets = {f"SPC {k}": (~np.isnan(supports.table(k)[:, :3])).any(axis=1) for k in spaces if k is not None}
    sets |= {r.name.partition(" on ")[0] + f" {int(grids.ids[r.centre])}": _mask(grids, r.rows) for r in rigid}
    sets |= {f"RBE3 {int(grids.ids[a.reference])}": _mask(grids, a.rows) for a in averages}
    mesh = _named(mesh, {name: np.asarray(mask)[rows[: len(mesh.points)]] for name, mask in sets.items()})
    plane = "stress" if mesh.dim == 2 else None
    passed = tuple(dict.fromkeys(ignored))
    kept = (plane, cases, passed, nodes.degree, (*notes, *thick.notes), expansion[0], thick.uneven)
    return DeckData(mesh, grids.ids[rows], elements.ids, young, poisson, *kept)


def read_nastran_mesh(text: Text) -> Blocks:
    """The elements alone, grouped by property; whatever else the deck says is left to the caller."""
    _, bulk, first = split(text.data)
    cards = _cards(text, bulk, first)
    for name in [n for n in BARS if n in cards]:
        log.warning(
            "%d elements %s along lines belong to no mesh of cells and are left out", len(cards.pop(name)), name
        )
    _require_elements(cards)
    grids, _ = read_grids(cards)
    blocks = []
    for kind in VERTICES:
        found = read_elements(cards, kind)
        if found is not None:
            groups = {str(k): rows for k, rows in members(found.properties).items()}
            name, nodes = "tetra" if kind == "CTETRA" else "triangle", found.vertices
            if found.middles is not None:
                nodes = np.concatenate([nodes, found.middles], axis=1)
                name = f"{name}{nodes.shape[1]}"
            blocks.append(Block(name, _rows(grids, kind, nodes), groups))
    return Blocks(grids.points, blocks)


def _cards(text: Text, bulk: bytes, first: int) -> dict[str, Cards]:
    lines = re.sub(rb"\$[^\n]*", b"", bulk).upper().split(b"\n")
    cards = read_cards(lines, first, text.where)
    end = cards.pop("ENDDATA", None)
    if end is not None:
        last = int(end.line[0])
        cards = {n: kept for n, c in cards.items() if len(kept := c.take(c.line < last))}
    for name in [n for n in cards if n.startswith("ENDDATA")]:
        cards.pop(name)
    return cards


def _passed(cards: dict[str, Cards], parameters: list[tuple[str, int]], text: Text) -> list[str]:
    """Names of what is passed over; anything that is not known is refused."""
    for name, table in cards.items():
        if name not in READ and name not in HARMLESS:
            _require_elements(cards)
            raise table.refuse(
                0, "this card is not read and may change the physics; remove it, or write the deck without it"
            )
    _require_plain_weight(cards, parameters)
    found = [*parameters]
    if "PARAM" in cards:
        table = cards["PARAM"]
        found += [
            (table.words(i)[0].decode("ascii", "replace"), int(table.line[i]))
            for i in range(len(table))
            if table.words(i)
        ]
    for name, line in found:
        if name not in PARAMETERS:
            raise InputError(
                f"PARAM {name[:20]} on {text.where(line)}: this parameter is not read and may change the physics"
            )
    return [*(n for n in cards if n in HARMLESS), *(f"PARAM {name}" for name, _ in found)]


def _require_plain_weight(cards: dict[str, Cards], parameters: list[tuple[str, int]]) -> None:
    """Gravity acts on the elements' own mass: what else changes masses is refused with it."""
    if "GRAV" not in cards:
        return
    for name in ("CONM1", "CONM2"):
        if name in cards:
            raise cards[name].refuse(0, "masses at nodes have a weight under GRAV, which is not read; remove either")
    if "PSHELL" in cards and cards["PSHELL"].given(7).any():
        raise cards["PSHELL"].refuse(0, "further mass, NSM, has a weight under GRAV, which is not read")
    words = [cards["PARAM"].words(i)[:1] for i in range(len(cards["PARAM"]))] if "PARAM" in cards else []
    if any(name == "WTMASS" for name, _ in parameters) or [b"WTMASS"] in words:
        raise cards["GRAV"].refuse(0, "PARAM WTMASS changes what masses weigh, which is not read; remove it")


def _require_elements(cards: dict[str, Cards]) -> None:
    """Elements of other kinds are refused by name."""
    for name, table in cards.items():
        if name[:1] == "C" and name not in VERTICES and name not in HARMLESS and not name.startswith("CORD"):
            raise table.refuse(
                0, f"{len(table)} elements of this kind: only CTETRA, or CTRIA3 or CTRIA6 in the plane, are read"
            )


def _elements(cards: dict[str, Cards]) -> Elements:
    found = [e for kind in VERTICES if (e := read_elements(cards, kind)) is not None]
    if len(found) != 1:
        if found:
            raise found[1].cards.refuse(0, "shells on solids are not read: give CTETRA, CTRIA3 or CTRIA6 alone")
        raise InputError("the deck holds no CTETRA, no CTRIA3 and no CTRIA6")
    return found[0]


def _rows(grids: Grids, kind: str, nodes: Index) -> Index:
    rows = grids.find(nodes.ravel())
    if (rows < 0).any():
        missing = int(nodes.ravel()[np.argmax(rows < 0)])
        raise InputError(f"{kind}: node {missing} is used but not given")
    return rows.reshape(nodes.shape)


def _mesh(grids: Grids, elements: Elements) -> tuple[Nodes, Index, tuple[str, ...]]:
    """The nodes, the node of each GRID (−1 for those of no element), and what is to be said of mid-side nodes."""
    rows = _rows(grids, elements.kind, elements.vertices)
    used = np.zeros(len(grids.ids), dtype=bool)
    used[rows] = True
    number = np.where(used, np.cumsum(used) - 1, -1)
    X = grids.points[used]
    flat = elements.kind != "CTETRA"
    if flat:
        if np.any(X[:, 2] != 0.0):
            raise InputError(f"{elements.kind}: triangles are read in the plane z = 0 only; shells in space are not")
        X = X[:, :2]
    groups = {f"property {k}": cells for k, cells in members(elements.properties).items()}
    mesh = Mesh(X, number[rows], groups)
    if elements.middles is None:
        return Nodes(mesh), number, ()
    middles = _rows(grids, elements.kind, elements.middles)
    if used[middles].any():
        raise InputError(f"GRID {int(grids.ids[middles[used[middles]][0]])}: is a vertex and in the middle of a side")
    nodes, place = on_edges(mesh, middles, grids.ids)
    number[place] = len(X) + np.arange(len(place))
    return nodes, number, off_chords(nodes, grids.points[place][:, : mesh.dim], grids.ids[place])


def _planar(load: Vector, dim: int) -> Vector:
    if dim == 2 and np.any(load[:, 2] != 0.0):
        raise InputError("the load pushes the triangles out of their plane, which is not read")
    return load[:, :dim]


def _mask(grids: Grids, rows: Index) -> Any:
    mask = np.zeros(len(grids.ids), dtype=bool)
    mask[rows] = True
    return mask


def _named(mesh: Mesh, sets: dict[str, Any]) -> Mesh:
    """The mesh with the boundary facets whose vertices all belong to a set as its group."""
    groups = {name: mesh.boundary[inside[mesh.boundary].all(axis=1)] for name, inside in sets.items()}
    return Mesh.trusted(mesh.points, mesh.cells, mesh.cell_groups, {n: f for n, f in groups.items() if len(f)})
