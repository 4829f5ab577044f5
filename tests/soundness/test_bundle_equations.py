"""A case that names another equation than the proof's is refused: reactions that are added, keys of other kinds."""

from __future__ import annotations

from functools import cache
from json import loads

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint_verify.lengths import WHOLE
from tests.support.forged import Forger
from tests.support.forging import checked, claim
from tests.support.kinds import kinds

KINDS = kinds()

FIXED = {"dirichlet": {"boundary": 0.0}, "source": "50"}
MATRIX = [["2+x", "x*y/2"], ["x*y/2", "3"]]


def line(**given):
    return pp.fem.ReactionDiffusion(pp.io.generate("interval", 8), **FIXED, **given)


def bent(**given):
    return pp.fem.Semilinear(pp.io.generate("interval", 8), **FIXED, **given)


def solid():
    return pp.fem.Elasticity(pp.io.generate("square", 2), 1.0, 0.3, (0.0, 1.0), fixed={"left": 0.0})


MADE = {
    "linear": (line, "continuous"),
    "linear system": (line, "discrete"),
    "numbers": (lambda: line(diffusion=3.0, reaction=2.0), "continuous"),
    "numbers, system": (lambda: line(diffusion=3.0, reaction=2.0), "discrete"),
    "cubic": (lambda: bent(cubic=5.0, diffusion=3.0, reaction=2.0), "continuous"),
    "cubic by cells": (lambda: bent(cubic=[5.0] * 4 + [6.0] * 4), "continuous"),
    "cubic system": (lambda: bent(cubic=5.0), "discrete"),
    "sinh": (lambda: bent(g="sinh(u)"), "continuous"),
    "matrix": (lambda: pp.fem.ReactionDiffusion(pp.io.generate("square", 4), **FIXED, diffusion=MATRIX), "continuous"),
    "solid": (solid, "continuous"),
    "solid system": (solid, "discrete"),
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    root = tmp_path_factory.mktemp("equations")

    @cache
    def make(name):
        make_, target = MADE[name]
        problem = make_()
        asked = problem.patch("right", "x") if "solid" in name else problem.points([[0.4, 0.52][: problem.mesh.dim]])
        found = pp.certify(problem, problem.space.U0, asked, target=target)
        return pp.write_bundle(root / name, found, problem, problem.space.U0, asked)

    return make


ADDED = {
    "linear": [{"g": "sinh(u)"}, {"cubic": 5.0}, {"g": None}, {"kind": "semilinear"}, {"diffusion": 2.0}],
    "linear system": [{"g": "sinh(u)"}, {"cubic": 5.0}, {"cubic": None}, {"diffusion": 2.0}, {"reaction": 1.0}],
    "numbers": [{"diffusion": 1.0}, {"reaction": 2.5}],
    "numbers, system": [{"diffusion": 1.0}, {"reaction": 2.5}],
    "cubic": [{"g": "sinh(u)"}, {"cubic": 6.0}, {"cubic": {"file": "a.npz"}}, {"cubic": "5"}, {"kind": "elasticity"}],
    "cubic by cells": [{"cubic": 5.0}, {"cubic": {"a": 5.0, "b": 7.0}}],
    "cubic system": [{"g": "sinh(u)"}, {"cubic": 6.0}],
    "sinh": [{"cubic": 500.0}, {"g": "sinh(u)+u"}, {"convection": [1.0]}],
    "matrix": [{"diffusion": [["2+x", "x*y/2"], ["0", "3"]]}, {"diffusion": [["2+x", "x*y/2"]]}],
    "solid": [{"g": "u"}, {"source": 1.0}, {"reaction": 1.0}, {"diffusion": 2.0}, {"convection": [1.0, 0.0]}],
    "solid system": [{"source": 1.0}, {"body": [1.0, 0.0]}, {"kind": "reaction-diffusion"}],
}
ADDED["solid"] += [{"cubic": 5.0}, {"kind": "reaction-diffusion"}, {"periodic": {}}, {"subcase": 1}]
OTHERS = [{"body": "1"}, {"temperature": "9"}, {"expansion": 1.0}, {"plane": "stress"}, {"young": 2.0}]
OTHERS += [{"poisson": 0.3}, {"subcase": 2}, {"deck": "a.bdf"}, {"kind": "elasticity"}, {"kind": "foo"}]
ADDED["linear"] += OTHERS
ADDED["linear system"] += OTHERS[-2:]
EVERY = [(name, what) for name, some in ADDED.items() for what in some]


@pytest.mark.parametrize("name", MADE)
def test_what_was_made_verifies(bundle, name):
    good, said, _ = checked(bundle(name))
    assert good, said


@pytest.mark.parametrize(("name", "what"), EVERY, ids=[f"{name}: {what}" for name, what in EVERY])
def test_another_equation_in_the_case_is_refused(bundle, tmp_path, name, what):
    forger = Forger(bundle(name), tmp_path / "f")
    good, said, _ = checked(forger.json("case", lambda d: d["problem"].update(what)).seal())
    assert not good, said
    assert "malformed" not in said


@pytest.mark.parametrize(("name", "key"), [("cubic", "cubic"), ("cubic system", "cubic"), ("sinh", "g")])
def test_a_reaction_that_the_case_leaves_out_is_refused(bundle, tmp_path, name, key):
    forger = Forger(bundle(name), tmp_path / "f")
    good, said, _ = checked(forger.json("case", lambda d: d["problem"].pop(key)).seal())
    assert not good, said


def test_numbers_given_in_python_are_in_the_case(bundle):
    said = loads((bundle("cubic") / "case.json").read_text())["problem"]
    assert (said["cubic"], said["diffusion"], said["reaction"]) == (5.0, 3.0, 2.0)
    told = checked(bundle("cubic by cells"))[1]
    assert "cubic by cells" in told


def test_keys_of_other_kinds_in_case_files_are_refused(tmp_path):
    text = '[mesh]\ngenerate = "interval"\ncells = 8\n[problem]\nkind = "reaction-diffusion"\nsource = "50"\n'
    text += '[problem.dirichlet]\nboundary = 0.0\n[prediction]\nzero = true\n[[query]]\nname = "p"\nat = [0.4]\n'
    (tmp_path / "c.toml").write_text(text)
    assert main(["certify", str(tmp_path / "c.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 0
    assert checked(tmp_path / "o" / "bundle")[0]
    for k, what in enumerate([{"g": "sinh(u)"}, {"cubic": 1.0}, {"kind": "semilinear", "g": "u"}, {"plane": "stress"}]):
        forger = Forger(tmp_path / "o" / "bundle", tmp_path / f"f{k}")
        for name in ("case", "certificate"):
            forger.json(name, lambda d, what=what: d["problem"].update(what))
        good, said, _ = checked(forger.seal())
        assert not good, said


def unasked(f, kind, values):
    """A query of a whole solution in the place of a point, ℓ = 0: an interval about nothing."""
    for name in ("system/l_indptr", "witness/green"):
        f.array(name, lambda a: 0 * a)
    for name in ("system/l_indices", "system/l_data"):
        f.array(name, lambda a: a[:0])
    f.both(lambda rows: [(row.pop("at"), row.pop("component", None), row.update(kind=kind)) for row in rows])
    row = {"value": values.get(kind, 0.0), "sensitivity": 0.0}
    f.json("certificate", lambda d: [q.update(row) or claim(q, d["radius_terms"], 0.0, 1e-200) for q in d["queries"]])


@pytest.mark.parametrize("kind", WHOLE)
def test_queries_of_whole_solutions_are_none_of_a_discrete_system(tmp_path, kind):
    """Their ℓ is zero, and so was the interval that was proved of them."""
    f = Forger(KINDS["diffusion in a plane, point, exact, discrete"].bundle(tmp_path / "b"), tmp_path / "f")
    U = np.load(f.folder / "system" / "u.npy")
    unasked(f, kind, {"maximum": float(U.max()), "minimum": float(U.min())})
    good, said, _ = checked(f.seal())
    assert not good, said
    assert "no theorem" in said


def test_a_value_of_a_solid_is_no_derivative(tmp_path):
    """The ℓ of a point was that of whatever kind of query the certificate called it."""
    f = Forger(KINDS["a solid in a plane, point, exact, discrete"].bundle(tmp_path / "b"), tmp_path / "f")
    f.both(lambda rows: [row.update(kind="gradient") for row in rows])
    good, said, _ = checked(f.seal())
    assert not good
    assert "is no query of such a body" in said
