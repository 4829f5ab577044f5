"""Where states at all levels are kept: in memory, or in a file that is mapped into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.base.machine import free_memory
from pinnpoint.solvers.choice import GB, ROOM


def room_for(shape: tuple[int, ...], file: Any = None) -> Any:
    """An array for states, in memory or in a .npy file; refuses one that does not fit into memory, with its size."""
    need = 8.0 * float(np.prod(shape))
    if file is not None:
        path = Path(file)
        if path.suffix != ".npy":
            raise InputError(f"file: must end with .npy; got '{path.name}'")
        return np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)
    room = ROOM * free_memory()
    if need > room:
        raise InputError(
            f"steps: states at {shape[0]} levels take {need / GB:.3g} GB, and {room / GB:.3g} GB are at hand; take "
            "fewer steps, a coarser mesh, or give a file for them, file='states.npy'"
        )
    return np.zeros(shape)
