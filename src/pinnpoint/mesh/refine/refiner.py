"""Conforming local refinement of simplicial meshes by bisection, with groups and nodal values carried along."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, floats, whole
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.gluing import Gluing, together
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.refine.families import Edges, Family, Sweep, ends_of, key
from pinnpoint.mesh.refine.tables import rules

_NEAR = 2.0**-30
"""Edges whose lengths differ by less, relatively, count as equally long in the first mesh."""
_FLAT = 1e-14
"""A cell with a smaller share of its size to the power d is refused, as `Mesh` does."""


class Refiner:
    """A mesh and the tags by which it is refined.

    Cells are cut through the midpoint of their refinement edge, first the longest edge (ties: the smaller vertex
    numbers), then as in `pinnpoint.mesh.refine.tables`: any conforming mesh will do, every mesh that comes out is
    conforming, and the shapes of all descendants of a cell are similar to finitely many. Orientations, cell groups and
    facet groups (inner facets too) are inherited. Old nodes keep their numbers and new ones follow; the children of a
    cell take its place in the order of the cells. Facets that are glued in pairs are cut alike on both sides.

    Parameters
    ----------
    gluing
        Pairs of facets that are one.

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

    def __init__(self, mesh: Mesh, gluing: Gluing | None = None) -> None:
        d, n = mesh.dim, len(mesh.points)
        every = mesh.cells[:, np.array(rules(d).pairs)]
        keys, ids = np.unique(key(every.min(axis=2), every.max(axis=2)), return_inverse=True)
        ids = ids.reshape(len(mesh.cells), -1)
        ends = ends_of(keys)
        length = np.linalg.norm(mesh.points[ends[:, 0]] - mesh.points[ends[:, 1]], axis=1)
        rank = np.empty(len(keys))
        rank[np.lexsort((-np.arange(len(keys)), np.round(np.log(length) / _NEAR)))] = np.arange(len(keys))
        twin = None if gluing is None or d == 1 else _twins(keys, gluing)
        if twin is not None and gluing is not None:
            ends = np.take_along_axis(ends, np.argsort(gluing.vertex[ends], axis=1), axis=1)
            rank = rank[twin]  # robin.md, step 7e
        self._edges = Edges(ends, twin)
        self._cells = Family.first(mesh.cells, ids, rank)
        groups = list(mesh.facet_groups.values())
        facets = np.concatenate([np.zeros((0, d), dtype=np.intp), *groups])
        self._owner = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
        if d > 1:
            pairs = facets[:, np.array(rules(d - 1).pairs)]
            places = np.searchsorted(keys, key(pairs.min(axis=2), pairs.max(axis=2)))
            self._facets = Family.first(facets, places, rank)
        self.mesh, self.parents, self.ends = mesh, np.arange(len(mesh.cells)), np.zeros((0, 2), dtype=np.intp)
        self._before, self._sweeps = (n, len(keys)), list[Sweep]()

    def refine(self, marked: ArrayLike, times: int = 1) -> None:
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
        sweeps: list[Sweep] = []
        rows = np.flatnonzero(wanted)
        while rows.size or edges.behind().size:
            sweeps.append(edges.cut(np.union1d(cells.edges[rows, 0], edges.behind())))
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
        vertex numbers, as in `pinnpoint.fem.assembling.elements`. Further axes are components.
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

    def _commit(self, edges: Edges, cells: Family, sweeps: list[Sweep], points: Vector, T: Index) -> None:
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


def _twins(keys: Index, gluing: Gluing) -> Index:
    """For each edge the smallest number of those that it is one with."""
    two = np.array(rules(gluing.first.shape[1] - 1).pairs)
    one, other = (np.sort(facets[:, two].reshape(-1, 2), axis=1) for facets in (gluing.first, gluing.second))
    places = (np.searchsorted(keys, key(pair[:, 0], pair[:, 1])) for pair in (one, other))
    return together(len(keys), *places)


def _average(values: Vector, sweep: Sweep) -> None:
    values[sweep.nodes] = 0.5 * values[sweep.ends[:, 0]] + 0.5 * values[sweep.ends[:, 1]]


def _numbers(marked: ArrayLike, count: int) -> Index:
    cells = np.asarray(marked)
    if cells.size == 0:
        return np.zeros(0, dtype=np.intp)
    if cells.dtype.kind not in "iu" or cells.ndim != 1:
        raise InputError(f"marked: must be a list of cell numbers; got {cells.dtype} of shape {cells.shape}")
    if int(cells.min()) < 0 or int(cells.max()) >= count:
        raise InputError(
            f"marked: cell numbers must lie between 0 and {count - 1}; got {int(cells.min())} to {int(cells.max())}"
        )
    return np.asarray(cells, dtype=np.intp)


def _require_volumes(mesh: Mesh, points: Vector, T: Index, cells: Family) -> None:
    """The children lie the way their parents do; with conforming cuts, what is left to check of a mesh."""
    new = np.flatnonzero(cells.depth)
    side = np.zeros(len(mesh.cells))
    cut = np.unique(cells.ancestor[new])
    side[cut] = np.sign(np.linalg.det(_sides(mesh.points, mesh.cells[cut])))
    sides = _sides(points, T[new])
    size = np.max(np.abs(sides).reshape(len(new), mesh.dim**2), axis=1, initial=0.0) ** mesh.dim
    flat = np.linalg.det(sides) * side[cells.ancestor[new]] <= _FLAT * size
    if flat.any():
        parent = int(cells.ancestor[new[int(np.argmax(flat))]])
        raise InputError(
            f"marked: cell {parent} and {int(flat.sum()) - 1} other pieces are too small to be bisected in double "
            "precision; the mesh stays as it was"
        )


def _sides(points: Vector, cells: Index) -> Vector:
    P = points[cells]
    return np.asarray(P[:, 1:] - P[:, :1])
