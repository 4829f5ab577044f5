"""Data terms of elastic points: polynomial displacements in rationals, and others by quadrature."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy as sy

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.taylor.inputs import model_of
from pinnpoint.transfer.elastic.kelvin import kelvin_of
from pinnpoint.transfer.elastic.kernel_terms import displacement_term, tensor_term
from pinnpoint.transfer.elastic.radial import DIGITS
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.work import Work

R, LAM, MU = 0.75, 1.75, 0.625
X0 = np.array([0.25, 0.5, -0.125])
POINTS = [(2, 0.0), (3, 0.0), (2, 0.3), (3, 0.3), (2, R)]


def gradient_term(kernel, f, k, axis, x0, tolerance):
    """−∫_B f·∂_lΦ_k dx with l = axis."""
    return tensor_term(kernel, f, [(1.0, k, axis)], x0, tolerance)


def fourth(K):
    """Average of y₀⁴ minus ∫ϱ y₀⁴, in rationals: on a sphere the mean of e₀⁴ is 3/(d(d + 2))."""
    d, scale = K.d, Fraction(K.radius) ** 4
    p = [(-1) ** j * (K.density[0] * math.comb(3, j) + K.density[1] * math.comb(4, j)) for j in range(5)]
    there = scale * sum(c / (2 * j + 4 + d) for j, c in enumerate(p))
    here = Fraction(K.average) ** 4 * Fraction(d, d + 4)
    return Fraction(3, d * (d + 2)) * (here - there)


def power(n, axis, factor):
    """Factor (x_axis − x₀)^n as a formula."""
    return parse(f"({factor!r})*({'xyz'[axis]}-({float(X0[axis])!r}))**{n}")


def exact_cases(K):
    """Data term and its rational truth for u_0 = y₀⁴, y₀⁵, y₁⁵ and u_1 = y₁⁴."""
    d, x0, top = K.d, X0[: K.d], fourth(K)
    small = 1e-7 if d == 2 else 1e-5
    none = [0.0] * d
    u = [power(2, 0, -12.0 * (LAM + 2 * MU)), *none[1:]]
    yield displacement_term(K, u, 0, x0, small), top
    u = [0.0, power(2, 1, -12.0 * (LAM + 2 * MU)), *none[2:]]
    yield displacement_term(K, u, 1, x0, small), top
    u = [power(3, 0, -20.0 * (LAM + 2 * MU)), *none[1:]]
    yield gradient_term(K, u, 0, 0, x0, small), 5 * top
    u = [power(3, 1, -20.0 * MU), *none[1:]]
    yield gradient_term(K, u, 0, 1, x0, small), 5 * top


@pytest.mark.parametrize(("d", "r0"), POINTS)
def test_polynomials_in_rationals(d, r0):
    for (value, error, proved), truth in exact_cases(kelvin_of(d, LAM, MU, R, r0)):
        assert proved
        assert abs(Fraction(value) - truth) <= Fraction(error)
        assert error <= 1e-5
        assert abs(truth) > 1e-4


def spoiled(d, name, value):
    K = kelvin_of(d, LAM, MU, R)
    K.__dict__[name] = value
    return K


@pytest.mark.parametrize("d", [2, 3])
def test_sabotage_is_found(d):
    with precision(DIGITS):
        theta = kelvin_of(d, LAM, MU, R).theta * Enclosed.of(Fraction(1001, 1000))
    x = Fraction(d, 2)
    alone = (2 * x * (x + 1) * (x + 2) * (x + 3) / 6, Fraction(0))  # the mass without the second moment
    for K in (spoiled(d, "theta", theta), spoiled(d, "density", alone)):
        assert any(abs(Fraction(value) - truth) > 10 * error for (value, error, _), truth in exact_cases(K))


@pytest.mark.parametrize("d", [2, 3])
def test_affine_forces_contribute_nothing(d):
    K, x0 = kelvin_of(d, LAM, MU, R), X0[:d]
    force = [3.0, parse("2+1/7"), 0][:d]
    assert displacement_term(K, force, 0, x0, 1e-12) == (0.0, 0.0, True)
    assert gradient_term(K, force, 0, 1, x0, 1e-12) == (0.0, 0.0, True)
    force = [parse("3*x-2*y+1"), parse("y/3+x"), parse("z-4")][:d]
    for value, error, proved in (
        displacement_term(K, force, 0, x0, 1e-9),
        gradient_term(K, force, 1, 1, x0, 1e-9),
    ):
        assert proved
        assert abs(value) <= error <= 1e-9


@cache
def manufactured(d):
    """u, its derivatives, and f as text."""
    x = sy.symbols("x y z")[:d]
    half = sy.Rational(1, 2)
    u = [sy.exp(half * x[0]) * sy.sin(2 * x[1]), sy.cos(x[0] - x[-1]) * (1 + x[1] ** 2), sy.sin(x[0] + x[1] * x[-1])][
        :d
    ]
    lam, mu = sy.Rational(LAM), sy.Rational(MU)
    spread = sum(sy.diff(u[i], x[i]) for i in range(d))
    f = [-(mu * sum(sy.diff(c, t, 2) for t in x) + (lam + mu) * sy.diff(spread, s)) for c, s in zip(u, x, strict=True)]

    def function(e):
        g = sy.lambdify(x, e, "numpy")
        return lambda X: np.asarray(g(*np.moveaxis(X, -1, 0)))

    return [function(c) for c in u], [[function(sy.diff(c, t)) for t in x] for c in u], [str(sy.expand(c)) for c in f]


def gauss(d, radius, n=24):
    x, w = np.polynomial.legendre.leggauss(n)
    r, jr = 0.5 * radius * (x + 1.0), 0.5 * radius * w
    phi = 2 * np.pi * np.arange(32) / 32
    circle = np.stack([np.cos(phi), np.sin(phi)], axis=1)
    if d == 2:
        return r[:, None, None] * circle, (jr * r)[:, None] * np.full(32, 2 * np.pi / 32)
    z, v = np.polynomial.legendre.leggauss(16)
    flat = np.sqrt(1 - z * z)[:, None, None] * circle
    E = np.concatenate([flat, np.broadcast_to(z[:, None, None], (16, 32, 1))], axis=2).reshape(-1, 3)
    return r[:, None, None] * E, (jr * r * r)[:, None] * np.repeat(v * 2 * np.pi / 32, 32)


def truth(K, g):
    """Value or average of g minus ∫ϱg."""
    x0 = X0[: K.d]
    Y, W = gauss(K.d, K.radius)
    t = 1.0 - (Y**2).sum(axis=-1) / K.radius**2
    height = (2 if K.d == 2 else 4) * np.pi * K.radius**K.d
    there = (W * t**3 * (float(K.density[0]) + float(K.density[1]) * t) * g(x0 + Y)).sum() / height
    if not K.average:
        return float(g(x0)) - there
    Y, W = gauss(K.d, K.average)
    return (W * g(x0 + Y)).sum() / W.sum() - there


@pytest.mark.parametrize(("d", "r0", "tolerance"), [(2, 0.0, 1e-8), (2, 0.3, 1e-8), (3, 0.0, 1e-5), (3, 0.3, 1e-5)])
def test_manufactured_displacements(d, r0, tolerance):
    K, x0 = kelvin_of(d, LAM, MU, R, r0), X0[:d]
    u, du, text = manufactured(d)
    f = [parse(c) for c in text]
    for k in range(d):
        value, error, proved = displacement_term(K, f, k, x0, tolerance)
        assert proved
        assert abs(value - truth(K, u[k])) <= error + 1e-12
        assert error <= tolerance
    for k, axis in ((0, 0), (0, 1), (1, 0), (d - 1, d - 1)):
        value, error, proved = gradient_term(K, f, k, axis, x0, tolerance)
        assert proved
        assert abs(value - truth(K, du[k][axis])) <= error + 1e-12
        assert error <= tolerance


def test_opaque_functions_are_estimates():
    K, x0 = kelvin_of(2, LAM, MU, R), X0[:2]
    u, du, text = manufactured(2)
    f = [parse(c) for c in text]
    opaque = [lambda X, c=c: c(X) for c in f]
    for mixed in (opaque, [f[0], opaque[1]]):
        value, error, proved = displacement_term(K, mixed, 1, x0, 1e-8)
        assert not proved
        assert abs(value - truth(K, u[1])) <= 1e-6
        assert error <= 1e-6
        value, error, proved = gradient_term(K, mixed, 0, 1, x0, 1e-8)
        assert not proved
        assert abs(value - truth(K, du[0][1])) <= 1e-6
    with pytest.raises(InputError, match="values"):
        displacement_term(K, [lambda X: X, 0.0], 0, x0, 1e-8)


class Wave:
    """Smooth data that encloses itself."""

    def __call__(self, X):
        return np.sin(2.0 * X[:, 0] + X[:, 1])

    def taylor(self, coordinates):
        return model_of(parse("sin(2*x+y)"), coordinates)


def test_smooth_data_and_budgets():
    K, x0 = kelvin_of(2, LAM, MU, R), X0[:2]
    smooth = displacement_term(K, [1.0, Wave()], 0, x0, 1e-10)
    formula = displacement_term(K, [1.0, parse("sin(2*x+y)")], 0, x0, 1e-10)
    assert smooth == formula
    spent = Work(2000)
    value, error, proved = displacement_term(K, [1.0, Wave()], 0, x0, 1e-14, spent)
    assert proved
    assert spent.stopped == ["the integral of the data"]
    assert abs(value - formula[0]) <= error + formula[1]
    value, error, _ = displacement_term(K, [parse("1/(x-0.25)"), 0.0], 0, x0, 1e-8, Work(2000))
    assert math.isinf(error)
    assert math.isfinite(value)


def test_refusals():
    K = kelvin_of(2, LAM, MU, R)
    with pytest.raises(InputError, match="components"):
        displacement_term(K, [1.0, 1.0, 1.0], 0, X0[:2], 1e-8)
    with pytest.raises(InputError, match="components"):
        gradient_term(K, [1.0, 1.0], 0, 1, X0, 1e-8)
    with pytest.raises(InputError):
        displacement_term(K, ["x", 1.0], 0, X0[:2], 1e-8)
    with pytest.raises(InputError):
        displacement_term(K, [math.nan, 1.0], 0, X0[:2], 1e-8)
