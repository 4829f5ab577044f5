"""The notebooks are the tutorials, run from top to bottom, and flood no cell."""

from __future__ import annotations

import json
import runpy

import pytest

from tests import ROOT

written = runpy.run_path(str(ROOT / "scripts" / "notebooks.py"))
MOST = 8000
"""Characters of a cell's output as text."""
RUN = ("01-first-certificate", "04-a-gmsh-part", "09-read-and-re-check")
"""They have all that a notebook adds to its page, which is run too: commands, files, objects that show themselves."""


def test_stored_notebooks_are_those_of_the_tutorials():
    stored = {path.stem for path in (ROOT / "examples" / "notebooks").glob("*.ipynb")}
    assert stored == set(written["NOTEBOOKS"])
    assert len(stored) == 10
    for name in stored:
        text = (ROOT / "examples" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert json.loads(text) == written["notebook"](name), f"{name}: run python scripts/notebooks.py"


def test_those_that_run_have_every_kind_of_cell():
    sources = [
        line
        for name in RUN
        for cell in written["notebook"](name)["cells"]
        if cell["cell_type"] == "code"
        for line in cell["source"]
    ]
    assert any(line.startswith("!") for line in sources)
    assert any(line.startswith("%%writefile") for line in sources)
    assert any(line.strip() == "certificate" for line in sources)


def test_no_tutorial_loses_its_code():
    for page, needs in written["NOTEBOOKS"].values():
        made = [cell for one in page.split() for cell in written["cells"](one, needs)]
        assert any(cell["cell_type"] == "code" for cell in made)


@pytest.mark.slow
@pytest.mark.optional
@pytest.mark.parametrize("name", RUN)
def test_a_notebook_runs(name, tmp_path):
    for library in ("nbclient", "ipykernel", "nbformat"):
        pytest.importorskip(library, reason="pip install 'pinnpoint[test]'")
    if name == "04-a-gmsh-part":
        pytest.importorskip("gmsh", reason="pip install gmsh", exc_type=(ImportError, OSError))
    found = written["executed"](name, tmp_path)
    outputs = [out for cell in found.cells if cell.cell_type == "code" for out in cell.outputs]
    assert not [out for out in outputs if out.output_type == "error"]
    for out in outputs:
        shown = out.get("text", "") or out.get("data", {}).get("text/plain", "")
        assert len(shown) < MOST
