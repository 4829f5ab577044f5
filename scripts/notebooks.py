"""Write examples/notebooks from the tutorials: python scripts/notebooks.py [--run FOLDER].

Text becomes Markdown cells, Python code cells, commands `!` cells, files `%%writefile` cells; what a page shows as
output is left to the notebook. With --run each notebook is executed in a folder of its own below FOLDER and stored
there with its outputs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
HERE = ROOT / "examples" / "notebooks"
NOTEBOOKS = {
    "01-first-certificate": ("pinn", "alone"),
    "02-your-torch-pinn": ("training", "torch"),
    "03-deepxde-stops-by-proof": ("training", "deepxde"),
    "04-a-gmsh-part": ("gmsh", "alone"),
    "05-a-brackets-stress": ("bracket-strength", "alone"),
    "06-heat-in-time": ("heat", "alone"),
    "07-a-neural-operator": ("operator", "alone"),
    "08-bring-your-matrix": ("matrix", "alone"),
    "09-read-and-re-check": ("read verify", "alone"),
    "10-families-and-monitoring": ("family", "alone"),
}
"""The tutorials of each notebook, and which of the blocks that need more libraries it has."""
ELSEWHERE = ("pip install", "make ", ". .venv")
Cell = dict[str, Any]


def cell(kind: str, text: str) -> Cell:
    """A cell without outputs."""
    lines = text.strip("\n").splitlines(keepends=True)
    more: Cell = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": lines, **more}


def code(language: str, text: str) -> str:
    """The source of a code cell."""
    named = re.match(r"(?:#|//) file: (\S+)\n", text)
    if named:
        return f"%%writefile {named[1]}\n{text[named.end() :]}"
    if language == "python":
        text = re.sub(r"^# needs:.*\n", "", text)
        return re.sub(r"\nprint\((certificate|population)\)\s*$", r"\n\1", "\n" + text).strip("\n")
    kept = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith(ELSEWHERE)]
    told = [re.sub(r"\s+#\s.*$", "", line.removeprefix("$ ")) for line in kept]
    return "\n".join(f"!{line}" for line in told)


def cells(page: str, needs: str) -> list[Cell]:
    """The cells of a tutorial."""
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\(\.\./([^)]+)\)", r"](../../docs/\1)", text)
    text = re.sub(r"\]\((?!\.\.|http)([\w-]+\.md[^)]*)\)", r"](../../docs/tutorials/\1)", text)
    found = []
    for piece in re.split(r"(^```.*?^```$)", text, flags=re.S | re.M):
        block = re.match(r"```([\w+-]*)[^\n]*\n(.*)```$", piece, flags=re.S)
        if block is None:
            found += [cell("markdown", piece)] if piece.strip() else []
        elif block[1] in ("python", "sh", "console") or re.match(r"(#|//) file: ", block[2]):
            needed = re.match(r"# needs: ([^\n]*)", block[2])
            named = "" if needed is None else ("deepxde" if "deepxde" in needed[1] else "torch")
            if named and named != needs:
                continue
            if not named and needs != "alone":
                continue
            source = code(block[1], block[2])
            found += [cell("code", source)] if source else []
        elif block[1] != "output":
            found.append(cell("markdown", piece))
    return found


def notebook(name: str) -> Cell:
    """A whole notebook."""
    pages, needs = NOTEBOOKS[name]
    made = [one for page in pages.split() for one in cells(page, needs)]
    made = [{**one, "id": f"cell-{k:02}"} for k, one in enumerate(made)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def executed(name: str, folder: Path) -> Any:
    """The notebook with its outputs, run in an empty folder with this interpreter's commands at hand."""
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.reads(json.dumps(notebook(name)), as_version=4)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    NotebookClient(found, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(place)}}).execute()
    return found


def main() -> None:
    """Write all notebooks; run them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    HERE.mkdir(exist_ok=True)
    for name in NOTEBOOKS:
        text = json.dumps(notebook(name), indent=1, ensure_ascii=False) + "\n"
        (HERE / f"{name}.ipynb").write_text(text, encoding="utf-8")
        if given.run is not None and given.only in name:
            import nbformat

            nbformat.write(executed(name, given.run), given.run / f"{name}.ipynb")
            print(name, "runs", flush=True)


if __name__ == "__main__":
    main()
