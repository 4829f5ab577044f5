"""Numbers for people: rounded outward, so that what is printed still holds."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

UNBOUNDED = "unbounded"
NONE = "–"
SPACE = "\N{NO-BREAK SPACE}"
EXACT = Context(prec=1200)
"""Enough digits for any float64, so that a number is rounded once."""
MOST = 17
"""Digits of a float64."""


def interval(lower: float | None, upper: float | None) -> tuple[str, str]:
    """Both ends to the digits that their distance deserves: the lower rounded down, the upper rounded up."""
    if lower is None or upper is None:
        return UNBOUNDED, UNBOUNDED
    size, half = max(abs(lower), abs(upper)), 0.5 * (upper - lower)
    power = _power(size)
    least = _exponent(size) - MOST + 1 if size > 0.0 else 0
    last = max(_exponent(half) - 1, least) if half > 0.0 else least
    return _show(lower, power, last, ROUND_FLOOR), _show(upper, power, last, ROUND_CEILING)


def above(x: float | None, digits: int = 3) -> str:
    """A bound, rounded up."""
    return UNBOUNDED if x is None else _digits(x, digits, ROUND_CEILING)


def below(x: float | None, digits: int = 3) -> str:
    """A lower bound, rounded down."""
    return UNBOUNDED if x is None else _digits(x, digits, ROUND_FLOOR)


def near(x: float | None, digits: int = 6) -> str:
    """A value, rounded to the nearest, without zeros at its end."""
    if x is None:
        return NONE
    plain, mark, power = _digits(x, digits, ROUND_HALF_EVEN).partition("e")
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain) + mark + power


def short(x: float) -> str:
    """A number somebody chose, as they would write it."""
    return f"{x:g}".replace("e-0", "e-").replace("e+0", "e")


def percent(share: float) -> str:
    """A share of one."""
    if share > 1e4:
        return f"over 1e6{SPACE}%"
    if 0.999 < share < 1.0:
        return f"over 99.9{SPACE}%"
    if 0.0 < share < 0.001:
        return f"under 0.1{SPACE}%"
    return f"{100.0 * share:.{1 if 0.0 < share < 0.1 or 0.99 < share < 1.0 else 0}f}{SPACE}%"


def _digits(x: float, digits: int, rule: str) -> str:
    return _show(x, _power(abs(x)), _exponent(abs(x)) - digits + 1, rule)


def _exponent(x: float) -> int:
    return Decimal(x).adjusted() if x > 0.0 and math.isfinite(x) else 0


def _power(size: float) -> int:
    """The power of ten that is taken out; none for numbers of a plain size."""
    return 0 if size == 0.0 or 1e-3 <= size < 1e6 else _exponent(size)


def _show(x: float, power: int, last: int, rule: str) -> str:
    last = min(last, power)
    mantissa = Decimal(x).scaleb(-power, EXACT).quantize(Decimal(1).scaleb(last - power), rule, EXACT)
    plain = f"{mantissa:f}".replace("-", "\N{MINUS SIGN}")
    return plain + (f"e{power}" if power else "")
