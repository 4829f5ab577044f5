"""Moments of the one-dimensional kernel on many short rings at once, in float64 with proved errors.

In one dimension Φ = (R/κ) Σ a_n ρ^n for ρ = r/R in [0, 1], with the coefficients of `radial_series`. On the ring
r = mid + half·ξ, with p = mid/R and h = half/R, ρ^n = Σ_i C(n, i) p^{n−i} h^i ξ^i, so

    ∫ Φ ξ^m dr = (R/κ) half Σ_i l_i ∫_{−1}^{1} ξ^{m+i} dξ,      l_i = h^i Σ_n a_n C(n, i) p^{n−i}.

Every term is a product of at most 3N + 12 rounded factors and every sum has at most N + 1 terms, so the rounding is at
most γ of a multiple of N times the same expression with |a_n|. The a_n are within their own errors, and ρ^n ≤ 1.
"""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.transfer.points.decimals import precision
from pinnpoint.transfer.points.kernels import Kernel

LARGEST_DECAY = 6.0
"""Decay lengths up to which the series does not cancel much."""
NEGLIGIBLE = 1e-25
Ring = tuple[Vector, Vector, float]
"""Moments, bounds of their errors, and an upper bound of ∫|Φ| dr."""


def suits(kernel: object) -> TypeGuard[Kernel]:
    """Whether the moments of short rings may be computed here."""
    if not isinstance(kernel, Kernel) or kernel.d != 1 or kernel.inner is not None:
        return False
    return kernel.radius * math.sqrt(kernel.c / kernel.kappa) <= LARGEST_DECAY


def ring_moments(kernel: Kernel, a: Vector, b: Vector, order: int) -> list[Ring]:
    """As `Kernel.moments` for rings [a_i, b_i]."""
    coefficients, wrong = _coefficients(kernel)
    N = len(coefficients) - 1
    mid, half = 0.5 * (a + b), 0.5 * (b - a)
    p, h = _powers(mid / kernel.radius, N), _powers(half / kernel.radius, N)
    local, size = (np.zeros((len(a), N + 1)) for _ in range(2))
    for i in range(N + 1):
        row = coefficients[i:] * np.array([float(math.comb(n, i)) for n in range(i, N + 1)])
        local[:, i] = h[:, i] * (p[:, : N + 1 - i] @ row)
        size[:, i] = h[:, i] * (p[:, : N + 1 - i] @ np.abs(row))
    power = np.arange(order + 1)[:, None] + np.arange(N + 1)
    integral = np.where(power % 2 == 0, 2.0 / (power + 1.0), 0.0)
    scale = (kernel.radius / kernel.kappa * half)[:, None]
    values = scale * (local @ integral.T)
    # continuous.md, step 8b
    errors = up(scale * (gamma(10 * N + 100) * (size @ integral.T) + 2.0 * wrong) * (1.0 + 1e-9), 8)
    whole = up(np.abs(values[:, 0]) + errors[:, 0])  # Φ ≥ 0 for a point
    return list(zip(values, errors, whole.tolist(), strict=True))


def _coefficients(kernel: Kernel) -> tuple[Vector, float]:
    """a_n, and a bound of what they are off in sum and of the tails on 0 ≤ ρ ≤ 1, with room for rounding."""
    A, B = kernel.outer.A, kernel.outer.B
    found, off = np.zeros(2 * max(len(A), len(B))), kernel.outer.singular_tail + kernel.outer.regular_tail
    with precision(kernel.digits):
        for start, part in ((0, B), (1, A)):
            for j, x in enumerate(part):
                found[2 * j + start], error = x.rounded()
                off += error
    kept = np.flatnonzero(np.abs(found) > NEGLIGIBLE * np.abs(found).max())
    last = int(kept[-1]) + 1
    return found[:last], float(up(off + np.abs(found[last:]).sum(), len(found) + 8))


def _powers(x: Vector, most: int) -> Vector:
    """x⁰ … x^most as columns."""
    table = np.repeat(x[:, None], most + 1, axis=1)
    table[:, 0] = 1.0
    return np.asarray(np.multiply.accumulate(table, axis=1))
