"""Predictors: networks with their exact derivatives, lifts of them, and adapters for models of other libraries."""

from pinnpoint.models.adapters import (
    Predictor,
    deepxde_predictor,
    grid_predictor,
    jax_predictor,
    onnx_predictor,
    sklearn_predictor,
    torch_predictor,
)
from pinnpoint.models.files import load_network
from pinnpoint.models.hidden_bump import HiddenBump
from pinnpoint.models.lifts import Lift
from pinnpoint.models.mlp import MLP
from pinnpoint.models.opaque import Smoothness
from pinnpoint.models.torch import from_torch

__all__ = [
    "MLP",
    "HiddenBump",
    "Lift",
    "Predictor",
    "Smoothness",
    "deepxde_predictor",
    "from_torch",
    "grid_predictor",
    "jax_predictor",
    "load_network",
    "onnx_predictor",
    "sklearn_predictor",
    "torch_predictor",
]
