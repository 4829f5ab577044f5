"""Keywords of Abaqus and CalculiX input files with their options, data lines and place."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pinnpoint.base.errors import InputError


@dataclass(frozen=True)
class Keyword:
    """`*NAME, OPTION=value` and the data lines below it; `line` counts from 1."""

    name: str
    options: dict[str, str]
    body: str
    line: int

    @property
    def place(self) -> str:
        """The keyword in words."""
        return f"*{self.name[:30]} on line {self.line}"

    def refuse(self, why: str) -> InputError:
        """An error that names the keyword and its line."""
        return InputError(f"{self.place}: {why}")

    def only(self, options: Iterable[str]) -> None:
        """Refuse options that are not known, for they may change the physics."""
        for option in self.options:
            if option not in options:
                raise self.refuse(f"the option {option[:30]} is not read and may change the physics")

    def rows(self) -> list[list[str]]:
        """Data lines split at commas, without trailing empty entries."""
        found = []
        for line in self.body.splitlines():
            cells = [t.strip().strip('"') for t in line.split(",")]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                found.append(cells)
        return found

    def number(self, text: str) -> float:
        """A finite number of a data line."""
        try:
            value = float(re.sub(r"[dD]", "e", text)) if re.fullmatch(r"[-+0-9.eEdD]+", text) else float("nan")
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise self.refuse(f"must hold finite numbers; got '{text[:30]}'")
        return value


def keywords(data: bytes) -> list[Keyword]:
    """All keywords of a file; comments are left out, and a keyword line that ends in a comma goes on."""
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"(?m)^[ \t]*\*\*.*$", "", text)
    starts = [m.start() for m in re.finditer(r"(?m)^[ \t]*\*", text)]
    found = []
    line, at = 1, 0
    for start, end in itertools.pairwise([*starts, len(text)]):
        line, at = line + text.count("\n", at, start), start
        head, _, body = text[start:end].lstrip(" \t*").partition("\n")
        while head.rstrip().endswith(",") and body.strip() and "=" in body.partition("\n")[0]:
            more, _, body = body.partition("\n")
            head += more
        name, options = _options(head)
        found.append(Keyword(name, options, body, line))
    return found


def _options(head: str) -> tuple[str, dict[str, str]]:
    name, *rest = head.split(",")
    pairs = (option.partition("=") for option in rest if option.strip())
    return " ".join(name.upper().split()), {k.strip().upper(): v.strip().strip('"') for k, _, v in pairs}
