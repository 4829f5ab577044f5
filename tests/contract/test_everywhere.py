"""The largest error over the domain through Python, case files and the service; what is refused."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.cli.main import main
from pinnpoint.mesh.topology import Topology
from pinnpoint.service.engine import engine_of_case
from pinnpoint.transfer.everywhere import mesh_constant
from pinnpoint_verify.claims import main as verified
from tests.support.forged import sealed

SINES = "sin(pi*x)*sin(pi*y)"
CASE = f"""
title = "Everywhere"
[mesh]
generate = "square"
cells = 8
[problem]
kind = "reaction-diffusion"
source = "2*pi**2*{SINES}"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "1.001*{SINES}"
[[query]]
name = "worst"
kind = "everywhere"
accept = ACCEPT
[[query]]
name = "middle"
at = [0.5, 0.5]
[certificate]
lift = LIFT
"""


def problem(n: int = 8, **more: object) -> pp.fem.ReactionDiffusion:
    given = {"source": f"2*pi**2*{SINES}", "dirichlet": {"boundary": 0.0}} | more
    return pp.fem.ReactionDiffusion(pp.io.generate("square", n), **given)


def written(folder: Path, accept: float = 0.05, lift: str = "true") -> Path:
    path = folder / "case.toml"
    path.write_text(CASE.replace("ACCEPT", str(accept)).replace("LIFT", lift), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("accept", "word", "code"), [(0.05, "within", 0), (1e-4, "beyond", 4), (1.02e-3, "undecided", 1)]
)
def test_each_answer_is_reached_from_a_case_file(tmp_path, accept, word, code, capsys):
    assert main(["certify", str(written(tmp_path, accept)), "--out", str(tmp_path / "out"), "--quiet"]) == code
    data = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    row, middle = data["queries"]
    assert (row["kind"], row["value"], row["verdicts"]["accept"]) == ("everywhere", 0.0, word)
    assert row["lower"] <= 1e-3 <= row["upper"]
    assert (row["route"], row["band"]["cells"]) == ("residual, no solve", 128)
    assert row["band"]["largest"] <= row["upper"]
    assert "route" not in middle
    with (tmp_path / "out" / "certificate.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [r["route"] for r in rows] == ["residual, no solve", ""]


def test_the_band_is_drawn_and_written(tmp_path):
    main(["certify", str(written(tmp_path)), "--out", str(tmp_path / "out"), "--quiet"])
    vtu = (tmp_path / "out" / "field.vtu").read_text(encoding="utf-8")
    assert re.search(r"<CellData>\s*<DataArray[^>]*proved bound of the error", vtu)
    assert "proved bound of the error" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_check_tells_of_a_lift_s_conditions(tmp_path, capsys):
    assert main(["check", str(written(tmp_path))]) == 0
    assert "dirichlet on 'boundary'" in capsys.readouterr().out


def test_queries_add_and_points_raise_the_lower_end():
    p = problem()
    alone = pp.certify(p, f"1.001*{SINES}", p.everywhere(), lift=True)
    both = pp.certify(p, f"1.001*{SINES}", p.points([[0.5, 0.5]], ["middle"]) + p.everywhere(), lift=True)
    assert both.names == ("middle", "everywhere")
    assert alone.lower[0] < both.lower[1] <= 1e-3 * (1 + 1e-9)
    assert both.upper[1] == pytest.approx(alone.upper[0])
    assert both.radius[0] < 1e-4


def test_the_certificate_says_what_is_judged():
    p = problem()
    values = lambda X: np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1])  # noqa: E731
    kept, taken = pp.certify(p, SINES, p.everywhere(), lift=True), pp.certify(p, values, p.everywhere())
    assert any("prediction itself" in note for note in kept.notes)
    assert any("values at the nodes" in note for note in taken.notes)
    assert "everywhere" in kept._repr_html_()
    assert taken.to_frame().loc["everywhere", "upper"] == taken.upper[0]


def test_a_report_from_python_draws_the_band(tmp_path):
    p = problem()
    c = pp.certify(p, SINES, p.everywhere(), lift=True)
    assert "proved bound" in c.to_html(tmp_path / "report.html", mesh=p.mesh).read_text(encoding="utf-8")


def test_refining_to_a_tolerance_narrows_the_largest_error():
    p = problem(4)
    values = lambda X: np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1])  # noqa: E731
    found = pp.certify_to(p, values, p.everywhere(), 0.2)
    assert found.reached
    assert found.certificate.radius[0] <= 0.2


def test_the_service_judges_every_field_by_itself(tmp_path):
    engine = engine_of_case(build(read_case(written(tmp_path, lift="false"), [])))
    p = problem()
    exact = np.sin(np.pi * p.nodes.points[:, 0]) * np.sin(np.pi * p.nodes.points[:, 1])
    near, far = (engine.answer(exact + off, None, None) for off in (0.0, 1.0))
    assert near.upper[0] < 0.6 < far.lower[0]
    with pytest.raises(pp.InputError, match="whole field"):
        engine.answer(None, np.zeros(2), None)
    with pytest.raises(pp.InputError, match="leave lift out"):
        engine_of_case(build(read_case(written(tmp_path), [])))


def bundled(folder: Path, prediction: object, *, degree: int = 1, lift: bool = True, **changes: float) -> int:
    """The checker's exit code for a bundle, after changes of numbers of the first query."""
    p = problem(degree=degree)
    asked = p.everywhere() + p.points([[0.5, 0.5]], ["middle"])
    certificate = pp.certify(p, prediction, asked, lift=lift)
    made = pp.write_bundle(folder / "bundle", certificate, p, prediction, asked)
    if changes:
        path = made / "certificate.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        row = data["queries"][0]
        row["radius"] *= changes["radius"]
        row["terms"]["transfer"] = row["radius"] - row["terms"]["rounding"]
        row["center"] = row["radius"] if row["lower"] < 1e-9 else row["center"]
        row["lower"] = math.nextafter(row["center"] - row["radius"], -math.inf)
        row["upper"] = math.nextafter(row["center"] + row["radius"], math.inf)
        row["value_radius"] = abs(row["value"] - row["center"]) + row["radius"]
        row["raw_radius"] = None if row["raw"] is None else row["value_radius"]
        path.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")
        sealed(made)
    return verified(made)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("lift", [True, False])
