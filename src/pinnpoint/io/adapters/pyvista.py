"""PyVista grids: their simplices become a mesh, their point data predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector, floats, has
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.io.meshes.blocks import Blocks, build_mesh, numbered
from pinnpoint.io.meshes.meshio import TAGS
from pinnpoint.mesh.mesh import Mesh

KINDS = {1: ("vertex", 1), 3: ("line", 2), 5: ("triangle", 3), 10: ("tetra", 4)}
"""VTK's numbers of straight simplices."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The mesh of a grid, and which grid points its nodes are."""

    mesh: Mesh
    point_ids: Index
    source: Any

    __repr__ = brief

    def values(self, name: str) -> Vector:
        """Point data in the order of the mesh's nodes; the third component of plane vectors, if 0, is cut."""
        known = list(self.source.point_data.keys())
        if name not in known:
            raise InputError(f"field '{name}': the grid has no such point data; it has {', '.join(known) or 'none'}")
        rows = floats(f"field '{name}'", np.asarray(self.source.point_data[name]))[self.point_ids]
        flat = self.mesh.dim == 2 and rows.ndim == 2 and rows.shape[1] == 3 and not np.any(rows[:, 2])
        return np.asarray(rows[:, :2] if flat else rows)


def from_pyvista(grid: Any, groups: str | None = None) -> Grid:
    """The mesh of a PyVista grid of straight intervals, triangles or tetrahedra.

    Parameters
    ----------
    grid
        An `UnstructuredGrid`, or anything with `cast_to_unstructured_grid`.
    groups
        Name of the cell data that number groups; the usual names are looked for by default. 0 means none. Field data
        name them: ``grid.field_data["left"] = [3, 1]`` is group 3 of dimension 1.
    """
    if not has(grid, "cells_dict") and has(grid, "cast_to_unstructured_grid"):
        grid = grid.cast_to_unstructured_grid()
    if not has(grid, "cells_dict", "points", "celltypes"):
        raise InputError(f"grid: must be a PyVista grid; got {type(grid).__name__}")
    types = np.asarray(grid.celltypes)
    foreign = sorted({int(t) for t in np.unique(types)} - set(KINDS))
    if foreign or not types.size:
        counts = ", ".join(f"{int((types == t).sum())} cells of VTK type {t}" for t in foreign) or "no cells"
        raise InputError(f"grid: {counts}; only straight simplices are read; grid.triangulate() cuts others")
    data = grid.cell_data
    name = groups if groups is not None else next((t for t in TAGS if t in list(data.keys())), None)
    if name is not None and name not in list(data.keys()):
        raise InputError(f"groups: the grid has no cell data '{name}'; it has {', '.join(data.keys()) or 'none'}")
    tags = np.zeros(types.size, dtype=np.intp) if name is None else _whole(name, data[name])
    kinds = []
    for number in sorted({int(t) for t in np.unique(types)}):
        cells = np.asarray(grid.cells_dict[number], dtype=np.intp).reshape(-1, KINDS[number][1])
        kinds.append((KINDS[number][0], cells, tags[types == number]))
    blocks, unnamed = numbered(kinds, getattr(grid, "field_data", {}))
    points = np.asarray(grid.points, dtype=np.float64)
    highest = max(blocks, key=lambda b: b.cells.shape[1])
    return Grid(build_mesh(Blocks(points, blocks, unnamed=unnamed)), np.unique(highest.cells), grid)


def _whole(name: str, data: NDArray[np.generic]) -> Index:
    a = np.asarray(data).ravel()
    if a.dtype.kind not in "iuf" or not np.all(a == np.rint(a)):
        raise InputError(f"groups: the cell data '{name}' must be whole numbers")
    return np.abs(a.astype(np.intp))
