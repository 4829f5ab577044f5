"""Formulas on Taylor models.

A decimal number, pi or e in a formula means the real number; the float that the program holds enters as the centre of
a ball that contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pinnpoint.errors import InputError
from pinnpoint.expressions import CONSTANTS, TOKEN, Expression
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.taylor import functions
from pinnpoint.taylor.models import TaylorModel, constant

FUNCTIONS: dict[str, Any] = {
    "sin": functions.sin,
    "cos": functions.cos,
    "tan": functions.tan,
    "asin": functions.asin,
    "acos": functions.acos,
    "atan": functions.atan,
    "sinh": functions.sinh,
    "cosh": functions.cosh,
    "tanh": functions.tanh,
    "exp": functions.exp,
    "log": functions.log,
    "sqrt": functions.sqrt,
    "abs": functions.absolute,
}
FOLDS: dict[str, Any] = {"min": functions.minimum, "max": functions.maximum}
OPERATORS: dict[str, Any] = {
    "+": TaylorModel.__add__,
    "-": TaylorModel.__sub__,
    "*": TaylorModel.__mul__,
    "/": TaylorModel.__truediv__,
    "**": functions.power,
}


def evaluate(expression: Expression, coordinates: Sequence[TaylorModel]) -> TaylorModel:
    """The model of a formula from the models of the coordinates; a constant formula gives a constant."""
    errors = iter(literal_errors(expression))
    stack: list[TaylorModel] = []
    for kind, what in expression.program:
        if kind == "number":
            stack.append(constant(what, next(errors)))
        elif kind == "variable":
            if what >= len(coordinates):
                raise InputError(
                    f"{expression.name}: {expression.variables[what]} in a {len(coordinates)}D problem; "
                    f"the formula is '{expression.text[:60]}'"
                )
            stack.append(coordinates[what])
        elif kind == "negate":
            stack.append(-stack.pop())
        elif kind == "function":
            stack.append(FUNCTIONS[what](stack.pop()))
        else:
            b, a = stack.pop(), stack.pop()
            stack.append((OPERATORS if kind == "operator" else FOLDS)[what](a, b))
    return stack.pop()


@lru_cache(maxsize=256)
def _errors(text: str, held: tuple[float, ...]) -> tuple[float, ...]:
    words = [match.group() for match in TOKEN.finditer(text) if match.group(1) or match.group(2) in CONSTANTS]
    return tuple(_error(word.strip(), value) for word, value in zip(words, held, strict=True))


def literal_errors(expression: Expression) -> tuple[float, ...]:
    """Bounds of the distance between each number of the program and the real number that the text means.

    Postfix keeps operands in the order of the text.
    """
    held = tuple(float(what) for kind, what in expression.program if kind == "number")
    return _errors(expression.text, held)


def _error(word: str, value: float) -> float:
    if word in CONSTANTS or len(word) > 40 or abs(int(word.lower().partition("e")[2] or 0)) > 300:
        return UNIT * abs(value) + TINY
    exact = Fraction(word)
    return 0.0 if exact == Fraction(value) else UNIT * abs(value) + TINY
