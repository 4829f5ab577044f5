"""The parts of a network's error on a box: integrals of data against kernels over the inside, a face or the start."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.boxes.kernels import Kernel, Moments
from pinnpoint.boxes.panels import Face, TimeRule, instant, time_rule
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, two_sum, up
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import in_blocks
from pinnpoint.taylor.spaces import Space, space

DEGREE = {0: 0, 1: 12, 2: 10, 3: 8, 4: 6, 5: 4, 6: 3, 7: 3}
"""Of the models, by the number of variables."""
CHUNK = 1 << 21
"""Numbers of a table of moments that are held at once."""
Model = Callable[[list[TaylorModel]], TaylorModel]


@dataclass(frozen=True, eq=False)
class Part:
    """Data on the inside of a box, on one of its faces, or at its start.

    Attributes
    ----------
    model
        The data's model from those of the coordinates, time last.
    axes
        Which axes are integrated over.
    face
        The axis and end where data sits on a face.
    when
        ``"time"`` for data in time, which is integrated over; ``"always"`` for data that stays the same, integrated
        over all times; ``"start"`` for data at one time.
    """

    name: str
    model: Model
    axes: tuple[int, ...]
    face: tuple[int, bool] | None = None
    when: str = "time"
    block: int = 4096

    __repr__ = brief

    @property
    def timed(self) -> bool:
        """Whether the data depends on time."""
        return self.when == "time"

    @property
    def space(self) -> Space:
        """Of its models."""
        variables = len(self.axes) + int(self.timed)
        return space(variables, DEGREE[variables])


@dataclass(frozen=True, eq=False)
class Cells:
    """Boxes in the free axes and in s = t₀ − t, with the data's models on them."""

    low: Vector
    high: Vector
    C: Vector
    e: Vector

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, chosen: Index) -> Cells:
        return Cells(self.low[chosen], self.high[chosen], self.C[:, chosen], self.e[chosen])

    def plus(self, other: Cells) -> Cells:
        """Both."""
        both = (
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.C, other.C], axis=1),
            np.concatenate([self.e, other.e]),
        )
        return Cells(*both)


@dataclass(frozen=True, eq=False)
class Shares:
    """What cells contribute to a query: the polynomial's integral, and the masses that errors are multiplied by."""

    value: Vector
    mass: Vector
    """Of the kernel, upper bounds: remainders are multiplied by it."""
    defect: Vector
    """What the kernel's moments may be off by, and rounding: sums of coefficients are multiplied by it."""

    __repr__ = brief


def modelled(part: Part, low: Vector, high: Vector, time: float, at: Sequence[float | None]) -> Cells:
    """The data's models on boxes.

    Parameters
    ----------
    time
        t₀; boxes are in s = t₀ − t.
    at
        For each axis the fixed coordinate, None where it is integrated over.
    """
    S = part.space
    middle, lost = two_sum(low, high)
    step, gone = two_sum(high, -low)
    slack = 0.5 * (np.abs(lost) + np.abs(gone)) * (1.0 + 16.0 * UNIT) + TINY  # taylor.md, step 6a

    def variable(k: int, sign: float, offset: float) -> TaylorModel:
        C = np.zeros((S.size, len(low)))
        C[0], rest = two_sum(offset, sign * 0.5 * middle[:, k])
        C[1 + k] = sign * 0.5 * step[:, k]
        return TaylorModel(S, C, (slack[:, k] + np.abs(rest)) * (1.0 + 16.0 * UNIT) + TINY)

    coordinates = [constant(0.0 if x is None else x) for x in at]
    for k, axis in enumerate(part.axes):
        coordinates[axis] = variable(k, 1.0, 0.0)
    coordinates.append(variable(len(part.axes), -1.0, time) if part.timed else constant(0.0))
    found = in_blocks(part.model, coordinates, part.block)
    C = np.zeros((S.size, len(low)))
    C[: len(found.C)] = found.C
    return Cells(low, high, C, np.array(np.broadcast_to(found.e, len(low))))


@cache
def _places(axes: int, q: int, timed: bool) -> tuple[Index, Index, Index]:
    """Powers of the coordinates of space, and for each monomial which of them it has, and which power of τ."""
    px = space(axes, q).powers
    powers = space(axes + int(timed), q).powers
    known = {tuple(p): i for i, p in enumerate(px.tolist())}
    column = np.array([known[tuple(p[:axes])] for p in powers.tolist()], dtype=np.intp)
    row = powers[:, axes] if timed else np.zeros(len(powers), dtype=np.intp)
    return px, column, row


