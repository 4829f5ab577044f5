"""Boxes without balls, and balls, in any number of dimensions: which small boxes meet them and their rims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Mask, Vector, number
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

Round = tuple[tuple[float, ...], float]
"""A centre and a radius."""
SURE = 1e-9
"""Share by which a distance may be off; far more than rounding."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A box without disjoint balls inside it, or the ball that touches all sides of the box."""

    sides: tuple[tuple[float, float], ...]
    holes: tuple[Round, ...] = ()
    ball: Round | None = None

    __repr__ = brief

    @property
    def d(self) -> int:
        """Dimension of space."""
        return len(self.sides)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the parts of the boundary."""
        return ("ball",) if self.ball else ("sides", *(f"hole {k}" for k in range(len(self.holes))))

    @property
    def distances(self) -> list[tuple[float, float]]:
        """The interval of squared distances from the centre of a ball."""
        if self.ball is None:
            raise InputError("radial: belongs to a ball")
        return [(0.0, math.nextafter(self.ball[1] * self.ball[1], math.inf))]  # region.md, step 4c

    def rim(self, group: str) -> Round:
        """The sphere of a group, with its centre and radius."""
        if self.ball is not None:
            return self.ball
        return self.holes[int(group.removeprefix("hole "))]

    def meets(self, low: Vector, high: Vector) -> Mask:
        """Which boxes may meet the domain; the first columns are of space."""
        mask = np.ones(len(low), dtype=np.bool_)
        if self.ball is not None:
            near, _ = _distances(self.ball[0], low, high)
            mask &= near <= self.ball[1] * (1.0 + SURE)  # region.md, step 3a
        for centre, radius in self.holes:
            _, far = _distances(centre, low, high)
            mask &= far >= radius * (1.0 - SURE)  # region.md, step 3a
        return mask

    def holds(self, P: Vector) -> Mask:
        """Which points are surely inside."""
        mask = np.ones(len(P), dtype=np.bool_)
        for i, (a, b) in enumerate(self.sides):
            mask &= (P[:, i] > a) & (P[:, i] < b)
        if self.ball is not None:
            mask &= _distances(self.ball[0], P, P)[1] < self.ball[1] * (1.0 - SURE)
        for centre, radius in self.holes:
            mask &= _distances(centre, P, P)[0] > radius * (1.0 + SURE)
        return mask


def shape_of(
    sides: Sequence[Sequence[float]], holes: Sequence[Sequence[object]], ball: Sequence[object] | None
) -> Shape:
    """The shape, or a refusal."""
    if ball is not None:
        if sides or holes:
            raise InputError("ball: stands alone; leave sides and holes out, or take a box with holes")
        centre, radius = _round("ball", ball, None)
        around = tuple((math.nextafter(c - radius, -math.inf), math.nextafter(c + radius, math.inf)) for c in centre)
        return Shape(around, ball=(centre, radius))
    pairs = []
    for i, side in enumerate(sides):
        if len(side) != 2 or not number(f"sides[{i}][0]", side[0]) < number(f"sides[{i}][1]", side[1]):
            raise InputError(f"sides[{i}]: must be a pair [low, high] that increases; got {side!r}")
        pairs.append((float(side[0]), float(side[1])))
    d = len(pairs)
    found = [_round(f"holes[{k}]", hole, d) for k, hole in enumerate(holes)]
    for k, (centre, radius) in enumerate(found):
        apart = all(
            a < c - radius * (1.0 + SURE) and c + radius * (1.0 + SURE) < b
            for (a, b), c in zip(pairs, centre, strict=True)
        )
        for other, more in found[:k]:
            apart = apart and math.dist(centre, other) > (radius + more) * (1.0 + SURE)
        if not apart:
            raise InputError(f"holes[{k}]: must lie inside the box, away from its sides and from the other holes")
    return Shape(tuple(pairs), tuple(found))


def _round(name: str, given: Sequence[object], d: int | None) -> Round:
    """A centre and a radius, or a refusal."""
    if len(given) != 2 or not isinstance(given[0], Sequence | np.ndarray):
        raise InputError(f"{name}: must be (centre, radius); got {given!r}")
    centre = tuple(number(f"{name}: centre", c) for c in given[0])
    if d is not None and len(centre) != d:
        raise InputError(f"{name}: the centre needs {d} coordinates; got {len(centre)}")
    return centre, number(f"{name}: radius", given[1], above=0.0)


def _distances(centre: Sequence[float], low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """The smallest and the largest distance of boxes from a point, to rounding."""
    c, d = np.array(centre), len(centre)
    below, above = low[:, :d] - c, high[:, :d] - c
    near = np.maximum(np.maximum(below, -above), 0.0)
    far = np.maximum(np.abs(below), np.abs(above))
    return np.sqrt((near**2).sum(axis=1)), np.sqrt((far**2).sum(axis=1))
