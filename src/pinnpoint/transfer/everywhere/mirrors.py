"""Neumann parts in the mirrors of a domain, and what a flux leaves of Neumann data there.

Where the Neumann facets lie in mutually orthogonal planes, at most one across each axis, the domain is glued to its
mirror images along them: the error, continued evenly, solves the same kind of equation with Dirichlet values all
around.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import down, gamma, up
from pinnpoint.taylor.bernstein import pairs
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.anchors import NEUMANN
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.facets import measures


def mirrors(model: Continuum) -> int | None:
    """How many planes hold the Neumann facets; None where they lie in more than one across an axis, or in others."""
    facets = np.flatnonzero(model.kind == NEUMANN)
    X = model.points[model.topology.facets[facets]]
    flat = np.ptp(X, axis=1) == 0.0
    if not np.all(flat.any(axis=1)):
        return None
    axis = np.argmax(flat, axis=1)
    count = 0
    for i in range(model.d):  # everywhere.md, step 3a
        levels = np.unique(X[axis == i, 0, i])
        if len(levels) > 1:
            return None
        count += len(levels)
    return count


def unmet(model: Continuum, flux: Vector | None) -> tuple[Vector, Vector, bool]:
    """Fields that stand for g_N − σ·n: bounds of κ^{-½}|field| and of |its divergence| on each cell; and if proved.

    Without a flux σ is zero.
    """
    field, divergence, proved = np.zeros(len(model.kappa)), np.zeros(len(model.kappa)), True
    d, T = model.d, model.topology
    for facets, given in model.neumann:
        if not len(facets):
            continue
        gap, sure = unmet_on(model, facets, given, flux)
        cell = T.facet_cells[facets, 0]
        area, slack = measures(model.points[T.facets[facets]])
        # everywhere.md, step 3b: τ(x − a)/height along the rays from the opposite vertex a
        height = down(d * model.anchors.volume[cell] / up(area * (1.0 + slack), 4), 8)
        reach = up(gap * model.anchors.diameter[cell] / height / down(np.sqrt(model.kappa[cell]), 2), 16)
        np.add.at(field, cell, reach)
        np.add.at(divergence, cell, up(d * gap / height, 8))
        proved = proved and sure
    return up(field, 8), up(divergence, 8), proved


def unmet_on(model: Continuum, facets: Index, given: Any, flux: Vector | None) -> tuple[Vector, bool]:
    """Upper bounds of |g_N − σ·n| on facets."""
    V = model.points[model.topology.facets[facets]]
    m = model.d - 1
    if flux is None:
        return supremum(given, V)
    area, slack = measures(V)
    t = flux[facets]
    t = np.repeat(t, model.d, axis=1) if t.shape[1] == 1 else t
    minus = np.stack([0.5 * (t[:, j] + t[:, k]) / area for j, k in pairs(m)], axis=1)
    bounds, sure = supremum(given, V, minus=minus)
    blur = up((slack + gamma(20)) * np.abs(t).max(axis=1, initial=0.0) / area, 8)
    silent = ~np.any(t, axis=1) & (isinstance(given, int | float) and given == 0)
    return np.where(silent, 0.0, up(bounds + blur)), sure
