"""Curved sides of a plane solid: polynomial arcs over the chords that the mesh has there.

Over a chord of length ℓ with the unit tangent e and the outward normal n the boundary is the graph Y = ℓη(τ),
η = τ(1 − τ)q(τ − ½), ξ = ℓτ, of a polynomial q of degree 6, its floats exact. What is added to the chord's cell, or cut
off it, is the *sliver* between chord and arc. See docs/curved.md, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import gamma, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.jets import jet_of
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.spaces import Space, space

TERMS = 7
"""Coefficients of q."""
ORDER = 12
"""Degree of the models of tractions along an arc."""
STEEPEST = 0.95
"""How much of the largest depth of a cell the lift of tractions takes."""
DEEPEST = 2.0
"""The largest slope of its lower end against the chord."""
LINE = 40
"""Gauss points along an arc: exact for polynomials up to degree 79."""
ACROSS = 6
"""Gauss points across a sliver or a lift: exact up to degree 11."""


@cache
def gauss(count: int) -> tuple[Vector, Vector]:
    """Points and weights on (0, 1)."""
    x, w = leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w


@dataclass(frozen=True, eq=False)
class Graph:
    """η and its first three derivatives at points τ, (n, points) each, and bounds of the absolute terms in them."""

    tau: Vector
    values: tuple[Vector, ...]
    sizes: tuple[Vector, ...]

    @classmethod
    def of(cls, shape: Vector, tau: Vector) -> Graph:
        """From coefficients (n, TERMS) of powers of τ − ½."""
        c = np.zeros((len(shape), TERMS + 2))
        c[:, :TERMS] = 0.25 * shape  # τ(1 − τ) = ¼ − s²
        c[:, 2:] -= shape
        size = np.zeros_like(c)
        size[:, :TERMS] = 0.25 * np.abs(shape)
        size[:, 2:] += np.abs(shape)
        values, sizes, s = [], [], tau - 0.5
        for _ in range(4):
            V = s[:, None] ** np.arange(c.shape[1])
            values.append(c @ V.T)
            sizes.append(size @ np.abs(V).T)
            powers = np.arange(1, c.shape[1])
            c, size = c[:, 1:] * powers, size[:, 1:] * powers
        return cls(tau, tuple(values), tuple(sizes))


@dataclass(frozen=True, eq=False)
class Arcs:
    """The curved sides.

    Attributes
    ----------
    topology
        The straight mesh.
    facets, cells
        Chords and their cells, (n,).
    shape
        q of each, its sign that of the outward normal, (n, TERMS).
    free
        Whether tractions are given there; displacements are otherwise, in all components.
    away
        Bounds of the distance of each arc from the curve that was described, (n,).
    """

    topology: Topology
    facets: Index
    cells: Index
    shape: Vector
    free: Mask
    away: Vector

    __repr__ = brief

    @classmethod
    def of(cls, T: Topology, held: Mask, facets: Index, q: Vector, away: Vector) -> Arcs:
        """From profiles along the chord turned by a right angle, first vertex the smaller one."""
        cells = T.facet_cells[facets, 0]
        if len(np.unique(cells)) < len(cells):
            k = int(np.argmax(np.bincount(cells)))
            raise InputError(
                f"geometry: the cell about {T.points[T.cells[k]].mean(axis=0).tolist()} has two sides on curves, for "
                "which no solids are proved; refine the mesh there"
            )
        some = held[facets]
        if np.any(some.any(axis=1) != some.all(axis=1)):
            raise InputError(
                "geometry: curved sides of a solid are held in all components or in none; hold straight sides by "
                "rollers, or leave the geometry out for the polygon"
            )
        made = cls(T, facets, cells, q, np.asarray(~some.any(axis=1)), away)
        turned = np.stack([-made.e[:, 1], made.e[:, 0]], axis=1)
        sign = np.sign((turned * made.n).sum(axis=1))
        arcs = cls(T, facets, cells, sign[:, None] * q, made.free, away)
        arcs._require_room()
        return arcs

    @cached_property
    def local(self) -> Index:
        """The cell's vertex opposite each chord, by its place in the cell."""
        return np.asarray(np.argmax(self.topology.cell_facets[self.cells] == self.facets[:, None], axis=1))

    @cached_property
    def ends(self) -> Vector:
        """(n, 2, 2)."""
        return np.asarray(self.topology.points[self.topology.facets[self.facets]])

    @cached_property
    def apex(self) -> Vector:
        """The vertex opposite, (n, 2)."""
        return np.asarray(self.topology.points[self.topology.cells[self.cells, self.local]])

    @cached_property
    def length(self) -> Vector:
        """ℓ, (n,)."""
        return np.asarray(np.hypot(*(self.ends[:, 1] - self.ends[:, 0]).T))

    @cached_property
    def e(self) -> Vector:
        """Tangents from the first to the second end."""
        return np.asarray((self.ends[:, 1] - self.ends[:, 0]) / self.length[:, None])

    @cached_property
    def n(self) -> Vector:
        """Outward normals of the chords."""
        turned = np.stack([-self.e[:, 1], self.e[:, 0]], axis=1)
        side = ((self.apex - self.ends[:, 0]) * turned).sum(axis=1)
        return np.asarray(-np.sign(side)[:, None] * turned)

    @cached_property
    def frame(self) -> Vector:
        """Rows e and n, (n, 2, 2)."""
        return np.stack([self.e, self.n], axis=1)

    @cached_property
    def foot(self) -> Vector:
        """Where the apex is above the chord, by ℓ: x̂₃."""
        return np.asarray(((self.apex - self.ends[:, 0]) * self.e).sum(axis=1) / self.length)

    @cached_property
    def height(self) -> Vector:
        """How far the apex is from it, by ℓ."""
        return np.asarray(-((self.apex - self.ends[:, 0]) * self.n).sum(axis=1) / self.length)

    @cached_property
    def spread(self) -> tuple[Vector, Vector]:
        """Bounds of q from below and above."""
        wide = up((np.abs(self.shape[:, 1:]) * 0.5 ** np.arange(1, TERMS)).sum(axis=1), 16)
        return self.shape[:, 0] - wide, self.shape[:, 0] + wide

    @cached_property
    def steep(self) -> Vector:
        """Bounds of |η′| and of |η″|, (2, n)."""
        q, p = np.abs(self.shape), np.arange(TERMS)
        tops = [(q * p**k * 0.5 ** np.maximum(p - k, 0)).sum(axis=1) for k in range(3)]
        # η = (¼ − s²)q: η′ = −2sq + (¼ − s²)q′, η″ = −2q − 4sq′ + (¼ − s²)q″
        return np.asarray(up(np.stack([tops[0] + 0.25 * tops[1], 2.0 * (tops[0] + tops[1]) + 0.25 * tops[2]]), 64))

    def room(self, depth: float) -> Vector:
        """The largest slope κ at which τ(1 − τ)κ below the chord stays in a triangle of this share of the height."""
        foot = (1.0 + self.foot) / 3.0 if depth < 1.0 else self.foot
        with np.errstate(divide="ignore"):
            one = np.where(foot > 0.0, depth * self.height / np.maximum(foot, 0.0), np.inf)
            two = np.where(foot < 1.0, depth * self.height / np.maximum(1.0 - foot, 0.0), np.inf)
        return np.minimum(one, two)

    @cached_property
    def slope(self) -> Vector:
        """κ of the lift's lower end, which stays inside the cell."""
        return np.minimum(STEEPEST * (self.room(1.0) + self.spread[0]), DEEPEST)  # curved.md, step 6d

    def _require_room(self) -> None:
        """Refuse arcs that leave the part of the cell at their chord, or cells too flat for the lift."""
        inside = np.maximum(-self.spread[0], 0.0) < STEEPEST * self.room(1.0 / 3.0)  # curved.md, step 6a
        good = inside & (self.slope > 1e-3) & (self.height > 1e-6)
        good &= (self.steep[0] < 1.0) & (np.abs(1.0 + self.foot) < 3.0)  # curved.md, step 6e
        if not good.all():
            k = int(np.argmin(good))
            raise InputError(
                f"geometry: the curved side from {self.ends[k, 0].tolist()} to {self.ends[k, 1].tolist()} is too long "
                "for its cell; refine the mesh there"
            )

    @cached_property
    def over(self) -> Vector:
        """How far arcs lie beyond their chords, by a third of the cell's height: the barycentric overshoot."""
        return np.asarray(up(0.25 * np.maximum(self.spread[1], 0.0) * 3.0 / self.height, 8))

    @cached_property
    def blur(self) -> Vector:
        """Bounds of the relative errors of lengths, frames, heights, feet: differences of floats are rounded once."""
        far = np.abs(self.foot) + self.height
        return np.asarray(up(gamma(24) * (1.0 + far) * (1.0 + 1.0 / self.height), 8))

    @cached_property
    def line(self) -> Graph:
        """At Gauss points along the arcs."""
        return Graph.of(self.shape, gauss(LINE)[0])

    @cached_property
    def area(self) -> tuple[Vector, Vector]:
        """Areas of the slivers, negative where they are cut off, and bounds of the errors."""
        w = gauss(LINE)[1]
        size = self.length**2 * (self.line.sizes[0] @ w)
        return self.length**2 * (self.line.values[0] @ w), np.asarray(up((gamma(200) + 4.0 * self.blur) * size, 4))

    @cached_property
    def added(self) -> Vector:
        """Upper bounds of the areas of slivers outside the chords, also where an arc crosses its chord."""
        return np.asarray(up(self.length**2 * np.maximum(self.spread[1], 0.0) / 6.0 * (1.0 + 4.0 * self.blur), 8))

    def barycentric(self, tau: Vector, y: Vector) -> Vector:
        """Barycentric coordinates in the cells, in their order of vertices, of points (τ, y) by ℓ, (n, …, 3)."""
        last = -y / self.height.reshape(-1, *[1] * (y.ndim - 1))
        two = tau - last * self.foot.reshape(-1, *[1] * (y.ndim - 1))
        found = np.empty((*np.broadcast_shapes(y.shape, two.shape), 3))
        rows = np.arange(len(y))
        others = np.array([[1, 2], [0, 2], [0, 1]])[self.local]
        for part, where in ((1.0 - two - last, others[:, 0]), (two, others[:, 1]), (last, self.local)):
            found[rows, ..., where] = part
        return found

    # tractions along arcs

    def models(self, rows: Index) -> tuple[Space, list[TaylorModel], list[TaylorModel], TaylorModel, TaylorModel]:
        """Of places, of their derivatives by τ, of the speed √(1 + η′²) and of its derivative, over 2(τ − ½)."""
        S, q = space(1, ORDER), self.shape[rows]
        C = np.zeros((S.size, len(rows)))
        C[1] = 0.5
        s = TaylorModel(S, C, np.zeros(len(rows)))
        eta, one, two = (self._polynomial(q, s, k) for k in range(3))
        ell, A = self.length[rows], self.ends[rows]
        blur = gamma(16)
        place, rate = [], []
        for c in range(2):
            along = constant(A[:, 1, c] - A[:, 0, c], blur * np.abs(A[:, :, c]).sum(axis=1))
            up_ = constant(ell * self.n[rows, c], blur * ell)
            place.append(constant(A[:, 0, c]) + (s + constant(0.5)) * along + up_ * eta)
            rate.append(along + up_ * one)
        speed = functions.sqrt(constant(1.0) + one * one)
        return S, place, rate, speed, one * two / speed

    @staticmethod
    def _polynomial(q: Vector, s: TaylorModel, derivative: int) -> TaylorModel:
        """η, η′ or η″ at s, of the coefficients of (¼ − s²)q."""
        c = np.zeros((len(q), TERMS + 2))
        c[:, :TERMS] = 0.25 * q
        c[:, 2:] -= q
        wrong = gamma(4) * np.abs(c)
        for _ in range(derivative):
            powers = np.arange(1, c.shape[1])
            c, wrong = c[:, 1:] * powers, wrong[:, 1:] * powers + gamma(4) * np.abs(c[:, 1:] * powers)
        model = constant(c[:, -1], wrong[:, -1])
        for k in range(c.shape[1] - 2, -1, -1):
            model = model * s + constant(c[:, k], wrong[:, k])
        return model

    def pulled(self, given: Sequence[tuple[Index, Sequence[Any]]]) -> Pulled:
        """Tractions t ds/dξ along the arcs as polynomials with remainders, from what is given on facets by components.

        Parameters
        ----------
        given
            Facet numbers, and numbers or formulas by components; None for zero.
        """
        S, count = space(1, ORDER), len(self.facets)
        C, D = np.zeros((2, count, S.size)), np.zeros((2, count, S.size))
        e, f = np.zeros((2, count)), np.zeros((2, count))
        for facets, parts in given:
            rows = np.flatnonzero(np.isin(self.facets, facets))
            if not len(rows):
                continue
            _, place, rate, speed, turn = self.models(rows)
            for c, t in enumerate(parts):
                if t is None or fixed(t) == (0.0, 0.0):
                    continue
                known = fixed(t)
                if known is not None:
                    value, slope = constant(*known), constant(0.0)
                else:
                    jet = jet_of(t, place)
                    value = jet.value
                    slope = jet.gradient[0] * rate[0] + jet.gradient[1] * rate[1]
                for found, rest, model in ((C, e, value * speed), (D, f, slope * speed + value * turn)):
                    model = TaylorModel(S, np.zeros((S.size, len(rows))), np.zeros(len(rows))) + model
                    found[c, rows] += model.C.T
                    rest[c, rows] = up(rest[c, rows] + model.e, 2)
        return Pulled(C, e, D, f)


