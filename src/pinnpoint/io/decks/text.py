"""The text of a deck with its INCLUDE lines resolved, and where each line came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, read_bytes

NASTRAN, ABAQUS = (".bdf", ".fem", ".nas", ".dat"), (".inp",)
"""How the names of decks end."""
INCLUDE = re.compile(rb"^[ \t]*INCLUDE\b[ \t=]*(.*)$", re.IGNORECASE | re.MULTILINE)
DEPTH, FILES, SIZE = 8, 200, 4 * 2**30
"""At most so many files within each other, files in all, and bytes."""


@dataclass(frozen=True, eq=False)
class Text:
    """A deck's text; `origin` names file and line of each line where files were included."""

    data: bytes
    origin: Sequence[tuple[str, int]] | None = None

    def where(self, line: int) -> str:
        """A line of the joined text, counted from 0, in words."""
        if self.origin is None:
            return f"line {line + 1}"
        name, number = self.origin[min(line, len(self.origin) - 1)]
        return f"line {number} of '{name}'" if name else f"line {number}"


def read_text(path: PathLike, *, include: bool = True) -> Text:
    """A deck's text; files that INCLUDE names must lie in the deck's folder or below it."""
    data = _clean(read_bytes(path, "deck"))
    if not include or INCLUDE.search(data) is None:
        return Text(data)
    folder = Path(path).resolve().parent
    pieces: list[bytes] = []
    origin: list[tuple[str, int]] = []
    seen = [len(data), 1]

    def add(data: bytes, name: str, stack: tuple[Path, ...]) -> None:
        for number, line in enumerate(data.split(b"\n"), 1):
            found = INCLUDE.match(line)
            if found is None:
                pieces.append(line)
                origin.append((name, number))
                continue
            target = _target(found[1], folder, f"line {number}" + (f" of '{name}'" if name else ""))
            if target in stack or len(stack) >= DEPTH:
                raise InputError(f"INCLUDE on line {number}: '{target.name}' includes itself, or files nest too deeply")
            more = _clean(read_bytes(target, "included file"))
            seen[0] += len(more)
            seen[1] += 1
            if seen[0] > SIZE or seen[1] > FILES:
                raise InputError(f"INCLUDE on line {number}: more than {FILES} files or {SIZE >> 30} GB in all")
            add(more, target.name, (*stack, target))

    add(data, "", (Path(path).resolve(),))
    return Text(b"\n".join(pieces), origin)


def _clean(data: bytes) -> bytes:
    """Lines that end in one newline, without tabs or a mark of the byte order."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.expandtabs(8) if b"\t" in data else data


def _target(text: bytes, folder: Path, where: str) -> Path:
    name = re.sub(rb"\$.*", b"", text).strip().strip(b"'\"").decode("utf-8", errors="replace")
    if not name or "\0" in name:
        raise InputError(f"INCLUDE on {where}: names no file on its own line")
    try:
        target = (folder / name).resolve()
    except (OSError, RuntimeError) as error:
        raise InputError(f"INCLUDE on {where}: '{name[:80]}' is not a path") from error
    if not target.is_relative_to(folder):
        raise InputError(f"INCLUDE on {where}: '{name[:80]}' lies outside the deck's folder; copy it there")
    return target
