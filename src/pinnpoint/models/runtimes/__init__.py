"""Models of other libraries as predictions: callables on points (N, d), evaluated in chunks; libraries come in late."""

from pinnpoint.models.runtimes.deepxde import deepxde_predictor
from pinnpoint.models.runtimes.grid import grid_predictor
from pinnpoint.models.runtimes.jax import jax_predictor
from pinnpoint.models.runtimes.onnx import onnx_predictor
from pinnpoint.models.runtimes.operators import OperatorPredictor, deeponet_operator, neuralop_operator
from pinnpoint.models.runtimes.predictor import Predictor
from pinnpoint.models.runtimes.sklearn import sklearn_predictor
from pinnpoint.models.runtimes.torch import torch_predictor

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
