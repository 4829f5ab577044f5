"""Even powers of a vector field with quadratic components, integrated exactly in Bernstein form.

|δ|²/κ is a quartic. The coefficients of a product are convex combinations of products of coefficients, and a polynomial
lies between its coefficients, so that rounding is γ times the largest of them.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.taylor.bernstein import mean_of_powers
from pinnpoint.transfer.energy.products import exponents, product_table

LOOSE = gamma(400)
"""More than the roundings in any coefficient or mean computed here."""


@cache
def _means(m: int, p: int, q: int) -> Any:
    """Means of products of Bernstein polynomials of degrees p and q."""

    def weight(alpha: tuple[int, ...]) -> int:
        n = factorial(sum(alpha))
        for a in alpha:
            n //= factorial(a)
        return n

    def mean(a: tuple[int, ...], b: tuple[int, ...]) -> float:
        return float(weight(a) * weight(b) * mean_of_powers([x + y for x, y in zip(a, b, strict=True)]))

    # as a sparse matrix: BLAS would spread such small products over threads, which wait for each other
    return sp.csr_array(np.array([[mean(a, b) for b in exponents(m, q)] for a in exponents(m, p)]))


@cache
def _squares(m: int, p: int) -> Any:
    """From products of coefficients i ≤ j of degree p to the coefficients of the square, degree 2p."""
    size = len(exponents(m, p))
    table = product_table(m, p, p).reshape(size, size, -1)
    i, j = np.triu_indices(size)
    return sp.csr_array(np.where((i < j)[:, None], table[i, j] + table[j, i], table[i, j]).T)


def squared(a: Vector, m: int, p: int) -> Vector:
    """Coefficients of the square, (R, n), of a polynomial of degree p, (P, n)."""
    size, n = a.shape
    outer, start = np.empty((size * (size + 1) // 2, n)), 0
    for i in range(size):
        np.multiply(a[i], a[i:], out=outer[start : start + size - i])
        start += size - i
    return np.asarray(_squares(m, p) @ outer)


def root(x: Vector, k: int) -> Vector:
    """x^(1/(2k)) for k = 1, 2, 3, off by a few roundings."""
    y = np.sqrt(x)
    return np.asarray(y if k == 1 else np.sqrt(y) if k == 2 else np.cbrt(y))


def power(x: Vector, k: int) -> Vector:
    """x^k for k = 1, 2, 3, off by a few roundings."""
    return np.asarray(x if k == 1 else x * x if k == 2 else x * x * x)


def powers(delta: Vector, kappa: Vector, fuzz: Vector) -> tuple[Vector, Vector]:
    """Upper bounds of sup κ^{-½}|δ| and, (3, n), of the means of its share of that to the powers 2, 4, 6.

    Parameters
    ----------
    delta
        Bernstein coefficients of the components, (pairs, d, n), as computed.
    kappa
        (n,).
    fuzz
        Upper bounds of κ^{-½}|Δδ| for what rounding leaves out of δ, (n,).
    """
    d, n = delta.shape[1], delta.shape[2]
    size = np.abs(delta).max(axis=(0, 1))
    scale = np.where(size > 0.0, size, 1.0)
    g = np.zeros((len(exponents(d, 4)), n))
    for i in range(d):
        a = delta[:, i] / scale
        g += squared(a, d, 2)  # everywhere.md, step 2d
    slip = d * LOOSE  # components are at most 1, and coefficients of g at most d
    top = np.minimum(g.max(axis=0), float(d)) + slip
    square = squared(g, d, 4)
    found = [
        g.mean(axis=0),
        np.einsum("in,in->n", g, _means(d, 4, 4) @ g),
        np.einsum("in,in->n", square, _means(d, 8, 4) @ g),
    ]
    unit = up(scale / np.sqrt(kappa), 4)
    z = up(fuzz / unit, 4)
    high = up(np.sqrt(top) + z, 8)
    means = np.empty((3, n))
    for k, mean in enumerate(found, start=1):  # everywhere.md, step 2d
        raw = np.maximum(mean, 0.0) + 16.0 * slip * float(d) ** (k - 1) + TINY
        part = (up(root(raw, k), 16) + z) / high
        means[k - 1] = np.minimum(1.0, up(power(part * part, k), 64))
    return np.asarray(up(unit * high, 8)), means
