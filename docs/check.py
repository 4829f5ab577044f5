"""Redraw the picture and run every page of the documentation: python docs/check.py [--update].

With --update what the blocks printed replaces the ```output blocks of the pages.
"""

from __future__ import annotations

import contextlib
import runpy
import sys
import tempfile
from pathlib import Path

import pages

ROOT = Path(__file__).parent.parent


def update(path: Path, found: list[tuple[pages.Block, str]]) -> None:
    """Put what was printed where it is shown; a shown `...` keeps the lines around it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for block, said in reversed(found):
        if "...\n" not in block.text:
            lines[block.line : block.line + block.text.count("\n")] = said.rstrip().split("\n")
    path.write_text("\n".join(lines), encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Any block that raises or prints something else stops the run."""
    runpy.run_path(str(ROOT / "docs" / "picture.py"), run_name="__main__")
    some = [Path(a).resolve() for a in arguments if not a.startswith("--")]
    for path in some or pages.pages():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # some write files
            printed = pages.run(path)
        found = pages.outputs(path, printed)
        if "--update" in arguments:
            update(path, found)
        for block, said in found if "--update" not in arguments else []:
            if not pages.agree(block.text, said):
                raise SystemExit(f"{path.name}, line {block.line}: shows\n{block.text}and printed\n{said}")
        print(f"{path.name}: {sum(p is not None for p in printed)} blocks run, {len(found)} outputs")


if __name__ == "__main__":
    main(sys.argv[1:])
