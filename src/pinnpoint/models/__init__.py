"""Predictors: networks with their exact derivatives, lifts of them, and adapters for models of other libraries."""

from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks import hidden_bump as hidden_bump
from pinnpoint.models.networks.files import load_network
from pinnpoint.models.networks.hidden_bump import HiddenBump
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import from_torch
from pinnpoint.models.networks.two_heads import DarcyOperator
from pinnpoint.models.opaque import Smoothness
from pinnpoint.models.runtimes import (
    OperatorPredictor,
    Predictor,
    deeponet_operator,
    deepxde_predictor,
    grid_predictor,
    jax_predictor,
    neuralop_operator,
    onnx_predictor,
    sklearn_predictor,
    torch_predictor,
)
from pinnpoint.models.vector_lifts import VectorLift

__all__ = [
    "MLP",
    "DarcyOperator",
    "HiddenBump",
    "Lift",
    "OperatorPredictor",
    "Predictor",
    "Smoothness",
    "VectorLift",
    "deeponet_operator",
    "deepxde_predictor",
    "from_torch",
    "grid_predictor",
    "jax_predictor",
    "load_network",
    "neuralop_operator",
    "onnx_predictor",
    "sklearn_predictor",
    "torch_predictor",
]
