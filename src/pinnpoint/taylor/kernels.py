"""The inner loops of Taylor models: by NumPy, and compiled where numba is installed and they are long."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.taylor.meter import Meter

_meter = Meter(Path(__file__).with_name("compiled.py"), load=0.3, make=2.4)
CALL, PRODUCT = 5e-5, 4e-9
"""Seconds of NumPy for a call, and for each product of coefficients in it."""
AT_ONCE, WIDE = 1 << 15, 256
"""Products that are formed before they are added up; elements that longer sums go through at a time."""


def _compiled(seconds: float = 0.0) -> Any:
    """The compiled loops, once NumPy has done enough; None before, and without numba."""
    if not _meter.worth(seconds):
        return None
    try:
        from pinnpoint.taylor import compiled
    except ImportError:
        return None
    return compiled


def spent() -> float:
    """Seconds that NumPy has worked on products so far, as they are counted."""
    return _meter.spent


def expect(seconds: float) -> None:
    """Say what NumPy would need for what comes, so that compiled loops are not loaded when it is nearly done."""
    _meter.worth(0.0, seconds)


@cache
def keep_memory() -> None:
    """Let the C library keep what is freed, up to 64 MB: fresh pages cost more than the arithmetic done on them.

    glibc raises its thresholds when a large array is freed, once and for all; elsewhere nothing happens.
    """
    np.empty(31 << 17)


def accumulate(out: Vector, a: Vector, b: Vector, triples: NDArray[np.int64], weights: Vector) -> None:
    """Add w a_i b_j to out_g for each triple (i, j, g), sorted by g, and its weight w; (batch, monomial, element).

    No a_i or b_j of a triple may be an out_g. Products with a coefficient that is zero on all elements are left out.
    """
    count = len(triples) * out.shape[0] * out.shape[2]
    if count > AT_ONCE:
        there = _nonzero(a)[triples[:, 0]] & _nonzero(b)[triples[:, 1]]
        triples, weights = triples[there], weights[there]
        count = len(triples) * out.shape[0] * out.shape[2]
    fast = _compiled(CALL + PRODUCT * count)
    if fast is not None:
        fast.accumulate(out, a, b, triples, weights)
    elif count <= 4 * AT_ONCE:
        _by_products(out, a, b, triples, weights)
    else:
        _by_factors(out, a, b, triples, weights)


def _nonzero(a: Vector) -> Mask:
    """Which coefficients are not zero on all elements, (monomial,)."""
    return np.asarray(a.any(axis=2).any(axis=0))


def _by_products(out: Vector, a: Vector, b: Vector, triples: NDArray[np.int64], weights: Vector) -> None:
    """All products of some elements, then their sums."""
    left, right, target = triples.T
    if not len(target):
        return
    first = np.concatenate([[0], np.flatnonzero(target[1:] != target[:-1]) + 1])
    step = max(1, AT_ONCE // (len(triples) * len(out)))
    for n in range(0, out.shape[2], step):
        at = slice(n, n + step)
        products = a[:, left, at] * b[:, right, at]
        products *= weights[:, None]
        out[:, target[first], at] += np.add.reduceat(products, first, axis=1)


def _by_factors(out: Vector, a: Vector, b: Vector, triples: NDArray[np.int64], weights: Vector) -> None:
    """One left factor at a time: no two of its products belong to one sum."""
    order = np.argsort(triples[:, 0], kind="stable")
    left, right, target = triples[order].T
    ends = [*np.flatnonzero(np.diff(left, prepend=-1)).tolist(), len(left)]
    scale = weights[order][:, None]
    for n in range(0, out.shape[2], WIDE):
        at = slice(n, n + WIDE)
        for low, high in pairwise(ends):
            products = a[:, left[low] : left[low] + 1, at] * b[:, right[low:high], at]
            out[:, target[low:high], at] += scale[low:high] * products


def graded(C: Vector, degree: Index, q: int) -> Vector:
    """A_k = Σ_{|α| = k} |C_α|, (batch, q + 1, element)."""
    fast = _compiled()
    if fast is not None:
        return np.asarray(fast.graded(C, degree, q))
    starts = np.searchsorted(degree, np.arange(q + 1))
    return np.asarray(np.add.reduceat(np.abs(C), starts, axis=1))


def added(a: Vector, b: Vector) -> tuple[Any, Any]:
    """The sum C of two arrays (…, monomial, element) and Σ_α |C_α|."""
    fast = _compiled()
    if fast is not None and a.shape == b.shape:
        C, size = fast.added(*(np.ascontiguousarray(v).reshape(-1, *v.shape[-2:]) for v in (a, b)))
        return C.reshape(a.shape), size.reshape(*a.shape[:-2], a.shape[-1])
    C = a + b
    return C, np.abs(C).sum(axis=-2)


def ranged(C: Vector, even: Mask, first: int) -> tuple[Any, Any]:
    """Bounds of Σ_{α ≥ first} C_α ξ^α with ξ^α in [0, 1] for even α and in [−1, 1] for others, (batch, element)."""
    fast = _compiled()
    if fast is not None:
        return fast.ranged(C, even, first)  # type: ignore[no-any-return]
    D, positive = C[:, first:], even[first:, None]
    low = np.where(positive, np.minimum(D, 0.0), -np.abs(D)).sum(axis=1)
    return low, np.where(positive, np.maximum(D, 0.0), np.abs(D)).sum(axis=1)


def weighted(A: Vector, B: Vector, weights: Vector) -> Vector:
    """Σ_{j,k} w_{j+k} A_j B_k, (batch, element)."""
    fast = _compiled()
    if fast is not None:
        return np.asarray(fast.weighted(A, B, weights))
    size = A.shape[1]
    table = weights[np.add.outer(np.arange(size), np.arange(size))]
    return np.asarray(np.einsum("zjn,jk,zkn->zn", A, table, B, optimize=["einsum_path", (0, 1), (0, 1)]))
