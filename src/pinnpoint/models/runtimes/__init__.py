"""Models of other libraries as predictions: callables on points (N, d), evaluated in chunks; libraries come in late."""

from typing import TYPE_CHECKING

from pinnpoint.base.lazy import importer

if TYPE_CHECKING:  # what type checkers see; a test compares it with the table below
    from pinnpoint.models.runtimes.deepxde import deepxde_predictor
    from pinnpoint.models.runtimes.grid import grid_predictor
    from pinnpoint.models.runtimes.jax import jax_predictor
    from pinnpoint.models.runtimes.onnx import onnx_predictor
    from pinnpoint.models.runtimes.operators import OperatorPredictor, deeponet_operator, neuralop_operator
    from pinnpoint.models.runtimes.predictor import Predictor
    from pinnpoint.models.runtimes.sklearn import sklearn_predictor
    from pinnpoint.models.runtimes.torch import torch_predictor

_HOMES = {
    "OperatorPredictor": "operators",
    "Predictor": "predictor",
    "deeponet_operator": "operators",
    "deepxde_predictor": "deepxde",
    "grid_predictor": "grid",
    "jax_predictor": "jax",
    "neuralop_operator": "operators",
    "onnx_predictor": "onnx",
    "sklearn_predictor": "sklearn",
    "torch_predictor": "torch",
}
"""The module that each public name comes from."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any
    __getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


__all__ = [
    "OperatorPredictor",
    "Predictor",
    "deeponet_operator",
    "deepxde_predictor",
    "grid_predictor",
    "jax_predictor",
    "neuralop_operator",
    "onnx_predictor",
    "sklearn_predictor",
    "torch_predictor",
]
