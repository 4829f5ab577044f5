"""Arrays that an object uses again and again: fresh memory can cost more than what is written into it."""

from __future__ import annotations

import math
import threading
import weakref

import numpy as np

from pinnpoint.base.arrays import Vector


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
