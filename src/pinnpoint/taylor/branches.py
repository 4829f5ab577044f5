"""Formulas with abs, min and max on a set where their arguments have one sign: the smooth formula that they are there.

On a set where x − 1/2 > 0, 1 + abs(x − 1/2) is 1 + (x − 1/2). The new formula has the literals of the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.brief import brief
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.taylor.formulas import CALLS, leaves
from pinnpoint.taylor.models import TaylorModel, constant

BENDING = ("abs", "min", "max")


@dataclass(frozen=True, eq=False)
class Bend:
    """Where a formula was not shown to be smooth.

    Attributes
    ----------
    what, argument
        The function, and the text of what must not change its sign.
    low, high
        Bounds of that argument.
    """

    what: str
    argument: str
    low: float
    high: float

    __repr__ = brief


def bends(expression: Expression) -> bool:
    """Whether a formula has abs, min or max."""
    return any(kind in ("function", "fold") and what in BENDING for kind, what in expression.program)


def branch(expression: Expression, coordinates: Sequence[TaylorModel]) -> Expression | Bend:
    """The smooth formula that is the same on all of the set that the coordinates are models over, or what bends."""
    found: list[Bend] = []
    literals = iter(expression.literals)
    number = leaves(expression, coordinates, constant)

    def leaf(kind: str, what: Any) -> tuple[str, TaylorModel]:
        text = next(literals) if kind == "number" else expression.variables[what]
        return text, number(kind, what)

    def call(kind: str, what: Any, operands: list[tuple[str, TaylorModel]]) -> tuple[str, TaylorModel]:
        texts, models = [t for t, _ in operands], [m for _, m in operands]
        if kind == "negate":
            return f"(-{texts[0]})", -models[0]
        model: TaylorModel = CALLS[kind][what](*models)
        if what not in BENDING:
            return (f"{what}({texts[0]})" if kind == "function" else f"({texts[0]}{what}{texts[1]})"), model
        gap = models[0] if what == "abs" else models[0] - models[1]
        low, high = float(np.min(gap.bounds[0])), float(np.max(gap.bounds[1]))
        argument = texts[0] if what == "abs" else f"{texts[0]}-{texts[1]}"
        if not (low > 0.0 or high < 0.0):
            found.append(Bend(what, argument, low, high))
            return texts[0], model
        if what == "abs":
            return (texts[0] if low > 0.0 else f"(-{texts[0]})"), model  # kernels.md, step 4e
        return texts[0 if (low > 0.0) == (what == "max") else 1], model  # kernels.md, step 4e

    text, _ = expression.fold(leaf, call)
    return found[0] if found else parse(text, expression.variables, name=expression.name)
