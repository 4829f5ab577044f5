"""What a mesh of linear elements leaves of a query: an estimate from quadratic elements, never a bound.

The discrete solution u_h is carried on to the space of linear elements and edge bubbles, that is to quadratic elements,
by a few steps of conjugate gradients, preconditioned by the solver of the linear elements and by the bubbles' own
diagonal blocks. With u₂ what they reach, J(u₂) − J(u_h) is what the mesh leaves, as far as quadratic elements see it.
It is the sum of what vertices and bubbles add. Where these nearly cancel, little is known of the rest, and `CANCELLED`
of their sizes is taken instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import PinnpointError
from pinnpoint.certifiers.base import AbstractCertifier
from pinnpoint.certifiers.nonlinear.base import AbstractNonlinearCertifier
from pinnpoint.certifiers.protocols import Certifier
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.assembling.enriched import Enriched, Enrichment
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.balls import Ball
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.protocol import answer
from pinnpoint.systems.goals import Flux, Reaction
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace

STEPS = 10
SETTLED = 0.2
"""Steps end where no query's estimate moved by more than this share of it, twice in a row."""
STATE = 1e-6
"""To what share of the residual the discrete solution is found by an iteration."""
CANCELLED = 1.0 / 3.0
MOST_CELLS = 4_000_000

Solve = Callable[[Vector], Vector]


class Estimable(Protocol):
    """What is needed of a finite-element problem."""

    @property
    def mesh(self) -> Mesh: ...  # noqa: D102
    @property
    def degree(self) -> int: ...  # noqa: D102
    @property
    def space(self) -> AdmissibleSpace: ...  # noqa: D102
    def enriched(self, U: Vector) -> Enrichment: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class MeshEstimate:
    """The size of J(u₂) − J(u_h) by query, not a number where it is not known; None, and why, if there is none."""

    sizes: Vector | None
    why: str = ""

    __repr__ = brief


def mesh_estimate(
    problem: Estimable, queries: Queries, U: Vector, certifier: Certifier, state: Ball | None = None
) -> MeshEstimate:
    """What the mesh leaves of the queries, estimated.

    Parameters
    ----------
    U
        An admissible state.
    certifier
        What the discrete target was certified with: its solver carries U to the discrete solution.
    state
        The discrete solution, where the certificate has it.
    """
    if problem.degree != 1:
        return MeshEstimate(None, "only linear elements are compared with the next degree")
    if len(problem.mesh.cells) > MOST_CELLS:
        return MeshEstimate(None, f"the mesh has more than {MOST_CELLS} cells")
    if queries.on_nodes is None and not any(isinstance(goal, Flux | Reaction) for goal in queries.goals):
        return MeshEstimate(None, "the queries are rows of coefficients, unknown beyond these elements")
    try:
        found = _discrete_solution(problem, U, certifier, state)
        if found is None:
            return MeshEstimate(None, "this certificate inverts nothing")
        enriched = problem.enriched(found[0])
        asked = _Functionals(enriched.operator, queries)
        X = carried_on(enriched, problem.space, found[1], asked)
    except (PinnpointError, ArithmeticError, np.linalg.LinAlgError) as error:
        return MeshEstimate(None, str(error))
    return MeshEstimate(None, "the iteration broke down") if X is None else MeshEstimate(asked.sizes(X))


def _discrete_solution(
    problem: Estimable, U: Vector, certifier: Certifier, state: Ball | None
) -> tuple[Vector, Solve] | None:
    """The discrete solution, and a rough inverse of its operator."""
    space = problem.space
    if isinstance(certifier, AbstractNonlinearCertifier):
        base = certifier.base(U)
        return space.vector_of(base.y - base.step), base.solver.solve
    if not isinstance(certifier, AbstractCertifier) or certifier.ground.solver is None:
        return None
    solver = certifier.ground.solver
    if isinstance(state, Ball):
        u = state.hi
    else:
        seen = certifier.observe(U)
        solve = partial(solver.solve_to, tolerance=STATE) if isinstance(solver, Multigrid) else solver.solve
        u = space.vector_of(seen.y - answer(solve, seen.rho.hi))
    rough = solver.roughly if isinstance(solver, Multigrid) else solver.solve
    return u, lambda b: answer(rough, b)


