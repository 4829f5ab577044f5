"""What counts of eigenvalues know of the forms on the cells of a mesh.

a(v, w) = ∫A∇v·∇w + (c + q)vw + ∫_{Γ_R} αvw and ∫qvw with q ≥ 0 and c + q ≥ 0: q is −c on cells where c ≤ 0 is proved, 0
where c ≥ 0 is, and elsewhere a number, minus the lower bound of c. Coefficients are known by their projections onto
quadratics, by what these leave, and by bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, down, up
from pinnpoint.taylor.bernstein import means
from pinnpoint.taylor.geometry import path_order
from pinnpoint.taylor.minima import below
from pinnpoint.taylor.simplices import projected
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.media.medium import CHUNK, Medium, Piece

HALF = 0.5
"""The largest share of ‖∇v − mean‖² that pays for how A varies, and the largest loss that it may pay for."""


@dataclass(frozen=True, eq=False)
class Known:
    """A function on cells: p + h + ε, p quadratic, h orthogonal to quadratics.

    Attributes
    ----------
    beta
        Bernstein coefficients of p, (C, pairs), or (C, 1) where it is constant on each cell.
    high, error
        Upper bounds of the root mean square of h and of |ε|.
    low, top
        Bounds of the function.
    """

    beta: Vector
    high: Vector
    error: Vector
    low: Vector
    top: Vector

    __repr__ = brief

    @classmethod
    def constant(cls, values: Vector) -> Known:
        """A number on each cell."""
        none = np.zeros(len(values))
        return cls(values[:, None], none, none, values, values)

    @classmethod
    def of(cls, piece: Piece, medium: Medium) -> Known:
        """From the models of a coefficient."""
        count, which = len(medium.vertices), path_order(medium.vertices)
        if piece.space.size == 1:
            value, e = np.broadcast_to(piece.C[0], count), np.broadcast_to(piece.e, count)
            low, top = np.where(e > 0.0, down(value - e), value), np.where(e > 0.0, -down(-(value + e)), value)
            return cls(np.array(value)[:, None], np.zeros(count), np.array(e), low, top)
        parts = []
        for a in range(0, count, CHUNK):
            part = slice(a, min(a + CHUNK, count))
            model = piece.on(part)
            parts.append((*projected(model, which[part]), below(model)[0], -below(-model)[0]))
        return cls(*(np.concatenate([p[i] for p in parts]) for i in range(5)))

    def negative(self) -> Known:
        """The same with the other sign."""
        return Known(-self.beta, self.high, self.error, -self.top, -self.low)

    def where(self, here: Mask, other: Vector) -> Known:
        """The same on some cells, and numbers on the others."""
        beta = np.where(here[:, None], self.beta, other[:, None])
        high, error = np.where(here, self.high, 0.0), np.where(here, self.error, 0.0)
        return Known(beta, high, error, np.where(here, self.low, other), np.where(here, self.top, other))

    def plus(self, numbers: Vector) -> Known:
        """Its sum with a number on each cell."""
        beta, same = self.beta + numbers[:, None], numbers == 0.0
        error = np.where(same, self.error, up(self.error + UNIT * np.abs(beta).max(axis=1)))
        low = np.where(same, self.low, down(self.low + numbers))
        return Known(beta, self.high, error, low, np.where(same, self.top, -down(-(self.top + numbers))))


@dataclass(frozen=True, eq=False)
class Forms:
    """The forms of a problem.

    Attributes
    ----------
    diffusion
        A's projection onto quadratics, (C, R) for scalars or (C, R, d, d), R one or the number of pairs.
    diffusion_error
        Upper bounds of the norm of what is left of A but for parts orthogonal to quadratics.
    sink, rise
        q and c + q.
    stiff, spare
        S and κ > 0 with ∫A∇v·∇v ≥ |K| G·SG + κ‖∇v − G‖² on each cell, G the mean of ∇v: (C,) or (C, d, d), and (C,).
    middle, least, apart
        The mean of A as computed, a lower bound of its eigenvalues, and D with |∫(A − middle)∇v·∇w| ≤ D times both
        lengths in the norm of A.
    """

    diffusion: Vector
    diffusion_error: Vector
    sink: Known
    rise: Known
    stiff: Vector
    spare: Vector
    middle: Vector
    least: Vector
    apart: float

    __repr__ = brief

    @classmethod
    def of(cls, model: Continuum) -> Forms:
        """Of a problem."""
        if model.medium is None:
            kappa, none = model.kappa, np.zeros(len(model.kappa))
            sink, rise = (Known.constant(np.maximum(s * model.reaction, 0.0)) for s in (-1.0, 1.0))
            return cls(kappa[:, None], none, sink, rise, kappa, kappa, kappa, kappa, 0.0)
        return _varying(model, model.medium)


def _varying(model: Continuum, medium: Medium) -> Forms:
    c, floor = Known.of(medium.reaction, medium), medium.floor
    falls, rises = c.top <= 0.0, np.maximum(c.low, floor) >= 0.0
    depth, none = np.maximum(-floor, 0.0), np.zeros(len(floor))
    sink = c.negative().where(falls, np.where(rises, none, depth))  # indefinite.md, step 13a
    rise = c.plus(np.where(falls | rises, none, depth)).where(~falls, none)
    rise = replace(rise, low=np.maximum(rise.low, 0.0))
    sink = replace(sink, low=np.maximum(sink.low, 0.0))
    entries = medium.diffusion
    alpha, R, d = model.kappa, medium.metric.R, medium.d
    if medium.coefficients.scalar:
        A = Known.of(entries[0][0], medium)
        middle, off = _mean(A)
        apart = np.asarray(up(_deviation(A, middle) / alpha, 16))  # indefinite.md, step 13c
        stiff, spare = _parted(middle, off, apart, alpha, model, sink)
        return Forms(A.beta, A.error, sink, rise, stiff, spare, middle, _least(alpha, apart), float(apart.max()))
    upper = {(i, j): Known.of(entries[i][j], medium) for i in range(d) for j in range(i, d)}
    wide = max(k.beta.shape[1] for k in upper.values())
    beta = np.empty((len(alpha), wide, d, d))
    middle, off, E = (np.empty((len(alpha), d, d)) for _ in range(3))
    error = np.zeros(len(alpha))
    for (i, j), A in upper.items():
        value, wrong = _mean(A)
        for a, b in {(i, j), (j, i)}:
            beta[:, :, a, b], middle[:, a, b], off[:, a, b] = A.beta, value, wrong
            E[:, a, b] = _deviation(A, value)
            error += A.error**2
    size = np.abs(R)
    # indefinite.md, step 13c
    N = np.einsum("nij,njk,nlk->nil", size, E, size)
    apart = np.asarray(up(np.sqrt((N * N).sum(axis=(1, 2))), 64))
    norm = np.asarray(up(np.sqrt((off * off).sum(axis=(1, 2))), 16))
    stiff, spare = _parted(middle, norm, apart, alpha, model, sink)
    wrong, least = np.asarray(up(np.sqrt(error), 16)), _least(alpha, apart)
    return Forms(beta, wrong, sink, rise, stiff, spare, middle, least, float(apart.max()))


def _mean(A: Known) -> tuple[Vector, Vector]:
    """The mean on each cell and a bound of its error."""
    if A.beta.shape[1] == 1:
        return A.beta[:, 0], A.error
    m = next(k for k in range(4) if (k + 1) * (k + 2) // 2 == A.beta.shape[1])
    return A.beta @ means(m), np.asarray(up(A.error + 16.0 * UNIT * np.abs(A.beta).max(axis=1), 4))


def _deviation(A: Known, middle: Vector) -> Vector:
    """Upper bounds of |A − middle|."""
    return np.asarray(up(np.maximum(A.top - middle, middle - A.low), 2))


def _least(alpha: Vector, apart: Vector) -> Vector:
    """Lower bounds of the means' eigenvalues, zero where there is none."""
    return np.asarray(np.maximum(down(alpha * (1.0 - apart), 4), 0.0))  # indefinite.md, step 13c


