"""Models of other libraries as predictions: callables on points (N, d), evaluated in chunks; libraries come in late."""

from pinnpoint.models.adapters.deepxde import deepxde_predictor
from pinnpoint.models.adapters.grid import grid_predictor
from pinnpoint.models.adapters.jax import jax_predictor
from pinnpoint.models.adapters.onnx import onnx_predictor
from pinnpoint.models.adapters.predictor import Predictor
from pinnpoint.models.adapters.sklearn import sklearn_predictor
from pinnpoint.models.adapters.torch import torch_predictor

__all__ = [
    "Predictor",
    "deepxde_predictor",
    "grid_predictor",
    "jax_predictor",
    "onnx_predictor",
    "sklearn_predictor",
    "torch_predictor",
]
