"""Bundles that many tests alter: each is made once, and every test has a copy of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOM = tempfile.TemporaryDirectory(prefix="bundles-")
MADE: dict[str, tuple[Path, Any]] = {}


def copied(folder: Path, make: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """What `make(folder, *given, **more)` returns, with a copy at `folder` of what it wrote the first time."""
    key = f"{make.__module__} {make.__qualname__} {given!r} {sorted(more.items())!r}"
    if key not in MADE:
        own = Path(ROOM.name) / str(len(MADE))
        MADE[key] = own, make(own, *given, **more)
    own, found = MADE[key]
    shutil.copytree(own, folder)
    return found
