"""Kelvin's kernels: moments of the density, the radial functions, and u(x₀), ∇u(x₀) from manufactured displacements."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy as sy
from flint import acb, arb, ctx

from pinnpoint.base.errors import InputError
from pinnpoint.transfer.elastic.kelvin import Kelvin, kelvin_of
from pinnpoint.transfer.elastic.radial import DIGITS, combined
from pinnpoint.transfer.points.decimals import Enclosed, precision
from tests.support.balls import ball

R = 0.75
CASES = [(d, lam, mu, r0) for d in (2, 3) for lam, mu in ((1.7, 0.6), (-0.25, 0.5)) for r0 in (0.0, 0.3, R)]


@pytest.fixture(autouse=True)
def digits():
    old, ctx.dps = ctx.dps, 50
    yield
    ctx.dps = old


def exactly(x):
    f = Fraction(x)
    return arb(f.numerator) / arb(f.denominator)


def integral(f, a, b):
    return acb.integral(lambda r, _: f(r), acb(a), acb(b), rel_tol=arb(10) ** -30, abs_tol=arb(10) ** -35).real


class Truth:
    """N' from the masses of source and density, everything else by verified quadrature."""

    def __init__(self, K: Kelvin):
        self.d, self.R, self.r0 = K.d, exactly(K.radius), exactly(K.average)
        self.omega = (2 if K.d == 2 else 4) * arb.pi()
        nu = exactly(K.lam) / (2 * (exactly(K.lam) + exactly(K.mu)))
        self.nu, self.mu = nu, exactly(K.mu)
        # a + b s from the two conditions, by quadrature of the weights
        weight = [
            integral(lambda r, i=i: self.omega * (1 - r * r) ** 3 * r ** (self.d - 1 + 2 * i), 0, 1) for i in (0, 1, 2)
        ]
        second = self.d * (self.r0 / self.R) ** 2 / (self.d + 2)
        det = weight[0] * weight[2] - weight[1] ** 2
        self.a, self.b = (weight[2] - weight[1] * second) / det, (weight[0] * second - weight[1]) / det

    def density(self, r):
        s = (r / self.R) ** 2
        return (self.a + self.b * s) * (1 - s) ** 3 / self.R**self.d

    def mass(self, r):
        return integral(lambda t: self.omega * self.density(t) * t ** (self.d - 1), 0, r)

    def slope(self, r):
        """N'."""
        source = arb(1) if not r < self.r0 else (r / self.r0) ** self.d
        return -(source - self.mass(r)) / (self.omega * r ** (self.d - 1))

    @cache  # noqa: B019
    def potential(self, at):
        """N(r) = −∫_r^R N', the mass as a polynomial by its values."""
        r = exactly(at)
        p = [self.a, self.b - 3 * self.a, 3 * self.a - 3 * self.b, 3 * self.b - self.a, -self.b]

        def dN(t, source):
            s = (t / self.R) ** 2
            mass = sum(self.omega * c * s**j / (2 * j + self.d) for j, c in enumerate(p)) * (t / self.R) ** self.d
            return -(source(t) - mass) / (self.omega * t ** (self.d - 1))

        if r < self.r0:
            inside = integral(lambda t: dN(t, lambda t: (t / self.r0) ** self.d), r, self.r0)
            return -inside - integral(lambda t: dN(t, lambda t: acb(1)), self.r0, self.R)
        return -integral(lambda t: dN(t, lambda t: acb(1)), r, self.R)

    def mean(self, at):
        """Q = r^{−d}∫₀^r N t^{d−1} = (N − r^{−d} ∫₀^r N' t^d)/d, by parts."""
        r, d = exactly(at), self.d
        p = [self.a, self.b - 3 * self.a, 3 * self.a - 3 * self.b, 3 * self.b - self.a, -self.b]

        def mass(t):
            s = (t / self.R) ** 2
            return sum(self.omega * c * s**j / (2 * j + d) for j, c in enumerate(p)) * (t / self.R) ** d

        def moment(a, b, source):  # −∫ N' t^d
            return integral(lambda t: (source(t) - mass(t)) * t / self.omega, a, b)

        inner = r if r < self.r0 else self.r0
        total = arb(0)
        if self.r0 > 0:
            total += moment(0, inner, lambda t: (t / self.r0) ** d)
        if not r < self.r0:
            total += moment(self.r0, r, lambda t: acb(1))
        return (self.potential(at) + total / r**d) / d


def overlaps(pair, true):
    return abs(arb(pair[0]) - true) <= arb(pair[1]) + arb(10) ** -25


