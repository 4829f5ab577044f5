"""Which cells to refine: Dörfler's marking, over several queries at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, floats, number
from pinnpoint.base.errors import InputError


def dorfler(indicators: ArrayLike, theta: float = 0.5) -> Index:
    """The fewest cells that hold a share θ of the whole, Σ_marked η_K² ≥ θ Σ η_K², in ascending order.

    Several rows are first divided by their sums and then added ("sum marking"): with rows η_{p,K}² and η_{d,K}² of a
    goal and its dual the cells are marked by η_{p,K}²/η_p² + η_{d,K}²/η_d². A row of zeros counts for nothing. Where an
    indicator is infinite or not a number, it alone counts in its row. Nothing is marked if all are zero.

    Parameters
    ----------
    indicators
        Squared local errors, (C,) or (K, C), ≥ 0.
    theta
        The share, in (0, 1].
    """
    theta = number("theta", theta, above=0.0, high=1.0)
    eta = floats("indicators", indicators)
    if eta.ndim not in (1, 2) or eta.size == 0:
        raise InputError(f"indicators: must have shape (cells,) or (rows, cells); got {eta.shape}")
    eta = np.atleast_2d(eta)
    if np.any(eta < 0.0):
        raise InputError(f"indicators: must be ≥ 0; got {float(np.nanmin(eta))!r}")
    unbounded = ~np.isfinite(eta)
    rows = unbounded.any(axis=1)
    eta[rows] = unbounded[rows]
    top = eta.max(axis=1, keepdims=True)
    eta /= np.where(top > 0.0, top, 1.0)
    total = eta.sum(axis=1, keepdims=True)
    share = np.sum(eta / np.where(total > 0.0, total, 1.0), axis=0)
    order = np.argsort(-share, kind="stable")
    sums = np.cumsum(share[order])
    if not sums[-1] > 0.0:
        return np.zeros(0, dtype=np.intp)
    return np.asarray(np.sort(order[: int(np.searchsorted(sums, theta * sums[-1])) + 1]))
