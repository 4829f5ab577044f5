"""Lifts beside periodic pairs: intervals hold solutions whatever the prediction jumps by, and every term counts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.fem.lifts.lifted_periodic import Sewing
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models import MLP
from pinnpoint.models.folds import Fold
from pinnpoint.taylor.bernstein import AbstractRows
from pinnpoint.transfer.boundary.seams import Seam
from tests.support.periodic import random_case, shuffled

PI2 = 2.0 * math.pi


def contained(problem, prediction, queries, truth) -> np.ndarray:
    c = pp.certify(problem, prediction, queries, lift="anyway")
    assert str(c.guarantee) == "deterministic"
    assert c.contains(truth).all(), (c.center - truth, c.radius)
    return c.radius


def network(rng, d: int) -> MLP:
    """Random, and far from periodic."""
    return MLP([rng.normal(size=(5, d)), 0.5 * rng.normal(size=(1, 5))], [rng.normal(size=5), np.zeros(1)])


@pytest.mark.parametrize(("d", "count"), [(1, 4), (2, 2), pytest.param(3, 1, marks=pytest.mark.slow)])
def test_random_networks(d, count):
    for i in range(count):
        rng = np.random.default_rng([22, d, i])
        problem, queries, truth, _ = random_case(rng, d)
        contained(problem, network(rng, d), queries, truth)


def tube(n=4, degree=2, mesh=None, **more):
    """u = sin 2πx y(1 − y)."""
    u = "(sin(2*pi*x)*y*(1-y))"
    mesh = pp.io.generate("square", n) if mesh is None else mesh
    sides = {"bottom": 0.0, "top": 0.0}
    source = f"4*pi**2*{u} + 2*sin(2*pi*x)"
    return pp.fem.ReactionDiffusion(mesh, source, dirichlet=sides, periodic={"left": "right"}, degree=degree, **more)


X = np.array([[0.3, 0.4], [0.75, 0.3]])
U = np.sin(PI2 * X[:, 0]) * X[:, 1] * (1.0 - X[:, 1])
JUMPS = "sin(2*pi*x)*y*(1-y) + 0.3*exp(x)*cos(y)"
"""In value, by 0.3 (e − 1) cos y, and in slope by as much."""


def check_tube() -> None:
    problem = tube()
    queries = problem.points(X) + problem.mean() + problem.averages([[0.5, 0.5]], 0.2)
    radius = contained(problem, JUMPS, queries, np.append(U, [0.0, 0.0]))
    assert radius.max() < 5e-4


def test_predictions_that_jump():
    check_tube()


@pytest.mark.parametrize("degree", [1, 2])
def test_a_better_prediction_narrows_the_proof(degree):
    problem = tube(degree=degree)
    queries = problem.points(X)
    wide = pp.certify(problem, "0*x", queries).radius
    near = contained(problem, "1.01*sin(2*pi*x)*y*(1-y) + 1e-3*x*y*(1-y)", queries, U)
    assert np.all(near < 0.03 * wide)


def test_an_exact_one_leaves_rounding():
    assert contained(tube(), "sin(2*pi*x)*y*(1-y)", tube().points(X), U).max() < 1e-11


def without(name, monkeypatch):
    """Leave one term out."""
    if name == "jump":
        monkeypatch.setattr(Fold, "jet", lambda self, inner, X, axes, pairs: inner(X, axes, pairs))
    elif name == "field":
        true = Seam.field
        monkeypatch.setattr(Seam, "field", lambda self, cells: _still(true(self, cells)))
    else:
        monkeypatch.setattr(Sewing, "_source", lambda self, residual, X: residual.taylor(X))


def _still(field: AbstractRows) -> AbstractRows:
    return replace(field, coefficients=0.0 * field.coefficients)


@pytest.mark.parametrize("term", ["jump", "field", "divergence"])
def test_every_term_counts(term, monkeypatch):
    without(term, monkeypatch)
    with pytest.raises((AssertionError, InputError)):
        check_tube()


def notched(n: int = 6) -> Mesh:
    """A square without its middle third at the bottom: two walls across the glued axis."""
    mesh = pp.io.generate("square", n)
    middle = mesh.points[mesh.cells].mean(axis=1)
    keep = ~((np.abs(middle[:, 0] - 0.5) < 1.0 / 6.0) & (middle[:, 1] < 1.0 / 3.0))
    used = np.unique(mesh.cells[keep])
    number = np.full(len(mesh.points), -1)
    number[used] = np.arange(len(used))
    P = mesh.points[used]
    plain = Mesh(P, number[mesh.cells[keep]])
    at = P[plain.boundary]

    def on(axis, value):
        return plain.boundary[np.all(np.abs(at[:, :, axis] - value) < 1e-12, axis=1)]

    named = {"left": on(0, 0.0), "right": on(0, 1.0), "top": on(1, 1.0), "bottom": on(1, 0.0)}
    walls = {"west": on(0, 1.0 / 3.0), "east": on(0, 2.0 / 3.0), "roof": on(1, 1.0 / 3.0)}
    return Mesh(P, plain.cells, facet_groups=named | walls)


def check_notch() -> None:
    """Walls across the glued axis take n·Q from their fluxes, and αû on Robin sides."""
    slope, u = "2*pi*cos(2*pi*x)*y", "sin(2*pi*x)*y"
    sides = {"west": slope, "bottom": "-sin(2*pi*x)", "roof": "-sin(2*pi*x)"}
    problem = pp.fem.ReactionDiffusion(
        notched(),
        f"4*pi**2*{u}",
        dirichlet={"top": "sin(2*pi*x)"},
        neumann=sides,
        robin={"east": (2.0, f"-({slope}) + 2*{u}")},
        periodic={"right": "left"},
        degree=2,
    )
    P = np.array([[0.2, 0.5], [0.6, 0.7]])
    radius = contained(problem, f"{u} + 0.5*exp(x)*(1 + y)", problem.points(P), np.sin(PI2 * P[:, 0]) * P[:, 1])
    assert radius.max() < 0.02


def test_walls_across_the_glued_axis():
    check_notch()


def test_walls_count(monkeypatch):
    monkeypatch.setattr(Sewing, "left", lambda self, given, normal: given)
    with pytest.raises(AssertionError):
        check_notch()


@pytest.mark.parametrize(
    "more",
    [
        {"diffusion": "1 + 0.3*x"},
        {"diffusion": [[2.0, "0.5*x"], ["0.5*x", 1.0]]},
        {"convection": [1.0, "sin(2*pi*x)"], "reaction": 2.0},
    ],
    ids=["jumping", "matrix", "convection"],
)
def test_coefficients_that_vary(more):
    """Where A jumps at the pair slopes of u do: the intervals with and without the lift meet."""
    mesh, sides = pp.io.generate("square", 4), {"bottom": 1.0, "top": 1.0}
    problem = pp.fem.ReactionDiffusion(mesh, "1 + x*y", dirichlet=sides, periodic={"left": "right"}, degree=2, **more)
    queries = problem.points(X) + problem.mean()
    plain = pp.certify(problem, "1 + 0*x", queries)
    kept = pp.certify(problem, "1 + 0.1*exp(x)*y*(1-y)", queries, lift="anyway")
    assert np.all(np.abs(plain.center - kept.center) <= plain.radius + kept.radius)
    assert kept.radius.max() < 0.05


def test_both_axes_of_a_torus():
    u = "(cos(2*pi*x)*sin(2*pi*y))"
    mesh = shuffled(np.random.default_rng(0), pp.io.generate("square", 4))
    pairs = {"left": "right", "top": "bottom"}
    problem = pp.fem.ReactionDiffusion(mesh, f"(8*pi**2 + 3)*{u}", reaction=3.0, periodic=pairs, degree=2)
    truth = np.cos(PI2 * X[:, 0]) * np.sin(PI2 * X[:, 1])
    assert contained(problem, f"{u} + 0.1*x*exp(y)", problem.points(X), truth).max() < 1e-2


def test_what_is_judged_is_the_prediction_itself():
    problem = tube()
    c = pp.certify(problem, JUMPS, problem.points(X), lift="anyway", accept=0.01)
    assert np.allclose(c.raw, U + 0.3 * np.exp(X[:, 0]) * np.cos(X[:, 1]), atol=1e-12)
    assert [v["accept"] for v in c.verdicts] == ["beyond", "beyond"]


def test_tolerance_refines_both_sides():
    problem = tube(4, 1)
    near = "1.3*sin(2*pi*x)*y*(1-y) + 0.05*x*y*(1-y)"
    found = pp.certify_to(problem.lifted(near), near, problem.points(X), 1.5e-2)
    assert len(found.problem.mesh.cells) > len(problem.mesh.cells)
    assert found.certificate.contains(U).all()
    assert found.certificate.radius.max() <= 1.5e-2


def test_refusals():
    problem = tube()
    with pytest.raises(InputError, match="slopes that jump at the pairs"):
        pp.certify(problem, JUMPS, problem.everywhere(), lift="anyway")
    turned = pp.io.generate("square", 4)
    P = turned.points @ np.array([[1.0, 1.0], [-1.0, 1.0]])
    tilted = Mesh(P, turned.cells, facet_groups=dict(turned.facet_groups))
    with pytest.raises(InputError, match="exact translates along an axis"):
        tube(mesh=tilted).lifted(JUMPS)
    lift = pp.models.Lift.opaque(lambda X: X[:, 0], lambda X: 0.0 * X[:, 0])
    with pytest.raises(InputError, match="a network by its weights or a formula"):
        problem.lifted(lift)
