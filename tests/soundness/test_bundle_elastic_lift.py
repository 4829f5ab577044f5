"""Bundles of predicted displacements that were lifted: honest ones verify, altered ones do not."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.models import MLP, VectorLift
from pinnpoint_verify import claims
from tests.support.forged import Forger, largest, moved, narrower, plus, row

ROLLER = {"left": 0.0, "bottom": [None, 0.0]}


def network(d, factor):
    rng = np.random.default_rng(4)
    W = [rng.normal(size=(5, d)), 0.3 * rng.normal(size=(d, 5))]
    return VectorLift(MLP(W, [rng.normal(size=5), rng.normal(size=d)]), factor=factor)


def plate(prediction, degree=2):
    """Body force, traction and total force; a roller; every kind of query that a lift has."""
    body = pp.fem.Elasticity(
        generate("square", 3),
        2.0,
        0.3,
        ["x*y", -1.0],
        ROLLER,
        {"right": [1.0, "y"]},
        force={"top": [0.0, 0.5]},
        degree=degree,
        plane="stress",
    )
    at = [[0.55, 0.45]]
    asked = body.points(at, "x", ["u"]) + body.stress(at, "xy", ["s"]) + body.strain(at, "yy", ["e"])
    asked = asked + body.averages(at, 0.2, "y", ["ball"]) + body.patch("top", "normal", "normal")
    asked = asked + body.mean("x", "mean") + body.cells([1, 4], "y", "cells") + body.patch("right", [0.6, 0.8], "along")
    return body, prediction, asked + body.reaction("left", "x", "reaction") + body.points([[0.0, 0.25]], "y", ["held"])


def box():
    body = pp.fem.Elasticity(generate("cube", 1), 2.0, 0.3, None, {"left": 0.0}, {"right": [1.0, 0.0, 0.0]})
    return body, network(3, "x"), body.patch("right", "x", "end") + body.mean("z", "mean")


def slanted():
    """The prediction misses what is held: the rest has a formula there."""
    body = pp.fem.Elasticity(generate("square", 3), 2.0, 0.3, [0.0, -1.0], {"left": ["0.1*y", 0.0]})
    asked = body.stress([[0.5, 0.5]], "xx", ["s"]) + body.patch("top", "y", "top")
    return body, ["0.1*sin(y) + 0.2*x", "x*(y - 1)"], asked


CASES = {
    "formulas 1": lambda: plate(["0.5*x*cos(y)", "-0.3*x*y"], 1),
    "formulas 2": lambda: plate(["0.5*x*cos(y)", "-0.3*x*y"], 2),
    "network": lambda: plate(network(2, ["x", "x*y"])),
    "box": box,
    "slanted": slanted,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root, done = tmp_path_factory.mktemp("lifted"), {}

    def make(name):
        if name not in done:
            body, prediction, asked = CASES[name]()
            done[name] = root / name.replace(" ", "_")
            found = pp.certify(body, prediction, asked, lift=True)
            assert found.guarantee == "deterministic"
            pp.write_bundle(done[name], found, body, prediction, asked)
        return done[name]

    return make


@pytest.mark.parametrize("name", CASES)
def test_honest_bundles_verify_and_both_programs_find_the_same(name, made):
    lines = claims.verify(made(name))
    assert any("value and residual of the prediction that was lifted" in line for line in lines)
    bundle = claims.Bundle(made(name))
    rows, case, proof = (bundle.json[f"{n}.json"] for n in ("certificate", "case", "proof"))
    for told, (c, r) in zip(rows["queries"], claims.solid(bundle, proof, case, rows["queries"])[0], strict=True):
        assert r <= told["radius"] * (1.0 + 1e-9), told["name"]
        assert told["radius"] <= 1.02 * r + 1e-9, told["name"]
        assert abs(c - told["center"]) <= 0.01 * told["radius"] + 1e-12, told["name"]


def goal(i, **new):
    return lambda proof: proof["goals"][i].update(new)


def shifted(i, by):
    """The prediction's own value, and all that follows from it."""

    def change(c):
        q = c["queries"][i]
        for key in ("raw", "center", "lower", "upper"):
            q[key] += by

    def more(p):
        p["goals"][i]["own"][0] += by

    return lambda f: f.json("certificate", change).json("proof", more)


