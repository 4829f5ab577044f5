"""Pictures without a browser, and words for shells."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from pinnpoint.cli.completion import SHELLS, options, script
from pinnpoint.cli.main import main


@pytest.fixture
def result(tmp_path):
    row = {"value": 1.0, "raw": None, "lower": 0.5, "upper": 0.6}
    rows = [{**row, "name": "centre"}, {**row, "name": "open", "lower": None, "upper": None, "raw": 2.0}]
    text = json.dumps({"title": "Square", "units": "SI", "queries": rows})
    (tmp_path / "certificate.json").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_certificate_is_drawn_by_the_suffix(result, capsys):
    pytest.importorskip("matplotlib", reason="pip install 'pinnpoint[plot]'")
    assert main(["plot", str(result)]) == 0
    assert (result / "intervals.png").read_bytes().startswith(b"\x89PNG")
    out = result / "picture.svg"
    assert main(["plot", str(result / "certificate.json"), "--out", str(out)]) == 0
    assert "<svg" in out.read_text(encoding="utf-8")
    assert "picture.svg" in capsys.readouterr().out


def test_an_error_of_the_prediction_has_no_dot_of_the_prediction(result):
    pytest.importorskip("matplotlib", reason="pip install 'pinnpoint[plot]'")
    whole = {"name": "worst", "kind": "everywhere", "value": 0.0, "raw": 0.0, "lower": 0.5, "upper": 0.6}
    dots = []
    for kind in ("everywhere", "point"):
        rows = json.dumps({"queries": [{**whole, "kind": kind}]})
        (result / "certificate.json").write_text(rows, encoding="utf-8")
        assert main(["plot", str(result), "--out", str(result / "picture.svg")]) == 0
        dots.append((result / "picture.svg").read_text(encoding="utf-8").count("#d1495b"))
    assert dots[0] == 0 < dots[1]


def test_what_is_no_certificate_is_refused(result, capsys):
    assert main(["plot", str(result), "--out", "picture.bmp"]) == 2
    assert "--out" in capsys.readouterr().err
    (result / "certificate.json").write_text("[]")
    assert main(["plot", str(result)]) == 2
    assert "RESULT" in capsys.readouterr().err


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_completed(shell, tmp_path):
    text = script(shell)
    assert all(name in text for name in options())
    assert {"--out", "--set"} <= set(options()["certify"])
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_a_command():
    asked = "COMP_WORDS=(pinnpoint cer); COMP_CWORD=1; _pinnpoint; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", f"{script('bash')}\n{asked}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["certify"]
