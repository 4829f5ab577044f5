"""`pinnpoint sign BUNDLE --key private.pem`: a detached Ed25519 signature of a bundle's manifest."""

from __future__ import annotations

import argparse

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.base.files import read_bytes, write_whole


def run(arguments: argparse.Namespace) -> int:
    """Write `BUNDLE.sig` beside the bundle; `pinnpoint verify BUNDLE --key public.pem` checks it."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError as error:
        raise DependencyMissingError("sign: needs the package cryptography: pip install 'pinnpoint[sign]'") from error
    from pinnpoint_verify.signatures import beside

    manifest = read_bytes(arguments.bundle / "manifest.json", "bundle")
    try:
        key = serialization.load_pem_private_key(read_bytes(arguments.key, "--key"), None)
    except (ValueError, TypeError) as error:
        raise InputError(f"--key '{arguments.key}': not a private key in PEM without a password ({error})") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"--key '{arguments.key}': must be an Ed25519 key: openssl genpkey -algorithm ed25519")
    path = write_whole(beside(arguments.bundle), [key.sign(manifest).hex().encode() + b"\n"])
    print(path)
    return 0
