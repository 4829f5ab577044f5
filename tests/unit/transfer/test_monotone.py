"""The PDE's own solution of cubic reactions: manufactured solutions, exact products, kernels, constants, sabotage."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import acb, arb, ctx

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.tolerance import certify_to
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.taylor.bernstein import Density, exact_gram, gram, mean_of_powers, values
from pinnpoint.transfer.energy import norms
from pinnpoint.transfer.energy.estimator import Estimator
from pinnpoint.transfer.energy.products import (
    exponents,
    multiplied,
    paired,
    projected,
    square_times,
    square_times_linear,
)
from pinnpoint.transfer.nonlinear import monotone, reactions, remainder
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.potentials import FOURTH, formula, potential
from tests.support.cubics import dual_solver, manufactured, random_case, shares

ONE = np.array([[0.13], [0.25], [0.5], [0.81]])
TWO = np.array([[0.5, 0.5], [0.3, 0.4], [0.8, 0.15]])


def inside(certificate, truth):
    return np.all((certificate.lower <= truth) & (truth <= certificate.upper))


def line(cells, cubic, u="sin(pi*x)", second="-pi**2*sin(pi*x)", points=ONE, **options):
    return manufactured(generate("interval", cells), cubic, u, second, points, **options)


def square(n, cubic, u="sin(pi*x)*sin(pi*y)", laplacian="-2*pi**2*sin(pi*x)*sin(pi*y)", points=TWO, **options):
    return manufactured(generate("square", n), cubic, u, laplacian, points, **options)


# Products


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("n", [3, 4])
def test_projections_are_those_of_exact_rationals(m, n):
    rng = np.random.default_rng([m, n])
    c = rng.normal(size=(3, len(exponents(m, n))))
    found = projected(c, m, n, np.zeros(3))
    index = {alpha: i for i, alpha in enumerate(exponents(m, n))}

    def number(alpha):
        return Fraction(math.factorial(sum(alpha)), math.prod(math.factorial(a) for a in alpha))

    for row in range(3):
        coefficients = [Fraction(float(v)) for v in c[row]]
        beta = [Fraction(float(v)) for v in found.coefficients[row]]
        moments = [
            sum(
                number(a) * number(b) * mean_of_powers([x + y for x, y in zip(a, b, strict=True)]) * coefficients[i]
                for b, i in index.items()
            )
            for a in exponents(m, 2)
        ]
        left = [
            p - sum(g * b for g, b in zip(line_, beta, strict=True))
            for p, line_ in zip(moments, exact_gram(m), strict=True)
        ]
        assert max(abs(float(v)) for v in left) <= found.error1[row] <= 1e-12  # |mean of B (f − p)| ≤ mean|ε|
        square_ = sum(
            number(a)
            * number(b)
            * mean_of_powers([x + y for x, y in zip(a, b, strict=True)])
            * coefficients[i]
            * coefficients[j]
            for a, i in index.items()
            for b, j in index.items()
        )
        rest = square_ - sum(p * b for p, b in zip(moments, beta, strict=True))
        assert float(rest) <= found.high[row] ** 2 <= float(rest) * (1 + 1e-6) + 1e-20


@pytest.mark.parametrize("m", [1, 2, 3])
def test_products_with_a_density_hold_their_function(m):
    """u² g with g a quartic: g's own projection, rest and product, against the sextic's samples."""
    rng = np.random.default_rng(m)
    u, lam = rng.normal(size=(4, m + 1)), rng.uniform(0.5, 2.0, 4)
    g = rng.normal(size=(4, len(exponents(m, 4))))
    found = square_times(u, lam, projected(g, m, 4, np.zeros(4)))
    bary = rng.dirichlet(np.ones(m + 1), 60000)
    powers = {n: np.stack([np.prod(bary ** np.array(a), axis=1) for a in exponents(m, n)], axis=1) for n in (2, 4)}
    number = {
        n: np.array([math.factorial(n) / math.prod(map(math.factorial, a)) for a in exponents(m, n)]) for n in (2, 4)
    }
    for row in range(4):
        f = lam[row] * (bary @ u[row]) ** 2 * ((powers[4] * number[4]) @ g[row])
        p = values(bary) @ found.coefficients[row]
        size = math.sqrt(np.mean((f - p) ** 2))
        assert size <= (found.high[row] + found.error2[row]) * 1.02
        against = values(bary).T @ (f - p) / len(bary)
        assert np.all(np.abs(against) <= found.error1[row] + 5.0 * size / math.sqrt(len(bary)))


def test_products_hold_errors_of_a_density():
    """λu² times an error that is constant on the cell, where u is: nothing is lost."""
    u, lam, e = np.full((1, 3), 2.0), np.array([0.7]), np.array([0.3])
    found = square_times(u, lam, Density(np.zeros((1, 6)), np.zeros(1), e, e))
    for error in (found.error1, found.error2):
        assert 0.7 * 4.0 * 0.3 <= error[0] <= 0.7 * 4.0 * 0.3 * (1.0 + 1e-9)
    found = square_times(u, lam, Density(np.zeros((1, 6)), e, np.zeros(1), np.zeros(1)))
    assert 0.7 * 4.0 * 0.3 <= found.high[0] <= 0.7 * 4.0 * 0.3 * (1.0 + 1e-9)


@pytest.mark.parametrize("only", ["high", "first", "second"])
def test_integrals_of_two_densities_hold_what_is_not_known_of_them(only):
    """On one cell, with each of the three parts alone at its worst: orthogonal parts, errors of a, errors of b."""
    none, one = np.zeros(1), np.full((1, 3), 1.0)
    high, first, second = (0.3 * (only == name) * np.ones(1) for name in ("high", "first", "second"))
    a = Density((only == "second") * one, high, first, first)
    b = Density((only == "first") * one, 2.0 * high, second, second)
    truth = {"high": 0.3 * 0.6, "first": 0.3, "second": 0.3}[only]
    value, rounding, loose = paired(a, np.abs(a.coefficients).max(axis=1) + 0.3, b, np.ones(1), none)
    assert abs(truth - value) <= rounding + loose <= 1.5 * truth + 1e-12


def test_cubes_are_exact():
    u = np.array([[1.0, 2.0, -0.5]])
    found = square_times_linear(u, np.array([3.0]), u)
    bary = np.random.default_rng(0).dirichlet(np.ones(3), 2000)
    gap = 3.0 * (bary @ u[0]) ** 3 - values(bary) @ found.coefficients[0]
    assert math.sqrt(np.mean(gap**2)) == pytest.approx(found.high[0], rel=0.1)
    assert found.error1[0] < 1e-11
    cubic = multiplied(multiplied(u, u, 2, 1, 1), u, 2, 2, 1)
    assert np.abs(cubic).max() <= 8.0
    assert gram(2).shape == (6, 6)


# The kernel


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("average", [0.0, 0.3, 0.7])
def test_formulas_are_the_kernel(d, average):
    kernel, x0 = Kernel.build(d, 2.5, 0.0, 0.7, 1, average), np.array([0.1, 0.2, 0.3][:d])
    f = parse(formula(d, 0.7, x0, average or (0.0 if d == 1 else 0.01)))
    factor = {1: 0.7 / 2.5, 2: 1 / (4 * math.pi * 2.5), 3: 1 / (4 * math.pi * 2.5 * 0.7)}[d]
    for r in (0.05, 0.2, 0.4, 0.65, 0.69):
        X = x0.copy()
        X[0] += r
        value, error = kernel.value(r)
        assert abs(factor * f(X[None])[0] - value) <= error + 1e-14


@pytest.mark.parametrize(("kind", "d", "n"), [("interval", 1, 20), ("square", 2, 7), ("cube", 3, 3)])
@pytest.mark.parametrize("average", [0.0, 0.21])
def test_densities_have_the_kernel_s_integral(kind, d, n, average):
    mesh, x0 = generate(kind, n), np.array([0.45, 0.53, 0.5])[:d]
    kernel = Kernel.build(d, 2.0, 0.0, 0.4, 1, average)
    cells = np.sort(mesh.cells, axis=1)
    found = potential(kernel, mesh.points, cells, mesh.volumes, x0, 0.01, 1.0 / n)
    volumes = mesh.volumes[found.cells]
    truth, error = kernel.potential
    near = abs(volumes @ found.coefficients.mean(axis=1) - truth)
    assert near <= volumes @ found.error1 + error
    assert volumes @ found.error1 < (0.25 if d < 3 else 0.8) * abs(truth)


def test_constants_of_the_kernel():
    ctx.prec = 120
    fourth = acb.integral(lambda x, _: (x - 1.5 + 2 * (-x).exp() - (-2 * x).exp() / 2) ** 4 * (-x).exp(), 0, 200).real
    assert arb(FOURTH) > fourth
    assert arb(FOURTH) < fourth + arb("1e-3")
    square_ = acb.integral(lambda r, _: (1 - r) ** 6 * (3 + r) ** 2, 0, 1).real
    assert arb("1.397") > square_ > arb("1.396")
    log4 = acb.integral(lambda x, _: x**4 * (-x).exp(), 0, 300).real
    assert log4 < arb("24.0000001")
    assert arb(remainder.STEEP) >= arb(27).sqrt() / 8
    for m in (0.2, 0.75, 0.9):
        assert 2 * m**1.5 * math.sqrt(1 - m) <= remainder.STEEP


@pytest.mark.parametrize("d", [1, 2])
def test_norms_hold_for_functions(d):
    """Quadrature on a fine grid for products of sines, which vanish on the boundary."""
    problem = (line if d == 1 else square)(6, 1.0, points=ONE if d == 1 else TWO)[0]
    N = problem.transfer(problem.points([[0.4, 0.55][:d]])).norms
    kernel = Kernel.build(d, 1.0, 0.0, 0.4, 1)
    t = (np.arange(400) + 0.5) / 400
    grid = np.stack(np.meshgrid(*[t] * d, indexing="ij"), axis=-1).reshape(-1, d)
    Phi = np.array(parse(formula(d, 0.4, np.array([0.4, 0.55][:d]), 0.0 if d == 1 else 1e-3))(grid))
    Phi = Phi * (0.4 if d == 1 else 1 / (4 * math.pi))
    for k in ([1], [2], [5]) if d == 1 else ([1, 1], [1, 2], [4, 3]):
        v = np.prod(np.sin(np.pi * np.array(k) * grid), axis=1)
        energy = math.pi * math.sqrt(sum(i * i for i in k) * np.mean(v**2))
        assert math.sqrt(np.mean(v**2)) <= N.second * energy * (1 + 1e-9)
        assert np.mean(v**4) ** 0.25 <= N.fourth * energy
        assert math.sqrt(np.mean((v * Phi) ** 2)) <= N.weighted(kernel) * energy


# Intervals


def test_line_holds_the_solution_with_order_two():
    radii = []
    for cells in (32, 64, 128):
        problem, queries, truth = line(cells, 20.0)
        for method in (pp.Root(), pp.Stationary()):
            found = pp.certify(problem, lambda X: np.sin(np.pi * X[:, 0]) + 0.01, queries, method)
            assert inside(found, truth)
            assert found.guarantee == "deterministic"
            assert found.target == "continuous"
            assert set(found.radius_terms) == {"transfer", "remainder", "quadrature", "rounding"}
        radii.append(found.radius.max())
    assert all(math.log2(a / b) > 1.8 for a, b in pairwise(radii))
    assert radii[-1] < 8e-5


def test_square_holds_the_solution_with_order_two():
    radii = []
    for n in (8, 16, 32):
        problem, queries, truth = square(n, 20.0)
        found = pp.certify(problem, np.zeros((n + 1) ** 2), queries)
        assert inside(found, truth)
        radii.append(found.radius.max())
    assert all(math.log2(a / b) > 1.7 for a, b in pairwise(radii))
    assert radii[-1] < 6.5e-3


def test_the_interval_does_not_depend_on_the_prediction():
    problem, queries, _ = line(24, 20.0)
    rng = np.random.default_rng(0)
    found = [pp.certify(problem, problem.space.project(s * rng.normal(size=25)).U, queries) for s in (0.0, 1.0, 1e3)]
    for other in found[1:]:
        assert np.allclose(other.center, found[0].center, rtol=0, atol=1e-11)
        assert np.allclose(other.radius, found[0].radius, rtol=1e-8)


def test_boundary_data_reaction_and_sign_changes():
    u, second = "cos(3*x)+x**2", "-9*cos(3*x)+2"
    problem, queries, truth = line(
        40, 7.0, u, second, reaction=3.0, dirichlet={"left": 1.0, "right": f"{float(parse(u)(np.array([[1.0]]))[0])!r}"}
    )
    found = pp.certify(problem, np.zeros(41) + problem.space.U0, queries)
    assert inside(found, truth)
    assert np.all(found.radius < 0.02)
    u, laplacian = "exp(x)*cos(y+x)", "exp(x)*(-2*sin(y+x)-cos(y+x))"
    problem, queries, truth = square(10, 2.0, u, laplacian, dirichlet={"boundary": u})
    found = pp.certify(problem, problem.space.U0, queries)
    assert inside(found, truth)
    assert np.all(found.terms["boundary"] > 0.0)


def test_solutions_with_jumps_of_the_coefficients():
    """κ 1 | 4, c 0 | 5, λ 30 | 2 with u piecewise cubic and κu′ continuous at 1/2; the source jumps there too."""
    mesh = generate("interval", 64)
    left = mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5
    kappa, c, lam = np.where(left, 1.0, 4.0), np.where(left, 0.0, 5.0), np.where(left, 30.0, 2.0)
    # u = x(1 + x) left, κu′(½) = 2, so right u = 3/4 + t/2 − 2.5 t² with t = x − ½, u(1) = 3/8
    a, b = "x*(1+x)", "(0.75+(x-0.5)/2-2.5*(x-0.5)**2)"
    step = "max(0,min(1,(x-0.5)*1e9))"
    source = f"(1-{step})*(-2+30*({a})**3)+{step}*(20+5*{b}+2*{b}**3)"
    problem = pp.fem.Semilinear(mesh, lam, source, kappa, c, {"left": 0.0, "right": 0.375})
    X = np.array([[0.2], [0.45], [0.5], [0.7], [0.95]])
    truth = np.where(X[:, 0] <= 0.5, parse(a)(X), parse(b)(X))
    found = pp.certify(problem, problem.space.U0, problem.points(X))
    assert inside(found, truth)
    assert found.radius.max() < 0.2


def test_ball_averages_and_boundary_values():
    problem, _, _ = line(40, 20.0)
    r = 0.2
    queries = problem.averages([[0.5], [0.3]], r) + problem.points([[0.0]])
    found = pp.certify(problem, np.zeros(41), queries)
    mean = [math.sin(math.pi * x) * math.sin(math.pi * r) / (math.pi * r) for x in (0.5, 0.3)]
    assert inside(found, np.array([*mean, 0.0]))
    assert found.radius[2] < 1e-130
    assert found.radius[0] < 1e-2
    problem, _, _ = square(12, 10.0)
    found = pp.certify(problem, np.zeros(169), problem.averages([[0.5, 0.45]], 0.25))
    t, w = np.polynomial.legendre.leggauss(30)
    rho, phi = 0.125 * (t + 1), np.pi * (np.arange(60) + 0.5) / 30
    x, y = 0.5 + rho[:, None] * np.cos(phi), 0.45 + rho[:, None] * np.sin(phi)
    mean = (
        np.sum(0.125 * w[:, None] * rho[:, None] * np.sin(np.pi * x) * np.sin(np.pi * y)) * (np.pi / 30) / (np.pi / 16)
    )
    assert inside(found, mean)


def test_a_free_end():
    """u = sin(πx/2): u(0) = 0, u′(1) = 0; and its average over the free end, which is u(1) = 1."""
    u, second = "sin(pi*x/2)", "-pi**2/4*sin(pi*x/2)"
    problem, queries, truth = line(48, 5.0, u, second, dirichlet={"left": 0.0})
    found = pp.certify(problem, problem.space.U0, queries + problem.patch("right"))
    assert inside(found, np.array([*truth, 1.0]))
    assert found.radius.max() < 5e-3


def test_cube_holds_the_solution():
    u = "sin(pi*x)*sin(pi*y)*sin(pi*z)"
    problem = pp.fem.Semilinear(generate("cube", 4), 2.0, f"3*pi**2*{u}+2*({u})**3")
    X = np.array([[0.45, 0.5, 0.55]])
    found = pp.certify(problem, np.zeros(125), problem.points(X))
    assert inside(found, parse(u)(X))
    assert found.radius[0] < 1.2


def test_points_beside_the_boundary():
    """Balls much smaller than the cells: intervals are wide, as they are for linear problems, and hold."""
    X = np.array([[0.003, 0.4], [0.5, 0.98], [1e-7, 0.5]])
    problem, queries, truth = square(5, 3.0, points=X)
    found = pp.certify(problem, np.zeros(36), queries)
    assert inside(found, truth)
    linear = pp.fem.ReactionDiffusion(problem.mesh, "2*pi**2*sin(pi*x)*sin(pi*y)")
    assert np.all(found.radius < 4.0 * pp.certify(linear, np.zeros(36), linear.points(X)).radius)
    u = "x*(1-x)*y*(1-y)*z*(1-z)"
    laplacian = "(-2*y*(1-y)*z*(1-z)-2*x*(1-x)*z*(1-z)-2*x*(1-x)*y*(1-y))"
    problem, queries, truth = manufactured(generate("cube", 3), 1.0, u, laplacian, [[0.01, 0.5, 0.5]])
    found = pp.certify(problem, np.zeros(64), queries)
    assert inside(found, truth)
    assert np.all(np.isfinite(found.radius))


@pytest.mark.parametrize("cubic", [0.0, 1e-6, 1e4])
def test_weak_and_strong_reactions(cubic):
    problem, queries, truth = line(64, cubic)
    found = pp.certify(problem, np.zeros(65), queries)
    assert inside(found, truth)
    if cubic == 0.0:
        plain = pp.fem.ReactionDiffusion(problem.mesh, "pi**2*sin(pi*x)")
        linear = pp.certify(plain, np.zeros(65), plain.points(ONE))
        assert np.all(found.radius <= 1.05 * linear.radius)
        assert np.all(found.terms["remainder"] < 1e-300)


def test_random_problems_hold_their_solutions():
    """Random polynomials, coefficients, meshes, states and dual states: nothing needs to be solved."""
    rng = np.random.default_rng(6)
    found = [share for _ in range(30) for share in shares(*random_case(1, rng, int(rng.integers(6, 40)), points=3))]
    found += [share for _ in range(4) for share in shares(*random_case(2, rng, int(rng.integers(3, 7)), points=3))]
    assert len(found) > 100
    assert max(found) <= 1.0


# What is not solved, and sabotage


def perturbed(size, cells=400, cubic=2.0):
    """A state off by `size` sin πx on a fine mesh: the bracket is nearly exact, so the remainder is needed."""
    problem, queries, truth = line(cells, cubic, points=np.array([[0.37], [0.5]]))
    x = problem.mesh.points[:, 0]
    state = problem.space.project((1.0 + size) * np.sin(np.pi * x)).U
    route = problem.transfer(queries)
    return route, state, dual_solver(problem, state), truth


@pytest.mark.parametrize("size", [0.3, 0.05, -0.05, -0.3, -2.5])
def test_states_that_are_not_solved(size):
    route, state, solve, truth = perturbed(size)
    _, found = route.enclosed(state, solve)
    assert all(abs(v.center - t) <= v.radius for v, t in zip(found, truth, strict=True))


def misses(route, state, solve, truth):
    _, found = route.enclosed(state, solve)
    return any(abs(v.center - t) > v.radius for v, t in zip(found, truth, strict=True))


def test_a_missing_remainder_would_be_noticed(monkeypatch):
    monkeypatch.setattr(reactions, "remainder", lambda *_: (0.0, 0.0))
    assert misses(*perturbed(0.1))


def test_a_remainder_of_the_wrong_sign_would_be_noticed(monkeypatch):
    honest = reactions.remainder
    monkeypatch.setattr(reactions, "remainder", lambda *given: honest(*given)[::-1])
    assert misses(*perturbed(0.1))


def test_a_smaller_energy_bound_would_be_noticed(monkeypatch):
    honest = Estimator.energy
    monkeypatch.setattr(Estimator, "energy", lambda self, p: 0.6 * honest(self, p))
    assert misses(*perturbed(0.1))


def test_a_smaller_constant_would_be_noticed(monkeypatch):
    honest = norms.Norms.of
    monkeypatch.setattr(
        norms.Norms, "of", lambda model: type(n := honest(model))(1, 0.5 * n.second, 0.5 * n.fourth, 1.0, 0.5 * n.top)
    )
    assert misses(*perturbed(0.1))


def test_a_wrong_kernel_would_be_noticed(monkeypatch):
    honest = monotone.potential

    def wrong(*given):
        f = honest(*given)
        return Density(1.5 * f.coefficients, f.high, f.error1, f.error2, f.cells)

    monkeypatch.setattr(monotone, "potential", wrong)
    problem, queries, truth = line(96, 20.0)
    assert not inside(pp.certify(problem, np.zeros(97), queries), truth)


# Other ways, refusals


def test_refinement_to_a_tolerance():
    """A layer at x = 0.7 that uniform meshes of this size do not resolve."""
    u = "tanh(20*(x-0.7))"
    second = "-800*tanh(20*(x-0.7))*(1-tanh(20*(x-0.7))**2)"
    problem, queries, truth = line(10, 2.0, u, second, dirichlet={"boundary": u}, points=[[0.3], [0.72]])
    found = certify_to(problem, problem.space.U0, queries, 0.02)
    assert found.reached
    assert inside(found.certificate, truth)
    widths = np.diff(np.sort(found.problem.mesh.points[:, 0]))
    assert widths.max() > 3.0 * widths.min()


def test_a_comparison_state_still_serves():
    problem, queries, truth = line(32, 20.0)
    nodal = problem.extract(lambda X: np.sin(np.pi * X[:, 0])).U
    off = np.abs(queries.L @ nodal - truth)
    found = pp.certify(problem, nodal, queries, pp.Root(polish=3), transfer=pp.Comparison(off, state=nodal))
    assert inside(found, truth)


def test_what_is_not_monotone_is_refused():
    mesh = generate("square", 4)
    negative = pp.fem.Semilinear(mesh, -1.0, 1.0)
    with pytest.raises(InputError, match="λ ≥ 0"):
        pp.certify(negative, np.zeros(25), negative.points([[0.5, 0.5]]))
    plain = pp.fem.Semilinear(mesh, 1.0, 1.0)
    with pytest.raises(InputError, match="no proved transfer"):
        pp.certify(plain, np.zeros(25), plain.gradients([[0.5, 0.4]], "x"))


def test_opaque_sources_are_estimates():
    problem = pp.fem.Semilinear(generate("interval", 16), 1.0, lambda X: np.sin(3.0 * X[:, 0]))
    found = pp.certify(problem, np.zeros(17), problem.points([[0.4]]))
    assert found.guarantee == "estimate"
