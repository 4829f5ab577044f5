"""Norms of a smooth field's own residual on an interval, enclosed by Taylor models."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, norm_up, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.taylor.inputs import Data, enclosed
from pinnpoint.taylor.simplices import density, enclose

CELLS = 16
"""Cells for each of the window and the parts beside it; refined where models need it."""
SHARP = 1e-3
"""Remainders above this share of the residual's mean size are refined."""


@dataclass(frozen=True)
class IntervalResidual:
    """Upper bounds of ‖F‖ for F = −κu″ + c u − f in L² of (a, b), of the window and of the rest, and at the ends."""

    whole: float
    local: float
    tail: float
    left: float
    right: float


def interval_residual(
    field: Any,
    source: Data,
    ends: tuple[float, float],
    kappa: float,
    reaction: float,
    window: tuple[float, float],
    boundary: tuple[Any, Any],
) -> IntervalResidual:
    """Bounds for a field u, twice differentiable on [a, b], and g_a, g_b given at the ends.

    On each cell F is a quadratic plus h orthogonal to it plus ε, so ‖F‖² ≤ |K| ((rms² + high²)^½ + error2)².

    Parameters
    ----------
    field
        u: a `Lift`, or what it takes: a formula, a number, a network.
    source, boundary
        f, g_a and g_b: numbers or formulas.
    """
    u = field if isinstance(field, Lift) else Lift(field)
    r = u.residual(source, kappa, reaction)
    if not enclosed(r):
        raise InputError("source: must be a number or a formula, so that the residual's norm can be bounded")
    marks = np.unique([ends[0], *window, ends[1]])
    t = np.unique(np.concatenate([np.linspace(a, b, CELLS + 1) for a, b in pairwise(marks)]))
    V = np.stack([t[:-1], t[1:]], axis=1)[:, :, None]
    sizes = _sizes(density(r, V), t)
    size = norm_up(sizes)
    if 0.0 < size < np.inf:
        limit = SHARP * size / float(np.sqrt(t[-1] - t[0]))
        sizes = np.minimum(sizes, _sizes(density(r, V, tolerance=limit), t))
    inside = (t[:-1] >= window[0]) & (t[1:] <= window[1])
    left, right = (_at(u, x, g) for x, g in zip(ends, boundary, strict=True))
    return IntervalResidual(norm_up(sizes), norm_up(sizes[inside]), norm_up(sizes[~inside]), left, right)


def _sizes(F: Density, t: Vector) -> Vector:
    """Upper bounds of ‖F‖ in L² of each cell."""
    beta = F.coefficients
    with np.errstate(all="ignore"):
        square = np.maximum(np.einsum("ni,ij,nj->n", beta, gram(1), beta), 0.0)
        square += gamma(20) * np.abs(beta).max(axis=1) ** 2 + F.high**2
        found = up((np.sqrt(up(square)) + F.error2) * np.sqrt(up(np.diff(t))), 8)
    return np.where(np.isnan(found), np.inf, found)


def _at(u: Lift, x: float, given: Data) -> float:
    """Upper bound of |u(x) − g|."""
    value, error = enclose(u.minus(given), np.array([[x]]))
    return at_most(float((abs(value[0]) + error[0]) * (1.0 + 4.0 * UNIT)))
