"""The sign of a formula on the whole real line, by interval arithmetic in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pinnpoint.formulas.expressions import CONSTANTS, Expression

Bound = Any
"""A fraction, or ±∞ as a float."""
Range = tuple[Bound, Bound]
INF = math.inf
LINE: Range = (-INF, INF)
Keyed = tuple[Range | None, tuple[Any, ...]]
"""A range, and the part of the formula that has it."""
RANGES: dict[str, Range] = {
    "sin": (Fraction(-1), Fraction(1)),
    "cos": (Fraction(-1), Fraction(1)),
    "asin": (Fraction(-2), Fraction(2)),
    "acos": (Fraction(0), Fraction(4)),
    "atan": (Fraction(-2), Fraction(2)),
    "cosh": (Fraction(1), INF),
    "tanh": (Fraction(-1), Fraction(1)),
    "exp": (Fraction(0), INF),
    "sqrt": (Fraction(0), INF),
    "abs": (Fraction(0), INF),
}
ODD = ("sinh", "tanh", "atan", "asin")


def nonnegative(f: Expression) -> bool:
    """Whether it is proved that f is defined everywhere and f ≥ 0; False says nothing."""
    ends = bounds(f)
    return ends is not None and bool(ends[0] >= 0)


def everywhere(f: Expression) -> bool:
    """Whether it is proved that f is defined on the whole line."""
    return bounds(f) is not None


def nonnegative_on(f: Expression, low: Any, high: Any) -> bool:
    """Whether it is proved that f ≥ 0 for coordinates x, y, z between these numbers; False says nothing."""
    ends = bounds(f, [(Fraction(a), Fraction(b)) for a, b in zip(map(float, low), map(float, high), strict=True)])
    return ends is not None and bool(ends[0] >= 0)


def bounds(f: Expression, box: Sequence[Range] | None = None) -> Range | None:
    """Bounds of a formula over the whole line, or over a box of its variables; None where it may be undefined."""
    words = iter(f.literals)

    def leaf(kind: str, what: Any) -> Keyed:
        if kind == "variable":
            return LINE if box is None else box[what], ((kind, what),)
        word = next(words)
        return _constant(word, what), (word,)

    def call(kind: str, what: Any, operands: list[Keyed]) -> Keyed:
        keys = [key for _, key in operands]
        whole = (*(part for key in keys for part in key), (kind, what))
        known = [a for a, _ in operands if a is not None]
        if len(known) < len(operands):
            return None, whole
        a = known[0]
        if kind == "negate":
            return (-a[1], -a[0]), whole
        if kind == "function":
            return _function(what, a), whole
        if what == "*" and keys[0] == keys[1]:
            return _power(a, 2), whole
        return _binary(what, a, known[1]) if kind == "operator" else LINE, whole

    return f.fold(leaf, call)[0]


def _constant(word: str, value: float) -> Range:
    if word not in CONSTANTS:
        return Fraction(word), Fraction(word)
    slip = Fraction(1, 10**15)
    return Fraction(value) - slip, Fraction(value) + slip


def _function(name: str, a: Range) -> Range | None:
    if (name in ("sqrt", "log") and not a[0] > 0) or name == "tan":
        return None
    if name in ("asin", "acos") and not (a[0] > -1 and a[1] < 1):
        return None
    low, high = RANGES.get(name, LINE)
    if name in ODD and a[0] >= 0:
        return Fraction(0), high
    if name in ODD and a[1] <= 0:
        return low, Fraction(0)
    return low, high


def _binary(mark: str, a: Range, b: Range) -> Range | None:
    if mark == "+":
        return _plus(a[0], b[0]), _plus(a[1], b[1])
    if mark == "-":
        return _plus(a[0], -b[1]), _plus(a[1], -b[0])
    if mark == "*":
        ends = [_times(x, y) for x in a for y in b]
        return min(ends), max(ends)
    if mark == "/":
        inverse = _inverse(b)
        return None if inverse is None else _binary("*", a, inverse)
    if b[0] == b[1] and isinstance(b[0], Fraction) and b[0].denominator == 1 and abs(b[0]) <= 64:
        power = _power(a, abs(int(b[0])))
        return power if b[0] >= 0 else _inverse(power)
    return (Fraction(0), INF) if a[0] > 0 else None


def _plus(x: Bound, y: Bound) -> Bound:
    """A sum; two ends of one kind are never infinite of different signs."""
    return x if isinstance(x, float) else y if isinstance(y, float) else x + y


def _times(x: Bound, y: Bound) -> Bound:
    if x == 0 or y == 0:
        return Fraction(0)
    if isinstance(x, float) or isinstance(y, float):
        return INF if (x > 0) == (y > 0) else -INF
    return x * y


def _inverse(a: Range) -> Range | None:
    low, high = a
    if low <= 0 <= high:
        return None
    below = Fraction(0) if isinstance(high, float) else 1 / high
    return below, Fraction(0) if isinstance(low, float) else 1 / low


def _power(a: Range, n: int) -> Range:
    if n == 0:
        return Fraction(1), Fraction(1)
    ends = [x**n if isinstance(x, Fraction) else (INF if x > 0 or n % 2 == 0 else -INF) for x in a]
    if n % 2:
        return ends[0], ends[1]
    return (Fraction(0) if a[0] <= 0 <= a[1] else min(ends)), max(ends)
