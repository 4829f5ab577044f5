"""Nonlinear certification by verified stationary points of the least-squares functional."""

from pinnpoint.certifiers.nonlinear.stationary import Stationary
from pinnpoint_paper.nonlinear import study

STUDY = study(
    "nonlinear-stationary",
    "Nonlinear least-squares stationary targets",
    "The same equation, meshes, queries and base points as in the study of roots; the target is the stationary point "
    "of "
    "½‖F‖² near the prediction, with its own remainder.",
    "app. exp-nonlinear-ls, fig. nonlinear-ls",
    "stationary",
    "stationary point",
    Stationary,
    (),
)
