"""Sections of MSH files: whole numbers and doubles, in text or binary, read to the last one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import numbers

REST_OF_LINE = re.compile(rb"[ \t]*\r?\n")


def _opened(data: bytes, mark: bytes) -> int | None:
    """Where the line after the first one that holds a mark alone begins."""
    at = data.find(mark)
    while at >= 0:
        rest = REST_OF_LINE.match(data, at + len(mark))
        if rest is not None and data[max(at - 1, 0) : at] in (b"", b"\n"):
            return rest.end()
        at = data.find(mark, at + 1)
    return None


class Section:
    """A cursor over one section, which must be consumed to its last number."""

    def __init__(self, data: bytes, name: str, *, binary: bool, size: int = 8) -> None:
        opened = _opened(data, b"$" + name.encode())
        if opened is None:
            raise InputError(f"section ${name} is missing")
        self.name, self.binary, self.size, self.data, self.at = name, binary, size, data, opened
        if not binary:
            stop = data.find(b"$End" + name.encode(), self.at)
            if stop < 0:
                raise self.error("it is not closed; the file is cut short")
            try:
                self.values, self.at = numbers(data[self.at : stop]), 0
            except (ValueError, UnicodeDecodeError) as error:
                raise self.error(f"it holds {error}") from error

    def error(self, what: str) -> InputError:
        """A refusal that names the section."""
        return InputError(f"section ${self.name}: {what}")

    def line(self) -> int:
        """The count that stands alone on a line, as text in binary files too."""
        if not self.binary:
            return int(self.ints(1)[0])
        stop = self.data.find(b"\n", self.at)
        text, self.at = self.data[self.at : stop].strip(), stop + 1
        if not text.isdigit():
            raise self.error("its number of entries is missing")
        return int(text)

    def raw(self, dtype: Any, count: int) -> Any:
        """Binary records."""
        kind = np.dtype(dtype)
        if count < 0 or self.at + count * kind.itemsize > len(self.data):
            raise self.error("it ends before all its entries; the file is cut short")
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += count * kind.itemsize
        return found

    def doubles(self, count: int) -> Vector:
        """The next numbers."""
        if self.binary:
            return np.asarray(self.raw("<f8", count), dtype=np.float64)
        if count < 0 or self.at + count > len(self.values):
            raise self.error("it ends before all its entries")
        self.at += count
        return self.values[self.at - count : self.at]

    def ints(self, count: int) -> Index:
        """The next whole numbers of 4 bytes."""
        return np.asarray(self.raw("<i4", count) if self.binary else self.whole(self.doubles(count)), dtype=np.intp)

    def sizes(self, count: int) -> Index:
        """The next whole numbers of the file's own size."""
        found = self.raw(f"<u{self.size}", count) if self.binary else self.whole(self.doubles(count))
        return np.asarray(found, dtype=np.intp)

    def close(self) -> None:
        """Refuse a section with more in it than its counts say."""
        if not self.binary and self.at != len(self.values):
            raise self.error(f"{len(self.values) - self.at} numbers are left over; its counts do not fit")
        if self.binary and not self.data[self.at : self.at + 40].lstrip().startswith(b"$End" + self.name.encode()):
            raise self.error("it does not end where its counts say")

    def whole(self, a: Vector) -> Index:
        """Numbers of a text that must be whole."""
        if a.size and not (np.all(np.abs(a) < 2**53) and np.all(a == np.rint(a))):
            raise self.error("a number that should be whole is not")
        return a.astype(np.intp)
