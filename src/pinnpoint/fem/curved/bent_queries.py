"""What can be asked on a curved domain: places where the map is the identity, and means over cells and groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector, per_query
from pinnpoint.fem.assembling.blocks import density_rows
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.fields import Component, FieldQueries, ball_rule, of_group, value_rows
from pinnpoint.mesh.bent.places import back
from pinnpoint.mesh.quadrature import at_points, conical
from pinnpoint.systems.goals import Cells, Patch
from pinnpoint.systems.queries import Ball, Point, Queries, Samples
from pinnpoint.transfer.blocks import over_cells
from pinnpoint.transfer.boundary.facets import measures

FINE = 6
"""Gauss points along each side for means over curved parts."""


class BentQueries(FieldQueries):
    """Queries on a curved domain; points, balls and blocks only where the map is the identity."""

    def __init__(self, nodes: Nodes, count: int, bending: Bending) -> None:
        super().__init__(nodes, count)
        self.bending = bending

    def points(self, X: Any, names: Sequence[str] | None, component: Component) -> Queries:
        """Values at points of the domain, by the shape functions of the cells that are bent onto them."""
        X = self.as_points("points", X)
        cell, bary, _ = back(self.bending.bends, X)
        mix = sp.eye_array(len(X), format="csr")
        rows = partial(value_rows, cell=cell, bary=bary, mix=mix, k=0, count=1)
        return Queries(
            rows(self.nodes),
            names,
            points=X,
            samples=Samples(X, mix),
            goals=[Point(tuple(x), None) for x in X.tolist()],
            on_nodes=rows,
            made_for=self.made_for,
        )

    def averages(self, X: Any, radius: Any, names: Sequence[str] | None, component: Component) -> Queries:
        """Averages over balls; those that reach into bent cells by the shape functions that are bent there."""
        X = self.as_points("at", X)
        R = per_query("radius", radius, len(X), sign="positive")
        if not any(self.bending.bends.meets(x, r) for x, r in zip(X, R.tolist(), strict=True)):
            return super().averages(X, R, names, component)
        offsets, weights = ball_rule(self.mesh.dim)
        where = (X[:, None, :] + R[:, None, None] * offsets[None, :, :]).reshape(-1, self.mesh.dim)
        cell, bary, _ = back(self.bending.bends, where, "radius")
        rows = np.repeat(np.arange(len(X)), len(weights))
        mix = sp.csr_array((np.tile(weights, len(X)), (rows, np.arange(rows.size))), shape=(len(X), rows.size))
        made = partial(value_rows, cell=cell, bary=bary, mix=mix, k=0, count=1)
        return Queries(
            made(self.nodes),
            names,
            points=X,
            samples=Samples(where, mix),
            notes=(f"ball averages are those of a product rule with {len(weights)} points",),
            goals=[Ball(tuple(x), r, None) for x, r in zip(X.tolist(), R.tolist(), strict=True)],
            on_nodes=made,
            made_for=self.made_for,
        )

    def require_away(self, X: Vector, reach: Vector, what: str) -> None:
        """Refuse places in or next to bent cells."""
        self.bending.require_outside(X, reach, what)

    def cells(self, where: Any, names: Sequence[str] | None, component: Component) -> Queries:
        """The mean over cells as they are in the domain, exact for the elements but for rounding."""
        cells, said = self.chosen(where)
        stretch = self.bending.stretch
        if not stretch.bent[cells].any():
            return super().cells(where, names, component)
        w, _ = over_cells(self.mesh.points, self.mesh.cells, cells, stretch)
        rows = partial(density_rows, densities=(w,))
        bary, weights = conical(self.mesh.dim, FINE)
        X = at_points(self.mesh.points[self.mesh.cells[cells]], bary).reshape(-1, self.mesh.dim)
        Y, J, _ = self.bending.bends.moved(X)
        mix = (self.mesh.volumes[cells][:, None] * weights).ravel() * np.linalg.det(J)
        ell = rows(self.nodes)
        return Queries(
            ell,
            names or [where if isinstance(where, str) else "mean" if where is None else "cells"],
            points=ell @ self.nodes.points,
            samples=Samples(Y, sp.csr_array((mix / mix.sum())[None, :])),
            goals=[Cells(said)],
            on_nodes=rows,
            made_for=self.made_on(where),
        )

    def patch(self, group: str, names: Sequence[str] | None, component: Any) -> Queries:
        """The mean over a group as it is in the domain, by a rule with many points."""
        facets, stretch = self.mesh.facets(group), self.bending.stretch
        if not self._curved(facets):
            return super().patch(group, names, component)
        V = self.mesh.points[facets]
        bary, weights = conical(self.mesh.dim - 1, FINE)
        X = at_points(V, bary).reshape(-1, self.mesh.dim)
        Y = self.bending.bends.moved(X)[0]
        mix = (measures(V)[0][:, None] * weights).ravel() * stretch.area(X)
        mix = sp.csr_array((mix / mix.sum())[None, :])
        cell, at = self.locator.locate(X, f"group '{group}'")
        rows = partial(value_rows, cell=cell, bary=at, mix=mix, k=0, count=1)
        return Queries(
            rows(self.nodes),
            names or [group],
            points=np.asarray(mix @ Y),
            samples=Samples(Y, mix),
            notes=(f"the average over the curved group '{group}' is that of a rule with {len(X)} points on the mesh",),
            goals=[Patch(group, None)],
            on_nodes=rows,
            made_for={**self.made_for, f"group '{group}'": of_group(self.mesh, group)},
        )

    def _curved(self, facets: Index) -> bool:
        """Whether some of these are facets of bent cells."""
        mesh = self.bending.mesh
        near = np.zeros(len(mesh.points), dtype=bool)
        near[mesh.cells[self.bending.bends.cells]] = True
        return bool(near[facets].all(axis=1).any())
