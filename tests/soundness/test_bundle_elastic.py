"""Bundles of a solid's own solution: honest ones verify, altered ones do not, and the second program is no looser."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.transfer.elastic.equilibrium import Equilibrium
from pinnpoint_verify import claims, solid_tables
from tests.support.forged import Forger, largest, moved, narrower, plus, row, times

LEFT = {"left": 0.0}


def bent(d, n, amount=0.25, seed=3):
    """The unit square or cube with its inner vertices moved, and a group of cells."""
    mesh, rng = generate({2: "square", 3: "cube"}[d], n), np.random.default_rng(seed)
    X = np.array(mesh.points)
    inside = np.all((X > 1e-9) & (X < 1 - 1e-9), axis=1)
    X[inside] += amount / n * rng.uniform(-0.5, 0.5, X[inside].shape)
    names = ("left", "right", "bottom", "top", "front", "back")[: 2 * d]
    half = np.flatnonzero(X[mesh.cells].mean(axis=1)[:, 0] < 0.5)
    rest = np.setdiff1d(np.arange(len(mesh.cells)), half)
    groups = {name: mesh.facets(name) for name in names}
    return Mesh(X, mesh.cells, facet_groups=groups, cell_groups={"half": half, "rest": rest})


def every(problem, at, *, ball=0.15):
    """All kinds of queries."""
    return (
        problem.points([at], "x", ["u"])
        + problem.averages([at], ball, "y", ["ball"])
        + problem.stress([at], "xx", ["sxx"])
        + problem.stress([at], "xy", ["sxy"])
        + problem.strain([at], "xy", ["exy"])
        + problem.stress("half", "yy", "cell stress")
        + problem.strain("half", "xx", "cell strain")
        + problem.cells("half", "y", "cells")
        + problem.mean("x", "mean")
        + problem.patch("right", "y", "patch")
        + problem.patch("top", "normal", "normal")
        + problem.patch("right", [0.6, -0.8] + [0.0] * (problem.mesh.dim - 2), "along")
        + problem.patch("left", "x", "held")
        + problem.reaction("left", "x", "reaction")
    )


def plane(degree):
    problem = pp.fem.Elasticity(bent(2, 3), 2.0, 0.3, ["x*y**3", -1.0], LEFT, {"right": [1.0, "y"]}, degree=degree)
    return problem, every(problem, [0.3, 0.55]) + problem.compliance("work") + problem.points(
        [[0.0, 0.5]], "y", ["edge"]
    )


def cube(degree):
    body = [0.0, "exp(x)*y", -1.0]
    problem = pp.fem.Elasticity(bent(3, 2), 2.0, 0.3, body, LEFT, {"right": ["y*z", 1.0, 0.0]}, degree=degree)
    at = [[0.45, 0.5, 0.55]]
    asked = problem.points(at, "y", ["u"]) + problem.stress(at, "xx", ["sxx"]) + problem.strain(at, "yz", ["eyz"])
    return problem, asked + problem.patch("top", "normal", "normal") + problem.compliance("work")


def jump(degree):
    """Two materials, a held value that is not zero, a total force."""
    young, poisson = {"half": 1.0, "rest": 50.0}, {"half": -0.25, "rest": 0.45}
    fixed = {"left": [0.25, 0.0], "bottom": [None, 0.0]}
    problem = pp.fem.Elasticity(
        bent(2, 4, 0.0), young, poisson, [0.0, 2.0], fixed, force={"right": [0.5, 0.25]}, plane="stress", degree=degree
    )
    asked = problem.points([[0.3, 0.5]], "y", ["u"]) + problem.stress([[0.7, 0.5]], "yy", ["s"])
    asked = asked + problem.stress("rest", "xy", "cells") + problem.patch("left", "x", "known")
    asked = asked + problem.cells([9, 0], "x", "two cells")
    return problem, asked + problem.patch("top", "normal", "top") + problem.reaction("left", "x", "reaction")


def quarter(degree):
    """Held by rollers alone."""
    fixed = {"left": [0.0, None], "bottom": [None, 0.0]}
    problem = pp.fem.Elasticity(bent(2, 4), 1.0, 0.25, None, fixed, {"right": [1.0, 0.0]}, degree=degree)
    asked = problem.patch("right", "x", "end") + problem.stress([[0.5, 0.5]], "xx", ["s"])
    return problem, asked + problem.reaction("left", "x", "reaction") + problem.compliance("work")


def octant(degree):
    fixed = {"left": [0.0, None, None], "bottom": [None, 0.0, None], "front": [None, None, 0.0]}
    problem = pp.fem.Elasticity(bent(3, 2), 1.0, 0.25, None, fixed, {"right": [1.0, 0.0, "y"]}, degree=degree)
    return problem, problem.patch("right", "x", "end") + problem.stress([[0.5, 0.5, 0.5]], "xx", ["s"])


def tension(degree):
    """The solution is linear: nothing but rounding is left."""
    fixed = {"left": [0.0, None], "bottom": [None, 0.0]}
    problem = pp.fem.Elasticity(
        bent(2, 3), 1.0, 0.25, None, fixed, {"right": [1.0, 0.0]}, degree=degree, plane="stress"
    )
    asked = (
        problem.points([[0.4, 0.5]], "x", ["u"]) + problem.stress([[0.4, 0.5]], "yy", ["s"]) + problem.mean("y", "m")
    )
    return problem, asked + problem.reaction("bottom", "y", "reaction") + problem.patch("right", "x", "end")


def given(degree):
    """Displacements by formulas: one that no element meets, one that quadratics meet, numbers beside them."""
    fixed = {"left": ["0.1*sin(3*y)", "0.05*exp(y)"], "right": [0.1, "0.2*y*(1-y)"]}
    problem = pp.fem.Elasticity(bent(2, 4), 2.0, 0.3, [0.0, -1.0], fixed, {"top": [0.0, "x"]}, degree=degree)
    asked = problem.points([[0.45, 0.5]], "x", ["u"]) + problem.stress([[0.45, 0.5]], "xy", ["s"])
    asked = asked + problem.stress("half", "xx", "cells") + problem.patch("top", "y", "top") + problem.mean("x", "mean")
    return problem, asked + problem.patch("left", "x", "known") + problem.points([[0.0, 0.25]], "y", ["edge"])


def turned(degree):
    """A rotation, which is met but for rounding."""
    fixed = {"left": ["0.1*y - 0.05*z", "-0.1*x", "0.05*x"]}
    problem = pp.fem.Elasticity(bent(3, 2), 2.0, 0.3, None, fixed, {"right": [0.0, 0.0, 1.0]}, degree=degree)
    return problem, problem.patch("right", "z", "end") + problem.reaction("left", "z", "reaction")


def arched(degree):
    problem = pp.fem.Elasticity(
        bent(3, 2),
        2.0,
        0.3,
        None,
        {"left": ["0.1*cos(2*y)*z", 0.0, "0.1*z**3"]},
        {"right": [0.0, 1.0, 0.0]},
        degree=degree,
    )
    return problem, problem.patch("right", "x", "end") + problem.strain([[0.5, 0.5, 0.5]], "xz", ["e"])


CASES = {
    f"{f.__name__} {k}": (f, k)
    for f in (plane, cube, jump, quarter, octant, tension, given, turned, arched)
    for k in (1, 2)
}


@cache
def certified(name):
    make, degree = CASES[name]
    problem, queries = make(degree)
    U = problem.space.U0
    return problem, queries, U, pp.certify(problem, U, queries)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Bundles, written once."""
    root, done = tmp_path_factory.mktemp("solids"), {}

    def make(name):
        if name not in done:
            problem, queries, U, certificate = certified(name)
            done[name] = root / name.replace(" ", "_")
            pp.write_bundle(done[name], certificate, problem, U, queries)
        return done[name]

    return make


