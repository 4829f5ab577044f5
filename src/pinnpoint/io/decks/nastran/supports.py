"""Supports of bulk data: SPC, SPC1, SPCADD, permanent ones, and rigid elements RBE2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.io.decks.nastran.cards import Cards
from pinnpoint.io.decks.nastran.fields import blank, integers
from pinnpoint.io.decks.nastran.mesh import Grids, component_masks
from pinnpoint.io.decks.rigid import Body, space_with_bodies
from pinnpoint.systems.spaces import AdmissibleSpace


@dataclass(frozen=True, eq=False)
class Rigid:
    """One RBE2: centre and followers as GRID rows, and which components follow."""

    name: str
    centre: int
    rows: Index
    mask: Any


@dataclass(frozen=True, eq=False)
class Supports:
    """Makes the admissible space of a set of supports.

    Attributes
    ----------
    number
        Node of each GRID, −1 for those that no element uses.
    references
        GRID rows whose displacement is an average (RBE3), with the element's name.
    """

    cards: dict[str, Cards]
    grids: Grids
    number: Index
    dim: int
    rigid: list[Rigid]
    references: dict[int, str]

    def table(self, chosen: int | None) -> Vector:
        """(m, 6) fixed values of every GRID, NaN where free."""
        values = np.where(self.grids.permanent, 0.0, np.nan)
        touched = self.grids.permanent.any(axis=1)
        for name, rows, masks, given in self._pieces(chosen):
            wanted = np.where(masks, given[:, None], np.nan)
            for c in range(6):
                hit = masks[:, c] & np.isnan(values[rows, c])
                values[rows[hit], c] = given[hit]
            clash = masks & (values[rows] != wanted)
            if clash.any():
                k = int(np.argmax(clash.any(axis=1)))
                raise InputError(f"{name}: node {int(self.grids.ids[rows[k]])} is fixed twice, to different values")
            touched[rows] = True
        held = ~np.isnan(values[:, :3])
        turned = self.grids.turned & (_partly(values[:, :3]) | _partly(values[:, 3:]))
        if turned.any():
            node = int(self.grids.ids[np.argmax(turned)])
            raise InputError(
                f"GRID {node}: is held in a coordinate system of its own (field CD), which is not read; hold it in the "
                "basic system"
            )
        for row, name in self.references.items():
            if held[row].any():
                raise InputError(f"{name}: its reference node is held by a support, which is not read")
        return np.asarray(values)

    def space(self, chosen: int | None) -> AdmissibleSpace:
        """The displacements of the mesh nodes that a subcase allows."""
        values = self.table(chosen)
        mesh = rows_of(self.number)
        bodies = [self._body(r, values) for r in self.rigid]
        return space_with_bodies(self.grids.points[mesh][:, : self.dim], values[mesh][:, : self.dim], bodies)

    def _body(self, r: Rigid, values: Vector) -> Body:
        known = values[r.centre].copy()
        if (
            r.mask[:3].all()
            and len(r.rows) == 1
            and not np.any(self.grids.points[r.rows[0]] - self.grids.points[r.centre])
        ):
            known[3:] = np.where(np.isnan(known[3:]), 0.0, known[3:])  # no lever: its rotation moves nothing
        return Body(
            r.name,
            self.grids.points[r.centre],
            r.centre,
            int(self.number[r.centre]),
            self.number[r.rows],
            np.flatnonzero(r.mask[:3]),
            known,
        )

    def _pieces(self, chosen: int | None) -> list[tuple[str, Index, Any, Vector]]:
        """Card, GRID rows, component masks and values of the chosen set."""
        if chosen is None:
            return []
        sets = self._sets(chosen)
        given = [self.cards[name].whole(0) for name in ("SPC", "SPC1") if name in self.cards]
        missing = np.setdiff1d(sets, np.concatenate([np.zeros(0, dtype=np.intp), *given]))
        if missing.size:
            via = "" if sets == [chosen] else f", which SPCADD {chosen} names"
            raise InputError(f"SPC = {int(missing[0])}{via}: the deck has no such set of SPC, SPC1 or SPCADD")
        found: list[tuple[str, Index, Any, Vector]] = []
        table = self.cards.get("SPC1")
        if table is not None:
            numbers, masks = table.whole(0), component_masks(table, table.text(1))
            for i in np.flatnonzero(np.isin(numbers, sets)):
                rows = node_list(table, int(i), 2, self.grids)
                found.append((table.at(int(i)), rows, np.repeat(masks[i : i + 1], len(rows), 0), np.zeros(len(rows))))
        table = self.cards.get("SPC")
        if table is not None:
            table = table.take(np.isin(table.whole(0), sets))
            for k in (1, 4):
                some = table.take(table.given(k))
                if len(some):
                    rows = require_nodes(some, self.grids, some.whole(k))
                    masks = component_masks(some, some.text(k + 1))
                    found.append((some.name, rows, masks, some.real(k + 2, 0.0)))
        return found

    def _sets(self, chosen: int) -> list[int]:
        table = self.cards.get("SPCADD")
        if table is not None:
            card = table.take(table.whole(0) == chosen)
            if len(card) > 1:
                raise card.refuse(1, f"set {chosen} is given twice")
            if len(card):
                rest = card.fields[1:]
                return [int(k) for k in integers(rest[~blank(rest)], lambda k: f"{card.at(0)}: a set")]
        return [chosen]


def rows_of(number: Index) -> Index:
    """The GRID row of each node."""
    used = np.flatnonzero(number >= 0)
    return np.asarray(used[np.argsort(number[used], kind="stable")])


def _partly(values: Vector) -> Any:
    """Which rows fix some components only, or to something else than 0: these depend on the axes."""
    held = ~np.isnan(values)
    return held.any(axis=1) & (~held.all(axis=1) | (np.nan_to_num(values) != 0.0).any(axis=1))


def require_nodes(table: Cards, grids: Grids, ids: Index) -> Index:
    """GRID rows of ids, one per card; unknown ones are refused."""
    rows = grids.find(ids)
    if (rows < 0).any():
        k = int(np.argmax(rows < 0))
        raise table.refuse(k, f"node {int(ids[k])} is used but not given")
    return rows


def node_list(table: Cards, card: int, first: int, grids: Grids) -> Index:
    """GRID rows of one card's list of nodes, with `a THRU b`; nodes missing within a range are passed over."""
    fields = table.fields[table.start[card] + first : table.start[card + 1]]
    fields = fields[~blank(fields)]
    thru = np.flatnonzero(np.char.strip(fields) == b"THRU")
    if not thru.size:
        return require_nodes(
            _same(table, card, len(fields)), grids, integers(fields, lambda k: f"{table.at(card)}: a node")
        )
    if thru[0] == 0 or thru[-1] == len(fields) - 1:
        raise table.refuse(card, "THRU stands between two nodes")
    lone = np.ones(len(fields), dtype=bool)
    lone[np.concatenate([thru - 1, thru, thru + 1])] = False
    low, high, single = (integers(fields[w], lambda k: f"{table.at(card)}: a node") for w in (thru - 1, thru + 1, lone))
    inside = np.zeros(len(grids.ids), dtype=bool)
    for a, b in zip(low, high, strict=True):
        inside[np.searchsorted(grids.ids, a) : np.searchsorted(grids.ids, b, side="right")] = True
    inside[require_nodes(_same(table, card, len(single)), grids, single)] = True
    return np.flatnonzero(inside)


