"""Bundles with Robin coefficients by formulas, convection that leaves, and both where coefficients vary."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify import outflow, robin
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger
from tests.support.copies import copied

CELLS = {1: ("interval", 6), 2: ("square", 4), 3: ("cube", 2)}
LEFT = {"dirichlet": {"left": 0.0}}
CASES = {
    "Robin": {"robin": {"right": ("exp(sin(2*{y}))", "cos(3*{y})")}, **LEFT},
    "touching zero": {"robin": {"right": ("{y}*(2-{y})", "x")}, "reaction": 1.0, "dirichlet": {}},
    "Robin where κ varies": {"diffusion": "1+x/2", "robin": {"right": ("2+{y}", 1.0)}, **LEFT},
    "out": {"convection": ("1", "y/5", "0"), "reaction": 1.0, **LEFT},
    "out where all varies": {"diffusion": "1+x/5", "convection": ("exp(x)", "0", "0"), "reaction": "3+x", **LEFT},
    "out through Robin": {"convection": ("1", "0", "0"), "robin": {"right": ("1+{y}", 1.0)}, **LEFT},
}


def given(name, d):
    """Arguments of a problem in d dimensions."""
    y = "y" if d > 1 else "x"
    more = dict(CASES[name])
    if "robin" in more:
        parts = {g: tuple(str(v).format(y=y) for v in pair) for g, pair in more["robin"].items()}
        more["robin"] = parts
    return more | ({"convection": more["convection"][:d]} if "convection" in more else {})


def written(folder, name, d=2, degree=2, flux=True):
    """A bundle with the mean, an average over the free side, and fluxes through groups that have one."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate(*CELLS[d]), "1+x", degree=degree, **given(name, d))
    queries = problem.mean() + problem.patch("right")
    queries = queries + problem.flux("left") if flux and name != "touching zero" else queries
    if flux and "Robin" in name:
        queries = queries + problem.flux("right")
    if "convection" not in CASES[name]:
        queries = queries + problem.points(np.full((1, d), 0.45))
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_both_programs_prove_the_same(tmp_path, name, d, degree):
    certificate = written(tmp_path / "b", name, d, degree)
    lines = [line for line in verify(tmp_path / "b") if ": proved " in line]
    radii = np.array([float(re.search(r"± ([\d.e+-]+);", line)[1]) for line in lines])
    assert len(radii) == len(certificate.names)
    assert np.all(radii <= 1.001 * certificate.radius)
    np.testing.assert_allclose(radii, certificate.radius, rtol=0.05, atol=1e-7)


def scaled(name, factor):
    return lambda forger: forger.array(name, lambda a: factor * a)


FORGED = {
    "α by a tenth": scaled("robin/alpha_beta", 1.1),
    "α by a millionth": scaled("robin/alpha_beta", 1.0 + 1e-6),
    "a larger lower bound": scaled("robin/low", 1.5),
    "a negative lower bound": scaled("robin/low", -1.0),
    "a smaller upper bound": scaled("robin/top", 0.9),
    "other facets": lambda forger: forger.array("robin/alpha_at", lambda a: a[::-1]),
    "narrower": lambda forger: forger.json(
        "certificate.json",
        lambda data: [
            row.update(lower=row["center"] - row["radius"] / 2, upper=row["center"] + row["radius"] / 2)
            for row in data["queries"]
        ],
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_was_altered_is_refused(tmp_path, what):
    copied(tmp_path / "b", written, "Robin")
    forger = Forger(tmp_path / "b")
    FORGED[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


WINDS = {
    "a slower wind": scaled("medium/b0_beta", 0.9),
    "a wind that comes in": scaled("medium/b0_beta", -1.0),
    "no flux of the dual": scaled("dual/t0", 0.0),
    "another dual": scaled("dual/z0", 1.01),
}


@pytest.mark.parametrize("what", WINDS)
def test_altered_outflow_is_refused(tmp_path, what):
    copied(tmp_path / "b", written, "out", flux=False)
    forger = Forger(tmp_path / "b")
    WINDS[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def nothing(self, v):
    zero = np.zeros(len(v.m))
    return Ball(np.zeros(v.m.shape)), zero, zero, zero


def test_a_checker_without_outflow_proves_less(tmp_path, monkeypatch):
    """Where b·n z_h is not asked for, the dual's flux leaves all of it."""
    copied(tmp_path / "b", written, "out", flux=False)
    monkeypatch.setattr(outflow.Exit, "times", nothing)
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_a_checker_without_the_coefficient_proves_less(tmp_path, monkeypatch):
    written(tmp_path / "b", "Robin", flux=False)
    monkeypatch.setattr(robin.Exchange, "times", nothing)
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_outflow_that_was_forgotten_is_not_proved(tmp_path, monkeypatch):
    """−u″ + u′ = 1, u(0) = 0, u′(1) = 0 has the mean 2/e − ½; without b·n z a dual of radius 0 would say ½."""
    from pinnpoint.transfer.continuum import Continuum

    problem = pp.fem.ReactionDiffusion(pp.io.generate("interval", 8), "1", convection=("1",), degree=2, **LEFT)
    queries = problem.mean()
    true = 2.0 / np.e - 0.5
    assert pp.certify(problem, problem.space.U0, queries).contains(np.array([true])).all()
    monkeypatch.setattr(Continuum, "carried", lambda self, nodal, load: None)
    wrong = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", wrong, problem, problem.space.U0, queries)
    with pytest.raises(Refused):
        verify(tmp_path / "b")


LIFTED = {
    "κ(x)": {"diffusion": "1+x/2"},
    "A(x)": {"diffusion": [["2+x", "0.3*x*y"], ["0.3*x*y", "3"]]},
    "out": {"convection": ("1", "0"), **LEFT},
    "Robin": {"robin": {"right": ("1+y", "x")}, **LEFT},
}


def lifted(folder, name):
    guess = "0.1*sin(3*x)*x*(1-x)*y*(1-y)"
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 3), "1+x", degree=2, **LIFTED[name])
    queries = problem.mean()
    certificate = pp.certify(problem, guess, queries, lift=True)
    pp.write_bundle(folder, certificate, problem, guess, queries)


def claimed(folder):
    (row,) = json.loads((folder / "certificate.json").read_text())["queries"]
    return row["lower"], row["upper"]


@pytest.mark.parametrize("name", LIFTED)
def test_lifts_are_proved_and_what_they_leave_is_bounded_again(tmp_path, monkeypatch, name):
    """A stored residual that is not the formula's own proves a wider interval, which holds the truth all the same."""
    lifted(tmp_path / "b", name)
    assert verify(tmp_path / "b")
    honest = claimed(tmp_path / "b")
    forger = Forger(tmp_path / "b")
    forger.array("source/f_beta", lambda a: 1.02 * a)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")
    forger.adapt(monkeypatch)
    forger.seal()
    assert verify(tmp_path / "b")
    low, high = claimed(tmp_path / "b")
    assert high - low > 1.5 * (honest[1] - honest[0])
    fine = pp.fem.ReactionDiffusion(pp.io.generate("square", 9), "1+x", degree=2, **LIFTED[name])
    (truth,) = pp.certify(fine, fine.space.U0, fine.mean()).interval("corrected")
    assert low <= truth[0]
    assert truth[1] <= high


def test_stored_errors_of_a_coefficient_are_not_used(tmp_path):
    copied(tmp_path / "b", written, "Robin")
    forger = Forger(tmp_path / "b")
    scaled("robin/alpha_rest", 0.0)(forger)
    forger.seal()
    assert verify(tmp_path / "b")
