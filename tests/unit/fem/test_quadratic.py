"""Quadratic elements: patch tests, rates, scikit-fem's matrices, queries, extraction, certificates, case files."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import meshio
import numpy as np
import pytest
import scipy.sparse.linalg as spla
import skfem
from skfem.helpers import dot, grad

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.cli.check import memory
from pinnpoint.cli.main import main
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import Nodes, quadratic_mass, quadratic_stiffness
from pinnpoint.fem.extraction import NodeValues
from pinnpoint.formulas.expressions import Expression
from pinnpoint.io import generate
from pinnpoint.io.meshes.vtu import write_vtu
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.taylor import bernstein
from tests.support import exactly

DOMAINS = {"interval": 5, "square": 3, "cube": 2}


def solved(problem):
    free = problem.space.free
    lift = problem.space.U0
    y = spla.spsolve(problem.A[free][:, free].tocsc(), (problem.b - problem.A @ lift)[free])
    U = lift.copy()
    U[free] = y
    return U


def shaken(kind, cells, seed=0):
    """A generated mesh with its inner vertices moved and each cell's vertices in another order."""
    mesh = generate(kind, cells)
    rng = np.random.default_rng(seed)
    X, outer = mesh.points.copy(), np.unique(mesh.boundary)
    inner = np.setdiff1d(np.arange(len(X)), outer)
    X[inner] += rng.uniform(-0.1, 0.1, size=(inner.size, mesh.dim)) / cells
    T = rng.permuted(mesh.cells, axis=1)
    return Mesh(X, T, mesh.cell_groups, mesh.facet_groups)


def halves(kind, cells):
    """A mesh of the unit interval, square or cube with groups on both sides of x = 1/2."""
    mesh = generate(kind, cells)
    left = mesh.points[mesh.cells][:, :, 0].mean(axis=1) < 0.5
    groups = {"left half": np.nonzero(left)[0], "right half": np.nonzero(~left)[0]}
    return Mesh(mesh.points, mesh.cells, groups, mesh.facet_groups)


def quadratic(d, seed=0):
    """A quadratic, its gradient and its Hessian."""
    rng = np.random.default_rng(seed)
    H, g = rng.normal(size=(d, d)), rng.normal(size=d)
    H = H + H.T
    return (lambda X: 0.7 + X @ g + 0.5 * np.einsum("pi,ij,pj->p", X, H, X)), (lambda X: g + X @ H), H


@pytest.mark.parametrize("kind", DOMAINS)
def test_edges_are_numbered_once_after_the_vertices(kind):
    mesh = shaken(kind, DOMAINS[kind])
    nodes, n = Nodes(mesh, 2), len(mesh.points)
    every = {tuple(sorted(e)) for cell in mesh.cells.tolist() for e in combinations(cell, 2)}
    assert [tuple(e) for e in nodes.edges.tolist()] == sorted(every)
    assert np.allclose(nodes.points[n:], mesh.points[nodes.edges].mean(axis=1), rtol=0, atol=1e-16)
    local = [p for p in bernstein.pairs(mesh.dim) if p[0] < p[1]]
    for simplices, dofs in ((mesh.cells, nodes.cell_dofs), (mesh.boundary, nodes.facet_dofs(mesh.boundary))):
        k = simplices.shape[1]
        assert np.array_equal(dofs[:, :k], simplices)
        for position, (j, q) in enumerate(p for p in local if p[1] < k):
            assert np.array_equal(nodes.edges[dofs[:, k + position] - n], np.sort(simplices[:, [j, q]], axis=1))
    one = Nodes(mesh)
    assert one.points is mesh.points
    assert one.cell_dofs is mesh.cells