def _parted(
    middle: Vector, off: Vector, apart: Vector, alpha: Vector, model: Continuum, sink: Known
) -> tuple[Vector, Vector]:
    """S and κ: the mean of A less what its variation takes, or the lower bound alone."""
    h = model.anchors.diameter / math.pi
    with np.errstate(divide="ignore", invalid="ignore"):
        s = apart * np.sqrt(alpha / np.maximum(sink.top, 1e-300)) / h  # any s is right
    s = np.where(apart > 0.0, np.clip(s, 1e-6, HALF), 0.0)
    loss = np.where(apart > 0.0, up(apart * apart / np.where(s > 0.0, s, 1.0), 4), 0.0)
    good = loss <= HALF
    part = np.where(good, down(1.0 - loss, 1), 0.0)
    flat = middle.ndim == 1
    size = np.abs(middle) if flat else np.abs(middle).max(axis=(1, 2))
    less = np.asarray(up(off + 32.0 * UNIT * size, 4))
    if flat:
        stiff = np.where(good, down(part * (middle - less), 4), alpha)
        better = stiff > alpha
        # indefinite.md, step 13b
        return np.where(better, stiff, alpha), np.where(better & (s > 0.0), down(alpha * (1.0 - s), 4), alpha)
    eye = np.eye(middle.shape[1])
    stiff = part[:, None, None] * (middle - less[:, None, None] * eye)
    stiff = np.where(good[:, None, None], stiff, alpha[:, None, None] * eye)
    # indefinite.md, step 13b
    return stiff, np.where(good & (s > 0.0), down(alpha * (1.0 - s), 4), alpha)
