"""The sections of a case file that say the mesh and the PDE."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds import KINDS, Kind, ProblemSpec
from pinnpoint.cases.specs import MeshSpec
from pinnpoint.cases.tables import Table
from pinnpoint.io.decks.text import ABAQUS, NASTRAN
from pinnpoint.io.meshes.read import SUFFIXES

DOMAINS = ("interval", "square", "cube", "lshape", "dumbbell", "frame", "fichera", "disc", "annulus", "bracket")


def read_mesh_spec(root: Table) -> MeshSpec | None:
    """A file or a generated domain; None where the problem's deck gives the mesh."""
    problem = root.data.get("problem")
    if isinstance(problem, dict) and "deck" in problem:
        root.refuse(["mesh"], "problem.deck gives the mesh; give only one of them")
        return None
    table = root.table("mesh", required=True)
    if table.has("file") == table.has("generate"):
        raise InputError("mesh: give exactly one of 'file' and 'generate'")
    file = table.path("file", SUFFIXES, None)
    domain = table.choice("generate", DOMAINS, None)
    if file is not None:
        table.refuse(["cells", "dofs"], "only for a generated mesh; remove it")
    if domain == "bracket":
        if table.has("cells") and table.has("dofs"):
            raise InputError("mesh.dofs: give cells or dofs, not both")
    else:
        table.refuse(["dofs"], "only for generate = 'bracket'; remove it")
    straight = table.flag("straight", False)
    if straight and file is None:
        raise InputError("mesh.straight: only for a mesh file; remove it")
    cells = table.whole("cells", 32 if domain and domain != "bracket" else None, low=1)
    dofs = table.whole("dofs", None, low=1)
    table.done()
    return MeshSpec(file, domain, cells, dofs, straight or None)


def read_problem(table: Table) -> ProblemSpec:
    """The PDE's coefficients and conditions, or a deck that gives all of them."""
    if table.has("deck"):
        return _read_deck(table)
    kind: Kind[Any] = KINDS[table.choice("kind", tuple(KINDS))]
    table.refuse(["subcase"], "only with a deck; remove it")
    degree = table.whole("degree", 1, low=1, high=kind.degrees)
    _refuse_others(table, kind)
    spec: ProblemSpec = kind.spec(kind.name, degree, **kind.read(table))
    table.done()
    return spec


def _read_deck(table: Table) -> ProblemSpec:
    """A deck is a problem of the one kind that has decks."""
    kind = next(kind for kind in KINDS.values() if kind.decks)
    name = table.choice("kind", tuple(KINDS), kind.name)
    spec = ProblemSpec(name, deck=table.path("deck", NASTRAN + ABAQUS), subcase=table.whole("subcase", 1, low=1))
    every = ["degree", *(key for other in KINDS.values() for key in (*other.keys, *other.special))]
    table.refuse(every, "the deck gives it; remove it")
    if name != kind.name:
        raise InputError(f"problem.kind: a deck is an {kind.name} problem; got '{name}'")
    table.done()
    return spec


def _refuse_others(table: Table, kind: Kind[Any]) -> None:
    """Refuse what belongs to other kinds, in words that say so."""
    for other in KINDS.values():
        foreign = [key for key in other.keys if key not in (*kind.keys, *kind.special)]
        table.refuse(foreign, f"does not belong to kind = '{kind.name}'; remove it")
        alone = [key for key in other.special if key not in (*kind.keys, *kind.special)]
        table.refuse(alone, f"only for kind = '{other.name}'; remove it")
        for word, second in other.words.items():
            if word in kind.keys and second not in kind.words.values():
                table.refuse([second], f"is {other.name}'s word; write {table.key(word)}")
