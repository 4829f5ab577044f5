"""Roots and stationary points of −∇·(κ∇u) + cu + λu³ = f against an independent Newton in 300-bit arithmetic."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certifiers.nonlinear.basepoint import base_point
from pinnpoint.certifiers.nonlinear.reaction_balls import anchor, find_witness
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.rounding.balls import Ball
from pinnpoint.systems.semilinear.cubic import CubicSystem
from tests.support.newton import ROUGH, SMOOTH, Cubic, inside, largest_gap, line, solved, states, value, within


@pytest.mark.parametrize("source", [SMOOTH, ROUGH])
@pytest.mark.parametrize("nodes", [31, 63, 95, 127])
def test_the_root_is_inside(source, nodes):
    problem, queries, root, truths = line(source, nodes)
    for size, U in states(problem, source, root):
        for method in (pp.Root(), pp.Root(norm="max"), pp.Stationary()):
            c = pp.certify(problem, U, queries, method, target="discrete")
            assert c.guarantee == "deterministic"
            assert c.rounding == "covered"
            assert "remainder" in c.terms
            for i, truth in enumerate(truths):
                assert inside(c.lower[i], c.upper[i], truth), (method, size, i)
                assert inside(*c.interval("prediction")[i], truth)
            ball = c.details["balls"]["max"]["radius"]
            assert largest_gap(U[problem.space.free], root) <= arb(ball)
            assert float(np.max(c.radius)) < (3e-2 if c.method == "stationary" else 2e-4)


def test_corrected_is_ten_times_tighter_than_norm_only_and_contracts_quadratically():
    problem, queries, root, truths = line(SMOOTH, 63)
    exact = problem.space.vector_of(np.array([float(v) for v in root]))
    bump = np.sin(3 * np.pi * problem.mesh.points[:, 0])
    radii, norms = [], []
    for size in (1e-2, 1e-3, 1e-4):
        U = problem.space.project(exact + size * bump).U
        c = pp.certify(problem, U, queries, pp.Root(), target="discrete")
        n = pp.certify(problem, U, queries, pp.Root(correct=False), target="discrete")
        assert all(inside(n.lower[i], n.upper[i], truths[i]) for i in range(len(truths)))
        assert np.all(n.radius > 10.0 * c.radius)
        assert n.correction is None
        radii.append(c.radius)
        norms.append(n.radius)
    orders = np.log10(np.array(radii[:-1]) / np.array(radii[1:]))
    assert np.all(np.abs(orders - 2.0) < 0.1)
    assert np.all(np.abs(np.log10(np.array(norms[:-1]) / np.array(norms[1:])) - 1.0) < 0.05)


def test_energy_balls_hold_the_root():
    problem, queries, root, truths = line(SMOOTH, 31)
    truth = Cubic(problem.system)
    exact = problem.space.vector_of(np.array([float(v) for v in root]))
    far = [(None, factor * exact) for factor in (3.0, 1.4, 0.3, -1.0)]  # too far for Newton–Kantorovich
    for _, U in [*states(problem, SMOOTH, root), *far]:
        c = pp.certify(problem, U, queries, pp.Root(norm="energy"), target="discrete")
        assert all(inside(c.lower[i], c.upper[i], truths[i]) for i in range(len(truths)))
        y = [arb(float(v)) for v in U[problem.space.free]]
        J = truth.at(y)[1]
        d = [a - b for a, b in zip(y, root, strict=True)]
        length = sum((d[i] * J[i][j] * d[j] for i in range(len(d)) for j in range(len(d))), arb(0)).sqrt()
        assert length <= arb(c.details["balls"]["energy"]["radius"])


def test_without_rounding_terms_it_fails():
    missed = 0
    for nodes in (31, 63, 127):
        problem, queries, root, truths = line(SMOOTH, nodes)
        U = problem.space.vector_of(np.array([float(v) for v in root]))
        naive = pp.certify(problem, U, queries, pp.Root(rounding=False), target="discrete")
        assert naive.rounding == "not covered"
        sure = pp.certify(problem, U, queries, pp.Root(), target="discrete")
        for i, truth in enumerate(truths):
            assert within(sure.center[i], sure.radius[i], truth)
            missed += not within(naive.center[i], naive.radius[i], truth)
    assert missed >= 3


def test_a_falsified_remainder_is_caught(monkeypatch):
    """With the bound of the second derivative a thousand times too small some root or ball is missed."""
    problem, queries, root, truths = line(SMOOTH, 31)
    honest = CubicSystem.bend
    monkeypatch.setattr(CubicSystem, "bend", lambda *a: honest(*a) * 1e-3)
    missed = 0
    for size, U in states(problem, SMOOTH, root):
        if size is None or size < 1e-3:
            continue
        try:
            c = pp.certify(problem, U, queries, pp.Root(norm="max"), target="discrete")
        except CertificationError:
            continue
        missed += sum(not inside(c.lower[i], c.upper[i], truths[i]) for i in range(len(truths)))
        missed += not largest_gap(U[problem.space.free], root) <= arb(c.details["balls"]["max"]["radius"])
    assert missed > 0


def test_a_falsified_lipschitz_constant_is_caught(monkeypatch):
    """Too small a constant verifies a root where there is none: the refusal of the fold depends on it."""
    wild = pp.fem.Semilinear(generate("interval", 32), cubic=-20.0, source=50.0)
    honest = CubicSystem.slope
    monkeypatch.setattr(CubicSystem, "slope", lambda *a: honest(*a) * 1e-4)
    c = pp.certify(wild, wild.space.U0, wild.points([[0.5]]), pp.Root(norm="max"), target="discrete")
    with pytest.raises((AssertionError, ZeroDivisionError)):  # no root there for Newton to find
        Cubic(wild.system).root(wild.space.U0[wild.space.free] - 0.0)
    assert c.details["balls"]["max"]["radius"] > 1.0


@pytest.mark.parametrize(("domain", "cells", "source"), [("square", 6, "40*x*y"), ("cube", 3, "60*x - 20*z")])
def test_two_and_three_dimensions(domain, cells, source):
    mesh = generate(domain, cells)
    problem = pp.fem.Semilinear(mesh, cubic=7.0, source=source, reaction=0.5, dirichlet={"boundary": "0.3*x"})
    d = mesh.dim
    queries = problem.points([[0.4] * d, [0.7] + [0.55] * (d - 1)])
    U = solved(problem, problem.space.U0)
    truth = Cubic(problem.system)
    root = truth.root(U[problem.space.free])
    truths = [value(queries, truth, root, i) for i in range(2)]
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-5, 0.0):
        V = problem.space.project(U + size * rng.uniform(-1.0, 1.0, U.size)).U
        for method in (pp.Root(), pp.Root(norm="energy"), pp.Stationary(), pp.Root(polish=1)):
            c = pp.certify(problem, V, queries, method, target="discrete")
            assert all(inside(c.lower[i], c.upper[i], truths[i]) for i in range(2)), (size, method)
    assert float(c.radius.max()) < 1e-15


def test_polish_says_so_and_is_tight():
    problem, queries, _, truths = line(SMOOTH, 31)
    c = pp.certify(problem, problem.space.U0, queries, pp.Root(polish=7), target="discrete")
    assert any("7 Newton steps" in a.claim for a in c.assumptions)
    assert float(c.radius.max()) < 1e-15
    assert np.all(c.value == 0.0)
    for i, truth in enumerate(truths):
        assert inside(c.lower[i], c.upper[i], truth)
        assert inside(*c.interval("prediction")[i], truth)


def test_a_poor_state_is_certified_by_monotonicity():
    problem, queries, _, truths = line(SMOOTH, 31)
    c = pp.certify(problem, problem.space.U0, queries, pp.Root(), target="discrete")
    assert any("strong monotonicity" in a.claim for a in c.assumptions)
    assert all(inside(c.lower[i], c.upper[i], truths[i]) for i in range(len(truths)))
    with pytest.raises(CertificationError, match=r"2Lη = .* ≥ 1 in the maximum norm: no root verified; take .* Newton"):
        pp.certify(problem, problem.space.U0, queries, pp.Root(norm="max"), target="discrete")


def test_a_fold_is_refused_with_the_reason():
    """−u″ − 20u³ = f has no solution near zero for large f, and a negative λ is certified where one is verified."""
    tame = pp.fem.Semilinear(generate("interval", 32), cubic=-2.0, source=1.0)
    queries = tame.points([[0.5]])
    truth = Cubic(tame.system)
    root = truth.root(solved(tame, tame.space.U0)[tame.space.free])
    c = pp.certify(tame, tame.space.U0, queries, pp.Root(), target="discrete")
    assert inside(c.lower[0], c.upper[0], value(queries, truth, root, 0))
    wild = pp.fem.Semilinear(generate("interval", 32), cubic=-20.0, source=50.0)
    with pytest.raises(CertificationError, match=r"2Lη = .* ≥ 1.*no root verified; take .* Newton steps"):
        pp.certify(wild, wild.space.U0, queries, pp.Root(), target="discrete")
    high = wild.extract(lambda X: 5.0 * X[:, 0] * (1 - X[:, 0])).U
    with pytest.raises(CertificationError, match=r"not verified to be positive definite.*fold"):
        pp.certify(wild, high, queries, pp.Root(), target="discrete")


def test_comparison_from_another_state():
    """The paper's route: u* = sin πx at the nodes as comparison state, with its own remainder."""
    problem, _, _, _ = line(SMOOTH, 31)
    x = problem.mesh.points[:, 0]
    queries = problem.points([[0.25], [0.5]])  # nodes, where ℓᵀU_π = u*
    U = problem.space.project(np.sin(np.pi * x) + 0.01 * np.sin(3 * np.pi * x)).U
    state = problem.space.project(np.sin(np.pi * x)).U
    near = pp.Comparison(evaluation=1e-15, state=state)
    for method in (pp.Root(), pp.Stationary()):
        c = pp.certify(problem, U, queries, method, transfer=near)
        assert c.target == "continuous"
        assert np.all(c.contains(np.sin(np.pi * np.array([0.25, 0.5]))))
        assert np.all(c.terms["transfer"] < 1e-2)
    with pytest.raises(CertificationError, match="sensitivity"):
        pp.certify(problem, U, queries, pp.Root(), transfer=pp.Comparison(evaluation=0.0, residual=1.0))


