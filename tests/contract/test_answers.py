"""Each of the three answers of `accept` and of `limit`, for largest errors, extremes and points, through every door."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cases.read import read_case
from pinnpoint.cases.study import build
from pinnpoint.cli.main import main
from pinnpoint.service.engine import engine_of_case

SINES = "sin(pi*x)*sin(pi*y)"
CASE = f"""title = "Answers"
[mesh]
generate = "square"
cells = 6
[problem]
kind = "reaction-diffusion"
source = "2*pi**2*{SINES}"
degree = 2
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "1.05*{SINES}"
[[query]]
name = "worst"
kind = "everywhere"
accept = ACCEPT
[[query]]
name = "top"
kind = "maximum"
limit = LIMIT
[[query]]
name = "middle"
at = [0.3, 0.55]
accept = ACCEPT
limit = LIMIT
"""
CODES = {"within": 0, "undecided": 1, "beyond": 4}


@pytest.fixture(scope="module")
def problem() -> pp.fem.ReactionDiffusion:
    return pp.fem.ReactionDiffusion(pp.io.generate("square", 6), source=f"2*pi**2*{SINES}", degree=2)


@pytest.fixture(scope="module")
def queries(problem):
    return problem.everywhere("worst") + problem.maximum(name="top") + problem.points([[0.3, 0.55]], ["middle"])


@pytest.fixture(scope="module")
def plain(problem, queries):
    """With nothing asked."""
    return pp.certify(problem, network, queries)


def network(X: np.ndarray) -> np.ndarray:
    return 1.05 * np.sin(np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1])


def between(plain, i: int) -> float:
    """A number that the interval has on both sides."""
    return float(plain.center[i])


def asked(plain, word: str) -> tuple[list, list]:
    """What to ask for so that every verdict is that word, or its like."""
    negative, open_ = word == "beyond", word == "undecided"
    p = plain.prediction
    gap = abs(float(p[2] - plain.center[2]))
    known = 1e-3 if negative else 0.2
    accept = [between(plain, 0) if open_ else known, None, gap if open_ else known]
    ends = [None, between(plain, 1), between(plain, 2)]
    limit = [None if end is None else {"below": end if open_ else 0.1 if negative else 2.0} for end in ends]
    return accept, limit


WORDS = {
    "within": [{"accept": "within"}, {"limit": "holds"}, {"accept": "within", "limit": "holds"}],
    "beyond": [{"accept": "beyond"}, {"limit": "violated"}, {"accept": "beyond", "limit": "violated"}],
    "undecided": [{"accept": "undecided"}, {"limit": "undecided"}, {"accept": "undecided", "limit": "undecided"}],
}


@pytest.mark.parametrize("word", WORDS)
def test_in_python(problem, queries, plain, word):
    accept, limit = asked(plain, word)
    assert list(pp.certify(problem, network, queries, accept=accept, limit=limit).verdicts) == WORDS[word]


@pytest.mark.parametrize("word", WORDS)
def test_by_a_monitor(problem, queries, plain, word, tmp_path):
    accept, limit = asked(plain, word)
    with pp.Monitor.of(problem, queries, accept, limit=limit, log=tmp_path / "log.jsonl") as monitor:
        seen = monitor.check(network)
        right = monitor.check(lambda X: np.sin(np.pi * X).prod(axis=1))
    assert list(seen.verdicts) == WORDS[word]
    assert seen.action == ("accept" if word == "within" else "flag")
    assert right.certificate.upper[0] < seen.certificate.upper[0]  # each has its own
    line = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])
    assert line["queries"][0]["verdict"] == word
    assert line["queries"][1]["limit"] == WORDS[word][1]["limit"]


def written(folder: Path, plain, word: str) -> Path:
    accept, limit = asked(plain, word)
    text = CASE
    for a, b in zip(("ACCEPT", "LIMIT", "ACCEPT", "LIMIT"), (accept[0], limit[1], accept[2], limit[2]), strict=True):
        text = text.replace(a, f"{{ below = {b['below']!r} }}" if isinstance(b, dict) else repr(b), 1)
    path = folder / "case.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("word", WORDS)
def test_from_a_case_file(plain, word, tmp_path):
    path, out = written(tmp_path, plain, word), tmp_path / "out"
    assert main(["certify", str(path), "--out", str(out), "--quiet"]) == CODES[word]
    rows = json.loads((out / "certificate.json").read_text(encoding="utf-8"))["queries"]
    assert [row["verdicts"] for row in rows] == WORDS[word]
    with (out / "certificate.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [r["verdict"] for r in table] == [w.get("accept", "") for w in WORDS[word]]
    assert [r["limit"] for r in table] == [w.get("limit", "") for w in WORDS[word]]
    words = {"within": "proved within", "beyond": "proved beyond", "undecided": "undecided"}
    assert words[word] in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", WORDS)
def test_by_a_service(problem, plain, word, tmp_path):
    study = build(read_case(written(tmp_path, plain, word), []))
    engine = engine_of_case(study)
    accept, limit = asked(plain, word)
    with pp.Monitor(engine, accept, limit=limit) as monitor:
        decision = monitor.judge(engine.answer(network(problem.nodes.points), plain.raw, None))
    assert list(decision.verdicts) == WORDS[word]


def test_a_report_calls_the_largest_error_an_error_and_no_value(plain, problem, queries):
    rows = plain.to_dict()["queries"]
    assert [row.get("kind") for row in rows] == ["everywhere", None, None]
    page = plain.report().page
    assert "The prediction’s largest error, over the whole domain, lies between" in page
    assert "At ‘<bdi>worst</bdi>’" not in page
    assert "largest error</span>" in page
    zero = pp.certify(problem, lambda X: np.zeros(len(X)), queries).to_dict()["queries"]
    assert [row.get("kind") for row in zero] == ["everywhere", None, None]  # a largest value of zero is no error
    shown = plain._repr_html_()
    assert "<td><data>–</data></td>" in shown.split("top")[0]
    assert "<td><data>–</data></td>" not in shown.split("top")[1]
