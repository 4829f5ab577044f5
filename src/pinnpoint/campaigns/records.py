"""What a table of a population is of, beside it: without the same words nobody goes on with the table."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import plain
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, write_whole
from pinnpoint.campaigns.tables import open_table

WHOLE = 2**28
"""Bytes up to which files are read to the end for their fingerprint."""
BLOCK = 2**20
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
Record = dict[str, Any]


def beside(out: PathLike) -> Path:
    """The file with what the table is of."""
    return Path(out).with_name(Path(out).name + ".of.json")


def require_same(out: PathLike, record: Record) -> set[str]:
    """Names of the chunks that the table holds, all of the same job; else a refusal that says what differs."""
    with open_table(out) as table:
        done = set(table.done)
    path = beside(out)
    if not done:
        write_whole(path, [json.dumps(record, indent=1).encode("utf-8")])
        return done
    if not path.is_file():
        raise InputError(
            f"out: '{out}' has rows, but '{path.name}' beside it, which says of what, is missing; nobody can tell "
            "whether they are of these instances: choose another table"
        )
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        differs = [name for name in record if known[name] != record[name]]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"out: '{path}' cannot be read ({str(error)[:80]}); choose another table") from error
    if differs:
        told = "; ".join(f"{name} was {_short(known[name])} and is {_short(record[name])}" for name in differs)
        advice = f"chunk={known['chunk']} or " if differs == ["chunk"] else ""
        raise InputError(f"out: '{out}' holds rows of another job ({told}); choose {advice}another table")
    return done


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else text[:97] + "…"


def told(value: object) -> str:
    """By its repr, without addresses, which no other process has."""
    return ADDRESS.sub("", repr(value))


def of_function(make: Callable[..., Any]) -> str:
    """Its qualified name and a digest of its text, where there is one."""
    if not inspect.isroutine(make):
        return told(make)
    try:
        text = blake2b(inspect.getsource(make).encode("utf-8"), digest_size=8).hexdigest()
    except (OSError, TypeError):
        text = "no text"
    return f"{make.__module__}.{make.__qualname__} ({text})"


def of_rows(rows: Iterable[Iterable[Any]]) -> str:
    """A digest of instances."""
    found = blake2b(digest_size=8)
    for row in rows:
        parts = list(row)
        found.update(f"{len(parts)}:".encode())
        for part in parts:
            try:
                array = np.asarray(plain(part))
            except (ValueError, TypeError, RuntimeError):
                array = np.array(None)
            found.update(f"{array.dtype}{array.shape}".encode())
            found.update(told(part).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def of_files(path: PathLike) -> str:
    """A digest of a file, or of all in a folder: of every byte, or of sizes, times and some bytes where it is large."""
    root = Path(path)
    files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]
    found, large = blake2b(digest_size=16), sum(f.stat().st_size for f in files) > WHOLE
    for file in files:
        size = file.stat().st_size
        found.update(f"{file.relative_to(root)}:{size}:{file.stat().st_mtime_ns if large else ''}:".encode())
        with file.open("rb") as stream:
            if not large:
                while block := stream.read(BLOCK):
                    found.update(block)
                continue
            for start in (0, max(0, size - BLOCK)):
                stream.seek(start)
                found.update(stream.read(BLOCK if len(files) == 1 else 0))
    return found.hexdigest()
