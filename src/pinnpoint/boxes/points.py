"""The value at a point: parts summed, and boxes cut until what their models leave is small against the error itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.kernels import Kernel
from pinnpoint.boxes.parts import Cells, Part, Seen, Shares, modelled
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import UNIT, sum_up, up

SHARE = 1e-4
"""How wide the interval may be against the error that it holds."""
LEAST = 2e-13
"""And against the value."""
WORK = 60_000
"""Boxes that models are formed on, for one time."""
ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Sum:
    """The error at a point as it is known: the integral, and what it may be off by."""

    value: float
    remainder: float
    """Of the data's models."""
    quadrature: float
    """Of the rules in time."""
    tail: float
    """Left out next to s = 0, or after the last time of a stationary equation."""
    rounding: float
    """Of the kernel's moments and of sums."""

    __repr__ = brief

    @property
    def radius(self) -> float:
        """Upper bound of the distance from the truth."""
        return float(up(self.remainder + self.quadrature + self.tail + self.rounding, 8))


class Cuttable(Protocol):
    """An integral over boxes that can be cut."""

    cells: Cells

    @property
    def part(self) -> Part:
        """What is integrated."""

    @property
    def open(self) -> Vector:
        """What the model of each box leaves of each query, (queries, boxes)."""

    def split(self, chosen: Index) -> int:
        """Cut boxes in two; how many are new."""

    def sums(self, i: int, tail: float) -> Sum:
        """What the integral contributes to a query."""


@dataclass(eq=False)
class Covered:
    """One part on its boxes, as queries of one time see it."""

    seen: tuple[Seen, ...]
    at: tuple[float | None, ...]
    cells: Cells
    shares: list[Shares]

    @property
    def part(self) -> Part:
        """What is integrated."""
        return self.seen[0].part

    @property
    def open(self) -> Vector:
        """What the model of each box leaves of each query, (queries, boxes)."""
        with np.errstate(invalid="ignore"):
            left = np.stack([self.cells.e * share.mass for share in self.shares])
        return np.where(np.isnan(left), np.inf, left)

    def split(self, chosen: Index) -> int:
        """Cut boxes in two, each along the axis in which its model converges worst; how many are new."""
        keep = np.setdiff1d(np.arange(len(self.cells)), chosen)
        low, high = halves(self.cells[chosen], self.part, self.cells)
        new = modelled(self.part, low, high, self.seen[0].time, self.at)
        self.cells = self.cells[keep].plus(new)
        for i, one in enumerate(self.seen):
            old, add = self.shares[i], one.shares(new)
            pairs = ((old.value, add.value), (old.mass, add.mass), (old.defect, add.defect))
            value, mass, defect = (np.concatenate([a[keep], b]) for a, b in pairs)
            self.shares[i] = Shares(value, mass, defect)
        return len(new)

    def sums(self, i: int, tail: float) -> Sum:
        """What the part contributes to a query."""
        share, cells = self.shares[i], self.cells
        quadrature, skipped = self.seen[i].whole(cells)
        size = np.abs(cells.C).sum(axis=0) * (1.0 + 1e-12)
        late = tail * float(np.max(size + cells.e, initial=0.0))
        value = math.fsum(share.value)
        return Sum(
            value,
            sum_up(cells.e * share.mass) if np.isfinite(cells.e).all() else math.inf,  # box.md, step 5b
            float(up(quadrature)),
            float(up(skipped + late)),
            float(up(sum_up(size * share.defect) + 4.0 * UNIT * abs(value))),  # box.md, step 5c
        )


def halves(cells: Cells, part: Part, whole: Cells) -> tuple[Vector, Vector]:
    """The two halves of each box."""
    S, n = part.space, len(cells)
    high_degree = S.degree >= S.q - 1
    scores = np.einsum("ad,an->nd", S.powers[high_degree].astype(float), np.abs(cells.C[high_degree]))
    extent = (whole.high.max(axis=0) - whole.low.min(axis=0)) if len(whole) else 1.0
    sizes = (cells.high - cells.low) / extent
    lost = ~np.isfinite(cells.e) | (scores.sum(axis=1) == 0.0)
    scores[lost] = sizes[lost]
    scores[sizes < 2.0**-30] = -1.0
    axis, rows = np.argmax(scores, axis=1), np.arange(n)
    middle = 0.5 * (cells.low[rows, axis] + cells.high[rows, axis])
    first_high, second_low = cells.high.copy(), cells.low.copy()
    first_high[rows, axis] = second_low[rows, axis] = middle
    return np.concatenate([cells.low, second_low]), np.concatenate([first_high, cells.high])


