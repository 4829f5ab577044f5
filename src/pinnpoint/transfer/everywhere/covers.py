"""Tubes and tori unrolled: translates of the domain that fill space next to each other, for balls across pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.gluing import axes_of
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

    axes: Mask
    least: float
    shifts: Vector

    __repr__ = brief


def cover(model: Continuum) -> Cover | str:
    """The translates, or why there are none.

    Each pair must lie in the two planes that bound the domain across an axis, and be exact translates: then the
    translates by whole periods do not overlap, and their union is a domain with a flat metric (robin.md, step 7f).
    """
    assert model.gluing is not None
    glued = axes_of(model.points, model.gluing)
    if isinstance(glued, str):
        return glued
    low, high = model.points.min(axis=0), model.points.max(axis=0)
    # robin.md, step 7f
    period = np.where(glued, high - low, 0.0)
    steps = [(0.0, -p, p) if p > 0.0 else (0.0,) for p in period.tolist()]
    return Cover(glued, float(np.min(period[glued])), np.array(list(product(*steps))))
