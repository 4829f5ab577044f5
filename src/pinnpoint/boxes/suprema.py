"""How large data is on a box: proved ranges of its models, on boxes that are cut until bounds and values agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.boxes.parts import Cells, Part, modelled
from pinnpoint.boxes.points import halves
from pinnpoint.taylor.models import TaylorModel

CLOSE = 0.15
ROUNDS = 12
SLOW = 0.9
"""Bounds that shrink by less, three times and oftener in many dimensions, are rounding, which cutting does not help."""
MOST = 1000


def bounds_of(part: Part, cells: Cells) -> tuple[Vector, Vector]:
    """Lower and upper bounds of the data on each box."""
    return TaylorModel(part.space, cells.C, cells.e).bounds


def extremes(
    part: Part,
    low: Vector,
    high: Vector,
    time: float,
    at: Sequence[float | None],
    most: int = MOST,
    meets: Callable[[Vector, Vector], Mask] | None = None,
) -> tuple[float, float]:
    """Proved lower and upper bounds of the data over boxes, in time as s = `time` − t.

    Boxes of which `meets` says that they do not meet the set that is asked about are left out.
    """
    if meets is not None:
        low, high = low[meets(low, high)], high[meets(low, high)]
    cells, before, idle = modelled(part, low, high, time, at), math.inf, 0
    for _ in range(ROUNDS if most <= MOST else 2 * ROUNDS):
        below, above = bounds_of(part, cells)
        now = float(max(np.max(above), -np.min(below)))
        idle, before = (idle + 1 if now > SLOW * before else 0), now
        known = np.isfinite(above) & np.isfinite(below)  # boxes without a bound are cut first
        bottom = float(np.min((cells.C[0] + cells.e)[known], initial=0.0 if not known.any() else math.inf))
        top = float(np.max((cells.C[0] - cells.e)[known], initial=0.0 if not known.any() else -math.inf))
        size = max(abs(bottom), abs(top), 1e-300)
        wide = ~known | (above > top + CLOSE * size) | (below < bottom - CLOSE * size)  # box.md, step 6a
        if not wide.any() or len(cells) >= most or not part.space.d or idle > max(2, 2 * (part.space.d - 3)):
            break
        rows = np.flatnonzero(wide)
        keep = np.flatnonzero(~wide)
        new_low, new_high = halves(cells[rows], part, cells)
        if meets is not None:
            new_low, new_high = new_low[meets(new_low, new_high)], new_high[meets(new_low, new_high)]
        cells = cells[keep].plus(modelled(part, new_low, new_high, time, at))
    below, above = bounds_of(part, cells)
    return float(np.min(below)), float(np.max(above))


def largest(found: tuple[float, float]) -> float:
    """Upper bound of the size."""
    top = max(abs(found[0]), abs(found[1]))
    return math.inf if math.isnan(top) else top
