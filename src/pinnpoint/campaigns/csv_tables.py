"""A table in one CSV file."""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.campaigns.growing import AbstractTable, lock, not_written, other_columns
from pinnpoint.campaigns.tasks import LEAD, Row

SYNC = 1.0
"""Seconds between forced writes to the disk."""
CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"(?:,|\Z)|([^",]*)(?:,|\Z)')


class CsvTable(AbstractTable):
    """One file, appended to by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream = path.open("a+b", buffering=0)
        try:
            lock(self.stream, path)
            self.columns, self.done, self.size = _whole(path)
            self.stream.truncate(self.size)
        except BaseException:
            self.stream.close()
            raise
        self.synced = time.monotonic()

    def add(self, instance: str, rows: list[Row]) -> None:
        """One write for the whole instance; where it fails, the file is as it was before."""
        columns = (*LEAD, *rows[0]) if self.columns is None else self.columns
        lines = [list(columns)] if self.columns is None else []
        for i, row in enumerate(rows):
            if (*LEAD, *row) != columns:
                raise other_columns(instance, row, columns[len(LEAD) :])
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
            raise not_written(self.path, error) from error
        self.columns = columns
        self.size += len(data)
        self.done.add(instance)

    def tick(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """To the disk."""
        if self.stream.closed:
            return
        try:
            os.fsync(self.stream.fileno())
        except OSError as error:
            raise not_written(self.path, error) from error
        finally:
            self.stream.close()


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
                yield line, _cells(line.decode("utf-8").rstrip("\r\n"))
            except ValueError as error:
                raise InputError(f"out: '{path}' is not a table of a campaign ({error}); choose another") from error


def _cells(line: str) -> list[str]:
    """The cells of a line, of any length: `csv` refuses those above a limit that all threads share."""
    if '"' not in line:
        return line.split(",")
    cells, place = [], 0
    while True:
        found = CELL.match(line, place)
        if found is None:
            raise ValueError(f"a quotation mark is out of place in {line[:60]!r}")
        quoted, plain = found.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if not found.group().endswith(","):
            return cells


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value.split()) if isinstance(value, str) else repr(value)