def test_energy_weight_and_raw_values():
    problem, _, _, _ = line(SMOOTH, 31)
    weighted = pp.fem.Semilinear(problem.mesh, cubic=20.0, source=SMOOTH, weight="energy")
    queries = weighted.points([[0.37]])
    guess = lambda X: 1.01 * np.sin(np.pi * X[:, 0])  # noqa: E731
    c = pp.certify(weighted, guess, queries, target="discrete")
    assert c.method == "root"
    assert c.raw is not None
    n = pp.certify(weighted, guess, queries, pp.Root(correct=False), target="discrete")
    assert np.all(n.contains(c.center))


def test_unfit_elements_and_methods_are_refused():
    mesh = generate("interval", 8)
    with pytest.raises(InputError, match="degree"):
        pp.fem.Semilinear(mesh, cubic=1.0, degree=3)
    problem = pp.fem.Semilinear(mesh, cubic=1.0, source=1.0)
    queries = problem.points([[0.5]])
    assert pp.certify(problem, problem.space.U0, queries).target == "continuous"
    with pytest.raises(InputError, match="Root or Stationary"):
        pp.certify(problem, problem.space.U0, queries, pp.Exact(), target="discrete")
    with pytest.raises(InputError, match="norm: must be"):
        pp.certify(problem, problem.space.U0, queries, pp.Root(norm="other"), target="discrete")
    with pytest.raises(InputError, match="not a linear functional"):
        problem.flux("boundary")
    with pytest.raises(InputError, match="certifies nonlinear systems"):
        pp.certify(problem.linear, problem.space.U0, queries, pp.Root(), target="discrete")
    with pytest.raises(InputError, match="2\\*\\*150"):
        pp.certify(problem, problem.extract(lambda X: 1e60 * np.sin(np.pi * X[:, 0])).U, queries, target="discrete")


