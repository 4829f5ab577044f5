"""Lifts beside nonlinear reactions: intervals hold known solutions and narrow with the prediction."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.mesh.quadrature import rule
from pinnpoint.models import MLP, Lift
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.nonlinear.lifted_reactions import LiftedTerm

WAVE = "sin(pi*x)*sin(pi*y)"
AT = [[0.4, 0.55]]
TRUTH = math.sin(0.4 * math.pi) * math.sin(0.55 * math.pi)
REACTIONS = {"sinh(u)": f"sinh({WAVE})", "2*u**3": f"2*({WAVE})**3", "-3*sin(u)": f"-3*sin({WAVE})"}


def problem(g="sinh(u)", degree=2, n=5, **more):
    """u = sin πx sin πy on the square."""
    given = {"cubic": 2.0} if g == "2*u**3" and degree == 1 else {"g": g}
    source = f"2*pi**2*{WAVE}+{REACTIONS[g]}"
    return pp.fem.Semilinear(pp.io.generate("square", n), source=source, degree=degree, **given, **more)


@pytest.mark.parametrize(("degree", "g", "most"), [(1, "2*u**3", 5e-3), (2, "sinh(u)", 1e-4), (2, "-3*sin(u)", 5e-4)])
def test_points_averages_and_the_largest_error(degree, g, most):
    p = problem(g, degree)
    certificate = pp.certify(p, f"1.01*{WAVE}", p.points(AT) + p.mean() + p.everywhere() + p.l2_error(), lift=True)
    assert str(certificate.guarantee) == "deterministic"
    assert certificate.contains([TRUTH, 4.0 / math.pi**2, 0.01, 0.005]).all()
    assert certificate.radius[:2].max() < most
    assert certificate.upper[2] < 0.02
    assert certificate.details["narrowing"][:2].min() > 20.0


def check() -> None:
    p = problem()
    certificate = pp.certify(p, f"1.01*{WAVE}", p.points(AT), lift=True)
    assert certificate.contains([TRUTH]).all()
    assert certificate.radius[0] < 1e-4


def test_every_term_counts(monkeypatch):
    """G(x, e_h) and g(u_θ) left out are noticed, by the width or by a miss."""
    check()
    with monkeypatch.context() as patch:
        patch.setattr(LiftedTerm, "values", lambda self, w: Density.constant(np.zeros(len(w)), self.d))
        with pytest.raises(AssertionError):
            check()
    with monkeypatch.context() as patch:
        plain = Lift.residual
        patch.setattr(Lift, "residual", lambda self, f, k, c=0.0, less=None: plain(self, f, k, c))
        with pytest.raises(AssertionError):
            check()


def small_network() -> Lift:
    """The wave and a small network that vanishes on the boundary."""
    rng = np.random.default_rng(4)
    network = MLP([rng.normal(size=(5, 2)), rng.normal(size=(1, 5))], [rng.normal(size=5), np.zeros(1)], "tanh")
    return Lift(network, factor="0.05*x*(1-x)*y*(1-y)", offset=WAVE)


def test_a_network():
    p = problem(n=4)
    lift = small_network()
    certificate = pp.certify(p, lift, p.points(AT) + p.everywhere(), lift=True)
    t = np.linspace(0.0, 1.0, 60)
    X = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    largest = float(np.abs(lift.value(X) - np.sin(np.pi * X).prod(axis=1)).max())
    assert certificate.contains([TRUTH, certificate.center[1]]).all()
    assert largest <= certificate.upper[1] < 5.0 * largest


def random_state(p, degree):
    """The route of what a lift leaves over, and a state that is far from its solution."""
    rest = p.lifted(small_network())
    route = rest.transfer(p.points(AT))
    rng = np.random.default_rng(degree)
    return route, 0.05 * rng.normal(size=route.model.size), rng


@pytest.mark.parametrize("degree", [1, 2])
def test_what_slopes_leave_of_the_reaction(degree):
    """|g(u) − g(ũ) − μ(u − ũ)| ≤ off |u − ũ| + ½ bend (u − ũ)², and the density is that of G, at random points."""
    route, state, rng = random_state(problem(degree=degree, n=2), degree)
    model, term = route.model, route.term
    w = state[model.cell_nodes]
    left, G = term.left(model, route.norms, state, 1.0), term.values(w)
    bary = rng.dirichlet(np.ones(3), size=40)
    shapes = bary if degree == 1 else _quadratics(bary)
    X = np.einsum("qi,nid->nqd", bary, term.vertices)
    u = np.sin(np.pi * X).prod(axis=2)
    theta = term.value(X.reshape(-1, 2)).reshape(u.shape)
    near = theta + w @ shapes.T
    off = np.abs(np.sinh(u) - np.sinh(near) - left.slopes[:, None] * (u - near))
    assert np.all(off <= left.off[:, None] * np.abs(u - near) + 0.5 * left.bend * (u - near) ** 2 + 1e-12)
    assert left.low <= min(u.min(), near.min())
    assert max(u.max(), near.max()) <= left.high
    assert np.all(np.abs(np.sinh(near) - np.sinh(theta)) <= term.size(w)[:, None] * (1 + 1e-9))
    points, weights = rule(2, 8)
    Y = np.einsum("qi,nid->nqd", points, term.vertices)
    theta = term.value(Y.reshape(-1, 2)).reshape(Y.shape[:2])
    e = w @ (points if degree == 1 else _quadratics(points)).T
    mean = (np.sinh(theta + e) - np.sinh(theta)) @ weights
    assert np.all(np.abs(mean - G.coefficients.mean(axis=1)) <= G.error1 + 1e-8)


def _quadratics(bary):
    """Shape functions of quadratic elements: vertices, then edges."""
    edges = [(i, j) for i, j in pairs(2) if i < j]
    return np.stack([*(b * (2 * b - 1) for b in bary.T), *(4 * bary[:, i] * bary[:, j] for i, j in edges)], axis=1)


def test_robin_sides_and_coefficients_that_vary():
    u = "cos(x)*cos(y)"
    p = pp.fem.Semilinear(
        pp.io.generate("square", 5),
        g="u+sin(u)/2",
        source=f"2*(1+x)*{u}+sin(x)*cos(y)+{u}+sin({u})/2",
        diffusion="1+x",
        dirichlet={"left": "cos(y)"},
        robin={"right": ("2", "(2*cos(1)-2*sin(1))*cos(y)"), "top": ("1", "cos(x)*(cos(1)-(1+x)*sin(1))")},
        degree=2,
    )
    queries = p.points(AT) + p.flux("right") + p.patch("right")
    certificate = pp.certify(p, f"1.001*{u}", queries, lift=True)
    one, sine = math.cos(1.0), math.sin(1.0)
    assert certificate.contains([math.cos(0.4) * math.cos(0.55), -2.0 * sine * sine, one * sine]).all()
    assert certificate.radius.max() < 1e-4


def test_a_line_and_a_tolerance():
    p = pp.fem.Semilinear(pp.io.generate("interval", 4), cubic=3.0, source="pi**2*sin(pi*x)+3*sin(pi*x)**3")
    found = pp.certify_to(p.lifted("1.01*sin(pi*x)"), p.space.U0, p.points([[0.3]]), 2e-5)
    assert found.reached
    assert found.certificate.contains([math.sin(0.3 * math.pi)]).all()


def test_without_a_solve():
    p = problem(n=4)
    certificate = pp.certify(p, f"1.01*{WAVE}", p.everywhere(solve=False), lift=True)
    assert 0.01 <= certificate.upper[0] < 0.015
    q = problem("-3*sin(u)", n=2)
    with pytest.raises(pp.InputError, match=r"g′ is only proved to be ≥ -3"):
        pp.certify(q, WAVE, q.everywhere(solve=False), lift=True)


def test_refusals():
    p = problem(n=2)
    opaque = Lift.opaque(lambda X: X[:, 0], lambda X: 0.0 * X[:, 0])
    with pytest.raises(pp.InputError, match="a network by its weights or a formula is needed"):
        pp.certify(p, opaque, p.points(AT), lift=True)
    mesh = pp.io.generate("square", 2)
    jumps = pp.fem.Semilinear(mesh, cubic=np.linspace(1.0, 2.0, len(mesh.cells)), source=1.0)
    with pytest.raises(pp.InputError, match=r"cubic must be one number; it is between 1\.0 and 2\.0"):
        pp.certify(jumps, "x", jumps.points(AT), lift=True)
    tube = pp.fem.Semilinear(mesh, cubic=1.0, reaction=1.0, source=1.0, periodic={"left": "right"})
    with pytest.raises(pp.InputError, match="not lifted across periodic pairs"):
        pp.certify(tube, "y", tube.points(AT), lift=True)


CASE = f"""
[mesh]
generate = "square"
cells = 4
[problem]
kind = "semilinear"
degree = 2
g = "sinh(u)"
source = "2*pi**2*{WAVE}+sinh({WAVE})"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "1.01*{WAVE}"
[certificate]
lift = true
[[query]]
name = "p"
kind = "point"
at = [0.4, 0.55]
[[query]]
name = "worst"
kind = "everywhere"
"""


@pytest.mark.parametrize("law", ['g = "sinh(u)"', "cubic = 5.0"])
def test_a_case_file_may_ask_for_values_alone(law, tmp_path):
    """How much the lift narrows is told against the problem with its reaction, not its linear part."""
    plain = CASE.replace('g = "sinh(u)"', law).partition('[[query]]\nname = "worst"')[0]
    (tmp_path / "case.toml").write_text(plain.replace(f"+sinh({WAVE})", "" if "cubic" in law else f"+sinh({WAVE})"))
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    row = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"][0]
    assert row["guarantee"] == "deterministic"


def test_of_a_case_file(tmp_path):
    (tmp_path / "case.toml").write_text(CASE)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    rows = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"]
    assert rows[0]["lower"] <= TRUTH <= rows[0]["upper"]
    assert rows[0]["radius"] < 1e-3
    assert 0.01 <= rows[1]["upper"] < 0.02
    assert "lifts" in (tmp_path / "out" / "bundle" / "proof.json").read_text()
