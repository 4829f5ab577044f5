"""The inner loops of Taylor models compiled with numba. Importing this module needs the extra ``fast``."""

from __future__ import annotations

import numpy as np
from numba import njit

_BLOCK = 256


@njit(cache=True, error_model="numpy")
def accumulate(out, a, b, triples, weights):  # type: ignore[no-untyped-def]
    """See `kernels.accumulate`."""
    for z in range(out.shape[0]):
        for start in range(0, out.shape[2], _BLOCK):
            stop = min(out.shape[2], start + _BLOCK)
            for p in range(triples.shape[0]):
                left, right = a[z, triples[p, 0], start:stop], b[z, triples[p, 1], start:stop]
                row, w = out[z, triples[p, 2], start:stop], weights[p]
                for n in range(row.size):
                    row[n] += w * (left[n] * right[n])


@njit(cache=True, error_model="numpy")
def graded(C, degree, q):  # type: ignore[no-untyped-def]
    """See `kernels.graded`."""
    batch, size, count = C.shape
    A = np.zeros((batch, q + 1, count))
    for z in range(batch):
        for m in range(size):
            row, source = A[z, degree[m]], C[z, m]
            for n in range(count):
                row[n] += abs(source[n])
    return A


@njit(cache=True, error_model="numpy")
def weighted(A, B, weights):  # type: ignore[no-untyped-def]
    """See `kernels.weighted`."""
    batch, size, count = A.shape
    total = np.zeros((batch, count))
    for z in range(batch):
        row = total[z]
        for j in range(size):
            for k in range(size):
                left, right, w = A[z, j], B[z, k], weights[j + k]
                for n in range(count):
                    row[n] += w * (left[n] * right[n])
    return total


@njit(cache=True, error_model="numpy")
def added(a, b):  # type: ignore[no-untyped-def]
    """See `kernels.added`."""
    batch, size, count = a.shape
    C, total = np.empty((batch, size, count)), np.zeros((batch, count))
    for z in range(batch):
        sums = total[z]
        for m in range(size):
            left, right, row = a[z, m], b[z, m], C[z, m]
            for n in range(count):
                row[n] = left[n] + right[n]
                sums[n] += abs(row[n])
    return C, total


@njit(cache=True, error_model="numpy")
def ranged(C, even, first):  # type: ignore[no-untyped-def]
    """See `kernels.ranged`."""
    batch, size, count = C.shape
    low, high = np.zeros((batch, count)), np.zeros((batch, count))
    for z in range(batch):
        below, above = low[z], high[z]
        for m in range(first, size):
            row = C[z, m]
            if even[m]:
                for n in range(count):
                    below[n] += min(row[n], 0.0)
                    above[n] += max(row[n], 0.0)
            else:
                for n in range(count):
                    below[n] -= abs(row[n])
                    above[n] += abs(row[n])
    return low, high
