"""Pages about the code itself: the drawing is that of the imports, and what they name is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
sys.path.insert(0, str(ROOT / "docs"))

import architecture  # noqa: E402

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
