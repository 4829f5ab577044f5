"""Is a prediction good enough? Proved, disproved, or undecided: from an interval that holds the truth.

An interval [l, u] that holds the true value t, a prediction p and the largest error a that may be accepted give

- *within*: |p − t| ≤ a is proved. [l, u] ⊂ [p − a, p + a], that is p − l ≤ a and u − p ≤ a, so it holds for every t in
  [l, u].
- *beyond*: |p − t| > a is proved. [l, u] ∩ [p − a, p + a] = ∅, that is l − p > a or p − u > a, so it holds for every t
  in [l, u].
- *undecided*: neither. [l, u] has points of both kinds, or nothing was proved: an estimate, or an unbounded interval.

*Guarantee.* The comparisons of real numbers are decided exactly (`_exceeds`), so that a verdict holds as surely as the
interval does: by proof, or with its confidence. *Assumes* binary64 that rounds to nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector, amounts, vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import two_sum

WITHIN, BEYOND, UNDECIDED = ("within", "beyond", "undecided")
NEGATIVE = (BEYOND,)
"""Verdicts by which something was proved to be wrong."""
NONE = np.inf
"""The limit of a query that has none."""


def accept_limits(given: Any, count: int, name: str = "accept") -> Vector | None:
    """Limits as a vector over queries, from one number or one per query; infinite, or None, where nothing is asked.

    None where nothing is asked at all.
    """
    if given is None:
        return None
    if isinstance(given, list | tuple):
        given = [NONE if a is None else a for a in given]
    a = amounts(name, given)
    a = np.full(count, float(a)) if a.ndim == 0 else a
    asked = a != NONE
    if a.shape != (count,):
        raise InputError(f"{name}: must be one number or {count}, one per query; got shape {a.shape}")
    vector(name, np.where(asked, a, 1.0), count, sign="positive")
    return a if asked.any() else None


def accepted(prediction: Vector, lower: Vector, upper: Vector, limit: Vector, *, proved: bool) -> NDArray[np.str_]:
    """The verdict on each prediction; arrays broadcast. Without `proved` nothing is decided."""
    sure = np.isfinite(lower) & np.isfinite(upper) & proved
    over, under = _exceeds(prediction, lower, limit), _exceeds(upper, prediction, limit)
    apart = _exceeds(lower, prediction, limit) | _exceeds(prediction, upper, limit)
    return np.where(sure & ~(over | under), WITHIN, np.where(sure & apart, BEYOND, UNDECIDED))


def distances(prediction: Vector, lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """Bounds of |p − t| for all t in [l, u]: max(0, l − p, p − u) rounded down, max(p − l, u − p) rounded up.

    A difference is rounded once, to nearest, so that the neighbours of the computed number enclose the true one.
    """
    with np.errstate(over="ignore"):
        least = np.nextafter(np.maximum(lower - prediction, prediction - upper), -np.inf)
        most = np.nextafter(np.maximum(prediction - lower, upper - prediction), np.inf)
    return np.maximum(least, 0.0), most


def _exceeds(x: Vector, y: Vector, a: Vector) -> NDArray[np.bool_]:
    """Whether x − y > a, exactly, for floats.

    Rounding is monotone and leaves the float a as it is: fl(x − y) > a only where x − y > a, and fl(x − y) < a only
    where x − y < a. In between, fl(x − y) = a, the sign of the rounding error x − y − fl(x − y) decides; `two_sum` has
    it exactly.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        difference, error = two_sum(x, -y)
    return np.asarray((difference > a) | ((difference == a) & (error > 0.0)))
