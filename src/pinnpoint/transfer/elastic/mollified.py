"""The density ϱ of a point or of a ball average on the cells of a mesh, with proved errors."""

from __future__ import annotations

from dataclasses import dataclass

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.elastic.kelvin import Kelvin
from pinnpoint.transfer.elastic.radial import DIGITS
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.mollifier import density
from pinnpoint.transfer.points.profiles import Profile
from pinnpoint.transfer.points.radial_series import sphere_measure
from pinnpoint.transfer.points.work import Work


@dataclass(frozen=True)
class KelvinBump:
    """ϱ as a height times a profile of t = 1 − s; its mass is one, exactly."""

    d: int
    radius: float
    profile: Profile
    peak: float
    peak_error: float
    mass: float = 1.0
    mass_error: float = 0.0

    __repr__ = brief


def bump_of(kernel: Kelvin) -> KelvinBump:
    """ϱ = A₃t³ + A₄t⁴ as peak · t³(first + second t), with |A_j − peak c_j| ≤ peak_error |c_j| for c = first, second.

    The peak is 1/(ωR^d), and the c_j are the rationals ωR^d A_j, all rounded once.
    """
    with precision(DIGITS):
        height = Enclosed.of(1) / sphere_measure(kernel.d)
        for _ in range(kernel.d):
            height = height / Enclosed.of(kernel.radius)
        peak, error = height.rounded()
    first, second = map(float, kernel.density)
    # A = c(1 + ε) height, |ε| ≤ u, unless c = 0 exactly
    error = float(up((error + 2.0 * UNIT * peak) * (1.0 + 2.0 * UNIT)))  # elasticity.md, step 8g
    return KelvinBump(kernel.d, kernel.radius, Profile(3, first, second), peak, error)


def mollified(
    kernel: Kelvin, points: Vector, cells: Index, x0: Vector, target: float, spent: Work | None = None
) -> Density:
    """ϱ on the cells that the ball about x0 meets.

    ∫|error| is brought below about `target` unless that takes more than the budget; then the density is returned with
    the error reached.

    *Guarantee:* ϱ = Σ β_jl B_jl + h + ε on each cell, with `high`, `error1` and `error2` of the density.

    *Assumes:* the ball lies in the union of the cells; a mass other than one raises.
    """
    return density(bump_of(kernel), points, cells, x0, target, spent=spent)  # elasticity.md, step 8g
