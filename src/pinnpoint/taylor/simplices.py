"""Data on simplices with a proved error: projections onto quadratics, what is left of them, and suprema.

On each simplex a Taylor model f = p + ε, |ε| ≤ e, gives β of the L² projection of p onto the quadratics, `high`, the
root mean square of the rest of p, and e with the rounding of β for ε. Where e is above the tolerance the simplex is cut
into 2^m children of equal size, and what they say is gathered: the projection of a piecewise polynomial needs only its
children's projections, and the distance from it is √(mean over children of high² + |β_child − β|²).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Vector, floats, row_max, whole
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma
from pinnpoint.taylor import kernels, opaque, tables
from pinnpoint.taylor.bernstein import Density, gram, pairs, restriction
from pinnpoint.taylor.geometry import Simplices, to_own_order, to_path_order
from pinnpoint.taylor.inputs import (
    Blurred,
    Data,
    Enclosed,
    checked_order,
    checked_vertices,
    costly,
    enclosed,
    fixed,
    function,
    model_of,
    models,
)
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import MANY, POINT, space
from pinnpoint.taylor.suprema import supremum

Rows = tuple[Vector, Vector, Vector, Vector]
Look = Callable[[Any, Vector, int, Vector, int], tuple[Rows, Any]]

DEPTH = {0: 0, 1: 16, 2: 8, 3: 5}
CHUNK = 2048
TRIAL = 48
"""Simplices on which degrees are tried."""
FEWER = {1: (3, 5), 2: (3, 4, 6), 3: (3, 4)}
"""Degrees below the usual one that are tried on simplices of each dimension."""
WITHIN, MOSTLY = 0.05, 0.9
"""A lower degree is taken where it leaves at most this share of the tolerance, if most simplices of a trial do so."""
OVERHEAD = 6
"""What a model costs whatever its degree, in coefficients."""
MOST = 100_000
"""Sub-simplices of one level, or four times the simplices where these are more."""
MOST_COSTLY = 4096
"""The same for costly data; where it does not suffice the tolerance is out of reach, and that level is the last."""
FLOOR = 2e-14
"""Remainders below this share of the model are left alone."""
AS_IT_IS = 0.05
"""Remainders below this share of the model that hardly fall are in blurred data itself."""
HUGE = 2.0**460
"""Squares of what is larger might overflow: such data counts as unresolved."""
SMALL = 2.0**-500
"""More than a root mean square loses when squares underflow."""


def density(
    f: Data,
    vertices: ArrayLike,
    *,
    order: int | None = None,
    tolerance: Vector | float | None = None,
    depth: int | None = None,
    growth: float = 1.0,
    mean: bool = False,
    work: float = 1.0,
    shared: Look | None = None,
    frugal: bool = False,
) -> Density:
    """Data on each simplex as a quadratic, the size of the rest, and a proved error.

    Parameters
    ----------
    f
        A number, which is exact; a formula, in which decimals, pi and e mean real numbers and which is assumed to be
        defined on the simplices up to rounding; smooth data (`inputs.Smooth`); or a function of points (N, d), for
        which errors are only estimated and the result says so.
    vertices
        (N, m + 1, d) with m ≤ d and m ≤ 3, taken to be exact.
    order
        Degree of the models: by default 10 on lines, 8 on triangles, 6 on tetrahedra, or for many triangles and smooth
        data the one that a trial on some of them finds to meet the tolerance with the least work.
    tolerance
        Simplices with sup |ε| above it, a number or one for each, are subdivided while that helps. Without it only
        those with an infinite bound are.
    depth
        How often at most. A bound that is infinite after that stays so.
    growth
        The tolerance of a child against its parent's: above 1 for singularities, where small simplices matter less.
    mean
        Subdivide those with the largest remainders only, until the root mean square of all is below the tolerance.
    work
        How many sub-simplices a level may have, in units of `MOST` and `MOST_COSTLY`.
    shared
        Who looks at the simplices in the place of `look`, before any is subdivided.
    frugal
        Whether models of a lower degree are taken where they are better than the tolerance by the factor `WITHIN`.
    """
    V = checked_vertices(vertices)
    m, N = V.shape[1] - 1, len(V)
    known = fixed(f)
    if known is not None:
        d, error = Density.constant(np.full(N, known[0]), m), np.full(N, known[1])
        return Density(d.coefficients, d.high, error, error)
    q = checked_order(order, m)
    if not enclosed(f):
        return opaque.density(function(f), V, q)
    limit = _limits(tolerance, N)
    most = DEPTH[m] if depth is None else whole("depth", depth)
    simplices = Simplices(V, np.zeros((N, V.shape[2])))
    few = q
    if order is None and tolerance is not None and N >= 2 * TRIAL:
        q, few = _degrees(f, simplices, q, limit, frugal=frugal)
    room = max(1, int(work * (MOST_COSTLY if costly(f) else MOST)))
    seen = look(f, V, q, limit, few) if shared is None else shared(f, V, q, limit, few)
    return Density(*_resolve(f, simplices, q, limit, None, most, growth, room, mean=mean, seen=seen))


def enclose(f: Data, points: ArrayLike) -> tuple[Vector, Vector]:
    """Values of a number, a formula or smooth data at points (N, d), and proved bounds of their errors."""
    P = floats("points", points)
    P = P[:, None] if P.ndim == 1 else P
    if P.ndim != 2 or not np.isfinite(P).all():
        raise InputError(f"points: must be finite, one row each; got shape {P.shape}")
    known = fixed(f)
    if known is not None:
        return np.full(len(P), known[0]), np.full(len(P), known[1])
    if not enclosed(f):
        raise InputError(
            f"f: only a number, a formula or smooth data has values with a proved error; got {type(f).__name__}"
        )
    model = model_of(f, [TaylorModel(POINT, x[None].copy(), np.zeros(len(P))) for x in P.T])
    return np.array(np.broadcast_to(model.C[0], len(P))), np.array(np.broadcast_to(model.e, len(P)))


def quadratic(beta: Vector, which: Index, q: int, error: Vector) -> TaylorModel:
    """The model of Σ β_jl B_jl on simplices, β (N, pairs) in their own order of vertices, within an error."""
    m = _dimension(beta)
    Z, B = tables.monomials(m, q), to_path_order(beta, which, m).T
    e = (error + gamma(len(B) + 4) * (np.abs(Z) @ np.abs(B)).sum(axis=0)) * MANY + TINY  # taylor.md, step 6e
    return TaylorModel(space(m, q, simplex=True), Z @ B, e)


def root_mean_square(model: TaylorModel, which: Index) -> Vector:
    """Upper bounds of the root mean square over each simplex of what a model encloses."""
    m = model.space.d
    beta, high, _, error = _read(model, which, m, model.space.q)
    G, size = gram(m), np.abs(beta)
    square = np.einsum("ni,ij,nj->n", beta, G, beta) + gamma(beta.shape[1] ** 2 + 4) * row_max(size) ** 2
    return np.asarray((np.sqrt(np.maximum(square, 0.0) + high**2) + error) * MANY + SMALL)  # taylor.md, step 6c


def projected(model: TaylorModel, which: Index) -> tuple[Vector, Vector, Vector]:
    """β of a model's projection onto quadratics, (N, pairs), the rest's root mean square, and a bound of the error."""
    beta, high, error, _ = _read(model, which, model.space.d, model.space.q)
    return beta, high, error


def _dimension(beta: Vector) -> int:
    return next(m for m in range(4) if len(pairs(m)) == beta.shape[1])


def _degrees(f: Enclosed, simplices: Simplices, usual: int, limit: Vector, *, frugal: bool) -> tuple[int, int]:
    """The degree of models of many simplices, and a lower one to begin with, or the same."""
    if costly(f) and simplices.m == 2:
        before = kernels.spent()
        q = _order(f, simplices, usual, limit)
        kernels.expect((kernels.spent() - before) * len(simplices) / (2 * TRIAL))
        return q, q
    return usual, _fewer(f, simplices, usual, limit) if frugal and simplices.m > 0 and not costly(f) else usual


def _fewer(f: Enclosed, simplices: Simplices, usual: int, limit: Vector) -> int:
    """The lowest degree that nearly all simplices of a trial need no more of; else the usual one."""
    chosen = np.linspace(0, len(simplices) - 1, TRIAL).astype(np.intp)
    for q in FEWER[simplices.m]:
        if np.mean(models(f, simplices[chosen], q)[0].e <= WITHIN * limit[chosen]) >= MOSTLY:
            return q
    return usual


def _order(f: Enclosed, simplices: Simplices, usual: int, limit: Vector) -> int:
    """The degree with the least work; a model's grows with the number of its coefficients."""
    chosen, m = np.linspace(0, len(simplices) - 1, TRIAL).astype(np.intp), simplices.m
    counts = works(f, simplices[chosen], usual, limit[chosen])
    work = {q: count * (math.comb(q + m, m) + OVERHEAD) for q, count in counts.items()}
    return min(work, key=lambda q: work[q])


