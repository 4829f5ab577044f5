"""A constant drift on meshes in time, against closed forms."""

from __future__ import annotations

from math import exp, pi, sin

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.parabolic import drift

KAPPA, B, C = 0.5, 1.5, 0.7
SOURCE = f"exp(-t)*(sin(pi*x)*(-1 + {KAPPA}*pi**2 + {C}) + {B}*pi*cos(pi*x))"


def rod(n=8, **given):
    """The problem of u = sin(πx) e^{−t}."""
    given = {"source": SOURCE, "initial": "sin(pi*x)", "convection": [B], **given}
    return pp.fem.Parabolic(pp.io.generate("interval", n), diffusion=KAPPA, reaction=C, end=0.3, steps=n, **given)


@pytest.mark.parametrize("given", [{}, {"degree": 2, "scheme": "cg2"}], ids=["linear", "quadratic"])
def test_points_with_drift_hold_the_truth_and_narrow(given):
    problem = rod(**given)
    queries = problem.points([[0.4], [0.4]], time=[0.3, 0.17])
    found = pp.certify(problem, problem.states(), queries)
    truth = np.array([sin(0.4 * pi) * exp(-t) for t in (0.3, 0.17)])
    assert found.guarantee == "deterministic"
    assert np.all(found.contains(truth))
    assert np.all(found.radius < (1e-3 if given else 0.1))


def test_drift_in_the_plane_with_data_on_the_boundary():
    """u = e^{−t}(1 + x + xy), κ = 1, b = (1, −2): f = −u + b·∇u."""
    u = "exp(-t)*(1 + x + x*y)"
    problem = pp.fem.Parabolic(
        pp.io.generate("square", 4),
        f"-({u}) + exp(-t)*(1 + y - 2*x)",
        "1 + x + x*y",
        convection=[1.0, -2.0],
        dirichlet={"boundary": u},
        end=0.2,
        steps=4,
    )
    found = pp.certify(problem, u, problem.points([[0.45, 0.55]]))
    assert np.all(found.contains(np.array([exp(-0.2) * (1.45 + 0.45 * 0.55)])))
    assert np.all(found.radius < 0.4)


@pytest.mark.parametrize("term", ["reaction", "factor", "source"])
def test_part_of_the_drift_left_out_is_noticed(monkeypatch, term):
    if term == "reaction":
        monkeypatch.setattr(drift.Drift, "reaction", property(lambda self: (self.c, 0.0)))
    elif term == "factor":
        monkeypatch.setattr(drift.Drift, "at", lambda self, X: (np.ones(len(X)), np.zeros(len(X))))
    else:
        whole = drift.Drift.without
        monkeypatch.setattr(drift.Drift, "without", lambda self, f: whole(self, f) if f is INITIAL else f)
    problem = rod(16, degree=2, scheme="cg2")
    INITIAL = problem.given["initial"]
    found = pp.certify(problem, problem.states(), problem.points([[0.3]]))
    assert not np.any(found.contains(np.array([sin(0.3 * pi) * exp(-0.3)])))


def test_drift_equals_the_scheme_with_drift_but_for_the_mesh():
    problem = rod(16)
    queries = problem.points([[0.35]])
    whole = pp.certify(problem, problem.states(), queries)
    steps = pp.certify(problem, problem.states(), queries, target="discrete")
    assert np.all(np.abs(whole.center - steps.center) < 1e-2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"convection": ["x"]}, "must be numbers"),
        ({"convection": [1e4]}, "widths grow"),
        ({"dirichlet": {"left": 0.0}}, "all around"),
        ({"source": lambda X, t: 0 * t}, "source: "),
    ],
)
def test_drifts_without_a_proof_are_refused(given, words):
    problem = rod(4, **given)
    with pytest.raises(pp.InputError, match=words):
        pp.certify(problem, "0", problem.points([[0.4]]))


def test_averages_with_drift_are_refused():
    problem = rod(4)
    with pytest.raises(pp.InputError, match="points are known"):
        pp.certify(problem, "0", problem.mean())