@dataclass(frozen=True, eq=False)
class Seen:
    """A part as a query sees it: its kernels, its point, and its time, which s runs up to."""

    part: Part
    kernels: tuple[Kernel, ...]
    time: float
    reaction: float
    rules: dict[tuple[float, float], TimeRule] = field(default_factory=dict, repr=False)

    __repr__ = brief

    @property
    def free(self) -> tuple[Kernel, ...]:
        """The kernels of the axes that are integrated over."""
        return tuple(self.kernels[i] for i in self.part.axes)

    def rule(self, low: float, high: float) -> TimeRule:
        """The rule of an interval of s, made once."""
        if (low, high) not in self.rules:
            self.rules[low, high] = self._rule(low, high)
        return self.rules[low, high]

    def _rule(self, low: float, high: float) -> TimeRule:
        face = None if self.part.face is None else Face(self.kernels[self.part.face[0]], self.part.face[1])
        if self.part.when == "start":
            return instant(self.time, self.reaction, self.free)
        return time_rule(low, high, self.reaction, self.free, face, self.part.space.q if self.part.timed else 0)

    def shares(self, cells: Cells) -> Shares:
        """What the cells contribute."""
        n = len(cells)
        value, mass, defect = np.empty(n), np.empty(n), np.empty(n)
        for low, high, chosen in self.intervals(cells):
            rule = self.rule(low, high)
            few = max(1, CHUNK // (len(rule.v) * space(len(self.free), self.part.space.q).size))
            for start in range(0, len(chosen), few):
                rows = chosen[start : start + few]
                value[rows], mass[rows], defect[rows] = self._group(cells[rows], rule, (low, high))
        return Shares(value, mass, defect)

    def _group(self, cells: Cells, rule: TimeRule, interval: tuple[float, float]) -> tuple[Vector, Vector, Vector]:
        """Cells with the same interval of s."""
        S, J, n = self.part.space, len(rule.v), len(cells)
        tables: list[tuple[Moments, Index]] = []
        for k, kernel in enumerate(self.free):
            pairs, place = np.unique(np.stack([cells.low[:, k], cells.high[:, k]], 1), axis=0, return_inverse=True)
            tables.append((kernel.moments(pairs, rule.v, S.q), np.asarray(place).reshape(-1)))
        px, column, row = _places(len(self.free), S.q, self.part.timed)
        product, total, loose = np.ones((J, n, len(px))), np.ones((J, n)), np.zeros((J, n))
        for k, (found, place) in enumerate(tables):
            product *= found.values[:, :, px[:, k]][:, place]
            loose = loose * found.mass[:, place] + total * found.error[:, place]
            total = total * found.mass[:, place]
        tau = np.ones((J, 1))
        if self.part.timed:
            s_mid, s_half = 0.5 * (interval[0] + interval[1]), 0.5 * (interval[1] - interval[0])
            tau = ((rule.v**2 - s_mid) / s_half)[:, None] ** np.arange(S.q + 1)
        weights = (rule.weights[:, None] * tau).T  # box.md, step 5a
        integrals = (weights @ product.reshape(J, -1)).reshape(-1, n, len(px))
        exact = integrals[row, :, column]
        value = np.einsum("an,an->n", cells.C, exact)
        unsigned = np.abs(rule.weights) @ total
        far = UNIT * S.q * 16.0 * (1.0 + abs(interval[0] + interval[1]) / max(interval[1] - interval[0], TINY))
        rounded = (gamma(J + S.size + 64) + far) * unsigned
        defect = np.abs(rule.weights) @ loose + rule.blur @ total + rounded  # box.md, step 5c
        defect = np.asarray(up(defect * (1.0 + gamma(J + 64)), 16))
        mass = np.asarray(up(np.maximum(exact[0], 0.0) + defect, 8))  # box.md, step 5b
        return value, mass, defect

    def whole(self, cells: Cells) -> tuple[float, float]:
        """What the rules in time may be off by, and what is left out next to s = 0, over all cells together."""
        S = self.part.space
        quadrature, skipped = [], []
        last = S.powers[:, -1] if self.part.timed else np.zeros(S.size, dtype=np.intp)
        for low, high, rows in self.intervals(cells):
            rule = self.rule(low, high)
            sizes = np.abs(cells.C[:, rows])
            top = float(np.max(rule.quadrature[last] @ sizes + cells.e[rows] * rule.quadrature[0]))
            quadrature.append(top)  # box.md, step 4a
            skipped.append(rule.skipped * float(np.max(sizes.sum(axis=0) + cells.e[rows])))  # box.md, step 4d
        grown = 1.0 + 2.0 * gamma(S.size + len(cells) + 8)
        return math.fsum(quadrature) * grown, math.fsum(skipped) * grown

    def intervals(self, cells: Cells) -> list[tuple[float, float, Index]]:
        """The intervals of s that cells have, each with these cells."""
        if not self.part.timed:
            return [(0.0, self.time, np.arange(len(cells)))]
        ends = np.stack([cells.low[:, -1], cells.high[:, -1]], axis=1)
        pairs, place = np.unique(ends, axis=0, return_inverse=True)
        place = np.asarray(place).reshape(-1)
        return [(float(a), float(b), np.flatnonzero(place == k)) for k, (a, b) in enumerate(pairs)]
