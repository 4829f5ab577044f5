"""Scalar constants and kernel identities of the checker, derived again by exact fractions and 300-bit arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import flint
import numpy as np
import pytest

from pinnpoint_verify import checker, everywhere
from pinnpoint_verify.potentials import Potential, coefficients


@pytest.fixture(autouse=True)
def bits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


def mean(alpha):
    """Of Π λ^α over a simplex, by α! d!/(d + |α|)!."""
    d = len(alpha) - 1
    top = math.prod(map(math.factorial, alpha)) * math.factorial(d)
    return Fraction(top, math.factorial(d + sum(alpha)))


def gram(d):
    """Of the products λ_jλ_k, j ≤ k, in exact fractions."""
    pairs = list(combinations_with_replacement(range(d + 1), 2))
    powers = [tuple((i == j) + (i == k) for i in range(d + 1)) for j, k in pairs]
    return pairs, [[mean(tuple(map(sum, zip(a, b, strict=True)))) for b in powers] for a in powers]


def test_pi_is_below():
    assert flint.arb(checker.PI) < flint.arb.pi() < flint.arb(math.nextafter(checker.PI, 4.0))


@pytest.mark.parametrize(("d", "n"), [(1, 2), (2, 2), (3, 2), (2, 4), (3, 4)])
def test_means_of_products_of_barycentric_coordinates(d, n):
    found = checker.means(d, n)
    for at in product(range(d + 1), repeat=n):
        exact = mean(tuple(at.count(i) for i in range(d + 1)))
        assert abs(Fraction(float(found.m[at])) - exact) <= Fraction(float(found.r[at]))


@pytest.mark.parametrize(("d", "most"), [(1, 3), (2, 6), (3, 10)])
def test_a_quadratic_of_mean_square_one_is_at_most_its_value_at_a_vertex(d, most):
    """max|q|² = K(v, v) for the kernel K of quadratics: 9, 36, 100 (checking.md, step 3b)."""
    pairs, G = gram(d)
    inverse = flint.fmpq_mat([[flint.fmpq(x.numerator, x.denominator) for x in row] for row in G]).inv()
    vertex = [1 if j == k == 0 else 0 for j, k in pairs]
    at = sum(vertex[a] * vertex[b] * inverse[a, b] for a in range(len(pairs)) for b in range(len(pairs)))
    assert at == most**2
    bary = np.random.default_rng(2).dirichlet(np.ones(d + 1), 2000)
    phi = np.stack([bary[:, j] * bary[:, k] for j, k in pairs], axis=1)
    table = np.array(
        [[float(inverse[a, b].p) / float(inverse[a, b].q) for b in range(len(pairs))] for a in range(len(pairs))]
    )
    assert np.einsum("na,ab,nb->n", phi, table, phi).max() <= most**2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_constants_of_level_sets(n):
    """C = nω_n^{1/n} and A(V) = C⁻²‖∫_r^V s^{−2+2/n}‖₂ (everywhere.md, section 1), by integrals with error bounds."""
    ball = {1: flint.arb(2), 2: flint.arb.pi(), 3: 4 * flint.arb.pi() / 3}[n]
    C = n * ball ** (flint.arb(1) / n)
    assert {1: flint.arb(2), 2: 2 * flint.arb.pi().sqrt(), 3: (36 * flint.arb.pi()) ** (flint.arb(1) / 3)}[n].overlaps(
        C
    )
    V = flint.arb("1.7")

    def inner(r, _):  # (∫_r^V s^{−2+2/n} ds)², in closed form
        if n == 2:
            return (flint.acb(V).log() - r.log()) ** 2
        k = flint.acb(2) / n - 1
        return ((flint.acb(V) ** k - r**k) / k) ** 2

    low = flint.arb("1e-12") if n > 1 else flint.arb(0)
    square = flint.acb.integral(inner, flint.acb(low), flint.acb(V)).real
    own = {1: (V**3 / 3).sqrt(), 2: (2 * V).sqrt(), 3: 3 * V ** (flint.arb(1) / 6)}[n]
    assert float(abs(own - square.sqrt())) <= (1e-2 if n == 3 else 1e-4) * float(own)
    assert bool(own > square.sqrt() * flint.arb("0.9999999999"))
    assert everywhere.SLACK == 1e-13


def laplaced(D, q, a, logs, b):
    """L(s^{1−D/2}A − log s A′ + B), by powers of s, as coefficients of each of the three kinds."""
    half, D = 1 - Fraction(D, 2), Fraction(D)
    even = [q * b[j] - 4 * (j + 1) * (j + D / 2) * b[j + 1] for j in range(len(b) - 1)]
    even = [x + (2 * D - 4 + 8 * (j + 1)) * logs[j + 1] for j, x in enumerate(even)]
    steep = [q * a[j] - 4 * (j + 1 + half) * (j + half + D / 2) * a[j + 1] for j in range(len(a) - 1)]
    turned = [q * logs[j] - 4 * (j + 1) * (j + D / 2) * logs[j + 1] for j in range(len(b) - 1)]
    return steep, turned, even


@pytest.mark.parametrize("D", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(3, 2), Fraction(-2), Fraction(17)])
def test_kernels_solve_their_equation(D, q):
    """L of them is −C′(1 − s) but for the last coefficient, value and slope vanish at s = 1, in exact fractions."""
    found = coefficients(D, q)
    assert found is not None
    a, logs, b, _, C = found
    steep, turned, even = laplaced(D, q, a, logs, b)
    if D == 4:  # L s^{−1} = q/s is cancelled by the logarithm's 4A′/s
        assert q * a[0] + 4 * logs[0] == 0
        steep = steep[1:]
    assert not any(steep)
    assert not any(turned)
    assert even == [-C * ((j == 0) - (j == 1)) for j in range(len(even))]
    sign, half = -1 if D == 1 else 1, 1 - Fraction(D, 2)
    rise = sign * sum((j + half) * x for j, x in enumerate(a)) - sum(logs)
    assert sign * sum(a) + sum(b) == 0
    assert rise + sum(j * x for j, x in enumerate(b)) == 0


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(3, 2), Fraction(-2), Fraction(17)])
def test_kernels_of_averages_are_joined_smoothly(d, q):
    """Inside L B = h′ − C′(1 − s) with the height of 1/|ball|; at its edge values and slopes agree but for log s."""
    edge = Fraction(2, 5)
    a, logs, b, inside, C = coefficients(d, q, edge)
    height = {1: 1 / edge, 2: 4 / edge**2, 3: 3 / edge**3}[d]
    even = laplaced(d, q, a, [Fraction(0)] * len(a), inside)[2]
    assert even == [height * (j == 0) - C * ((j == 0) - (j == 1)) for j in range(len(even))]
    s, S = edge**2, {1: -edge, 2: Fraction(0), 3: 1 / edge}[d]
    at = lambda p: sum(x * s**j for j, x in enumerate(p))  # noqa: E731
    slope = lambda p: sum(j * x * s ** (j - 1) for j, x in enumerate(p) if j)  # noqa: E731
    assert S * at(a) + at(b) == at(inside)
    steep = S * (slope(a) + (1 - Fraction(d, 2)) * at(a) / s) - at(logs) / s
    assert steep + slope(b) == slope(inside)


@pytest.mark.parametrize(("d", "kappa", "c", "R"), [(1, 2.0, 0.0, 0.3), (2, 1.0, 4.0, 0.25), (3, 0.5, 1.0, 0.4)])
def test_the_density_of_a_kernel_has_mass_one_but_for_the_reaction(d, kappa, c, R):
    """∫w = 1 − c∫Φ, from −κΔΦ + cΦ = δ − w and Φ = Φ′ = 0 on the sphere."""
    potential = Potential(d, kappa, c, R)
    sphere = {1: flint.arb(2), 2: 2 * flint.arb.pi(), 3: 4 * flint.arb.pi()}[d]
    mass = sphere * flint.arb(float(potential.peak.m)) * flint.arb(R) ** d * (flint.arb(1) / d - flint.arb(1) / (d + 2))
    a = potential.logs if d == 2 else potential.a
    a, b = ([flint.acb(flint.arb(x)) for x in part] for part in (a, potential.b))

    def inner(s, _):  # r^{d−1} dr = R^d s^{d/2−1}/2 ds
        S = {1: -(s.sqrt()), 2: -s.log(), 3: 1 / s.sqrt()}[d]
        A, B = (sum((x * s**j for j, x in enumerate(part)), flint.acb(0)) for part in (a, b))
        return (S * A + B) * s ** (flint.acb(d) / 2 - 1) / 2

    whole = flint.acb.integral(inner, flint.acb("1e-30"), flint.acb(1)).real
    unit = flint.arb(float(potential.unit.m))
    assert abs(float(mass + flint.arb(c) * sphere * unit * flint.arb(R) ** d * whole) - 1.0) < 1e-11


def test_the_curvature_of_tanh():
    """max|tanh″| = 4/(3√3)."""
    x = flint.arb("0.658478948462408354")
    t = x.tanh()
    assert abs(float(2 * t * (1 - t * t) - 4 / (3 * flint.arb(3).sqrt()))) < 1e-15
