"""Where data or a prediction cannot be bounded on a box: a search for the place, so that a refusal can name it."""

from __future__ import annotations

from functools import partial

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.everywhere import grid
from pinnpoint.boxes.parts import Part, modelled
from pinnpoint.models.lifts import Lift
from pinnpoint.models.smooth import model_at
from pinnpoint.taylor.inputs import Data
from pinnpoint.taylor.models import TaylorModel

LEVELS = 14
"""Halvings of each axis."""
FOLLOWED = 48
"""Boxes without a bound that are cut on, at most."""


def require_bounded(equation: Equation, lift: Lift) -> None:
    """Refuse a prediction or data that stay unbounded on boxes as small as 2⁻¹⁴ of the sides, with the place."""
    for part in equation.parts(lift):
        place = _unbounded(equation, part)
        if place is None:
            continue
        data, name = _data(equation, part)
        only = Part(part.name, partial(_modelled, equation, data), *_like(part))
        mine = "prediction" if _unbounded(equation, only, place) is None else name
        said = ", ".join(
            f"{x} = {v:.6g}" for x, v in zip(equation.variables, _middle(equation, part, place), strict=True)
        )
        raise InputError(
            f"{mine}: it, or a derivative of it, is not bounded near {said}: a pole, an overflow, or a place outside "
            "the domain of a function; change it, or the box"
        )


def _modelled(equation: Equation, data: Data, X: list[TaylorModel]) -> TaylorModel:
    return model_at(data, X[: len(equation.variables)])


def _like(part: Part) -> tuple[tuple[int, ...], tuple[int, bool] | None, str, int]:
    return part.axes, part.face, part.when, part.block


def _data(equation: Equation, part: Part) -> tuple[Data, str]:
    if part.face is None:
        return (equation.initial, "initial") if part.when == "start" else (equation.source, "source")
    axis, upper = part.face
    return equation.given[part.face], equation.axes[axis].ends[int(upper)]


def _at(equation: Equation, part: Part) -> list[float | None]:
    at: list[float | None] = [None] * equation.d
    if part.face is not None:
        axis, upper = part.face
        at[axis] = equation.axes[axis].high if upper else equation.axes[axis].low
    return at


def _unbounded(
    equation: Equation, part: Part, within: tuple[Vector, Vector] | None = None
) -> tuple[Vector, Vector] | None:
    """A small box on which the part has no bound; None where every one has."""
    end = equation.end or 0.0
    low, high = grid(part, equation, (0.0, end)) if within is None else within
    extent = np.maximum(high.max(axis=0) - low.min(axis=0), 1e-300)
    for level in range(LEVELS * max(low.shape[1], 1) + 1):
        cells = modelled(part, low, high, end, _at(equation, part))
        lost = np.flatnonzero(~(np.isfinite(cells.e) & np.isfinite(cells.C).all(axis=0)))[:FOLLOWED]
        if not lost.size:
            return None
        low, high = low[lost], high[lost]
        if within is not None or level == LEVELS * low.shape[1] or not low.shape[1]:
            break
        axis = int(np.argmax((high[0] - low[0]) / extent))
        middle, first, second = 0.5 * (low[:, axis] + high[:, axis]), high.copy(), low.copy()
        first[:, axis] = second[:, axis] = middle
        low, high = np.concatenate([low, second]), np.concatenate([first, high])
    return low[:1], high[:1]


def _middle(equation: Equation, part: Part, box: tuple[Vector, Vector]) -> list[float]:
    """The place in the equation's coordinates."""
    found = [0.0 if x is None else x for x in _at(equation, part)]
    middle = (0.5 * (box[0] + box[1]))[0]
    for k, axis in enumerate(part.axes):
        found[axis] = float(middle[k])
    if equation.end is not None:
        found.append(equation.end - float(middle[-1]) if part.timed else 0.0)
    return found
