"""Entry point: parse, dispatch, and turn refusals into exit code 2 with one message."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pinnpoint.cli import certify, check, demo, doctor
from pinnpoint.errors import PinnpointError
from pinnpoint.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 done, 2 input refused, 3 internal error."""
    parser = argparse.ArgumentParser(prog="pinnpoint", description="Intervals that provably hold the true value.")
    parser.add_argument("--version", action="version", version=f"pinnpoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (demo, check, certify, doctor):
        module.add(commands)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except PinnpointError as error:
        print(f"pinnpoint: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pinnpoint: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        print(f"pinnpoint: internal error, please report it: {type(error).__name__}: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    raise SystemExit(main())
