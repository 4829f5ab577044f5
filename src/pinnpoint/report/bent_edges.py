"""Curved edges of plane meshes, drawn as curves: their triangles are cut into fans."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.mesh.bent.maps import edge_rows
from pinnpoint.mesh.middles import Drawn

SIDES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Edges of a triangle, and the vertex opposite."""


def fans(triangles: Index, nodes: Index, drawn: Drawn, count: int) -> Index:
    """Triangles (F, 3) of drawn nodes with their curved edges cut at points of the curve.

    Parameters
    ----------
    nodes
        The mesh's node behind each drawn one.
    count
        How many nodes the mesh has; the points of the e-th curved edge are drawn as nodes n + e k … n + e k + k − 1, n
        the number of `nodes`.
    """
    k, first = drawn.points.shape[1], len(nodes)
    behind = np.concatenate([nodes, np.full(drawn.points.shape[0] * k, count)])
    for _ in range(3):  # a triangle may have several of them
        for a, b, c in SIDES:
            p, q = behind[triangles[:, a]], behind[triangles[:, b]]
            e = edge_rows(drawn.edges, np.stack([np.minimum(p, q), np.maximum(p, q)], axis=1), count + 1)
            bent = e >= 0
            if bent.any():
                inner = first + e[bent, None] * k + np.arange(k)
                inner = np.where((p > q)[bent, None], inner[:, ::-1], inner)
                ends = triangles[bent]
                chain = np.concatenate([ends[:, [a]], inner, ends[:, [b]]], axis=1)
                made = [np.stack([chain[:, j], chain[:, j + 1], ends[:, c]], axis=1) for j in range(k + 1)]
                triangles = np.concatenate([triangles[~bent], *made])
    return triangles


def between(drawn: Drawn) -> tuple[Index, Index, Vector, Vector]:
    """Of the points of curved edges: both nodes of the edge, the weight of the second, and the places (n, 3)."""
    k = drawn.points.shape[1]
    weight = np.tile(np.arange(1, k + 1) / (k + 1.0), len(drawn.edges))
    one, two = (np.repeat(drawn.edges[:, i], k) for i in (0, 1))
    return one, two, weight, np.pad(drawn.points.reshape(-1, 2), ((0, 0), (0, 1)))
