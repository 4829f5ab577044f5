"""The integral over time: s = v², panels of v, and what their Gauss rules may be off by.

The kernels are analytic in v while |arg v| < π/4, so that the integrand 2v e^{−cv²} τ^a Π_i M_i(v) has a bound on an
ellipse around each panel [v_a, v_b], v_b ≤ 2v_a; below the first panel it is bounded by the kernels' masses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.boxes.kernels import Kernel
from pinnpoint.boxes.rules import ELLIPSES, IN_TIME, axes, gauss
from pinnpoint.rounding.arithmetic import UNIT, up

HALVINGS = 18
"""Panels below √s_b, where the integral begins at s = 0: what is left is 2⁻³⁶ of the interval."""
CLOSE = 1e-15
"""Share of the panel's own mass that its rule may be off by; else it is cut in two."""


@dataclass(frozen=True, eq=False)
class Face:
    """A face on which data is integrated: the kernel of its axis, and at which end."""

    kernel: Kernel
    upper: bool

    __repr__ = brief

    @property
    def distance(self) -> float:
        """Of the point from the face, rounded down."""
        a = self.kernel.axis
        gap = a.high - self.kernel.x0 if self.upper else self.kernel.x0 - a.low
        return max(gap * (1.0 - 4.0 * UNIT), 0.0)


@dataclass(frozen=True, eq=False)
class TimeRule:
    """Nodes and weights for ∫ 2v e^{−cv²} (…) dv over an interval of s, the face's weight among them."""

    v: Vector
    weights: Vector
    blur: Vector
    """What each weight may be off by, beyond rounding: the error of a face's kernel."""
    quadrature: Vector
    """(q + 1,): what the integral against a polynomial with coefficient sum one in τ^a may be off by."""
    skipped: float
    """Upper bound of the mass that is left out next to s = 0, and at the ends of the interval."""

    __repr__ = brief


def instant(s: float, reaction: float, kernels: Sequence[Kernel]) -> TimeRule:
    """Nothing to integrate: the one time s, with the weight e^{−cs}; √s is rounded."""
    weight = math.exp(-reaction * s)
    off = abs(weight) * UNIT * (64.0 + 8.0 * abs(reaction) * s)
    v = math.sqrt(s)
    theta = min(0.126, *(math.sqrt(k.axis.kappa) / (abs(k.axis.drift) * v) for k in kernels if k.axis.drift), 1.0)
    near = math.prod(k.mass(theta, (1.0 + theta) * v, (1.0 - theta) * v) for k in kernels)
    blurred = 4.0 * UNIT / theta * weight * near  # box.md, step 4a
    return TimeRule(np.array([v]), np.array([weight]), np.array([off]), np.array([blurred]), 0.0)


def time_rule(
    low: float, high: float, reaction: float, kernels: Sequence[Kernel], face: Face | None, q: int
) -> TimeRule:
    """The rule of an interval of s.

    Parameters
    ----------
    low, high
        0 ≤ low < high.
    reaction
        c.
    kernels
        Of the axes that are integrated over.
    face
        Where data on a face is integrated.
    q
        The largest power of τ = (2s − low − high)/(high − low).
    """
    rule = gauss(IN_TIME)
    a, b = math.sqrt(low), math.sqrt(high)
    start = a if low > 0.0 else _start(b, face)
    nodes, weights, errors = [], [], np.zeros(q + 1)
    for left, right in panels(start, b):
        pending = [(left, right)]
        while pending:
            one = pending.pop()
            bound, close = _panel_error(one, (low, high), reaction, kernels, face, q)
            if not close and one[1] > 1.0005 * one[0]:
                middle = 0.5 * (one[0] + one[1])
                pending += [(one[0], middle), (middle, one[1])]
                continue
            half = 0.5 * (one[1] - one[0])
            nodes.append(0.5 * (one[0] + one[1]) + half * rule.nodes)
            weights.append(half * rule.weights)
            errors = errors + bound
    v = np.concatenate(nodes)
    w = np.concatenate(weights) * 2.0 * v * np.exp(-reaction * v * v)
    off = np.abs(w) * UNIT * (64.0 + 8.0 * abs(reaction) * v * v + 8.0 * b / np.maximum(v - 0.5 * start, 1e-300))
    if face is not None:
        weight, error = face.kernel.face(face.upper, v)
        off = off * (np.abs(weight) + error) + np.abs(w) * error
        w = w * weight
    return TimeRule(v, w, np.asarray(up(off, 8)), np.asarray(up(errors, 8)), _skipped(low, high, start, reaction, face))


