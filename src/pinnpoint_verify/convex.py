"""The mesh constant of a convex plane domain with one κ and Dirichlet values all around (docs/band.md, 1k, 1l and 1n).

‖D²w‖₂ ≤ ‖Δw‖₂ there, so that M_h is at most max C_K/√κ with ‖∇(w − Iw)‖_K ≤ C_K‖D²w‖_K. The derivative of w − Iw along
an edge has mean zero on it; directions of two or three edges make up the gradient.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, PI, UNIT, Mesh, Shape, up
from pinnpoint_verify.reader import Array, need


def convex_constant(mesh: Mesh) -> float:
    """M_h, once the hypotheses are proved."""
    outer = mesh.kind > 0
    need(
        mesh.d == 2 and _whole(mesh, outer) and np.all(mesh.kappa == mesh.kappa[0]),
        "mesh constant: no eigenvalue, and not one κ with Dirichlet values all around, or on sides of a rectangle",
    )
    need(_hull(mesh.points, mesh.facets[outer]), "mesh constant: no eigenvalue, and no convex polygon")
    return float(up(float(np.max(_interpolation(mesh))) / math.sqrt(float(mesh.kappa[0])) * (1.0 + 1e-14)))


def _whole(mesh: Mesh, outer: Array) -> bool:
    """Whether all of the boundary is Dirichlet, or each of the sides of a rectangle all or nothing of it."""
    X, held = mesh.points[mesh.facets[outer]], mesh.kind[outer] == DIRICHLET
    if np.all(held):
        return True
    low, high = X.min(axis=(0, 1)), X.max(axis=(0, 1))
    on = np.concatenate([(low == X).all(axis=1), (high == X).all(axis=1)], axis=1)  # left, bottom, right, top
    sides = [held[on[:, i]] for i in range(4)]
    return bool(np.any(held) and np.all(on.any(axis=1)) and all(np.all(side) or not np.any(side) for side in sides))


def _interpolation(mesh: Mesh) -> Array:
    """C_K of each triangle."""
    X, low = mesh.points[mesh.cells], Shape(mesh.points[mesh.cells]).vol.low
    e = np.stack([X[:, 2] - X[:, 1], X[:, 0] - X[:, 2], X[:, 1] - X[:, 0]], axis=1)
    length = np.linalg.norm(e, axis=2)
    t, found = e / length[..., None], np.full(len(X), np.inf)
    # the mean of |x − a|² from the midpoints of the edges, a rule that is exact for quadratics
    middle = 0.5 * (X + np.roll(X, 1, axis=1))
    spread = ((middle[:, None] - X[:, :, None]) ** 2).sum(axis=(2, 3)) / 12.0
    c2 = (length.max(axis=1, keepdims=True) / PI) ** 2 + spread
    for w in ((1.0, 1.0, 0.0), (1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (1.0, 1.0, 1.0)):
        frame, weighed = (np.einsum("ni,nic,nid->ncd", q, t, t) for q in (w * np.ones_like(c2), w * c2))
        sines = sum(w[i] * w[j] * (2.0 * low / (length[:, i] * length[:, j])) ** 2 for i, j in ((0, 1), (0, 2), (1, 2)))
        found = np.minimum(found, _top(weighed) * _top(frame) / sines)
    return np.asarray(up(np.sqrt(found) * (1.0 + 1e-13)))


def _top(S: Array) -> Array:
    """The larger eigenvalue of symmetric 2 × 2 matrices."""
    half = 0.5 * (S[:, 0, 0] - S[:, 1, 1])
    return np.asarray(0.5 * (S[:, 0, 0] + S[:, 1, 1]) + np.hypot(half, S[:, 0, 1]))


def _hull(points: Array, edges: Array) -> bool:
    """Whether every vertex of the boundary lies on one side of every edge: a connected domain then fills the hull."""
    V = points[np.unique(edges)]
    for a, b in points[edges]:
        one, two = (b[0] - a[0]) * (V[:, 1] - a[1]), (b[1] - a[1]) * (V[:, 0] - a[0])
        side = one - two
        close = (np.abs(side) <= 8.0 * UNIT * (np.abs(one) + np.abs(two)) + 1e-300) & ((one != 0.0) | (two != 0.0))
        sign = np.sign(side)
        for k in np.nonzero(close)[0]:
            ax, ay, bx, by, x, y = (Fraction(float(v)) for v in (*a, *b, *V[k]))
            exact = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            sign[k] = (exact > 0) - (exact < 0)
        if np.any(sign > 0) and np.any(sign < 0):
            return False
    return True
