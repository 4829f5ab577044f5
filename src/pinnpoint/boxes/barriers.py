"""Sizes of what a prediction leaves on a region, and the barriers above its error that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add

import numpy as np

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.leftover import Condition, Leftover, Models
from pinnpoint.boxes.parts import Model, Part, modelled
from pinnpoint.boxes.shapes import Shape
from pinnpoint.boxes.suprema import extremes, largest
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.smooth import CHUNK
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.jets import ZERO
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK

SLABS = 8
"""Intervals of time with a size of the residual each."""
MOST = 6000
"""Boxes of a supremum."""
Meets = Callable[[Vector, Vector], Mask]


@dataclass(frozen=True, eq=False)
class Sized:
    """Upper bounds of what a prediction leaves, and an error that it certainly has somewhere."""

    residual: Vector
    """On intervals of equal length in time, first to last; one number for a stationary equation."""
    held: float
    """Of the start, of Dirichlet data, and of Robin data divided by their coefficient."""
    flux: float
    """Of Neumann data."""
    attained: float

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Ranges:
    """Suprema over boxes of coordinates, t last; `sizes` and `attained` are of one model each."""

    shape: Shape
    leftover: Leftover
    block: int
    most: int

    __repr__ = brief

    def part(self, model: Model, axes: Sequence[int]) -> Part:
        """A model as data on the axes that are free."""
        return Part("region", model, tuple(axes), None, "always", self.block)

    def size(
        self, model: Model, spans: Sequence[tuple[float, float]], at: dict[int, float], meets: Meets | None
    ) -> tuple[float, float]:
        """Proved lower and upper bounds of a model over a product of intervals; some coordinates are fixed."""
        axes, fixed = self._axes(at)
        low, high = _cut([spans[i] for i in axes])
        return extremes(self.part(model, axes), low, high, 0.0, fixed, self.most, meets)

    def attained(self, model: Model, spans: Sequence[tuple[float, float]], at: dict[int, float]) -> float:
        """The largest size at a grid of points, less what it is not known by; points outside are left out."""
        axes, fixed = self._axes(at)
        ticks = [[a + (b - a) * k / 4.0 for k in (1, 2, 3)] for a, b in (spans[i] for i in axes)]
        P = np.stack(np.meshgrid(*ticks, indexing="ij"), -1).reshape(-1, len(axes)) if axes else np.zeros((1, 0))
        if not at:
            P = P[self.shape.holds(P)]
        if not len(P):
            return 0.0
        found = modelled(self.part(model, axes), P, P, 0.0, fixed)
        return max(float(np.max(np.abs(found.C[0]) * (1.0 - 4.0 * UNIT) - found.e)), 0.0)  # region.md, step 3c

    def _axes(self, at: dict[int, float]) -> tuple[list[int], list[float | None]]:
        free = [i for i in range(len(self.leftover.names)) if i not in at]
        return free, [at.get(i) for i in range(len(self.leftover.names))]


def sized(shape: Shape, leftover: Leftover, lift: Lift, budget: int | None) -> Sized:
    """How large the residual, the start and what is left on the boundary are."""
    block = BLOCK if isinstance(lift.prediction, MLP) else CHUNK
    ranges, end = Ranges(shape, leftover, block, budget or MOST), leftover.end
    space, meets = (shape.distances, None) if leftover.folded else (list(shape.sides), shape.meets)
    low, _ = ranges.size(leftover.kappa_on, [*space, (0.0, 1.0)], {leftover.d: 0.0} if end else {}, meets)
    if not low > 0.0:
        raise InputError(f"diffusion: must be proved positive on the box; its lower bound is {low:g}")
    inside = partial(leftover.residual, lift)
    if end is None:
        residual = [largest(ranges.size(inside, space, {}, meets))]
        held = attained = 0.0
    else:
        cuts = [end * k / SLABS for k in range(SLABS + 1)]
        residual = [largest(ranges.size(inside, [*space, s], {}, meets)) for s in pairwise(cuts)]
        begins, at = partial(leftover.start, lift), {leftover.d: 0.0}
        held = largest(ranges.size(begins, [*space, (0.0, 0.0)], at, meets))
        attained = ranges.attained(begins, [*space, (0.0, 0.0)], at) if shape.ball is None and not shape.holes else 0.0
    flux, times = 0.0, [] if end is None else [(0.0, end)]
    for group, said in leftover.conditions.items():
        for model, spans, at in _rims(shape, leftover, lift, group, said):
            top = largest(ranges.size(model, [*spans, *times], at, None))
            if said.kind == "neumann":
                flux = max(flux, top)
            else:
                held = max(held, float(up(top / (said.coefficient or 1.0))))  # region.md, step 2a
            if said.kind == "dirichlet" and group == "sides":
                attained = max(attained, ranges.attained(model, [*spans, *times], at))
    return Sized(np.array(residual), held, flux, attained)


def bound(shape: Shape, leftover: Leftover, found: Sized, time: float | None) -> float:
    """Upper bound of |e| up to a time, or of the stationary one."""
    end, worst, more = leftover.end, float(found.residual.max()), [math.inf]
    if leftover.kappa is not None and _all_dirichlet(leftover):
        width = min(b - a for a, b in shape.sides) * (1.0 + 4.0 * UNIT)
        folds = 8.0 * (1 if shape.ball is None else shape.d)
        more.append(worst * width * width / (folds * leftover.kappa))  # region.md, step 2b
    if leftover.reaction:
        more.append(worst / leftover.reaction)  # region.md, step 2c
    if end is not None and time is not None:
        step = end / len(found.residual)
        lasts = np.clip(time - step * np.arange(len(found.residual)), 0.0, step) + 1e-12 * end
        more.append(float(lasts @ found.residual))  # region.md, step 2a
    most = found.held + min(more) * (1.0 + 1e-12)  # region.md, step 1b
    if found.flux and leftover.kappa is not None and shape.ball is not None and time is not None:
        radius = shape.ball[1]
        weight = radius / (2.0 * leftover.kappa) + shape.d * time / radius
        most += found.flux * weight * (1.0 + 1e-12)  # region.md, step 2d
    return float(up(most * (1.0 + 1e-12)))


def _all_dirichlet(leftover: Leftover) -> bool:
    return all(said.kind == "dirichlet" for said in leftover.conditions.values())


Rim = tuple[Model, list[tuple[float, float]], dict[int, float]]


def _rims(shape: Shape, leftover: Leftover, lift: Lift, group: str, said: Condition) -> Iterator[Rim]:
    """A group of the boundary in pieces: a model, its intervals, and coordinates that are fixed."""
    if group == "sides":
        for i, pair in enumerate(shape.sides):
            for sign, place in zip((-1.0, 1.0), pair, strict=True):
                normal = [constant(sign) if k == i else ZERO for k in range(shape.d)]
                yield partial(leftover.at_rim, lift, said, normal), list(shape.sides), {i: place}
        return
    centre, radius = shape.rim(group)
    if leftover.folded:
        s = radius * radius
        thin = [(math.nextafter(s, -math.inf), math.nextafter(s, math.inf))]
        yield partial(leftover.at_rim, lift, said, [constant(2.0 * radius)]), thin, {}  # region.md, step 4b
        return
    sign = 1.0 if shape.ball is not None else -1.0

    def projected(X: Models) -> TaylorModel:
        Y = X[: shape.d]
        size = functions.sqrt(reduce(add, [y * y for y in Y]))
        n = [y / size for y in Y]
        place = [constant(c) + constant(radius) * v for c, v in zip(centre, n, strict=True)]
        normal = [constant(sign) * v for v in n]
        return leftover.at_rim(lift, said, normal, [*place, *X[shape.d :]])  # region.md, step 3b

    for i in range(shape.d):
        for end in (-1.0, 1.0):
            yield projected, [(-1.0, 1.0)] * shape.d, {i: end}


def _cut(spans: Sequence[tuple[float, float]]) -> tuple[Vector, Vector]:
    """The first boxes: two an axis, and four of the first five axes where there are so many."""
    if not spans:
        return np.zeros((1, 0)), np.zeros((1, 0))
    cuts = [np.linspace(a, b, 5 if len(spans) > 4 and i < 5 else 3) for i, (a, b) in enumerate(spans)]
    low, high = (np.stack(np.meshgrid(*e, indexing="ij"), -1) for e in ([c[:-1] for c in cuts], [c[1:] for c in cuts]))
    return low.reshape(-1, len(cuts)), high.reshape(-1, len(cuts))
