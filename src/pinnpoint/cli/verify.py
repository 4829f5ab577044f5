"""`pinnpoint verify BUNDLE`: re-check a bundle with code that shares nothing with what produced it."""

from __future__ import annotations

import argparse

import pinnpoint_verify as verifier


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where it is not verified."""
    if arguments.key is not None:
        from pinnpoint.outputs.bundle.signatures import identity, signer

        digest = signer(arguments.bundle, arguments.key)
        if not digest:
            print("NOT VERIFIED: key: the signature is not that of this bundle by this key")
            return 1
        named = identity(arguments.bundle) or "without an id"
        print(f"verified: signed by the key with the SHA-256 {digest}: certificate {named}")
    return verifier.main(arguments.bundle, arguments.inputs)
