"""Predictors: networks with their exact derivatives, lifts of them, and adapters for models of other libraries."""

from typing import TYPE_CHECKING

from pinnpoint.base.lazy import importer

if TYPE_CHECKING:  # what type checkers see; a test compares it with the table below
    from pinnpoint.models.lifts import Lift
    from pinnpoint.models.networks import hidden_bump as hidden_bump
    from pinnpoint.models.networks.files import load_network
    from pinnpoint.models.networks.hidden_bump import HiddenBump
    from pinnpoint.models.networks.mlp import MLP
    from pinnpoint.models.networks.torch import from_torch
    from pinnpoint.models.networks.two_heads import DarcyOperator
    from pinnpoint.models.opaque import Smoothness
    from pinnpoint.models.runtimes.deepxde import deepxde_predictor
    from pinnpoint.models.runtimes.grid import grid_predictor
    from pinnpoint.models.runtimes.jax import jax_predictor
    from pinnpoint.models.runtimes.onnx import onnx_predictor
    from pinnpoint.models.runtimes.operators import OperatorPredictor, deeponet_operator, neuralop_operator
    from pinnpoint.models.runtimes.predictor import Predictor
    from pinnpoint.models.runtimes.sklearn import sklearn_predictor
    from pinnpoint.models.runtimes.torch import torch_predictor
    from pinnpoint.models.vector_lifts import VectorLift

_HOMES = {
    "DarcyOperator": "networks.two_heads",
    "HiddenBump": "networks.hidden_bump",
    "Lift": "lifts",
    "MLP": "networks.mlp",
    "OperatorPredictor": "runtimes.operators",
    "Predictor": "runtimes.predictor",
    "Smoothness": "opaque",
    "VectorLift": "vector_lifts",
    "deeponet_operator": "runtimes.operators",
    "deepxde_predictor": "runtimes.deepxde",
    "from_torch": "networks.torch",
    "grid_predictor": "runtimes.grid",
    "hidden_bump": "networks",
    "jax_predictor": "runtimes.jax",
    "load_network": "networks.files",
    "neuralop_operator": "runtimes.operators",
    "onnx_predictor": "runtimes.onnx",
    "sklearn_predictor": "runtimes.sklearn",
    "torch_predictor": "runtimes.torch",
}
"""The module that each public name comes from."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any
    __getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


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
