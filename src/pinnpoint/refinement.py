"""Conforming local refinement of simplicial meshes by bisection, with groups and nodal values carried along."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.arrays import Vector, floats, whole
from pinnpoint.bisection import first_tags, rules
from pinnpoint.errors import InputError
from pinnpoint.mesh import Index, Mesh

_SHIFT = 32
"""Bits of a vertex number in the key of an edge."""
_NEAR = 2.0**-30
"""Edges whose lengths differ by less, relatively, count as equally long in the first mesh."""
_FLAT = 1e-14
"""A cell with a smaller share of its size to the power d is refused, as `Mesh` does."""
_NONE = np.zeros(0, dtype=np.intp)


class Refiner:
    """A mesh and the tags by which it is refined.

    Cells are cut through the midpoint of their refinement edge, first the longest edge (ties: the smaller vertex
    numbers), then as in `pinnpoint.bisection`: any conforming mesh will do, every mesh that comes out is conforming,
    and the shapes of all descendants of a cell are similar to finitely many. Orientations, cell groups and facet groups
    (inner facets too) are inherited. Old nodes keep their numbers and new ones follow; the children of a cell take its
    place in the order of the cells.

    Attributes
    ----------
    mesh
        The current mesh.
    parents
        For each cell the number of the cell it came from in the mesh before the last refinement.
    ends
        (new nodes, 2): the nodes whose midpoint each node of the last refinement is, old ones or new ones before it.
    """

    mesh: Mesh
    parents: Index
    ends: Index

    def __init__(self, mesh: Mesh) -> None:
        d, n = mesh.dim, len(mesh.points)
        every = mesh.cells[:, np.array(rules(d).pairs)]
        keys, ids = np.unique(_key(every.min(axis=2), every.max(axis=2)), return_inverse=True)
        ids = ids.reshape(len(mesh.cells), -1)
        ends = np.stack([keys >> _SHIFT, keys & (2**_SHIFT - 1)], axis=1)
        length = np.linalg.norm(mesh.points[ends[:, 0]] - mesh.points[ends[:, 1]], axis=1)
        rank = np.empty(len(keys))
        rank[np.lexsort((-np.arange(len(keys)), np.round(np.log(length) / _NEAR)))] = np.arange(len(keys))
        self._edges = _Edges(ends)
        self._cells = _Family.first(mesh.cells, ids, rank)
        groups = list(mesh.facet_groups.values())
        facets = np.concatenate([np.zeros((0, d), dtype=np.intp), *groups])
        self._owner = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
        if d > 1:
            pairs = facets[:, np.array(rules(d - 1).pairs)]
            places = np.searchsorted(keys, _key(pairs.min(axis=2), pairs.max(axis=2)))
            self._facets = _Family.first(facets, places, rank)
        self.mesh, self.parents, self.ends = mesh, np.arange(len(mesh.cells)), np.zeros((0, 2), dtype=np.intp)
        self._before, self._sweeps = (n, len(keys)), list[_Sweep]()

    def refine(self, marked: Any, times: int = 1) -> None:
        """Bisect the marked cells, and what else has to be for the mesh to stay conforming.

        Parameters
        ----------
        marked
            Cell numbers.
        times
            How often each marked cell is bisected at least; d times cut a cell into 2ᵈ and all but halve its diameter.
            Once leaves the grading to the indicators, and needs the fewest unknowns.
        """
        mesh, times = self.mesh, whole("times", times, low=1)
        wanted = np.zeros(len(mesh.cells), dtype=bool)
        wanted[_numbers(marked, len(mesh.cells))] = True
        edges, cells = self._edges.copy(len(mesh.points)), self._cells.copy()
        sweeps: list[_Sweep] = []
        rows = np.flatnonzero(wanted)
        while rows.size:
            sweeps.append(edges.cut(np.unique(cells.edges[rows, 0])))
            cells = cells.bisected(rows, edges, sweeps[-1])
            rows = np.flatnonzero(
                (wanted[cells.ancestor] & (cells.depth < times)) | edges.is_cut[cells.edges].any(axis=1)
            )
        cells = cells.in_order()
        points = np.concatenate([mesh.points, np.zeros((edges.nodes - len(mesh.points), mesh.dim))])
        for sweep in sweeps:
            _average(points, sweep)
        T = cells.oriented()
        _require_volumes(mesh, points, T, cells)
        self._commit(edges, cells, sweeps, points, T)

    def uniform(self) -> None:
        """Bisect every cell d times."""
        self.refine(np.arange(len(self.mesh.cells)), self.mesh.dim)

    def prolong(self, values: Any) -> Vector:
        """The same function on the refined mesh, from its values at the nodes of the mesh before the last refinement.

        Piecewise linear functions have a value per vertex; piecewise quadratic ones then one per edge, by its sorted
        vertex numbers, as in `pinnpoint.fem.elements`. Further axes are components.
        """
        U = floats("values", values)
        nodes, count = self._before
        old = self._edges.live(count, nodes)
        if U.ndim == 0 or len(U) not in (nodes, nodes + len(old)):
            raise InputError(
                f"values: must have {nodes} rows (linear) or {nodes + len(old)} (quadratic), one per node of the mesh "
                f"before the last refinement; got shape {U.shape}"
            )
        vertex = np.concatenate([U[:nodes], np.zeros((len(self.ends), *U.shape[1:]))])
        if len(U) == nodes:
            for sweep in self._sweeps:
                _average(vertex, sweep)
            return vertex
        edge = np.zeros((len(self._edges.ends), *U.shape[1:]))
        edge[old] = U[nodes:]
        for sweep in self._sweeps:
            a, b, m = vertex[sweep.ends[:, 0]], vertex[sweep.ends[:, 1]], edge[sweep.edges]
            vertex[sweep.nodes] = m
            edge[sweep.halves[:, 0]] = 0.375 * a + 0.75 * m - 0.125 * b
            edge[sweep.halves[:, 1]] = 0.375 * b + 0.75 * m - 0.125 * a
            cut, left, right = sweep.sources.T
            a, b = (vertex[self._edges.ends[cut, k]] for k in range(2))
            edge[sweep.inner] = 0.25 * edge[cut] + 0.5 * (edge[left] + edge[right]) - 0.125 * (a + b)
        return np.concatenate([vertex, edge[self._edges.live(len(self._edges.ends), len(vertex))]])

    def _commit(self, edges: _Edges, cells: _Family, sweeps: list[_Sweep], points: Vector, T: Index) -> None:
        mesh = self.mesh
        groups, facets = {}, dict(mesh.facet_groups)
        for name, members in mesh.cell_groups.items():
            inside = np.zeros(len(mesh.cells), dtype=bool)
            inside[members] = True
            groups[name] = np.flatnonzero(inside[cells.ancestor])
        if mesh.dim > 1 and facets:
            family = self._facets.copy()
            while (rows := np.flatnonzero(edges.is_cut[family.edges[:, 0]])).size:
                family = family.bisected(rows, edges)
            family = family.in_order()
            self._owner, self._facets = self._owner[family.ancestor], family
            facets = {name: family.vertices[self._owner == k] for k, name in enumerate(facets)}
        self._before = len(mesh.points), len(self._edges.ends)
        self._edges, self._cells, self._sweeps, self.parents = edges, cells, sweeps, cells.ancestor
        self.ends = np.concatenate([self.ends[:0], *(sweep.ends for sweep in sweeps)])
        self.mesh = Mesh.trusted(points, T, groups, facets)


class _Sweep:
    """What one sweep cut: edges, their ends, midpoints and halves; and the edges it drew from midpoints to vertices."""

    def __init__(self, edges: Index, ends: Index, nodes: Index, halves: Index) -> None:
        self.edges, self.ends, self.nodes, self.halves = edges, ends, nodes, halves
        self.inner, self.sources = _NONE, np.zeros((0, 3), dtype=np.intp)
        """New edges, and of the triangle in which each lies the cut edge and the two others."""


class _Edges:
    """All edges that ever were: ends, and once cut midpoint and halves."""

    def __init__(self, ends: Index) -> None:
        self.ends, self.middle = ends, np.full(len(ends), -1)
        self.halves, self.is_cut = np.full((len(ends), 2), -1), np.zeros(len(ends), dtype=bool)
        self.nodes = 0
        self._known, self._ids = _NONE, _NONE

    def copy(self, nodes: int) -> _Edges:
        """A copy that numbers new nodes from here on."""
        other = _Edges(self.ends)
        other.middle, other.halves, other.is_cut = self.middle.copy(), self.halves.copy(), self.is_cut.copy()
        other.nodes = nodes
        return other

    def live(self, count: int, nodes: int) -> Index:
        """Edges of the mesh that had so many edges and nodes, by sorted vertex numbers."""
        middle = self.middle[:count]
        alive = np.flatnonzero((middle < 0) | (middle >= nodes))
        ends = self.ends[alive]
        return np.asarray(alive[np.argsort(_key(ends.min(axis=1), ends.max(axis=1)))])

    def cut(self, edges: Index) -> _Sweep:
        """Cut those of the edges that are still whole."""
        edges = edges[~self.is_cut[edges]]
        nodes = self.nodes + np.arange(len(edges))
        ends = self.ends[edges]
        halves = self._append(np.stack([ends, np.stack([nodes, nodes], axis=1)], axis=2).reshape(-1, 2)).reshape(-1, 2)
        self.middle[edges], self.halves[edges], self.is_cut[edges] = nodes, halves, True
        self.nodes += len(edges)
        return _Sweep(edges, ends, nodes, halves)

    def drawn(self, middle: Index, tip: Index, sources: Index, sweep: _Sweep | None) -> Index:
        """Edges from midpoints to vertices, new ones where this refinement has not drawn them yet."""
        keys, first, inverse = np.unique(_key(middle, tip), return_index=True, return_inverse=True)
        place = np.minimum(np.searchsorted(self._known, keys), max(len(self._known) - 1, 0))
        known = self._known[place] == keys if len(self._known) else np.zeros(len(keys), dtype=bool)
        ids = np.empty(len(keys), dtype=np.intp)
        ids[known] = self._ids[place[known]]
        if sweep is not None and not known.all():
            fresh = first[~known]
            ids[~known] = self._append(np.stack([middle[fresh], tip[fresh]], axis=1))
            sweep.inner, sweep.sources = ids[~known], sources[fresh]
            every = np.concatenate([self._known, keys[~known]])
            order = np.argsort(every, kind="stable")
            self._known, self._ids = every[order], np.concatenate([self._ids, ids[~known]])[order]
        return np.asarray(ids[inverse.reshape(-1)])

    def _append(self, ends: Index) -> Index:
        first = len(self.ends)
        self.ends = np.concatenate([self.ends, ends])
        self.middle = np.concatenate([self.middle, np.full(len(ends), -1)])
        self.halves = np.concatenate([self.halves, np.full((len(ends), 2), -1)])
        self.is_cut = np.concatenate([self.is_cut, np.zeros(len(ends), dtype=bool)])
        return first + np.arange(len(ends))


class _Family:
    """Tagged simplices of one dimension: vertices, edges, kind, orientation, ancestor, bisections since then."""

    def __init__(self, *parts: NDArray[Any]) -> None:
        self.parts = parts
        self.vertices, self.edges, self.kind, self.odd, self.ancestor, self.depth = parts

    @classmethod
    def first(cls, simplices: Index, ids: Index, rank: Vector) -> _Family:
        """Tag simplices, with the numbers of their edges, by the ranks of all edges."""
        d, n = simplices.shape[1] - 1, np.arange(len(simplices))
        order, odd, kind = first_tags(rank[ids], d)
        pairs = np.array(rules(d).pairs)
        number = np.zeros((d + 1, d + 1), dtype=np.intp)
        number[pairs[:, 0], pairs[:, 1]] = number[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
        edges = np.take_along_axis(ids, number[order[:, pairs[:, 0]], order[:, pairs[:, 1]]], axis=1)
        return cls(np.take_along_axis(simplices, order, axis=1), edges, kind, odd, n, np.zeros(len(n), np.uint16))

    def copy(self) -> _Family:
        """A copy whose simplices are their own ancestors."""
        n = len(self.kind)
        return _Family(*(part.copy() for part in self.parts[:4]), np.arange(n), np.zeros(n, np.uint16))

    def bisected(self, rows: Index, edges: _Edges, sweep: _Sweep | None = None) -> _Family:
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
        return _Family(*(np.concatenate(both) for both in zip(self.parts, children[1], strict=True)))

    def in_order(self) -> _Family:
        """The descendants of each ancestor side by side."""
        order = np.argsort(self.ancestor, kind="stable")
        return _Family(*(part[order] for part in self.parts))

    def oriented(self) -> Index:
        """Vertices, in the orientation of the ancestors."""
        T: Index = self.vertices.copy()
        T[self.odd, :2] = T[self.odd, 1::-1]
        return T


def _average(values: Vector, sweep: _Sweep) -> None:
    values[sweep.nodes] = 0.5 * values[sweep.ends[:, 0]] + 0.5 * values[sweep.ends[:, 1]]


def _key(low: Index, high: Index) -> Index:
    return np.asarray((low << _SHIFT) | high)


def _numbers(marked: Any, count: int) -> Index:
    cells = np.asarray(marked)
    if cells.size == 0:
        return _NONE
    if cells.dtype.kind not in "iu" or cells.ndim != 1:
        raise InputError(f"marked: must be a list of cell numbers; got {cells.dtype} of shape {cells.shape}")
    if int(cells.min()) < 0 or int(cells.max()) >= count:
        raise InputError(
            f"marked: cell numbers must lie between 0 and {count - 1}; got {int(cells.min())} to {int(cells.max())}"
        )
    return np.asarray(cells, dtype=np.intp)


def _require_volumes(mesh: Mesh, points: Vector, T: Index, cells: _Family) -> None:
    """The children lie the way their parents do; with conforming cuts, what is left to check of a mesh."""
    new = np.flatnonzero(cells.depth)
    sides = [np.asarray(P[:, 1:] - P[:, :1]) for P in (points[T[new]], mesh.points[mesh.cells[cells.ancestor[new]]])]
    size = np.max(np.abs(sides[0]).reshape(len(new), -1), axis=1, initial=0.0) ** mesh.dim
    flat = np.linalg.det(sides[0]) * np.sign(np.linalg.det(sides[1])) <= _FLAT * size
    if flat.any():
        parent = int(cells.ancestor[new[int(np.argmax(flat))]])
        raise InputError(
            f"marked: cell {parent} and {int(flat.sum()) - 1} other pieces are too small to be bisected in double "
            "precision; the mesh stays as it was"
        )
