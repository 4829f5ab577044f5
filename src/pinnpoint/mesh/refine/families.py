"""Edges that are cut once, and families of tagged simplices that share them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.refine.tables import first_tags, rules

SHIFT = 32
"""Bits of a vertex number in the key of an edge."""
_NONE = np.zeros(0, dtype=np.intp)


def key(low: Index, high: Index) -> Index:
    """One number for each edge."""
    return np.asarray((low << SHIFT) | high)


def ends_of(keys: Index) -> Index:
    """The vertices of edges, (E, 2)."""
    return np.stack([keys >> SHIFT, keys & (2**SHIFT - 1)], axis=1)


class Sweep:
    """What one sweep cut: edges, their ends, midpoints and halves; and the edges it drew from midpoints to vertices."""

    def __init__(self, edges: Index, ends: Index, nodes: Index, halves: Index) -> None:
        self.edges, self.ends, self.nodes, self.halves = edges, ends, nodes, halves
        self.inner, self.sources = _NONE, np.zeros((0, 3), dtype=np.intp)
        """New edges, and of the triangle in which each lies the cut edge and the two others."""


class Edges:
    """All edges that ever were: ends, and once cut midpoint and halves.

    Edges of one twin are cut together; their ends have the same order.
    """

    def __init__(self, ends: Index, twin: Index | None = None) -> None:
        self.ends, self.middle = ends, np.full(len(ends), -1)
        self.twin = np.arange(len(ends)) if twin is None else twin
        self.halves, self.is_cut = np.full((len(ends), 2), -1), np.zeros(len(ends), dtype=bool)
        self.nodes, self.glued = 0, twin is not None
        self._known, self._ids = _NONE, _NONE
        self._drawn, self._sides = _NONE, np.zeros((0, 3), dtype=np.intp)

    def copy(self, nodes: int) -> Edges:
        """A copy that numbers new nodes from here on."""
        other = Edges(self.ends, self.twin.copy() if self.glued else None)
        other.middle, other.halves, other.is_cut = self.middle.copy(), self.halves.copy(), self.is_cut.copy()
        other.nodes = nodes
        return other

    def live(self, count: int, nodes: int) -> Index:
        """Edges of the mesh that had so many edges and nodes, by sorted vertex numbers."""
        middle = self.middle[:count]
        alive = np.flatnonzero((middle < 0) | (middle >= nodes))
        ends = self.ends[alive]
        return np.asarray(alive[np.argsort(key(ends.min(axis=1), ends.max(axis=1)))])

    def cut(self, edges: Index) -> Sweep:
        """Cut those of the edges that are still whole, and their twins."""
        edges = self.with_twins(edges)
        edges = edges[~self.is_cut[edges]]
        nodes = self.nodes + np.arange(len(edges))
        ends = self.ends[edges]
        halves = self._append(np.stack([ends, np.stack([nodes, nodes], axis=1)], axis=2).reshape(-1, 2)).reshape(-1, 2)
        self.middle[edges], self.halves[edges], self.is_cut[edges] = nodes, halves, True
        self.twin[halves] = self.halves[self.twin[edges]]
        self.nodes += len(edges)
        return Sweep(edges, ends, nodes, halves)

    def drawn(self, middle: Index, tip: Index, sources: Index, sweep: Sweep | None) -> Index:
        """Edges from midpoints to vertices, new ones where this refinement has not drawn them yet."""
        keys, first, inverse = np.unique(key(middle, tip), return_index=True, return_inverse=True)
        place = np.minimum(np.searchsorted(self._known, keys), max(len(self._known) - 1, 0))
        known = self._known[place] == keys if len(self._known) else np.zeros(len(keys), dtype=bool)
        ids = np.empty(len(keys), dtype=np.intp)
        ids[known] = self._ids[place[known]]
        if sweep is None and not known.all():
            raise InputError(
                "mesh: a facet of a group would be cut otherwise than its cells; the mesh is not conforming"
            )
        if sweep is not None and not known.all():
            fresh = first[~known]
            ids[~known] = self._append(np.stack([middle[fresh], tip[fresh]], axis=1))
            sweep.inner, sweep.sources = ids[~known], sources[fresh]
            self._across(sweep)
            every = np.concatenate([self._known, keys[~known]])
            order = np.argsort(every, kind="stable")
            self._known, self._ids = every[order], np.concatenate([self._ids, ids[~known]])[order]
        return np.asarray(ids[inverse.reshape(-1)])

    def with_twins(self, edges: Index) -> Index:
        """These edges and those that are one with them, in ascending order."""
        if not self.glued:
            return edges
        wanted = np.zeros(len(self.ends), dtype=bool)
        wanted[self.twin[edges]] = True
        return np.flatnonzero(wanted[self.twin])

    def behind(self) -> Index:
        """Whole edges whose twins are cut."""
        return np.flatnonzero(self.is_cut[self.twin] & ~self.is_cut) if self.glued else _NONE

    def _across(self, sweep: Sweep) -> None:
        """Make twins of edges drawn across triangles whose sides are twins, in this sweep or in one before it."""
        if self.glued:
            sides = self.twin[sweep.sources]
            labels = np.column_stack([sides[:, 0], np.sort(sides[:, 1:], axis=1)])
            labels, edges = np.concatenate([self._sides, labels]), np.concatenate([self._drawn, sweep.inner])
            _, first, inverse = np.unique(labels, return_index=True, return_inverse=True, axis=0)
            self.twin[edges] = edges[first][inverse.reshape(-1)]
            self._sides, self._drawn = labels, edges

    def _append(self, ends: Index) -> Index:
        first = len(self.ends)
        self.twin = np.concatenate([self.twin, first + np.arange(len(ends))])
        self.ends = np.concatenate([self.ends, ends])
        self.middle = np.concatenate([self.middle, np.full(len(ends), -1)])
        self.halves = np.concatenate([self.halves, np.full((len(ends), 2), -1)])
        self.is_cut = np.concatenate([self.is_cut, np.zeros(len(ends), dtype=bool)])
        return first + np.arange(len(ends))


class Family:
    """Tagged simplices of one dimension: vertices, edges, kind, orientation, ancestor, bisections since then."""

    def __init__(self, *parts: NDArray[Any]) -> None:
        self.parts = parts
        self.vertices, self.edges, self.kind, self.odd, self.ancestor, self.depth = parts

    @classmethod
    def first(cls, simplices: Index, ids: Index, rank: Vector) -> Family:
        """Tag simplices, with the numbers of their edges, by the ranks of all edges."""
        d, n = simplices.shape[1] - 1, np.arange(len(simplices))
        order, odd, kind = first_tags(rank[ids], d)
        pairs = np.array(rules(d).pairs)
        number = np.zeros((d + 1, d + 1), dtype=np.intp)
        number[pairs[:, 0], pairs[:, 1]] = number[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
        edges = np.take_along_axis(ids, number[order[:, pairs[:, 0]], order[:, pairs[:, 1]]], axis=1)
        return cls(np.take_along_axis(simplices, order, axis=1), edges, kind, odd, n, np.zeros(len(n), np.uint16))

    def copy(self) -> Family:
        """A copy whose simplices are their own ancestors."""
        n = len(self.kind)
        return Family(*(part.copy() for part in self.parts[:4]), np.arange(n), np.zeros(n, np.uint16))

    def bisected(self, rows: Index, edges: Edges, sweep: Sweep | None = None) -> Family:
        """Both children of each of these simplices, the first in its parent's place, the second at the end."""
        d = self.vertices.shape[1] - 1
        rule = rules(d)
        vertices, own, kind = self.vertices[rows], self.edges[rows], self.kind[rows]
        cut = own[:, 0]
        middle = edges.middle[cut]
        turned = (edges.ends[cut, 0] != vertices[:, 0]).astype(np.intp)
        whole_edges = [own, edges.halves[cut, turned][:, None], edges.halves[cut, 1 - turned][:, None]]
        if d > 1:
            sides = [[0, rule.pairs.index((0, k)), rule.pairs.index((1, k))] for k in range(2, d + 1)]
            sources = own[:, sides].reshape(-1, 3)
            drawn = edges.drawn(np.repeat(middle, d - 1), vertices[:, 2:].ravel(), sources, sweep)
            whole_edges.append(drawn.reshape(-1, d - 1))
        corners, lines = np.column_stack([vertices, middle]), np.concatenate(whole_edges, axis=1)
        children = [
            (
                np.take_along_axis(corners, rule.vertices[kind, end], axis=1),
                np.take_along_axis(lines, rule.edges[kind, end], axis=1),
                rule.kind[kind],
                self.odd[rows] ^ rule.odd[kind, end],
                self.ancestor[rows],
                self.depth[rows] + np.uint16(1),
            )
            for end in range(2)
        ]
        for part, child in zip(self.parts, children[0], strict=True):
            part[rows] = child
        return Family(*(np.concatenate(both) for both in zip(self.parts, children[1], strict=True)))

    def in_order(self) -> Family:
        """The descendants of each ancestor side by side."""
        order = np.argsort(self.ancestor, kind="stable")
        return Family(*(part[order] for part in self.parts))

    def oriented(self) -> Index:
        """Vertices, in the orientation of the ancestors."""
        T: Index = self.vertices.copy()
        T[self.odd, :2] = T[self.odd, 1::-1]
        return T
