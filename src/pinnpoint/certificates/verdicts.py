"""What was asked of a query, proved, disproved, or undecided: from an interval that holds the truth.

Is a prediction good enough (`accept`)?

An interval [l, u] that holds the true value t, a prediction p and the largest error a that may be accepted give

- *within*: |p − t| ≤ a is proved. [l, u] ⊂ [p − a, p + a], that is p − l ≤ a and u − p ≤ a, so it holds for every t in
  [l, u].
- *beyond*: |p − t| > a is proved. [l, u] ∩ [p − a, p + a] = ∅, that is l − p > a or p − u > a, so it holds for every t
  in [l, u].
- *undecided*: neither. [l, u] has points of both kinds, or nothing was proved: an estimate, or an unbounded interval.

Does the true value keep a limit, above ≤ t ≤ below (`limit`)?

- *holds*: it does, by proof. above ≤ l and u ≤ below, so it holds for every t in [l, u]; the ends belong to the limit.
- *violated*: it does not, by proof. u < above or l > below, so no t in [l, u] keeps it.
- *undecided*: neither, as above. A limit needs no prediction.

*Guarantee.* The comparisons of real numbers are decided exactly (`_exceeds`), so that a verdict holds as surely as the
interval does: by proof, or with its confidence. *Assumes* binary64 that rounds to nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector, amounts, vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import two_sum
from pinnpoint.systems.derived import Derived
from pinnpoint.systems.limits import FORM, Limit, as_limit, is_one

WITHIN, BEYOND, UNDECIDED = ("within", "beyond", "undecided")
HOLDS, VIOLATED = ("holds", "violated")
POSITIVE = (WITHIN, HOLDS)
"""Verdicts by which what was asked is proved."""
NEGATIVE = (BEYOND, VIOLATED)
"""Verdicts by which something was proved to be wrong."""
NONE = np.inf
"""The limit of a query that has none."""


def accept_limits(given: Any, count: int, name: str = "accept") -> Vector | None:
    """Limits as a vector over queries, from one number or one per query; infinite, or None, where nothing is asked.

    None where nothing is asked at all.
    """
    if given is None:
        return None
    if isinstance(given, float | int) and given == NONE:
        raise InputError(f"{name}: must be a finite number above 0; got inf, which accepts anything; leave it out")
    if isinstance(given, list | tuple):
        given = [NONE if a is None else a for a in given]
    a = amounts(name, given)
    a = np.full(count, float(a)) if a.ndim == 0 else a
    asked = a != NONE
    if a.shape != (count,):
        raise InputError(f"{name}: must be one number or {count}, one per query; got shape {a.shape}")
    vector(name, np.where(asked, a, 1.0), count, sign="positive")
    return a if asked.any() else None


def value_limits(
    given: Any, names: Sequence[str], derived: Sequence[Derived] = ()
) -> tuple[Vector | None, tuple[Derived, ...]]:
    """Limits of K queries as an array (K, 2), infinite where nothing is asked, and the derived quantities with theirs.

    One limit is for every query and every derived quantity, but not for the components that the latter are made of.
    One per query leaves derived quantities as they are, unless theirs follow. None: nothing is asked of the queries.
    """
    count, most = len(names), len(names) + len(derived)
    if given is None:
        return None, tuple(derived)
    if is_one(given):
        parts = {name for one in derived for name in one.of}
        common = as_limit("limit", given)
        each = [None if name in parts else common for name in names] + [common] * len(derived)
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) in (count, most):
        each = [as_limit(f"limit[{i}]", one) for i, one in enumerate(given)]
        each += [one.limit for one in derived] if len(each) < most else []
    else:
        also = f", or {most} with those of derived quantities" if derived else ""
        got = f"{len(given)} of them" if isinstance(given, list | tuple | np.ndarray) else repr(given)[:60]
        raise InputError(f"limit: must be {FORM}, or {count} of these, one per query{also}; got {got}")
    own = tuple(replace(one, limit=limit) for one, limit in zip(derived, each[count:], strict=True))
    asked = any(one is not None for one in each[:count])
    return np.array([one or Limit() for one in each[:count]], dtype=float) if asked else None, own


def answers(
    prediction: Vector | None, ends: tuple[Vector, Vector], accept: Vector | None, limit: Vector | None, *, proved: bool
) -> list[dict[str, str]]:
    """The verdicts on each interval, only those that were asked for; rows of intervals follow each other."""
    lower, upper = ends
    columns = list[tuple[str, NDArray[np.str_], NDArray[np.bool_]]]()
    if accept is not None and prediction is not None:
        columns.append(("accept", accepted(prediction, lower, upper, accept, proved=proved), np.isfinite(accept)))
    if limit is not None:
        asked = np.isfinite(limit[..., 0]) | np.isfinite(limit[..., 1])
        columns.append(("limit", kept(lower, upper, limit, proved=proved), asked))
    flat = [(key, words.ravel(), np.broadcast_to(asked, words.shape).ravel()) for key, words, asked in columns]
    return [{key: str(words[i]) for key, words, asked in flat if asked[i]} for i in range(lower.size)]


def kept(lower: Vector, upper: Vector, limit: Vector, *, proved: bool) -> NDArray[np.str_]:
    """The verdict on each limit, (K, 2); the comparisons are of floats, and exact. Without `proved` none is decided."""
    above, below = limit[..., 0], limit[..., 1]
    sure = np.isfinite(lower) & np.isfinite(upper) & proved
    inside, outside = (above <= lower) & (upper <= below), (upper < above) | (below < lower)
    return np.where(sure & inside, HOLDS, np.where(sure & outside, VIOLATED, UNDECIDED))


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
