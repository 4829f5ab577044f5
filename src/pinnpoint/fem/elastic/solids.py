"""An elastic problem as the transfer to the solid's own solution sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Limits, Mask, whole
from pinnpoint.base.errors import InputError
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.data.coefficients import per_cell, split
from pinnpoint.fem.data.conditions import require_boundary
from pinnpoint.fem.elastic.elastic_loads import even_traction
from pinnpoint.fem.elastic.elastic_queries import ElasticQueries
from pinnpoint.fem.elastic.loads import Load
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import up
from pinnpoint.systems.goals import Compliance
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import fixed
from pinnpoint.transfer.elastic.arcs import Arcs
from pinnpoint.transfer.elastic.material import material_error
from pinnpoint.transfer.elastic.rounded import Rounded
from pinnpoint.transfer.elastic.route import Elastic
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.points.work import BUDGET


def route_of(problem: ElasticQueries, queries: Queries, tolerance: Limits, budget: int | None) -> Elastic:
    """The proved way from these queries' discrete values to the solid's own solution."""
    require_meaning(problem)
    T = Topology.of(problem.mesh)
    solid = solid_of(problem, T, budget)
    where = partial(T.numbers_of_group, problem.mesh), partial(_cells, problem)
    if problem.bending is None:
        return Elastic(solid, queries, *where, tolerance)
    if solid.thermal is not None:
        raise InputError(
            "temperature: thermal stresses beside curved sides of a solid have no proved transfer; leave the geometry "
            "out for the polygon, whose certificate says how far it is from the curves, or say target='discrete'"
        )
    arcs = arcs_of(problem.bending, T, solid.held)
    if any(np.isin(facets, arcs.facets).any() for facets, _ in solid.forces):
        raise InputError("force: total forces on curved groups of solids are not supported; give a traction")
    on = [(facets, given) for facets, given in solid.traction if np.isin(facets, arcs.facets).any()]
    if any(not (g is None or fixed(g) is not None or isinstance(g, Expression)) for _, given in on for g in given):
        raise InputError("traction: on curved groups of solids tractions are numbers or formulas")
    off = [(facets[~np.isin(facets, arcs.facets)], given) for facets, given in solid.traction]
    target = np.zeros((len(arcs.facets), 2))
    straight = []
    for facets, given in solid.dirichlet:
        mine = np.isin(facets, arcs.facets)
        straight.append((facets[~mine], given))
        numbers = [None if g is None else fixed(g) for g in given]
        if mine.any() and any(known is None or known[1] != 0.0 for known in numbers):
            raise InputError(
                "fixed: curved sides of solids are held at numbers; leave the geometry out for the polygon"
            )
        target[np.isin(arcs.facets, facets)] = [0.0 if known is None else known[0] for known in numbers]
    if np.any(target) and any(isinstance(goal, Compliance) for goal in queries.goals or ()):
        raise InputError(
            "queries: the work of the loads is certified where every held displacement is zero, and a curved side is "
            "held at another; ask for points and averages"
        )
    plain = replace(
        solid,
        dirichlet=[(facets, given) for facets, given in straight if len(facets)],
        traction=[(facets, given) for facets, given in off if len(facets)],
        arcs=arcs,
    )
    return Rounded(plain, queries, *where, tolerance, arcs=arcs, given=on, target=target)


def bending_of(mesh: Mesh, geometry: Mapping[str, Shape] | None) -> Bending | None:
    """Curves of a plane solid; solids in space are the polyhedron of their mesh."""
    if not geometry:
        return None
    if mesh.dim != 2:
        raise InputError(
            "geometry: solids in space are the polyhedron of their mesh, and certificates say how far its groups are "
            "from curved surfaces; leave it out"
        )
    bending = Bending.of(mesh, geometry)
    require_boundary(mesh, geometry, "geometry")
    return bending


def arcs_of(bending: Bending, T: Topology, held: Mask) -> Arcs:
    """The curved sides as polynomial arcs through the mesh's vertices."""
    P = bending.bends.profiles
    facets = T.facet_numbers(P.edges)
    size = np.sqrt((P.direction**2).sum(axis=1))
    away = up(bending.bends.offset[P.edges].max(axis=(1, 2)) + 0.25 * P.value_error * size, 8)  # curved.md, step 6a
    return Arcs.of(T, held, facets, P.shape, away)


def require_meaning(problem: ElasticQueries) -> None:
    """Refuse what acts or holds at nodes alone: in the solid it has no finite energy."""
    nodal, remedy = problem.given["nodal"], "say target='discrete' for the solution of the discrete system"
    if nodal is not None and np.any(nodal):
        some = np.flatnonzero(np.any(nodal, axis=1))
        raise InputError(
            f"nodal: forces at {len(some)} nodes, the first is node {int(some[0])}, have no meaning for the solid "
            f"itself; give tractions, or {remedy}"
        )
    if not problem.held.parts:
        raise InputError(
            "space: supports at nodes, rigid bodies and multi-point constraints have no meaning for the solid itself; "
            f"hold boundary groups by fixed=, or {remedy}"
        )
    for group, total in problem.conditions["force"].items():
        if isinstance(total, Load):
            raise InputError(
                f"force '{group}': a force with a moment that nodes carry is no traction; give a traction field, or "
                f"{remedy}"
            )


def _cells(problem: ElasticQueries, where: Any) -> Index:
    if where is None:
        return np.arange(len(problem.mesh.cells))
    return np.asarray(problem.mesh.cells_of(where) if isinstance(where, str) else where, dtype=np.intp)


def solid_of(problem: ElasticQueries, T: Topology, budget: int | None = None) -> Solid:
    """Data, materials and supports, facet by facet."""
    mesh, d, (lam, mu) = problem.mesh, problem.mesh.dim, problem.lame
    held = np.zeros((len(T.facets), d), dtype=bool)
    dirichlet = []
    for part in problem.held.parts:
        facets = T.facet_numbers(part.facets)
        dirichlet.append((facets, part.given))
        for c, g in enumerate(part.given):
            held[facets, c] |= g is not None
    body = None if problem.weights is not None else problem.given["body"]
    tractions = [
        (T.facet_numbers(mesh.facets(group)), split(f"traction '{group}'", t, d))
        for group, t in problem.conditions["traction"].items()
    ]
    forces = [
        (T.facet_numbers(mesh.facets(group)), even_traction(problem.nodes, group, total)[0])
        for group, total in problem.conditions["force"].items()
    ]
    return Solid(
        T,
        problem.nodes.edges,
        problem.degree,
        lam,
        mu,
        material_error(lam, mu, d, roundings(problem)),
        held,
        tuple(0.0 if f is None else f for f in split("body", 0.0 if body is None else body, d)),
        dirichlet,
        tractions,
        forces,
        problem.thermal,
        problem.weights,
        BUDGET if budget is None else whole("budget", budget, low=1),
    )


def roundings(problem: ElasticQueries) -> float:
    """How many roundings λ and μ have each: 1 − ν² cancels near ν = −1, other sums and products do not."""
    nu = per_cell("poisson", problem.given["poisson"], problem.mesh)
    return 8.0 + 2.0 / (1.0 - float(np.max(nu * nu)))
