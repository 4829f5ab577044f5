"""Periodic pairs: intervals hold solutions on tubes and tori, and what does not match is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.mesh import gluing
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer import continuum
from pinnpoint.transfer.nonlinear.ceilings import Ceilings
from tests.support.continua import unit_mesh
from tests.support.periodic import random_case, shuffled


def zero(X):
    return 0.0 * X[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("d", "count"), [(1, 40), (2, 50), (3, 12)])
def test_every_interval_holds_the_solution(d, count):
    narrow = 0
    for i in range(count):
        problem, queries, truth, label = random_case(np.random.default_rng([d, i]), d)
        c = pp.certify(problem, zero, queries)
        assert str(c.guarantee) == "deterministic"
        assert c.contains(truth).all(), label
        narrow += int(np.sum(c.radius < 0.05))
    assert narrow > 0.2 * count or d == 3


def tube(n: int = 6, degree: int = 2, mesh: Mesh | None = None):
    """u = sin 2πx y(1 − y)."""
    u = "(sin(2*pi*x)*y*(1-y))"
    mesh = pp.io.generate("square", n) if mesh is None else mesh
    sides = {"bottom": 0.0, "top": 0.0}
    source = f"4*pi**2*{u} + 2*sin(2*pi*x)"
    return pp.fem.ReactionDiffusion(mesh, source, dirichlet=sides, periodic={"left": "right"}, degree=degree)


X = np.array([[0.3, 0.4], [0.75, 0.3]])
U = np.sin(2.0 * np.pi * X[:, 0]) * X[:, 1] * (1.0 - X[:, 1])


def check_tube() -> None:
    problem = tube(mesh=shuffled(np.random.default_rng(3), pp.io.generate("square", 8)))
    c = pp.certify(problem, zero, problem.points(X))
    assert c.contains(U).all()
    assert c.radius.max() < 1e-3


def test_radii_shrink():
    radii = []
    for n in (6, 12):
        problem = tube(n)
        c = pp.certify(problem, zero, problem.points(X) + problem.flux("top"))
        assert c.contains(np.append(U, 0.0)).all()
        radii.append(c.radius[:2])
    assert np.all(np.log2(radii[0] / radii[1]) > 3.5)


def test_numbers_of_nodes_do_not_matter():
    check_tube()


def test_the_order_of_vertices_matters(monkeypatch):
    """Sorted by their own numbers the two sides read a flux in different orders, which the bound tells."""
    true = gluing.glued

    def wrong(T, g):
        same = gluing.Gluing(g.first, g.second, np.arange(len(g.vertex)))
        return true(T, same)

    monkeypatch.setattr("pinnpoint.fem.reaction_diffusion.glued", wrong)
    with pytest.raises(AssertionError):
        check_tube()


def test_balls_stop_at_pairs():
    """A ball across a pair would be asked for the solution outside of the mesh."""
    problem = tube()
    model = problem.transfer(problem.points(X)).model
    assert len(model.walls()) > len(model.blocking())
    assert problem.transfer(problem.points([[0.1, 0.5]])).goals[0].ball <= 0.1
    assert problem.transfer(problem.points([[0.85, 0.5]])).goals[0].ball <= 0.15


def test_without_seams_a_ball_would_leave_the_mesh(monkeypatch):
    monkeypatch.setattr(continuum, "seams", lambda points, g: np.zeros((0, 2, 2)))
    problem = tube()
    with pytest.raises(pp.CertificationError):
        pp.certify(problem, zero, problem.points([[0.1, 0.5]]))


def test_bounds_of_boxes_are_not_for_tubes():
    """u = 1 on a tube with −u″ + u = 1: Friedrichs' constant and functions of x alone would say less."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("interval", 3), 1.0, 1.0, 1e-3, periodic={"left": "right"})
    model = problem.transfer(problem.points([[0.5]])).model
    assert math.isinf(model.anchors.friedrichs)
    queries = problem.points([[0.5]])
    assert Ceilings.of(model, problem.space.U0, reacts=False).narrowed(queries.goals[0], 0.0, 1e9) is None
    assert pp.certify(problem, zero, queries).contains(1e3).all()


def test_the_discrete_target_and_predictions():
    problem = tube(6, 1)
    wave = "cos(2*pi*x)*y*(1-y)"
    c = pp.certify(problem, wave, problem.points(X), target="discrete")
    assert c.radius.max() < 1e-9
    extracted = problem.extract(wave)
    assert extracted.changed < 1e-12
    U = problem.whole(extracted.U)
    P = problem.mesh.points
    np.testing.assert_allclose(U, np.cos(2.0 * np.pi * P[:, 0]) * P[:, 1] * (1.0 - P[:, 1]), atol=1e-14)


REFUSED = {
    "cannot be glued to itself": {"left": "left"},
    "has no partner on 'top'": {"left": "top"},
    "must be a table": {"left": 1},
    "group 'rihgt'": {"left": "rihgt"},
    "is glued twice": {"left": "right", "right": "left"},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words):
    with pytest.raises(InputError, match=words):
        pp.fem.ReactionDiffusion(pp.io.generate("square", 3), 1.0, 1.0, 1.0, periodic=REFUSED[words])


def test_meshes_that_do_not_match():
    mesh = pp.io.generate("square", 4)
    moved = mesh.points.copy()
    right = np.flatnonzero((moved[:, 0] == 1.0) & (moved[:, 1] == 0.5))
    moved[right, 1] = 0.55
    bent = Mesh(moved, mesh.cells, facet_groups=mesh.facet_groups)
    with pytest.raises(InputError, match=r"node at \[0.0, 0.5\] has no partner on 'right': .* it is 0.05 from"):
        pp.fem.ReactionDiffusion(bent, 1.0, 1.0, 1.0, periodic={"left": "right"})
    with pytest.raises(InputError, match="reach from one side to the other"):
        pp.fem.ReactionDiffusion(pp.io.generate("square", 1), 1.0, 1.0, 1.0, periodic={"left": "right"})
    thinned = unit_mesh(np.random.default_rng(0), 2, 3, "structured")
    with pytest.raises(InputError, match="shares 3 of its facets with a periodic pair"):
        pp.fem.ReactionDiffusion(thinned, 1.0, dirichlet={"left": 0.0}, periodic={"left": "right"})


def test_values_on_both_sides_are_the_same():
    with pytest.raises(InputError, match="give periodic data"):
        pp.fem.ReactionDiffusion(
            pp.io.generate("square", 3), 1.0, dirichlet={"bottom": "x"}, periodic={"left": "right"}
        )
