"""The stiffness of linear elements assembled once more, and how a stored matrix differs from it.

Matrices are compared by nodes and by edges (i, j), i < j, whose blocks are sums over cells; the block (j, i) is the
transpose of (i, j).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Matrix, Vector
from pinnpoint.base.threads import CORES, on_all_cores
from pinnpoint.fem.stability.wide import columns
from pinnpoint.mesh.facets import chunks, edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import gamma


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells with their vertices in ascending order.

    Attributes
    ----------
    vertices
        (d + 1, C).
    gradients
        (d + 1, d, C), in the same order.
    pairs, edge, shared
        The edges, those of each cell, and how many cells each has, as `facets.edge_table` gives them.
    """

    vertices: Any
    gradients: Vector
    pairs: Index
    edge: Any
    shared: Any


def in_order(mesh: Mesh) -> Cells:
    """The mesh's cells with their vertices in ascending order."""
    d, C, n = mesh.dim, len(mesh.cells), len(mesh.points)
    vertices = np.empty((d + 1, C), dtype=np.int32 if n < 2**31 else np.int64)
    G = np.empty((d + 1, d, C))

    def fill(part: slice) -> None:
        v, g = list(mesh.cells[part].T), list(columns(mesh.gradients[part]))
        for last in range(d, 0, -1):
            for i in range(last):
                swap = v[i] > v[i + 1]
                v[i : i + 2] = np.minimum(v[i], v[i + 1]), np.maximum(v[i], v[i + 1])
                g[i : i + 2] = np.where(swap, g[i + 1], g[i]), np.where(swap, g[i], g[i + 1])
        for i in range(d + 1):
            vertices[i, part], G[i, :, part] = v[i], g[i]

    on_all_cores(fill, chunks(C))
    return Cells(vertices, G, *edge_table(vertices.T, n))


def summed(values: Vector, places: Any, size: int) -> Vector:
    """Sums by place: a product with a sparse matrix, which leaves Python's lock to other threads."""
    start = np.array([0, values.size], dtype=places.dtype)
    return np.asarray(sp.csc_array((values.ravel(), places.ravel(), start), shape=(size, 1)) @ np.ones(1))


def reference(mesh: Mesh, cells: Cells, lam: Vector | None, mu: Vector) -> tuple[Vector, Vector]:
    """The stiffness from the checked gradients and volumes, assembled here so that no other code is relied on.

    Blocks of nodes, (k, k, n), and of edges, (k, k, E).
    """
    d, C, n = mesh.dim, len(mesh.cells), len(mesh.points)
    count, G = (1 if lam is None else d), cells.gradients
    nodes, edges = np.empty((count, count, n)), np.empty((count, count, len(cells.pairs)))
    lam_v, mu_v = None if lam is None else lam * mesh.volumes, mu * mesh.volumes

    def entries(K: Vector, faces: list[tuple[int, int]], a: int, b: int, part: slice) -> None:
        mv = mu_v[part]
        for K_ij, (i, j) in zip(K, faces, strict=True):
            g, h = G[i, :, part], G[j, :, part]
            k = mv * (g * h).sum(axis=0) if a == b else 0.0
            if lam_v is not None:
                k = k + lam_v[part] * g[a] * h[b]
                k += mv * g[b] * h[a]
            K_ij[part] = k

    def work(blocks: list[tuple[int, ...]]) -> None:
        memory = np.empty((max(d + 1, len(cells.edge)), C))
        for a, b in blocks:
            for faces, places, to in (
                ([(i, i) for i in range(d + 1)], cells.vertices, nodes),
                (list(combinations(range(d + 1), 2)), cells.edge, edges),
            ):
                K = memory[: len(faces)]
                for part in chunks(C):
                    entries(K, faces, a, b, part)
                to[a, b] = summed(K, places, to.shape[2])

    every = list(product(range(count), repeat=2))
    on_all_cores(work, [every[k::CORES] for k in range(min(CORES, len(every)))])
    return nodes, edges


