"""Digests of arrays: equal for equal contents, wherever they lie."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def digest(*arrays: Any) -> str:
    """32 hexadecimal digits of the contents, shapes and types of arrays."""
    found = hashlib.blake2b(digest_size=16)
    for a in arrays:
        a = np.ascontiguousarray(a)
        found.update(f"{a.dtype.str}{a.shape}".encode())
        found.update(a.data.cast("B") if a.size else b"")
    return found.hexdigest()
