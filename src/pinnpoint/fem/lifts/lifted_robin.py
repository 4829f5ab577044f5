"""What a smooth prediction leaves of a Robin condition."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.models.lifts import Lift
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.models.smooth import CHUNK, SmoothField, model_at, values_at
from pinnpoint.taylor.inputs import enclosed, model_of
from pinnpoint.taylor.models import TaylorModel


def exchanged(lift: Lift | OpaqueLift, alpha: Any, left: Any) -> Any:
    """The field g − κ∂_n u − αu, from what is left of the flux, g − κ∂_n u; enclosed where all of it is."""
    u = lift.value
    if enclosed(left) and enclosed(u) and (enclosed(alpha) or not callable(alpha)):
        block = left.block if isinstance(left, SmoothField) else CHUNK
        return SmoothField(partial(_model, u, alpha, left), block)  # robin.md, step 5a
    return partial(_values, u, alpha, left)


def _model(u: Any, alpha: Any, left: Any, X: list[TaylorModel]) -> TaylorModel:
    return model_of(left, X) - model_at(alpha, X) * model_of(u, X)


def _values(u: Any, alpha: Any, left: Any, X: Vector) -> Vector:
    return np.asarray(values_at(left, X) - values_at(alpha, X) * np.asarray(u(X)))
