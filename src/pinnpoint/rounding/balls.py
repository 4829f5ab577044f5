"""Vectors with a proved error: double-double centres and componentwise radii."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import TINY, UNIT, norm_up, two_sum, up


@dataclass(frozen=True, eq=False)
class Ball:
    """All real vectors v with ``|v − (hi + lo)| ≤ err`` componentwise.

    ``lo`` and ``err`` may be None, which stands for zero.
    """

    hi: Vector
    lo: Vector | None = None
    err: Vector | None = None

    __repr__ = brief

    @property
    def size(self) -> int:
        """Number of components."""
        return int(self.hi.size)

    def magnitude(self) -> Vector:
        """Componentwise upper bound of |v|."""
        return self._magnitude

    @cached_property
    def _magnitude(self) -> Vector:
        m = np.abs(self.hi)
        if self.lo is not None:
            m += np.abs(self.lo)
        if self.err is not None:
            m += self.err
        if self.lo is not None or self.err is not None:
            m *= 1.0 + 16.0 * UNIT  # proofs.md, step 5b
            m += TINY
        return m

    def norm(self, scale: Vector | None = None) -> float:
        """Upper bound of ‖D v‖₂ over the ball, for a positive diagonal D."""
        m = self.magnitude()
        return norm_up(m) if scale is None else norm_up(np.asarray(up(m * scale)))

    def __getitem__(self, index: Any) -> Ball:
        lo, err = (None if x is None else x[index] for x in (self.lo, self.err))
        return Ball(self.hi[index], lo, err)

    def __neg__(self) -> Ball:
        return Ball(-self.hi, None if self.lo is None else -self.lo, self.err)

    def __add__(self, other: Ball) -> Ball:
        """Enclosure of the sum, in double-double arithmetic."""
        s, t = two_sum(self.hi, other.hi)
        # At most three small terms: two roundings, each relative to their absolute sum.
        small = [t] + [x for x in (self.lo, other.lo) if x is not None]
        c, size = t, np.abs(t)
        for x in small[1:]:
            c, size = c + x, size + np.abs(x)
        hi, lo = two_sum(s, c)
        err = 4.0 * UNIT * size  # proofs.md, step 5b
        for e in (self.err, other.err):
            err = err if e is None else err + e
        return Ball(hi, lo, np.asarray(up(err, 8)))

    def __sub__(self, other: Ball) -> Ball:
        return self + (-other)

    def rounded(self) -> tuple[Vector, Vector]:
        """Midpoints as plain floats, and upper bounds of their distance from any member."""
        if self.lo is None and self.err is None:
            return self.hi, np.zeros_like(self.hi)
        mid = self.hi if self.lo is None else self.hi + self.lo
        err = UNIT * np.abs(mid)  # proofs.md, step 5b
        if self.err is not None:
            err = err + self.err
        return mid, np.asarray(up(err, 8))


def exact(x: Vector) -> Ball:
    """A vector known exactly."""
    return Ball(x)
