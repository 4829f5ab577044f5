"""Memory that is used again instead of being given back: fresh pages cost more than what is written into them."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import weakref

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.threads import begin

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Names of glibc's options."""
LARGE = 2**30
"""Bytes; larger arrays still come from the system, and go back to it, one by one."""

EACH, MOST = 800, 2**28
"""Bytes to have ready for each unknown, about two copies of a column of a factor in the plane, and in all."""
_kept: list[bool] = [False]
"""Whether memory is kept."""


def keep_memory() -> None:
    """Ask glibc, where it is in use, to keep what arrays leave behind for the next ones, whichever thread makes them.

    For processes that do one thing and end; nothing depends on it but time.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another library
        return
    mallopt(MMAP_THRESHOLD, LARGE)
    mallopt(TRIM_THRESHOLD, LARGE)
    mallopt(ARENA_MAX, 1)
    _kept[0] = True


def return_memory() -> None:
    """The opposite, for a large problem: what arrays leave behind goes back to the system."""
    _kept[0] = False
    if not sys.platform.startswith("linux"):
        return
    try:
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**17)
        library.mallopt(TRIM_THRESHOLD, 2**17)
        library.malloc_trim(0)
    except (OSError, AttributeError):
        return


def have_ready(unknowns: int) -> None:
    """Where memory is kept, take some from the system beside other work, and leave it to the arrays to come."""

    def fill() -> None:
        np.empty(min(EACH * unknowns, MOST), dtype=np.uint8)[::4096] = 0

    if _kept[0]:
        begin(fill)


class _Arrays:
    """One thread's arrays of one workspace, by name."""

    def __init__(self) -> None:
        self.flat: dict[str, Vector] = {}


_EVERYWHERE: weakref.WeakSet[_Arrays] = weakref.WeakSet()
"""What all workspaces hold, only to be let go of."""


class Workspace:
    """Arrays of one object or one call, for every thread its own, so that names cannot meet those of others."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        return Workspace, ()  # a copy, here or in another process, begins with nothing

    @property
    def _arrays(self) -> _Arrays:
        try:
            arrays: _Arrays = self._local.arrays
        except AttributeError:
            arrays = self._local.arrays = _Arrays()
            _EVERYWHERE.add(arrays)
        return arrays

    def array(self, name: str, shape: tuple[int, ...]) -> Vector:
        """An array of floats with any content, this thread's until it asks for the name again."""
        size, arrays = math.prod(shape), self._arrays.flat
        flat = arrays.get(name)
        if flat is None or flat.size < size:
            flat = arrays[name] = np.empty(size)
        return flat[:size].reshape(shape)

    def apart(self, X: Vector) -> Vector:
        """X, or a copy of it where it lies in this workspace and would be overwritten while it is read."""
        mine = any(np.may_share_memory(X, flat) for flat in self._arrays.flat.values())
        return X.copy() if mine else X


def release_memory() -> None:
    """Let go of every array of every workspace and thread; those in use stay until they are not."""
    for arrays in list(_EVERYWHERE):
        arrays.flat = {}
