"""Kernels that are known from both sides: 0 ≤ K_low ≤ K ≤ K_high.

For data r the integral ∫rK lies in ½(∫rK_high + ∫rK_low) ± ½∫|r|(K_high − K_low). The spread is summed over boxes:
where r keeps its sign it is the difference of the two integrals, elsewhere sup|r| times that of the masses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.boxes.parts import Cells, Part, Seen, Shares, modelled
from pinnpoint.boxes.points import LEAST, ROUNDS, Covered, Sum, added, halves, worst
from pinnpoint.boxes.suprema import bounds_of
from pinnpoint.rounding.arithmetic import sum_up, up

WORK = 4_000
SHARE = 0.05
"""How much of the spread may be due to boxes on which r changes its sign."""
Inside = Callable[[Cells], Mask]


@dataclass(frozen=True, eq=False)
class Bracketed:
    """An error between two integrals."""

    sum: Sum
    spread: float
    """½∫|r|(K_high − K_low), an upper bound."""

    __repr__ = brief


@dataclass(eq=False)
class Pair:
    """One part with both kernels of each query."""

    part: Part
    at: tuple[float | None, ...]
    high: tuple[Seen, ...]
    low: tuple[Seen, ...]
    inside: tuple[Inside, ...]
    """On which boxes the lower kernel is not zero."""
    cells: Cells
    highs: list[Shares]
    lows: list[Shares]

    def split(self, chosen: Index) -> int:
        """Cut boxes in two; how many are new."""
        keep = np.setdiff1d(np.arange(len(self.cells)), chosen)
        low, high = halves(self.cells[chosen], self.part, self.cells)
        new = modelled(self.part, low, high, self.high[0].time, self.at)
        self.cells = self.cells[keep].plus(new)
        for i, (above, below, inside) in enumerate(zip(self.high, self.low, self.inside, strict=True)):
            self.highs[i] = joined(self.highs[i], keep, above.shares(new))
            self.lows[i] = joined(self.lows[i], keep, seen_inside(below, new, inside))
        return len(new)

    def spreads(self, i: int) -> tuple[Vector, Vector]:
        """For each box ∫|r|(K_high − K_low), an upper bound, and how much of it is due to a change of sign."""
        above, below = self.highs[i], self.lows[i]
        least, most = bounds_of(self.part, self.cells)
        top = np.maximum(np.abs(least), np.abs(most))
        mass = np.maximum(above.mass - below.mass + 2.0 * below.defect, 0.0) * (1.0 + 1e-12) + 1e-300
        size = np.abs(self.cells.C).sum(axis=0) * (1.0 + 1e-12)
        with np.errstate(invalid="ignore"):
            whole = np.where(np.isfinite(top), top * mass, np.inf)
            between = np.abs(above.value - below.value) + size * (above.defect + below.defect) + self.cells.e * mass
            signed = np.where((least >= 0.0) | (most <= 0.0), np.minimum(between, whole), whole)  # box.md, step 7c
        loss = np.maximum(signed - np.abs(above.value - below.value), 0.0)
        return np.asarray(up(signed, 16)), np.where(np.isnan(loss), np.inf, loss)

    def sums(self, i: int) -> tuple[Sum, Sum]:
        """Both integrals."""
        found = []
        for seen, shares, inside in ((self.high[i], self.highs[i], None), (self.low[i], self.lows[i], self.inside[i])):
            rows = np.arange(len(self.cells)) if inside is None else np.flatnonzero(inside(self.cells))
            share = Shares(shares.value[rows], shares.mass[rows], shares.defect[rows])
            if not len(rows):
                found.append(Sum(0.0, 0.0, 0.0, 0.0, 0.0))
                continue
            found.append(Covered((seen,), self.at, self.cells[rows], [share]).sums(0, 0.0))
        return found[0], found[1]


def everywhere_inside(cells: Cells) -> Mask:
    """Both kernels live on all boxes."""
    return np.ones(len(cells), dtype=bool)


def seen_inside(seen: Seen, cells: Cells, inside: Inside) -> Shares:
    """The shares of a kernel that is zero elsewhere."""
    rows = np.flatnonzero(inside(cells))
    value, mass, defect = (np.zeros(len(cells)) for _ in range(3))
    if len(rows):
        found = seen.shares(cells[rows])
        value[rows], mass[rows], defect[rows] = found.value, found.mass, found.defect
    return Shares(value, mass, defect)


def joined(old: Shares, keep: Index, new: Shares) -> Shares:
    """Those that are kept, and the new ones."""
    pairs = ((old.value, new.value), (old.mass, new.mass), (old.defect, new.defect))
    value, mass, defect = (np.concatenate([a[keep], b]) for a, b in pairs)
    return Shares(value, mass, defect)


def bracketed(pairs: Sequence[Pair], values: Sequence[float], budget: int | None = None) -> list[Bracketed]:
    """The errors of all queries, once boxes are cut until the spread is what it must be."""
    count, most = len(values), WORK if budget is None else budget
    work = sum(len(pair.cells) for pair in pairs)
    for _ in range(ROUNDS):
        spreads = [[pair.spreads(i) for i in range(count)] for pair in pairs]
        total = np.array([sum(float(np.sum(rows[i][0])) for rows in spreads) for i in range(count)])
        goal = SHARE * total + LEAST * np.abs(values) + 1e-300
        left = []
        for pair, rows in zip(pairs, spreads, strict=True):
            open_ = [pair.cells.e * pair.highs[i].mass + rows[i][1] for i in range(count)]
            with np.errstate(invalid="ignore"):
                share = np.stack([np.where(np.isnan(o / g), np.inf, o / g) for o, g in zip(open_, goal, strict=True)])
            left.append(np.max(share, axis=0))
        chosen = worst(left)
        if chosen is None or work >= most:
            break
        for pair, rows_chosen in zip(pairs, chosen, strict=True):
            if len(rows_chosen):
                work += pair.split(rows_chosen[: max(most - work, 1)])
    return [_result(pairs, i) for i in range(count)]


def _result(pairs: Sequence[Pair], i: int) -> Bracketed:
    both = [pair.sums(i) for pair in pairs]
    total = added([s for two in both for s in two])
    spread = 0.5 * sum_up(np.array([sum_up(pair.spreads(i)[0]) for pair in pairs]))  # box.md, step 7c
    half = Sum(0.5 * total.value, *(0.5 * x for x in (total.remainder, total.quadrature, total.tail, total.rounding)))
    return Bracketed(half, float(up(spread)) if math.isfinite(spread) else math.inf)
