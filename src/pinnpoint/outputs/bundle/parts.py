"""Data that are known to a proved error, as arrays of a bundle."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.taylor.bernstein import Density


def density(out: Writer, name: str, what: Density, at: Any = None) -> None:
    """Coefficients, bounds and the cells or facets they belong to; where all are zero nothing is stored."""
    beta, rest = what.coefficients, np.stack([what.high, what.error1, what.error2], axis=1)
    where = np.arange(len(beta)) if what.cells is None else what.cells
    where = where if at is None else at
    keep = np.nonzero(np.any(beta, axis=1) | np.any(rest > 0.0, axis=1))[0] if at is None else np.arange(len(beta))
    keep = keep[np.argsort(where[keep])]
    for part, a in (("at", where[keep]), ("beta", beta[keep]), ("rest", rest[keep])):
        out.array(f"{name}_{part}", a)
