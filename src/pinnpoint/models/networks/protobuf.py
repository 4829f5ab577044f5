"""The wire format of protocol buffers, as much of it as reading needs, with every length checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pinnpoint.base.errors import InputError

Message = dict[int, list[Any]]
"""Values by field number: whole numbers, or bytes for everything that has a length or a fixed width."""
LENGTH = 2
WIDTHS = {1: 8, 5: 4}


def message(data: bytes) -> Message:
    """All fields of one message, in order."""
    found: Message = {}
    for number, value in _fields(data):
        found.setdefault(number, []).append(value)
    return found


def varints(values: list[Any]) -> list[int]:
    """Signed whole numbers of a repeated field, packed or not."""
    out: list[int] = []
    for value in values:
        if isinstance(value, bytes):
            at = 0
            while at < len(value):
                n, at = _varint(value, at)
                out.append(n)
        else:
            out.append(value)
    return [n - 2**64 if n >= 2**63 else n for n in out]


def text(values: list[Any]) -> str:
    """The last string of a field, empty where there is none."""
    if not values:
        return ""
    if not isinstance(values[-1], bytes):
        raise InputError("onnx: a name was expected, a number was found; the file is damaged")
    return name_of(values[-1])


def name_of(value: bytes) -> str:
    """One string; two that differ must not be read as the same."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"onnx: the name {value[:40]!r} is not UTF-8; the file is damaged") from error


def parts(values: list[Any]) -> list[bytes]:
    """A repeated field of messages or strings."""
    if not all(isinstance(v, bytes) for v in values):
        raise InputError("onnx: a message was expected, a number was found; the file is damaged")
    return values


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == LENGTH:
            size, at = _varint(data, at)
        elif kind in WIDTHS:
            size = WIDTHS[kind]
        else:
            raise InputError(f"onnx: wire type {kind} is not read; the file is damaged or not ONNX")
        if size > len(data) - at or not number:
            raise InputError("onnx: a field leaves the file; it is damaged or not ONNX")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for k in range(10):
        if at + k >= len(data):
            break
        value |= (data[at + k] & 127) << (7 * k)
        if data[at + k] < 128:
            return value & (2**64 - 1), at + k + 1
    raise InputError("onnx: a number leaves the file; it is damaged or not ONNX")
