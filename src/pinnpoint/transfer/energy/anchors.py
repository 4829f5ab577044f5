"""Constants for means: how large the mean of a function on a cell can be, per unit of its energy.

A residual with integrals m_K over cells is bounded by Σ |m_K| |mean_K w|. There are three bounds; the smallest counts:

- *Paths.* On a simplex with facet F opposite the vertex a, the divergence theorem for (x − a) w gives
  mean_F w − mean_K w = 1/(d|K|) ∫_K (x − a)·∇w, so |mean_F w − mean_K w| ≤ W_K ‖∇w‖_K with W_K = h_K/(d√|K|). Along a
  path of cells that ends at a Dirichlet facet (mean zero), or in a cell with c > 0 (|mean| ≤ ‖w‖/√|K|), Cauchy–Schwarz
  gives |mean_K w| ≤ D_K ‖w‖_a with D_K² = Σ_path 4 W²/κ (+ 1/(c|K|) at its end). No global constant is needed. A path
  may also end at a Robin facet with α ≥ ω, where |mean_F w| ≤ ‖√α w‖_F/√(ω|F|).
- *Friedrichs*, where the whole boundary is Dirichlet: ‖w‖ ≤ C_F ‖√κ∇w‖ with the first eigenvalue of a bounding box.
- *Reaction*, where c > 0 everywhere: ‖w‖_K ≤ ‖√c w‖_K/√c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import at_most, dot_up, down, norm_up, up
from pinnpoint.transfer.energy.geometry import Shapes

PI_DOWN = 3.141592653589793  # float64's value is below π
DIRICHLET, NEUMANN = 1, 2
"""Kinds of boundary facets; 0 is an interior one."""


@dataclass(frozen=True, eq=False)
class Anchors:
    """Bounds of means for one problem.

    Attributes
    ----------
    slack
        Relative error of each cell's computed geometry, (C,).
    convex
        h_K/(π√κ), rounded up (Payne–Weinberger; Bebendorf in any dimension), (C,).
    step
        W_K/√κ, (C,).
    reach
        D_K, (C,).
    friedrichs
        C_F/√(min κ) where the whole boundary is Dirichlet, else infinite.
    """

    slack: Vector
    convex: Vector
    diameter: Vector
    volume: Vector
    reaction: Vector
    step: Vector
    reach: Vector
    friedrichs: float

    __repr__ = brief

    @cached_property
    def _thin(self) -> Vector:
        """Upper bounds of |K|^{-1/2}."""
        with np.errstate(divide="ignore"):
            return np.asarray(up(1.0 / np.sqrt(self.volume), 4))

    @cached_property
    def _reacts(self) -> bool:
        return bool(np.all(self.reaction > 0.0))

    def bound(self, defect: Vector) -> float:
        """Upper bound of sup_w Σ |m_K| |mean_K w| / ‖w‖_a for |m_K| ≤ `defect`."""
        if not np.any(defect):
            return 0.0
        found = [at_most(dot_up(defect, self.reach))]  # continuous.md, step 2e
        with np.errstate(divide="ignore", invalid="ignore"):
            if math.isfinite(self.friedrichs):
                # continuous.md, step 2f
                found.append(at_most(float(up(self.friedrichs * norm_up(up(defect * self._thin, 4))))))
            if self._reacts:
                found.append(norm_up(up(defect / np.sqrt(self.volume * self.reaction), 4)))  # continuous.md, step 2g
        return min(found)


def anchors(
    topology: Topology,
    points: Vector,
    kappa: Vector,
    reaction: Vector,
    kind: Vector,
    chunk: int,
    grip: Vector | None = None,
) -> Anchors:
    """Measure the cells and lay paths to the Dirichlet facets, to Robin facets and to the cells with reaction.

    `grip` has, for each cell, a lower bound of ω|F| of its best Robin facet, or zero.
    """
    C = len(kappa)
    slack, h, low = np.empty(C), np.empty(C), np.empty(C)
    d = points.shape[1]
    for a in range(0, C, chunk):
        part = slice(a, min(a + chunk, C))
        shapes = Shapes.of(points, topology.cells[part])
        slack[part], h[part] = shapes.slack, shapes.diameter
        low[part] = down(shapes.volume * (1.0 - shapes.slack), 8)
    root = down(np.sqrt(kappa), 2)
    convex = up(h / (PI_DOWN * root), 8)  # continuous.md, step 2a
    step = up(h / (d * down(np.sqrt(low), 2) * root), 8)  # continuous.md, step 2e
    has_fixed = np.zeros(C, dtype=bool)
    has_fixed[topology.facet_cells[kind == DIRICHLET, 0]] = True
    hop = up(4.0 * step * step, 4)
    with np.errstate(divide="ignore"):
        loose = np.where(reaction > 0.0, 1.0 / (reaction * low), np.inf)
        if grip is not None:
            loose = np.minimum(loose, np.where(grip > 0.0, 1.0 / grip, np.inf))  # robin.md, step 2c
        own = up(hop + np.where(has_fixed, 0.0, loose), 8)  # continuous.md, step 2e
    reach = up(np.sqrt(_along_paths(topology, own, hop)) * (1.0 + 1e-9), 4)  # continuous.md, step 2e
    boundary = topology.facet_cells[:, 1] < 0
    friedrichs = math.inf
    if np.all(kind[boundary] == DIRICHLET):
        widths = up(points.max(axis=0) - points.min(axis=0))
        inverse = float(down(np.sum(1.0 / widths**2), 16))
        # continuous.md, step 2f
        friedrichs = float(up(1.0 / (PI_DOWN * down(math.sqrt(inverse), 4) * float(root.min())), 8))
    return Anchors(slack, convex, h, low, reaction, step, reach, friedrichs)


def _along_paths(topology: Topology, own: Vector, hop: Vector) -> Vector:
    """The smallest sums of `hop` along paths to cells with finite `own`, which end them."""
    C = len(own)
    roots = np.nonzero(np.isfinite(own))[0]
    a, b = topology.facet_cells[topology.facet_cells[:, 1] >= 0].T
    rows, columns = np.concatenate([np.full(roots.size, C), a, b]), np.concatenate([roots, b, a])
    rows, columns = rows.astype(np.int32), columns.astype(np.int32)  # SciPy's graphs had no other before 1.15
    graph = sp.csr_array((np.concatenate([own[roots], hop[b], hop[a]]), (rows, columns)), shape=(C + 1, C + 1))
    return np.asarray(dijkstra(graph, indices=C)[:C])
