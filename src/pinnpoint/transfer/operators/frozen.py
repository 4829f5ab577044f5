"""Points of instances whose κ jumps: the kernel of κ at the point, and what κ elsewhere adds to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, gamma, up
from pinnpoint.transfer.goals import Functional
from pinnpoint.transfer.operators.particular import Geometry

LEVELS = 3, 8
"""How often cells are cut in four for bounds of the kernel's slope: at least, and at most."""
NEAR = 0.1
"""Cells are cut until their parts are this much smaller than their distance from the point."""
AT_ONCE = 2**18
"""Parts that are looked at together."""
TOUCHING = -1e-9
"""Cells with larger barycentric coordinates of a point count as touching it."""


@dataclass(frozen=True, eq=False)
class Frozen:
    """∇Φ of a point's kernel for κ = 1 on the cells that its ball meets, by one vector a cell.

    Attributes
    ----------
    at
        The cells that touch the point: κ must have one value on them.
    cells, means
        Other cells, and a vector on each, (n,) and (n, 2).
    rest, off
        Upper bounds of ∫_K |∇Φ − mean|² and of |∫_K ∇Φ/|K| − mean|, (n,).
    ball
        R.
    constant, error
        ∫ fΦ and a bound of its error.
    """

    ball: float
    at: Index
    cells: Index
    means: Vector
    rest: Vector
    off: Vector
    constant: float
    error: float

    __repr__ = brief

    @classmethod
    def of(cls, points: Vector, cells: Index, x0: Vector, J: Functional, slack: float) -> Frozen:
        """For a functional that the kernel of κ = 1 has made."""
        X = points[cells]
        e, f, y = X[:, 1] - X[:, 0], X[:, 2] - X[:, 0], x0 - X[:, 0]
        det = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
        two = (y[:, 0] * f[:, 1] - y[:, 1] * f[:, 0]) / det, (e[:, 0] * y[:, 1] - e[:, 1] * y[:, 0]) / det
        least = np.minimum(np.minimum(*two), 1.0 - two[0] - two[1])
        at = np.flatnonzero(least >= TOUCHING)
        centre = X.mean(axis=1)
        far = np.linalg.norm(centre - x0, axis=1) - np.linalg.norm(X - centre[:, None], axis=2).max(axis=1)
        others = np.setdiff1d(np.flatnonzero(far <= J.ball * (1.0 + 1e-9)), at)
        means, rest, off = _slopes(X[others], x0, J.ball, slack)
        return cls(J.ball, at, others, means, rest, off, J.constant, J.error)

    def field(self, kappa: Vector) -> Vector:
        """Ḡ = (κ/κ₀ − 1) times the vectors, (n, 2)."""
        k0 = kappa[self.at[0]]
        return np.asarray(((kappa[self.cells] - k0) / k0)[:, None] * self.means)  # operators.md, step 11b