CASE = """title = "s"
units = "SI"
[mesh]
generate = "interval"
cells = 16
[problem]
kind = "semilinear"
cubic = 20.0
source = "pi**2*sin(pi*x)+20*sin(pi*x)**3"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "sin(pi*x)+0.01*sin(3*pi*x)"
[[query]]
at = [0.3]
[certificate]
target = "discrete"
"""


def test_case_files_of_roots_hold_the_truth(tmp_path, capsys):
    (tmp_path / "c.toml").write_text(CASE)
    problem, truth = None, None
    for method in ("root", "stationary"):
        for polish in (0, 2):
            words = ["--set", f"certificate.method={method}", "--set", f"certificate.polish={polish}"]
            assert main(["certify", str(tmp_path / "c.toml"), "--out", str(tmp_path / "o"), "--quiet", *words]) == 0
            (row,) = json.loads((tmp_path / "o" / "certificate.json").read_text())["queries"]
            assert row["guarantee"] == "deterministic"
            assert row["target"] == "discrete"
            assert row["terms"]["remainder"] <= row["radius"]
            assert row["raw"] is not None
            if problem is None:
                problem, _, root, _ = line(SMOOTH, 15)
                at = problem.points([[0.3]])
                truth = value(at, Cubic(problem.system), root, 0)
            assert inside(row["lower"], row["upper"], truth)
    assert main(["check", str(tmp_path / "c.toml")]) == 0
    assert main(["certify", str(tmp_path / "c.toml"), "--quiet", "--set", "certificate.target=continuous"]) == 0
    assert main(["certify", str(tmp_path / "c.toml"), "--quiet", "--set", "problem.cubic=-1"]) == 2
    assert "problem.cubic" in capsys.readouterr().err


