"""Triangular solves for many right-hand sides at once, in one pass over the factor.

A sparse product Y ← Y + M X goes row by row, so with X and Y the same block, and M strictly triangular, it is a
substitution: what a row needs is final before the row begins. Every entry of the factor is then an axpy on
contiguous memory. SuperLU solves column by column instead, which is ten to twenty times slower for a hundred
right-hand sides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.workspace import Workspace

try:  # sparse products into a given array; public scipy always makes a new one
    from scipy.sparse._sparsetools import csc_matvec, csc_matvecs, csr_matvec, csr_matvecs
except ImportError:  # pragma: no cover
    csc_matvec = csc_matvecs = csr_matvec = csr_matvecs = None

Indices = NDArray[Any]
Parts = tuple[Indices, Indices, Vector]
"""Pointers, indices and data of a compressed matrix."""


class Focus(NamedTuple):
    """Rows and all their ancestors, with the columns of L that belong to them, numbered among themselves."""

    rows: Indices
    holds: Indices
    columns: Parts


class Substitution:
    """(L D Lᵀ)⁻¹ of a sparse, unit lower triangular L.

    Parameters
    ----------
    L
        The factor, by columns, each with its diagonal entry first; it is taken over and changed.
    room
        A matrix with as many entries, whose memory is taken over for the factor's second copy.
    d
        The pivots.
    position, order
        Row of the factor for each column of the matrix that was factorised, and the unknowns in the order of these.
    """

    def __init__(self, L: Matrix, room: Any, d: Vector, position: Indices, order: Any = slice(None)) -> None:
        n = d.size
        self._parent = _parents(L)
        np.negative(L.data, out=L.data)
        L.data[L.indptr[:-1]] = 0.0  # the diagonal
        self._columns: Parts = L.indptr, L.indices, L.data
        # Lᵀ with rows and columns from the last to the first: its row n − 1 − j is column j of L
        np.subtract(L.nnz, L.indptr[::-1], out=room.indptr)
        np.subtract(n - 1, L.indices[::-1], out=room.indices)
        np.copyto(room.data, L.data[::-1])
        self._rows: Parts = room.indptr, room.indices, room.data
        self._reciprocal = (1.0 / d)[::-1].copy()
        self._position = np.empty_like(position)
        self._position[order] = position
        self._focus: Focus | None = None
        self._work = Workspace()

    @property
    def nbytes(self) -> int:
        """Memory of the factor."""
        return sum(int(a.nbytes) for a in (*self._columns, *self._rows))

    def solve(self, B: Vector) -> Vector:
        """The solutions for the columns of B, shape (n, k), or for a vector."""
        block = B if B.ndim == 2 else B[:, None]
        block = self._work.apart(block)
        X, Y = (self._work.array(name, block.shape) for name in ("right-hand sides", "solutions"))
        X[self._position] = block
        self._solve(X, np.flatnonzero(X.any(axis=1)), Y)
        solution = Y[self._last]
        return solution if B.ndim == 2 else solution[:, 0]

    def solve_sparse(self, B: Matrix, X: Vector, Y: Vector) -> Vector:
        """The solutions for the columns of a sparse B, written into X; Y, an array like it, is overwritten too."""
        B = B.tocoo()
        X.fill(0.0)
        rows = self._position[B.row]
        X[rows, B.col] = B.data
        self._solve(X, rows, Y)
        return np.asarray(np.take(Y, self._last, axis=0, out=X, mode="clip"))

    def focus(self, unknowns: Indices) -> None:
        """Right-hand sides to come are zero elsewhere."""
        self._focus = self._reached(np.unique(self._position[unknowns]))

    @property
    def _last(self) -> Indices:
        """Row of each unknown, counted from the last one."""
        return np.asarray(self._position.size - 1 - self._position)

    def _solve(self, X: Vector, touched: Indices, Y: Vector) -> None:
        """Y ← L⁻ᵀD⁻¹L⁻¹X, from the last row to the first, for X zero but for the rows touched, which is overwritten."""
        self._forward(X, touched)
        np.multiply(X[::-1], self._reciprocal[:, None], out=Y)
        _substitute(csr_matvec, csr_matvecs, self._rows, Y)

    def _forward(self, X: Vector, touched: Indices) -> None:
        """X ← L⁻¹X; where few rows are touched, only these and their ancestors take part."""
        focus = self._focus
        if focus is None or not focus.holds[touched].all():
            focus = self._reached(np.unique(touched)) if touched.size * 4 <= len(X) else None
        if focus is None:
            _substitute(csc_matvec, csc_matvecs, self._columns, X)
            return
        part = X[focus.rows]
        _substitute(csc_matvec, csc_matvecs, focus.columns, part)
        X[focus.rows] = part

    def _reached(self, rows: Indices) -> Focus:
        reach = _closure(rows, self._parent)
        n = self._position.size
        holds = np.zeros(n, dtype=bool)
        holds[reach] = True
        pointers, indices, data = self._columns
        some = sp.csr_array((data, indices, pointers), shape=(n, n))[reach]  # its rows are columns of L
        place = np.cumsum(holds, dtype=some.indices.dtype) - 1
        return Focus(reach, holds, (some.indptr, place[some.indices], some.data))


def _substitute(one: Any, many: Any, M: Parts, X: Vector) -> None:
    """X ← X + M X row by row, or column by column, each from what the ones before have left."""
    (n, k), flat = X.shape, X.reshape(-1)
    if k == 1:
        one(n, n, *M, flat, flat)
    else:
        many(n, n, k, *M, flat, flat)


def factor_of(lu: Any) -> tuple[Any, Any, Vector, Indices] | None:
    """L, room for another one, the pivots and the row of each column, from SuperLU's factors of a symmetric matrix.

    With the same permutation of rows and columns U is D Lᵀ, so L and the pivots are enough, and U is the room. None
    where the permutations differ or a pivot vanished.
    """
    if csr_matvecs is None or not np.array_equal(lu.perm_r, lu.perm_c):
        return None
    L, U = lu.L, lu.U
    d = U.diagonal()
    if U.nnz != L.nnz:  # zeros may have been left out of one of them
        U = L.copy()
    if not np.array_equal(L.indices[L.indptr[:-1]], np.arange(d.size)):
        L.sort_indices()
    return (L, U, d, lu.perm_r.copy()) if np.all(np.isfinite(d)) and np.all(d != 0.0) else None


def _parents(L: Matrix) -> Indices:
    """Parent of each column in the elimination tree, the first row below its diagonal; n for roots."""
    n = L.shape[1]
    L.indices[L.indptr[:-1]] = n  # in place of the diagonal, for a moment
    parent = np.minimum.reduceat(L.indices, L.indptr[:-1])
    L.indices[L.indptr[:-1]] = np.arange(n)
    return np.asarray(parent)


def _closure(rows: Indices, parent: Indices) -> Indices:
    """The rows and all their ancestors, sorted; parents come after their children, roots have parent n."""
    n = parent.size
    seen = np.zeros(n + 1, dtype=bool)
    seen[rows] = True
    ahead = np.append(parent, n)
    while np.any(ahead != n):  # ancestors twice as far each time
        seen[ahead[seen]] = True
        ahead = ahead[ahead]
    return np.flatnonzero(seen[:n])
