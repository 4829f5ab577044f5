"""Tubes and tori unrolled: translates of the domain that fill space next to each other, for balls across pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.transfer.continuum import Continuum


@dataclass(frozen=True, eq=False)
class Cover:
    """The translates that a ball about a point of the domain may meet.

    Attributes
    ----------
    axes
        Which axes are glued, (d,).
    least
        The smallest period; balls of at most half of it have no point twice.
    shifts
        Translations (n, d), the first of which is zero.
    """

    axes: Vector
    least: float
    shifts: Vector

    __repr__ = brief


def cover(model: Continuum) -> Cover | str:
    """The translates, or why there are none.

    Each pair must lie in the two planes that bound the domain across an axis, and be exact translates: then the
    translates by whole periods do not overlap, and their union is a domain with a flat metric (robin.md, step 7f).
    """
    assert model.gluing is not None
    X, one, two = model.points, model.gluing.first, model.gluing.second
    low, high = X.min(axis=0), X.max(axis=0)
    glued, done = np.zeros(model.d, dtype=bool), np.zeros(len(one), dtype=bool)
    for axis in range(model.d):
        a, b = X[one], X[two]
        ends = [np.all(P[:, :, axis] == end[axis], axis=1) for P, end in ((a, low), (b, high), (a, high), (b, low))]
        here = (ends[0] & ends[1]) | (ends[2] & ends[3])
        rest = np.arange(model.d) != axis
        done |= here & np.all(a[:, :, rest] == b[:, :, rest], axis=(1, 2))
        glued[axis] = bool(here.any())
    if not done.all():
        k = int(np.argmin(done))
        return (
            f"periodic pairs must be exact translates along an axis that bound the domain; the facet at "
            f"{X[one[k]].mean(axis=0).tolist()} is glued to that at {X[two[k]].mean(axis=0).tolist()}"
        )
    # robin.md, step 7f
    period = np.where(glued, high - low, 0.0)
    steps = [(0.0, -p, p) if p > 0.0 else (0.0,) for p in period.tolist()]
    return Cover(glued, float(np.min(period[glued])), np.array(list(product(*steps))))
