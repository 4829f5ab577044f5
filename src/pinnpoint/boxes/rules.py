"""Gauss rules whose error is proved: for analytic functions from a bound on an ellipse, with the rule's own rounding.

With nodes x_i, weights w_i on [−1, 1] and any f with |f| ≤ M on the ellipse with foci ±1 and semi-axes (ρ ± 1/ρ)/2,

    |∫ f − Σ w_i f(x_i)| ≤ (2 + Σ|w_i|) 2Mρ^{1−2n}/(ρ − 1) + (8n/π) δ sup |f|,

δ the largest defect |∫T_k − Σ w_i T_k(x_i)| of a Chebyshev polynomial of degree below 2n, computed exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, up

IN_SPACE, IN_TIME = 14, 18
"""Nodes of a piece of space, and of a panel of time."""
ELLIPSES = (1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0, 12.0, 20.0, 40.0)
"""Values of ρ that are tried."""


@dataclass(frozen=True, eq=False)
class Gauss:
    """Nodes and weights on [−1, 1], and the largest defect of a Chebyshev polynomial of degree below 2n."""

    nodes: Vector
    weights: Vector
    defect: float

    __repr__ = brief

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def analytic(self, bound: float, rho: float) -> float:
        """What a function below `bound` on the ellipse ρ differs from polynomials, in the integral and in the sum."""
        far = 2.0 * bound * rho ** (1 - 2 * self.n) / (rho - 1.0)
        return float(up((2.0 + float(self.weights.sum())) * far * (1.0 + 1e-12)))  # box.md, step 3a

    @property
    def own(self) -> float:
        """What the rule's rounding adds, for |f| ≤ 1."""
        return float(up(8.0 * self.n / math.pi * self.defect * (1.0 + 1e-12)))  # box.md, step 3b


@cache
def gauss(n: int) -> Gauss:
    """The rule with n nodes; its defect is a quotient of whole numbers, rounded up."""
    x, w = np.polynomial.legendre.leggauss(n)
    X, W = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in w]
    before, now = [Fraction(1)] * n, X
    worst = abs(sum(W, Fraction(0)) - 2)
    for k in range(1, 2 * n):
        exact = Fraction(0) if k % 2 else Fraction(2, 1 - k * k)
        worst = max(
            worst, abs(sum((a * b for a, b in zip(W, now, strict=True)), Fraction(0)) - exact)
        )  # box.md, step 3b
        before, now = now, [2 * a * b - c for a, b, c in zip(X, now, before, strict=True)]
    x.flags.writeable = w.flags.writeable = False
    return Gauss(x, w, float(worst) * (1.0 + 4.0 * UNIT))


def axes(rho: float) -> tuple[float, float]:
    """The semi-axes of the ellipse ρ, rounded up."""
    return (rho + 1.0 / rho) / 2.0 * (1.0 + 8.0 * UNIT), (rho - 1.0 / rho) / 2.0 * (1.0 + 8.0 * UNIT)
