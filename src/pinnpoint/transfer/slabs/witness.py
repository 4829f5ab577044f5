"""What another program needs to prove values of a solution in time again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.transfer.heat_kernel.kernel import HeatKernel
from pinnpoint.transfer.heat_kernel.modes import KernelModes
from pinnpoint.transfer.slabs.enclosure import Asked, Record, Slabs
from pinnpoint.transfer.slabs.route import SlabRoute


@dataclass(frozen=True, eq=False)
class Run:
    """The queries of one time, by their numbers, with the states, dual states, fluxes and u_k + w_k that prove them."""

    time: float
    since: float | None
    which: list[int]
    slabs: Slabs
    asked: list[Asked]
    record: Record

    __repr__ = brief

    def kernel(self, place: int) -> HeatKernel | None:
        """Of a query by its place in the run; None of averages over cells and balls."""
        asked = self.asked[place]
        return asked.kernel if isinstance(asked, KernelModes) else None


def numbers_of(route: SlabRoute) -> int:
    """How many floats the witnesses of a route are."""
    model, steps, queries = route.model, route.stepper.grid.steps, len(route.queries)
    wide = len(model.topology.facets) * (1 if model.degree == 1 else model.d) + len(model.points)
    return (queries + len(set(route.times))) * steps * route.count * wide


def runs(route: SlabRoute) -> Iterator[Run]:
    """All times of a route, one after the other; each is swept again."""
    for time, since in dict.fromkeys(route.times):
        which = [i for i, t in enumerate(route.times) if t == (time, since)]
        slabs, asked = route.asked_at(time, since, which)
        rows, parts = slabs.grid.steps * route.count, 1 + len(which)
        model, n = route.model, slabs.levels.shape[1]
        width = 1 if model.degree == 1 else model.d
        flux = np.zeros((parts, rows, len(model.topology.facets), width))
        record = Record(np.zeros((parts, rows, n)), flux, _empty())
        slabs.enclose(asked, record)  # slabs.md, step 2e: any w_k and fluxes will do
        yield Run(time, since, which, slabs, asked, record)


def _empty() -> Vector:
    return np.zeros((0, 0, 0))