def part(c, **new):
    return lambda f: f.json("proof", lambda p: p["lift"]["parts"][c].update(new))


FORGED = {
    **{f"own value of query {i}": shifted(i, 1e-3) for i in range(9)},
    "another formula": part(0, formula="0.5*x*cos(2*y)"),
    "another factor": part(1, factor="x"),
    "a kind of prediction": part(1, kind="network"),
    "a component less": lambda f: f.json("proof", lambda p: p["lift"]["parts"].pop()),
    "no lift": lambda f: f.json("proof", lambda p: p.pop("lift")),
    "no lift in the case": lambda f: f.json("case", lambda c: c["certificate"].update(lift=False)),
    "what is left of the force": lambda f: f.array("source/f0_beta", largest(1.05)),
    "bounds of what is left of the force": lambda f: f.array("source/f1_rest", lambda a: 0.0 * a),
    "what is left of a traction": lambda f: f.array("source/t0_0_beta", lambda a: a + 0.01),
    "a side less": lambda f: f.array("continuous/s0", lambda a: a[1:]),
    "another body force": lambda f: f.json("proof", lambda p: p["solid"].update(body=["x*y", -1.1])).json(
        "case", lambda c: c["problem"].update(body=["x*y", -1.1])
    ),
    "another traction": lambda f: f.json("proof", lambda p: p["solid"].update(traction=[[1.0, "2*y"]])).json(
        "case", lambda c: c["problem"]["neumann"].update(right=[1.0, "2*y"])
    ),
    "another total force": lambda f: f.json("proof", lambda p: p["solid"].update(force=[[0.0, 0.6]])).json(
        "case", lambda c: c["problem"]["force"]["top"].update(force=[0.0, 0.6])
    ),
    "another held value": lambda f: f.json("proof", lambda p: p["solid"]["held"].__setitem__(0, [0.1, 0.0])).json(
        "case", lambda c: c["problem"]["dirichlet"].update(left=[0.1, 0.0])
    ),
    "the rest of a held value": lambda f: f.json("proof", lambda p: p["solid"]["rest"].__setitem__(0, [0.1, 0.0])),
    "a moment": lambda f: f.array("continuous/moments", largest(1.5)),
    "a dual's moment": lambda f: f.array("dual/m1", largest(-1.0)),
    "the state": lambda f: f.array("continuous/state", largest(3.0)),
    "a constant": lambda f: f.json("proof", goal(0, constant=1e-3)),
    "a narrower interval": lambda f: f.json("certificate", narrower(0, 1e-2)),
    "a moved interval": lambda f: f.json("certificate", moved(1, 0.5)),
    "another component": lambda f: f.both(row(5, component="y")),
    "a value": lambda f: f.json("certificate", lambda c: c["queries"][0].update(value=c["queries"][0]["value"] + 1e-3)),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_bundles_do_not_verify(name, made, tmp_path):
    forged = Forger(made("formulas 2"), tmp_path / "b")
    FORGED[name](forged)
    assert claims.main(forged.seal()) == 1


LEARNED = {
    "a weight": lambda f: f.array("lift/c0_w0", largest(1.1)),
    "a bias": lambda f: f.array("lift/c1_b1", plus(0, 1e-2)),
    "an activation": lambda f: f.json("proof", lambda p: [one.update(activation="sin") for one in p["lift"]["parts"]]),
}


@pytest.mark.parametrize("name", LEARNED)
def test_forged_networks_do_not_verify(name, made, tmp_path):
    forged = Forger(made("network"), tmp_path / "b")
    LEARNED[name](forged)
    assert claims.main(forged.seal()) == 1


def test_a_prediction_that_does_not_miss_what_is_held_is_not_believed(made, tmp_path):
    """The rest said to be zero where it is a formula."""
    forged = Forger(made("slanted"), tmp_path / "b")
    forged.json("proof", lambda p: p["solid"].update(rest=[[0.0, 0.0]]))
    assert claims.main(forged.seal()) == 1


def test_the_work_of_the_loads_through_a_lift_is_refused(tmp_path):
    body, prediction, _ = CASES["formulas 1"]()
    found = pp.certify(body, prediction, body.compliance(), lift=True)
    with pytest.raises(pp.InputError, match="not re-checked"):
        pp.write_bundle(tmp_path / "b", found, body, prediction, body.compliance())
