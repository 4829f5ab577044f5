"""Bundles of Robin problems: the checker proves them again, and refuses what was altered."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from pinnpoint_verify.claims import verify
from pinnpoint_verify.reader import Refused
from pinnpoint_verify.samples import Samples
from tests.soundness.test_bundle_forged import Forger
from tests.support.copies import copied

CELLS = {"interval": 6, "square": 4, "cube": 2}


def written(folder, mesh="square", degree=2, target="continuous", robin=None, **more):
    """A bundle with a point, a flux through and an average over a Robin side."""
    mesh = pp.io.generate(mesh, CELLS[mesh])
    robin = {"left": (1.5, "1 + x"), "right": (1e4, 0.0)} if robin is None else robin
    problem = pp.fem.ReactionDiffusion(mesh, "1 + x", 2.0, robin=robin, degree=degree, **more)
    queries = problem.points(np.full((1, mesh.dim), 0.4)) + problem.flux("left") + problem.patch("right")
    if "dirichlet" in more:
        queries = queries + problem.flux("top")
    certificate = pp.certify(problem, problem.space.U0, queries, target=target)
    pp.write_bundle(folder, certificate, problem, problem.space.U0, queries)
    return certificate


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("mesh", CELLS)
@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_the_checker_proves_them(tmp_path, mesh, degree, target):
    certificate = written(tmp_path / "b", mesh, degree, target)
    lines = verify(tmp_path / "b")
    assert sum("proved" in line for line in lines) >= len(certificate.names)


def test_beside_values_and_fluxes(tmp_path):
    """With Dirichlet data that are met but for rounding, a flux through them, and Neumann data."""
    written(tmp_path / "b", dirichlet={"top": "0.1*x"}, neumann={"bottom": "x"})
    assert verify(tmp_path / "b")
    written(tmp_path / "c", dirichlet={"top": 0.3}, neumann={"bottom": "x"}, target="discrete")
    assert verify(tmp_path / "c")


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_a_coefficient_that_is_no_float(tmp_path, target):
    written(tmp_path / "b", "interval", 1, target, robin={"left": ("1/3", "1 + x"), "right": (0.0, 1.0)})
    assert verify(tmp_path / "b")


@pytest.mark.parametrize("more", [{}, {"top": ("1 + x", 0.0)}])
@pytest.mark.parametrize("word", ["11/100", "sin(3)", "0.3"])
def test_coefficients_that_are_numbers_by_a_formula(tmp_path, word, more):
    """No float is 11/100: the proof encloses it, and the case's number is held against that."""
    written(tmp_path / "b", robin={"left": (word, "1 + x"), "right": (2.0, 0.0)} | more)
    assert verify(tmp_path / "b")
    forger = Forger(tmp_path / "b")
    forger.json("case.json", lambda data: data["problem"]["robin"]["left"].__setitem__(0, 0.2))
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("degree", [1, 2])
def test_two_programs_say_the_same(tmp_path, degree, size, monkeypatch):
    """Where most of the radius comes from Robin facets, by the trace and by α: no term is missing from either."""
    monkeypatch.setattr(Samples, "prove", lambda self, p, rows: None)  # with the bounds of data that are stored
    monkeypatch.setattr(Samples, "prove_point", lambda self, i, query, goal, row: None)
    monkeypatch.setattr(Samples, "prove_constant", lambda self, i, query, goal, row: None)
    robin = {"left": (size, f"{size}*cos(9*y)"), "right": (1.0, "sin(5*y)")}
    certificate = written(tmp_path / "b", degree=degree, robin=robin)
    lines = [line for line in verify(tmp_path / "b") if ": proved " in line]
    radii = np.array([float(re.search(r"± ([\d.e+-]+);", line)[1]) for line in lines])
    np.testing.assert_allclose(radii, certificate.radius, rtol=1e-2, atol=1e-7)


def alpha(factor):
    def change(forger):
        for part in ("alpha_beta", "low", "top"):
            forger.array(f"robin/{part}", lambda a: factor * a)

    return change


def no_robin(forger):
    for part in ("alpha_at", "alpha_beta", "alpha_rest", "low", "top"):
        (forger.folder / "robin" / f"{part}.npy").unlink()


def narrower(forger):
    def less(data):
        for row in data["queries"]:
            middle, half = row["center"], 0.5 * row["radius"]
            row |= {"lower": middle - half, "upper": middle + half, "radius": half}

    forger.json("certificate.json", less)


FORGED = {"α by a tenth": alpha(1.1), "α by a millionth": alpha(1.0 + 1e-6), "no α": no_robin, "narrower": narrower}


@pytest.mark.parametrize("what", FORGED)
def test_what_was_altered_is_refused(tmp_path, what):
    copied(tmp_path / "b", written)
    forger = Forger(tmp_path / "b")
    FORGED[what](forger)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


@pytest.mark.parametrize("factor", [0.5, 1.0 + 1e-6, 10.0])
def test_other_coefficients_are_those_of_no_case(tmp_path, monkeypatch, factor):
    """Even where everything else is made to fit."""
    copied(tmp_path / "b", written)
    forger = Forger(tmp_path / "b")
    for part in ("alpha_beta", "low", "top"):
        forger.array(f"robin/{part}", lambda a: factor * a)
    forger.adapt(monkeypatch)
    forger.seal()
    with pytest.raises(Refused):
        verify(tmp_path / "b")


def test_case_files(tmp_path):
    from pinnpoint.cli.main import main

    (tmp_path / "c.toml").write_text(
        '[mesh]\ngenerate = "square"\ncells = 4\n[problem]\nkind = "reaction-diffusion"\nsource = "1"\n'
        '[problem.robin]\nright = { coefficient = 2.0, value = "y" }\n[prediction]\nzero = true\n'
        '[[query]]\nname = "a"\nkind = "point"\nat = [0.4, 0.5]\n'
        '[[query]]\nname = "f"\nkind = "flux"\ngroup = "right"\n'
    )
    assert main(["certify", str(tmp_path / "c.toml"), "--quiet", "--out", str(tmp_path / "o")]) == 0
    assert json.loads((tmp_path / "o" / "certificate.json").read_text())["problem"]["robin"] == {"right": [2.0, "y"]}
    assert main(["verify", str(tmp_path / "o" / "bundle")]) == 0


def test_what_has_no_witnesses_is_told(tmp_path):
    with pytest.raises(InputError, match="the checker knows numbers and formulas as coefficients"):
        written(tmp_path / "b", robin={"left": (lambda X: 1.0 + X[:, 1], 0.0), "right": (1.0, 0.0)})
