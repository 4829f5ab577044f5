"""Nonlinear certification by verified roots."""

from pinnpoint.certifiers.nonlinear.root import Root
from pinnpoint_paper.nonlinear import study

STUDY = study(
    "nonlinear-root",
    "Nonlinear certification by verified roots",
    "−u″ + 20u³ = f on (0, 1), u = 0 at both ends; 31, 63, 95 and 127 interior nodes, 8 query points, 3 seeds. A root "
    "of "
    "the discrete system is verified near the prediction, which is corrected to first order; the Taylor remainder "
    "over the verified ball is part of the radius.",
    "sec. exp-nonlinear-root, fig. nonlinear-root",
    "root",
    "root",
    Root,
    ("nonlinear",),
)
