"""Nonlinear reactions g(u): the error's own reaction β lies between proved bounds, and so does its kernel."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.brackets import Bracketed, Pair, bracketed, everywhere_inside
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.everywhere import range_of, sizes, upper_bound
from pinnpoint.boxes.kernels import Kernel
from pinnpoint.boxes.parts import Seen
from pinnpoint.boxes.points import covered
from pinnpoint.boxes.seams import jumps_of, varied_seam_bound
from pinnpoint.formulas.derivatives import derivative
from pinnpoint.formulas.expressions import Expression
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.formulas import evaluate
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import space

GROWTH = 1e6
TRIES = 12
PIECES = 128


def slope_range(g: Expression, low: float, high: float) -> tuple[float, float]:
    """Proved bounds of g′ on [low, high]."""
    slope = derivative(g)
    if slope is None:
        raise InputError(f"nonlinear: must be a smooth formula in u, without abs, min and max; got '{g.text[:60]}'")
    cuts = np.linspace(low, high, PIECES + 1)
    cuts[0], cuts[-1] = low, high
    S = space(1, 4)
    C = np.zeros((S.size, PIECES))
    C[0], C[1] = 0.5 * (cuts[1:] + cuts[:-1]), 0.5 * np.diff(cuts)
    slack = 4e-16 * (np.abs(cuts).max() + 1.0)
    found = evaluate(slope, [TaylorModel(S, C, np.full(PIECES, slack))])
    below, above = found.bounds
    return float(np.min(below)), float(np.max(above))


def reaction_range(equation: Equation, lift: Lift) -> tuple[float, float, float]:
    """Bounds of the error's reaction β = c + ∫g′(u_θ + σe)dσ, and the bound |e| ≤ M that they rest on."""
    if equation.nonlinear is None or equation.end is None:
        raise InputError("nonlinear: needs a box in time; give end")
    found, (low, high) = sizes(equation, lift), range_of(equation, lift)
    most = upper_bound(equation, found, equation.reaction)
    seams = partial(varied_seam_bound, equation, jumps_of(equation, lift), equation.end)
    for _ in range(TRIES):
        most = 1.25 * most + 1e-12
        if not math.isfinite(most):
            break
        slopes = slope_range(equation.nonlinear, low - most, high + most)
        beta = equation.reaction + slopes[0] - 1e-12 * (abs(equation.reaction) + abs(slopes[0]))
        if -beta * equation.end > math.log(GROWTH):
            raise InputError(
                f"nonlinear: errors may grow by e^(γT) = {math.exp(min(-beta * equation.end, 700.0)):.1e}, above 1e6; "
                "ask for an earlier end, or train the prediction further"
            )
        above = equation.reaction + slopes[1] + 1e-12 * (abs(equation.reaction) + abs(slopes[1]))
        bound = float(up(upper_bound(equation, found, beta) + seams(beta, above)))
        if bound <= most:  # box.md, step 7a
            return beta, above, bound
        most = bound
    raise InputError("nonlinear: no bound of the error closes; ask for an earlier end, or train the prediction further")


def semilinear_errors(
    equation: Equation, lift: Lift, points: Vector, time: float, budget: int | None = None
) -> list[Bracketed]:
    """The prediction's error at points, all at one time."""
    low, high, _ = reaction_range(equation, lift)
    pairs = []
    for part in equation.parts(lift):
        first = covered(equation, part, points, time)
        seen = []
        for beta in (low, high):  # box.md, step 7b
            kernels = [tuple(Kernel(a, float(x)) for a, x in zip(equation.axes, p, strict=True)) for p in points]
            seen.append(tuple(Seen(part, k, time, beta) for k in kernels))
        shares = [[one.shares(first.cells) for one in side] for side in seen]
        inside = (everywhere_inside,) * len(points)
        pairs.append(Pair(part, first.at, seen[0], seen[1], inside, first.cells, shares[0], shares[1]))
    values = [equation.value(lift, p, time)[0] for p in points]
    return bracketed(pairs, values, budget)
