"""Finite elements: from a mesh and a PDE to a compatible system, its queries and its predictions."""

from typing import TYPE_CHECKING

from pinnpoint.base.lazy import importer

if TYPE_CHECKING:  # what type checkers see; a test compares it with the table below
    from pinnpoint.certifiers.families.affine_outputs import AffineCertifier
    from pinnpoint.fem.data.grids import from_grid, on_nodes
    from pinnpoint.fem.elastic.bracket_loads import bracket
    from pinnpoint.fem.elastic.elasticity import Elasticity
    from pinnpoint.fem.elastic.loads import Load, spread
    from pinnpoint.fem.families.affine_families import YoungFamily
    from pinnpoint.fem.families.operator_family import OperatorFamily
    from pinnpoint.fem.families.population_certifier import PopulationCertifier
    from pinnpoint.fem.families.random_fields import darcy_fields
    from pinnpoint.fem.families.reduced_certifier import ReducedCertifier
    from pinnpoint.fem.parabolic.problem import Parabolic
    from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
    from pinnpoint.fem.semilinear import Semilinear
    from pinnpoint.fem.stability.coercivity import path_coercivity
    from pinnpoint.solvers.reference import Reference
    from pinnpoint.systems.semilinear.reaction import Reaction

_HOMES = {
    "AffineCertifier": "pinnpoint.certifiers.families.affine_outputs",
    "Elasticity": "elastic.elasticity",
    "Load": "elastic.loads",
    "OperatorFamily": "families.operator_family",
    "Parabolic": "parabolic.problem",
    "PopulationCertifier": "families.population_certifier",
    "Reaction": "pinnpoint.systems.semilinear.reaction",
    "ReactionDiffusion": "reaction_diffusion",
    "ReducedCertifier": "families.reduced_certifier",
    "Reference": "pinnpoint.solvers.reference",
    "Semilinear": "semilinear",
    "YoungFamily": "families.affine_families",
    "bracket": "elastic.bracket_loads",
    "darcy_fields": "families.random_fields",
    "from_grid": "data.grids",
    "on_nodes": "data.grids",
    "path_coercivity": "stability.coercivity",
    "spread": "elastic.loads",
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
