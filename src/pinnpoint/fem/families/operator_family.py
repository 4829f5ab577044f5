"""Families in which every instance has a diffusion coefficient of its own: prepared once, certified by the thousand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import number, whole
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.families.affine_outputs import AffineCertifier
from pinnpoint.fem.families.affine_families import partition, prepare_affine
from pinnpoint.fem.families.diffusion_families import DiffusionFamily, prepared, require_diffusion
from pinnpoint.fem.families.population_certifier import PopulationCertifier
from pinnpoint.fem.families.reduced_certifier import ReducedCertifier, prepare_reduced
from pinnpoint.systems.goals import Point
from pinnpoint.systems.queries import Queries

ONE_SOLVE = 12
"""Steps that a plain solve by the same means takes, to an error of about 1e-7."""


@dataclass(frozen=True, eq=False, repr=False)
class OperatorFamily(DiffusionFamily):
    """All problems −∇·(κ∇u) = f that differ from one in κ alone, κ one number on each cell or on each group."""

    @classmethod
    def of(
        cls, problem: Any, diffusion: str | Sequence[str], loads: Sequence[Mapping[str, Any]] | None
    ) -> OperatorFamily:
        """Check what was asked for."""
        further = _tables(loads)
        if isinstance(diffusion, str):
            if diffusion != "cells":
                raise InputError(f"diffusion: must be 'cells' or a list of cell groups; got {diffusion!r}")
            return cls(problem, None, further)
        if not isinstance(diffusion, Sequence):
            raise InputError(f"diffusion: must be 'cells' or a list of cell groups; got {diffusion!r}")
        partition(problem.mesh, diffusion, "diffusion")
        return cls(problem, tuple(diffusion), further)

    def prepare(
        self,
        queries: Queries,
        *,
        steps: int | None = None,
        dual_steps: int | None = None,
        tolerance: float | None = None,
        budget: int | str | None = None,
        patches: bool = False,
        target: str = "continuous",
    ) -> PopulationCertifier:
        """Everything that no κ changes.

        Parameters
        ----------
        queries
            The mean, averages over cells, blocks, balls and Neumann groups; in two dimensions points, also beside
            jumps of κ; with points instances go one by one, and cost more.
        steps
            Preconditioned steps for the state and its flux; 3 by default.
        dual_steps
            The same for each query's dual; 1 by default.
        tolerance
            Instead of `steps`: go on with an instance until its `gap` is below, or further steps make it less than 5 %
            smaller.
        budget
            Instead of steps: how often the reference's inverse is applied for an instance, or ``"one solve"`` for as
            often as a plain solve by the same means would.
        patches
            In two dimensions too take fluxes from patches, as is always done in three, not from stream functions:
            narrower by a little for few steps, and far dearer.
        target
            "continuous" for the PDE's own solution; "discrete" for the elements' one on this mesh, with points
            anywhere, in any dimension ([operators](operators.md), section 14).
        """
        discrete = discrete_target(target)
        if not isinstance(patches, bool):
            raise InputError(f"patches: must be True or False; got {patches!r}")
        if discrete and patches:
            raise InputError("patches: make fluxes, which target='discrete' does not have; leave them out")
        if sum(x is not None for x in (steps, tolerance, budget)) > 1:
            raise InputError("steps, tolerance, budget: are three ways to say the same; give one")
        aim = None if tolerance is None else number("tolerance", tolerance, above=0.0)
        made = prepared(self, queries, patches=patches, target=target)
        chosen = (
            3 if steps is None else whole("steps", steps),
            (3 if discrete else 1) if dual_steps is None else whole("dual_steps", dual_steps),
        )
        if budget is not None:
            chosen = _afforded(budget, len(made.with_duals))
        notes: tuple[str, ...] = (
            "κ is one number on each cell, as stored, and the domain the one that the mesh covers",
            "predictions are piecewise linear with the problem's Dirichlet values on the boundary",
        )
        if discrete:
            notes += ("the target is the discrete solution for the sum of the cells' stored matrices, not the PDE's",)
        elif any(isinstance(goal, Point) for goal in queries.goals):
            notes += ("of a point nothing is proved where κ jumps at the point itself: its radius is infinite there",)
        return PopulationCertifier(self, queries, chosen[0], chosen[1], aim, made, notes + self.unused)

    def reduce(
        self, queries: Queries, rank: int, within: tuple[float, float], *, target: str = "continuous"
    ) -> ReducedCertifier | AffineCertifier:
        """Reduced bases for κ constant on groups, from coefficients between the bounds `within`.

        `target` "discrete": intervals of the discrete solution, points and all other values included, for which
        linear and quadratic elements will do. *Guarantee:* for every κ, as `PopulationCertifier`'s and
        `AffineCertifier`'s; the bases only make intervals narrow.
        """
        if self.loads:
            raise InputError("loads: bases are for one load; make a family without")
        if not discrete_target(target):
            return prepare_reduced(self, queries, rank, within)
        if self.groups is None:
            raise InputError("rank: bases are for groups of cells; say operators(diffusion=[groups])")
        require_diffusion(self.problem)
        region = partition(self.problem.mesh, self.groups, "diffusion")
        terms = [self.product.matrix((region == k).astype(np.float64)) for k in range(len(self.groups))]
        made = prepare_affine(self.problem, terms, queries, rank, within, "κ")
        return replace(made, notes=(*made.notes, *self.unused))


def discrete_target(target: str) -> bool:
    """Whether the discrete solution is meant."""
    if target not in ("continuous", "discrete"):
        raise InputError(f"target: must be 'continuous' or 'discrete'; got {target!r}")
    return target == "discrete"


def _tables(loads: Any) -> tuple[Mapping[str, Any], ...]:
    if loads is None:
        return ()
    if isinstance(loads, Mapping | str) or not isinstance(loads, Sequence) or not loads:
        raise InputError("loads: must be a list of tables such as {'source': 'x', 'neumann': {'right': 1.0}}")
    for k, load in enumerate(loads):
        if not isinstance(load, Mapping):
            raise InputError(
                f"loads[{k}]: must be a table with 'source' or 'neumann', numbers or formulas: vectors do not say what "
                f"the equation's load is; got {type(load).__name__}"
            )
    return tuple(dict(load) for load in loads)


def _afforded(budget: int | str, duals: int) -> tuple[int, int]:
    """Steps and dual steps for so many applications of the reference's inverse."""
    if isinstance(budget, str) and budget != "one solve":
        raise InputError(f"budget: must be a whole number or 'one solve'; got {budget!r}")
    total = ONE_SOLVE if isinstance(budget, str) else whole("budget", budget, low=2)
    for steps in (3, 2, 1):
        left = total - 2 * steps
        if left >= 2 * duals or steps == 1:
            return (steps if duals else total // 2), max(0, left // (2 * duals)) if duals else 0
    raise AssertionError
