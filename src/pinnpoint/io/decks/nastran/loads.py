"""Loads of bulk data: FORCE, MOMENT, PLOAD4 and LOAD, spread over the nodes of RBE2 and RBE3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import FACET_MEANS, Nodes
from pinnpoint.io.decks.carried import Carried
from pinnpoint.io.decks.nastran.cards import Cards
from pinnpoint.io.decks.nastran.coordinates import System, system_of
from pinnpoint.io.decks.nastran.fields import blank, integers, reals
from pinnpoint.io.decks.nastran.mesh import Elements, Grids, component_masks
from pinnpoint.io.decks.nastran.supports import Rigid, require_nodes, rows_of
from pinnpoint.io.decks.rigid import spread

KINDS = ("FORCE", "MOMENT", "PLOAD4", "GRAV")


@dataclass(frozen=True, eq=False)
class Average:
    """One RBE3: reference node, its components that are averages, and weighted nodes, as GRID rows."""

    name: str
    reference: int
    mask: Any
    rows: Index
    weights: Vector


@dataclass(frozen=True, eq=False)
class Loads:
    """Makes the nodal forces of a set of loads."""

    cards: dict[str, Cards]
    grids: Grids
    systems: dict[int, System]
    nodes: Nodes
    number: Index
    elements: Elements
    rigid: list[Rigid]
    averages: list[Average]
    density: Vector
    """Of each element, times its share of the thickness."""

    def of(self, chosen: int | None, *, alone: bool = False) -> Vector:
        """(n, 3) forces on the nodes; alone: without those of faces, of pressures and of averaging elements."""
        total = self._total(chosen, pressure=not alone)
        if alone:
            total[[one.reference for one in self.averages]] = 0.0
        forces = total[:, :3].copy()
        used = self.number >= 0
        for row in np.flatnonzero((total[:, 3:] != 0.0).any(axis=1) | (~used & (total != 0.0).any(axis=1))).tolist():
            rows, part = self._carried(row, total[row])
            forces[row] = 0.0 if not used[row] else forces[row]
            forces[rows] += part
        return np.asarray(forces[rows_of(self.number)])

    def _total(self, chosen: int | None, *, pressure: bool) -> Vector:
        """(m, 6) forces and moments on all GRIDs."""
        total = np.zeros((len(self.grids.ids), 6))
        for factor, number in self._parts(chosen):
            total += factor * self._set(number, pressure=pressure)
        return total

    def carried(self, chosen: int | None) -> tuple[Carried, ...]:
        """What averaging elements carry."""
        total = self._total(chosen, pressure=False)
        found = []
        for one in self.averages:
            load = total[one.reference]
            if np.any(load):
                even = bool(np.all(one.weights == one.weights[0]))
                at = self.grids.points[one.reference]
                found.append(Carried(one.name, self.number[one.rows], at, load[:3].copy(), load[3:].copy(), even))
        return tuple(found)

    def _parts(self, chosen: int | None) -> list[tuple[float, int]]:
        if chosen is None:
            return []
        table = self.cards.get("LOAD")
        rows = np.zeros(0) if table is None else np.flatnonzero(table.whole(0) == chosen)
        if table is None or not rows.size:
            return [(1.0, chosen)]
        taken = [k for k in KINDS if k in self.cards and (self.cards[k].whole(0) == chosen).any()]
        if rows.size > 1 or taken:
            what = f"{taken[0]} and as LOAD" if taken else "LOAD twice"
            raise table.refuse(int(rows[-1]), f"set {chosen} is given as {what}; give each set a number of its own")
        card = table.take(rows)
        overall, rest = float(card.real(1)[0]), card.fields[2:]
        rest = rest[~blank(rest)]
        if not len(rest) or len(rest) % 2:
            raise card.refuse(0, "needs pairs of a factor and a set")
        factors = reals(rest[0::2], lambda k: f"{card.at(0)}: a factor")
        sets = integers(rest[1::2], lambda k: f"{card.at(0)}: a set")
        return [(overall * float(f), int(s)) for f, s in zip(factors, sets, strict=True)]

    def body(self, chosen: int | None) -> Vector | None:
        """(C, 3) force densities of gravity; None where there is none."""
        total = np.zeros(3)
        for factor, number in self._parts(chosen):
            table = self.cards.get("GRAV")
            if table is not None:
                total += factor * self._gravity(table.take(table.whole(0) == number))
        if not np.any(total):
            return None
        if not np.any(self.density):
            raise InputError("GRAV: no material has a density, field RHO of MAT1; give it")
        return np.asarray(self.density[:, None] * total)

    def _gravity(self, table: Cards) -> Vector:
        """The acceleration of some cards."""
        total = np.zeros(3)
        if len(table):
            direction = np.stack([table.real(k, 0.0) for k in (3, 4, 5)], axis=1)
            if table.whole(1, 0).any() or not direction.any(axis=1).all():
                raise table.refuse(0, "is read with a direction in the basic coordinate system only")
            total = (table.real(2)[:, None] * direction).sum(axis=0)
        return np.asarray(total)

    def pressed(self, chosen: int | None) -> tuple[Index, Vector]:
        """Facets by mesh vertices, each once, and the pressure into the body on each."""
        facets, values = [np.zeros((0, 3), dtype=np.intp)], [np.zeros(0)]
        for factor, number in self._parts(chosen):
            table = self.cards.get("PLOAD4")
            table = None if table is None else table.take(table.whole(0) == number)
            table = None if table is None else table.take(~table.beyond(8))
            if table is not None and len(table):
                base, _, P = self._faces(table)
                facets.append(np.sort(self.number[base], axis=1))
                values.append(factor * P)
        every, at = np.unique(np.concatenate(facets), axis=0, return_inverse=True)
        return every, np.bincount(at.ravel(), np.concatenate(values), minlength=len(every)).astype(np.float64)

    def pulled(self, chosen: int | None) -> tuple[Index, Vector]:
        """Facets by mesh vertices, each once, and the traction on each, of pressures with a direction of their own."""
        facets, values = [np.zeros((0, 3), dtype=np.intp)], [np.zeros((0, 3))]
        for factor, number in self._parts(chosen):
            table = self.cards.get("PLOAD4")
            table = None if table is None else table.take((table.whole(0) == number) & table.beyond(8))
            if table is not None and len(table):
                base, _, P = self._faces(table)
                facets.append(np.sort(self.number[base], axis=1))
                values.append(factor * P[:, None] * self._directions(table))
        every, at = np.unique(np.concatenate(facets), axis=0, return_inverse=True)
        total = np.zeros((len(every), 3))
        np.add.at(total, at.ravel(), np.concatenate(values))
        return every, total

    def _directions(self, table: Cards) -> Vector:
        """Unit directions of pressures that have one of their own, fields N1 to N3."""
        direction = np.stack([table.real(k, 0.0) for k in (9, 10, 11)], axis=1)
        length = np.linalg.norm(direction, axis=1)
        wrong = (table.whole(8, 0) != 0) | ~(length > 0.0) | table.beyond(12)
        if wrong.any():
            raise table.refuse(
                int(np.argmax(wrong)),
                "a direction of its own is read in the basic system, by N1 to N3, no more",
            )
        return np.asarray(direction / length[:, None])

    def _set(self, number: int, *, pressure: bool = True) -> Vector:
        """(m, 6) forces and moments of one set."""
        total = np.zeros((len(self.grids.ids), 6))
        found = False
        for name in KINDS:
            table = self.cards.get(name)
            if table is None:
                continue
            table = table.take(table.whole(0) == number)
            if not len(table):
                continue
            found = True
            if name == "GRAV":
                continue
            if name == "PLOAD4":
                total[:, :3] += self._pressure(table) if pressure else 0.0
            else:
                np.add.at(total[:, 3:] if name == "MOMENT" else total[:, :3], *self._vectors(table))
        if not found:
            raise InputError(f"LOAD = {number}: the deck has no such set of {', '.join(KINDS)} or LOAD")
        return total

    def _vectors(self, table: Cards) -> tuple[Index, Vector]:
        rows = require_nodes(table, self.grids, table.whole(1))
        size, direction = table.real(3), np.stack([table.real(k, 0.0) for k in (4, 5, 6)], axis=1)
        nowhere = (size != 0.0) & ~direction.any(axis=1)
        if nowhere.any():
            raise table.refuse(int(np.argmax(nowhere)), "has no direction: N1 to N3 are zero or blank; give one")
        V = size[:, None] * direction
        basis = table.whole(2, 0)
        for number in np.unique(basis[basis != 0]).tolist():
            which = basis == number
            system = system_of(self.systems, number, table.at(int(np.argmax(which))))
            if system.kind != "R":
                raise table.refuse(int(np.argmax(which)), "only rectangular coordinate systems are read for loads")
            V[which] = V[which] @ system.axes
        return rows, V

    def _faces(self, table: Cards) -> tuple[Index, Index, Vector]:
        """GRID rows of the vertices of pressed faces and of those opposite to them, and the even pressure."""
        if self.elements.kind != "CTETRA":
            raise table.refuse(0, "pressure on triangles pushes them out of their plane, which is not read")
        P = table.real(2)
        for k in (3, 4, 5):
            other = table.given(k)
            uneven = other & (table.real(k, 0.0) != P) & ~((k == 5) & (table.real(k, 0.0) == 0.0))
            if uneven.any():
                raise table.refuse(int(np.argmax(uneven)), "only even pressure is read: P2 to P4 must equal P1")
        wanted = table.whole(1)
        place = np.minimum(np.searchsorted(self.elements.ids, wanted), len(self.elements.ids) - 1)
        if np.any(self.elements.ids[place] != wanted):
            raise table.refuse(int(np.argmax(self.elements.ids[place] != wanted)), "its element is not given")
        cells, on, off = self.elements.vertices[place], table.whole(6), table.whole(7)
        apex = cells == off[:, None]
        wrong = (apex.sum(axis=1) != 1) | ~((cells == on[:, None]) & ~apex).any(axis=1)
        if wrong.any():
            raise table.refuse(int(np.argmax(wrong)), "G1 must be a vertex of the face, and G4 the one opposite to it")
        return self.grids.find(cells[~apex]).reshape(-1, 3), self.grids.find(off), P

    def _pressure(self, table: Cards) -> Vector:
        """Even pressure on faces of tetrahedra, into the body, as the elements carry it."""
        base, tip, P = self._faces(table)
        X = self.grids.points[base]
        force = 0.5 * np.cross(X[:, 1] - X[:, 0], X[:, 2] - X[:, 0])
        inward = np.einsum("fk,fk->f", force, self.grids.points[tip] - X[:, 0])
        area = np.linalg.norm(force, axis=1)
        force *= (np.sign(inward) * P)[:, None]
        own = table.beyond(8)
        if own.any():
            force[own] = (area * P)[own, None] * self._directions(table.take(own))
        means, whole = FACET_MEANS[self.nodes.degree][3]
        total, rows = np.zeros((len(self.grids.ids), 3)), rows_of(self.number)
        shares = force[:, None, :] * (np.array(means) / whole)[:, None]
        np.add.at(total, rows[self.nodes.facet_dofs(self.number[base])], shares)
        return total

    def _carried(self, row: int, load: Vector) -> tuple[Index, Vector]:
        """Nodes and forces with the resultant of what is applied to a node without an element, or of a moment."""
        node, at = int(self.grids.ids[row]), self.grids.points[row]
        force = np.zeros(3) if self.number[row] >= 0 else load[:3]
        own = [a for a in self.averages if a.reference == row]
        bodies = [r for r in self.rigid if r.centre == row]
        if len(own) + bool(bodies) != 1:
            what = "carries a moment" if self.number[row] >= 0 else "is loaded"
            raise InputError(
                f"node {node} {what}, but it is the reference of {len(own)} RBE3 and the centre of {len(bodies)} RBE2; "
                "loads on nodes without elements, and moments, need one RBE3, or RBE2"
            )
        if own:
            one = own[0]
            if np.any(load[~one.mask] != 0.0):
                raise InputError(f"{one.name}: node {node} is loaded in a component that the element does not average")
            return one.rows, spread(self.grids.points[one.rows], one.weights, at, force, load[3:], one.name)
        name = " and ".join(body.name for body in bodies)
        if not all(body.mask[:3].all() for body in bodies):
            raise InputError(f"{name}: the centre is loaded, and nodes follow in some components only; not read")
        rows = np.unique(np.concatenate([body.rows for body in bodies]))
        return rows, spread(self.grids.points[rows], np.ones(len(rows)), at, force, load[3:], name)


def read_averages(cards: dict[str, Cards], grids: Grids, number: Index) -> list[Average]:
    """All RBE3: groups of a weight, components 123 and nodes."""
    table = cards.get("RBE3")
    found: list[Average] = []
    if table is None:
        return found
    centres, masks = require_nodes(table, grids, table.whole(2)), component_masks(table, table.text(3))
    for i in range(len(table)):
        card = table.take([i])
        fields = card.fields[4:]
        words = np.char.strip(fields[~blank(fields)])
        if np.isin(words, [b"UM", b"ALPHA"]).any():
            raise table.refuse(i, "UM and ALPHA are not read")
        point = np.char.find(words, b".") >= 0
        start = np.flatnonzero(point)
        if not start.size or start[0] != 0 or np.any(np.diff(np.append(start, len(words))) < 3):
            raise table.refuse(i, "needs a weight (a number with a point), components and nodes")
        component = np.zeros(len(words), dtype=bool)
        component[start + 1] = True
        if np.any(words[component] != b"123"):
            raise table.refuse(i, "only averages of the components 123 are read")
        weights = reals(words[start], card.part("a weight"))
        group = np.cumsum(point) - 1
        nodes = ~point & ~component
        ids = integers(words[nodes], card.part("a node"))
        rows = grids.find(ids)
        if (rows < 0).any() or (number[rows] < 0).any() or len(np.unique(rows)) < len(rows) or weights.min() <= 0.0:
            raise table.refuse(i, "its nodes must be nodes of elements, each once, with weights > 0")
        if number[centres[i]] >= 0:
            raise table.refuse(i, "its reference node belongs to an element, which is not read")
        if int(centres[i]) in [a.reference for a in found]:
            raise table.refuse(i, "its reference node is that of another RBE3 already")
        found.append(Average(table.at(i), int(centres[i]), masks[i], rows, weights[group[nodes]]))
    return found
