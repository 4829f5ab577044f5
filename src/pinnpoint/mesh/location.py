"""Which cell holds a point, and its barycentric coordinates there."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from pinnpoint.base.arrays import Index, Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.arithmetic import UNIT

NEAR = 1e-10
"""How far around their boxes cells are looked for, against the largest box."""
ROUNDED = 16.0 * UNIT
"""A point this far outside a cell, against its coordinates, counts as on its boundary: it was rounded there."""
TRIES = (4, 16, 64)
CHUNK = 200_000
FEW, FAST = 1_000, 50_000_000
"""Points, and points times cells, up to which all boxes are looked at: a tree's package alone takes longer to load."""


def boundary_distance(mesh: Mesh, x: Vector) -> float:
    """Distance of a point to the nearest boundary facet."""
    P = mesh.points[mesh.boundary] - x
    best = float(np.min(np.sum(P**2, axis=2)))
    for i, j in combinations(range(mesh.dim), 2):
        edge = P[:, j] - P[:, i]
        t = np.clip(-np.sum(P[:, i] * edge, axis=1) / np.sum(edge**2, axis=1), 0.0, 1.0)
        best = min(best, float(np.min(np.sum((P[:, i] + t[:, None] * edge) ** 2, axis=1))))
    if mesh.dim == 3:  # feet of perpendiculars that fall inside their triangles
        u, v = P[:, 1] - P[:, 0], P[:, 2] - P[:, 0]
        n = np.cross(u, v)
        square = np.sum(n**2, axis=1)
        s = np.sum(np.cross(-P[:, 0], v) * n, axis=1) / square
        t = np.sum(np.cross(u, -P[:, 0]) * n, axis=1) / square
        inside = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0)
        height = np.sum(P[:, 0] * n, axis=1)[inside] ** 2 / square[inside]
        best = min(best, float(np.min(height, initial=np.inf)))
    return float(np.sqrt(best))


class Locator:
    """A spatial index of a mesh's cells: nearest centroids first, bounding boxes for what they miss."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh

    @cached_property
    def _tree(self) -> Any:
        corners = self.mesh.cells.shape[1]
        middle = sum(self.mesh.points[self.mesh.cells[:, i]] / corners for i in range(corners))
        return scipy.spatial.cKDTree(middle, balanced_tree=False, compact_nodes=False)  # fast to build

    @cached_property
    def _boxes(self) -> tuple[Vector, Vector]:
        """Least and largest coordinates of the cells, (d, C) each, and a little around."""
        corners = [self.mesh.points.T[:, vertices] for vertices in self.mesh.cells.T]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        margin = NEAR * (high - low).max() + ROUNDED * np.abs(self.mesh.points).max()
        return low - margin, high + margin

    def locate(self, X: Any, name: str = "points") -> tuple[Index, Vector]:
        """Cell and barycentric coordinates of each point; refuses a point outside the mesh by name."""
        X = floats(name, X)
        d = self.mesh.dim
        X = X[:, None] if X.ndim == 1 and d == 1 else np.atleast_2d(X)
        if X.ndim != 2 or X.shape[1] != d:
            raise InputError(f"{name}: must have {d} coordinates each; got shape {X.shape}")
        if not np.all(np.isfinite(X)):
            raise InputError(f"{name}: point {int(np.argmin(np.isfinite(X).all(axis=1)))} is not finite")
        cell, bary = self.found(X)
        if (cell < 0).any():
            k = int(np.argmax(cell < 0))
            low, high = self.mesh.points.min(axis=0), self.mesh.points.max(axis=0)
            raise InputError(
                f"{name}: point {k} at {X[k].tolist()} is outside the mesh, which spans {low.tolist()} to "
                f"{high.tolist()}, by {boundary_distance(self.mesh, X[k]):.3g}"
            )
        return cell, bary

    def found(self, X: Vector) -> tuple[Index, Vector]:
        """The same of points (N, d), with the cell −1 from the first one on that is outside."""
        cell, bary = np.full(len(X), -1, dtype=np.intp), np.zeros((len(X), X.shape[1] + 1))
        for a in range(0, len(X), CHUNK):
            cell[a : a + CHUNK], bary[a : a + CHUNK] = self._chunk(X[a : a + CHUNK])
        return cell, bary

    def _chunk(self, X: Vector) -> tuple[Index, Vector]:
        cell, bary = np.full(len(X), -1, dtype=np.intp), np.zeros((len(X), X.shape[1] + 1))
        left = np.arange(len(X))
        few = len(X) <= FEW and len(X) * len(self.mesh.cells) <= FAST
        for k in () if few else TRIES:
            near = self._tree.query(X[left], k=min(k, len(self.mesh.cells)))[1].reshape(left.size, -1)
            self._accept(X, left, near, cell, bary)
            left = left[cell[left] < 0]
            if not left.size:
                return cell, bary
        low, high = self._boxes
        for point in left:  # few points, or rare long thin cells; stops at the first one that no cell holds
            about = np.ones(len(self.mesh.cells), dtype=bool)
            for a, b, x in zip(low, high, X[point], strict=True):
                about &= (a <= x) & (x <= b)
            near = np.flatnonzero(about)
            if near.size:
                self._accept(X, np.array([point]), near[None, :], cell, bary)
            if cell[point] < 0:
                break
        return cell, bary

    def _accept(self, X: Vector, points: Index, near: Index, cell: Index, bary: Vector) -> None:
        """Take the candidate with the largest smallest coordinate, if it holds the point."""
        G = self.mesh.gradients[near]
        offset = X[points][:, None, :] - self.mesh.points[self.mesh.cells[near, 0]]
        B = np.einsum("pkid,pkd->pki", G, offset)
        B[:, :, 0] += 1.0
        size = np.abs(X[points])[:, None, :] + np.abs(self.mesh.points[self.mesh.cells[near, 0]])
        slack = ROUNDED * (1.0 + np.einsum("pkid,pkd->pki", np.abs(G), size))
        depth = (B + slack).min(axis=2)
        best = np.argmax(depth, axis=1)
        rows = np.arange(len(points))
        inside = depth[rows, best] >= 0.0
        cell[points[inside]] = near[rows, best][inside]
        found = np.clip(B[rows, best][inside], 0.0, 1.0)
        bary[points[inside]] = found / found.sum(axis=1, keepdims=True)
