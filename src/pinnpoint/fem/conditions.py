"""Boundary conditions: values on groups, each node one value, each facet one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import InputError
from pinnpoint.facets import facet_keys
from pinnpoint.fem.coefficients import components
from pinnpoint.fem.elements import Nodes
from pinnpoint.mesh import Index, Mesh
from pinnpoint.spaces import AdmissibleSpace


def prescribed(space: Nodes, given: Mapping[str, Any], count: int, name: str) -> tuple[Index, Vector]:
    """Fixed degrees of freedom and their values; two groups may share nodes only where they agree."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name}: must be a table from boundary groups to values; got {type(given).__name__}")
    value = np.full(count * len(space), np.nan)
    owner = np.full(value.size, -1)
    for number, (group, what) in enumerate(given.items()):
        nodes = np.unique(space.facet_dofs(space.mesh.facets(group)))
        for k, f in enumerate(components(f"{name} '{group}'", what, count)):
            if f is None:
                continue
            new, dofs = f(space.points[nodes]), nodes * count + k
            old = value[dofs]
            clash = ~np.isnan(old) & (np.abs(old - new) > 1e-12 * np.maximum(1.0, np.abs(old)))
            if clash.any():
                i = int(np.argmax(clash))
                other = list(given)[owner[dofs[i]]]
                raise InputError(
                    f"{name}: groups '{other}' and '{group}' overlap at node {int(nodes[i])}, "
                    f"{space.points[nodes[i]].tolist()}, with different values {float(old[i])!r} and {float(new[i])!r}"
                )
            value[dofs], owner[dofs] = np.where(np.isnan(old), new, old), number
    dofs = np.nonzero(~np.isnan(value))[0]
    return dofs, value[dofs]


def admissible(size: int, dofs: Index, values: Vector) -> AdmissibleSpace:
    """The space with these entries fixed."""
    return AdmissibleSpace.dirichlet(size, dofs, values) if dofs.size else AdmissibleSpace.unconstrained(size)


def require_apart(
    mesh: Mesh, fixed: Mapping[str, Any], loaded: Mapping[str, Any], count: int, names: tuple[str, str]
) -> None:
    """A facet has one condition: it is not fixed and loaded in the same component, nor loaded by two groups.

    A zero load on a fixed component says nothing and is allowed where another component is free.
    """
    held: list[set[tuple[int, ...]]] = [set() for _ in range(count)]
    for group, what in fixed.items():
        for k, f in enumerate(components(f"{names[0]} '{group}'", what, count)):
            if f is not None:
                held[k] |= _keys(mesh.facets(group))
    seen: dict[tuple[int, ...], str] = {}
    for group, what in loaded.items():
        own = _keys(mesh.facets(group))
        shared = {f for f in own if all(f in h for h in held)}
        for k, f in enumerate(components(f"{names[1]} '{group}'", what, count)):
            if f is not None:
                shared |= _loaded(mesh, own & held[k], f)
        if shared:
            raise InputError(
                f"{names[1]}: group '{group}' shares {len(shared)} of its facets with a {names[0]} group; a facet has "
                f"one condition{' in each component' if count > 1 else ''}"
            )
        twice = own & seen.keys()
        if twice:
            raise InputError(
                f"{names[1]}: groups '{seen[next(iter(twice))]}' and '{group}' share {len(twice)} facets; a facet has "
                "one condition"
            )
        seen |= dict.fromkeys(own, group)


def _keys(facets: Index) -> set[tuple[int, ...]]:
    return {tuple(f) for f in np.sort(facets, axis=1).tolist()}


def _loaded(mesh: Mesh, facets: set[tuple[int, ...]], f: Any) -> set[tuple[int, ...]]:
    """Those facets where a load is not zero at the vertices and the centre."""
    if not facets:
        return set()
    each = sorted(facets)
    P = mesh.points[np.array(each)]
    P = np.concatenate([P, P.mean(axis=1, keepdims=True)], axis=1)
    values = f(P.reshape(-1, mesh.dim)).reshape(P.shape[:2])
    return {facet for facet, any_load in zip(each, np.any(values != 0.0, axis=1), strict=True) if any_load}


def require_boundary(mesh: Mesh, groups: Mapping[str, Any], name: str) -> None:
    """Conditions live on the boundary: an unknown group, or one with interior facets, is refused."""
    if not groups:
        return
    outer = facet_keys(mesh.boundary, len(mesh.points))  # ascending
    for group in groups:
        try:
            keys = facet_keys(mesh.facets(group), len(mesh.points))
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        inside = int(np.count_nonzero(outer[np.minimum(np.searchsorted(outer, keys), len(outer) - 1)] != keys))
        if inside:
            raise InputError(f"{name}: group '{group}' has {inside} facets inside the domain, not on its boundary")