def works(f: Enclosed, some: Simplices, usual: int, limit: Vector) -> dict[int, float]:
    """By degree, how many models a simplex is expected to need, from remainders of two degrees on some simplices.

    They fall geometrically with the degree q, and by 2^(q+1) from a simplex to its children.
    """
    m, degrees = some.m, (usual - 2, usual + 2)
    with np.errstate(all="ignore"):
        low, high = (np.log2(models(f, some, q)[0].e / limit) for q in degrees)
    counts = {}
    for q in range(usual - 2, usual + 5, 2):
        with np.errstate(invalid="ignore"):  # of infinite remainders; NaN counts as unresolved
            excess = low + (high - low) * (q - degrees[0]) / (degrees[1] - degrees[0])
        levels = range(1, DEPTH[m])
        counts[q] = 1.0 + sum(2.0 ** (m * k) * float(np.mean(~(excess <= (q + 1) * (k - 1)))) for k in levels)
    return counts


def _resolve(
    f: Enclosed,
    simplices: Simplices,
    q: int,
    limit: Vector,
    before: Vector | None,
    depth: int,
    growth: float,
    most: int,
    mean: bool = False,
    seen: tuple[Rows, Any] | None = None,
) -> Rows:
    """β, high, error1, error2; `before` is the remainder of the parents, if there are any, `few` a degree to try."""
    m, N = simplices.m, len(simplices)
    rows, again = _look(f, simplices, q, limit, before) if seen is None else seen
    if mean:
        again &= ~_few(rows[2] / np.maximum(limit, TINY))
    chosen, count = np.flatnonzero(again), 2**m
    if depth == 0 or m == 0 or not chosen.size:
        return rows
    room = (max(most, 4 * N) if before is None else most) // count
    if chosen.size > room:  # those with the largest remainders
        depth = 1 if costly(f) else depth
        chosen = np.sort(chosen[np.argsort(-rows[2][chosen], kind="stable")[:room]])
    remainder = np.repeat(rows[2][chosen], count)
    limits = np.repeat(limit[chosen] * growth, count)
    finer = _resolve(f, simplices[chosen].children(), q, limits, remainder, depth - 1, growth, most)
    parents = gathered(m, finer)
    better = ~(parents[2] > rows[2][chosen])
    for row, value in zip(rows, parents, strict=True):
        row[chosen[better]] = value[better]
    return rows


