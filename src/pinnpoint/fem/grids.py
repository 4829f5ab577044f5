"""Coefficients from pictures: values on a regular grid, one number for each cell of a mesh.

The problem that is certified has that number on the cell, whatever the picture does between.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh

GRIDS = ("cells", "nodes", "bilinear")


def from_grid(mesh: Mesh, values: ArrayLike, grid: str = "cells", box: ArrayLike | None = None) -> Vector:
    """One number for each cell of a mesh from values on a regular grid, by the pixel that holds the cell's centre.

    Parameters
    ----------
    values
        As many axes as the mesh has coordinates: ``values[i, j]`` stands at the i-th place along x and the j-th along
        y. Pictures that count rows from the top are turned by ``picture[::-1].T``.
    grid
        ``"cells"``: a value for each pixel; ``"nodes"``: values at the corners of pixels, of which the mean is taken;
        ``"bilinear"``: the same, interpolated (in each coordinate) to the cell's centre.
    box
        Lower and upper end along each axis, (d, 2); those of the mesh by default.
    """
    d, V = mesh.dim, floats("values", values)
    if V.ndim != d or not np.isfinite(V).all():
        raise InputError(f"values: must be finite numbers with {d} axes; got shape {V.shape}")
    if grid not in GRIDS:
        raise InputError(f"grid: must be one of {', '.join(GRIDS)}; got {grid!r}")
    ends = np.stack([mesh.points.min(axis=0), mesh.points.max(axis=0)], axis=1) if box is None else floats("box", box)
    if ends.shape != (d, 2) or not np.all(ends[:, 1] > ends[:, 0]):
        raise InputError(f"box: must hold a lower and a larger upper end for each of {d} axes; got {ends.tolist()}")
    corners = grid != "cells"
    if corners and min(V.shape) < 2:
        raise InputError(f"values: must have two nodes or more along each axis; got shape {V.shape}")
    count = np.array(V.shape) - (1 if corners else 0)
    centre = mesh.points[mesh.cells].mean(axis=1)
    place = (centre - ends[:, 0]) / (ends[:, 1] - ends[:, 0]) * count
    out = np.any((place < -1e-9) | (place > count + 1e-9), axis=1)
    if out.any():
        bad = centre[int(np.argmax(out))]
        raise InputError(f"box: {int(out.sum())} cells lie outside, the first at {bad.tolist()}; give a larger one")
    pixel = np.clip(np.floor(place), 0, count - 1).astype(np.intp)
    if not corners:
        return np.asarray(V[tuple(pixel.T)])
    share = place - pixel if grid == "bilinear" else np.full_like(place, 0.5)
    found = np.zeros(len(centre))
    for corner in product((0, 1), repeat=d):
        weight = np.prod([share[:, i] if c else 1.0 - share[:, i] for i, c in enumerate(corner)], axis=0)
        found += weight * V[tuple((pixel + corner).T)]
    return found
