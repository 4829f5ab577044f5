"""A network of space and time kept as it is on a mesh in time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.parabolic import lifted
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models import Lift
from pinnpoint.models.networks.heat import heat_task
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.smooth import model_at
from pinnpoint.taylor.models import constant
from pinnpoint_verify import Refused, verify
from tests.support.forged import sealed

TASK = heat_task("heat_1d")
AT = np.array([[0.4], [0.7]])


def shipped():
    return Lift(TASK.network(), TASK.factor, TASK.offset, variables=TASK.variables)


def line(n=8, **given):
    known = {"source": TASK.source, "initial": TASK.initial, "end": TASK.end, "steps": n}
    return pp.fem.Parabolic(pp.io.generate("interval", n), **{**known, "dirichlet": {"boundary": 0.0}, **given})


def truth(X, t):
    return parse(TASK.exact, TASK.variables)(np.column_stack([X, np.full(len(X), t)]))


def test_lift_of_the_shipped_network_is_a_hundred_times_narrower_and_holds_the_truth():
    problem = line()
    found = pp.certify(problem, shipped(), problem.points(AT), lift=True)
    assert found.guarantee == "deterministic"
    assert np.all(found.contains(truth(AT, TASK.end)))
    assert np.all(found.narrowing > 100.0)


def test_lift_of_the_exact_solution_leaves_next_to_nothing():
    problem = line(6, reaction=2.0, source=f"{TASK.source} + 2*({TASK.exact})")
    found = pp.certify(problem, TASK.exact, problem.points(AT), lift=True)
    assert np.all(found.contains(truth(AT, TASK.end)))
    assert np.all(found.radius < 1e-6)


def test_lift_that_misses_the_boundary_and_initial_values_pays_for_it():
    problem = line()
    off = f"{TASK.exact} + 0.01*(1 - 0.5*x)*exp(-t)"
    found = pp.certify(problem, off, problem.points(AT, time=0.31), lift=True)
    assert np.all(found.contains(truth(AT, 0.31)))
    assert np.all(found.radius < 5e-3)
    assert np.all(np.abs(found.raw - truth(AT, 0.31)) > 1e-3)


@pytest.mark.parametrize("term", ["rate", "start", "boundary"])
def test_term_of_the_lift_left_out_is_noticed(monkeypatch, term):
    """u_θ = u + 0.3 sin(πx) t + 0.2 sin(πx) + 0.1: each part of what it leaves is needed."""
    if term == "rate":
        own = lifted._residual
        monkeypatch.setattr(lifted, "_residual", lambda lift, *given: own(lift, *given) + wrong(lift, given[-1]))

        def wrong(lift, X):
            return lift.jet(X, (1,)).gradient[0]

    elif term == "start":
        monkeypatch.setattr(lifted, "_start", lambda lift, u0, X: constant(0.0) * X[0])
    else:
        monkeypatch.setattr(lifted, "_gap", lambda lift, g, X: constant(0.0) * X[0])
    problem = line(8, end=0.05)
    given = f"{TASK.exact} + 0.3*sin(pi*x)*t*20 + 0.2*sin(pi*x) + 0.1"
    found = pp.certify(problem, given, problem.points([[0.4]]), lift=True)
    assert not np.any(found.contains(truth(AT[:1], 0.05)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"diffusion": [1.0] * 4 + [2.0] * 4}, "must be a number"),
        ({"diffusion": "1 + x"}, "must be a number"),
        ({"source": lambda X, t: 0 * t}, "source: "),
    ],
)
def test_lifts_without_a_proof_are_refused(given, words):
    problem = line(**given)
    with pytest.raises(pp.InputError, match=words):
        pp.certify(problem, shipped(), problem.points(AT), lift=True)


def test_lift_refuses_functions_other_queries_and_networks_of_other_inputs():
    problem = line()
    with pytest.raises(pp.InputError, match="known derivatives"):
        pp.certify(problem, lambda X, t: t, problem.points(AT), lift=True)
    with pytest.raises(pp.InputError, match="points are known"):
        pp.certify(problem, "t", problem.averages([[0.5]], spread=0.1), lift=True)
    plane = pp.fem.Parabolic(pp.io.generate("square", 2), initial="x", end=1.0, steps=2)
    with pytest.raises(pp.InputError, match="2 inputs"):
        pp.certify(plane, TASK.network(), plane.points([[0.4, 0.4]]), lift=True)
    with pytest.raises(pp.InputError, match="z is not"):
        pp.certify(problem, Lift("z"), problem.points(AT), lift=True)


def test_bundle_of_a_lifted_network_verifies_by_its_weights(tmp_path):
    rng = np.random.default_rng(3)
    weights = [0.5 * rng.normal(size=shape) for shape in ((4, 2), (1, 4))]
    u = Lift(MLP(weights, [np.zeros(4), np.zeros(1)]), "0.1*x*(1-x)", "x*(1-x)", variables=("x", "t"))
    problem = line(4, source="0", initial="x*(1-x)", end=0.1)
    queries = problem.points(AT[:1])
    found = pp.certify(problem, u, queries, lift=True)
    folder = pp.write_bundle(tmp_path / "bundle", found, problem, u, queries)
    assert any(line.startswith("q0: proved") for line in verify(folder))
    W = np.load(folder / "lift" / "w1.npy")
    np.save(folder / "lift" / "w1.npy", W + 1.0)
    sealed(folder)
    with pytest.raises(Refused, match="is claimed"):
        verify(folder)


def test_a_free_facet_between_held_nodes_is_free():
    """The bottom is one edge: its two nodes are held by the other sides, and nothing is given on it."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    fan = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [0, 3, 4]]
    mesh = Mesh(corners, fan, {}, {"held": np.array([[1, 2], [2, 3], [0, 3]])})
    problem = pp.fem.Parabolic(mesh, dirichlet={"held": "x*y"}, initial="x*y", end=0.5, steps=2)
    (flux,) = problem.lifted("x*y").rest.given["neumann"].values()
    assert np.array_equal(
        flux(np.array([[0.3, 0.0, 0.1], [1.0, 0.0, 0.4]])), [0.3, 1.0]
    )  # g − κ∂_n u = x on the bottom


def flowing():
    """u = e^{−t}(1 + x²), b = 1, ∂_n u + 2u = 6e^{−t} at x = 1."""
    return pp.fem.Parabolic(
        pp.io.generate("interval", 4),
        "exp(-t)*(-(1 + x**2) - 2 + 2*x)",
        "1 + x**2",
        convection=["1"],
        dirichlet={"left": "exp(-t)"},
        robin={"right": (2.0, "6*exp(-t)")},
        end=0.5,
        steps=4,
    )


@pytest.mark.parametrize("term", [None, "_flux", "drift"])
def test_lifts_beside_drift_and_robin_sides(monkeypatch, term):
    """The prediction is off by 0.02 x sin(t): its flux, and what drift makes of it, are part of the rest's data."""
    problem = flowing()
    if term == "_flux":
        monkeypatch.setattr(lifted, "_flux", lambda lift, g, kappa, n, X: model_at(g, X) - constant(2.0) * X[0] * X[0])
    elif term == "drift":
        own = lifted._residual
        monkeypatch.setattr(lifted, "_residual", lambda lift, f, k, b, *more: own(lift, f, k, None, *more))
    found = pp.certify(problem, "exp(-t)*(1 + x**2) + 0.02*x*sin(t)", problem.points([[0.6]]), lift=True)
    held = found.contains([math.exp(-0.5) * 1.36]).all()
    assert held == (term is None)
    assert found.radius[0] < 2e-3 or term is not None
