"""Tell the project its public home, once it has one: python scripts/home.py https://host/owner/name [--root FOLDER].

Writes [project.urls] into pyproject.toml, badges below the README's title, and the address into CITATION.cff; run
again, it replaces what it wrote. Until then no file names an address, so that none is invented.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

BEGIN, END = "<!-- home -->", "<!-- /home -->"


def urls(address: str) -> str:
    """The table of pyproject.toml."""
    pages = {
        "Source": "",
        "Documentation": "/tree/main/docs",
        "Changelog": "/blob/main/CHANGELOG.md",
        "Issues": "/issues",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{address}{path}"\n' for name, path in pages.items())


def badges(address: str) -> str:
    """The README's badges, between two marks."""
    shown = f"[![tests]({address}/actions/workflows/tests.yml/badge.svg)]({address}/actions/workflows/tests.yml)"
    return f"{BEGIN}\n{shown}\n{END}\n"


def written(root: Path, address: str) -> None:
    """Write all three files."""
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address):
        raise SystemExit(f"address: must look like https://host/owner/name; got {address!r}")
    project, readme, citation = root / "pyproject.toml", root / "README.md", root / "CITATION.cff"
    text = re.sub(r"\[project\.urls\]\n(?:.+\n)*\n?", "", project.read_text(encoding="utf-8"))
    project.write_text(text.replace("[project.scripts]", f"{urls(address)}\n[project.scripts]", 1), encoding="utf-8")
    text = re.sub(rf"{BEGIN}\n.*?{END}\n\n?", "", readme.read_text(encoding="utf-8"), flags=re.S)
    title, rest = text.split("\n\n", 1)
    readme.write_text(f"{title}\n\n{badges(address)}\n{rest}", encoding="utf-8")
    text = re.sub(r"repository-code: .*\n", "", citation.read_text(encoding="utf-8")).rstrip("\n")
    citation.write_text(f'{text}\nrepository-code: "{address}"\n', encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    given = parser.parse_args()
    written(given.root, given.address.rstrip("/"))
