"""Meshes of round domains: straight cells with their outer vertices on circles."""

from __future__ import annotations

import math

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.mesh.mesh import Mesh


def disc_mesh(n: int) -> Mesh:
    """The unit disc by n rings of 6k points, k = 1 … n; its boundary is the group "rim"."""
    points = [np.zeros((1, 2))]
    for k in range(1, n + 1):
        angle = 2.0 * np.pi * np.arange(6 * k) / (6 * k)
        points.append(k / n * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    cells = []
    for k in range(1, n + 1):
        outer, inner = 1 + 3 * k * (k - 1), 1 + 3 * (k - 1) * (k - 2) if k > 1 else 0
        s, j = (a.ravel() for a in np.meshgrid(np.arange(6), np.arange(k), indexing="ij"))
        around = max(6 * (k - 1), 1)
        one, two = outer + s * k + j, outer + (s * k + j + 1) % (6 * k)
        low, high = inner + (s * (k - 1) + j) % around, inner + (s * (k - 1) + j + 1) % around
        cells.append(np.stack([one, two, low], axis=1))
        more = j < k - 1
        cells.append(np.stack([two, high, low], axis=1)[more])
    first = 1 + 3 * n * (n - 1)
    rim = first + np.stack([np.arange(6 * n), (np.arange(6 * n) + 1) % (6 * n)], axis=1)
    return Mesh(np.concatenate(points), np.concatenate(cells), {}, {"rim": rim})


def ring_mesh(inner: float, outer: float, layers: int, around: int) -> Mesh:
    """The ring between two circles about the origin, by turned quadrilaterals cut in two; groups "hole" and "outer"."""
    radius = np.linspace(inner, outer, layers + 1)
    angle = 2.0 * np.pi * (np.arange(around)[None, :] + 0.5 * (np.arange(layers + 1)[:, None] % 2)) / around
    X = np.stack([radius[:, None] * np.cos(angle), radius[:, None] * np.sin(angle)], axis=2).reshape(-1, 2)

    def at(i: Index | int, j: Index) -> Index:
        return i * around + j % around

    i, j = (a.ravel() for a in np.meshgrid(np.arange(layers), np.arange(around), indexing="ij"))
    odd = i % 2 == 1
    a, b, c, d = at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)
    even_cells = np.concatenate([np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)])
    odd_cells = np.concatenate([np.stack([a, d, c], axis=1), np.stack([a, b, d], axis=1)])
    both = np.concatenate([odd, odd])
    cells = np.where(both[:, None], odd_cells, even_cells)
    ends = np.arange(around)
    groups = {name: np.stack([at(k, ends), at(k, ends + 1)], axis=1) for name, k in (("hole", 0), ("outer", layers))}
    return Mesh(X, cells, {}, groups)


def annulus_mesh(n: int) -> Mesh:
    """The ring between the circles of radii ½ and 1, n cells per unit length."""
    layers = max(1, math.ceil(n / 2))
    return ring_mesh(0.5, 1.0, layers, max(6, round(1.5 * math.pi * n)))
