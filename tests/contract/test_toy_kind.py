"""A kind of PDE that is added from outside goes all the way: Python, case file, certificate, report, bundle."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cases.kinds import KINDS, register
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate
from tests.support import toy_kind

CASE = """title = "A rod on springs"
[mesh]
generate = "interval"
cells = 32
[problem]
kind = "spring-rod"
load = "1 + x"
[problem.springs]
left = [3.0, 0.5]
right = [2.0, -0.25]
[prediction]
expression = "1 + x"
[[query]]
name = "middle"
at = [0.55]
[certificate]
target = "discrete"
"""
SPRINGS = {"left": (3.0, 0.5), "right": (2.0, -0.25)}


@pytest.fixture
def rods():
    KINDS.pop(toy_kind.ROD.name, None)
    register(toy_kind.ROD)
    yield
    del KINDS[toy_kind.ROD.name]


def exact(x):
    """u = 1 + x + a·eˣ + b·e⁻ˣ with the ends' conditions."""
    e = np.exp(1.0)
    rows = np.array([[-1.0 + 3.0, 1.0 + 3.0], [(1.0 + 2.0) * e, (-1.0 + 2.0) / e]])
    a, b = np.linalg.solve(rows, [3.0 * 0.5 - 3.0 + 1.0, 2.0 * -0.25 - 4.0 - 1.0])
    return 1.0 + x + a * np.exp(x) + b * np.exp(-x)


def test_the_page_shows_the_toy():
    page = (Path(__file__).parents[2] / "docs" / "kinds.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```python\n(.*?)^```$", page, flags=re.S | re.M)
    toy = Path(toy_kind.__file__).read_text(encoding="utf-8")
    parts = [block for block in shown if block in toy]
    assert len(parts) == 4
    assert sum(len(part.splitlines()) for part in parts) > 0.8 * len(toy.splitlines())


def test_the_toy_is_small():
    assert len(Path(toy_kind.__file__).read_text(encoding="utf-8").splitlines()) < 150


def test_in_python():
    for cells in (16, 64):
        rod = toy_kind.SpringRod(generate("interval", cells), "1+x", SPRINGS)
        certificate = pp.certify(rod, lambda X: X[:, 0], rod.points([[0.55]]), target="discrete")
        truth = np.linalg.solve(rod.A.toarray(), rod.b) @ rod.points([[0.55]]).L.toarray()[0]
        assert certificate.contains(truth).all()
        assert abs(certificate.center[0] - exact(0.55)) < 0.2 / cells**2
    with pytest.raises(pp.InputError, match="needs a proved transfer"):
        pp.certify(rod, lambda X: X[:, 0], rod.points([[0.55]]))


def test_in_a_case_file(rods, tmp_path, capsys):
    path, out = tmp_path / "rod.toml", tmp_path / "out"
    path.write_text(CASE, encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert "spring-rod, 1D, 32 intervals" in capsys.readouterr().out
    assert main(["certify", str(path), "--out", str(out)]) == 0
    said = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    (row,) = said["queries"]
    assert row["lower"] <= row["center"] <= row["upper"]
    assert abs(row["center"] - exact(0.55)) < 2e-4
    assert said["problem"]["kind"] == "spring-rod"
    assert said["problem"]["springs"] == {"left": [3.0, 0.5], "right": [2.0, -0.25]}
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "A rod on springs" in report
    assert "middle" in report
    capsys.readouterr()
    assert main(["verify", str(out / "bundle")]) == 0
    told = capsys.readouterr().out
    assert "VERIFIED" in told
    assert "declared" in told


def test_its_words_are_kept_apart(rods, tmp_path, capsys):
    path = tmp_path / "rod.toml"
    for old, new, why in (
        (
            "[problem.springs]\n",
            "source = 1.0\n[problem.springs]\n",
            "problem.source: does not belong to kind = 'spring-rod'",
        ),
        ('target = "discrete"', 'target = "continuous"', "no proved transfer to the continuous solution is available"),
        ('name = "middle"', 'name = "middle"\nkind = "average"\nradius = 0.1', "'average' does not fit kind"),
        ('"discrete"\n', '"discrete"\nlift = true\n', "certificate.lift"),
        ("load", "laod", "did you mean 'load'"),
        ("[3.0, 0.5]", "3.0", "problem.springs.left: must be [stiffness, rest position]"),
    ):
        path.write_text(CASE.replace(old, new), encoding="utf-8")
        assert main(["certify", str(path), "--out", str(tmp_path / "out")]) == 2
        assert why in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_kinds_have_one_name_each(rods):
    with pytest.raises(pp.InputError, match="is known already"):
        register(toy_kind.ROD)
    with pytest.raises(pp.InputError, match="must be a Kind"):
        register("spring-rod")
