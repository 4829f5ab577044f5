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

from pinnpoint.rounding.arithmetic import UNIT, gammas
from pinnpoint.taylor.models import MANY, Space, TaylorModel, settled

FLOOR = 2.0**-900
"""More than underflow can do within one function: 2⁻¹⁰²² each, amplified by at most WIDEST^q, or by 1 in a ratio."""
WIDEST = 1024.0
CALM = 16.0
"""Arguments that vary by more may have models far larger than the function: the range is looked at as well."""
LIBM = 32.0 * UNIT
"""Relative error of a function of the C library (4 ulp ≤ 8u), and of a few roundings around it."""


class Argument:
    """The parts of a model that a function needs, as (batch, …) arrays.

    W, the size of the nonconstant part, is infinite beyond `WIDEST`. Functions of w divided by a size of a's, whose
    series has a radius of convergence, take `all`, which is not: 1/x is as good for x = 10⁶(2 + ξ) as for 2 + ξ.
    """

    def __init__(self, x: TaylorModel) -> None:
        self.model = x
        C, A, self.e = (v if x.C.ndim == 3 else v[None] for v in (x.C, x.graded, x.e))
        self.S, self.a = x.space, C[:, 0].copy()
        self.w, self.h = C.copy(), A.copy()
        self.w[:, 0], self.h[:, 0] = 0.0, 0.0
        self.all = self.h.sum(axis=1) * (1.0 + 4.0 * UNIT * (self.S.q + 1))
        self.W = np.where(WIDEST > self.all, self.all, np.inf)

    @property
    def range(self) -> tuple[Any, Any]:
        """Bounds of f, as (batch, element)."""
        low, high = self.model.bounds
        return (low, high) if low.ndim == 2 else (low[None], high[None])

    @property
    def nearest(self) -> Any:
        """Lower bound of |f|."""
        low, high = self.range
        return np.maximum(np.maximum(low, -high), 0.0)

    @property
    def slip(self) -> Any:
        """How far outside its domain an argument may seem to be through rounding alone."""
        norm = self.model.norm if self.model.norm.ndim == 2 else self.model.norm[None]
        return 1024.0 * UNIT * norm + FLOOR


def model(
    p: Argument,
    y: Any,
    total: Any,
    low: Any,
    incoming: Any,
    hull: Callable[[], tuple[Any, Any]],
    kind: int = 1,
    *,
    scale: Any = None,
    valid: Any = None,
    nonnegative: bool = False,
) -> TaylorModel:
    """The model with coefficients y: `total` is ĝ(W) − ĝ(0), `low` holds [ĝ(h)]_k with the size of y_0 first.

    kind counts roundings: 1 for recurrences linear in y, 2 for quadratic ones, 3 for complex arithmetic.
    """
    e = cut_off(total, low) + rounding(p.S, total, low, kind) + FLOOR
    if scale is not None:
        y = y * scale[:, None]
        e = e * np.abs(scale)
    e = (e + incoming) * MANY
    if valid is not None:
        e = np.where(valid, e, np.inf)
    if p.model.C.ndim == 2:
        y, e = y[0], e[0]
    size = np.abs(y).sum(axis=-2)
    if bool((e <= 1e-3 * size).all()) and bool((p.W <= CALM).all()):
        return settled(p.S, y, e, 0.0 if nonnegative else -np.inf)
    centre, radius = hull()
    if p.model.C.ndim == 2:
        centre, radius = centre[0], radius[0]
    return smaller(p.S, y, e, (centre, radius), nonnegative)


def cut_off(total: Any, low: Any) -> Any:
    """Σ_{k > q} [ĝ(h)]_k, as the whole majorant less its first part."""
    return np.maximum(total - low[:, 1:].sum(axis=1), 0.0)


def rounding(S: Space, total: Any, low: Any, kind: int) -> Any:
    """Σ γ_{n(k)} [ĝ(h)]_k, and the rounding of the subtraction that gives what is cut off."""
    k = np.arange(S.q + 1)
    n = {1: 12 + k * (S.terms + 8), 2: 24 + 2 * k * (S.terms + 36), 3: 12 + 3 * k * (S.terms + 8)}[kind]
    n[1:] *= 2  # once for the coefficients, once for the majorant's
    return np.einsum("k,zkn->zn", gammas(n), low) + 128.0 * UNIT * total


def incoming_error(e: Any) -> Any:
    """|g(f) − g(p)|; NaN, from 0 ∞ or 0/0, means that nothing is known."""
    return np.where(np.isnan(e), np.inf, e * (1.0 + 4.0 * LIBM))


def smaller(space: Space, C: Any, e: Any, hull: tuple[Any, Any], nonnegative: bool = False) -> TaylorModel:
    """The model, or the constant of the hull where that has the smaller remainder."""
    centre, radius = hull
    lost = ~(np.isfinite(e) & np.isfinite(C).all(axis=-2))
    e = np.where(lost, np.inf, e)
    constant_wins = np.isfinite(centre) & (radius < e)
    C = np.where((constant_wins | lost)[..., None, :], 0.0, C)
    C[..., 0, :] = np.where(constant_wins, centre, C[..., 0, :])
    return settled(space, C, np.where(constant_wins, radius, e), 0.0 if nonnegative else -np.inf)


def monotone(g: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Middle and half width of [g(low), g(high)], widened by the library's error."""
    a, b = g(low), g(high)
    a, b = a - LIBM * np.abs(a) - FLOOR, b + LIBM * np.abs(b) + FLOOR
    centre = 0.5 * (a + b)
    radius = np.maximum(b - centre, centre - a) * (1.0 + 4.0 * UNIT)
    return centre, np.where(np.isnan(radius), np.inf, radius)


def lipschitz(g: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Sine or cosine over a range: its value in the middle and half the width, or 0 and 1."""
    centre, radius = monotone(lambda v: v, low, high)
    near = radius < 0.5
    return np.where(near, g(np.where(near, centre, 0.0)), 0.0), np.where(near, radius + 2.0 * LIBM, 1.0)


def relative(p: Argument, a: Any) -> tuple[Any, Any, Any]:
    """w/a, the graded norms of it, and their sum."""
    grow = 1.0 + 4.0 * UNIT
    size = np.abs(a)
    return p.w / a[:, None], p.h / size[:, None] * grow, p.all / size * grow
