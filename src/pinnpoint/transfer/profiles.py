"""What a mollifier is to the cells that it is integrated on: a height times a polynomial of t = 1 − |x − x₀|²/R²."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pinnpoint.base.arrays import Vector


@dataclass(frozen=True)
class Profile:
    """g(t) = t^k (first + second t), for t > 0; its coefficients are exactly these floats."""

    k: int
    first: float = 1.0
    second: float = 0.0

    @property
    def degree(self) -> int:
        """Of g."""
        return self.k + (self.second != 0.0)

    @property
    def plain(self) -> bool:
        """Whether g = t^k."""
        return self.first == 1.0 and self.second == 0.0

    def __call__(self, t: Vector) -> Vector:
        """Values."""
        power = t**self.k
        return power if self.plain else power * (self.first + self.second * t)

    def factor(self, top: Vector) -> Vector:
        """|g(t)| ≤ |t|^k times this where |t| ≤ top."""
        return abs(self.first) + abs(self.second) * top  # continuous.md, step 8c

    def size(self, top: Vector) -> Vector:
        """Upper bound of |g|, and of the Bernstein coefficients of g where those of t are at most top."""
        return top**self.k * self.factor(top)

    def slope(self, top: Vector) -> Vector:
        """Upper bound of |g'| where |t| ≤ top."""
        high = (self.k + 1) * abs(self.second) * top**self.k
        return self.k * abs(self.first) * top ** (self.k - 1) + high


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
