"""Boundary conditions: each facet has one, and it lies on the boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.fem.data.coefficients import Function, components
from pinnpoint.fem.data.held import HeldBoundary
from pinnpoint.mesh.facets import facet_keys
from pinnpoint.mesh.mesh import BOUNDARY, Mesh
from pinnpoint.systems.spaces import AdmissibleSpace


def admissible(size: int, dofs: Index, values: Vector, notes: Sequence[str] = ()) -> AdmissibleSpace:
    """The space with these entries fixed."""
    if not dofs.size:
        return AdmissibleSpace.unconstrained(size)
    if np.unique(dofs).size == size:
        raise InputError(
            "mesh: every node is held, so nothing is left to compute; refine the mesh, or take quadratic elements, "
            "degree=2"
        )
    return AdmissibleSpace.dirichlet(size, dofs, values, notes=notes)


def require_apart(
    mesh: Mesh, held: HeldBoundary, loads: Mapping[str, Mapping[str, Any]], count: int, fixed: str
) -> None:
    """A facet has one condition: it is not fixed and loaded in the same component, nor loaded by two groups.

    A zero load on a fixed component says nothing and is allowed where another component is free.

    Parameters
    ----------
    loads
        Names of tables to tables from groups to loads: tractions and total forces.
    fixed
        The name of the table that fixes values.
    """
    n = len(mesh.points)
    empty = facet_keys(np.zeros((0, mesh.dim), dtype=np.intp), n)
    taken = [
        np.concatenate([empty, *(facet_keys(p.facets, n) for p in held.parts if p.given[k] is not None)])
        for k in range(count)
    ]
    seen: list[tuple[str, str, Any]] = []
    for name, table in loads.items():
        for group, what in table.items():
            facets = mesh.facets(group)
            own = facet_keys(facets, n)
            inside = [np.isin(own, keys) for keys in taken]
            shared = np.logical_and.reduce(inside)
            for k, f in enumerate(components(f"{name} '{group}'", what, count)):
                if f is not None and inside[k].any():
                    shared[inside[k]] |= _loaded(mesh, facets[inside[k]], f)
            if shared.any():
                raise InputError(
                    f"{name}: group '{group}' shares {int(shared.sum())} of its facets with a {fixed} group; a facet "
                    f"has one condition{' in each component' if count > 1 else ''}"
                )
            _require_unseen(seen, name, group, own)
            seen.append((name, group, own))


def _require_unseen(seen: Sequence[tuple[str, str, Any]], name: str, group: str, own: Index) -> None:
    for table, other, keys in seen:
        twice = int(np.isin(own, keys).sum())
        if twice:
            with_ = (
                f"groups '{other}' and '{group}' share"
                if table == name
                else f"group '{group}' and {table} '{other}' share"
            )
            raise InputError(f"{name}: {with_} {twice} facets; a facet has one condition")


def _loaded(mesh: Mesh, facets: Index, f: Function) -> Any:
    """Whether a load is not zero at the vertices or the centre of facets."""
    P = mesh.points[facets]
    P = np.concatenate([P, P.mean(axis=1, keepdims=True)], axis=1)
    return np.any(f(P.reshape(-1, mesh.dim)).reshape(P.shape[:2]) != 0.0, axis=1)


def require_boundary(mesh: Mesh, groups: Any, name: str) -> None:
    """Conditions live on the boundary: an unknown group, an empty one, or one with interior facets, is refused."""
    if not isinstance(groups, Mapping):
        raise InputError(f"{name}: must be a table from boundary groups to values; got {type(groups).__name__}")
    if not groups:
        return
    outer = facet_keys(mesh.boundary, len(mesh.points))  # ascending
    for group in groups:
        try:
            keys = facet_keys(mesh.facets(group), len(mesh.points))
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        if not keys.size:
            raise InputError(f"{name}: group '{group}' has no facets, so nothing would be prescribed; remove it")
        inside = int(np.count_nonzero(outer[np.minimum(np.searchsorted(outer, keys), len(outer) - 1)] != keys))
        if inside:
            raise InputError(f"{name}: group '{group}' has {inside} facets inside the domain, not on its boundary")
        if group == BOUNDARY and len(keys) != len(outer):
            raise InputError(
                f"{name}: '{BOUNDARY}' is the whole boundary, and the mesh has a group of that name with {len(keys)} "
                f"of its {len(outer)} facets; give that group another name"
            )
