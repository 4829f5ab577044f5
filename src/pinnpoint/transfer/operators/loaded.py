"""Families in which every instance combines loads of its own, beside its coefficient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import gamma, sum_up, up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.grid import Grid
from pinnpoint.transfer.operators.particular import Geometry, Particular, particulars
from pinnpoint.transfer.operators.prepared import EXACTLY, Enclosures, Prepared, row_bound
from pinnpoint.transfer.operators.sums import FirstWeights, Weights
from pinnpoint.transfer.operators.triangles import Triangles


@dataclass(frozen=True, eq=False)
class Loaded:
    """What no κ and no μ changes, for f = f₀ + Σ μ_k f_k and fluxes through the boundary likewise.

    Attributes
    ----------
    base
        With the problem's own load.
    engine
        Its steps and sums.
    loads, states
        Of the further loads, and their reference states, (N, K).
    data
        ∫ f_kΦ of each query with a dual that is a point, and bounds of the errors, (2, duals, K); zero for others.
    tails
        Bounds of ‖½D_k(x − x̄)‖ of the problem's own load and the further ones.
    duals
        Divergences of the duals' fluxes, (C, duals).
    """

    base: Prepared
    engine: AnyMesh | Grid
    loads: tuple[Particular, ...]
    states: Vector
    data: Vector
    tails: tuple[float, ...]
    duals: Any

    __repr__ = brief

    @property
    def with_duals(self) -> tuple[int, ...]:
        """Numbers of the queries that have a dual."""
        return self.base.with_duals

    @property
    def proved(self) -> bool:
        """Whether all loads are enclosed."""
        return self.base.proved and all(p.proved for p in self.loads)

    def of(self, mu: Vector) -> Prepared:
        """For one combination, (K,)."""
        # operators.md, step 12a
        first = combined((self.base.loads[0], *self.loads), np.append(1.0, mu), self.tails)
        every, geometry = (first, *self.base.loads[1:]), self.base.fuzz.geometry
        engine = self.engine.with_first(first, self.engine.reference[:, 0] + self.states @ mu)
        table = self.base.weights
        assert isinstance(table, Weights)
        value, error = self.data[0] @ mu, up(self.data[1] @ np.abs(mu) * (1.0 + gamma(len(mu) + 4)), 8)
        rounding = gamma(len(mu) + 4) * 1.01 * (np.abs(self.data[0]) @ np.abs(mu))
        points = tuple(
            None
            if p is None
            else replace(
                p,
                constant=p.constant + float(value[q]),
                error=float(up(p.error + float(error[q] + rounding[q]) + gamma(2) * abs(p.constant), 8)),
            )  # operators.md, step 12b
            for q, p in enumerate(self.base.points)
        )
        return replace(
            self.base,
            points=points,
            engine=engine,
            loads=every,
            weights=FirstWeights(table, first, geometry.spread / 4.0, self.duals),
            asked=replace(self.base.asked, load=row_bound(first)),
        )

    def enclose(
        self,
        kappas: Vector,
        predictions: Vector,
        streams: Vector | None,
        steps: int,
        dual_steps: int,
        mu: Vector | None = None,
    ) -> Enclosures:
        """Of instances with κ > 0 (I, C), admissible predictions (I, N) and μ (I, K)."""
        assert mu is not None
        each = []
        for i in range(len(kappas)):
            one = slice(i, i + 1)
            psi = None if streams is None else streams[one]
            each.append(self.of(mu[i]).enclose(kappas[one], predictions[one], psi, steps, dual_steps))
        names = Enclosures.__dataclass_fields__
        return Enclosures(*(np.concatenate([vars(e)[name] for e in each]) for name in names))


def further_loads(
    triangles: Triangles, geometry: Geometry, models: Sequence[Continuum]
) -> tuple[tuple[Particular, ...], Vector]:
    """Loads with fluxes around the reference's states, and these states, (N, K)."""
    ones, found, states = np.ones(len(geometry.area)), [], []
    for model in models:
        row = model.vector(model.load, model.boundary_load)[:, None]
        state = triangles.primal_steps(ones, row, np.zeros_like(row), EXACTLY)
        found += particulars(model, state.T, [(model.load, model.boundary_load)], geometry)
        states.append(state[:, 0])
    return tuple(found), np.stack(states, axis=1)


def tails_of(loads: Sequence[Particular], geometry: Geometry) -> tuple[float, ...]:
    """Bounds of ‖½D(x − x̄)‖."""
    area = geometry.spread * (1.0 + geometry.slack)
    return tuple(math.sqrt(sum_up(np.asarray(up(p.divergence**2 * area, 8)))) / 2.0 for p in loads)


def combined(loads: Sequence[Particular], mu: Vector, tails: Sequence[float]) -> Particular:
    """Σ μ_k times loads with their fluxes; what is wrong with each counts |μ_k| times."""
    size, rounding = np.abs(mu), gamma(len(mu) + 4) * 1.01

    def total(parts: Sequence[Vector]) -> Vector:
        return np.asarray(sum(m * x for m, x in zip(mu, parts, strict=True)))

    def bound(parts: Sequence[float]) -> float:
        return float(up(float(size @ np.array(parts)) * (1.0 + rounding), 8))

    sizes = [p.size for p in loads]
    slip = [p.slip + rounding * (p.size + tail) for p, tail in zip(loads, tails, strict=True)]  # operators.md, step 12b
    rough: Vector | None = None
    if any(p.rough is not None for p in loads):
        parts = [np.zeros(len(loads[0].divergence)) if p.rough is None else p.rough for p in loads]
        rough = np.asarray(up(sum(m * x for m, x in zip(size, parts, strict=True)) * (1.0 + rounding), 8))
    return Particular(
        total([p.flux for p in loads]),
        total([p.divergence for p in loads]),
        bound(slip),
        bound(sizes),
        rough,
        bound([p.means for p in loads]),
        total([p.facets for p in loads]),
        total([p.row for p in loads]),
        bound([p.row_size for p in loads]),
        bound([p.row_error + rounding * p.row_size for p in loads]),
        all(p.proved for p in loads),
    )
