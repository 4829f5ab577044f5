"""Elementary functions of Taylor models, by recurrences for the coefficients and majorants for the rest.

Where a formula is undefined by no more than the rounding of its argument, for example √x at x = 0, the argument is
moved into the domain; where it is undefined by more, or near a pole, the remainder is infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.taylor import series
from pinnpoint.taylor.models import Argument, TaylorModel, constant, model, reciprocal, relative, settled, smaller
from pinnpoint.taylor.remainders import FLOOR, LIBM, incoming_error, lipschitz, monotone
from pinnpoint.taylor.spaces import MANY, POINT


def exp(x: TaylorModel) -> TaylorModel:
    """e^x; majorant e^{a+z}."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        y0 = np.exp(p.a)
        low = series.exponential(p.S.line, p.h, y0)  # taylor.md, step 2e
        incoming = incoming_error(y0 * np.exp(p.W) * np.expm1(p.e))
        y = series.exponential(p.S, p.w, y0)
        return model(p, y, y0 * np.expm1(p.W), low, incoming, lambda: monotone(np.exp, *p.range), nonnegative=True)


def sincos(x: TaylorModel) -> tuple[TaylorModel, TaylorModel]:
    """Both sin x and cos x; majorants |sin a| cosh z + |cos a| sinh z and the like."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        s0, c0 = np.sin(p.a), np.cos(p.a)
        s, c = series.circular(p.S, p.w, s0, c0, -1.0)
        s0, c0 = np.abs(s0), np.abs(c0)
        low_s, low_c = series.circular(p.S.line, p.h, s0, c0, 1.0)  # taylor.md, step 2f
        even, odd = 2.0 * np.sinh(0.5 * p.W) ** 2, np.sinh(p.W)
        incoming = incoming_error(p.e)
        return (
            model(p, s, s0 * even + c0 * odd, low_s, incoming, lambda: lipschitz(np.sin, *p.range)),
            model(p, c, c0 * even + s0 * odd, low_c, incoming, lambda: lipschitz(np.cos, *p.range)),
        )


def sin(x: TaylorModel) -> TaylorModel:
    """The sine."""
    return sincos(x)[0]


def cos(x: TaylorModel) -> TaylorModel:
    """The cosine."""
    return sincos(x)[1]


def tan(x: TaylorModel) -> TaylorModel:
    """The tangent, sin x / cos x."""
    s, c = sincos(x)
    return s / c


def sinhcosh(x: TaylorModel) -> tuple[TaylorModel, TaylorModel]:
    """Both sinh x and cosh x; majorants |sinh a| cosh z + cosh a sinh z and the like."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        s0, c0 = np.sinh(p.a), np.cosh(p.a)
        s, c = series.circular(p.S, p.w, s0, c0, 1.0)
        low_s, low_c = series.circular(p.S.line, p.h, np.abs(s0), c0, 1.0)  # taylor.md, step 2f
        even, odd = 2.0 * np.sinh(0.5 * p.W) ** 2, np.sinh(p.W)
        low, high = p.range
        incoming = incoming_error(p.e * np.cosh(np.maximum(-low, high)))
        far, near = np.maximum(-low, high), p.nearest
        return (
            model(p, s, np.abs(s0) * even + c0 * odd, low_s, incoming, lambda: monotone(np.sinh, low, high)),
            model(
                p,
                c,
                c0 * even + np.abs(s0) * odd,
                low_c,
                incoming,
                lambda: monotone(np.cosh, near, far),
                nonnegative=True,
            ),
        )


def sinh(x: TaylorModel) -> TaylorModel:
    """The hyperbolic sine."""
    return sinhcosh(x)[0]


def cosh(x: TaylorModel) -> TaylorModel:
    """The hyperbolic cosine."""
    return sinhcosh(x)[1]


