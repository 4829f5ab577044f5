"""Prescribed fluxes in time: modes on facets × slabs, and what they are beyond these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import sum_up, up
from pinnpoint.taylor.inputs import fixed
from pinnpoint.transfer.boundary.facets import FacetLoad, measures
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import NEUMANN
from pinnpoint.transfer.media.medium import mean_square
from pinnpoint.transfer.slabs.data import Source


@dataclass(frozen=True, eq=False)
class Fluxes:
    """g on Neumann and Robin facets, slab by slab.

    Attributes
    ----------
    facets
        Numbers of the facets where it is not zero.
    source
        g on them.
    """

    model: Continuum
    facets: Index
    source: Source

    __repr__ = brief

    @classmethod
    def of(
        cls, model: Continuum, given: Sequence[tuple[Index, Any]], nodes: Any, count: int, share: float
    ) -> Fluxes | None:
        """From facets and what is given on them; None where that vanishes."""
        found = [(f, g) for f, g in given if len(f) and (callable(g) or fixed(g) != (0.0, 0.0))]
        if not found:
            return None
        facets = np.concatenate([f for f, _ in found])
        ends = np.cumsum([0, *(len(f) for f, _ in found)])
        pieces = [(np.arange(ends[i], ends[i + 1]), g) for i, (_, g) in enumerate(found)]
        V = model.points[model.topology.facets[facets]]
        return cls(model, facets, Source(pieces, V, nodes, count, share, name="neumann, robin"))

    def slab(self, n: int) -> tuple[list[FacetLoad | None], float]:
        """The modes of a slab, and an upper bound of ‖g_⊥‖ over Γ × I."""
        found, nodes = self.source.slab(n), self.source.nodes
        loads: list[FacetLoad | None] = []
        for k in range(self.source.count):
            mode = found.mode(k)
            still = not (mode.coefficients.any() or mode.high.any() or mode.error2.any())
            loads.append(None if still else self.model.facet_load(self.facets, mode))
        area, slack = measures(self.model.points[self.model.topology.facets[self.facets]])
        tau = float(nodes[n + 1] - nodes[n])
        rest = sum_up(up(area * (1.0 + slack) * found.rest**2, 8))
        return loads, float(up(math.sqrt(up(tau * rest, 4)), 4))  # slabs.md, step 2h


def trace_constant(model: Continuum) -> float:
    """C with ‖v‖_Γ ≤ C‖v‖_a on the facets without values, by the trace inequality on their cells; or infinity."""
    square, T = mean_square(model.anchors), model.topology
    facets = np.flatnonzero(model.kind == NEUMANN)
    if not (math.isfinite(square) and facets.size):
        return math.inf if facets.size else 0.0
    cell, d = T.facet_cells[facets, 0], T.dim
    area, slack = measures(model.points[T.facets[facets]])
    thin = up(area * (1.0 + slack) / model.anchors.volume[cell], 8)
    # h/√κ is π times what the anchors hold, and a cell has d + 1 facets
    steep = 7.0 * math.sqrt(square) / d * float(np.max(up(thin * model.anchors.convex[cell], 8)))
    worst = up(float(thin.max()) * square + steep, 8)
    return float(up(math.sqrt(up((d + 1.0) * worst, 2)), 4))  # slabs.md, step 2h
