"""The path of a case: which files it runs through, and how often it changes room.

    python scripts/path.py            # the count
    python scripts/path.py --files    # and every file, in the order in which it is first called

`pinnpoint certify` of a small case of the continuous target with all outputs. A file counts when one of its functions
is first called on the main thread, imports left out; the path changes room where the file before it lies in another.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import os
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

CASE = """title = "path"
[mesh]
generate = "square"
cells = 8
[problem]
kind = "reaction-diffusion"
source = "1 + x*y"
[problem.dirichlet]
boundary = 0.0
[prediction]
expression = "x*(1-x)*y*(1-y)"
[[query]]
name = "centre"
at = [0.4, 0.55]
"""


def visited(folder: Path) -> list[str]:
    """The files of the package in the order of their first calls."""
    import pinnpoint

    root = str(Path(pinnpoint.__file__).parent) + os.sep
    for path in sorted(Path(root).rglob("*.py")):  # what an import calls is no part of the path
        name = path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
        with contextlib.suppress(ImportError):
            importlib.import_module(f"pinnpoint.{name.removesuffix('.__init__')}") if name != "__main__" else None
    from pinnpoint.cli.main import main

    order: dict[str, None] = {}

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root) and frame.f_code.co_name != "<module>":
            order.setdefault(name[len(root) :], None)

    case = folder / "case.toml"
    case.write_text(CASE, encoding="utf-8")
    sys.setprofile(profile)
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["certify", str(case), "--quiet", "--out", str(folder / "out")])
    sys.setprofile(None)
    if code not in (0, 1):
        raise SystemExit(f"the case ended with exit code {code}")
    return list(order)


def changes(files: list[str]) -> int:
    """How often a file lies in another room than the one before it."""
    rooms = [name.split(os.sep)[0] for name in files]
    return sum(a != b for a, b in itertools.pairwise(rooms))


def run() -> None:
    """Count, and list where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the files")
    with tempfile.TemporaryDirectory() as folder:
        listed, files = parser.parse_args().files, visited(Path(folder))
    print("\n".join(files) + "\n" if listed else "", end="")
    print(f"{len(files)} files, {changes(files)} changes of room")


if __name__ == "__main__":
    run()
