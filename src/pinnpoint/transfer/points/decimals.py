"""Decimal numbers with a proved error, for closed forms that cancel too much for binary64.

All work happens inside ``with precision(digits):``. An operation on values v rounds by at most |v| 10^{1−digits}; the
errors are floats, inflated by more than their own rounding and kept off underflow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache

from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, up

INFLATE, FLOOR = 1.0 + 1e-12, 1e-300


@contextmanager
def precision(digits: int) -> Iterator[None]:
    """Do the enclosed arithmetic with this many significant digits."""
    with localcontext() as context:
        context.prec = digits
        yield


@dataclass(frozen=True)
class Enclosed:
    """A real number within `error` of `value`."""

    value: Decimal
    error: float = 0.0

    __repr__ = brief

    @classmethod
    def of(cls, x: Enclosed | Fraction | Decimal | float | int) -> Enclosed:
        """Exactly x, but for a fraction, which is divided out."""
        if isinstance(x, Enclosed):
            return x
        if isinstance(x, Fraction):
            return cls(Decimal(x.numerator)) / cls(Decimal(x.denominator))
        return cls(Decimal(x))

    def __add__(self, other: Enclosed | int) -> Enclosed:
        other = Enclosed.of(other)
        return _rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Enclosed | int) -> Enclosed:
        other = Enclosed.of(other)
        return _rounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other: Enclosed | int) -> Enclosed:
        other = Enclosed.of(other)
        error = _size(self.value) * other.error + (_size(other.value) + other.error) * self.error
        return _rounded(self.value * other.value, error)

    def __truediv__(self, other: Enclosed | int) -> Enclosed:
        other = Enclosed.of(other)
        v, low = self.value / other.value, _size(other.value) / INFLATE - other.error
        if not low > 0.0:
            raise ZeroDivisionError("the divisor is not separated from zero")
        return _rounded(v, (self.error + _size(v) * other.error) / low)

    def __neg__(self) -> Enclosed:
        return Enclosed(-self.value, self.error)

    def widened(self, extra: float) -> Enclosed:
        """The same with a larger error."""
        return Enclosed(self.value, (self.error + extra) * INFLATE)

    def log(self) -> Enclosed:
        """Natural logarithm of a positive number."""
        low = _size(self.value) / INFLATE - self.error
        if not (self.value > 0 and low > 0.0):
            raise ZeroDivisionError("the argument of the logarithm is not separated from zero")
        return _rounded(self.value.ln(), self.error / low)

    def sqrt(self) -> Enclosed:
        """Root of a positive number."""
        low = _size(self.value) / INFLATE - self.error
        if not (self.value > 0 and low > 0.0):
            raise ZeroDivisionError("the argument of the root is not separated from zero")
        return _rounded(self.value.sqrt(), self.error / math.sqrt(low))  # kernels.md, step 2a

    def size(self) -> float:
        """Upper bound of the absolute value."""
        return float((_size(self.value) + self.error) * INFLATE)

    def sign(self) -> int:
        """−1 or 1 where the sign is certain, else 0."""
        if not _size(self.value) / INFLATE > self.error:
            return 0
        return 1 if self.value > 0 else -1

    def rounded(self) -> tuple[float, float]:
        """The nearest float, and a bound of its distance to the number."""
        v = float(self.value)
        return v, float(up(self.error + abs(v) * UNIT + FLOOR))


def total(terms: Iterable[Enclosed]) -> Enclosed:
    """Sum."""
    s = Enclosed(Decimal(0))
    for t in terms:
        s = s + t
    return s


def pi() -> Enclosed:
    """π by Machin's formula in integers: 16 atan(1/5) − 4 atan(1/239)."""
    return _pi(getcontext().prec)


@lru_cache(maxsize=256)
def _pi(prec: int) -> Enclosed:
    """The same within ``precision(prec)``."""
    digits = prec + 10
    one = 10**digits

    def arctangent(n: int) -> int:
        power, s, j = one // n, 0, 0
        while power:
            s += (-1) ** j * (power // (2 * j + 1))
            power //= n * n
            j += 1
        return s

    value = 16 * arctangent(5) - 4 * arctangent(239)
    # fewer than digits terms, each cut by less than three units of the ten guard digits
    return _rounded(Decimal(value) / Decimal(one), math.ldexp(1.0, -3) * 10.0 ** -min(prec, 290))


def _size(x: Decimal) -> float:
    return abs(float(x)) * INFLATE + FLOOR


def _rounded(value: Decimal, error: float) -> Enclosed:
    unit = 10.0 ** (1 - min(getcontext().prec, 290))
    return Enclosed(value, (error + _size(value) * unit) * INFLATE + FLOOR)  # proofs.md, step 5k
