"""Averages at a time, or over times, with bounded weights: cells and balls.

At a time T the weight ψ is the dual's value there, z(T) = ψ, and ε(T) = ψ − z_h(T) with the L² projection z_h(T) of ψ.
Over the times from t₁ to T the weight is ω = ψ/(T − t₁), and z(T) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.prisms import Modes


@dataclass(frozen=True, eq=False)
class Average:
    """J(u) = ∫ ψ u(T), or its average over the times from `since` to T.

    Attributes
    ----------
    weight
        ψ on all cells, a positive function whose integral is one.
    scale
        Relative error of ψ as a whole.
    since
        t₁, a node of the time grid; None for the time T alone.
    """

    weight: Density
    scale: float
    time: float
    since: float | None
    count: int

    __repr__ = brief

    @property
    def final(self) -> Density | None:
        """z(T); None for zero."""
        return self.weight if self.since is None else None

    @property
    def top(self) -> float:
        """Upper bound of the root mean square of ψ on any cell."""
        w = self.weight
        return float(up(np.max(np.abs(w.coefficients).max(axis=1) + w.high + w.error2, initial=0.0), 4))

    @cached_property
    def _steady(self) -> Modes:
        """ω on a slab that it reaches."""
        assert self.since is not None
        over = 1.0 / (self.time - self.since)
        w = self.weight
        beta = w.coefficients * over
        slip = UNIT * np.abs(beta).max(axis=1)
        rows = (up(over * w.high), *(np.asarray(up(over * e + slip, 2)) for e in (w.error1, w.error2)))
        return Modes.steady(Density(beta, *rows), self.count)

    def slab(self, start: float, cells: int, d: int) -> Modes:
        """ω on the slab that begins at a time."""
        if self.since is None or start < self.since:
            return Modes.zero(self.count, cells, d)
        return self._steady  # slabs.md, step 4h

    @property
    def slack(self) -> float:
        """Relative error of ω or ψ as a whole; 1/(T − t₁) is rounded twice."""
        return float(up(self.scale + (0.0 if self.since is None else 4.0 * UNIT)))
