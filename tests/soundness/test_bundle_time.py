"""Bundles of steps in time: every scheme and method verifies, and what was tampered with does not."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify.claims import main as verify
from tests.soundness.test_bundle_forged import Forger
from tests.soundness.test_time_steps import CASES, METHODS, problem

GROWS = {"reaction": -3.0, "dirichlet": {}, "steps": 12}
PROVED = {name: more for name, more in CASES.items() if name not in ("cg2 drift", "growth")} | {"grows": GROWS}


def bundle(folder, p, method=None, **more):
    state = p.states() * (1.0 + 0.01 * np.random.default_rng(0).standard_normal(p.states().shape))
    asked = p.points([[0.4], [0.7]], time=[0.3, 0.2]) + p.mean(time=0.3)
    found = pp.certify(p, state, asked, method=method, target="discrete")
    return pp.write_bundle(folder / "b", found, p, state, asked, **more)


@pytest.mark.parametrize("case", PROVED)
def test_bundles_of_every_scheme_verify(case, tmp_path, capsys):
    assert verify(bundle(tmp_path, problem(**PROVED[case]))) == 0, capsys.readouterr().out
    out = capsys.readouterr().out
    assert "by steps" in out
    assert "declared: query 'q0': point, at [0.4] at time 0.3" in out
    assert "declared: steps of u_t" in out


def test_gaussian_averages_and_times_are_named(tmp_path, capsys):
    p = problem()
    asked = p.averages([[0.5]], spread=0.05, time=0.2) + p.mean(time=0.3, since=0.1)
    found = pp.certify(p, p.states(), asked, target="discrete")
    assert verify(pp.write_bundle(tmp_path / "b", found, p, p.states(), asked)) == 0
    out = capsys.readouterr().out
    assert "Gaussian weight of spread 0.05, at [0.5] at time 0.2" in out
    assert "mean from time 0.1 to 0.3" in out


@pytest.mark.parametrize("name", METHODS)
def test_bundles_of_every_method_verify(name, tmp_path, capsys):
    more = {"options": {"seed": 1}} if name == "randomized" else {}
    assert verify(bundle(tmp_path, problem(), METHODS[name], **more)) == 0, capsys.readouterr().out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    for name in ("cg1", "cg2", "grows"):
        (folder / name).mkdir()
        bundle(folder / name, problem(**PROVED[name]))
    return folder


def proof(key, value):
    return lambda f: f.json("proof.json", lambda d: d["coercivity"].update({key: value}))


FORGERIES = {
    "a longer slab": ("cg1", lambda f: f.array("steps/lengths", lambda a: 1.001 * a), "not the matrix of these steps"),
    "another mass": ("cg1", lambda f: f.array("steps/m_data", lambda a: 2.0 * a), "not the matrix of these steps"),
    "another stiffness": ("cg1", lambda f: f.array("steps/k_data", lambda a: -a), "not the matrix of these steps"),
    "another scheme": ("cg2", proof("scheme", "cg1"), "not the matrix of these steps|shape|steps"),
    "damping": ("cg1", proof("damped", 1), "not the matrix of these steps"),
    "a scheme nobody knows": ("cg1", proof("scheme", "cg3"), "an unknown scheme"),
    "no growth": ("grows", proof("gamma", 0.0), "coercivity"),
    "negative growth": ("grows", proof("gamma", -1.0), "coercivity|steps"),
    "a better inverse": ("cg1", proof("alpha", 1e9), "is claimed of the inverse"),
    "a better mass": (
        "cg1",
        lambda f: f.json("proof.json", lambda d: d["coercivity"]["mass"].update(alpha=9.0)),
        "is claimed",
    ),
    "another state": (
        "cg1",
        lambda f: f.array("witness/state", lambda a: a * (1 + 1e-3)),
        "admissible|interval|proved",
    ),
    "a mass by its word": ("cg1", proof("mass", {"how": "declared", "alpha": 9.0}), "mass is not proved"),
    "a floor by its word": ("cg1", proof("floor", {"how": "declared", "alpha": 9.0}), "floor is not proved"),
    "other Green vectors": ("cg1", lambda f: f.array("witness/green", lambda a: 1.1 * a), "Green vector"),
    "a moved interval": ("cg1", lambda f: f.claim(0, 0.2, 1e-3), "proved|interval|outside|correction"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_forgeries_are_refused(what, made, tmp_path, capsys):
    name, change, words = FORGERIES[what]
    shutil.copytree(made / name / "b", tmp_path / "b")
    assert verify(tmp_path / "b") == 0
    capsys.readouterr()
    forger = Forger(tmp_path / "b")
    change(forger)
    forger.seal()
    assert verify(tmp_path / "b") == 1
    assert re.search(words, capsys.readouterr().out)


def test_an_entry_of_the_matrix_that_no_step_has_is_noticed(made, tmp_path, capsys):
    shutil.copytree(made / "cg1" / "b", tmp_path / "b")
    forger = Forger(tmp_path / "b")
    forger.array("system/a_data", lambda a: a * np.where(np.abs(a) == np.abs(a).max(), 1 + 1e-12, 1.0))
    forger.seal()
    assert verify(tmp_path / "b") == 1
    assert "not the matrix of these steps" in capsys.readouterr().out
