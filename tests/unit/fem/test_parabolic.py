"""Problems in time: rates, data, queries, predictions, storage and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.parabolic.storage import require_blocks
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.systems.goals import Gaussian, Point

ZERO = {"boundary": 0.0}


def rod(n=8, steps=8, **more):
    given = {"initial": "sin(pi*x)", "dirichlet": ZERO, "end": 0.1, "steps": steps, **more}
    return pp.fem.Parabolic(pp.io.generate("interval", n), **given)


@pytest.mark.parametrize(("scheme", "degree", "rate"), [("cg1", 1, 2.0), ("cg2", 2, 3.0)])
def test_values_converge_at_the_schemes_rate(scheme, degree, rate):
    errors = []
    for n in (8, 16, 32):
        source = "sin(pi*x)*(5*cos(5*t)+pi**2*(1+sin(5*t)))"
        p = rod(n, n, source=source, scheme=scheme, degree=degree, grade="none", end=0.5)
        times = np.linspace(0.1, 0.5, 5)
        asked = p.points(np.full((5, 1), 0.5), time=times)
        errors.append(np.abs(asked.L @ p.states().ravel() - (1 + np.sin(5 * times))).max())
    assert np.log2(errors[0] / errors[2]) / 2 > rate - 0.15


def test_moving_data_on_the_boundary_fluxes_and_drift_reproduce_what_the_elements_hold():
    mesh = pp.io.generate("square", 4)
    u = "(x+2*y)*(1+t)+t"
    p = pp.fem.Parabolic(
        mesh,
        source=f"x+2*y+1-(1+t)+3*({u})",
        reaction=3.0,
        convection=("1", "-1"),
        initial="x+2*y",
        dirichlet={"left": u, "bottom": u},
        neumann={"right": lambda X, t: 1 + t, "top": "2*(1+t)"},
        nodes=[0.0, 0.1, 0.4, 0.7],
    )
    for state, t in zip(p.states(), p.grid.levels, strict=True):
        assert np.allclose(state, (p.nodes.points @ [1, 2]) * (1 + t) + t, atol=1e-12)


def test_sources_may_differ_between_groups_of_cells():
    mesh = pp.io.generate("interval", 8)
    left = np.flatnonzero(mesh.points[mesh.cells].mean(axis=1)[:, 0] < 0.5)
    both = {"left half": left, "right half": np.setdiff1d(np.arange(8), left)}
    mesh = Mesh(mesh.points, mesh.cells, cell_groups=both, facet_groups=mesh.facet_groups)
    given = {"dirichlet": ZERO, "end": 0.1, "steps": 4}
    one = pp.fem.Parabolic(mesh, {"left half": "t", "right half": 2.0}, **given)
    two = pp.fem.Parabolic(mesh, lambda X, t: np.where(X[:, 0] < 0.5, t, 2.0), **given)
    assert np.allclose(one.states(), two.states(), atol=1e-15)


def test_the_initial_state_is_a_projection_with_the_boundary_values():
    p = rod(4, 2, initial="x**2", dirichlet={"left": "1+t", "right": 0.0})
    assert p.start[0] == 1.0
    assert p.start[-1] == 0.0
    free = p.stationary.space.free
    rest = p.M @ p.start - assembly.load(p.nodes, lambda X: X[:, 0] ** 2, 6)
    assert np.abs(rest[free]).max() < 1e-15


def test_queries_know_their_times_and_average_what_they_say():
    p = rod(32, 32)
    asked = p.points([[0.4], [0.6]], time=[0.05, 0.1]) + p.mean(time=0.1)
    assert asked.goals[0] == Point((0.4,), None, 0.05)
    assert list(asked.times) == [0.05, 0.1, 0.1]
    c = pp.certify(p, p.states(), asked, target="discrete")
    decay = np.exp(-(np.pi**2) * asked.times)
    assert np.allclose(c.center, decay * [math.sin(0.4 * math.pi), math.sin(0.6 * math.pi), 2 / math.pi], rtol=4e-3)
    assert list(c.times) == [0.05, 0.1, 0.1]
    ball, bell = (p.averages([[0.4]], **kind, time=0.1) for kind in ({"radius": 0.1}, {"spread": 0.05}))
    assert isinstance(bell.goals[0], Gaussian)
    assert bell.goals[0].reach == pytest.approx(0.4, rel=1e-8)
    flat = pp.fem.Parabolic(p.mesh, initial=3.0, dirichlet={}, end=0.1, steps=4)
    for one in (flat.averages([[0.4]], radius=0.1), flat.averages([[0.4]], spread=0.05, reach=0.2), flat.mean()):
        assert (one.L @ flat.states().ravel())[0] == pytest.approx(3.0, rel=1e-12)
    assert ball.goals[0].time == 0.1


def test_predictions_are_functions_formulas_arrays_and_networks_with_a_last_input_for_time():
    p = rod(4, 3)
    wanted = np.sin(np.pi * p.nodes.points[:, 0])[None] * np.exp(-p.grid.levels)[:, None]
    given = (
        lambda X, t: np.sin(np.pi * X[:, 0]) * np.exp(-t),
        lambda X, *t: np.sin(np.pi * X[:, 0]) * np.exp(-t[0]),
        lambda XT: np.sin(np.pi * XT[:, 0]) * np.exp(-XT[:, 1]),
        "sin(pi*x)*exp(-t)",
        wanted,
        wanted.ravel(),
    )
    for prediction in given:
        found = p.extract(prediction).given.reshape(wanted.shape)
        assert np.allclose(found, wanted, atol=1e-15)
    half = rod(4, 3, scheme="cg2", degree=2)
    found = half.extract(wanted)
    assert "averaging" in found.how
    assert found.given.reshape(7, -1)[1, 1] == pytest.approx(0.5 * (wanted[0, 1] + wanted[1, 1]))
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
    values = p.extract(net).given.reshape(4, 5)
    XT = np.column_stack([p.nodes.points[:, 0], np.full(5, p.grid.levels[2])])
    assert np.allclose(values[2], net(torch.tensor(XT)).detach().numpy()[:, 0])


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("time: must be after 0", lambda p: p.points([[0.4]], time=0.0)),
        ("time: must be after 0", lambda p: p.points([[0.4]], time=0.2)),
        ("radius, spread: give one", lambda p: p.averages([[0.4]])),
        ("reach: the weight about", lambda p: p.averages([[0.4]], spread=0.1, reach=0.5)),
        ("prediction: must have shape", lambda p: p.extract(np.zeros((3, 3)))),
        ("prediction: is not finite", lambda p: p.extract(np.full((9, 9), np.nan))),
        ("extraction: must be 'nodal'", lambda p: p.extract("x", "l2")),
        ("prediction 'y': 'y' is not known", lambda p: p.extract("y")),
        ("method: the continuous target", lambda p: pp.certify(p, "0", p.points([[0.4]]), pp.Norm())),
        ("queries: were made by a problem with another times", lambda p: pp.certify(p, "0", rod(8, 8, end=0.2).mean())),
    ],
)
def test_what_makes_no_sense_is_refused(words, call):
    with pytest.raises(pp.InputError, match=words):
        call(rod())


def test_problems_without_an_end_or_with_data_that_are_no_tables_are_refused():
    mesh = pp.io.generate("interval", 4)
    with pytest.raises(pp.InputError, match="end, steps"):
        pp.fem.Parabolic(mesh, end=1.0)
    with pytest.raises(pp.InputError, match="dirichlet: must be a table"):
        pp.fem.Parabolic(mesh, dirichlet=0.0, end=1.0, steps=2)
    with pytest.raises(pp.InputError, match="initial: must be"):
        pp.fem.Parabolic(mesh, initial={"a": 1.0}, end=1.0, steps=2)
    with pytest.raises(pp.InputError, match="no such boundary group"):
        pp.fem.Parabolic(mesh, dirichlet={"nowhere": 0.0}, end=1.0, steps=2)


def test_states_live_in_a_file_where_one_is_given_and_are_refused_with_their_size_where_they_do_not_fit(
    tmp_path, monkeypatch
):
    p = rod(file=tmp_path / "states.npy")
    assert np.array_equal(p.states(), rod().states())
    assert np.array_equal(np.load(tmp_path / "states.npy"), p.states())
    with pytest.raises(pp.InputError, match=r"must end with \.npy"):
        rod(file=tmp_path / "states.txt").states()
    built = rod()
    monkeypatch.setattr("pinnpoint.fem.parabolic.storage.free_memory", lambda: 100.0)
    with pytest.raises(pp.InputError, match="GB are at hand"):
        rod()  # before anything is built
    with pytest.raises(pp.InputError, match="GB are at hand"):
        built.states()
    with pytest.raises(pp.InputError, match="steps takes"):
        require_blocks(built.M, built.grid)


def test_a_tolerance_halves_cells_and_steps_and_the_truth_stays_inside():
    p = rod(8, 8)
    truth = math.sin(0.4 * math.pi) * math.exp(-0.1 * math.pi**2)
    for prediction in ("0", np.zeros((9, 9))):
        found = pp.certify_to(p, prediction, p.points([[0.4]]), 4e-3)
        assert found.reached
        assert found.certificate.contains(truth).all()
        assert [step.cells for step in found.history] == [8, 16]
        assert found.problem.grid.steps == 16


def test_a_time_that_is_almost_the_first_is_refused():
    heat = pp.fem.Parabolic(pp.io.generate("interval", 6), initial="sin(pi*x)", end=0.1, steps=4)
    with pytest.raises(pp.InputError, match="the value is the datum itself"):
        heat.points([[0.41]], time=1e-300)


@pytest.mark.parametrize("kind", ["interval", "square"])
def test_values_at_levels_are_those_of_each_level_alone(kind, monkeypatch):
    """Predictions and Dirichlet values are asked for at many levels together; one at a time they are the same."""
    mesh = pp.io.generate(kind, 3)
    sides = {"left": "sin(x + 3*t)", "right": "t*t + 0.3*x"}
    made = []
    for together in (7, 1):
        monkeypatch.setattr("pinnpoint.fem.parabolic.data.TOGETHER", together * 16)
        problem = pp.fem.Parabolic(mesh, dirichlet=sides, end=0.5, steps=9)
        made.append((problem.held, problem.extract("x*t + cos(t)").U))
    assert np.array_equal(made[0][0], made[1][0])
    assert np.array_equal(made[0][1], made[1][1])
    t, left = problem.grid.levels, mesh.points[:, 0] == 0.0
    assert problem.held[:, left] == pytest.approx(np.tile(np.sin(3.0 * t)[:, None], left.sum()))
    counted = []

    def alone(X, t):
        counted.append(len(np.unique(t)))
        return X[:, 0] * t + np.cos(t)

    assert np.array_equal(problem.extract(alone).U, made[0][1])
    assert set(counted) == {1}


def test_sides_that_part_at_a_later_time_are_refused():
    mesh = pp.io.generate("square", 2)
    meet = pp.fem.Parabolic(mesh, dirichlet={"left": "t*y", "bottom": 0.0}, end=0.5, steps=2)
    assert meet.held[-1].max() == 0.5
    with pytest.raises(pp.InputError, match="overlap at node"):
        pp.fem.Parabolic(mesh, dirichlet={"left": "t", "bottom": 0.0}, end=0.5, steps=2).held  # noqa: B018
