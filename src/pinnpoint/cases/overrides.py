"""Values that replace those of a case file, e.g. from ``--set certificate.method=norm``."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Sequence
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.plain import DEEPEST, require_plain


def apply_overrides(data: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """A copy of the case file's data with ``key.sub=value`` texts applied, each value read as TOML.

    A value that is not TOML is text, so that words need no quotes. Numbers in the key count a list's entries from 0.
    """
    if isinstance(overrides, str):
        raise InputError(f"overrides: must be a list of key=value texts; got the text {overrides[:60]!r}")
    result = copy.deepcopy(data)
    for override in overrides:
        if not isinstance(override, str):
            raise InputError(f"overrides: must be key=value texts; got {override!r}")
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise InputError(f"override '{override[:80]}': must read key=value")
        keys, new = _keys(name.strip(), override), _value(value.strip(), override)
        require_plain({"key": keys, "value": new}, f"override '{override[:80]}'")
        _set(result, keys, new, override)
    return result


def _keys(name: str, override: str) -> list[str]:
    """The dotted key, with TOML's rules for quotes."""
    try:
        node: Any = tomllib.loads(f"{name} = 0") if "\n" not in name else None
    except tomllib.TOMLDecodeError:
        node = None
    keys = []
    while isinstance(node, dict) and len(node) == 1:
        key, node = next(iter(node.items()))
        keys.append(key)
    if node != 0 or not keys or len(keys) > DEEPEST:
        raise InputError(f"override '{override[:80]}': '{name[:60]}' is not a dotted key")
    return keys


def _value(text: str, override: str) -> Any:
    if "\n" in text or "\r" in text:
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:  # a number of too many digits, brackets within brackets
        raise InputError(f"override '{override[:80]}': cannot be read") from error


def _set(node: Any, keys: list[str], value: Any, override: str) -> None:
    for depth, key in enumerate(keys):
        here = ".".join(keys[:depth]) or "the case"
        last = depth == len(keys) - 1
        if isinstance(node, list):
            if not key.isdigit() or int(key) >= len(node):
                raise InputError(f"override '{override[:80]}': {here} has entries 0 to {len(node) - 1}; got '{key}'")
            place: Any = int(key)
        elif isinstance(node, dict):
            place = key
            if not last:
                node.setdefault(key, {})
        else:
            raise InputError(f"override '{override[:80]}': {here} is not a table")
        if last:
            node[place] = value
        else:
            node = node[place]
