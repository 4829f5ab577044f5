"""Quadratic elements of elasticity: what they reproduce, how fast they converge, and what is asked of them."""

import json

import meshio
import numpy as np
import pytest
import skfem
import sympy
from scipy.sparse.linalg import spsolve
from skfem.helpers import ddot, eye, sym_grad, trace

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh

AXES = "xyz"
SIDES = {2: ("left", "bottom", "top"), 3: ("left", "bottom", "top", "front", "back")}


def distorted(d, cells, seed=0):
    """A square or a cube whose inner vertices are moved."""
    mesh = generate("square" if d == 2 else "cube", cells)
    inner = np.all((mesh.points > 1e-9) & (mesh.points < 1 - 1e-9), axis=1)
    move = np.random.default_rng(seed).uniform(-0.15, 0.15, mesh.points.shape) / cells
    return Mesh(mesh.points + move * inner[:, None], mesh.cells, mesh.cell_groups, mesh.facet_groups)


def solid(d, u, E, nu, plane="strain"):
    """The body force and the stress of displacements by symbols, as texts."""
    X = sympy.symbols("x y z")[:d]
    lam = E * nu / (1 - nu**2) if d == 2 and plane == "stress" else E * nu / ((1 + nu) * (1 - 2 * nu))
    mu = E / (2 * (1 + nu))
    H = sympy.Matrix(d, d, lambda i, j: sympy.diff(u[i], X[j]))
    eps = (H + H.T) / 2
    sigma = lam * eps.trace() * sympy.eye(d) + 2 * mu * eps
    body = [-sum(sympy.diff(sigma[i, j], X[j]) for j in range(d)) for i in range(d)]
    return [str(sympy.expand(b)) for b in body], eps, sigma


def quadratic_field(d, seed):
    """A random quadratic displacement."""
    X, rng = sympy.symbols("x y z")[:d], np.random.default_rng(seed)
    monomials = [1, *X, *(X[i] * X[j] for i in range(d) for j in range(i, d))]
    return [
        sum(sympy.Float(c, 17) * m for c, m in zip(rng.normal(size=len(monomials)), monomials, strict=True)) for _ in X
    ]


@pytest.mark.parametrize(("d", "plane"), [(2, "strain"), (2, "stress"), (3, "strain")])
def test_random_quadratic_displacements_are_reproduced(d, plane):
    """Held by formulas on all sides but one, which carries the traction; every query has its exact value."""
    u, E, nu = quadratic_field(d, 5), 7.0, 0.31
    body, eps, sigma = solid(d, u, E, nu, plane)
    mesh, texts = distorted(d, 3 if d == 2 else 2), [str(c) for c in u]
    problem = fem.Elasticity(
        mesh,
        E,
        nu,
        body,
        {side: texts for side in SIDES[d]},
        {"right": [str(sigma[i, 0]) for i in range(d)]},
        plane=plane,
        degree=2,
    )
    X = sympy.symbols("x y z")[:d]
    exact = sympy.lambdify(X, u)
    at = np.random.default_rng(2).uniform(0.1, 0.9, (4, d))
    for i in range(d):
        found = pp.certify(problem, problem.space.U0, problem.points(at, AXES[i]), target="discrete")
        assert np.allclose(found.center, [exact(*x)[i] for x in at], rtol=1e-10, atol=1e-11)
        assert float(found.radius.max()) < 1e-9
        for j in range(d):
            for ask, what in ((problem.strains, eps), (problem.stresses, sigma)):
                c = pp.certify(problem, problem.space.U0, ask(at, AXES[i], AXES[j]), target="discrete")
                truth = [float(what[i, j].subs(dict(zip(X, x, strict=True)))) for x in at]
                assert np.allclose(c.center, truth, rtol=1e-8, atol=1e-9)
    ball = pp.certify(problem, problem.space.U0, problem.averages(at[:1], 0.05, "y"), target="discrete")
    second = sum(float(sympy.diff(u[1], x, 2)) for x in X)  # the mean over a ball of a quadratic
    assert ball.center[0] == pytest.approx(exact(*at[0])[1] + second * 0.05**2 / (2 * (d + 2)), rel=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_matrix_is_scikit_fems(d):
    mesh = (skfem.MeshTri if d == 2 else skfem.MeshTet).init_tensor(*[np.linspace(0, 1, 3)] * d)
    problem = fem.Elasticity(
        mesh.with_boundaries({"left": lambda x: x[0] == 0}), 3.0, 0.25, fixed={"left": 0.0}, degree=2
    )
    element = skfem.ElementTriP2() if d == 2 else skfem.ElementTetP2()
    basis = skfem.Basis(mesh, skfem.ElementVector(element), intorder=4)
    lam, mu = 3.0 * 0.25 / (1.25 * 0.5), 3.0 / 2.5

    @skfem.BilinearForm
    def form(u, v, w):
        eps = sym_grad(u)
        return ddot(lam * eye(trace(eps), d) + 2 * mu * eps, sym_grad(v))

    A = form.assemble(basis)
    theirs = {(tuple(np.round(x, 9)), k % d): k for k, x in enumerate(basis.doflocs.T)}
    order = [theirs[tuple(np.round(x, 9)), k] for x in problem.nodes.points for k in range(d)]
    assert abs(problem.A - A.tocsr()[order][:, order]).max() < 1e-13 * abs(A).max()
    assert abs(problem.A - problem.A.T).max() == 0.0


@pytest.mark.parametrize(("d", "sizes"), [(2, (4, 8, 16)), (3, (2, 4))])
def test_errors_fall_with_third_order(d, sizes):
    x = sympy.symbols("x y z")[:d]
    u = [sympy.sin(2 * x[0]) * sympy.cos(x[1]), sympy.exp(x[0]) * x[1], x[0] * sympy.cos(x[-1])][:d]
    body, _, _ = solid(d, u, sympy.Integer(1), sympy.Rational(3, 10))
    texts, exact = [str(c) for c in u], sympy.lambdify(x, u)
    errors = []
    for n in sizes:
        problem = fem.Elasticity(
            generate("square" if d == 2 else "cube", n), 1, 0.3, body, {"boundary": texts}, degree=2
        )
        U = pp.Exact().prepare(problem.system, problem.points([[0.5] * d], "x")).evidence(problem.space.U0).corrected
        truth = np.array([exact(*p) for p in problem.nodes.points])
        errors.append(np.sqrt(np.mean((np.asarray(U).reshape(-1, d) - truth) ** 2)))
    rates = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(rates > (2.8 if d == 2 else 2.5)), (errors, rates)


def test_loads_are_consistent():
    """A total force is an even traction; a Load's force and moment are those of its nodes; families and `under`."""
    mesh = generate("cube", 2)
    force, moment = (1.0, 2.0, 3.0), (0.5, -1.0, 2.0)
    even = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, force={"right": force}, degree=2)
    same = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, traction={"right": force}, degree=2)
    assert np.allclose(even.b, same.b, atol=1e-15)
    assert np.allclose(even.total_load, force)
    load = {"right": fem.Load(force, moment, (1.0, 0.2, 0.3))}
    turned = fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, force=load, degree=2)
    F = turned.b.reshape(-1, 3)
    assert np.allclose(F.sum(axis=0), force)
    assert np.allclose(np.cross(turned.nodes.points - [1.0, 0.2, 0.3], F).sum(axis=0), moment)
    asked = even.points([[0.5, 0.5, 0.5]], "x")
    c = pp.Exact().prepare(even.under(turned.b).system, asked).certify(even.space.U0)
    assert c.contains(pp.certify(turned, turned.space.U0, turned.points([[0.5] * 3], "x"), target="discrete").center)
    assert np.allclose(even.load(force=load), turned.b)
    with pytest.raises(pp.InputError, match=r"\(125, 3\), of the vertices and then of the edges"):
        even.under(np.zeros((27, 3)))


