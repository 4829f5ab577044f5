"""Numbers of queries that follow from the case's data: values and means of what is held, ∫g through Robin facets.

Part of the proof (docs/checking.md, section 14), with the heights of even densities and ranges of formulas. What a
bundle stores of them is replaced; None says that a formula has no bound here, and then what is stored is declared.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import Ball, Density, Shape, areas, means, mix, up
from pinnpoint_verify.discs import Ranges, Walk
from pinnpoint_verify.enclosures import enclosed, largest, projection
from pinnpoint_verify.intervals import widened
from pinnpoint_verify.networks import Left, coordinates
from pinnpoint_verify.reader import Array, larger, need
from pinnpoint_verify.rows import is_number

Row = dict[str, Any]


def value_at(text: Any, x0: Array) -> Ball | None:
    """Data at a point."""
    if isinstance(text, Left):
        model = text.made(coordinates(x0[None, None, :], 0))
        found = Ball(model.C[0, 0], up(model.e[0]))
    else:
        at = [Ball(np.array([x])) for x in x0.tolist()]
        found = Walk(text, at).value[0]
        found = found if math.isfinite(float(found.r)) else Ranges(text, at).value[0]
    return found if math.isfinite(float(found.m)) and math.isfinite(float(found.r)) else None


def seen(text: Any, X: Array, v: Array) -> float:
    """A lower bound of max |data − v| at points (n, d)."""
    if is_number(text):
        gap = Ball(np.full(len(X), float(text))) - v
    elif isinstance(text, Left):
        model = text.made(coordinates(X[:, None, :], 0))
        gap = Ball(model.C[0], up(model.e)) - v
    else:
        gap = Walk(text, [Ball(x) for x in X.T]).value - v
    low = (np.abs(gap.m) - gap.r) * (1.0 - 1e-15)
    return float(np.max(np.where(low > 0.0, low, 0.0), initial=0.0))


def integral(text: Any, V: Array) -> Ball | None:
    """∫ of data over facets."""
    size = areas(V) if V.shape[1] <= V.shape[2] else Shape(V).vol
    if not len(V):
        return Ball(0.0)
    if is_number(text):
        return size.total() * float(text)
    if isinstance(text, Left):
        m, r = text.mean(V, size)
        found = Ball(m, r) * size.total()
    else:
        beta = projection(text, V)
        rest, rough = enclosed(text, V, beta, 1e-15)
        if rough.any() or not np.all(np.isfinite(beta)):
            return None
        mean = mix("njk,jk->n", Ball(beta), means(V.shape[1] - 1, 2))
        found = (Ball(mean.m, up(mean.r + rest[:, 1])) * size).total()  # checking.md, step 14b
    return found if math.isfinite(float(found.r)) else None


def stays(text: Any, V: Array, low: Array, high: Array) -> bool:
    """Whether data on simplices stay between `widened` ends, one pair (n,) for each."""
    low, high = widened(low, high)
    half = 0.5 * (high - low) * (1.0 - 1e-14)
    if is_number(text):
        return bool(np.all(low <= float(text)) and np.all(float(text) <= high))
    b = np.broadcast_to((0.5 * (low + high))[:, None, None], (len(V), V.shape[1], V.shape[1]))
    inner = half - 4e-16 * np.maximum(np.abs(low), np.abs(high))  # of the middle, which is rounded
    if not np.all(inner > 0.0):
        return False
    if isinstance(text, Left):
        least = float(inner.min())
        return bool(text.top(V, b, least) <= least)
    return bool(largest(text, V, b, inner) <= 1.0)  # checking.md, step 14d


def settled(goal: Row, found: Ball, size: float, words: str) -> None:
    """Put a proved constant in the place of a stored one, which must be about the same."""
    value, error = float(found.m), float(up(found.r))
    fits = abs(goal["constant"] - value) <= goal["error"] + error + 1e-11 * (abs(value) + size)
    need(fits, f"{words} {value!r}")
    goal["constant"], goal["error"] = value, error


def even_height(goal: Row, w: Density, at: Array, count: int, size: Ball, name: str) -> None:
    """1/|G| on the cells or facets of an average: what is stored is off by a share of it, which is counted."""
    full, *rest = w.on(0, count)
    away = np.delete(np.arange(count), at)
    need(not np.any(full[away]) and not np.any(rest), f"{name!r}: not the density of its group")
    share = Ball(full[at]) * size - 1.0
    goal["scale"] = larger(float(goal["scale"]), float(share.top.max(initial=0.0)))  # checking.md, step 14c
    need(goal["scale"] < 1e-6, f"{name!r}: not the density of its group")
