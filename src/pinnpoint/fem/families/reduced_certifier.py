"""Families with a coefficient for each of a few groups: bases once, then microseconds for any coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.population import CERTIFIED, Population, joined
from pinnpoint.fem.families.affine_families import (
    between,
    corners_within,
    drawn_within,
    partition,
    rank_of,
    require_own,
)
from pinnpoint.fem.families.diffusion_families import DiffusionFamily, reference, require_diffusion
from pinnpoint.rounding.arithmetic import require_round_to_nearest
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.prepared import Prepared, prepare
from pinnpoint.transfer.operators.reduced import Reduced
from pinnpoint.transfer.operators.sums import Weights

CHUNK = 1024
"""Parameters at once."""
DRAWN = 3
"""Coefficients behind the bases, for each unit of the rank, beside corners of their range."""
MUST = "must be finite, > 0 and of moderate size"


@dataclass(frozen=True, eq=False)
class ReducedCertifier:
    """Bases for states and stream functions of the problem and of each query's dual.

    *Guarantee:* deterministic, rounding covered, discretisation included ([operators](operators.md), section 9), for
    every κ > 0: outside of the range that the bases are made for intervals grow by themselves. *Cost:* per parameter a
    few products with matrices of the rank's size, whatever the mesh.
    """

    family: DiffusionFamily
    queries: Queries
    prepared: Prepared
    rows: Vector
    notes: tuple[str, ...]

    __repr__ = brief

    def certify_many(self, kappas: ArrayLike) -> Population:
        """Intervals of the queries for rows of κ, (S, groups).

        The reduced state takes the prediction's place: `error` is its own relative energy error, `value` its values.
        """
        require_round_to_nearest()
        rows = floats("kappas", kappas)
        if rows.ndim != 2 or rows.shape[1] != self.family.width or not len(rows):
            raise InputError(f"kappas: must have shape (instances, {self.family.width}); got {rows.shape}")
        parts = [self._some(rows[a : a + CHUNK], a) for a in range(0, len(rows), CHUNK)]
        return parts[0] if len(parts) == 1 else joined(parts)

    def _some(self, kappas: Vector, first: int) -> Population:
        S, Q = len(kappas), len(self.queries)
        with np.errstate(invalid="ignore"):
            bad = ~(np.isfinite(kappas).all(axis=1) & (kappas.min(axis=1) > 1e-100) & (kappas.max(axis=1) < 1e100))
        used = np.where(bad[:, None], 1.0, kappas)
        engine: Any = self.prepared.engine
        found = self.prepared.enclose(used, np.zeros((S, 0)), None, 0, 0)
        value = engine.sides[0].combined(used) @ self.rows.T + self.queries.constants
        population = Population(
            self.queries.names,
            np.arange(first, first + S),
            **vars(found),
            value=value.reshape(S, Q),
            overwritten=np.zeros(S),
            steps=np.zeros(S, dtype=np.intp),
            contrast=used.max(axis=1) / used.min(axis=1),
            status=(CERTIFIED,) * S,
            notes=self.notes,
        )
        return population.refused(dict.fromkeys(np.flatnonzero(bad).tolist(), "kappa: " + MUST))


def prepare_reduced(
    family: DiffusionFamily, queries: Queries, rank: int, within: Any, seed: int = 0
) -> ReducedCertifier:
    """Bases of a rank from coefficients drawn between two bounds; which ones does not matter for proofs."""
    problem: Any = family.problem
    if family.groups is None:
        raise InputError("rank: bases are for groups of cells; say operators(diffusion=[groups])")
    rank = rank_of(rank)
    between(within)
    if problem.degree != 1:
        raise InputError("operators: linear elements only; say degree=1, or target='discrete'")
    require_diffusion(problem)
    require_own(problem, queries)
    model, values, groups = reference(problem)
    if model.d != 2 or np.any(values):
        raise InputError("rank: bases need two dimensions and u = 0 on Dirichlet groups")
    asked = queries.goals, queries.names, groups, problem.cell_numbers
    full = prepare(model, values, *asked, lattice=False, points=False)
    if not isinstance(full.engine, AnyMesh) or full.engine.holes or not full.proved:
        raise InputError("rank: bases need a domain without holes between Dirichlet groups, and data that are formulas")
    region = partition(problem.mesh, family.groups, "diffusion")
    count = len(family.groups)
    drawn = np.concatenate([drawn_within(within, DRAWN * rank, count, seed), corners_within(within, count)])
    engine = Reduced.of(full.engine, region, drawn, rank)
    assert isinstance(full.weights, Weights)
    weights = engine.weights(full.weights, region, count)
    made = replace(full, engine=engine, weights=weights)
    notes = (f"reduced bases of rank {rank}; κ is one number on each group", "the reduced state is the prediction")
    return ReducedCertifier(
        family, queries, made, np.asarray(queries.L @ engine.sides[0].states), notes + family.unused
    )
