"""Means, blocks, derivatives and fluxes at points: Python, case files, bundles, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pinnpoint as pp
import pinnpoint_verify as verifier
from pinnpoint.cli.main import main
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh

CASE = """title = "Plate"
[mesh]
generate = "square"
cells = 6
[problem]
kind = "reaction-diffusion"
source = "2*pi**2*sin(pi*x)*sin(pi*y)"
degree = 2
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "sin(pi*x)*sin(pi*y)"
"""
QUERIES = """[[query]]
name = "mean"
kind = "mean"
accept = 0.01
[[query]]
name = "block"
kind = "cells"
at = [0.3, 0.4]
side = 0.3
limit = { above = 0.6, below = 0.8 }
[[query]]
name = "slope"
kind = "gradient"
at = [0.3, 0.4]
component = "x"
limit = { below = 0.0 }
[[query]]
name = "flux"
kind = "flux"
at = [0.3, 0.4]
component = "y"
"""


def box(low, high):
    return (np.cos(np.pi * low) - np.cos(np.pi * high)) / (np.pi * (high - low))


TRUTH = [
    4 / np.pi**2,
    box(0.15, 0.45) * box(0.25, 0.55),
    np.pi * np.cos(0.3 * np.pi) * np.sin(0.4 * np.pi),
    np.pi * np.sin(0.3 * np.pi) * np.cos(0.4 * np.pi),
]


@pytest.fixture
def case(tmp_path):
    def write(text):
        (tmp_path / "case.toml").write_text(text)
        return str(tmp_path / "case.toml")

    return write


@pytest.mark.slow
def test_case_files_ask_for_them_and_their_bundles_verify(case, tmp_path, capsys):
    code = main(["certify", case(CASE + QUERIES), "--quiet", "--out", str(tmp_path / "out")])
    assert code == 4  # the slope is proved to be above zero
    rows = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"]
    for row, truth in zip(rows, TRUTH, strict=True):
        assert row["lower"] <= truth <= row["upper"]
    assert [row["kind"] for row in rows] == ["mean", "cells", "gradient", "flux"]
    assert rows[1]["side"] == 0.3
    assert [row["verdicts"] for row in rows] == [{"accept": "within"}, {"limit": "holds"}, {"limit": "violated"}, {}]
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0
    capsys.readouterr()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "side 0.3" in page


@pytest.mark.slow
def test_a_tolerance_refines_for_them(case, tmp_path):
    text = (CASE + QUERIES).replace("limit = { below = 0.0 }\n", "") + "[certificate]\ntolerance = 0.004\n"
    assert main(["certify", case(text), "--quiet", "--out", str(tmp_path / "out")]) == 0
    data = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert max(row["radius"] for row in data["queries"]) <= 0.004
    assert len(data["refinement"]["steps"]) > 1
    for row, truth in zip(data["queries"], TRUTH, strict=True):
        assert row["lower"] <= truth <= row["upper"]
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


@pytest.mark.slow
def test_lifts_in_case_files(case, tmp_path):
    text = CASE.replace('expression = "', 'expression = "0.01*x*(1-x)*y*(1-y)+').replace("degree = 2\n", "")
    text += QUERIES + "[certificate]\nlift = true\n"
    main(["certify", case(text), "--quiet", "--out", str(tmp_path / "out")])
    rows = json.loads((tmp_path / "out" / "certificate.json").read_text())["queries"]
    for row, truth in zip(rows, TRUTH, strict=True):
        assert row["lower"] <= truth <= row["upper"]
        assert row["radius"] < 2e-3
    assert main(["verify", str(tmp_path / "out" / "bundle")]) == 0


def grouped():
    mesh = generate("square", 6)
    middle = mesh.points[mesh.cells].mean(axis=1)
    core = np.flatnonzero(np.all(np.abs(middle - 0.5) < 1 / 6, axis=1))
    return Mesh(mesh.points, mesh.cells, {"core": core}, mesh.facet_groups)


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_groups_of_cells_and_their_bundles(tmp_path, target):
    mesh = grouped()
    problem = pp.fem.ReactionDiffusion(mesh, source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=2)
    queries = problem.cells("core") + problem.cells([[0.5, 0.5]], side=1 / 3, name="block")
    found = pp.certify(problem, problem.space.U0, queries, target=target)
    truth = box(1 / 3, 2 / 3) ** 2
    if target == "continuous":
        assert np.all(found.contains(truth))
    assert found.names == ("core", "block")
    assert abs(found.center[0] - found.center[1]) < 1e-7  # faces of the block are a rounding away from the cells
    pp.write_bundle(tmp_path / "b", found, problem, problem.space.U0, queries)
    assert verifier.main(tmp_path / "b") == 0


def test_cells_by_their_numbers(tmp_path):
    mesh = grouped()
    problem = pp.fem.ReactionDiffusion(mesh, source=1.0)
    queries = problem.cells(mesh.cells_of("core"))
    found = pp.certify(problem, problem.space.U0, queries)
    other = pp.certify(problem, problem.space.U0, problem.cells("core"))
    assert np.array_equal(found.center, other.center)
    pp.write_bundle(tmp_path / "b", found, problem, problem.space.U0, queries)
    assert verifier.main(tmp_path / "b") == 0
    with pytest.raises(pp.InputError, match="not known beyond this mesh"):
        pp.certify_to(problem, problem.space.U0, queries, 1e-9)


REFUSED = {
    "side of a group": ('kind = "cells"\ngroup = "core"\nside = 0.1\n', "side"),
    "no side": ('kind = "cells"\nat = [0.5, 0.5]\n', "side"),
    "outside": ('kind = "cells"\nat = [0.1, 0.5]\nside = 0.4\n', "leaves the domain"),
    "no direction": ('kind = "gradient"\nat = [0.5, 0.5]\n', "component"),
    "both": ('kind = "flux"\nat = [0.5, 0.5]\ngroup = "left"\ncomponent = "x"\n', "at or group"),
    "of the boundary": ('kind = "gradient"\nat = [0.0, 0.5]\ncomponent = "x"\n', "lies on the Dirichlet boundary"),
    "a negative side": ('kind = "cells"\nat = [0.5, 0.5]\nside = -0.4\n', "side"),
    "a third axis": ('kind = "gradient"\nat = [0.5, 0.5]\ncomponent = "z"\n', "component"),
}


@pytest.mark.parametrize("why", list(REFUSED))
def test_bad_queries_are_refused_by_their_key(why, case, tmp_path, capsys):
    text, word = REFUSED[why]
    code = main(["certify", case(CASE + f'[[query]]\nname = "bad"\n{text}'), "--out", str(tmp_path / "out")])
    assert code == 2
    said = capsys.readouterr().err
    assert "bad" in said
    assert word in said
    assert not (tmp_path / "out").exists()


def test_what_has_no_theorem_is_refused():
    mesh = generate("square", 4)
    cubic = pp.fem.Semilinear(mesh, cubic=1.0, source=1.0)
    with pytest.raises(pp.InputError, match="target='discrete'"):
        pp.certify(cubic, cubic.space.U0, cubic.gradients([[0.4, 0.4]], "x"))
    right = mesh.points[mesh.cells].mean(axis=1)[:, 0] > 0.5
    jump = pp.fem.ReactionDiffusion(mesh, source=1.0, diffusion=np.where(right, 2.0, 1.0))
    with pytest.raises(pp.InputError, match="a jump of the coefficients"):
        pp.certify(jump, jump.space.U0, jump.gradients([[0.5, 0.4]], "x"))
    with pytest.raises(pp.InputError, match="side"):
        jump.cells([[0.5, 0.4]])
    with pytest.raises(pp.InputError, match="leaves the domain"):
        jump.averages([[0.5, 0.4]], 0.6)


def test_monitors_and_services_judge_them(case):
    """Each of the three answers, by the engine that serves a case."""
    from pinnpoint.cases.read import read_case
    from pinnpoint.cases.study import build
    from pinnpoint.service import engine_of_case

    path = case(
        CASE + QUERIES.replace("limit = { below = 0.0 }\n", "").replace("limit = { above = 0.6, below = 0.8 }\n", "")
    )
    study = build(read_case(path))
    engine = engine_of_case(study)
    values = study.problem.extract(study.prediction).U
    found = engine.answer(values, None, None)
    assert np.all(found.contains(TRUTH))
    ends = {"holds": found.upper + 1e-3, "undecided": found.center, "violated": found.lower - 1e-3}
    for word, below in ends.items():
        with pp.Monitor(engine, limit=[{"below": float(b)} for b in below]) as monitor:
            done = monitor.judge(engine.answer(values, None, None))
        assert [v["limit"] for v in done.verdicts] == [word] * 4
        assert done.action == ("accept" if word == "holds" else "flag")
    far = np.abs(found.value - found.center) + found.radius
    for word, accept in (("within", far + 1e-3), ("beyond", None)):
        moved = values if word == "within" else 3.0 * values
        with pp.Monitor(engine, accept=1e-3 if accept is None else accept) as monitor:
            done = monitor.judge(engine.answer(moved, None, None))
        assert [v["accept"] for v in done.verdicts] == [word] * 4
