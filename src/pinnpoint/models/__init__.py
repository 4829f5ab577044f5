"""Predictors that need numpy alone: small networks with their exact derivatives."""

from pinnpoint.models.hidden_bump import HiddenBump
from pinnpoint.models.mlp import MLP

__all__ = ["MLP", "HiddenBump"]
