"""−∇·(κ∇u) + c u + λu³ = f."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds.base import NONLINEAR, Kind, Setting
from pinnpoint.cases.kinds.reaction_diffusion import KEYS, ScalarSpec, read_coefficients, read_sides
from pinnpoint.cases.tables import Table
from pinnpoint.fem import Semilinear
from pinnpoint.mesh.mesh import Mesh


@dataclass(frozen=True, kw_only=True, repr=False)
class CubicSpec(ScalarSpec):
    """With λ."""

    cubic: float


def read(table: Table) -> dict[str, Any]:
    """Coefficients, λ, and conditions."""
    coefficients, cubic = read_coefficients(table), table.number("cubic")
    if cubic < 0.0:
        raise InputError(
            f"problem.cubic: must be ≥ 0, a monotone reaction; got {cubic!r}. For λ < 0 the PDE can have "
            "several solutions or none: verify a discrete root in Python, fem.Semilinear with target='discrete'"
        )
    return coefficients | {"cubic": cubic} | read_sides(table)


def build(spec: CubicSpec, mesh: Mesh, setting: Setting) -> Semilinear:
    """The assembled problem."""
    return Semilinear(mesh, spec.cubic, *spec.coefficients, degree=spec.degree, quadrature=setting.quadrature)


KIND = Kind(
    "semilinear",
    CubicSpec,
    read,
    build,
    KEYS,
    special=("cubic",),
    methods=NONLINEAR,
    rechecked=True,
    refines=True,
)
