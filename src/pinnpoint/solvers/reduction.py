"""Few directions of many columns: bases of reduced states and duals. Nothing is proved of them, and nothing need be."""

from __future__ import annotations

import numpy as np

from pinnpoint.base.arrays import Vector

SMALL = 1e-11
"""Singular values below this share of the first are rounding."""


def basis(snapshots: Vector, rank: int) -> Vector:
    """An orthonormal basis of the leading directions of columns."""
    U, s, _ = np.linalg.svd(snapshots, full_matrices=False)
    return np.ascontiguousarray(U[:, : max(1, min(rank, int(np.sum(s > SMALL * s[0]))))])
