"""Lifted formulas: the checker makes what they leave of the equation and of its data itself, and their own values."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint_verify import residuals
from pinnpoint_verify.calculus import Kink, derivative, plus, times
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.claims import verify
from pinnpoint_verify.discs import Walk
from pinnpoint_verify.lifts import Jet, formula_jet
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger

WAVE = "0.99*sin(pi*x)*sin(pi*y)"
FORMULAS = [
    "0.1*x**3*y - x/(1 + y**2)",
    "exp(x*y)*cos(3*y) + log(2 + x)",
    "sqrt(1 + x*y) + tanh(2*x - y) + atan(x)",
    "(1 + x)**1.5*sinh(y) - tan(0.3*x)*cosh(y)",
    "asin(0.5*x) + acos(0.4*y) + (2 + x)**(1 + y)",
    "-x**-2 + (x + y)**-1.5",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_derivatives_are_those_that_jets_carry_along(text):
    """First ones and the Laplacian, against another program's rules, at points."""
    X = np.random.default_rng(0).uniform(0.3, 0.9, (40, 2))
    own = formula_jet(text, [Jet(X[:, i], np.repeat(np.eye(2)[:, [i]], 40, axis=1), np.zeros(40)) for i in range(2)])
    slopes = [derivative(text, i) for i in range(2)]
    laplacian = plus(*(derivative(slope, i) for i, slope in enumerate(slopes)))
    for tree, truth in (*zip(slopes, own.g, strict=True), (laplacian, own.lap)):
        found = Walk(tree, [Ball(X[:, i]) for i in range(2)]).value
        assert np.all(np.abs(found.m - truth) <= found.r + 1e-12 * (1.0 + np.abs(truth)))
        assert np.all(found.r <= 1e-10 * (1.0 + np.abs(truth)))


def test_kinks_have_no_derivative_and_decimals_stay_real_numbers():
    with pytest.raises(Kink):
        derivative("abs(x)*y", 0)
    found = Walk(derivative(times("0.1", "x"), 0), [Ball(np.array([1.0]))]).value
    assert found.r[0] >= abs(0.1 - 1e-1) + 1e-18


SIDES = {"right": "1 + y", "top": 0.0, "bottom": 0.0}
PROBLEMS = {
    "numbers": ({"source": "2*pi**2*sin(pi*x)*sin(pi*y)", "reaction": 2.0}, WAVE),
    "held": ({"source": "exp(x)", "dirichlet": {"boundary": "x*y"}}, "x*y + 0.1*sin(pi*x)*sin(pi*y)"),
    "κ(x)": ({"source": "exp(x)", "diffusion": "1 + x*y", "reaction": "x"}, "0.1*sin(pi*x)*sin(pi*y)"),
    "fluxes": ({"source": "1", "dirichlet": {"left": 0.0}, "neumann": SIDES}, "x + 0.1*x*y"),
}


def written(folder, what):
    more, u = PROBLEMS[what]
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), **more)
    queries = problem.mean()
    if what != "κ(x)":
        queries = queries + problem.points([[0.37, 0.52]]) + problem.gradients([[0.4, 0.5]], "x")
    if what == "fluxes":
        queries = queries + problem.patch("right")
    certificate = pp.certify(problem, u, queries, lift=True)
    pp.write_bundle(folder, certificate, problem, u, queries)
    return u


@pytest.mark.parametrize("what", PROBLEMS)
def test_nothing_of_a_lifted_formula_is_declared_and_a_bump_in_it_is_refused(tmp_path, what, monkeypatch):
    """Samples do not see the bump: without the checker's own leftovers the bundle verifies."""
    u = written(tmp_path / "b", what)
    said = [line for line in verify(tmp_path / "b") if line.startswith("declared:")]
    assert not any("residual of the prediction that" in line or "own value" in line for line in said)
    assert not any("compared with samples" in line for line in said)
    forger = Forger(tmp_path / "b")
    for name in ("case.json", "proof.json"):
        bump = u + " + 1e-3*exp(-((x-0.7407)**2 + (y-0.6211)**2)/1e-7)"
        file = tmp_path / "b" / name
        file.write_text(file.read_text().replace(json.dumps(u), json.dumps(bump)))
    forger.seal()
    with pytest.raises(Refused, match=r"is proved|∫fΦ is"):
        verify(tmp_path / "b")
    kept = residuals.Leftover.__init__

    def unknown(self, said, d):
        kept(self, said, d)
        self.known = False

    monkeypatch.setattr(residuals.Leftover, "__init__", unknown)
    assert verify(tmp_path / "b")


@pytest.mark.parametrize("term", ["slopes", "bends", "u"])
def test_every_term_of_a_leftover_shows(tmp_path, term, monkeypatch):
    """Without one of them an honest bundle is refused."""
    written(tmp_path / "b", "fluxes" if term == "slopes" else "numbers")
    made = residuals.Leftover.__init__

    def without(self, said, d):
        made(self, said, d)
        zero = times(0.0, 1.0)
        setattr(self, term, zero if term == "u" else [zero] * d)

    monkeypatch.setattr(residuals.Leftover, "__init__", without)
    with pytest.raises(Refused):
        verify(tmp_path / "b")
