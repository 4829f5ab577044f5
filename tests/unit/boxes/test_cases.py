"""Case files with [box]."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cases.boxes import box_of
from pinnpoint.cases.read import read_table
from pinnpoint.cli.main import main

CASE = """title = "Line"
[box]
sides = [[0, 1]]
boundary = [["dirichlet", "neumann"]]
initial = "sin(pi*x/2)"
[time]
end = 0.2
[prediction]
expression = "exp(-pi**2/4*t)*sin(pi*x/2)*(1 + 0.1*t)"
[[query]]
name = "middle"
at = [0.4]
accept = 0.1
[[query]]
name = "early"
at = [0.7]
time = 0.1
limit = { below = 0.5 }
"""
TRUTH = np.exp(-(np.pi**2) / 4 * np.array([0.2, 0.1])) * np.sin(np.pi / 2 * np.array([0.4, 0.7]))


def case(tmp_path, text=CASE):
    (tmp_path / "line.toml").write_text(text, encoding="utf-8")
    return tmp_path / "line.toml"


def read_box(path):
    return box_of(read_table(path), path)


def test_a_case_says_what_python_says(tmp_path):
    found = read_box(case(tmp_path)).certify()
    box = pp.Box([0, 1], boundary=[("dirichlet", "neumann")], initial="sin(pi*x/2)", end=0.2)
    asked = box.points([[0.4]], ["middle"]) + box.points([[0.7]], ["early"], time=0.1)
    own = pp.certify(box, "exp(-pi**2/4*t)*sin(pi*x/2)*(1 + 0.1*t)", asked)
    assert np.array_equal(found.center, own.center)
    assert np.array_equal(found.radius, own.radius)
    assert found.contains(TRUTH).all()
    assert found.radius.max() < 1e-7


def test_the_command_writes_what_verifies(tmp_path, capsys):
    assert main(["check", str(case(tmp_path))]) == 0
    assert main(["certify", str(case(tmp_path)), "--out", str(tmp_path / "out"), "--quiet"]) == 4
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert data["queries"][1]["verdicts"] == {"limit": "violated"}
    assert data["problem"]["ends"] == [["dirichlet", "neumann"]]
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sides =", "sidess =", "box.sides: is missing"),
        ("end = 0.2", "end = 0.2\nsteps = 3", "time.steps: unknown key"),
        ("end = 0.2", "end = -1.0", "time.end"),
        ("at = [0.4]", "at = [1.4]", r"^query 'middle': at: \[1\.4\] is not inside the box"),
        ("at = [0.7]", "at = [0.7, 0.1]", "^query 'early': at: must be finite points"),
        ("time = 0.1", "time = 0.3", r"^query 'early': time: must be above 0, .* got 0\.3"),
        ("time = 0.1", "tim = 0.1", "^query 'early': tim: unknown key"),
        ("[box]", '[certificate]\ntarget = "discrete"\n[box]', "^certificate.target: a box has no mesh"),
        ('initial = "sin(pi*x/2)"', 'initial = "sin(pi*y/2)"', "box.initial"),
        ('expression = "exp', 'expression = "q*exp', "prediction"),
        ("[box]", "[mesh]\ngenerate = 'square'\n[box]", "mesh: unknown key"),
        ('name = "early"', 'name = "middle"', "names must differ"),
    ],
)
def test_what_does_not_fit_is_refused(old, new, said, tmp_path):
    with pytest.raises(pp.InputError, match=said):
        read_box(case(tmp_path, CASE.replace(old, new)))


WORST = '[[query]]\nname = "worst"\nkind = "everywhere"\n'
COARSE = '\n[certificate]\nbudget = 200\ntarget = "continuous"\n'


def certified(tmp_path, text):
    main(["certify", str(case(tmp_path, text)), "--out", str(tmp_path / "out"), "--quiet"])
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    with (tmp_path / "out" / "certificate.csv").open(encoding="utf-8") as file:
        return data, list(csv.DictReader(file))


def test_points_beside_the_largest_error_keep_place_time_and_bundle(tmp_path, capsys):
    data, rows = certified(
        tmp_path, CASE.replace('[[query]]\nname = "early"', WORST + '[[query]]\nname = "early"') + COARSE
    )
    assert [row.get("at") for row in data["queries"]] == [[0.4], None, [0.7]]
    assert [row.get("time") for row in data["queries"]] == [0.2, None, 0.1]
    assert [row["time"] for row in rows] == ["0.2", "", "0.1"]
    assert "the points alone" in data["notes"][-1]
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    assert "note: the largest error" in capsys.readouterr().out
    kept = json.loads((tmp_path / "out" / "bundle" / "certificate.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in kept["queries"]] == ["middle", "early"]


def test_why_there_is_no_bundle_is_in_the_certificate(tmp_path):
    text = CASE.split("[[query]]")[0] + WORST + COARSE
    assert certified(tmp_path, text)[0]["notes"] == [
        "no bundle: queries: bundles of boxes are for points, and these ask for the largest error alone"
    ]
    assert not (tmp_path / "out" / "bundle").exists()


@pytest.mark.parametrize(
    ("units", "label"), [('units = "K"\n', "K"), ('[units]\nlength = "m"\nsolution = "°C"\n', "°C")]
)
def test_units_are_carried_along(units, label, tmp_path):
    text = units + CASE if label == "K" else CASE.replace("[box]", f"{units}[box]")
    data, rows = certified(tmp_path, text + COARSE)
    kept = json.loads((tmp_path / "out" / "bundle" / "certificate.json").read_text(encoding="utf-8"))
    assert data["units"] == kept["units"]
    assert [row["unit"] for row in rows] == [label, label]
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    with pytest.raises(pp.InputError, match=r"units.force.* belong to a box"):
        read_box(case(tmp_path, CASE.replace("[box]", '[units]\nforce = "N"\n[box]')))
