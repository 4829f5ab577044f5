"""Mid-side nodes of second-order meshes that are off the middle of their edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief

STRAIGHT = 1e-12
"""Of an edge's length: what is less off its middle is rounding of the file's numbers, and counts as in the middle."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Curved edges (E, 2) by vertex numbers, smaller first, and points of each from its first vertex on, (E, k, d)."""

    edges: Index
    points: Vector

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Middles:
    """Edges (E, 2) by vertex numbers, smaller first, and where their mid-side nodes are, (E, d)."""

    edges: Index
    points: Vector
    source: str = "the mesh"

    __repr__ = brief

    def distances(self, points: Vector) -> Vector:
        """How far the nodes are off the middles of their edges."""
        middle = 0.5 * (points[self.edges[:, 0]] + points[self.edges[:, 1]])
        return np.asarray(np.sqrt(((self.points - middle) ** 2).sum(axis=1)))

    def off(self, points: Vector) -> Middles | None:
        """Those that are off the middle; None where none is."""
        length = np.sqrt(((points[self.edges[:, 0]] - points[self.edges[:, 1]]) ** 2).sum(axis=1))
        bent = self.distances(points) > STRAIGHT * length
        return Middles(self.edges[bent], self.points[bent], self.source) if bent.any() else None
