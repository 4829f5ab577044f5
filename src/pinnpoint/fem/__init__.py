"""Finite elements: from a mesh and a PDE to a compatible system, its queries and its predictions."""

from pinnpoint.fem.bracket import bracket
from pinnpoint.fem.coercivity import path_coercivity
from pinnpoint.fem.elasticity import Elasticity
from pinnpoint.fem.grids import from_grid
from pinnpoint.fem.loads import Load, spread
from pinnpoint.fem.parabolic.problem import Parabolic
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.fem.semilinear import Semilinear
from pinnpoint.systems.semilinear.reaction import Reaction

__all__ = [
    "Elasticity",
    "Load",
    "Parabolic",
    "Reaction",
    "ReactionDiffusion",
    "Semilinear",
    "bracket",
    "from_grid",
    "path_coercivity",
    "spread",
]
