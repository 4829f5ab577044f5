"""Subdivisions of simplices."""

from __future__ import annotations

from functools import cache

import numpy as np

from pinnpoint.base.arrays import Vector


@cache
def children(d: int) -> Vector:
    """Red refinement: corners (2^d, d + 1, d + 1) of equal parts, barycentric; in 3D Bey's, so shapes stay bounded."""
    corners = {
        1: ["00 01", "01 11"],
        2: ["00 01 02", "01 11 12", "02 12 22", "01 12 02"],
        3: [
            "00 01 02 03",
            "01 11 12 13",
            "02 12 22 23",
            "03 13 23 33",
            "01 02 03 13",
            "01 02 12 13",
            "02 03 13 23",
            "02 12 13 23",
        ],
    }[d]
    table = np.zeros((len(corners), d + 1, d + 1))
    for c, child in enumerate(corners):
        for i, ends in enumerate(child.split()):
            for end in ends:
                table[c, i, int(end)] += 0.5
    table.setflags(write=False)
    return table