def test_linear_elements_keep_their_way_with_every_method():
    """Every linear method holds the exact discrete value of degree 2."""
    problem = fem.Elasticity(generate("square", 3), 2.0, 0.3, [0.0, -1.0], {"left": 0.0}, degree=2)
    asked = problem.points([[0.7, 0.4]], "y") + problem.patch("right", "y")
    truth = pp.certify(problem, problem.space.U0, asked, target="discrete").center
    rng = np.random.default_rng(0)
    U = problem.space.project(rng.normal(size=problem.space.N)).U
    for method in (pp.Exact(), pp.Norm(), pp.Inexact(), pp.Localized(radius=0.4)):
        assert np.all(pp.certify(problem, U, asked, method, target="discrete").contains(truth))
    assert problem.system.floor().alpha > 0.0


CASE = """
title = "Block"
[mesh]
generate = "KIND"
cells = 2
[problem]
kind = "elasticity"
degree = 2
young = 10.0
poisson = 0.3
body = BODY
[problem.dirichlet]
left = 0.0
[problem.force]
right = {force = FORCE, at = AT}
[prediction]
zero = true
[[query]]
name = "middle"
at = AT
component = "x"
[[query]]
name = "end"
kind = "patch"
group = "right"
component = "y"
[certificate]
target = "discrete"
"""


@pytest.mark.parametrize("d", [2, 3])
def test_a_case_is_certified_verified_and_read_back(tmp_path, capsys, d):
    parts = {"KIND": '"square"' if d == 2 else '"cube"', "BODY": str(["0"] * (d - 1) + ["x"])}
    parts |= {"FORCE": str([1.0] * d), "AT": str([0.4, 0.5, 0.5][:d])}
    text = CASE.replace('"KIND"', parts.pop("KIND"))
    for word, value in parts.items():
        text = text.replace(word, value.replace("'", '"'))
    path, out = tmp_path / "case.toml", tmp_path / "out"
    path.write_text(text, encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert ", quadratic elements\n" in capsys.readouterr().out
    assert main(["certify", str(path), "--quiet", "--out", str(out)]) == 0
    problem = build(read_case(path)).problem
    data = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert data["problem"]["quadrature"] == 6
    U = np.zeros(problem.space.N)
    free = problem.space.free
    U[free] = spsolve(problem.A[free][:, free].tocsc(), problem.b[free])
    wanted = (problem.points([[0.4, 0.5, 0.5][:d]], "x").L @ U)[0]
    assert data["queries"][0]["center"] == pytest.approx(wanted, rel=1e-10)
    field = meshio.read(out / "field.vtu")
    assert field.cells[0].type == {2: "triangle6", 3: "tetra10"}[d]
    assert np.allclose(field.point_data["corrected"][:, :d], U.reshape(-1, d), atol=1e-12)
    capsys.readouterr()
    assert main(["verify", str(out / "bundle")]) == 0
    again = text.replace("zero = true", f'file = "{(out / "field.vtu").as_posix()}"\nfield = "corrected"')
    path.write_text(again, encoding="utf-8")
    assert main(["certify", str(path), "--quiet", "--out", str(tmp_path / "again")]) == 0
    data = json.loads((tmp_path / "again" / "certificate.json").read_text(encoding="utf-8"))
    assert data["queries"][0]["value"] == pytest.approx(wanted, rel=1e-10)
