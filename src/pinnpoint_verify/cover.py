"""A mesh covers its domain once, so that "the domain that the mesh covers" means what it says.

Across a facet whose two cells lie on opposite sides, the number of cells over a point stays the same. So where it is
two or more, it falls on the way out at some facet of one cell only, and the cell at that facet overlaps another one:
no two cells overlap if none of the outer cells does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree

from pinnpoint_verify.glued import names_of
from pinnpoint_verify.reader import Array, larger, need, smaller

DEEP = 1e-9
"""Of the extent: what cells that touch, as at a slit, may reach into one another."""
THIN = 1e-3
"""Of the height of the thinner cell: more is never taken for touching."""
ROUND = 2.0**-47
"""Rounding of coordinates, of which the largest is one."""
PART = 1024


def covers_once(nodes: Array, cells: Array) -> None:
    """Refuse cells that overlap."""
    T, X = np.sort(cells, axis=1), nodes / np.abs(nodes).max()
    outer = outer_cells(X, T)
    P = X[T]
    low, high = P.min(axis=1), P.max(axis=1)
    touch = DEEP * float(np.ptp(X, axis=0).max())
    for a, b in close(low, high, outer):
        meet = (np.minimum(high[a], high[b]) - np.maximum(low[a], low[b]) > ROUND).all(axis=1) & (a != b)
        a, b = a[meet], b[meet]
        bad = np.nonzero(~apart(P[a], P[b], touch))[0]
        if bad.size:
            i, j = int(a[bad[0]]), int(b[bad[0]])
            need(False, f"mesh: cells {smaller(i, j)} and {larger(i, j)} overlap; the domain is not covered once")


def outer_cells(X: Array, T: Array) -> Array:
    """Cells with a facet of their own; both cells of any other facet lie on its two sides."""
    d = X.shape[1]
    facets = np.concatenate([np.delete(T, k, axis=1) for k in range(d + 1)])
    apex = np.concatenate([T[:, k] for k in range(d + 1)])
    base = X[facets]
    side = np.sign(np.linalg.det(np.concatenate([base[:, 1:], X[apex][:, None]], axis=1) - base[:, :1]))
    _, number, count = np.unique(names_of(facets, len(X)), return_inverse=True, return_counts=True)
    total = np.bincount(number, side)
    fits = np.all(side != 0.0) and np.all(total[count == 2] == 0.0)
    need(fits, "mesh: neighbours overlap, they lie on the same side of their facet")
    return np.asarray(np.unique((np.arange(len(facets)) % len(T))[count[number] == 1]))


def close(low: Array, high: Array, outer: Array) -> Iterator[tuple[Array, Array]]:
    """Pairs with an outer cell, among them all whose boxes meet; cells of one size at a time."""
    middle, reach = (low + high) / 2, (high - low).max(axis=1) / 2
    octave = np.floor(np.log2(reach))
    for size in np.unique(octave):
        these = np.nonzero(octave == size)[0]
        tree = cKDTree(middle[these])
        for own in np.unique(octave[outer]):
            asked = outer[octave[outer] == own]
            for k in range(0, len(asked), PART):
                part = asked[k : k + PART]
                within = float(reach[these].max() + reach[part].max())
                found = cKDTree(middle[part]).sparse_distance_matrix(tree, within, p=np.inf, output_type="ndarray")
                yield part[found["i"]], these[found["j"]]


def apart(P: Array, Q: Array, touch: float) -> Array:
    """Whether a plane separates two simplices (N, d + 1, d), but for what counts as touching."""
    d = P.shape[2]
    slopes = [np.linalg.inv(S[:, 1:] - S[:, :1]) for S in (P, Q)]
    slopes = [np.concatenate([-G.sum(axis=2, keepdims=True), G], axis=2) for G in slopes]  # of λ, (N, d, d + 1)
    steep = [np.linalg.norm(G, axis=1) for G in slopes]
    # continuous.md, step 1e
    slack = np.minimum(touch, THIN / np.maximum(steep[0].max(axis=1), steep[1].max(axis=1))) + ROUND
    found = np.zeros(len(P), dtype=bool)
    for S, other, G, size in ((P, Q, slopes[0], steep[0]), (Q, P, slopes[1], steep[1])):
        bary = (other - S[:, :1]) @ G
        bary[:, :, 0] += 1.0
        found |= (bary.max(axis=1) <= slack[:, None] * size).any(axis=1)
    left = np.nonzero(~found)[0] if d == 3 else np.zeros(0, dtype=int)
    pairs = list(combinations(range(4), 2)) if left.size else []
    P, Q = P[left] - P[left, :1], Q[left] - P[left, :1]
    for i, j in pairs:
        for k, m in pairs:
            axis = np.cross(P[:, j] - P[:, i], Q[:, m] - Q[:, k])
            size = np.linalg.norm(axis, axis=1)
            axis /= np.where(size > 0.0, size, 1.0)[:, None]
            p, q = (np.einsum("nvd,nd->nv", S, axis) for S in (P, Q))
            gap = np.maximum(q.min(axis=1) - p.max(axis=1), p.min(axis=1) - q.max(axis=1))
            found[left] |= (gap >= -slack[left]) & (size > 0.0)
    return found
