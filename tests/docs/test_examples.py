"""Examples and commands run as written."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from pinnpoint.cli import doctor
from pinnpoint.cli.main import main
from tests import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example_runs_and_is_short(path, capsys):
    assert len(path.read_text().splitlines()) <= 60
    runpy.run_path(str(path))
    assert capsys.readouterr().out.strip()


FRAMEWORKS = sorted((ROOT / "examples" / "frameworks").glob("*.py"))


@pytest.mark.optional
@pytest.mark.slow
@pytest.mark.parametrize("path", FRAMEWORKS, ids=lambda p: p.stem)
def test_a_framework_example_runs_with_the_real_library(path, tmp_path):
    lines = path.read_text(encoding="utf-8").splitlines()
    own = [line for line in lines[1:] if line.strip()]
    assert len(own) < (25 if path.stem == "your_pinn" else 30)
    for library in ("torch", "jax", "equinox", "sklearn", "deepxde", "neuralop", "physicsnemo"):
        if any(line.startswith((f"import {library}", f"from {library}")) for line in lines):
            pytest.importorskip(library, reason=f"{path.stem} needs {library}")
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "deterministic" in done.stdout or "Shares" in done.stdout
    if path.stem == "your_pinn":
        assert "proved within" in done.stdout
        assert (tmp_path / "report.html").stat().st_size > 100_000


@pytest.mark.optional
@pytest.mark.parametrize("name", ["train_benchmark", "out_of_distribution"])
def test_studies_of_training_run_in_their_quick_form(name, tmp_path):
    for library in ("torch", "crepes"):
        pytest.importorskip(library, reason="pip install 'pinnpoint[torch,conformal]'")
    command = [sys.executable, str(ROOT / "studies" / f"{name}.py"), "--quick", "--out", str(tmp_path / "rows.json")]
    subprocess.run(command, check=True, capture_output=True)
    for row in json.loads((tmp_path / "rows.json").read_text()):
        if name == "train_benchmark":
            assert row["discrete held"] == row["continuous held"] == row["queries"]
            assert row["continuous guarantee"] == "deterministic"
        else:
            assert row["proved coverage"] == 1.0
            assert row["shift"] < 1.0 or (row["conformal coverage"] < 0.5 and row["flagged by the monitor"] > 0.9)


def test_demo_writes_a_certificate(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "out")]) == 0
    assert "deterministic" in capsys.readouterr().out
    data = json.loads((tmp_path / "out" / "certificate.json").read_text())
    bump = data["queries"][0]
    assert abs(bump["center"] - 0.793893) < 2e-4  # the PDE's own value, within the mesh's error
    assert abs(bump["raw"] - bump["center"]) > 0.4
    assert bump["lower"] < np.sin(0.65 * np.pi) * np.sin(0.35 * np.pi) < bump["upper"] < bump["lower"] + 1e-3
    assert main(["certify", str(tmp_path / "out" / "case.toml"), "--out", str(tmp_path / "again"), "--quiet"]) == 0
    again = json.loads((tmp_path / "again" / "certificate.json").read_text())
    assert again["queries"][0]["center"] == bump["center"]
    names = {path.name for path in (tmp_path / "again").iterdir()}
    assert names == {"certificate.json", "certificate.csv", "field.vtu", "bundle", "report.html"}


def test_doctor_and_version(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "numpy" in out
    assert "memory" in out
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0


def test_nonsense_exits_with_2_and_refusals_with_their_code(capsys, monkeypatch):
    with pytest.raises(SystemExit) as stop:
        main(["nonsense"])
    assert stop.value.code == 2
    from pinnpoint.base.errors import InputError

    def refuse(arguments):
        raise InputError("mesh: not found")

    def crash(arguments):
        raise ZeroDivisionError("oops")

    for action, code, words in ((refuse, 2, "mesh: not found"), (crash, 3, "internal error")):
        monkeypatch.setattr(doctor, "run", action)
        assert main(["doctor"]) == code
        err = capsys.readouterr().err
        assert words in err
        assert "Traceback" not in err


@pytest.mark.slow
def test_benchmark_quick_form(tmp_path):
    """The limits of the large benchmark hold in its quick form too, loosely: sizes are small."""
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--out", str(tmp_path / "b.json")]
    command += ["--only", "tightness poisson", "coercivity elasticity", "ten points P1, 8 x 8"]
    command += ["--history", str(tmp_path / "h.jsonl")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    rows = json.loads((tmp_path / "b.json").read_text())
    heads = [line for line in printed.splitlines() if not line.startswith(" ")]
    assert [line.split(":")[0] for line in heads] == list(rows)
    assert all(" × " in line and line.endswith(" GB/s") for line in heads)
    (line,) = (tmp_path / "h.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["results"] == rows
    assert {"when", "machine", "triad [GB/s]", "load", "sizes", "versions"} <= set(json.loads(line))
    assert rows["ten points P1, 8 x 8"]["median radius"] < 0.02
    assert 0.99 <= rows["coercivity elasticity"]["alpha / lambda_min"] <= 1.0
    assert rows["tightness poisson"]["exact, refined: relative radius"] < 1e-15
    assert 1.0 < rows["tightness poisson"]["norm: radius / error"] < 1e4
    assert 1.0 < rows["tightness poisson"]["randomized 16: sigma / exact sigma"] < 3.0


def test_doctor_says_what_would_make_a_machine_faster(capsys, monkeypatch):
    assert main(["doctor"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("would make it faster: ")]
    assert said
    bare = doctor.faster({"superlu"}, compiled=False)
    assert [next(x for x in ("cvxopt", "fast", "amg") if f"[{x}]" in line) for line in bare] == [
        "cvxopt",
        "fast",
        "amg",
    ]
    assert doctor.faster({"superlu", "cvxopt", "petsc"}, compiled=True) == []
    assert "OpenBLAS" in doctor.faster({"superlu", "cholmod", "petsc"}, compiled=True, reference=True)[0]
    monkeypatch.setattr(doctor, "SOLVERS", {"superlu": doctor.SparseLU})
    assert main(["doctor"]) == 0
    assert "pinnpoint[cvxopt]" in capsys.readouterr().out.split("would make it faster: ", 1)[1]


def test_the_figure_of_the_benchmarks_is_that_of_their_history():
    """Every line that was measured has a peer and a full dot; the last run is the stored one."""
    peers = runpy.run_path(str(ROOT / "benchmarks" / "peers.py"))
    rows = peers["lines_of"](ROOT / "benchmarks" / "history.jsonl")
    drawn = (ROOT / "docs" / "benchmarks.svg").read_text(encoding="utf-8")
    assert drawn == peers["figure"](rows), "run python benchmarks/peers.py"
    assert rows[-1]["results"] == json.loads((ROOT / "benchmarks" / "latest.json").read_text(encoding="utf-8"))
    full = [e for e in ElementTree.fromstring(drawn).iter() if e.tag.endswith("circle") and e.get("fill") != "none"]
    assert len(full) == len(rows[-1]["results"])
    files = [(ROOT / "benchmarks" / name).read_text(encoding="utf-8") for name in ("run.py", "latency.py")]
    planned = re.findall(r'yield f?"([^"{]+)', "".join(files))
    assert len(planned) > 15
    for name in planned:
        assert len(peers["peer_of"](name)) == 3


@pytest.mark.slow
def test_solids_quick_form(tmp_path):
    """The cost of stresses in equilibrium, and a row of the study of solids, at small sizes."""
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--out", str(tmp_path / "b.json")]
    subprocess.run([*command, "--only", "solid, continuous P2"], check=True, capture_output=True)
    assert 0.0 < json.loads((tmp_path / "b.json").read_text())["solid, continuous P2"]["energy bound"] < 1.0
    command = [sys.executable, str(ROOT / "studies" / "solids.py"), "--quick", "--out", str(tmp_path / "s.json")]
    subprocess.run([*command, "--only", "plate"], check=True, capture_output=True)
    (row,) = json.loads((tmp_path / "s.json").read_text(encoding="utf-8")).values()
    assert row["guarantee"] == "deterministic"
    assert row["queries"]["mean u_x at x = 1"]["relative"] < 1e-4


def test_demo_of_an_operator_needs_no_torch_and_no_solve(tmp_path, capsys):
    """Answers like those of its training are proved good without a solve, others are proved bad."""
    assert main(["demo", "operator", "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert "3 and 12, as in its training" in capsys.readouterr().out
    data = json.loads((tmp_path / "out" / "population.json").read_text(encoding="utf-8"))
    assert data["shares"] == {"within": 0.5, "beyond": 0.5, "undecided": 0.0, "refused": 0.0}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"population.csv", "population.json", "report.html"}


@pytest.mark.slow
@pytest.mark.optional
def test_a_killed_campaign_over_dask_has_every_instance_once(tmp_path):
    """The study of populations in its quick form: a cluster and a worker are killed."""
    pytest.importorskip("distributed", reason="pip install 'pinnpoint[dask]'")
    command = [sys.executable, str(ROOT / "studies" / "population_campaign.py"), str(tmp_path / "out"), "--quick"]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert (found["rows"], found["certified"], found["lost"], found["twice"]) == (400, 400, 0, 0)
    assert found["last"]["failed"] == 0
