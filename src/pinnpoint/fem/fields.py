"""Queries as functionals of a finite-element field, and where a callable prediction is sampled for its raw value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, digest, floats, members, per_query, vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import FACET_MEANS, Nodes
from pinnpoint.mesh.location import Locator, boundary_distance
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.systems.goals import NORMAL, Ball, Cells, Direction, Goal, Patch, Point, Slope, Where
from pinnpoint.systems.queries import DirectedSamples, Queries, Samples

AXES = ("x", "y", "z")
BALL = {1: (8, 2), 2: (8, 24), 3: (8, 8)}
"""Radial and angular points of the rule for ball averages."""


Component = int | str | None
"""x, y, z or its number; None where there is but one."""


def component_of(given: Component, count: int) -> int:
    """Number of a component from its name or number; 0 where there is only one."""
    if count == 1:
        if given is None:
            return 0
        raise InputError(f"component: the field is a scalar and has none; got {given!r}")
    if isinstance(given, str) and given in AXES[:count]:
        return AXES.index(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and 0 <= given < count:
        return int(given)
    known = " or ".join(f"'{a}'" for a in AXES[:count])
    raise InputError(f"component: must be {known}; got {given!r}")


def direction_of(given: Any, count: int, normals: Callable[[], Vector]) -> tuple[Direction | None, Vector]:
    """What is measured of a field: as goals say it, and one row of weights for all facets or one row for each."""
    if count > 1 and isinstance(given, str) and given == NORMAL:
        return NORMAL, normals()
    if count > 1 and not isinstance(given, str) and np.ndim(given) == 1:
        v = vector("component", given, count)
        if not np.any(v):
            raise InputError("component: is the zero vector; give a direction")
        return tuple(v.tolist()), v[None, :]
    if count > 1 and isinstance(given, str) and given not in AXES[:count]:
        known = ", ".join(f"'{a}'" for a in AXES[:count])
        raise InputError(f"component: must be {known}, '{NORMAL}' or a vector; got {given!r}")
    k = component_of(given, count)
    return k if count > 1 else None, np.eye(count)[[k]]


def of_group(mesh: Mesh, group: str) -> str:
    """A digest of the facets of a boundary group, in any order."""
    facets = np.sort(mesh.facets(group), axis=1).astype(np.int64)
    return digest(facets[np.lexsort(facets.T)])


def of_cells(mesh: Mesh, group: str) -> str:
    """A digest of the cells of a group, in any order."""
    return digest(np.sort(mesh.cells_of(group)).astype(np.int64))


class FieldQueries:
    """Makes queries for elements with `count` components per node."""

    def __init__(self, nodes: Nodes, count: int) -> None:
        self.nodes, self.mesh, self.count = nodes, nodes.mesh, count
        self.locator = Locator(nodes.mesh)
        self.made_for = {"mesh": nodes.mesh.fingerprint}

    def points(self, X: ArrayLike, names: Sequence[str] | None, component: Component) -> Queries:
        """Values at points, by the shape functions there."""
        X, k = self.as_points("points", X), self._said(component)
        self.require_away(X, np.zeros(len(X)), "points")
        goals = [Point(tuple(x), k) for x in X.tolist()]
        return self._sampled(X, sp.eye_array(len(X), format="csr"), X, names, component, "points", goals)

    def averages(self, X: ArrayLike, radius: ArrayLike, names: Sequence[str] | None, component: Component) -> Queries:
        """Averages over balls, by a product rule of Gauss points in radius and directions."""
        X = self.as_points("at", X)
        R = per_query("radius", radius, len(X), sign="positive")
        offsets, weights = ball_rule(self.mesh.dim)
        where = (X[:, None, :] + R[:, None, None] * offsets[None, :, :]).reshape(-1, self.mesh.dim)
        self.locator.locate(X, "at")
        self.require_away(X, R, "at")
        for x, r in zip(X, R, strict=True):
            gap = boundary_distance(self.mesh, x)
            if r * (1.0 - 1e-9) > gap:
                raise InputError(
                    f"radius: the ball at {x.tolist()} with radius {r:g} leaves the domain, whose boundary is "
                    f"{gap:.6g} away; move it or make it smaller"
                )
        rows = np.repeat(np.arange(len(X)), len(weights))
        mix = sp.csr_array((np.tile(weights, len(X)), (rows, np.arange(rows.size))), shape=(len(X), rows.size))
        note = f"ball averages are those of a product rule with {len(weights)} points"
        k = self._said(component)
        goals = [Ball(tuple(x), r, k) for x, r in zip(X.tolist(), R.tolist(), strict=True)]
        return self._sampled(where, mix, X, names, component, "at", goals, (note,))

    def patch(self, group: str, names: Sequence[str] | None, component: Any) -> Queries:
        """The average over a boundary group, exact for the elements: of a component, normal to it, or along a vector.

        Directions other than components are for fields that have as many components as the space has dimensions.
        """
        facets = self.mesh.facets(group)
        if not len(facets):
            raise InputError(f"group '{group}': has no facets to average over")
        size = self.mesh.facet_measures(facets)
        bary, weights = rule(self.mesh.dim - 1, 2 * self.nodes.degree)
        X = at_points(self.mesh.points[facets], bary).reshape(-1, self.mesh.dim)
        said, along = direction_of(component, self.count, lambda: self.mesh.outer_normals(facets))
        share = size / size.sum()
        rows = partial(patch_rows, facets=facets, share=share, along=along)
        mix = share[:, None] * weights[None, :]
        middle = patch_rows(self.nodes, facets=facets, share=share, along=np.ones((1, 1))) @ self.nodes.points
        made_for = {**self.made_for, f"group '{group}'": of_group(self.mesh, group)}
        return Queries(
            rows(self.nodes),
            names or [group],
            points=middle,
            samples=_directed(X, mix, along),
            goals=[Patch(group, said)],
            on_nodes=rows,
            made_for=made_for,
        )

    def cells(self, where: Any, names: Sequence[str] | None, component: Component) -> Queries:
        """The average over a group of cells, over cells with these numbers, or, None, over the domain."""
        cells, said, k = *self.chosen(where), component_of(component, self.count)
        size = self.mesh.volumes[cells]
        rows = partial(cell_rows, cells=cells, share=size / size.sum(), k=k, count=self.count)
        ell = rows(self.nodes)
        bary, weights = rule(self.mesh.dim, 2)
        X = at_points(self.mesh.points[self.mesh.cells[cells]], bary).reshape(-1, self.mesh.dim)
        mix = (size[:, None] * weights[None, :]).ravel() / size.sum()
        return Queries(
            ell,
            names or [where if isinstance(where, str) else "mean" if where is None else "cells"],
            points=(mix @ X)[None, :],
            samples=Samples(X, sp.csr_array(mix[None, :]), k),
            goals=[Cells(said, self._said(component))],
            on_nodes=rows,
            made_for=self.made_on(where),
        )

    def chosen(self, where: Any) -> tuple[Index, Where]:
        """Numbers of cells, and how goals say which they are."""
        if where is None:
            return np.arange(len(self.mesh.cells)), None
        if isinstance(where, str):
            found = self.mesh.cells_of(where)
            if not len(found):
                raise InputError(f"group '{where}': has no cells to average over")
            return found, where
        found = members("cells", where, len(self.mesh.cells))
        if not len(found):
            raise InputError("cells: are none; give the numbers of some")
        return found, tuple(found.tolist())

    def made_on(self, where: Any) -> dict[str, str]:
        """What queries over cells were made for."""
        own = {f"cells '{where}'": of_cells(self.mesh, where)} if isinstance(where, str) else {}
        return {**self.made_for, **own}

    def _said(self, component: Component) -> int | None:
        """As goals say it."""
        return component_of(component, self.count) if self.count > 1 else None

    def gradients(
        self, X: ArrayLike, direction: Component, names: Sequence[str] | None, component: Component
    ) -> Queries:
        """Derivatives ∂u/∂x_direction in the cells that hold the points; of vectors they are known on the mesh only."""
        X = self.as_points("points", X)
        cell, bary = self.locator.locate(X)
        self.require_away(X, np.zeros(len(X)), "points")
        axis = component_of(direction, self.mesh.dim) if self.mesh.dim > 1 else 0
        k = component_of(component, self.count)
        rows = partial(slope_rows, cell=cell, bary=bary, axis=axis, k=k, count=self.count)
        goals = [Slope(tuple(x), axis) for x in X.tolist()] if self.count == 1 else None
        return Queries(rows(self.nodes), names, points=X, goals=goals, on_nodes=rows, made_for=self.made_for)

    def require_away(self, X: Vector, reach: Vector, what: str) -> None:
        """Refuse places where the mesh is not the domain; a straight one is it everywhere."""

    def as_points(self, name: str, X: Any) -> Vector:
        """Points (P, d), checked."""
        X = floats(name, X)
        if X.ndim == 1:
            X = X[:, None] if self.mesh.dim == 1 else X[None, :]
        if X.ndim == 0:
            X = X.reshape(1, 1)
        if X.ndim != 2 or X.shape[1] != self.mesh.dim:
            raise InputError(f"{name}: must have {self.mesh.dim} coordinates each; got shape {X.shape}")
        return np.asarray(X)

    def _sampled(
        self,
        where: Vector,
        mix: Any,
        X: Vector,
        names: Sequence[str] | None,
        component: Component,
        what: str,
        goals: Sequence[Goal],
        notes: tuple[str, ...] = (),
    ) -> Queries:
        k = component_of(component, self.count)
        cell, bary = self.locator.locate(where, what)
        rows = partial(value_rows, cell=cell, bary=bary, mix=mix, k=k, count=self.count)
        samples = Samples(where, mix, k)
        return Queries(
            rows(self.nodes),
            names,
            points=X,
            samples=samples,
            notes=notes,
            goals=goals,
            on_nodes=rows,
            made_for=self.made_for,
        )


def value_rows(nodes: Nodes, *, cell: Index, bary: Vector, mix: Any, k: int, count: int) -> Any:
    """Mixed values of component k at points of cells, as rows over an element's nodes."""
    return sp.csr_array(mix @ _rows(nodes.shapes(bary), nodes, cell, k, count))