def panels(start: float, end: float) -> list[tuple[float, float]]:
    """Panels whose ends differ by at most a factor of two."""
    count = max(1, math.ceil(math.log2(end / start) - 1e-9))
    cuts = [end * (start / end) ** (k / count) for k in range(count, -1, -1)]
    cuts[0], cuts[-1] = start, end
    return list(pairwise(cuts))


def _start(end: float, face: Face | None) -> float:
    """Where panels begin; a face at a distance is not felt for a while."""
    if face is None:
        return end * 2.0**-HALVINGS
    felt = face.distance / (2.0 * math.sqrt(62.0 * face.kernel.axis.kappa))
    return min(max(felt, end * 2.0**-40), 0.5 * end)


def _skipped(low: float, high: float, start: float, reaction: float, face: Face | None) -> float:
    """Upper bound of ∫ ds of the mass below the first panel and of what rounding moves across the ends."""
    growth = math.exp(max(-reaction, 0.0) * high) * (1.0 + 1e-12)
    first = start**2 if low == 0.0 else 0.0
    if face is None:
        return float(up((first + 8.0 * UNIT * high) * growth))  # box.md, step 4d
    a, width = face.kernel.axis, 2.0 * math.sqrt(face.kernel.axis.kappa) * start
    far = (face.distance / width) * (1.0 - 1e-12)
    passed = a.tilt * math.exp(-(far**2)) * (1.0 + 1e-9) if low == 0.0 else 0.0
    if a.ends[int(face.upper)] == "neumann":
        passed *= 4.0 * start / math.sqrt(a.kappa) * (1.0 + start * math.sqrt(a.kappa) / (a.high - a.low))
    ends = 16.0 * UNIT * high * face.kernel.face_bound(face.upper, start, 1.0 / (high * (1.0 + 1e-12)))
    return float(up((passed + ends) * growth)) + 1e-290  # box.md, step 4d


def _panel_error(
    panel: tuple[float, float],
    interval: tuple[float, float],
    reaction: float,
    kernels: Sequence[Kernel],
    face: Face | None,
    q: int,
) -> tuple[Vector, bool]:
    """What the rule of a panel may be off by for each power of τ, from the best ellipse; and whether that is little."""
    rule = gauss(IN_TIME)
    centre, half = 0.5 * (panel[0] + panel[1]), 0.5 * (panel[1] - panel[0]) * (1.0 + 8.0 * UNIT)
    middle, spread = 0.5 * (interval[0] + interval[1]), 0.5 * (interval[1] - interval[0]) * (1.0 - 8.0 * UNIT)
    best, real, a = np.full(q + 1, np.inf), math.inf, np.arange(q + 1)
    moved, top = math.inf, np.ones(q + 1)  # of the slope: nodes are rounded
    for rho in ELLIPSES:
        long, short = (half * x for x in axes(rho))
        if long >= 0.99 * centre:
            break
        theta = math.atan2(short, math.sqrt(centre**2 - long**2)) * (1.0 + 1e-12)
        if theta >= 0.98 * math.pi / 4.0:
            break
        size, least = (centre + long) * (1.0 + 1e-12), (centre - long) * (1.0 - 1e-12)
        growth = math.exp(min(max(-reaction, 0.0) * size**2, 700.0)) * (1.0 + 1e-12)
        bound = 2.0 * size * growth * math.prod(k.mass(theta, size, least) for k in kernels)  # box.md, step 4b
        if face is not None:
            bound *= face.kernel.face_bound(face.upper, least, math.cos(2.0 * theta) / size**2)  # box.md, step 4c
        tau = (abs(centre**2 - middle) + 2.0 * centre * long + long**2) / spread * (1.0 + 1e-12)
        real = min(real, bound)
        moved, top = min((moved, top), (bound / (long / half - 1.0), np.maximum(tau, 1.0) ** a), key=lambda m: m[0])
        best = np.minimum(best, half * rule.analytic(bound, rho) * np.maximum(tau, 1.0) ** a)  # box.md, step 4a
    own = half * rule.own * real + 8.0 * UNIT * panel[1] * moved * top  # box.md, step 4a
    return best + own, bool(best[q] <= CLOSE * half * real + 1e-30) and math.isfinite(real)
