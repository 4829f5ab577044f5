"""Proofs and lines find each other: labels in comments name steps of the proof pages and equations of the paper."""

from __future__ import annotations

import re
import tokenize
from collections import defaultdict
from functools import cache

import pytest

from tests import ROOT

LABEL = re.compile(r"\*\*\(\d+[a-z]\)\*\*")
LETTERED = [page.stem for page in (ROOT / "docs").glob("*.md") if LABEL.search(page.read_text("utf-8"))]
PROOFS = sorted({*LETTERED, "families", "lift"})
STEP = re.compile(rf"\b({'|'.join(PROOFS)})\.md, step (\d+[a-z]?)\b")
LOOSE = re.compile(r"\w+\.md, step|paper, eq\.")
EQUATION = re.compile(r"\bpaper, eq\. ([A-Z\d]+\.\d+)\b")
ROW = re.compile(r"^\| ([A-Z\d]+\.\d+) \|.*\| ([^|]+) \|$", flags=re.M)
BARE = 8
"""Files of transfer, taylor and rounding that may go without a label: tables, loaders and protocols (no facades)."""


@cache
def comments() -> list[tuple[str, int, str]]:
    """File, line and text of every comment."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.COMMENT:
                    found.append((path.relative_to(ROOT).as_posix(), token.start[0], token.string))
    return found


@cache
def labelled() -> dict[tuple[str, str], list[str]]:
    """(page, step) to the places in the code."""
    places = defaultdict(list)
    for file, line, text in comments():
        for page, step in STEP.findall(text):
            places[page, step].append(f"{file}:{line}")
    return dict(places)


def steps(page: str) -> set[str]:
    """The steps of a proof page: **(3b)**, and the numbers of its sections."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return set(re.findall(r"\*\*\((\d+[a-z]?)\)\*\*", text)) | set(re.findall(r"^## (\d+)\. ", text, flags=re.M))


def test_there_are_many_labels():
    assert sum(map(len, labelled().values())) > 300


def test_every_label_has_the_one_form():
    for file, line, text in comments():
        assert len(LOOSE.findall(text)) == len(STEP.findall(text)) + len(EQUATION.findall(text)), f"{file}:{line}"


def test_every_label_names_a_step_that_is_there():
    for (page, step), places in labelled().items():
        assert step in steps(page), f"{places[0]} names {page}.md, step {step}"


@pytest.mark.parametrize("page", PROOFS)
def test_every_step_is_computed_somewhere(page):
    in_code = {step for name, step in labelled() if name == page}
    parents = {re.match(r"\d+", step)[0] for step in in_code}
    for step in steps(page):
        assert step in in_code | parents, f"{page}.md, step {step}: no line of src says that it computes it"


@pytest.mark.parametrize("page", PROOFS)
def test_a_step_is_named_once_on_its_page(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    named = re.findall(r"\*\*\((\d+[a-z]?)\)\*\*", text.replace("steps **(1a)**", "").replace("Steps **(1a)**", ""))
    assert len(named) == len(set(named))


def test_equations_of_the_paper_and_lines_find_each_other():
    rows = dict(ROW.findall((ROOT / "docs" / "equations.md").read_text(encoding="utf-8")))
    files = defaultdict(set)
    for file, _, text in comments():
        for number in EQUATION.findall(text):
            files[number].add(file)
    assert {number: set(re.findall(r"`([^`]+)`", where)) for number, where in rows.items()} == files
    assert len(rows) > 40


@pytest.mark.parametrize("room", ["rounding", "taylor", "transfer"])
def test_rooms_that_prove_are_labelled(room):
    paths = [p for p in (ROOT / "src" / "pinnpoint" / room).rglob("*.py") if p.name != "__init__.py"]
    files = {path.relative_to(ROOT).as_posix() for path in paths}
    bare = files - {place.split(":")[0] for places in labelled().values() for place in places}
    bare -= {file for file, _, text in comments() if EQUATION.search(text)}
    assert len(bare) <= BARE, sorted(bare)
