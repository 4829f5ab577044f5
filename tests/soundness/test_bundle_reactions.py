"""Bundles of equations with g(u), linear and quadratic elements: both programs prove the same, and forgeries do not."""

from __future__ import annotations

import json
import math
import re
import shutil

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint.cli.main import main
from pinnpoint_verify.checker import Ball
from pinnpoint_verify.claims import verify
from pinnpoint_verify.derivatives import derivative, on_the_line
from pinnpoint_verify.discs import Composed, Walk
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.reactions import Left, Reaction
from pinnpoint_verify.reader import Refused
from tests.soundness.test_bundle_forged import Forger

CELLS = {1: ("interval", 8), 2: ("square", 3), 3: ("cube", 2)}


def written(folder, d=2, degree=1, g="sinh(u)", source="3+x", **more):
    problem = pp.fem.Semilinear(pp.io.generate(*CELLS[d]), g=g, source=source, degree=degree, **more)
    queries = problem.points(np.full((1, d), 0.4)) + problem.mean()
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


def radii(folder) -> np.ndarray:
    lines = [line for line in verify(folder) if ": proved " in line]
    return np.array([float(re.search(r"± ([\d.e+-]+);", line)[1]) for line in lines])


CASES = [
    (1, 1, "sinh(u)", {}),
    (1, 2, "exp(u)", {"dirichlet": {"left": 0.5}, "neumann": {"right": "1+x"}}),
    (2, 1, "sinh(u)", {"reaction": 1.0, "dirichlet": {"left": 0.0}, "neumann": {"right": 1.0}}),
    (2, 1, "u + sin(u)/2", {"dirichlet": {"left": 0.0}, "neumann": {"right": "y"}}),
    (2, 2, "u**3 + 2*u", {"diffusion": 0.5, "dirichlet": {"boundary": "1+x"}}),
    (2, 2, "exp(u)", {"dirichlet": {"left": 0.0, "right": 0.0}, "reaction": 0.5}),
    (3, 1, "sinh(u)", {}),
]


@pytest.mark.parametrize(("d", "degree", "g", "more"), CASES)
def test_both_programs_prove_the_same(tmp_path, d, degree, g, more):
    certificate = written(tmp_path / "b", d, degree, g, **more)
    found = radii(tmp_path / "b")
    assert len(found) == 2
    np.testing.assert_allclose(found, certificate.radius, rtol=0.01)


@pytest.mark.parametrize("g", ["1+1", "2.0"])
def test_a_reaction_that_is_a_number(tmp_path, g):
    certificate = written(tmp_path / "b", 1, 1, g)
    np.testing.assert_allclose(radii(tmp_path / "b"), certificate.radius, rtol=0.01)


def test_the_range_of_a_source_that_is_largest_at_a_corner(tmp_path):
    """The checker's bound of f may be a little coarser than the certificate's."""
    wave = "sin(2*x+1)*exp(-y)"
    written(tmp_path / "b", 2, 1, "u + sin(u)/2", f"4*{wave}+sin({wave})/2", dirichlet={"boundary": wave})
    assert len(radii(tmp_path / "b")) == 2


def test_a_cubic_of_degree_two(tmp_path):
    problem = pp.fem.Semilinear(pp.io.generate("interval", 6), 5.0, "3+x", degree=2)
    queries = problem.points([[0.4]])
    certificate = pp.certify(problem, problem.space.U0, queries)
    pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)
    np.testing.assert_allclose(radii(tmp_path / "b"), certificate.radius, rtol=0.01)


CASE = """
[mesh]
generate = "interval"
cells = 8
[problem]
kind = "semilinear"
g = "sinh(u)"
source = "3+x"
degree = 2
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "middle"
kind = "point"
at = [0.4]
"""


def test_of_a_case_file(tmp_path, capsys):
    (tmp_path / "case.toml").write_text(CASE)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert "unchecked" not in json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert capsys.readouterr().err == ""
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert "VERIFIED" in capsys.readouterr().out


def test_a_case_that_cannot_be_re_checked_says_so_everywhere(tmp_path, capsys):
    (tmp_path / "case.toml").write_text(CASE.replace("sinh(u)", "u**3 - 2*u"))
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    why = json.loads((tmp_path / "out" / "certificate.json").read_text())["unchecked"]
    assert why.startswith("problem: bundles of reactions are for")
    assert capsys.readouterr().err == f"pinnpoint: the bundle cannot be re-checked: {why}\n"
    assert "cannot prove these intervals again" in (tmp_path / "out" / "report.html").read_text()
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 1


def scaled(name, factor):
    return lambda forger: forger.array(name, lambda a: factor * a)


def proof(**new):
    return lambda forger: forger.json("proof.json", lambda data: data["reaction"].update(new))


def narrower(forger):
    """By what the remainder is, a large part of these."""

    def change(data):
        for row in data["queries"]:
            row["terms"]["remainder"] *= 0.1
            row["radius"] = sum(row["terms"][k] for k in data["radius_terms"])
            row["lower"] = float(np.nextafter(row["center"] - row["radius"], -np.inf))
            row["upper"] = float(np.nextafter(row["center"] + row["radius"], np.inf))
            row["value_radius"] = abs(row["value"] - row["center"]) + row["radius"]

    forger.json("certificate.json", change)


def linear(forger):
    """Another reaction, in the case and in the proof."""
    forger.json("case.json", lambda data: data["problem"].update(g="u"))
    forger.json("proof.json", lambda data: data["reaction"].update(g="u"))


