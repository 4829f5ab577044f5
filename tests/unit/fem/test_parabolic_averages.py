"""Averages at a time and over time of a solution that moves, against closed forms."""

from __future__ import annotations

from math import cos, exp, pi

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer import blocks
from pinnpoint.transfer.slabs.averages import Average
from pinnpoint.transfer.slabs.enclosure import Slabs


def rod(n=8, **given):
    given = {"initial": "sin(pi*x)", "end": 0.1, "steps": n, **given}
    return pp.fem.Parabolic(pp.io.generate("interval", n), **given)


def over(a, b):
    """The average of sin πx from a to b."""
    return (cos(pi * a) - cos(pi * b)) / pi / (b - a)


def late(t, since=None):
    """Of e^{−π²t}, at a time or over times."""
    return exp(-(pi**2) * t) if since is None else (late(since) - late(t)) / pi**2 / (t - since)


def asked(problem):
    n = len(problem.mesh.cells)
    queries = problem.averages([[0.4], [0.4]], [0.1, 0.25]) + problem.mean(time=0.07)
    queries = queries + problem.cells(list(range(n // 4))) + problem.mean(since=0.05, name="lately")
    queries = queries + problem.averages([[0.4]], 0.2, ["while"], time=0.09, since=0.0213)
    queries = queries + problem.cells([[0.4]], "block", side=0.3)
    queries = queries + problem.cells([[0.4]], "block while", side=0.3, time=0.09, since=0.0213)
    truth = [over(0.3, 0.5) * late(0.1), over(0.15, 0.65) * late(0.1), over(0, 1) * late(0.07)]
    truth += [over(0, 0.25) * late(0.1), over(0, 1) * late(0.1, 0.05), over(0.2, 0.6) * late(0.09, 0.0213)]
    truth += [over(0.25, 0.55) * late(0.1), over(0.25, 0.55) * late(0.09, 0.0213)]
    return queries, np.array(truth)


@pytest.mark.parametrize("given", [{}, {"degree": 2, "scheme": "cg2"}], ids=["linear", "quadratic"])
def test_averages_hold_the_truth(given):
    problem = rod(**given)
    queries, truth = asked(problem)
    found = pp.certify(problem, problem.states(), queries)
    assert found.guarantee == "deterministic"
    assert found.target == "continuous"
    assert np.all(found.contains(truth))
    assert np.all(found.radius < 0.4 * truth)
    assert any("'lately' from 0.05 to 0.1" in note for note in found.notes)
    assert found.terms["quadrature"].max() < 0.02 * found.terms["transfer"].max()
    rows = found.to_dict()["queries"]
    assert rows[-1]["at"] == [0.4]
    assert rows[-1]["time"] == 0.09


def test_averages_with_reaction_and_a_source_in_the_plane():
    """u = (1 + t) cos πx cos πy with κ = ½, c = 2 and nothing held; over a quarter of the square."""
    u = "(1 + t)*cos(pi*x)*cos(pi*y)"
    f = "(1 + (pi**2 + 2)*(1 + t))*cos(pi*x)*cos(pi*y)"
    problem = pp.fem.Parabolic(
        pp.io.generate("square", 4), f, u.replace("t", "0"), 0.5, 2.0, dirichlet={}, end=0.2, steps=4
    )
    X = problem.mesh.points[problem.mesh.cells].mean(axis=1)
    quarter = np.flatnonzero((X < 0.5).all(axis=1))
    queries = problem.cells(quarter) + problem.cells(quarter, "while", since=0.1) + problem.mean("all")
    found = pp.certify(problem, problem.states(), queries)
    side = 4.0 / pi**2
    assert np.all(found.contains(np.array([1.2 * side, 1.15 * side, 0.0])))
    assert np.all(found.radius < 0.4)


def test_averages_of_any_states_hold_and_those_of_the_scheme_are_its_own():
    problem = rod()
    queries, truth = asked(problem)
    assert np.all(pp.certify(problem, lambda X, t: X[:, 0] * t, queries).contains(truth))
    U = problem.states()
    scheme = pp.certify(problem, U, queries, target="discrete")
    x = np.linspace(0.0, 1.0, 9)
    nodes = problem.grid.nodes
    mean = np.trapezoid(U, x, axis=1)
    t = np.linspace(0.05, 0.1, 20001)
    assert scheme.center[4] == pytest.approx(np.trapezoid(np.interp(t, nodes, mean), t) / 0.05, rel=1e-7)


def test_jump_of_the_weight_counts(monkeypatch):
    """u₀ = sin πnx on the cells of n, T → 0: all that is asked for stands in (e(0), ε(T))."""
    n = 8
    problem = rod(n, initial=f"sin(pi*{n}*x)", end=1e-6, steps=2, grade="none")
    queries = problem.cells([3])
    truth = np.array([-2.0 / pi])
    assert np.all(pp.certify(problem, problem.states(), queries).contains(truth))
    ending = Slabs._ending
    monkeypatch.setattr(Slabs, "_ending", lambda self, one, z, jump: (ending(self, one, z, jump)[0], 0.0))
    assert not np.any(pp.certify(problem, problem.states(), queries).contains(truth))


def test_weight_over_time_counts(monkeypatch):
    problem = rod(16)
    queries = problem.mean(since=0.05)
    truth = np.array([over(0, 1) * late(0.1, 0.05)])
    whole = Average.slab
    monkeypatch.setattr(Average, "slab", lambda self, start, cells, d: whole(self, start - 0.02, cells, d))
    assert not np.any(pp.certify(problem, problem.states(), queries).contains(truth))


@pytest.mark.parametrize("degree", [1, 2])
def test_what_is_not_known_of_a_weight_counts_by_its_integral(degree):
    """∫ψx is the ball's centre; ψ is known on cells at its rim but for a part of them."""
    problem = rod(6, degree=degree)
    slabs, _ = problem.transfer(problem.mean()).asked_at(0.1, None, [0])
    mesh = problem.mesh
    for target in (0.05, 1e-3):
        ball = blocks.over_ball(mesh.points, mesh.cells, np.array([0.43]), 0.217, target, blocks.Work(1000)).on_all(
            len(mesh.cells)
        )
        value, rounding, unknown = slabs.meter.against(ball, problem.nodes.points[:, 0])
        assert rounding < abs(value - 0.43) < unknown + rounding < 2.0 * target
        assert unknown < 0.2 * float(np.sum(mesh.volumes * ball.error2))


def test_weights_of_any_spread_average_the_prediction():
    """A Gaussian weight of 10⁻⁸ sees the prediction at its point: it was no number."""
    problem = rod(4)
    found = pp.certify(problem, "x + t", problem.averages([[0.4]], spread=1e-8), target="discrete")
    assert found.raw[0] == pytest.approx(0.5, abs=1e-7)
    wide = pp.certify(problem, "x**2", problem.averages([[0.4]], spread=0.05), target="discrete")
    assert wide.raw[0] == pytest.approx(0.16 + 0.05**2, rel=1e-3)


@pytest.mark.filterwarnings("error")
def test_an_interval_without_bounds_says_why():
    found = pp.certify(rod(4, source="log(t)"), "x", rod(4).points([[0.4]]))
    assert np.isinf(found.radius).all()
    assert found.guarantee == "estimate"
    assert any("no bound at t = 0" in note for note in found.notes)
    late = rod(4, source="1/(t - 0.07)")
    found = pp.certify(late, "x", late.points([[0.4], [0.4]], time=[0.02, 0.1]))
    assert np.isfinite(found.radius).tolist() == [True, False]
    assert any("no bound on the slab that begins at" in note for note in found.notes)


def test_a_source_without_bounds_is_told_before_anything_is_swept(monkeypatch):
    monkeypatch.setattr(Slabs, "enclose", lambda *given: pytest.fail("swept"))
    for source in ("log(t)", "1/t", "1/(t - 0.05)"):
        found = pp.certify(rod(4, source=source), "x", rod(4).points([[0.4]]))
        assert np.isinf(found.radius).all()


def test_what_looks_curved_is_told():
    angle = 2.0 * pi * np.arange(24) / 24
    P = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(angle), np.sin(angle)], axis=1)])
    cells = np.array([[0, k + 1, (k + 1) % 24 + 1] for k in range(24)])
    problem = pp.fem.Parabolic(Mesh(P, cells), 1.0, end=0.1, steps=1, degree=2)
    for target in ("continuous", "discrete"):
        notes = pp.certify(problem, problem.states(), problem.mean(), target=target).notes
        assert any("looks curved (24 facets" in note for note in notes)


