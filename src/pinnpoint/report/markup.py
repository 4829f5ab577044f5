"""HTML from strings that may hold anything."""

from __future__ import annotations

import html
import re
from typing import Any

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
SERIES = ("#3f6fc0", "#c8663f", "#3f9a8f", "#9a5fb0", "#a8842c", "#c04f7a", "#5f8f3a", "#6b7687")
"""Colours of lines that stand side by side."""


def text(value: Any) -> str:
    """Any string as text or as an attribute's value, without characters that no page can show."""
    return html.escape(CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True)


def name(value: Any) -> str:
    """A name somebody chose, kept apart from the direction of the text around it."""
    return f"<bdi>{text(value)}</bdi>"


def data(value: float | None, shown: str, css: str = "") -> str:
    """A number as shown, with all its digits behind it."""
    kind = f' class="{css}"' if css else ""
    return f"<data{kind}>{shown}</data>" if value is None else f'<data{kind} value="{float(value)!r}">{shown}</data>'


def clip(value: Any, most: int) -> str:
    """At most so many characters."""
    plain = str(value)
    return plain if len(plain) <= most else plain[: most - 1] + "…"
