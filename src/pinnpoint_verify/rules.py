"""Quadrature rules that a bundle stores: part of what defines its discrete system, so that b can be made again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from pinnpoint_verify.reader import Array, Bundle, need

MOST_POINTS, HIGHEST = 100_000, 64
EXACT = 1e-10
"""Relative error of the mean of a monomial that counts as rounding."""


@dataclass(frozen=True)
class Rule:
    """Barycentric points (Q, m + 1), positive weights that add up to one, and the degree of exactness."""

    bary: Array
    weights: Array
    order: int

    @property
    def words(self) -> str:
        """For people."""
        return f"{len(self.weights)} points, exact for degree {self.order}"


def stored_rule(bundle: Bundle, name: str, m: int) -> Rule | None:
    """A rule on an m-simplex; None where the bundle has none."""
    if f"rule/{name}_at" not in bundle:
        return None
    bary = bundle(f"rule/{name}_at", None, m + 1)
    weights = bundle(f"rule/{name}_w", len(bary))
    need(0 < len(bary) <= MOST_POINTS and np.all(weights > 0.0), f"rule/{name}: weights that are not positive")
    inside = np.all(bary >= -1e-14) and np.all(np.abs(bary.sum(axis=1) - 1.0) <= 1e-13)
    need(inside, f"rule/{name}: points outside the simplex")
    order = exactness(bary, weights)
    need(order >= 1, f"rule/{name}: not exact for linear functions")
    return Rule(bary, weights, order)


def exactness(bary: Array, weights: Array) -> int:
    """The largest degree up to which all monomials have their means; −1 where not even constants have."""
    m = bary.shape[1] - 1
    powers = [bary[:, 1:] ** k for k in range(HIGHEST + 1)]
    for degree in range(HIGHEST + 1):
        for which in combinations_with_replacement(range(m), degree) if m or not degree else ():
            exponents = [which.count(i) for i in range(m)]
            values = np.prod([powers[p][:, i] for i, p in enumerate(exponents)], axis=0) if m else np.ones(len(bary))
            top = math.factorial(m) * math.prod(math.factorial(p) for p in exponents)
            mean = top / math.factorial(m + degree)
            if not abs(float(weights @ values) - mean) <= EXACT * mean:
                return degree - 1
    return HIGHEST