@pytest.mark.parametrize(("d", "lam", "mu", "r0"), CASES)
def test_radial_functions(d, lam, mu, r0):
    K = kelvin_of(d, lam, mu, R, r0)
    truth = Truth(K)
    A, D = K.parts
    for r in (0.01, 0.2, 0.4, 0.7):
        N, Q, dN = truth.potential(r), truth.mean(r), truth.slope(exactly(r))
        w, q, dw = (x / (1 - truth.nu) for x in (N, Q, dN))
        dq = (w - d * q) / exactly(r)
        flat, turned = 2 * (1 - truth.nu) * w - q, w - d * q
        dD = dw - d * dq
        assert overlaps(A.value(r), flat / (2 * truth.mu))
        assert overlaps(D.value(r), turned / (2 * truth.mu))
        wanted = 2 * (1 - truth.nu) * dw - dq, dD - 2 * turned / exactly(r), turned / exactly(r)
        for G, value in zip(K.slopes, wanted, strict=True):
            assert overlaps(G.value(r), value / (2 * truth.mu))
            assert G.value(r)[1] <= 1e-15 * abs(G.value(r)[0]) + 1e-300
    for G in (*K.parts, *K.slopes):  # all vanish at R
        value, error = G.value(R)
        assert abs(value) <= 1e-60
        assert abs(value) <= error


@pytest.mark.parametrize(("d", "lam", "mu", "r0"), CASES)
def test_moments_of_rings(d, lam, mu, r0):
    K = kelvin_of(d, lam, mu, R, r0)
    for G in (*K.parts, *K.slopes):
        for a, b in ((0.0, R / 4), (R / 4, R / 2), (R / 2, R)):
            values, errors, size = G.moments(a, b, 4)
            x, w = np.polynomial.legendre.leggauss(24)
            cuts = sorted({a, b, min(max(r0, a), b)})
            exact, rough = np.zeros(5), 0.0
            for low, high in pairwise(cuts):
                u = 0.5 * (x + 1.0)
                r = low + (high - low) * u**2  # the logarithm of the plane
                g = np.array([G.value(float(t))[0] for t in r]) * r ** (d - 1)
                weight = 0.5 * w * (high - low) * 2.0 * u
                xi = (r - 0.5 * (a + b)) / (0.5 * (b - a))
                exact += [(weight * g * xi**m).sum() for m in range(5)]
                rough += (weight * np.abs(g)).sum()
            assert np.abs(values - exact).max() <= 2e-9 * max(size, 1e-12)
            assert errors.max() <= 1e-14 * size + 1e-290
            assert rough <= size * (1 + 1e-6)
            assert size <= 10.0 * rough + 1e-12
            if a > 0.0 and (r0 <= a or r0 >= b):
                assert size <= 2.0 * rough


def test_density_in_rationals():
    for d, r0 in ((2, 0.0), (3, 0.0), (2, 0.3), (3, R)):
        K = kelvin_of(d, 1.0, 1.0, R, r0)
        first, second = K.density
        inner = Fraction(r0) ** 2 / Fraction(R) ** 2
        # powers of s with ∫ s^j r^{d−1} dr = 1/(2j + d) on the unit ball
        p = [(-1) ** j * (first * math.comb(3, j) + second * math.comb(4, j)) for j in range(5)]
        assert sum(c / (2 * j + d) for j, c in enumerate(p)) == 1 == sum(K.inside)
        assert sum(c / (2 * j + 2 + d) for j, c in enumerate(p)) == Fraction(d, d + 2) * inner
    assert kelvin_of(2, 1.0, 1.0, R).density == (-40, 60)


@cache
def manufactured(d):
    """u, ∇u and the second derivatives of a displacement that is no polynomial."""
    x = sy.symbols("x y z")[:d]
    u = [
        sy.exp(0.7 * x[0]) * sy.sin(2 * x[1] + 0.3) + x[0] ** 3 * x[-1] ** 2,
        sy.cos(1.5 * x[0] - x[-1]) * (1 + x[1] ** 4),
        sy.sin(x[0] + 2 * x[1] * x[-1]),
    ][:d]

    def function(e):
        f = sy.lambdify(x, e, "numpy")
        return lambda X: np.broadcast_to(f(*np.moveaxis(X, -1, 0)), X.shape[:-1])

    first = [[function(sy.diff(c, t)) for t in x] for c in u]
    second = [[[function(sy.diff(c, s, t)) for t in x] for s in x] for c in u]
    return [function(c) for c in u], first, second


def force(d, lam, mu):
    """f = −div σ(u)."""
    H = manufactured(d)[2]

    def f(X):
        laplace = [sum(H[i][j][j](X) for j in range(d)) for i in range(d)]
        turn = [sum(H[j][j][i](X) for j in range(d)) for i in range(d)]
        return np.stack([-(mu * laplace[i] + (lam + mu) * turn[i]) for i in range(d)], axis=-1)

    return f


