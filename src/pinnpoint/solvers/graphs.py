"""The graph of a sparse matrix: in how many dimensions it grows, and orders of its unknowns that fill in little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order

from pinnpoint.base.arrays import Index, Matrix, Vector

LEAF = 64
"""Unknowns up to which a part is not cut any more."""
LANDMARKS = 4
"""Nodes from which distances are taken where no coordinates are known."""
STARTS, REACH = 12, 16
"""Balls that are grown to see a dimension, and how many steps at the most."""
BETWEEN = 2.3
"""Growth exponents below it are those of plane meshes (1.6 to 2), above it those of meshes in space (2.5 to 3)."""


def dimension(A: Matrix) -> int:
    """2 or 3: how fast the numbers of neighbours within 1, 2, 3 … steps grow; a guess, on which only time depends.

    Entries per row say little: plane elasticity has as many as scalar problems in space.
    """
    A = sp.csr_array(A)
    n = A.shape[0]
    starts = np.random.default_rng(0).integers(0, n, STARTS)
    return 3 if max(_growth(A, int(start)) for start in starts) > BETWEEN else 2


def _growth(A: Matrix, start: int) -> float:
    """The largest exponent p with |ball of 2r steps| = 2^p |ball of r steps|, for balls of less than a third of all."""
    n = A.shape[0]
    seen = np.zeros(n, dtype=bool)
    seen[start] = True
    edge, sizes = np.array([start]), [1]
    while edge.size and len(sizes) <= REACH and 3 * sizes[-1] <= n:
        reached = _neighbours(A, edge)
        edge = np.unique(reached[~seen[reached]])
        seen[edge] = True
        sizes.append(sizes[-1] + edge.size)
    last = len(sizes) - 1
    return max((float(np.log2(sizes[2 * r] / sizes[r])) for r in range(2, last // 2 + 1)), default=0.0)


def _neighbours(A: Matrix, rows: Index) -> Index:
    """All columns of some rows."""
    first, count = A.indptr[rows], np.diff(A.indptr)[rows]
    skip = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
    return np.asarray(A.indices[skip + np.arange(count.sum())])


class Cut(NamedTuple):
    """All parts of one depth, cut at once.

    Attributes
    ----------
    part, side
        Of each node: the part that it is in, and its half of it.
    between
        Which nodes separate the halves of their part; they are cut off.
    gone
        Which nodes were cut off before.
    pairs
        Neighbours within parts, none of them cut off before.
    """

    part: Index
    side: Index
    between: NDArray[np.bool_]
    gone: NDArray[np.bool_]
    pairs: Index


class Graph(NamedTuple):
    """Nodes of a matrix: unknowns at one place, or, where no places are known, with the same neighbours.

    Attributes
    ----------
    node
        Of each unknown.
    places
        Of each node.
    pairs
        Neighbours, each pair once.
    """

    node: Index
    places: Vector
    pairs: Index

    @classmethod
    def of(cls, A: Matrix, points: Vector | None) -> Graph:
        """The nodes of A; without points their distances from far-away nodes tell them apart."""
        A = sp.csr_array(A)
        first, node = _numbered(_patterns(A) if points is None else points)
        coupled = sp.coo_array(A[first])
        pairs = np.stack([coupled.row.astype(np.int64), node[coupled.col]])
        pairs = pairs[:, pairs[0] < pairs[1]]
        return cls(node, distances(pairs, first.size) if points is None else points[first], pairs)

    def cuts(self, depth: int) -> Iterator[Cut]:
        """Every part is cut across its longest side at the median plane, all parts of one depth at once."""
        m, pairs = len(self.places), self.pairs
        part, gone = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
        for _ in range(depth):
            side = _sides(self.places, part)
            pairs = pairs[:, ~(gone[pairs].any(axis=0)) & (part[pairs[0]] == part[pairs[1]])]
            across = side[pairs[0]] != side[pairs[1]]
            between = np.zeros(m, dtype=bool)
            between[np.where(side[pairs[0]] == 0, pairs[0], pairs[1])[across]] = True
            yield Cut(part, side, between, gone, pairs)
            gone = gone | between
            part = 2 * part + side

    @property
    def depth(self) -> int:
        """Cuts that lead to parts of `LEAF` nodes."""
        return max(1, int(np.ceil(np.log2(max(len(self.places) / LEAF, 2.0)))))


def dissection(A: Matrix, points: Vector | None) -> Index:
    """Nested dissection by coordinates: unknowns in an order in which a Cholesky factor of A fills in little.

    What lies on one side of a cut and has neighbours on the other one comes after both sides.

    Parameters
    ----------
    points
        Where the unknowns are, (n, d); those of one node together. Without it, distances in the graph serve.
    """
    graph = Graph.of(A, points)
    key = np.zeros(len(graph.places), dtype=np.int64)
    for cut in graph.cuts(graph.depth):
        key = 3 * key + np.where(cut.gone, 0, np.where(cut.between, 2, cut.side))
    return np.lexsort((graph.node, key[graph.node]))


def solid_order(A: Matrix, points: Vector | None) -> Index | None:
    """Nested dissection for a matrix of a mesh in space; None in the plane, where minimum degree does as well."""
    dim = dimension(A) if points is None else points.shape[1]
    return dissection(A, points) if dim == 3 else None


def distances(pairs: Index, m: int) -> Vector:
    """Steps of each of m nodes from `LANDMARKS` nodes, each as far as can be from those before it."""
    one = np.ones(pairs.shape[1], dtype=np.int8)
    both = sp.csr_array((one, (pairs[0], pairs[1])), shape=(m, m))
    both = sp.csr_array(both + both.T)
    nearest, found, start = np.full(m, m), [], int(np.argmax(_steps(both, 0)))
    for _ in range(LANDMARKS):
        found.append(_steps(both, start))
        nearest = np.minimum(nearest, found[-1])
        start = int(np.argmax(nearest))
    return np.stack(found, axis=1).astype(np.float64)


def _steps(both: Matrix, start: int) -> Index:
    """Steps from a node to all others; to those that it does not reach, as many as there are nodes."""
    m = both.shape[0]
    order, before = breadth_first_order(both, start, directed=False)
    place = np.empty(m, dtype=np.int64)
    place[order] = np.arange(order.size)
    parents = place[before[order[1:]]]  # ascending, as nodes are reached
    steps, first, level = np.full(m, m), 0, 0
    while first < order.size:
        last = 1 if level == 0 else 1 + int(np.searchsorted(parents, first))
        steps[order[first:last]] = level
        first, level = last, level + 1
    return steps


def _patterns(A: Matrix) -> Vector:
    """A number for each row that is the same for rows with entries at the same places, and no others but by chance."""
    n = A.shape[1]
    ones = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    return np.asarray(ones @ np.random.default_rng(0).random((n, 2)))


def _numbered(points: Vector) -> tuple[Index, Index]:
    """The first unknown of each node, and the node of each unknown: unknowns with the same numbers are one node."""
    order = np.lexsort(points.T)
    new = np.append(True, np.any(points[order[1:]] != points[order[:-1]], axis=1))
    node = np.empty(len(points), dtype=np.int64)
    node[order] = np.cumsum(new) - 1
    return order[new], node


def _sides(places: Vector, part: Index) -> Index:
    """0 or 1 for the halves of each part along its longest side."""
    order = np.argsort(part, kind="stable")
    first = np.flatnonzero(np.diff(part[order], prepend=-1))
    size = np.diff(np.append(first, part.size))
    boxes = [reduce.reduceat(places[order], first, axis=0) for reduce in (np.maximum, np.minimum)]
    longest = np.repeat(np.argmax(boxes[0] - boxes[1], axis=1), size)
    along = np.empty(part.size)
    along[order] = places[order, longest]
    order = np.lexsort((along, part))
    rank = np.arange(part.size) - np.repeat(first, size)
    side = np.empty(part.size, dtype=np.int64)
    side[order] = rank >= np.repeat((size + 1) // 2, size)
    return side
