"""Force and moment of a cell in twice the working precision.

Forces of a cell in equilibrium cancel but for the rounding of the stored moments. A plain sum would add as much again,
and its bound ten times as much; here the bound is that of what is stored.

Arrays keep the cells on the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import UNIT, gamma, two_prod, two_sum, up

SQUARE = gamma(64) * gamma(64)
"""More than k² u² for the k roundings of order u², relative to absolute sums, in any number computed here."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A sum as an unevaluated pair high + low, and the sum of the absolute values of all that went in."""

    high: Vector
    low: Vector
    bulk: Vector

    @classmethod
    def zero(cls, shape: tuple[int, ...]) -> Pair:
        """The empty sum."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape))

    def plus(self, x: Vector) -> Pair:
        """With one term more; the rounding of `high` is kept in `low`."""
        high, error = two_sum(self.high, x)
        return Pair(high, self.low + error, self.bulk + np.abs(x))

    def join(self, other: Pair) -> Pair:
        """The sum of two sums."""
        high, error = two_sum(self.high, other.high)
        return Pair(high, self.low + (error + other.low), self.bulk + other.bulk)

    def times(self, high: Vector, low: Vector) -> Pair:
        """The product with the unevaluated sum high + low, |low| ≤ u |high|."""
        main, error = two_prod(self.high, high)
        return Pair(main, error + (self.high * low + self.low * high), self.bulk * np.abs(high))

    def of(self, component: int) -> Pair:
        """One component of a vector."""
        return Pair(self.high[component], self.low[component], self.bulk[component])

    def negative(self) -> Pair:
        """The same with the other sign."""
        return Pair(-self.high, -self.low, self.bulk)


def unbalanced(out: Vector, body: Vector | None, X: Vector) -> tuple[Vector, Vector]:
    """Upper bounds of |Σ t_i| and of |Σ t_i ∧ (x_i − x̄)|, (n,) each.

    Parameters
    ----------
    out
        ±m in the order of the slots, (d + 1, d, d, n).
    body
        fm, (d + 1, d, n), or None for none.
    X
        Vertices, (d + 1, d, n).

    The moment is Σ_{i>0} t_i ∧ (x_i − x_0) + (Σ t_i) ∧ (x_0 − x̄), where only the first part cancels.

    Assumes: entries below 2⁴⁸⁰. Where they are not the bounds are infinite.
    """
    d = X.shape[1]
    forces = []
    for i in range(d + 1):
        t = Pair.zero(X.shape[1:])
        for j in range(d + 1):
            if j != i:
                t = t.plus(out[j, i if i < j else i - 1])  # elasticity.md, step 1c
        forces.append(t if body is None else t.plus(body[i]))
    total = forces[0]
    for t in forces[1:]:
        total = total.join(t)
    f = total.high + total.low
    f_off = UNIT * np.abs(f) + SQUARE * total.bulk  # elasticity.md, step 1g
    arms = [two_sum(X[i], -X[0]) for i in range(1, d + 1)]
    turn, turn_off = _turned(forces[1:], arms)
    arm = -np.sum([high for high, _ in arms], axis=0) / (d + 1.0)  # x_0 − x̄
    reach = np.max(np.abs([high for high, _ in arms]), axis=(0, 1))
    aside = np.stack([f[a] * arm[b] - f[b] * arm[a] for a, b in _planes(d)])
    whole = turn + aside
    # elasticity.md, step 1g
    stray = (gamma(16) * np.abs(f).sum(axis=0) + 1.01 * f_off.sum(axis=0)) * reach
    off = turn_off + stray + UNIT * np.abs(whole)
    return _length(f, f_off), _length(whole, off)


def _planes(d: int) -> tuple[tuple[int, int], ...]:
    """Components of t ∧ y = t_a y_b − t_b y_a."""
    return ((0, 1),) if d == 2 else ((1, 2), (2, 0), (0, 1))


def _turned(forces: Sequence[Pair], arms: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
    """Σ t_i ∧ y_i for y_i = high + low, and bounds of its error, (1 or 3, n) each."""
    found, off = [], []
    for a, b in _planes(arms[0][0].shape[0]):
        total = Pair.zero(arms[0][0].shape[1:])
        for t, (high, low) in zip(forces, arms, strict=True):
            total = total.join(t.of(a).times(high[b], low[b]))
            total = total.join(t.of(b).times(high[a], low[a]).negative())
        found.append(total.high + total.low)
        off.append(UNIT * np.abs(found[-1]) + SQUARE * total.bulk)  # elasticity.md, step 1g
    return np.stack(found), np.stack(off)


def _length(x: Vector, off: Vector) -> Vector:
    """Upper bounds of the length of vectors that are known to ± off; infinite where they came out as NaN."""
    bound = up(np.sqrt(((np.abs(x) + off) ** 2).sum(axis=0)), 16)
    return np.where(np.isnan(bound), np.inf, bound)
