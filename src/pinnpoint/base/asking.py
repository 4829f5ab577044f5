"""Asking a callable prediction for values: what it raises is a refusal in one line, with the error behind it."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError, PinnpointError


def asked(prediction: Any, X: Vector, name: str = "prediction") -> Vector:
    """Values of a callable at points (N, d), which it gets as a copy of its own."""
    try:
        return floats(name, prediction(X.copy()))
    except (PinnpointError, MemoryError):
        raise
    except Exception as error:  # whatever somebody's model does with points
        said = next(iter(str(error).splitlines()), "")[:160]
        if isinstance(error, TypeError) and "Tensor" in said:
            raise InputError(
                f"{name}: takes tensors, not arrays ({said}); wrap it as pinnpoint.models.torch_predictor(function)"
            ) from error
        raise InputError(
            f"{name}: raised {type(error).__name__} ({said}) when asked at points {X.shape}; it must map points "
            "(N, d), one row each, to as many values"
        ) from error
