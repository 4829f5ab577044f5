"""Strict reading of TOML tables: every key is asked for by name and type, and what is left over is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.base.files import require_file
from pinnpoint.formulas.expressions import Expression, parse

Value = Expression | tuple[Expression | None, ...]
"""One formula for all components, or one for each; None leaves the component free."""
PerGroup = float | Mapping[str, float]
SPACE, SPACE_TIME = ("x", "y", "z"), ("x", "y", "z", "t")
"""Coordinates in formulas, without and with time."""
REQUIRED: Any = object()
MOST_TEXT = 4000
"""Characters of a text, of which bundles hold no longer ones."""
SIGNS = {"any": "", "positive": " > 0", "nonnegative": " ≥ 0"}
KINDS = {bool: "true or false", str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


def suggest(word: str, known: Sequence[str]) -> str:
    """A hint for an unknown word."""
    known = list(dict.fromkeys(known))
    close = get_close_matches(word, known, 1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"{hint} (known: {', '.join(known) or 'none'})"


WATCHER: list[Callable[[str, str, Any], None]] = []
"""Told every key that is asked for, with what it takes and its default: the documentation lists them so."""


class Table:
    """One table of a case file; `done` refuses the keys that nobody asked for."""

    def __init__(self, name: str, data: Any, folder: Path, joint: str = ".", section: str | None = None) -> None:
        if not isinstance(data, dict):
            raise InputError(f"{name}: must be a table; got {_shown(data)}")
        self.name, self.data, self.folder, self.joint = name, data, folder, joint
        self.section = name if section is None else section
        self.known: list[str] = []

    def _asked(self, key: str, kind: str, default: Any) -> None:
        """Tell whoever watches what a key takes."""
        if WATCHER:
            WATCHER[-1](f"{self.section}.{key}" if self.section else key, kind, default)

    def key(self, key: str) -> str:
        """The key's full name."""
        return f"{self.name}{self.joint}{key}" if self.name else key

    def has(self, key: str) -> bool:
        """Whether the file gives the key."""
        return key in self.data

    def take(self, key: str, default: Any = REQUIRED) -> Any:
        """The raw value."""
        self.known += [key] if key not in self.known else []
        if key not in self.data:
            if default is REQUIRED:
                typo = get_close_matches(key, [k for k in self.data if k not in self.known], 1)
                hint = f"; did you mean '{key}' by '{typo[0]}'?" if typo else ""
                raise InputError(f"{self.key(key)}: is missing{hint}")
            return default
        return self.data[key]

    def table(self, key: str, *, required: bool = False) -> Table:
        """A table within this one; empty where it may be missing."""
        default = REQUIRED if required else {}
        self._asked(key, "table", default)
        section = f"{self.section}.{key}" if self.section else key
        return Table(self.key(key), self.take(key, default), self.folder, section=section)

    def text(self, key: str, default: Any = REQUIRED, most: int = MOST_TEXT) -> Any:
        """Text on one line, of so many characters at most."""
        self._asked(key, "text", default)
        value = self.take(key, default)
        if value is not default:
            _require(self.key(key), value, str)
            if not value.isprintable():
                raise InputError(f"{self.key(key)}: must be one line of printable text; got {value[:60]!r}")
            if len(value) > most:
                raise InputError(f"{self.key(key)}: must have at most {most} characters; got {len(value)}, shorten it")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        self._asked(key, "`true` or `false`", default)
        value = self.take(key, default)
        _require(self.key(key), value, bool)
        return bool(value)

    def flag_or_word(self, key: str, default: bool, word: str) -> bool | str:
        """True, false, or one word."""
        self._asked(key, f'`true`, `false` or `"{word}"`', default)
        value = self.take(key, default)
        if value != word and not isinstance(value, bool):
            raise InputError(f"{self.key(key)}: must be true, false or '{word}'; got {str(value)[:60]!r}")
        return value  # type: ignore[no-any-return]

    def choice(self, key: str, options: Sequence[str], default: Any = REQUIRED) -> Any:
        """One of some words."""
        value = self.text(key, default)
        self._asked(key, ", ".join(f'`"{option}"`' for option in options), default)
        if value is not default and value not in options:
            raise InputError(f"{self.key(key)}: '{value[:60]}' is not known{suggest(value, options)}")
        return value

    def whole(self, key: str, default: Any = REQUIRED, low: int = 0, high: int = 2**31 - 1) -> Any:
        """A whole number in a range."""
        self._asked(key, f"whole number, {low} to {high}" if high < 2**31 - 1 else f"whole number ≥ {low}", default)
        value = self.take(key, default)
        if value is not default:
            _require(self.key(key), value, int)
            if not low <= value <= high:
                raise InputError(f"{self.key(key)}: must lie between {low} and {high}; got {str(value)[:40]}")
        return value

    def number(self, key: str, default: Any = REQUIRED, sign: str = "any") -> Any:
        """A finite number; `sign` is "any", "positive" or "nonnegative"."""
        self._asked(key, f"number{SIGNS[sign]}", default)
        value = self.take(key, default)
        return value if value is default else number(self.key(key), value, sign)

    def numbers(self, key: str, sign: str = "any", default: Any = REQUIRED) -> Any:
        """A number, or a table from groups to numbers."""
        self._asked(key, f"number{SIGNS[sign]}, or a table group → number", default)
        value = self.take(key, default)
        if value is default:
            return value
        if not isinstance(value, dict):
            return number(self.key(key), value, sign)
        if not value:
            raise InputError(f"{self.key(key)}: the table is empty; give a number, or one for each group")
        return {group: number(f"{self.key(key)}.{group}", v, sign) for group, v in value.items()}

    def expression(self, key: str, default: Any = REQUIRED, variables: tuple[str, ...] = SPACE) -> Any:
        """A formula or a number."""
        self._asked(key, "number or formula" + ("" if variables[0] == "x" else f" in {', '.join(variables)}"), default)
        value = self.take(key, default)
        return value if value is None else parse(value, variables, name=self.key(key))

    def path(self, key: str, suffixes: Sequence[str] = (), default: Any = REQUIRED) -> Any:
        """A file that exists, relative to the case file."""
        value = self.text(key, default)
        self._asked(key, f"file: {', '.join(suffixes)}", default)
        if value is default:
            return value
        if suffixes and Path(value).suffix.lower() not in suffixes:
            raise InputError(f"{self.key(key)}: '{value}' must end in {', '.join(suffixes)}")
        return require_file((self.folder / value).absolute(), self.key(key))

    def refuse(self, keys: Sequence[str], why: str) -> None:
        """Refuse keys that are known but do not apply here."""
        for key in keys:
            if key in self.data:
                raise InputError(f"{self.key(key)}: {why}")

    def done(self) -> None:
        """Refuse the keys that were not asked for."""
        for key in self.data:
            if key not in self.known:
                raise InputError(f"{self.key(key)}: unknown key{suggest(key, self.known)}")


