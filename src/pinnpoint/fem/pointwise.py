"""Whether a callable is a function of points: its values must not depend on when, or in whose company, it is asked.

No proof, but what noise, dropout, statistics of the batch, sums over rows and counters fail. A prediction that is none
has no value at a query of its own, so that there is nothing to compare with the certified interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, asked
from pinnpoint.base.errors import InputError
from pinnpoint.models.runtimes.predictor import Predictor

TOGETHER = 16
"""Points that are asked twice more, without the others."""
ALONE = 4
"""Points of these that are asked each by itself."""
SINGLE = 2.0**-23


def require_function(prediction: Any, X: Vector, values: Vector) -> None:
    """Refuse a callable that gave these finite values (N, c) at the points, and gives others when it is asked again.

    Asked twice in the same way the answers may differ by 4096 ε of the largest; in other company, where sums run in
    another order, three eighths of the digits must agree: ε^(3/8), with ε of the model's number format, or of single
    precision where that is not known.
    """
    spread = np.unique(np.linspace(0, len(X) - 1, TOGETHER).astype(int))
    spread = np.random.default_rng(0).permutation(spread)  # in another order, which sorted values would not follow
    few = spread[np.unique(np.linspace(0, len(spread) - 1, ALONE).astype(int))]
    eps = prediction.eps if isinstance(prediction, Predictor) else SINGLE
    scale = float(np.max(np.abs(values)))
    first = _rows(prediction, X[spread], values)
    _require_same(first, _rows(prediction, X[spread], values), 4096.0 * eps * scale)
    _require_same(values[spread], first, eps**0.375 * scale)
    alone = np.concatenate([_rows(prediction, X[k : k + 1], values) for k in few])
    _require_same(values[few], alone, eps**0.375 * scale)


def _rows(prediction: Any, X: Vector, values: Vector) -> Vector:
    """Values at a part of the points, in the shape (N, c) that they had for all."""
    found = asked(prediction, X)
    if found.size != len(X) * values.shape[1]:
        raise InputError(
            f"prediction: gives shape {found.shape} for {len(X)} points; it must give as many rows as it gets"
        )
    return found.reshape(len(X), -1)


def _require_same(values: Vector, again: Vector, within: float) -> None:
    if not np.all(np.abs(values - again) <= within):
        raise InputError(
            "prediction: gives other values when the same points are asked again or in other company; is dropout or "
            "noise on, or are statistics of the batch used?"
        )
