"""Intervals of solids hold the truth: closed forms, in two and three dimensions, for every query."""

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from tests.support import elastic_campaign, polynomials


@pytest.mark.parametrize("kind", elastic_campaign.KINDS)
def test_closed_forms_are_held(kind):
    for seed in range(2):
        row = elastic_campaign.run(kind, seed, quick=True)
        assert not row["missed"]
        assert row["guarantee"] == "deterministic"


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_a_bar_under_tension_is_exact(d, degree):
    """ν = 0: u_x = x t/E, everything else zero; rollers only, two materials in series."""
    mesh = generate({2: "square", 3: "cube"}[d], 4)
    young = np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5, 1.0, 4.0)
    sides = [("left", 0), ("bottom", 1), ("front", 2)][:d]
    fixed = {name: tuple(0.0 if c == axis else "free" for c in range(d)) for name, axis in sides}
    problem = pp.fem.Elasticity(mesh, young, 0.0, None, fixed, {"right": (2.0, *([0.0] * (d - 1)))}, degree=degree)
    end = 0.5 * 2.0 / 1.0 + 0.5 * 2.0 / 4.0
    queries = problem.patch("right", "x") + problem.reaction("left", "x") + problem.compliance()
    queries = queries + problem.stress([[0.3, *([0.4] * (d - 1))]], "xx", ["s"]) + problem.patch("right", "normal", "n")
    certificate = pp.certify(problem, problem.space.U0, queries)
    truth = np.array([end, -2.0, 2.0 * end, 2.0, end])
    assert certificate.contains(truth).all()
    assert certificate.guarantee == "deterministic"
    pointed = np.array(
        [name == "s" for name in certificate.names]
    )  # integrals of its density have an error of their own
    assert np.all(certificate.radius <= np.where(pointed, 1e-2, 1e-9) * np.abs(truth))


def test_the_interval_does_not_depend_on_the_prediction():
    mesh = generate("square", 4)
    problem = pp.fem.Elasticity(mesh, 1.0, 0.3, ("x*y", "1"), {"boundary": 0.0}, degree=2)
    queries = problem.points([[0.4, 0.6]], "y")
    one = pp.certify(problem, problem.space.U0, queries)
    two = pp.certify(problem, lambda X: np.stack([X[:, 0], X[:, 1] ** 2], axis=1), queries)
    assert one.center[0] == pytest.approx(two.center[0], abs=1e-6 * one.radius[0])
    assert two.value[0] == pytest.approx(0.36, abs=0.05)


def test_stresses_at_a_point_shrink_with_the_mesh():
    u = [polynomials.bubble(2) * polynomials.coordinate(0, 2), polynomials.bubble(2)]
    lam, mu = polynomials.lame(1.0, 0.25)
    body = [p.text for p in polynomials.body(u, lam, mu)]
    truth = float(polynomials.stress(u, lam, mu, 0, 1)((0.4, 0.55)))
    radii = []
    for n in (4, 8, 16):
        problem = pp.fem.Elasticity(generate("square", n), 1.0, 0.25, body, {"boundary": 0.0}, degree=2)
        certificate = pp.certify(problem, problem.space.U0, problem.stress([[0.4, 0.55]], "xy"))
        assert certificate.contains([truth]).all()
        radii.append(float(certificate.radius[0]))
    assert radii[2] < radii[1] / 6.0 < radii[0] / 36.0


@pytest.mark.parametrize("degree", [1, 2])
def test_displacements_given_by_formulas_are_held(degree):
    """u = (sin(x) cosh(y), cos(x) sinh(y)) has ∇·u = 2 cos(x) cosh(y), Δu = 0."""
    lam, mu = (float(x) for x in polynomials.lame(1.0, 0.25))
    body = [f"{2 * lam + 2 * mu}*sin(x)*cosh(y)", f"{-2 * lam - 2 * mu}*cos(x)*sinh(y)"]
    given = ("sin(x)*cosh(y)", "cos(x)*sinh(y)")
    problem = pp.fem.Elasticity(generate("square", 8), 1.0, 0.25, body, {"boundary": given}, degree=degree)
    x, y = 0.4, 0.55
    queries = problem.points([[x, y]], "x", ["u"]) + problem.stress([[x, y]], "yy", ["s"]) + problem.mean("y", "m")
    queries = queries + problem.reaction("boundary", "x", "r")
    certificate = pp.certify(problem, problem.space.U0, queries)
    slope, mean = np.cos(x) * np.cosh(y), np.sin(1.0) * (np.cosh(1.0) - 1.0)
    reaction = -(2 * lam + 2 * mu) * (1.0 - np.cos(1.0)) * np.sinh(1.0)
    truth = np.array([np.sin(x) * np.cosh(y), (2 * lam + 2 * mu) * slope, mean, reaction])
    assert certificate.contains(truth).all()
    assert certificate.guarantee == "deterministic"
    assert np.all(certificate.terms["boundary"] > 0.0)
    assert np.all(certificate.radius[[0, 2]] < {1: 0.1, 2: 2e-3}[degree])


def test_a_body_that_can_move_is_refused():
    problem = pp.fem.Elasticity(generate("square", 3), 1.0, 0.3, None, {"left": (0.0, "free")}, {"right": (1.0, 0.0)})
    with pytest.raises(pp.InputError, match=r"can move|singular"):
        pp.certify(problem, problem.space.U0, problem.points([[0.5, 0.5]], "x"))


@pytest.mark.parametrize("at", [[1.0, 0.5], [0.5, 0.5]])
def test_points_on_free_boundaries_and_interfaces_are_refused(at):
    mesh = generate("square", 4)
    young = np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5, 1.0, 4.0)
    problem = pp.fem.Elasticity(mesh, young, 0.3, None, {"left": 0.0}, {"top": (0.0, 1.0)}, degree=2)
    with pytest.raises(pp.InputError, match="average"):
        pp.certify(problem, problem.space.U0, problem.stress([at], "xx"))


def test_parts_that_share_no_facet_are_told_of():
    """Two blocks that touch along a line without common nodes are two bodies, each held."""
    from pinnpoint.mesh.mesh import Mesh

    one, two = generate("square", 3), generate("square", 2)
    X = np.concatenate([one.points, 0.5 * two.points + [1.0, 0.2]])
    T = np.concatenate([one.cells, two.cells + len(one.points)])
    groups = {"left": one.facets("left"), "right": two.facets("right") + len(one.points)}
    problem = pp.fem.Elasticity(
        Mesh(X, T, facet_groups=groups), 1.0, 0.3, ("0", "1"), {"left": 0.0, "right": 0.0}, degree=2
    )
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.4, 0.5]], "y"))
    assert any("2 parts that share no facet" in note for note in certificate.notes)


def test_a_mesh_with_held_nodes_only_is_refused_with_the_remedy():
    with pytest.raises(pp.InputError, match="every node is held"):
        pp.fem.Elasticity(generate("square", 1), 1.0, 0.3, ("0", "1"), {"boundary": 0.0})