def test_the_checker_proves_the_largest_error_again(tmp_path, degree, lift, capsys):
    values = problem(degree=degree).nodes.points
    nodal = np.sin(np.pi * values[:, 0]) * np.sin(np.pi * values[:, 1])
    nodal[np.any((values == 0.0) | (values == 1.0), axis=1)] = 0.0
    assert bundled(tmp_path, f"1.001*{SINES}+0.01*x" if lift else nodal, degree=degree, lift=lift) == 0
    assert "everywhere: proved" in capsys.readouterr().out


@pytest.mark.parametrize("lift", [True, False])
def test_the_checker_does_not_prove_less(tmp_path, lift, capsys):
    nodal = np.zeros(81)
    assert bundled(tmp_path, f"1.001*{SINES}" if lift else nodal, lift=lift, radius=0.9) == 1
    assert "is claimed" in capsys.readouterr().out


def test_a_bundle_of_what_the_checker_cannot_prove_is_refused(tmp_path):
    p = problem(source=1.0, dirichlet={"bottom": 0.0, "top": 0.0})
    c = pp.certify(p, "0", p.everywhere(), lift=True)
    assert c.details["routes"] == {"everywhere": "barrier"}
    with pytest.raises(pp.InputError, match=r"not with periodic pairs.*barriers.*is by 'barrier'"):
        pp.write_bundle(tmp_path / "bundle", c, p, "0", p.everywhere())


def test_refusals_name_the_condition():
    p = problem()
    with pytest.raises(pp.InputError, match="PDE's own solution"):
        pp.certify(p, p.space.U0, p.everywhere(), target="discrete")
    with pytest.raises(pp.InputError, match="PDE's own solution"):
        pp.Exact().prepare(p.system, p.everywhere())
    with pytest.raises(pp.InputError, match="lift=True"):
        pp.certify(p, p.space.U0, p.everywhere(solve=False))
    mesh = pp.io.generate("lshape", 3)
    channel = pp.fem.ReactionDiffusion(mesh, source=1.0, dirichlet={"reentrant": 0.0}, neumann={"left": 1.0})
    with pytest.raises(pp.InputError, match="at most one across each axis"):
        pp.certify(channel, channel.space.U0, channel.everywhere())


