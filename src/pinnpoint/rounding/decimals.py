"""Ranges of nonnegative decimal numbers, for closed forms with roots and exponentials.

The decimal arithmetic of Python's standard library rounds every operation, √ and exp as its context says, correctly
and to any number of digits, where a C library's exp promises nothing. Operations round the ends outward, and raise
an ArithmeticError where they would divide by a range that reaches zero.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal

_WIDE = {
    "Emin": decimal.MIN_EMIN,
    "Emax": decimal.MAX_EMAX,
    "traps": [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
}


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`, 0 ≤ low ≤ high, with the digits that results are rounded to."""

    low: Decimal
    high: Decimal
    digits: int

    @classmethod
    def of(cls, x: float, digits: int) -> Range:
        """A float, exactly."""
        return cls(Decimal(x), Decimal(x), digits)

    @property
    def _down(self) -> decimal.Context:
        return decimal.Context(prec=self.digits, rounding=decimal.ROUND_FLOOR, **_WIDE)  # type: ignore[arg-type]

    @property
    def _up(self) -> decimal.Context:
        return decimal.Context(prec=self.digits, rounding=decimal.ROUND_CEILING, **_WIDE)  # type: ignore[arg-type]

    def __add__(self, other: Range) -> Range:
        return Range(self._down.add(self.low, other.low), self._up.add(self.high, other.high), self.digits)

    def __sub__(self, other: Range) -> Range:
        """The difference where it is known to be nonnegative."""
        low, high = self._down.subtract(self.low, other.high), self._up.subtract(self.high, other.low)
        return Range(max(low, Decimal(0)), max(high, Decimal(0)), self.digits)

    def __mul__(self, other: Range) -> Range:
        return Range(self._down.multiply(self.low, other.low), self._up.multiply(self.high, other.high), self.digits)

    def __truediv__(self, other: Range) -> Range:
        return Range(self._down.divide(self.low, other.high), self._up.divide(self.high, other.low), self.digits)

    def sqrt(self) -> Range:
        """√ of all of them; rounded to nearest, so one step further out."""
        if self.high == 0:
            return self
        low, high = self._down.sqrt(self.low), self._up.sqrt(self.high)
        # proofs.md, step 5k
        return Range(max(self._down.next_minus(low), Decimal(0)), self._up.next_plus(high), self.digits)

    def exp(self) -> Range:
        """Of all of them; rounded to nearest, so one step further out."""
        low, high = self._down.exp(self.low), self._up.exp(self.high)
        return Range(self._down.next_minus(low), self._up.next_plus(high), self.digits)  # proofs.md, step 5k

    def sinh(self) -> Range:
        """(eˣ − e⁻ˣ)/2 of all of them."""
        if self.high == 0:
            return self
        one, two, e = Range.of(1.0, self.digits), Range.of(2.0, self.digits), self.exp()
        return (e - one / e) / two

    @property
    def sharp(self) -> bool:
        """Whether both ends agree to more digits than a float holds."""
        return self._up.subtract(self.high, self.low) <= self._down.multiply(self.high, Decimal("1e-20"))

    def floats(self) -> tuple[float, float]:
        """The ends as floats, outward."""
        low, high = float(self.low), float(self.high)
        low = low if Decimal(low) <= self.low else math.nextafter(low, 0.0)
        return low, high if Decimal(high) >= self.high else math.nextafter(high, math.inf)
