"""Taylor models: polynomials in local coordinates with a proved remainder.

A model (C, e) of a function f on Ω ⊂ [−1, 1]^d says |f − Σ C_α ξ^α| ≤ e for every ξ in Ω. Since |ξ^α| ≤ 1 there, what
is cut off and what is rounded is bounded by sums of absolute coefficients. With A_k = Σ_{|α| = k} |C_α| and
‖A‖ = Σ A_k, the product of (A, a) and (B, b) cut at degree q has the remainder

    a (‖B‖ + b) + ‖A‖ b + Σ_{j + k > q} A_j B_k + Σ_{j + k ≤ q} γ_{n(j + k)} A_j B_k

where n(k) counts the roundings of a coefficient of degree k. A remainder that is not finite is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import add, mul, truediv
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import TINY, UNIT
from pinnpoint.taylor import kernels, remainders, series
from pinnpoint.taylor.remainders import FLOOR, incoming_error, monotone
from pinnpoint.taylor.spaces import MANY, POINT, Space

WIDEST = 1024.0
CALM = 16.0
"""Arguments that vary by more may have models far larger than the function: the range is looked at as well."""


@dataclass(frozen=True, eq=False)
class TaylorModel:
    """|f − Σ C_α ξ^α| ≤ e on Ω; C (M, N) and e (N,), or (B, M, N) and (B, N) for a batch.

    A model over `POINT` is a constant and mixes with every other. `least` and `most` bound f as far as that is known
    otherwise, as for squares: then 1/(1 + x²) is bounded wherever the polynomial of x² is not.
    """

    space: Space
    C: Vector
    e: Vector
    least: float = -np.inf
    most: float = np.inf

    @property
    def nonnegative(self) -> bool:
        """Whether f ≥ 0 is known."""
        return self.least >= 0.0

    __repr__ = brief

    @cached_property
    def graded(self) -> Vector:
        """Upper bounds of A_k, (…, q + 1, N)."""
        C = self.C if self.C.ndim == 3 else self.C[None]
        grow = 1.0 + 2.0 * UNIT * (self.space.terms + 1.0)
        A = kernels.graded(C, self.space.degree, self.space.q) * grow[:, None]  # taylor.md, step 1a
        return A if self.C.ndim == 3 else A[0]

    @cached_property
    def norm(self) -> Vector:
        """Upper bound of Σ |C_α|, (…, N)."""
        return np.asarray(self.graded.sum(axis=-2) * (1.0 + 4.0 * UNIT * (self.space.q + 1)))  # taylor.md, step 1a

    @cached_property
    def bounds(self) -> tuple[Vector, Vector]:
        """Lower and upper bounds of f on Ω."""
        S = self.space
        low, high = np.zeros_like(self.e), np.zeros_like(self.e)
        if S.q >= 1 and S.d >= 1:
            E = self.C[..., S.slices[1], :]
            if S.simplex:
                corners = 2.0 * np.tri(S.d + 1, S.d, -1) - 1.0
                values = np.einsum("ci,...in->...cn", corners, E)  # taylor.md, step 1d
                low, high = low + values.min(axis=-2), high + values.max(axis=-2)
            else:
                low, high = low - np.abs(E).sum(axis=-2), high + np.abs(E).sum(axis=-2)
        if S.q >= 2:
            even = (S.powers % 2 == 0).all(axis=1)
            below, above = kernels.ranged(_three(self.C), even, S.slices[1].stop)  # taylor.md, step 1d
            low, high = low + below.reshape(low.shape), high + above.reshape(high.shape)
        slack = (self.e + 4.0 * UNIT * (S.size + 4.0) * (self.norm - np.abs(self.C[..., 0, :]))) * MANY + TINY
        centre = self.C[..., 0, :]
        with np.errstate(all="ignore"):
            low, high = centre + (low - slack), centre + (high + slack)
            low, high = low - 2.0 * UNIT * np.abs(low), high + 2.0 * UNIT * np.abs(high)
        lost = ~(np.isfinite(low) & np.isfinite(high))
        return np.maximum(np.where(lost, -np.inf, low), self.least), np.minimum(np.where(lost, np.inf, high), self.most)

    def __neg__(self) -> TaylorModel:
        return TaylorModel(self.space, -self.C, self.e, -self.most, -self.least)

    def __add__(self, other: TaylorModel) -> TaylorModel:
        """Sum; a coefficient that the other does not have is kept as it is."""
        if (exact := _exact(self, other, add)) is not None:
            return exact
        a, b = (self, other) if self.space.size >= other.space.size else (other, self)
        with np.errstate(all="ignore"):
            if b.space.size == a.space.size:
                C, size = kernels.added(a.C, b.C)
                rounding = UNIT * size * MANY
            else:
                shape = np.broadcast_shapes(a.C.shape, (*b.C.shape[:-2], 1, b.C.shape[-1]))
                C = np.array(np.broadcast_to(a.C, shape))
                C[..., :1, :] += b.C
                rounding = 2.0 * UNIT * np.abs(C[..., 0, :])
            e = (a.e + b.e + rounding) * (1.0 + 8.0 * UNIT) + TINY  # taylor.md, step 1b
        return settled(a.space, C, e, _below(a.least + b.least), -_below(-a.most - b.most))

    def __sub__(self, other: TaylorModel) -> TaylorModel:
        return self + (-other)

    def __mul__(self, other: TaylorModel) -> TaylorModel:
        if (exact := _exact(self, other, mul)) is not None:
            return exact
        a, b = (self, other) if self.space.size >= other.space.size else (other, self)
        known = _product(a, b)
        with np.errstate(all="ignore"):
            if b.space.size == 1:
                C = a.C * b.C
                c = np.abs(b.C[..., 0, :])
                e = _incoming(a, b) + 2.0 * UNIT * a.norm * c
                return settled(a.space, C, e * MANY + TINY, *known)
            C = np.zeros(np.broadcast_shapes(a.C.shape, b.C.shape))
            flat = C.reshape(-1, *C.shape[-2:])
            whole = a.C.shape == b.C.shape
            left, right = (
                _three(x.C if whole else np.ascontiguousarray(np.broadcast_to(x.C, C.shape))) for x in (a, b)
            )
            kernels.accumulate(flat, left, right, a.space.triples, a.space.ones)
            A, B = (_three(np.ascontiguousarray(g)) for g in np.broadcast_arrays(a.graded, b.graded))
            charge = kernels.weighted(A, B, a.space.charges)  # taylor.md, step 1c
            charge = charge if C.ndim == 3 else charge[0]
            return settled(a.space, C, (_incoming(a, b) + charge) * MANY + TINY, *known)  # taylor.md, step 1c

    def __truediv__(self, other: TaylorModel) -> TaylorModel:
        if (exact := _exact(self, other, truediv)) is not None:
            return exact
        return self * reciprocal(other)

    def __pow__(self, n: int) -> TaylorModel:
        """Integer powers, by repeated squaring."""
        if n < 0:
            return constant(1.0) / self ** (-n)
        result, square = None, self
        while n:
            if n & 1:
                result = square if result is None else result * square
            n >>= 1
            if n:
                square = square * square
        return constant(1.0) if result is None else result


def constant(value: ArrayLike, error: ArrayLike = 0.0) -> TaylorModel:
    """A number, or one for each element, within the given error."""
    v = np.atleast_1d(np.asarray(value, dtype=np.float64))
    e = np.atleast_1d(np.asarray(error, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        low, high = float(np.min(v - e)), float(np.max(v + e))
    known = (_below(low), -_below(-high)) if math.isfinite(low) and math.isfinite(high) else ()
    return TaylorModel(POINT, v[None, :], np.array(np.broadcast_to(e, v.shape)), *known)


def settled(space: Space, C: Vector, e: Vector, least: float = -np.inf, most: float = np.inf) -> TaylorModel:
    """A model as it may be used: what is not finite is replaced by zero with an infinite remainder."""
    if not np.isfinite(e).all() or not np.isfinite(C).all():  # taylor.md, step 1f
        lost = ~(np.isfinite(e) & np.isfinite(C).all(axis=-2))
        C = np.where(lost[..., None, :], 0.0, C)
        e = np.where(lost, np.inf, e)
    return TaylorModel(space, C, e, least, most)


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
    y: Vector,
    total: Vector,
    low: Vector,
    incoming: Vector,
    hull: Callable[[], tuple[Any, Any]],
    kind: int = 1,
    *,
    scale: Vector | None = None,
    valid: Mask | None = None,
    nonnegative: bool = False,
) -> TaylorModel:
    """The model with coefficients y: `total` is ĝ(W) − ĝ(0), `low` holds [ĝ(h)]_k with the size of y_0 first.

    kind counts roundings: 1 for recurrences linear in y, 2 for quadratic ones, 3 for complex arithmetic.
    """
    e = remainders.cut_off(total, low) + remainders.rounding(p.S, total, low, kind) + FLOOR
    if scale is not None:
        y = y * scale[:, None]
        e = e * np.abs(scale)
    e = (e + incoming) * MANY
    if valid is not None:
        e = np.where(valid, e, np.inf)  # taylor.md, step 2m
    if p.model.C.ndim == 2:
        y, e = y[0], e[0]
    size = np.abs(y).sum(axis=-2)
    if bool((e <= 1e-3 * size).all()) and bool((p.W <= CALM).all()):
        return settled(p.S, y, e, 0.0 if nonnegative else -np.inf)
    centre, radius = hull()
    if p.model.C.ndim == 2:
        centre, radius = centre[0], radius[0]
    return smaller(p.S, y, e, (centre, radius), nonnegative)


def smaller(space: Space, C: Vector, e: Vector, hull: tuple[Any, Any], nonnegative: bool = False) -> TaylorModel:
    """The model, or the constant of the hull where that has the smaller remainder."""
    centre, radius = hull
    lost = ~(np.isfinite(e) & np.isfinite(C).all(axis=-2))
    e = np.where(lost, np.inf, e)
    constant_wins = np.isfinite(centre) & (radius < e)  # taylor.md, step 2l
    C = np.where((constant_wins | lost)[..., None, :], 0.0, C)
    C[..., 0, :] = np.where(constant_wins, centre, C[..., 0, :])
    return settled(space, C, np.where(constant_wins, radius, e), 0.0 if nonnegative else -np.inf)


def relative(p: Argument, a: Vector) -> tuple[Any, Any, Any]:
    """w/a, the graded norms of it, and their sum."""
    grow = 1.0 + 4.0 * UNIT
    size = np.abs(a)
    return p.w / a[:, None], p.h / size[:, None] * grow, p.all / size * grow


def reciprocal(x: TaylorModel) -> TaylorModel:
    """1/x = (1/a) / (1 + w/a); majorant 1/(1 − z/|a|), infinite unless x keeps its sign."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        t, h, Z = relative(p, p.a)
        y, low = series.geometric(p.S, t, -1.0), series.geometric(p.S.line, h, 1.0)  # taylor.md, step 2h
        low_f, high_f = p.range
        near = p.nearest

        def hull() -> tuple[Any, Any]:
            centre, radius = monotone(lambda v: 1.0 / v, high_f, low_f)
            return centre, np.where(near > 0.0, radius, np.inf)

        incoming = incoming_error(p.e / (near * near))
        return model(
            p, y, Z / (1.0 - Z), low, incoming, hull, scale=1.0 / p.a, valid=Z < 1.0, nonnegative=x.nonnegative
        )


