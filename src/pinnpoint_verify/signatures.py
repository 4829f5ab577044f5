"""Whose certificate it is: a detached Ed25519 signature of manifest.json, which holds the digest of every other file.

The one part of the checker that needs a library beside numpy and scipy, and only where `--key` is given.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pinnpoint_verify.reader import Refused, need


def beside(bundle: Any) -> Path:
    """Where the signature of a bundle lies: `bundle.sig` beside the folder `bundle`."""
    folder = Path(bundle)
    return folder.with_name((folder.name or folder.resolve().name) + ".sig")


def signature_agrees(bundle: Any, key: Any) -> str:
    """The signature beside a bundle is that of its manifest by the owner of a public key (PEM); what was verified."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ModuleNotFoundError as error:
        raise Refused("key: signatures need the package cryptography: pip install 'pinnpoint[sign]'") from error
    path, manifest = beside(bundle), Path(bundle) / "manifest.json"
    need(path.is_file() and path.stat().st_size < 1000, f"key: there is no signature {path.name!r} beside the bundle")
    need(manifest.is_file(), "manifest.json: is missing or too large")
    try:
        public = serialization.load_pem_public_key(Path(key).read_bytes())
        signature = bytes.fromhex(path.read_text("ascii").strip())
    except (ValueError, OSError, TypeError) as error:
        raise Refused(f"key: the public key or the signature cannot be read ({str(error)[:100]})") from error
    need(isinstance(public, Ed25519PublicKey), "key: is not the public key of an Ed25519 pair")
    assert isinstance(public, Ed25519PublicKey)
    try:
        public.verify(signature, manifest.read_bytes())
    except InvalidSignature as error:
        raise Refused("key: the signature is not that of this bundle by this key") from error
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return f"signed by the key with the SHA-256 {hashlib.sha256(raw).hexdigest()}"
