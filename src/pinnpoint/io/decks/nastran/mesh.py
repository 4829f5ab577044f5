"""Nodes, elements and materials of bulk data."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.io.decks.nastran.cards import Cards
from pinnpoint.io.decks.nastran.coordinates import System, read_systems, system_of
from pinnpoint.io.decks.thickness import Thickness

log = logging.getLogger(__name__)
VERTICES = {"CTETRA": 4, "CTRIA3": 3, "CTRIA6": 3}


@dataclass(frozen=True, eq=False)
class Grids:
    """All GRIDs in order of increasing id, in the basic system.

    Attributes
    ----------
    turned
        Which of them have displacements in a system of their own (field CD).
    permanent
        (m, 6) components that the GRID itself fixes (field PS).
    """

    ids: Index
    points: Vector
    turned: Any
    permanent: Any

    def find(self, wanted: Index) -> Index:
        """Rows of ids; −1 for those that are not given."""
        place = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[place] == wanted, place, -1)


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of one kind in order of increasing id: properties, vertices and mid-side nodes by GRID id."""

    kind: str
    cards: Cards
    ids: Index
    properties: Index
    vertices: Index
    middles: Index | None = None


def read_grids(cards: dict[str, Cards]) -> tuple[Grids, dict[int, System]]:
    """The nodes and the coordinate systems."""
    if "GRID" not in cards:
        raise InputError("the deck holds no GRID")
    systems = read_systems(cards)
    table = cards["GRID"]
    ids = table.whole(0)
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(np.diff(ids[order]) == 0)
    if twice.size or ids[order[0]] < 1:
        card = int(order[twice[0] + 1]) if twice.size else int(order[0])
        raise table.refuse(card, f"node {int(ids[card])} is given twice, or is not positive")
    X = np.stack([table.real(k, 0.0) for k in (2, 3, 4)], axis=1)
    position, motion = table.whole(1, 0), table.whole(5, 0)
    for number in np.unique(position[position != 0]).tolist():
        rows = np.flatnonzero(position == number)
        X[rows] = system_of(systems, number, table.at(int(rows[0]))).to_basic(X[rows])
    for number in np.unique(motion[motion != 0]).tolist():
        system_of(systems, number, table.at(int(np.argmax(motion == number))))
    other = table.whole(7, 0) != 0
    if other.any():
        raise table.refuse(int(np.argmax(other)), "belongs to a superelement, which are not read")
    permanent = component_masks(table, table.text(6), optional=True)
    return Grids(ids[order], X[order], (motion != 0)[order], permanent[order]), systems


def component_masks(table: Cards, texts: Sequence[str], *, optional: bool = False) -> Any:
    """Component numbers such as 123456 as (m, 6) masks; nothing, or 0, is none where that is allowed."""
    values, inverse = np.unique(texts, return_inverse=True)
    masks = np.zeros((len(values), 6), dtype=bool)
    for i, value in enumerate(values.tolist()):
        word = value.strip(b"\0 ").decode("ascii", errors="replace")
        if not (word in ("", "0") and optional) and (not word or set(word) - set("123456")):
            card = int(np.argmax(inverse.ravel() == i))
            raise table.refuse(card, f"components must be digits from 1 to 6; got '{word}'")
        masks[i, [int(c) - 1 for c in word if c != "0"]] = True
    return masks[inverse.ravel()]


def read_elements(cards: dict[str, Cards], kind: str) -> Elements | None:
    """Tetrahedra or triangles; second-order ones have all of their mid-side nodes."""
    table = cards.get(kind)
    if table is None:
        return None
    count, middles = VERTICES[kind], None
    sides = {"CTETRA": 6, "CTRIA3": 0, "CTRIA6": 3}[kind]
    if kind != "CTRIA3" and (kind == "CTRIA6" or table.beyond(2 + count).any()):
        middles = _middles(table, 2 + count, sides)
    elif kind == "CTRIA3" and table.beyond(3 + count).any():
        raise table.refuse(int(np.argmax(table.beyond(3 + count))), "offsets and thicknesses of its own are not read")
    ids, vertices = table.whole(0), np.stack([table.whole(2 + k) for k in range(count)], axis=1)
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(np.diff(ids[order]) == 0)
    if twice.size:
        card = int(order[twice[0] + 1])
        raise table.refuse(card, f"element {int(ids[card])} is given twice")
    properties = np.where(table.given(1), table.whole(1, 0), ids)
    own = None if middles is None else middles[order]
    return Elements(kind, table, ids[order], properties[order], vertices[order], own)