def _exact(a: TaylorModel, b: TaylorModel, operation: Callable[[Any, Any], Any]) -> TaylorModel | None:
    """The result for two exact numbers where it is a float, so that 1/2 in a formula stays exact."""
    if a.C.size > 1 or b.C.size > 1 or a.space.d or b.space.d or a.e.any() or b.e.any():
        return None
    x, y = a.C.item(), b.C.item()
    try:
        value = operation(x, y)
        same = Fraction(value) == operation(Fraction(x), Fraction(y))  # taylor.md, step 1e
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return constant(value) if same else None


def _incoming(a: TaylorModel, b: TaylorModel) -> Vector:
    """What the remainders of the factors contribute to a product; 0 ∞ counts as ∞."""
    total = a.e * (b.norm + b.e) + a.norm * b.e  # taylor.md, step 1c
    return np.where(np.isnan(total), np.inf, total)


def _below(x: float) -> float:
    """A float that is certainly at most what x is the rounding of; zero is exact."""
    return x if x == 0.0 else math.nextafter(x, -math.inf)


def _times(x: float, y: float) -> float:
    """A product that is zero only if a factor is, also if the other is infinite."""
    p = x * y if x and y else 0.0
    return p if p or not (x and y) else math.copysign(5e-324, x) * math.copysign(1.0, y)


def _product(a: TaylorModel, b: TaylorModel) -> tuple[float, float]:
    """Bounds of a product from those of its factors."""
    ends = [_times(x, y) for x in (a.least, a.most) for y in (b.least, b.most)]
    least, most = min(ends), max(ends)
    if a is b:
        least = min(ends[0], ends[3]) if a.least > 0.0 or a.most < 0.0 else 0.0  # taylor.md, step 1d
    return _below(least), -_below(-most)


def _three(C: Vector) -> Vector:
    return C if C.ndim == 3 else C[None]
