"""Averages over cells, over blocks about a point, and over balls that coefficients may jump in, as densities.

They are bounded functionals whatever the coefficients are: the density is 1/|G| on G and zero elsewhere, there is no
kernel and no data term. G is a union of cells; or a block {|x_i − x₀_i| ≤ side/2}, whose faces cut cells; or a ball. A
block's cut cells are clipped by one plane after the other (`clipping`), so that its density is exact but for rounding.

Rounding of a block: its faces are the floats low_i = fl(x₀_i − side/2) and high_i, and its volume is that of these.
Points that are taken to be on the wrong side of a face lie within δ of it, and in a cell whose extent along the axis
is L these are at most the share 2dδ/L: the values of a linear function over a simplex have a density of at most d/L.
Distances from a face that cuts the cell are at most L and rounded relatively, so that δ is a multiple of uL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector, products
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, gamma, gammas, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram, inverse_gram, pairs
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.points.clipping import positive_parts
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.mollifier import density as mollified
from pinnpoint.transfer.points.profiles import Profile
from pinnpoint.transfer.points.radial_series import sphere_measure
from pinnpoint.transfer.points.work import Work
from pinnpoint.transfer.stretch import Stretch


def corners_of(at: Vector, side: float) -> tuple[Vector, Vector]:
    """The faces of a block, low and high along each axis: exactly these floats."""
    return at - 0.5 * side, at + 0.5 * side


def over_cells(points: Vector, cells: Index, chosen: Index, stretch: Stretch | None = None) -> tuple[Density, float]:
    """1/|G| on a union of cells, and a bound of its relative error; of cells that are bent, det J/|Φ(G)|."""
    shapes = Shapes.of(points, cells[chosen])
    if stretch is not None and stretch.bent[chosen].any():
        V = points[cells[chosen]]
        w, wrong = stretch.over(V, shapes.volume, shapes.slack, chosen, stretch.volume)  # curved.md, step 1d
        return Density(w.coefficients, w.high, w.error1, w.error2, np.asarray(chosen), w.proved), wrong
    total = math.fsum(shapes.volume.tolist())
    wrong = float(up(sum_up(shapes.volume * shapes.slack) / total + gamma(8)))  # gradients.md, step 1b
    w = Density.constant(np.full(len(chosen), 1.0 / total), points.shape[1])
    return Density(w.coefficients, w.high, w.error1, w.error2, np.asarray(chosen)), wrong


def over_block(points: Vector, cells: Index, low: Vector, high: Vector) -> tuple[Density, float]:
    """1/|G| on the block with these faces, and a bound of its relative error.

    *Assumes:* nothing: what of the block the cells do not hold must be within rounding, or it is refused.
    """
    d = points.shape[1]
    V = points[cells]
    meets = np.all((V.max(axis=1) > low) & (V.min(axis=1) < high), axis=1)
    near = np.flatnonzero(meets)
    V = V[near]
    parts = _Clipped.of(len(near), d)
    for axis in range(d):
        parts = parts.kept(V, axis, low[axis], 1.0).kept(V, axis, high[axis], -1.0)  # gradients.md, step 1c
    moments, share, count = parts.sums(len(near))
    inverse = inverse_gram(d)
    beta = moments @ inverse  # gradients.md, step 1d
    clips = 2 * d
    slip = gammas(120.0 * clips + count + len(inverse)) * share
    slip = slip * np.abs(inverse).sum(axis=1).max() + gamma(len(inverse) + 4) * (np.abs(moments) @ np.abs(inverse)).max(
        axis=1
    )
    left = share * (1.0 + 2.0 * gammas(120.0 * clips + count)) - _square(beta, slip, d)
    rest = np.sqrt(np.maximum(up(left, 8), 0.0))  # gradients.md, step 1d
    astray = _astray(V, low, high)
    whole = np.all((V.min(axis=1) >= low) & (V.max(axis=1) <= high), axis=1)
    beta[whole], rest[whole], slip[whole] = 1.0, 0.0, 0.0
    height = 1.0 / float(np.prod(high - low))
    blur = gamma(4 * d + 4)  # of the height
    error1 = up((slip + astray + blur * np.minimum(1.0, share + astray)) * height, 16)
    error2 = up((slip + np.sqrt(astray) + blur) * height, 16)  # gradients.md, step 1d
    w = Density(beta * height, np.asarray(up(rest * height)), np.asarray(error1), np.asarray(error2), near)
    part = np.where(whole, 1.0, share)
    wrong = np.where(whole, 0.0, gammas(120.0 * clips + count) * share + astray)
    return w, _missing(points, cells[near], part, wrong, low, high)


@dataclass(frozen=True)
class Disc:
    """The indicator of a ball over its volume, as the mollifier's code takes it."""

    d: int
    radius: float
    profile: Profile
    peak: float
    peak_error: float
    mass: float = 1.0
    mass_error: float = 0.0

    __repr__ = brief

    @classmethod
    def of(cls, d: int, radius: float) -> Disc:
        """1/|B| with a bound of its rounding."""
        with precision(40):
            size = sphere_measure(d) / d
            for _ in range(d):
                size = size * Enclosed.of(radius)
            return cls(d, radius, Profile(0), *(Enclosed.of(1) / size).rounded())


