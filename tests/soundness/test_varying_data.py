"""Dirichlet data that elements miss beside reactions below zero by formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.transfer.media.varied_gaps import spread, varied_change
from pinnpoint_verify import varying
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused

CELLS = {"interval": 12, "square": 6, "cube": 3}


def problem(mesh, degree=2, c="-3 - x", b=None, **more):
    """−∇·((1 + x)∇u) + b u_x + c u = f with u = exp(x) cos(y/2)."""
    d = {"interval": 1, "square": 2, "cube": 3}[mesh]
    u, rest = ("exp(x)", "0") if d == 1 else ("exp(x)*cos(y/2)", "0.25")
    f = f"(({c}) + {b or 0} - (2 + x) + (1 + x)*{rest})*{u}"
    drift = {} if b is None else {"convection": (b, "0", "0")[:d]}
    grid = pp.io.generate(mesh, CELLS[mesh])
    return pp.fem.ReactionDiffusion(
        grid, f, "1 + x", c, {"boundary": u}, degree=degree, **drift, **more
    ), lambda X: np.exp(X[:, 0]) * (np.cos(0.5 * X[:, 1]) if d > 1 else 1.0)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("mesh", CELLS)
@pytest.mark.parametrize(("c", "b"), [("-3 - x", None), ("-0.3 - 0.1*x", "-x")])
def test_known_solutions_are_held(mesh, degree, c, b):
    asked, u = problem(mesh, degree, c, b)
    X = np.array([[0.4, 0.5, 0.45], [0.6, 0.3, 0.5]])[:, : asked.mesh.dim]
    queries = asked.points(X) + asked.everywhere()
    certificate = pp.certify(asked, u, queries)
    assert np.all(certificate.contains([*u(X), 0.0])[:2])
    assert np.all(
        certificate.radius[:2] < {"interval": 0.01, "square": 0.1, "cube": 0.5}[mesh] / (1 if degree == 1 else 5)
    )
    assert certificate.guarantee == "deterministic"
    assert certificate.upper[2] < 3.0  # the interpolant is off by less, whatever is proved


def test_lifts_that_miss_by_rounding_and_more():
    mesh = pp.io.generate("square", 8)
    asked = pp.fem.ReactionDiffusion(mesh, "(2*pi**2 - 3 - x)*sin(pi*x)*sin(pi*y)", 1.0, "-3 - x", degree=2)
    queries = asked.points([[0.4, 0.5]])
    for text in ("1.01*sin(pi*x)*sin(pi*y)", "sin(pi*x)*sin(pi*y) + 1e-4*cos(3*x)"):
        certificate = pp.certify(asked, text, queries, lift=True)
        assert certificate.contains([math.sin(0.4 * math.pi)])[0]
        assert certificate.radius[0] < 2e-3


@pytest.mark.parametrize("k2", [4.0, 8.0])
def test_what_data_of_one_changes_is_not_one(k2):
    """−w″ − k²w = 0 with w = 1 at both ends is cos k(x − ½)/cos(k/2): the maximum principle would say 1."""
    asked = pp.fem.ReactionDiffusion(pp.io.generate("interval", 16), 1.0, 1.0, f"-{k2} + 0*x", degree=2)
    queries = asked.points([[0.5]]) + asked.mean()
    witness = pp.certify(asked, asked.space.U0, queries).evidence.witness
    route, k = witness.route, math.sqrt(k2)
    truth = 1.0 / math.cos(0.5 * k), math.tan(0.5 * k) / (0.5 * k)
    for i, exact in enumerate(truth):
        error = route.model.estimator.energy(
            route.model.estimator.measure(witness.primal(), [(witness.dual(i), 1.0, True)])[1][0].dual
        )
        found = varied_change(route.model, route.model.medium, route.goals[i], 1.0, witness.dual(i).nodal, error)
        assert exact <= found < 1.6 * exact
    assert truth[0] <= spread(route.model, route.model.medium, 0) < 20.0


@pytest.mark.parametrize("mesh", ["interval", "square"])
def test_bundles_of_it_are_proved_and_the_term_counts(tmp_path, mesh, monkeypatch):
    asked, _ = problem(mesh)
    queries = asked.points(np.full((1, asked.mesh.dim), 0.4)) + asked.mean()
    certificate = pp.certify(asked, asked.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, asked, asked.space.U0, queries)
    assert verify(tmp_path / "b")
    monkeypatch.setattr(varying.Medium, "lack", lambda self: 1e20)
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_loads_on_gradients_need_data_that_is_met():
    table = [["2 + x", 0.1], [0.1, "1 + y"]]
    asked = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, table, "-1 - x", {"boundary": "x**3"})
    with pytest.raises(InputError, match="matrix that varies"):
        pp.certify(asked, asked.space.U0, asked.points([[0.4, 0.5]]))
    assert np.isfinite(pp.certify(asked, asked.space.U0, asked.mean()).radius[0])


def test_refusals_name_what_would_do():
    asked = pp.fem.ReactionDiffusion(pp.io.generate("interval", 4), 1.0, 1.0, -83.529, degree=2)
    with pytest.raises(InputError, match=r"-83\.529 is not separated .* cells of a diameter of about 0\.08"):
        pp.certify(asked, asked.space.U0, asked.points([[0.4]]))
    asked = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, 1.0, -3.0, convection=("1", "0"))
    with pytest.raises(InputError, match="c − ½∇·b must be ≥ 0"):
        pp.certify(asked, "x*(1-x)*y*(1-y)", asked.everywhere(solve=False), lift=True)