def _middles(table: Cards, first: int, sides: int) -> Index:
    """Mid-side nodes of all elements; where some are missing the element is of no whole order."""
    given = np.stack([table.given(first + k) for k in range(sides)], axis=1)
    if not given.all():
        raise table.refuse(
            int(np.argmin(given.all(axis=1))),
            f"{int(np.count_nonzero(~given.all(axis=1)))} of {len(table)} have not all of their {sides} mid-side "
            "nodes; mesh with elements of one order",
        )
    if table.beyond(first + sides + (table.name == "CTRIA6")).any():
        bad = int(np.argmax(table.beyond(first + sides + (table.name == "CTRIA6"))))
        raise table.refuse(bad, "offsets and thicknesses of its own are not read")
    return np.stack([table.whole(first + k) for k in range(sides)], axis=1)


def materials_of(cards: dict[str, Cards], elements: Elements) -> list[Cards]:
    """The MAT1 of each property that elements have, in order; `read_materials` has refused what is missing."""
    table, stuff = cards["PSOLID" if elements.kind == "CTETRA" else "PSHELL"], cards["MAT1"]
    known = {int(p): int(m) for p, m in zip(table.whole(0), table.whole(1), strict=True)}
    return [stuff.take(stuff.whole(0) == known[number]) for number in np.unique(elements.properties).tolist()]


def read_materials(cards: dict[str, Cards], elements: Elements) -> tuple[Vector, Vector, Vector, Thickness]:
    """Young's modulus, Poisson's ratio and density per element, E, ν, ρ, and thicknesses, whose share E and ρ have."""
    name = "PSOLID" if elements.kind == "CTETRA" else "PSHELL"
    table = cards.get(name)
    wanted, inverse = np.unique(elements.properties, return_inverse=True)
    known = {} if table is None else {int(p): i for i, p in enumerate(table.whole(0))}
    if table is not None and len(known) != len(table):
        raise InputError(f"{name}: a property is given twice")
    rows = np.zeros((len(wanted), 4))
    for k, number in enumerate(wanted.tolist()):
        if table is None or number not in known:
            raise InputError(f"{elements.kind} of property {number}: {name} {number} is not given")
        card = table.take([known[number]])
        thickness = 1.0 if name == "PSOLID" else _thickness(card)
        if name == "PSOLID" and card.words(0)[6:7] not in ([], [b""], [b"SMECH"]):
            raise card.refuse(0, "only structural solids, SMECH, are read")
        rows[k] = *_isotropic(cards, int(card.whole(1)[0]), card.at(0)), thickness
    E, nu, rho, t = rows[inverse.ravel()].T
    thick = Thickness.of(t)
    return E * thick.share, nu, rho * thick.share, thick


def _thickness(card: Cards) -> float:
    t = float(card.real(2)[0])
    if not t > 0.0:
        raise card.refuse(0, f"the thickness must be > 0; got {t!r}")
    if card.given(4)[0] and float(card.real(4)[0]) != 1.0:
        raise card.refuse(0, "a bending stiffness of its own is not read")
    if card.given(10)[0]:
        raise card.refuse(0, "a coupling of membrane and bending, MID4, is not read")
    return t


def _isotropic(cards: dict[str, Cards], number: int, user: str) -> tuple[float, float, float]:
    table = cards.get("MAT1")
    rows = np.zeros(0) if table is None else np.flatnonzero(table.whole(0) == number)
    if table is None or rows.size != 1:
        raise InputError(f"{user}: material MAT1 {number} is given {rows.size} times; only MAT1, once, is read")
    card = table.take(rows)
    E, G, nu = (float(card.real(k, np.inf)[0]) if card.given(k)[0] else None for k in (1, 2, 3))
    if E is None and G is not None and nu is not None:
        E = 2.0 * G * (1.0 + nu)
    elif E is not None and nu is None:
        nu = 0.0 if G is None else E / (2.0 * G) - 1.0 if G else np.nan
    if E is None or nu is None or not E > 0.0 or not -1.0 < nu < 0.5:
        raise card.refuse(0, f"needs two of E > 0, G and −1 < ν < 0.5; got E = {E}, G = {G}, ν = {nu}")
    if G is not None and abs(G - E / (2.0 * (1.0 + nu))) > 1e-3 * abs(G):
        raise card.refuse(0, f"E = {E}, G = {G} and ν = {nu} do not fit an isotropic material; leave G out")
    if G is not None and card.given(1)[0] and card.given(3)[0]:
        log.warning("%s: G = %g is passed over; E and ν say %.7g", card.at(0), G, E / (2.0 * (1.0 + nu)))
    return E, nu, float(card.real(4, 0.0)[0])
