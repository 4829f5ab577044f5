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
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.facets import both, chunks, facet_keys
from pinnpoint.mesh.mesh import Mesh
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
    side
        Of each cell: which of its parent's facets leads to it; any at a root.
    facet
        Of each cell: the facet to its parent, or the held one of a root, by vertices.
    levels
        Cells by distance from the roots.
    home
        A cell of each node, as near to the roots as any.
    """

    parent: Index
    side: Any
    facet: Index
    levels: list[Index]
    home: Index

    @cached_property
    def order(self) -> Index:
        """All cells, level by level: the numbering of what follows."""
        return np.concatenate(self.levels)

    @cached_property
    def place(self) -> Index:
        """Of each cell in that order."""
        place = np.empty(len(self.order), dtype=np.intp)
        place[self.order] = np.arange(len(place))
        return place

    @cached_property
    def up(self) -> Index:
        """Parents, in that order."""
        return np.asarray(self.place.take(self.parent.take(self.order)))

    @cached_property
    def down(self) -> Index:
        """Children, one row for each of a cell's facets; the number of cells where there is none."""
        C, first = len(self.order), len(self.levels[0])
        children = np.full((self.facet.shape[1] + 1, C), C, dtype=np.intp)
        children[self.side.take(self.order[first:]), self.up[first:]] = np.arange(first, C)
        return children

    @cached_property
    def slices(self) -> list[slice]:
        """The levels in that order."""
        ends = np.cumsum([len(cells) for cells in self.levels]).tolist()
        return [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def gather(self, values: Any, join: Any) -> None:
        """Join to each of C + 1 values, in that order, those of all below it; the last one is neutral and stays."""
        for level in reversed(self.slices[:-1]):
            here = values[level]
            for children in self.down[:, level]:
                join(here, values.take(children, axis=0), out=here)


def grow(mesh: Mesh, held: Index) -> Tree:
    """Breadth first from the held facets."""
    facets, of_cell, _ = mesh._facet_table
    C, n = len(mesh.cells), len(mesh.points)
    cell = np.arange(C, dtype=of_cell.dtype)
    first, last = both(of_cell, np.broadcast_to(cell, of_cell.shape), len(facets))
    beyond = (first + last).take(of_cell) - cell  # the other cell of each facet, or the same one
    roots = np.searchsorted(facet_keys(facets, n), np.unique(facet_keys(held, n)))
    parent, link, side = np.full(C, -1, dtype=np.intp), np.zeros(C, dtype=np.intp), np.zeros(C, dtype=np.int8)
    cells, where = np.unique(first[roots], return_index=True)
    parent[cells], link[cells] = cells, roots[where]
    levels, come = [cells.astype(np.intp)], np.empty(C, dtype=np.intp)
    while len(levels[-1]):
        here = levels[-1]
        there = beyond.take(here, axis=1).ravel()
        ways = np.flatnonzero(parent.take(there) < 0)
        new = there[ways].astype(np.intp)
        come[new[::-1]] = ways[::-1]  # of several values the last one stays
        cells = np.sort(new[come[new] == ways])
        row, position = np.divmod(come[cells], len(here))
        parent[cells], side[cells] = here[position], row
        link[cells] = of_cell[row, here[position]]
        levels.append(cells)
    if np.any(parent < 0):
        raise CertificationError(
            f"coercivity: {int((parent < 0).sum())} cells hang on no held facet through other cells' facets"
        )
    order, home = np.concatenate(levels), np.full(n, C, dtype=np.intp)
    for vertices in mesh.cells.take(order[::-1], axis=0).T:
        found = np.full(n, C, dtype=np.intp)
        found[np.ascontiguousarray(vertices)] = np.arange(C - 1, -1, -1)
        np.minimum(home, found, out=home)
    return Tree(parent, side, facets.take(link, axis=0), levels[:-1], order[home])


def path_bound(mesh: Mesh, held: Index, stiffness: Vector, free: Any, *, elastic: bool) -> float:
    """A lower bound of uᵀAu / |u|² over all u that vanish on the held facets; see `path_witness`."""
    return path_witness(mesh, held, stiffness, free, elastic=elastic)[0]


def path_witness(mesh: Mesh, held: Index, stiffness: Vector, free: Any, *, elastic: bool) -> tuple[float, Tree, Vector]:
    """A lower bound of uᵀAu / |u|² over all u that vanish on the held facets, for exact element integrals.

    With the tree and the x > 0 of each cell that prove it.

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
    X, order, place = mesh.points, tree.order, tree.place
    nodes = np.flatnonzero(free)
    home = place.take(tree.home[nodes])
    slack = 1.0 + 1e-9  # for the few roundings in each of the nonnegative quantities below; the sums have their own
    blur = 32.0 * UNIT * float(np.abs(X).max())  # of centroids
    if not float(stiffness.min()) > 0.0:
        raise CertificationError("coercivity: a cell has no stiffness that could be bounded from below")
    rigid = np.sqrt(down(stiffness * mesh.volumes * (1.0 - 1e-9))).take(order)  # √κ_K
    center, own, above = np.empty((len(order), mesh.dim)), np.empty(len(order)), np.empty(len(order))
    spans = _spans(tree, X[nodes], home) if elastic else None

    def centers(part: slice) -> None:
        center[part] = X.take(mesh.cells.take(order[part], axis=0), axis=0).mean(axis=1)

    def lengths(part: slice) -> None:
        corners = X.take(tree.facet.take(order[part], axis=0), axis=0)
        middle = corners.mean(axis=1)
        own[part] = _norms(middle - center[part]) * slack + blur  # proofs.md, step 3g
        above[part] = _norms(middle - center.take(tree.up[part], axis=0)) * slack + blur
        if spans is not None:
            turn = (_reach(spans[part], middle) + blur) * _slenderness(corners, middle) * slack  # proofs.md, step 3g
            own[part] += turn
            above[part] += turn

    on_all_cores(centers, chunks(len(order)))
    on_all_cores(lengths, chunks(len(order)))
    above[tree.slices[0]] = 0.0  # held facets have no cell beyond them
    spread = _norms(X[nodes] - center.take(home, axis=0)) * slack + blur
    best, x = _perron(tree, own, above, spread, home, rigid)
    return best, tree, x.take(place)


def _norms(x: Vector) -> Vector:
    return np.asarray(np.sqrt((x**2).sum(axis=1)))


def _perron(tree: Tree, own: Vector, above: Vector, spread: Vector, home: Index, rigid: Vector) -> tuple[float, Vector]:
    """1 / max (MᵀM x)_i / x_i, the best of some x, and this x; cells in the tree's order."""
    C, up, first = len(rigid), tree.up, len(tree.levels[0])
    x, best, kept = np.ones(C), np.inf, np.ones(C)
    additions = 2 * (C + len(home) + len(tree.levels)) + 64
    for _ in range(ROUNDS):
        strain = x / rigid
        total = own * strain + above * strain.take(up)
        for level in tree.slices[1:]:
            total[level] += total.take(up[level])
        u = spread * strain.take(home) + total.take(home)
        below = np.bincount(home, u, minlength=C + 1)
        tree.gather(below, np.add)
        below = below[:C]
        z = np.bincount(home, spread * u, minlength=C) + own * below  # proofs.md, step 3h
        z += np.bincount(up[first:], (above * below)[first:], minlength=C)
        z /= rigid
        worst = float(np.max(z / x))  # proofs.md, step 3h
        done = worst > 0.98 * best
        best, kept = (worst, x) if worst < best else (best, kept)
        if done:
            break
        x = np.maximum(z / float(z.max()), FLOOR * float(np.mean(z / float(z.max()))))
    return float(down(1.0 / (best * (1.0 + 2.0 * gamma(additions))))), kept


def _spans(tree: Tree, X: Vector, home: Index) -> Vector:
    """Of each cell, in the tree's order: the box (lower ends, minus the upper ones) of the nodes that hang on it."""
    C, d = len(tree.order), X.shape[1]
    box = np.full((C + 1, 2 * d), np.inf)
    by_home = np.argsort(home)
    start = np.flatnonzero(np.diff(home[by_home], prepend=-1))
    if len(start):
        box[home[by_home[start]]] = np.minimum.reduceat(np.hstack([X, -X])[by_home], start, axis=0)
    tree.gather(box, np.minimum)
    return box[:C]


def _reach(span: Vector, middle: Vector) -> Vector:
    """How far from a facet's middle the nodes of a box lie, at most."""
    d = middle.shape[1]
    arm = np.maximum(np.abs(span[:, :d] - middle), np.abs(span[:, d:] + middle))
    arm[~np.isfinite(arm)] = 0.0  # nothing hangs here
    return _norms(arm) * (1.0 + 1e-12)


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
