"""Burgers' equation at points: an error that is small in L¹ and whose slope is bounded from above is small."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.parts import Model
from pinnpoint.boxes.suprema import extremes
from pinnpoint.boxes.waves import part
from pinnpoint.formulas.expressions import Expression
from pinnpoint.formulas.vanishing import TooLongError, number, restricted
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import down, up
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.jets import ZERO, jet_of
from pinnpoint.taylor.models import TaylorModel, constant

PIECES = 16
"""Into which an interval is cut before models are formed."""
WINDOWS = 12
"""Lengths that are tried, each half of the one before."""


def settles(equation: Equation) -> bool:
    """Whether nothing is pushed and both ends are held at zero, so that slopes from below fade."""
    return fixed(equation.source) == (0.0, 0.0) and all(fixed(g) == (0.0, 0.0) for g in equation.given.values())


def steepest(equation: Equation, lift: Lift, time: float) -> float:
    """Upper bound of u_x at a time, everywhere: 1/(t + 1/max u₀′), or 1/t."""
    first = _first(equation, lift)
    late = float(up(1.0 / time, 2))
    if not math.isfinite(first):
        return late
    return min(late, float(up(first / down(1.0 + down(first * time, 2), 2), 2)))  # burgers.md, step 4a


def _first(equation: Equation, lift: Lift) -> float:
    """Upper bound of u₀′ where u₀ fits the ends; else infinity."""
    u0, axis = equation.initial, equation.axes[0]
    if not isinstance(u0, Expression):
        return math.inf

    def slope(X: list[TaylorModel]) -> TaylorModel:
        found = jet_of(u0, X, (0,)).gradient[0]
        return constant(0.0) if found is ZERO else found

    try:
        fits = all(not restricted(u0, [number(Fraction(end))]) for end in (axis.low, axis.high))
        return max(_range(slope, axis.low, axis.high, lift)[1], 0.0) if fits else math.inf
    except (TooLongError, InputError):  # too long to be followed, or without derivatives
        return math.inf


def _range(model: Model, low: float, high: float, lift: Lift) -> tuple[float, float]:
    cuts = np.linspace(low, high, PIECES + 1)[:, None]
    cuts[0], cuts[-1] = low, high
    found = extremes(part("slope", model, 1, lift), cuts[:-1], cuts[1:], 0.0, [None])
    return found if all(map(math.isfinite, found)) else (-math.inf, math.inf)


def off_by(equation: Equation, lift: Lift, slope: Model, at: float, steep: float, norm: float) -> float:
    """Upper bound of |e| at a point: ‖e‖₁ ≤ `norm`, e_x ≤ `steep` − v_x, v_x the `slope` of the prediction."""
    axis = equation.axes[0]
    reach = float(down(min(at - axis.low, axis.high - at), 4))
    best = math.inf
    for k in range(WINDOWS):
        rho = reach * 0.5**k
        low, high = max(axis.low, float(down(at - rho, 2))), min(axis.high, float(up(at + rho, 2)))
        L = float(up(steep - _range(slope, low, high, lift)[0], 2))
        best = min(best, peak(norm, L, rho))
    return best


def peak(norm: float, steep: float, rho: float) -> float:
    """The largest |e(x₀)| of a function with ‖e‖₁ ≤ norm whose slope is at most `steep` within ρ of x₀."""
    if not (math.isfinite(norm) and math.isfinite(steep)):
        return math.inf
    L = max(steep, 0.0)
    beyond = float(up(up(norm / rho, 2) + 0.5 * L * rho, 4))
    within = 2.0 * norm <= float(down(L * rho * rho, 4))
    return float(up(math.sqrt(up(2.0 * L * norm, 2)), 2)) if within else beyond  # burgers.md, step 4b
