"""Facets, neighbours and geometry of a simplicial mesh, with every cell's vertices in ascending order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pinnpoint.base.arrays import Index, Vector, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh

_LARGEST_KEY = 2**63


@dataclass(frozen=True, eq=False)
class Topology:
    """How the cells of a mesh hang together.

    Vertices of cells and of facets are sorted, so the vertices that two cells share come in the same order in both.

    Attributes
    ----------
    points
        (N, d).
    cells
        (C, d + 1) vertex numbers, ascending in each row; the determinant of a row may be negative.
    facets
        (F, d) vertex numbers, ascending in each row, the rows in lexicographic order.
    cell_facets
        (C, d + 1): the facet opposite each vertex of the sorted cell.
    facet_cells
        (F, 2): the cells of a facet, the smaller number first; −1 where there is no second cell.
    sign
        (C, d + 1): +1 where the cell is the first of the facet, else −1.
    """

    points: Vector
    cells: Index
    facets: Index
    cell_facets: Index
    facet_cells: Index
    sign: Vector
    _keys: Index
    _pairs: Index | None
    _rows: Index
    _number: Index | None

    __repr__ = brief

    def __init__(self, points: ArrayLike, cells: ArrayLike) -> None:
        X = np.ascontiguousarray(points, dtype=np.float64)
        X = X[:, None] if X.ndim == 1 else X
        T = np.sort(np.asarray(cells, dtype=np.intp), axis=1)
        if X.ndim != 2 or X.shape[1] not in (1, 2, 3) or T.shape[1] != X.shape[1] + 1:
            raise InputError(f"cells: must have one column more than the points; got {T.shape} and {X.shape}")
        N, d, C = *X.shape, len(T)
        every = np.empty((C, d + 1, d), dtype=np.intp)
        for i in range(d + 1):
            every[:, i] = np.delete(T, i, axis=1)
        every = every.reshape(-1, d)
        first_pairs = np.unique(every[:, 0] * N + every[:, 1]) if d == 3 and N**d >= _LARGEST_KEY else None
        keys = _encode(every, N, first_pairs)
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        new = np.concatenate([[True], ranked[1:] != ranked[:-1]])
        number = np.cumsum(new) - 1
        first, second = order[new], order[~new]
        if len(second) and np.any(number[~new][1:] == number[~new][:-1]):
            raise InputError("cells: more than two cells share a facet")
        cell_facets = np.empty(C * (d + 1), dtype=np.intp)
        cell_facets[order] = number
        facet_cells = np.full((len(first), 2), -1, dtype=np.intp)
        facet_cells[:, 0] = first // (d + 1)
        facet_cells[number[~new], 1] = second // (d + 1)
        sign = np.full(C * (d + 1), -1.0)
        sign[first] = 1.0
        set_fields(
            self,
            points=X,
            cells=T,
            facets=every[first],
            cell_facets=cell_facets.reshape(C, d + 1),
            facet_cells=facet_cells,
            sign=sign.reshape(C, d + 1),
            _keys=ranked[new],
            _pairs=first_pairs,
            _rows=every[first],
            _number=None,
        )

    @classmethod
    def of(cls, mesh: Mesh) -> Topology:
        """The topology of a mesh; its cells keep their numbers."""
        return cls(mesh.points, mesh.cells)

    def seen_from(self, cells: Index, sign: Vector) -> Topology:
        """The same facets with some of the cells only, and their signs (n, d + 1), which a larger mesh may give."""
        part = object.__new__(Topology)
        set_fields(
            part,
            points=self.points,
            cells=self.cells[cells],
            facets=self.facets,
            cell_facets=self.cell_facets[cells],
            facet_cells=self.facet_cells,
            sign=sign,
            _keys=self._keys,
            _pairs=self._pairs,
            _rows=self._rows,
            _number=self._number,
        )
        return part

    @property
    def dim(self) -> int:
        """Space dimension d."""
        return int(self.points.shape[1])

    @property
    def glued(self) -> bool:
        """Whether some facets are pairs of boundary facets of the mesh."""
        return self._number is not None

    @property
    def boundary(self) -> NDArray[np.bool_]:
        """Which facets have one cell only."""
        return np.asarray(self.facet_cells[:, 1] < 0)

    @cached_property
    def boxes(self) -> tuple[Vector, Vector]:
        """Least and largest coordinates of the cells, (d, C) each."""
        corners = [self.points.T[:, vertices] for vertices in self.cells.T]
        return np.minimum.reduce(corners), np.maximum.reduce(corners)

    @cached_property
    def edges(self) -> Vector:
        """Edge vectors from each cell's first vertex, (C, d, d)."""
        P = self.points[self.cells]
        return np.asarray(P[:, 1:] - P[:, :1])

    @cached_property
    def _cofactors(self) -> tuple[Vector, Vector]:
        """Cofactor rows of the edge matrix (row i is |det| times ± the gradient of λ_{i+1}), and its determinant."""
        E, d = self.edges, self.dim
        R = np.empty_like(E)
        if d == 1:
            R[:] = 1.0
        elif d == 2:
            R[:, 0, 0], R[:, 0, 1] = E[:, 1, 1], -E[:, 1, 0]
            R[:, 1, 0], R[:, 1, 1] = -E[:, 0, 1], E[:, 0, 0]
        else:
            for i in range(3):
                a, b = E[:, (i + 1) % 3], E[:, (i + 2) % 3]
                for k in range(3):
                    u, v = (k + 1) % 3, (k + 2) % 3
                    R[:, i, k] = a[:, u] * b[:, v] - a[:, v] * b[:, u]
        return R, np.einsum("kx,kx->k", R[:, 0], E[:, 0])

    @cached_property
    def orientation(self) -> Vector:
        """Sign of each sorted cell's determinant."""
        return np.sign(self._cofactors[1])

    @cached_property
    def volumes(self) -> Vector:
        """Lengths, areas or volumes of the cells."""
        return np.asarray(np.abs(self._cofactors[1]) / (1.0, 1.0, 2.0, 6.0)[self.dim])

    @cached_property
    def gradients(self) -> Vector:
        """Gradients of the barycentric coordinates, (C, d + 1, d)."""
        R, det = self._cofactors
        G = np.empty((len(R), self.dim + 1, self.dim))
        np.divide(R, det[:, None, None], out=G[:, 1:])
        G[:, 0] = -G[:, 1:].sum(axis=1)
        return G

    @cached_property
    def diameters(self) -> Vector:
        """Longest edge of each cell."""
        P = self.points[self.cells]
        square = np.zeros(len(P))
        for i, j in combinations(range(self.dim + 1), 2):
            difference = P[:, i] - P[:, j]
            np.maximum(square, np.einsum("kx,kx->k", difference, difference), out=square)
        return np.sqrt(square)

    @cached_property
    def corners(self) -> tuple[Index, Index]:
        """Vertex to cells, (start, corner).

        Vertex a is vertex c % (d + 1) of the cell c // (d + 1) for every c in corner[start[a]:start[a + 1]].
        """
        flat = self.cells.ravel()
        start = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=len(self.points)))])
        return start.astype(np.intp), np.argsort(flat, kind="stable")

    def numbers_of_group(self, mesh: Mesh, group: str) -> Index:
        """Numbers of a group's facets."""
        return self.facet_numbers(mesh.facets(group))

    def facet_numbers(self, facets: ArrayLike) -> Index:
        """Numbers of facets given by their vertices, (n, d), in any order."""
        asked = np.asarray(facets, dtype=np.intp)
        if not len(asked):
            return np.zeros(0, dtype=np.intp)
        asked = np.sort(asked.reshape(len(asked), -1), axis=1)
        if asked.shape[1] != self.dim or asked.min() < 0 or asked.max() >= len(self.points):
            raise InputError(f"facets: must be {self.dim} vertex numbers below {len(self.points)} in each row")
        keys = _encode(asked, len(self.points), self._pairs)
        found = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        missing = np.any(self._rows[found] != asked, axis=1)
        if missing.any():
            raise InputError(f"facets: {asked[int(np.argmax(missing))].tolist()} is not a facet of any cell")
        return np.asarray(found if self._number is None else self._number[found])


def _encode(facets: Index, n: int, pairs: Index | None) -> Index:
    """One integer for each row, in lexicographic order; ``pairs`` ranks the first two columns where n³ is too large."""
    key = facets[:, 0].copy()
    for j in range(1, facets.shape[1]):
        if j == 2 and pairs is not None:
            key = np.searchsorted(pairs, key)
        key *= n
        key += facets[:, j]
    return key
