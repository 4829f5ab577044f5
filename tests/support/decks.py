"""One part as a deck for Nastran and for Abaqus, and its solution by an assembly of the tests' own."""

from __future__ import annotations

import os

import numpy as np

import pinnpoint as pp
from tests import ROOT
from tests.support.written import large, small, solve, stiffness, voxels

E, NU = 3.0e7, 0.3
PRESSURE = 250.0
BENDING = os.environ.get("PINNPOINT_SOLID_BENDING") or next(ROOT.parent.glob("*/data/solid_bending"), None)
"""Where pyNastran's model is, which does not come with this project: as the variable says, or in data beside it."""
CONTROL = """SOL 101
CEND
ECHO = NONE
TITLE = made by a test
SUBCASE 1
   SUBTITLE = bending
   LOAD = 2
   SPC = 2
   STRESS(SORT1,REAL,VONMISES,BILIN)=ALL
SET 1 = 1, 2,
 3 THRU 9
BEGIN BULK
"""


class Beam:
    """A beam along z like the shared deck: ids with gaps and out of order, forces on one face, the far end clamped."""

    def __init__(self, shape=(2, 2, 4), seed=3):
        X, self.T = voxels(np.ones(shape, dtype=bool), 1.0)
        rng = np.random.default_rng(seed)
        self.X = np.round(X + 0.1 * rng.uniform(-1, 1, X.shape), 3)
        self.top, self.end = np.flatnonzero(X[:, 0] == 0), np.flatnonzero(X[:, 2] == shape[2])
        self.ids = 5 + 3 * np.arange(len(X))  # increasing ids are the order of X
        self.rng = rng

    def mesh_cards(self, card):
        rows = [card("GRID", int(i), "", *x) for i, x in zip(self.ids, self.X.tolist(), strict=True)]
        self.rng.shuffle(rows)
        cells = [card("CTETRA", e + 1, 4, *row) for e, row in enumerate(self.ids[self.T].tolist())]
        return [*rows, *cells, card("PSOLID", 4, 9), "MAT1    9       3.0+7           .3      7.4-4"]

    def deck(self, card=small, *, control=CONTROL, cards=None):
        cards = self.usual(card) if cards is None else cards
        return control + "\n".join(["PARAM    POST    -1", *self.mesh_cards(card), *cards, "ENDDATA 6a7d6a3b", ""])

    def usual(self, card):
        end = self.ids[self.end].tolist()
        forces = [card("FORCE", 1, int(i), 0, 1000.0, 1.0, 0.0, 0.0) for i in self.ids[self.top]]
        held = [card("SPC1", 1, 123456, *end), card("SPCADD", 2, 1, 3)]
        held.append(card("SPC1", 3, 456, int(self.ids[0]), "THRU", int(self.ids[-1])))
        return [*forces, card("LOAD", 2, 1.0, 2.0, 1), *held]

    def truth(self, f=None):
        """Matrix, load and solution of the usual deck, or of other forces."""
        K = stiffness(self.X, self.T, E, NU)
        if f is None:
            f = np.zeros_like(self.X)
            f[self.top, 0] = 2000.0
        held = (3 * self.end[:, None] + np.arange(3)).ravel()
        return K, f.ravel(), solve(K, f.ravel(), held)


def listed(numbers):
    return "\n".join(", ".join(str(n) for n in numbers[k : k + 12]) for k in range(0, len(numbers), 12))


class Part(Beam):
    """The beam with a pressure on its top, written for Abaqus and for Nastran."""

    def loaded(self):
        """Cells with a face on the top, and the vertex off it."""
        cells = np.flatnonzero(np.isin(self.T, self.top).sum(axis=1) == 3)
        off = [next(v for v in self.T[e] if v not in self.top) for e in cells]
        return cells, np.array(off)

    def abaqus(self, physics=None, kind="C3D4"):
        cells, off = self.loaded()
        opposite = {3: 1, 2: 2, 0: 3, 1: 4}  # vertex to the face without it
        faces = [opposite[self.T[e].tolist().index(o)] for e, o in zip(cells, off, strict=True)]
        rows = [f"{i}, {x!r}, {y!r}, {z!r}" for i, (x, y, z) in zip(self.ids, self.X.tolist(), strict=True)]
        self.rng.shuffle(rows)
        text = ["*Heading", "a beam", "** a comment", "*Node", *rows, f"*Element, type={kind}, elset=all"]
        text += [f"{e + 1}, {listed(r)}" for e, r in enumerate(self.ids[self.T].tolist())]
        text += ["*Nset, nset=end", listed(self.ids[self.end].tolist()), "*Surface, name=top, type=ELEMENT"]
        text += [f"{e + 1}, S{f}" for e, f in zip(cells, faces, strict=True)]
        text += ["*Solid Section, elset=all, material=steel", "*Material, name=steel", "*Elastic", f"{E!r}, 0.3"]
        text += ["*Density", "7.85e-9", "*Boundary", "end, 1, 6"]
        usual = ["*Step", "*Static", "*Dsload", f"top, P, {PRESSURE}", "*Node file", "U", "*End Step", ""]
        return "\n".join(text + (usual if physics is None else physics))

    def nastran(self):
        cells, off = self.loaded()
        on = [next(v for v in self.T[e] if v != o) for e, o in zip(cells, off, strict=True)]
        rows = zip(cells.tolist(), self.ids[on].tolist(), self.ids[off].tolist(), strict=True)
        cards = [large("PLOAD4", 2, e + 1, PRESSURE, "", "", "", a, b) for e, a, b in rows]
        return self.deck(large, cards=[*cards, large("SPC1", 2, 123456, *self.ids[self.end].tolist())])


def read(tmp_path, text, name="part.bdf"):
    path = tmp_path / name
    path.write_text(text)
    return pp.io.read_deck(path)


def edit(old, new):
    def change(text):
        assert old in text, old
        return text.replace(old, new, 1)

    return change
