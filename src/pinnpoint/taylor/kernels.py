"""The inner loops of Taylor models: compiled where numba is installed, else one array operation a pair of monomials."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Mask, Vector


@cache
def _compiled() -> Any:
    try:
        from pinnpoint.taylor import compiled
    except ImportError:
        return None
    return compiled


@cache
def keep_memory() -> None:
    """Let the C library keep what is freed, up to 64 MB: fresh pages cost more than the arithmetic done on them.

    glibc raises its thresholds when a large array is freed, once and for all; elsewhere nothing happens.
    """
    np.empty(31 << 17)


def accumulate(out: Vector, a: Vector, b: Vector, triples: NDArray[np.int64], weights: Vector) -> None:
    """Add w a_i b_j to out_g for each triple (i, j, g) and its weight w; all arrays (batch, monomial, element)."""
    fast = _compiled()
    if fast is not None:
        fast.accumulate(out, a, b, triples, weights)
        return
    for (i, j, g), w in zip(triples.tolist(), weights.tolist(), strict=True):
        out[:, g] += w * (a[:, i] * b[:, j])


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
