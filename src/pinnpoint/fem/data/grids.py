"""Pictures on meshes: values on a regular grid, one number for each cell or each node of a mesh.

The problem that is certified has that number on the cell, whatever the picture does between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.mesh import Mesh

GRIDS = ("cells", "nodes", "bilinear")
PLACES = ("nodes", "cells")


@dataclass(frozen=True, eq=False)
class GridMap:
    """Which values of a grid each place takes, and with which weights; for one picture or many.

    Attributes
    ----------
    shape
        Of a picture.
    indices, weights
        Numbers of values in the flattened picture, one row for each corner of a pixel, (K, places); None for weights
        that are one.
    """

    shape: tuple[int, ...]
    indices: Index
    weights: Vector | None

    __repr__ = brief

    def __call__(self, values: Any) -> Vector:
        """From pictures (…, *shape) to numbers (…, places)."""
        V = np.asarray(values)
        lead = V.shape[: V.ndim - len(self.shape)]
        if V.shape[len(lead) :] != self.shape:
            raise InputError(f"values: pictures must have the shape {self.shape}; got {V.shape}")
        flat = V.reshape(*lead, -1)
        if self.weights is None:
            return np.asarray(flat[..., self.indices[0]])
        found = np.zeros((*lead, self.indices.shape[1]))
        for index, weight in zip(self.indices, self.weights, strict=True):
            found += weight * flat[..., index]
        return found

    @classmethod
    def of_cells(cls, mesh: Mesh, shape: tuple[int, ...], grid: str, box: ArrayLike | None = None) -> GridMap:
        """To the cells of a mesh; `grid` and `box` are those of `from_grid`."""
        if grid not in GRIDS:
            raise InputError(f"grid: must be one of {', '.join(GRIDS)}; got {grid!r}")
        corners = grid != "cells"
        if corners and min(shape) < 2:
            raise InputError(f"values: must have two nodes or more along each axis; got shape {shape}")
        ends, count = _ends(mesh, shape, box), np.array(shape) - corners
        centre = mesh.points[mesh.cells].mean(axis=1)
        place = _places(centre, ends, "cells") * count
        pixel = np.clip(np.floor(place), 0, count - 1).astype(np.intp)
        if not corners:
            return cls(shape, np.ravel_multi_index(tuple(pixel.T), shape)[None], None)
        return cls._corners(shape, pixel, place - pixel if grid == "bilinear" else np.full_like(place, 0.5))

    @classmethod
    def of_nodes(cls, mesh: Mesh, shape: tuple[int, ...], at: str, box: ArrayLike | None = None) -> GridMap:
        """To the nodes of a mesh, (bi)linearly; `at` and `box` are those of `on_nodes`."""
        if at not in PLACES:
            raise InputError(f"at: must be one of {', '.join(PLACES)}; got {at!r}")
        if min(shape) < 2:
            raise InputError(f"values: must have two or more along each axis; got shape {shape}")
        last = np.array(shape) - 1
        share = _places(mesh.points, _ends(mesh, shape, box), "nodes")
        place = share * last if at == "nodes" else share * np.array(shape) - 0.5
        pixel = np.clip(np.floor(place), 0, last - 1).astype(np.intp)
        return cls._corners(shape, pixel, place - pixel)

    @classmethod
    def _corners(cls, shape: tuple[int, ...], pixel: Index, share: Vector) -> GridMap:
        indices, weights = [], []
        for corner in product((0, 1), repeat=len(shape)):
            indices.append(np.ravel_multi_index(tuple((pixel + corner).T), shape))
            weights.append(np.prod([share[:, i] if c else 1.0 - share[:, i] for i, c in enumerate(corner)], axis=0))
        return cls(shape, np.array(indices), np.array(weights))


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
    V = _pictures(mesh, values, 0)
    return GridMap.of_cells(mesh, V.shape, grid, box)(V)


def on_nodes(mesh: Mesh, values: ArrayLike, at: str = "nodes", box: ArrayLike | None = None) -> Vector:
    """One number for each node of a mesh from values on a regular grid, interpolated linearly in each coordinate.

    Parameters
    ----------
    values
        As in `from_grid`; with one axis more, in front, many pictures, which give as many rows.
    at
        ``"nodes"``: the first and last values lie on the box's faces. ``"cells"``: values lie at the middles of pixels;
        the half pixels outside them are extrapolated linearly.
    """
    V = _pictures(mesh, values, 1)
    return GridMap.of_nodes(mesh, V.shape[-mesh.dim :], at, box)(V)


def require_pixels(mesh: Mesh, shape: tuple[int, ...], grid: str, box: ArrayLike) -> None:
    """Refuse a mesh that does not cover the box of a picture, or has a cell in more than one of its pixels."""
    ends, count = _ends(mesh, shape, box), np.array(shape) - (grid != "cells")
    X = mesh.points[mesh.cells]
    _places(mesh.points, ends, "nodes of the mesh")
    covered = float(np.abs(np.linalg.det(X[:, 1:] - X[:, :1])).sum()) / math.factorial(mesh.dim)
    size = float(np.prod(ends[:, 1] - ends[:, 0]))
    if abs(covered - size) > 1e-9 * size:
        raise InputError(
            f"mesh: must cover the box {ends.tolist()} of the pictures, of size {size:g}; its cells have {covered:g}. "
            "Make a mesh of the data's domain, or say their box"
        )
    place = (X - ends[:, 0]) / (ends[:, 1] - ends[:, 0]) * count
    pixel = np.floor(place.mean(axis=1))[:, None]
    out = np.any((place < pixel - 1e-6) | (place > pixel + 1.0 + 1e-6), axis=(1, 2))
    if out.any():
        at = X[int(np.argmax(out))].mean(axis=0).tolist()
        raise InputError(
            f"mesh: must have each cell inside one of {' × '.join(map(str, count))} pixels; {int(out.sum())} are not, "
            f"the first about {at}. Refine the mesh that `mesh()` gives, or make one whose edges follow the pixels"
        )


def _pictures(mesh: Mesh, values: ArrayLike, more: int) -> Vector:
    d, V = mesh.dim, floats("values", values)
    if not d <= V.ndim <= d + more or not np.isfinite(V).all():
        raise InputError(f"values: must be finite numbers with {d} axes; got shape {V.shape}")
    return V


def _ends(mesh: Mesh, shape: tuple[int, ...], box: ArrayLike | None) -> Vector:
    d = mesh.dim
    if len(shape) != d:
        raise InputError(f"values: must be finite numbers with {d} axes; got shape {shape}")
    ends = np.stack([mesh.points.min(axis=0), mesh.points.max(axis=0)], axis=1) if box is None else floats("box", box)
    if ends.shape != (d, 2) or not np.all(ends[:, 1] > ends[:, 0]):
        raise InputError(f"box: must hold a lower and a larger upper end for each of {d} axes; got {ends.tolist()}")
    return ends


def _places(X: Vector, ends: Vector, what: str) -> Vector:
    """Where points lie in the box, as shares of its sides; refused outside."""
    place = (X - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
    out = np.any((place < -1e-9) | (place > 1.0 + 1e-9), axis=1)
    if out.any():
        bad = X[int(np.argmax(out))]
        raise InputError(f"box: {int(out.sum())} {what} lie outside, the first at {bad.tolist()}; give a larger one")
    return np.asarray(place)
