"""Numbers for people: rounded outward, so that what is printed still holds."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

UNBOUNDED = "unbounded"
NONE = "–"
MOST = 17
"""Digits of a float64."""


def interval(lower: float | None, upper: float | None) -> tuple[str, str]:
    """Both ends to the digits that their distance deserves: the lower rounded down, the upper rounded up."""
    if lower is None or upper is None:
        return UNBOUNDED, UNBOUNDED
    size, half = max(abs(lower), abs(upper)), 0.5 * (upper - lower)
    power = _power(size)
    last = max(_exponent(half) - 1 if half > 0.0 else _exponent(size) - MOST + 1, _exponent(size) - MOST + 1)
    return _show(lower, power, last, ROUND_FLOOR), _show(upper, power, last, ROUND_CEILING)


def above(x: float | None, digits: int = 3) -> str:
    """A bound, rounded up."""
    return UNBOUNDED if x is None else _digits(x, digits, ROUND_CEILING)


def below(x: float | None, digits: int = 3) -> str:
    """A lower bound, rounded down."""
    return UNBOUNDED if x is None else _digits(x, digits, ROUND_FLOOR)


def near(x: float | None, digits: int = 6) -> str:
    """A value, rounded to the nearest."""
    return NONE if x is None else _digits(x, digits, ROUND_HALF_EVEN)


def percent(share: float) -> str:
    """A share of one."""
    return "< 0.1 %" if 0.0 < share < 0.001 else f"{100.0 * share:.{1 if share < 0.1 else 0}f} %"


def _digits(x: float, digits: int, rule: str) -> str:
    return _show(x, _power(abs(x)), _exponent(abs(x)) - digits + 1, rule)


def _exponent(x: float) -> int:
    return Decimal(x).adjusted() if x > 0.0 and math.isfinite(x) else 0


def _power(size: float) -> int:
    """The power of ten that is taken out; none for numbers of a plain size."""
    return 0 if size == 0.0 or 1e-3 <= size < 1e6 else _exponent(size)


def _show(x: float, power: int, last: int, rule: str) -> str:
    last = min(last, power)
    mantissa = Decimal(x).scaleb(-power).quantize(Decimal(1).scaleb(last - power), rounding=rule)
    plain = f"{mantissa:f}".replace("-", "\N{MINUS SIGN}")
    return plain + (f"e{power:+03d}" if power else "")