def slope_rows(nodes: Nodes, *, cell: Index, bary: Vector, axis: int, k: int, count: int) -> Any:
    """Derivatives of component k at points of cells, as rows over an element's nodes."""
    return _rows(nodes.derivatives(cell, bary, axis), nodes, cell, k, count)


def patch_rows(nodes: Nodes, *, facets: Index, share: Vector, along: Vector) -> Vector:
    """The mean along directions over facets with their shares of the whole, as a row over an element's nodes.

    `along` has one row of weights by component, or one for each facet.
    """
    (means, whole), count = FACET_MEANS[nodes.degree][nodes.mesh.dim], along.shape[1]
    dofs, ell = nodes.facet_dofs(facets).ravel() * count, np.zeros(count * len(nodes))
    for k in np.flatnonzero(along.any(axis=0)):
        shares = ((share * along[:, k])[:, None] * np.array(means) / whole).ravel()
        ell += np.bincount(dofs + k, shares, minlength=len(ell))
    return ell[None, :]


def cell_rows(nodes: Nodes, *, cells: Index, share: Vector, k: int, count: int) -> Vector:
    """The mean of component k over cells with their shares of the whole, as a row over an element's nodes."""
    dofs, means = nodes.cell_dofs[cells].ravel() * count + k, shape_means(nodes)
    return np.bincount(dofs, (share[:, None] * means).ravel(), minlength=count * len(nodes)).astype(np.float64)[None, :]


