"""Predictors that need numpy alone: small networks with their exact derivatives, and lifts of predictions."""

from pinnpoint.models.hidden_bump import HiddenBump
from pinnpoint.models.lifts import Lift
from pinnpoint.models.mlp import MLP

__all__ = ["MLP", "HiddenBump", "Lift"]
