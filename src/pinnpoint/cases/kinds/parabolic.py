"""u_t − ∇·(κ∇u) + b·∇u + c u = f, from initial values to an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinnpoint import fem
from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.base import Kind, ProblemSpec, Setting
from pinnpoint.cases.kinds.coefficients import (
    CoefficientFile,
    read_convection,
    read_diffusion,
    read_reaction,
    read_source,
)
from pinnpoint.cases.kinds.conditions import read_conditions, read_robin
from pinnpoint.cases.tables import SPACE_TIME, Table, Value
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh

GOALS = ("point", "average", "patch", "mean", "cells")


@dataclass(frozen=True, kw_only=True, repr=False)
class ParabolicSpec(ProblemSpec):
    """One unknown that moves; t may stand in the source and in the data on the boundary."""

    diffusion: Any
    reaction: Any
    convection: Any
    source: Any
    initial: Expression
    dirichlet: dict[str, Value]
    neumann: dict[str, Value]
    robin: dict[str, tuple[Expression, Expression]] | None = None


def read(table: Table) -> dict[str, Any]:
    """Coefficients, initial values and conditions."""
    given = {"diffusion": read_diffusion(table), "reaction": read_reaction(table), "convection": read_convection(table)}
    given |= {"source": read_source(table, SPACE_TIME), "initial": table.expression("initial", 0.0)}
    given["robin"] = read_robin(table.table("robin"), SPACE_TIME) if table.has("robin") else None
    table.known.append("robin")
    sides = {word: read_conditions(table.table(word), variables=SPACE_TIME) for word in ("dirichlet", "neumann")}
    return given | sides


def build(spec: ParabolicSpec, mesh: Mesh, setting: Setting) -> fem.Parabolic:
    """The problem with its time grid."""
    time = setting.time
    if time is None:
        raise InputError("time: is missing; give end and steps")
    A, c = (g.on(mesh) if isinstance(g, CoefficientFile) else g for g in (spec.diffusion, spec.reaction))
    return fem.Parabolic(
        mesh,
        spec.source,
        spec.initial,
        A,
        c,
        spec.dirichlet,
        spec.neumann,
        convection=spec.convection,
        robin=spec.robin,
        end=time.end,
        steps=time.steps,
        nodes=time.nodes,
        grade=time.grade,
        scheme=time.scheme,
        damped=time.damped,
        degree=spec.degree,
        quadrature=setting.quadrature,
    )


KIND = Kind(
    "parabolic",
    ParabolicSpec,
    read,
    build,
    ("diffusion", "reaction", "source", "dirichlet", "neumann", "robin", "convection"),
    special=("initial",),
    goals=GOALS,
    moves=True,
    refines=True,
)
