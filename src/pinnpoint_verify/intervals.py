"""Ends of ranges that a bundle stores: what is proved of them is a little wider, and that is what counts."""

from __future__ import annotations

import numpy as np

from pinnpoint_verify.reader import Array

ROUND = 2e-13
"""The share of the larger end by which a range is wider than it is stored."""


def widened(low: Array, high: Array) -> tuple[Array, Array]:
    """Stored ends of a range, moved outwards by what `stays` allows for rounding."""
    more = ROUND * np.maximum(np.abs(low), np.abs(high))
    return low - more, high + more
