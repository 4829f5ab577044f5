"""The bracket of the large-scale studies: problem, four patch queries, Green vectors and a reference, made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.brief import brief
from pinnpoint.certifiers.exact import Exact
from pinnpoint.fem.stability.coercivity import path_coercivity
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.systems.queries import Queries
from pinnpoint_paper.bracket_given import PATCHES, Given, Which, give

FACTORIZED = 30_000
"""Up to so many unknowns the reference is a sparse factorization and coercivity is proved by one."""
SHOWN = 3000
"""Surface nodes kept for figures."""
TURN, LIFT = np.deg2rad(-55.0), np.deg2rad(28.0)
RIGHT = np.array([np.cos(TURN), np.sin(TURN), 0.0])
TOWARDS = np.array([np.sin(TURN) * np.cos(LIFT), -np.cos(TURN) * np.cos(LIFT), np.sin(LIFT)])
"""The view of the figures: a parallel projection, from the direction TOWARDS."""
UP = np.cross(TOWARDS, RIGHT)
PIXEL = 1.5


@dataclass(frozen=True, eq=False)
class Bracket:
    """A bracket under its vertical load.

    Attributes
    ----------
    given
        The part itself, generated or SimJEB's.
    A, b
        The reduced system.
    shown
        Surface nodes for figures.
    middles
        Where the query patches lie.
    """

    given: Given
    A: Any
    b: Any
    queries: Queries
    middles: Any
    shown: Any

    __repr__ = brief

    @property
    def problem(self) -> Any:
        """Elasticity under the vertical load."""
        return self.given.problem

    @cached_property
    def paths(self) -> Any:
        """Coercivity by paths of cells."""
        return path_coercivity(self.problem)

    @property
    def coercivity(self) -> Any:
        """The bound by paths where a factorization is too much, else None."""
        return self.paths if self.problem.system.n > FACTORIZED else None

    @cached_property
    def solver(self) -> Any:
        """Solves with the matrix, for references; no certificate uses it."""
        system = self.problem.system
        if system.n <= FACTORIZED:
            return spla.splu(self.A.tocsc())
        return Multigrid(self.A, system.modes, system.node_size)

    def lengths(self, v: Any) -> Any:
        """Euclidean length at each node of a vector over free entries."""
        whole = np.zeros(self.problem.system.N)
        whole[np.asarray(self.problem.space.free)] = v
        return np.linalg.norm(whole.reshape(-1, 3), axis=1)

    def about(self) -> str:
        """Plain words on which bracket this is."""
        mesh = self.problem.mesh
        return (
            f"{self.given.name}, {len(mesh.points)} nodes, {len(mesh.cells)} tetrahedra, "
            f"{self.problem.system.n} free unknowns"
        )


@cache
def make(which: Which) -> Bracket:
    """Matrix, load and queries of a part."""
    given = give(which)
    problem = given.problem
    free = np.asarray(problem.space.free)
    A = sp.csr_array(problem.A[free][:, free])
    nodes = _visible(problem.mesh)
    shown = nodes[:: max(1, len(nodes) // SHOWN)]
    return Bracket(given, A, problem.b[free], _patches(given), given.middles, shown)


def seen(X: Any) -> Any:
    """Places in the plane of the figures, (N, 2)."""
    return np.stack([X @ RIGHT, X @ UP], axis=1)


def _visible(mesh: Any) -> Any:
    """Surface nodes that nothing hides, by a depth buffer filled with points all over the boundary facets."""
    t = np.array([(i, j, 12 - i - j) for i in range(13) for j in range(13 - i)]) / 12.0
    corners, P = mesh.points[mesh.boundary], mesh.points
    low = seen(P).min(axis=0)
    width = int((seen(P)[:, 0].max() - low[0]) / PIXEL) + 2

    def pixels(X: Any) -> Any:
        at = ((seen(X) - low) / PIXEL).astype(int)
        return at[:, 1] * width + at[:, 0]

    nodes = np.unique(mesh.boundary)
    depth = np.full(int(pixels(P).max()) + 2 * width, -np.inf)
    step = max(1, round(len(t) * len(corners) / 4_000_000))
    for weights in t[:: min(step, 30)]:
        X = np.einsum("k,fkd->fd", weights, corners)
        np.maximum.at(depth, pixels(X), X @ TOWARDS)
    return nodes[P[nodes] @ TOWARDS >= depth[pixels(P[nodes])] - 2.0 * PIXEL]


def _patches(given: Given) -> Queries:
    """Area averages of u_z over the four patches."""
    mesh, rows = given.problem.mesh, []
    for facets in given.patches:
        area = mesh.facet_measures(facets)
        weight = np.repeat(area / area.sum() / 3.0, 3)
        rows.append(np.bincount(3 * facets.ravel() + 2, weight, minlength=given.problem.system.N))
    return Queries(sp.csr_array(np.array(rows)), list(PATCHES), points=given.middles)


@cache
def certifier(which: Which) -> Any:
    """`Exact` with refined Green vectors."""
    found = make(which)
    return Exact(refine=True, coercivity=found.coercivity).prepare(found.problem.system, found.queries)


def solve(found: Bracket, b: Any) -> Any:
    """A⁻¹b by a solver that no certificate uses, with one step of refinement."""
    x = found.solver.solve(b)
    return x + found.solver.solve(b - found.A @ x)


@cache
def reference(which: Which) -> Any:
    """The discrete solution of the vertical load, over free entries."""
    found = make(which)
    return solve(found, found.b)


@cache
def green(which: Which) -> Any:
    """Green vectors of the four queries over free entries, (4, n)."""
    return np.stack([certifier(which).green.ball(i).hi for i in range(len(PATCHES))])
