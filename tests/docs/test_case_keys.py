"""docs/case.md lists every key of the case file: those that the reader asks for, with what it takes and defaults."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import case_keys
import pinnpoint
from pinnpoint.cases.read import read_case
from tests import ROOT

READERS = sorted((Path(pinnpoint.__file__).parent / "cases").rglob("*.py"))
ACCESS = {"take", "table", "text", "flag", "flag_or_word", "choice", "whole", "number", "numbers", "expression", "path"}


def test_every_key_of_the_reader_is_told():
    """In ABOUT of docs/case_keys.py; what is taken as it is has its kind there."""
    seen = case_keys.seen()
    assert not set(seen) - set(case_keys.ABOUT), "say in docs/case_keys.py what these keys are for"
    for key, about in case_keys.ABOUT.items():
        assert key in seen or about.kind, f"{key}: the reader does not ask for it"
        assert about.text
        assert about.example
        assert key in (ROOT / "docs" / "case.md").read_text(encoding="utf-8")


def test_the_samples_take_every_turn_of_the_reader():
    """Each key that stands in the reader's code was asked for, or is taken as it is and told by hand."""
    known = {part for key in case_keys.ABOUT for part in key.split(".")}
    found = set()
    for path in READERS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ACCESS:
                word = node.args[0] if node.args else None
                if isinstance(word, ast.Constant) and isinstance(word.value, str):
                    found.add(word.value)
    assert len(found) > 40
    assert not found - known, "add a sample and a line to docs/case_keys.py"


@pytest.mark.parametrize("key", [k for k, about in case_keys.ABOUT.items() if not about.example.startswith("[")])
def test_examples_are_toml(key):
    assert tomllib.loads(f"value = {case_keys.ABOUT[key].example}")


def test_the_page_begins_with_a_case_that_works(tmp_path):
    text = (ROOT / "docs" / "case.md").read_text(encoding="utf-8")
    (tmp_path / "case.toml").write_text(text.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    case = read_case(tmp_path / "case.toml")
    assert case.words == {"dirichlet": "fixed", "neumann": "traction"}
    assert case.units == {"length": "mm", "force": "N"}
