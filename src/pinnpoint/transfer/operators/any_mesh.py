"""Instances on any triangulation, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.solvers.reference import SMALL
from pinnpoint.transfer.operators.frozen import Frozen
from pinnpoint.transfer.operators.particular import Particular
from pinnpoint.transfer.operators.sums import StateSums
from pinnpoint.transfer.operators.triangles import Found, Triangles

Sums = tuple[StateSums, StateSums, StateSums]
"""Of the states, of the predictions with the same fluxes, and of the duals."""


@dataclass(frozen=True, eq=False)
class AnyMesh:
    """Steps and sums by two factors of the reference.

    Attributes
    ----------
    loads
        The primal one, then one a query with a dual.
    states
        Of the reference κ = 1, (N, 1 + Q).
    lift
        A function with the Dirichlet values: zero where they are.
    points
        Of the duals: the kernel of a point, whose load depends on κ; None for all others.
    """

    triangles: Triangles
    loads: tuple[Particular, ...]
    holes: tuple[Particular, ...]
    states: Vector
    lift: Vector
    points: tuple[Frozen | None, ...] = ()

    __repr__ = brief

    more = 0.0
    """Relative error of areas and gradients beyond that of the geometry."""

    def with_first(self, load: Particular, state: Vector) -> AnyMesh:
        """With another load of the problem itself."""
        states = self.states.copy()
        states[:, 0] = state
        return replace(self, loads=(load, *self.loads[1:]), states=states)

    @property
    def reference(self) -> Vector:
        """The states of the reference."""
        return self.states

    def sums(self, kappas: Vector, predictions: Vector, streams: Vector | None, steps: int, dual_steps: int) -> Sums:
        """For rows of κ (I, C), predictions and stream functions (I, N)."""
        each = [
            self._one(kappas[i], predictions[i], None if streams is None else streams[i], steps, dual_steps)
            for i in range(len(kappas))
        ]
        return stacked([e[0] for e in each]), stacked([e[1] for e in each]), stacked([e[2] for e in each])

    def _one(self, kappa: Vector, predicted: Vector, stream: Vector | None, steps: int, dual_steps: int) -> Sums:
        found = self.fields(kappa, predicted, stream, steps, dual_steps)
        rows, fluxes = self.loaded(kappa)
        return self.triangles.sums(kappa, found, fluxes, self.holes, rows, predicted)

    def loaded(self, kappa: Vector) -> tuple[Vector, Vector]:
        """Rows of the loads, (N, 1 + Q), and their fixed fluxes without Ḡ of points, (2C, 1 + Q)."""
        rows = np.stack([p.row for p in self.loads], axis=1)
        fluxes = np.stack([p.flux.ravel() for p in self.loads], axis=1)
        area = self.triangles.geometry.area
        for k, point in enumerate(self.points, start=1):
            if point is not None:
                own = np.zeros((len(area), 2))
                own[point.cells] = point.field(kappa)
                fluxes[:, k] -= own.ravel()
                rows[:, k] -= self.triangles.gradient.T @ (own * area[:, None]).ravel()  # operators.md, step 11b
        return rows, fluxes

    def fields(
        self,
        kappa: Vector,
        predicted: Vector,
        stream: Vector | None,
        steps: int,
        dual_steps: int,
        small: float = SMALL,
    ) -> Found:
        """States, stream functions and multiples of holes' fields that the steps of one instance end with."""
        T, Q = self.triangles, len(self.loads) - 1
        rows, wanted = self.loaded(kappa)
        weights = np.repeat(T.geometry.area * kappa, 2)
        start = starts(T.gradient, weights, T.held, rows, self.states, predicted)
        begun = np.zeros((len(predicted), 1 + Q))
        if stream is not None:
            begun[:, :1] = T.admissible_streams(stream[:, None])
        states, turned = start.copy(), begun.copy()
        extra = np.zeros((1 + Q, len(self.holes)))
        wanted[:, 0] -= np.repeat(kappa, 2) * (T.gradient @ self.lift)  # operators.md, step 4a
        for part, count in ((slice(0, 1), steps), (slice(1, None), dual_steps)):
            if start[:, part].shape[1] and count:
                states[:, part] = T.primal_steps(kappa, rows[:, part], start[:, part], count, small)
                turned[:, part], extra[part] = T.stream_steps(
                    kappa, wanted[:, part], self.holes, begun[:, part], count, small
                )
        return Found(states, turned, extra)

    def facet_fluxes(self, topology: Topology, found: Found) -> Vector:
        """The fluxes by their facets, (F, 1 + Q), rounded: each column is a flux in H(div) of its own."""
        a, b = topology.facets.T
        cell = topology.facet_cells[:, 0]
        opposite = np.argmax(topology.cell_facets[cell] == np.arange(len(a))[:, None], axis=1)
        turn = topology.orientation[cell] * np.where(opposite == 1, -1.0, 1.0)
        t = np.stack([p.facets for p in self.loads], axis=1) + turn[:, None] * (found.streams[b] - found.streams[a])
        for j, hole in enumerate(self.holes):
            t += hole.facets[:, None] * found.extra[:, j]
        return np.asarray(t)


def starts(gradient: Any, weights: Vector, held: Index, rows: Vector, states: Vector, predicted: Vector) -> Vector:
    """The reference's states as multiples of least energy, or the prediction where its energy is less, (N, 1 + Q)."""
    own = np.column_stack([states, predicted])
    slopes = gradient @ own
    energy = np.einsum("nm,nm->m", weights[:, None] * slopes, slopes)
    work = np.einsum("nm,nm->m", np.column_stack([rows, rows[:, 0]]), own)
    start = own[:, :-1].copy()
    with np.errstate(all="ignore"):
        if not np.any(own[held, 0]):  # operators.md, step 4a
            scale = np.where(energy > 0.0, work / energy, 0.0)
            start *= scale[:-1]
            gain = work * scale
            if gain[-1] > gain[0]:
                start[:, 0] = scale[-1] * predicted
        elif energy[-1] - 2.0 * work[-1] < energy[0] - 2.0 * work[0]:
            start[:, 0] = predicted
    return start


def joined(parts: Sequence[StateSums]) -> StateSums:
    """One record of several."""
    return StateSums(*(np.concatenate([vars(p)[f.name] for p in parts]) for f in fields(StateSums) if f.name != "size"))


def stacked(parts: Sequence[StateSums]) -> StateSums:
    """One record of many instances."""
    return StateSums(*(np.stack([vars(p)[f.name] for p in parts]) for f in fields(StateSums) if f.name != "size"))