def look(f: Enclosed, vertices: Vector, q: int, limit: Vector, few: int) -> tuple[Rows, Any]:
    """β, high, error1 and error2 of models on simplices, and which should be subdivided.

    Models have the degree `few` where that is far better than the limit, and else q.
    """
    simplices = Simplices(vertices, np.zeros((len(vertices), vertices.shape[2])))
    if few == q:
        return _look(f, simplices, q, limit, None)
    rows, _, excess = _modelled(f, simplices, few, limit, None)
    again = np.zeros(len(excess), dtype=bool)
    poor = np.flatnonzero(~(excess <= WITHIN))
    finer, again[poor] = _look(f, simplices[poor], q, limit[poor], None)
    for row, value in zip(rows, finer, strict=True):
        row[poor] = value
    return rows, again


def _look(f: Enclosed, simplices: Simplices, q: int, limit: Vector, before: Vector | None) -> tuple[Rows, Any]:
    return _modelled(f, simplices, q, limit, before)[:2]


def _modelled(
    f: Enclosed, simplices: Simplices, q: int, limit: Vector, before: Vector | None
) -> tuple[Rows, Any, Vector]:
    """β, high, error1 and error2 of models of degree q, which to subdivide, and remainders over the limit."""
    m, N = simplices.m, len(simplices)
    rows = (np.empty((N, len(pairs(m)))), np.empty(N), np.empty(N), np.empty(N))
    again, excess = np.zeros(N, dtype=bool), np.empty(N)
    for start in range(0, N, CHUNK):
        part = slice(start, start + CHUNK)
        model, which = models(f, simplices[part], q)
        for row, value in zip(rows, _read(model, which, m, q), strict=True):
            row[part] = value
        # truncation falls by 2^(q+1) a level; what falls less at this size is rounding
        last = np.inf if before is None else before[part]
        stuck = (model.e > 0.3 * last) & (model.e < 1e-9 * model.norm)
        if isinstance(f, Blurred) and f.blurred:
            stuck |= (model.e > 0.7 * last) & (model.e < AS_IT_IS * model.norm)
        again[part] = (model.e > limit[part]) & (model.e > FLOOR * model.norm) & ~stuck
        with np.errstate(invalid="ignore"):  # without bound and without limit: no number, and looked at again
            excess[part] = model.e / np.maximum(limit[part], TINY)
    return rows, again, excess


