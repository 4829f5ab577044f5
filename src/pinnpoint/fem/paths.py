"""Coercivity of linear elements from the mesh alone: every node hangs on a held facet by a path of cells.

On a cell K a linear displacement u is a rigid motion plus d_K(x) = ε_K (x − c_K), c_K the centroid; a scalar is a
constant plus ∇u·(x − c_K). At their common facet F two neighbours agree, so their motions differ there by d of one
minus d of the other: at the facet's centroid by at most |c_F − c_K||ε_K| + |c_F − c_P||ε_P|, and their rotations by ω,
m₁|ω|² ≤ Σ_j|ω × r_j|² ≤ m₂(|ε_K| + |ε_P|)², where r_j are the vertices from c_F and m₁ ≤ m₂ their second moments. At a
place x the motions thus differ by at most

    Σ over both cells of (|c_F − c_K| + √(m₂/m₁) |x − c_F|) |ε_K|,

without the second term for scalars. Along a tree of cells that starts at held facets, |u_v| ≤ |d(x_v)| + the sum over
the path. With e_K = √κ_K |ε_K|, κ_K |ε_K|² a lower bound of the cell's energy, this is |u| ≤ M e for a nonnegative M,
so that uᵀAu ≥ Σ e_K² ≥ |u|²/‖M‖², and ‖M‖² ≤ max_i (MᵀM x)_i/x_i for any x > 0 (Collatz and Wielandt).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import CertificationError
from pinnpoint.mesh import Index, Mesh
from pinnpoint.rounding.arithmetic import UNIT, down, gamma

ROUNDS = 30
FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class Tree:
    """A spanning forest of cells.

    Attributes
    ----------
    parent
        Of each cell; its own number at a root.
    facet
        Of each cell: the facet to its parent, or the held one of a root, by vertices.
    levels
        Cells by distance from the roots.
    home
        A cell of each node, as near to the roots as any.
    """

    parent: Index
    facet: Index
    levels: list[Index]
    home: Index


def grow(mesh: Mesh, held: Index) -> Tree:
    """Breadth first from the held facets."""
    facets, of_cell, _ = mesh._facet_table
    d, C, n = mesh.dim, len(mesh.cells), len(mesh.points)
    flat, cell = of_cell.ravel(), np.tile(np.arange(C), d + 1)  # row k holds the facet opposite vertex d − k
    first, last = (np.empty(len(facets), dtype=np.intp) for _ in range(2))
    last[flat] = cell  # of several values the last one stays
    first[flat[::-1]] = cell[::-1]
    key = _keys(facets, n)
    roots = np.searchsorted(key, np.unique(_keys(np.sort(held, axis=1), n)))
    parent, link = np.full(C, -1, dtype=np.intp), np.zeros(C, dtype=np.intp)
    cells, where = np.unique(first[roots], return_index=True)
    parent[cells], link[cells] = cells, roots[where]
    levels = [cells]
    while len(levels[-1]):
        here = levels[-1]
        through = of_cell[:, here].ravel()
        come = np.tile(here, d + 1)
        there = np.where(first[through] == come, last[through], first[through])
        new = parent[there] < 0
        cells, where = np.unique(there[new], return_index=True)
        parent[cells], link[cells] = come[new][where], through[new][where]
        levels.append(cells)
    if np.any(parent < 0):
        raise CertificationError(
            f"coercivity: {int((parent < 0).sum())} cells hang on no held facet through other cells' facets"
        )
    by_level = np.concatenate(levels)
    nodes, at = np.unique(mesh.cells[by_level].ravel(), return_index=True)
    home = np.zeros(n, dtype=np.intp)
    home[nodes] = by_level[at // (d + 1)]
    return Tree(parent, facets[link], levels[:-1], home)


def path_bound(mesh: Mesh, held: Index, stiffness: Vector, free: Any, *, elastic: bool) -> float:
    """A lower bound of uᵀAu / |u|² over all u that vanish on the held facets, for exact element integrals.

    Parameters
    ----------
    mesh
        Any simplices.
    held
        Facets where every component is fixed.
    stiffness
        Per cell a lower bound of the energy density over |∇u|², or |ε|² if elastic.
    free
        Which nodes count in |u|: those with a component that is not fixed.
    elastic
        Displacements, rather than a scalar.
    """
    tree = grow(mesh, held)
    X = mesh.points
    P = X[mesh.cells]
    center = P.mean(axis=1)
    corners = X[tree.facet]
    middle = corners.mean(axis=1)
    slack = 1.0 + 1e-9  # for the few roundings in each of the nonnegative quantities below; the sums have their own
    blur = 32.0 * UNIT * float(np.abs(X).max())  # of centroids
    own = np.sqrt(((middle - center) ** 2).sum(axis=1)) * slack + blur
    above = np.sqrt(((middle - center[tree.parent]) ** 2).sum(axis=1)) * slack + blur
    if elastic:
        arm = _reach(mesh, tree, np.asarray(free), middle) + blur
        turn = arm * _slenderness(corners, middle) * slack
        own, above = own + turn, above + turn
    above[tree.levels[0]] = 0.0  # held facets have no cell beyond them
    if not float(stiffness.min()) > 0.0:
        raise CertificationError("coercivity: a cell has no stiffness that could be bounded from below")
    rigid = np.sqrt(down(stiffness * mesh.volumes * (1.0 - 1e-9)))  # √κ_K
    nodes = np.flatnonzero(free)
    home = tree.home[nodes]
    spread = np.sqrt(((X[nodes] - center[home]) ** 2).sum(axis=1)) * slack + blur
    return _perron(tree, own, above, spread, home, rigid)


def _perron(tree: Tree, own: Vector, above: Vector, spread: Vector, home: Index, rigid: Vector) -> float:
    """1 / max (MᵀM x)_i / x_i, the best of some x."""
    C, parent = len(rigid), tree.parent
    x, best = np.ones(C), np.inf
    additions = 2 * (C + len(home) + len(tree.levels)) + 64
    for _ in range(ROUNDS):
        strain = x / rigid
        total = own * strain + above * strain[parent]
        for cells in tree.levels[1:]:
            total[cells] += total[parent[cells]]
        u = spread * strain[home] + total[home]
        load = np.bincount(home, u, minlength=C)
        below = load.copy()
        for cells in reversed(tree.levels[1:]):
            np.add.at(below, parent[cells], below[cells])
        z = np.bincount(home, spread * u, minlength=C) + own * below + np.bincount(parent, above * below, minlength=C)
        z /= rigid
        worst = float(np.max(z / x))
        done = worst > 0.98 * best
        best = min(best, worst)
        if done:
            break
        x = np.maximum(z / float(z.max()), FLOOR * float(np.mean(z / float(z.max()))))
    return float(down(1.0 / (best * (1.0 + 2.0 * gamma(additions)))))


def _reach(mesh: Mesh, tree: Tree, free: Any, middle: Vector) -> Vector:
    """For the facet above each cell: how far from it the nodes lie that hang on it, at most."""
    C, d = len(mesh.cells), mesh.dim
    low, high = np.full((C, d), np.inf), np.full((C, d), -np.inf)
    nodes = np.flatnonzero(free)
    np.minimum.at(low, tree.home[nodes], mesh.points[nodes])
    np.maximum.at(high, tree.home[nodes], mesh.points[nodes])
    for cells in reversed(tree.levels[1:]):
        np.minimum.at(low, tree.parent[cells], low[cells])
        np.maximum.at(high, tree.parent[cells], high[cells])
    arm = np.maximum(np.abs(low - middle), np.abs(high - middle))
    arm[~np.isfinite(arm)] = 0.0  # nothing hangs here
    return np.asarray(np.sqrt((arm**2).sum(axis=1)) * (1.0 + 1e-12))


def _slenderness(corners: Vector, middle: Vector) -> Vector:
    """√(m₂/m₁) of each facet's vertices, from above: 1 in 2D, in 3D m₁ + m₂ = t = Σ|r_j|² and m₁m₂ = q = 4A²/3."""
    if corners.shape[2] == 2:
        return np.ones(len(corners))
    t = ((corners - middle[:, None]) ** 2).sum(axis=(1, 2)) * (1.0 + 1e-13)
    e, f = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    size = np.sqrt((e**2).sum(axis=1) * (f**2).sum(axis=1))
    twice = np.linalg.norm(np.cross(e, f), axis=1) * (1.0 - 1e-14) - 16.0 * UNIT * size
    if not np.all(twice > 0.0):
        raise CertificationError("coercivity: a facet has no area; mesh again")
    q = twice**2 / 3.0 * (1.0 - 1e-14)
    m2 = 0.5 * (t + np.sqrt(np.maximum(t**2 - 4.0 * q, 0.0) + 1e-14 * t**2))
    return np.asarray(m2 / np.sqrt(q) * (1.0 + 1e-12))


def _keys(facets: Index, n: int) -> Index:
    key = np.zeros(len(facets), dtype=object if n ** facets.shape[1] >= 2**62 else np.int64)
    for column in facets.T:
        key = key * n + column
    return key
