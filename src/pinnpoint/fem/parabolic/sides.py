"""Dirichlet values at all levels of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import function
from pinnpoint.fem.data.held import prescribed, resolve
from pinnpoint.fem.parabolic.data import over_levels, steady, table_at
from pinnpoint.formulas.expressions import Expression


def held_values(nodes: Nodes, table: Mapping[str, Any], levels: Vector) -> Vector:
    """Dirichlet values (levels, n), zero at free nodes.

    Formulas on groups that have no node in common are evaluated at many levels together; where groups meet, each level
    is held against the others on its own.
    """
    found = np.zeros((levels.size, len(nodes)))
    if not table:
        return found
    if steady(table):
        found[:] = _at(nodes, table, float(levels[0]))
        return found
    parts = resolve(nodes.mesh, table_at(table, float(levels[0])), 1, "dirichlet").parts
    own = {part.group: np.unique(nodes.facet_dofs(part.facets)) for part in parts if len(part.facets)}
    every = np.concatenate([*own.values(), np.zeros(0, dtype=np.intp)])
    known = all(not callable(given) or isinstance(given, Expression) for given in table.values())
    if known and len(np.unique(every)) == len(every):
        for group, where in own.items():
            values = function(f"dirichlet '{group}'", table[group])
            found[:, where] = over_levels(values, nodes.points[where], levels) + 0.0
        return found
    for level, time in enumerate(levels.tolist()):
        found[level] = _at(nodes, table, time)
    return found


def _at(nodes: Nodes, table: Mapping[str, Any], time: float) -> Vector:
    dofs, values = prescribed(nodes, resolve(nodes.mesh, table_at(table, time), 1, "dirichlet"), 1, "dirichlet")
    found = np.zeros(len(nodes))
    found[dofs] = values
    return found