def test_what_has_no_average_is_refused():
    problem = rod()
    for since in (0.1, -0.1, 0.2):
        with pytest.raises(pp.InputError, match="since: must be"):
            problem.mean(since=since)
    with pytest.raises(pp.InputError, match="leave it out with spread"):
        problem.averages([[0.5]], spread=0.1, since=0.05)
    with pytest.raises(pp.InputError, match=r"leaves the domain|outside|away"):
        problem.cells([[0.1]], side=0.4)
    with pytest.raises(pp.InputError, match=r"source: .*got a function"):
        pp.certify(rod(4, source=lambda X, t: t), "x", rod(4).mean())
    with pytest.raises(pp.InputError, match="known"):
        pp.certify(problem, problem.states(), problem.patch("left"))


def test_averages_over_time_say_what_of_the_prediction_they_see():
    """Between nodes it may do anything: 0.3 sin² 8πx has the mean 0.15 and is zero at the nodes."""
    problem = pp.fem.Parabolic(pp.io.generate("interval", 8), initial="sin(pi*x)", end=0.1, steps=4)
    asked = problem.mean("since", time=0.1, since=0.02)
    for guess in ("exp(-pi**2*t)*sin(pi*x) + 0.3*sin(8*pi*x)**2", "exp(-pi**2*t)*sin(pi*x)"):
        c = pp.certify(problem, guess, asked, accept=0.03)
        assert any("'since'" in note and "nodes and times" in note for note in c.notes)
    held = pp.certify(problem, problem.space.U0, asked)
    assert not any("nodes and times" in note for note in held.notes)


def test_points_keep_place_and_time_beside_queries_without_them():
    problem = pp.fem.Parabolic(pp.io.generate("interval", 4), initial="x", end=1.0, steps=2)
    asked = problem.points([[0.4]], time=0.5) + problem.mean()
    found = pp.certify(problem, problem.states(), asked, target="discrete")
    rows = found.to_dict()["queries"]
    assert rows[0]["at"] == [0.4]
    assert [row["time"] for row in rows] == [0.5, 1.0]
    assert "at" not in rows[1]
