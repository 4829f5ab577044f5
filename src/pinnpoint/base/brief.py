"""One line for any record of this package: its name and its fields, arrays by their shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

MOST = 200
"""Characters of a line."""
FEW = 4
"""Numbers or names that are shown one by one."""
WORD = 40
"""Characters of a text."""


def brief(record: Any) -> str:
    """The line; a dataclass or named tuple has it by ``__repr__ = brief``. Fields that are None are left out.

    One whose metadata has a ``name`` is shown by it.
    """
    if is_dataclass(record):
        names = {f.name: f.metadata.get("name", f.name) for f in fields(record) if f.repr}
    else:
        names = {name: name for name in record._fields}
    values = ((said, getattr(record, name, None)) for name, said in names.items())
    parts = [f"{name}={shown(value)}" for name, value in values if value is not None]
    return clipped(f"{type(record).__name__}({', '.join(parts)}", MOST) + ")"


def shown(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    if sp.issparse(value):
        return f"sparse{value.shape}"
    if isinstance(value, Enum | Path):
        return clipped(str(value), WORD)
    if isinstance(value, bool | int | float | complex | np.generic | str | bytes):
        return clipped(repr(value), WORD)
    if isinstance(value, Mapping):
        return _several(value, "{", "}", [str(key) for key in list(value)[: FEW + 1]])
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        return _several(value, "[", "]", [shown(v) for v in list(value)[: FEW + 1]])
    return clipped(str(getattr(value, "__name__", type(value).__name__)), WORD)


def clipped(text: str, most: int) -> str:
    """At most so many characters, on one line."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return line if len(line) <= most else line[: most - 1] + "…"


def _several(value: Collection[Any], left: str, right: str, few: list[str]) -> str:
    text = f"{left}{', '.join(few)}{right}"
    return text if len(few) <= FEW and len(text) <= WORD else f"{left}{len(value)} items{right}"
