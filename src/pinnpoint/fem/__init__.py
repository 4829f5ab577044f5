"""Finite elements: from a mesh and a PDE to a compatible system, its queries and its predictions."""

from typing import TYPE_CHECKING

from pinnpoint.base.lazy import importer

if TYPE_CHECKING:  # what type checkers see; a test compares it with the table below
    from pinnpoint.certifiers.families.affine_outputs import AffineCertifier
    from pinnpoint.fem.affine_families import YoungFamily
    from pinnpoint.fem.bracket_loads import bracket
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
    from pinnpoint.solvers.reference import Reference
    from pinnpoint.systems.semilinear.reaction import Reaction

_HOMES = {
    "AffineCertifier": "pinnpoint.certifiers.families.affine_outputs",
    "Elasticity": "elasticity",
    "Load": "loads",
    "OperatorFamily": "operator_family",
    "Parabolic": "parabolic.problem",
    "PopulationCertifier": "population_certifier",
    "Reaction": "pinnpoint.systems.semilinear.reaction",
    "ReactionDiffusion": "reaction_diffusion",
    "ReducedCertifier": "reduced_certifier",
    "Reference": "pinnpoint.solvers.reference",
    "Semilinear": "semilinear",
    "YoungFamily": "affine_families",
    "bracket": "bracket_loads",
    "darcy_fields": "random_fields",
    "from_grid": "grids",
    "on_nodes": "grids",
    "path_coercivity": "coercivity",
    "spread": "loads",
}
"""The module that each public name comes from."""

if not TYPE_CHECKING:  # a type checker would take every misspelt name for Any
    __getattr__ = importer(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})


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
    "Reference",
    "Semilinear",
    "YoungFamily",
    "bracket",
    "darcy_fields",
    "from_grid",
    "on_nodes",
    "path_coercivity",
    "spread",
]
