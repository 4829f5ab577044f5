"""Periodic axes: what a prediction that is not quite periodic leaves at the seam where both ends meet."""

from __future__ import annotations

import math
from functools import partial

from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.everywhere import grid
from pinnpoint.boxes.parts import Part
from pinnpoint.boxes.suprema import extremes, largest
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.jets import ZERO
from pinnpoint.taylor.models import TaylorModel, constant

FEW = 100
"""Boxes on which jumps are bounded; most predictions have none but rounding."""
Jumps = dict[int, tuple[float, float]]
"""Of periodic axes: upper bounds of the jumps of the prediction and of its slope."""


def jumps_of(equation: Equation, lift: Lift) -> Jumps:
    """What the prediction and its slope jump by across periodic ends."""
    which = [k for k, axis in enumerate(equation.axes) if axis.periodic]
    return {k: (largest(_seen(equation, lift, k, False)), largest(_seen(equation, lift, k, True))) for k in which}


def seam_bound(equation: Equation, jumps: Jumps, span: float, reaction: float | None = None) -> float:
    """Upper bound, for all points at once, of what jumps across periodic ends do to the error.

    Parameters
    ----------
    jumps
        Of `jumps_of`.
    span
        The time that errors have had.
    reaction
        A number that the zero-order coefficient is nowhere below; c by default.
    """
    total, c = 0.0, equation.reaction if reaction is None else reaction
    growth = math.exp(max(-c, 0.0) * span) * (1.0 + 1e-9)
    for k, (jump, bend) in jumps.items():
        axis = equation.axes[k]
        L = (axis.high - axis.low) * (1.0 - 1e-12)
        spread = 1.13 * math.sqrt(axis.kappa * span) / L
        held = 0.565 * math.sqrt(span / axis.kappa) + span / L  # box.md, step 2f
        passed = 1.0 + spread  # box.md, step 2f
        if axis.drift:
            passages = 3.0 + abs(axis.drift) * span / L + 2.0 * spread
            held = min(held, passages / abs(axis.drift))  # box.md, step 2g
            passed = 0.5 * (passages + abs(axis.drift) * held)  # box.md, step 2g
        part = (axis.kappa * bend + abs(axis.drift) * jump) * held + (jump * passed if jump else 0.0)
        total += part * growth * (1.0 + 1e-9)
    if total == 0.0:
        return 0.0
    return float(up(total * (1.01 if equation.end is None else 1.0)))  # box.md, step 2h


def varied_seam_bound(equation: Equation, jumps: Jumps, span: float, low: float, high: float) -> float:
    """The same for all points at once, where the reaction is a function between two numbers."""
    plain = seam_bound(equation, jumps, span, 0.0)
    if plain == 0.0:
        return 0.0
    mass = math.exp(max(-low, 0.0) * span) * (1.0 + 1e-9)
    return float(up(plain * (1.0 + max(abs(low), abs(high)) * span * mass) * (1.0 + 1e-9)))  # box.md, step 7d


def _seen(equation: Equation, lift: Lift, k: int, slope: bool) -> tuple[float, float]:
    """Bounds of u_θ, or of its slope, at the upper end less that at the lower end."""
    rest = tuple(i for i in range(equation.d) if i != k)
    when = "start" if equation.end is None else "time"
    part = Part("seam", partial(_jump, equation, lift, k, slope), rest, None, when, 1024)
    end = equation.end or 0.0
    at = [equation.axes[k].low if i == k else None for i in range(equation.d)]
    return extremes(part, *grid(part, equation, (0.0, end)), end, at, FEW)


def _jump(equation: Equation, lift: Lift, k: int, slope: bool, X: list[TaylorModel]) -> TaylorModel:
    own, found = X[: len(equation.variables)], []
    for end in (equation.axes[k].low, equation.axes[k].high):
        place = [constant(end) if i == k else x for i, x in enumerate(own)]
        jet = lift.jet(place, (k,) if slope else ())
        found.append(jet.gradient[0] if slope else jet.value)
    if found[0] is ZERO and found[1] is ZERO:
        return constant(0.0)
    return found[1] - found[0]
