"""`pinnpoint verify BUNDLE`: re-check a bundle with code that shares nothing with what produced it."""

from __future__ import annotations

import argparse

import pinnpoint_verify as verifier


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where it is not verified."""
    return verifier.main(arguments.bundle, arguments.inputs, arguments.key)
