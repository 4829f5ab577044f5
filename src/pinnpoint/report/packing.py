"""Arrays for the browser: quantised, byte planes apart, deflated together, in base64."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector

LEVELS = 4095
"""Steps of a field between its least and largest value: 0.02 % of the range, finer than any colour."""
PLACES = 65535
"""Steps of a coordinate."""


class Packer:
    """Collects arrays into one block of bytes; each gets a descriptor that the viewer reads it by."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._at = 0

    def scaled(self, values: Vector, levels: int = LEVELS) -> dict[str, Any]:
        """One number per node, between its extremes in equal steps; zero is one of them where the sign changes."""
        least, most = float(values.min()), float(values.max())
        lo, hi = 0.5 * least, 0.5 * most  # halves, because the range itself may overflow
        if lo < 0.0 < hi:
            step = (hi - lo) / (levels - 1)
            lo = -math.ceil(-lo / step) * step
            hi = lo + levels * step
        steps = (values * 0.5 - lo) / (hi - lo) if hi > lo else np.zeros(len(values))
        numbers = np.rint(steps * levels).clip(0, levels).astype("<u2")
        return {"lo": lo, "hi": hi, "least": least, "most": most, "levels": levels, **self._planes(numbers)}

    def whole(self, numbers: Any) -> dict[str, Any]:
        """Whole numbers, each as its difference to the one before, sign in the last bit."""
        steps = np.diff(np.asarray(numbers, dtype=np.int64).ravel(), prepend=0)
        return self._planes(((steps << 1) ^ (steps >> 63)).astype("<u4"))

    def _planes(self, a: Any) -> dict[str, Any]:
        raw = np.ascontiguousarray(a.view(np.uint8).reshape(len(a), a.dtype.itemsize).T).tobytes()
        place = {"at": self._at, "count": len(a), "bytes": int(a.dtype.itemsize)}
        self._pieces.append(raw)
        self._at += len(raw)
        return place

    def base64(self) -> str:
        """All of it, deflated."""
        return base64.b64encode(zlib.compress(b"".join(self._pieces), 6)).decode("ascii")
