"""The largest error over a box and all times: from the sizes of what a prediction leaves, by the maximum principle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.kernels import Axis
from pinnpoint.boxes.parts import Part
from pinnpoint.boxes.suprema import extremes, largest
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import up
from pinnpoint.taylor.models import TaylorModel

SLABS = 8
"""Intervals of time with a supremum of the residual each."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """Upper bounds of what a prediction leaves."""

    residual: Vector
    """On intervals of equal length in time, first to last; one number for a stationary equation."""
    initial: float
    faces: tuple[tuple[Axis, bool, float], ...]
    """Of each face: its axis, whether it is a Dirichlet face, and the size of its data."""

    __repr__ = brief


def grid(part: Part, equation: Equation, span: tuple[float, float] | None) -> tuple[Vector, Vector]:
    """The first boxes of a part, two an axis; in time over one interval of s."""
    sides = [(equation.axes[i].low, equation.axes[i].high) for i in part.axes]
    cuts = [(a, 0.5 * (a + b), b) for a, b in [*sides, *([span] if part.timed and span else [])]]
    if not cuts:
        return np.zeros((1, 0)), np.zeros((1, 0))
    ends = [[c[:2] for c in cuts], [c[1:] for c in cuts]]
    low, high = (np.stack(np.meshgrid(*e, indexing="ij"), -1).reshape(-1, len(cuts)) for e in ends)
    return low, high


def sizes(equation: Equation, lift: Lift) -> Sizes:
    """How large the residual, the initial and the boundary mismatch are."""
    end, residual, initial, faces = equation.end, [], 0.0, []
    for part in equation.parts(lift):
        at: list[float | None] = [None] * equation.d
        if part.face is not None:
            axis, upper = part.face
            at[axis] = equation.axes[axis].high if upper else equation.axes[axis].low
            top = largest(extremes(part, *grid(part, equation, (0.0, end or 0.0)), end or 0.0, at))
            faces.append((equation.axes[axis], equation.axes[axis].ends[int(upper)] == "dirichlet", top))
        elif part.when == "time" and end is not None:
            cuts = [end * (SLABS - k) / SLABS for k in range(SLABS + 1)]
            for k in range(SLABS):  # first to last in t is last to first in s
                residual.append(largest(extremes(part, *grid(part, equation, (cuts[k + 1], cuts[k])), end, at)))
        else:
            top = largest(extremes(part, *grid(part, equation, None), 0.0, at))
            initial, residual = (top, residual) if part.when == "start" else (initial, [top])
    return Sizes(np.array(residual), initial, tuple(faces))


def upper_bound(equation: Equation, found: Sizes, reaction: float) -> float:
    """Upper bound of max |e| for a zero-order coefficient that is nowhere below `reaction`."""
    if equation.end is None:
        return _stationary(equation, found, reaction)
    step = equation.end / len(found.residual) * (1.0 + 1e-12)
    growth = math.exp(max(-reaction, 0.0) * equation.end) * (1.0 + 1e-9)
    now = most = found.initial
    for size in found.residual:
        share = step if reaction == 0.0 else -math.expm1(-reaction * step) / reaction
        now = float(up(now * math.exp(-reaction * step) + size * share)) * (1.0 + 1e-12)  # box.md, step 6b
        most = max(most, now)
    if reaction >= 0.0:
        most = min(most, float(up(found.initial + found.residual.max() * _torsion(equation))))  # box.md, step 6c
    most = float(up(most + _largest_dirichlet(found) * growth))  # box.md, step 6d
    for axis, dirichlet, size in found.faces:
        if not dirichlet:
            weight = 2.0 * math.sqrt(equation.end / (3.1415 * axis.kappa)) + equation.end / (axis.high - axis.low)
            most = float(up(most + size * weight * growth)) * (1.0 + 1e-12)  # box.md, step 6d
    return most


def _largest_dirichlet(found: Sizes) -> float:
    """Upper bound of what Dirichlet data are off by on all faces."""
    return max((size for _, dirichlet, size in found.faces if dirichlet), default=0.0)


def _torsion(equation: Equation) -> float:
    """Upper bound of the time that a path stays in the box: L²/8κ between Dirichlet ends, L²/2κ with one, L/|β|."""
    times = [math.inf]
    for axis in equation.axes:
        ends = axis.ends.count("dirichlet")
        if ends and not axis.drift:
            times.append(axis.length**2 / ((8.0 if ends == 2 else 2.0) * axis.kappa) * (1.0 + 1e-12))
        elif ends:
            times.append(axis.length / abs(axis.drift) * (1.0 + 1e-12))  # box.md, step 6c
    return min(times)


def _stationary(equation: Equation, found: Sizes, reaction: float) -> float:
    if reaction < 0.0:
        raise InputError("reaction: of a stationary box must be ≥ 0 where the largest error is asked for")
    stay = min(_torsion(equation), 1.0 / reaction if reaction else math.inf)
    most = float(up(found.residual.max() * stay)) if found.residual.max() else 0.0  # box.md, step 6c
    most = float(up(most + _largest_dirichlet(found)))  # box.md, step 6d
    for axis, dirichlet, size in found.faces:
        if dirichlet or not size:
            continue
        weight = math.inf
        if "dirichlet" in axis.ends:
            weight = axis.length / axis.kappa
        elif reaction:
            weight = 1.0 / math.sqrt(axis.kappa * reaction) + 1.0 / ((axis.high - axis.low) * reaction)
        most = float(up(most + size * weight)) * (1.0 + 1e-12)  # box.md, step 6d
    return most


def range_of(equation: Equation, lift: Lift) -> tuple[float, float]:
    """Proved bounds of the prediction itself."""
    part = Part("value", partial(_value, equation, lift), tuple(range(equation.d)), None, "time", 1024)
    end = equation.end or 0.0
    return extremes(part, *grid(part, equation, (0.0, end)), end, [None] * equation.d)


def _value(equation: Equation, lift: Lift, X: list[TaylorModel]) -> TaylorModel:
    return lift.jet(X[: len(equation.variables)], ()).value
