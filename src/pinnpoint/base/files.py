"""Files whole or not at all: reading bytes, writing through a part file, numbers in text."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError

PathLike = str | os.PathLike[str]


def require_file(path: Any, what: str) -> Path:
    """An existing file that is not empty, or a refusal that says which of these it is not."""
    try:
        target = Path(path)
        if target.is_dir():
            raise InputError(f"{what} '{target}': is a directory; name a file")
        if not target.exists():
            raise InputError(f"{what} '{target}': no such file")
        if not target.is_file():
            raise InputError(f"{what} '{target}': is a device or a pipe; name a regular file")
        if target.stat().st_size == 0:
            raise InputError(f"{what} '{target}': the file is empty")
    except (TypeError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} {str(path)[:200]!r}: not a readable file ({error})") from error
    return target


def read_bytes(path: Any, what: str) -> bytes:
    """The content of a file that exists and is not empty."""
    target = require_file(path, what)
    try:
        return target.read_bytes()
    except OSError as error:
        raise InputError(f"{what} '{target}': could not be read ({error.strerror})") from error


def write_whole(path: PathLike, pieces: Iterable[bytes]) -> Path:
    """Write a file whole or not at all: into ``.part`` beside it, then renamed."""
    target = Path(path)
    if target.exists() and not target.is_file():  # a device would be replaced
        raise InputError(f"'{target}': is no regular file; choose another name")
    part = target.with_name(target.name + ".part")
    try:
        with part.open("wb") as stream:
            stream.writelines(pieces)
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"'{target}': could not be written ({error.strerror}); choose another place") from error
    return target


def numbers(text: bytes | str, separator: str = " ") -> Vector:
    """All numbers of a text; ValueError where something else stands in it."""
    plain = text.decode("ascii") if isinstance(text, bytes) else text
    if not plain.strip():
        return np.zeros(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy warns where it stops reading early
        try:
            return np.fromstring(plain, dtype=np.float64, sep=separator)
        except (DeprecationWarning, ValueError) as error:
            raise ValueError("text where numbers should be") from error
