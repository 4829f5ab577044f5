"""Simplices as parts of boxes: models of the coordinates, and children.

A simplex with its vertices in the order v_0 … v_m is the part 1 ≥ t_1 ≥ … ≥ t_m ≥ 0 of the parallelepiped
v_0 + Σ t_i (v_i − v_{i−1}), ξ = 2t − 1. Of all orders the one with the smallest longest diagonal is taken; in 2D that
puts the corner v_1 opposite the longest edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.rounding.arithmetic import TINY, UNIT, two_sum
from pinnpoint.taylor.bernstein import children, pairs
from pinnpoint.taylor.models import TaylorModel
from pinnpoint.taylor.spaces import POINT, space


@dataclass(frozen=True, eq=False)
class Simplices:
    """Simplices whose true vertices are known to `slack` in each coordinate: vertices (N, m + 1, d), slack (N, d)."""

    vertices: Vector
    slack: Vector

    def __len__(self) -> int:
        return len(self.vertices)

    def __getitem__(self, chosen: Index | slice | Mask) -> Simplices:
        return Simplices(self.vertices[chosen], self.slack[chosen])

    @property
    def m(self) -> int:
        """Dimension of the simplices."""
        return int(self.vertices.shape[1]) - 1

    def children(self) -> Simplices:
        """All children, those of the first simplex first; midpoints that are rounded widen the slack."""
        mids, errors = [], []
        for j, q in pairs(self.m):
            s, t = two_sum(self.vertices[:, j], self.vertices[:, q])
            mids.append(0.5 * s)
            errors.append(0.5 * np.abs(t))
        slack = (self.slack + np.max(errors, axis=0)) * (1.0 + 4.0 * UNIT) + TINY  # taylor.md, step 6a
        parts = np.stack([np.stack([mids[k] for k in row], axis=1) for row in _midpoints(self.m)], axis=1)
        count = parts.shape[1]
        return Simplices(parts.reshape(-1, *parts.shape[2:]), np.repeat(slack, count, axis=0))


@cache
def _midpoints(m: int) -> tuple[tuple[int, ...], ...]:
    """For each vertex of each child the pair of vertices whose midpoint it is."""
    found = []
    for child in children(m):
        row = []
        for bary in child:
            ends = np.flatnonzero(bary)
            row.append(pairs(m).index((int(ends[0]), int(ends[-1]))))
        found.append(tuple(row))
    return tuple(found)


@cache
def orders(m: int) -> Index:
    """Orders of the vertices, one of each pair of reversed ones, the given order first."""
    return np.array([p for p in permutations(range(m + 1)) if p[0] <= p[-1]], dtype=np.intp)


def path_order(vertices: Vector) -> Index:
    """For each simplex the number of the order whose box has the smallest longest diagonal."""
    m = vertices.shape[1] - 1
    if m < 2:
        return np.zeros(len(vertices), dtype=np.intp)
    signs = np.array([(1.0, *s) for s in product((1.0, -1.0), repeat=m - 1)])
    longest = []
    for order in orders(m):
        diagonals = np.einsum("si,nid->nsd", signs, np.diff(vertices[:, order], axis=1))
        longest.append((diagonals**2).sum(axis=2).max(axis=1))
    return np.asarray(np.argmin(np.stack(longest), axis=0), dtype=np.intp)


def coordinates(simplices: Simplices, which: Index, q: int) -> list[TaylorModel]:
    """Models of the coordinates over the simplices with vertices in the orders `which`."""
    m, N = simplices.m, len(simplices)
    if m == 0:
        return [TaylorModel(POINT, x.T.copy(), s) for x, s in _columns(simplices.vertices, simplices.slack)]
    V = np.take_along_axis(simplices.vertices, orders(m)[which][:, :, None], axis=1)
    S = space(m, q, simplex=True)
    centre, lost = two_sum(V[:, 0], V[:, -1])
    error = np.abs(lost) + 2.0 * simplices.slack
    steps = []
    for i in range(m):
        step, lost = two_sum(V[:, i + 1], -V[:, i])
        steps.append(0.5 * step)
        error = error + np.abs(lost)
    error = 0.5 * error * (1.0 + 16.0 * UNIT) + TINY  # taylor.md, step 6a
    models = []
    for k in range(V.shape[2]):
        C = np.zeros((S.size, N))
        C[0] = 0.5 * centre[:, k]
        for i in range(m):
            C[1 + i] = steps[i][:, k]
        models.append(TaylorModel(S, C, np.ascontiguousarray(error[:, k])))
    return models


@cache
def _positions(m: int) -> Index:
    """For each order the place, among the pairs of the path, of each pair of the simplex's own vertices."""
    rows = []
    for order in orders(m):
        back = np.argsort(order)
        own = [tuple(sorted((int(back[j]), int(back[q])))) for j, q in pairs(m)]
        rows.append([pairs(m).index((a, b)) for a, b in own])
    return np.array(rows, dtype=np.intp)


def to_own_order(beta: Vector, which: Index, m: int) -> Vector:
    """Coefficients along the path, (N, pairs), in the simplex's own order of vertices."""
    return np.take_along_axis(beta, _positions(m)[which], axis=1)


def to_path_order(beta: Vector, which: Index, m: int) -> Vector:
    """The reverse of `to_own_order`."""
    return np.take_along_axis(beta, np.argsort(_positions(m)[which], axis=1), axis=1)


def _columns(vertices: Vector, slack: Vector) -> list[tuple[Vector, Vector]]:
    return [(np.ascontiguousarray(vertices[:, :, k]), np.ascontiguousarray(slack[:, k])) for k in range(slack.shape[1])]
