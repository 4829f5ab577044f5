"""Entry point: parse, dispatch, and turn refusals into exit code 2 with one message."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pinnpoint.cli.commands import add_commands
from pinnpoint.errors import PinnpointError, shortage
from pinnpoint.version import __version__

NO_THREAD = "can't start new thread"
"""What Python says when memory does not suffice for one."""


class Parser(argparse.ArgumentParser):
    """Refuses with one line, as everything here does."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        self.exit(2, f"pinnpoint: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done, every interval within its tolerance and every verdict that was asked for positive; 1 done, an interval wider
    than its tolerance or a verdict undecided; 2 input refused; 3 internal error; 4 done, a verdict negative.
    """
    parser = Parser(prog="pinnpoint", description="Intervals that provably hold the true value.")
    parser.add_argument("--version", action="version", version=f"pinnpoint {__version__}")
    add_commands(parser)
    arguments = parser.parse_args(joined(sys.argv[1:] if argv is None else argv))
    if isinstance(sys.stdout, io.TextIOWrapper):  # a title that the terminal cannot show must not end a run
        json = getattr(arguments, "json", False)
        sys.stdout.reconfigure(encoding="utf-8" if json else None, errors="strict" if json else "backslashreplace")
    try:
        code = int(importlib.import_module(f"pinnpoint.cli.{arguments.command}").run(arguments))
        sys.stdout.flush()
        return code
    except PinnpointError as error:
        print(f"pinnpoint: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the results has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("pinnpoint: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        print(shortage(error), file=sys.stderr)
        return 3
    except Exception as error:
        if str(error) == NO_THREAD:
            print(shortage(MemoryError(error)), file=sys.stderr)
            return 3
        print(f"pinnpoint: internal error, please report it: {type(error).__name__}: {error}", file=sys.stderr)
        return 3


def joined(argv: Sequence[str]) -> list[str]:
    """The arguments with ``--petsc "-log_view"`` as one, for a lone option would be taken for one of this program."""
    found: list[str] = []
    for word in argv:
        if found and found[-1] == "--petsc" and word.startswith("-") and not word.startswith("--"):
            found[-1] = f"--petsc={word}"
        else:
            found.append(word)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
