"""Linear elasticity: bodies of isotropic materials, from a table or from a deck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pinnpoint import fem
from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.base import ELASTIC_GOALS, Kind, ProblemSpec, Setting
from pinnpoint.cases.kinds.conditions import read_conditions, word_used
from pinnpoint.cases.tables import PerGroup, Table, Value, components, number
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.report.units import ELASTIC

WORDS = {"dirichlet": "fixed", "neumann": "traction"}
"""Second names, those of `fem.Elasticity`."""


@dataclass(frozen=True)
class ForceSpec:
    """A total force on a group: spread evenly, or with a moment and a reference point over the group's nodes."""

    force: tuple[float, ...]
    moment: tuple[float, ...] | None = None
    at: tuple[float, ...] | None = None
    even: bool = True

    @property
    def load(self) -> tuple[float, ...] | fem.Load:
        """As the problem takes it."""
        return self.force if self.even else fem.Load(self.force, self.moment, self.at)


@dataclass(frozen=True, kw_only=True, repr=False)
class ElasticSpec(ProblemSpec):
    """Material, loads, and conditions."""

    young: PerGroup
    poisson: PerGroup
    body: tuple[Expression, ...] | Mapping[str, tuple[float, ...]] | None = None
    expansion: PerGroup | None = None
    temperature: Expression | None = None
    plane: str | None = None
    dirichlet: Mapping[str, Value]
    neumann: Mapping[str, Value]
    force: Mapping[str, ForceSpec] | None = None

    @property
    def loads(self) -> dict[str, tuple[float, ...] | fem.Load]:
        """Total forces by group."""
        return {group: given.load for group, given in (self.force or {}).items()}


def read(table: Table) -> dict[str, Any]:
    """Material, loads, and conditions by either of their names."""
    values = _material(table)
    values["force"] = _forces(table.table("force")) if table.has("force") else None
    for word, other in WORDS.items():
        given = table.table(word_used(table, word, other))
        values[word] = read_conditions(given, vector=True, free=word == "dirichlet")
    return values


def _material(table: Table) -> dict[str, Any]:
    poisson = table.numbers("poisson")
    for group, nu in poisson.items() if isinstance(poisson, dict) else [("", poisson)]:
        if not -1.0 < nu < 0.5:
            raise InputError(f"{table.key('poisson')}{group and '.'}{group}: must lie between -1 and 0.5; got {nu!r}")
    body = table.take("body", None)
    if isinstance(body, dict):
        body = {group: _numbers(f"{table.key('body')}.{group}", row) for group, row in body.items()}
    elif body is not None:
        if not isinstance(body, list):
            raise InputError(
                f"{table.key('body')}: must be a list with one entry for each component, or a table from groups of "
                f"cells to lists of numbers; got {body!r}"
            )
        body = components(table.key("body"), body)
    young = table.numbers("young", "positive")
    plane = table.choice("plane", ("strain", "stress"), None)
    heat = {"expansion": table.numbers("expansion", default=None), "temperature": table.expression("temperature", None)}
    return {"young": young, "poisson": poisson, "body": body, "plane": plane, **heat}


def _forces(table: Table) -> dict[str, ForceSpec]:
    """Total forces on groups: a list, or a table with force, moment and at."""
    forces = {}
    for group in table.data:
        value = table.take(group)
        if not isinstance(value, dict):
            forces[group] = ForceSpec(_numbers(table.key(group), value))
            continue
        inner = Table(table.key(group), value, table.folder)
        parts = {key: _numbers(inner.key(key), inner.take(key)) for key in ("force", "moment", "at") if inner.has(key)}
        inner.known.extend(("force", "moment", "at"))
        inner.done()
        if "force" not in parts and "moment" not in parts:
            raise InputError(f"{inner.name}: give a force, a moment, or both")
        size = len(parts["moment"]) if "force" not in parts else len(parts["force"])
        forces[group] = ForceSpec(
            parts.get("force", (0.0,) * max(size, 2)), parts.get("moment"), parts.get("at"), even=False
        )
    return forces


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    row = value if isinstance(value, list) else [value]
    if not 1 <= len(row) <= 3:
        raise InputError(f"{name}: must have 1 to 3 numbers; got {len(row)}")
    return tuple(number(f"{name}.{k}", v) for k, v in enumerate(row))


def build(spec: ElasticSpec, mesh: Mesh, setting: Setting) -> fem.Elasticity:
    """The assembled problem; conditions keep the names that the file gives them."""
    if spec.plane is not None and mesh.dim == 3:
        raise InputError("problem.plane: only for 2D meshes; remove it")
    conditions = {"dirichlet": spec.dirichlet, "neumann": spec.neumann}
    named = {setting.words.get(word, word): table for word, table in conditions.items()}
    body: Any = spec.body if spec.body is None or isinstance(spec.body, Mapping) else list(spec.body)
    given: dict[str, Any] = {"degree": spec.degree, "plane": spec.plane or "strain", "force": spec.loads, **named}
    given |= {"expansion": spec.expansion, "temperature": spec.temperature}
    if setting.geometry:
        given["geometry"] = setting.geometry
    if setting.quadrature is not None:
        given["quadrature"] = setting.quadrature
    return fem.Elasticity(mesh, spec.young, spec.poisson, body, **given)


KIND = Kind(
    "elasticity",
    ElasticSpec,
    read,
    build,
    keys=("young", "poisson", "body", "plane", "expansion", "temperature", "dirichlet", "neumann", "force"),
    words=WORDS,
    vector=True,
    goals=ELASTIC_GOALS,
    instead={"flux": "ask for the reaction of a held group, or average over the patch instead"},
    quantities=ELASTIC,
    rechecked=True,
    lifts=True,
    refines=True,
    distributes=True,
    decks=True,
    curved=True,
)
