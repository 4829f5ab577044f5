"""Integrals of data over boxes without a kernel: models term by term, boxes cut as for points of a heat equation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.boxes.parts import Cells, Part, modelled
from pinnpoint.boxes.points import Sum, halves
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.taylor.models import TaylorModel, constant

Span = tuple[Fraction, Fraction]


def near(x: Fraction) -> TaylorModel:
    """An exact number as a model: the next float, and what it is off by."""
    value = float(x)
    return constant(value, float(up(float(abs(x - Fraction(value))), 2)))


@dataclass(eq=False)
class Volume:
    """`weight` · ∫ of a part's data over a box, one query's; its model takes one coordinate for each axis.

    Attributes
    ----------
    slivers
        What the box has more than it should, in each axis, because its ends are floats around the exact ones.
    """

    integrand: Part
    weight: float
    cells: Cells
    slivers: Vector

    @property
    def part(self) -> Part:
        """What is integrated."""
        return self.integrand

    @property
    def open(self) -> Vector:
        """What the model of each box leaves, (1, boxes)."""
        with np.errstate(invalid="ignore"):
            left = abs(self.weight) * self.cells.e * _sizes(self.cells)
        return np.where(np.isnan(left), np.inf, left)[None, :]

    def split(self, chosen: Index) -> int:
        """Cut boxes in two, each along the axis in which its model converges worst; how many are new."""
        keep = np.setdiff1d(np.arange(len(self.cells)), chosen)
        low, high = halves(self.cells[chosen], self.part, self.cells)
        new = _models(self.part, low, high)
        self.cells = self.cells[keep].plus(new)
        return len(new)

    def sums(self, i: int, tail: float) -> Sum:
        """What the integral contributes; no query but the one, and no tail."""
        if i or tail:
            raise ValueError("a volume belongs to one query and is integrated whole")
        cells, S, w = self.cells, self.part.space, abs(self.weight)
        even = np.all(S.powers % 2 == 0, axis=1)
        shares = np.where(even, 1.0 / np.prod(S.powers + 1.0, axis=1), 0.0)
        size, most = _sizes(cells), np.abs(cells.C).sum(axis=0) * (1.0 + 1e-12)
        value = math.fsum((shares @ cells.C) * size)  # wave.md, step 3b
        top = float(np.max(most + cells.e, initial=0.0)) if np.isfinite(cells.e).all() else math.inf
        extent = cells.high.max(axis=0) - cells.low.min(axis=0)
        moved = math.fsum(s * math.prod(np.delete(extent, k)) for k, s in enumerate(self.slivers))
        rounded = gamma(S.size + 4 * S.d + 16) * sum_up(most * size) + 8.0 * UNIT * abs(value)
        remainder = sum_up(cells.e * size) if math.isfinite(top) else math.inf
        return Sum(
            self.weight * value,
            float(up(w * remainder * (1.0 + 1e-12))),  # wave.md, step 3b
            0.0,
            float(up(w * top * moved * (1.0 + 1e-12))) if moved else 0.0,  # wave.md, step 3c
            float(up(w * rounded * (1.0 + 1e-12))),
        )


def volume(part: Part, weight: float, spans: Sequence[Span], pieces: Sequence[int] | None = None) -> Volume:
    """The integral over a box with exact ends, on its first boxes, two an axis if nothing is said."""
    ends, slivers = [], []
    for (a, b), count in zip(spans, pieces or [2] * len(spans), strict=True):
        low, high = _below(a), -_below(-b)
        ends.append((low, *(low + (high - low) * k / count for k in range(1, count)), high))
        more = (a - Fraction(low)) + (Fraction(high) - b)
        slivers.append(float(up(float(more), 2)) if more else 0.0)
    corner = [np.meshgrid(*[e[k : len(e) - 1 + k] for e in ends], indexing="ij") for k in (0, 1)]
    low_corners, high_corners = (np.stack(c, -1).reshape(-1, len(ends)) for c in corner)
    return Volume(part, weight, _models(part, low_corners, high_corners), np.array(slivers))


def _below(x: Fraction) -> float:
    """The largest float that is not above x."""
    value = float(x)
    return math.nextafter(value, -math.inf) if Fraction(value) > x else value


def _models(part: Part, low: Vector, high: Vector) -> Cells:
    return modelled(part, low, high, 0.0, [None] * len(part.axes))


def _sizes(cells: Cells) -> Vector:
    return np.asarray(np.prod(cells.high - cells.low, axis=1))
