"""What a mollifier is to the cells that it is integrated on: a height times a polynomial of t = 1 − |x − x₀|²/R²."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import up


@dataclass(frozen=True)
class Profile:
    """g(t) = t^k (first + second t), for t > 0; its coefficients are exactly these floats.

    With an axis the mollifier is odd along it: g(t) times the coordinate (x − x₀)_axis/R.
    """

    k: int
    first: float = 1.0
    second: float = 0.0
    axis: int | None = None

    @property
    def degree(self) -> int:
        """Of g."""
        return self.k + (self.second != 0.0)

    @property
    def plain(self) -> bool:
        """Whether the mollifier is t^k."""
        return self.first == 1.0 and self.second == 0.0 and self.axis is None

    @property
    def points(self) -> int:
        """Of a rule, in each direction, that is exact for the mollifier's square and for its products with quadratics.

        These have the degrees 4 degree and 2 degree + 2 in x, and with an axis 2 and 1 more; n points give 2n − 1.
        """
        return max(2, 2 * self.degree + 1 + (self.axis is not None))  # gradients.md, step 2d

    def __call__(self, t: Vector) -> Vector:
        """Values of g."""
        power = t**self.k
        return power if self.second == 0.0 and self.first == 1.0 else power * (self.first + self.second * t)

    def along(self, z: Vector) -> Vector:
        """The further factor at scaled points (…, d)."""
        return np.ones(z.shape[:-1]) if self.axis is None else np.asarray(z[..., self.axis])

    def reach(self, z: Vector, slack: Vector) -> Vector:
        """Upper bounds of the further factor on simplices with scaled corners (n, m, d), each known to its slack."""
        if self.axis is None:
            return np.ones(len(z))
        return np.asarray(up(np.abs(z[..., self.axis]).max(axis=1) + slack))  # gradients.md, step 2c

    def factor(self, top: Vector) -> Vector:
        """|g(t)| ≤ |t|^k times this where |t| ≤ top."""
        return abs(self.first) + abs(self.second) * top  # continuous.md, step 8c

    def size(self, top: Vector) -> Vector:
        """Upper bound of |g|, and of the Bernstein coefficients of g where those of t are at most top."""
        return top**self.k * self.factor(top)

    def slope(self, top: Vector) -> Vector:
        """Upper bound of |g'| where |t| ≤ top."""
        high = (self.k + 1) * abs(self.second) * top**self.k
        return self.k * abs(self.first) * top ** max(self.k - 1, 0) + high


class Bump(Protocol):
    """A mollifier w = Σ C_i t^{k+i}, t > 0, on the ball of a radius.

    With the profile's coefficients c_i, |C_i − peak c_i| ≤ peak_error |c_i|; ∫w is within mass_error of mass.
    """

    @property
    def d(self) -> int:
        """Dimension."""

    @property
    def radius(self) -> float:
        """R."""

    @property
    def profile(self) -> Profile:
        """Shape of w."""

    @property
    def peak(self) -> float:
        """The height."""

    @property
    def peak_error(self) -> float:
        """Bound of its error."""

    @property
    def mass(self) -> float:
        """∫w."""

    @property
    def mass_error(self) -> float:
        """Bound of its error."""
