"""Parts of the cells near a ball, and how far the clipped power t^k is from the mollifier on them.

Text and bounds are for t^k; for a profile g(t) = t^k(c₀ + c₁t) they grow by the factor |c₀| + |c₁| max(a, b), and for
one that is odd along an axis by the largest coordinate on the piece. For k = 0, the ball's own indicator, the mean is
that of the places where a sign is wrong.

With corners z_i, scaled by R about x₀, and barycentric coordinates λ, t = 1 − |x − x₀|²/R² is ℓ + Q: ℓ is linear with
the values of t at the corners, and Q = Σ_{i<j} λ_i λ_j |z_i − z_j|² = Σ λ_i |z_i − p|² − |z − p|² for every p. Hence
0 ≤ Q ≤ q with

    q = min(d/(2(d + 1)) max |z_i − z_j|²,  max |z_i − p|²),      p the middle of the longest edge.

Let y = ℓ + q/2 and r = q/2, so that |t − y| ≤ r. In place of t₊^k stands f = t^k where y > 0, and 0 elsewhere. They
differ where t and y have different signs only, and there |t| ≤ r − |y|. The values of the linear y over the simplex,
a_0 ≤ … ≤ a_d at the corners, are distributed with the density of a B-spline, at most

    1/(a_1 − a_0),      2/(a_2 − a_0),      3/(a_3 − a_0 + a_2 − a_1)      in 1D, 2D, 3D;

and since the simplex lies in the cone of each of its corners, on |y| ≤ r also at most d(a_d + r)^{d−1}/Π(a_d − a_i) and
d(r − a_0)^{d−1}/Π(a_i − a_0). With ρ the least of these bounds, the mean of |t₊^k − f|^p, p = 1 or 2, is at most

    ρ (a^{kp+1} + b^{kp+1})/(kp + 1)   and   max(a, b)^{kp},

where r − |y| is at most a where y > 0, and b where y ≤ 0 (zero if there are no such points).

Rounding: t is known within the bounds of `Cells.parts`, and the points where edges meet y = 0 are computed with |y| at
most δ = 4u(a_d − a_0); then a sign may also be wrong where |y| ≤ δ, and |t| ≤ r + δ there. A larger r covers both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pinnpoint.base.arrays import Index, Vector, attributes, products, row_max, squared
from pinnpoint.rounding.arithmetic import UNIT, gamma, up
from pinnpoint.taylor.bernstein import children
from pinnpoint.transfer.points.profiles import Profile

MOST_LEVELS = 45
"""Midpoints halve barycentric coordinates, which stay exact to this depth."""
CHUNK = 2**13
"""Pieces that are worked on at once."""
THIN = 30.0
"""The longest edge to the power d, against d! times the volume, from which a piece is thin: 2 and 6 on grids of right
triangles and their tetrahedra."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Simplices inside cells.

    Attributes
    ----------
    cell, level, halvings
        The cell, how often its corners were moved to midpoints, and how often its volume was halved.
    bary
        Corners in the barycentric coordinates of the cell, exactly.
    y
        Corner values of the linear function whose sign decides; these floats are exact by definition.
    error, square
        Bounds of the mean of |g(t₊) − f| and of its square.
    """

    cell: Index
    level: Index
    halvings: Index
    bary: Vector
    y: Vector
    error: Vector
    square: Vector

    def __getitem__(self, chosen: Index | slice) -> Pieces:
        every = attributes(self, *self.__dataclass_fields__).values()
        return Pieces(*(a[chosen] if isinstance(chosen, slice) else a.take(chosen, axis=0) for a in every))

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def share(self) -> Vector:
        """Part of the cell's volume, exactly."""
        return np.asarray(np.ldexp(1.0, -self.halvings))


@dataclass(frozen=True, eq=False)
class Cells:
    """Corners (n, d + 1, d) of cells, scaled by R about x₀, with bounds of the errors of corners of pieces."""

    z: Vector
    slack: Vector
    size: Vector
    """d! times the volume, roughly."""

    @classmethod
    def build(cls, z: Vector) -> Cells:
        """From computed corners: differences and quotients of floats, rounded."""
        far = row_max(squared(z))
        size = np.abs(np.linalg.det(z[:, 1:] - z[:, :1]))
        return cls(z, np.asarray(up(gamma(z.shape[2] + 8) * np.sqrt(far), 12)), size)

    def __getitem__(self, chosen: Index) -> Cells:
        return Cells(self.z[chosen], self.slack[chosen], self.size[chosen])

    def parts(self, cell: Index, bary: Vector) -> tuple[Vector, Vector, Vector]:
        """Corners z of simplices, the |z|², and bounds of the errors of t, also from 1 − z_i·z_j for points between."""
        z, slack = products(bary, self.z.take(cell, axis=0)), self.slack[cell]
        squares = squared(z)
        far = row_max(squares)
        return (
            z,
            squares,
            np.asarray(up(slack * (2.0 * np.sqrt(far) + slack) + gamma(z.shape[2] + 30) * (1.0 + far), 12)),
        )


def start(cells: Cells, profile: Profile) -> Pieces:
    """Whole cells, without those that are outside the ball."""
    n, m, _ = cells.z.shape
    parts = (np.arange(i, min(i + CHUNK, n)) for i in range(0, max(n, 1), CHUNK))
    unit, none = np.eye(m), np.zeros(CHUNK, dtype=np.intp)

    def bounded(p: Index) -> Pieces:
        never = none[: len(p)]
        return _bounded(p, never, never, np.broadcast_to(unit, (len(p), m, m)), cells, profile)

    return joined(*map(bounded, parts))


