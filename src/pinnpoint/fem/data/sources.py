"""Sources: one for all cells, or a table from cell groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import Data, function, named, per_cell
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.media.regional import Regional


def by_groups(source: Data, mesh: Mesh) -> list[tuple[str, Any, Index]]:
    """What to call each part, what is given, and its cells; a table must give every cell one source."""
    if not isinstance(source, Mapping):
        return [("source", source, np.arange(len(mesh.cells)))]
    labels = per_cell("source", {group: float(i) for i, group in enumerate(source)}, mesh)
    return [
        (f"source of group '{group}'", f, np.flatnonzero(labels == i)) for i, (group, f) in enumerate(source.items())
    ]


def body(nodes: Nodes, source: Data, order: int) -> Vector:
    """∫ f φ_i."""
    if not isinstance(source, Mapping):
        return assembly.load(nodes, function("source", source), order)
    b = np.zeros(len(nodes))
    for name, f, cells in by_groups(source, nodes.mesh):
        b += assembly.load(nodes, function(name, f), order, cells)
    return b


def source_of(source: Data, mesh: Mesh) -> Any:
    """The source as transfers see it."""
    if not isinstance(source, Mapping):
        return named("source", source)
    regions = np.empty(len(mesh.cells), dtype=np.intp)
    parts = by_groups(source, mesh)
    for i, (_, _, cells) in enumerate(parts):
        regions[cells] = i
    return Regional(regions, tuple(named(name, f) for name, f, _ in parts))
