"""Boundary conditions: values on groups, each node one value, each facet one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import InputError
from pinnpoint.fem.coefficients import components
from pinnpoint.mesh import Index, Mesh
from pinnpoint.spaces import AdmissibleSpace


def prescribed(mesh: Mesh, given: Mapping[str, Any], count: int, name: str) -> tuple[Index, Vector]:
    """Fixed degrees of freedom and their values; two groups may share nodes only where they agree."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name}: must be a table from boundary groups to values; got {type(given).__name__}")
    value = np.full(count * len(mesh.points), np.nan)
    owner = np.full(value.size, -1)
    for number, (group, what) in enumerate(given.items()):
        nodes = np.unique(mesh.facets(group))
        for k, f in enumerate(components(f"{name} '{group}'", what, count)):
            if f is None:
                continue
            new, dofs = f(mesh.points[nodes]), nodes * count + k
            old = value[dofs]
            clash = ~np.isnan(old) & (np.abs(old - new) > 1e-12 * np.maximum(1.0, np.abs(old)))
            if clash.any():
                i = int(np.argmax(clash))
                other = list(given)[owner[dofs[i]]]
                raise InputError(
                    f"{name}: groups '{other}' and '{group}' overlap at node {int(nodes[i])}, "
                    f"{mesh.points[nodes[i]].tolist()}, with different values {float(old[i])!r} and {float(new[i])!r}"
                )
            value[dofs], owner[dofs] = np.where(np.isnan(old), new, old), number
    dofs = np.nonzero(~np.isnan(value))[0]
    return dofs, value[dofs]


def admissible(mesh: Mesh, dofs: Index, values: Vector, count: int) -> AdmissibleSpace:
    """The space with these entries fixed."""
    if not dofs.size:
        return AdmissibleSpace.unconstrained(count * len(mesh.points))
    return AdmissibleSpace.dirichlet(count * len(mesh.points), dofs, values)


def require_apart(
    mesh: Mesh, fixed: Mapping[str, Any], loaded: Mapping[str, Any], count: int, names: tuple[str, str]
) -> None:
    """A facet of the boundary cannot have all its components fixed and be loaded as well."""

    def keys(facets: Index) -> set[tuple[int, ...]]:
        return {tuple(f) for f in np.sort(facets, axis=1).tolist()}

    held: set[tuple[int, ...]] = set()
    for group, what in fixed.items():
        if all(f is not None for f in components(group, what, count)):
            held |= keys(mesh.facets(group))
    for group in loaded:
        shared = keys(mesh.facets(group)) & held
        if shared:
            raise InputError(
                f"{names[1]}: group '{group}' shares {len(shared)} of its facets with a {names[0]} group; a facet has "
                "one condition"
            )


def require_boundary(mesh: Mesh, groups: Mapping[str, Any], name: str) -> None:
    """Conditions live on the boundary: a group with interior facets is refused."""
    outer = {tuple(f) for f in mesh.boundary.tolist()}
    for group in groups:
        inside = [f for f in np.sort(mesh.facets(group), axis=1).tolist() if tuple(f) not in outer]
        if inside:
            raise InputError(f"{name}: group '{group}' has {len(inside)} facets inside the domain, not on its boundary")
