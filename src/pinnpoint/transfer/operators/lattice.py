"""Lattices of squares, and the inverses of their reference operators by sine and cosine transforms in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology

Single = NDArray[np.float32]
PRODUCTS = 160
"""Up to so many squares along an axis, products with the matrices of sines and cosines beat fast transforms."""
WORTH = 1e-9
"""Meshes whose lines are further from even than this, against their spacing, count as any triangulation."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """A mesh that is a lattice of squares, each cut from its low corner to its high one.

    Attributes
    ----------
    shape
        Squares along x and y.
    h
        Their nominal side.
    uneven
        Upper bound of the relative distance of true differences of coordinates from h.
    """

    shape: tuple[int, int]
    h: float
    uneven: float

    __repr__ = brief

    @classmethod
    def of(cls, topology: Topology) -> Lattice | None:
        """The lattice of a mesh, or None where it is none."""
        X, cells = topology.points, topology.cells
        x, y = np.unique(X[:, 0]), np.unique(X[:, 1])
        nx, ny = len(x) - 1, len(y) - 1
        if min(nx, ny) < 2 or len(X) != (nx + 1) * (ny + 1) or len(cells) != 2 * nx * ny:
            return None
        if not (np.array_equal(X[:, 0], np.repeat(x, ny + 1)) and np.array_equal(X[:, 1], np.tile(y, nx + 1))):
            return None
        if not np.array_equal(cells, expected_cells(nx, ny)):
            return None
        h = float((x[-1] - x[0]) / nx)
        away = max(float(np.abs(np.diff(x) - h).max()), float(np.abs(np.diff(y) - h).max())) / h
        uneven = away * (1.0 + 1e-9) + 2.0**-50  # operators.md, step 5e
        return cls((nx, ny), h, uneven) if uneven < WORTH else None

    def by_triangles(self, flux: Vector) -> Vector:
        """Values at the cells' centroids, (2 triangles, 2, nx, ny)."""
        return np.moveaxis(flux.reshape(*self.shape, 2, 2), (2, 3), (0, 1))


def expected_cells(nx: int, ny: int) -> Index:
    """Sorted vertices of the triangles of all squares, lower and upper in turn."""
    low = (np.arange(nx)[:, None] * (ny + 1) + np.arange(ny)[None, :]).ravel()
    lower = np.stack([low, low + ny + 1, low + ny + 2], axis=1)
    upper = np.stack([low, low + 1, low + ny + 2], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)


class Diagonal:
    """M D M on both axes, D a diagonal, by matrices M whose rows and columns are even or odd about the middle.

    Folded there, each product is two of half the size.
    """

    inverse: Single
    matrices: tuple[Any, ...] = ()

    def halved(self, matrices: Sequence[Vector], even: Sequence[Any]) -> None:
        """Keep the halves: forward on each axis, then backward, and D in the order of waves that they give."""
        order, parts = [], []
        for M, yes in zip(matrices, even, strict=True):
            order.append(np.concatenate([np.flatnonzero(yes), np.flatnonzero(~yes)]))
            few = len(M) // 2
            most = len(M) - few
            forward = M[yes][:, :most], M[~yes][:, :few]
            parts.append((*forward, M[:most][:, yes], M[:few][:, ~yes], most))
        self.inverse = np.ascontiguousarray(self.inverse[np.ix_(*order)])
        self.matrices = tuple(
            tuple(np.ascontiguousarray(p, dtype=np.float32) if isinstance(p, np.ndarray) else p for p in part)
            for part in parts
        )

    def product(self, fields: Single) -> None:
        """Applied to fields in place."""
        from pinnpoint.transfer.operators.grid_compiled import fold, unfold

        x, y = self.matrices
        a, b = np.empty_like(fields), np.empty_like(fields)
        fold(fields, a)
        for way in (0, 2):
            np.matmul(x[way], a[..., : x[4], :], out=b[..., : x[4], :])
            np.matmul(x[way + 1], a[..., x[4] :, :], out=b[..., x[4] :, :])
            np.matmul(b[..., : y[4]], y[way].T, out=a[..., : y[4]])
            np.matmul(b[..., y[4] :], y[way + 1].T, out=a[..., y[4] :])
            if way == 0:
                a *= self.inverse
        unfold(a, fields)


class Sines(Diagonal):
    """The inverse of the 5-point matrix on interior nodes, for fields (I, m, nx + 1, ny + 1) in float32."""

    def __init__(self, nx: int, ny: int) -> None:
        waves = [np.arange(1, n) for n in (nx, ny)]
        lx, ly = (2.0 - 2.0 * np.cos(np.pi * k / n) for k, n in zip(waves, (nx, ny), strict=True))
        self.inverse = (1.0 / ((lx[:, None] + ly[None, :]) * (4.0 * nx * ny))).astype(np.float32)
        if max(nx, ny) <= PRODUCTS:
            matrices = [2.0 * np.sin(np.pi * np.outer(k, k) / n) for k, n in zip(waves, (nx, ny), strict=True)]
            self.halved(matrices, [k % 2 == 1 for k in waves])

    def __call__(self, r: Single) -> Single:
        """Applied to fields."""
        z = np.zeros_like(r)
        inner = np.ascontiguousarray(r[..., 1:-1, 1:-1])
        if self.matrices:
            self.product(inner)
            z[..., 1:-1, 1:-1] = inner
            return z
        across = scipy.fft.dstn(inner, type=1, axes=(-2, -1), overwrite_x=True)
        across *= self.inverse
        z[..., 1:-1, 1:-1] = scipy.fft.dstn(across, type=1, axes=(-2, -1), overwrite_x=True)
        return z


class Cosines(Diagonal):
    """The pseudo-inverse of the natural 5-point matrix on all nodes."""

    def __init__(self, nx: int, ny: int) -> None:
        waves = [np.arange(n + 1) for n in (nx, ny)]
        lx, ly = (2.0 - 2.0 * np.cos(np.pi * k / n) for k, n in zip(waves, (nx, ny), strict=True))
        total = lx[:, None] + ly[None, :]
        total[0, 0] = 1.0
        inverse = 1.0 / (total * (4.0 * nx * ny))
        inverse[0, 0] = 0.0
        self.inverse = inverse.astype(np.float32)
        ends = [np.where((k == 0) | (k == k[-1]), 2.0, 1.0) for k in waves]
        self.ends = (ends[0][:, None] * ends[1][None, :]).astype(np.float32)
        if max(nx, ny) <= PRODUCTS:
            both = zip(waves, (nx, ny), ends, strict=True)
            matrices = [np.cos(np.pi * np.outer(k, k) / n) * (2.0 / e) for k, n, e in both]
            self.halved(matrices, [k % 2 == 0 for k in waves])

    def __call__(self, r: Single) -> Single:
        """Applied to fields."""
        across = r * self.ends
        if self.matrices:
            self.product(across)
            return np.asarray(across)
        across = scipy.fft.dctn(across, type=1, axes=(-2, -1), overwrite_x=True)
        across *= self.inverse
        return np.asarray(scipy.fft.dctn(across, type=1, axes=(-2, -1), overwrite_x=True))


def power(x: Any) -> Any:
    """The power of two next to positive numbers: products with it are exact."""
    return np.exp2(np.round(np.log2(np.maximum(x, 1e-300))))
