"""The same double-double products compiled with numba, one pass over the data.

numba does not contract a product and a sum unless told to, and TwoProd here is one explicit fused
multiply-add, so the transformations are exact. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int32, int64, njit, types
from numba.extending import intrinsic
from numpy.typing import ArrayLike

from pinnpoint.base.threads import on_all_cores, share
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, two_sum

_EMPTY = np.empty(0)


def _fused(typing_context: Any, a: Any, b: ArrayLike, c: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), codegen


_fma: Any = intrinsic(_fused)


@njit(inline="always")
def _gamma(k: float) -> float:
    return k * UNIT / (1.0 - k * UNIT) * (1.0 + 8.0 * UNIT)


@njit(nogil=True, cache=True, error_model="numpy")
def _product(indptr, indices, data, x, x_lo, b, b_lo, hi, lo, err):  # type: ignore[no-untyped-def]
    has_x_lo, has_b, has_b_lo = x_lo.size > 0, b.size > 0, b_lo.size > 0
    for i in range(indptr.size - 1):
        s = -b[i] if has_b else 0.0
        c = -b_lo[i] if has_b_lo else 0.0
        C = abs(c)
        for q in range(indptr[i], indptr[i + 1]):
            a, v = data[q], x[indices[q]]
            p = a * v
            e = _fma(a, v, -p)  # proofs.md, step 5c
            S = s + p
            z = S - s
            t = (s - (S - z)) + (p - z)
            s = S
            c += e + t
            C += abs(e) + abs(t)
            if has_x_lo:
                f = a * x_lo[indices[q]]
                c += f
                C += abs(f)
        m = 4.0 * (indptr[i + 1] - indptr[i]) + 4.0
        h = s + c
        z = h - s
        hi[i], lo[i] = h, (s - (h - z)) + (c - z)
        err[i] = (2.0 * _gamma(m) * C + 16.0 * m * TINY) * (1.0 + 32.0 * UNIT)  # proofs.md, step 5d


def product(indptr: Any, indices: Any, data: Any, x: Any, x_lo: Any, b: Any, b_lo: Any) -> Any:
    """Double-double enclosure (hi, lo, err) of A (x + x_lo) − (b + b_lo); see `lanes.product`."""
    n = indptr.size - 1
    hi, lo, err = np.empty(n), np.empty(n), np.empty(n)
    x_lo, b, b_lo = (_EMPTY if v is None else v for v in (x_lo, b, b_lo))
    step = share(n, data.size)

    def rows(a: int) -> None:
        at = slice(a, a + step)
        _product(indptr[a : a + step + 1], indices, data, x, x_lo, b[at], b_lo[at], hi[at], lo[at], err[at])

    on_all_cores(rows, range(0, n, step))
    return hi, lo, err


_WIDTH = 128
_CHUNK = 16384


@njit(inline="always")
def _add_products(g, v, s, c, C):  # type: ignore[no-untyped-def]
    """Lane by lane: s + small terms ← s + g v, the small terms to c and their magnitudes to C; vectorises."""
    for w in range(g.size):
        a = float64(g[w])  # exact from single precision
        p = a * v[w]
        e = _fma(a, v[w], -p)
        T = s[w] + p
        z = T - s[w]
        t = (s[w] - (T - z)) + (p - z)
        s[w] = T
        c[w] += e + t
        C[w] += abs(e) + abs(t)


@njit(inline="always")
def _add_small(g, v, c, C):  # type: ignore[no-untyped-def]
    """Products that are small themselves go straight to c."""
    for w in range(g.size):
        y = g[w] * v[w]
        c[w] += y
        C[w] += abs(y)


@njit(inline="always")
def _add_size(g, v, C, scale):  # type: ignore[no-untyped-def]
    """Products of which only the size counts."""
    for w in range(g.size):
        C[w] += scale * abs(g[w] * v[w])


@njit(nogil=True, cache=True, error_model="numpy")
def _dots(G, G_lo, x, x_lo, x_err, S, C0, C1, E, first, last):  # type: ignore[no-untyped-def]
    K, n = G.shape
    has_g, has_x, has_e = G_lo.size > 0, x_lo.size > 0, x_err.size > 0
    chunks = S.shape[1]
    for part in range(first, min(last, K * chunks)):
        i, chunk = part // chunks, part % chunks
        s, c, C, D = np.zeros(_WIDTH), np.zeros(_WIDTH), np.zeros(_WIDTH), np.zeros(_WIDTH)
        for a in range(chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK), _WIDTH):
            b = min(n, a + _WIDTH)
            g, v = G[i, a:b], x[a:b]
            _add_products(g, v, s, c, C)
            if has_x:
                _add_small(g, x_lo[a:b], c, C)
            if has_e:
                _add_size(g, x_err[a:b], D, 1.0)
            if has_g:
                h = G_lo[i, a:b]
                _add_small(h, v, c, C)
                if has_x:  # second order: enclosed by its size alone, scaled for the final γ_m
                    _add_size(h, x_lo[a:b], C, 1.0 / UNIT)
                if has_e:
                    _add_size(h, x_err[a:b], D, 1.0)
        for w in range(1, _WIDTH):
            T = s[0] + s[w]
            z = T - s[0]
            t = (s[0] - (T - z)) + (s[w] - z)
            s[0] = T
            c[0] += c[w] + t
            C[0] += C[w] + abs(t)
            D[0] += D[w]
        S[i, chunk], C0[i, chunk], C1[i, chunk], E[i, chunk] = s[0], c[0], C[0], D[0]


def dots(G: Any, G_lo: Any, x: ArrayLike, x_lo: Any, x_err: Any) -> Any:
    """Double-double enclosure (hi, lo, err) of (G + G_lo)(x + x_lo ± x_err); see `lanes.dots`."""
    G = np.asarray(G)  # a view of a mapped file
    K, n = G.shape
    chunks = max(1, -(-n // _CHUNK))
    S, C0, C1, E = (np.zeros((K, chunks)) for _ in range(4))
    x_lo, x_err = (_EMPTY if v is None else v for v in (x_lo, x_err))
    low = _EMPTY[None, :] if G_lo is None else G_lo
    step = share(K * chunks, G.size)
    on_all_cores(lambda a: _dots(G, low, x, x_lo, x_err, S, C0, C1, E, a, a + step), range(0, K * chunks, step))
    m = 4 * (_CHUNK // _WIDTH) + 2 * _WIDTH + chunks + 8  # additions that any small term passes through, and more
    known = np.isfinite(S).all(axis=1) & np.isfinite(C0).all(axis=1)
    S[~known], C1[~known] = 0.0, np.inf  # overflow: nothing is known
    hi = np.array([math.fsum(row) for row in S])
    tail = np.array([math.fsum([*row, -h]) for row, h in zip(S, hi, strict=True)])
    c = tail + C0.sum(axis=1)
    # proofs.md, step 5d
    size = 2.0 * gamma(m) * (C1.sum(axis=1) + np.abs(tail)) + E.sum(axis=1) * (1.0 + 2.0 * gamma(m))
    err = (size + 32.0 * n * TINY) * (1.0 + 64.0 * UNIT)
    top, rest = two_sum(hi, np.where(known, c, 0.0))
    return np.where(known, top, np.nan), rest, np.where(known, err, np.inf)


def load() -> None:
    """Compile both kernels for the usual types, or take them from numba's cache."""
    index, line, table = int32[::1], float64[::1], float64[:, ::1]
    _product.compile((index, index, *[line] * 8))
    _dots.compile((table, table, line, line, line, *[table] * 4, int64, int64))
