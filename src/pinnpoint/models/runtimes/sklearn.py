"""scikit-learn regressors and pipelines on points."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.models.runtimes.predictor import CHUNK, Predictor


def sklearn_predictor(estimator: Any, *, chunk: int = CHUNK) -> Predictor:
    """A fitted regressor, or a pipeline that ends in one, by its ``predict``."""
    if not callable(getattr(estimator, "predict", None)):
        raise InputError(f"estimator: must have a method predict; got {type(estimator).__name__}")
    if hasattr(estimator, "classes_"):
        raise InputError(f"estimator: must be a regressor; {type(estimator).__name__} is a classifier")

    def evaluate(X: Vector) -> Vector:
        try:
            return floats("prediction", estimator.predict(X))
        except ValueError as error:  # not fitted, or made for another number of coordinates
            raise InputError(f"estimator: {error}") from error

    return Predictor(evaluate, f"{type(estimator).__module__.partition('.')[0]} {type(estimator).__name__}", chunk)
