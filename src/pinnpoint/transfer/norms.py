"""Norms of functions that vanish on the Dirichlet part, per unit of energy: ‖v‖₂, ‖v‖₄ and ‖vΦ‖₂.

Let E = ‖v‖_a, g² = 1/min κ, so ‖∇v‖ ≤ g E, and let v vanish on all of ∂Ω (extended by zero), or, in one dimension, at
one end at least.

- ‖v‖₂ ≤ C E: Friedrichs' constant of a bounding box, or 1/√(min c).
- 1D: v(x)² ≤ E² ∫κ⁻¹ from a fixed end to x; from both ends, E² ≥ v(x)²(1/l + 1/r) with l + r = ∫κ⁻¹, so
  |v|² ≤ E² ∫κ⁻¹/4. ‖v‖₄⁴ ≤ max v² ‖v‖₂².
- 2D: v² ≤ ∫|v ∂v| along every line parallel to an axis (half the integral of |∂(v²)|, from either side). Hence
  ∫v⁴ ≤ ∫ sup_x v² dy ∫ sup_y v² dx ≤ ‖v‖²‖v_x‖‖v_y‖ ≤ ½‖v‖₂²‖∇v‖₂².
- 3D: the same on planes z = const, where sup_z ∫v² dx dy ≤ ‖v‖‖v_z‖, gives ∫v⁴ ≤ ‖v‖‖v_x‖‖v_y‖‖v_z‖
  ≤ ‖v‖₂‖∇v‖₂³/(3√3).
- ‖vΦ‖₂ for a kernel Φ: max|v| ‖Φ‖₂ or ‖v‖₂ max|Φ| in 1D, ‖v‖₄‖Φ‖₄ in 2D. In 3D Φ ≤ 1/(4πκ₀|x − x₀|), and Hardy's
  inequality ∫v²/|x − x₀|² ≤ 4∫|∇v|² gives ‖vΦ‖₂ ≤ g E/(2πκ₀).

For a ball average |Φ| is the difference of the potentials of two radial densities of mass one, each between zero and
that of the point, ψ: so |Φ| ≤ ψ, which is R/(2κ)(1 − ρ), −log(s)/(4πκ), (1/ρ − 1)/(4πκR).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.errors import InputError
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
            raise InputError(
                "target: for a cubic reaction in two or three dimensions the continuous target needs Dirichlet data on "
                "the whole boundary; say target='discrete'"
            )
        if model.d == 2:
            fourth = up(0.5 * (second * gradient) ** 2, 8)
        else:
            fourth = up(second * gradient**3 / (3.0 * math.sqrt(3.0)), 16)
        return cls(model.d, second, float(up(math.sqrt(math.sqrt(fourth)))), gradient)

    @classmethod
    def _interval(cls, model: Continuum, second: float, gradient: float) -> Norms:
        fixed = int(np.count_nonzero(model.kind == DIRICHLET))
        if not fixed:
            raise InputError(
                "target: for a cubic reaction the continuous target needs a fixed end of the interval; say "
                "target='discrete'"
            )
        X = np.sort(model.points[model.topology.cells][:, :, 0], axis=1)
        whole = sum_up(up((X[:, 1] - X[:, 0]) / model.kappa))
        top = float(up(math.sqrt(whole / (4.0 if fixed == 2 else 1.0))))
        length = sum_up(up(X[:, 1] - X[:, 0]))
        second = min(second, float(up(top * math.sqrt(length))))
        return cls(1, second, float(up(math.sqrt(top * second))), gradient, top)

    def weighted(self, kernel: Kernel) -> float:
        """Upper bound of ‖vΦ‖₂/E."""
        R, kappa, point = kernel.radius, kernel.kappa, kernel.average_radius == 0.0
        if self.d == 3:
            return float(up(self.gradient / (2.0 * PI_DOWN * kappa), 8))
        if self.d == 2:  # ∫ over the ball is πR² ∫ ds
            mean = FOURTH if point else 24.0
            length = math.sqrt(math.sqrt(PI_UP * R * R * mean)) / (4.0 * PI_DOWN * kappa)
            return float(up(self.fourth * length, 16))
        # ∫_0^1 (1 − ρ)⁶(3 + ρ)² dρ = 88/63 < 1.397, ∫_0^1 (1 − ρ)² dρ = 1/3
        largest, square = (3.0 / 16.0, 1.397 / 256.0) if point else (0.5, 1.0 / 12.0)
        one = self.top * R / kappa * math.sqrt(2.0 * R * square)
        return float(up(min(one, self.second * R / kappa * largest), 16))
