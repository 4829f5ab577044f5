"""Defects of equilibrium, carried to where a body is held along a tree of cells: part of the proof of solids.py.

Each cell passes its force and moment, and what it got, on through one facet; the last facet is held in all components.
Tractions force/|F| + ω × (x − x_F) are linear: facet moments of a stress, whose norm is at most N_K Σ|m|. Only
magnitudes are added. A part of the body that rollers alone hold has a root cell, and d(d + 1)/2 forces at vertices of
held facets balance what arrives there. Proof: docs/elasticity.md, section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinnpoint_verify.checker import UNIT, gamma, up
from pinnpoint_verify.reader import Array, need

STIFF = 1e8


class Tree:
    """Ways from every cell to what is held; refuses a body that can move."""

    def __init__(self, body: Any) -> None:
        C, d, T, X = body.C, body.d, body.cells, body.points
        full = np.nonzero(body.held.all(axis=1))[0]
        one, two = body.owner[body.inner], body.neighbour[body.inner]
        links = sp.coo_array((np.ones(len(one)), (one, two)), shape=(C, C))
        count, part = connected_components(links, directed=False)
        anchored = np.zeros(count, dtype=bool)
        anchored[part[body.owner[full]]] = True
        self.slop = float(up(gamma(16) * d * float(np.abs(X).max())))
        self.supports = [support(body, np.nonzero(part == k)[0], self.slop) for k in np.nonzero(~anchored)[0]]
        roots = np.array([s[0] for s in self.supports], dtype=int)
        self.parent, self.levels = self._grow(body, full, roots)
        parent = self.parent
        need(np.all((parent >= 0) | np.isin(np.arange(C), roots)), "tree: a part of the body is not reached")
        second = np.where(body.owner[parent] == np.arange(C), body.neighbour[parent], body.owner[parent])
        self.above = np.where(parent < 0, -1, second)
        centre = X[T].mean(axis=1)
        at = np.where(parent[:, None] < 0, centre, X[body.facets[parent]].mean(axis=1))
        self.own, self.step = (up(np.sqrt((y**2).sum(axis=1)) + self.slop) for y in (centre - at, at - at[self.above]))
        self.spread = spread(X[body.facets[parent]])

    @staticmethod
    def _grow(body: Any, full: Array, roots: Array) -> tuple[Array, list[Array]]:
        """Breadth first from held facets and roots; among the facets of a new cell the one with the stiffest donor."""
        stiff = np.minimum(2.0 * body.mu, 2.0 * body.mu + body.d * body.lam)
        parent, seen, levels = np.full(body.C, -1), np.zeros(body.C, dtype=bool), list[Array]()
        seen[roots] = True
        facets = np.concatenate([full, body.cell_facets[roots].ravel()])
        donor = np.concatenate([np.full(len(full), np.inf), np.repeat(stiff[roots], body.d + 1)])
        while len(facets):
            first, second = body.owner[facets], body.neighbour[facets]
            new = np.where(seen[first], second, first)
            fresh = (new >= 0) & ~seen[new]
            facets, new, donor = facets[fresh], new[fresh], donor[fresh]
            order = np.lexsort((-donor, new))
            level, at = np.unique(new[order], return_index=True)
            parent[level], seen[level] = facets[order[at]], True
            levels += [level] if len(level) else []
            facets, donor = body.cell_facets[level].ravel(), np.repeat(stiff[level], body.d + 1)
        return parent, levels

    def cost(self, force: Array, moment: Array, factor: Array) -> Array:
        """Upper bounds of the norm of a stress that balances every cell, from bounds of their forces and moments."""
        slots = np.zeros(len(force))
        if self.supports:
            sums, turns = self._carried(force, moment)
            force, moment = force.copy(), moment.copy()
            for root, cells, arms, inverse, size in self.supports:
                d = 2 if len(cells) == 3 else 3
                arrives = np.where(np.arange(len(cells)) < d, sums[root], turns[root] / size)
                phi = up(inverse @ arrives)
                for into, what in ((slots, phi), (force, phi), (moment, up(phi * arms))):
                    np.add.at(into, cells, what)
        sums, turns = self._carried(up(force), up(moment))
        through = np.where(self.parent < 0, 0.0, up(sums + turns * self.spread))
        linked = self.above >= 0
        slots = slots + through + np.bincount(self.above[linked], through[linked], minlength=len(force))
        return up(factor * slots)

    def _carried(self, force: Array, moment: Array) -> tuple[Array, Array]:
        """Force and moment of each cell with all that come through it, about the centre of its parent facet."""
        sums, turns = np.array(force), up(moment + force * self.own)
        for cells in reversed(self.levels):
            sums[cells], turns[cells] = up(sums[cells]), up(turns[cells])
            on = cells[self.above[cells] >= 0]
            np.add.at(sums, self.above[on], sums[on])
            np.add.at(turns, self.above[on], up(turns[on] + self.step[on] * sums[on]))
        return up(sums), up(turns)


def spread(F: Array) -> Array:
    """Upper bounds of Σ|m_i| of the traction ω × y with moment one on facets (n, d, d)."""
    if F.shape[1] == 2:
        return up(2.0 / np.sqrt(((F[:, 1] - F[:, 0]) ** 2).sum(axis=1)))
    E = np.stack([F[:, 1] - F[:, 0], F[:, 2] - F[:, 1], F[:, 0] - F[:, 2]])
    squares = (E**2).sum(axis=2)
    trace, normal = squares.sum(axis=0) / 3.0, np.cross(E[0], E[1])
    loss = gamma(16) * np.abs(E[0]).sum(axis=1) * np.abs(E[1]).sum(axis=1)
    double = np.maximum(np.sqrt((normal**2).sum(axis=1)) - loss, 0.0)
    product = double**2 / 3.0
    larger = 0.5 * (trace + np.sqrt(np.maximum(trace**2 - 4.0 * product, 0.0) + gamma(32) * trace**2))
    return np.where(product > 0.0, up(2.0 / 3.0 * np.sqrt(squares).sum(axis=0) * larger / product), np.inf)


def support(body: Any, cells: Array, slop: float) -> tuple[int, Array, Array, Array, float]:
    """Root cell, cells, arms, bounds of |G⁻¹| and a length, for a part that no facet holds in all components."""
    d, X, T = body.d, body.points, body.cells
    centre = X[T[cells]].mean(axis=1)
    root = int(cells[np.argmin(((centre - centre.mean(axis=0)) ** 2).sum(axis=1))])
    inside = np.zeros(body.C, dtype=bool)
    inside[cells] = True
    facets = np.nonzero(body.held.any(axis=1) & inside[body.owner])[0]
    row, component = np.nonzero(body.held[facets])
    vertex, owner = body.facets[facets[row]].ravel(), np.repeat(body.owner[facets[row]], d)
    component = np.repeat(component, d)
    first = np.unique(vertex * d + component, return_index=True)[1]
    vertex, owner, component = vertex[first], owner[first], component[first]
    at = X[T[root]].mean(axis=0)
    size = float(np.abs(X[T[cells]] - at).max())
    y, e = (X[vertex] - at) / size, np.eye(d)[component]
    turn = (y[:, 0] * e[:, 1] - y[:, 1] * e[:, 0])[None] if d == 2 else np.cross(y, e).T
    G = np.concatenate([e.T, turn])
    k = len(G)
    need(G.shape[1] >= k, "held: a part of the body can move")
    chosen = sla.qr(G, mode="r", pivoting=True)[1][:k]
    G = G[:, chosen]
    inverse = np.linalg.inv(G)
    big = np.abs(inverse)
    need(big.max() < STIFF, "held: a part of the body can move, or nearly")
    gap = np.abs(np.eye(k) - inverse @ G) + gamma(2 * k + 4) * (big @ np.abs(G) + np.eye(k))
    gap += big @ (np.full((k, k), slop / size) + 8.0 * UNIT * np.abs(G))
    norm = float(up(gap.sum(axis=1).max()))
    need(norm < 0.5, "held: a part of the body can move, or nearly")
    arms = up(np.sqrt(((X[vertex[chosen]] - X[T[owner[chosen]]].mean(axis=1)) ** 2).sum(axis=1)) + slop)
    return root, owner[chosen], arms, up(big + norm / (1.0 - norm) * big.max(axis=0)), size
