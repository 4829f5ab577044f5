"""Vertices on their curves: moved there, and proved to be within a few units in the last place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.flats import flat_facets, kept_flat
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.formulas import evaluate
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import constant

NEAR = 1e-3
"""How far from its curve a vertex of a given mesh may be, against the size of the cells around it."""
STEPS = 12
WIDEST = 4096.0
"""Units in the last place that a vertex may be off its curve."""


def gradient(level: Expression, X: Vector) -> tuple[Vector, Vector]:
    """φ (N,) and ∇φ (N, d) at points, in floating point."""
    jet = jet_of(level, [constant(x) for x in X.T])
    rows = [np.broadcast_to(g.C[0], len(X)) for g in (jet.value, *jet.gradient)]
    return np.asarray(rows[0]), np.stack(rows[1:], axis=1)


def _anywhere(slope: Vector) -> Vector:
    return slope


def onto(level: Expression, X: Vector, along: Callable[[Vector], Vector] = _anywhere) -> Vector:
    """The nearest points of the zero set, about, in directions that `along` leaves of the gradients."""
    Y = np.array(X, dtype=np.float64)
    for _ in range(STEPS):
        value, slope = gradient(level, Y)
        slope = along(slope)
        square = (slope * slope).sum(axis=1)
        with np.errstate(all="ignore"):
            step = np.where(square > 0.0, value / square, 0.0)[:, None] * slope
        Y = Y - np.where(np.isfinite(step), step, 0.0)
    return Y


def curve_vertices(mesh: Mesh, geometry: Mapping[str, Shape]) -> dict[str, Index]:
    """The vertices of each group; refuses those of two curves."""
    found = {group: np.unique(mesh.facets(group)) for group in geometry}
    taken = np.full(len(mesh.points), -1)
    for i, (group, nodes) in enumerate(found.items()):
        twice = nodes[taken[nodes] >= 0]
        if twice.size:
            other = list(geometry)[int(taken[twice[0]])]
            raise InputError(
                f"geometry: the curves of groups '{other}' and '{group}' meet at {mesh.points[twice[0]].tolist()}; "
                "corners between two curves are not supported: give one of them, or a second-order mesh"
            )
        taken[nodes] = i
    return found


def projected(mesh: Mesh, geometry: Mapping[str, Shape], *, far: bool = False) -> tuple[Vector, Vector]:
    """Points with those of the groups on their curves, and bounds of their distances from it by component.

    With `far` vertices may lie farther away, as those of a refined mesh do.
    """
    points, offset = np.array(mesh.points), np.zeros_like(mesh.points)
    size, flat = cell_sizes(mesh), flat_facets(mesh, geometry)
    for group, nodes in curve_vertices(mesh, geometry).items():
        X = mesh.points[nodes]
        along = partial(_along, mesh, flat, nodes)
        Y = onto(geometry[group].level, X, along)
        away = np.sqrt(((Y - X) ** 2).sum(axis=1))
        limit = (0.5 if far else NEAR) * size[nodes]
        wrong = ~(away <= limit)
        if wrong.any():
            k = int(np.argmax(np.where(np.isfinite(away), away / size[nodes], np.inf)))
            raise InputError(
                f"geometry '{group}': vertex {int(nodes[k])} at {X[k].tolist()} is {float(away[k]):.3g} away from "
                f"{geometry[group].words}, more than {NEAR:g} of the cells there; the description or the mesh is wrong"
            )
        points[nodes], offset[nodes] = Y, _proved(geometry[group], Y, along, group)
    return points, offset


def _along(mesh: Mesh, flat: Index, nodes: Index, slope: Vector) -> Vector:
    """What of directions at vertices does not lead out of the flat facets there."""
    if not len(flat):
        return slope
    wanted = np.where(np.isin(nodes, flat), nodes, -1)
    count = int(flat.max())
    return kept_flat(mesh.points, flat, flat, np.where(wanted > count, -1, wanted), slope)


def cell_sizes(mesh: Mesh) -> Vector:
    """The shortest edge at each vertex."""
    size = np.full(len(mesh.points), np.inf)
    T = mesh.cells
    for i in range(T.shape[1]):
        for j in range(i):
            length = np.sqrt(((mesh.points[T[:, i]] - mesh.points[T[:, j]]) ** 2).sum(axis=1))
            np.minimum.at(size, T[:, i], length)
            np.minimum.at(size, T[:, j], length)
    return size


def _proved(shape: Shape, X: Vector, along: Callable[[Vector], Vector], group: str) -> Vector:
    """Bounds, by component, of the distance from each point to some point of the zero set: φ changes sign there."""
    value, slope = gradient(shape.level, X)
    slope = along(slope)
    with np.errstate(all="ignore"):
        normal = slope / np.sqrt((slope * slope).sum(axis=1))[:, None]
    scale = np.abs(X).max(axis=1) + np.abs(X).max()
    left, found, units = np.arange(len(X)), np.zeros_like(X), 2.0
    normal = np.where(np.isfinite(normal), normal, 0.0)
    while left.size and units <= WIDEST:
        step = (units * UNIT * scale[left])[:, None] * normal[left]
        ends = []
        for sign in (1.0, -1.0):
            at = [constant(X[left, k]) + constant(sign * step[:, k]) for k in range(X.shape[1])]
            model = evaluate(shape.level, at)
            low, high = (np.broadcast_to(b, left.size) for b in model.bounds)
            ends.append((low > 0.0, high < 0.0))
        sure = (ends[0][0] & ends[1][1]) | (ends[0][1] & ends[1][0])  # curved.md, step 2a
        found[left[sure]] = np.where(step[sure] == 0.0, 0.0, up(np.abs(step[sure]), 2))
        left, units = left[~sure], 2.0 * units
    if left.size:
        k = int(left[0])
        raise InputError(
            f"geometry '{group}': {shape.words} is not proved to pass through {X[k].tolist()}, where its formula has "
            f"the value {float(value[k]):.3e} and the gradient {slope[k].tolist()}; it must change its sign there"
        )
    return found
