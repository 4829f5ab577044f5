"""The checker's own kernels and densities of points: closed forms, samples, balls that touch, forged bundles."""

from __future__ import annotations

import math
import shutil
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special

import pinnpoint as pp
from pinnpoint_verify.checker import Ball, means
from pinnpoint_verify.claims import verify
from pinnpoint_verify.enclosures import inverse_gram, pairs
from pinnpoint_verify.mollifiers import above, clear, density_bounds, pieces
from pinnpoint_verify.potentials import Potential, coefficients, data_term
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger

WAVES = {1: "cos(3*x+0.4)", 2: "cos(3*x+0.4)*cos(2*y)", 3: "cos(3*x+0.4)*cos(2*y)*cos(z-0.3)"}
SQUARES = {1: 9.0, 2: 13.0, 3: 14.0}
SURFACE = {1: 2.0, 2: 2.0 * math.pi, 3: 4.0 * math.pi}


def mean_on_spheres(d: int, rho: float) -> float:
    """Of a wave with −Δf = k²f, relative to its value at the centre; ρ = kr."""
    return {1: math.cos(rho), 2: float(special.j0(rho)), 3: float(np.sinc(rho / math.pi))}[d]


@pytest.mark.parametrize("c", [0.0, 3.0, -1.5, 40.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_data_term_of_a_wave_is_its_closed_form(d, c):
    """f(x₀) = ∫wf + (κk² + c)∫fΦ, as −κΔf + cf = (κk² + c)f."""
    kappa, R, x0, k = 1.7, 0.35, np.array([0.4, 0.55, 0.45])[:d], math.sqrt(SQUARES[d])
    potential = Potential(d, kappa, c, R)
    close = 1e-7 if d == 3 else 1e-10
    value, error = data_term(WAVES[d], x0, potential, close)
    center = math.prod(math.cos(a) for a in (3.0 * x0[0] + 0.4, 2.0 * x0[min(1, d - 1)], x0[-1] - 0.3)[:d])

    def ring(r: float) -> float:
        return (1.0 - (r / R) ** 2) * r ** (d - 1) * mean_on_spheres(d, k * r)

    share = float(potential.peak.m) * SURFACE[d] * integrate.quad(ring, 0.0, R, epsabs=1e-14, epsrel=1e-13)[0]
    truth = center * (1.0 - share) / (kappa * k * k + c)
    assert abs(truth - value) <= error + 1e-13
    assert error <= close


@pytest.mark.parametrize("c", [0.0, 3.0, -1.5, 40.0])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_data_term_of_an_average_is_its_closed_form(d, c):
    """The mean of f over a ball = ∫wf + (κk² + c)∫fΦ, f(x₀) times means over spheres."""
    kappa, R, a, x0, k = 1.7, 0.35, 0.15, np.array([0.4, 0.55, 0.45])[:d], math.sqrt(SQUARES[d])
    potential = Potential(d, kappa, c, R, a)
    close = 1e-7 if d == 3 else 1e-10
    value, error = data_term(WAVES[d], x0, potential, close)
    center = math.prod(math.cos(b) for b in (3.0 * x0[0] + 0.4, 2.0 * x0[min(1, d - 1)], x0[-1] - 0.3)[:d])

    def over(b: float, w) -> float:
        ring = lambda r: w(r) * r ** (d - 1) * mean_on_spheres(d, k * r)  # noqa: E731
        return SURFACE[d] * integrate.quad(ring, 0.0, b, epsabs=1e-14, epsrel=1e-13)[0]

    mean = over(a, lambda r: d / (SURFACE[d] * a**d))
    share = float(potential.peak.m) * over(R, lambda r: 1.0 - (r / R) ** 2)
    truth = center * (mean - share) / (kappa * k * k + c)
    assert abs(truth - value) <= error + 1e-13
    assert error <= close


@pytest.mark.parametrize("c", [0.0, 3.0, -1.5, 40.0])
@pytest.mark.parametrize(("d", "axis"), [(1, 0), (2, 0), (2, 1), (3, 2)])
def test_the_data_term_of_a_derivative_is_its_closed_form(d, axis, c):
    """∂f(x₀) = ∫w_l f + (κk² + c)∫f v; f's means along e_l over spheres are those of a wave in d + 2 dimensions."""
    kappa, R, x0, k = 1.7, 0.35, np.array([0.4, 0.55, 0.45])[:d], math.sqrt(SQUARES[d])
    potential = Potential(d, kappa, c, R, axis=axis)
    close = 1e-6 if d == 3 else 1e-9
    value, error = data_term(WAVES[d], x0, potential, close)
    turns = [(3.0, 3.0 * x0[0] + 0.4), (2.0, 2.0 * x0[min(1, d - 1)]), (1.0, x0[-1] - 0.3)][:d]
    slope = math.prod(-b * math.sin(t) if i == axis else math.cos(t) for i, (b, t) in enumerate(turns))

    def bessel(rho: float) -> float:  # Γ(n/2)(2/ρ)^{n/2−1} J_{n/2−1}(ρ), n = d + 2
        m = 0.5 * d
        return 1.0 if rho < 1e-6 else math.gamma(m + 1.0) * (2.0 / rho) ** m * float(special.jv(m, rho))

    ring = lambda r: (1.0 - (r / R) ** 2) * r ** (d + 1) / (d * R) * bessel(k * r)  # noqa: E731
    share = float(potential.peak.m) * SURFACE[d] * integrate.quad(ring, 0.0, R, epsabs=1e-14, epsrel=1e-13)[0]
    truth = slope * (1.0 - share) / (kappa * k * k + c)
    assert abs(truth - value) <= error + 1e-12
    assert error <= close


@pytest.mark.parametrize("d", [1, 2, 3])
def test_kernels_without_a_reaction_have_known_heights(d):
    """∫w = 1 for c = 0: C is 3/(4R), 2/(πR²), 15/(8πR³)."""
    *_, C = coefficients(d, Fraction(0))
    assert C == {1: Fraction(3), 2: Fraction(8), 3: Fraction(15, 2)}[d] / (2 if d == 1 else 1)
    peak = Potential(d, 2.5, 0.0, 0.4).peak
    known = {1: 0.75 / 0.4, 2: 2.0 / (math.pi * 0.16), 3: 15.0 / (8.0 * math.pi * 0.064)}[d]
    assert abs(peak.m - known) <= 1e-14 * known
    assert peak.r <= 1e-13 * known


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_constant_has_no_part_in_a_derivative(d):
    """The kernel is odd: nothing is left to integrate, and no ring is needed for it."""
    value, error = data_term("3", np.full(d, 0.5), Potential(d, 1.0, 2.0, 0.3, axis=d - 1), 1e-6)
    assert abs(value) <= error <= 1e-6


def test_a_kink_in_the_ball_is_no_bound():
    value, error = data_term("abs(x-0.3)", np.array([0.4, 0.5]), Potential(2, 1.0, 0.0, 0.3), 1e-8)
    assert error == math.inf
    assert value == 0.0


@pytest.mark.parametrize(
    ("d", "C", "power", "axis"),
    [
        (1, 2.0, 1, None),
        (2, 2.0, 1, None),
        (3, 2.0, 1, None),
        (1, -3.0, 1, None),
        (1, 2.0, 1, 0),
        (2, 2.0, 1, 1),
        (3, -2.0, 1, 2),
        (1, 1.0, 0, None),
        (2, 1.0, 0, None),
        (3, 1.0, 0, None),
    ],
)
def test_densities_hold_what_fine_samples_see(d, C, power, axis):
    """Moments and mean squares of w − Q on cells inside, outside and across the sphere.

    C is negative where a reaction is far below zero.
    """
    draw = np.random.default_rng(d)
    x0, R = np.full(d, 0.5), 0.3
    corners = np.concatenate([np.zeros((1, d)), np.eye(d)]) + 0.2 * draw.random((60, d + 1, d))
    V = x0 + 0.7 * (draw.random((60, 1, d)) - 0.6) + 0.15 * corners
    beta, found = density_bounds(V, x0, R, Ball(C, 0.0), 2, power, axis)
    bary = draw.dirichlet(np.ones(d + 1), 60_000)
    for v, b, (high, e1, e2) in zip(V, beta, found, strict=True):
        X = bary @ v
        t = 1.0 - ((X - x0) ** 2).sum(axis=1) / R**2
        w = C * np.maximum(0.0, t) ** power * (t > 0.0) * (1.0 if axis is None else (X - x0)[:, axis] / R)
        gap = w - np.einsum("qj,jk,qk->q", bary, b, bary)
        g = np.array([np.mean(gap * bary[:, j] * bary[:, k]) for j, k in pairs(d)])
        chance = 0.02 * math.sqrt(np.mean(gap**2))
        assert math.sqrt(g @ inverse_gram(d) @ g) <= e2 + 1.5 * chance
        assert np.abs(g).max() <= e1 + chance
        assert math.sqrt(np.mean(gap**2)) <= high + e2 + chance
        assert high <= (1.15 if power else 1.6) * math.sqrt(np.mean(gap**2)) + 3.0 * e2 + 1e-6


def test_coefficients_that_are_brought_closer_are_the_projection():
    V = np.array([[[0.4, 0.4], [0.5, 0.4], [0.4, 0.5]]])
    x0, R, y = np.full(2, 0.5), 0.3, (V[0] - 0.5) / 0.3
    found = density_bounds(V, x0, R, Ball(1.0, 0.0), 1)[0]
    np.testing.assert_allclose(found[0], 1.0 - y @ y.T, rtol=0.0, atol=1e-12)


def test_densities_are_nearly_exact_inside_and_close_in_across_the_sphere():
    """Inside e1 is rounding; across the sphere it falls by about 16 with each cut."""
    V = np.array([[[0.4, 0.4], [0.5, 0.4], [0.4, 0.5]], [[0.7, 0.5], [0.85, 0.5], [0.75, 0.65]]])
    rows = [density_bounds(V, np.full(2, 0.5), 0.3, Ball(1.0, 0.0), k)[1] for k in (1, 3, 5)]
    assert rows[0][0].max() <= 1e-12
    assert all(b[1, 1] <= a[1, 1] / 50.0 for a, b in pairwise(rows))


@pytest.mark.parametrize(("power", "axis"), [(1, None), (1, 0), (0, None)])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_coarse_densities_are_as_far_from_fine_ones_as_they_say(d, power, axis):
    """Without chance: projections of two depths differ by at most both errors, and these shrink."""
    draw = np.random.default_rng(7 + d)
    V = 0.5 + 0.6 * (draw.random((40, 1, d)) - 0.6) + 0.15 * draw.random((40, d + 1, d))
    V = V[np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) > 1e-4**d]
    runs = [density_bounds(V, np.full(d, 0.5), 0.3, Ball(2.0, 0.0), k, power, axis) for k in (0, 1, 2, 4)]
    for coarse, rest in runs[:-1]:
        gap = coarse - runs[-1][0]
        size = np.sqrt(np.maximum(np.einsum("njk,jklm,nlm->n", gap, means(d, 4).m, gap), 0.0))
        assert np.all(size <= rest[:, 2] + runs[-1][1][:, 2])
        assert rest[:, 1].mean() > runs[-1][1][:, 1].mean()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_means_above_zero_and_pieces_are_those_of_linear_functions(d):
    """Of max(ℓ, 0), for all signs of corners: shares of pieces, and means by fine samples."""
    draw = np.random.default_rng(d)
    t = draw.normal(size=(d + 1, 60))
    bary = draw.dirichlet(np.ones(d + 1), 40_000)
    sampled = np.maximum(bary @ t, 0.0).mean(axis=0)
    np.testing.assert_allclose(above(-np.sort(-t, axis=0)), sampled, atol=0.02)
    X = np.broadcast_to(np.eye(d + 1)[:, :, None], (d + 1, d + 1, 60))
    found = np.zeros(60)
    for made, at, share in pieces(t, X):
        np.testing.assert_allclose(np.abs(np.linalg.det(np.moveaxis(made, 2, 0))), np.abs(share), atol=1e-12)
        np.add.at(found, at, share * np.einsum("jin,in->n", made, t[:, at]) / (d + 1.0))
    np.testing.assert_allclose(found, above(-np.sort(-t, axis=0)), atol=1e-12)


def test_a_ball_may_touch_and_no_more():
    """In exact arithmetic: the side x = 1 is 0.25 away from 0.75, and the next float is not."""
    side = np.array([[[1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]])
    x0 = np.array([0.75, 0.5])
    assert clear(x0, side, 0.25)
    assert not clear(x0, side, math.nextafter(0.25, 1.0))
    corner = np.array([[[1.0, 1.0], [2.0, 1.0]]])
    assert clear(np.zeros(2), corner, math.sqrt(2.0) * (1.0 - 1e-15))
    assert not clear(np.zeros(2), corner, 1.42)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("points") / "b"
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("square", 12), "exp(x)*sin(3*y)", dirichlet={"boundary": 0.0}, reaction=2.0
    )
    queries = problem.points([[0.37, 0.41], [0.62, 0.55]]) + problem.averages([[0.5, 0.5]], 0.1)
    queries = queries + problem.gradients([[0.4, 0.55]], "y") + problem.fluxes([[0.4, 0.55]], "x")
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return folder


def test_points_averages_and_derivatives_are_proved(written):
    assert not [line for line in verify(written) if line.startswith("declared:") and "∫fΦ" in line]


def first_goal(**new):
    """Other numbers of the first query's goal."""
    return goal(0, **new)


def goal(number, **new):
    """Other numbers of a query's goal."""
    return lambda forger: forger.json("proof.json", lambda d: d["goals"][number].update(new))


@pytest.mark.parametrize(
    ("what", "at", "degree", "source", "c"),
    [
        ("interval", [0.75], 1, "1", 0.0),
        ("interval", [0.75], 1, "abs(x-0.3)", 0.0),
        ("interval", [0.123], 2, "exp(x)*sin(5*x)", 5.0),
        ("interval", [0.123], 2, "exp(x)*sin(5*x)", -5.0),
        ("square", [0.998, 0.5], 2, "exp(x)*sin(5*y)", -5.0),
        ("square", [0.45, 0.5], 1, "x**1.5*y", 0.0),
    ],
)
def test_honest_points_beside_facets_and_branch_points_verify(tmp_path, what, at, degree, source, c):
    mesh = pp.io.generate(what, 12 if what == "interval" else 6)
    problem = pp.fem.ReactionDiffusion(mesh, source, dirichlet={"boundary": 0.0}, reaction=c, degree=degree)
    queries = problem.points([at])
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    assert verify(tmp_path / "b")


def of_the_case(**new):
    """Another problem in the case, and nothing else."""
    return lambda forger: forger.json("case.json", lambda d: d["problem"].update(new))


PROBLEMS = {
    "a drift": of_the_case(convection=["5", "0"]),
    "a formula for κ": of_the_case(diffusion="1+0*x"),
    "a matrix": of_the_case(diffusion=[[1.0, 0.0], [0.0, 1.0]]),
    "formulas by groups": of_the_case(diffusion={"a": "1+x"}),
    "a decimal that is no float": lambda forger: [
        forger.json(name, lambda d: _source(d, "exp(x)*sin(3*y) + 1e-330*1e300*1e30*999"))
        for name in ("case.json", "proof.json")
    ],
}


def _source(data, text):
    """Another source where a file has one."""
    (data["problem"] if "problem" in data else data)["source"] = text


@pytest.mark.parametrize("what", PROBLEMS)
def test_another_problem_is_refused(written, tmp_path, what):
    shutil.copytree(written, tmp_path / "b")
    forger = Forger(tmp_path / "b")
    PROBLEMS[what](forger)
    forger.seal()
    with pytest.raises(Refused, match=r"not that of the case|is proved|not those"):
        verify(tmp_path / "b")


FORGERIES = {
    "another integral of the source": first_goal(constant=0.02),
    "a larger ball": first_goal(radius=0.3700001),
    "a smaller ball": first_goal(radius=0.36),
    "a density that is scaled": lambda forger: forger.array("dual/w0_beta", lambda a: a * 1.001),
    "bounds of no error": lambda forger: (
        forger.array("dual/w0_rest", lambda a: 0.0 * a),
        forger.array("dual/w0_beta", lambda a: np.round(a, 1)),
    ),
    "another integral of an average": goal(2, constant=0.0),
    "another integral of a derivative": goal(3, constant=0.0),
    "a smaller ball of an average": goal(2, radius=0.3),
    "the density of an average": lambda forger: forger.array("dual/w2_beta", lambda a: a * 1.001),
    "the density of a derivative": lambda forger: forger.array("dual/w3_beta", lambda a: a * 1.001),
    "a flux as a derivative": lambda forger: forger.array("dual/w4_beta", lambda a: a * 1.01),
    "half a density": lambda forger: [
        forger.array(f"dual/w0_{part}", lambda a: a[: len(a) // 2]) for part in ("at", "beta", "rest")
    ],
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_point_is_refused(written, tmp_path, what):
    shutil.copytree(written, tmp_path / "b")
    forger = Forger(tmp_path / "b")
    FORGERIES[what](forger)
    forger.seal()
    with pytest.raises(Refused, match=r"∫fΦ|ball|is proved|not that of the point"):
        verify(tmp_path / "b")
