"""Predictors that need numpy alone: small networks with their exact derivatives, from files, and lifts of them."""

from pinnpoint.models.files import load_network
from pinnpoint.models.hidden_bump import HiddenBump
from pinnpoint.models.lifts import Lift
from pinnpoint.models.mlp import MLP
from pinnpoint.models.torch import from_torch

__all__ = ["MLP", "HiddenBump", "Lift", "from_torch", "load_network"]
