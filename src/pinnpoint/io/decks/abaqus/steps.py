"""Supports and loads of input files, carried from step to step as Abaqus carries them.

Outside steps, *BOUNDARY holds for all of them. In general steps what was said before stays, a line on the same node and
component replaces it, and OP=NEW clears its kind first; a perturbation step adds to nothing and leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Index, Vector, attributes
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import FACET_MEANS, Nodes
from pinnpoint.fem.elastic.thermal import weight_load
from pinnpoint.io.decks.abaqus.mesh import FACES, Part, members_of
from pinnpoint.io.decks.abaqus.text import Keyword
from pinnpoint.io.decks.deck import Subcase
from pinnpoint.io.decks.rigid import space_with_bodies
from pinnpoint.io.decks.solids import Meaning
from pinnpoint.io.decks.thickness import Thickness
from pinnpoint.mesh.mesh import Mesh

NAMED = {"ENCASTRE": (1, 2, 3), "PINNED": (1, 2, 3), "XSYMM": (1,), "YSYMM": (2,), "ZSYMM": (3,)}
NAMED |= {"XASYMM": (2, 3), "YASYMM": (1, 3), "ZASYMM": (1, 2)}
KINDS = {"BOUNDARY": "fixed", "CLOAD": "forces", "DLOAD": "pressure", "DSLOAD": "surface"}
KINDS |= {"TEMPERATURE": "warmth"}


@dataclass
class State:
    """Fixed displacements (NaN where free), nodal forces, pressures by cell and face of both kinds, gravity.

    And tractions by cell and face, and temperatures of the nodes.
    """

    fixed: Vector
    forces: Vector
    pressure: Vector
    surface: Vector
    gravity: Vector
    pull: Vector
    warmth: Vector

    def copy(self) -> State:
        """A copy."""
        return State(*(np.array(attributes(self, f.name)[f.name]) for f in fields(self)))

    def clear(self, initial: Vector) -> None:
        """No loads, and what is held is held at zero."""
        for loads in (self.forces, self.pressure, self.surface, self.gravity, self.pull):
            loads[:] = 0.0
        self.warmth[:] = initial
        self.fixed[~np.isnan(self.fixed)] = 0.0


@dataclass
class Steps:
    """Reads the physics keywords of a deck in their order."""

    nodes: Nodes
    part: Part
    node_ids: Index
    cell_ids: Index
    thickness: Thickness
    density: Vector
    """Of each cell, not a number where its material has none."""
    said: set[tuple[str, int, int]] = field(default_factory=set)
    """What the present step has said: kind, row, component or face."""

    @property
    def mesh(self) -> Mesh:
        """The vertices' mesh."""
        return self.nodes.mesh

    @cached_property
    def _order(self) -> Index:
        return np.argsort(self.node_ids, kind="stable")

    def read(self, sections: Sequence[Keyword]) -> dict[int, Subcase]:
        """One subcase per step."""
        n, d, C = len(self.nodes), self.mesh.dim, len(self.mesh.cells)
        one, other = (np.zeros((C, d + 1)) for _ in range(2))
        initial = self._initial(sections)
        rest = (np.zeros((C, d)), np.zeros((C, d + 1, d)), initial.copy())
        general = State(np.full((n, d), np.nan), np.zeros((n, d)), one, other, *rest)
        state, inside, solved, linear, label = general, False, False, False, ""
        cases: dict[int, Subcase] = {}
        for s in sections:
            if s.name == "STEP":
                linear, label = self._step(s, inside)
                inside, solved = True, False
                state = general.copy()
                if linear:
                    state.clear(initial)
                self.said.clear()
            elif s.name == "STATIC":
                s.only(("DIRECT", "SOLVER"))
                solved = True
            elif s.name == "END STEP":
                if not (inside and solved):
                    raise s.refuse("ends a step without *STEP and *STATIC; only static steps are read")
                number = len(cases) + 1
                cases[number] = self._subcase(number, label, state, initial)
                general, inside = general if linear else state, False
                state = general
            elif s.name in KINDS:
                if s.name != "BOUNDARY" and not inside:
                    raise s.refuse("loads belong into a *STEP")
                if s.name == "TEMPERATURE" and linear:
                    raise s.refuse("temperatures of perturbation steps are not read; make it a general step")
                self._say(s, state, initial)
                if not inside and np.any(np.nan_to_num(state.fixed) != 0.0):
                    raise s.refuse("outside a *STEP only zero displacements are held; put other values into a *STEP")
        if inside or not cases:
            raise InputError("*STEP: the file has no complete step, from *STEP over *STATIC to *END STEP")
        return cases

    def _step(self, s: Keyword, inside: bool) -> tuple[bool, str]:
        s.only(("NAME", "NLGEOM", "PERTURBATION", "INC", "UNSYMM"))
        if inside:
            raise s.refuse("the step before it has no *END STEP")
        if "NLGEOM" in s.options and s.options["NLGEOM"].upper() != "NO":
            raise s.refuse("NLGEOM: large displacements are not read")
        return "PERTURBATION" in s.options, s.options.get("NAME", s.body.strip().partition("\n")[0].strip())

    def _initial(self, sections: Sequence[Keyword]) -> Vector:
        """Temperatures of the nodes where nothing is stressed; zero where they are not given."""
        found = np.zeros(len(self.nodes))
        for s in sections:
            if s.name == "INITIAL CONDITIONS":
                s.only(("TYPE",))
                if s.options.get("TYPE", "").upper() != "TEMPERATURE":
                    raise s.refuse("only TYPE=TEMPERATURE is read")
                self._warm(s, found)
        return found

    def _warm(self, s: Keyword, warmth: Vector) -> None:
        for row in s.rows():
            if len(row) != 2:
                raise s.refuse(f"needs a node or set and one temperature; got '{', '.join(row)[:40]}'")
            rows = self._nodes(s, row[0])
            if s.name == "TEMPERATURE":
                self._once(s, rows, 0, np.full(len(rows), np.nan), s.number(row[1]))
            warmth[rows] = s.number(row[1])

    def _subcase(self, number: int, label: str, state: State, initial: Vector) -> Subcase:
        forces = state.forces / self.thickness.largest
        load = forces + self._pressed(state.pressure) + self._pressed(state.surface)
        load = load + self._pulled(state.pull)
        warmth = state.warmth - initial
        body = None
        if np.any(state.gravity):
            mass = np.where(state.gravity.any(axis=1), self.density * self.thickness.share, 0.0)
            if np.isnan(mass).any():
                element = int(self.cell_ids[np.argmax(np.isnan(mass))])
                raise InputError(f"*DLOAD GRAV: the material of element {element} has no *DENSITY")
            body = mass[:, None] * state.gravity
            load = load + weight_load(self.nodes, body)
        try:
            space = space_with_bodies(self.nodes.points, state.fixed, [])
        except InputError as error:
            raise InputError(f"step {number}: {error}") from error
        key = hashlib.sha256(state.fixed.tobytes()).hexdigest()
        faces = self._faces(state.pressure + state.surface)
        pulled, pull = self._pulled_faces(state.pull)
        warm = warmth if np.any(warmth) else None
        meaning = Meaning(state.fixed.copy(), forces, *faces, (), body, warmth=warm, pulled=pulled, pull=pull)
        return Subcase(number, label, space, load, key, meaning)

    def _pulled_faces(self, pull: Vector) -> tuple[Index, Vector]:
        """Facets with tractions, and these, times the thickness's share in the plane."""
        mesh, d = self.mesh, self.mesh.dim
        facets, values = [np.zeros((0, d), dtype=np.intp)], [np.zeros((0, d))]
        for k, corners in enumerate(FACES["tetra" if d == 3 else "triangle"]):
            cells = np.flatnonzero(pull[:, k].any(axis=1))
            facets.append(mesh.cells[cells][:, list(corners)])
            values.append(pull[cells, k] * self.thickness.share[cells][:, None])
        return np.concatenate(facets), np.concatenate(values)

    def _pulled(self, pull: Vector) -> Vector:
        """Nodal forces of tractions."""
        facets, values = self._pulled_faces(pull)
        total, (means, whole) = (
            np.zeros((len(self.nodes), self.mesh.dim)),
            FACET_MEANS[self.nodes.degree][self.mesh.dim],
        )
        if len(facets):
            force = values * self.mesh.facet_measures(facets)[:, None]
            shares = force[:, None, :] * (np.array(means) / whole)[:, None]
            np.add.at(total, self.nodes.facet_dofs(np.sort(facets, axis=1)), shares)
        return total

    def _faces(self, pressure: Vector) -> tuple[Index, Vector]:
        """Pressed facets and what presses them, times the thickness's share in the plane."""
        mesh, d = self.mesh, self.mesh.dim
        facets, values = [np.zeros((0, d), dtype=np.intp)], [np.zeros(0)]
        for k, corners in enumerate(FACES["tetra" if d == 3 else "triangle"]):
            cells = np.flatnonzero(pressure[:, k])
            facets.append(mesh.cells[cells][:, list(corners)])
            values.append(pressure[cells, k] * self.thickness.share[cells])
        return np.concatenate(facets), np.concatenate(values)

    def _say(self, s: Keyword, state: State, initial: Vector) -> None:
        s.only({"BOUNDARY": ("OP", "TYPE")}.get(s.name, ("OP",)))
        if s.options.get("TYPE", "DISPLACEMENT").upper() != "DISPLACEMENT":
            raise s.refuse("only TYPE=DISPLACEMENT is read")
        operation = s.options.get("OP", "MOD").upper()
        if operation not in ("MOD", "NEW"):
            raise s.refuse(f"OP must be MOD or NEW; got '{operation[:10]}'")
        target = attributes(state, KINDS[s.name])[KINDS[s.name]]
        if operation == "NEW":
            target[:] = initial if s.name == "TEMPERATURE" else np.nan if s.name == "BOUNDARY" else 0.0
            state.gravity[:] = 0.0 if s.name == "DLOAD" else state.gravity
            state.pull[:] = 0.0 if s.name == "DSLOAD" else state.pull
        if s.name == "TEMPERATURE":
            self._warm(s, target)
            return
        for row in s.rows():
            if s.name == "BOUNDARY":
                self._hold(s, row, target)
            elif s.name == "CLOAD":
                self._push(s, row, target)
            elif s.name == "DLOAD" and [text.upper() for text in row[1:2]] == ["GRAV"]:
                self._fall(s, row, state.gravity)
            elif s.name == "DSLOAD" and [text.upper() for text in row[1:2]] == ["TRVEC"]:
                self._pull(s, row, state.pull)
            else:
                self._press(s, row, target)

    def _hold(self, s: Keyword, row: list[str], fixed: Vector) -> None:
        if len(row) < 2 or len(row) > 4:
            raise s.refuse(f"needs a node or set, components and a value; got '{', '.join(row)[:40]}'")
        if row[1].upper() in NAMED:
            components, value = NAMED[row[1].upper()], 0.0
        else:
            first = self._component(s, row[1])
            last = self._component(s, row[2]) if len(row) > 2 and row[2] else first
            if last < first:
                raise s.refuse(f"components must run upwards; got '{', '.join(row)[:40]}'")
            components, value = tuple(range(first, last + 1)), s.number(row[3]) if len(row) > 3 else 0.0
        rows = self._nodes(s, row[0])
        for c in components:
            if c <= self.mesh.dim:
                self._once(s, rows, c, fixed[rows, c - 1], value)
                fixed[rows, c - 1] = value

    def _push(self, s: Keyword, row: list[str], forces: Vector) -> None:
        if len(row) != 3:
            raise s.refuse(f"needs a node or set, a component and a force; got '{', '.join(row)[:40]}'")
        c, value = self._component(s, row[1]), s.number(row[2])
        if c > self.mesh.dim:
            raise s.refuse(f"component {c} of nodes of these elements cannot be loaded")
        rows = self._nodes(s, row[0], complete=True)
        self._once(s, rows, c, np.full(len(rows), np.nan), value)
        forces[rows, c - 1] = value

    def _fall(self, s: Keyword, row: list[str], gravity: Vector) -> None:
        """Gravity on a set of elements, or on all: a size and a direction of length 1."""
        if len(row) < 4 or len(row) > 6:
            raise s.refuse("needs elements, GRAV, an acceleration and its direction")
        direction = np.array([s.number(text) if text else 0.0 for text in row[3:]] + [0.0] * (6 - len(row)))
        if abs(float(np.linalg.norm(direction)) - 1.0) > 1e-6 or np.any(direction[self.mesh.dim :]):
            raise s.refuse("the direction of gravity must have length 1 and lie in the plane of plane elements")
        cells = np.arange(len(self.cell_ids))
        if row[0]:
            cells = np.flatnonzero(np.isin(self.cell_ids, self._numbers(s, "ELSET", row[0])))
        self._once(s, cells, -1, np.full(len(cells), np.nan), 0.0)
        gravity[cells] = s.number(row[2]) * direction[: self.mesh.dim]

    def _pull(self, s: Keyword, row: list[str], pull: Vector) -> None:
        """A traction on a surface: its size and its direction, of any length."""
        d = self.mesh.dim
        if len(row) < 4 or len(row) > 6:
            raise s.refuse("needs a surface, TRVEC, the size of the traction and its direction")
        direction = np.array([s.number(text) if text else 0.0 for text in row[3:]] + [0.0] * (6 - len(row)))
        length = float(np.linalg.norm(direction))
        if not length > 0.0 or np.any(direction[d:]):
            raise s.refuse("the direction of a traction must not be zero, and lie in the plane of plane elements")
        vector = s.number(row[2]) / length * direction[:d]
        for cells, k in self._on_surface(s, row[0]):
            self._once(s, cells, k, np.full(len(cells), np.nan), 0.0)
            pull[cells, k] = vector

    def _on_surface(self, s: Keyword, text: str) -> list[tuple[Index, int]]:
        """Cells with a face on a surface, and the number of the face."""
        name = next((k for k in self.part.surfaces if k.upper() == _plain(text).upper()), None)
        if name is None or any(not face for _, face in self.part.surfaces[name]):
            raise s.refuse(f"the surface '{text[:40]}' is not given, or not by faces of elements")
        return [self._on_face(s, elements, face) for elements, face in self.part.surfaces[name]]

    def _on_face(self, s: Keyword, elements: str, face: str) -> tuple[Index, int]:
        count = len(FACES["tetra" if self.mesh.dim == 3 else "triangle"])
        if face not in [f"S{k + 1}" for k in range(count)]:
            raise s.refuse(f"'{face[:10]}' is not a face of these elements")
        return np.flatnonzero(np.isin(self.cell_ids, self._numbers(s, "ELSET", elements))), int(face[1]) - 1

    def _press(self, s: Keyword, row: list[str], pressure: Vector) -> None:
        if len(row) != 3 or (s.name == "DSLOAD" and row[1].upper() != "P") or row[1][:1].upper() != "P":
            raise s.refuse(
                f"only pressures, GRAV and TRVEC are read: "
                f"{'surface, P' if s.name == 'DSLOAD' else 'elements, P1'}, value"
            )
        if s.name == "DSLOAD":
            parts = self._on_surface(s, row[0])
        else:
            parts = [self._on_face(s, row[0], row[1].upper().replace("P", "S"))]
        for cells, k in parts:
            self._once(s, cells, k, np.full(len(cells), np.nan), s.number(row[2]))
            pressure[cells, k] = s.number(row[2])

    def _pressed(self, pressure: Vector) -> Vector:
        """Nodal forces of pressure into the body."""
        mesh, d = self.mesh, self.mesh.dim
        total, (means, whole) = np.zeros((len(self.nodes), d)), FACET_MEANS[self.nodes.degree][d]
        for k, corners in enumerate(FACES["tetra" if d == 3 else "triangle"]):
            cells = np.flatnonzero(pressure[:, k])
            vertices = mesh.cells[cells][:, list(corners)]
            tip = mesh.cells[cells][:, next(i for i in range(d + 1) if i not in corners)]
            X = mesh.points[vertices]
            if d == 3:
                normal = 0.5 * np.cross(X[:, 1] - X[:, 0], X[:, 2] - X[:, 0])
            else:
                normal = (X[:, 1] - X[:, 0])[:, ::-1] * [1.0, -1.0]
            side = np.sign(np.einsum("fk,fk->f", normal, mesh.points[tip] - X[:, 0]))
            force = normal * (side * pressure[cells, k] * self.thickness.share[cells])[:, None]
            np.add.at(total, self.nodes.facet_dofs(vertices), force[:, None, :] * (np.array(means) / whole)[:, None])
        return total

    def _once(self, s: Keyword, rows: Index, part: int, old: Vector, value: float) -> None:
        """A step says each thing once, or the same again."""
        keys = {(s.name, int(r), part) for r in rows}
        again = self.said & keys
        if again and not (s.name == "BOUNDARY" and np.all(np.isnan(old) | (old == value))):
            what = int(min(again)[1])
            name = (
                f"node {int(self.node_ids[what])}"
                if s.name in ("BOUNDARY", "CLOAD", "TEMPERATURE")
                else f"element {int(self.cell_ids[what])}"
            )
            raise s.refuse(f"{name} is given twice in one step; give it once")
        self.said |= keys

    def _component(self, s: Keyword, text: str) -> int:
        if text not in ("1", "2", "3", "4", "5", "6"):
            raise s.refuse(f"components must be numbers from 1 to 6, or one of {', '.join(NAMED)}; got '{text[:20]}'")
        return int(text)

    def _numbers(self, s: Keyword, kind: str, text: str) -> Index:
        word = _plain(text)
        if word.isdigit() and len(word) < 18:
            return np.array([int(word)])
        if (kind, word.upper()) not in self.part.sets:
            raise s.refuse(f"the set '{text[:40]}' is not given")
        found = members_of(self.part, kind, word)
        if not found.size:
            raise s.refuse(f"the set '{text[:40]}' is empty")
        return found

    def _nodes(self, s: Keyword, text: str, *, complete: bool = False) -> Index:
        """Mesh rows; nodes of no element hold nothing, but cannot be loaded."""
        wanted = np.unique(self._numbers(s, "NSET", text))
        sorted_ = np.searchsorted(self.node_ids, wanted, sorter=self._order)
        place = self._order[np.minimum(sorted_, len(self.node_ids) - 1)]
        known = self.node_ids[place] == wanted
        if not known.all() and (complete or not np.isin(wanted[~known], self.part.tags[0]).all()):
            raise s.refuse(f"node {int(wanted[~known][0])} is not a node of any element")
        return np.asarray(place[known])


def _plain(text: str) -> str:
    """A name without the instance before it."""
    return text.rpartition(".")[2]
