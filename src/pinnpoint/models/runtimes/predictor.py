"""A prediction by a foreign model: evaluated in chunks, checked, and told what it was computed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

CHUNK = 65_536
"""Points handed to a model at once."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """A callable from points (N, d) to values (N,) or (N, c) in float64.

    Attributes
    ----------
    evaluate
        From at most `chunk` points to as many rows.
    description
        Library and number format; certificates repeat it in ``details["model"]``.
    pad
        Fill the last chunk up by repeating its last point, for models compiled for one size.
    eps
        Distance from 1 to the next number in the model's format; single precision where that is not known.
    """

    evaluate: Callable[[Vector], Any]
    description: str
    chunk: int = CHUNK
    pad: bool = False
    eps: float = 2.0**-23

    __repr__ = brief

    def __post_init__(self) -> None:
        if not callable(self.evaluate) or self.chunk < 1:
            raise InputError(
                f"evaluate, chunk: must be a function and a number ≥ 1; got {self.evaluate!r}, {self.chunk}"
            )

    def __call__(self, X: ArrayLike) -> Vector:
        """Values at points."""
        points = floats("points", X)
        if points.ndim != 2:
            raise InputError(f"points: must have shape (N, d); got {points.shape}")
        parts = [self._rows(points[a : a + self.chunk]) for a in range(0, len(points), self.chunk)]
        if not parts:
            raise InputError("points: there are none")
        if len({part.shape[1:] for part in parts}) > 1:
            raise InputError("prediction: the model's output changes its shape from one chunk to the next")
        values = np.concatenate(parts)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def _rows(self, X: Vector) -> Vector:
        n = len(X)
        if self.pad and n < self.chunk:
            X = np.concatenate([X, np.repeat(X[-1:], self.chunk - n, axis=0)])
        values = floats("prediction", self.evaluate(X))
        if values.ndim not in (1, 2) or len(values) != len(X):
            raise InputError(
                f"prediction: the model must map {len(X)} points to as many rows; got shape {values.shape}"
            )
        return values[:n]
