"""What was refused over rounding beside coefficients that vary, and is proved: truths by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer.boundary.robin import Exchange
from pinnpoint.transfer.media import varied_gaps

S = math.sin(3.0)


def rod(shape="interval", n=10):
    """((1 + x)u′)′ = 0, u(0) = sin 3, 2u′(1) + u(1) = 0."""
    robin = {"right": (1.0, 0.0)}
    given = {"dirichlet": {"left": "sin(3)"}, "robin": robin, "degree": 2}
    return pp.fem.ReactionDiffusion(pp.io.generate(shape, n), 0.0, "1+x", **given)


@pytest.mark.parametrize(("shape", "n"), [("interval", 10), pytest.param("cube", 2, marks=pytest.mark.slow)])
def test_fluxes_of_data_that_is_met_but_for_rounding_beside_robin_sides(shape, n):
    problem = rod(shape, n)
    found = pp.certify(problem, problem.space.U0, problem.flux("left"))
    assert found.contains([S / (1.0 + math.log(2.0))]).all()
    assert found.radius[0] < 1e-5
    assert 0.0 < found.terms["boundary"][0] < 1e-10


def test_robin_facets_count_in_what_rounding_changes(monkeypatch):
    """Of data on a side that a Robin side meets, moved by 1 all along: ∫αDz_h is part of it."""
    mesh = pp.io.generate("square", 4)
    sides = {"dirichlet": {"left": 0.0}, "robin": {"bottom": (50.0, 0.0), "top": (50.0, 0.0)}}
    problem = pp.fem.ReactionDiffusion(mesh, 0.0, "1+x", **sides)
    model = problem.continuum(problem.topology)
    z = np.ones(model.size)
    with_it = varied_gaps.varied_flux_change(model, model.medium, 1.0, z, 0.0)
    D = np.zeros(model.size)
    D[problem.nodes.points[:, 0] == 0.0] = 1.0
    true = abs(D @ (problem.A @ z))
    assert true <= with_it
    monkeypatch.setattr(Exchange, "energy", lambda self, points, top: np.zeros(1))
    assert varied_gaps.varied_flux_change(model, model.medium, 1.0, z, 0.0) < true


def stepped():
    """−(κu′)′ + u′ = 1 with κ = 1 on the left half and 2 on the right one, zero at both ends."""
    mesh = pp.io.generate("interval", 10)
    kappa = np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5, 1.0, 2.0)
    zero = {"left": 0.0, "right": 0.0}
    return pp.fem.ReactionDiffusion(mesh, 1.0, kappa, convection=("1",), dirichlet=zero, degree=2)


def stepped_at(x):
    """u = x + A(e^x − 1) on the left, x + B + Ce^(x/2) on the right; u and κu′ do not jump."""
    e, h = math.exp, math.exp(0.5)
    rows = [[h, 0.0, -e(0.25)], [h - 1.0, -1.0, -e(0.25)], [0.0, 1.0, h]]
    A, B, C = np.linalg.solve(rows, [1.0, 0.0, -1.0])
    return x + (A * (e(x) - 1.0) if x <= 0.5 else B + C * e(0.5 * x))


def test_points_beside_jumps_on_a_line_with_convection(tmp_path):
    problem, X = stepped(), [0.5, 0.4999999, 0.5000001, 0.3]
    queries = problem.points([[x] for x in X])
    found = pp.certify(problem, problem.space.U0, queries)
    assert found.guarantee == "deterministic"
    assert found.contains([stepped_at(x) for x in X]).all()
    assert found.radius[0] < 1e-3
    assert found.radius.max() < 0.02
    with pytest.raises(pp.InputError, match="beside jumps"):
        pp.write_bundle(tmp_path / "b", found, problem, problem.space.U0, queries)


def test_what_is_given_by_the_end_is_as_wide_as_the_energy_says(monkeypatch):
    """The error at a point is below C_pt‖e‖; with C_pt a thousandth of what it is, a poor state is missed."""
    from pinnpoint.transfer.line import one_dimension

    problem = stepped()
    model = problem.continuum(problem.topology)
    state = problem.space.U0 + 0.1 * np.sin(math.pi * problem.nodes.points[:, 0])
    primal = model.estimator.measure(model.primal(state), [])[0]
    goal = problem.points([[0.5]]).goals[0]
    value, radius, _ = one_dimension.pointwise(model, goal, state, primal)
    assert abs(value - stepped_at(0.5)) <= radius
    monkeypatch.setattr(one_dimension, "reach", lambda model, x: np.full(len(x), 1e-3))
    value, radius, _ = one_dimension.pointwise(model, goal, state, primal)
    assert abs(value - stepped_at(0.5)) > radius


def drifting(b):
    """u = y(1 − y) in a periodic flow."""
    sides = {"dirichlet": {"bottom": 0.0, "top": 0.0}, "periodic": {"left": "right"}}
    mesh = pp.io.generate("square", 6)
    return pp.fem.ReactionDiffusion(mesh, "2+7*y*(1-y)", reaction=7.0, convection=(b, "0"), degree=2, **sides)


@pytest.mark.parametrize("b", ["2+sin(2*pi*x)", "cos(4*pi*x)*y", "1+x*(1-x)"])
def test_flows_that_are_periodic_in_exact_arithmetic(b):
    problem = drifting(b)
    found = pp.certify(problem, problem.space.U0, problem.mean())
    assert found.contains([1.0 / 6.0]).all()
    assert found.radius[0] < 1e-3


@pytest.mark.parametrize("b", ["2+sin(3*x)", "2+sin(2.000001*pi*x)", "1+x"])
def test_flows_that_are_not_are_refused_with_the_place(b):
    with pytest.raises(pp.InputError, match=r"may jump at a periodic pair, for example at \[0\.0"):
        pp.certify(drifting(b), "0*x", drifting(b).mean())
