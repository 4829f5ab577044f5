"""Where states at all levels are kept: in memory, or in a file that is mapped into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.solvers.choice import GB, ROOM
from pinnpoint.systems.evolution.grid import TimeGrid

COPIES = 6.0
"""Of the block matrix that are held at a time: its two terms, itself, its free rows and columns, its transpose."""


def block_bytes(M: Any, grid: TimeGrid) -> float:
    """What the block matrix of all steps takes, with its enclosures and the sparse products of which it is made."""
    entries = M.nnz * grid.steps * grid.per_slab * (grid.per_slab + 1)
    return COPIES * 12.0 * float(entries)


def require_blocks(M: Any, grid: TimeGrid) -> None:
    """Refuse a block matrix that does not fit into memory, with its size."""
    need, room = block_bytes(M, grid), ROOM * free_memory()
    if need > room:
        raise InputError(
            f"target: the matrix of all {grid.steps} steps takes {need / GB:.3g} GB, and {room / GB:.3g} GB are at "
            "hand; take fewer steps or a coarser mesh, or target='continuous', which does without it"
        )


def require_states(levels: int, nodes: int, file: Any = None) -> None:
    """Refuse states that cannot fit, from counts alone, before anything is made."""
    need, room = 8.0 * levels * nodes, ROOM * free_memory()
    if file is None and need > room:
        raise InputError(
            f"steps: states at {levels} levels of at least {nodes} nodes take {need / GB:.3g} GB, and {room / GB:.3g} "
            "GB are at hand; take fewer steps, a coarser mesh, or give a file for them, file='states.npy'"
        )


def room_for(shape: tuple[int, int], file: Any = None) -> Any:
    """An array for states, in memory or in a .npy file; refuses one that does not fit into memory, with its size."""
    if file is not None:
        path = Path(file)
        if path.suffix != ".npy":
            raise InputError(f"file: must end with .npy; got '{path.name}'")
        return np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)
    require_states(*shape)
    return np.zeros(shape)