@pytest.mark.parametrize(
    ("kind", "n", "why"),
    [("cube", 2, "about 100 factorizations of linear elements are forecast"), ("lshape", 3, "did not prove it")],
)
def test_beyond_its_budget_the_mesh_constant_is_left_out_and_the_certificate_says_why(kind, n, why, monkeypatch):
    """Level sets alone are as sound, and wider; with thorough=True the band is there again."""
    p = pp.fem.ReactionDiffusion(pp.io.generate(kind, n), source=1.0, degree=2)
    if kind == "lshape":
        monkeypatch.setattr(mesh_constant, "bordered_bound", lambda *given: -math.inf)
    cheap = pp.certify(p, p.space.U0, p.everywhere())
    assert cheap.details["routes"] == {"everywhere": "level sets"}
    assert any(why in note and "thorough=True" in note for note in cheap.notes)
    full = pp.certify(p, p.space.U0, p.everywhere(thorough=True))
    assert not any("factorization" in note for note in full.notes)
    assert np.all(full.band <= cheap.band)
    if kind == "lshape":
        assert np.any(full.band < cheap.band)
    assert pp.certify(p, p.space.U0, p.l2_error()).upper[0] < math.inf  # has no other way


def test_the_mesh_constant_is_forecast_by_size_and_dimension():
    of = lambda kind, n: mesh_constant.forecast(Topology.of(pp.io.generate(kind, n)))  # noqa: E731
    assert of("interval", 4) == 0.0
    assert of("square", 4) <= mesh_constant.MOST < of("cube", 2)
    assert of("square", 180) > mesh_constant.MOST
    square = pp.fem.ReactionDiffusion(pp.io.generate("square", 180), source=1.0)  # convex: a closed form
    assert square.continuum(Topology.of(square.mesh)).mesh_constant(thorough=False).eigenvalue == 0.0


def test_there_is_no_mesh_constant_where_coefficients_vary_or_boundaries_are_curved():
    varied = problem(4, diffusion="1 + x")
    disc = pp.fem.ReactionDiffusion(
        pp.io.generate("disc", 4), source=1.0, geometry={"boundary": pp.Circle((0.0, 0.0), 1.0)}
    )
    for p in (varied, disc):
        model = p.continuum(Topology.of(p.mesh))
        for thorough in (False, True):
            assert "must be constant on each cell" in model.mesh_constant(thorough=thorough)


def test_a_barrier_that_would_not_count_is_refused():
    """Not left out in silence: without a lift, with convection, with Robin groups."""
    mesh = pp.io.generate("square", 4)
    plain = pp.fem.ReactionDiffusion(mesh, source=1.0)
    asked = {"barrier": "x*(1 - x)"}
    with pytest.raises(pp.InputError, match=r"barrier: .* lift=True"):
        pp.certify(plain, plain.space.U0, plain.everywhere(**asked))
    flow = pp.fem.ReactionDiffusion(mesh, source=1.0, convection=(1.0, 0.0))
    for solve in (True, False):
        with pytest.raises(pp.InputError, match=r"barrier: .* without convection"):
            pp.certify(flow, "x*(1 - x)*y*(1 - y)", flow.everywhere(solve=solve, **asked), lift=True)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"accept": math.inf}, "accept"),
        ({"accept": math.nan}, "accept"),
        ({"limit": {"below": math.inf}}, "limit.below"),
        ({"limit": {"above": math.nan}}, "limit.above"),
    ],
)
def test_verdicts_need_finite_numbers(given, word):
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 2), source=1.0)
    with pytest.raises(pp.InputError, match=word):
        pp.certify(p, p.space.U0, p.everywhere(), **given)


def test_the_query_without_a_theorem_is_named():
    mesh = pp.io.generate("square", 4)
    p = pp.fem.ReactionDiffusion(mesh, 1.0, "1+y", periodic={"left": "right"}, dirichlet={"bottom": 0.0, "top": 0.0})
    with pytest.raises(pp.InputError, match="query 'everywhere'"):
        pp.certify(p, p.space.U0, p.l2_error() + p.everywhere())
