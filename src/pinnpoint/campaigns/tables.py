"""Tables that grow by whole instances and survive a kill at any byte.

Every row carries its instance, its number and the number of rows of its instance. A CSV file grows by one write per
instance; when it is opened again, a tail that is not a whole instance is cut off. A Parquet table is a folder of files
that each appear whole or not at all.
"""

from __future__ import annotations

import csv
import io
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from pinnpoint.campaigns.tasks import Row
from pinnpoint.errors import DependencyMissingError, InputError
from pinnpoint.io.files import PathLike

LEAD = ("instance", "row", "rows")
SYNC = 1.0
"""Seconds between forced writes to the disk."""
BATCH = 256
"""Instances of one Parquet file."""


class AbstractTable(ABC):
    """A table of instances; `done` holds the names of those that are in it."""

    done: set[str]

    @abstractmethod
    def add(self, instance: str, rows: list[Row]) -> None:
        """Append one instance."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left."""

    def __enter__(self) -> AbstractTable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_table(path: PathLike) -> AbstractTable:
    """A new table, or one to go on with: ``.csv`` is a file, ``.parquet`` a folder (extra ``parquet``)."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"out: '{target}' must end in .csv or .parquet")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return CsvTable(target) if suffix == ".csv" else ParquetTable(target)
    except OSError as error:
        raise InputError(f"out: '{target}' could not be opened ({error.strerror}); choose another place") from error


class CsvTable(AbstractTable):
    """One file, appended to by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream = path.open("a+b", buffering=0)
        try:
            _lock(self.stream, path)
            self.columns, self.done, self.size = _whole(path)
            self.stream.truncate(self.size)
        except BaseException:
            self.stream.close()
            raise
        self.synced = time.monotonic()

    def add(self, instance: str, rows: list[Row]) -> None:
        """One write for the whole instance; where it fails, the file is as it was before."""
        names = tuple(rows[0])
        lines: list[list[str]] = []
        if self.columns is None:
            self.columns = (*LEAD, *names)
            lines.append(list(self.columns))
        for i, row in enumerate(rows):
            if (*LEAD, *row) != self.columns:
                given, known = ", ".join(row), ", ".join(self.columns[len(LEAD) :])
                raise InputError(f"task: instance '{instance}' has the columns {given}; the table has {known}")
            lines.append([instance, str(i + 1), str(len(rows)), *map(_text, row.values())])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(lines)
        data = text.getvalue().encode("utf-8")
        try:
            written = 0
            while written < len(data):
                written += self.stream.write(data[written:]) or 0
            if time.monotonic() - self.synced > SYNC:
                os.fsync(self.stream.fileno())
                self.synced = time.monotonic()
        except OSError as error:
            self.stream.truncate(self.size)
            raise InputError(
                f"out: '{self.path}' could not be written ({error.strerror}); run again to go on"
            ) from error
        self.size += len(data)
        self.done.add(instance)

    def close(self) -> None:
        """To the disk."""
        if not self.stream.closed:
            os.fsync(self.stream.fileno())
            self.stream.close()


class ParquetTable(AbstractTable):
    """A folder of files, each with some instances."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise DependencyMissingError(
                "out: Parquet tables need pyarrow: pip install 'pinnpoint[parquet]'"
            ) from error
        self.arrow = pyarrow
        self.path = path
        path.mkdir(exist_ok=True)
        self.lock = (path / ".lock").open("ab")
        _lock(self.lock, path)
        self.done, self.number = set(), 0
        for file in sorted(path.glob("part-*.parquet")):
            self.done |= set(pyarrow.parquet.read_table(file, columns=["instance"])["instance"].to_pylist())
            self.number = int(file.stem.removeprefix("part-"))
        self.waiting: list[Row] = []
        self.count = 0

    def add(self, instance: str, rows: list[Row]) -> None:
        """Kept until there are enough for a file."""
        self.waiting += [dict(zip(LEAD, (instance, i + 1, len(rows)), strict=True)) | row for i, row in enumerate(rows)]
        self.done.add(instance)
        self.count += 1
        if self.count >= BATCH:
            self._write()

    def _write(self) -> None:
        if not self.waiting:
            return
        self.number += 1
        target = self.path / f"part-{self.number:06d}.parquet"
        hidden = self.path / f".{target.name}"
        self.arrow.parquet.write_table(self.arrow.Table.from_pylist(self.waiting), hidden)
        os.replace(hidden, target)
        self.waiting, self.count = [], 0

    def close(self) -> None:
        """The last file."""
        if not self.lock.closed:
            self._write()
            self.lock.close()


def _whole(path: Path) -> tuple[tuple[str, ...] | None, set[str], int]:
    """Columns, instances and length of the part of a file that is whole."""
    done: set[str] = set()
    columns: tuple[str, ...] | None = None
    size, offset, expected, current = 0, 0, 1, ""
    for line, row in _lines(path):
        offset += len(line)
        if columns is None:
            columns, size = tuple(row), offset
            if columns[: len(LEAD)] != LEAD:
                raise InputError(f"out: '{path}' is not a table of a campaign; choose another file")
            continue
        try:
            name, number, count = row[0], int(row[1]), int(row[2])
        except (IndexError, ValueError) as error:
            raise InputError(
                f"out: '{path}' holds a row that no campaign wrote, {row[:3]}; choose another file"
            ) from error
        if number != expected or (number > 1 and name != current) or name in done:
            raise InputError(f"out: '{path}' has instance '{name}' out of order or twice; choose another file")
        current, expected = name, number + 1
        if number == count:
            done.add(name)
            size, expected = offset, 1
    return columns, done, size


def _lines(path: Path) -> Iterator[tuple[bytes, list[str]]]:
    """Complete lines and their cells; a last line without its end is left out."""
    with path.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                return
            try:
                yield line, next(csv.reader([line.decode("utf-8")]))
            except (UnicodeDecodeError, StopIteration, csv.Error) as error:
                raise InputError(f"out: '{path}' is not a table of a campaign ({error}); choose another") from error


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) if isinstance(value, str) else repr(value)


def _lock(stream: Any, path: Path) -> None:
    """One run at a time; a kill lets go of the lock."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InputError(
            f"out: '{path}' is being written by another run; wait for it, or choose another file"
        ) from error