def _slopes(X: Vector, x0: Vector, R: float, slack: float) -> tuple[Vector, Vector, Vector]:
    """Vectors near the means of ∇Φ on triangles (n, 3, 2); bounds of ∫|∇Φ − them|² and of how near they are."""
    edges = X[:, [1, 2, 0]] - X
    size = np.sqrt((edges * edges).sum(axis=(1, 2)) / 36.0)  # root of the mean of |x − centre|²
    away = _distances(X, x0) * (1.0 - 1e-9) - 1e-14 * max(float(np.abs(X).max(initial=0.0)), float(np.abs(x0).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.ceil(np.log2(size / (NEAR * np.maximum(away, 0.0))))
    level = np.clip(wanted, *LEVELS).astype(int)
    means, rest, off = np.zeros((len(X), 2)), np.zeros(len(X)), np.zeros(len(X))
    for k in range(LEVELS[0], LEVELS[1] + 1):
        rows = np.flatnonzero(level == k)
        step = max(1, AT_ONCE // 4**k)
        for part in (rows[a : a + step] for a in range(0, len(rows), step)):
            means[part], rest[part], off[part] = _on_parts(X[part], x0, R, size[part] / 2.0**k, k)
    area = 0.5 * np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    rest *= area * (1.0 + slack + 1e-12)
    lost = ~np.isfinite(rest + off)
    if lost.any():  # operators.md, step 11c: nearer than parts are small
        far = np.linalg.norm(X[lost] - x0, axis=2).max(axis=1) * (1.0 + 1e-9)
        with np.errstate(divide="ignore"):
            rest[lost] = np.log(far / np.maximum(away[lost], 0.0)) / (4.0 * math.pi) * (1.0 + 1e-9)
        off[lost] = far / (2.0 * area[lost]) * (1.0 + slack + 1e-9)
        means[lost] = 0.0
    return means, np.asarray(up(rest, 8)), off


def _on_parts(X: Vector, x0: Vector, R: float, spread: Vector, level: int) -> tuple[Vector, Vector, Vector]:
    """Means over equal parts of triangles, of ∇Φ = −x(1 − s)²/(2πr²), of |∇Φ − that|², and what is wrong with them."""
    Y = _centres(X, level) - x0
    reach = np.linalg.norm(X - X.mean(axis=1, keepdims=True), axis=2).max(axis=1)[:, None] / 2.0**level
    slip = 1e-14 * max(float(np.abs(X).max()), float(np.abs(x0).max()))
    r = np.linalg.norm(Y, axis=2)
    near, most = (r - reach) * (1.0 - 1e-9) - slip, (r + reach) * (1.0 + 1e-9) + slip
    spread = spread[:, None] * (1.0 + 1e-12)
    with np.errstate(all="ignore"):
        s = np.minimum((r / R) ** 2, 1.0)
        g = -Y * ((1.0 - s) ** 2 / (2.0 * math.pi * r * r))[..., None]
        low, high = np.minimum((near / R) ** 2, 1.0), np.minimum((most / R) ** 2, 1.0)
        steep = (1.0 - low) * (1.0 + 3.0 * high) / (2.0 * math.pi * near * near)  # operators.md, step 11c
        bent = (2.0 / near**3 + 6.0 * np.minimum(most, R) / R**4) / (2.0 * math.pi)  # operators.md, step 11c
        steep, bent = (np.where(near > 0.0, x, math.inf) for x in (steep, bent))
    m, sizes = g.mean(axis=1), np.linalg.norm(g, axis=2)
    wrong = np.linalg.norm(g - m[:, None], axis=2) + 1e-12 * sizes
    part = np.asarray(up((wrong + steep * (spread + slip)) * (1.0 + 1e-12), 16))
    more = 1.0 + 2.0 * gamma(Y.shape[1] + 16)
    off = (0.5 * bent * spread**2 + steep * slip + 1e-12 * sizes).mean(axis=1)
    return m, (part * part).mean(axis=1) * more, np.asarray(up(off * more, 16))


def _distances(X: Vector, x0: Vector) -> Vector:
    """About the distances of a point from triangles that do not hold it."""
    found = np.full(len(X), math.inf)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        d = X[:, b] - X[:, a]
        t = np.clip(((x0 - X[:, a]) * d).sum(axis=1) / (d * d).sum(axis=1), 0.0, 1.0)
        found = np.minimum(found, np.linalg.norm(X[:, a] + t[:, None] * d - x0, axis=1))
    return found


def _centres(X: Vector, level: int) -> Vector:
    """Centres of the 4^level equal parts of triangles, (n, 4^level, 2)."""
    n = 2**level
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    upright, turned = i + j < n, i + j < n - 1
    first = np.concatenate([i[upright] + 1.0 / 3.0, i[turned] + 2.0 / 3.0]) / n
    second = np.concatenate([j[upright] + 1.0 / 3.0, j[turned] + 2.0 / 3.0]) / n
    e, f = X[:, 1] - X[:, 0], X[:, 2] - X[:, 0]
    return np.asarray(X[:, None, 0] + first[:, None] * e[:, None] + second[:, None] * f[:, None])


@dataclass(frozen=True, eq=False)
class PointTerms:
    """What points add for some instances, each (S, Q); zero for other queries.

    Attributes
    ----------
    known
        Whether κ has one value about the point.
    constant, error
        ∫ fΦ for the instance's κ₀.
    size
        ‖Ḡ‖ at most.
    row
        Bounds of the error of (Ḡ, ∇v) over max |v|.
    rest
        ‖κ^{-½}(G − Ḡ)‖ at most, but for its means on cells.
    means
        The same of these.
    """

    known: Mask
    constant: Vector
    error: Vector
    size: Vector
    row: Vector
    rest: Vector
    means: Vector

    __repr__ = brief

    @classmethod
    def of(cls, points: Sequence[Frozen | None], kappas: Vector, geometry: Geometry, nodes: int) -> PointTerms:
        """For instances κ (S, C) and the queries with duals."""
        S, Q = len(kappas), len(points)
        known, found = np.ones((S, Q), dtype=bool), np.zeros((6, S, Q))
        for q, point in enumerate(points):
            if point is None:
                continue
            k0 = kappas[:, point.at[0]]
            known[:, q] = np.all(kappas[:, point.at] == k0[:, None], axis=1)  # operators.md, step 11a
            here = kappas[:, point.cells]
            jump = np.abs(here - k0[:, None]) / k0[:, None]
            lengths = np.linalg.norm(point.means, axis=1)
            area = geometry.area[point.cells] * (1.0 + geometry.slack)
            size = up(np.sqrt(((jump * lengths) ** 2) @ area) * (1.0 + gamma(len(area) + 16)), 8)
            loose = 8.0 * UNIT * jump * lengths * np.sqrt(area)  # of κ/κ₀ − 1 and of products with it
            sizes = np.stack([np.sqrt(point.rest), point.off * np.sqrt(area)])[:, None]
            left = np.where(jump == 0.0, 0.0, up(jump * np.where(jump == 0.0, 0.0, sizes), 8))
            left[1] += loose
            both = (left * left / here).sum(axis=2) * (1.0 + gamma(len(area) + 16))
            rest, means = np.asarray(up(np.sqrt(both), 16))  # operators.md, step 11b
            share = gamma(nodes + 256) + 4.0 * geometry.slack
            found[:, :, q] = (
                point.constant / k0,
                up(point.error / k0 + 4.0 * UNIT * np.abs(point.constant) / k0, 4),
                size,
                up(share * size * geometry.steep, 8),  # operators.md, step 11d
                rest,
                means,
            )
        return cls(known, *found)