def divided(old: Pieces, cells: Cells, profile: Profile) -> Iterator[Pieces]:
    """The equal parts of each piece, without those that are outside the ball, a chunk at a time.

    Bounds fall with the square of the longest edge, so needles and slivers are halved across it; all others get 2^d
    parts like themselves.
    """
    m = cells.z.shape[1]
    table = children(m - 1)
    c = len(table)
    flat = table.reshape(c * m, m)
    for i in range(0, len(old), CHUNK // c):
        p = old[i : i + CHUNK // c]
        longest, edge = _longest(products(p.bary, cells.z.take(p.cell, axis=0)))
        thin = longest ** (m - 1) > THIN * cells.size[p.cell] * p.share
        if thin.any():
            yield _halved(p[np.flatnonzero(thin)], edge[thin], cells, profile)
            p = p[np.flatnonzero(~thin)]
        bary = np.matmul(flat, p.bary).reshape(-1, m, m)
        cell, level, halvings = (np.repeat(x, c) for x in (p.cell, p.level + 1, p.halvings + m - 1))
        yield _bounded(cell, level, halvings, bary, cells, profile)


def _longest(z: Vector) -> tuple[Vector, Index]:
    """Lengths of the longest edges, and which these are in the order of `combinations`."""
    pairs = np.array(list(combinations(range(z.shape[1]), 2)))
    squares = squared(z[:, pairs[:, 0]] - z[:, pairs[:, 1]])
    return np.sqrt(row_max(squares)), np.argmax(squares, axis=1)


def _halved(p: Pieces, edge: Index, cells: Cells, profile: Profile) -> Pieces:
    """Both halves across an edge; midpoints of barycentric coordinates are exact."""
    ends = np.array(list(combinations(range(p.bary.shape[1]), 2)))[edge]
    rows, parts = np.arange(len(p)), []
    middle = 0.5 * (p.bary[rows, ends[:, 0]] + p.bary[rows, ends[:, 1]])
    for side in (0, 1):
        bary = p.bary.copy()
        bary[rows, ends[:, side]] = middle
        parts.append(_bounded(p.cell, p.level + 1, p.halvings + 1, bary, cells, profile))
    return joined(*parts)


def joined(*parts: Pieces) -> Pieces:
    """All of them in one list."""
    return Pieces(
        *map(np.concatenate, zip(*(attributes(p, *p.__dataclass_fields__).values() for p in parts), strict=True))
    )


def _bounded(cell: Index, level: Index, halvings: Index, bary: Vector, cells: Cells, profile: Profile) -> Pieces:
    """Pieces with their bounds; those certainly outside the ball are left out."""
    d = bary.shape[1] - 1
    z, squares, blur = cells.parts(cell, bary)
    r = np.asarray(up(0.5 * _excess(z), d + 12))  # continuous.md, step 8c
    y = 1.0 - squares + r[:, None]
    a = _sorted(y)
    low, high = a[:, 0], a[:, -1]
    r = np.asarray(up(r + blur + 16.0 * UNIT * (high - low)))
    keep = np.flatnonzero(high + r > 0.0)
    a, low, high, r = a[keep], low[keep], high[keep], r[keep]
    above = np.where(high > 0.0, np.maximum(r - np.maximum(low, 0.0), 0.0), 0.0)
    below = np.where(low <= 0.0, np.maximum(r + np.minimum(high, 0.0), 0.0), 0.0)
    density, most = _density(a, r), np.maximum(above, below)

    factor = profile.factor(most) * profile.reach(z[keep], cells.slack[cell[keep]])

    def mean(times: int) -> Vector:
        p = times * profile.k
        with np.errstate(invalid="ignore"):  # where nothing is wrong ρ may be infinite
            slab = density * (above ** (p + 1) + below ** (p + 1)) / (p + 1)  # continuous.md, step 8c
        top = np.where(most > 0.0, most**p, 0.0)  # gradients.md, step 2b
        return np.asarray(up(np.fmin(top, slab) * factor**times, 8 * p + 40))

    return Pieces(cell[keep], level[keep], halvings[keep], bary.take(keep, axis=0), y[keep], mean(1), mean(2))


def _sorted(y: Vector) -> Vector:
    """Short rows in ascending order, by exchanges of columns."""
    a = list(y.T)
    for n in range(len(a) - 1, 0, -1):
        for i in range(n):
            a[i], a[i + 1] = np.minimum(a[i], a[i + 1]), np.maximum(a[i], a[i + 1])
    return np.stack(a, axis=1)


def _excess(z: Vector) -> Vector:
    """The q of the module's text, to a few roundings."""
    m = z.shape[1]
    longest, middle = np.zeros(len(z)), z[:, 0]
    for i, j in combinations(range(m), 2):
        edge = z[:, i] - z[:, j]
        square = squared(edge)
        middle = np.where((square > longest)[:, None], 0.5 * (z[:, i] + z[:, j]), middle)
        longest = np.maximum(longest, square)
    around = row_max(squared(z - middle[:, None]))
    return np.asarray(np.minimum((m - 1) / (2.0 * m) * longest, around))  # continuous.md, step 8c


def _density(a: Vector, r: Vector) -> Vector:
    """The ρ of the module's text for sorted corner values."""
    d = a.shape[1] - 1
    width = a[:, -1] - a[:, 0]
    if d == 3:
        width = width + (a[:, 2] - a[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = d / width
        top = d * (a[:, -1] + r) ** (d - 1) / math.prod((a[:, -1:] - a[:, :-1]).T)
        bottom = d * np.maximum(r - a[:, 0], 0.0) ** (d - 1) / math.prod((a[:, 1:] - a[:, :1]).T)
    return np.asarray(np.fmin(plain, np.fmin(top, bottom)))  # continuous.md, step 8c
