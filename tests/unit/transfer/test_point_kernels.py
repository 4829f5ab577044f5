"""Kernels of point values and averages: closed forms, the identity u(x₀) = ∫wu + ∫fΦ, and the data term."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import parse
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.taylor.functions import sincos
from pinnpoint.transfer.points import polar_models, rings
from pinnpoint.transfer.points.data_term import data_term, data_terms, product_rule
from pinnpoint.transfer.points.decimals import Enclosed, pi, precision
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.radial_series import centred
from pinnpoint.transfer.points.rings import ring
from pinnpoint.transfer.points.work import Work

KERNELS = [  # d, κ, c, R, k, r₀
    (d, kappa, c, 0.7, k, r0)
    for d in (1, 2, 3)
    for kappa, c in ((2.0, 0.0), (2.0, 0.1), (1.0, 10.0), (0.3, 400.0))
    for k, r0 in ((1 + d % 2, 0.0), (3, 0.0), (2, 0.2), (2, 0.55), (3, 0.7))
]


@pytest.fixture(autouse=True)
def digits():
    old, ctx.dps = ctx.dps, 70
    yield
    ctx.dps = old


def exactly(x):
    f = Fraction(x)
    return arb(f.numerator) / arb(f.denominator)


def radial(d, lam, r):
    """Mean over a sphere of radius r of a function with Δu = λu, over its value at the centre; entire in r, λ."""
    z = acb(lam) * r * r
    s, term, j = acb(1), acb(1), 0
    while j < 150:
        term = term * z / ((2 * j + 2) * (2 * j + d))
        s, j = s + term, j + 1
    return s


def integral(f, a, b):
    return acb.integral(lambda r, _: f(r), acb(a), acb(b), rel_tol=arb(10) ** -40, abs_tol=arb(10) ** -45).real


def sphere(d):
    return [None, arb(2), 2 * arb.pi(), 4 * arb.pi()][d]


def true_peak(d, kappa, c, R, k, r0):
    """C from the mass against the radial solution h."""
    mu2, R, r0 = exactly(c) / exactly(kappa), exactly(R), exactly(r0)
    mass = sphere(d) * integral(lambda r: (1 - (r / R) ** 2) ** k * radial(d, mu2, r) * r ** (d - 1), 0, R)
    top = arb(1)
    if r0 > 0:
        top = d * integral(lambda r: radial(d, mu2, r) * r ** (d - 1), 0, r0) / r0**d
    return top / mass


def true_phi(d, kappa, c, R, k, peak):
    """Φ of a point value from K₀, exponentials or logarithms, and a polynomial: nothing in common with the series."""
    kappa, c, R = exactly(kappa), exactly(c), exactly(R)
    if c == 0:  # Σ n_j s^j with −κΔ(n_j s^j) = peak comb(k, j)(−1)^j s^{j−1}
        n = [arb(0)] + [
            -peak * math.comb(k, j) * (-1) ** j * R**2 / (kappa * (2 * j + 2) * (2 * j + d)) for j in range(k + 1)
        ]
    else:  # from the top: c n_j = source_j + κ(2j + 2)(2j + d)/R² n_{j+1}
        n = [arb(0)] * (k + 2)
        for j in range(k, -1, -1):
            source = peak * math.comb(k, j) * (-1) ** j
            n[j] = (source + kappa * (2 * j + 2) * (2 * j + d) / R**2 * n[j + 1]) / c
    mu = (c / kappa).sqrt()

    def green(r):
        if c == 0:
            return {1: lambda: -r / (2 * kappa), 2: lambda: -r.log() / (2 * arb.pi() * kappa)}.get(
                d, lambda: 1 / (4 * arb.pi() * kappa * r)
            )()
        if d == 1:
            return (-mu * r).exp() / (2 * kappa * mu)
        if d == 2:
            return (mu * r).bessel_k(acb(0)) / (2 * arb.pi() * kappa)
        return (-mu * r).exp() / (4 * arb.pi() * kappa * r)

    def polynomial(r):
        s = (r / R) ** 2
        return sum((x * s**j for j, x in enumerate(n)), acb(0))

    alpha = (polynomial(acb(R)) - green(acb(R))) / radial(d, c / kappa, acb(R))
    return lambda r: green(r) + alpha * radial(d, c / kappa, r) - polynomial(r)


def within(value, error, truth):
    return abs(exactly(float(value)) - truth) <= exactly(float(error))


def test_decimals_enclose_exact_arithmetic():
    rng = np.random.default_rng(1)
    with precision(20):
        for _ in range(300):
            a, b, c = (Fraction(int(rng.integers(-(10**6), 10**6)) or 1, int(rng.integers(1, 10**4))) for _ in range(3))
            x, y, z = map(Enclosed.of, (a, b, c))
            for got, true in ((x * y + z, a * b + c), (x / y - z * x, a / b - c * a), (x / (y * z), a / (b * c))):
                assert abs(Fraction(got.value) - true) <= Fraction(got.error) < Fraction(1, 10**6)
            assert abs(exactly(Fraction(Enclosed.of(abs(a)).log().value)) - exactly(abs(a)).log()) < 1e-15
            assert within(*(x * y).rounded(), exactly(a * b))
    with precision(65):
        p = pi()
        assert abs(exactly(Fraction(p.value)) - arb.pi()) <= p.error < 1e-60
        with pytest.raises(ZeroDivisionError):
            p / (p - p)


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_peak_and_mass(case):
    d, _, _, R, k, _ = case
    K = Kernel.build(*case)
    peak = true_peak(*case)
    R = exactly(R)
    mass = sphere(d) * peak * integral(lambda r: (1 - (r / R) ** 2) ** k * r ** (d - 1), 0, R)
    assert within(K.peak, K.peak_error, peak)
    assert within(K.mass, K.mass_error, mass)
    assert K.peak_error <= 1e-15 * K.peak
    assert K.mass_error <= 1e-15 * K.mass


@pytest.mark.parametrize("case", [c for c in KERNELS if c[5] == 0.0], ids=str)
def test_values_and_moments_of_a_point_kernel(case):
    d, kappa, c, R, k, _ = case
    K = Kernel.build(*case)
    phi = true_phi(d, kappa, c, R, k, true_peak(*case))
    for r in (1e-9, 0.01, 0.3, 0.65, 0.699):
        value, error = K.value(r)
        assert within(value, error, phi(acb(exactly(r))).real)
        assert 0.0 < value
        assert error <= 1e-15 * value + 1e-40
    for a, b in ((0.1, 0.15), (0.4, 0.7)):
        got, errors, size = K.moments(a, b, 9)
        lo, hi = exactly(a), exactly(b)
        for m in (0, 1, 6, 9):
            true = integral(lambda r, m=m: phi(r) * ((2 * r - lo - hi) / (hi - lo)) ** m * r ** (d - 1), lo, hi)  # noqa: B023
            assert within(got[m], errors[m], true)
            assert errors[m] <= 1e-14 * size
        assert got[0] <= size <= got[0] * (1 + 1e-10)


def mollified(d, lam, R, k):
    """Mean of (1 − s)^k times a function with Δu = λu, over its value at the centre: the radial series term by term."""
    total, term, z = arb(0), arb(1), lam * R * R
    for j in range(120):
        beta = arb(math.factorial(k))
        for i in range(k + 1):
            beta = beta / (j + i + arb(d) / 2)
        total, term = total + term * beta, term * z / ((2 * j + 2) * (2 * j + d))
    return sphere(d) * R**d / 2 * total


def averaged(d, lam, a):
    """Average over a ball of radius a of such a function."""
    total, term, z = arb(0), arb(1), lam * a * a
    for j in range(120):
        total, term = total + term * d / (2 * j + d), term * z / ((2 * j + 2) * (2 * j + d))
    return total


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_identity_for_eigenfunctions_of_the_laplacian(case):
    """With Δu = λu the source is (c − κλ)u, and the identity becomes one for spherical means."""
    d, kappa, c, R, k, r0 = case
    K = Kernel.build(*case)
    for lam in (-37.0, 9.0) if c == 10.0 else (-37.0,):
        data = averaged(d, exactly(lam), exactly(r0)) - exactly(K.peak) * mollified(d, exactly(lam), exactly(R), k)

        def f(X, lam=lam):
            z = lam * (X * X).sum(axis=1)
            total, term = np.zeros(len(X)), np.ones(len(X))
            for j in range(40):
                total, term = total + term, term * z / ((2 * j + 2) * (2 * j + d))
            return (c - kappa * lam) * total

        value = product_rule(K, f, np.zeros(d), 6, 10, 4)
        scale = abs(c - kappa * lam) * K.moments(0.0, R, 0)[2]
        assert abs(float(data) - value) <= 3e-13 * max(scale, 1e-2)
        assert abs(float(data)) > 1e-4, "without the data term the identity must fail"


@pytest.mark.parametrize("case", KERNELS, ids=str)
def test_constant_data_and_sizes(case):
    d, _, c, _, _, r0 = case
    K = Kernel.build(*case)
    value, error, proved = data_term(K, 3.0, np.zeros(d), 0.0)
    assert proved
    if c > 0:  # u = 1 has f = c
        true = 3 * (1 - exactly(K.mass)) / exactly(c)
        assert abs(exactly(value) - true) <= exactly(error) + 3 * exactly(K.mass_error) / exactly(c)
    for a, b in ((0.0, 0.1), (0.1, 0.35), (0.35, 0.61), (0.61, 0.7)):
        moment, _, size = K.moments(a, b, 0)
        r = a + (b - a) * (np.arange(40) + 0.5) / 40
        absolute = np.mean([abs(K.value(x)[0]) * x ** (d - 1) for x in r]) * (b - a)
        assert abs(moment[0]) <= size * (1 + 1e-15)
        assert absolute == pytest.approx(size, rel=3e-2, abs=1e-12)
    if r0 == 0.0:
        assert K.positive


def test_large_decay_costs_nothing():
    for d in (1, 2, 3):
        K = Kernel.build(d, 1.0, 1e8, 1.0)
        assert K.radius == pytest.approx(150e-4)
        assert K.mass < 1e-50
        assert K.potential[0] == pytest.approx(1e-8, rel=1e-14)
        K = Kernel.build(d, 1.0, 240.0**2, 1.0, average_radius=1.0)
        assert K.mass + 240.0**2 * K.potential[0] == pytest.approx(1.0, abs=1e-10)
        with pytest.raises(InputError, match="average_radius"):
            Kernel.build(d, 1.0, 1e8, 1.0, average_radius=1.0)
    for wrong in (
        (4, 1.0, 0.0, 1.0),
        (2, 0.0, 0.0, 1.0),
        (2, 1.0, -math.inf, 1.0),
        (2, 1.0, 0.0, math.nan),
        (2, 1, 0, 1, 7),
    ):
        with pytest.raises(InputError):
            Kernel.build(*wrong)


DATA = [
    (1, "sin(3*x + 0.1)", -9.0, lambda x: (3 * x[0] + arb("0.1")).sin()),
    (1, "exp(-2*x)", 4.0, lambda x: (-2 * x[0]).exp()),
    (2, "sin(2*x)*sinh(3*y)", 5.0, lambda x: (2 * x[0]).sin() * (3 * x[1]).sinh()),
    (2, "cos(pi*x)*cos(2*pi*y)", None, lambda x: (arb.pi() * x[0]).cos() * (2 * arb.pi() * x[1]).cos()),
    (2, "x**3 - 3*x*y**2 + 0.1", 0.0, lambda x: x[0] ** 3 - 3 * x[0] * x[1] ** 2 + arb("0.1")),
    (3, "sin(x)*cos(2*y)*exp(3*z)", 4.0, lambda x: x[0].sin() * (2 * x[1]).cos() * (3 * x[2]).exp()),
]


@pytest.mark.parametrize("where", DATA, ids=lambda w: w[1])
@pytest.mark.parametrize("kernel", [(2.0, 0.0, 0.3, 0.0), (0.5, 13.0, 0.3, 0.11), (1.0, 0.0, 0.3, 0.27)], ids=str)
def test_data_term_of_formulas(where, kernel):
    """For Δf = λf, ∫fΦ = f(x₀)(target − ∫w M)/(c − κλ), evaluated to 60 digits."""
    pytest.importorskip("pinnpoint.taylor")
    d, text, lam, value = where
    lam = exactly(lam) if lam is not None else -5 * arb.pi() ** 2
    kappa, c, R, r0 = kernel
    x0 = np.array([0.41, 0.53, 0.3])[:d]
    k = 2
    K = Kernel.build(d, kappa, c, R, k, r0)
    assert c == 0.0 or abs(c - kappa * float(lam)) > 1.0
    at = value([exactly(float(v)) for v in x0])
    if lam == 0 and c == 0:
        true, blur = at * exactly(K.potential[0]), exactly(K.potential[1])
    else:
        data = averaged(d, lam, exactly(r0)) - true_peak(d, kappa, c, R, k, r0) * mollified(d, lam, exactly(R), k)
        true, blur = at * data / (exactly(c) - exactly(kappa) * lam), 0
    f = parse(text, ("x", "y", "z")[:d])
    for tolerance in (1e-4, 1e-13) if d < 3 else (1e-4, 1e-7):
        got, error, proved = data_term(K, f, x0, tolerance)
        assert proved
        assert abs(exactly(got) - true) <= exactly(error) + blur
        assert error <= tolerance
    sampled, estimate, proved = data_term(K, lambda X: f(X), x0, 1e-9)
    assert not proved
    assert estimate <= 1e-9
    assert abs(float(true) - sampled) <= 1e-11


def test_data_term_of_constants_and_hard_formulas():
    pytest.importorskip("pinnpoint.taylor")
    K = Kernel.build(2, 1.0, 0.0, 0.3)
    value, error, proved = data_term(K, parse("0.1 + pi"), [0.4, 0.5], 1e-9)
    assert proved
    plain, wrong, _ = data_term(K, 1.0, [0.4, 0.5], 0.0)
    assert abs(exactly(value) - exactly(plain) * (arb("0.1") + arb.pi())) <= exactly(error) + 4 * exactly(wrong)
    assert error <= 1e-15
    value, error, _ = data_term(K, parse("abs(x - 0.45)"), [0.4, 0.5], 1e-6)
    assert error < 1e-5
    again, difference, _ = data_term(K, lambda X: np.abs(X[:, 0] - 0.45), [0.4, 0.5], 1e-6)
    assert abs(value - again) <= error + difference
    value, error, _ = data_term(K, parse("1/(x - 0.4)"), [0.4, 0.5], 1e-6)
    assert error == math.inf
    assert math.isfinite(value)
    with pytest.raises(InputError, match="x0"):
        data_term(K, 1.0, [0.4], 1e-6)
    with pytest.raises(InputError, match="must be a number"):
        data_term(K, "x", [0.4, 0.5], 1e-6)
    with pytest.raises(InputError, match="finite values"):
        data_term(K, lambda X: X, [0.4, 0.5], 1e-6)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_rings_of_the_unit_ball_serve_all_balls(d):
    """R of few bits: then the ends are floats, and each ball's own decimal moments are the truth within an ulp.

    What is left of the errors when those of the unit ball are taken off holds the rounding of R²/κ, exactly.
    """
    rng = np.random.default_rng(d)
    for level, place in ((0, 0), (2, 1), (3, 6)):
        R, kappa = int(rng.integers(1, 2000)) / 1024.0, float(rng.uniform(0.1, 9.0))
        kernel = Kernel.build(d, kappa, 0.0, R)
        values, errors, size = ring(kernel, level, place, 4)
        want, ulp, bound = kernel.moments(R * place / 2**level, R * (place + 1) / 2**level, 4)
        assert np.all(np.abs(values - want) <= errors + ulp)
        assert np.all(errors <= 16.0 * UNIT * np.abs(want) + 4.0 * ulp)
        assert bound * (1.0 - 8.0 * UNIT) <= size <= bound * (1.0 + 32.0 * UNIT)
    for _ in range(50):
        R, kappa = rng.uniform(0.1, 9.0, 2).tolist()
        scale, unit = Fraction(R) ** 2 / Fraction(kappa), rings._unit(d, 1, 2, 1, 4)
        values, errors, _ = ring(Kernel.build(d, kappa, 0.0, R, 1), 2, 1, 4)
        for v, e, exact, own in zip(values, errors, *unit[:2], strict=True):
            assert abs(Fraction(v) - scale * Fraction(exact)) <= Fraction(e) - scale * Fraction(own)


def test_rings_of_other_kernels_are_their_own():
    for c, average in ((2.0, 0.0), (0.0, 0.1)):
        kernel = Kernel.build(2, 1.0, c, 0.5, None, average)
        ours, own = ring(kernel, 1, 1, 3), kernel.moments(0.25, 0.5, 3)
        assert np.array_equal(ours[0], own[0])
        assert ours[2] == own[2]


def test_data_terms_made_together_are_those_made_alone():
    f = parse("exp(3*x)*sin(5*y) + sqrt((x-0.3)**2 + 0.001)")
    X = np.array([[0.5, 0.5], [0.31, 0.72], [0.9, 0.13]])
    kernels = [Kernel.build(2, 1.5, c, radius) for c, radius in ((0.0, 0.45), (2.0, 0.2), (0.0, 0.09))]
    tolerances, budgets = (1e-7, 1e-9, 1e-14), (10**5, 10**5, 2000)
    works = [Work(budget) for budget in budgets]
    found = data_terms(kernels, f, X, tolerances, works)
    for i, (value, error, sure) in enumerate(found):
        work = Work(budgets[i])
        alone = data_term(kernels[i], f, X[i], tolerances[i], work)
        assert sure
        assert value == pytest.approx(alone[0], rel=1e-12)
        assert error == pytest.approx(alone[1], rel=1e-3)
        assert (works[i].spent, works[i].stopped) == (work.spent, work.stopped)


@pytest.mark.parametrize(("d", "i"), [(2, 1), (3, 1), (3, 2)])
def test_sines_of_angles_come_from_a_table_where_they_are_not_small(d, i):
    rng = np.random.default_rng(d + i)
    for deepest in (polar_models.TABLED, polar_models.TABLED + 3):
        patches = np.zeros((40, 2 * d + 1), dtype=np.intp)
        patches[:, 2 * i] = rng.integers(0, deepest, 40)
        patches[0, 2 * i] = deepest
        patches[:, 2 * i + 1] = rng.integers(0, 2 ** patches[:, 2 * i])
        direct = sincos(polar_models._angle(d, i, patches[:, 2 * i], patches[:, 2 * i + 1]))
        for found, own in zip(polar_models._turns(d, i, patches), direct, strict=True):
            np.testing.assert_allclose(found.C, own.C, rtol=1e-14, atol=1e-16)
            np.testing.assert_allclose(found.e, own.e, rtol=1e-10)


def test_moments_about_the_middle_of_a_ring():
    p, q = Fraction(3, 8), Fraction(7, 16)
    with precision(50):
        plain = [Enclosed.of(q ** (i + 1) - p ** (i + 1)) / (i + 1) for i in range(13)]
        found = [x.rounded() for x in centred(plain, Enclosed.of((p + q) / 2), Enclosed.of((q - p) / 2))]
    for m, (value, error) in enumerate(found):
        true = (q - p) / 2 * Fraction(1 + (-1) ** m, m + 1)
        assert abs(Fraction(value) - true) <= Fraction(error)
        assert error < 1e-16
