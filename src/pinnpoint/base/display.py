"""Records in notebooks: a title and a small table, never longer than a screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.brief import clipped, shown

MOST = 24
"""Rows of a table."""
WORD = 120
"""Characters of a cell."""
LISTED = 6
"""Entries of a mapping that are shown one by one."""


def rich(record: Any) -> str:
    """What a record is and holds, as HTML; a class has it by ``_repr_html_ = rich``."""
    return titled(record, rows(record))


def titled(record: Any, told: Iterable[tuple[str, str]]) -> str:
    """A record's name, the first line of what is said of it, and a table."""
    about = (type(record).__doc__ or "").strip().splitlines()
    line = f" {escape(about[0])}" if about else ""
    return f"<p><b>{escape(type(record).__name__)}</b>{line}</p>{table(told)}"


def table(told: Iterable[tuple[str, str]]) -> str:
    """Names and what they are."""
    pairs = list(told)
    body = "".join(
        f'<tr><th style="text-align:left">{escape(clipped(name, WORD))}</th>'
        f'<td style="text-align:left">{escape(clipped(value, WORD))}</td></tr>'
        for name, value in pairs[:MOST]
    )
    more = f"<p>and {len(pairs) - MOST} more</p>" if len(pairs) > MOST else ""
    return f"<table><tbody>{body}</tbody></table>{more}"


def rows(record: Any, deep: bool = True) -> list[tuple[str, str]]:
    """Fields by name, without large ones: those of records in it beside them, mappings from names by entries."""
    texts: dict[str, str] = {}
    for one in fields(record):
        value = record.__dict__.get(one.name)
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            texts |= {k: said(v) for k, v in value.items() if not _nothing(v) and k not in texts}
        elif is_dataclass(value) and not _text(value):
            texts |= {k: v for k, v in (rows(value, deep=False) if deep else ()) if k not in texts}
        elif one.repr and not _nothing(value) and (_text(value) or not callable(value)) and one.name not in texts:
            texts[one.name] = said(value)
    return list(texts.items())


def _nothing(value: Any) -> bool:
    """What nobody needs to see: nothing at all, a no, and arrays."""
    return value is None or value is False or isinstance(value, np.ndarray) or sp.issparse(value) or _empty(value)


def _empty(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple | str) and not value


def said(value: Any) -> str:
    """A value in a few words: formulas by their texts, mappings by their entries."""
    if is_dataclass(value) and not isinstance(value, type):
        return _text(value) or repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) <= LISTED:
        return ", ".join(f"{key}: {said(v)}" for key, v in value.items())
    if isinstance(value, list | tuple) and len(value) <= LISTED:
        return ", ".join(said(v) for v in value)
    return f"{value:.6g}" if isinstance(value, float) else shown(value)


def _text(value: Any) -> str:
    """A formula's own text."""
    text = vars(value).get("text") if is_dataclass(value) and "__dict__" in dir(value) else None
    return text if isinstance(text, str) else ""
