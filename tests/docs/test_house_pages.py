"""Pages about the code itself: the drawing is that of the imports, and what they name is there."""

from __future__ import annotations

import ast
import re

import pytest

import architecture
from tests import ROOT

PAGES = [
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if "_build" not in path.parts and path.name != "CHANGELOG.md"
]
PACKAGES = ("pinnpoint", "pinnpoint_verify", "pinnpoint_paper")


def test_the_drawing_is_that_of_the_imports():
    text = architecture.PAGE.read_text(encoding="utf-8")
    assert text == architecture.made(text), "python docs/architecture.py draws it again"


def test_the_drawing_sees_an_import_upward(monkeypatch):
    monkeypatch.setattr(architecture, "stands_on", lambda room: {"cli"} - {room})
    assert re.search(r"^  base +■.*●$", architecture.drawing(), flags=re.M)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_page_names_is_there(path):
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs|studies|scripts|benchmarks|examples|tests_mpi|web)/[\w./*-]+)`", text)
    for name in named:
        assert list(ROOT.glob(name.rstrip("/"))), f"{path.name} names {name}"
    for room, rest in re.findall(r"`(\w+)/([\w/]*\w+\.py)`", text):
        if (ROOT / "src" / "pinnpoint" / room).is_dir():
            assert (ROOT / "src" / "pinnpoint" / room / rest).exists(), f"{path.name} names {room}/{rest}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith(("http", "mailto")):
            assert (path.parent / target).exists(), f"{path.name} links {target}"


def rows(page: str, columns: int) -> list[list[str]]:
    """The rows of a page's tables with so many columns, without their heads."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return [row for row in cells if len(row) == columns]


def test_names_of_the_glossary_are_in_their_files():
    checked = 0
    for symbol, name, _, files in rows("docs/glossary.md", 4):
        names, places = re.findall(r"`(\w+)`", name), re.findall(r"`(src/[^`]+)`", files)
        text = "".join((ROOT / place).read_text(encoding="utf-8") for place in places)
        for word in names:
            assert re.search(rf"\b{word}\b", text), f"{symbol}: {word} is not in {files}"
            checked += 1
    assert checked > 60


def test_paper_names_of_the_glossary_are_in_theory_or_the_table():
    known = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("theory.md", "equations.md"))
    unlisted = {"admissible_affine_space", "general_discrete_query", "reduced_normal_matrix_spd", "continuous_pde"}
    unlisted |= {"base_point_root_remainder"}
    for row in rows("docs/glossary.md", 4):
        for name in re.findall(r"\w+_\w+", row[2]):
            assert name in known or name in unlisted, row


def test_contributing_names_what_is_in_the_files():
    """Where it says `NAME` of or in `room/file.py`, that file defines the name."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    pairs = re.findall(r"((?:`\w+`(?:, | and | or )?)+) (?:of|in) `([\w/]+\.py)`", text)
    pairs += [(name, file) for file, name in re.findall(r"`([\w/]+\.py)` \((`\w+`)\)", text)]
    assert len(pairs) > 10
    for names, file in pairs:
        path = ROOT / file if file.startswith("src/") else ROOT / "src" / "pinnpoint" / file
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert name in defined(source), f"{name} is not defined in {file}"


def defined(source: str) -> set[str]:
    """Classes, functions, methods and names that are given a value, of a module and its classes."""
    found, bodies = set[str](), [ast.parse(source).body]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(node.name)
                bodies += [node.body] if isinstance(node, ast.ClassDef) else []
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def test_what_is_only_imported_or_used_is_not_defined():
    assert defined("from a import B\nC, D = B, 1\nclass E:\n    F: int = 2\n    def g(self):\n        h = 3") == set(
        "CDEFg"
    )
