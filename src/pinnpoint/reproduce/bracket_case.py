"""The bracket of the large-scale studies: problem, four patch queries, Green vectors and a reference, made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.certifiers.exact import Exact
from pinnpoint.fem.bracket import LOADS, bracket
from pinnpoint.fem.coercivity import path_coercivity
from pinnpoint.queries import Queries
from pinnpoint.solvers.amg import Multigrid

DOFS = 386_000
"""Of the full form: the size of the paper's system."""
FACTORIZED = 30_000
"""Up to so many unknowns the reference is a sparse factorization and coercivity is proved by one."""
PATCHES = ("load interface", "near support", "high deflection", "remote")
REACH = 8.0
"""Radius of the query patches in mm."""
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
    """The generated bracket under its vertical load.

    Attributes
    ----------
    A, b
        The reduced system.
    shown
        Surface nodes for figures.
    middles
        Where the query patches lie.
    """

    problem: Any
    A: Any
    b: Any
    queries: Queries
    middles: Any
    shown: Any

    @property
    def coercivity(self) -> Any:
        """A bound by paths of cells where a factorization is too much, else None."""
        return path_coercivity(self.problem) if self.problem.system.n > FACTORIZED else None

    def lengths(self, v: Any) -> Any:
        """Euclidean length at each node of a vector over free entries."""
        whole = np.zeros(self.problem.system.N)
        whole[np.asarray(self.problem.space.free)] = v
        return np.linalg.norm(whole.reshape(-1, 3), axis=1)

    def about(self) -> str:
        """Plain words on which bracket this is."""
        mesh = self.problem.mesh
        return (
            f"a generated bracket (not SimJEB's), {len(mesh.points)} nodes, {len(mesh.cells)} tetrahedra, "
            f"{self.problem.system.n} free unknowns"
        )


@cache
def make(form: str) -> Bracket:
    """The shipped mesh in quick form, Gmsh's at the paper's size in full."""
    problem = bracket("vertical", dofs=DOFS if form == "full" else None)
    free = np.asarray(problem.space.free)
    A = sp.csr_array(problem.A[free][:, free])
    queries, middles = _patches(problem)
    nodes = _visible(problem.mesh)
    shown = nodes[:: max(1, len(nodes) // SHOWN)]
    return Bracket(problem, A, problem.b[free], queries, middles, shown)


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


def _patches(problem: Any) -> tuple[Queries, Any]:
    """Area averages of u_z: the pin hole, beside a bolt, the top of a lug, and a far corner of the plate."""
    mesh = problem.mesh
    surface = np.concatenate([mesh.facets("surface"), mesh.facets("base")])
    middle, area = mesh.points[surface].mean(axis=1), mesh.facet_measures(surface)
    bolt = mesh.points[np.unique(mesh.facets("bolt1"))].mean(axis=0)
    pin = mesh.points[np.unique(mesh.facets("pin"))].mean(axis=0)
    far = np.abs(middle[:, 0]) * 10 + np.abs(middle[:, 1])
    ask = problem.patch("pin", "z", name=PATCHES[0])
    places = [pin]
    for k in (np.argmin(np.linalg.norm(middle - bolt, axis=1)), np.argmax(middle[:, 2]), np.argmax(far)):
        near = np.linalg.norm(middle - middle[k], axis=1) <= REACH
        weight = np.repeat(area[near] / area[near].sum() / 3.0, 3)
        row = np.bincount(3 * surface[near].ravel() + 2, weight, minlength=problem.system.N)
        ask = ask + Queries(sp.csr_array(row[None, :]), [PATCHES[len(places)]])
        places.append(middle[k])
    return Queries(ask.L, list(PATCHES), points=np.array(places)), np.array(places)


@cache
def certifier(form: str) -> Any:
    """`Exact` with refined Green vectors."""
    found = make(form)
    return Exact(refine=True, coercivity=found.coercivity).prepare(found.problem.system, found.queries)


def solve(found: Bracket, b: Any) -> Any:
    """A⁻¹b by a solver that no certificate uses."""
    if found.problem.system.n <= FACTORIZED:
        lu = spla.splu(found.A.tocsc())
        x = lu.solve(b)
        return x + lu.solve(b - found.A @ x)
    system = found.problem.system
    multigrid = Multigrid(found.A, system.modes, system.node_size)
    x = multigrid.solve(b)
    return x + multigrid.solve(b - found.A @ x)


@cache
def reference(form: str) -> Any:
    """The discrete solution of the vertical load, over free entries."""
    found = make(form)
    return solve(found, found.b)


@cache
def green(form: str) -> Any:
    """Green vectors of the four queries over free entries, (4, n)."""
    return np.stack([certifier(form).green.ball(i).hi for i in range(len(PATCHES))])


LOAD_CASES = tuple(LOADS)
