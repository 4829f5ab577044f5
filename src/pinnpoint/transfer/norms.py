"""Norms of functions that vanish on the Dirichlet part, per unit of energy: ‖v‖₂, ‖v‖₄ and ‖vΦ‖₂.

Let E = ‖v‖_a, g² = 1/min κ, so ‖∇v‖ ≤ g E. In two and three dimensions v vanishes on all of ∂Ω (extended by zero), or Ω
is a box.

- ‖v‖₂ ≤ C E: Friedrichs' constant of a bounding box, or 1/√(min c).
- 1D: v(x)² ≤ E² ∫κ⁻¹ from a fixed end to x; from both ends, E² ≥ v(x)²(1/l + 1/r) with l + r = ∫κ⁻¹, so
  |v|² ≤ E² ∫κ⁻¹/4. Without a fixed end, the mean on a cell is bounded by `anchors`. ‖v‖₄⁴ ≤ max v² ‖v‖₂².
- 2D: v² ≤ ∫|v ∂v| along every line parallel to an axis (half the integral of |∂(v²)|, from either side). Hence
  ∫v⁴ ≤ ∫ sup_x v² dy ∫ sup_y v² dx ≤ ‖v‖²‖v_x‖‖v_y‖ ≤ ½‖v‖₂²‖∇v‖₂².
- 3D: the same on planes z = const, where sup_z ∫v² dx dy ≤ ‖v‖‖v_z‖, gives ∫v⁴ ≤ ‖v‖‖v_x‖‖v_y‖‖v_z‖
  ≤ ‖v‖₂‖∇v‖₂³/(3√3).
- ‖vΦ‖₂ for a kernel Φ: max|v| ‖Φ‖₂ or ‖v‖₂ max|Φ| in 1D, ‖v‖₄‖Φ‖₄ in 2D. In 3D Φ ≤ 1/(4πκ₀|x − x₀|), and Hardy's
  inequality ∫v²/|x − x₀|² ≤ 4∫|∇v|² gives ‖vΦ‖₂ ≤ g E/(2πκ₀).

*A box* with sides l_i, of whose two faces across axis i both, one or none are Dirichlet: along each line
‖v_i‖² ≥ μ_i‖v‖² with μ_i = π²/l_i², π²/(4l_i²), 0, so C² = 1/(min κ Σμ_i + min c); and sup v² along it is at most
α_i∫v² + β_i∫|v v_i| with (α_i, β_i) = (0, 1), (0, 2), (1/l_i, 2). As above, ∫v⁴ ≤ ‖v‖² Π(α_i‖v‖ + β_i‖v_i‖) in 2D and
‖v‖ Π(α_i‖v‖ + β_i‖v_i‖) in 3D. Hardy's inequality loses its boundary condition: on a ray with t = r/R,
I² = ∫(1 − t)²v² dr = 2∫t(1 − t)v² − 2∫r(1 − t)²v v′ ≤ ½I² + 2Z² + 2IY, Z² = ∫v²r²/R², Y² = ∫v′²r², so I ≤ 4Y + 2Z, and
‖vΦ‖₂ ≤ (4‖∇v‖ + 2‖v‖/R)/(4πκ₀).

For a ball average |Φ| is the difference of the potentials of two radial densities of mass one, each between zero and
that of the point, ψ: so |Φ| ≤ ψ, which is R/(2κ)(1 − ρ), −log(s)/(4πκ), (1/ρ − 1)/(4πκR).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import down, sum_up, up
from pinnpoint.transfer.anchors import DIRICHLET
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.kernels import Kernel
from pinnpoint.transfer.potentials import FOURTH

PI_DOWN = 3.141592653589793  # float64's value is below π
PI_UP = 3.1415926535897936


@dataclass(frozen=True)
class Norms:
    """Upper bounds of ‖v‖₂/E, ‖v‖₄/E, ‖∇v‖₂/E, and in one dimension of max|v|/E."""

    d: int
    second: float
    fourth: float
    gradient: float
    top: float = math.inf
    vanishing: bool = True
    """Whether v vanishes on all of ∂Ω."""

    @classmethod
    def of(cls, model: Continuum) -> Norms:
        """For the Dirichlet part of a problem."""
        gradient = float(up(1.0 / down(math.sqrt(float(model.kappa.min())))))
        second = model.anchors.friedrichs
        least = float(model.reaction.min())
        if least > 0.0:
            second = min(second, float(up(1.0 / down(math.sqrt(least)))))
        if model.d == 1:
            return cls._interval(model, second, gradient)
        if not math.isfinite(model.anchors.friedrichs):
            return cls._box(model, gradient, least)
        if model.d == 2:
            fourth = up(0.5 * (second * gradient) ** 2, 8)  # continuous.md, step 10g
        else:
            fourth = up(second * gradient**3 / (3.0 * math.sqrt(3.0)), 16)  # continuous.md, step 10g
        return cls(model.d, second, float(up(math.sqrt(math.sqrt(fourth)))), gradient)

    @classmethod
    def _box(cls, model: Continuum, gradient: float, least: float) -> Norms:
        faces = _faces(model)
        if faces is None:
            raise InputError(
                "target: for a nonlinear reaction in two or three dimensions the continuous target needs Dirichlet "
                "data on the whole boundary, or a domain that is a box; say target='discrete'"
            )
        widths = model.points.max(axis=0) - model.points.min(axis=0)
        low, high = down(widths), up(widths)
        ends = np.where(faces == 2, 1.0, np.where(faces == 1, 0.25, 0.0))
        # continuous.md, step 10i
        friction = float(down(float(model.kappa.min()) * PI_DOWN**2 * np.sum(ends / high**2) + least, 32))
        if not friction > 0.0:
            raise InputError(
                "target: for a nonlinear reaction the continuous target needs a face of the box that is Dirichlet, or "
                "a reaction c > 0; say target='discrete'"
            )
        second = float(up(1.0 / down(math.sqrt(friction))))
        alpha, beta = np.where(faces == 0, 1.0 / low, 0.0), np.where(faces == 2, 1.0, 2.0)
        lines = float(np.prod(alpha * second + beta * gradient))  # continuous.md, step 10i
        fourth = float(up(second ** (4 - model.d) * lines, 32))
        return cls(model.d, second, float(up(math.sqrt(math.sqrt(fourth)))), gradient, vanishing=False)

    @classmethod
    def _interval(cls, model: Continuum, second: float, gradient: float) -> Norms:
        fixed = int(np.count_nonzero(model.kind == DIRICHLET))
        X = np.sort(model.points[model.topology.cells][:, :, 0], axis=1)
        whole = sum_up(up((X[:, 1] - X[:, 0]) / model.kappa))
        top = float(up(math.sqrt(whole / (4.0 if fixed == 2 else 1.0))))
        if not fixed:
            top = float(up(model.anchors.reach + model.anchors.step).max())
        length = sum_up(up(X[:, 1] - X[:, 0]))
        second = min(second, float(up(top * math.sqrt(length))))
        return cls(1, second, float(up(math.sqrt(top * second))), gradient, top)

    def weighted(self, kernel: Kernel) -> float:
        """Upper bound of ‖vΦ‖₂/E."""
        R, kappa, point = kernel.radius, kernel.kappa, kernel.average_radius == 0.0
        if self.d == 3 and not self.vanishing:
            free = 4.0 * self.gradient + 2.0 * self.second / R  # continuous.md, step 10i
            return float(up(free / (4.0 * PI_DOWN * kappa), 8))
        if self.d == 3:
            return float(up(self.gradient / (2.0 * PI_DOWN * kappa), 8))  # continuous.md, step 10h
        if self.d == 2:  # ∫ over the ball is πR² ∫ ds
            mean = FOURTH if point else 24.0
            length = math.sqrt(math.sqrt(PI_UP * R * R * mean)) / (4.0 * PI_DOWN * kappa)
            return float(up(self.fourth * length, 16))  # continuous.md, step 10h
        # ∫_0^1 (1 − ρ)⁶(3 + ρ)² dρ = 88/63 < 1.397, ∫_0^1 (1 − ρ)² dρ = 1/3
        largest, square = (3.0 / 16.0, 1.397 / 256.0) if point else (0.5, 1.0 / 12.0)
        one = self.top * R / kappa * math.sqrt(2.0 * R * square)
        return float(up(min(one, self.second * R / kappa * largest), 16))


def _faces(model: Continuum) -> Vector | None:
    """How many of the two faces across each axis are Dirichlet; None where the domain is not its bounding box.

    A connected domain in the box whose boundary lies in the box's boundary is the box.
    """
    outside = model.topology.facet_cells[:, 1] < 0
    P, kind = model.points[model.topology.facets[outside]], model.kind[outside]
    count, covered = np.zeros(model.d), np.zeros(len(P), dtype=bool)
    for axis in range(model.d):
        for end in (model.points[:, axis].min(), model.points[:, axis].max()):
            here = np.all(P[:, :, axis] == end, axis=1)
            covered |= here
            count[axis] += float(np.all(kind[here] == DIRICHLET))
    return count if bool(covered.all()) else None
