"""Plain data from TOML that the rest can rely on: shallow, with numbers of usual size and text that can be written."""

from __future__ import annotations

from typing import Any

from pinnpoint.errors import InputError

DEEPEST = 16
"""Tables and lists within each other; a case has five."""


def require_plain(data: Any, what: str) -> None:
    """Refuse what is nested too deeply, integers that TOML does not have, and text that is not Unicode."""
    level, depth = [data], 0
    while level:
        if depth > DEEPEST:
            raise InputError(f"{what}: is nested too deeply")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += [*value, *value.values()]
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str) and not _is_unicode(value):
                raise InputError(f"{what}: {value[:60]!r} is not Unicode text")
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise InputError(f"{what}: has a whole number beyond 64 bits; write large numbers as 1e30")
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