def gap(A: Matrix, cells: Cells, blocks: tuple[Vector, Vector], mass: Matrix) -> Vector:
    """Means of the row and column sums of |A − reference − mass|, entry by entry, (n, k)."""
    (nodes, edges), (low, high) = blocks, cells.pairs.T
    count, n = len(nodes), nodes.shape[2]
    A = sp.csr_array(A)
    found = _places(A, cells.pairs, n, count) if mass is None else None
    if found is None:
        K = _matrix(nodes, edges, cells.pairs)
        off = abs(sp.csr_array(A - (K if mass is None else K + mass)))
        return half_sums(off if mass is None else off + 2.0 * gamma(2048) * abs(mass))
    width, own, right, left = found
    wide_low, wide_high = width.take(low), width.take(high)

    def differences(pair: tuple[int, ...]) -> tuple[Vector, Vector]:
        a, b = pair
        at_node = 0.5 * np.abs(A.data.take(own + a * width + b) - nodes[a, b])
        off = np.abs(A.data.take(right + a * wide_low + b) - edges[a, b])
        off += np.abs(A.data.take(left + b * wide_high + a) - edges[a, b])
        off *= 0.5
        return at_node + summed(off, low, n), at_node + summed(off, high, n)

    total, every = np.zeros((n, count)), list(product(range(count), repeat=2))
    for (a, b), (one, other) in zip(every, on_all_cores(differences, every), strict=True):
        total[:, a] += one
        total[:, b] += other
    return total


def half_sums(gap: Any) -> Vector:
    """Means of the row and column sums of a matrix."""
    return np.asarray(0.5 * (gap.sum(axis=0) + gap.sum(axis=1)))


def _places(A: Matrix, pairs: Index, n: int, k: int) -> tuple[Index, Index, Index, Index] | None:
    """Where the blocks of the mesh's nodes and edges are in A's data, or None if A has others.

    The entry (a, b) of a node's own block is at own + a·width + b, with the width of its rows; that of an edge's block
    (low, high) at right + a·width_low + b, and (b, a) of the block (high, low) at left + b·width_high + a.
    """
    low, high = pairs.T
    before, after = (np.bincount(ends, minlength=n) for ends in (high, low))
    length = before + 1 + after
    base = k * k * (np.cumsum(length) - length)
    width = k * length
    rows = (base[:, None] + width[:, None] * np.arange(k)).ravel()
    if A.shape != (k * n, k * n) or not np.array_equal(A.indptr, np.append(rows, k * k * int(length.sum()))):
        return None
    first = np.cumsum(after) - after
    number = np.arange(len(pairs))
    own = base + k * before
    right = (own + k - k * first).take(low) + k * number
    turned = sp.csr_array((number, high, np.append(first, len(pairs))), shape=(n, n)).tocsc()
    rank = np.empty(len(pairs), dtype=np.intp)  # by the higher vertex, then by the lower
    rank[turned.data] = number
    left = (base - k * (np.cumsum(before) - before)).take(high) + k * rank
    columns = A.indices.reshape(-1, k)
    known = all(bool(np.all(columns[:, j] - columns[:, 0] == j)) for j in range(1, k))
    for a in range(k):
        for at, ends in (
            (own + a * width, np.arange(n)),
            (right + a * width[low], high),
            (left + a * width[high], low),
        ):
            known = known and bool(np.all(A.indices.take(at) == k * ends))
    return (width, own, right, left) if known else None


def _matrix(nodes: Vector, edges: Vector, pairs: Index) -> Any:
    """The matrix of blocks of nodes and edges."""
    (low, high), k, n = pairs.T.astype(np.intp), len(nodes), nodes.shape[2]
    here = np.arange(n)
    parts = []
    for a, b in product(range(k), repeat=2):
        parts += [(nodes[a, b], here * k + a, here * k + b), (edges[a, b], low * k + a, high * k + b)]
        parts += [(edges[a, b], high * k + b, low * k + a)]
    data, row, column = (np.concatenate(p) for p in zip(*parts, strict=True))
    return sp.csr_array((data, (row, column)), shape=(k * n, k * n))
