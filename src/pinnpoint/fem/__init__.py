"""Finite elements: from a mesh and a PDE to a compatible system, its queries and its predictions."""

from pinnpoint.certifiers.families.affine_outputs import AffineCertifier
from pinnpoint.fem.affine_families import YoungFamily
from pinnpoint.fem.bracket import bracket
from pinnpoint.fem.coercivity import path_coercivity
from pinnpoint.fem.elasticity import Elasticity
from pinnpoint.fem.grids import from_grid, on_nodes
from pinnpoint.fem.loads import Load, spread
from pinnpoint.fem.operator_family import OperatorFamily
from pinnpoint.fem.parabolic.problem import Parabolic
from pinnpoint.fem.population_certifier import PopulationCertifier
from pinnpoint.fem.random_fields import darcy_fields
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.fem.reduced_certifier import ReducedCertifier
from pinnpoint.fem.semilinear import Semilinear
from pinnpoint.systems.semilinear.reaction import Reaction

__all__ = [
    "AffineCertifier",
    "Elasticity",
    "Load",
    "OperatorFamily",
    "Parabolic",
    "PopulationCertifier",
    "Reaction",
    "ReactionDiffusion",
    "ReducedCertifier",
    "Semilinear",
    "YoungFamily",
    "bracket",
    "darcy_fields",
    "from_grid",
    "on_nodes",
    "path_coercivity",
    "spread",
]
