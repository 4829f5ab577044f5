"""Quadratics on simplices and on their children in Bernstein form, and functions known to a proved error.

A quadratic on a simplex with barycentric coordinates λ_0 … λ_m is Σ β_jl B_jl over pairs j ≤ l, with B_jj = λ_j² and
B_jl = 2 λ_j λ_l. The B_jl are nonnegative and add up to one, so |Σ β_jl B_jl| ≤ max |β_jl|. A linear function with
vertex values w has β_jl = (w_j + w_l)/2. Tables hold the exact rationals, correctly rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import factorial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief


@cache
def pairs(m: int) -> tuple[tuple[int, int], ...]:
    """Index pairs j ≤ l of an m-simplex, in the order of all coefficient arrays."""
    return tuple(combinations_with_replacement(range(m + 1), 2))


def mean_of_powers(powers: Sequence[int]) -> Fraction:
    """Mean of Π λ_i^{p_i} over a simplex with len(powers) vertices: m! Π p_i! / (m + Σ p_i)!."""
    m, top = len(powers) - 1, factorial(len(powers) - 1)
    for p in powers:
        top *= factorial(p)
    return Fraction(top, factorial(m + sum(powers)))


@cache
def exact_gram(m: int) -> tuple[tuple[Fraction, ...], ...]:
    """Means of B_jl B_pq, exactly."""
    rows = []
    for a in pairs(m):
        row = []
        for b in pairs(m):
            powers = [0] * (m + 1)
            for k in (*a, *b):
                powers[k] += 1
            row.append((2 - (a[0] == a[1])) * (2 - (b[0] == b[1])) * mean_of_powers(powers))
        rows.append(tuple(row))
    return tuple(rows)


@cache
def gram(m: int) -> Vector:
    """Means of B_jl B_pq over a simplex."""
    return _frozen([[float(x) for x in row] for row in exact_gram(m)])


@cache
def inverse_gram(m: int) -> Vector:
    """Inverse of `gram`: from the means of f B_jl to the coefficients of the L² projection of f."""
    n = len(pairs(m))
    A = [list(row) + [Fraction(int(i == j)) for j in range(n)] for i, row in enumerate(exact_gram(m))]
    for k in range(n):  # Gauss–Jordan in exact arithmetic; the matrix is positive definite
        A[k] = [x / A[k][k] for x in A[k]]
        for i in range(n):
            if i != k:
                A[i] = [x - A[i][k] * y for x, y in zip(A[i], A[k], strict=True)]
    return _frozen([[float(x) for x in row[n:]] for row in A])


@cache
def means(m: int) -> Vector:
    """Means of the B_jl: each is 2/((m + 1)(m + 2))."""
    return _frozen([2.0 / ((m + 1) * (m + 2))] * len(pairs(m)))


def values(bary: Vector) -> Vector:
    """B_jl at points with barycentric coordinates (…, m + 1); shape (…, pairs)."""
    return np.stack([bary[..., j] * bary[..., q] * (2.0 - (j == q)) for j, q in pairs(bary.shape[-1] - 1)], axis=-1)


def from_linear(w: Vector) -> Vector:
    """Coefficients of the linear function with vertex values w, (C, m + 1, …) to (C, pairs, …)."""
    return np.stack([0.5 * (w[:, j] + w[:, q]) for j, q in pairs(w.shape[1] - 1)], axis=1)


def from_quadratic(w: Vector, m: int) -> Vector:
    """Coefficients from values at the vertices and then at the midpoints of the pairs j < l, (C, pairs, …)."""
    columns, middle = [], m + 1
    for j, q in pairs(m):
        if j == q:
            columns.append(w[:, j])
        else:
            columns.append(2.0 * w[:, middle] - 0.5 * (w[:, j] + w[:, q]))
            middle += 1
    return np.stack(columns, axis=1)


@cache
def linear_projection(m: int) -> Vector:
    """From Bernstein coefficients to the vertex values of the L² projection onto linears, (m + 1, pairs)."""
    against = np.full((m + 1, len(pairs(m))), 2.0)
    for p, (i, k) in enumerate(pairs(m)):
        against[i, p] += 2.0
        against[k, p] += 2.0
    against /= (m + 1) * (m + 2) * (m + 3)
    return _frozen((m + 1.0) * ((m + 2.0) * against - against.sum(axis=0)))


@cache
def children(m: int) -> Vector:
    """Barycentric coordinates of the vertices of the 2^m children of equal size, (children, m + 1, m + 1).

    In 3D the order of vertices is Bey's, which keeps the children of children in three classes of similarity.
    """
    names = {
        0: ["0"],
        1: ["0 01", "01 1"],
        2: ["0 01 02", "01 1 12", "02 12 2", "01 12 02"],
        3: [
            "0 01 02 03",
            "01 1 12 13",
            "02 12 2 23",
            "03 13 23 3",
            "01 02 03 13",
            "01 02 12 13",
            "02 03 13 23",
            "02 12 13 23",
        ],
    }[m]
    table = np.zeros((len(names), m + 1, m + 1))
    for c, name in enumerate(names):
        for v, vertex in enumerate(name.split()):
            for k in vertex:
                table[c, v, int(k)] += 1.0 / len(vertex)
    return _frozen(table)


@cache
def restriction(m: int) -> Vector:
    """From β of a quadratic to its β on each child, (children, pairs, pairs); dyadic, so exact."""
    table = []
    for child in children(m):
        rows = [
            [child[j][a] * child[q][b] + (a != b) * child[j][b] * child[q][a] for a, b in pairs(m)] for j, q in pairs(m)
        ]
        table.append(rows)
    return _frozen(table)


@dataclass(frozen=True, eq=False)
class AbstractRows:
    """Functions on some cells of a mesh, a row for each: quadratics, a rest orthogonal to them, and an error.

    Attributes
    ----------
    coefficients
        Bernstein's, (C, pairs, …): exactly the floats stored, for the cell's own vertex order.
    high
        Upper bounds of the root mean square of the rest, (C,).
    error1, error2
        Upper bounds of the mean and of the root mean square of the error, (C,). They cover truncation, quadrature and
        rounding.
    cells
        Which cells the rows stand for; the function vanishes on the others. None means all cells in order.
    proved
        False where a bound is an estimate, for example from an opaque function.
    """

    coefficients: Vector
    high: Vector
    error1: Vector
    error2: Vector
    cells: Index | None = None
    proved: bool = True

    __repr__ = brief

    def on_all(self, count: int) -> Self:
        """The same function with a row for every cell."""
        if self.cells is None:
            return self

        def spread(a: Vector) -> Vector:
            full = np.zeros((count, *a.shape[1:]))
            full[self.cells] = a
            return full

        rows = spread(self.coefficients), spread(self.high), spread(self.error1), spread(self.error2)
        return type(self)(*rows, None, self.proved)


@dataclass(frozen=True, eq=False)
class Density(AbstractRows):
    """A function f = Σ β_jl B_jl + h + ε on cells, where h is L²-orthogonal to all quadratics; β is (C, pairs)."""

    __repr__ = brief

    @classmethod
    def constant(cls, values: ArrayLike, m: int) -> Density:
        """A function that is constant on each cell, exactly."""
        c = np.asarray(values, dtype=np.float64)
        zero = np.zeros(len(c))
        return cls(np.repeat(c[:, None], len(pairs(m)), axis=1), zero, zero, zero)


def _frozen(x: Any) -> Vector:
    a = np.array(x, dtype=np.float64)
    a.setflags(write=False)
    return a
