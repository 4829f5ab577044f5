"""κ(x), A(x) and c(x) beside a nonlinear reaction: intervals hold known solutions, and Ψ is part of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.quadrature import rule
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.transfer.energy.estimator import Estimator
from pinnpoint.transfer.goals import functional
from pinnpoint.transfer.media import weights
from pinnpoint.transfer.nonlinear.monotone import Monotone
from tests.support.semilinear import known

X = np.array([[0.4, 0.55, 0.45], [0.7, 0.35, 0.6]])
WAVES = {1: "sin(pi*x)+x", 2: "sin(pi*x)*sin(pi*y)+x*y/2", 3: "x*y*z+x/2"}
CASES = [
    (1, 8, 1, "1+x/2", "1+x", "sinh(u)", 0.03),
    (1, 8, 2, "exp(x)", "x", "u**3+u", 2e-3),
    (2, 4, 1, "1+x*y/2", "1+x", "u+sin(u)/2", 0.5),
    (2, 4, 2, "1+x*y/2", "1+x", "exp(u)", 0.05),
    (2, 4, 2, "1", "x*y", "exp(u)", 0.05),
    pytest.param(3, 3, 1, "1+x/2", "1", "u**3", 0.5, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("d", "n", "degree", "kappa", "c", "g", "most"), CASES)
def test_points(d, n, degree, kappa, c, g, most):
    problem, exact = known(d, n, degree, WAVES[d], kappa, c, g)
    certificate = pp.certify(problem, problem.space.U0, problem.points(X[:, :d]))
    assert str(certificate.guarantee) == "deterministic"
    assert certificate.contains(exact(X[:, :d])).all()
    assert certificate.radius.max() < most


def mean_of(exact, d=2) -> float:
    """Over the unit square, by Gauss' rule."""
    t, w = np.polynomial.legendre.leggauss(24)
    P = np.stack(np.meshgrid(*[0.5 + 0.5 * t] * d, indexing="ij"), axis=-1).reshape(-1, d)
    W = np.prod(np.stack(np.meshgrid(*[0.5 * w] * d, indexing="ij"), axis=-1), axis=-1).ravel()
    return float(exact(P) @ W)


@pytest.mark.parametrize("free", [False, True])
def test_averages_with_matrices(free):
    """Beside matrices too, and where a flux is given."""
    problem, exact = known(2, 4, 2, WAVES[2], [["2", "x/2"], ["x/2", "1"]], "1+x", "u+sin(u)/2", free=free)
    queries = problem.mean() + problem.averages(X[:1, :2], 0.2)
    certificate = pp.certify(problem, problem.space.U0, queries)
    assert certificate.contains([mean_of(exact), certificate.center[1]]).all()
    assert certificate.radius.max() < 0.3


TURNED = [["2", "x/2"], ["x/2", "1"]]


def check_matrices(A, g) -> None:
    problem, exact = known(2, 4, 2, WAVES[2], A, "1+x", g)
    certificate = pp.certify(problem, problem.space.U0, problem.points(X[:, :2]))
    assert certificate.contains(exact(X[:, :2])).all()
    assert certificate.radius.max() < 0.1


@pytest.mark.parametrize("A", [[["4", "3"], ["3", "7"]], TURNED])
def test_points_with_matrices(A):
    check_matrices(A, "sinh(u)")


def test_the_field_of_a_varying_matrix_counts(monkeypatch):
    """∫ q·∇u_h is part of the value."""
    monkeypatch.setattr(Estimator, "along", lambda self, side: (0.0, 0.0, 0.0))
    with pytest.raises(AssertionError):
        check_matrices([["1+3*x", "y"], ["y", "2"]], "sinh(u)")


@pytest.mark.parametrize("A", [np.diag([9.0, 4.0]), np.array([[4.0, 3.0], [3.0, 7.0]])])
def test_the_constant_of_an_ellipse(A):
    """‖Ψ‖₄ of −log(s)/(4π√det A), s = yᵀA⁻¹y/R², is what stands beside ‖v‖₄."""
    problem, _ = known(2, 4, 1, WAVES[2], [[str(v) for v in row] for row in A], "1", "u")
    route = problem.transfer(problem.points(X[:1, :2]))
    J = route.goals[0]
    root = math.sqrt(np.linalg.det(A))
    exact = (24.0 * math.pi * J.ball**2 * root) ** 0.25 / (4.0 * math.pi * root)
    assert exact <= route._beside(J) / route.norms.fourth <= 1.001 * exact
    assert np.linalg.norm(A, 2) ** 0.5 <= J.stretch[0] <= 1.5 * np.linalg.norm(A, 2) ** 0.5


def test_a_cubic_and_a_tolerance():
    u = "sin(pi*x)"
    source = f"pi**2*(1+x)*{u} - pi*cos(pi*x) + 3*{u}**3"
    problem = pp.fem.Semilinear(pp.io.generate("interval", 6), 3.0, source, diffusion="1+x")
    found = pp.certify_to(problem, problem.space.U0, problem.points([[0.3]]), 3e-3)
    assert found.reached
    assert found.certificate.contains([np.sin(0.3 * np.pi)]).all()