def _few(excess: Vector) -> Any:
    """The smallest values, as many as have a root mean square over all of at most one half."""
    order = np.argsort(excess, kind="stable")
    kept = np.zeros(len(excess), dtype=bool)
    with np.errstate(over="ignore"):
        kept[order] = np.cumsum(excess[order] ** 2) <= 0.25 * len(excess)
    return kept


def _read(model: TaylorModel, which: Index, m: int, q: int) -> Rows:
    """β in the simplex's own order of vertices, high, error1 and error2 of a model."""
    if m == 0:
        return model.C.T, np.zeros_like(model.e), model.e, model.e
    C, S = model.C, model.space
    T = tables.projection(m, q)
    beta = to_own_order((T @ C).T, which, m)  # taylor.md, step 6c
    size = (np.abs(T).max(axis=0) @ np.abs(C)) * MANY  # taylor.md, step 6c
    error = (model.e + gamma(S.size + 3) * size) * (1.0 + 8.0 * UNIT) + TINY
    lost = ~((error < HUGE) & (size < HUGE))
    error = np.where(lost, np.inf, error)
    high = np.zeros_like(error)
    if q >= 3:
        D = np.where(lost, 0.0, C[S.slices[3].start :])
        z = tables.rest(m, q) @ D
        high = np.sqrt((z * z).sum(axis=0)) + gamma(S.size + 6) * np.abs(D).sum(axis=0)
        high = np.where(D.any(axis=0), high * MANY + SMALL, 0.0)
    return np.where(lost[:, None], 0.0, beta), np.where(lost, 0.0, high), error, error


def gathered(m: int, finer: Rows) -> Rows:
    """What 2^m children each say about their parents."""
    count, n = 2**m, len(pairs(m))
    beta, high, error1, error2 = (r.reshape(-1, count, *r.shape[1:]) for r in finer)
    R, S, G = tables.gathering(m), restriction(m), gram(m)
    flat, down = R.transpose(0, 2, 1).reshape(count * n, n), S.reshape(count * n, n).T
    rows = beta.reshape(-1, count * n)
    whole_beta = rows @ flat  # taylor.md, step 6d
    slip = gamma(count * n + 3) * row_max(np.abs(rows) @ np.abs(flat))
    apart = beta - (whole_beta @ down).reshape(beta.shape)
    size = np.abs(beta) + (np.abs(whole_beta) @ np.abs(down)).reshape(beta.shape)
    blur = gamma(n + 3) * row_max(size)
    size = np.abs(apart)
    square = ((apart @ G) * apart).sum(axis=2) + gamma(n * n + 4) * ((size @ G) * size).sum(axis=2)
    distance = np.sqrt(np.maximum(square, 0.0)) + blur
    with np.errstate(all="ignore"):
        high = np.sqrt((high**2 + distance**2).mean(axis=1)) * MANY + SMALL  # taylor.md, step 6d
        error1 = (error1.mean(axis=1) + slip) * MANY + TINY
        error2 = (np.sqrt((error2**2).mean(axis=1)) + slip) * MANY + SMALL
    return whole_beta, high, error1, error2


def _limits(tolerance: Vector | float | None, N: int) -> Vector:
    t = np.array(1e300) if tolerance is None else floats("tolerance", tolerance)
    if t.ndim > 1 or (t.ndim == 1 and len(t) != N) or not (t >= 0.0).all():
        raise InputError(f"tolerance: must be a number ≥ 0 or one for each of {N} simplices; got shape {t.shape}")
    return np.array(np.broadcast_to(t, N))


__all__ = ["density", "enclose", "gathered", "projected", "quadratic", "root_mean_square", "supremum"]
