"""Coefficients of g(a + w) for a polynomial w without constant term, by recurrences over the degree.

The same recurrences with every sign positive, applied to the univariate h = Σ A_k t^k, majorise them degree by degree:
Σ_{|α| = k} |[g(a + w)]_α| ≤ [ĝ(h)]_k. All arrays are (batch, monomial, element).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnpoint.base.arrays import Vector
from pinnpoint.taylor.kernels import accumulate
from pinnpoint.taylor.spaces import Space


def exponential(S: Space, w: Vector, y0: Vector) -> Any:
    """Coefficients of y = y0 exp(w): k y_k = Σ j w_j y_{k−j}."""
    y = _start(w, y0)
    for k in range(1, S.q + 1):
        accumulate(y, w, y, *S.euler[k])  # taylor.md, step 2a
    return y


def circular(S: Space, w: Vector, s0: Vector, c0: Vector, sign: float) -> tuple[Any, Any]:
    """Solves s' = c w', c' = sign s w': sine and cosine for −1, the hyperbolic pair and the majorant for 1."""
    s, c = _start(w, s0), _start(w, c0)
    for k in range(1, S.q + 1):
        triples, weights = S.euler[k]
        accumulate(s, w, c, triples, weights)  # taylor.md, step 2a
        accumulate(c, w, s, triples, sign * weights)
    return s, c


def tanh(S: Space, w: Vector, T: Vector, s0: Vector) -> tuple[Any, Any]:
    """Solves y' = s w', s = 1 − y², from y_0 = T and s_0 = 1 − T² given apart."""
    y, s = _start(w, T), _start(w, s0)
    for k in range(1, S.q + 1):
        triples, weights = S.full[k]
        accumulate(y, w, s, *S.euler[k])
        accumulate(s, y, y, triples, -weights)  # taylor.md, step 2a
    return y, s


def tanh_majorant(S: Space, h: Vector, T: Vector, s0: Vector) -> tuple[Any, Any]:
    """Solves v' = g h', g = s0 + 2 T v + v², v_0 = 0."""
    v, g = np.zeros_like(h), _start(h, s0)
    for k in range(1, S.q + 1):
        accumulate(v, h, g, *S.euler[k])  # taylor.md, step 2a
        accumulate(g, v, v, *S.full[k])
        g[:, S.slices[k]] += 2.0 * T[:, None] * v[:, S.slices[k]]
    return v, g


def geometric(S: Space, t: Vector, sign: float) -> Any:
    """1/(1 − sign t)."""
    y = _start(t, 1.0)
    for k in range(1, S.q + 1):
        triples = S.euler[k][0]
        accumulate(y, t, y, triples, np.full(len(triples), sign))  # taylor.md, step 2a
    return y


def root(S: Space, t: Vector, sign: float) -> Any:
    """√(1 + t) for sign −1: 2 y_k = t_k − Σ_{0<j<k} y_j y_{k−j}; sign 1 gives its majorant 1 − √(1 − t), plus one."""
    y = _start(t, 1.0)
    for k in range(1, S.q + 1):
        triples, rows = S.inner[k][0], S.slices[k]
        accumulate(y, y, y, triples, np.full(len(triples), sign))  # taylor.md, step 2a
        y[:, rows] = 0.5 * (t[:, rows] + y[:, rows])
    return y


def logarithm(S: Space, t: NDArray[Any], sign: float) -> Any:
    """log(1 + t) for sign −1: k y_k = k t_k − Σ_{0<j<k} j y_j t_{k−j}; sign 1 gives its majorant −log(1 − t)."""
    y = np.zeros_like(t)
    for k in range(1, S.q + 1):
        triples, weights = S.inner[k]
        accumulate(y, y, t, triples, sign * weights)  # taylor.md, step 2a
        y[:, S.slices[k]] += t[:, S.slices[k]]
    return y


def _start(like: Vector, first: Vector | float) -> Any:
    y = np.zeros_like(like)
    y[:, 0] = first
    return y
