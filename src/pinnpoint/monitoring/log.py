"""Decisions on disk: one line of JSON each, written before anybody is told of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import DependencyMissingError, InputError, PinnpointError
from pinnpoint.certificates.json import once

ACCEPT, FLAG, FALLBACK = ACTIONS = ("accept", "flag", "fallback")
FIRST = b'{"time"'
"""What every line begins with."""


class LogError(PinnpointError, OSError):
    """A decision could not be recorded, and so was not made."""


class DecisionLog:
    """A file that lines are added to; one that was deleted or moved away in the meantime is begun anew."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = log_path(path)
        self.torn = False
        self.file: Any = None
        self._open()

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add lines with one write, all of them or none.

        A line that was cut off before, by a kill or a full disk, stands alone.
        """
        self._return()
        lines = [json.dumps(row, allow_nan=False).encode("ascii") + b"\n" for row in rows]
        data, before, torn = (b"\n" if self.torn else b"") + b"".join(lines), self._size(), self.torn
        self.torn = True
        try:
            whole = self.file.write(data) == len(data)
        except OSError as error:
            self.torn = torn if self._take_back(before, data) else True
            raise LogError(f"log: could not be written ({error.strerror}); the decision does not count") from error
        if not whole:
            self.torn = torn if self._take_back(before, data) else True
            raise LogError("log: could not be written to its end, the disk is full; the decision does not count")
        self.torn = False

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def _take_back(self, before: int, data: bytes) -> bool:
        """Remove what was written of some data; not where others have written since."""
        try:
            number = self.file.fileno()
            tail = os.pread(number, len(data) + 1, before)
            if not data.startswith(tail):
                return False
            os.ftruncate(number, before)
        except OSError:
            return False
        return True

    def _return(self) -> None:
        """Open the file anew where another one, or none, has its name."""
        try:
            there, here = os.stat(self.path), os.fstat(self.file.fileno())
            if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise LogError(f"log: could not be found ({error.strerror}); the decision does not count") from error
        gone = self.file
        try:
            self._open()
        except InputError as error:
            raise LogError(f"{error}; the decision does not count") from error
        gone.close()

    def _open(self) -> None:
        path = self.path
        if not path.parent.is_dir():
            raise InputError(f"log: the folder '{path.parent}' does not exist; make it first")
        if path.is_dir():
            raise InputError(f"log: '{path}' is a folder; give the name of a file")
        if path.exists() and not path.is_file():  # a device may have no end
            raise InputError(f"log: '{path}' is no regular file, which counts could go on from; give another name")
        try:
            if path.exists():
                _require_log(path)
            file = path.open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"log: '{path}' could not be opened ({error.strerror}); choose another place") from error
        size = file.seek(0, os.SEEK_END)
        last = b"\n"
        if size:
            file.seek(size - 1)
            last = file.read(1)
        self.file, self.torn = file, last != b"\n"


def log_path(given: Any) -> Path:
    """The path of a log, or a refusal."""
    try:
        path = os.fspath(given)
    except TypeError:
        path = None
    if not isinstance(path, str) or not path or "\0" in path:
        raise InputError(f"log: must be the name of a file; got {given!r}")
    return Path(path)


def _require_log(path: Path) -> None:
    """Refuse a file with something in it, and no decision: lines are added to logs alone."""
    with path.open("rb") as file:
        start = file.read(len(FIRST))
    if start and not FIRST.startswith(start) and not start.startswith(FIRST) and next(read_log(path), None) is None:
        raise InputError(f"log: '{path}' is no log of decisions, and would be spoilt; give another name")


def read_log(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The decisions in a log, in order; lines that were cut off are left out."""
    try:
        file = log_path(path).open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"log: '{path}' could not be read ({error.strerror})") from error
    with file:
        for line in file:
            try:
                row = json.loads(line, object_pairs_hook=once)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict) and row.get("action") in ACTIONS and _is_ratio(row.get("ratio", "")):
                yield row


def _is_ratio(x: Any) -> bool:
    return x is None or (isinstance(x, int | float) and not isinstance(x, bool) and x >= 0.0)


def log_to_parquet(log: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """A log as a Parquet table, one row per decision and query (extra ``parquet``)."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DependencyMissingError("log_to_parquet needs pyarrow: pip install 'pinnpoint[parquet]'") from error
    rows = []
    for number, row in enumerate(read_log(log)):
        head = {"decision": number, **{k: v for k, v in row.items() if k not in ("queries", "derived")}}
        head["label"] = None if head.get("label") is None else str(head["label"])
        each = [*(row.get("queries") or [{}]), *(row.get("derived") or [])]
        rows += [{k: _writable(v) for k, v in {**head, **query}.items()} for query in each]
    kinds = {"decision": pa.int64(), **dict.fromkeys(("time", "label", "certificate", "action", "reason"), pa.string())}
    kinds |= dict.fromkeys(("ratio", "seconds"), pa.float64()) | {"name": pa.string()}
    kinds |= dict.fromkeys(("predicted", "radius", "lower", "upper", "answer", "accept"), pa.float64())
    kinds |= {"verdict": pa.string(), "above": pa.float64(), "below": pa.float64(), "limit": pa.string()}
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items()))), str(path))
    return Path(path)


def _writable(x: Any) -> Any:
    """Text without halves of surrogate pairs, which no file of UTF-8 has: they are spelled out."""
    return x.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(x, str) else x
