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
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.anchors import NEUMANN

SPARE = 1e-3
"""Of what a flux leaves of formulas, left to another program, and `NOISE` of the data themselves."""
NOISE = 1e-13


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


def unmet(model: Continuum, flux: Vector | None, state: Vector | None = None) -> tuple[Vector, Vector, bool]:
    """Fields that stand for g_N − σ·n: bounds of κ^{-½}|field| and of |its divergence| on each cell; and if proved.

    Without a flux σ is zero. On Robin facets it is g − αv − σ·n of a state v.
    """
    field, divergence, proved = np.zeros(len(model.kappa)), np.zeros(len(model.kappa)), True
    d, T = model.d, model.topology
    for facets, given in model.neumann:
        if not len(facets):
            continue
        gap, sure = unmet_on(model, facets, given, flux, state)
        gap = np.asarray(up(gap * (1.0 + SPARE)))
        cell = T.facet_cells[facets, 0]
        area, slack = measures(model.points[T.facets[facets]])
        # everywhere.md, step 3b: τ(x − a)/height along the rays from the opposite vertex a
        height = down(d * model.anchors.volume[cell] / up(area * (1.0 + slack), 4), 8)
        reach = up(gap * model.anchors.diameter[cell] / height / down(np.sqrt(model.kappa[cell]), 2), 16)
        np.add.at(field, cell, reach)
        np.add.at(divergence, cell, up(d * gap / height, 8))
        proved = proved and sure
    return up(field, 8), up(divergence, 8), proved


def unmet_on(
    model: Continuum, facets: Index, given: Any, flux: Vector | None, state: Vector | None = None
) -> tuple[Vector, bool]:
    """Upper bounds of |g_N − σ·n|, or of |g − αv − σ·n|, on facets."""
    V = model.points[model.topology.facets[facets]]
    m = model.d - 1
    if flux is None:
        return supremum(given, V)
    area, slack = measures(V)
    t = flux[facets]
    t = np.repeat(t, model.d, axis=1) if t.shape[1] == 1 else t
    minus = np.stack([0.5 * (t[:, j] + t[:, k]) / area for j, k in pairs(m)], axis=1)
    blur = up((slack + gamma(20) + NOISE) * np.abs(t).max(axis=1, initial=0.0) / area, 8)
    silent = ~np.any(t, axis=1) & (isinstance(given, int | float) and given == 0)
    if state is not None and model.exchange is not None:
        taken, rough, sure = _taken(model, facets, V, state)
        bounds, known = supremum(given, V, minus=minus + taken)  # everywhere.md, step 3c
        blur = up(blur + rough + NOISE * (np.abs(minus) + np.abs(taken)).max(axis=1), 4)
        return np.where(silent & ~np.any(taken, axis=1), rough, up(bounds + blur)), known and sure
    bounds, sure = supremum(given, V, minus=minus)
    return np.where(silent, 0.0, up(bounds + blur)), sure


def _taken(model: Continuum, facets: Index, V: Vector, state: Vector) -> tuple[Vector, Vector, bool]:
    """A quadratic near αv on facets by Bernstein coefficients, bounds of the rest and of rounding, and if proved."""
    w = state[model.nodes_of(model.topology.facets[facets])]
    beta = bernstein(w, model.d - 1, model.degree)
    middle = beta.mean(axis=1)
    slip = gamma(16) * np.abs(w).max(axis=1)
    top, spread = up(np.abs(beta).max(axis=1) + slip), up(np.abs(beta - middle[:, None]).max(axis=1) + 2.0 * slip)
    flat, sure = np.array(pairs(model.d - 1)), True
    corner, off = np.zeros((len(facets), model.d)), np.zeros(len(facets))
    for those, alpha, _ in model.robin:
        here = np.flatnonzero(np.isin(facets, those))
        known = fixed(alpha)
        if known is not None:
            corner[here], off[here] = known
        elif here.size:
            corner[here] = np.asarray(alpha(V[here].reshape(-1, model.d))).reshape(len(here), -1)
            straight = np.ascontiguousarray(0.5 * corner[here][:, flat].sum(axis=2))
            bounds, proved = supremum(alpha, V[here], minus=straight)
            off[here], sure = bounds, sure and proved
    mean = corner.mean(axis=1)
    straight = 0.5 * corner[:, flat].sum(axis=2)
    near = np.abs(corner - mean[:, None]).max(axis=1)
    # everywhere.md, step 3c: αv = ᾱv + (α₁ − ᾱ)v̄ + (α₁ − ᾱ)(v − v̄) + (α − α₁)v
    taken = mean[:, None] * beta + (straight - mean[:, None]) * middle[:, None]
    rough = off * top + near * spread + gamma(40) * np.abs(corner).max(axis=1) * (top + np.abs(w).max(axis=1))
    return taken, np.asarray(up(rough, 8)), sure
