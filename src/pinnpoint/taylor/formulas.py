"""Formulas on Taylor models.

A decimal number, pi or e in a formula means the real number; the float that the program holds enters as the centre of
a ball that contains it.

Where a function may be undefined on an element its model has an infinite remainder, and then the whole formula's has:
bounded functions around it, as in atan(log(x)), do not make a number of what is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import CONSTANTS, Expression
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.taylor import functions
from pinnpoint.taylor.models import TaylorModel, constant, settled

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


CALLS = {"function": FUNCTIONS, "operator": OPERATORS, "fold": FOLDS}
PARTIAL = ("asin", "acos", "log", "sqrt", "tan", "/", "**")
"""What is not defined everywhere."""
T = TypeVar("T")
Watch = Callable[[str, Sequence[TaylorModel], TaylorModel], None]


def evaluate(expression: Expression, coordinates: Sequence[TaylorModel]) -> TaylorModel:
    """The model of a formula from the models of the coordinates; a constant formula gives a constant."""
    doubts = Doubts()
    return doubts.on(walk(expression, coordinates, doubts.watch))


class Doubts:
    """On which elements a partial function was not shown to be defined."""

    def __init__(self) -> None:
        self.lost: Any = np.False_

    def watch(self, what: str, arguments: Sequence[TaylorModel], found: TaylorModel) -> None:
        """Take note of a partial function's model."""
        self.lost = self.lost | ~np.isfinite(found.e)  # taylor.md, step 2m

    def on(self, model: TaylorModel) -> TaylorModel:
        """The model with an infinite remainder on those elements."""
        if not np.any(self.lost):
            return model
        shape = np.broadcast_shapes(model.e.shape, np.shape(self.lost))
        C = np.broadcast_to(model.C, (*shape[:-1], model.C.shape[-2], shape[-1]))
        # taylor.md, step 2m
        return settled(model.space, C, np.where(self.lost, np.inf, model.e), model.least, model.most)


def walk(expression: Expression, coordinates: Sequence[TaylorModel], watch: Watch) -> TaylorModel:
    """The model without regard to what is undefined on the way; `watch` is told the models of partial functions."""

    def call(kind: str, what: Any, operands: list[TaylorModel]) -> TaylorModel:
        model: TaylorModel = -operands[0] if kind == "negate" else CALLS[kind][what](*operands)
        if what in PARTIAL:
            watch(what, operands, model)
        return model

    return expression.fold(leaves(expression, coordinates, constant), call)


def leaves(
    expression: Expression, coordinates: Sequence[T], number: Callable[[float, float], T]
) -> Callable[[str, Any], T]:
    """Numbers, made from their values and errors, and coordinates, for a fold of the formula."""
    errors = iter(literal_errors(expression))

    def leaf(kind: str, what: Any) -> T:
        if kind == "number":
            return number(what, next(errors))
        if what >= len(coordinates):
            raise InputError(
                f"{expression.name}: {expression.variables[what]} in a {len(coordinates)}D problem; the formula is "
                f"'{expression.text[:60]}'"
            )
        return coordinates[int(what)]

    return leaf


@lru_cache(maxsize=256)
def literal_errors(expression: Expression) -> tuple[float, ...]:
    """Bounds of the distance between each number of the program and the real number that the text means."""
    values = [float(what) for kind, what in expression.program if kind == "number"]
    return tuple(_error(word, value) for word, value in zip(expression.literals, values, strict=True))


def _error(word: str, value: float) -> float:
    if word in CONSTANTS or len(word) > 40 or abs(int(word.lower().partition("e")[2] or 0)) > 300:
        return UNIT * abs(value) + TINY
    exact = Fraction(word)
    return 0.0 if exact == Fraction(value) else UNIT * abs(value) + TINY  # taylor.md, step 6b
