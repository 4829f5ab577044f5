"""What can be asked of a solution that moves: functionals in space, each at its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, digest, per_query
from pinnpoint.base.errors import InputError
from pinnpoint.fem.fields import FieldQueries, ball_rule, value_rows
from pinnpoint.fem.parabolic.data import joined
from pinnpoint.mesh.location import boundary_distance
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.goals import Ball, Block, Cells, Gaussian, Patch, Point, since_of, time_of
from pinnpoint.systems.queries import Queries, Samples

TIMES = "times"
"""What queries say of the time grid that they were made for."""
FAR = 7.0
"""Standard deviations of a Gaussian weight within which a prediction is averaged."""
WITHIN = 1.0 - 1e-9
"""Balls reach so much of the way to the boundary where nothing else is said."""


def times_of(grid: TimeGrid) -> str:
    """A digest of the levels."""
    return digest(grid.levels)


def asked_times(grid: TimeGrid, time: ArrayLike | None, count: int) -> Vector:
    """One time for each query; the end where None is given."""
    each = per_query("time", grid.end if time is None else time, count)
    return np.array([grid.require_inside(t) for t in each.tolist()])


def asked_since(grid: TimeGrid, since: ArrayLike | None, times: Vector) -> Vector | None:
    """One beginning of an average over time for each query; None where nothing is averaged over time."""
    if since is None:
        return None
    each = per_query("since", since, len(times))
    for begin, end in zip(each.tolist(), times.tolist(), strict=True):
        if not 0.0 <= begin < end - 1e-9 * grid.end:
            raise InputError(f"since: must be at least 0 and before time, {end!r}; got {begin!r}")
    return each


def moving(found: Queries, grid: TimeGrid, times: Vector, since: Vector | None = None) -> Queries:
    """Functionals in space, each at its time or over times, as functionals of the states at all levels."""
    L = sp.coo_array(found.stored)
    W = grid.at(times)
    if since is not None:
        W = sp.csr_array(sp.vstack([grid.mean(a, b) for a, b in zip(since.tolist(), times.tolist(), strict=True)]))
    n, rows = found.stored.shape[1], []
    width = int(np.diff(W.indptr).max())
    for j in range(width):
        has = np.diff(W.indptr) > j
        at = np.minimum(W.indptr[:-1] + j, W.nnz - 1)
        level, share = np.where(has, W.indices[at], 0), np.where(has, W.data[at], 0.0)
        entries = L.data * share[L.row], (L.row, L.col + n * level[L.row].astype(np.int64))
        rows.append(sp.csr_array(entries, shape=(len(found), n * grid.levels.size)))
    whole = sp.csr_array(sum(rows[1:], rows[0]))
    whole.eliminate_zeros()
    samples = found.samples if since is None else None
    if isinstance(samples, Samples):
        owner = sp.coo_array(samples.weights)
        when = np.zeros(len(samples.points))
        when[owner.col] = times[owner.row]
        samples = Samples(joined(samples.points, when), samples.weights)
    goals = [
        replace(goal, time=t) if isinstance(goal, Point | Ball | Block | Gaussian | Cells | Patch) else goal
        for goal, t in zip(found.goals, times.tolist(), strict=True)
    ]
    if since is not None:
        goals = [
            replace(goal, since=a) if isinstance(goal, Ball | Block | Cells) else goal
            for goal, a in zip(goals, since.tolist(), strict=True)
        ]
    return Queries(
        whole,
        found.names,
        found.constants,
        points=found.points,
        samples=samples,
        notes=found.notes,
        goals=goals,
        made_for={**found.made_for, TIMES: times_of(grid)},
    )


def places_of(queries: Queries) -> tuple[Vector | None, Vector | None]:
    """Points and times of queries, not a number where one has none, and nothing where none has."""
    goals = [goal if isinstance(goal, Point | Ball | Block | Gaussian) else None for goal in queries.goals]
    dim = max((len(goal.at) for goal in goals if goal is not None), default=0)
    at = np.array([[np.nan] * dim if goal is None else goal.at for goal in goals], dtype=np.float64)
    each = [None if goal is None else time_of(goal) for goal in queries.goals]
    times = np.array([np.nan if t is None else t for t in each], dtype=np.float64)
    return at if dim else None, None if np.isnan(times).all() else times


def over_time(queries: Queries) -> tuple[str, ...]:
    """Which queries are averages over time, in words."""
    said = [
        f"'{name}' from {since_of(goal)!r} to {time_of(goal)!r}"
        for name, goal in zip(queries.names, queries.goals, strict=True)
        if since_of(goal) is not None
    ]
    return (f"averages over time: {', '.join(said)}",) if said else ()


def gaussians(
    asked: FieldQueries, X: ArrayLike, spread: ArrayLike, reach: ArrayLike | None, names: Sequence[str] | None
) -> Queries:
    """Averages with Gaussian weights that are cut off at a distance; see `Gaussian`."""
    X = asked.as_points("at", X)
    asked.locator.locate(X, "at")
    sigma = per_query("spread", spread, len(X), sign="positive")
    gaps = np.array([boundary_distance(asked.mesh, x) for x in X])
    R = WITHIN * gaps if reach is None else per_query("reach", reach, len(X), sign="positive")
    for x, r, gap in zip(X, R, gaps, strict=True):
        if not 0.0 < r * WITHIN <= gap:
            raise InputError(
                f"reach: the weight about {x.tolist()} reaches {r:g} and leaves the domain, whose boundary is "
                f"{gap:.6g} away; move it or make it smaller"
            )
    offsets, weights = ball_rule(asked.mesh.dim)
    near = np.minimum(R, FAR * sigma)  # what lies further out weighs nothing in a prediction's average
    rho = np.sum(offsets**2, axis=1)[None, :] * ((near / R) ** 2)[:, None]
    shape = weights[None, :] * (1.0 - scipy.special.betainc(3.0, 4.0, np.minimum(rho, 1.0)))
    mixes = shape * np.exp(-0.5 * np.sum(offsets**2, axis=1)[None, :] * ((near / sigma) ** 2)[:, None])
    mixes /= mixes.sum(axis=1, keepdims=True)
    where = (X[:, None, :] + near[:, None, None] * offsets[None, :, :]).reshape(-1, asked.mesh.dim)
    at = np.repeat(np.arange(len(X)), len(weights))
    mix: Any = sp.csr_array((mixes.ravel(), (at, np.arange(at.size))), shape=(len(X), at.size))
    cell, bary = asked.locator.locate(where, "at")
    rows = partial(value_rows, cell=cell, bary=bary, mix=mix, k=0, count=1)
    goals = [Gaussian(tuple(x), s, r) for x, s, r in zip(X.tolist(), sigma.tolist(), R.tolist(), strict=True)]
    note = f"on the mesh, Gaussian averages are those of a product rule with {len(weights)} points"
    return Queries(
        rows(asked.nodes),
        names,
        points=X,
        samples=Samples(where, mix),
        notes=(note,),
        goals=goals,
        on_nodes=rows,
        made_for=asked.made_for,
    )
