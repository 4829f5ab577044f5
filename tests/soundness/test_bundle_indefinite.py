"""Bundles of reactions below zero: the checker counts eigenvalues by itself, and notices what is not so."""

from __future__ import annotations

import contextlib
import io
import json
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify.claims import main
from tests.soundness.test_bundle_forged import Forger

S = "sin(pi*x)*sin(pi*y)"


def nothing(X):
    return 0.0 * X[:, 0]


def waves(k2, degree=2, **more):
    source = f"(2*pi**2-{k2})*{S}"
    return pp.fem.ReactionDiffusion(
        pp.io.generate("square", 12), degree=degree, **({"reaction": -k2, "source": source} | more)
    )


def pieces():
    mesh = pp.io.generate("square", 12)
    x, y = mesh.points[mesh.cells].mean(axis=1).T
    c = np.where(x < 0.5, -45.0, np.where(y < 0.5, -10.0, 10.0))
    return pp.fem.ReactionDiffusion(mesh, reaction=c, source=1.0, degree=2)


MIXED = {"dirichlet": {"left": 0.0, "right": 0.0}, "source": "(2*pi**2-15)*sin(pi*x)*cos(pi*y)"}
DATA = {"dirichlet": {"boundary": "sin(2*x)*cos(y)"}, "source": "-25*sin(2*x)*cos(y)"}
CASES = {
    "below": (lambda: waves(12.0, 1), lambda p: p.points([[0.4, 0.5]]) + p.averages([[0.5, 0.5]], 0.1)),
    "few cells": (
        lambda: pp.fem.ReactionDiffusion(pp.io.generate("square", 6), reaction=-12.0, source="1+x", degree=2),
        lambda p: p.points([[0.45, 0.45]]),
    ),
    "between": (lambda: waves(30.0), lambda p: p.points([[0.4, 0.5]])),
    "mixed": (lambda: waves(15.0, **MIXED), lambda p: p.points([[0.4, 0.3]]) + p.patch("top") + p.flux("left")),
    "data": (lambda: waves(30.0, **DATA), lambda p: p.points([[0.4, 0.3]])),
    "pieces": (pieces, lambda p: p.points([[0.25, 0.5]])),
    "line": (
        lambda: pp.fem.ReactionDiffusion(pp.io.generate("interval", 24), reaction=-30.0, source="1", degree=2),
        lambda p: p.points([[0.4], [0.5]]),
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root, found = tmp_path_factory.mktemp("indefinite"), {}
    for name, (problem, asked) in CASES.items():
        p = problem()
        queries = asked(p)
        pp.write_bundle(root / name, pp.certify(p, nothing, queries), p, nothing, queries)
        found[name] = root / name
    return found


def verdict(folder):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(folder)
    return out.getvalue().strip().splitlines()[-1]


@pytest.mark.parametrize("name", CASES)
def test_bundles_are_verified(made, name):
    assert verdict(made[name]) == "VERIFIED"


def test_a_lift_is_verified(tmp_path):
    p = waves(30.0)
    q = p.points([[0.4, 0.3]])
    pp.write_bundle(tmp_path / "b", pp.certify(p, f"1.01*{S}", q, lift=True), p, f"1.01*{S}", q)
    assert verdict(tmp_path / "b") == "VERIFIED"


def shifted(**new):
    return lambda d: d["spectrum"].update({k: v(d["spectrum"][k]) for k, v in new.items()})


FORGED = {
    "one eigenvalue more": ("between", shifted(count=lambda m: m + 1), "2 are claimed"),
    "one eigenvalue less": ("between", shifted(count=lambda m: m - 1), "0 are claimed"),
    "a shift beyond the next one": ("between", shifted(below=lambda t: 1.6 * t), "1 are claimed"),
    "a shift below the last one": ("between", shifted(above=lambda t: 0.9 * t), "1 are claimed"),
    "a shift above the reaction": ("between", shifted(above=lambda t: 1.6), "above an eigenvalue"),
    "a finer mesh constant": ("between", shifted(mesh=lambda two: [3.0 * two[0], two[1]]), "mesh constant"),
    "no mesh constant": ("between", shifted(mesh=lambda two: []), "is proved"),
    "nothing proved": ("between", shifted(above=lambda t: None, below=lambda t: None), "nothing proves it"),
    "a wrong first eigenvalue": ("mixed", shifted(first=lambda t: 2.0 * t), "0 are claimed"),
    "no spectrum": ("between", lambda d: d.pop("spectrum"), "spectrum"),
    "less data": ("data", lambda d: d.update(mismatch=0.5 * d["mismatch"]), "irichlet"),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_is_not_so_is_noticed(made, tmp_path, name):
    of, change, words = FORGED[name]
    shutil.copytree(made[of], tmp_path / "b")
    f = Forger(tmp_path / "b")
    f.json("proof.json", change)
    f.seal()
    said = verdict(tmp_path / "b")
    assert said.startswith("NOT VERIFIED")
    assert words in said


def test_a_narrower_interval_is_noticed(made, tmp_path):
    """As if the problem were coercive: the radius without what the reaction makes of it."""
    shutil.copytree(made["pieces"], tmp_path / "b")
    f = Forger(tmp_path / "b")
    row = json.loads((tmp_path / "b" / "certificate.json").read_text())["queries"][0]
    f.claim(0, row["center"], 0.6 * row["radius"])
    f.seal()
    assert "is proved" in verdict(tmp_path / "b")