@pytest.mark.parametrize("d", [1, 2, 3])
def test_shape_functions_and_element_tables(d):
    """They are those of the Bernstein form, one at their own node, and the tables are what fine quadrature gives."""
    mesh = shaken(["interval", "square", "cube"][d - 1], 2)
    nodes = Nodes(mesh, 2)
    U = np.random.default_rng(1).normal(size=len(nodes))
    bary, weights = rule(d, 6)
    beta = bernstein.from_quadratic(U[nodes.cell_dofs], d)
    assert np.allclose(U[nodes.cell_dofs] @ nodes.shapes(bary).T, beta @ bernstein.values(bary).T, atol=1e-13)
    corners = np.eye(d + 1)
    own = np.concatenate([corners, [0.5 * (corners[j] + corners[q]) for j, q in combinations(range(d + 1), 2)]])
    assert np.array_equal(nodes.shapes(own), np.eye(len(own)))
    K = np.random.default_rng(2).uniform(1, 2, size=len(mesh.cells))
    local = quadratic_stiffness(assembly.stiffness(Nodes(mesh), K))
    assert np.array_equal(local, np.swapaxes(local, 1, 2))
    expected = np.zeros_like(local)
    for x, w in zip(bary, weights, strict=True):
        for axis in range(d):
            D = nodes.derivatives(np.arange(len(mesh.cells)), np.tile(x, (len(mesh.cells), 1)), axis)
            expected += (w * K * mesh.volumes)[:, None, None] * D[:, :, None] * D[:, None, :]
    assert np.allclose(local, expected, atol=1e-13 * np.abs(local).max())
    phi = nodes.shapes(bary)
    M = np.einsum("q,qi,qj->ij", weights, phi, phi)
    assert np.allclose(quadratic_mass(mesh.volumes, d), mesh.volumes[:, None, None] * M, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("kind", DOMAINS)
def test_quadratic_solutions_are_exact(kind):
    """Anisotropic diffusion, reaction, varying Dirichlet data; all queries."""
    mesh = shaken(kind, DOMAINS[kind])
    d = mesh.dim
    u, slope, H = quadratic(d)
    A = np.diag([2.0, 3.0, 4.0][:d]) + 0.3 * (1 - np.eye(d))
    f = lambda X: 1.5 * u(X) - np.sum(A * H)  # noqa: E731
    problem = fem.ReactionDiffusion(mesh, f, A, 1.5, {"boundary": u}, degree=2)
    assert problem.quadrature == 6
    assert np.abs(solved(problem) - u(problem.nodes.points)).max() < 1e-12
    X = np.random.default_rng(0).uniform(0.3, 0.7, size=(5, d))
    middle = np.full((1, d), 0.5)
    queries = problem.points(X) + problem.averages(middle, 0.2, names=["ball"]) + problem.patch("right", name="patch")
    for axis in range(d):
        names = [f"{axis} {i}" for i in range(len(X))]
        queries = queries + problem.gradients(X, "xyz"[axis], names=names)
    c = pp.certify(problem, np.zeros(len(problem.nodes)) + problem.space.U0, queries, target="discrete")
    ball = u(middle)[0] + 0.5 * np.trace(H) * 0.2**2 / (d + 2)
    bary, weights = rule(max(d - 1, 0), 4)
    facets = mesh.facets("right")
    there = u(at_points(mesh.points[facets], bary).reshape(-1, d)).reshape(len(facets), -1) @ weights
    patch = np.average(there, weights=mesh.facet_measures(facets))
    assert problem.patch("right").samples(u)[0] == pytest.approx(patch, rel=1e-13)
    if d > 1:
        assert problem.patch("right").samples(lambda P: P[:, 1] ** 4)[0] == pytest.approx(0.2, rel=1e-13)
    expected = np.concatenate([u(X), [ball, patch], slope(X).T.ravel()])
    assert np.allclose(c.center, expected, rtol=0, atol=1e-11)
    assert np.allclose(c.center[:7], expected[:7], rtol=0, atol=1e-12)


@pytest.mark.parametrize("flux", [False, True])
@pytest.mark.parametrize("kind", DOMAINS)
def test_jumps_with_piecewise_quadratic_solutions_are_exact(kind, flux):
    """κ = 1 | 10 and f = 3: κu′ = 2 − 3x is continuous; with Dirichlet values all around or a flux on the right."""
    mesh = halves(kind, 2 if kind == "cube" else 4)

    def u(X):
        x = X[:, 0]
        left, at = 2 * x - 1.5 * x**2, 2 * 0.5 - 1.5 * 0.25
        return np.where(x <= 0.5, left, at + (2 * (x - 0.5) - 1.5 * (x**2 - 0.25)) / 10)

    conditions = (
        {"dirichlet": {"left": 0.0}, "neumann": {"right": "2 - 3*x"}} if flux else {"dirichlet": {"boundary": u}}
    )
    problem = fem.ReactionDiffusion(mesh, 3.0, {"left half": 1.0, "right half": 10.0}, degree=2, **conditions)
    assert np.abs(solved(problem) - u(problem.nodes.points)).max() < 1e-12


@pytest.mark.parametrize(("kind", "sizes"), [("interval", (8, 16, 32)), ("square", (6, 12, 24)), ("cube", (5, 9))])
def test_errors_fall_with_third_order(kind, sizes):
    """Third order in L²; in 1D fourth order at the vertices."""
    d = {"interval": 1, "square": 2, "cube": 3}[kind]
    u = lambda X: np.prod(np.sin(np.pi * X), axis=1)  # noqa: E731
    L2, vertex = [], []
    for cells in sizes:
        mesh = generate(kind, cells)
        f = lambda X: (d * np.pi**2 + 10) * u(X)  # noqa: E731
        problem = fem.ReactionDiffusion(mesh, f, 1.0, lambda X: np.full(len(X), 10.0), degree=2)
        U, (bary, weights) = solved(problem), rule(d, 6)
        X = at_points(mesh.points[mesh.cells], bary)
        gap = U[problem.nodes.cell_dofs] @ problem.nodes.shapes(bary).T - u(X.reshape(-1, d)).reshape(X.shape[:2])
        L2.append(np.sqrt(mesh.volumes @ (gap**2 @ weights)))
        vertex.append(np.abs(U[: len(mesh.points)] - u(mesh.points)).max())
    refined = np.log(sizes[-1] / sizes[-2])
    assert np.log(L2[-2] / L2[-1]) / refined == pytest.approx(3.0, abs=0.2)
    if d == 1:
        assert np.log(vertex[-2] / vertex[-1]) / refined == pytest.approx(4.0, abs=0.1)
    else:
        assert np.log(vertex[-2] / vertex[-1]) / refined > 2.8


SKFEM = {
    "line": (skfem.MeshLine(np.array([0, 0.1, 0.3, 0.55, 0.6, 1.0])), skfem.ElementLineP2),
    "triangles": (skfem.MeshTri.init_lshaped().refined(2), skfem.ElementTriP2),
    "tetrahedra": (skfem.MeshTet.init_tensor(*[np.array([0, 0.3, 0.7, 1.0])] * 3), skfem.ElementTetP2),
}


@pytest.mark.parametrize("name", SKFEM)
def test_system_is_scikit_fems(name):
    mesh, element = SKFEM[name]
    mesh = mesh.with_boundaries({"end": lambda x: x[0] == x[0].max()})
    source, flux = (lambda X: X[:, 0] ** 3), (lambda X: 1 + X[:, -1] ** 2)
    problem = fem.ReactionDiffusion(
        mesh, source, 2.0, lambda X: 1 + X[:, -1] ** 2, {}, {"end": flux}, quadrature=6, degree=2
    )
    basis = skfem.Basis(mesh, element(), intorder=7)
    A = skfem.BilinearForm(lambda u, v, w: 2 * dot(grad(u), grad(v)) + (1 + w.x[-1] ** 2) * u * v).assemble(basis)
    b = skfem.LinearForm(lambda v, w: w.x[0] ** 3 * v).assemble(basis)
    side = skfem.FacetBasis(mesh, element(), facets="end", intorder=7)
    b = b + skfem.LinearForm(lambda v, w: (1 + w.x[-1] ** 2) * v).assemble(side)
    X, Y = np.round(problem.nodes.points, 12) + 0.0, np.round(basis.doflocs.T, 12) + 0.0
    ours, theirs = np.lexsort(X.T), np.lexsort(Y.T)
    assert np.array_equal(X[ours], Y[theirs])
    assert abs(problem.A[ours][:, ours] - A.tocsr()[theirs][:, theirs]).max() < 1e-12 * abs(A).max()
    assert np.abs(problem.b[ours] - b[theirs]).max() < 1e-13
    assert (problem.A != problem.A.T).nnz == 0


@pytest.mark.parametrize("contrast", [1.0, 1e6])
@pytest.mark.parametrize("kind", DOMAINS)
def test_intervals_hold_the_exact_discrete_solution(kind, contrast):
    """Rationals solve the stored system."""
    mesh = shaken(kind, {"interval": 8, "square": 3, "cube": 2}[kind])
    d = mesh.dim
    kappa = np.where(np.arange(len(mesh.cells)) % 3 == 0, contrast, 1.0)
    problem = fem.ReactionDiffusion(mesh, "1 + x", kappa, "x + 1", {"left": "0.25"}, {"right": 1.0}, degree=2)
    free = problem.space.free
    b = exactly.rational_matrix(problem.b[free][:, None]) - exactly.rational_matrix(
        problem.A[free]
    ) * exactly.rational_matrix(problem.space.U0[:, None])
    y = exactly.rational_matrix(problem.A[free][:, free]).solve(b)
    truth = [exactly.rational(v) for v in problem.space.U0]
    for i, k in enumerate(free):
        truth[k] = y[i, 0]
    X = np.random.default_rng(0).uniform(0.3, 0.7, size=(3, d))
    queries = problem.points(X) + problem.patch("right") + problem.gradients(X, "x", names=["a", "b", "c"])
    guess = lambda P: 0.25 + P[:, 0]  # noqa: E731
    for method in (pp.Exact(), pp.Exact(refine=True), pp.Norm(), pp.Inexact(), pp.Localized(radius=0.4)):
        c = pp.certify(problem, guess, queries, method, target="discrete")
        for k in range(len(queries)):
            value = exactly.functional(queries.L[[k]].toarray().ravel(), truth)
            assert exactly.holds(c.lower[k], c.upper[k], value)
    sharp = pp.certify(problem, guess, queries, pp.Exact(refine=True), target="discrete")
    assert sharp.radius.max() < 1e-13 * contrast
    c = pp.certify(problem, guess, problem.points(X) + problem.patch("right"), target="discrete")
    assert c.details["extraction"] == "nodal"
    assert np.allclose(c.raw, [*guess(X), 1.25], atol=1e-14)


@pytest.mark.parametrize(("kind", "cells", "n"), [("square", 36, 5041), ("cube", 8, 3375)])
def test_larger_systems_are_verified_by_a_shifted_factorization(kind, cells, n):
    problem = fem.ReactionDiffusion(generate(kind, cells), 1.0, degree=2)
    assert problem.system.n == n
    queries = problem.points(np.full((1, problem.mesh.dim), 0.41))
    c = pp.certify(problem, lambda X: np.prod(X * (1 - X), axis=1), queries, target="discrete")
    assert c.radius[0] < 1e-12
    assert c.contains(queries.L @ solved(problem)).all()
    assert any("shifted LU factorization" in a.claim for a in c.assumptions)


def test_extraction_takes_values_at_vertices_or_at_all_nodes():
    problem = fem.ReactionDiffusion(generate("square", 4), 1.0, dirichlet={"boundary": "x*y"}, degree=2)
    nodes, n = problem.nodes, len(problem.mesh.points)
    u, linear = (lambda X: X[:, 0] * X[:, 1] + X[:, 0] ** 2), (lambda X: 1 + X[:, 0])
    free = problem.space.free
    full = problem.extract(u(nodes.points))
    assert full.how == "nodal values"
    assert np.array_equal(full.U, problem.extract(u).U)
    for how in ("l2", "constrained"):
        found = problem.extract(u if how == "l2" else (lambda X: X[:, 0] * X[:, 1]), how)
        expected = u(nodes.points) if how == "l2" else nodes.points.prod(axis=1)
        assert np.allclose(found.U[free], expected[free], atol=1e-11)
    few = problem.extract(u(problem.mesh.points))
    assert few.how == "nodal values at the vertices, edge midpoints by averaging"
    assert np.allclose(few.U[free], nodes.spread(u(problem.mesh.points))[free])
    assert np.allclose(problem.extract(linear(problem.mesh.points)).U[free], linear(nodes.points)[free])
    shuffled = np.random.default_rng(0).permutation(len(nodes))
    P = nodes.points[shuffled]
    assert np.array_equal(problem.extract(NodeValues(P, u(P))).U, full.U)
    vertices = NodeValues(problem.mesh.points[::-1], u(problem.mesh.points[::-1]))
    found = problem.extract(vertices)
    assert np.array_equal(found.U, few.U)
    assert found.how == "nodal values at the vertices matched by coordinates, edge midpoints by averaging"
    far = np.concatenate([problem.mesh.points, np.random.default_rng(1).uniform(2, 3, size=(len(nodes), 2))])
    assert problem.extract(NodeValues(far, u(far))).how == found.how
    for bad in (np.zeros(n + 1), np.full(len(nodes), np.nan), np.full(n, np.nan), NodeValues(far[1:], u(far[1:]))):
        with pytest.raises(pp.InputError, match=r"prediction|points"):
            problem.extract(bad)


def test_what_was_given_is_kept():
    mesh = halves("square", 4)
    table = {"left half": 1.0, "right half": 0.0}
    f, matrix = (lambda X: X[:, 0]), np.eye(2)
    problem = fem.ReactionDiffusion(mesh, f, matrix, table, {"left": "y", "right": 1}, {"top": f}, degree=2)
    given = problem.given
    assert set(given) == {"source", "diffusion", "reaction", "dirichlet", "neumann"}
    assert given["source"] is f
    assert np.array_equal(given["diffusion"], matrix)
    assert given["reaction"] == table
    assert isinstance(given["dirichlet"]["left"], Expression)
    assert given["dirichlet"]["right"] == 1
    assert given["neumann"]["top"] is f
    assert problem.degree == 2
    assert np.array_equal(problem.reaction, np.isin(np.arange(len(mesh.cells)), mesh.cell_groups["left half"]) * 1.0)
    assert not problem.reaction_varies
    by_cell = fem.ReactionDiffusion(mesh, f, matrix, problem.reaction, {"left": "y", "right": 1}, {"top": f}, degree=2)
    assert np.array_equal(by_cell.A.data, problem.A.data)
    for zero in (0, 0.0, "0", {"left half": 0, "right half": 0}):
        none = fem.ReactionDiffusion(mesh, reaction=zero)
        assert none.reaction is None
        assert not none.reaction_varies
    for degree in (1, 2):
        constant = [
            fem.ReactionDiffusion(mesh, reaction=c, degree=degree) for c in (2.0, "1 + 1", lambda X: 2 + 0 * X[:, 0])
        ]
        assert [p.reaction_varies for p in constant] == [False, False, True]
        assert constant[2].reaction is None
        assert np.array_equal(constant[0].reaction, np.full(len(mesh.cells), 2.0))
        assert np.array_equal(constant[0].A.data, constant[2].A.data)
    assert fem.ReactionDiffusion(mesh).quadrature == 4
    low = fem.ReactionDiffusion(mesh, reaction=2.0, quadrature=2, degree=2)
    assert low.quadrature == 2
    assert np.allclose(low.A.data, constant[0].A.data, rtol=1e-12, atol=1e-14)  # c's own rule is not that low
    assert np.array_equal(low.system.row_points, low.nodes.points[low.space.free])


REFUSED = {
    "degree 3": (lambda m: fem.ReactionDiffusion(m, degree=3), "degree: must be 1"),
    "degree 0": (lambda m: fem.ReactionDiffusion(m, degree=0), "degree"),
    "degree in words": (lambda m: fem.ReactionDiffusion(m, degree="two"), "degree"),
    "elastic degree 3": (lambda m: fem.Elasticity(m, 1.0, 0.3, fixed={"left": 0}, degree=3), "degree: must be 1"),
    "reaction of some groups": (
        lambda m: fem.ReactionDiffusion(m, reaction={"left half": 1}, degree=2),
        "reaction: 16 cells have no value",
    ),
    "reaction of too few cells": (lambda m: fem.ReactionDiffusion(m, reaction=[1.0, 2.0], degree=2), "reaction"),
    "clash at a midpoint alone": (
        lambda m: fem.ReactionDiffusion(generate("cube", 1), dirichlet={"left": "y*(1-y)", "front": 0.0}, degree=2),
        "overlap at node",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_quadratic_problems_are_refused(name):
    call, words = REFUSED[name]
    with pytest.raises(pp.InputError, match=words):
        call(halves("square", 4))


CASE = """title = "Quadratic"
[mesh]
generate = "KIND"
cells = 3
[problem]
kind = "reaction-diffusion"
degree = 2
source = "1"
reaction = 2.0
[problem.dirichlet]
boundary = 0.0
[prediction]
PREDICTION
[[query]]
name = "centre"
at = AT
[certificate]
target = "discrete"
"""


def case(folder, kind, prediction):
    at = {"interval": "[0.4]", "square": "[0.4, 0.5]", "cube": "[0.4, 0.5, 0.5]"}[kind]
    text = CASE.replace("KIND", kind).replace("PREDICTION", prediction).replace("AT", at)
    path = folder / "case.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", DOMAINS)
def test_a_case_is_certified_and_its_field_read_back(tmp_path, capsys, kind):
    """The command line certifies; its field is read back by meshio and as the next prediction."""
    path = case(tmp_path, kind, 'expression = "x*(1-x)"')
    problem = fem.ReactionDiffusion(generate(kind, 3), 1.0, reaction=2.0, degree=2)
    n, d = len(problem.nodes), problem.mesh.dim
    assert main(["check", path]) == 0
    out = capsys.readouterr().out
    assert ", quadratic elements\n" in out
    assert f"unknowns: {problem.system.n} of {n}" in out
    assert "quadrature order 6" in out
    assert main(["certify", path, "--quiet", "--out", str(tmp_path / "out")]) == 0
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert data["problem"]["degree"] == 2
    assert data["problem"]["quadrature"] == 6
    U = solved(problem)
    expected = (problem.points([[0.4, 0.5, 0.5][:d]]).L @ U)[0]
    assert data["queries"][0]["center"] == pytest.approx(expected, rel=1e-12)
    field = meshio.read(tmp_path / "out" / "field.vtu")
    assert field.cells[0].type == {1: "line3", 2: "triangle6", 3: "tetra10"}[d]
    assert np.array_equal(field.points[:, :d], problem.nodes.points)
    assert np.allclose(field.point_data["corrected"], U, atol=1e-13)
    again = case(tmp_path, kind, f'file = "{(tmp_path / "out" / "field.vtu").as_posix()}"\nfield = "corrected"')
    assert main(["certify", again, "--quiet", "--out", str(tmp_path / "again")]) == 0
    data = json.loads((tmp_path / "again" / "certificate.json").read_text(encoding="utf-8"))
    assert data["prediction"]["extraction"] == "nodal values matched by coordinates"
    assert data["queries"][0]["value"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "local"), [("square", ((0, 1), (1, 2), (2, 0))), ("cube", "01 12 02 03 13 23".split())]
)
def test_quadratic_cells_have_vtks_order(tmp_path, kind, local):
    nodes = Nodes(shaken(kind, 2), 2)
    d = nodes.mesh.dim
    path = write_vtu(tmp_path / "a.vtu", nodes.mesh, {"u": nodes.points[:, 0]}, nodes=nodes)
    mesh = meshio.read(path)
    P = mesh.points[mesh.cells[0].data]
    for k, (i, j) in enumerate(local):
        assert np.allclose(P[:, d + 1 + k], 0.5 * (P[:, int(i)] + P[:, int(j)]), atol=1e-15)


def test_reaction_of_groups_in_a_case_file(tmp_path, capsys):
    mesh = halves("square", 2)
    blocks = [("triangle", mesh.cells)]
    tags = np.where(np.isin(np.arange(len(mesh.cells)), mesh.cell_groups["left half"]), 1, 2)
    file = meshio.Mesh(np.pad(mesh.points, ((0, 0), (0, 1))), blocks)
    file.cell_data = {"gmsh:physical": [tags], "gmsh:geometrical": [tags]}
    file.field_data = {"soft": np.array([1, 2]), "stiff": np.array([2, 2])}
    file.write(tmp_path / "a.msh", file_format="gmsh22", binary=False)
    path = case(tmp_path, "square", "zero = true")
    text = (tmp_path / "case.toml").read_text(encoding="utf-8")
    text = text.replace('generate = "square"\ncells = 3', 'file = "a.msh"')
    text = text.replace("reaction = 2.0", "reaction = {soft = 1.0, stiff = 3.0}")
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    assert main(["certify", path, "--quiet", "--out", str(tmp_path / "out")]) == 0
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert data["problem"]["reaction"] == {"soft": 1.0, "stiff": 3.0}
    c = {"left half": 1.0, "right half": 3.0}
    problem = fem.ReactionDiffusion(mesh, 1.0, reaction=c, degree=2)
    expected = (problem.points([[0.4, 0.5]]).L @ solved(problem))[0]
    assert data["queries"][0]["center"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.optional
@pytest.mark.parametrize(("kind", "cells"), [("square", 50), ("cube", 8)])
def test_predicted_memory_is_within_half_of_the_peak(kind, cells):
    """Within a factor 1.5 of the peak of a fresh process."""
    code = f"""
import re
from pathlib import Path
import numpy as np
import pinnpoint as pp
from pinnpoint.cli.check import memory
mesh = pp.io.generate("{kind}", {cells})
problem = pp.fem.ReactionDiffusion(mesh, 1.0, degree=2)
queries = problem.points(np.full((1, mesh.dim), 0.41))
pp.certify(problem, problem.space.U0, queries, target="discrete")
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(memory(problem, 1), int(peak) / 1e6)
"""
    if not Path("/proc/self/status").exists():
        pytest.skip("peaks of memory are read from /proc")
    pytest.importorskip("numba")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    predicted, peak = map(float, done.stdout.split())
    assert 1 / 1.5 < predicted / peak < 1.5


@pytest.mark.parametrize(("kind", "cells", "peak"), [("square", 160, 0.96), ("cube", 15, 1.84)])
def test_predicted_memory_as_once_measured(kind, cells, peak):
    """Peaks in GB of larger certificates, too long to repeat here."""
    predicted = memory(fem.ReactionDiffusion(generate(kind, cells), degree=2), 1)
    assert 1 / 1.5 < predicted / peak < 1.5