def _same(table: Cards, card: int, count: int) -> Cards:
    """The same card so many times, for messages about its nodes."""
    return Cards(
        table.name,
        table.fields[:0],
        np.zeros(count + 1, dtype=np.intp),
        np.repeat(table.line[card], count),
        table.where,
    )


def read_rigid(cards: dict[str, Cards], grids: Grids, number: Index) -> list[Rigid]:
    """All RBE2; a coefficient of thermal expansion at the end is passed over, for no temperature is read."""
    table = cards.get("RBE2")
    found: list[Rigid] = []
    if table is None:
        return found
    masks = component_masks(table, table.text(2))
    centres = require_nodes(table, grids, table.whole(1))
    for i in range(len(table)):
        card = table.take([i])
        words = card.words(0)
        if words and (b"." in words[-1]):
            keep = len(words) - 1
            card = Cards(card.name, card.fields[:keep], np.array([0, keep]), card.line, card.where)
        rows = np.unique(node_list(card, 0, 3, grids))
        if not rows.size or (number[rows] < 0).any():
            raise table.refuse(i, "its dependent nodes must be nodes of elements")
        if not masks[i, :3].any():
            continue
        if grids.turned[rows].any() and not masks[i, :3].all():
            raise table.refuse(i, "some of its nodes have a coordinate system of their own (field CD): not read")
        found.append(Rigid(table.at(i), int(centres[i]), rows, masks[i]))
    return found
