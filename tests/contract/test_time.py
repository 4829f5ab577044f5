"""Case files of problems in time: what is read and refused, what is written, exit codes, the report's film."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pinnpoint.cases.read import read_case
from pinnpoint.cli.main import main
from pinnpoint.io.fields import read_field
from tests.support.browser import WEBGL, Browser, executable

PLATE = """title = "Plate"
[mesh]
generate = "square"
cells = 6
[time]
end = 0.1
steps = 6
[problem]
kind = "parabolic"
initial = "sin(pi*x)*sin(pi*y)"
source = "t*x"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "exp(-2*pi**2*t)*sin(pi*x)*sin(pi*y)"
[[query]]
name = "early"
at = [0.4, 0.55]
time = 0.02
[[query]]
name = "late"
at = [0.4, 0.55]
[[query]]
name = "mean"
kind = "mean"
time = 0.05
[[query]]
name = "around"
kind = "average"
at = [0.6, 0.5]
spread = 0.1
[certificate]
target = "discrete"
"""


def changed(*pairs: tuple[str, str]) -> str:
    text = PLATE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("time")
    (folder / "plate.toml").write_text(PLATE, encoding="utf-8")
    assert main(["certify", str(folder / "plate.toml"), "--out", str(folder / "out"), "--quiet"]) == 0
    return folder


@pytest.mark.parametrize(
    ("words", "pairs"),
    [
        ("time: is missing", [("[time]\nend = 0.1\nsteps = 6\n", "")]),
        ("time: give end and steps, or nodes", [("steps = 6\n", "")]),
        ("time.steps: give it or nodes", [("steps = 6\n", "steps = 6\nnodes = [0.0, 0.1]\n")]),
        ("time.nodes.1: must be", [("end = 0.1\nsteps = 6\n", 'nodes = [0.0, "a"]\n')]),
        ("time.nodes: must be a list", [("end = 0.1\nsteps = 6\n", "nodes = 3\n")]),
        ("time.grade: 'middle' is not known", [("steps = 6\n", 'steps = 6\ngrade = "middle"\n')]),
        ("time.grade: only with steps", [("end = 0.1\nsteps = 6\n", 'nodes = [0.0, 0.1]\ngrade = "end"\n')]),
        ("time.schema", [("steps = 6\n", 'steps = 6\nschema = "cg1"\n')]),
        ("query 'early': time: must be > 0", [("time = 0.02", "time = -1.0")]),
        ("query 'around': radius: give radius", [("spread = 0.1", "spread = 0.1\nradius = 0.1")]),
        ("query 'early': spread: is for averages", [("time = 0.02", "time = 0.02\nspread = 0.1")]),
        ("does not fit kind = 'parabolic'", [('kind = "mean"', 'kind = "maximum"')]),
        (
            "problem.initial: only for kind = 'parabolic'",
            [('kind = "parabolic"', 'kind = "reaction-diffusion"'), ("[time]\nend = 0.1\nsteps = 6\n", "")],
        ),
        (
            "time: does not belong to kind = 'reaction-diffusion'",
            [
                ('kind = "parabolic"', 'kind = "reaction-diffusion"'),
                ('initial = "sin(pi*x)*sin(pi*y)"\n', ""),
                ('source = "t*x"', 'source = "x"'),
            ],
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_its_key(words, pairs, tmp_path, capsys):
    (tmp_path / "plate.toml").write_text(changed(*pairs), encoding="utf-8")
    assert main(["check", str(tmp_path / "plate.toml")]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "pairs"),
    [
        ("query 'early': time: must be after 0", [("time = 0.02", "time = 0.2")]),
        ("time.damped: must be at most 6", [("steps = 6\n", "steps = 6\ndamped = 7\n")]),
        ("'z' is not known", [('source = "t*x"', 'source = "t*z"')]),
        ("prediction: must have shape", [('expression = "exp(-2*pi**2*t)*sin(pi*x)*sin(pi*y)"', 'file = "a.npz"')]),
    ],
)
def test_what_does_not_fit_the_grid_or_the_mesh_is_refused_before_anything_is_written(words, pairs, tmp_path, capsys):
    np.savez(tmp_path / "a.npz", values=np.zeros((3, 4)))
    (tmp_path / "plate.toml").write_text(changed(*pairs), encoding="utf-8")
    assert main(["certify", str(tmp_path / "plate.toml"), "--out", str(tmp_path / "out")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_case_is_told_with_its_times(written):
    case = read_case(written / "plate.toml").to_dict()
    assert case["time"] == {"end": 0.1, "steps": 6, "grade": "end", "scheme": "cg1", "damped": 0}
    assert "time" not in case["queries"][1]


def test_every_query_has_its_time_in_json_and_csv(written):
    data = json.loads((written / "out" / "certificate.json").read_text("utf-8"))
    assert [row["time"] for row in data["queries"]] == [0.02, 0.1, 0.05, 0.1]
    assert data["time"]["steps"] == 6
    assert data["queries"][3]["spread"] == 0.1
    with (written / "out" / "certificate.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["time"]) for row in rows] == [0.02, 0.1, 0.05, 0.1]


def test_the_series_lists_one_file_for_each_time_and_the_last_is_field_vtu(written):
    out = written / "out"
    sets = ET.parse(out / "field.pvd").getroot().findall(".//DataSet")
    assert len(sets) == 7
    times = [float(one.get("timestep")) for one in sets]
    assert times[0] == 0.0
    assert times[-1] == 0.1
    last = read_field(out / sets[-1].get("file"), "corrected").values
    assert np.array_equal(last, read_field(out / "field.vtu", "corrected").values)
    first = read_field(out / sets[0].get("file"), "corrected")
    assert np.abs(first.values - np.prod(np.sin(np.pi * first.points[:, :2]), axis=1)).max() < 0.1


def test_a_second_run_replaces_the_series_and_foreign_files_are_left_alone(written, tmp_path, capsys):
    out = tmp_path / "out"
    run = ["certify", str(written / "plate.toml"), "--out", str(out), "--quiet"]
    assert main([*run, "--set", "time.steps=9"]) == 0
    assert main(run) == 0
    assert len(list((out / "field").glob("*.vtu"))) == 7
    (out / "field" / "mine.txt").write_text("mine")
    assert main(run) == 2
    assert "'mine.txt' in it belongs to no series" in capsys.readouterr().err


def test_check_tells_the_grid_and_the_memory(written, capsys):
    assert main(["check", str(written / "plate.toml")]) == 0
    out = capsys.readouterr().out
    assert "time: 0 to 0.1 in 6 steps of 0.00278 to 0.0306, cg1" in out
    assert "unknowns: 150, 25 at each of 6 levels" in out
    assert "predicted memory: 0.1" in out


def test_averages_over_times_are_asked_for_in_a_case(tmp_path, capsys):
    """The mean over the domain from 0.05 to 0.1 of a solution that is known, 4/π² e^{−2π²t} averaged over time."""
    asked = '[[query]]\nname = "later"\nkind = "mean"\nsince = 0.05\n'
    asked += '[[query]]\nname = "block"\nkind = "cells"\nat = [0.5, 0.5]\nside = 0.5\nsince = 0.05\n'
    case = PLATE[: PLATE.index("[[query]]")] + asked
    (tmp_path / "plate.toml").write_text(case.replace('source = "t*x"', 'source = "0"'), encoding="utf-8")
    assert main(["certify", str(tmp_path / "plate.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    row, block = json.loads((tmp_path / "out" / "certificate.json").read_text("utf-8"))["queries"]
    rate = 2.0 * np.pi**2
    truth = 4.0 / np.pi**2 * (np.exp(-0.05 * rate) - np.exp(-0.1 * rate)) / (0.05 * rate)
    assert row["lower"] <= truth <= row["upper"]
    assert row["since"] == 0.05
    assert row["radius"] < 0.1
    assert block["lower"] <= 2.0 * truth <= block["upper"]  # (2√2/π)² is twice 4/π²
    assert (block["at"], block["side"], block["since"]) == ([0.5, 0.5], 0.5, 0.05)
    (tmp_path / "plate.toml").write_text(case.replace('kind = "mean"', "at = [0.5, 0.5]"), encoding="utf-8")
    assert main(["check", str(tmp_path / "plate.toml")]) == 2
    assert "since: is for averages over balls, cells and the domain" in capsys.readouterr().err


def test_exit_codes_follow_tolerances_and_verdicts(written):
    run = ["certify", str(written / "plate.toml"), "--quiet", "--out", str(written / "codes")]
    assert main([*run, "--set", "query.0.accept=0.1"]) == 0
    assert main([*run, "--set", "query.0.tolerance=1e-30"]) == 1
    assert main([*run, "--set", "query.0.accept=1e-9"]) == 4


def test_the_report_has_a_slider_over_times_and_a_band_at_a_place_asked_twice(written):
    page = (written / "out" / "report.html").read_text("utf-8")
    assert ">Over time<" in page
    assert 'class="band"' in page
    view = json.loads(page.split('id="view-data">')[1].split("</script>")[0])
    times = view["view"]["times"]
    assert times[0] == "t = 0"
    assert {"t = 0.02", "t = 0.1"} <= set(times)
    assert [query["load"] for query in view["queries"]] == ["t = 0.02", "t = 0.1", "t = 0.05", "t = 0.1"]
    fields = view["view"]["fields"]
    assert len(fields) == 3 * len(times)
    assert len({tuple(f["range"]) for f in fields if f["name"] == "corrected"}) == 1


def test_a_rods_report_has_one_plot_for_each_moment(tmp_path):
    text = changed(
        ('"square"', '"interval"'),
        ('initial = "sin(pi*x)*sin(pi*y)"', 'initial = "sin(pi*x)"'),
        ('"exp(-2*pi**2*t)*sin(pi*x)*sin(pi*y)"', '"exp(-10*t)*sin(pi*x)"'),
        ("[0.4, 0.55]", "[0.4]"),
        ("[0.4, 0.55]", "[0.4]"),
        ("[0.6, 0.5]", "[0.6]"),
    )
    (tmp_path / "rod.toml").write_text(text, encoding="utf-8")
    assert main(["certify", str(tmp_path / "rod.toml"), "--out", str(tmp_path / "rod"), "--quiet"]) == 0
    page = (tmp_path / "rod" / "report.html").read_text("utf-8")
    count = page.count('class="moment"')
    assert count == page.count(' data-moment="')
    assert page.count(' hidden><svg class="plot"') == count - 1
    assert 'id="moments"' in page


@pytest.mark.browser
@pytest.mark.skipif(executable() is None, reason="needs Chromium")
def test_the_slider_moves_through_the_times_and_a_query_takes_it_to_its_own(written):
    browser = Browser(*WEBGL)
    try:
        browser.open(written / "out" / "report.html")
        assert browser.run("document.documentElement.dataset.viewer") == "webgl"
        assert browser.run("document.querySelector('.when').textContent") == "t = 0.1"
        browser.run(
            "(() => { const i = document.querySelector('input[type=range]'); i.value = 0; "
            "i.dispatchEvent(new Event('input')); })()"
        )
        assert browser.run("document.querySelector('.when').textContent") == "t = 0"
        browser.click("#q-0 .pick")
        assert browser.run("document.querySelector('.when').textContent") == "t = 0.02"
        thrown = [e for e in browser.events if e.get("method") == "Runtime.exceptionThrown"]
        assert not thrown
    finally:
        browser.close()
