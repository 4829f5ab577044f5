"""What a deck's supports and loads mean for the solid itself: held facets and pressures, nothing that acts at nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.io.decks.carried import Carried, faces_of, linear_traction
from pinnpoint.mesh.mesh import Mesh

DIGITS = 9
"""Normals that agree in so many digits are those of one plane."""
NAMED = 5
"""So many nodes are named in messages."""
REMEDY = "say target = 'discrete' for the solution of the discrete system"


@dataclass(frozen=True, eq=False)
class Meaning:
    """Supports and loads of a subcase before they became a space and forces at nodes.

    Attributes
    ----------
    fixed
        (n, d) values of held displacements at all nodes, NaN where free.
    forces
        (n, d) forces at nodes beside those of pressures.
    facets, pressure
        (F, d) vertices of boundary facets, and the pressure into the body on each of them.
    tied
        Names of rigid elements.
    body
        (C, d) force densities of gravity; None where there is none.
    warmth
        (n,) how much warmer the nodes are than where they are free of stress; None where they are not.
    pulled, pull
        (P, d) vertices of boundary facets, and the traction (P, d) on each of them.
    carried
        Forces and moments that averaging elements carry.
    """

    fixed: Vector
    forces: Vector
    facets: Index
    pressure: Vector
    tied: tuple[str, ...] = ()
    body: Vector | None = None
    warmth: Vector | None = None
    pulled: Index | None = None
    pull: Vector | None = None
    carried: tuple[Carried, ...] = ()

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Conditions:
    """A mesh with further groups, and what is held and pushed there."""

    mesh: Mesh
    fixed: dict[str, Any]
    traction: dict[str, Any]
    body: Any
    notes: tuple[str, ...]

    __repr__ = brief


def conditions(nodes: Nodes, meaning: Meaning, ids: Index) -> Conditions:
    """Boundary conditions with a meaning for the solid; refuses what acts or holds at nodes alone, by their numbers."""
    pushed = np.flatnonzero(np.any(meaning.forces != 0.0, axis=1))
    if pushed.size:
        raise InputError(
            f"target: forces at {_nodes(ids[pushed])} have no meaning for the solid itself; give pressures, or {REMEDY}"
        )
    if meaning.tied:
        raise InputError(
            f"target: {meaning.tied[0]} ties nodes to each other, which has no meaning for the solid itself; {REMEDY}"
        )
    facets, values = _held(nodes, meaning.fixed, ids)
    groups, fixed = dict[str, Index](), dict[str, Any]()
    for k, rows in enumerate(_alike(values)):
        name = f"held {k + 1}"
        groups[name] = facets[rows]
        fixed[name] = [None if np.isnan(v) else float(v) for v in values[rows[0]]]
    traction, normals = dict[str, Any](), np.zeros((0, nodes.mesh.dim))
    loaded = _loaded_once(nodes, meaning)
    if len(meaning.facets):
        normals = nodes.mesh.outer_normals(meaning.facets)
    directed = np.column_stack([np.round(normals, DIGITS), meaning.pressure]).astype(np.float64)
    for k, rows in enumerate(_alike(directed)):
        name = f"pressure {k + 1}"
        groups[name] = meaning.facets[rows]
        traction[name] = [float(v) for v in -meaning.pressure[rows[0]] * normals[rows[0]]]
    notes = [f"supports at nodes are those of the {len(facets)} boundary facets all of whose nodes they hold"]
    if meaning.pulled is not None and meaning.pull is not None:
        for k, rows in enumerate(_alike(meaning.pull)):
            name = f"pull {k + 1}"
            groups[name], traction[name] = meaning.pulled[rows], [float(v) for v in meaning.pull[rows[0]]]
    for k, (one, faces) in enumerate(zip(meaning.carried, loaded, strict=True)):
        name = f"carried {k + 1}"
        groups[name], traction[name] = faces, linear_traction(nodes.mesh.points[faces], one)
        notes.append(f"{one.name}: its force and moment act as a traction that is linear over its {len(faces)} facets")
    return Conditions(nodes.mesh.with_facets(groups), fixed, traction, _even(meaning.body), tuple(notes))


def _loaded_once(nodes: Nodes, meaning: Meaning) -> list[Index]:
    """The facets of averaging elements; refuses a facet that is loaded in two ways."""
    found = [faces_of(nodes, one) for one in meaning.carried]
    none = np.zeros((0, nodes.mesh.dim), dtype=np.intp)
    pulled = none if meaning.pulled is None else meaning.pulled
    every = np.sort(np.concatenate([meaning.facets, pulled, *found]), axis=1)
    if len(np.unique(every, axis=0)) < len(every):
        raise InputError(f"target: a facet has two loads, a pressure and a traction; join them, or {REMEDY}")
    return found


def _even(body: Vector | None) -> Any:
    """One force density for the whole body, or a row for each cell."""
    if body is None or not np.any(body):
        return None
    return body if np.any(body != body[0]) else tuple(float(f) for f in body[0])


def _held(nodes: Nodes, fixed: Vector, ids: Index) -> tuple[Index, Vector]:
    """Boundary facets with held components, and their values, NaN where free."""
    boundary = nodes.mesh.boundary
    here = fixed[nodes.facet_dofs(boundary)]
    held: Any = ~np.isnan(here).any(axis=1)
    uneven: Any = held & np.any(here != here[:, :1], axis=1)
    if uneven.any():
        face = boundary[int(np.argmax(uneven.any(axis=1)))]
        raise InputError(
            f"target: the displacements held at {_nodes(ids[face])} vary over a face, which is not read for the solid "
            f"itself; hold faces evenly, or {REMEDY}"
        )
    covered = np.zeros(fixed.shape, dtype=bool)
    for c in range(fixed.shape[1]):
        covered[nodes.facet_dofs(boundary[held[:, c]]).ravel(), c] = True
    alone = np.flatnonzero((~np.isnan(fixed) & ~covered).any(axis=1))
    if alone.size:
        raise InputError(
            f"target: supports at {_nodes(ids[alone])} hold no whole boundary facet, which has no meaning for the "
            f"solid itself; hold faces, or {REMEDY}"
        )
    some = np.flatnonzero(held.any(axis=1))
    return boundary[some], np.where(held[some], here[some][:, 0], np.nan)


def _alike(rows: Vector) -> list[Index]:
    """Numbers of equal rows, NaN being equal to NaN."""
    if not len(rows):
        return []
    _, which = np.unique(np.where(np.isnan(rows), np.inf, rows + 0.0), axis=0, return_inverse=True)
    which = which.ravel()
    return [np.flatnonzero(which == k) for k in range(int(which.max()) + 1)]


def _nodes(ids: Sequence[int] | Index) -> str:
    """Some nodes by their numbers."""
    shown = ", ".join(str(int(i)) for i in list(ids)[:NAMED])
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return f"node {shown}" if len(ids) == 1 else f"nodes {shown}{more}"
