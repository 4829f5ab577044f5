"""The curve over a chord: a polynomial near it, and proved bounds of what lies between.

Over the chord c(τ) = v₁* + τ(v₂* − v₁*) the curve is c(τ) + η(τ)D, D normal to the chord, η = τ(1 − τ)Q. A polynomial q
interpolates Q; in a band |η − τ(1 − τ)q| ≤ ε the formula φ is monotone along D and changes sign, so that η is there,
unique and smooth, and η′ = −∂_τφ/∂_ηφ is enclosed over the band. See docs/curved.md, step 2b.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.maps import TERMS, Profiles, total
from pinnpoint.mesh.bent.projection import gradient
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.spaces import Space, space

ORDER = 10
STEPS = 10
FEW = 5
"""Coefficients that are kept in space, where models of high degree cost more than what they save."""
PIECES = 8
"""Parts of a chord, a power of two, over which the curve is followed: models of the whole are coarse."""
PARTS = 256
"""Parts of an edge on which the others are bounded."""


def arcs(
    points: Vector, offset: Vector, chords: Index, shape: Shape, group: str, across: Vector | None = None
) -> Profiles:
    """Profiles of the curve over chords (F, 2): in the plane, or in space along directions `across`."""
    edges = np.sort(chords, axis=1)
    A, B = points[edges[:, 0]], points[edges[:, 1]]
    along = B - A
    D = np.stack([-along[:, 1], along[:, 0]], axis=1) if across is None else across
    q = interpolated(shape.level, A, along, D)
    off = offset[edges].max(axis=1)
    error = slope_error(shape.level, A, along, off, D, q)
    if not np.isfinite(error).all():
        k = int(np.argmin(np.isfinite(error)))
        raise InputError(
            f"geometry '{group}': {shape.words} could not be followed from {A[k].tolist()} to {B[k].tolist()}; refine "
            "the mesh there"
        )
    wide = up(2.0 * error, 1)  # curved.md, step 2b
    return Profiles(edges, D, np.zeros_like(D), q, wide, wide)


def interpolated(level: Expression, A: Vector, along: Vector, D: Vector) -> Vector:
    """Coefficients of q in s = τ − 1/2, (F, TERMS), in floating point."""
    s = 0.5 * np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)
    tau = 0.5 + s
    base = A[:, None] + tau[None, :, None] * along[:, None]
    d = A.shape[1]
    normal = np.broadcast_to(D[:, None], base.shape).reshape(-1, d)
    eta = np.zeros(len(A) * TERMS)
    for _ in range(STEPS):
        value, slope = gradient(level, base.reshape(-1, d) + eta[:, None] * normal)
        rate = (slope * normal).sum(axis=1)
        with np.errstate(all="ignore"):
            step = np.where(rate != 0.0, value / rate, 0.0)
        eta = eta - np.where(np.isfinite(step), np.clip(step, -1.0, 1.0), 0.0)
    Q = eta.reshape(len(A), TERMS) / (tau * (1.0 - tau))
    found: Vector = np.linalg.solve(np.vander(s, TERMS, increasing=True), Q.T).T.astype(np.float64)
    return np.ascontiguousarray(found)


def slope_error(level: Expression, A: Vector, along: Vector, off: Vector, D: Vector, q: Vector) -> Vector:
    """Upper bounds of |η′ − (τ(1 − τ)q)′| on each chord; infinite where nothing is proved."""
    F = len(A)
    part = (np.arange(PIECES) - 0.5 * (PIECES - 1)) / PIECES  # exact
    middle = np.tile(part, F)
    A, along, off, D, q = (np.repeat(v, PIECES, axis=0) for v in (A, along, off, D, q))
    line = _Chord(space(1, ORDER), A, along, off, D, q, middle)
    residual = np.maximum(*(np.abs(b) for b in jet_of(level, line.place(None), ()).value.bounds))
    residual = np.repeat(np.broadcast_to(residual, len(A)).reshape(F, PIECES).max(axis=1), PIECES)
    _, slope = gradient(level, A + 0.5 * along)
    with np.errstate(all="ignore"):
        guess = residual / np.abs((slope * D).sum(axis=1))
        epsilon = np.where(np.isfinite(guess), 4.0 * guess, 0.0) + 8.0 * UNIT
    band = _Chord(space(2, ORDER), A, along, off, D, q, middle)
    jet = jet_of(level, band.place(epsilon))
    rate = total([g * constant(D[:, k]) for k, g in enumerate(jet.gradient)])
    low, high = (np.broadcast_to(b, len(A)) for b in rate.bounds)
    least = np.maximum(np.maximum(low, -high), 0.0)
    # curved.md, step 2b
    sure = (least > 0.0) & (residual <= epsilon * least * (1.0 - 4.0 * UNIT))
    both = total([g * (band.along[k] + constant(D[:, k]) * band.slope) for k, g in enumerate(jet.gradient)])
    ends = (both / rate).bounds
    bound = np.maximum(*(np.abs(np.broadcast_to(b, len(A))) for b in ends))
    return np.asarray(np.where(sure, bound, np.inf).reshape(F, PIECES).max(axis=1))


def lowered(P: Profiles) -> Profiles:
    """The same profiles by polynomials of low degree, what these leave in the errors."""
    s = 0.5 * np.cos(np.pi * (np.arange(FEW) + 0.5) / FEW)
    low = np.zeros_like(P.shape)
    at = P.shape @ np.vander(s, TERMS, increasing=True).T
    low[:, :FEW] = np.linalg.solve(np.vander(s, FEW, increasing=True), at.T).T
    rest = P.shape - low
    slip = up(2.0 * UNIT * (np.abs(P.shape) + np.abs(low)), 2)  # of the differences
    power, wide = np.arange(TERMS), 0.5 / PARTS
    s = (np.arange(PARTS) + 0.5) / PARTS - 0.5
    V = np.vander(s, TERMS, increasing=True)
    W = np.concatenate([np.zeros((PARTS, 1)), power[1:] * V[:, :-1]], axis=1)
    most = 0.5**power
    steep = np.concatenate([[0.0], power[1:] * 0.5 ** power[:-1]])
    curved = np.concatenate([[0.0, 0.0], power[2:] * power[1:-1] * 0.5 ** power[:-2]])
    size = np.abs(rest) + slip
    value = np.abs(rest @ V.T).max(axis=1) + size @ (wide * steep + 1e-14 * most) + slip @ most
    bump = np.minimum(0.25, 0.25 - (np.abs(s) - wide) ** 2)
    rate = np.abs(rest @ W.T) + (size @ (wide * curved + 1e-14 * steep) + slip @ steep)[:, None]
    slope = (rate * bump).max(axis=1)
    wrong = up(P.value_error + value, 64), up(P.slope_error + slope, 64)  # curved.md, step 2e
    return Profiles(P.edges, P.direction, P.direction_error, low, *wrong)


def joined(parts: Sequence[Profiles]) -> Profiles:
    """Profiles of several curves together."""
    rows = [(p.edges, p.direction, p.direction_error, p.shape, p.value_error, p.slope_error) for p in parts]
    return Profiles(*(np.concatenate([row[i] for row in rows]) for i in range(6)))


class _Chord:
    """Models over parts of chords: τ from the first coordinate and, in a band, the distance from the polynomial."""

    def __init__(self, S: Space, A: Vector, along: Vector, off: Vector, D: Vector, q: Vector, middle: Vector) -> None:
        F = len(A)
        C = np.zeros((S.size, F))
        C[0], C[1] = middle, 0.5 / PIECES
        s = TaylorModel(S, C, np.zeros(F))
        self.space, self.A, self.D = S, A, D
        self.tau = s + constant(0.5)
        value, slope = constant(q[:, -1]), constant((TERMS - 1) * q[:, -1], UNIT * TERMS * np.abs(q[:, -1]))
        for j in range(TERMS - 2, -1, -1):
            value = value * s + constant(q[:, j])
            if j > 0:
                slope = slope * s + constant(j * q[:, j], UNIT * np.abs(j * q[:, j]))
        bump = constant(0.25) - s * s
        self.eta = bump * value
        self.slope = bump * slope - constant(2.0) * (s * value)
        self.off = off
        rounding = 2.0 * UNIT * np.abs(along)
        self.along = [constant(along[:, k], up(2.0 * off[:, k] + rounding[:, k], 2)) for k in range(A.shape[1])]

    def place(self, epsilon: Vector | None) -> list[TaylorModel]:
        """Coordinates of c(τ) + (τ(1 − τ)q + δ)D, |δ| ≤ ε the second coordinate."""
        eta = self.eta
        if epsilon is not None:
            C = np.zeros((self.space.size, len(epsilon)))
            C[2] = epsilon
            eta = eta + TaylorModel(self.space, C, np.zeros(len(epsilon)))
        found = []
        for k in range(len(self.along)):
            start = constant(self.A[:, k], self.off[:, k])
            found.append(start + self.tau * self.along[k] + constant(self.D[:, k]) * eta)
        return found
