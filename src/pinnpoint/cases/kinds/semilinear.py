"""−∇·(κ∇u) + c u + λu³ = f, or another g(u) in the place of λu³."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinnpoint import fem
from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.base import EXTREMES, NONLINEAR, SCALAR_GOALS, Kind, Setting
from pinnpoint.cases.kinds.coefficients import read_diffusion, read_reaction, read_source
from pinnpoint.cases.kinds.reaction_diffusion import KEYS, ScalarSpec, on_cells, read_sides
from pinnpoint.cases.tables import Table
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh


@dataclass(frozen=True, kw_only=True, repr=False)
class CubicSpec(ScalarSpec):
    """With λ, or g."""

    cubic: float | None = None
    g: Expression | None = None


def read(table: Table) -> dict[str, Any]:
    """Coefficients, λ or g, and conditions."""
    coefficients = {"diffusion": read_diffusion(table), "reaction": read_reaction(table), "source": read_source(table)}
    cubic, g = table.number("cubic", default=None), table.expression("g", None, variables=("u",))
    if cubic is None and g is None:
        raise InputError('problem.cubic: is missing; give λ of λu³, or a formula in u such as g = "sinh(u)"')
    if cubic is not None and g is not None:
        raise InputError("problem.g: give either it or cubic, which is g = λu³; got both")
    if cubic is not None and cubic < 0.0:
        raise InputError(
            f"problem.cubic: must be ≥ 0, a monotone reaction; got {cubic!r}. For λ < 0 the PDE can have "
            "several solutions or none: verify a discrete root in Python, fem.Semilinear with target='discrete'"
        )
    return coefficients | {"cubic": cubic, "g": g} | read_sides(table)


def build(spec: CubicSpec, mesh: Mesh, setting: Setting) -> fem.Semilinear:
    """The assembled problem."""
    g = None if spec.g is None else fem.Reaction(spec.g)
    given = on_cells(spec, mesh)
    more: dict[str, Any] = {"robin": spec.robin, "periodic": spec.periodic, "g": g}
    return fem.Semilinear(mesh, spec.cubic, *given, **more, degree=spec.degree, quadrature=setting.quadrature)


KIND = Kind(
    "semilinear",
    CubicSpec,
    read,
    build,
    (*KEYS, "robin", "periodic"),
    goals=(*SCALAR_GOALS, *EXTREMES),
    special=("cubic", "g"),
    methods=NONLINEAR,
    rechecked=True,
    lifts=True,
    refines=True,
)
