"""The sections of a case file that say the mesh and the PDE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.specs import ForceSpec, MeshSpec, ProblemSpec, Value
from pinnpoint.cases.tables import REQUIRED, Table, components, number
from pinnpoint.formulas.expressions import Expression

MESH_SUFFIXES = (".msh", ".vtu", ".vtk", ".xdmf", ".inp", ".bdf", ".fem", ".nas")
DECK_SUFFIXES = (".bdf", ".fem", ".nas", ".dat", ".inp")
DOMAINS = ("interval", "square", "cube", "lshape", "dumbbell", "frame", "fichera", "bracket")
ELASTIC = {"dirichlet": "fixed", "neumann": "traction"}
"""Second names for elasticity, those of `fem.Elasticity`."""
PROBLEMS = ("reaction-diffusion", "elasticity", "semilinear")


def read_mesh_spec(root: Table) -> MeshSpec | None:
    """A file or a generated domain; None where the problem's deck gives the mesh."""
    problem = root.data.get("problem")
    if isinstance(problem, dict) and "deck" in problem:
        root.refuse(["mesh"], "problem.deck gives the mesh; give only one of them")
        return None
    table = root.table("mesh", required=True)
    if table.has("file") == table.has("generate"):
        raise InputError("mesh: give exactly one of 'file' and 'generate'")
    file = table.path("file", MESH_SUFFIXES, None)
    domain = table.choice("generate", DOMAINS, None)
    if file is not None:
        table.refuse(["cells", "dofs"], "only for a generated mesh; remove it")
    if domain == "bracket":
        if table.has("cells") and table.has("dofs"):
            raise InputError("mesh.dofs: give cells or dofs, not both")
    else:
        table.refuse(["dofs"], "only for generate = 'bracket'; remove it")
    cells = table.whole("cells", 32 if domain and domain != "bracket" else None, low=1)
    dofs = table.whole("dofs", None, low=1)
    table.done()
    return MeshSpec(file, domain, cells, dofs)


def read_problem(table: Table) -> ProblemSpec:
    """The PDE's coefficients and conditions, or a deck that gives all of them."""
    kind = table.choice("kind", PROBLEMS, "elasticity" if table.has("deck") else REQUIRED)
    if table.has("deck"):
        spec = ProblemSpec(kind, deck=table.path("deck", DECK_SUFFIXES), subcase=table.whole("subcase", 1, low=1))
        table.refuse([f.name for f in fields(ProblemSpec) if f.name not in table.known], "the deck gives it; remove it")
        if kind != "elasticity":
            raise InputError(f"problem.kind: a deck is an elasticity problem; got '{kind}'")
        table.done()
        return spec
    table.refuse(["subcase"], "only with a deck; remove it")
    elastic = kind == "elasticity"
    values: dict[str, Any] = {"degree": table.whole("degree", 1, low=1, high=2)}
    scalar, solid = ("diffusion", "reaction", "source"), ("young", "poisson", "body", "plane", "force")
    table.refuse(scalar if elastic else solid, f"does not belong to kind = '{kind}'; remove it")
    if elastic:
        values |= _elastic(table)
        values["force"] = _forces(table.table("force")) if table.has("force") else None
    else:
        values["diffusion"] = table.numbers("diffusion", "positive", 1.0)
        values["reaction"] = _reaction(table)
        values["source"] = table.expression("source", 0.0)
    if kind == "semilinear":
        values["cubic"] = table.number("cubic")
        if values["cubic"] < 0.0:
            raise InputError(
                f"problem.cubic: must be ≥ 0, a monotone reaction; got {values['cubic']!r}. For λ < 0 the PDE can have "
                "several solutions or none: verify a discrete root in Python, fem.Semilinear with target='discrete'"
            )
    else:
        table.refuse(["cubic"], "only for kind = 'semilinear'; remove it")
    for word, other in ELASTIC.items():
        free = elastic and word == "dirichlet"
        values[word] = _conditions(table.table(_word(table, word, other, elastic)), elastic, free=free)
    table.done()
    return ProblemSpec(kind, **values)


def _word(table: Table, word: str, other: str, elastic: bool) -> str:
    """Which of two names for the same thing the file uses."""
    if not elastic:
        table.refuse([other], f"is elasticity's word; write {table.key(word)}")
        return word
    if table.has(word):
        table.refuse([other], f"is another word for {table.key(word)}; give one of them")
    table.known.extend((word, other))
    return other if table.has(other) else word


def _elastic(table: Table) -> dict[str, Any]:
    poisson = table.numbers("poisson")
    for group, nu in poisson.items() if isinstance(poisson, dict) else [("", poisson)]:
        if not -1.0 < nu < 0.5:
            raise InputError(f"{table.key('poisson')}{group and '.'}{group}: must lie between -1 and 0.5; got {nu!r}")
    body = table.take("body", None)
    if body is not None:
        if not isinstance(body, list):
            raise InputError(f"{table.key('body')}: must be a list with one entry for each component; got {body!r}")
        body = components(table.key("body"), body)
    young = table.numbers("young", "positive")
    return {
        "young": young,
        "poisson": poisson,
        "body": body,
        "plane": table.choice("plane", ("strain", "stress"), None),
    }


def _forces(table: Table) -> dict[str, ForceSpec]:
    """Total forces on groups: a list, or a table with force, moment and at."""
    found = {}
    for group in table.data:
        value = table.take(group)
        if not isinstance(value, dict):
            found[group] = ForceSpec(_numbers(table.key(group), value))
            continue
        inner = Table(table.key(group), value, table.folder)
        parts = {key: _numbers(inner.key(key), inner.take(key)) for key in ("force", "moment", "at") if inner.has(key)}
        inner.known.extend(("force", "moment", "at"))
        inner.done()
        if "force" not in parts and "moment" not in parts:
            raise InputError(f"{inner.name}: give a force, a moment, or both")
        size = len(parts["moment"]) if "force" not in parts else len(parts["force"])
        found[group] = ForceSpec(
            parts.get("force", (0.0,) * max(size, 2)), parts.get("moment"), parts.get("at"), even=False
        )
    return found


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    row = value if isinstance(value, list) else [value]
    if not 1 <= len(row) <= 3:
        raise InputError(f"{name}: must have 1 to 3 numbers; got {len(row)}")
    return tuple(number(f"{name}.{k}", v) for k, v in enumerate(row))


def _reaction(table: Table) -> Expression | Mapping[str, float]:
    """A formula, or numbers for cell groups."""
    if isinstance(table.data.get("reaction"), dict):
        return table.numbers("reaction", "nonnegative")  # type: ignore[no-any-return]
    reaction: Expression = table.expression("reaction", 0.0)
    if reaction.constant is not None and reaction.constant < 0:
        raise InputError(f"{reaction.name}: must be ≥ 0; got {reaction.constant!r}")
    return reaction


def _conditions(table: Table, elastic: bool, *, free: bool) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for group in table.data:
        value = table.take(group)
        if isinstance(value, list) and not elastic:
            raise InputError(f"{table.key(group)}: has one component; give a number or a formula, not a list")
        found[group] = components(table.key(group), value, free=free)
        if isinstance(value, list) and all(v is None for v in found[group]):  # type: ignore[union-attr]
            raise InputError(f"{table.key(group)}: every component is free, so nothing is fixed; remove it")
    return found
