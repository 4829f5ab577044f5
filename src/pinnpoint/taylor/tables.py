"""Exact tables that take polynomials on a simplex to Bernstein quadratics, computed in rationals and rounded once.

The simplex is 1 ≥ t_1 ≥ … ≥ t_m ≥ 0 with ξ = 2t − 1, so λ_0 = 1 − t_1, λ_i = t_i − t_{i+1}, λ_m = t_m.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.taylor.bernstein import exact_gram, pairs, restriction
from pinnpoint.taylor.spaces import space

Row = list[Fraction]


@cache
def mean(powers: tuple[int, ...]) -> Fraction:
    """Mean of ξ^α over the simplex: ξ_m is integrated from −1 to ξ_{m−1}, and so on, which leaves polynomials."""
    inner = {0: Fraction(math.factorial(len(powers)), 2 ** len(powers))}
    for a in reversed(powers):
        outer = {p + a + 1: c / (p + a + 1) for p, c in inner.items()}
        inner = {**outer, 0: -sum(((-1) ** p * c for p, c in outer.items()), Fraction(0))}
    return sum(inner.values(), Fraction(0))


def _quadratics(m: int) -> list[dict[tuple[int, ...], Fraction]]:
    """Each B_jl as a polynomial in ξ."""
    zero, half = (0,) * m, Fraction(1, 2)
    t = [{zero: half, tuple(int(i == k) for i in range(m)): half} for k in range(m)]
    ends = [{zero: Fraction(1)}, *t, {}]
    bary = [_added(ends[i], ends[i + 1], -1) for i in range(m + 1)]
    return [_times(bary[j], bary[q], 2 - (j == q)) for j, q in pairs(m)]


@cache
def monomials(m: int, q: int) -> Vector:
    """Coefficients of the B_jl in the monomials of order q ≥ 2, (M, pairs); dyadic, so exact."""
    table = np.zeros((space(m, q).size, len(pairs(m))))
    place = {tuple(a): i for i, a in enumerate(space(m, q).powers.tolist())}
    for column, polynomial in enumerate(_quadratics(m)):
        for powers, value in polynomial.items():
            table[place[powers], column] = float(value)
    return _frozen(table)


@cache
def projection(m: int, q: int) -> Vector:
    """From coefficients of monomials to β of the L² projection onto quadratics, (pairs, M)."""
    powers = space(m, q).powers.tolist()
    moments = [
        [sum((v * mean(_plus(b, tuple(a))) for b, v in B.items()), Fraction(0)) for a in powers] for B in _quadratics(m)
    ]
    return _rounded(_solved(m, moments))  # taylor.md, step 6c


@cache
def rest(m: int, q: int) -> Vector:
    """From coefficients of degree ≥ 3 to those of an orthonormal basis of the complement of the quadratics.

    The last rows of D^{1/2} Lᵀ, where L D Lᵀ are the means of products of monomials, sorted by degree.
    """
    S = space(m, q)
    powers = [tuple(a) for a in S.powers.tolist()]
    first = S.slices[3].start if q >= 3 else S.size
    # fraction-free elimination: integers after scaling by a common denominator
    means = {c: mean(c) for c in {_plus(a, b) for a in powers for b in powers}}
    scale = math.lcm(*(v.denominator for v in means.values()))
    whole = {c: v.numerator * (scale // v.denominator) for c, v in means.items()}
    G = [[whole[_plus(a, b)] for b in powers] for a in powers]
    out, previous = np.zeros((S.size - first, S.size - first)), 1
    for k in range(S.size):
        pivot, row = G[k][k], G[k]
        if k >= first:
            # taylor.md, step 6c
            norm = math.sqrt(Fraction(pivot, previous * scale))  # √D_k; row / pivot is the column of L
            out[k - first] = [norm * float(Fraction(row[j], pivot)) if j >= k else 0.0 for j in range(first, S.size)]
        for i in range(k + 1, S.size):
            factor = row[i]
            line = G[i]
            for j in range(i, S.size):
                line[j] = (pivot * line[j] - factor * row[j]) // previous
        previous = pivot
    return _frozen(out)


@cache
def bernstein(m: int, q: int) -> tuple[Vector, Vector]:
    """From monomials to Bernstein coefficients of degree q, (coefficients, M), and which of them belong to vertices.

    A polynomial of degree q in λ has the Bernstein coefficients of its monomials over the multinomials.
    """
    S = space(m, q)
    corners = [[1 if k > i else -1 for k in range(m + 1)] for i in range(m)]
    forms: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {(0,) * m: {(0,) * (m + 1): 1}}  # polynomials in λ
    columns = []
    for powers in map(tuple, S.powers.tolist()):
        if any(powers):
            i = next(k for k, p in enumerate(powers) if p)
            before = tuple(p - (k == i) for k, p in enumerate(powers))
            forms[powers] = _product(forms[before], corners[i])
        form = forms[powers]
        for _ in range(q - sum(powers)):
            form = _product(form, [1] * (m + 1))
        columns.append(form)
    indices = sorted(columns[0])
    at_vertices = np.array([max(i) == q for i in indices])
    ways = [columns[0][i] for i in indices]  # λ^i is B_i over their number, the multinomial
    return _frozen([[column[i] / n for column in columns] for i, n in zip(indices, ways, strict=True)]), at_vertices


def _product(b: dict[tuple[int, ...], int], values: list[int]) -> dict[tuple[int, ...], int]:
    out: dict[tuple[int, ...], int] = {}
    for index, v in b.items():
        for k, value in enumerate(values):
            raised = tuple(p + (j == k) for j, p in enumerate(index))
            out[raised] = out.get(raised, 0) + v * value
    return out


@cache
def gathering(m: int) -> Vector:
    """From β on the children to β of the L² projection onto quadratics of the whole, (children, pairs, pairs)."""
    G, S = exact_gram(m), restriction(m)
    n, count = len(pairs(m)), len(S)
    tables = []
    for child in S:
        C = [[Fraction(v) for v in row] for row in child.tolist()]
        right = [[sum((C[k][i] * G[k][j] for k in range(n)), Fraction(0)) / count for j in range(n)] for i in range(n)]
        tables.append(_rounded(_solved(m, right)))
    return _frozen(tables)


def _solved(m: int, right: list[Row]) -> list[Row]:
    """Gram⁻¹ times a matrix, by Gauss–Jordan; the Gram matrix is positive definite."""
    A = [list(row) + list(r) for row, r in zip(exact_gram(m), right, strict=True)]
    for k in range(len(A)):
        A[k] = [x / A[k][k] for x in A[k]]
        for i in range(len(A)):
            if i != k:
                A[i] = [x - A[i][k] * y for x, y in zip(A[i], A[k], strict=True)]
    return [row[len(A) :] for row in A]


def _added(a: dict[Any, Fraction], b: dict[Any, Fraction], sign: int) -> dict[Any, Fraction]:
    return {k: a.get(k, Fraction(0)) + sign * b.get(k, Fraction(0)) for k in {**a, **b}}


def _times(a: dict[Any, Fraction], b: dict[Any, Fraction], factor: int) -> dict[Any, Fraction]:
    out: dict[Any, Fraction] = {}
    for p, v in a.items():
        for r, w in b.items():
            out[_plus(p, r)] = out.get(_plus(p, r), Fraction(0)) + factor * v * w
    return out


def _plus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _rounded(rows: list[Row]) -> Vector:
    return _frozen([[float(x) for x in row] for row in rows])


def _frozen(x: Any) -> Vector:
    a = np.array(x, dtype=np.float64)
    a.setflags(write=False)
    return a
