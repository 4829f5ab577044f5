"""Burgers' equation: averages hold the truth, and each part of the bound is needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import pinnpoint as pp
from pinnpoint.boxes import burgers, slopes
from pinnpoint.models.networks.heat import heat_task

MIDDLES, HALF, TIME = np.array([-0.5, 0.2]), 0.2, 0.8


def front(nu, c, a):
    """A front c − a tanh(a(x − ct)/2ν) as a problem, its formula, and its averages."""

    def of(x):
        return f"{c} - {a}*tanh({a / (2 * nu)!r}*({x} - {c}*t))"

    start = f"{c} - {a}*tanh({a / (2 * nu)!r}*x)"
    ends = {"x-": of("(-1)"), "x+": of("1")}
    problem = pp.boxes.Burgers([-1, 1], end=1.0, viscosity=nu, initial=start, dirichlet=ends)

    def u(x):
        return c - a * np.tanh(a / (2 * nu) * (x - c * TIME))

    truth = np.array([quad(u, x - HALF, x + HALF)[0] / (2 * HALF) for x in MIDDLES])
    return problem, of("x"), truth


@pytest.mark.parametrize("extra", ["0", "0.01*cos(x + t)", "0.003*(1 - x**2)*t", "0.02*sin(5*x)*exp(-t)"])
@pytest.mark.parametrize("parameters", [(0.05, 0.3, 0.8), (0.2, -0.5, 1.0)])
def test_fronts_are_held(parameters, extra):
    problem, exact, truth = front(*parameters)
    found = pp.certify(problem, f"{exact} + {extra}", problem.averages(MIDDLES, HALF, time=TIME))
    assert found.contains(truth).all()
    assert found.guarantee == "deterministic"
    assert np.all(found.radius < (1e-9 if extra == "0" else 0.5))


def test_an_error_of_one_sign_makes_it_sharp():
    """u = 0 and v = δ(1 − x²), which leaves little of the equation so early: ‖e‖₁ is 4δ/3."""
    problem = pp.boxes.Burgers([-1, 1], end=1e-3, viscosity=0.01)
    found = pp.certify(problem, "0.001*(1 - x**2)", problem.averages([0.0], 1.0))
    assert found.contains(0.0).all()
    assert abs(found.center[0]) > 0.95 * found.radius[0]


def test_a_network_is_certified():
    problem = pp.boxes.Burgers([0, 1], end=0.2, viscosity=0.1)
    found = pp.certify(problem, heat_task("heat_1d").network(), problem.averages([0.5], 0.25), budget=200)
    assert found.contains(0.0).all()
    assert np.isfinite(found.radius).all()


def nothing(self, lift):
    return lambda X: burgers.constant(0.0)


@pytest.mark.parametrize(
    ("part", "end", "guess"),
    [("_start", 1e-3, "0.001*(1 - x**2)*exp(-t)"), ("_residual", 1.0, "0.001*(1 - x**2)*t")],
)
def test_what_is_left_out_is_missed(monkeypatch, part, end, guess):
    problem = pp.boxes.Burgers([-1, 1], end=end, viscosity=0.01)
    asked = problem.averages([0.0], 1.0)
    assert pp.certify(problem, guess, asked).contains(0.0).all()
    monkeypatch.setattr(burgers.Burgers, part, nothing)
    assert not pp.certify(problem, guess, asked).contains(0.0).any()


def test_values_at_the_ends_are_mended(monkeypatch):
    """u = 0 at the start and 1 at the ends: soon near 1 inside, where u_θ = 0 leaves nothing but at the ends."""
    problem = pp.boxes.Burgers([0, 1], end=0.5, viscosity=1.0, initial=0.0, dirichlet=1.0)
    asked = problem.averages([0.5], 0.25)
    assert pp.certify(problem, "0", asked).upper[0] > 0.97
    ramp = burgers.Jet.constant(burgers.constant(0.0), 1)
    empty = burgers.Jet.constant(burgers.constant(0.0), 0)
    monkeypatch.setattr(burgers, "_ramp", lambda problem, lift, X, axes=(): ramp if axes else empty)
    assert pp.certify(problem, "0", asked).upper[0] < 0.1


def test_changes_of_sign_cost_little():
    problem = pp.boxes.Burgers([-1, 1], end=1e-6, viscosity=0.01)
    found = pp.certify(problem, "0.1*sin(50*x)", problem.averages([0.0], 1.0))
    x = np.linspace(-1, 1, 100_001)
    mean = 0.1 * np.mean(np.abs(np.sin(50 * x) - np.sin(50) * x))  # its ends are mended
    assert 0.95 * mean < found.radius[0] < 1.15 * mean


def test_what_burgers_cannot_do_is_refused():
    problem = pp.boxes.Burgers([-1, 1], end=1.0, viscosity=0.01)
    with pytest.raises(pp.InputError, match="not inside the line"):
        problem.averages([0.95], 0.1)
    with pytest.raises(pp.InputError, match="viscosity"):
        pp.boxes.Burgers([-1, 1], end=1.0, viscosity=0.0)
    with pytest.raises(pp.InputError, match="were not made by this problem"):
        pp.certify(problem, "0", pp.Box([0, 1], end=0.4).points([0.5]))


def settling(nu, a, extra="0"):
    """u = 2νπ q sin πx/(a + q cos πx), q = e^{−νπ²t}, by Cole and Hopf: zero at 0 and 1."""
    q = f"exp(-{nu}*pi**2*t)"
    exact = f"2*{nu}*pi*{q}*sin(pi*x)/({a} + {q}*cos(pi*x))"
    start = f"2*{nu}*pi*sin(pi*x)/({a} + cos(pi*x))"
    problem = pp.boxes.Burgers([0, 1], end=0.5, viscosity=nu, initial=start)

    def u(x, t):
        p = np.exp(-nu * np.pi**2 * t)
        return 2 * nu * np.pi * p * np.sin(np.pi * x) / (a + p * np.cos(np.pi * x))

    return problem, f"{exact} + {extra}", u


@pytest.mark.parametrize("extra", ["0", "0.002*x*(1 - x)*t", "0.003*cos(3*x)", "-0.001*sin(6*x)*(1 + t)"])
@pytest.mark.parametrize(("nu", "a"), [(0.05, 1.3), (0.2, 2.0)])
def test_points_are_held(nu, a, extra):
    problem, guess, u = settling(nu, a, extra)
    X, t = np.array([0.2, 0.5, 0.85]), 0.4
    found = pp.certify(problem, guess, problem.points(X, time=t), budget=400)
    assert found.contains(u(X, t)).all()
    assert found.guarantee == "deterministic"
    assert np.all(found.radius < (1e-3 if extra == "0" else 0.3))


def test_slopes_are_bounded_from_above_by_what_they_begin_with():
    problem, _, u = settling(0.05, 1.3)
    lift = problem.equation.lift_of("0")
    x = np.linspace(0.0, 1.0, 4001)
    for t in (0.05, 0.4):
        steepest = np.max(np.diff(u(x, t)) / np.diff(x))
        bound = slopes.steepest(problem.equation, lift, t)
        assert steepest <= bound < 1.0 / t
    loose = pp.boxes.Burgers([0, 1], end=0.5, viscosity=0.05, initial="1 + 0*x")
    assert slopes.steepest(loose.equation, lift, 0.25) == pytest.approx(4.0)
    kinked = pp.boxes.Burgers([0, 1], end=0.5, viscosity=0.05, initial="0.5 - abs(x - 0.5)")
    assert slopes.steepest(kinked.equation, lift, 0.25) == pytest.approx(4.0)


def test_a_triangle_attains_the_bound_of_a_point():
    """e = (E − L|x|)₊ on one side: ‖e‖₁ = E²/2L; cut off at ρ < E/L it is Eρ − Lρ²/2."""
    assert slopes.peak(0.5 * 0.3**2 / 2.0, 2.0, 1.0) == pytest.approx(0.3, rel=1e-12)
    assert slopes.peak(0.3 * 0.05 - 0.5 * 2.0 * 0.05**2, 2.0, 0.05) == pytest.approx(0.3, rel=1e-12)
    assert slopes.peak(0.1, -1.0, 0.5) == pytest.approx(0.2, rel=1e-12)
    assert slopes.peak(np.inf, 1.0, 0.5) == np.inf


def test_a_steep_prediction_needs_its_slope(monkeypatch):
    """A hump that no average sees: with the slope of the prediction left out the truth is missed."""
    problem, guess, u = settling(0.2, 2.0, "0.05*exp(-((x-0.5)/0.02)**2)*exp(-((t-0.4)/0.002)**2)")
    found = pp.certify(problem, guess, problem.points([0.5], time=0.4), budget=3000)
    assert found.contains(u(0.5, 0.4)).all()
    monkeypatch.setattr(slopes, "_range", lambda *_: (0.0, 0.0))
    monkeypatch.setattr(slopes, "steepest", lambda *_: 0.0)
    monkeypatch.setattr(burgers, "steepest", lambda *_: 0.0)
    monkeypatch.setattr(burgers.Burgers, "_norm", lambda *_: 0.05 * 0.02 * 1.8)
    assert not pp.certify(problem, guess, problem.points([0.5], time=0.4), budget=100).contains(u(0.5, 0.4)).all()


@pytest.mark.parametrize("given", [{"source": "x"}, {"dirichlet": {"x+": "t"}}])
def test_points_of_what_is_pushed_are_refused(given):
    problem = pp.boxes.Burgers([0, 1], end=0.5, viscosity=0.1, **given)
    with pytest.raises(pp.InputError, match="points: of Burgers' equation need source = 0"):
        problem.points([0.5])
