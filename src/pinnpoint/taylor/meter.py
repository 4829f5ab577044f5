"""NumPy first: compiled code is loaded where what it spares exceeds its loading, and compiled where it exceeds that.

Seconds are estimates of what NumPy takes, counted from the sizes of arrays and not with a clock: two runs of a program
choose alike. Machine code is kept in numba's cache, so that a compiler is waited for once.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path

log = logging.getLogger(__name__)

NUMBA = 0.35
"""Seconds to import numba."""


@cache
def kept(source: Path) -> bool:
    """Whether numba's cache has machine code of a module, not older than its source."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    folders = [source.parent / "__pycache__"]
    for cached in (os.environ.get("NUMBA_CACHE_DIR"), home):
        folders += [] if not cached else Path(cached).glob(f"{source.parent.name}_*")
    try:
        made = [path.stat().st_mtime for folder in folders for path in folder.glob(f"{source.stem}.*.nbi")]
        return max(made, default=0.0) >= source.stat().st_mtime
    except OSError:
        return False


def compiler() -> bool:
    """Whether numba is there and may be imported."""
    try:
        return find_spec("numba") is not None
    except ModuleNotFoundError:
        return False


class Meter:
    """What NumPy has done so far in the place of a compiled module.

    Parameters
    ----------
    source
        The compiled module's file.
    load, make
        Seconds to load its machine code once numba is there, and to compile it.
    """

    def __init__(self, source: Path, load: float, make: float) -> None:
        self.source, self.load, self.make = source, load, make
        self.spent, self.open, self.shut = 0.0, False, not compiler()
        self._lock = threading.Lock()

    def worth(self, seconds: float, ahead: float = 0.0) -> bool:
        """Whether to take compiled code for something that takes NumPy so long; once taken it is always taken.

        `ahead` is what NumPy would need for all that is known to come, this included.
        """
        if self.open or self.shut:
            return self.open
        with self._lock:
            self.spent += seconds
            there = kept(self.source)
            price = (self.load if there else self.make) + (0.0 if "numba" in sys.modules else NUMBA)
            if max(self.spent, ahead) < price or self.open:
                return self.open
            if not there:
                log.info("compiling %s, once, for about %.0f s", self.source.stem.replace("_", " "), self.make)
            self.open = True
        return True