def number(name: str, value: Any, sign: str = "any") -> float:
    """A finite number with the given sign."""
    _require(name, value, float)
    if (isinstance(value, int) and abs(value) > 2**1000) or not math.isfinite(value):
        raise InputError(f"{name}: must be finite; got {str(value)[:40]}")
    if (sign == "positive" and value <= 0) or (sign == "nonnegative" and value < 0):
        raise InputError(f"{name}: must be {'> 0' if sign == 'positive' else '≥ 0'}; got {value!r}")
    return float(value)


def components(name: str, value: Any, *, free: bool = False, variables: tuple[str, ...] = SPACE) -> Value:
    """A formula or number, or a list of 1 to 3 of them; with `free`, "free" leaves a component alone (None)."""
    if value == "free" and free:
        raise InputError(f'{name}: "free" is for single components, as in [0.0, "free"]; leave the whole group out')
    if not isinstance(value, list):
        return parse(value, variables, name=name)
    if not 1 <= len(value) <= 3:
        hint = ', "free" for one that is left alone' if free else ""
        raise InputError(f"{name}: must have one entry for each component, 1 to 3{hint}; got {len(value)}")
    return tuple(
        None if free and v == "free" else _component(f"{name}.{i}", v, free, variables) for i, v in enumerate(value)
    )


def _component(name: str, value: Any, free: bool, variables: tuple[str, ...]) -> Expression:
    if value == "free":
        raise InputError(f'{name}: only a given displacement may be "free"; write 0 where nothing acts')
    try:
        return parse(value, variables, name=name)
    except InputError as error:
        if free and isinstance(value, str) and (value.strip().isalpha() or not value.strip()):  # none, null, nan, ...
            raise InputError(f'{error}; write "free" to leave the component alone') from error
        raise


def _require(name: str, value: Any, kind: type) -> None:
    right = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not right or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{name}: must be {KINDS[kind]}; got {_shown(value)}")


def _shown(value: Any) -> str:
    kind = next((word for t, word in KINDS.items() if type(value) is t), type(value).__name__)
    return f"{kind} {str(value)[:60]!r}"
