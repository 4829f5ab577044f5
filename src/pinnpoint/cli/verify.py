"""`pinnpoint verify BUNDLE`: re-check a bundle with code that shares nothing with what produced it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pinnpoint import verifier


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("verify", help="re-check a certificate bundle from its witnesses alone")
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where it is not verified."""
    return verifier.main(arguments.bundle)
