"""A report inside a notebook: the same page as the file, in a frame of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from pinnpoint.base.brief import brief
from pinnpoint.base.files import write_whole


@dataclass(frozen=True, eq=False)
class InlineReport:
    """A report that notebooks show in a frame of a fixed height; `save` writes the file."""

    page: str = field(repr=False)
    height: int = 640

    __repr__ = brief

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all."""
        return write_whole(path, [self.page.encode("utf-8")])

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.page)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:1px solid #ccc"></iframe>'
        )
