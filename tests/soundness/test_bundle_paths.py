"""Coercivity of large solids by paths of cells, proved again by the checker from a stored tree."""

from __future__ import annotations

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint_verify as verifier
from pinnpoint.cli.main import main
from pinnpoint.fem import path_coercivity as path_coercivity_of
from pinnpoint.outputs.bundle import discrete
from pinnpoint.outputs.bundle.paths import paths
from pinnpoint.solvers import choice
from pinnpoint_verify.paths import Shapes, path_coercivity
from tests.support.forged import Forger
from tests.support.kinds import plane, solid

CASE = """
[mesh]
generate = "{domain}"
cells = {cells}
[problem]
kind = "elasticity"
young = 3.0
poisson = {poisson}
degree = {degree}
body = {body}
[problem.dirichlet]
left = 0.0
[prediction]
zero = true
[[query]]
name = "a"
kind = "point"
at = {at}
component = "x"
[certificate]
target = "discrete"
"""


def written(folder, dim=3, cells=2, poisson="0.3", degree=1):
    """The bundle of a solid that counts as large."""
    text = CASE.format(
        domain={2: "square", 3: "cube"}[dim],
        cells=cells,
        poisson=poisson,
        degree=degree,
        body=[0.0] * (dim - 1) + [-1.0],
        at=[0.8, 0.55, 0.5][:dim],
    )
    path = folder / "solid.toml"
    path.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "ROUGH_FROM", 20)
        assert main(["certify", str(path), "--quiet"]) == 0
    return folder / "solid" / "bundle"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return written(tmp_path_factory.mktemp("paths"))


def proved(folder):
    """The half-width that the checker proves."""
    (line,) = [line for line in verifier.verify(str(folder)) if "; claimed" in line]
    return float(line.split("±")[1].split(";")[0])


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision here")
def test_a_state_is_a_pair_of_floats_since_a_small_bound_divides_its_residual(tmp_path, monkeypatch):
    (tmp_path / "pair").mkdir()
    (tmp_path / "float").mkdir()
    pair = proved(written(tmp_path / "pair", cells=12))
    monkeypatch.setattr(discrete, "_rest", lambda system, solver, state: np.zeros(len(state)))
    assert pair < 0.7 * proved(written(tmp_path / "float", cells=12))


class Kept(dict):
    """Arrays as a writer takes them and a checker reads them."""

    def array(self, name, a):
        self[name] = np.asarray(a)

    def __call__(self, name, *shape, whole=None):
        return self[name]


def kept(problem):
    """Witness and stored system of a problem."""
    own = Kept({"mesh/nodes": problem.mesh.points, "mesh/cells": np.sort(problem.mesh.cells, axis=1)})
    said = paths(own, problem, path_coercivity_of(problem).alpha)
    free = np.asarray(problem.space.free)
    rows = sp.csr_array(problem.system.A)[free]
    rows.sort_indices()
    return own, SimpleNamespace(N=rows.shape[1], free=free, rows=rows), said


def smallest(d):
    """Of the symmetric part, from outside."""
    B = d.rows[:, d.free].toarray()
    return float(np.linalg.eigvalsh(0.5 * (B + B.T))[0])


