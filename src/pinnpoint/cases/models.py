"""Models that a case names, run by their own libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.cases.specs import Case
from pinnpoint.models import Predictor, onnx_predictor
from pinnpoint.models.runtimes.files import from_factory, from_trusted


def open_model(case: Case, plain: Callable[[], Any], *, trust: bool) -> Any:
    """A network as a callable on points: `plain` reads a chain of layers exactly; others are run by their library."""
    spec = case.prediction
    if spec.model is not None:
        if not trust:
            raise InputError(
                f"prediction.model: opening '{spec.model.name}' runs code that its author put there; say "
                "--trust-model if you trust it, or export the model to ONNX or safetensors"
            )
        return from_trusted(spec.model)
    if spec.torch is not None and spec.factory is not None:
        extra = [case.path.parent] if trust else []
        return _times(from_factory(spec.torch, spec.factory, extra), spec.factor)
    if spec.onnx is not None and (spec.input is not None or spec.output is not None):
        return _times(onnx_predictor(spec.onnx, input=spec.input, output=spec.output), spec.factor)
    try:
        return plain()
    except InputError as refused:
        if spec.onnx is None:
            raise
        try:
            return _times(onnx_predictor(spec.onnx), spec.factor)
        except DependencyMissingError as error:
            raise InputError(
                f"{refused}; other graphs are run by onnxruntime: pip install 'pinnpoint[onnx]'"
            ) from error


def _times(predict: Predictor, factor: Any) -> Predictor:
    """A model's values times a formula."""
    if factor is None:
        return predict

    def product(X: Vector) -> Vector:
        u, w = predict(X), np.asarray(factor(X))
        return np.asarray(u * (w if u.ndim == 1 else w[:, None]))

    return Predictor(product, predict.description, predict.chunk, eps=predict.eps)
