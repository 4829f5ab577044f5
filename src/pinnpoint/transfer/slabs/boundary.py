"""Dirichlet data in time: how far states are from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.prisms import clock, prism_models
from pinnpoint.taylor.simplices import quadratic
from pinnpoint.taylor.spaces import space
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.slabs.data import moves
from pinnpoint.transfer.slabs.states import Motion

ORDER = 6


def mismatch(model: Continuum, dirichlet: Sequence[tuple[Index, Any]], motion: Motion) -> tuple[float, bool]:
    """Upper bound of |g − u_h| on the Dirichlet part of all slabs, and whether it is proved."""
    worst = 0.0
    for facets, given in dirichlet:
        nodes = model.nodes_of(model.topology.facets[facets])
        own = motion.levels[:, nodes]
        known = fixed(given)
        if known is not None and known[1] == 0.0 and np.all(own == known[0]):
            continue
        if not (known is not None or enclosed(given)):
            raise InputError(
                "dirichlet: on the continuous target it must be numbers or formulas; say target='discrete'"
            )
        if known is not None or not moves(given):
            still = [(facets, given)]
            worst = max(worst, _steady(model, still, motion))
        else:
            worst = max(worst, max(_slab(model, facets, given, motion, n) for n in range(motion.grid.steps)))
    return worst, True


def _steady(model: Continuum, given: Sequence[tuple[Index, Any]], motion: Motion) -> float:
    """Data that does not depend on time: u_h is an average of its levels, but for the middle of quadratics."""
    held = replace(model, dirichlet=list(given))
    found = max(held.mismatch(level)[0] for level in motion.levels)
    facets = given[0][0]
    own = motion.levels[:, model.nodes_of(model.topology.facets[facets])]
    spread = float(np.ptp(own, axis=0).max(initial=0.0))
    blur = 4.0 * gamma(24) * float(np.abs(own).max(initial=0.0))
    return float(up(found + blur + 9.0 * spread * (motion.grid.per_slab - 1), 8))  # slabs.md, step 5a


def _slab(model: Continuum, facets: Index, given: Any, motion: Motion, n: int) -> float:
    """Data that moves, on one slab."""
    grid, d = motion.grid, model.d
    start, end = float(grid.nodes[n]), float(grid.nodes[n + 1])
    vertices = model.topology.facets[facets]
    V = model.points[vertices]
    g, which = prism_models(given, V, start, end, ORDER)
    u, _ = motion.modes(n, grid.per_slab + 1)
    theta = clock(-1.0, 1.0, len(V), d - 1, ORDER)
    theta = TaylorModel(theta.space, theta.C, np.zeros(len(V)))
    total = g
    for k in range(grid.per_slab + 1):
        w = u[k][model.nodes_of(vertices)]
        blur = np.asarray(up(gamma(24) * np.abs(w).max(axis=1)))
        beta = bernstein(w, d - 1, model.degree)
        own = _spatial(beta, which, d - 1, blur)
        if k == 1:
            own = own * theta
        elif k == 2:
            own = own * (theta * theta * _number(1.5, len(V), d - 1) - _number(0.5, len(V), d - 1))
        total = total - own
    low, high = total.bounds
    return float(up(np.maximum(-low, high).max()))  # slabs.md, step 5a


def _number(value: float, n: int, m: int) -> TaylorModel:
    S = space(m + 1, ORDER)
    C = np.zeros((S.size, n))
    C[0] = value
    return TaylorModel(S, C, np.zeros(n))


def _spatial(beta: Any, which: Any, m: int, blur: Any) -> TaylorModel:
    """A quadratic on facets as a model in space and time."""
    if m == 0:
        made = _number(0.0, len(beta), 0)
        made.C[0] = beta[:, 0]
        return TaylorModel(made.space, made.C, blur)
    model = quadratic(beta, which, ORDER, blur)
    return _embedded(model)


def _embedded(x: TaylorModel) -> TaylorModel:
    """A model in m coordinates as one in m + 1."""
    S = space(x.space.d + 1, ORDER)
    place = {tuple(a): i for i, a in enumerate(S.powers.tolist())}
    C = np.zeros((S.size, x.C.shape[1]))
    for i, a in enumerate(x.space.powers.tolist()):
        C[place[(*a, 0)]] = x.C[i]
    return TaylorModel(S, C, x.e)
