"""The doors of docs/decks.md: each block runs as it stands, and none is longer than 15 lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parent.parent / "docs" / "decks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python ?([a-z-]*)\n(.*?)```", TEXT, flags=re.S)


def blocks(kind):
    return [code for name, code in BLOCKS if name == kind]


def test_blocks_are_short():
    assert [len(blocks(kind)) for kind in ("", "petsc", "pyvista", "no-run")] == [4, 1, 1, 1]
    for _, code in BLOCKS:
        assert len([line for line in code.splitlines() if line.strip()]) <= 15


def test_blocks_run(capsys):
    scope = {}
    for code in blocks(""):
        exec(code, scope)
    assert "tip" in capsys.readouterr().out


def test_petsc_block():
    pytest.importorskip("petsc4py", reason="petsc4py is not installed; on Debian: apt install python3-petsc4py")
    scope = {}
    exec(blocks("petsc")[0], scope)
    i = scope["np"].arange(50)
    exact = (0.005 * i * (49 - i)).mean()  # −u″ = 0.01 on a grid of step 1: the nodal values are exact
    assert scope["certificate"].center[0] == pytest.approx(exact, rel=1e-12)


def test_pyvista_block():
    pytest.importorskip("pyvista", reason="pyvista is not installed: pip install pyvista")
    exec(blocks("pyvista")[0], {})