def tanh2(x: TaylorModel) -> tuple[TaylorModel, TaylorModel]:
    """Both tanh x and 1/cosh² x; majorant v' = s0 + 2|T|v + v² with T = tanh a, s0 = 1/cosh² a to relative accuracy."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        T, s0 = np.tanh(p.a), _sech2(p.a)
        y, s = series.tanh(p.S, p.w, T, s0)
        T, s0 = np.minimum(np.abs(T) * (1.0 + LIBM), 1.0), s0 * (1.0 + 4.0 * LIBM)
        low_v, low_g = series.tanh_majorant(p.S.line, p.h, T, s0)  # taylor.md, step 2g
        v = _tanh_total(T, s0, p.W)
        low_v[:, 0] = T
        near, far = p.nearest, np.maximum(-p.range[0], p.range[1])
        slope = _sech2(near) * (1.0 + 4.0 * LIBM)
        return (
            model(p, y, v, low_v, incoming_error(p.e * slope), lambda: monotone(np.tanh, *p.range), 2),
            model(
                p,
                s,
                2.0 * T * v + v * v,
                low_g,
                incoming_error(p.e * np.minimum(0.77, 2.0 * slope)),
                lambda: monotone(_sech2, far, near),
                2,
            ),
        )


def tanh(x: TaylorModel) -> TaylorModel:
    """The hyperbolic tangent."""
    return tanh2(x)[0]


def sqrt(x: TaylorModel) -> TaylorModel:
    """√x = √a √(1 + w/a); majorant 1 − √(1 − z/a)."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        t, h, Z = relative(p, p.a)
        y, low = series.root(p.S, t, -1.0), series.root(p.S.line, h, 1.0)  # taylor.md, step 2i
        low_f, high_f = p.range
        into = np.where(low_f >= -p.slip, np.maximum(low_f, 0.0), np.nan)
        incoming = incoming_error(0.5 * p.e / np.sqrt(np.maximum(low_f, 0.0)))
        total, valid = Z / (1.0 + np.sqrt(1.0 - Z)), (Z < 1.0) & (low_f > 0.0)
        hull = lambda: monotone(np.sqrt, into, high_f)  # noqa: E731
        scale = np.sqrt(np.maximum(p.a, 0.0))
        return model(p, y, total, low, incoming, hull, 2, scale=scale, valid=valid, nonnegative=True)


