"""The same double-double products compiled with numba, one pass over the data.

numba does not contract a product and a sum unless told to, and TwoProd here is one explicit fused
multiply-add, so the transformations are exact. Importing this module needs the extra ``fast``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

from pinnpoint.rounding.arithmetic import TINY, UNIT

_EMPTY = np.empty(0)


@intrinsic
def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), codegen


@njit(inline="always")
def _gamma(k: float) -> float:
    return k * UNIT / (1.0 - k * UNIT) * (1.0 + 8.0 * UNIT)


@njit(parallel=True, cache=True, error_model="numpy")
def _product(indptr, indices, data, x, x_lo, b, b_lo, hi, lo, err):  # type: ignore[no-untyped-def]
    has_x_lo, has_b, has_b_lo = x_lo.size > 0, b.size > 0, b_lo.size > 0
    for i in prange(indptr.size - 1):
        s = -b[i] if has_b else 0.0
        c = -b_lo[i] if has_b_lo else 0.0
        C = abs(c)
        for q in range(indptr[i], indptr[i + 1]):
            a, v = data[q], x[indices[q]]
            p = a * v
            e = _fma(a, v, -p)
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
        err[i] = (2.0 * _gamma(m) * C + 16.0 * m * TINY) * (1.0 + 32.0 * UNIT)


def product(indptr: Any, indices: Any, data: Any, x: Any, x_lo: Any, b: Any, b_lo: Any) -> Any:
    """Double-double enclosure (hi, lo, err) of A (x + x_lo) − (b + b_lo); see `lanes.product`."""
    n = indptr.size - 1
    hi, lo, err = np.empty(n), np.empty(n), np.empty(n)
    none = lambda v: _EMPTY if v is None else v  # noqa: E731
    _product(indptr, indices, data, x, none(x_lo), none(b), none(b_lo), hi, lo, err)
    return hi, lo, err


_WIDTH = 8
_CHUNK = 4096


@njit(inline="always")
def _accumulate(g, g_lo, v, v_lo, w, s, c, C):  # type: ignore[no-untyped-def]
    """Add (g + g_lo)(v + v_lo) to lane w: s exactly, its small terms to c, their magnitudes to C."""
    p = g * v
    e = _fma(g, v, -p)
    T = s[w] + p
    z = T - s[w]
    t = (s[w] - (T - z)) + (p - z)
    s[w] = T
    y, q = g * v_lo, g_lo * v
    c[w] += (e + t) + (y + q)
    # The product of the low parts is second order: enclosed by its size alone, scaled for the final γ_m.
    C[w] += (abs(e) + abs(t)) + (abs(y) + abs(q)) + abs(g_lo * v_lo) / UNIT


@njit(parallel=True, cache=True, error_model="numpy")
def _dots(G, G_lo, x, x_lo, S, C0, C1):  # type: ignore[no-untyped-def]
    K, n = G.shape
    has_g, has_x = G_lo.size > 0, x_lo.size > 0
    chunks = S.shape[1]
    for part in prange(K * chunks):
        i, chunk = part // chunks, part % chunks
        start, stop = chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK)
        s, c, C = np.zeros(_WIDTH), np.zeros(_WIDTH), np.zeros(_WIDTH)
        for a in range(start, stop, _WIDTH):
            for w in range(min(_WIDTH, stop - a)):
                g_lo = G_lo[i, a + w] if has_g else 0.0
                v_lo = x_lo[a + w] if has_x else 0.0
                _accumulate(G[i, a + w], g_lo, x[a + w], v_lo, w, s, c, C)
        for w in range(1, _WIDTH):
            T = s[0] + s[w]
            z = T - s[0]
            t = (s[0] - (T - z)) + (s[w] - z)
            s[0] = T
            c[0] += c[w] + t
            C[0] += C[w] + abs(t)
        S[i, chunk], C0[i, chunk], C1[i, chunk] = s[0], c[0], C[0]


def dots(G: Any, G_lo: Any, x: Any, x_lo: Any) -> Any:
    """Double-double enclosure (hi, lo, err) of (G + G_lo)(x + x_lo); see `lanes.dots`."""
    K, n = G.shape
    chunks = max(1, -(-n // _CHUNK))
    S, C0, C1 = np.zeros((K, chunks)), np.zeros((K, chunks)), np.zeros((K, chunks))
    none = lambda v, shape: np.empty(shape) if v is None else v  # noqa: E731
    _dots(G, none(G_lo, (0, 0)), x, none(x_lo, 0), S, C0, C1)
    m = 4 * (_CHUNK // _WIDTH) + 2 * _WIDTH + chunks + 8
    g = m * UNIT / (1 - m * UNIT) * (1 + 8 * UNIT)
    hi = np.array([math.fsum(row) for row in S])
    tail = np.array([math.fsum([*row, -h]) for row, h in zip(S, hi, strict=True)])
    c = tail + C0.sum(axis=1)
    err = (2.0 * g * (C1.sum(axis=1) + np.abs(tail)) + 32.0 * n * TINY) * (1.0 + 32.0 * UNIT)
    top = hi + c
    z = top - hi
    return top, (hi - (top - z)) + (c - z), err
