"""Predictors that need numpy alone: small networks with their exact derivatives, from files, and lifts of them."""

from pinnpoint.models.files import load_network
from pinnpoint.models.hidden_bump import HiddenBump
from pinnpoint.models.lifts import Lift
from pinnpoint.models.mlp import MLP
from pinnpoint.models.opaque import Smoothness
from pinnpoint.models.torch import from_torch

__all__ = ["MLP", "HiddenBump", "Lift", "Smoothness", "from_torch", "load_network"]
