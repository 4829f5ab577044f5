"""Extraction of predictions in space and time: an admissible state at every level."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.protocols import Extraction
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.extraction import evaluate
from pinnpoint.fem.parabolic.data import Apart, in_time, of_columns, over_levels, variables
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.models.given import as_prediction, require_no_file
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.spaces import AdmissibleSpace


def as_moving(given: Any, dim: int) -> Any:
    """A prediction as values at levels and nodes, or as a function of points whose last coordinate is t."""
    if isinstance(given, str):
        require_no_file(given)
        return parse(given, variables(dim), name="prediction")
    if isinstance(given, Expression):
        return in_time(given, "prediction", dim)
    found = as_prediction(given)
    return of_columns(found) if callable(found) else found


def extract_moving(nodes: Nodes, grid: TimeGrid, space: AdmissibleSpace, prediction: Any, how: str) -> Extraction:
    """The admissible states of values (levels, nodes) or (steps + 1, nodes), or of a function of space and time.

    Values at the nodes of time alone are averaged in the middle of slabs, and values at vertices alone at the middle of
    edges; `how` says so.
    """
    if how != "nodal":
        raise InputError(f"extraction: must be 'nodal' for problems in time; got {how!r}")
    if callable(prediction):
        together = not isinstance(prediction, Apart)
        U = over_levels(lambda X: evaluate(prediction, X, 1)[:, 0], nodes.points, grid.levels, together)
    else:
        U, how = _given(nodes, grid, floats("prediction", prediction))
    found = space.project(U.ravel())
    return Extraction(found.U, found.mismatch, how, 0.0, U.ravel(), not callable(prediction))


def _given(nodes: Nodes, grid: TimeGrid, a: Vector) -> tuple[Vector, str]:
    """Values at all levels and nodes, and what was averaged to have them."""
    levels, n, vertices = grid.levels.size, len(nodes), len(nodes.mesh.points)
    if a.ndim == 1 and a.size in (levels * n, (grid.steps + 1) * n):
        a = a.reshape(-1, n)
    wanted = f"({grid.steps + 1}, {n}), one value per node of time and of the mesh"
    if a.ndim != 2 or a.shape[0] not in (levels, grid.steps + 1) or a.shape[1] not in (n, vertices):
        raise InputError(f"prediction: must have shape {wanted}; got shape {a.shape}")
    if not np.all(np.isfinite(a)):
        level, node = np.argwhere(~np.isfinite(a))[0]
        raise InputError(f"prediction: is not finite at time {int(level)}, node {int(node)}")
    how = "nodal values"
    if a.shape[0] != levels:
        full = np.empty((levels, a.shape[1]))
        full[::2], full[1::2] = a, 0.5 * (a[:-1] + a[1:])
        a, how = full, how + ", middles of slabs by averaging"
    if a.shape[1] != n:
        a, how = nodes.spread(a.T).T, how + ", edge midpoints by averaging"
    return np.ascontiguousarray(a), how
