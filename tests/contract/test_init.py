"""`pinnpoint init`: the case it writes is one that `check` takes and `certify` certifies."""

from __future__ import annotations

import json

import pytest

from pinnpoint.cli.main import main

MESH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
1 1 "inflow"
1 5 "outflow"
2 1 "plate"
$EndPhysicalNames
$Nodes
5
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
5 0.45 0.55 0
$EndNodes
$Elements
6
1 1 2 1 4 1 4
2 1 2 5 4 2 3
3 2 2 1 1 1 2 5
4 2 2 1 1 2 3 5
5 2 2 1 1 3 4 5
6 2 2 1 1 4 1 5
$EndElements
"""


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "part.msh"
    path.write_text(MESH, encoding="utf-8")
    return path


@pytest.mark.parametrize("solid", [False, True])
def test_the_case_of_a_mesh_is_certified_as_it_is_written(part, solid, capsys):
    assert main(["init", str(part), *(["--solid"] if solid else [])]) == 0
    case = part.with_suffix(".toml")
    assert f"pinnpoint check {case}" in capsys.readouterr().out
    text = case.read_text(encoding="utf-8")
    assert all(word in text for word in ("inflow", "outflow", "group 'plate': 2D, 4 cells", 'file = "part.msh"'))
    assert main(["check", str(case)]) == 0
    assert main(["certify", str(case), "--out", str(part.parent / "out"), "--quiet"]) == 0
    data = json.loads((part.parent / "out" / "certificate.json").read_text(encoding="utf-8"))
    assert [row["kind"] for row in data["queries"]] == (["point"] if solid else ["point", "everywhere"])
    assert {row["target"] for row in data["queries"]} == {"continuous"}


def test_a_case_that_is_there_is_kept(part, capsys):
    case = part.parent / "mine.toml"
    case.write_text("mine", encoding="utf-8")
    assert main(["init", str(part), "--out", str(case)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert case.read_text(encoding="utf-8") == "mine"


def test_the_mesh_is_found_from_another_folder(part, tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    assert main(["init", str(part), "--out", str(away / "case.toml")]) == 0
    assert main(["check", str(away / "case.toml")]) == 0


def test_a_file_that_is_no_mesh_is_refused(tmp_path, capsys):
    (tmp_path / "part.msh").write_text("nothing", encoding="utf-8")
    assert main(["init", str(tmp_path / "part.msh")]) == 2
    assert not (tmp_path / "part.toml").exists()