class _Functionals:
    """The queries of fields with coefficients (V + E, count), without their constants."""

    def __init__(self, operator: Enriched, queries: Queries) -> None:
        nodes = operator.nodes
        self._nodes, self._count = nodes, len(queries)
        self._rows = None if queries.on_nodes is None else queries.on_nodes(nodes)
        self._fluxes: dict[int, Vector] = {}
        for i, goal in enumerate(queries.goals):
            if isinstance(goal, Flux | Reaction):  # a(u, φ) with φ = 1, or e_k, at the group's nodes
                phi = np.zeros((len(nodes), operator.count))
                k = goal.component if isinstance(goal, Reaction) else 0
                phi[np.unique(nodes.mesh.facets(goal.group)), k] = 1.0
                self._fluxes[i] = operator.apply(phi)

    def __call__(self, X: Vector) -> Vector:
        """Their values."""
        unknown = np.full(self._count, np.nan)
        found = unknown if self._rows is None else np.asarray(self._rows @ at_nodes(self._nodes, X).ravel())
        for i, product in self._fluxes.items():
            found[i] = float(np.vdot(product, X))
        return found

    def sizes(self, X: Vector) -> Vector:
        """|value|, or a share of the sizes of the vertices' and the bubbles' parts; fluxes' parts are always large."""
        V, bubbles = len(self._nodes.mesh.points), X.copy()
        bubbles[:V] = 0.0
        whole, part = self(X), self(bubbles)
        found = np.maximum(np.abs(whole), CANCELLED * (np.abs(part) + np.abs(whole - part)))
        at = list(self._fluxes)
        found[at] = np.abs(whole[at])
        return found


def carried_on(
    problem: Enrichment, space: AdmissibleSpace, solve: Solve, measure: Callable[[Vector], Vector], steps: int = STEPS
) -> Vector | None:
    """Coefficients (V + E, count) of u₂ − u_h; None where the iteration breaks down.

    Parameters
    ----------
    solve
        The inverse of the linear elements' reduced operator, roughly.
    measure
        From such coefficients to values that are to settle.
    """
    operator, V = problem.operator, len(problem.operator.nodes.mesh.points)
    scale = _inverses(operator.diagonal())
    X = np.zeros((len(operator.nodes), operator.count))
    X[V:] = np.where(problem.held, problem.values, 0.0)
    r = np.concatenate([np.zeros((V, operator.count)), problem.residual]) - operator.apply(X)

    def precondition(r: Vector) -> Vector:
        z = np.empty_like(r)
        z[:V] = _direction(space, solve(_reduced(space, r[:V]))).reshape(V, -1)
        free = np.where(problem.held, 0.0, r[V:])
        z[V:] = np.where(problem.held, 0.0, np.einsum("eij,ej->ei", scale, free))
        return z

    found, quiet = measure(X), 0
    p = z = precondition(r)
    rz = float(np.vdot(r, z))
    for _ in range(steps):
        if rz == 0.0:
            break
        q = operator.apply(p)
        curvature = float(np.vdot(p, q))
        if not (rz > 0.0 and curvature > 0.0):
            return None
        X += (rz / curvature) * p
        r -= (rz / curvature) * q
        last, found = found, measure(X)
        moving = np.abs(found - last) > SETTLED * np.abs(found)  # not so for what is not a number
        quiet = 0 if moving.any() else quiet + 1
        if quiet == 2:
            break
        z = precondition(r)
        before, rz = rz, float(np.vdot(r, z))
        p = z + (rz / before) * p
    return X if np.all(np.isfinite(X)) else None


def _inverses(blocks: Vector) -> Vector:
    return np.asarray(1.0 / blocks if blocks.shape[1] == 1 else np.linalg.inv(blocks), dtype=np.float64)


def _reduced(space: AdmissibleSpace, r: Vector) -> Vector:
    return np.asarray(r.ravel()[space.free] if space.free is not None else space.Z.T @ r.ravel())


def _direction(space: AdmissibleSpace, y: Vector) -> Vector:
    if space.free is None:
        return np.asarray(space.Z @ y)
    full = np.zeros(space.N)
    full[space.free] = y
    return full


def at_nodes(nodes: Nodes, X: Vector) -> Vector:
    """Values at vertices and midpoints from coefficients of linear functions and bubbles."""
    V = len(nodes.mesh.points)
    return np.concatenate([X[:V], X[V:] + 0.5 * X[nodes.edges[:, 0]] + 0.5 * X[nodes.edges[:, 1]]])
