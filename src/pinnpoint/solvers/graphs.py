"""The graph of a sparse matrix: in how many dimensions it grows, and orders of its unknowns that fill in little."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector

LEAF = 64
"""Unknowns up to which a part is not cut any more."""
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


def dissection(A: Matrix, points: Vector) -> Index:
    """Nested dissection by coordinates: unknowns in an order in which a Cholesky factor of A fills in little.

    Every part is cut across its longest side at the median plane, all parts of one depth at once. What lies on one side
    and has neighbours on the other one comes after both sides.

    Parameters
    ----------
    points
        Where the unknowns are, (n, d); those of one node together.
    """
    first, node = _nodes(points)
    coupled = sp.coo_array(sp.csr_array(A)[first])
    pairs = np.stack([coupled.row.astype(np.int64), node[coupled.col]])
    pairs = pairs[:, pairs[0] < pairs[1]]
    places, m = points[first], first.size
    part, key, cut = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
    for _ in range(max(1, int(np.ceil(np.log2(max(m / LEAF, 2.0)))))):
        side = _sides(places, part)
        pairs = pairs[:, ~(cut[pairs].any(axis=0)) & (part[pairs[0]] == part[pairs[1]])]
        across = side[pairs[0]] != side[pairs[1]]
        between = np.zeros(m, dtype=bool)
        between[np.where(side[pairs[0]] == 0, pairs[0], pairs[1])[across]] = True
        key = 3 * key + np.where(cut, 0, np.where(between, 2, side))
        cut |= between
        part = 2 * part + side
    return np.lexsort((node, key[node]))


def _nodes(points: Vector) -> tuple[Index, Index]:
    """The first unknown of each node, and the node of each unknown: unknowns at one place are one node."""
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
