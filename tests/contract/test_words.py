"""Case files and Python call the same things by the same names, and messages use the words of whoever wrote them."""

from __future__ import annotations

import json

import pytest

import pinnpoint as pp
from pinnpoint.cases.read import read_case
from pinnpoint.cli.main import main

PLATE = """[mesh]
generate = "square"
cells = 3
[problem]
kind = "elasticity"
young = 1.0
poisson = 0.3
[problem.{fixed}]
left = {left}
[problem.{traction}]
{right} = [1.0, 0.0]
[prediction]
zero = true
[certificate]
target = "discrete"
[[query]]
name = "tip"
at = [1.0, 0.5]
component = "{component}"
"""
USUAL = {"fixed": "dirichlet", "traction": "neumann", "left": 0.0, "right": "right", "component": "x"}


def written(tmp_path, **words):
    path = tmp_path / "case.toml"
    path.write_text(PLATE.format(**(USUAL | words)), encoding="utf-8")
    return path


@pytest.mark.parametrize("fixed", ["fixed", "dirichlet"])
@pytest.mark.parametrize("traction", ["traction", "neumann"])
def test_both_words_mean_the_same_in_case_files(tmp_path, fixed, traction):
    path = written(tmp_path, fixed=fixed, traction=traction)
    assert main(["certify", str(path), "--quiet", "--out", str(tmp_path / "out")]) == 0
    said = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert said["problem"]["dirichlet"] == {"left": 0.0}  # one of them is written down
    assert said["problem"]["neumann"] == {"right": [1.0, 0.0]}
    assert not {"fixed", "traction"} & set(said["problem"])
    mesh = pp.io.generate("square", 3)
    for words in ({"fixed": {"left": 0.0}}, {"dirichlet": {"left": 0.0}}):
        plate = pp.fem.Elasticity(mesh, 1.0, 0.3, **words, **{traction: {"right": (1.0, 0.0)}})
        found = pp.certify(plate, plate.space.U0, plate.points([[1.0, 0.5]], component="x"), target="discrete")
        assert found.center[0] == said["queries"][0]["center"]


@pytest.mark.parametrize("fixed", ["fixed", "dirichlet"])
@pytest.mark.parametrize("traction", ["traction", "neumann"])
def test_messages_use_the_words_of_the_file(tmp_path, capsys, fixed, traction):
    for change, words in (
        ({"left": "[0.0]"}, f"problem.{fixed} 'left': must have 2 components; got 1; \"free\" leaves one alone"),
        ({"left": '["a", 0]'}, f"problem.{fixed}.left.0 'a'"),
        ({"right": "rihgt"}, f"problem.{traction}: "),
    ):
        path = written(tmp_path, fixed=fixed, traction=traction, **change)
        assert main(["check", str(path)]) == 2
        assert words in capsys.readouterr().err, change


def test_messages_use_the_words_of_the_call():
    mesh = pp.io.generate("square", 3)
    for word in ("fixed", "dirichlet"):
        with pytest.raises(pp.InputError, match=f"^{word}: "):
            pp.fem.Elasticity(mesh, 1.0, 0.3, **{word: {"nowhere": 0.0}})
    with pytest.raises(pp.InputError, match=r"^neumann: "):
        pp.fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, neumann={"nowhere": 0.0})
    with pytest.raises(pp.InputError, match="dirichlet: is another word for fixed; give one"):
        pp.fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, dirichlet={"left": 0.0})


def test_two_words_for_one_thing_are_refused(tmp_path, capsys):
    path = written(tmp_path, traction="fixed")
    assert main(["check", str(path)]) == 2
    assert "problem.fixed: is another word for problem.dirichlet" in capsys.readouterr().err
    scalar = PLATE.format(**(USUAL | {"fixed": "fixed"})).replace('"elasticity"', '"reaction-diffusion"')
    path.write_text(scalar.replace("young = 1.0\npoisson = 0.3\n", "").replace("[1.0, 0.0]", "1.0"), encoding="utf-8")
    assert main(["check", str(path)]) == 2
    assert "problem.fixed: is elasticity's word; write problem.dirichlet" in capsys.readouterr().err


def test_free_is_offered(tmp_path, capsys):
    assert read_case(written(tmp_path, left='[0.0, "free"]')).problem.dirichlet["left"][1] is None
    for left, words in (
        ('[0.0, "none"]', 'write "free" to leave the component alone'),
        ('[0.0, "null"]', 'write "free"'),
        ('[0.0, ""]', 'write "free"'),
        ('"free"', '"free" is for single components, as in [0.0, "free"]'),
        ("[]", '"free" for one that is left alone'),
        ("[0.0]", '"free" leaves one alone'),
    ):
        assert main(["check", str(written(tmp_path, left=left))]) == 2
        assert words in capsys.readouterr().err, left
    text = written(tmp_path).read_text().replace("[1.0, 0.0]", '[1.0, "free"]')
    (tmp_path / "case.toml").write_text(text)
    assert main(["check", str(tmp_path / "case.toml")]) == 2
    assert "write 0 where nothing acts" in capsys.readouterr().err


def test_queries_are_called_by_their_names(tmp_path, capsys):
    path = written(tmp_path, component="w")
    assert main(["check", str(path)]) == 2
    assert "query 'tip': component: 'w' is not known" in capsys.readouterr().err
    base = written(tmp_path).read_text()
    for change, words in (
        ('[[query]]\nname = "tip"\nat = [0, 0]\ncomponent = "x"\n', "query 'tip': queries 1 and 2 have this name"),
        ('[[query]]\nkind = "patch"\n', "query 'q1': group: is missing"),
        ("[[query]]\nname = 3\nat = [0, 0]\n", "query 2: name: must be text"),
        ('[[query]]\nname = "far"\nat = [7, 0]\ncomponent = "x"\n', "query 'far': "),
    ):
        path.write_text(base + change)
        assert main(["check", str(path)]) == 2
        assert words in capsys.readouterr().err
