"""Folders of SimJEB's form: one family of problems, with clear words about what is unusual."""

from __future__ import annotations

import json
import logging
import re

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError
from tests.support.written import CASES, FORCES, Bracket


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("simjeb")
    Bracket().write(place)
    return place


def test_a_folder_is_one_problem_with_four_loads(folder, caplog):
    with caplog.at_level(logging.WARNING):
        bracket = pp.io.simjeb.load(folder, 7)
    assert bracket.notes == ()
    assert not caplog.messages
    made = Bracket()
    truth = made.released()
    assert tuple(bracket.numbers) == CASES
    np.testing.assert_array_equal(bracket.deck.mesh.points, made.X)
    assert sorted(np.unique(bracket.surface)) == [0, 2, 3]
    held = np.flatnonzero(bracket.surface == 2)
    for k, case in enumerate(CASES):
        problem = bracket.problem(case)
        u = truth[case]
        np.testing.assert_allclose(bracket.released[case], u, rtol=1e-6, atol=1e-12)
        np.testing.assert_array_equal(problem.b, bracket.loads[k])
        force, moment = FORCES[case]
        np.testing.assert_allclose(problem.total_load, force, atol=1e-7)
        about = np.cross(made.X - made.reference, problem.b.reshape(-1, 3)).sum(axis=0)
        np.testing.assert_allclose(about, moment, atol=0.05)  # the load's own 8 columns
        assert np.all(problem.space.U0.reshape(-1, 3)[held] == 0.0)
        rows = problem.space.Z.T @ (abs(problem.A) @ np.abs(0.5e-6 * u.ravel()))
        assert np.all(np.abs(problem.system.residual(u.ravel())) <= 1e-9 * np.abs(problem.b).max())
        released = bracket.released[case].ravel()
        assert np.all(np.abs(problem.system.residual(released)) <= rows + 1e-6)
    diagonal = 0.7478518 * truth["horizontal"] + 0.8824848 * truth["vertical"]
    np.testing.assert_allclose(bracket.released["diagonal"], diagonal, atol=2e-6 * np.abs(diagonal).max())


def test_four_loads_are_certified_together(folder):
    bracket = pp.io.simjeb.load(str(folder), "7")
    truth = Bracket().released()
    queries = bracket.problem().points([[36.0, 24.0, 8.0]], "z")
    batch = bracket.certify(bracket.released, queries)
    for k, case in enumerate(CASES):
        value = queries.L @ truth[case].ravel()
        np.testing.assert_allclose(batch[k].center, value, atol=1e-9 * np.abs(truth[case]).max())
        assert np.all(batch[k].radius < 1e-9)
    with pytest.raises(InputError, match="predictions: need one for each of vertical"):
        bracket.certify({"vertical": bracket.released["vertical"]}, queries)
    with pytest.raises(InputError, match="case: must be one of vertical"):
        bracket.problem("sideways")


def test_four_loads_are_told_in_one_report(folder, tmp_path):
    """Four loads in one page, each with its rows and its fields."""
    bracket = pp.io.simjeb.load(folder, 7)
    queries = bracket.problem().points([[36.0, 24.0, 8.0]], "z", ["hub"]) + bracket.problem().patch("RBE3 239", "x")
    worse = {case: 1.02 * u for case, u in bracket.released.items()}
    batch = bracket.certify(worse, queries)
    html = bracket.to_html(tmp_path / "r.html", batch, worse, tolerance=1e-6).read_text("utf-8")
    assert "<title>SimJEB 7 · pinnpoint</title>" in html
    assert re.findall(r'scope="rowgroup"><bdi>(\w+)</bdi>', html) == list(CASES)
    assert [float(v) for v in re.findall(r'class="said" value="([^"]+)"', html)] == batch.value.ravel().tolist()
    view = json.loads(re.search(r'id="view-data">(.*?)</script>', html, re.S)[1])["view"]
    names = ["prediction", "Released", "Off the released"]
    assert [(f["load"], f["name"]) for f in view["fields"]] == [(case, name) for case in CASES for name in names]
    assert len(html) < 3e6
    with pytest.raises(InputError, match="predictions: need one for each of vertical"):
        bracket.to_html(tmp_path / "r.html", batch, {})