def plane_stress_force(E, nu):
    """f = −div σ(u) with the law of plane stress in E and ν."""
    H = manufactured(2)[2]
    c = E / (1 - nu**2)

    def f(X):
        shear = 0.5 * (1 - nu) * c
        fx = c * (H[0][0][0](X) + nu * H[1][1][0](X)) + shear * (H[0][1][1](X) + H[1][0][1](X))
        fy = c * (H[1][1][1](X) + nu * H[0][0][1](X)) + shear * (H[0][0][1](X) + H[1][0][0](X))
        return -np.stack([fx, fy], axis=-1)

    return f


def defects(K, f):
    """u_k(x₀) − ∫ϱu_k − ∫f·Φ_k, and the same of all ∂_l u_k: by quadrature of the formulas of the module's text."""
    d, x0 = K.d, np.array([0.3, 0.2, 0.1])[: K.d]
    r, Y, W = ball(d, K.radius, K.average)
    X, e = x0 + Y, Y / r[:, None, None]
    s = (r / K.radius) ** 2
    first, second = (float(c) / ((2 if d == 2 else 4) * np.pi * K.radius**d) for c in K.density)
    rho = W * ((1 - s) ** 3 * (first + second * (1 - s)))[:, None]
    A, D = (np.array([G.value(float(t))[0] for t in r])[:, None] for G in K.parts)
    dA, E, H = (np.array([G.value(float(t))[0] for t in r])[:, None] for G in K.slopes)
    F, (u, du, _) = f(X), manufactured(d)
    along = (F * e).sum(axis=-1)
    found = []
    _, Y0, W0 = ball(d, K.average) if K.average else (None, np.zeros((1, 1, d)), np.ones((1, 1)))

    def mean(g):
        return (W0 * g(x0 + Y0)).sum() / W0.sum()

    for k in range(d):
        data = (W * (A * F[..., k] - D * along * e[..., k])).sum()
        found.append(mean(u[k]) - (rho * u[k](X)).sum() - data)
        for m in range(d):
            turned = dA * e[..., m] * F[..., k] - E * along * e[..., m] * e[..., k] - H * F[..., m] * e[..., k]
            data = (W * (turned - H * (along if k == m else 0.0))).sum()
            found.append(mean(du[k][m]) - (rho * du[k][m](X)).sum() + data)
    return np.abs(found)


@pytest.mark.parametrize(("d", "lam", "mu", "r0"), CASES)
def test_displacements_and_gradients(d, lam, mu, r0):
    assert defects(kelvin_of(d, lam, mu, R, r0), force(d, lam, mu)).max() <= 2e-10


def test_plane_stress_takes_the_reduced_parameter():
    E, nu = 2.3, 0.31
    lam, mu = E * nu / ((1 + nu) * (1 - 2 * nu)), E / (2 * (1 + nu))
    f = plane_stress_force(E, nu)
    assert defects(kelvin_of(2, 2 * mu * lam / (lam + 2 * mu), mu, R), f).max() <= 2e-10
    assert defects(kelvin_of(2, lam, mu, R), f).max() > 1e-4


@pytest.mark.parametrize("d", [2, 3])
def test_sabotage_is_found(d):
    lam, mu = 1.7, 0.6
    f = force(d, lam, mu)
    for wrong in (kelvin_of(d, 1.01 * lam, mu, R), kelvin_of(d, lam, 1.01 * mu, R)):
        assert defects(wrong, f).max() > 1e-5
    loose = kelvin_of(d, lam, mu, R)  # the mass alone, without the second moment
    x = Fraction(d, 2)
    loose.__dict__["density"] = (2 * x * (x + 1) * (x + 2) * (x + 3) / 6, Fraction(0))
    assert sum(loose.inside) == 1
    assert defects(loose, f).max() > 1e-3
    shifted = kelvin_of(d, lam, mu, R)  # another constant in N
    with precision(DIGITS):
        one = Enclosed.of(1)
        inner, outer = shifted.potential
        shifted.__dict__["potential"] = inner, combined((one, outer), (one, {(0, 0): Enclosed.of(Fraction(1, 1000))}))
    assert defects(shifted, f).max() > 1e-5
    inside = kelvin_of(d, lam, mu, R, 0.3)  # the average without what the inner ball lacks
    inner, outer = inside.mean
    inside.__dict__["mean"] = inner, {key: c for key, c in outer.items() if key != (-d, 0)}
    assert defects(inside, f).max() > 1e-5


def test_refusals():
    for arguments in (
        (1, 1.0, 1.0, 1.0),
        (2, 1.0, 0.0, 1.0),
        (2, -1.0, 1.0, 1.0),
        (3, -0.7, 1.0, 1.0),
        (2, math.nan, 1.0, 1.0),
        (2, 1.0, 1.0, -1.0),
        (2, 1.0, 1.0, 1.0, 2.0),
        (2, 1.0, 1.0, 1.0, 1e-11),
    ):
        with pytest.raises(InputError):
            kelvin_of(*arguments)
