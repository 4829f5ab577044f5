"""Products of many stored vectors with one enclosed vector, by plain matrix products of slices.

Columns are taken in chunks of c = 2¹² and each chunk is cut, as in `slices`, into G = G₁ + G₂ + G₃ and
x = x₁ + x₂ + x₃ with 20 bits of G and 21 of x to a slice. Then G₁x₁, G₁x₂ and G₂x₁ have exact partial sums in any
order, and the rest is at most 1.75 c 2⁻⁴¹ μν, so that its rounding hardly counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.workspace import Workspace
from pinnpoint.rounding.arithmetic import UNIT, gamma, two_sum, up
from pinnpoint.rounding.slices import cut, scale

CHUNK = 4096
ROWS = 16
"""Rows at a time: few enough to stay in cache, and for BLAS to stay in one thread."""
BITS = (20, 21)
SMALL = 2.0**-85
"""Radii below this multiple of the largest entry are bounded together."""


def fits(x: Vector, x_err: Vector | None) -> bool:
    """Whether the radii of x are roundings, for which one bound serves all rows."""
    return x_err is None or bool(np.max(x_err, initial=0.0) <= SMALL * np.max(np.abs(x), initial=0.0))


@np.errstate(over="ignore", invalid="ignore")
def dots(G: Any, x: Vector, x_lo: Vector | None, x_err: Vector | None) -> Any:
    """Double-double enclosure (hi, lo, err) of G(x + x_lo ± x_err), entries below 2⁴⁸⁰ in magnitude.

    Per chunk and row, with S the three exact sums and T = fl(G₁x₃ + G₂(x₂+x₃) + G₃x + G x_lo), the sum of S and T is
    off by at most γ_{c+6} c μ (1.75 · 2⁻⁴¹ ν + ν_lo) + μ Σ x_err. All S and T are added without error.
    """
    K, n = G.shape
    parts, error, work = [], np.zeros(K), Workspace()
    for a in range(0, n, CHUNK):
        v = x[a : a + CHUNK]
        nu = float(scale(np.array([np.max(np.abs(v))]))[0])
        x1, x23 = cut(v, np.array(nu), BITS[1])
        x2, x3 = cut(x23, np.array(nu * 2.0 ** -BITS[1]), BITS[1])  # proofs.md, step 5g
        low = 0.0 if x_lo is None else float(np.max(np.abs(x_lo[a : a + CHUNK])))
        wide = 0.0 if x_err is None else float(np.sum(x_err[a : a + CHUNK])) * (1.0 + 2.0 * gamma(CHUNK))
        first, second = np.stack([x1, x2, x3], axis=1), np.stack([x1, x23], axis=1)
        rest = np.stack([v, v if x_lo is None else x_lo[a : a + CHUNK]], axis=1)
        sums = np.empty((K, 4))
        for i in range(0, K, ROWS):
            g = np.asarray(G[i : i + ROWS, a : a + CHUNK], dtype=np.float64)
            mu = scale(np.maximum(g.max(axis=1), -g.min(axis=1)))
            g1, g2, g3 = (work.array(f"slice {j}", g.shape) for j in range(3))
            cut(g, mu[:, None], BITS[0], (g1, g3))
            cut(g3, mu[:, None] * 2.0 ** -BITS[0], BITS[0], (g2, g3))
            one, two = g1 @ first, g2 @ second
            T = one[:, 2] + two[:, 1] + (g3 @ rest)[:, 0]
            T = T if x_lo is None else T + (g @ rest)[:, 1]
            sums[i : i + ROWS] = np.stack([one[:, 0], one[:, 1], two[:, 0], T], axis=1)
            size = 2.0 * gamma(CHUNK + 8) * CHUNK * (1.75 * 2.0**-41 * nu + low) + wide  # proofs.md, step 5g
            error[i : i + ROWS] += mu * size
        parts.append(sums)
    return _total(np.concatenate(parts, axis=1) if parts else np.zeros((K, 0)), error, n)


def _total(parts: Vector, error: Vector, n: int) -> Any:
    """Rows added without error, rounded to a pair of floats."""
    known = np.isfinite(parts).all(axis=1) & np.isfinite(error)
    parts = np.where(known[:, None], parts, 0.0)
    hi = np.array([math.fsum(row) for row in parts])
    tail = np.array([math.fsum([*row, -h]) for row, h in zip(parts, hi, strict=True)])
    top, rest = two_sum(hi, tail)
    slack = 1.0 + 4.0 * gamma(n // CHUNK + 16)
    err = up(np.abs(tail) * (2.0 * UNIT) + error * slack, 8)
    return np.where(known, top, np.nan), rest, np.where(known, err, np.inf)
