"""Parts of the cells near a ball, and the bounds of the mollifier on them.

On a simplex with vertices v_i, z_i = (v_i − x₀)/R, the function t = 1 − |x − x₀|²/R² is the quadratic with the
Bernstein coefficients 1 − z_i·z_j. It is concave: its minimum −a is at a vertex; its maximum b is at most the largest
coefficient. Hence t₊^k differs on the simplex by at most

    a^k from t^k,      b₊^k from 0,      ε_k τ^k from τ^k q_k(t/τ), τ = max(a, b),

with q_k the polynomial of `POSITIVE_PART`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinnpoint.arrays import Vector
from pinnpoint.bernstein import Index, pairs
from pinnpoint.rounding.arithmetic import TINY, gamma, up
from pinnpoint.transfer.simplices import POSITIVE_PART, children

MOST_LEVELS = 45
"""Midpoints halve barycentric coordinates, which stay exact to this depth."""
POWER, NOTHING, MINIMAX = 0, 1, 2
"""Which polynomial stands for t₊^k on a piece: t^k, 0 or τ^k q_k(t/τ)."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Simplices inside cells.

    Attributes
    ----------
    cell, level
        The cell and how often it was halved.
    z, slack
        Corners, scaled by R about x₀, and a bound of the error of a corner.
    bary
        Corners in the barycentric coordinates of the cell, exactly.
    T
        Bernstein coefficients of t.
    tau
        Upper bounds of |t| and of |T|.
    error, kind
        The polynomial chosen, made of the stored T, and a bound of its distance to t₊^k.
    """

    cell: Index
    level: Index
    z: Vector
    slack: Vector
    bary: Vector
    T: Vector
    tau: Vector
    error: Vector
    kind: Index

    def __getitem__(self, chosen: Index) -> Pieces:
        return Pieces(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @property
    def share(self) -> Vector:
        """Part of the cell's volume, exactly."""
        return np.asarray(0.5 ** (self.z.shape[2] * self.level.astype(np.float64)))


def start(corners: Vector, x0: Vector, radius: float, k: int) -> Pieces:
    """The cells themselves, without those that are outside the ball."""
    n, m, _ = corners.shape
    z = (corners - x0) / radius
    # each of the later midpoints rounds by at most u times the largest corner
    slack = up(gamma(MOST_LEVELS + 6) * np.sqrt(np.einsum("nij,nij->ni", z, z)).max(axis=1, initial=0.0), 8)
    bary = np.broadcast_to(np.eye(m), (n, m, m))
    return bounded(np.arange(n), np.zeros(n, dtype=np.intp), z, slack, bary, k)


def divided(old: Pieces, k: int) -> Pieces:
    """The equal parts of each piece, without those that are outside the ball."""
    n, m, d = old.z.shape
    table = children(d)
    c = len(table)
    flat = table.reshape(c * m, m)
    return bounded(
        np.repeat(old.cell, c),
        np.repeat(old.level + 1, c),
        np.matmul(flat, old.z).reshape(n * c, m, d),
        np.repeat(old.slack, c),
        np.matmul(flat, old.bary).reshape(n * c, m, m),
        k,
    )


def bounded(cell: Index, level: Index, z: Vector, slack: Vector, bary: Vector, k: int) -> Pieces:
    """Pieces with their bounds; those certainly outside the ball are left out."""
    m = z.shape[1]
    T = np.empty((len(z), len(pairs(m - 1))))
    for i, (j, q) in enumerate(pairs(m - 1)):
        T[:, i] = 1.0 - np.einsum("ni,ni->n", z[:, j], z[:, q])
    low, high = T[:, _diagonal(m)].min(axis=1), T.max(axis=1)
    far2 = np.maximum(1.0 - low, 0.0)
    far = np.sqrt(far2)
    blur = up(slack * (2.0 * far + slack) + gamma(m + 4) * (1.0 + far2), 12)
    centre = z.mean(axis=1)
    length = np.sqrt(np.einsum("ni,ni->n", centre, centre))
    ahead = np.matmul(z, centre[:, :, None])[:, :, 0].min(axis=1)
    beyond = ahead > length * (1.0 + slack + gamma(60) * (1.0 + far)) + TINY  # a plane separates it from the ball
    keep = np.flatnonzero((high + blur > 0.0) & ~beyond)
    T, low, high, blur = T[keep], low[keep], high[keep], blur[keep]
    a, b = np.maximum(blur - low, 0.0), np.maximum(high + blur, 0.0)
    tau = up(np.maximum(a, b) + blur)
    bounds = np.stack([_power(a, k), _power(b, k), POSITIVE_PART[k][1] * _power(tau, k)])
    bounds[[POWER, MINIMAX]] += k * _power(tau, k - 1) * blur  # the stored T are not quite t's
    kind = np.argmin(bounds, axis=0)
    error = up(bounds.min(axis=0), 3 * k + 8)
    return Pieces(cell[keep], level[keep], z[keep], slack[keep], bary[keep], T, tau, error, kind)


def inside(pieces: Pieces) -> NDArray[np.bool_]:
    """Which pieces lie in the ball, up to rounding that their errors cover."""
    return np.asarray(pieces.T[:, _diagonal(pieces.z.shape[1])].min(axis=1) >= 0.0)


def joined(a: Pieces, b: Pieces) -> Pieces:
    """Both lists."""
    return Pieces(*(np.concatenate([getattr(a, x), getattr(b, x)]) for x in a.__dataclass_fields__))


def _diagonal(m: int) -> list[int]:
    return [i for i, (j, q) in enumerate(pairs(m - 1)) if j == q]


def _power(x: Vector, k: int) -> Vector:
    y = np.ones_like(x)
    for _ in range(k):
        y = y * x
    return y
