"""A table in a folder of Parquet files, all with the same columns of the same types."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.campaigns.growing import AbstractTable, lock, not_written, other_columns
from pinnpoint.campaigns.tasks import LEAD, Row

KINDS = {type(None): "null", bool: "bool", int: "int64", float: "double", str: "string"}
EXACT = 2**53
"""Whole numbers up to here are doubles too."""


class ParquetTable(AbstractTable):
    """A folder of files, each with up to `batch` instances or those of `flush` seconds.

    The type of a column is that of its first value. Where whole numbers turn into others, or None into values, the
    files that are there are written again with the wider type, since readers want one type.
    """

    def __init__(self, path: Path, batch: int, flush: float) -> None:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise DependencyMissingError(
                "out: Parquet tables need pyarrow: pip install 'pinnpoint[parquet]'"
            ) from error
        self.arrow = pyarrow
        self.path, self.batch, self.pause = path, batch, flush
        path.mkdir(exist_ok=True)
        self.lock = (path / ".lock").open("ab")
        self.done, self.number = set(), 0
        self.kinds: dict[str, str] | None = None
        self.waiting: list[Row] = []
        self.count = 0
        self.written = time.monotonic()
        try:
            lock(self.lock, path)
            self._read()
        except BaseException:
            self.lock.close()
            raise

    def add(self, instance: str, rows: list[Row]) -> None:
        """Kept until there are enough for a file, or for long enough."""
        known = dict.fromkeys(rows[0], "null") if self.kinds is None else self.kinds
        kinds = dict(known)
        for row in rows:
            if row.keys() != kinds.keys():
                raise other_columns(instance, row, known)
            for name, value in row.items():
                kinds[name] = self._kind(instance, name, kinds[name], value)
        new = [dict(zip(LEAD, (instance, i + 1, len(rows)), strict=True)) | row for i, row in enumerate(rows)]
        if kinds != known:
            self._widen(instance, kinds, [*self.waiting, *new])
        self.kinds = kinds
        self.waiting += new
        self.done.add(instance)
        self.count += 1
        if self.count >= self.batch:
            self._write()
        self.tick()

    def tick(self) -> None:
        """A file of what has been waiting for long."""
        if time.monotonic() - self.written >= self.pause:
            self._write()

    def close(self) -> None:
        """The last file."""
        if not self.lock.closed:
            try:
                self._write()
            finally:
                self.lock.close()

    def _kind(self, instance: str, name: str, kind: str, value: Any) -> str:
        """The type of a column that takes one more value."""
        own = next(KINDS[base] for base in type(value).__mro__ if base in KINDS)
        where = f"task: '{name}' of instance '{instance[:60]}'"
        if own == "int64" and not -(2**63) <= value < 2**63:
            raise InputError(f"{where} does not fit into the 64 bits of a whole number in Parquet; return text")
        if kind == "double" and own == "int64" and abs(value) > EXACT:
            raise InputError(f"{where} is {value}, which is no double, and the column holds doubles; return text")
        wider = _join(kind, own)
        if wider is None:
            raise InputError(
                f"{where} is {str(value)[:60]!r} ({own}), and the column holds {kind}; return one type in all instances"
            )
        return wider

    def _schema(self, kinds: dict[str, str]) -> Any:
        lead = dict(zip(LEAD, ("string", "int64", "int64"), strict=True))
        types = {kind: self.arrow.type_for_alias(kind) for kind in KINDS.values()}
        return self.arrow.schema([(name, types[kind]) for name, kind in (lead | kinds).items()])

    def _parts(self) -> list[Path]:
        return sorted(self.path.glob("part-*.parquet"))

    def _read(self) -> None:
        """What earlier runs wrote; what a kill left half widened is finished."""
        kinds: set[tuple[tuple[str, str], ...]] = set()
        for file in self._parts():
            with self._refused(f"out: '{file}' is not a file of this campaign", "choose another folder"):
                self.number = int(file.stem.removeprefix("part-"))
                table = self.arrow.parquet.read_table(file, columns=["instance"], partitioning=None)
                self.done |= set(table["instance"].to_pylist())
                schema = self.arrow.parquet.read_schema(file)
                found = {field.name: str(field.type) for field in schema if field.name not in LEAD}
                if self.kinds is not None and found.keys() != self.kinds.keys():
                    raise ValueError("it has other columns than the files before it")
                wider = {name: _join((self.kinds or found)[name], kind) for name, kind in found.items()}
                self.kinds = {name: kind for name, kind in wider.items() if kind is not None}
                if self.kinds.keys() != found.keys() or not set(found.values()) <= set(KINDS.values()):
                    raise ValueError("it has other types than the files before it")
                kinds.add(tuple(sorted(found.items())))
        if len(kinds) > 1 and self.kinds is not None:
            self._recast(self.kinds, f"out: '{self.path}' has files of other types", "choose another folder")

    def _widen(self, instance: str, kinds: dict[str, str], rows: list[Row]) -> None:
        """Other types for the files that are there; nothing is changed unless all of them can be."""
        for name, kind in kinds.items():
            whole = (row[name] for row in rows if isinstance(row[name], int))
            if kind == "double" and any(abs(value) > EXACT for value in whole):
                raise InputError(
                    f"task: '{name}' of instance '{instance[:60]}' is no whole number, and the column holds some that "
                    "are no doubles; return text"
                )
        self._recast(kinds, f"task: instance '{instance[:60]}' has doubles where the table has longer whole numbers")

    def _recast(self, kinds: dict[str, str], words: str, advice: str = "return text") -> None:
        schema = self._schema(kinds)
        files = [file for file in self._parts() if not self.arrow.parquet.read_schema(file).equals(schema)]
        for write in (False, True):  # all can be before one is
            for file in files:
                with self._refused(words, advice):
                    table = self.arrow.parquet.read_table(file, partitioning=None).select(schema.names).cast(schema)
                if write:
                    self._put(table, file)

    def _write(self) -> None:
        self.written = time.monotonic()
        if not self.waiting or self.kinds is None:
            return
        table = self.arrow.Table.from_pylist(self.waiting, schema=self._schema(self.kinds))
        self._put(table, self.path / f"part-{self.number + 1:06d}.parquet")
        self.number += 1
        self.waiting, self.count = [], 0

    def _put(self, table: Any, target: Path) -> None:
        """A file that appears whole or not at all."""
        hidden = self.path / f".{target.name}"
        try:
            with hidden.open("wb") as stream:
                self.arrow.parquet.write_table(table, stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(hidden, target)
        except OSError as error:
            hidden.unlink(missing_ok=True)
            raise not_written(self.path, error) from error

    @contextmanager
    def _refused(self, words: str, advice: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, OSError, self.arrow.ArrowException) as error:
            raise InputError(f"{words} ({str(error)[:200]}); {advice}") from error


def _join(one: str, two: str) -> str | None:
    """The type that holds the values of both, if any."""
    if one == two or two == "null":
        return one
    if one == "null":
        return two
    return "double" if {one, two} == {"int64", "double"} else None
