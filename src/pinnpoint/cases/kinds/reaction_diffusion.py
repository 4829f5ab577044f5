"""−∇·(κ∇u) + c u = f."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.base import Kind, ProblemSpec, Setting
from pinnpoint.cases.kinds.conditions import read_conditions
from pinnpoint.cases.tables import PerGroup, Table, Value
from pinnpoint.fem import ReactionDiffusion
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh


@dataclass(frozen=True, kw_only=True, repr=False)
class ScalarSpec(ProblemSpec):
    """One unknown with diffusion, reaction, source, and conditions."""

    diffusion: PerGroup
    reaction: Expression | Mapping[str, float]
    source: Expression
    dirichlet: Mapping[str, Value]
    neumann: Mapping[str, Value]

    @property
    def coefficients(self) -> tuple[Any, ...]:
        """In the order in which the problems take them."""
        return self.source, self.diffusion, self.reaction, self.dirichlet, self.neumann


def read(table: Table) -> dict[str, Any]:
    """Coefficients and conditions."""
    return read_coefficients(table) | read_sides(table)


def read_coefficients(table: Table) -> dict[str, Any]:
    """Diffusion, reaction and source."""
    diffusion = table.numbers("diffusion", "positive", 1.0)
    return {"diffusion": diffusion, "reaction": _reaction(table), "source": table.expression("source", 0.0)}


def read_sides(table: Table) -> dict[str, Any]:
    """Values and fluxes on boundary groups."""
    return {word: read_conditions(table.table(word)) for word in ("dirichlet", "neumann")}


def _reaction(table: Table) -> Expression | Mapping[str, float]:
    """A formula, or numbers for cell groups."""
    if isinstance(table.data.get("reaction"), dict):
        return table.numbers("reaction", "nonnegative")  # type: ignore[no-any-return]
    reaction: Expression = table.expression("reaction", 0.0)
    if reaction.constant is not None and reaction.constant < 0:
        raise InputError(f"{reaction.name}: must be ≥ 0; got {reaction.constant!r}")
    return reaction


def build(spec: ScalarSpec, mesh: Mesh, setting: Setting) -> ReactionDiffusion:
    """The assembled problem."""
    return ReactionDiffusion(mesh, *spec.coefficients, degree=spec.degree, quadrature=setting.quadrature)


KEYS = ("diffusion", "reaction", "source", "dirichlet", "neumann")
KIND = Kind(
    "reaction-diffusion",
    ScalarSpec,
    read,
    build,
    KEYS,
    rechecked=True,
    lifts=True,
    refines=True,
    distributes=True,
)