def over_ball(points: Vector, cells: Index, x0: Vector, radius: float, target: float, spent: Work) -> Density:
    """1/|B| on a ball that lies in the union of the cells; ∫|error| is brought below about `target`."""
    return mollified(Disc.of(points.shape[1], radius), points, cells, x0, target, spent=spent)  # gradients.md, step 2a


@dataclass(frozen=True, eq=False)
class _Clipped:
    """Simplices inside cells, by barycentric corners in the cell, and their shares of its volume."""

    cell: Index
    bary: Vector
    share: Vector

    @classmethod
    def of(cls, n: int, d: int) -> _Clipped:
        return cls(np.arange(n), np.broadcast_to(np.eye(d + 1), (n, d + 1, d + 1)), np.ones(n))

    def kept(self, V: Vector, axis: int, level: float, sign: float) -> _Clipped:
        """What lies on one side of a plane x_axis = level."""
        at = sign * (V[self.cell, :, axis] - level)  # the sign of a difference is exact
        y = np.einsum("nij,nj->ni", self.bary, at)
        found = [
            (self.cell[rows], _within(self.bary[rows], corners), self.share[rows] * part)
            for rows, corners, part in positive_parts(y)
        ]
        if not found:
            return self.none
        return _Clipped(*(np.concatenate(x) for x in zip(*found, strict=True)))

    @property
    def none(self) -> _Clipped:
        return _Clipped(self.cell[:0], self.bary[:0], self.share[:0])

    def sums(self, n: int) -> tuple[Vector, Vector, Vector]:
        """Per cell: means of B_jl over the kept part, its share of the volume, and the number of simplices."""
        m = self.bary.shape[1]
        together = self.bary.sum(axis=1)
        products = np.einsum("nij,nil->njl", self.bary, self.bary) + together[:, :, None] * together[:, None, :]
        products /= m * (m + 1)  # the mean of λ_j λ_l over a simplex with these corners
        moments = np.zeros((n, len(pairs(m - 1))))
        for i, (j, q) in enumerate(pairs(m - 1)):
            values = self.share * products[:, j, q] * (1.0 if j == q else 2.0)
            moments[:, i] = np.bincount(self.cell, values, minlength=n)
        share, count = np.zeros(n), np.zeros(n)
        np.add.at(share, self.cell, self.share)
        np.add.at(count, self.cell, 1.0)
        return moments, share, count


def _within(bary: Vector, corners: Vector | None) -> Vector:
    """Corners of parts of simplices, or of these themselves."""
    return bary if corners is None else products(corners, bary)


def _square(beta: Vector, slip: Vector, d: int) -> Vector:
    """A lower bound of the mean square of what Σ β B stands for."""
    G = gram(d)
    kept = np.maximum(np.einsum("ni,ij,nj->n", beta, G, beta), 0.0)
    size = np.einsum("ni,ij,nj->n", np.abs(beta), G, np.abs(beta))
    return np.asarray(kept - gamma(80) * size - 2.0 * np.sqrt(size) * slip)


def _astray(V: Vector, low: Vector, high: Vector) -> Vector:
    """Upper bounds of the share of each cell that may lie on the wrong side of a face that cuts it."""
    d = V.shape[2]
    faces = np.zeros(len(V))
    for axis in range(d):
        first, last = V[:, :, axis].min(axis=1), V[:, :, axis].max(axis=1)
        for level in (low[axis], high[axis]):
            faces += (first < level) & (last > level)
    return np.asarray(np.minimum(1.0, faces * (128.0 * d**3 * UNIT)))  # gradients.md, step 1c


def _missing(points: Vector, cells: Index, part: Vector, wrong: Vector, low: Vector, high: Vector) -> float:
    """The shares of cells must add up to the block, but for rounding: what of it may lie outside of the mesh."""
    shapes = Shapes.of(points, cells)
    size = float(np.prod(high - low))
    slip = np.asarray(up(shapes.volume * (wrong + shapes.slack * (part + wrong)), 8))
    allowed = float(up(sum_up(slip) / size + gamma(len(part) + 40), 8))
    held = math.fsum((part * shapes.volume).tolist()) / size
    if not abs(held - 1.0) <= allowed:  # gradients.md, step 1e
        raise InputError(
            f"side: the block from {low.tolist()} to {high.tolist()} leaves the domain, which holds {held:.6g} of it; "
            "move it inside, or make it smaller"
        )
    return float(up(2.0 * allowed))
