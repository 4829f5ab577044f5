"""The largest value of the solution over the domain or some cells, from a band and from corrected values.

On a cell u lies within the band of ũ, whose Bernstein coefficients hold its range; at nodes ũ is known, and where the
largest ones are, corrected values are often closer.
"""

from __future__ import annotations

import math

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.extremes import Found
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.continuum import bernstein
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.everywhere.corrected import corrected
from pinnpoint.transfer.everywhere.setting import Setting

CANDIDATES = 3
"""Nodes at which values are corrected."""


def largest_value(
    setting: Setting, error: Vector, mismatch: tuple[float, bool], cells: Index, sign: float, *, alone: bool = False
) -> Found:
    """An interval of max u over cells, or for sign = −1 of min u.

    Parameters
    ----------
    error
        Bounds of |u − ũ| on each cell, the data's mismatch counted.
    alone
        Without values at points.
    """
    model, state = setting.model, sign * setting.side.nodal
    w, off = state[model.cell_nodes[cells]], error[cells]
    slip = gamma(16) * np.abs(w).max(axis=1)
    top = bernstein(w, model.d, model.degree).max(axis=1)
    upper = float(np.max(_above(top, up(off + slip))))  # band.md, step 7a
    lower = float(np.max(_below(w.max(axis=1), up(off + slip))))  # band.md, step 7a
    if math.isfinite(upper) and not alone:
        lower = max(lower, _of_data(setting, cells, sign), _at_candidates(setting, mismatch, cells, sign))
    low, high = (lower, upper) if sign > 0.0 else (-upper, -lower)
    return Found(low, high, math.nan, "band" if alone else "band and values at points", mismatch[1] and setting.proved)


def _above(x: Vector, error: Vector) -> Vector:
    """X + error, rounded up."""
    return np.asarray(x + error + 4.0 * gamma(1) * (np.abs(x) + error))


def _below(x: Vector, error: Vector) -> Vector:
    """X − error, rounded down."""
    return np.asarray(x - error - 4.0 * gamma(1) * (np.abs(x) + error))


def _of_data(setting: Setting, cells: Index, sign: float) -> float:
    """The largest Dirichlet value at vertices, from below; −∞ where there is none."""
    model, best = setting.model, -math.inf
    for facets, data in model.dirichlet:
        vertices = np.intersect1d(model.topology.facets[facets], model.topology.cells[cells])
        if len(vertices) and (not callable(data) or enclosed(data)):
            value, error = enclose(data, model.points[vertices])
            best = max(best, float(np.max(_below(sign * value, error))))  # band.md, step 7b
    return best


def _at_candidates(setting: Setting, mismatch: tuple[float, bool], cells: Index, sign: float) -> float:
    """The largest corrected value, from below, at the vertices where ũ is largest; −∞ where there is none."""
    model = setting.model
    # values are corrected where κ and c are constant on each cell, and the problem is linear
    if model.coefficients is not None or model.gluing is not None or model.reacts:
        return -math.inf
    held = np.unique(model.topology.facets[model.kind == DIRICHLET])
    inner = np.setdiff1d(model.topology.cells[cells], held)
    best = inner[np.argsort(-sign * setting.side.nodal[inner], kind="stable")[:CANDIDATES]]
    if not len(best):
        return -math.inf
    try:
        found = corrected(setting, model.points[best], mismatch, thorough=setting.thorough)
    except (InputError, CertificationError):  # no ball around one of them
        return -math.inf
    return float(np.max(_below(sign * found.values, found.radii))) if found.proved else -math.inf  # band.md, step 7b
