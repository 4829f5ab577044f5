"""The doors of docs/decks.md: each block runs as it stands, in under 15 lines; PETSc's and DOLFINx's in tests_mpi."""

from __future__ import annotations

import re

import pytest

from tests import ROOT

TEXT = (ROOT / "docs" / "decks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python ?([a-z-]*)\n(.*?)```", TEXT, flags=re.S)


def blocks(kind):
    return [code for name, code in BLOCKS if name == kind]


def test_blocks_are_short():
    assert [len(blocks(kind)) for kind in ("", "petsc", "dolfinx", "pyvista", "no-run")] == [4, 1, 2, 1, 1]
    for _, code in BLOCKS:
        assert len([line for line in code.splitlines() if line.strip()]) < 15


def test_blocks_of_the_decks_page_run(capsys):
    scope = {}
    for code in blocks(""):
        exec(code, scope)
    assert "tip" in capsys.readouterr().out


@pytest.mark.optional
def test_the_pyvista_block_of_the_decks_page_runs():
    pytest.importorskip("pyvista", reason="pip install 'pinnpoint[pyvista]'")
    exec(blocks("pyvista")[0], {})