@pytest.mark.parametrize(("domain", "cells"), [("interval", 6), ("square", 3), ("cube", 2)])
def test_enclosures_hold_and_are_needed(domain, cells):
    """F, J and the second derivative at random states against closed forms; none of the computed values is exact."""
    mesh = generate(domain, cells)
    problem = pp.fem.Semilinear(mesh, cubic=3.7, source=1.0, dirichlet={"boundary": "1 + 0.3*x"})
    system, truth = problem.system, Cubic(problem.system)
    rng = np.random.default_rng(5)
    rounded = {"F": 0, "J": 0, "G": 0}
    for scale in (1.0, 1e-3, 1e6):
        y = scale * rng.standard_normal(system.n)
        F, J = truth.at([arb(v) for v in y])
        ball, (M, E) = system.residual(y), system.jacobian(y)
        z = Ball(rng.standard_normal(system.n), 1e-17 * rng.standard_normal(system.n), np.full(system.n, 1e-15))
        member = [
            arb(h) + arb(lo) + arb(1e-15) * s
            for h, lo, s in zip(z.hi, z.lo, rng.choice([-1, 1], system.n), strict=True)
        ]
        G, EG = system.second(y, z)
        M, E, G, EG = (a.toarray() for a in (M, E, G, EG))
        exact_G = truth.second([arb(v) for v in y], member)
        for i in range(system.n):
            gap = abs(arb(ball.hi[i]) + arb(ball.lo[i]) - F[i])
            assert gap <= arb(ball.err[i])
            rounded["F"] += not gap.contains(0)
            for j in range(system.n):
                assert abs(arb(M[i, j]) - J[i][j]) <= arb(E[i, j])
                assert abs(arb(G[i, j]) - exact_G[i][j]) <= arb(EG[i, j])
                rounded["J"] += not (arb(M[i, j]) - J[i][j]).contains(0)
                rounded["G"] += not (arb(G[i, j]) - exact_G[i][j]).contains(0)
        assert float(np.max(E / np.maximum(np.abs(M), 1e-300), where=M != 0, initial=0.0)) < 1e-12
    assert min(rounded.values()) > 0


def test_cubes_in_double_double_are_enclosed_and_not_exact():
    problem = pp.fem.Semilinear(generate("cube", 2), cubic=1.0)
    U = np.random.default_rng(1).standard_normal((50, 4)) * 10.0 ** np.arange(-5, 5).repeat(5)[:, None]
    ball = problem.system._cubes(U)
    gaps = 0
    for c, row in enumerate(U.tolist()):
        for i, u in enumerate(row):
            x = [arb(v) for v in [*row, u]]
            h3 = sum((x[a] * x[b] * x[d] for a in range(5) for b in range(a, 5) for d in range(b, 5)), arb(0))
            k = 4 * c + i
            gap = abs(arb(ball.hi[k]) + arb(ball.lo[k]) - h3)
            assert gap <= arb(ball.err[k])
            assert arb(ball.err[k]) <= arb("1e-28") * sum((abs(v) for v in x), arb(0)) ** 3
            gaps += bool(gap > arb("1e-250"))
    assert gaps > 20


def test_radii_contract_with_the_mesh():
    """At the interpolant of u*, d = O(h²): the corrected radius is O(h⁴), the norm-only one O(h²)."""
    fine = {nodes: line(SMOOTH, nodes) for nodes in (31, 63, 127)}
    for method, order in ((pp.Root(), 4.0), (pp.Stationary(), 4.0), (pp.Root(correct=False), 2.0)):
        radii = []
        for problem, queries, _, _ in fine.values():
            U = problem.extract(lambda X: np.sin(np.pi * X[:, 0])).U
            radii.append(pp.certify(problem, U, queries, method, target="discrete").radius)
        orders = np.log2(np.array(radii[:-1]) / np.array(radii[1:]))
        assert np.all(np.abs(orders - order) < 0.15), method


