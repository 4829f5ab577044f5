"""`pinnpoint sign BUNDLE --key PRIVATE.pem`: a detached Ed25519 signature of a bundle."""

from __future__ import annotations

import argparse

from pinnpoint.outputs.bundle.signatures import identity, sign


def run(arguments: argparse.Namespace) -> int:
    """Write `BUNDLE.sig` beside the bundle; `pinnpoint verify BUNDLE --key PUBLIC.pem` checks it."""
    print(sign(arguments.bundle, arguments.key))
    print(f"signed: certificate {identity(arguments.bundle) or 'without an id'}")
    return 0
