"""The documentation: every page runs and prints what it shows, names exist, tables are those of the stored results."""

from __future__ import annotations

import importlib
import json
import math
import re
import runpy
import subprocess
import sys

import pytest

import pages
import pinnpoint as pp
import tables
from tests import ROOT

NAMES = [str(path.relative_to(ROOT)) for path in pages.pages()]


@pytest.mark.parametrize("name", NAMES)
def test_page_runs_and_prints_what_it_shows(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    drawn = name.endswith("gmsh.md")
    if drawn:
        gmsh = pytest.importorskip("gmsh", reason="pip install 'pinnpoint[mesh]'", exc_type=(ImportError, OSError))
    path = ROOT / name
    printed = pages.run(path, alone=False)  # blocks that need more stand alone: tests/unit/models/test_predictors.py
    assert any(p is not None for p in printed) or name != "README.md"
    if drawn and not gmsh.__version__.startswith("4.15"):
        return  # another mesh, other numbers
    for block, said in pages.outputs(path, printed):
        assert pages.agree(block.text, said), f"line {block.line}: shows\n{block.text}\nand printed\n{said}"


def test_outputs_follow_what_printed_them():
    for name in NAMES:
        found = pages.blocks(ROOT / name)
        for before, block in zip([None, *found], found, strict=False):
            if block.language == "output":
                assert before is not None
                assert before.language in ("python", "sh", "console")
                assert block.text.strip()


def test_agreement_is_strict_where_it_should_be():
    shown = "a 1.23 ± 1.1e-16\n...\nend\n"
    assert pages.agree(shown, "a 1.231 ± 2.0e-16\nanything\nend\n")
    for said in ("a 1.3 ± 1.1e-16\nend\n", "b 1.23 ± 1.1e-16\nend\n", "a 1.23 ± 1.1e-3\nend\n", "a 1.23 ± 1.1e-16\n"):
        assert not pages.agree(shown, said)


def test_last_bits_beside_a_value_are_told_by_their_order_of_magnitude():
    shown = "1.7926632697846246e-08 18.929749342264838\n"
    assert pages.agree(shown, "8.1e-08 18.9297493422\n")  # another BLAS
    for said in ("8.1e-06 18.93\n", "1e-11 18.93\n", "1.8e-08 18.2\n"):
        assert not pages.agree(shown, said)
    assert not pages.agree("radius 1.79e-08\n", "radius 8.1e-08\n")  # alone, it is what the line is about
    assert not pages.agree("396396 dofs, radius 1.79e-04\n", "396396 dofs, radius 8.1e-04\n")  # a count is no scale


def test_a_last_digit_may_be_rounded_either_way():
    assert pages.agree("off by 0.0009\n", "off by 0.0010\n")
    for shown, said in (("off by 0.0009", "off by 0.0012"), ("flag 16", "flag 17"), ("off by 0.0000", "off by 0.0002")):
        assert not pages.agree(shown, said)


def test_commands_that_are_not_run_are_checked():
    pages.run_command("make demo")
    pages.run_command("pip install '.[mesh]'")
    for line in ("make nonsense", "pip install '.[nonsense]'", "pinnpoint nonsense", "false"):
        with pytest.raises((RuntimeError, SystemExit)):
            pages.run_command(line)


def found(name):
    """What a dotted name stands for."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for part in parts[k:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


def test_theory_names_code_that_exists():
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    sections = re.split(r"^### ", text, flags=re.M)[1:]
    assert len(sections) > 25
    for section in sections:
        names = re.findall(r"`(pinnpoint\.[\w.]+)`", section.split("*Code:*")[1])
        assert names, section
        for name in names:
            assert found(name) is not None


def test_theory_has_every_theorem_of_the_paper():
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    for label in """finite_collocation_no_point_control admissible_exact_identity admissible_adjoint_green_identity
        admissible_discretization_bias linear_deterministic_interval exact_correction_recovers_discrete_target
        coercive_galerkin_transfer interpolation_transfer_bound coercive_galerkin_certificate_split
        1d_fully_computable_transfer local_tail_projector_certificate nonlinear_root_base_point
        nonlinear_root_discrete_to_continuous nonlinear_root_interval continuous_residual_bound
        rectangular_exact_identity rectangular_adjoint_green_identity minimal_green_representative
        projected_residual_identity rectangular_local_tail_projector_certificate weight_metric_role
        interval_shrinkage_conditions
        inexact_primal_correction inexact_adjoint_certificate newton_kantorovich_verified_ball nonlinear_ls_base_point
        nonlinear_ls_discrete_to_continuous nonlinear_ls_interval simultaneous_sigma_upper_bound""".split():
        assert label in text, label


def test_api_has_every_public_name():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. auto\w+:: (pinnpoint\.[\w.]+)$", text, flags=re.M))
    for name in shown:
        assert found(name) is not None
    assert {f"pinnpoint.{name}" for name in pp.__all__} <= shown
    for module in ("fem", "models", "io.adapters", "campaigns"):
        assert {
            f"pinnpoint.{module}.{name}" for name in importlib.import_module(f"pinnpoint.{module}").__all__
        } <= shown


def test_every_page_is_in_the_site():
    listed = set()
    for path in (ROOT / "docs").rglob("*.md"):
        if "_build" in path.parts:
            continue
        for tree in re.findall(r"^```{toctree}\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.S | re.M):
            entries = [line.strip() for line in tree.splitlines() if line.strip() and not line.startswith(":")]
            pages = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]  # of "Title <page>" the page
            listed |= {(path.parent / f"{page}.md").resolve() for page in pages}
    wanted = {(ROOT / name).resolve() for name in NAMES} - {ROOT / "README.md", ROOT / "docs" / "index.md"}
    assert wanted == listed


@pytest.mark.parametrize("name", sorted(tables.TABLES))
def test_tables_are_those_of_the_stored_results(name):
    assert tables.shown(name) == tables.made(name)


def test_no_page_names_a_machine():
    for name in NAMES:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"/(tmp|home|root|work|Users)/", text), name


@pytest.mark.optional
@pytest.mark.slow
def test_site_builds_without_a_warning(tmp_path):
    for library in ("sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_copybutton"):
        pytest.importorskip(library, reason="pip install 'pinnpoint[docs]'")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    api = (tmp_path / "html" / "api.html").read_text(encoding="utf-8")
    for name in pp.__all__:
        assert f'id="pinnpoint.{name}"' in api, name
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=\"https?://", api)


def test_stored_radii_and_campaigns_are_what_the_pages_say():
    results = ROOT / "studies" / "results"
    rows = json.loads((results / "radii.json").read_text(encoding="utf-8"))
    assert all(row["missed"] == 0 and row["guarantee"] == "deterministic" for row in rows.values())
    assert all(row["radius"] <= row["wanted"] for row in rows.values() if row["wanted"] is not None)
    found = json.loads((results / "varying.json").read_text(encoding="utf-8"))
    for kind in ("scalar", "constant matrix", "matrix", "convection"):
        lines, plane, space = (found[f"{kind}, {d}D"] for d in (1, 2, 3))
        assert lines["cases"] + plane["cases"] >= 500
        assert space["cases"] >= 60
        assert lines["missed"] == plane["missed"] == space["missed"] == 0


def test_the_scoreboard_holds_what_is_known():
    rows = json.loads((ROOT / "studies" / "results" / "scoreboard.json").read_text(encoding="utf-8"))
    narrow = runpy.run_path(str(ROOT / "studies" / "scoreboard.py"))["is_narrow"]
    both = [name for name, row in rows.items() if len(row.get("seeds", {})) == 1 and narrow(name, row)]
    both = [name for name in both if all(narrow(name, found) for found in rows[name]["seeds"].values())]
    assert sum(name.startswith("DeepXDE ") for name in both) >= 20
    assert sum(name.startswith("PINNacle ") for name in rows) >= 9  # and four elliptic ones, studies/pinnacle.py
    assert all(narrow(name, row) for name, row in rows.items())
    losses = [(row["loss"], row["proved at most"]) for row in rows.values()]
    assert len(set(losses)) == len(losses), "one network stands for two tasks"
    for name, row in rows.items():
        assert row["guarantee"] == "deterministic", name
        assert (ROOT / "studies" / "tasks" / row["script"]).exists(), name
        assert row["proved at least"] <= row["proved at most"] < math.inf, name
        assert all(found.get("held", True) for found in row.get("seeds", {}).values()), name
        if "true error" in row:
            assert row["held"], name
            assert row["proved at least"] <= row["true error"] <= row["proved at most"], name
    for script in (ROOT / "studies" / "tasks").glob("*.py"):
        if script.stem != "common":
            assert len(script.read_text(encoding="utf-8").splitlines()) < 60, script.name


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("comparison", marks=pytest.mark.optional),
        "method_costs",
        "pinnacle",
        "radii",
        "operators",
        "reference_steps",
        "cellwise",
        "labels",
        pytest.param("scoreboard", marks=pytest.mark.optional),
    ],
)
def test_studies_behind_the_tables_run_in_their_quick_form(name, tmp_path):
    if name == "comparison":
        pytest.importorskip("pymor", reason="pip install 'pinnpoint[compare]'")
    command = [sys.executable, str(ROOT / "studies" / f"{name}.py"), "--quick", "--out", str(tmp_path / "found.json")]
    if name == "scoreboard":
        pytest.importorskip("deepxde", reason="pip install deepxde")
        pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
    command += (
        ["--only", {"pinnacle": "PoissonInv", "scoreboard": "wave"}[name]] if name in ("pinnacle", "scoreboard") else []
    )
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    if name == "pinnacle":
        right, wrong = (rows[f"PoissonInv, the source of its {what}"] for what in ("a and u", "code"))
        assert right["published, error at most"] < 1e-4
        assert wrong["published, error at least"] > 0.12
    if name == "scoreboard":
        assert list(rows) == ["DeepXDE wave_1d"]
        for row in rows.values():
            assert row["held"]
            assert row["proved at least"] <= row["true error"] <= row["proved at most"]
    if name == "radii":
        assert all(row["missed"] == 0 and row["guarantee"] == "deterministic" for row in rows.values())
        turning = rows["A(x) 1:10, turning by x + 2y"]  # 1.6e-2 where each component of q has the rest of all of them
        assert turning["radius"] < 1.5e-2
    if name == "reference_steps":
        assert all(row["steps"]["3"]["eta"] < 1.1 and row["steps"]["3"]["disjoint"] == 0 for row in rows["cases"])
        assert all(row["as chosen"] < 1.1 for row in rows["contrasts"])
    if name == "cellwise":
        assert all(found["missed"] == 0 for row in rows for found in row["steps"].values())
    if name == "labels":
        assert rows["certified"] == rows["count"]
        for row in rows["rows"].values():  # every label of so coarse a grid is proved wrong
            assert all(0.0 < a < b for a, b in zip(row["mean, at least"], row["mean, at most"], strict=True))
    if name == "operators":
        assert rows["total"]["disjoint"] == 0
        assert rows["total"]["compared"] > 300
        assert rows["total"]["narrow"] > 50
    if name == "comparison":
        assert all(row["ours"]["bounds below the error"] == 0 for row in rows["loads"]["rows"])
        assert rows["operator"]["pymor"]["bounds below the error"] == 0
        assert all(row["proofs that hold"] == 1.0 for row in rows["conformal"]["rows"])
        assert rows["conformal"]["rows"][-1]["bands that hold"] < 0.5