def log(x: TaylorModel) -> TaylorModel:
    """The logarithm log a + log(1 + w/a); majorant −log(1 − z/a)."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        t, h, Z = relative(p, p.a)
        y, low = series.logarithm(p.S, t, -1.0), series.logarithm(p.S.line, h, 1.0)  # taylor.md, step 2j
        y[:, 0] = np.log(np.maximum(p.a, 0.0))
        low[:, 0] = np.abs(y[:, 0])
        low_f, high_f = p.range
        valid = (Z < 1.0) & (low_f > 0.0)
        hull = lambda: monotone(np.log, np.where(low_f > 0.0, low_f, np.nan), high_f)  # noqa: E731
        return model(p, y, -np.log1p(-Z), low, incoming_error(p.e / low_f), hull, valid=valid)


def atan(x: TaylorModel) -> TaylorModel:
    """The arctangent atan a + Im log(1 + κ w), κ = (a + i)/(1 + a²); majorant −log(1 − z/√(1 + a²))."""
    with np.errstate(all="ignore"):
        p = Argument(x)
        square = 1.0 + p.a * p.a
        rho = np.sqrt(square) * (1.0 - 8.0 * UNIT)
        t = ((p.a + 1j) / square)[:, None] * p.w
        y = np.ascontiguousarray(series.logarithm(p.S, t, -1.0).imag)
        h = p.h / rho[:, None] * (1.0 + 4.0 * UNIT)
        low = series.logarithm(p.S.line, h, 1.0)  # taylor.md, step 2k
        y[:, 0] = np.arctan(p.a)
        low[:, 0] = np.abs(y[:, 0])
        Z = p.all / rho * (1.0 + 4.0 * UNIT)
        incoming = incoming_error(p.e / (1.0 + p.nearest**2))
        hull = lambda: monotone(np.arctan, *p.range)  # noqa: E731
        valid = (Z < 1.0) & np.isfinite(square)
        return model(p, y, -np.log1p(-Z), low, incoming, hull, 3, valid=valid)


def asin(x: TaylorModel) -> TaylorModel:
    """The arcsine atan(x / √(1 − x²))."""
    with np.errstate(all="ignore"):
        one = constant(1.0)
        y = atan(x / sqrt((one - x) * (one + x)))
        low, high = x.bounds
        slip = 1024.0 * UNIT * (x.norm + 1.0)
        low = np.where(low >= -1.0 - slip, np.maximum(low, -1.0), np.nan)
        high = np.where(high <= 1.0 + slip, np.minimum(high, 1.0), np.nan)
        e = np.where(np.isnan(low) | np.isnan(high), np.inf, y.e)  # the arctangent is finite whatever its argument
        return smaller(x.space, y.C, e, monotone(np.arcsin, low, high))


def acos(x: TaylorModel) -> TaylorModel:
    """The arccosine π/2 − asin x."""
    return constant(0.5 * np.pi, 2.0 * UNIT) - asin(x)


def absolute(x: TaylorModel) -> TaylorModel:
    """|x|: ± x where the sign is known, else a constant."""
    slack, sign = _signs(x)
    with np.errstate(all="ignore"):
        high = np.maximum(-x.bounds[0], x.bounds[1])
        centre, radius = monotone(lambda v: v, np.zeros_like(high), high)
        e = np.where(sign == 0.0, radius, (x.e + 2.0 * slack) * MANY)
    C = x.C * sign[..., None, :]
    C[..., 0, :] += np.where(sign == 0.0, centre, 0.0)
    return settled(x.space, C, e, 0.0)


def side(x: TaylorModel) -> TaylorModel:
    """The derivative of |x| by x, where it has one: 1 or −1 where x has one sign, else 0 ± 1."""
    low, high = x.bounds
    sign = np.where(low >= 0.0, 1.0, np.where(high <= 0.0, -1.0, 0.0))
    return TaylorModel(POINT, sign[..., None, :], np.where(sign == 0.0, 1.0, 0.0), -1.0, 1.0)


def maximum(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """max(a, b): the larger one where that is known, else the middle plus half the distance."""
    difference = a - b
    slack, sign = _signs(difference)
    mixed = (a + b + absolute(difference)) * constant(0.5)
    space = mixed.space
    zero = TaylorModel(space, np.zeros_like(mixed.C), np.zeros_like(mixed.e), 0.0, 0.0)
    a, b = a + zero, b + zero
    chosen = np.where(sign > 0.0, 1, np.where(sign < 0.0, 2, 0))
    C = np.choose(chosen[..., None, :], [mixed.C, a.C, b.C])
    e = np.choose(chosen, [mixed.e, (a.e + slack) * MANY, (b.e + slack) * MANY])
    return settled(space, C, e, max(a.least, b.least), max(a.most, b.most))


def minimum(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """min(a, b) = −max(−a, −b)."""
    return -maximum(-a, -b)


def power(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """a^b: products for whole b, √ for halves, else exp(b log a)."""
    if b.space.size == 1 and b.C.size == 1 and not b.e.any():
        n = float(b.C.flat[0])
        if n == int(n) and abs(n) < 2**20:
            return a ** int(n) if n else a * constant(0.0) + constant(1.0)
        if 2.0 * n == int(2.0 * n) and abs(n) < 2**20:
            half = sqrt(a)
            return (
                half * a ** int(n - 0.5) if n > 0.5 else (half if n == 0.5 else reciprocal(half * a ** int(-n - 0.5)))
            )
    y = exp(b * log(a))
    if b.space.size > 1 or not (b.C > 0.0).all():
        return y
    with np.errstate(all="ignore"):
        low, high = a.bounds
        low = np.where(low >= -1024.0 * UNIT * a.norm - FLOOR, np.maximum(low, 0.0), np.nan)
        exponent, wide = b.C[..., 0, :], b.e
        tops = np.maximum(high ** (exponent - wide), high ** (exponent + wide)) * (1.0 + LIBM)
        bottoms = np.minimum(low ** (exponent - wide), low ** (exponent + wide)) * (1.0 - LIBM)
        return smaller(y.space, y.C, y.e, monotone(lambda v: v, bottoms, tops))


def _sech2(a: Vector) -> Any:
    return 1.0 / np.cosh(np.clip(a, -330.0, 330.0)) ** 2


def _tanh_total(T: Vector, s0: Vector, z: Vector) -> Any:
    """Upper bound of v(z), v' = s0 + 2 T v + v², v(0) = 0: s0 t/(1 − T t), t = tan(c z)/c, c² = s0 − T²."""
    c2 = s0 - T * T + LIBM
    x = c2 * z * z
    c = np.sqrt(np.abs(c2))
    c = np.where(c2 > 0.0, c * (1.0 + 4.0 * UNIT), c * (1.0 - 4.0 * UNIT))
    cz = c * z * (1.0 + 4.0 * UNIT)
    series_of_t = 1.0 + x / 3.0 + 2.0 * x * x / 15.0 + 17.0 * x * x * x / 315.0 + 0.023 * x**4
    t = np.where(x > 0.0, np.where(cz < 1.5, np.tan(np.minimum(cz, 1.5)) / c, np.inf), np.tanh(cz) / c)
    t = np.where(np.abs(x) < 1e-4, z * series_of_t, t) * (1.0 + LIBM)
    d = 1.0 - T * t
    d = d - 4.0 * UNIT * (1.0 + T * t)
    return np.where(d > 1e-3, s0 * t / d * (1.0 + LIBM), np.inf)  # taylor.md, step 2g


def _signs(x: TaylorModel) -> tuple[Any, Any]:
    """Where x has one sign on Ω up to rounding: the slack, and 1, −1 or 0 for the sign, 0 where it is not known."""
    low, high = x.bounds
    slip = 1024.0 * UNIT * x.norm + FLOOR
    sign = np.where(low >= -slip, 1.0, np.where(high <= slip, -1.0, 0.0))
    slack = np.where(sign > 0.0, np.maximum(-low, 0.0), np.where(sign < 0.0, np.maximum(high, 0.0), 0.0))
    return slack, sign