def covered(equation: Equation, part: Part, points: Vector, time: float) -> Covered:
    """A part on its first boxes, two an axis."""
    seen = tuple(
        Seen(part, tuple(Kernel(a, float(x)) for a, x in zip(equation.axes, p, strict=True)), time, equation.reaction)
        for p in points
    )
    timed = part.timed
    sides = [(equation.axes[i].low, equation.axes[i].high) for i in part.axes]
    cuts = [(a, 0.5 * (a + b), b) for a, b in [*sides, *([(0.0, time)] if timed else [])]]
    low = np.stack(np.meshgrid(*[c[:2] for c in cuts], indexing="ij"), -1).reshape(-1, len(cuts)) if cuts else None
    high = np.stack(np.meshgrid(*[c[1:] for c in cuts], indexing="ij"), -1).reshape(-1, len(cuts)) if cuts else None
    at: list[float | None] = [None] * equation.d
    if part.face is not None:
        axis, upper = part.face
        at[axis] = equation.axes[axis].high if upper else equation.axes[axis].low
    low = np.zeros((1, 0)) if low is None else low
    high = np.zeros((1, 0)) if high is None else high
    cells = modelled(part, low, high, time, at)
    return Covered(seen, tuple(at), cells, [one.shares(cells) for one in seen])


def errors_at(
    equation: Equation, lift: Lift, points: Vector, time: float, budget: int | None = None, share: float = SHARE
) -> list[Sum]:
    """The prediction's error at points, all at one time; `share` says how narrow against the error itself."""
    values = [equation.value(lift, p, time) for p in points]
    parts = [covered(equation, part, points, time) for part in equation.parts(lift)]
    return refined(parts, values, budget, share=share)


def refined(
    parts: Sequence[Cuttable],
    values: Sequence[tuple[float, float]],
    budget: int | None = None,
    late: Callable[[Part], float] = lambda part: 0.0,
    share: float = SHARE,
) -> list[Sum]:
    """The sums over parts, once boxes are cut until little is open.

    `late` bounds the mass that a part's kernels have after the last time.
    """
    work = sum(len(part.cells) for part in parts)
    most = WORK if budget is None else budget
    for _ in range(ROUNDS):
        sums = [added([part.sums(i, late(part.part)) for part in parts]) for i in range(len(values))]
        goal = np.array([max(share * abs(s.value), LEAST * abs(v[0])) for s, v in zip(sums, values, strict=True)])
        goal = np.maximum(goal, 0.25 * np.array([s.quadrature + s.tail + s.rounding for s in sums])) + 1e-300
        left = [np.max(part.open / goal[:, None], axis=0) for part in parts]
        chosen = worst(left)
        if chosen is None or work >= most:
            break
        for part, rows in zip(parts, chosen, strict=True):
            if len(rows):
                work += part.split(rows[: max(most - work, 1)])
    return sums


def worst(left: Sequence[Vector]) -> list[Index] | None:
    """Boxes whose models leave most, so that what the others leave is below a half of the goal; None at the goal."""
    every = np.concatenate(left)
    if np.sum(every) <= 1.0:
        return None
    order = np.argsort(every)
    with np.errstate(over="ignore"):
        small = np.cumsum(every[order]) <= 0.5
    limit = max(float(every[order][~small][0]), 1e-3 * float(every.max()) if np.isfinite(every).all() else 0.0)
    return [np.flatnonzero(one >= limit) for one in left]


def added(sums: Sequence[Sum]) -> Sum:
    """Sums over parts."""
    value = math.fsum(s.value for s in sums)
    rounding = math.fsum(s.rounding for s in sums) + 4.0 * UNIT * abs(value)
    remainder, quadrature = math.fsum(s.remainder for s in sums), math.fsum(s.quadrature for s in sums)
    tail = math.fsum(s.tail for s in sums)
    return Sum(value, float(up(remainder)), float(up(quadrature)), float(up(tail)), float(up(rounding)))
