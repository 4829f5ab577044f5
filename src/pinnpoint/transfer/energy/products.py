"""Products of finite-element functions as densities: exact in Bernstein form, then projected onto quadratics.

In Bernstein form of degree n, with B_α = n!/α! λ^α over |α| = n, the product of coefficients a_α and b_β contributes
a_α b_β times a nonnegative weight to the coefficient of α + β, and the weights of each coefficient add up to one. So a
product is as large as its factors at most, and its rounding is γ times that. The square of a linear function with
vertex values u_j has the coefficients u_j u_l.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, exact_gram, gram, mean_of_powers, pairs

CHUNK = 16384
LOOSE = gamma(200)
"""More than the roundings in any coefficient or square computed here."""


@cache
def exponents(m: int, n: int) -> tuple[tuple[int, ...], ...]:
    """Exponents of degree n, in the order of coefficients; for n = 2 that of `pairs`."""
    chosen = combinations_with_replacement(range(m + 1), n)
    return tuple(tuple(c.count(i) for i in range(m + 1)) for c in chosen)


def _multinomial(alpha: tuple[int, ...]) -> int:
    n = factorial(sum(alpha))
    for a in alpha:
        n //= factorial(a)
    return n


@cache
def product_table(m: int, p: int, q: int) -> Vector:
    """Weights (P · Q, R) of the products of coefficients of degrees p and q in those of degree p + q."""
    place = {alpha: r for r, alpha in enumerate(exponents(m, p + q))}
    rows = np.zeros((len(exponents(m, p)), len(exponents(m, q)), len(place)))
    for i, a in enumerate(exponents(m, p)):
        for j, b in enumerate(exponents(m, q)):
            both = tuple(x + y for x, y in zip(a, b, strict=True))
            rows[i, j, place[both]] = _multinomial(a) * _multinomial(b) / _multinomial(both)
    return rows.reshape(-1, len(place))


@cache
def projection_tables(m: int, n: int) -> tuple[Vector, Vector, Vector]:
    """L² projection from degree n to quadratics (pairs, N), elevation back (N, pairs), and means of products (N, N)."""
    two, many = exponents(m, 2), exponents(m, n)

    def mean(a: tuple[int, ...], b: tuple[int, ...]) -> Fraction:
        powers = [x + y for x, y in zip(a, b, strict=True)]
        return _multinomial(a) * _multinomial(b) * mean_of_powers(powers)

    rows = [[*exact_gram(m)[i], *(mean(a, b) for b in many)] for i, a in enumerate(two)]
    size = len(two)
    for k in range(size):  # Gauss–Jordan in exact arithmetic
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    project = np.array([[float(x) for x in row[size:]] for row in rows])
    lift = np.zeros((len(many), size))
    for c in exponents(m, n - 2):
        for i, a in enumerate(two):
            both = tuple(x + y for x, y in zip(a, c, strict=True))
            lift[many.index(both), i] += float(Fraction(_multinomial(a) * _multinomial(c), _multinomial(both)))
    return project, lift, _means(m, n)


def _means(m: int, n: int) -> Vector:
    """Means of the products of all Bernstein polynomials of degree n, each rounded once."""
    many, fact = exponents(m, n), [factorial(k) for k in range(m + 2 * n + 1)]
    own = [_multinomial(alpha) * fact[m] for alpha in many]
    found = np.empty((len(many), len(many)))
    for i, a in enumerate(many):
        for j, b in enumerate(many[: i + 1]):
            over = own[i] * (own[j] // fact[m])
            for x, y in zip(a, b, strict=True):
                over *= fact[x + y]
            found[i, j] = found[j, i] = over / fact[m + 2 * n]  # of integers, which Python rounds correctly
    return found


def multiplied(a: Vector, b: Vector, m: int, p: int, q: int) -> Vector:
    """Coefficients of a product, (C, R), from those of its factors of degrees p and q."""
    found = np.empty((len(a), len(exponents(m, p + q))))
    for start in range(0, len(a), CHUNK):
        part = slice(start, start + CHUNK)
        outer = (a[part, :, None] * b[part, None, :]).reshape(-1, a.shape[1] * b.shape[1])
        found[part] = outer @ product_table(m, p, q)  # continuous.md, step 10a
    return found


def projected(c: Vector, m: int, n: int, error: Vector) -> Density:
    """A polynomial of degree n ≥ 3 as a density, where its coefficients c are true to `error`, (C,)."""
    project, lift, means = projection_tables(m, n)
    beta = c @ project.T
    blur = LOOSE * (np.abs(c) @ np.abs(project).T).max(axis=1)
    rest = c - beta @ lift.T
    away = np.abs(rest).max(axis=1)
    square = np.einsum("cr,cr->c", rest @ means, rest)
    # continuous.md, step 10a
    high = np.sqrt(np.maximum(square, 0.0) + LOOSE * away**2) + LOOSE * (np.abs(c).max(axis=1) + away + blur)
    wrong = np.asarray(up(blur + error, 8))
    return Density(beta, np.asarray(up(high, 8)), wrong, wrong)


def square_coefficients(u: Vector, factor: Vector) -> Vector:
    """A factor times u², (C, pairs), from vertex values (C, m + 1)."""
    m = u.shape[1] - 1
    return np.stack([factor * (u[:, j] * u[:, k]) for j, k in pairs(m)], axis=1)  # continuous.md, step 10a


def square_times_linear(u: Vector, factor: Vector, v: Vector) -> Density:
    """A factor times u² v, for linear functions with vertex values u and v."""
    m = u.shape[1] - 1
    square = square_coefficients(u, factor)
    top = np.abs(square).max(axis=1) * np.abs(v).max(axis=1)
    return projected(multiplied(square, v, m, 2, 1), m, 3, np.asarray(up(LOOSE * top + TINY)))


def square_times(u: Vector, factor: Vector, given: Density) -> Density:
    """A factor times u² g, for a linear function with vertex values u and a density g, row by row.

    With g = p + h + ε, u²p is a quartic. The mean of u² times h is orthogonal to the quadratics as h is; the rest of
    u²h is small and counts as error, as does u²ε.
    """
    m = u.shape[1] - 1
    square = square_coefficients(u, factor)
    top = np.asarray(up(np.abs(square).max(axis=1)))
    size = np.abs(given.coefficients).max(axis=1)
    found = projected(multiplied(square, given.coefficients, m, 2, 2), m, 4, np.asarray(up(LOOSE * top * size + TINY)))
    mean = square.mean(axis=1)
    spread = up(np.abs(square - mean[:, None]).max(axis=1) + LOOSE * top)
    return Density(
        found.coefficients,
        np.asarray(up(found.high + np.abs(mean) * given.high)),
        np.asarray(up(found.error1 + spread * given.high + top * given.error1, 8)),
        np.asarray(up(found.error2 + spread * given.high + top * given.error2, 8)),
        given.cells,
        given.proved,
    )


def combined(parts: Sequence[tuple[Vector | float, Density]]) -> Density:
    """Σ factor · density over densities with the same rows; factors are numbers or one per row."""
    rows = len(parts[0][1].high)
    beta = np.zeros_like(parts[0][1].coefficients)
    size, high, error1, error2 = (np.zeros(rows) for _ in range(4))
    for factor, f in parts:
        a = np.broadcast_to(np.asarray(factor, dtype=np.float64), rows)
        beta = beta + a[:, None] * f.coefficients
        b = np.abs(a)
        size = size + b * np.abs(f.coefficients).max(axis=1)
        high, error1, error2 = high + b * f.high, error1 + b * f.error1, error2 + b * f.error2
    slip = 0.0 if len(parts) == 1 and isinstance(parts[0][0], float) and abs(parts[0][0]) == 1.0 else LOOSE * size
    return Density(
        beta,
        np.asarray(up(high, 16)),
        np.asarray(up(error1 + slip, 16)),
        np.asarray(up(error2 + slip, 16)),
        parts[0][1].cells,
        all(f.proved for _, f in parts),
    )


def paired(a: Density, top: Vector, b: Density, volume: Vector, slack: Vector) -> tuple[float, float, float]:
    """∫ a b over all cells, a bound of the rounding, and of what is not known of a and b; |a| ≤ `top` on each cell.

    `volume` is true to the relative error `slack`.

    With a = p + h + ε and b = p′ + h′ + ε′: ∫ab = ∫pp′ + ∫hh′ + ∫ε(p′ + h′) + ∫aε′.
    """
    m = volume_dimension(a)
    value = np.einsum("cp,pq,cq->c", a.coefficients, gram(m), b.coefficients, optimize=True) * volume
    size = np.abs(b.coefficients).max(axis=1)
    grown = up(volume * (1.0 + slack), 4)
    wrong = 3.0 * (slack + LOOSE) * np.abs(a.coefficients).max(axis=1) * size * grown
    loose = (a.high * b.high + a.error2 * (size + b.high) + top * b.error1) * grown  # continuous.md, step 8a
    total = math.fsum(value.tolist())
    return total, float(up(sum_up(up(wrong, 16)) + 2.0 * UNIT * abs(total))), sum_up(up(loose, 16))


def volume_dimension(a: Density) -> int:
    """m, from the number of pairs (m + 1)(m + 2)/2."""
    return {1: 0, 3: 1, 6: 2, 10: 3}[a.coefficients.shape[1]]
