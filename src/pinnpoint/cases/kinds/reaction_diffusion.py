"""−∇·(A∇u) + b·∇u + c u = f."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pinnpoint import fem
from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.base import EXTREMES, SCALAR_GOALS, Kind, ProblemSpec, Setting
from pinnpoint.cases.kinds.coefficients import (
    CoefficientFile,
    read_convection,
    read_diffusion,
    read_reaction,
    read_source,
)
from pinnpoint.cases.kinds.conditions import read_conditions, read_periodic, read_robin
from pinnpoint.cases.tables import Table, Value
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh


@dataclass(frozen=True, kw_only=True, repr=False)
class ScalarSpec(ProblemSpec):
    """One unknown with diffusion, reaction, source, and conditions."""

    diffusion: Any
    reaction: Any
    source: Expression | Mapping[str, Expression]
    dirichlet: Mapping[str, Value]
    neumann: Mapping[str, Value]
    convection: Any = None
    robin: Mapping[str, tuple[Expression, Expression]] | None = None
    periodic: Mapping[str, str] | None = None

    @property
    def coefficients(self) -> tuple[Any, ...]:
        """In the order in which the problems take them."""
        return self.source, self.diffusion, self.reaction, self.dirichlet, self.neumann


def read(table: Table) -> dict[str, Any]:
    """Coefficients and conditions."""
    given = {"diffusion": read_diffusion(table), "reaction": read_reaction(table), "convection": read_convection(table)}
    return given | {"source": read_source(table)} | read_sides(table)


def read_sides(table: Table) -> dict[str, Any]:
    """Values, fluxes, Robin conditions and periodic pairs of boundary groups."""
    given: dict[str, Any] = {"robin": read_robin(table.table("robin")) if table.has("robin") else None}
    given["periodic"] = read_periodic(table.table("periodic")) if table.has("periodic") else None
    table.known.extend(("robin", "periodic"))
    return given | {word: read_conditions(table.table(word)) for word in ("dirichlet", "neumann")}


def require_numbers(spec: ScalarSpec) -> None:
    """Refuse coefficients that are more than numbers on groups, where only these are understood."""
    A = spec.diffusion.values() if isinstance(spec.diffusion, Mapping) else [spec.diffusion]
    c = spec.reaction.values() if isinstance(spec.reaction, Mapping) else [0.0]
    more = spec.convection is not None or isinstance(spec.source, Mapping)
    if more or not all(isinstance(v, float) for v in (*A, *c)):
        raise InputError(
            "problem: matrices, formulas of the diffusion or of groups, coefficients from files and convection are not "
            "spread over processes; certify in one"
        )


def build(spec: ScalarSpec, mesh: Mesh, setting: Setting) -> fem.ReactionDiffusion:
    """The assembled problem."""
    more = {"convection": spec.convection, "robin": spec.robin, "periodic": spec.periodic}
    more |= {"geometry": setting.geometry}
    return fem.ReactionDiffusion(mesh, *on_cells(spec, mesh), **more, degree=spec.degree, quadrature=setting.quadrature)


def on_cells(spec: ScalarSpec, mesh: Mesh) -> tuple[Any, ...]:
    """Source, diffusion, reaction and conditions, with coefficients from files as numbers on the cells."""
    f, A, c, *sides = spec.coefficients
    A, c = (given.on(mesh) if isinstance(given, CoefficientFile) else given for given in (A, c))
    return f, A, c, *sides


KEYS = ("diffusion", "reaction", "source", "dirichlet", "neumann")
KIND = Kind(
    "reaction-diffusion",
    ScalarSpec,
    read,
    build,
    (*KEYS, "convection", "robin", "periodic"),
    goals=(*SCALAR_GOALS, *EXTREMES),
    rechecked=True,
    lifts=True,
    refines=True,
    distributes=True,
    curved=True,
)
