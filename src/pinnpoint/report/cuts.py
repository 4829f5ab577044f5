"""Cuts through a solid: where a plane meets its tetrahedra."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.mesh import Mesh

AXIS = 1
"""Cuts are across y, and what lies before them, seen from the corner, is taken away."""
MOST = 3
MARGIN = 0.02
"""Cuts keep this share of the extent away from both ends."""


class Cut(NamedTuple):
    """A plane y = level: its nodes lie on edges of the mesh, ``(1 − weight) first + weight second``."""

    level: float
    first: Index
    second: Index
    weight: Vector
    triangles: Index


def levels(mesh: Mesh, at: Vector | None) -> list[float]:
    """Where to cut: through the queries that lie inside, or else through the middle."""
    y = mesh.points[:, AXIS]
    lo, hi = float(y.min()), float(y.max())
    edge = MARGIN * (hi - lo)
    asked = [] if at is None or at.shape[1] != 3 else at[:, AXIS].tolist()
    inside = list(dict.fromkeys(v for v in asked if lo + edge < v < hi - edge))
    return inside[:MOST] or [0.5 * lo + 0.5 * hi]


def cut(mesh: Mesh, level: float) -> Cut:
    """A tetrahedron with one vertex on its own side gives a triangle, one with two gives two."""
    s = mesh.points[:, AXIS] - level
    above = s >= 0.0
    count = above[mesh.cells].sum(axis=1)
    met = (count > 0) & (count < 4)
    cells, count = mesh.cells[met], count[met]
    v = np.take_along_axis(cells, np.argsort(above[cells], axis=1, kind="stable"), axis=1)  # those below come first
    one, three, two = v[count == 1], v[count == 3], v[count == 2]
    corners = [
        _edges(one[:, [3, 3, 3]], one[:, [0, 1, 2]]),
        _edges(three[:, [0, 0, 0]], three[:, [1, 2, 3]]),
        _edges(two[:, [2, 2, 3]], two[:, [0, 1, 1]]),
        _edges(two[:, [2, 3, 3]], two[:, [0, 1, 0]]),
    ]
    pairs = np.concatenate(corners)
    keys, flat = np.unique(pairs[..., 0] * len(s) + pairs[..., 1], return_inverse=True)
    first, second = keys // len(s), keys % len(s)
    weight = s[first] / (s[first] - s[second])  # of opposite signs, so the difference is not zero
    return Cut(level, first, second, np.asarray(weight), flat.reshape(-1, 3))


def _edges(a: Index, b: Index) -> Index:
    return np.stack([np.minimum(a, b), np.maximum(a, b)], axis=2)
