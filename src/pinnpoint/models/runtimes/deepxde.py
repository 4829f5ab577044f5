"""DeepXDE models on points."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.models.runtimes.predictor import CHUNK, Predictor


def deepxde_predictor(model: Any, *, chunk: int = CHUNK) -> Predictor:
    """A compiled ``deepxde.Model``, by its ``predict``, in the number format that DeepXDE is set to."""
    if not callable(getattr(model, "predict", None)) or not hasattr(model, "net"):
        raise InputError(f"model: must be a deepxde.Model with a net; got {type(model).__name__}")
    import deepxde  # it made the model, so it is there

    dtype = np.dtype(deepxde.config.default_float())

    def evaluate(X: Vector) -> Vector:
        return floats("prediction", model.predict(X.astype(dtype)))

    told = f"deepxde {deepxde.__version__} ({deepxde.backend.backend_name}), {dtype.name}"
    return Predictor(evaluate, told, chunk, eps=float(np.finfo(dtype).eps))
