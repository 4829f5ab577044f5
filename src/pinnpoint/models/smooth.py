"""Fields that enclose themselves, and data as numbers, formulas or functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, number, point_list
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.taylor.inputs import Data, model_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import in_blocks
from pinnpoint.taylor.spaces import POINT

CHUNK = 4096
Function = Callable[[Vector], Any]
Models = Sequence[TaylorModel]


@dataclass(frozen=True, eq=False)
class SmoothField:
    """A function of points that encloses itself: the centres of its models at points are its values."""

    model: Callable[[list[TaylorModel]], TaylorModel]
    block: int = CHUNK
    """Elements computed at once."""
    terms: Any = 0.0
    """Data of the size of the terms that cancel in this: rounding is relative to it."""

    __repr__ = brief

    def taylor(self, coordinates: Models) -> TaylorModel:
        """The model over the set on which the coordinates are given."""
        return in_blocks(self.model, coordinates, self.block)

    def __call__(self, X: Vector) -> Vector:
        """Values (N,) at points (N, d)."""
        P = point_list("X", X, len(X))
        values = np.empty(len(P))
        for start in range(0, len(P), CHUNK):
            part = P[start : start + CHUNK]
            model = in_blocks(
                self.model, [TaylorModel(POINT, x[None].copy(), np.zeros(len(part))) for x in part.T], CHUNK
            )
            if not np.isfinite(model.e).all():
                bad = part[int(np.argmax(~np.isfinite(model.e)))]
                raise InputError(f"X: the prediction is not defined at {bad.tolist()}, or leaves the range of float64")
            values[start : start + CHUNK] = model.C[0]
        return values


def data(name: str, given: Data | str) -> Any:
    """A number, a formula of the text, or a function."""
    given = parse(given, name=name) if isinstance(given, str) else given
    return given if callable(given) else number(name, given)


def model_at(g: Any, coordinates: Models) -> TaylorModel:
    """The model of a number, a formula or smooth data."""
    return model_of(g, coordinates) if callable(g) else constant(g)


def values_at(g: Data, X: Vector) -> Any:
    """Values at points, or the number."""
    return np.asarray(g(X)) if callable(g) else g
