"""Remainders of functions of Taylor models: what is cut off, rounded, or comes in, and ranges as a last resort.

With p = a + w the polynomial, h = Σ A_k t^k its graded norms, W = h(1) and ĝ a majorant of g at a, the coefficients of
g(p) are cut at degree q, and the remainder is

    ĝ(W) − Σ_{k ≤ q} [ĝ(h)]_k  +  Σ_{k ≤ q} γ_{n(k)} [ĝ(h)]_k  +  |g(f) − g(p)|

with n(k) roundings in a coefficient of degree k; functions of the C library count as 4 ulp. Where the majorant has a
pole or is larger, the range of g over the range of f is taken: a constant with half the width as remainder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import UNIT, gammas
from pinnpoint.taylor.spaces import Space

FLOOR = 2.0**-900
"""More than underflow can do within one function: 2⁻¹⁰²² each, amplified by at most WIDEST^q, or by 1 in a ratio."""
LIBM = 32.0 * UNIT
"""Relative error of a function of the C library (4 ulp ≤ 8u), and of a few roundings around it."""


def cut_off(total: Vector, low: Vector) -> Any:
    """Σ_{k > q} [ĝ(h)]_k, as the whole majorant less its first part."""
    return np.maximum(total - low[:, 1:].sum(axis=1), 0.0)  # taylor.md, step 2b


def rounding(S: Space, total: Vector, low: Vector, kind: int) -> Any:
    """Σ γ_{n(k)} [ĝ(h)]_k, and the rounding of the subtraction that gives what is cut off."""
    k = np.arange(S.q + 1)
    n = {1: 12 + k * (S.terms + 8), 2: 24 + 2 * k * (S.terms + 36), 3: 12 + 3 * k * (S.terms + 8)}[kind]
    n[1:] *= 2  # once for the coefficients, once for the majorant's
    return np.einsum("k,zkn->zn", gammas(n), low) + 128.0 * UNIT * total  # taylor.md, step 2c


def incoming_error(e: Vector) -> Any:
    """|g(f) − g(p)|; NaN, from 0 ∞ or 0/0, means that nothing is known."""
    return np.where(np.isnan(e), np.inf, e * (1.0 + 4.0 * LIBM))  # taylor.md, step 2d


def monotone(g: Callable[[Vector], Vector], low: Vector, high: Vector) -> tuple[Any, Any]:
    """Middle and half width of [g(low), g(high)], widened by the library's error."""
    a, b = g(low), g(high)
    a, b = a - LIBM * np.abs(a) - FLOOR, b + LIBM * np.abs(b) + FLOOR  # taylor.md, step 2l
    centre = 0.5 * (a + b)
    radius = np.maximum(b - centre, centre - a) * (1.0 + 4.0 * UNIT)
    return centre, np.where(np.isnan(radius), np.inf, radius)


def lipschitz(g: Callable[[Vector], Vector], low: Vector, high: Vector) -> tuple[Any, Any]:
    """Sine or cosine over a range: its value in the middle and half the width, or 0 and 1."""
    centre, radius = monotone(lambda v: v, low, high)
    near = radius < 0.5
    return np.where(near, g(np.where(near, centre, 0.0)), 0.0), np.where(near, radius + 2.0 * LIBM, 1.0)
