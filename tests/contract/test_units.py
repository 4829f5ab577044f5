"""Labels per quantity: derived for areas, volumes, loads and stresses, and carried to every header and axis."""

from __future__ import annotations

import csv
import json

import pytest

from pinnpoint.cli.main import main
from pinnpoint.report.units import label

BLOCK = """[units]
length = "mm"
force = "N"
[mesh]
generate = "{domain}"
cells = 2
[problem]
kind = "elasticity"
young = 1.0
poisson = 0.3
[problem.fixed]
left = 0.0
[problem.force]
right = {force}
[prediction]
zero = true
[certificate]
target = "discrete"
[[query]]
name = "tip"
at = {at}
component = "x"
"""
HEAT = """[units]
length = "m"
solution = "K"
flux = "W"
[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
source = "1"
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[[query]]
name = "middle"
at = [0.5, 0.5]
[[query]]
name = "heat"
kind = "flux"
group = "boundary"
"""


def certified(tmp_path, text):
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    with (out / "certificate.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return json.loads((out / "certificate.json").read_text(encoding="utf-8")), rows, (out / "report.html").read_text()


def test_labels_are_derived():
    units = {"length": "mm", "force": "N"}
    found = [label(units, q) for q in ("length", "area", "volume", "displacement", "stress", "load", "solution")]
    assert found == ["mm", "mm²", "mm³", "mm", "N/mm²", "N", ""]
    assert label(units, "load", 2) == "N/mm"
    assert label({"length": "0.1 mm"}, "area") == "(0.1 mm)²"
    assert label({"length": "m"}, "stress") == label({}, "area") == ""
    assert label({"length": "m", "solution": "K", "flux": "W"}, "load", 2) == "W"
    assert label("SI", "volume") == "SI"


def test_a_solid_has_volumes_areas_and_forces(tmp_path, capsys):
    text = BLOCK.format(domain="cube", force=[1.0, 0.0, 0.0], at=[1.0, 0.5, 0.5])
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    assert main(["check", str(tmp_path / "case.toml")]) == 0
    told = capsys.readouterr().out
    assert "area 1 [mm²]" in told
    assert "total applied load [N]: 1, 0, 0" in told
    data, rows, page = certified(tmp_path, text)
    assert data["units"] == {"length": "mm", "force": "N"}
    assert float(rows[0]["radius [mm]"]) == data["queries"][0]["radius"]
    assert rows[0]["unit"] == "mm"
    assert "Prediction says [mm]" in page
    assert "unit" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


def test_a_plane_body_has_loads_per_thickness(tmp_path, capsys):
    (tmp_path / "case.toml").write_text(BLOCK.format(domain="square", force=[1.0, 0.0], at=[1.0, 0.5]))
    assert main(["check", str(tmp_path / "case.toml")]) == 0
    told = capsys.readouterr().out
    assert "length 1 [mm]" in told
    assert "total applied load [N/mm]: 1, 0" in told


def test_queries_of_several_quantities_have_their_own(tmp_path, capsys):
    _, rows, page = certified(tmp_path, HEAT)
    assert [row["unit"] for row in rows] == ["K", "W"]
    assert "radius" in rows[0]  # no label is right for the whole column
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("query", "middle", "heat"))]
    assert [line.split()[-1] for line in table] == ["unit", "K", "W"]
    assert "middle</bdi> [K]" in page
    assert "heat</bdi> [W]" in page
    assert "Prediction says</th>" in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAT.replace('flux = "W"', 'force = "N"'), "units.force: does not belong to kind = 'reaction-diffusion'"),
        (HEAT.replace('flux = "W"', 'lenght = "m"'), "units.lenght: unknown key; did you mean 'length'"),
        (HEAT.replace('"K"', "3"), "units.solution: must be text"),
        (HEAT.replace('[units]\nlength = "m"\nsolution = "K"\nflux = "W"\n', "units = 3\n"), "units: must be text"),
    ],
)
def test_odd_units_are_refused(tmp_path, capsys, text, words):
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    assert words in capsys.readouterr().err
