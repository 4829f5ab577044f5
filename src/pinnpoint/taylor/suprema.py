"""Upper bounds of sup |f − quadratic| on simplices.

A polynomial lies between its Bernstein coefficients, some of which are its values at the vertices. Simplices are
subdivided until the largest coefficient and the largest value found agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats, number, whole
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma
from pinnpoint.taylor import opaque, tables
from pinnpoint.taylor.bernstein import pairs, restriction, values
from pinnpoint.taylor.geometry import Simplices, to_path_order
from pinnpoint.taylor.inputs import Data, Enclosed, checked_order, checked_vertices, enclosed, fixed, function, models
from pinnpoint.taylor.spaces import MANY

DEPTH = {0: 0, 1: 10, 2: 5, 3: 4}
CHUNK = 2048


def supremum(
    f: Data,
    vertices: ArrayLike,
    minus: Vector | None = None,
    *,
    order: int | None = None,
    relative: float = 0.01,
    depth: int | None = None,
) -> tuple[Vector, bool]:
    """Upper bounds (N,) of sup |f − Σ β_jl B_jl| on each simplex, and whether they are proved.

    Parameters
    ----------
    f, vertices, order
        As in `density`. For a function of points the largest sampled value is returned, which is no proof.
    minus
        β, (N, pairs), in the simplex's own order of vertices; zero by default.
    relative
        Simplices are subdivided, at most `depth` times, until the bound exceeds a value taken by no more than this.
    """
    V = checked_vertices(vertices)
    m, N = V.shape[1] - 1, len(V)
    beta = np.zeros((N, len(pairs(m)))) if minus is None else floats("minus", minus)
    if beta.shape != (N, len(pairs(m))) or not np.isfinite(beta).all():
        raise InputError(f"minus: must be finite with shape {(N, len(pairs(m)))}; got {beta.shape}")
    known = fixed(f)
    if known is not None:
        return _of_constant(*known, beta), True
    if not enclosed(f):
        return _sampled(function(f), V, beta), False
    q = checked_order(order, m)
    close = 1.0 + number("relative", relative, above=0.0)
    most = DEPTH[m] if depth is None else whole("depth", depth)
    upper, lower = np.zeros(N), np.zeros(N)
    blur = (most + 1) * gamma(beta.shape[1] + 3) * np.abs(beta).max(axis=1, initial=0.0)  # of restrictions to children
    owner, before = np.arange(N), np.full(N, np.inf)
    simplices = Simplices(V, np.zeros((N, V.shape[2])))
    for level in range(most + 1):
        bound, value, e = (np.empty(len(simplices)) for _ in range(3))
        for start in range(0, len(simplices), CHUNK):
            part = slice(start, start + CHUNK)
            bound[part], value[part], e[part] = _bounds(f, simplices[part], beta[part], q, blur[owner[part]])
        np.maximum.at(lower, owner, value)
        again = bound > close * np.maximum(lower[owner], upper[owner])
        again &= ~((e > 0.5 * bound) & (e > 0.8 * before) & np.isfinite(e) & (m > 0))
        done = ~again if level < most and m else np.ones(len(simplices), dtype=bool)
        np.maximum.at(upper, owner[done], bound[done])
        if done.all():
            break
        left, count = np.flatnonzero(~done), 2**m
        beta = np.einsum("cij,nj->nci", restriction(m), beta[left]).reshape(len(left) * count, -1)
        owner, before = np.repeat(owner[left], count), np.repeat(e[left], count)
        simplices = simplices[left].children()
    return upper, True


def _bounds(f: Enclosed, simplices: Simplices, beta: Vector, q: int, blur: Vector) -> tuple[Vector, Vector, Vector]:
    """An upper bound of the supremum, a lower one, and the remainder with all rounding."""
    model, which = models(f, simplices, q)
    m, C = simplices.m, model.C
    if m == 0:
        size = np.abs(C[0] - beta[:, 0])
        return (size + model.e) * (1.0 + 8.0 * UNIT) + TINY, size - model.e, model.e
    Z = tables.monomials(m, q)
    B = to_path_order(beta, which, m).T
    D = C - Z @ B  # taylor.md, step 6e
    table, at_vertices = tables.bernstein(m, q)
    b = np.abs(table @ D)
    terms = len(C) + len(B) + 6
    touched = Z.any(axis=1)
    size = np.abs(D).sum(axis=0) + np.abs(C[touched]).sum(axis=0) + (np.abs(Z) @ np.abs(B)).sum(axis=0)
    error = (model.e + blur + gamma(terms) * size) * MANY + TINY
    with np.errstate(invalid="ignore"):
        low = b[at_vertices].max(axis=0) - error
        return (b.max(axis=0) + error) * (1.0 + 8.0 * UNIT) + TINY, np.maximum(low, 0.0), error  # taylor.md, step 6e


def _of_constant(value: float, error: float, beta: Vector) -> Vector:
    """|value − β| is largest at a coefficient, up to a subdivision that quadratics do not repay."""
    return np.asarray((np.abs(value - beta).max(axis=1) + error) * (1.0 + 8.0 * UNIT) + TINY)


def _sampled(f: Any, vertices: Vector, beta: Vector) -> Vector:
    """The largest value at the points of a lattice with eight steps an edge."""
    m = vertices.shape[1] - 1
    grid = np.stack(np.meshgrid(*[np.arange(9.0)] * (m + 1), indexing="ij"), axis=-1).reshape(-1, m + 1)
    bary = grid[grid.sum(axis=1) == 8.0] / 8.0
    found = np.empty(len(vertices))
    for start in range(0, len(vertices), CHUNK):
        part = slice(start, start + CHUNK)
        found[part] = np.abs(opaque.sample(f, vertices[part], bary) - beta[part] @ values(bary).T).max(axis=1)
    return found
