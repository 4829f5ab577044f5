"""Smooth functions on simplices as polynomials in Bernstein form with a proved error: factors of radial functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.geometry import Simplices, orders
from pinnpoint.taylor.inputs import Enclosed, models
from pinnpoint.taylor.spaces import space
from pinnpoint.transfer.energy.products import exponents, multiplied

DEGREE = {1: 8, 2: 4, 3: 4}
"""Of the polynomials."""


@dataclass(frozen=True, eq=False)
class Factor:
    """F on simplices: Bernstein coefficients of degree n, (N, R), within an error (N,)."""

    coefficients: Vector
    error: Vector
    degree: int

    __repr__ = brief

    @classmethod
    def of(cls, f: Enclosed, simplices: Simplices) -> Factor:
        """A function that encloses itself."""
        m = simplices.m
        n = DEGREE[m]
        model, which = models(f, simplices, n)
        table = _table(m, n)
        B = (table @ model.C).T  # slabs.md, step 7e
        # every entry of the table is at most one, and known up to its roundings
        wrong = gamma(len(model.C) + 4 * n) * np.abs(model.C).sum(axis=0)
        places = _places(m, n)[which]
        return cls(np.take_along_axis(B, places, axis=1), np.asarray(up(model.e + wrong, 8)), n)

    @property
    def top(self) -> Vector:
        """Upper bounds of |F|."""
        return np.asarray(up(np.abs(self.coefficients).max(axis=1) + self.error))

    def __getitem__(self, chosen: Index | Mask) -> Factor:
        return Factor(self.coefficients[chosen], self.error[chosen], self.degree)


@cache
def _table(m: int, n: int) -> Vector:
    """Bernstein coefficients of degree n of the monomials in the coordinates of the path, (R, M)."""
    one = np.ones((1, m + 1))
    lines = [np.where(np.arange(m + 1) > i, 1.0, -1.0)[None] for i in range(m)]
    columns = []
    for alpha in space(m, n, simplex=True).powers.tolist():
        parts = [lines[i] for i, a in enumerate(alpha) for _ in range(a)]
        parts += [one] * (n - len(parts))
        c = parts[0]
        for degree, part in enumerate(parts[1:], start=1):
            c = multiplied(c, part, m, degree, 1)
        columns.append(c[0])
    return np.stack(columns, axis=1)


@cache
def _places(m: int, n: int) -> Index:
    """For each order of the path the place there of each coefficient in the simplex's own order."""
    many = exponents(m, n)
    place = {alpha: i for i, alpha in enumerate(many)}
    rows = [[place[tuple(alpha[v] for v in order)] for alpha in many] for order in orders(m).tolist()]
    return np.array(rows, dtype=np.intp)
