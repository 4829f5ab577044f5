"""The stationary equation: the same integral over all times, cut off where the kernel has decayed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pinnpoint.base.arrays import Vector
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.kernels import Axis
from pinnpoint.boxes.parts import Part
from pinnpoint.boxes.points import SHARE, Sum, covered, refined
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import up

FOLDS = 36.0
"""Time constants after which the integral is cut off: e⁻³⁶ = 2e-16."""


def decay(axes: Sequence[Axis], reaction: float) -> float:
    """Lower bound of the rate at which kernels decay."""
    return (reaction + sum(axis.decay for axis in axes)) * (1.0 - 1e-12)


def lifetime(axes: Sequence[Axis], reaction: float) -> float:
    """The time after which the integral is cut off."""
    return FOLDS / decay(axes, reaction)


def stationary_errors(
    equation: Equation, lift: Lift, points: Vector, budget: int | None = None, share: float = SHARE
) -> list[Sum]:
    """The prediction's error at points, u = ∫₀^∞ of what it leaves against the kernels."""
    rate = decay(equation.axes, equation.reaction)
    span = lifetime(equation.axes, equation.reaction)
    folds = math.prod(4.0 / 3.14159 * axis.tilt for axis in equation.axes if "dirichlet" in axis.ends)
    left = float(up(folds * math.exp(-rate * span * (1.0 - 1e-12)) * (1.0 + 1e-9)))

    def late(part: Part) -> float:
        if part.face is None:
            return float(up(left / rate))  # box.md, step 4e
        axis = equation.axes[part.face[0]]
        if axis.ends[int(part.face[1])] == "dirichlet":
            return left  # box.md, step 4e
        crowd = 2.0 / (axis.high - axis.low) + math.sqrt(rate / (3.0 * axis.kappa))
        return float(up(2.72 * left * crowd * (1.0 + 1e-9) / rate))  # box.md, step 4e

    values = [equation.value(lift, p, 0.0) for p in points]
    parts = [covered(equation, part, points, span) for part in equation.parts(lift)]
    return refined(parts, values, budget, late, share)