SOLIDS = {
    "a cube": solid(3, "cube"),
    "a square": solid(6),
    "ν below zero": solid(4, poisson=-0.4),
    "an auxetic cube": solid(2, "cube", poisson=-0.3),
    "a scalar": plane(6, dirichlet={"left": 0.0}),
    "a scalar in space": plane(3, "cube", diffusion=7.0),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_the_bound_of_paths_is_below_the_smallest_eigenvalue_and_near_the_producers(name):
    problem = SOLIDS[name]()
    own, d, said = kept(problem)
    proved = path_coercivity(own, d, problem.components)
    assert said["alpha"] <= proved <= smallest(d)
    assert abs(proved - 2.0 * said["alpha"]) <= 1e-6 * proved


@pytest.mark.parametrize("seed", range(4))
def test_a_change_of_the_matrix_lowers_the_bound(seed):
    own, d, _ = kept(solid(2, "cube")())
    rng = np.random.default_rng(seed)
    was = path_coercivity(own, d, 3)
    d.rows.data = d.rows.data + 1e-3 * was * rng.standard_normal(d.rows.nnz)
    now = path_coercivity(own, d, 3)
    assert now < was - 1e-3 * was
    assert now <= smallest(d)


def test_the_bound_of_paths_is_proved_from_a_bundle(bundle, capsys):
    said = json.loads((bundle / "proof.json").read_text())["coercivity"]
    assert said["how"] == "paths"
    assert verifier.main(bundle) == 0
    out = capsys.readouterr().out
    assert f"coercivity {said['alpha']!r} by paths" in out
    assert "not proved again" not in out


def test_quadratic_elements_and_reactions_have_no_such_witness():
    for make in (solid(2, degree=2), plane(3, reaction=1.0)):
        assert paths(Kept(), make(), 1.0) is None


def claims_more(f):
    return f.json("proof", lambda p: p["coercivity"].update(alpha=1e6 * p["coercivity"]["alpha"]))


def at(k, value):
    def change(a):
        a[k] = value

    return change


def looped(a):
    a[np.nonzero(a != np.arange(len(a)))[0][:1]] = np.nonzero(a != np.arange(len(a)))[0][:1]


def stiffer(f):
    for word in ("mu", "lam"):
        f.array(f"paths/{word}", lambda a: a * 1e4)
    return claims_more(f)


FORGED = {
    "a larger bound": (claims_more, "is proved by paths"),
    "a stiffer material": (stiffer, "is proved by paths"),
    "a root that is not held": (lambda f: f.array("paths/parent", looped), "not one further|not held"),
    "another facet of the roots": (lambda f: f.array("paths/opposite", lambda a: (a + 1) % 4), "not held"),
    "a cell far away as parent": (lambda f: f.array("paths/parent", lambda a: np.where(a > 0, a[-1], a)), "paths"),
    "depths that go round": (lambda f: f.array("paths/depth", lambda a: np.zeros_like(a)), "not one further"),
    "a home elsewhere": (lambda f: f.array("paths/home", lambda a: np.full_like(a, a[-1])), "not in its cell"),
    "x with a zero": (lambda f: f.array("paths/x", at(0, 0.0)), "not positive"),
    "no stiffness": (lambda f: f.array("paths/mu", at(0, 0.0)), "no stiffness"),
    "another entry of A": (lambda f: f.array("system/a_data", at(7, 40.0)), ""),
}


@pytest.mark.parametrize("what", FORGED)
def test_what_is_changed_in_the_witness_is_refused(what, bundle, tmp_path, capsys):
    change, word = FORGED[what]
    forged = change(Forger(bundle, tmp_path / "f")).seal()
    assert verifier.main(forged) == 1
    said = capsys.readouterr().out
    assert any(w in said for w in word.split("|")), said


def test_gradients_and_volumes_are_known_to_their_bounds():
    """Against exact fractions, of flat cells too."""
    rng = np.random.default_rng(3)
    P = rng.random((40, 4, 3))
    P[20:, 3] = P[20:, :3].mean(axis=1) + 1e-6 * (P[20:, 3] - 0.5)
    shapes = Shapes(P.reshape(-1, 3), np.arange(160).reshape(40, 4))
    for k in range(40):
        E = [[Fraction(P[k, i + 1, c]) - Fraction(P[k, 0, c]) for c in range(3)] for i in range(3)]
        cross = [
            [
                E[(i + 1) % 3][(c + 1) % 3] * E[(i + 2) % 3][(c + 2) % 3]
                - E[(i + 1) % 3][(c + 2) % 3] * E[(i + 2) % 3][(c + 1) % 3]
                for c in range(3)
            ]
            for i in range(3)
        ]
        det = sum(a * b for a, b in zip(E[0], cross[0], strict=True))
        exact = [[x / det for x in row] for row in cross]
        exact = [[-sum(row[c] for row in exact) for c in range(3)], *exact]
        for mine, true in zip(shapes.G[k], exact, strict=True):
            off = sum((_fraction(a) - b) ** 2 for a, b in zip(mine, true, strict=True))
            size = sum(b * b for b in true)
            assert off <= Fraction(float(shapes.slope[k])) ** 2 * size
        assert abs(_fraction(shapes.V[k]) - abs(det) / 6) <= Fraction(float(shapes.volume[k])) * abs(det) / 6


def _fraction(x):
    """A number of extended precision, exactly."""
    high = float(x)
    return Fraction(high) + Fraction(float(x - high))