def test_gaps_in_node_ids(tmp_path, folder, caplog):
    made = Bracket(gap=500)
    made.write(tmp_path)
    bracket = pp.io.simjeb.load(tmp_path, 7)
    assert any("500 node ids are missing between 1 and" in m for m in caplog.messages)
    plain = pp.io.simjeb.load(folder, 7)
    for case in CASES:
        np.testing.assert_array_equal(bracket.released[case], plain.released[case])


def test_an_empty_deck_is_refused_by_its_number(tmp_path):
    (tmp_path / "293.fem").write_text("\n \n")
    with pytest.raises(InputError, match=r"bracket 293: '293.fem' is empty, as 293.fem is in the dataset"):
        pp.io.simjeb.load(tmp_path, 293)
    (tmp_path / "293.fem").write_text("")
    with pytest.raises(InputError, match=r"bracket 293: '293.fem' is empty"):
        pp.io.simjeb.load(tmp_path, 293)


def test_the_other_name(tmp_path):
    Bracket().write(tmp_path, field="{}.csv")
    bracket = pp.io.simjeb.load(tmp_path, 7)
    assert bracket.notes == ("read '7.csv', as the dataset's README calls it; its files are named '7field.csv'",)
    (tmp_path / "7.csv").unlink()
    with pytest.raises(InputError, match=r"bracket 7: field '.*7field.csv': no such file"):
        pp.io.simjeb.load(tmp_path, 7)


def test_a_rotated_part_is_told_of(tmp_path):
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    made = Bracket(rotation=turn)
    made.write(tmp_path)
    notes = pp.io.simjeb.load(tmp_path, 7).notes
    assert len(notes) == 1
    assert "the part is rotated: the bolts' plane has the normal" in notes[0]
    made.write(tmp_path, points=Bracket().X)
    with pytest.raises(InputError, match=r"the deck is the field's part rotated by 90° and moved by \[.*0.0.*\]"):
        pp.io.simjeb.load(tmp_path, 7)


def test_ids_of_its_own(tmp_path):
    """A field whose ids are not the deck's is matched by coordinates."""
    made = Bracket()
    fields = made.released()
    made.write(tmp_path, fields=fields)
    path = tmp_path / "7field.csv"
    head, *rows = path.read_text().splitlines()
    rows = [f"{100000 + k},{row.partition(',')[2]}" for k, row in enumerate(reversed(rows))]
    path.write_text("\n".join([head, *rows, ""]))
    bracket = pp.io.simjeb.load(tmp_path, 7)
    assert "matched by coordinates" in bracket.notes[0]
    np.testing.assert_allclose(bracket.released["torsion"], fields["torsion"], rtol=1e-6, atol=1e-12)


REFUSED = {
    "header": (lambda t: t.replace("ver_xdisp", "xdisp", 1), "must begin with the header"),
    "cut": (lambda t: t[: len(t) // 2].rpartition(",")[0], "rows of 25 finite numbers; is it complete"),
    "text": (lambda t: t.replace("\n2,", "\ntwo,", 1), "text where numbers"),
    "nan": (lambda t: t.replace("\n2,", "\nnan,", 1), "finite numbers"),
    "short": (
        lambda t: "\n".join(t.splitlines()[:50]) + "\n",
        "the field's points are not the deck's nodes|only 49 points",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_fields_are_refused(tmp_path, folder, name):
    change, message = REFUSED[name]
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "7field.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=message):
        pp.io.simjeb.load(tmp_path, 7)


def test_folders_of_another_form_are_refused(tmp_path, folder):
    with pytest.raises(InputError, match="no such folder"):
        pp.io.simjeb.load(tmp_path / "none", 7)
    with pytest.raises(InputError, match=r"8.fem': no such file"):
        pp.io.simjeb.load(folder, 8)
    text = (folder / "7.fem").read_text()
    (tmp_path / "7.fem").write_text(
        text.replace("SUBCASE       4\n  LABEL torsion\n  SPC =        1\n  LOAD =        5\n", "")
    )
    (tmp_path / "7field.csv").write_bytes((folder / "7field.csv").read_bytes())
    with pytest.raises(InputError, match="must have 4 subcases"):
        pp.io.simjeb.load(tmp_path, 7)
    (tmp_path / "7.fem").write_text(text.replace("35585.77", "-35585.8").replace("35585.8", "30000.0"))
    assert "the load 'vertical' has the resultant" in pp.io.simjeb.load(tmp_path, 7).notes[0]