def shape_means(nodes: Nodes) -> Vector:
    """Means of the shape functions over a cell."""
    d, pairs = nodes.mesh.dim, nodes.cell_dofs.shape[1] - nodes.mesh.dim - 1
    if nodes.degree == 1:
        return np.full(d + 1, 1.0 / (d + 1))
    return np.array([2.0 - d] * (d + 1) + [4.0] * pairs) / ((d + 1) * (d + 2))


def _directed(X: Vector, mix: Vector, along: Vector) -> Samples | DirectedSamples:
    """Samples of a mean along directions; `mix` has the weights of the points of each facet."""
    each = [sp.csr_array((along[:, [k]] * mix).reshape(1, -1)) for k in range(along.shape[1])]
    used = np.flatnonzero(along.any(axis=0))
    return Samples(X, each[used[0]], int(used[0])) if len(used) == 1 else DirectedSamples(X, tuple(each))


def _rows(local: Vector, nodes: Nodes, cell: Index, k: int, count: int) -> Any:
    columns = nodes.cell_dofs[cell] * count + k
    at = np.repeat(np.arange(len(columns)), columns.shape[1])
    return sp.csr_array((local.ravel(), (at, columns.ravel())), shape=(len(columns), count * len(nodes)))


def directions(dim: int) -> tuple[Vector, Vector]:
    """Unit vectors and weights that sum to one: both ends, equal angles, or Gauss points in z times equal angles."""
    count = BALL[dim][1]
    if dim == 1:
        return np.array([[-1.0], [1.0]]), np.full(2, 0.5)
    angle = 2.0 * np.pi * (np.arange(count if dim == 2 else 2 * count) + 0.5) / (count if dim == 2 else 2 * count)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if dim == 2:
        return ring, np.full(count, 1.0 / count)
    z, w = np.polynomial.legendre.leggauss(count)
    flat = np.sqrt(1.0 - z**2)[:, None, None] * ring[None, :, :]
    up = np.broadcast_to(z[:, None, None], (*flat.shape[:2], 1))
    return np.concatenate([flat, up], axis=2).reshape(-1, 3), np.repeat(w / 2.0 / len(ring), len(ring))


def ball_rule(dim: int) -> tuple[Vector, Vector]:
    """Points of the unit ball and weights that sum to one."""
    t, w = np.polynomial.legendre.leggauss(BALL[dim][0])
    radius = 0.5 * (t + 1.0)
    radial = 0.5 * w * dim * radius ** (dim - 1)
    unit, angular = directions(dim)
    offsets = radius[:, None, None] * unit[None, :, :]
    return offsets.reshape(-1, dim), (radial[:, None] * angular[None, :]).ravel()
