"""Spheres, cylinders and other surfaces by description: quadratic faces through points of them.

The vertices of a group are moved onto its surface, and so are the middles of its faces' edges. What is certified is the
domain with these quadratic faces; how far they are from the surface is bounded. See docs/curved.md, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Vector, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.mesh.bent.projection import gradient, onto, projected
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.facets import edge_table
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.middles import Middles
from pinnpoint.taylor.formulas import evaluate
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.suprema import supremum


def quadratic_faces(mesh: Mesh, geometry: Mapping[str, Shape], *, far: bool = False) -> Mesh:
    """The mesh with the vertices and mid-side nodes of the groups on their surfaces."""
    points, _ = projected(mesh, geometry, far=far)
    moved = Mesh(points, mesh.cells, dict(mesh.cell_groups), dict(mesh.facet_groups), remarks=mesh.remarks)
    edges, places = [], []
    for group, shape in geometry.items():
        mine = edge_table(mesh.facets(group), len(points))[0]
        edges.append(np.sort(mine, axis=1))
        places.append(onto(shape.level, points[mine].mean(axis=1)))
    found = Middles(np.concatenate(edges), np.concatenate(places), "quadratic faces").off(points)
    set_fields(moved, middles=found)
    return moved


@dataclass(frozen=True, eq=False)
class _Level:
    """The formula of a surface at Φ, on faces."""

    bends: Bends
    shape: Shape

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values at points of the straight faces."""
        return np.asarray(self.shape.level(self.bends.moved(X)[0]))

    def taylor(self, coordinates: list[TaylorModel]) -> TaylorModel:
        """The model from those of the coordinates."""
        return evaluate(self.shape.level, self.bends.at(coordinates).x)


def surface_words(bends: Bends, geometry: Mapping[str, Shape]) -> tuple[str, ...]:
    """What the domain is, and how far its faces are from the surfaces: sup |φ| is proved, the slope is sampled."""
    said = []
    for group, shape in geometry.items():
        V = bends.mesh.points[bends.mesh.facets(group)]
        bound = float(supremum(_Level(bends, shape), V)[0].max())  # curved.md, step 2d
        slope = np.sqrt((gradient(shape.level, V.reshape(-1, 3))[1] ** 2).sum(axis=1)).min()
        said.append(
            f"the boundary '{group}' has quadratic faces through points of {shape.words}, about {bound / slope:.2g} "
            "from it at most; intervals are for these faces"
        )
    return tuple(said)
