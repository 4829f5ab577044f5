"""Witnesses of a curved domain: which edges and faces are bent onto what, and along which directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.lifts.lifted import AbstractLifted
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.mesh.facets import edge_table, facet_keys
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.systems.goals import Block, Cells
from pinnpoint.systems.queries import Ball, Flux, Point, Queries


def bending_of(problem: Any) -> Bending | None:
    """The geometry of a problem, where it has one."""
    base = problem.base if isinstance(problem, AbstractLifted) else problem
    return base.bending if isinstance(base, ReactionDiffusion) else None


def curved_obstacle(problem: Any, queries: Queries) -> str:
    """Why the checker cannot prove what is asked on a curved domain; empty where it can."""
    own = bending_of(problem)
    if own is None:
        return ""
    if isinstance(problem, AbstractLifted):
        return "problem: kept predictions on curved domains have no witnesses for the checker; certify without the lift"
    bends = own.bends
    if any(isinstance(goal, Ball) and bends.meets(np.array(goal.at), goal.radius) for goal in queries.goals or ()):
        return "queries: averages over balls that meet cells at curves have no witnesses for the checker"
    if not all(isinstance(goal, Point | Ball | Block | Cells | Flux) for goal in queries.goals or ()):
        return (
            "queries: on curved domains the checker knows points, averages over cells and over balls away from curves, "
            "and fluxes through Dirichlet parts; leave out the others"
        )
    return ""


def bent(out: Writer, problem: Any) -> dict[str, Any]:
    """Bent edges and faces, and whose they are."""
    own = bending_of(problem)
    if own is None:
        return {}
    P, n = own.bends.profiles, len(own.mesh.points)
    order = np.lexsort((P.edges[:, 1], P.edges[:, 0]))
    edges = P.edges[order]
    out.array("bent/edges", edges)
    out.array("bent/direction", P.direction[order])
    groups = list(own.geometry)
    if not groups:
        return {"bent": {"groups": []}}
    facets = {group: np.sort(own.mesh.facets(group), axis=1) for group in groups}
    out.array("bent/group", _whose([edge_table(f, n)[0] for f in facets.values()], edges, n))
    if own.mesh.dim == 3:
        F = own.bends.patches
        order = np.lexsort(F.faces.T[::-1])
        out.array("bent/faces", F.faces[order])
        out.array("bent/across", F.direction[order])
        out.array("bent/face_group", _whose(list(facets.values()), F.faces[order], n))
    return {"bent": {"groups": groups}}


def _whose(parts: list[Any], wanted: Index, n: int) -> Index:
    """In which part each row is."""
    keys, found = facet_keys(wanted, n), np.zeros(len(wanted), dtype=np.int64)
    for k, part in enumerate(parts):
        found[np.isin(keys, facet_keys(np.asarray(part), n))] = k
    return found
