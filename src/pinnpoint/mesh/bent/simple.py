"""That a bent mesh covers its domain once: Jacobians are positive, and the bent boundary does not meet itself.

In the plane the curve over a chord lies in a kite: the chord's ends, and the two points ±D max|Q|/2 beside its middle,
because τ(1 − τ) ≤ min(τ, 1 − τ). Kites and straight boundary facets must be apart, or share one vertex and lie in
cones there that are apart. Comparisons have a margin of 10⁻⁹, far above their rounding. See docs/curved.md, step 1c.
"""

from __future__ import annotations

import numpy as np
import scipy

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.bent.maps import Bends, edge_rows

MARGIN = 1e-9


def require_simple(bends: Bends) -> None:
    """Refuse a bent boundary of the plane that meets itself, or is not shown not to."""
    facets = np.sort(bends.mesh.boundary, axis=1)
    kites, curved = _kites(bends, facets)
    if not curved.any():
        return
    middle = kites.mean(axis=1)
    reach = np.sqrt(((kites - middle[:, None]) ** 2).sum(axis=2)).max(axis=1)
    pairs = _near(middle, reach, curved)
    if not len(pairs):
        return
    one, two = pairs.T
    shared = (facets[one][:, :, None] == facets[two][:, None]).any(axis=(1, 2))
    good = np.ones(len(pairs), dtype=bool)
    good[~shared] = _apart(kites[one[~shared]], kites[two[~shared]])
    good[shared] = _cones_apart(kites, facets, one[shared], two[shared])
    if not good.all():
        k = int(np.argmin(good))
        raise InputError(
            f"geometry: the curved boundary meets itself, or is not shown not to, near {middle[one[k]].tolist()} and "
            f"{middle[two[k]].tolist()}; refine the mesh there"
        )


def _kites(bends: Bends, facets: Index) -> tuple[Vector, Mask]:
    """Four points around the curve over each boundary facet, and whether it is curved."""
    P = bends.profiles
    A, B = bends.mesh.points[facets[:, 0]], bends.mesh.points[facets[:, 1]]
    e = edge_rows(P.edges, facets, len(bends.mesh.points))
    curved = e >= 0
    low, high = P.spread()
    middle = 0.5 * (A + B)
    size = 1.0 + MARGIN
    above = middle + 0.5 * size * (np.maximum(high, 0.0)[e] * curved)[:, None] * P.direction[e]
    below = middle + 0.5 * size * (np.minimum(low, 0.0)[e] * curved)[:, None] * P.direction[e]
    return np.stack([A, above, B, below], axis=1), curved


def _near(middle: Vector, reach: Vector, curved: Mask) -> Index:
    """Pairs of facets, one of them curved, whose circles meet."""
    tree = scipy.spatial.cKDTree(middle)
    found = tree.query_pairs(2.0 * float(reach.max()) * (1.0 + MARGIN), output_type="ndarray")
    one, two = found.T
    close = ((middle[one] - middle[two]) ** 2).sum(axis=1) <= ((reach[one] + reach[two]) * (1.0 + MARGIN)) ** 2
    return np.asarray(found[close & (curved[one] | curved[two])])


def _apart(one: Vector, two: Vector) -> Vector:
    """Whether a line separates two kites."""
    axes = []
    for K in (one, two):
        for i in range(4):
            for j in range(i):
                side = K[:, i] - K[:, j]
                axes.append(np.stack([-side[:, 1], side[:, 0]], axis=1))
    axes.append(two.mean(axis=1) - one.mean(axis=1))
    N = np.stack(axes, axis=1)
    p, q = (np.einsum("nak,nik->nai", N, K) for K in (one, two))
    gap = np.maximum(p.min(axis=2) - q.max(axis=2), q.min(axis=2) - p.max(axis=2))
    span = np.maximum(p.max(axis=2), q.max(axis=2)) - np.minimum(p.min(axis=2), q.min(axis=2))
    return np.asarray((gap > MARGIN * span).any(axis=1))


def _cones_apart(kites: Vector, facets: Index, one: Index, two: Index) -> Vector:
    """Whether kites with one common vertex lie there in cones that only share it."""
    same = facets[one][:, :, None] == facets[two][:, None]
    single = same.sum(axis=(1, 2)) == 1
    bounds = []
    for k, axis in ((one, 2), (two, 1)):
        end = np.argmax(same.any(axis=axis), axis=1)
        rows = np.arange(len(k))
        K = kites[k]
        corner, other = K[rows, 2 * end], K[rows, 2 - 2 * end]
        axis_ = other - corner
        angles = []
        for side in (1, 3):
            v = K[:, side] - corner
            angles.append(np.arctan2(axis_[:, 0] * v[:, 1] - axis_[:, 1] * v[:, 0], (axis_ * v).sum(axis=1)))
        bounds.append((np.arctan2(axis_[:, 1], axis_[:, 0]), np.minimum(*angles), np.maximum(*angles)))
    (a, a_low, a_high), (b, b_low, b_high) = bounds
    turn = np.mod(b - a, 2.0 * np.pi)
    free = (turn + np.minimum(b_low, 0.0) - np.maximum(a_high, 0.0) > MARGIN) & (
        2.0 * np.pi - turn - np.maximum(b_high, 0.0) + np.minimum(a_low, 0.0) > MARGIN
    )
    return np.asarray(single & free)
