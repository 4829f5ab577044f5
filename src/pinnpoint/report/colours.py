"""Two colour maps that survive colour blindness and grey printing: one for sizes, one for signs."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector

SIZES = [(56, 17, 92), (66, 56, 130), (55, 92, 140), (42, 124, 142), (38, 156, 134), (76, 187, 112), (155, 213, 72)]
SIZES += [(246, 229, 64)]
SIGNS = [(24, 54, 125), (58, 108, 186), (132, 172, 219), (228, 231, 235), (238, 172, 130), (206, 92, 58), (124, 24, 30)]
MAPS = {"sizes": SIZES, "signs": SIGNS}


def colour(t: Vector, kind: str) -> Vector:
    """Red, green and blue from 0 to 255 for t from 0 to 1."""
    table = np.array(MAPS[kind], dtype=np.float64)
    at = np.linspace(0.0, 1.0, len(table))
    return np.stack([np.interp(t, at, table[:, k]) for k in range(3)], axis=-1)
