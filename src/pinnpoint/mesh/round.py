"""Meshes of round domains: straight cells with their outer vertices on circles."""

from __future__ import annotations

import math
from itertools import permutations, product

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


def ball_mesh(n: int) -> Mesh:
    """The unit ball by eight octants, each cut into n³ tetrahedra; its boundary is the group "rim"."""
    lattice = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    steps = np.eye(3, dtype=np.intp)
    paths = [np.cumsum([np.zeros(3, dtype=np.intp), *steps[list(order)]], axis=0) for order in permutations(range(3))]
    kuhn = (lattice[:, None, None, :] + np.stack(paths)[None]).reshape(-1, 4, 3)
    kuhn = kuhn[(np.diff(kuhn.sum(axis=1), axis=1) <= 0).all(axis=1)]  # of 0 ≤ z ≤ y ≤ x ≤ n
    octant = np.stack([kuhn[..., 0] - kuhn[..., 1], kuhn[..., 1] - kuhn[..., 2], kuhn[..., 2]], axis=-1)
    whole = np.concatenate([octant * sign for sign in product((1, -1), repeat=3)])
    places, numbers = np.unique(whole.reshape(-1, 3), axis=0, return_inverse=True)
    cells = np.asarray(numbers.reshape(-1, 4), dtype=np.intp)
    X = places / n
    straight, round_ = np.abs(X).sum(axis=1), np.sqrt((X * X).sum(axis=1))
    X = X * np.where(round_ > 0.0, straight / np.where(round_ > 0.0, round_, 1.0), 1.0)[:, None]
    turned = np.linalg.det(X[cells[:, 1:]] - X[cells[:, :1]]) < 0.0
    cells = np.where(turned[:, None], cells[:, [1, 0, 2, 3]], cells)
    return Mesh(X, cells, {}, {"rim": Mesh(X, cells, {}, {}).boundary})
