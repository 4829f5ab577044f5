"""Redraw the picture and run every Python block of the README and the documentation: python docs/check.py."""

from __future__ import annotations

import contextlib
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Any block that raises stops the run."""
    runpy.run_path(str(ROOT / "docs" / "picture.py"), run_name="__main__")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        scope: dict[str, object] = {}
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.S)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # some write files
            for block in blocks:
                if block.startswith("# needs:"):  # stands alone, and may need what is not installed
                    subprocess.run([sys.executable, "-c", block], check=True)
                    continue
                exec(block, scope)
        print(f"{path.name}: {len(blocks)} blocks run")


if __name__ == "__main__":
    main()
