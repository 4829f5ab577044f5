"""Whose certificate it is: an Ed25519 signature of manifest.json, which holds the digest of every other file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.base.files import read_bytes, write_whole


def beside(bundle: Path) -> Path:
    """Where the signature of a bundle lies: `bundle.sig` beside the folder `bundle`."""
    return bundle.with_name((bundle.name or bundle.resolve().name) + ".sig")


def sign(bundle: Path, key: Path) -> Path:
    """Sign a bundle with a private key (PEM); the file that was written."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError as error:
        raise _missing() from error
    manifest, text = read_bytes(bundle / "manifest.json", "bundle"), read_bytes(key, "--key")
    try:
        private = serialization.load_pem_private_key(text, None)
    except (ValueError, TypeError) as error:
        raise InputError(f"--key '{key}': must be a private key in PEM without a password ({error})") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError(f"--key '{key}': must be an Ed25519 key: openssl genpkey -algorithm ed25519 -out private.pem")
    return write_whole(beside(bundle), [private.sign(manifest).hex().encode() + b"\n"])


def identity(bundle: Path) -> str:
    """The certificate's id by a bundle's manifest; empty where it was written before there were ids."""
    try:
        said = json.loads(read_bytes(bundle / "manifest.json", "bundle"))
    except ValueError as error:
        raise InputError(f"bundle: '{bundle}' has a manifest that is no JSON; write the bundle again") from error
    return str(said.get("certificate", "")) if isinstance(said, dict) else ""


def signer(bundle: Path, key: Path) -> str:
    """The SHA-256 of a public key (PEM) whose owner signed a bundle, empty where it is another's signature or none."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ModuleNotFoundError as error:
        raise _missing() from error
    pem = read_bytes(key, "--key")
    try:
        public = serialization.load_pem_public_key(pem)
    except (ValueError, TypeError) as error:
        raise InputError(f"--key '{key}': must be a public key in PEM ({error})") from error
    if not isinstance(public, Ed25519PublicKey):
        raise InputError(f"--key '{key}': must be the public key of an Ed25519 pair")
    manifest = read_bytes(bundle / "manifest.json", "bundle")
    text = read_bytes(beside(bundle), "signature")
    try:
        public.verify(bytes.fromhex(text.decode("ascii").strip()), manifest)
    except (InvalidSignature, ValueError):
        return ""
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def _missing() -> DependencyMissingError:
    return DependencyMissingError("--key: signatures need the package cryptography: pip install 'pinnpoint[sign]'")
