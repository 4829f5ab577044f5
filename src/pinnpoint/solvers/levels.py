"""Triangular solves for many right-hand sides at once, level by level of the elimination tree.

A row of Lᵀx = y needs only the rows of its ancestors, so all rows at one depth are one sparse product with the
block X, every entry of L an axpy on contiguous memory. SuperLU solves column by column instead, which is ten to
twenty times slower for a hundred right-hand sides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pinnpoint.rounding.arithmetic import Vector
from pinnpoint.threads import SCRATCH

try:  # sparse products into a given array; public scipy always makes a new one
    from scipy.sparse._sparsetools import csc_matvecs, csr_matvecs
except ImportError:  # pragma: no cover
    csc_matvecs = csr_matvecs = None

Indices = NDArray[Any]


class Focus(NamedTuple):
    """Rows and all their ancestors, with the columns of L that belong to them, numbered among themselves."""

    rows: Indices
    holds: Indices
    starts: Indices
    parts: tuple[Indices, Indices, Vector]


class Levels:
    """(L D Lᵀ)⁻¹ of a sparse, unit lower triangular L, with rows renumbered by their depth, roots first.

    Parameters
    ----------
    L
        The factor, by columns, each with its diagonal entry first.
    d
        The pivots.
    position
        Row of the factor for each unknown.
    """

    def __init__(self, L: Any, d: Vector, position: Indices) -> None:
        n = d.size
        parent, depth = _tree(L)
        order = np.argsort(depth, kind="stable")
        place = np.empty(n, dtype=L.indices.dtype)
        place[order] = np.arange(n, dtype=place.dtype)
        rows = sp.csr_array((L.data, L.indices, L.indptr), shape=(n, n))[order]  # row j holds column j of L
        np.take(place, rows.indices, out=rows.indices, mode="clip")
        rows.data[rows.indptr[:-1]] = 0.0  # the diagonal
        np.negative(rows.data, out=rows.data)
        self._rows = rows
        self._parent = np.append(place, n)[parent[order]]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(depth)[1:])])
        self._reciprocal = 1.0 / d[order]
        self._place = place[position]
        self._focus: Focus | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the factor."""
        return int(self._rows.data.nbytes + self._rows.indices.nbytes)

    def solve(self, B: Vector) -> Vector:
        """The solutions for the columns of B, shape (n, k), or for a vector."""
        block = B if B.ndim == 2 else B[:, None]
        n, k = block.shape
        X = SCRATCH.array("first", (n, k))
        X[self._place] = block
        self._forward(X)
        X *= self._reciprocal[:, None]
        flat, (pointers, indices, data) = X.reshape(-1), self._parts(self._rows)
        for a, b in zip(self._starts[:-1], self._starts[1:], strict=True):
            csr_matvecs(b - a, n, k, pointers[a : b + 1], indices, data, flat, flat[a * k : b * k])
        found: Vector = X[self._place]
        return found if B.ndim == 2 else found[:, 0]

    def focus(self, unknowns: Indices) -> None:
        """Right-hand sides to come are zero elsewhere."""
        self._focus = self._reached(np.unique(self._place[unknowns]))

    def _forward(self, X: Vector) -> None:
        """X ← L⁻¹X; where X has few nonzero rows, only these and their ancestors take part."""
        n, k = X.shape
        touched = np.flatnonzero(X.any(axis=1))
        focus = self._focus
        if focus is None or not focus.holds[touched].all():
            focus = self._reached(touched) if touched.size * 4 <= n else None
        if focus is None:
            flat, starts, (pointers, indices, data) = X.reshape(-1), self._starts, self._parts(self._rows)
        else:
            part = X[focus.rows]
            n, flat, starts, (pointers, indices, data) = len(part), part.reshape(-1), focus.starts, focus.parts
        for a, b in zip(starts[-2::-1], starts[:0:-1], strict=True):
            csc_matvecs(n, b - a, k, pointers[a : b + 1], indices, data, flat[a * k : b * k], flat)
        if focus is not None:
            X[focus.rows] = part

    def _reached(self, rows: Indices) -> Focus:
        reach = _closure(rows, self._parent)
        holds = np.zeros(self._place.size, dtype=bool)
        holds[reach] = True
        some = self._rows[reach]
        place = np.cumsum(holds, dtype=some.indices.dtype) - 1
        starts = np.searchsorted(reach, self._starts)
        keep = np.append(starts[:-1] < starts[1:], True)
        return Focus(reach, holds, starts[keep], (some.indptr, place[some.indices], some.data))

    @staticmethod
    def _parts(M: Any) -> tuple[Indices, Indices, Vector]:
        return M.indptr, M.indices, M.data


def levels_of(lu: Any, order: Any, unknowns: Any = None) -> Levels | None:
    """Levels for SuperLU's factors of a symmetric matrix with rows and columns taken in `order`.

    Right-hand sides that are not zero at these `unknowns` alone are solved for more quickly.

    With the same permutation of rows and columns U is D Lᵀ, so L and the pivots are enough. None where the
    permutations differ or a pivot vanished.
    """
    if csr_matvecs is None or not np.array_equal(lu.perm_r, lu.perm_c):
        return None
    L, d = lu.L, lu.U.diagonal()
    if not np.array_equal(L.indices[L.indptr[:-1]], np.arange(d.size)):
        L.sort_indices()
    if not (np.all(np.isfinite(d)) and np.all(d != 0.0)):
        return None
    position = np.empty_like(lu.perm_r)
    position[order] = lu.perm_r
    found = Levels(L, d, position)
    if unknowns is not None:
        found.focus(unknowns)
    return found


def _tree(L: Any) -> tuple[Indices, Indices]:
    """Parent of each column (n for roots), the first row below its diagonal, and its depth, one for roots."""
    n = L.shape[1]
    L.indices[L.indptr[:-1]] = n  # in place of the diagonal, for a moment
    parent = np.append(np.minimum.reduceat(L.indices, L.indptr[:-1]), n)
    L.indices[L.indptr[:-1]] = np.arange(n)
    depth = np.append(np.ones(n, dtype=np.int64), 0)
    ahead = parent
    while np.any(ahead != n):  # ancestors twice as far each time
        depth = depth + depth[ahead]
        ahead = ahead[ahead]
    return parent[:-1], depth[:-1]


def _closure(rows: Indices, parent: Indices) -> Indices:
    """The rows and all their ancestors, sorted; parents come before their children, roots have parent n."""
    n = parent.size
    seen = np.zeros(n + 1, dtype=bool)
    seen[rows] = True
    ahead = np.append(parent, n)
    while np.any(ahead != n):
        seen[ahead[seen]] = True
        ahead = ahead[ahead]
    return np.flatnonzero(seen[:n])
