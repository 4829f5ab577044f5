"""The studies: every claim of the paper's experiment map on quick forms and on stored full results; the machinery."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import pinnpoint_paper as reproduce
from pinnpoint.base.errors import InputError
from pinnpoint.cli.main import main
from pinnpoint_paper import STUDIES, Check, Row, Study, find, paper, run
from pinnpoint_paper.bracket_given import on_simjeb
from pinnpoint_paper.results import FILE, SCHEMA, UNUSED, _computing, plain, read, write
from tests import ROOT
from tests.support.written import Bracket

STORED = ROOT / "studies" / "results"
NAMES = [study.name for study in STUDIES]
BY_NAME = {study.name: study for study in STUDIES}


def small(calls: list[str], *, holds: bool = True) -> Study:
    """A study of two parts that says when it computes."""

    def part(name):
        def compute():
            calls.append(name)
            return {"value": np.float64(len(calls)), "list": np.arange(3)}

        return compute

    return Study(
        "small",
        "A small one",
        "About <nothing>.",
        "nowhere",
        lambda form: {f"{form} a": part("a"), f"{form} b": part("b")},
        lambda results: [Check("it holds", np.bool_(holds), str(len(results)))],
        lambda results: [Row("how many", str(len(results)), "points-slope", "none")],
        lambda results: [],
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_quick_form_bears_out_every_claim(name, tmp_path):
    (outcome,) = run([BY_NAME[name]], tmp_path, "quick", figures=False)
    failed = [f"{c.claim}: {c.seen}" for c in outcome.checks if not c.holds]
    assert not failed
    data = json.loads((tmp_path / name / FILE).read_text(encoding="utf-8"))
    assert data["schema"] == SCHEMA
    assert data["complete"] is True
    assert [c["holds"] for c in data["claims"]] == [True] * len(outcome.checks)
    assert all(part["seconds"] >= 0.0 for part in data["parts"].values())
    for row in data["rows"]:
        assert row["paper"] == "" or row["paper"] in paper.reported()
        assert row["ours"]


def test_every_claim_of_the_experiment_map_has_a_study():
    answered = {claim for study in STUDIES for claim in study.claims}
    assert answered == set(paper.experiment_map())
    assert len(paper.experiment_map()) == 8


def test_reported_numbers_are_in_their_own_words():
    for name, what in paper.reported().items():
        assert what.where, name
        if what.value is not None:
            said = what.says.replace(",", "").replace("−", "-")
            numbers = [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", said)]
            assert any(np.isclose(what.value, x * scale) for x in numbers for scale in (1.0, 0.01)), name


def stored():
    return [name for name in NAMES if (STORED / name / FILE).exists()]  # other programs store theirs beside


def test_every_study_has_a_stored_full_result():
    assert stored() == NAMES


@pytest.mark.parametrize("name", stored())
def test_stored_full_results_bear_out_every_claim(name):
    data = read(STORED / name / FILE)
    assert data is not None
    assert data["form"] == "full"
    assert data["complete"]
    failed = [f"{c.claim}: {c.seen}" for c in BY_NAME[name].checks(data["parts"]) if not c.holds]
    assert not failed


def test_checks_can_fail():
    """A number changed by hand is noticed."""
    results = {name: read(STORED / name / FILE) for name in stored()}
    spoiled = {
        "compatibility": lambda p: p["planted"]["rows"][3].update(raw_radius=[0.01, 0.01]),
        "linear-calibration": lambda p: p["8 cells, seed 0"].update(target_gap=[1e-9]),
        "transfer-1d": lambda p: p["8 cells"].update(held=[False]),
        "point-queries-3d": lambda p: p["8 cells"].update(gap=[1e-9]),
        "localization": lambda p: p["dumbbell"].update(mixed=p["dumbbell"]["tail"]),
        "randomized": lambda p: p["16 probes"].update(covered=0),
        "nonlinear-root": lambda p: p["31 nodes, seed 0"].update(radius=[1e-9] * 8),
        "nonlinear-stationary": lambda p: p["31 nodes, seed 0"].update(radius=[1e-9] * 8),
        "inexact": lambda p: p["primal"].update(slack=[[0.0]]),
        "raw-corrected": lambda p: p["angle"].update(gap=1.0),
        "beyond": lambda p: p["rounding"].update(enclosed=1),
        "scoreboard": lambda p: p["PINNacle HeatND"].update(held=False),
        "bracket": lambda p: p["state"].update(gap=[1e-3]),
        "bracket-family": lambda p: p["family"].update(coverage=0.999),
        "amortized": lambda p: p["network, rank 3"].update(held=0.999),
    }
    for name, data in results.items():
        spoiled[name](data["parts"])
        assert not all(c.holds for c in BY_NAME[name].checks(data["parts"])), name


def test_results_are_resumed_and_refreshed(tmp_path):
    calls: list[str] = []
    study = small(calls)
    run([study], tmp_path, "quick", figures=False)
    assert calls == ["a", "b"]
    (again,) = run([study], tmp_path, "quick", figures=False)
    assert (calls, again.resumed) == (["a", "b"], 2)
    path = tmp_path / "small" / FILE
    data = json.loads(path.read_text())
    del data["parts"]["quick b"]  # as if it had been stopped in between
    write(path, data)
    run([study], tmp_path, "quick", figures=False)
    assert calls == ["a", "b", "b"]
    write(path, data | {"code": "other"})
    run([study], tmp_path, "quick", figures=False)
    assert calls == ["a", "b", "b", "a", "b"]
    run([study], tmp_path, "full", figures=False)
    run([study], tmp_path, "full", fresh=True, figures=False)
    assert len(calls) == 9
    run([study], tmp_path, "full", redraw=True, figures=False)
    assert len(calls) == 9
    with pytest.raises(InputError, match="does not hold all parts"):
        run([study], tmp_path / "elsewhere", "full", redraw=True, figures=False)


def test_a_stopped_part_leaves_the_others(tmp_path):
    calls: list[str] = []
    study = small(calls)

    def stop():
        raise KeyboardInterrupt

    broken = Study(
        *(study.name, study.title, study.about, study.where),
        lambda form: {f"{form} a": study.parts(form)[f"{form} a"], f"{form} b": stop},
        study.checks,
        study.rows,
        study.draw,
    )
    with pytest.raises(KeyboardInterrupt):
        run([broken], tmp_path, "quick", figures=False)
    assert read(tmp_path / "small" / FILE)["complete"] is False
    run([study], tmp_path, "quick", figures=False)
    assert calls == ["a", "b"]
    assert not list(tmp_path.rglob("*.part"))


def test_plain_numbers_only():
    assert plain({"a": np.array([1.0, 2.0]), 3: (np.int64(4), np.bool_(True))}) == {"a": [1.0, 2.0], "3": [4, True]}
    with pytest.raises(Exception, match="nan"):
        plain({"a": [np.nan]})


def test_names_are_checked(tmp_path, capsys):
    assert [s.name for s in find(["transfer-1d", "compatibility"])] == ["compatibility", "transfer-1d"]
    with pytest.raises(InputError, match="did you mean 'localization'"):
        find(["localisation"])
    assert main(["reproduce", "nothing-such", "--out", str(tmp_path / "out")]) == 2
    assert main(["reproduce", "--all", "beyond", "--out", str(tmp_path / "out")]) == 2
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "beyond", "--out", str(tmp_path / "file")]) == 2
    assert not (tmp_path / "out").exists()
    assert main(["reproduce"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES)


@pytest.fixture(scope="module")
def simjeb(tmp_path_factory):
    """Files as SimJEB ships them, of a coarse bracket with the number 7."""
    place = tmp_path_factory.mktemp("simjeb")
    Bracket(scale=2).write(place)
    return place


def test_bracket_studies_run_on_files_of_simjeb(simjeb, tmp_path):
    out = tmp_path / "out"
    asked = ["reproduce", "bracket", "bracket-family", "amortized", "--quick", "--no-figures", "--quiet"]
    asked += ["--out", str(out)]
    assert main([*asked, "--simjeb", str(simjeb), "--bracket", "7"]) == 0
    for name in ("bracket", "bracket-family", "amortized"):
        data = read(out / name / FILE)
        assert data["subject"].startswith("SimJEB 7, files ")
        told = json.dumps([data["about"], data["rows"]], ensure_ascii=False)
        assert "SimJEB's bracket 7, from its own files" in told
        assert "The bracket is SimJEB's number 7, read from its own files." in told
        assert "generated" not in told
    part = read(out / "bracket" / FILE)["parts"]["state"]
    made = Bracket(scale=2)
    assert part["real"] is True
    released = made.released()["vertical"]
    np.testing.assert_allclose(part["target"][0], released[made.pin, 2].mean(), rtol=0.2)  # by nodes, not by area
    assert max(np.abs(part["released_bias"])) < 1e-6 * np.abs(released).max()
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "SimJEB&#x27;s number 7" in text
    assert "not SimJEB&#x27;s number 148" not in text
    # results on other files, or on the generated part, are not resumed
    deck = simjeb / "7.fem"
    deck.write_text(deck.read_text().replace("$ OptiStruct", "$ OptiStruct, again"))
    studies = [
        on_simjeb(BY_NAME[name], folder, "7") for name, folder in (("bracket", simjeb), ("localization", simjeb))
    ]
    assert studies[0].subject != read(out / "bracket" / FILE)["subject"]
    assert studies[1] is BY_NAME["localization"]
    run([BY_NAME["bracket"]], out, "quick", redraw=True, figures=False)
    assert "read from its own files" in read(out / "bracket" / FILE)["about"]


def test_folders_without_the_bracket_are_refused(simjeb, tmp_path, capsys):
    asked = ["reproduce", "--quick", "--out", str(tmp_path / "out"), "--simjeb"]
    assert main([*asked, str(simjeb), "bracket"]) == 2
    assert "holds no '148.fem'" in capsys.readouterr().err
    assert main([*asked, str(simjeb), "--bracket", "7", "localization"]) == 2
    assert "none of the chosen studies is on a bracket" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_digests_follow_numbers_and_not_figures():
    module = "from pinnpoint_paper.plots import label\nN = {n}\ndef _one():\n    return N  # {c}\n"
    module += "def _panel(p):\n    label(p, '{f}')\ndef _rows(results):\n    return '{f}'\n"
    first = _computing(module.format(n=1, c="a", f="x").encode())
    assert first == _computing(module.format(n=1, c="b", f="y").encode())
    assert first != _computing(module.format(n=2, c="a", f="x").encode())


def test_studies_use_none_of_what_the_digest_leaves_out():
    root = Path(reproduce.__file__).parent
    for path in root.glob("*.py"):
        found = re.findall(r"^\s*(?:from|import) pinnpoint\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not set(found) & set(UNUSED), path.name


class Links(HTMLParser):
    """What a page loads and where it links to."""

    def __init__(self):
        super().__init__()
        self.loads, self.links, self.ids = [], [], set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "src" in given:
            self.loads.append(given["src"])
        if tag == "a":
            self.links.append(given["href"])
        if "id" in given:
            self.ids.add(given["id"])


@pytest.mark.optional
@pytest.mark.slow
def test_command_writes_figures_and_an_offline_page(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    assert main(["reproduce", "localization", "transfer-1d", "--quick", "--out", str(out), "--quiet"]) == 0
    assert "5 of 5 claims hold" in capsys.readouterr().out
    for name in ("localization/dumbbell", "transfer-1d/transfer"):
        assert (out / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert "<svg" in (out / f"{name}.svg").read_text(encoding="utf-8")
    page = Links()
    text = (out / "index.html").read_text(encoding="utf-8")
    page.feed(text)
    assert len(page.loads) == 2
    assert all(src.startswith("data:image/png;base64,") for src in page.loads)
    assert "http" not in re.sub(r"data:[^\"]*", "", text)
    for link in page.links:
        assert link[1:] in page.ids if link.startswith("#") else (out / link).exists()
    assert "does not hold" not in text
    assert "[sec. exp-localization, fig. localization-toy]" in text


def test_a_claim_that_does_not_hold_is_told(tmp_path, capsys, monkeypatch):
    study = small([], holds=False)
    monkeypatch.setattr("pinnpoint_paper.STUDIES", (study,))
    monkeypatch.setattr("pinnpoint_paper.page.STUDIES", (study,))
    arguments = ["reproduce", "--all", "--quick", "--no-figures", "--out", str(tmp_path), "--quiet"]
    assert main(arguments) == 1
    assert "does not hold: it holds" in capsys.readouterr().out
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "does not hold" in text
    assert "About &lt;nothing&gt;." in text


@pytest.mark.optional
def test_every_figure_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for name in stored():
        write(tmp_path / name / FILE, read(STORED / name / FILE))
    outcomes = run([BY_NAME[name] for name in stored()], tmp_path, "full", redraw=True)
    assert len(list(tmp_path.rglob("*.png"))) >= len(outcomes)