def check_plane() -> None:
    problem, exact = known(2, 4, 2, WAVES[2], "1+x*y/2", "1+x", "3*exp(u)")
    assert pp.certify(problem, problem.space.U0, problem.points(X[:, :2])).contains(exact(X[:, :2])).all()


def test_the_kernel_counts(monkeypatch):
    check_plane()
    monkeypatch.setattr(Monotone, "_potential", lambda self, i, J: None)
    with pytest.raises(AssertionError):
        check_plane()


@pytest.mark.parametrize(("d", "n"), [(1, 6), (2, 4)])
def test_the_identity_of_the_kernel(d, n):
    """v(x₀) = ∫wv + ∫Ψ(−∇·(κ∇v) + cv) for v = x², within the errors of w and Ψ."""
    u = {1: "x", 2: "x*y"}[d]
    problem, _ = known(d, n, 2, u, "1+x/2", "2+x", "u")
    model = problem.linear.continuum(problem.linear.topology)
    asked = problem.points(X[:1, :d])
    J = functional(model, asked.goals[0], "p", lambda g: None, harmonic=True)
    v, left = parse("x**2"), parse("-((1+x/2)*2 + x) + (2+x)*x**2")
    bary, weights = rule(d, 8)
    P = np.einsum("qi,nic->nqc", bary, model.points[model.topology.cells])
    total = off = 0.0
    for rows, f in ((J.source, v), (J.potential, left)):
        full = rows.on_all(len(P))
        basis = np.stack([(1.0 + (j != k)) * bary[:, j] * bary[:, k] for j, k in pairs(d)])
        values = f(P.reshape(-1, d)).reshape(P.shape[:2])
        total += float(model.topology.volumes @ ((full.coefficients @ basis) * values @ weights))
        spread = np.ptp(values, axis=1)
        wrong = full.error1 * np.abs(values).max(axis=1) + full.high * spread
        off += float(model.topology.volumes @ wrong)
    assert abs(total - X[0, 0] ** 2) <= off
    assert off < 0.05


CASE = """
[mesh]
generate = "interval"
cells = 8
[problem]
kind = "semilinear"
cubic = 3.0
diffusion = "1+x"
source = "pi**2*(1+x)*sin(pi*x) - pi*cos(pi*x) + 3*sin(pi*x)**3"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "p"
kind = "point"
at = [0.3]
"""


def test_of_a_case_file(tmp_path):
    (tmp_path / "case.toml").write_text(CASE)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    row = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"][0]
    assert row["lower"] <= np.sin(0.3 * np.pi) <= row["upper"]
    assert row["radius"] < 0.05
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


@pytest.mark.parametrize(("d", "c", "g"), [(1, "-2-x", "sinh(u)"), (2, "x-1", "u**3-u/2")])
def test_reactions_below_zero(d, c, g):
    """c + g′ ≥ −γ above minus the first eigenvalue, c a formula."""
    problem, exact = known(d, 6, 2, WAVES[d], "1+x/2", c, g)
    certificate = pp.certify(problem, problem.space.U0, problem.points(X[:, :d]))
    assert certificate.contains(exact(X[:, :d])).all()
    assert certificate.radius.max() < 0.02
    said = " ".join(claim.claim for claim in certificate.assumptions)
    assert "the first eigenvalue is at least" in said
    assert "real line, so" not in said


def test_claims_of_numbers_below_zero():
    problem = pp.fem.Semilinear(pp.io.generate("interval", 8), cubic=1.0, reaction=-1.0, source=1.0)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.4]]))
    assert not [claim for claim in certificate.assumptions if "c ≥ 0" in claim.claim]


def test_a_ball_on_which_one_model_of_the_coefficient_is_too_coarse(monkeypatch):
    """1/√κ is unbounded on the whole box about the ball, and bounded on its pieces; the radius was not a number."""
    problem, exact = known(2, 3, 1, "x*y", "2+sin(3*x+2*y)", "1", "u+sin(u)/2")
    at = [[0.7066531109150289, 0.6547726417641815]]
    certificate = pp.certify(problem, problem.space.U0, problem.points(at))
    assert certificate.contains(exact(np.array(at))).all()
    monkeypatch.setattr(weights, "PIECES", (1,))
    assert pp.certify(problem, problem.space.U0, problem.points(at)).radius[0] == math.inf


def test_an_unbounded_remainder_is_an_infinite_radius(monkeypatch):
    problem, _ = known(1, 6, 1, "x", "1+x/2", "1", "u**3")
    monkeypatch.setattr(Monotone, "_beside", lambda self, J: math.inf)
    certificate = pp.certify(problem, problem.space.U0, problem.points([[0.4]]))
    assert certificate.radius[0] == math.inf
    assert not math.isnan(certificate.center[0])
