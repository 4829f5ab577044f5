"""Which bracket the large-scale studies are on: a generated one, or one of SimJEB's from a folder of its files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.fem.elastic.bracket_loads import LOADS, bracket
from pinnpoint.fem.elastic.loads import spread_over
from pinnpoint.io.decks import simjeb
from pinnpoint_paper.study import Study

DOFS = 386_000
"""Of the generated bracket in full form: the size of the paper's system."""
NUMBER = "148"
"""SimJEB's bracket that the paper takes."""
PATCHES = ("load interface", "near support", "high deflection", "remote")
GENERATED = "The bracket is generated: it is not SimJEB's number 148, which may not be shipped."
REACH = 8.0
"""Radius of the query patches in mm."""
DIGITS = 7
"""SimJEB releases its fields with so many significant digits."""


@dataclass(frozen=True)
class Which:
    """A form of a study, and the folder of a SimJEB bracket; without one the bracket is generated."""

    form: str
    folder: Path | None = None
    number: str = NUMBER

    @property
    def quick(self) -> bool:
        """Whether the small form is meant."""
        return self.form == "quick"


@dataclass(frozen=True, eq=False)
class Given:
    """A part with its loads.

    Attributes
    ----------
    name
        What it is, in plain words.
    real
        Whether it is one of SimJEB's own.
    problem
        Elasticity under the vertical load.
    loads
        (4, N): vertical, horizontal, diagonal, torsion.
    released
        (N,) the dataset's own displacements under the vertical load; None for a generated part.
    kind
        0 elsewhere, 1 bolt holes, 2 pin, per node.
    surface
        Boundary facets that are neither.
    patches, middles
        Facets of the four query patches, and where they lie.
    """

    name: str
    real: bool
    problem: Any
    loads: Any
    released: Any
    kind: Any
    surface: Any
    patches: list[Any]
    middles: Any


def on_simjeb(study: Study, folder: Path, number: str = NUMBER) -> Study:
    """A bracket study on one of SimJEB's own brackets; other studies are left as they are."""
    if GENERATED not in study.about:
        return study
    about = study.about.replace(GENERATED, f"The bracket is SimJEB's number {number}, read from its own files.")
    made: Any = study.parts
    parts = partial(made, folder=folder, number=number)
    return replace(study, parts=parts, about=about, subject=_subject(folder, number))


def _subject(folder: Path, number: str) -> str:
    """The number and a digest of the files, so that results of other files are not resumed."""
    digest = hashlib.sha256()
    for name in (f"{number}.fem", f"{number}field.csv", f"{number}.csv"):
        if (folder / name).is_file():
            digest.update((folder / name).read_bytes())
    return f"SimJEB {number}, files {digest.hexdigest()[:16]}"


def give(which: Which) -> Given:
    """The part that is asked for."""
    return _generated(which) if which.folder is None else _simjeb(which.folder, which.number)


def _generated(which: Which) -> Given:
    """The shipped mesh in quick form, Gmsh's at the paper's size in full."""
    problem = bracket("vertical", dofs=None if which.quick else DOFS)
    mesh = problem.mesh
    kind = np.zeros(len(mesh.points), dtype=int)
    for k, group in ((1, "bolts"), (2, "pin")):
        kind[np.unique(mesh.facets(group))] = k
    facets = np.concatenate([mesh.facets("surface"), mesh.facets("base")])
    middle = mesh.points[facets].mean(axis=1)
    bolt = mesh.points[np.unique(mesh.facets("bolt1"))].mean(axis=0)
    corner = np.abs(middle[:, 0]) * 10 + np.abs(middle[:, 1])
    near = int(np.argmin(np.linalg.norm(middle - bolt, axis=1)))
    patches, middles = _patches(mesh, mesh.facets("pin"), facets, (near, np.argmax(middle[:, 2]), np.argmax(corner)))
    loads = np.array([spread_over(problem.nodes, "pin", load).ravel() for load in LOADS.values()])
    name = "a generated bracket (not SimJEB's)"
    return Given(name, False, problem, loads, None, kind, mesh.facets("surface"), patches, middles)


def _simjeb(folder: Path, number: str) -> Given:
    """One of the dataset's own: high deflection is where the released field is largest, remote is farthest away."""
    part = simjeb.load(folder, number)
    problem, mesh = part.problem("vertical"), part.deck.mesh
    kind = np.select([part.surface == 2, part.surface == 3], [1, 2], 0)
    on = kind[mesh.boundary]
    pin, facets = mesh.boundary[np.all(on == 2, axis=1)], mesh.boundary[np.any(on == 0, axis=1)]
    bolts = mesh.points[kind == 1]
    if not (len(pin) and len(bolts) and len(facets)):
        raise InputError(
            f"--simjeb: bracket {number} needs facets of the pin, nodes of bolt holes and a free surface, as the "
            "column 'surf' of its field tells them"
        )
    middle = mesh.points[facets].mean(axis=1)
    u = np.abs(part.released["vertical"][:, 2])[facets].mean(axis=1)
    near = int(np.argmin(np.linalg.norm(middle - bolts[np.argmin(bolts[:, 0])], axis=1)))
    far = np.linalg.norm(middle - mesh.points[np.unique(pin)].mean(axis=0), axis=1)
    patches, middles = _patches(mesh, pin, facets, (near, np.argmax(u), np.argmax(far)))
    released = problem.space.U0.copy()
    free = np.asarray(problem.space.free)
    released[free] = part.released["vertical"].ravel()[free]
    name = f"SimJEB's bracket {number}, from its own files"
    return Given(name, True, problem, part.loads, released, kind, facets, patches, middles)


def _patches(mesh: Any, pin: Any, facets: Any, chosen: Any) -> tuple[list[Any], Any]:
    """The pin, and all facets within `REACH` of the chosen ones."""
    middle = mesh.points[facets].mean(axis=1)
    patches, middles = [pin], [mesh.points[np.unique(pin)].mean(axis=0)]
    for k in chosen:
        patches.append(facets[np.linalg.norm(middle - middle[k], axis=1) <= REACH])
        middles.append(middle[k])
    return patches, np.array(middles)
