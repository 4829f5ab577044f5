"""Polynomials on simplices that vanish at vertices: the modes of a lift of Dirichlet data in space.

An edge (a, b) has λ_aλ_b(λ_b − λ_a)^j, a face (a, b, c) λ_aλ_bλ_c(λ_b − λ_a)^j(λ_c − λ_a)^k, up to `DEGREE` in all. A
mode vanishes on every facet that does not hold its edge or face, and is the same from all cells around it. Tables are
sums of products of integers and correctly rounded means of monomials; beside each stands the sum of absolute terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from math import comb, factorial

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.taylor.bernstein import mean_of_powers
from pinnpoint.taylor.spaces import space

DEGREE = 6
ROUNDINGS = 1 << 13
"""More than the roundings behind a number of these tables and its use in a quadratic form."""

Polynomial = dict[tuple[int, ...], int]


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    polynomial: Polynomial = {}
    for a, x in p.items():
        for b, y in q.items():
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            polynomial[key] = polynomial.get(key, 0) + x * y
    return polynomial


def _difference(a: int, b: int, power: int, count: int) -> Polynomial:
    """(λ_b − λ_a)^power."""
    polynomial: Polynomial = {}
    for i in range(power + 1):
        key = [0] * count
        key[b], key[a] = i, power - i
        polynomial[tuple(key)] = comb(power, i) * (-1) ** (power - i)
    return polynomial


def powers_of(size: int) -> list[tuple[int, ...]]:
    """Exponents (j) of an edge or (j, k) of a face."""
    if size == 2:
        return [(j,) for j in range(DEGREE - 1)]
    return [(j, k) for j in range(DEGREE - 2) for k in range(DEGREE - 2 - j)]


def _modes(m: int) -> Iterator[Polynomial]:
    """Of an m-simplex: its edges in the order of pairs, then its faces in the order of triples."""
    for size in range(2, min(m + 1, 3) + 1):
        for at in combinations(range(m + 1), size):
            for powers in powers_of(size):
                mode: Polynomial = {tuple(int(i in at) for i in range(m + 1)): 1}
                for b, power in zip(at[1:], powers, strict=True):
                    mode = _times(mode, _difference(at[0], b, power, m + 1))  # curved.md, step 3e
                yield mode


@cache
def _monomials(m: int) -> tuple[tuple[int, ...], ...]:
    found = sorted({key for mode in _modes(m) for key in mode})
    lower = {tuple(p - (i == k) for i, p in enumerate(key)) for key in found for k in range(m + 1) if key[k]}
    return tuple(sorted(lower | set(found)))


@cache
def _means(m: int) -> Vector:
    """Means of products of two monomials over an m-simplex."""
    P = np.array(_monomials(m))
    whole = np.array([float(factorial(n)) for n in range(2 * DEGREE + m + 1)])
    both = P[:, None, :] + P[None, :, :]
    return np.asarray(factorial(m) * whole[both].prod(axis=2) / whole[both.sum(axis=2) + m])


@cache
def _table(m: int, derivative: int) -> Vector:
    """Coefficients (modes, monomials) of the modes, or of their derivatives by λ_k."""
    place = {key: i for i, key in enumerate(_monomials(m))}
    modes = list(_modes(m))
    found = np.zeros((len(modes), len(place)))
    for row, mode in zip(found, modes, strict=True):
        for key, value in mode.items():
            if derivative < 0:
                row[place[key]] += value
            elif key[derivative]:
                lower = tuple(p - (i == derivative) for i, p in enumerate(key))
                row[place[lower]] += value * key[derivative]
    return found


@cache
def products(m: int, k: int, j: int) -> tuple[Vector, Vector]:
    """Means of ∂_kφ ∂_jφ′ over an m-simplex, (modes, modes), and sums of absolute terms; −1 for values."""
    A, B, mean = _table(m, k), _table(m, j), _means(m)
    return A @ mean @ B.T, np.abs(A) @ mean @ np.abs(B).T


@cache
def moments(m: int) -> tuple[Vector, Vector]:
    """Means of λ_iφ over an m-simplex, (modes, m + 1), and sums of absolute terms."""
    rows = [
        [float(mean_of_powers([p + (i == k) for i, p in enumerate(key)])) for k in range(m + 1)]
        for key in _monomials(m)
    ]
    A, mean = _table(m, -1), np.array(rows)
    return A @ mean, np.abs(A) @ mean


@cache
def on_path(q: int) -> Vector:
    """Coefficients of the modes of a triangle in the monomials of a Taylor model of order q, (monomials, modes).

    λ₀ = (1 − ξ₁)/2, λ₁ = (ξ₁ − ξ₂)/2, λ₂ = (1 + ξ₂)/2; the coefficients are dyadic, and exact.
    """
    bary: list[Polynomial] = [{(0, 0): 1, (1, 0): -1}, {(1, 0): 1, (0, 1): -1}, {(0, 0): 1, (0, 1): 1}]
    place = {tuple(a): i for i, a in enumerate(space(2, q).powers.tolist())}
    modes = list(_modes(2))
    found = np.zeros((len(place), len(modes)))
    for column, mode in enumerate(modes):
        for key, value in mode.items():
            term: Polynomial = {(0, 0): value}
            for i, power in enumerate(key):
                for _ in range(power):
                    term = _times(term, bary[i])
            for a, x in term.items():
                found[place[a], column] += x / 2.0 ** sum(key)
    return found


@cache
def lattice() -> Vector:
    """Barycentric coordinates of a triangle at which its modes are fitted: of its edges, then inside, (modes, 3)."""
    n, rows = DEGREE, []
    for a, b in combinations(range(3), 2):
        for i in range(1, n):
            row = [0.0, 0.0, 0.0]
            row[b], row[a] = i / n, (n - i) / n
            rows.append(row)
    rows += [[i / n, j / n, (n - i - j) / n] for i in range(1, n) for j in range(1, n - i)]
    return np.array(rows)


@cache
def fitting() -> Vector:
    """From values at the lattice to coefficients of the modes, (modes, modes)."""
    bary = lattice()
    values = (bary[:, None, :] ** np.array(_monomials(2))[None, :, :]).prod(axis=2)
    return np.asarray(np.linalg.inv(values @ _table(2, -1).T))
