"""The drawing and the table of docs/architecture.md, from the import graph: python docs/architecture.py writes them.

The storeys are those of tests' test_architecture.py, what is inside the rooms' own docstrings.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pinnpoint"
PAGE = Path(__file__).with_suffix(".md")


def storeys() -> dict[str, list[str]]:
    """The storeys from the ground up, each with its rooms in order."""
    path = next((ROOT / "tests").rglob("test_architecture.py"))
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "STOREYS":
            return {name: rooms.split() for name, rooms in ast.literal_eval(node.value).items()}
    raise LookupError(f"{path}: STOREYS is missing")


def stands_on(room: str) -> set[str]:
    """The other rooms that the modules of a room import, at once, late, or for types alone."""
    rooms = {room for rooms in storeys().values() for room in rooms}
    imported = set()
    for path in (SOURCE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            imported |= {name.split(".")[1] for name in names if name.startswith("pinnpoint.")}
    return (imported & rooms) - {room}


def inside(room: str) -> str:
    """The first paragraph of the room's docstring."""
    tree = ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8"))
    paragraph = (ast.get_docstring(tree) or "").split("\n\n")[0]
    return paragraph.replace("\n", " ").replace("``", "`")


def table() -> str:
    """Storeys and rooms, from the top down."""
    lines = ["| storey | room | what is inside |", "|---|---|---|"]
    floors = list(enumerate(storeys().items()))
    for number, (name, rooms) in reversed(floors):
        for i, room in enumerate(reversed(rooms)):
            lines.append(f"| {f'**{number} {name}**' if i == 0 else ''} | `{room}` | {inside(room)} |")
    return "\n".join(lines)


def shelves() -> str:
    """The folders of rooms that have some."""
    lines = ["| folder | what is inside |", "|---|---|"]
    for room in (room for rooms in storeys().values() for room in rooms):
        for path in sorted((SOURCE / room).rglob("__init__.py")):
            folder = path.parent.relative_to(SOURCE).as_posix()
            if folder != room:
                lines.append(f"| `{folder}` | {inside(folder)} |")
    return "\n".join(lines)


def drawing() -> str:
    """One row a room, with ● in the columns of those it imports; an import upward stands right of the diagonal."""
    floors = storeys()
    rooms = [room for names in floors.values() for room in names]
    wide = max(map(len, rooms))
    lines = ["```text"]
    for number, (name, names) in enumerate(floors.items()):
        lines.append(f"{number} {name}")
        for room in names:
            below = stands_on(room)
            marks = ["■" if other == room else "●" if other in below else "·" for other in rooms]
            shown = [
                m if m != "·" or rooms.index(o) < rooms.index(room) else " " for m, o in zip(marks, rooms, strict=True)
            ]
            lines.append(f"  {room:<{wide}}  {' '.join(shown).rstrip()}")
    return "\n".join([*lines, "```"])


def proofs() -> str:
    """Each proof page with the files whose lines name its steps, most first, and the checker's."""
    lines = ["| page | computed in | checked in `pinnpoint_verify` |", "|---|---|---|"]
    named = {package: labels(ROOT / "src" / package) for package in ("pinnpoint", "pinnpoint_verify")}
    for page in sorted({page for counts in named.values() for page in counts}):
        title = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        files = [most(named[package].get(page, Counter())) for package in named]
        lines.append(f"| [{title}]({page}.md) | {files[0]} | {files[1]} |")
    return "\n".join(lines)


def labels(package: Path) -> dict[str, Counter[str]]:
    """For each proof page: the files of a package, and how many lines of each name a step of it."""
    counts: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        for page in re.findall(r"# .*?\b(\w+)\.md, step \d", path.read_text(encoding="utf-8")):
            counts.setdefault(page, Counter())[path.relative_to(package).as_posix()] += 1
    return counts


def most(files: Counter[str], shown: int = 5) -> str:
    """The files with the most labels, and how many more there are."""
    names = [f"`{name}`" for name, _ in sorted(files.items(), key=lambda item: (-item[1], item[0]))]
    more = [f"{len(names) - shown} more"] if len(names) > shown else []
    return ", ".join(names[:shown] + more)


def made(text: str) -> str:
    """The page with its generated parts made again."""
    parts = (("rooms", table()), ("shelves", shelves()), ("imports", drawing()), ("proofs", proofs()))
    for name, part in parts:
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
        text, count = re.subn(pattern, lambda m, part=part: m[1] + part + m[2], text, flags=re.S)  # type: ignore[misc]
        if count != 1:
            raise LookupError(f"docs/architecture.md: <!-- {name} --> is missing")
    return text


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