def proved(folder):
    """Intervals that the checker finds by itself, beside the claimed ones."""
    bundle = claims.Bundle(folder)
    certificate, case, proof = (bundle.json[f"{n}.json"] for n in ("certificate", "case", "proof"))
    return certificate["queries"], claims.solid(bundle, proof, case, certificate["queries"])[0]


@pytest.mark.parametrize("name", CASES)
def test_honest_bundles_verify_and_both_programs_find_the_same(name, made):
    lines = claims.verify(made(name))
    assert any("equilibrium" in line for line in lines)
    for told, (c, r) in zip(*proved(made(name)), strict=True):
        assert r <= told["radius"] * (1.0 + 1e-9), (told["name"], r, told["radius"])
        assert told["radius"] <= 1.01 * r + 1e-9, (told["name"], r, told["radius"])
        assert abs(c - told["center"]) <= 0.01 * told["radius"], told["name"]


@pytest.mark.parametrize(
    "name",
    ["plane 1", "plane 2", "cube 1", "cube 2", "jump 1", "quarter 2", "octant 1", "given 1", "given 2", "arched 2"],
)
def test_both_programs_find_the_same_for_any_states_and_moments(name, monkeypatch, tmp_path):
    """Neither is near a solution nor in equilibrium, so that every term counts."""
    rng, moments, side = np.random.default_rng(5), Equilibrium._moments, Equilibrium.side

    def any_moments(self, nodal, load, fm, gm, increment):
        m = moments(self, nodal, load, fm, gm, increment)
        m = m + 0.1 * np.abs(m).max() * rng.standard_normal(m.shape)
        return np.where(self.solid.fixed[:, None, :], gm, m)

    def any_side(self, nodal, load, increment, sign=1.0, *, acts=True):
        free = np.ones(nodal.shape, dtype=bool)
        for c in range(nodal.shape[1]):
            free[np.unique(self.solid.nodes_of(self.solid.topology.facets[self.solid.held[:, c]])), c] = False
        noise = 0.1 * np.abs(nodal).max() * rng.standard_normal(nodal.shape)
        return side(self, np.where(free, nodal + noise, nodal), load, increment, sign, acts=acts)

    monkeypatch.setattr(Equilibrium, "_moments", any_moments)
    monkeypatch.setattr(Equilibrium, "side", any_side)
    make, degree = CASES[name]
    problem, queries = make(degree)
    U = problem.space.U0
    pp.write_bundle(tmp_path / "b", pp.certify(problem, U, queries), problem, U, queries)
    for told, (c, r) in zip(*proved(tmp_path / "b"), strict=True):
        assert r <= told["radius"], (told["name"], r, told["radius"])
        share = 1e-3 if name.startswith(("given", "arched")) else 1e-5  # Σ|∇λ| is exact in one program only
        assert told["radius"] <= (1.0 + share) * r + 1e-9, (told["name"], r, told["radius"])
        assert abs(c - told["center"]) <= 1e-3 * told["radius"], told["name"]


