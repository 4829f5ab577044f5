"""Forces on elastic bodies: densities in cells and on facets, total forces over groups, forces at nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import FACET_MEANS, Nodes
from pinnpoint.fem.data.coefficients import Data, components, require_defined, require_defined_on
from pinnpoint.fem.elastic.loads import Load, spread_over


def in_all_components(table: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A `Load` stands for a force in every component where only the place of loads is compared."""
    return {group: [1.0] * count if isinstance(value, Load) else value for group, value in table.items()}


def load_of(nodes: Nodes, body: Any, traction: Mapping[str, Any], force: Mapping[str, Any], order: int) -> Vector:
    """Body forces, tractions and total forces, (n, d)."""
    mesh, d = nodes.mesh, nodes.mesh.dim
    b = np.zeros((len(nodes), d))
    for k, f in enumerate(components("body", 0.0 if body is None else body, d)):
        if f is not None and body is not None:
            b[:, k] += assembly.load(nodes, f, order)
    for group, t in traction.items():
        for k, f in enumerate(components(f"traction '{group}'", t, d)):
            if f is not None:
                b[:, k] += assembly.boundary_load(nodes, mesh.facets(group), f, order)
    require_defined("body", body, mesh.points[mesh.cells])
    require_defined_on(mesh, traction, "traction")
    for group, total in force.items():
        b += spread_over(nodes, group, total) if isinstance(total, Load) else spread_evenly(nodes, group, total)
    return b


def forces_at(nodal: ArrayLike, nodes: Nodes) -> Vector:
    """Forces at all nodes, (n, d)."""
    a, shape = floats("nodal", nodal), (len(nodes), nodes.mesh.dim)
    if a.size != shape[0] * shape[1] or not np.all(np.isfinite(a)):
        where = "" if nodes.degree == 1 else ", of the vertices and then of the edges' midpoints"
        raise InputError(f"nodal: must be finite forces of shape {shape}{where}; got shape {a.shape}")
    return a.reshape(shape)


def even_traction(nodes: Nodes, group: str, total: Data) -> tuple[Vector, float]:
    """A total force over a boundary group, and the group's measure."""
    facets, d = nodes.mesh.facets(group), nodes.mesh.dim
    values = floats(f"force '{group}'", total)
    if values.shape != (d,) or not np.all(np.isfinite(values)):
        raise InputError(f"force '{group}': must be {d} finite numbers; got {total!r}")
    if not len(facets):
        raise InputError(f"force '{group}': the group has no facets")
    return values, float(nodes.mesh.facet_measures(facets).sum())


def spread_evenly(nodes: Nodes, group: str, total: Data) -> Vector:
    """A total force over a patch, as an even traction, (n, d)."""
    values, whole = even_traction(nodes, group, total)
    facets, (means, parts) = nodes.mesh.facets(group), FACET_MEANS[nodes.degree][nodes.mesh.dim]
    size = nodes.mesh.facet_measures(facets) / whole
    shares = (size[:, None] * np.array(means) / parts).ravel()
    share = np.bincount(nodes.facet_dofs(facets).ravel(), shares, minlength=len(nodes))
    return np.asarray(share[:, None] * values[None, :])
