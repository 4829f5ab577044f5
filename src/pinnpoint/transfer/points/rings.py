"""Moments of kernels on the rings that halvings of a ball's radius make.

Where c = 0 the kernel of a point is that of the unit ball, (R^{2−d}/κ) φ(r/R), so that its moments on the ring from
R·place/2^level to R·(place + 1)/2^level are R²/κ times those of φ between two dyadic numbers: these are computed once,
for all balls.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.line_moments import Ring


class Radial(Protocol):
    """A radial function on a ball, by its moments on rings."""

    @property
    def d(self) -> int:
        """Dimension."""

    @property
    def radius(self) -> float:
        """Of the ball."""

    def moments(self, a: float, b: float, order: int) -> Ring:
        """∫_a^b Φ ξ^m r^{d−1} dr, m = 0 … order, with ξ from −1 to 1; bounds of the errors; bound of ∫|Φ| r^{d−1}."""


def ring(kernel: Radial, level: int, place: int, order: int) -> Ring:
    """The moments on the place-th of 2^level rings; its ends are those of `ends`, or what these are rounded from."""
    if isinstance(kernel, Kernel) and kernel.c == 0.0 and kernel.inner is None:
        values, errors, size = _unit(kernel.d, kernel.k, level, place, order)
        scale = kernel.radius * kernel.radius / kernel.kappa
        wrong = up(scale * (errors + gamma(4) * np.abs(values)) * (1.0 + gamma(4)) + TINY, 4)  # continuous.md, step 8b
        return scale * values, np.asarray(wrong), float(up(scale * size * (1.0 + gamma(4)) + TINY, 4))
    a, b = ends(kernel.radius, np.array(level), np.array(place))
    return kernel.moments(float(a), float(b), order)


def ends(R: float | Vector, level: Index, place: Index) -> tuple[Vector, Vector]:
    """Ends of rings, each rounded once; scaling by powers of two is exact, so rings of all levels share their ends."""
    step = R * 0.5 ** level.astype(np.float64)
    return step * place, step * (place + 1)


@lru_cache(maxsize=4096)
def _unit(d: int, k: int, level: int, place: int, order: int) -> Ring:
    """Of −Δ in the unit ball; the ends are floats."""
    step = 0.5**level
    return Kernel.build(d, 1.0, 0.0, 1.0, k).moments(step * place, step * (place + 1), order)
