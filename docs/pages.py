"""Run a page of the documentation: its files are written, its Python and its commands run, its outputs compared.

Blocks are taken from the top in one empty folder. ```python runs in one scope (a block that begins with ``# needs:``
stands alone); ```sh and ```console run as commands; a block whose first line is ``# file: NAME`` or ``// file: NAME``
is written to that file; ```output is what the block before it printed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pinnpoint.cli.main import main as command

ROOT = Path(__file__).parent.parent
ELSEWHERE = {
    "make": "the targets exist; continuous integration runs `make test`, which runs these pages",
    ". .venv/bin/activate": "the environment that `make demo` makes",
    "pip install": "the extras exist; continuous integration installs them",
    "mpirun": "tests_mpi",
    "pinnpoint serve": "tests/unit/service/test_service.py",
    "curl": "tests/unit/service/test_service.py",
    "pinnpoint reproduce localization": "tests/unit/paper/test_reproduce.py",
    "pinnpoint reproduce --all": "tests/unit/paper/test_reproduce.py",
    "pinnpoint reproduce bracket bracket-family amortized --simjeb": "the same, on such files",
}
"""Commands that a page shows and other tests run; what they name is checked."""
NUMBER = r"[-+−]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d+)?"


@dataclass
class Block:
    """One fenced block: its language, what follows the language, its text and the line it begins at."""

    language: str
    words: str
    text: str
    line: int


def pages() -> list[Path]:
    """The README and every page of the site."""
    found = (path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
    return [ROOT / "README.md", *sorted(found)]


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"^```([\w+-]*) ?([^\n]*)\n(.*?)^```$", text, flags=re.S | re.M)
    return [Block(m[1], m[2].strip(), m[3], text[: m.start()].count("\n") + 1) for m in found]


def commands(block: Block) -> Iterator[str]:
    """The commands of a shell block, without prompts and comments."""
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue
        line = re.sub(r"\s+#\s.*$", "", line.removeprefix("$ ")).strip()
        if line and not line.startswith("#"):
            yield line


def run_command(line: str) -> str:
    """What a command prints; `pinnpoint` runs in this process."""
    for prefix in ELSEWHERE:
        if line.startswith(prefix):
            check_named(line)
            return ""
    words = shlex.split(line)
    if words[0] == "pinnpoint" and not set("|<>;&") & set(line):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
            code = command(words[1:])
        if code not in (0, 1, 4):
            raise RuntimeError(f"{line}: exit code {code}: {err.getvalue()}")
        return out.getvalue()
    here = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": here + os.pathsep + os.environ.get("PATH", "")}
    done = subprocess.run(line, shell=True, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{line}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def check_named(line: str) -> None:
    """The targets of make and the extras of pip that a page names."""
    if line.startswith("make"):
        rules = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in shlex.split(line)[1:]:
            if not re.search(rf"^{re.escape(target)}:", rules, flags=re.M):
                raise RuntimeError(f"{line}: the Makefile has no target {target}")
    extras = re.search(r"\[([\w,]+)\]", line) if line.startswith("pip") else None
    known = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[project.optional-dependencies]")[1]
    for extra in extras[1].split(",") if extras else []:
        if not re.search(rf"^{extra} = ", known, flags=re.M):
            raise RuntimeError(f"{line}: there is no extra {extra}")


def missing(block: Block) -> list[str]:
    """The libraries that a block says it needs and that are not here."""
    named = block.text.partition("\n")[0].removeprefix("# needs:").split(",")
    return [name.strip() for name in named if importlib.util.find_spec(name.strip()) is None]


def run(path: Path, *, alone: bool = True) -> list[str | None]:
    """Run all blocks of a page in the current folder; what each printed, or None where nothing was run.

    `alone` also runs the blocks that need optional libraries, each in a process of its own.
    """
    scope: dict[str, object] = {"__name__": "page"}
    printed: list[str | None] = []
    for block in blocks(path):
        name = re.match(r"(?:#|//) file: (\S+)", block.text)
        said: str | None = None
        if name:
            Path(name[1]).write_text(block.text.split("\n", 1)[1], encoding="utf-8")
        if block.language == "python" and block.text.startswith("# needs:"):
            if alone and not missing(block):
                subprocess.run([sys.executable, "-c", block.text], check=True)
        elif block.language == "python" and not block.words and not name:
            out = io.StringIO()
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                exec(compile("\n" * block.line + block.text, str(path), "exec", dont_inherit=True), scope)
            said = out.getvalue()
        elif block.language in ("sh", "console"):
            said = "".join(run_command(line) for line in commands(block))
        printed.append(said)
    return printed


def agree(shown: str, said: str) -> bool:
    """The same words, and numbers that agree as far as a reader relies on them: see `close`.

    A line `...` stands for any lines.
    """
    lines = [line.rstrip() for line in shown.strip().splitlines()]
    pattern = ""
    for line in lines:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
            continue
        words = re.split(rf"({NUMBER})", line)
        words[::2] = [r"\s*".join(re.escape(w) for w in re.split(r"\s+", word)) for word in words[::2]]
        words[1::2] = [f"({NUMBER})"] * (len(words) // 2)
        pattern += "".join(words) + r"[^\S\n]*\n"
    match = re.fullmatch(pattern, said.strip() + "\n")
    if match is None:
        return False
    found = iter(match.groups())
    numbers = [re.findall(NUMBER, line) for line in lines if line.strip() != "..."]
    return all(close(word, next(found), _scale(line)) for line in numbers for word in line)


def close(shown: str, said: str, scale: float = 1.0) -> bool:
    """Whether two printed numbers say the same, beside numbers of size `scale` on the same line.

    What is below 1e-9, or below 1e-7 of its neighbours, is left over by rounding errors: these depend on processor,
    BLAS and versions, and only the order of magnitude is told, a factor of a hundred. Any other number agrees within
    two per cent, or one unit of its last digit if it is a decimal fraction: a last digit may be rounded either way.
    """
    a, b = _number(shown), _number(said)
    if max(abs(a), abs(b)) < max(1e-9, 1e-7 * scale):
        return a == b or (a * b >= 0.0 and abs(a) <= 100.0 * abs(b) + 1e-15 and abs(b) <= 100.0 * abs(a) + 1e-15)
    return abs(a - b) <= max(0.02 * max(abs(a), abs(b)), 1.01 * _last_digit(shown))


def _scale(words: list[str]) -> float:
    """The largest decimal fraction of a line; counts say nothing about the size of what is computed."""
    return max((abs(_number(word)) for word in words if "." in word), default=1.0)


def _last_digit(text: str) -> float:
    """One unit of the last digit of a decimal fraction, zero for an integer."""
    mantissa, _, exponent = text.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - places) if places else 0.0


def _number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def outputs(path: Path, printed: list[str | None]) -> list[tuple[Block, str]]:
    """Every ```output block with what the block before it printed."""
    found = []
    all_blocks = blocks(path)
    for k, block in enumerate(all_blocks):
        if block.language == "output":
            found.append((block, printed[k - 1] or ""))
    return found
