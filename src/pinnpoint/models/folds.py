"""Predictions made periodic: what jumps from one end of an axis to the other is taken away along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.taylor.jets import ZERO, Jet, Pairs, plus, seeds, times
from pinnpoint.taylor.models import TaylorModel, constant

Models = Sequence[TaylorModel]
JetOf = Callable[[Models, Sequence[int] | None, Pairs], Jet]


@dataclass(frozen=True)
class Fold:
    """The planes x_axis = low and x_axis = high, which are one."""

    axis: int
    low: float
    high: float

    __repr__ = brief

    def at(self, coordinates: Models, end: float) -> list[TaylorModel]:
        """Where the points of a set are seen on one of the planes."""
        return [constant(end) if i == self.axis else x for i, x in enumerate(coordinates)]

    @property
    def slope(self) -> TaylorModel:
        """1/(high − low), the number."""
        value = 1.0 / (self.high - self.low)
        return constant(value, 4.0 * UNIT * value)

    def ramp(self, coordinates: Models) -> TaylorModel:
        """The function (x_axis − m)/(high − low), which grows by exactly 1; m is a float near the middle."""
        return (coordinates[self.axis] - constant(0.5 * (self.low + self.high))) * self.slope  # lift.md, step 13a

    def jet(self, inner: JetOf, coordinates: Models, axes: Sequence[int] | None, pairs: Pairs) -> Jet:
        """The jet of u − j·ramp, j what u grows by from the low plane to the high one at the same other coordinates."""
        along = list(range(len(coordinates)) if axes is None else axes)
        kept = [k for k in along if k != self.axis]
        place = {k: n for n, k in enumerate(kept)}
        still = [along[a] in place and along[b] in place for a, b in pairs]
        which = tuple((place[along[a]], place[along[b]]) for (a, b), ok in zip(pairs, still, strict=True) if ok)
        low, high = (inner(self.at(coordinates, end), kept, which) for end in (self.low, self.high))
        j = high - low
        second = iter(j.second(which))
        jump = Jet(
            j.value,
            tuple(j.gradient[place[k]] if k in place else ZERO for k in along),
            j.laplacian,
            pairs,
            tuple(next(second) if ok else ZERO for ok in still),
        )
        x = seeds(coordinates, axes, pairs)[self.axis]
        gradient = tuple(times(self.slope, g) for g in x.gradient)
        ramp = Jet(self.ramp(coordinates), gradient, ZERO, pairs, (ZERO,) * len(pairs))
        return inner(coordinates, axes, pairs) - jump * ramp  # lift.md, step 13a

    def rise(self, of: Callable[[Models], TaylorModel], coordinates: Models) -> TaylorModel:
        """What a field grows by from the low plane to the high one."""
        return plus(of(self.at(coordinates, self.high)), -of(self.at(coordinates, self.low)))