def test_the_witness_is_one():
    """⟨J⟩w ≥ v in exact arithmetic for every matrix within the error, and J ⪰ αD."""
    problem = pp.fem.Semilinear(generate("square", 5), cubic=20.0, source="40*x")
    U = solved(problem, problem.space.U0)
    base = base_point(problem.system, U[problem.space.free], rounding=True)
    at = anchor(base)
    assert at.witness is not None
    J = Cubic(problem.system).at([arb(v) for v in base.y])[1]
    for i in range(problem.system.n):
        row = sum(
            ((abs(J[i][j]) if i == j else -abs(J[i][j])) * arb(at.witness.w[j]) for j in range(problem.system.n)),
            arb(0),
        )
        assert row >= arb(at.witness.v[i])
        assert row >= arb(at.alpha) * arb(at.D[i]) * arb(at.witness.w[i])


def test_one_unknown_no_reaction_or_a_reaction_on_a_part_is_held():
    """One unknown, no reaction, a reaction on a part."""
    tiny = pp.fem.Semilinear(generate("interval", 2), cubic=5.0, source=1.0)
    truth = Cubic(tiny.system)
    queries = tiny.points([[0.5]])
    root = truth.root(solved(tiny, tiny.space.U0)[tiny.space.free])
    for method in (pp.Root(), pp.Stationary()):
        c = pp.certify(tiny, tiny.space.U0, queries, method, target="discrete")
        assert inside(c.lower[0], c.upper[0], value(queries, truth, root, 0))
    none = pp.fem.Semilinear(generate("interval", 8), cubic=0.0, source=1.0)
    for method in (pp.Root(), pp.Stationary()):
        c = pp.certify(none, none.space.U0, none.points([[0.5]]), method, target="discrete")
        assert c.contains(0.125)
        assert c.radius[0] < 1e-12
    mesh = generate("interval", 16)
    part = pp.fem.Semilinear(
        mesh, cubic=np.where(mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5, 30.0, 0.0), source=9.0
    )
    truth, queries = Cubic(part.system), part.points([[0.3], [0.7]])
    root = truth.root(solved(part, part.space.U0)[part.space.free])
    for method in (pp.Root(), pp.Root(norm="energy"), pp.Stationary(polish=2)):
        c = pp.certify(part, part.space.U0, queries, method, target="discrete")
        assert all(inside(c.lower[i], c.upper[i], value(queries, truth, root, i)) for i in range(2))


def test_a_sheared_mesh_has_no_witness_but_an_energy_ball():
    """Obtuse triangles: the comparison matrix is no M-matrix, and a shifted factorization proves J ⪰ αD instead."""
    square = generate("square", 6)
    x, y = square.points.T
    mesh = Mesh(np.stack([x + 3.0 * y, y], axis=1), square.cells)
    problem = pp.fem.Semilinear(mesh, cubic=20.0, source="30")
    queries = problem.points(mesh.points[[24]])
    U = solved(problem, problem.space.U0)
    assert anchor(base_point(problem.system, U[problem.space.free], rounding=True)).witness is None
    truth = Cubic(problem.system)
    root = truth.root(U[problem.space.free])
    found = value(queries, truth, root, 0)
    rng = np.random.default_rng(2)
    radii = []
    for size in (1.0, 1e-2, 1e-4, 0.0):
        V = problem.space.project(U + size * rng.uniform(-1.0, 1.0, U.size)).U
        for method in (pp.Root(), pp.Root(correct=False), pp.Stationary()):
            c = pp.certify(problem, V, queries, method, target="discrete")
            assert list(c.details["balls"]) == ["energy"]
            assert inside(c.lower[0], c.upper[0], found), (size, method)
            if isinstance(method, pp.Root) and method.correct:
                radii.append(c.radius[0])
    assert radii[1] < 0.02
    assert radii[-1] < 1e-15
    with pytest.raises(CertificationError, match="M-matrix comparison"):
        pp.certify(problem, U, queries, pp.Root(norm="max"), target="discrete")


def test_witnesses_hold_for_every_jacobian_within_its_error():
    """⟨J⟩w ≥ v where the diagonal may be smaller and everything beside it larger."""
    J, E = np.array([[1.0, -0.5], [-0.4, 1.2]]), np.array([[0.2, 0.1], [0.3, 0.1]])
    base = SimpleNamespace(
        J=sp.csr_array(J), J_error=sp.csr_array(E), solver=SimpleNamespace(solve=np.linalg.inv(J).dot)
    )
    found = find_witness(base, np.ones(2))
    worst = np.diag(np.diag(J - E)) - (np.abs(J) + E) * (1.0 - np.eye(2))
    assert found is not None
    assert np.all(0.0 < found.v)
    assert np.all(found.v <= worst @ found.w * (1.0 + 1e-12))
    wide = SimpleNamespace(J=base.J, J_error=sp.csr_array(3.0 * E), solver=base.solver)
    assert find_witness(wide, np.ones(2)) is None  # 0.4 beside 0.8: no longer an M-matrix