@dataclass(frozen=True, eq=False)
class Pulled:
    """Tractions t ds/dξ and their derivative by τ.

    Coefficients (2, n, terms) of powers of 2(τ − ½), and remainders (2, n).
    """

    C: Vector
    e: Vector
    D: Vector
    f: Vector

    def at(self, tau: Vector) -> tuple[Vector, Vector]:
        """The polynomials at points, (2, n, points) each."""
        V = (2.0 * tau - 1.0)[:, None] ** np.arange(self.C.shape[2])
        return self.C @ V.T, self.D @ V.T

    def turned(self, frame: Vector) -> Pulled:
        """By the components along the rows of frames, (n, 2, 2)."""
        C, D = (np.einsum("nia,anp->inp", frame, x) for x in (self.C, self.D))
        blur = up(gamma(8) * np.abs(self.C).sum(axis=(0, 2))), up(gamma(8) * np.abs(self.D).sum(axis=(0, 2)))
        e, f = (up(x.sum(axis=0) + more, 4) for x, more in ((self.e, blur[0]), (self.f, blur[1])))
        return Pulled(C, np.stack([e, e]), D, np.stack([f, f]))

    @property
    def top(self) -> Vector:
        """Bounds of the polynomials, (2, n)."""
        return np.asarray(np.abs(self.C).sum(axis=2))

    @property
    def steep(self) -> Vector:
        """Bounds of those of the derivative."""
        return np.asarray(np.abs(self.D).sum(axis=2))


def shapes(bary: Vector, degree: int) -> Vector:
    """Shape functions at points by their barycentric coordinates, (…, nodes)."""
    if degree == 1:
        return bary
    corners = bary * (2.0 * bary - 1.0)
    middle = [4.0 * bary[..., i] * bary[..., j] for i, j in ((0, 1), (0, 2), (1, 2))]
    return np.concatenate([corners, np.stack(middle, axis=-1)], axis=-1)