FORGED = {
    "other slopes": scaled("reaction/slope", 1.1),
    "slopes below zero": scaled("reaction/slope", -1.0),
    "slopes that hardly differ": scaled("reaction/off", 0.5),
    "another g(u_h)": scaled("reaction/g_beta", 1.05),
    "another source": scaled("source/f_beta", 1.05),
    "another dual source": scaled("dual/w0_beta", 1.05),
    "another kernel": scaled("dual/phi0_beta", 1.1),
    "another rule": scaled("system/weights", 1.1),
    "another g″": proof(bend=1e-3),
    "a smaller range": proof(range=[-0.1, 0.1]),
    "no range": proof(range=None),
    "another g": proof(g="u"),
    "another equation": linear,
    "narrower": narrower,
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("honest") / "b"
    written(folder, 2, 2, "exp(u)", "10*x")
    return folder


@pytest.mark.parametrize("what", FORGED)
def test_what_was_altered_is_refused(honest, tmp_path, what):
    shutil.copytree(honest, tmp_path / "b")
    forger = Forger(tmp_path / "b")
    FORGED[what](forger)
    forger.seal()
    with pytest.raises(Refused) as refused:
        verify(tmp_path / "b")
    if what == "narrower":
        assert "is claimed" in str(refused.value)


def test_a_checker_without_the_remainder_would_take_it(honest, tmp_path, monkeypatch):
    """What refuses the narrower claim is the remainder, and the values of g(u_h)Φ are part of the interval."""
    for name, change in (("b", narrower), ("c", None)):
        shutil.copytree(honest, tmp_path / name)
        forger = Forger(tmp_path / name)
        if change is not None:
            change(forger)
        forger.seal()
    with monkeypatch.context() as m:
        m.setattr(Left, "remainder", lambda self, *given: (0.0, 0.0))
        m.setattr("pinnpoint_verify.claims.near", lambda *given: True)
        verify(tmp_path / "b")
    monkeypatch.setattr(Reaction, "against", lambda self, phi, p, part, terms, off: (terms, off))
    with pytest.raises(Refused):
        verify(tmp_path / "c")


def test_what_has_no_bundle_says_why(tmp_path):
    mesh = pp.io.generate("square", 3)
    for more in ({"g": "-2*u + u**3"}, {"g": "sinh(u)", "dirichlet": {"left": 0.0}, "neumann": {"right": "y"}}):
        problem = pp.fem.Semilinear(mesh, source="1", **more)
        queries = problem.mean()
        certificate = pp.certify(problem, problem.space.U0, queries)
        with pytest.raises(InputError, match="bundles of reactions are for c ≥ 0 and g′ ≥ 0"):
            pp.write_bundle(tmp_path / "b", certificate, problem, problem.space.U0, queries)


FORMULAS = [
    "sinh(2*u)",
    "u**3-u/(1+u**2)",
    "exp(-u**2)*u",
    "tanh(u)*cos(u)",
    "0.5*atan(3*u)+log(2+u**2)",
    "2/(1+cosh(u))",
]


@pytest.mark.parametrize("g", FORMULAS)
def test_derivatives_by_differences(g):
    u = np.linspace(-2.0, 2.0, 9)

    def at(text, x):
        return formula(re.sub(r"\bu\b", "x", text), x[:, None])

    for text in (g, derivative(g)):
        h = 1e-5
        np.testing.assert_allclose(
            at(derivative(text), u), (at(text, u + h) - at(text, u - h)) / (2.0 * h), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("cosh(u)", 1.0, math.inf),
        ("3*u**2+1", 1.0, math.inf),
        ("1+cos(u)/2", 0.5, 1.5),
        ("exp(u)*exp(u)", 0.0, math.inf),
        (derivative("tanh(u)"), 0.0, 1.0),
        (derivative(derivative("tanh(u)")), -2.0, 2.0),
    ],
)
def test_bounds_on_the_line(text, low, high):
    a, b = on_the_line(text)
    assert low - 1e-9 <= a <= low
    assert b == high or high <= b <= high + 1e-9


def test_states_on_discs():
    """Quadratics of complex barycentric coordinates stay in their discs."""
    rng = np.random.default_rng(0)
    text = Composed.of("u", 2, True)
    t, w = rng.uniform(0.0, 1.0, 3), rng.normal(size=6)
    r = rng.uniform(0.0, 2.0, 3)
    X = [Ball(np.zeros(1))] * 2 + [Ball(np.array([a]), np.array([b])) for a, b in zip(t, r, strict=True)]
    found = Walk(text, [*X, *(Ball(np.array([x])) for x in w)]).value

    def u(s):
        own = sum(w[i] * s[i] * (2.0 * s[i] - 1.0) for i in range(3))
        return own + 4.0 * sum(w[3 + k] * s[i] * s[j] for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]))

    s = t[:, None] + r[:, None] * np.exp(2j * np.pi * rng.uniform(size=(3, 400)))
    homogeneous = sum(w[i] * s[i] ** 2 for i in range(3)) + sum(
        2.0 * (2.0 * w[3 + k] - 0.5 * (w[i] + w[j])) * s[i] * s[j] for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)])
    )
    far = np.abs(homogeneous - found.m[0])
    assert far.max() <= found.r[0]
    assert found.r[0] < 10.0 * far.max()
    on = t / t.sum()
    assert (
        abs(
            u(on)
            - Walk(text, [*X[:2], *(Ball(np.array([a])) for a in on), *(Ball(np.array([x])) for x in w)]).value.m[0]
        )
        < 1e-12
    )


def test_the_case_names_the_reaction(honest):
    assert json.loads((honest / "case.json").read_text())["problem"]["g"] == "exp(u)"