def goal(i, **new):
    return lambda proof: proof["goals"][i].update(new)


U, BALL, SXX, SXY, EXY, CELLSTRESS, CELLS, PATCH, HELD, REACTION, WORK, EDGE = 0, 1, 2, 3, 4, 5, 7, 9, 12, 13, 14, 15
FORGED = {
    "a moment inside": lambda f: f.array("continuous/moments", largest(1.1)),
    "another moment inside": lambda f: f.array("continuous/moments", times((7, 1, 0), 5.0)),
    "all moments": lambda f: f.array("continuous/moments", lambda a: 1.001 * a),
    "no moments": lambda f: f.array("continuous/moments", lambda a: 0.0 * a),
    "a dual's moment": lambda f: f.array(f"dual/m{U}", largest(1.3)),
    "a dual's moments of another query": lambda f: f.array(f"dual/m{SXX}", lambda a: -a),
    "the state": lambda f: f.array("continuous/state", largest(1.05)),
    "a held value of the state": lambda f: f.array("continuous/state", plus((0, 0), 1e-13)),
    "a dual state": lambda f: f.array(f"dual/z{PATCH}", largest(1.2)),
    "a held value of a dual state": lambda f: f.array(f"dual/z{PATCH}", plus((0, 0), 1e-9)),
    "a reaction's held value": lambda f: f.array(f"dual/z{REACTION}", plus((0, 0), -0.5)),
    "lambda of a cell": lambda f: f.array("continuous/lam", times(5, 1.0001)),
    "mu of a cell": lambda f: f.array("continuous/mu", times(5, 0.9999)),
    "lambda of all cells": lambda f: f.array("continuous/lam", lambda a: a * (1.0 + 1e-8)),
    "Young's modulus of a cell": lambda f: f.array("continuous/young", times(3, 1.5)),
    "another material": lambda f: [f.array(f"continuous/{k}", lambda a: 2.0 * a) for k in ("young", "lam", "mu")][-1],
    "another Poisson's number": lambda f: f.array("continuous/poisson", lambda a: a + 0.01),
    "plane stress": lambda f: f.json("proof", lambda p: p["solid"].update(plane="stress")),
    "plane stress of the case too": lambda f: f.data(lambda p: p.update(plane="stress")),
    "a facet less is held": lambda f: f.array("continuous/d0", lambda a: a[1:]),
    "a component less is held": lambda f: f.json("proof", lambda p: p["solid"].update(held=[[0.0, None]])),
    "another held value": lambda f: f.json("proof", lambda p: p["solid"].update(held=[[0.0, 0.1]])),
    "another held value of the case": lambda f: f.json("case", lambda c: c["problem"].update(dirichlet={"left": 0.1})),
    "a facet less is loaded": lambda f: f.array("continuous/n0", lambda a: a[1:]),
    "another body force": lambda f: f.json("proof", lambda p: p["solid"].update(body=["x*y**3", -2.0])),
    "another body force of the case too": lambda f: f.data(lambda p: p.update(body=["x*y**3", -2.0])),
    "another formula": lambda f: f.data(lambda p: p.update(body=["x*y**2", -1.0])),
    "another traction": lambda f: f.json("proof", lambda p: p["solid"].update(traction=[[1.5, "y"]])),
    "no traction": lambda f: f.json("proof", lambda p: p["solid"].update(traction=[[0.0, "y"]])),
    "coefficients of a force": lambda f: f.array("source/f0_beta", largest(1.01)),
    "bounds of a force": lambda f: f.array("source/f0_rest", lambda a: 0.0 * a),
    "cells of a force": lambda f: f.array("source/f0_at", lambda a: np.concatenate([a[:-1], [a[-2]]])),
    "coefficients of a traction": lambda f: f.array("source/t0_1_beta", largest(1.1)),
    "a density": lambda f: f.array(f"dual/w{U}_beta", lambda a: 1.01 * a),
    "a density of a stress": lambda f: f.array(f"dual/w{SXY}_beta", largest(1.2)),
    "bounds of a density": lambda f: f.array(f"dual/w{BALL}_rest", lambda a: 0.0 * a),
    "a constant": lambda f: f.json("proof", goal(U, constant=1e-3)),
    "a constant of cells": lambda f: f.json("proof", goal(CELLS, constant=1e-3)),
    "a constant of what is held": lambda f: f.json("proof", goal(HELD, constant=1e-3)),
    "a constant of a held point": lambda f: f.json("proof", goal(EDGE, constant=1e-3)),
    "a negative error": lambda f: f.json("proof", goal(SXX, error=-1.0)),
    "a known value": lambda f: f.json("proof", goal(U, known=True)),
    "a larger ball": lambda f: f.json("proof", goal(U, radius=0.4)),
    "no ball": lambda f: f.json("proof", goal(U, radius=None)),
    "another component": lambda f: f.both(row(U, component="y")),
    "another entry of the stress": lambda f: f.both(row(SXX, component="yy")),
    "a strain for a stress": lambda f: f.both(row(SXY, kind="strain")),
    "another place": lambda f: f.both(row(EXY, at=[0.31, 0.55])),
    "another group": lambda f: f.both(row(PATCH, group="left")),
    "other facets": lambda f: f.array(f"mesh/facets{PATCH}", lambda a: a[1:]),
    "other cells": lambda f: f.array(f"mesh/chosen{CELLSTRESS}", lambda a: a[1:]),
    "a narrower interval": lambda f: f.json("certificate", narrower(U, 1e-3)),
    "a narrower interval of a stress": lambda f: f.json("certificate", narrower(SXX, 1e-4)),
    "a narrower compliance": lambda f: f.json("certificate", narrower(WORK, 1e-5)),
    "a moved interval": lambda f: f.json("certificate", moved(PATCH, 1e-4)),
    "an entry of the table": lambda f: f.array("lift/table", largest(1.01)),
    "an entry of the table by one": lambda f: f.array("lift/table", plus((11, 3), 1.0)),
    "the table's denominator": lambda f: f.array("lift/denominator", lambda a: 2.0 * a),
    "a fraction in the table": lambda f: f.array("lift/table", plus((0, 0), 0.5)),
    "a vertex": lambda f: f.array("mesh/nodes", plus((8, 0), 1e-3)),
    "the degree": lambda f: f.json("proof", lambda p: p.update(degree=2)),
    "an assumption": lambda f: f.json("certificate", lambda c: c["assumptions"].pop(1)),
    "a label": lambda f: f.json("certificate", lambda c: c["queries"][U].update(guarantee="estimate")),
    "a key": lambda f: f.json("proof", lambda p: p["solid"].update(more=1)),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_bundles_do_not_verify(name, made, tmp_path, capsys):
    forged = Forger(made("plane 1"), tmp_path / "b")
    FORGED[name](forged)
    assert claims.main(forged.seal()) == 1
    assert "NOT VERIFIED" in capsys.readouterr().out


def test_a_bundle_that_was_only_copied_verifies(made, tmp_path):
    assert claims.main(Forger(made("plane 1"), tmp_path / "b").seal()) == 0


IN_SPACE = {
    "a moment": lambda f: f.array("continuous/moments", largest(1.2)),
    "an entry of the table": lambda f: f.array("lift/table", plus((100, 7), 1.0)),
    "a traction's coefficients": lambda f: f.array("source/t0_0_beta", largest(1.2)),
    "a dual's moments": lambda f: f.array("dual/m2", largest(-1.0)),
    "a force": lambda f: f.data(lambda p: p.update(body=[0.0, "exp(x)*y", -1.5])),
}


@pytest.mark.parametrize("name", IN_SPACE)
def test_forged_bundles_in_space_do_not_verify(name, made, tmp_path):
    forged = Forger(made("cube 1"), tmp_path / "b")
    IN_SPACE[name](forged)
    assert claims.main(forged.seal()) == 1


ROLLING = {
    "a roller is held in another component": lambda f: f.data(
        lambda p: p.update({k: v for k, v in (("held", [[0.25, 0.0], [0.0, None]]),) if k in p})
    ),
    "the total force": lambda f: f.json("proof", lambda p: p["solid"].update(force=[[0.6, 0.25]])),
    "the total force of the case too": lambda f: f.json("proof", lambda p: p["solid"].update(force=[[0.6, 0.25]])).json(
        "case", lambda c: c["problem"]["force"]["right"].update(force=[0.6, 0.25])
    ),
    "a facet of the force": lambda f: f.array("continuous/q0", lambda a: a[1:]),
    "materials exchanged": lambda f: [
        f.array(f"continuous/{k}", lambda a: a[::-1].copy()) for k in ("young", "poisson", "lam", "mu")
    ][-1],
}


@pytest.mark.parametrize("name", ROLLING)
def test_forged_bundles_of_two_materials_do_not_verify(name, made, tmp_path):
    forged = Forger(made("jump 2"), tmp_path / "b")
    ROLLING[name](forged)
    assert claims.main(forged.seal()) == 1


BUMP = ["0.1*sin(3*y) + exp(-((y-0.4321)/1e-6)**2)", "0.05*exp(y)"]
"""With a bump that no sample sees."""
LEFT_OVER = {
    "less energy": lambda f: f.array("gap/energy", lambda a: 0.5 * a),
    "no energy on a cell": lambda f: f.array("gap/energy", lambda a: np.where(a == a.max(), 0.0, a)),
    "less length": lambda f: f.array("gap/length", lambda a: 0.1 * a),
    "a lower top": lambda f: f.array("gap/top", lambda a: 0.1 * a),
    "a negative bound": lambda f: f.array("gap/energy", lambda a: -a),
    "another linear part": lambda f: f.array("gap/values", largest(2.0)),
    "no linear part": lambda f: f.array("gap/values", lambda a: 0.0 * a),
    "a smaller error": lambda f: f.array("gap/errors", lambda a: 0.0 * a - 1e-30),
    "another component": lambda f: f.array("gap/components", lambda a: 1 - a),
    "a pair twice": lambda f: f.array("gap/facets", lambda a: np.full_like(a, a[0])),
    "another formula": lambda f: f.json(
        "proof", lambda p: p["solid"]["held"].__setitem__(0, ["0.1*sin(3.1*y)", "0.05*exp(y)"])
    ).json("case", lambda c: c["problem"]["dirichlet"].update(left=["0.1*sin(3.1*y)", "0.05*exp(y)"])),
    "another formula of the case": lambda f: f.json(
        "case", lambda c: c["problem"]["dirichlet"].update(left=["0.1*sin(3*y)", "0.05*exp(2*y)"])
    ),
    "a narrow bump": lambda f: f.json("proof", lambda p: p["solid"]["held"].__setitem__(0, BUMP)).json(
        "case", lambda c: c["problem"]["dirichlet"].update(left=BUMP)
    ),
    "a formula that jumps": lambda f: f.json(
        "proof", lambda p: p["solid"]["held"].__setitem__(1, [0.1, "0.2*y*(1-y) + 0.3"])
    ).json("case", lambda c: c["problem"]["dirichlet"].update(right=[0.1, "0.2*y*(1-y) + 0.3"])),
    "the mean of what is held": lambda f: f.json("proof", goal(5, constant=0.02)),
    "the value of a held point": lambda f: f.json("proof", goal(6, constant=0.06)),
    "a held value of the state": lambda f: f.array("continuous/state", plus((0, 0), 1e-3)),
    "a narrower interval": lambda f: f.json("certificate", narrower(3, 1e-3)),
}


@pytest.mark.parametrize("name", LEFT_OVER)
def test_forged_bundles_of_held_formulas_do_not_verify(name, made, tmp_path):
    forged = Forger(made("given 2"), tmp_path / "b")
    LEFT_OVER[name](forged)
    assert claims.main(forged.seal()) == 1


def test_forged_numbers_of_cells_do_not_verify(made, tmp_path):
    """Of the stored cells, or of what is asked."""
    queries = certified("jump 2")[1]
    at = queries.names.index("two cells")
    assert claims.main(Forger(made("jump 2"), tmp_path / "a").array(f"mesh/chosen{at}", plus(0, 1)).seal()) == 1
    forged = Forger(made("jump 2"), tmp_path / "b").both(row(at, group=[1, 9]))
    assert claims.main(forged.seal()) == 1


def test_other_moments_widen_and_never_make_an_interval_wrong(made, tmp_path):
    """Any m proves an interval; with small changes it still lies in the claim, and always holds the finer solution."""
    rng, (_, honest) = np.random.default_rng(7), proved(made("plane 2"))
    problem = pp.fem.Elasticity(
        generate("square", 12), 2.0, 0.3, ["x*y**3", -1.0], LEFT, {"right": [1.0, "y"]}, degree=2
    )
    queries = problem.patch("right", "y") + problem.compliance()
    fine = pp.certify(problem, problem.space.U0, queries)
    for k, size in enumerate((1e-12, 1e-3, 1.0)):
        forged = Forger(made("plane 2"), tmp_path / f"b{k}")
        forged.array("continuous/moments", lambda a, size=size: a + size * rng.standard_normal(a.shape) * np.abs(a))
        _, found = proved(forged.seal())
        for i, j in ((PATCH, 0), (WORK, 1)):
            c, r = found[i]
            assert r >= honest[i][1] * (1.0 - 1e-9)
            assert c - r <= fine.upper[j]
            assert c + r >= fine.lower[j]
        verdict = claims.main(forged.folder)
        assert verdict == (0 if size < 1e-6 else 1)


@pytest.mark.parametrize("d", [2, 3])
def test_the_checkers_tables_are_those_of_the_producing_side(d):
    from pinnpoint.transfer.elastic.reference import numerators

    R, Rf, den = numerators(d)
    mine, mine_f = solid_tables.tables(d)
    n, at = d + 1, solid_tables.whole(d)
    assert den == n
    assert np.array_equal(mine.reshape(n, n, d, d, -1), R.reshape(n, n, len(solid_tables.pairs(d)), -1)[:, :, at])
    assert np.array_equal(
        mine_f.reshape(n, n, d, d, -1), n * Rf.reshape(n, n, len(solid_tables.pairs(d)), -1)[:, :, at]
    )


def test_opaque_loads_are_estimates_and_are_declared(tmp_path):
    problem = pp.fem.Elasticity(generate("square", 3), 1.0, 0.3, [lambda X: X[:, 0], 0.0], LEFT)
    queries, U = problem.mean("x") + problem.points([[0.5, 0.5]], "y"), problem.space.U0
    pp.write_bundle(tmp_path / "b", pp.certify(problem, U, queries), problem, U, queries)
    lines = claims.verify(tmp_path / "b")
    assert any("body force x" in line and "nothing to compare" in line for line in lines)
