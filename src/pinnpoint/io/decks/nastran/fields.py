"""Fields of bulk data as numbers: `4.43-9`, `1.D3` and blanks, whole columns at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError

Fields = Any
"""A one-dimensional array of bytes, one entry per field."""
Name = Callable[[int], str]
"""Names the k-th field in a message."""


def _allowed(characters: bytes) -> Any:
    table = np.zeros(256, dtype=bool)
    table[list(characters)] = True
    return table


WHOLE = _allowed(b"0123456789+- \0")
REAL = _allowed(b"0123456789+-.EeDd \0")
SHORT = re.compile(rb"(?<=[0-9.])([+-])")


def blank(fields: Fields) -> Any:
    """Which fields hold nothing."""
    return ~(_bytes(fields) > 32).any(axis=1)


def integers(fields: Fields, name: Name, default: int | None = None) -> Index:
    """Whole numbers; blanks take the default, or are refused."""
    return np.asarray(_convert(fields, name, default, np.int64, WHOLE, "a whole number"), dtype=np.intp)


def reals(fields: Fields, name: Name, default: float | None = None) -> Vector:
    """Finite numbers; an exponent may come without its letter."""
    values = np.asarray(_convert(fields, name, default, np.float64, REAL, "a number"), dtype=np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        raise _refused(fields, name, int(np.argmax(bad)), "a finite number")
    return values


def _bytes(fields: Fields) -> Any:
    return np.ascontiguousarray(fields).view(np.uint8).reshape(len(fields), -1)


def _convert(fields: Fields, name: Name, default: Any, dtype: Any, allowed: Any, what: str) -> Any:
    values = np.empty(len(fields), dtype=dtype)
    if not len(fields):
        return values
    empty = blank(fields)
    if empty.any():
        if default is None:
            raise _refused(fields, name, int(np.argmax(empty)), what)
        values[empty] = default
    given = np.flatnonzero(~empty)
    if not given.size:
        return values
    texts = np.ascontiguousarray(fields[given])
    wrong = ~allowed[_bytes(texts)].all(axis=1)
    if wrong.any():
        raise _refused(fields, name, int(given[np.argmax(wrong)]), what)
    if dtype is np.float64:
        texts = _with_exponents(texts)
    try:
        with np.errstate(over="ignore"):
            values[given] = texts.astype(dtype)
    except (ValueError, OverflowError):
        bad = next(i for i, t in enumerate(texts.tolist()) if not _reads(t, dtype))
        raise _refused(fields, name, int(given[bad]), what) from None
    return values


def _with_exponents(texts: Fields) -> Fields:
    B = _bytes(texts)
    sign = (B == 43) | (B == 45)
    after = sign[:, 1:] & ((B[:, :-1] == 46) | ((B[:, :-1] >= 48) & (B[:, :-1] <= 57)))
    letters = (B == 68) | (B == 100)
    odd = after.any(axis=1) | letters.any(axis=1)
    if not odd.any():
        return texts
    wide = texts.astype(f"S{texts.dtype.itemsize + 1}")
    joined = b"\n".join(texts[odd].tolist()).upper().replace(b"D", b"E")
    wide[odd] = np.array(SHORT.sub(rb"E\1", joined).split(b"\n"), dtype=wide.dtype)
    return wide


def _reads(text: bytes, dtype: Any) -> bool:
    try:
        np.array([text]).astype(dtype)
    except (ValueError, OverflowError):
        return False
    return True


def _refused(fields: Fields, name: Name, k: int, what: str) -> InputError:
    text = bytes(fields[k]).decode("ascii", errors="replace").strip("\0 ")
    return InputError(f"{name(k)} must be {what}; got {text[:40]!r}")
