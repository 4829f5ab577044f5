"""Instances on any mesh, in three dimensions too: fluxes of patches that the steps' own correction balances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.certificates.transfer import PRODUCTS
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, norm_up, sum_up, up
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.reference import Sines, conjugate, cycles
from pinnpoint.systems.goals import Cells, Goal
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET, Anchors
from pinnpoint.transfer.energy.cells import COUNT
from pinnpoint.transfer.energy.estimator import Bounds, Estimator, Pair, Side
from pinnpoint.transfer.flux.equilibration import equilibrate
from pinnpoint.transfer.goals import Functional, Groups
from pinnpoint.transfer.operators.any_mesh import starts
from pinnpoint.transfer.operators.particular import Geometry
from pinnpoint.transfer.operators.prepared import Enclosures, bounded_form, settled, total_load
from pinnpoint.transfer.operators.sums import Fuzz, Norms, StateSums, own_norm, two_sided
from pinnpoint.transfer.operators.triangles import gradients

Load = tuple[Density, Any]


@dataclass(frozen=True, eq=False)
class Patched:
    """Everything that no κ changes, where fluxes come from patches.

    Attributes
    ----------
    loads
        The problem's, then those of the queries with duals.
    rows, states
        Of the loads, and of the reference κ = 1, (N, 1 + Q).
    acting
        The bounded forms of queries with duals, by their numbers.
    means, total
        Queries that the energy gives the mean of, f|Ω| and its error.
    """

    model: Continuum
    geometry: Geometry
    gradient: Any
    free: Index
    held: Index
    factor: SparseLU | Sines
    loads: tuple[Load, ...]
    rows: Vector
    states: Vector
    acting: dict[int, Functional]
    means: tuple[int, ...]
    constants: dict[int, tuple[float, float]]
    count: int
    total: tuple[float, float]
    zero: bool
    proved: bool

    __repr__ = brief

    @property
    def with_duals(self) -> tuple[int, ...]:
        """Numbers of the queries that have a dual."""
        return tuple(self.acting)

    def enclose(
        self,
        kappas: Vector,
        predictions: Vector,
        streams: Vector | None,
        steps: int,
        dual_steps: int,
        mu: Vector | None = None,
    ) -> Enclosures:
        """Of instances with κ > 0 (I, C) and admissible predictions (I, N); there are no stream functions here."""
        each = [self._one(k, u, steps, dual_steps) for k, u in zip(kappas, predictions, strict=True)]
        return settled(tuple(np.array([e[i] for e in each]) for i in range(9)))

    def corrected(self, kappa: Vector, predicted: Vector, steps: int, dual_steps: int) -> tuple[Vector, Vector]:
        """States after the steps, and v = Ā⁻¹(b − A u) for each, both (N, 1 + Q)."""
        d = self.model.d
        weights = np.repeat(self.geometry.area * kappa, d)
        gradient = self.gradient[:, self.free]
        states = starts(self.gradient, weights, self.held, self.rows, self.states, predicted)
        weights = weights[:, None]
        v = np.zeros_like(states)

        def operate(p: Vector) -> Vector:
            return np.asarray(gradient.T @ (weights * (gradient @ p)))

        def left(part: slice) -> Vector:
            slopes = self.gradient @ states[:, part]
            return np.asarray(self.rows[self.free, part] - gradient.T @ (weights * slopes))

        def matrix() -> Any:
            return gradient.T @ sp.diags_array(weights[:, 0]) @ gradient

        spread = float(kappa.max() / kappa.min())
        own = cycles(matrix, spread, asked=None) if steps or dual_steps else None
        for part, count in ((slice(0, 1), steps), (slice(1, None), dual_steps)):
            if states[:, part].shape[1]:
                states[self.free, part] += conjugate(operate, own or self.factor.solve, left(part), count)
                v[self.free, part] = self.factor.solve(left(part))  # operators.md, step 7a
        return states, v

    def _one(self, kappa: Vector, predicted: Vector, steps: int, dual_steps: int) -> tuple[Any, ...]:
        model, d = self.model, self.model.d
        states, v = self.corrected(kappa, predicted, steps, dual_steps)
        C, m = len(kappa), states.shape[1]
        slopes = (self.gradient @ states).reshape(C, 1, d, m) + (self.gradient @ v).reshape(C, 1, d, m) / kappa[
            :, None, None, None
        ]
        sources = np.stack([w.coefficients for w, _ in self.loads], axis=2)
        prescribed = model.prescribed([g for _, g in self.loads])
        flux = equilibrate(model.joined, kappa, slopes, sources, model.kind, prescribed, 0)  # operators.md, step 7b
        estimator = self._estimator(kappa)
        sides = [Side(states[:, k], w, flux[..., k], g) for k, (w, g) in enumerate(self.loads)]
        guess = replace(sides[0], nodal=predicted)
        duals = [(side, 1.0, True) for side in sides[1:]]
        primal, pairs = estimator.measure(sides[0], [*duals, (sides[0], 1.0, True)])
        other, _ = estimator.measure(guess, [])
        low, upper = two_sided(self._norms(estimator, other), self._norms(estimator, primal))
        high = min(float(upper), estimator.energy(other))
        squares = self._own(kappa, states[:, 0], primal, pairs[-1], estimator)
        least, most = float(down(math.sqrt(squares[0]), 4)), float(up(math.sqrt(squares[1]), 4))
        center, radius = self._intervals(estimator, primal, pairs[:-1], squares)
        eta = estimator.energy(primal)
        with np.errstate(all="ignore"):
            relative = [float(up(np.divide(x, max(least, 0.0)))) for x in (high, eta)]
        return relative[0], float(down(float(low) / most)), high, float(low), most, least, relative[1], center, radius

    def _estimator(self, kappa: Vector) -> Estimator:
        """Bounds from fluxes for this κ, with the constants of κ = 1."""
        model, one = self.model, self.model.anchors
        root, least = down(np.sqrt(kappa), 2), float(down(math.sqrt(kappa.min()), 2))
        constants = Anchors(  # operators.md, step 1c
            one.slack,
            np.asarray(up(one.convex / root)),
            one.diameter,
            one.volume,
            one.reaction,
            np.asarray(up(one.step / least)),
            np.asarray(up(one.reach / least)),
            float(up(one.friedrichs / least)),
        )
        T = model.topology
        return Estimator(T, model.points, model.cell_nodes, 1, kappa, model.reaction, model.kind, constants)

    @staticmethod
    def _norms(estimator: Estimator, p: Bounds) -> Norms:
        """√A from below and above, and ν."""
        near = estimator.anchors.slack + gamma(COUNT)
        loose = sum_up(np.asarray(up(4.0 * near * p.size * p.size, 8)))
        square, fuzz = math.fsum(p.square.tolist()), norm_up(p.fuzz)
        low = max(0.0, float(down(math.sqrt(max(0.0, float(down(square - loose)))), 4)) - fuzz)
        high = float(up(math.sqrt(max(0.0, square) + loose), 4)) + fuzz
        rest = norm_up(np.asarray(up(estimator.anchors.convex * p.oscillation))) + norm_up(p.facet) + p.means
        return Norms(*(np.array(x) for x in (max(0.0, float(down(low))), float(up(high)), fuzz, float(up(rest)))))

    def _own(
        self, kappa: Vector, state: Vector, primal: Bounds, own: Pair, estimator: Estimator
    ) -> tuple[float, float]:
        """‖u‖_a² from below and above."""
        eta = estimator.energy(primal)
        if self.zero:  # operators.md, step 7c
            slip = own.rounding + own.data + 8.0 * UNIT * abs(own.value)
            return max(0.0, float(down(own.value - slip))), float(up(max(0.0, own.value) + eta * eta + slip, 8))
        fuzz, most = Fuzz.of(self.geometry), np.array(up(math.sqrt(kappa.max())))
        slopes = self.gradient @ state
        energy = np.array(np.repeat(self.geometry.area * kappa, self.model.d) @ (slopes * slopes))
        zero = np.zeros(())
        sums = StateSums(zero, energy, zero, zero, zero, np.array(np.abs(state).max()), zero, np.zeros(0))
        found = own_norm(sums, Norms(zero, np.array(eta), zero, zero), fuzz, most, zero=False)
        return float(found[0]), float(found[1])

    def _intervals(
        self, estimator: Estimator, primal: Bounds, pairs: Sequence[Pair], squares: tuple[float, float]
    ) -> tuple[Vector, Vector]:
        center, radius = np.zeros(self.count), np.full(self.count, math.inf)
        for (q, J), pair in zip(self.acting.items(), pairs, strict=True):
            low, high, share = estimator.product_bound(primal, pair)
            if math.isfinite(share):
                half = 0.5 * (high - low)
                size = abs(pair.value) + abs(J.constant) + abs(low) + abs(high)
                slip = pair.rounding + pair.data + J.error + (8.0 * UNIT + 2.0 * J.scale) * size + PRODUCTS * half
                center[q] = pair.value + J.constant + 0.5 * (low + high)  # operators.md, step 3b
                radius[q] = up(half + slip, 16)
        for q in self.means:
            ends = squares[0] / self.total[0], squares[1] / self.total[0]  # operators.md, step 2f
            relative = 2.0 * self.total[1] / abs(self.total[0]) + 16.0 * UNIT
            center[q] = 0.5 * (ends[0] + ends[1])
            radius[q] = up(0.5 * abs(ends[1] - ends[0]) + relative * max(abs(ends[0]), abs(ends[1])), 8)
        for q, (value, error) in self.constants.items():
            center[q], radius[q] = value, error
        return center, radius


def prepare_patches(
    model: Continuum,
    values: Vector,
    goals: Sequence[Goal | None],
    names: Sequence[str],
    facets_of: Groups,
    cells_of: Groups,
) -> Patched:
    """For a model with κ = 1 and no reaction; `values` has the Dirichlet values at their nodes, zero elsewhere."""
    T, cells = model.topology, len(model.topology.cells)
    geometry = Geometry.of(model.points, T.cells)
    gradient = gradients(T, geometry)
    held = np.unique(T.facets[model.kind == DIRICHLET])
    free = np.setdiff1d(np.arange(len(values)), held)
    A = sp.csr_array(gradient.T @ sp.diags_array(np.repeat(geometry.area, model.d)) @ gradient)[free][:, free]
    A = sp.csr_array(0.5 * (A + A.T))
    transforms = Sines.of(A, model.points[free])
    factor = SparseLU(A) if transforms is None else transforms
    zero = not np.any(values)
    total = total_load(model, geometry) if zero else (0.0, 0.0)
    means = tuple(q for q, g in enumerate(goals) if isinstance(g, Cells) and g.cells is None and total[0] != 0.0)
    forms = {q: bounded_form(model, g, names[q], facets_of, cells_of) for q, g in enumerate(goals) if q not in means}
    acting = {q: J for q, J in forms.items() if J.acts}
    none = Density.constant(np.zeros(cells), model.d)
    loads: list[Load] = [(model.load, model.boundary_load)]
    loads += [(none if J.source is None else J.source.on_all(cells), J.load) for J in acting.values()]
    rows = np.stack([model.vector(w, g) for w, g in loads], axis=1)
    states = np.zeros_like(rows)
    states[:, 0] = values
    area = np.repeat(geometry.area, model.d)[:, None]
    for _ in range(2):
        states[free] += factor.solve((rows - gradient.T @ (area * (gradient @ states)))[free])
    proved = all(w.proved and (g is None or g.density.proved) for w, g in loads)
    constants = {q: (J.constant, J.error) for q, J in forms.items() if not J.acts}
    return Patched(
        model,
        geometry,
        gradient,
        free,
        held,
        factor,
        tuple(loads),
        rows,
        states,
        acting,
        means,
        constants,
        len(names),
        total,
        zero,
        proved and all(J.proved for J in acting.values()),
    )
