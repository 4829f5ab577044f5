"""JAX functions on points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.models.runtimes.predictor import Predictor


def jax_predictor(function: Callable[[Any], Any], *, chunk: int = 4096) -> Predictor:
    """A function of an array (N, d), such as ``lambda X: model.apply(params, X)``; compiled once for one chunk size.

    It computes in JAX's own precision: float32 unless ``jax_enable_x64`` was set.
    """
    try:
        import jax
    except ImportError as error:
        raise DependencyMissingError("jax_predictor needs jax: pip install 'pinnpoint[jax]'") from error
    if not callable(function):
        raise InputError(f"function: must be a function of an array (N, d); got {type(function).__name__}")
    compiled = jax.jit(function)
    dtype = np.dtype(np.float64 if jax.config.jax_enable_x64 else np.float32)

    def evaluate(X: Vector) -> Vector:
        found = compiled(X.astype(dtype))
        if getattr(found, "dtype", None) == jax.numpy.bfloat16:  # which numpy does not know by itself
            found = found.astype(jax.numpy.float32)
        return floats("prediction", found)

    return Predictor(evaluate, f"jax {jax.__version__}, {dtype.name}", chunk, pad=True)
