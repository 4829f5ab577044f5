"""Loads in time: ∫∫ f φ_i L_r over a slab, by quadrature in space and Gauss points in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import Function
from pinnpoint.fem.data.sources import by_groups
from pinnpoint.fem.parabolic.data import at_time, steady
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.systems.evolution.grid import TimeGrid

GAUSS = 5
"""Points in time on a slab."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """∫ f φ_i over simplices, from values at the points of a rule."""

    X: Vector
    """(S·Q, d)."""
    weighted: Vector
    """Weights times shape functions, (Q, k)."""
    sizes: Vector
    gather: Any
    """Sparse (n, S·k), ones."""

    __repr__ = brief

    @classmethod
    def over(cls, nodes: Nodes, vertices: Vector, dofs: Index, sizes: Vector, order: int) -> Gathered:
        """Over cells or facets with these vertices, degrees of freedom and measures."""
        bary, weights = rule(vertices.shape[1] - 1, order)
        X = at_points(vertices, bary).reshape(-1, nodes.mesh.dim)
        entries = np.ones(dofs.size), (dofs.ravel(), np.arange(dofs.size))
        gather = sp.csr_array(entries, shape=(len(nodes), dofs.size))
        return cls(X, weights[:, None] * nodes.shapes(bary), sizes, gather)

    def __call__(self, f: Function) -> Vector:
        """Over all nodes, (n,)."""
        values = f(self.X).reshape(self.sizes.size, -1)
        return np.asarray(self.gather @ ((values @ self.weighted) * self.sizes[:, None]).ravel())


@dataclass(frozen=True, eq=False)
class TimeLoads:
    """Source and fluxes of a problem, slab by slab.

    Parameters
    ----------
    source
        Of space and time, or a table from cell groups.
    neumann
        Table from boundary groups to fluxes.
    order
        Of the rule in space.
    """

    nodes: Nodes
    source: Any
    neumann: Mapping[str, Any]
    order: int
    robin: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Table from boundary groups to coefficients and values; the values count here."""

    __repr__ = brief

    @cached_property
    def _parts(self) -> list[tuple[str, Any, Gathered]]:
        """Name, data and integrals of each part that is not zero."""
        mesh, found = self.nodes.mesh, []
        for name, f, cells in by_groups(self.source, mesh):
            if f is None or (not callable(f) and float(f) == 0.0):
                continue
            dofs, vertices = self.nodes.cell_dofs[cells], mesh.points[mesh.cells[cells]]
            found.append((name, f, Gathered.over(self.nodes, vertices, dofs, mesh.volumes[cells], self.order)))
        sides = [(f"neumann '{group}'", group, g) for group, g in self.neumann.items()]
        sides += [(f"robin '{group}' value", group, g) for group, (_, g) in self.robin.items()]
        for name, group, g in sides:
            facets = mesh.facets(group)
            dofs, sizes = self.nodes.facet_dofs(facets), mesh.facet_measures(facets)
            part = Gathered.over(self.nodes, mesh.points[facets], dofs, sizes, self.order)
            found.append((name, g, part))
        return found

    @cached_property
    def _steady(self) -> Vector:
        """∫ f φ_i of what does not depend on time."""
        kept = [part(at_time(name, f, 0.0)) for name, f, part in self._parts if steady(f)]
        return np.asarray(sum(kept, np.zeros(len(self.nodes))))

    def at(self, time: float) -> Vector:
        """∫ f φ_i and the fluxes at one time."""
        moving = [part(at_time(name, f, time)) for name, f, part in self._parts if not steady(f)]
        return np.asarray(sum(moving, self._steady))

    def moments(self, grid: TimeGrid, slab: int) -> Vector:
        """∫ L_r ∫ f φ_i dt for the rows of a slab, (m, n)."""
        tau, start = float(grid.lengths[slab]), float(grid.nodes[slab])
        found = np.zeros((grid.per_slab, len(self.nodes)))
        found[0] = tau * self._steady
        moving = [(name, f, part) for name, f, part in self._parts if not steady(f)]
        if moving:
            x, w = np.polynomial.legendre.leggauss(GAUSS)
            for xi, wi in zip(x.tolist(), w.tolist(), strict=True):
                time = start + 0.5 * tau * (1.0 + xi)
                value = sum(part(at_time(name, f, time)) for name, f, part in moving)
                for r in range(grid.per_slab if slab >= grid.damped else 1):
                    found[r] += 0.5 * tau * wi * xi**r * value
        return found
