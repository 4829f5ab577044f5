"""Derivatives of formulas in one variable, as formulas: what is certified rests on g alone.

Numbers keep the words they were written with, so that a decimal of the derivative means the same real number.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression, parse

CHAIN = {
    "sin": "cos({})",
    "cos": "(-sin({}))",
    "tan": "(1/cos({})**2)",
    "asin": "(1/sqrt(1-{}**2))",
    "acos": "(-1/sqrt(1-{}**2))",
    "atan": "(1/(1+{}**2))",
    "sinh": "cosh({})",
    "cosh": "sinh({})",
    "tanh": "(1-tanh({})**2)",
    "exp": "exp({})",
    "log": "(1/{})",
    "sqrt": "(0.5/sqrt({}))",
}
Dual = tuple[str, str]
"""A formula and its derivative; both can stand as operands."""


def derivative(f: Expression) -> Expression | None:
    """f′ for a formula in one variable; None where f has corners (abs, min, max) or f′ is too long to be read."""
    if any(kind == "fold" or (kind == "function" and what not in CHAIN) for kind, what in f.program):
        return None
    words = iter(f.literals)

    def leaf(kind: str, what: Any) -> Dual:
        return (next(words), "0") if kind == "number" else (f.variables[what], "1")

    def call(kind: str, what: Any, operands: list[Dual]) -> Dual:
        a = operands[0]
        if kind == "negate":
            return f"(-{a[0]})", _times("(-1)", a[1])
        if kind == "function":
            return f"{what}({a[0]})", _times(CHAIN[what].format(a[0]), a[1])
        return f"({a[0]}{what}{operands[1][0]})", _RULES[what](*operands)

    try:
        return parse(f.fold(leaf, call)[1], f.variables, name=f"derivative of {f.name}")
    except InputError:
        return None


def _plus(a: str, b: str) -> str:
    return b if a == "0" else a if b == "0" else f"({a}+{b})"


def _minus(a: str, b: str) -> str:
    return a if b == "0" else f"(-{b})" if a == "0" else f"({a}-{b})"


def _times(a: str, b: str) -> str:
    if "0" in (a, b):
        return "0"
    return b if a == "1" else a if b == "1" else f"({a}*{b})"


def _quotient(a: Dual, b: Dual) -> str:
    first = "0" if a[1] == "0" else f"({a[1]}/{b[0]})"
    return _minus(first, "0" if b[1] == "0" else f"({_times(a[0], b[1])}/{b[0]}**2)")


def _power(a: Dual, b: Dual) -> str:
    if b[1] == "0":
        less = _less_one(b[0])
        base = "1" if less == "0" else a[0] if less == "1" else f"{a[0]}**{less}"
        return _times(_times(b[0], base if base in ("1", a[0]) else f"({base})"), a[1])
    whole = f"({a[0]}**{b[0]})"
    return _times(whole, _plus(_times(b[1], f"log({a[0]})"), "0" if a[1] == "0" else _times(b[0], f"({a[1]}/{a[0]})")))


def _less_one(exponent: str) -> str:
    """The exponent minus one, exactly."""
    try:
        less = Decimal(exponent.replace("(", "").replace(")", "")) - 1
    except InvalidOperation:
        return f"({exponent}-1)"
    if not math.isfinite(less) or len(less.as_tuple().digits) > 20:
        return f"({exponent}-1)"
    text = format(less.normalize(), "f")
    return f"({text})" if less < 0 else text


_RULES = {
    "+": lambda a, b: _plus(a[1], b[1]),
    "-": lambda a, b: _minus(a[1], b[1]),
    "*": lambda a, b: _plus(_times(a[1], b[0]), _times(a[0], b[1])),
    "/": _quotient,
    "**": _power,
}
