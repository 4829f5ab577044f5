"""Parse, run a command, and turn what it raises into an exit code and one line."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NoReturn

from pinnpoint.base.errors import PinnpointError, shortage
from pinnpoint.base.version import __version__
from pinnpoint.cli.commands import add_commands
from pinnpoint.cli.process import ending_at_once, unwritten
from pinnpoint.cli.sooner import without_unused_names

NO_THREAD = "can't start new thread"
"""What Python says when memory does not suffice for one."""


class Parser(argparse.ArgumentParser):
    """Refuses with one line, as everything here does."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        self.exit(2, f"pinnpoint: {_line(message)} (see {self.prog} --help)\n")


def dispatch(argv: Sequence[str], *, alone: bool = False) -> int:
    """Run one command; `alone` where the process is its own, so that signals may end it while it is loaded."""
    try:
        with ending_at_once() if alone else nullcontext():
            arguments = parse(argv)
            with without_unused_names():
                command = importlib.import_module(f"pinnpoint.cli.{arguments.command}")
        code = int(command.run(arguments))
    except SystemExit as end:  # of the parser, which may have printed
        code = _arrived(int(end.code or 0))
        if code == end.code or not alone:
            raise
        return code
    except Exception as error:
        code = told(error)
    return _arrived(code)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command and its options; stdout is made fit for what the command prints."""
    parser = Parser(prog="pinnpoint", description="Intervals that provably hold the true value.")
    parser.add_argument("--version", action="version", version=f"pinnpoint {__version__}")
    add_commands(parser)
    arguments = parser.parse_args(joined(argv))
    if isinstance(sys.stdout, io.TextIOWrapper):  # a title that the terminal cannot show must not end a run
        json = getattr(arguments, "json", False)
        sys.stdout.reconfigure(encoding="utf-8" if json else None, errors="strict" if json else "backslashreplace")
    return arguments


def told(error: Exception) -> int:
    """Say what went wrong in one line; the exit code."""
    if isinstance(error, PinnpointError):
        tell(f"pinnpoint: {_line(error)}")
        return 2
    if isinstance(error, MemoryError) or str(error) == NO_THREAD:
        tell(shortage(MemoryError(error) if str(error) == NO_THREAD else MemoryError(*error.args)))
        return 3
    if isinstance(error, OSError) and error.strerror:  # a disk that is full, or a file that may not be touched
        where = f"'{os.fsdecode(error.filename)}': " if error.filename is not None else ""
        tell(f"pinnpoint: {_line(where + error.strerror)}")
        return 2
    if isinstance(error, ModuleNotFoundError) and not (error.name or "pinnpoint").startswith("pinnpoint"):
        tell(f"pinnpoint: this command needs {error.name}, which is not installed: pip install pinnpoint")
        return 2
    tell(f"pinnpoint: internal error, please report it: {type(error).__name__}: {_line(error)}")
    return 3


def _arrived(code: int) -> int:
    """The exit code, another one where what was printed did not arrive."""
    error = unwritten()
    if error is None:
        return code
    if isinstance(error, BrokenPipeError):  # whoever read the results has seen enough
        return 141
    tell(f"pinnpoint: stdout: cannot be written ({error.strerror}); what was to be printed is lost")
    return 2


def tell(line: str) -> None:
    """Say something on stderr."""
    print(line, file=sys.stderr, flush=True)


def _line(text: object) -> str:
    """On one line, whatever names of files or groups are in it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def joined(argv: Sequence[str]) -> list[str]:
    """The arguments with ``--petsc "-log_view"`` as one, for a lone option would be taken for one of this program."""
    found: list[str] = []
    for word in argv:
        if found and found[-1] == "--petsc" and word.startswith("-") and not word.startswith("--"):
            found[-1] = f"--petsc={word}"
        else:
            found.append(word)
    return found
