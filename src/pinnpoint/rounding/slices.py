"""Residuals A X − B of many vectors at once, enclosed, by plain sparse products with sliced matrices.

Cut A and X into a leading and a trailing slice, A = A₁ + A₂ and X = X₁ + X₂ exactly, with A₁ a multiple of 2⁻ᵖν_i
in row i and X₁ a multiple of 2⁻ᵠμ_j in column j, where ν_i ≥ max|a_i·| and μ_j ≥ max|x_·j| are powers of two. A row
of k entries with k 2ᵖ⁺ᵠ ≤ 2⁵³ then has every partial sum of A₁X₁ exact, in any order (Ozaki, Ogita, Oishi and Rump,
2012), and what is left, AX₂ + A₂X₁, is so small that its own rounding hardly counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.threads import on_all_cores, share
from pinnpoint.base.workspace import Workspace
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, norm_up, up
from pinnpoint.rounding.balls import Ball

try:  # sparse products into a given array; public scipy always makes a new one
    from scipy.sparse._sparsetools import csr_matvec, csr_matvecs
except ImportError:  # pragma: no cover
    csr_matvec = csr_matvecs = None

LONGEST = 2**20
"""Entries of a row beyond which the slices would be too short."""
CHUNK = 4096
"""Rows whose residuals are made at a time, to stay in cache."""
TOGETHER = 64
"""Rows that are compared as one."""
FLOOR = 2.0**-400
"""Scales are at least this, so that multiples of slices stay far above the smallest normal number."""


class Sliced:
    """A sparse matrix in two slices; its entries and those of X are below 2⁴⁸⁰ in magnitude."""

    def __init__(self, A: Matrix) -> None:
        self.A = sp.csr_array(A)
        length = np.diff(self.A.indptr)
        bits = 53 - max(1, int(np.ceil(np.log2(max(int(length.max(initial=1)), 2)))))
        self.p, self.q = bits // 2, bits - bits // 2  # proofs.md, step 5e
        size = np.zeros(self.A.shape[0])
        filled = length > 0
        size[filled] = np.maximum.reduceat(np.abs(self.A.data), self.A.indptr[:-1][filled]) if self.A.nnz else 0.0
        nu = scale(size)
        lead, tail = cut(self.A.data, np.repeat(nu, length), self.p)
        self.lead = sp.csr_array((lead, self.A.indices, self.A.indptr), shape=self.A.shape)
        self.tail = sp.csr_array((tail, self.A.indices, self.A.indptr), shape=self.A.shape) if np.any(tail) else None
        # twice γ_{k+4} k ν (2⁻ᵖ⁻¹ + 2⁻ᵠ⁻¹): the second half is far above all underflow
        self.row = np.asarray(up(2.0 * gamma(int(length.max(initial=1)) + 4) * length * nu, 8))  # proofs.md, step 5f
        self.row *= 2.0 ** -(self.p + 1) + 2.0 ** -(self.q + 1)
        self._work = Workspace()

    def residuals(self, X: Vector, B: Vector) -> Iterator[Ball]:
        """A x − b for every column, as balls that hold until the next call in the same thread; X by rows.

        With P = A₁X₁ exact, T = fl(AX₂ + A₂X₁) is off by at most γ_{k+2} k ν μ (2⁻ᵖ⁻¹ + 2⁻ᵠ⁻¹), and
        D = fl(fl(P − B) + T) by u|fl(P − B)| + u|D| more, where |fl(P − B)| ≤ (|D| + |T|)(1 + 2u).
        """
        X, B = self._work.apart(X), self._work.apart(B)
        mu = scale(largest(X))
        rows = self._work.array("residuals", (X.shape[1], self.A.shape[0]))
        cuts = self._work.array("lead", X.shape), self._work.array("tail", X.shape)
        cut(X, mu, self.q, cuts)
        for at, P, T in self._products(*cuts):
            P -= B[at]
            P += T
            rows[:, at] = P.T
        for d, size in zip(rows, mu, strict=True):
            yield Ball(d, None, np.asarray(up(4.0 * UNIT * np.abs(d) + self.row * size, 8)))  # proofs.md, step 5f

    def lengths(
        self, X: Vector, size: Vector, B: Matrix, weights: Vector | None, spare: Vector | None = None
    ) -> Vector:
        """Upper bounds of ‖w (A x − b)‖₂ for every column, B sparse, weights w > 0, `size` at least max|x|.

        X is overwritten, and so is `spare`, an array like it.

        By `residuals` each entry is at most (1 + 4u)|d_i| + row_i μ, so the length is at most
        (1 + 4u) ‖w d‖ + μ ‖w row‖.
        """
        m, k = self.A.shape[0], X.shape[1]
        mu, B = scale(size), sp.csr_array(B).tocoo()
        X, rest = np.ascontiguousarray(X), np.empty(X.shape) if spare is None else spare
        if np.may_share_memory(X, rest):
            rest = np.empty(X.shape)
        for a in range(0, len(X), CHUNK):
            at = slice(a, a + CHUNK)
            cut(X[at], mu, self.q, (None, rest[at]))
            X[at] -= rest[at]
        ends = np.searchsorted(B.row, np.arange(0, m + CHUNK, CHUNK))
        squares = np.zeros(k)
        for at, P, T in self._products(X, rest):
            some = slice(*ends[at.start // CHUNK : at.start // CHUNK + 2])
            P[B.row[some] - at.start, B.col[some]] -= B.data[some]
            P += T
            squares += column_squares(P, None if weights is None else weights[at])
        most = self.row if weights is None else self.row * weights
        return np.asarray(up(root_up(squares, m) + norm_up(np.asarray(up(most))) * mu, 8))  # proofs.md, step 5f

    def _products(self, X1: Vector, X2: Vector) -> Iterator[tuple[slice, Vector, Vector]]:
        """Some rows at a time, A₁X₁ and fl(AX₂ + A₂X₁) there; both arrays may be written to until the next ones."""
        k, m = X1.shape[1], self.A.shape[0]
        both = self._work.array("products", (2, min(m, CHUNK), k))
        for a in range(0, m, CHUNK):
            P, T = both[:, : m - a]
            P.fill(0.0)
            T.fill(0.0)
            rows_of_product(self.lead, X1, a, CHUNK, P)
            rows_of_product(self.A, X2, a, CHUNK, T)
            if self.tail is not None:
                rows_of_product(self.tail, X1, a, CHUNK, T)
            yield slice(a, a + CHUNK), P, T


def rows_of_product(A: Matrix, X: Vector, a: int, count: int, out: Vector | None = None) -> Vector:
    """So many rows of A X, from row a on, for A by rows; added to `out` where it is given."""
    pointers = A.indptr[a : a + count + 1]
    m, k = pointers.size - 1, X.shape[1]
    Y = np.zeros((m, k)) if out is None else out
    if csr_matvecs is None:  # pragma: no cover
        Y += A[a : a + m] @ X
    else:
        csr_matvecs(m, A.shape[1], k, pointers, A.indices, A.data, X.reshape(-1), Y.reshape(-1))
    return Y


def largest(X: Vector) -> Vector:
    """The largest magnitude in every column; NaN where there is one."""
    whole = len(X) - len(X) % TOGETHER
    if whole and X.flags.c_contiguous:  # long rows are compared much faster
        long = X[:whole].reshape(whole // TOGETHER, -1)
        most = np.maximum(long.max(axis=0), -long.min(axis=0)).reshape(TOGETHER, -1)
        X = np.concatenate([most, X[whole:]])
    return np.asarray(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)))


def column_lengths(X: Vector, weights: Vector | None) -> Vector:
    """Upper bounds of ‖w x‖₂ for every column, weights w > 0."""
    squares = np.zeros(X.shape[1])
    for a in range(0, len(X), CHUNK):
        at = slice(a, a + CHUNK)
        squares += column_squares(X[at], None if weights is None else weights[at])
    return root_up(squares, len(X))


def column_squares(X: Vector, weights: Vector | None) -> Vector:
    """Σ(w x)² of every column, rounded."""
    Y = X if weights is None else X * weights[:, None]
    return np.asarray(np.einsum("ij,ij->j", Y, Y))


def root_up(squares: Vector, n: int) -> Vector:
    """Upper bounds of the lengths, and of (1 + 4u) times them, from sums of n squares of products; NaN to infinity."""
    total = up(squares * (1.0 + 2.0 * gamma(n + 3)) + n * TINY, 8)
    return np.asarray(np.where(np.isnan(total), np.inf, up(np.sqrt(total), 8)))


def plain_product(A: Matrix, x: Vector) -> Vector:
    """A x in plain floating point, on all cores where A is stored by rows; row by row the same bits as A @ x."""
    step = share(A.shape[0], A.nnz if sp.issparse(A) else 0)
    if csr_matvec is None or not sp.issparse(A) or A.format != "csr" or step >= A.shape[0] or x.dtype != A.dtype:
        return np.asarray(A @ x, dtype=np.float64)
    y = np.zeros(A.shape[0])

    def rows(a: int) -> None:
        part = y[a : a + step]
        csr_matvec(len(part), A.shape[1], A.indptr[a : a + step + 1], A.indices, A.data, x, part)

    on_all_cores(rows, range(0, len(y), step))
    return y


def scale(size: Vector) -> Vector:
    """Powers of two above the given sizes."""
    return np.asarray(np.maximum(np.ldexp(1.0, np.frexp(size)[1]), FLOOR))


def cut(x: Vector, size: Vector, bits: int, out: Any = (None, None)) -> tuple[Vector, Vector]:
    """Cut x = lead + tail exactly, lead the multiple of 2^−bits · size nearest to x, |x| ≤ size, bits ≤ 51."""
    sigma = 1.5 * 2.0 ** (52 - bits) * size
    lead = np.add(x, sigma, out=out[0])  # proofs.md, step 5e
    lead -= sigma
    return lead, np.subtract(x, lead, out=out[1])
