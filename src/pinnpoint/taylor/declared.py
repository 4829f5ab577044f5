"""Functions of which only values and a declared bound of the second derivatives are known, as Taylor models.

With |vᵀ∇²f v| ≤ M |v|² on a convex box, c and x in it and a_i = (f(c + δe_i) − f(c))/δ,

    |f(x) − f(c) − Σ a_i (x_i − c_i)| ≤ M|x − c|²/2 + Σ |x_i − c_i| (M|δ|/2 + 2ε/|δ|) + ε,

where ε bounds the error of a value. Steps point to the middle of the box, so that they stay inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.taylor.models import TaylorModel, constant, settled
from pinnpoint.taylor.spaces import MANY

STEP = 1.0 / 32.0
"""Of the differences, against the distance to which they are used."""


@dataclass(frozen=True, eq=False)
class Declared:
    """A function of points (N, d) with a declared bound.

    Parameters
    ----------
    f
        The function; must accept every point of the box.
    bound
        M, of the second derivative along any unit vector at any point of the box.
    accuracy
        ε, of the numbers that f returns.
    low, high
        Corners of the box.
    """

    f: Callable[[Vector], Any]
    bound: float
    accuracy: float
    low: Vector
    high: Vector

    __repr__ = brief

    def __call__(self, X: ArrayLike) -> Vector:
        """Values (N,), finite or refused."""
        P = np.asarray(X, dtype=np.float64)
        found = np.asarray(self.f(P), dtype=np.float64)
        if found.size != len(P) or not np.isfinite(found).all():
            raise InputError(f"prediction: must give a finite number at each of {len(P)} points; got {found.shape}")
        return found.reshape(len(P))

    def taylor(self, coordinates: Sequence[TaylorModel]) -> TaylorModel:
        """The model f(c) + Σ a_i (x_i − c_i) about the centres c of the coordinates."""
        count = max(x.C.shape[-1] for x in coordinates)
        X = [_spread(x, count) for x in coordinates]
        c = np.clip(np.stack([x.C[0] for x in X], axis=1), self.low, self.high)
        around = [x - constant(v) for x, v in zip(X, c.T, strict=True)]
        reach = np.stack([np.maximum(high, -low) for low, high in (x.bounds for x in around)])
        far = np.sqrt((reach * reach).sum(axis=0)) * MANY
        known = np.isfinite(far) & (far < np.min(self.high - self.low))
        value = self(c)
        model, error = constant(value), self.accuracy + 0.5 * self.bound * far * far  # taylor.md, step 7a
        for i, x in enumerate(around):
            if x.space.d == 0 and not x.e.any() and not x.C.any():
                continue
            inward = np.where(c[:, i] < 0.5 * (self.low[i] + self.high[i]), STEP, -STEP)
            at = c.copy()
            at[:, i] += inward * np.where(known, np.maximum(far, 2.0**-20 * (np.abs(c[:, i]) + TINY)), 0.0)
            step = at[:, i] - c[:, i]
            moved = known & (step != 0.0) & (at[:, i] >= self.low[i]) & (at[:, i] <= self.high[i])
            at[~moved] = c[~moved]
            a = np.where(moved, (self(at) - value) / np.where(moved, step, 1.0), 0.0)
            size = np.abs(np.where(moved, step, 1.0))
            slope = 0.5 * self.bound * size + 2.0 * self.accuracy / size + 8.0 * UNIT * np.abs(a)  # taylor.md, step 7a
            error = error + reach[i] * np.where(moved, slope, np.inf)
            model = model + constant(a) * x
        with np.errstate(all="ignore"):
            e = (np.broadcast_to(model.e, count) + error) * MANY + TINY
        return settled(model.space, np.broadcast_to(model.C, (model.space.size, count)), np.where(known, e, np.inf))


def _spread(x: TaylorModel, count: int) -> TaylorModel:
    """One model for each element."""
    if x.C.shape[-1] == count:
        return x
    return TaylorModel(x.space, np.repeat(x.C, count, axis=-1), np.repeat(x.e, count))
