"""Functions known by their derivatives: log(1 + e^x) and the error function.

Ω is star-shaped about ξ = 0. Along the ray τ ↦ τξ the polynomial p = a + w changes by Σ_j j w_j(ξ) τ^{j−1} dτ, w_j of
degree j; with a model (G, ε) of g′(p) therefore

    g(p(ξ)) = g(a) + Σ_{j ≥ 1, k} j/(j + k) w_j(ξ) G_k(ξ) + rest,    |rest| ≤ ε Σ_α |w_α|,

of which the terms with j + k > q are cut off. A model of g′(f) for every f within e of p is one of g′(p) too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import UNIT, gammas
from pinnpoint.taylor import functions, kernels
from pinnpoint.taylor.models import Argument, TaylorModel, constant, settled, smaller
from pinnpoint.taylor.remainders import FLOOR, LIBM, incoming_error, monotone
from pinnpoint.taylor.spaces import MANY, Space

HALF_ROOT = constant(np.sqrt(0.5), 2.0 * UNIT)
"""1/√2, as a ball; so are 1/√(2π) and 2/√π."""
DENSITY_AT_ZERO = constant(1.0 / np.sqrt(2.0 * np.pi), 8.0 * UNIT)
SLOPE_AT_ZERO = constant(2.0 / np.sqrt(np.pi), 8.0 * UNIT)


def along_rays(
    x: TaylorModel,
    start: Vector,
    derivative: TaylorModel,
    steepest: Vector | float,
    hull: Callable[[Vector, Vector], tuple[Vector, Vector]],
) -> TaylorModel:
    """The model of g(f) from g(a), the model of g′(f), and bounds of |g′| and of the range of g(f)."""
    with np.errstate(all="ignore"):
        p, S = Argument(x), x.space
        G, B, eps = (v if derivative.C.ndim == 3 else v[None] for v in (derivative.C, derivative.graded, derivative.e))
        y = np.zeros_like(p.w)
        y[:, 0] = start
        for k in range(1, S.q + 1):
            kernels.accumulate(y, p.w, G, *S.euler[k])  # taylor.md, step 3a
        charge = ray_charge(S, p.h, B)
        e = eps * p.W + charge + LIBM * np.abs(start) + FLOOR  # taylor.md, step 3a
        e = np.where(np.isnan(e), np.inf, e) + incoming_error(p.e * steepest)
        e = e * MANY
        centre, radius = hull(*p.range)
        if x.C.ndim == 2:
            y, e, centre, radius = y[0], e[0], centre[0], radius[0]
        return smaller(S, y, e, (centre, radius))


def ray_charge(S: Space, A: Vector, B: Vector) -> Vector:
    """Σ j/(j + k) A_j B_k over what is cut off, and its roundings over what is kept."""
    # taylor.md, step 3b
    return kernels.weighted(np.ascontiguousarray(A * np.arange(S.q + 1.0)[:, None]), B, _ray_weights(S.d, S.q))


@cache
def _ray_weights(d: int, q: int) -> Vector:
    """1/(j + k) times what a term costs, by j + k; products of a weight, a coefficient and another, then a sum."""
    S = Space(d, q)
    n = np.arange(2 * q + 1.0)
    cost = np.concatenate([gammas(S.terms + 5), np.ones(q)])
    return np.asarray(cost / np.maximum(n, 1.0) * (1.0 + 8.0 * UNIT))


def sigmoid2(x: TaylorModel) -> tuple[TaylorModel, TaylorModel, TaylorModel]:
    """σ = 1/(1 + e^−x) = (1 + T)/2, σ′ = s/4 and σ″ = −T s/4, with T = tanh(x/2) and s = 1 − T²."""
    T, s = functions.tanh2(x * constant(0.5))
    slope = s * constant(0.25)
    return (constant(1.0) + T) * constant(0.5), slope, -(T * slope)


def softplus(x: TaylorModel) -> tuple[TaylorModel, TaylorModel, TaylorModel]:
    """log(1 + e^x) with σ and σ′, its derivatives."""
    x = settled(x.space, x.C, x.e)
    slope, curvature, _ = sigmoid2(x)
    with np.errstate(all="ignore"):
        a = _first(x)
        y = along_rays(x, _softplus(a), slope, 1.0, lambda low, high: monotone(_softplus, low, high))
    return y, slope, curvature


def normal(x: TaylorModel) -> tuple[TaylorModel, TaylorModel, TaylorModel]:
    """Φ(x) = (1 + erf(x/√2))/2, its density e^(−x²/2)/√(2π), and −x times that."""
    x = settled(x.space, x.C, x.e)
    z = x * HALF_ROOT
    gauss = functions.exp(-(z * z))
    density = gauss * DENSITY_AT_ZERO
    with np.errstate(all="ignore"):
        steep = gauss * SLOPE_AT_ZERO
        top = np.minimum(_batch(steep.bounds[1]), 1.13)
        erf = scipy.special.erf
        Y = along_rays(z, erf(_first(z)), steep, top, lambda low, high: monotone(erf, low, high))
    return (constant(1.0) + Y) * constant(0.5), density, -(x * density)


def _softplus(a: Vector) -> Any:
    return np.maximum(a, 0.0) + np.log1p(np.exp(-np.abs(a)))


def _first(x: TaylorModel) -> Any:
    return _batch(x.C[..., 0, :])


def _batch(v: Vector) -> Any:
    return v if v.ndim == 2 else v[None]
