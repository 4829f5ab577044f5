"""What is asked of elastic bodies: rows against differences and sums over cells, and goals on finer meshes."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import rule
from pinnpoint.mesh.refine.refiner import Refiner
from pinnpoint.systems import goals as said

AXES = "xyz"


def body(d, degree, cells=3, seed=0, **more):
    """A distorted square or cube of two materials, one group of cells each."""
    mesh = generate("square" if d == 2 else "cube", cells)
    X = mesh.points
    inner = np.all((X > 1e-9) & (X < 1 - 1e-9), axis=1)
    moved = X + np.random.default_rng(seed).uniform(-0.15, 0.15, X.shape) / cells * inner[:, None]
    low = moved[mesh.cells].mean(axis=1)[:, 0] < 0.5
    groups = {"soft": np.flatnonzero(low), "stiff": np.flatnonzero(~low)}
    mesh = Mesh(moved, mesh.cells, groups, mesh.facet_groups)
    given = {"young": {"soft": 1.0, "stiff": 5.0}, "poisson": {"soft": 0.3, "stiff": 0.1}, "fixed": {"left": 0.0}}
    return fem.Elasticity(mesh, **{**given, "body": [0.1, -1.0, 0.3][:d], "degree": degree, **more})


def field(problem, seed=1):
    """A random finite-element field, and its value at any point."""
    U = np.random.default_rng(seed).normal(size=(len(problem.nodes), problem.mesh.dim))

    def at(X):
        cell, bary = problem._queries.locator.locate(X)
        return np.einsum("pi,pic->pc", problem.nodes.shapes(bary), U[problem.nodes.cell_dofs[cell]])

    return U.ravel(), at


def solved(problem):
    U, free = problem.space.U0.copy(), problem.space.free
    b = problem.b - problem.A @ U
    U[free] += spsolve(problem.A[free][:, free].tocsc(), b[free])
    return U


SHAPES = [(2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_strains_and_stresses_are_differences(d, degree):
    """Central differences within a cell, which are exact for quadratics."""
    problem = body(d, degree)
    U, at = field(problem)
    cells = np.array([0, 7, len(problem.mesh.cells) - 1])
    X = problem.mesh.points[problem.mesh.cells[cells]].mean(axis=1) + 1e-3
    h = 1e-3
    H = np.stack([(at(X + h * e) - at(X - h * e)) / (2 * h) for e in np.eye(d)], axis=2)
    eps = 0.5 * (H + np.swapaxes(H, 1, 2))
    owner = problem._queries.locator.locate(X)[0]
    lam, mu = (c[owner] for c in problem.lame)
    sigma = 2 * mu[:, None, None] * eps + (lam * np.trace(eps, axis1=1, axis2=2))[:, None, None] * np.eye(d)
    for i in range(d):
        for j in range(i, d):
            word = AXES[i] + AXES[j]
            for ask, truth in ((problem.strain, eps), (problem.stress, sigma)):
                asked = ask(X, word[::-1])
                assert np.allclose(asked.L @ U, truth[:, i, j], rtol=1e-8, atol=1e-8)
                assert np.allclose(asked.L.toarray(), asked.on_nodes(problem.nodes).toarray())
            assert problem.stress(X[:1], word).goals == (said.Stress(tuple(X[0].tolist()), i, j),)
            assert problem.strain(X[:1], word).goals == (said.Strain(tuple(X[0].tolist()), i, j),)
            assert np.array_equal(problem.stresses(X, i, j).L.toarray(), problem.stress(X, word).L.toarray())


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_averages_over_cells_are_integrals(d, degree):
    problem = body(d, degree)
    mesh = problem.mesh
    U, at = field(problem)
    bary, weights = rule(d, 4)
    for where in ("soft", [3, 5], None):
        cells = (
            mesh.cells_of(where) if isinstance(where, str) else np.arange(len(mesh.cells)) if where is None else where
        )
        P = np.einsum("qi,cid->cqd", bary * (1 - 1e-9) + 1e-9 / (d + 1), mesh.points[mesh.cells[cells]])
        share = mesh.volumes[cells] / mesh.volumes[cells].sum()
        mean = np.einsum("c,q,cqk->k", share, weights, at(P.reshape(-1, d)).reshape(*P.shape[:2], d))
        for k in range(d):
            asked = problem.mean(AXES[k]) if where is None else problem.cells(where, AXES[k])
            assert (asked.L @ U)[0] == pytest.approx(mean[k], rel=1e-6, abs=1e-7)
            assert asked.goals == (said.Cells(tuple(where) if isinstance(where, list) else where, k),)
            raw = asked.samples(lambda X: np.stack([X[:, 0] * X[:, -1]] * d, axis=1))
            x = np.einsum("qi,cid->cqd", bary, mesh.points[mesh.cells[cells]])
            assert raw[0] == pytest.approx(np.einsum("c,q,cq->", share, weights, x[..., 0] * x[..., -1]), rel=1e-9)
    soft = mesh.cells_of("soft")
    share = mesh.volumes[soft] / mesh.volumes[soft].sum()
    middles = np.einsum("qi,cid->cqd", bary * 0.999 + 0.001 / (d + 1), mesh.points[mesh.cells[soft]]).reshape(-1, d)
    every = problem.stress(middles, "xy").L @ U
    average = problem.stress("soft", "xy")
    wanted = np.einsum("c,q,cq->", share, weights, every.reshape(len(soft), -1))
    assert (average.L @ U)[0] == pytest.approx(wanted, rel=1e-3)  # points moved to the middle by a thousandth
    assert average.goals == (said.CellStress("soft", 0, 1),)
    assert problem.strain("soft", "yy").goals == (said.CellStrain("soft", 1, 1),)


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_patches_along_directions(d, degree):
    """The normal component over the whole boundary is the mean divergence, by the divergence theorem."""
    problem = body(d, degree)
    U, _ = field(problem)
    mesh = problem.mesh
    area = mesh.facet_measures(mesh.boundary).sum()
    div = sum(
        (problem.strain(g, (k, k)).L @ U)[0] * mesh.volumes[mesh.cells_of(g)].sum()
        for g in ("soft", "stiff")
        for k in range(d)
    )
    normal = problem.patch("boundary", "normal")
    assert (normal.L @ U)[0] * area == pytest.approx(div, rel=1e-10)
    assert normal.goals == (said.Patch("boundary", "normal"),)
    v = np.arange(1.0, d + 1)
    along = problem.patch("right", v)
    each = sum(v[k] * (problem.patch("right", k).L @ U)[0] for k in range(d))
    assert (along.L @ U)[0] == pytest.approx(each, rel=1e-12)
    assert along.goals == (said.Patch("right", tuple(v.tolist())),)
    assert along.samples(lambda X: X)[0] == pytest.approx(v @ along.points[0], rel=1e-12)
    assert (problem.patch("right", "normal").L @ U)[0] == pytest.approx((problem.patch("right", "x").L @ U)[0])


@pytest.mark.parametrize(("d", "degree"), SHAPES)
def test_reactions_balance_the_loads(d, degree):
    """Forces and the discrete work: Σ reactions + loads = 0, and L(u) = a(u, u) for bodies that are held at rest."""
    sides = {"left": 0.0, "right": [0.0] + ["free"] * (d - 1)}
    problem = body(d, degree, traction={"top": [0.2] * d}, fixed=sides)
    U = solved(problem)
    for k in range(d):
        held = problem.reaction("left", AXES[k])
        total = (held.L @ U + held.constants)[0]
        if k == 0:
            roller = problem.reaction("right", "x")
            total += (roller.L @ U + roller.constants)[0]
        assert total == pytest.approx(-problem.total_load[k], rel=1e-8)
        assert held.goals == (said.Reaction("left", k),)
    work = problem.compliance()
    assert (work.L @ U)[0] == pytest.approx(U @ (problem.A @ U), rel=1e-9)
    assert work.goals == (said.Compliance(),)
    c = pp.certify(problem, problem.space.U0, problem.reaction("left", "x") + work, target="discrete")
    assert np.all(
        c.contains(
            [(problem.reaction("left", "x").L @ U + problem.reaction("left", "x").constants)[0], (work.L @ U)[0]]
        )
    )


def test_a_bar_under_tension_has_the_forces_of_its_closed_form():
    """Uniaxial stress σ_xx = 2: reaction −2·area, compliance 4/E·volume, all stresses but one zero."""
    mesh = generate("cube", 2)
    rollers = {"left": [0.0, "free", "free"], "bottom": ["free", 0.0, "free"], "front": ["free", "free", 0.0]}
    for degree in (1, 2):
        problem = fem.Elasticity(mesh, 8.0, 0.3, fixed=rollers, traction={"right": [2.0, 0.0, 0.0]}, degree=degree)
        asked = problem.reaction("left", "x") + problem.compliance() + problem.stress([[0.3, 0.4, 0.6]], "xx", ["s"])
        asked = (
            asked
            + problem.strain([[0.3, 0.4, 0.6]], "yy", ["e"])
            + problem.mean("x")
            + problem.patch("right", "normal")
        )
        c = pp.certify(problem, problem.space.U0, asked, target="discrete")
        assert np.allclose(c.center, [-2.0, 0.5, 2.0, -0.075, 0.125, 0.25], rtol=1e-9)
        assert c.mesh_estimate is None or np.all(c.mesh_estimate[np.isfinite(c.mesh_estimate)] < 1e-9)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("degree", [1, 2])
def test_goals_are_asked_again_on_a_finer_mesh(d, degree):
    problem = body(d, degree, cells=2, traction={"top": ["x", "0", "1"][:d]})
    X = [[0.3] * d, [0.6] * d]
    asked = problem.points(X, "x", ["a", "b"]) + problem.averages([[0.4] * d], 0.05, "y", ["c"])
    asked = asked + problem.patch("right", "normal", "d") + problem.patch("right", [1.0] * d, "e")
    asked = asked + problem.cells("soft", "x", "f") + problem.mean("y", "g") + problem.stress(X, "xy", ["h", "i"])
    asked = (
        asked
        + problem.strain(X, "xx", ["j", "k"])
        + problem.stress("stiff", "yy", "l")
        + problem.strain("soft", "xy", "m")
    )
    asked = asked + problem.reaction("left", "x", "n") + problem.compliance("o")
    again = problem.ask(asked.goals, asked.names)
    assert again.names == asked.names
    assert again.goals == asked.goals
    assert abs(again.L - asked.L).max() == 0.0
    refiner = Refiner(problem.mesh)
    refiner.uniform()
    fine = problem.refined(refiner.mesh, refiner.parents)
    finer = fine.ask(asked.goals, asked.names)
    U = np.random.default_rng(0).normal(size=(len(problem.nodes), d))
    V = refiner.prolong(U).ravel()
    same = [k for k, goal in enumerate(asked.goals) if not isinstance(goal, said.Ball | said.Reaction)]
    assert np.allclose((finer.L @ V)[same], (asked.L @ U.ravel())[same], rtol=1e-9, atol=1e-9)
    assert V @ (fine.A @ V) == pytest.approx(U.ravel() @ (problem.A @ U.ravel()), rel=1e-9)
    assert fine.total_load == pytest.approx(problem.total_load)


def test_data_by_cells_follow_their_parents():
    mesh = generate("square", 2)
    E = np.linspace(1.0, 2.0, len(mesh.cells))
    problem = fem.Elasticity(mesh, E, 0.3, fixed={"left": 0.0})
    E[:] = 7.0
    refiner = Refiner(mesh)
    refiner.uniform()
    fine = problem.refined(refiner.mesh, refiner.parents)
    assert np.allclose(fine.lame[1], np.linspace(1.0, 2.0, len(mesh.cells))[refiner.parents] / 2.6)


REFUSED = {
    "a component that is none": (lambda p: p.stress([[0.5, 0.5]], "xz"), "component: must be one of 'xx', 'xy', 'yy'"),
    "one axis": (lambda p: p.stress([[0.5, 0.5]], "x"), "component: must be one of 'xx', 'xy', 'yy'"),
    "an unknown group of cells": (lambda p: p.stress("ribs", "xy"), "no such cell group; it has soft, stiff"),
    "a point outside": (lambda p: p.strain([[1.5, 0.5]], "xy"), "outside the mesh"),
    "no cells": (lambda p: p.cells([], "x"), "cells: are none"),
    "a cell that is none": (lambda p: p.cells([10_000], "x"), "cells: numbers must lie between"),
    "a group half held": (lambda p: p.reaction("boundary", "x"), "of its 12 facets are not held in x"),
    "a free group": (lambda p: p.reaction("right", "y"), "3 of its 3 facets are not held in y"),
    "no direction": (lambda p: p.patch("right", [0.0, 0.0]), "component: is the zero vector"),
    "a word": (lambda p: p.patch("right", "outward"), "'normal' or a vector"),
    "a direction of another dimension": (lambda p: p.patch("right", [1.0, 0.0, 0.0]), "component"),
    "nothing that loads": (lambda p: body(2, 1, body=None).compliance(), "nothing loads the body"),
    "numbers of cells elsewhere": (
        lambda p: p.ask(p.cells([1], "x").goals, ["a"]),
        "numbers of cells are those of one",
    ),
    "a row": (lambda p: p.ask([None], ["a"]), "query 'a': is not known beyond this mesh"),
    "a flux": (lambda p: p.ask([said.Flux("left")], ["a"]), "query 'a': is not known"),
    "forces at nodes, refined": (
        lambda p: p.under(np.ones((16, 2))).refined(p.mesh, np.arange(len(p.mesh.cells))),
        "forces at nodes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_is_refused(name):
    ask, words = REFUSED[name]
    with pytest.raises(pp.InputError, match=words):
        ask(body(2, 1))


def test_queries_of_other_groups_of_cells_are_refused():
    problem = body(2, 1)
    other = Mesh(problem.mesh.points, problem.mesh.cells, {"soft": [0], "stiff": [1]}, problem.mesh.facet_groups)
    asked = fem.Elasticity(other, 1.0, 0.3, fixed={"left": 0.0}).strain("soft", "xy")
    with pytest.raises(pp.InputError, match="another cells 'soft'"):
        pp.certify(problem, problem.space.U0, asked, target="discrete")
