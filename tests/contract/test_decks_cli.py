"""Case files with a deck: check, certify, and what is refused before anything is written."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from tests.support.decks import Beam

CASE = """title = "Beam"
units = "inch"
[problem]
deck = "part.bdf"
subcase = 1
[prediction]
file = "field.npz"
[[query]]
name = "tip"
at = [1.0, 1.0, 0.4]
component = "x"
[[query]]
name = "held"
kind = "patch"
group = "SPC 2"
component = "z"
[certificate]
target = "discrete"
"""


@pytest.fixture
def folder(tmp_path):
    beam = Beam()
    (tmp_path / "part.bdf").write_text(beam.deck())
    _, _, u = beam.truth()
    np.savez(tmp_path / "field.npz", values=u.reshape(-1, 3).astype(np.float32).astype(float))
    (tmp_path / "case.toml").write_text(CASE)
    return tmp_path


def test_certify_gives_the_truth_of_a_deck(folder, capsys):
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "out"), "--quiet"]) == 0
    data = json.loads((folder / "out" / "certificate.json").read_text())
    beam = Beam()
    _, _, u = beam.truth()
    problem = pp.io.read_deck(folder / "part.bdf").problem()
    value = float((problem.points([[1.0, 1.0, 0.4]], "x").L @ u)[0])
    tip, held = data["queries"]
    assert tip["center"] == pytest.approx(value, rel=1e-11)
    assert tip["radius"] < 1e-12
    assert held["center"] == 0.0
    assert held["radius"] < 1e-100
    digest = hashlib.sha256((folder / "part.bdf").read_bytes()).hexdigest()
    assert data["inputs"]["deck"] == {"file": "part.bdf", "sha256": digest}
    assert data["problem"]["subcase"] == 1


def test_check_says_what_a_deck_holds_and_passes_over(folder, capsys):
    assert main(["check", str(folder / "case.toml")]) == 0
    said = capsys.readouterr().out
    assert "elasticity, 3D, 96 tetrahedra, 45 nodes" in said
    assert "total applied load [inch]: 30000, 0, 0" in said
    assert "deck 'part.bdf', subcase 1 'bending': 27 displacements held or tied" in said
    assert "passed over, no effect on the solution: CEND, ECHO, TITLE" in said
    assert "group 'SPC 2': 2D, 8 facets" in said


def test_included_files_are_hashed(folder):
    lines = (folder / "part.bdf").read_text().splitlines()
    cut = lines.index("BEGIN BULK") + 1
    (folder / "bulk.inc").write_text("\n".join(lines[cut:]))
    (folder / "part.bdf").write_text("\n".join([*lines[:cut], "INCLUDE bulk.inc", ""]))
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "out"), "--quiet"]) == 0
    data = json.loads((folder / "out" / "certificate.json").read_text())
    assert len(data["inputs"]["deck"]["with_included_sha256"]) == 64


REFUSED = {
    "subcase": (("subcase = 1", "subcase = 3"), "problem.subcase: the deck has no subcase 3; it has 1"),
    "continuous": (('target = "discrete"', ""), "say target = 'discrete'"),
    "group": (('group = "SPC 2"', 'group = "SPC 3"'), "query 'held': group 'SPC 3'"),
    "mesh too": (("[problem]", '[mesh]\nfile = "part.bdf"\n[problem]'), "mesh: problem.deck gives the mesh"),
    "suffix": (('"part.bdf"', '"case.toml"'), "must end in .bdf, .fem, .nas, .dat, .inp"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_cases_with_decks_exit_with_2_and_write_nothing(folder, capsys, name):
    change, message = REFUSED[name]
    (folder / "case.toml").write_text(CASE.replace(*change))
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_an_unknown_card_is_refused_by_its_line(folder, capsys):
    text = (folder / "part.bdf").read_text().replace("ENDDATA", "TEMPRB,1,20.\nENDDATA")
    (folder / "part.bdf").write_text(text)
    assert main(["check", str(folder / "case.toml")]) == 2
    assert "TEMPRB on line" in capsys.readouterr().err
