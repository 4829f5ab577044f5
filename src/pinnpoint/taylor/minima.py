"""Lower bounds of data on simplices.

A polynomial lies above its smallest Bernstein coefficient. Simplices are subdivided until that and the smallest value
found at vertices agree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma
from pinnpoint.taylor import tables
from pinnpoint.taylor.geometry import Simplices, coordinates, path_order
from pinnpoint.taylor.inputs import Enclosed, checked_order, checked_vertices, model_of
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import MANY

DEPTH = {0: 0, 1: 10, 2: 5, 3: 4}
CHUNK = 2048


def minimum(f: Enclosed, vertices: Vector, *, relative: float = 0.02) -> Vector:
    """Lower bounds (N,) of a formula or of smooth data on simplices (N, m + 1, d)."""
    V = checked_vertices(vertices)
    m, N = V.shape[1] - 1, len(V)
    q = checked_order(None, m)
    lower, owner = np.full(N, np.inf), np.arange(N)
    simplices = Simplices(V, np.zeros((N, V.shape[2])))
    for level in range(DEPTH[m] + 1):
        low, value = np.empty(len(simplices)), np.empty(len(simplices))
        for start in range(0, len(simplices), CHUNK):
            part = slice(start, start + CHUNK)
            low[part], value[part] = below(_model(f, simplices[part], q))
        least = np.full(N, np.inf)
        np.minimum.at(least, owner, value)
        again = ~(low >= value - relative * np.abs(value)) & ~(low > lower[owner]) & ~(low >= least[owner])
        done = ~again if level < DEPTH[m] else np.ones(len(simplices), dtype=bool)
        np.minimum.at(lower, owner[done], low[done])
        if done.all():
            break
        left = np.flatnonzero(~done)
        owner, simplices = np.repeat(owner[left], 2**m), simplices[left].children()
    return lower


def _model(f: Enclosed, simplices: Simplices, q: int) -> TaylorModel:
    """The model of f, which is told the range of the coordinates: so x y ≥ 0 where both are, to the last bit."""
    V, slack = simplices.vertices, simplices.slack[:, None]
    low, high = (V - slack).min(axis=(0, 1)), (V + slack).max(axis=(0, 1))
    ranges = zip(coordinates(simplices, path_order(V), q), low.tolist(), high.tolist(), strict=True)
    X = [replace(x, least=min(a, a - 4.0 * UNIT * abs(a)), most=b + 4.0 * UNIT * abs(b)) for x, a, b in ranges]
    model = model_of(f, X)
    if model.C.shape != X[0].C.shape:
        zero = TaylorModel(X[0].space, np.zeros_like(X[0].C), np.zeros_like(X[0].e), 0.0, 0.0)
        model = zero + model
    return model


def below(model: TaylorModel) -> tuple[Vector, Vector]:
    """Lower bounds of what models on simplices enclose, and values near those at their lowest vertices."""
    S = model.space
    if S.size == 1:
        low = model.C[0] - model.e
        return low - (UNIT * np.abs(low) + TINY), model.C[0]
    table, at_vertices = tables.bernstein(S.d, S.q)
    b = table @ model.C
    error = (model.e + gamma(S.size + 6) * np.abs(model.C).sum(axis=0)) * MANY + TINY
    with np.errstate(invalid="ignore"):
        low = b.min(axis=0) - error  # taylor.md, step 6f
        low = low - (2.0 * UNIT * np.abs(low) + TINY)
    low = np.where(np.isnan(low), -np.inf, low)
    return np.maximum(low, model.least), b[at_vertices].min(axis=0)
