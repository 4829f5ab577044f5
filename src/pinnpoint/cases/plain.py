"""Plain data from TOML that the rest can rely on: shallow, with numbers and text that can be printed."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.errors import InputError

DEEPEST = 16
"""Tables and lists within each other; a case has five."""
LARGEST = 2**4000
"""Larger whole numbers cannot be printed by Python, not even to refuse them."""


def require_plain(data: object, what: str) -> None:
    """Refuse what is nested too deeply, monstrous integers, and text that is not Unicode; says where."""
    level, depth = [("", data)], 0
    while level:
        if depth > DEEPEST:
            raise InputError(f"{what}: is nested too deeply")
        below: list[tuple[str, Any]] = []
        for name, value in level:
            here = f"{what}: {name[1:]}" if name else what
            if isinstance(value, dict):
                below += [(name, key) for key in value]
                below += [(f"{name}.{key}", inner) for key, inner in value.items()]
            elif isinstance(value, list):
                below += [(f"{name}.{i}", inner) for i, inner in enumerate(value)]
            elif isinstance(value, str) and not _is_unicode(value):
                raise InputError(f"{here}: must be Unicode text; got {value[:60]!r}")
            elif isinstance(value, int) and abs(value) >= LARGEST:
                raise InputError(f"{here}: a whole number of {value.bit_length()} bits; write large numbers as 1e30")
        level, depth = below, depth + 1


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """A file's name on one line, and as text that can be written: bytes that are not Unicode become escapes."""
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)
