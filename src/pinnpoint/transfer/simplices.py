"""Rules and subdivisions of simplices."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import roots_jacobi

from pinnpoint.base.arrays import Vector

RULE_DEFECT = 2.0**-46
"""Bounds Σ_α |Σ_q w_q B_α(λ_q) − mean B_α| over the Bernstein basis of the rule's degree (checked in exact rationals by
the tests), so a rule errs on a polynomial by at most this times its largest Bernstein coefficient."""


@cache
def rule(d: int, n: int) -> tuple[Vector, Vector]:
    """Conical product of n Gauss–Jacobi points a direction: barycentric points (Q, d + 1) and weights with sum one.

    Weights are positive; exact to degree 2n − 1 up to `RULE_DEFECT`.
    """
    points, weights = np.ones((1, 1)), np.ones(1)  # the last column is what is left of one
    for a in range(d - 1, -1, -1):
        x, w = roots_jacobi(n, float(a), 0.0)
        x, w = 0.5 * (1.0 + x), w / w.sum()
        rest = points[:, -1:]
        columns = [np.repeat(points[:, :-1], n, axis=0), (rest * x).reshape(-1, 1), (rest * (1.0 - x)).reshape(-1, 1)]
        points, weights = np.concatenate(columns, axis=1), (weights[:, None] * w).reshape(-1)
    points.setflags(write=False)
    weights.setflags(write=False)
    return points, weights


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
