"""The notebooks are the tutorials, run from top to bottom, and flood no cell."""

from __future__ import annotations

import json
import runpy

import pytest

from tests import ROOT

written = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))
MOST = 8000
"""Characters of a cell's output as text."""


def test_stored_notebooks_are_those_of_the_tutorials():
    stored = {path.stem for path in (ROOT / "examples" / "notebooks").glob("*.ipynb")}
    assert stored == set(written["NOTEBOOKS"])
    assert len(stored) == 10
    for name in stored:
        text = (ROOT / "examples" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert json.loads(text) == written["notebook"](name), f"{name}: run python scripts/notebooks.py"


def test_no_tutorial_loses_its_code():
    for page, needs in written["NOTEBOOKS"].values():
        made = [cell for one in page.split() for cell in written["cells"](one, needs)]
        assert any(cell["cell_type"] == "code" for cell in made)


@pytest.mark.slow
@pytest.mark.optional
@pytest.mark.parametrize("name", written["NOTEBOOKS"])
def test_a_notebook_runs(name, tmp_path):
    for library in ("nbclient", "ipykernel", "nbformat"):
        pytest.importorskip(library, reason="pip install 'pinnpoint[test]'")
    needed = {"02": ("torch",), "03": ("torch", "deepxde"), "04": ("gmsh",)}.get(name[:2], ())
    for library in needed:
        pytest.importorskip(library, reason=f"pip install {library}", exc_type=(ImportError, OSError))
    found = written["executed"](name, tmp_path)
    outputs = [out for cell in found.cells if cell.cell_type == "code" for out in cell.outputs]
    assert not [out for out in outputs if out.output_type == "error"]
    for out in outputs:
        shown = out.get("text", "") or out.get("data", {}).get("text/plain", "")
        assert len(shown) < MOST
