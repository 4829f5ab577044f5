"""Point values where coefficients vary: the density w and the data's weight Ψ of u(x₀) = ∫ w u + ∫ f Ψ.

With the place's g, E, V (`surroundings`) and the kernel's w_Φ, Φ as functions of s (`radial_models`),

    Ψ = g Φ,      w = g {κ w_Φ + E Φ + (2/R²) V Φ_s}.

On cells away from x₀ and on their children models of w give its projection and the errors. In a small ellipsoid s < s₀
the singular functions are bounded ones instead, and norms of the difference are added to the cells that it touches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Index, Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.mesh.bent.places import moves
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.taylor.geometry import Simplices, coordinates
from pinnpoint.taylor.inputs import Smooth
from pinnpoint.taylor.jets import ZERO
from pinnpoint.taylor.models import TaylorModel, constant, settled
from pinnpoint.taylor.simplices import DEPTH as USUAL
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.media.surroundings import Surroundings, largest
from pinnpoint.transfer.points.ground import Pulled
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.radial_models import RadialModels

PI_UP = 3.1415926535897936
Models = Sequence[TaylorModel]
CORE = {1: 2.0**-12, 2: 2.0**-9, 3: 0.08}
"""Radius of the small ellipsoid against the size of the cell there."""
ORDER, SHALLOW = {1: 8, 2: 8, 3: 6}, {1: 8, 2: 5, 3: 4}
"""Degree of the models, and at the sphere."""
DEPTH = {1: 16, 2: 14, 3: 6}
"""How often cells at x₀ are divided at most."""
GROWTH = {1: 1.0, 2: 2.0, 3: 4.0}
"""Of the tolerance from a simplex to its children at x₀."""
SKIN = 2.0
"""The same at the sphere, where the children that are cut take half of the volume."""
SHARE = 0.3
"""Of the wanted error, for the cells at x₀, about it, at the sphere, and for all others."""
PIECES = (1, 2, 4, 8)
"""Along each axis of the box about the ellipsoid, until g is bounded on all of them."""
FAINT = 1e-13
"""A bracket E below this, times R² and against κ, is counted as an error."""


@dataclass(frozen=True, eq=False)
class Weight:
    """w as smooth data.

    Attributes
    ----------
    place, radius, nu2
        Coefficients, R and ν².
    functions
        Of the kernel.
    cap
        s₀, zero away from x₀.
    """

    place: Surroundings
    radius: float
    nu2: float
    functions: RadialModels
    cap: float = 0.0
    faint: bool = False

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values (N,), in floating point."""
        model = self.taylor([constant(x) for x in np.asarray(X, dtype=np.float64).T])
        return np.asarray(np.broadcast_to(model.C[0], len(X)))

    def taylor(self, coordinates: Models) -> TaylorModel:
        """The model of w."""
        return self.within(coordinates, self._inside)

    def within(self, coordinates: Models, inside: Callable[[Models, Models, TaylorModel], TaylorModel]) -> TaylorModel:
        """What a function makes of models of x, y and s; 0 where s ≥ 1 is certain: nothing is looked at there."""
        Y = [x - constant(a) for x, a in zip(coordinates, self.place.at, strict=True)]
        s = self.place.distance(Y, self.radius)
        those = np.flatnonzero(s.bounds[0] < 1.0)
        if len(those) == len(s.e):
            return inside(coordinates, Y, s)
        C, e = np.zeros_like(s.C), np.zeros_like(s.e)
        if len(those):
            X, Z = ([part(x, those) for x in xs] for xs in (coordinates, Y))
            found = inside(X, Z, part(s, those))
            C[:, those], e[those] = found.C, found.e
        return settled(s.space, C, e)

    def _inside(self, coordinates: Models, Y: Models, s: TaylorModel) -> TaylorModel:
        place, radial = self.place, self.functions
        around = place.jets(coordinates)
        w, V = around.kappa.value * radial.mollifier(s), place.turning(around, Y)
        if V is not ZERO:
            value, slope = radial.both(s, self.cap)
            scale = -2.0 / self.radius**2
            w = w + constant(scale, 4.0 * UNIT * abs(scale)) * (V * slope)  # kernels.md, step 1e
            w = w + place.bracket(around, self.nu2) * value
        elif not self.faint:
            w = w + place.bracket(around, self.nu2) * radial.potential(s, self.cap)  # kernels.md, step 1e
        return place.weight(around, Y) * w


@dataclass(frozen=True, eq=False)
class Kernelled:
    """Ψ as smooth data, with the coefficients and the cap of a weight."""

    weight: Weight

    __repr__ = brief

    def __call__(self, X: Vector) -> Vector:
        """Values (N,), in floating point."""
        model = self.taylor([constant(x) for x in np.asarray(X, dtype=np.float64).T])
        return np.asarray(np.broadcast_to(model.C[0], len(X)))

    def taylor(self, coordinates: Models) -> TaylorModel:
        """The model of Ψ."""
        return self.weight.within(coordinates, self._inside)

    def _inside(self, coordinates: Models, Y: Models, s: TaylorModel) -> TaylorModel:
        place, radial = self.weight.place, self.weight.functions
        return place.weight(place.jets(coordinates), Y) * radial.potential(s, self.weight.cap)  # kernels.md, step 1a


@dataclass(frozen=True, eq=False)
class Reached:
    """Cells that an ellipsoid meets.

    Attributes
    ----------
    cells, vertices, volumes
        Their numbers, corners and lower bounds of |K|.
    low, far
        Bounds of √s on each.
    size
        Of the cell at x₀.
    """

    cells: Index
    vertices: Vector
    volumes: Vector
    low: Vector
    far: Vector
    size: float

    __repr__ = brief


def part(x: TaylorModel, which: Index) -> TaylorModel:
    """The model on some of the elements."""
    return TaylorModel(x.space, np.ascontiguousarray(x.C[:, which]), x.e[which], x.least, x.most)


@dataclass(frozen=True, eq=False)
class Point:
    """The kernel of one point.

    Attributes
    ----------
    place
        Coefficients about the point.
    kernel
        With κ = 1, c = ν², k ≥ 2; its ball is the image of the ellipsoid.
    bends
        The map onto a curved domain, of which the ellipsoid may meet bent cells.
    """

    place: Surroundings
    kernel: Kernel
    bends: Bends | None = None

    __repr__ = brief

    @cached_property
    def functions(self) -> RadialModels:
        """Of s."""
        return RadialModels.of(self.kernel)

    @cached_property
    def faint(self) -> tuple[float, float] | None:
        """Bounds of ∫|gEΦ| and its L² norm over all cells where E is constant and nearly zero; else None."""
        place, R, d = self.place, self.kernel.radius, self.place.d
        if not place.uniform:
            return None
        around = place.jets([constant(v) for v in place.at])
        E = place.bracket(around, self.kernel.c)
        size, scale = float(abs(E.C[0, 0]) + E.e[0]), float(place.local.kappa.value)
        if not size * R * R <= FAINT * scale:
            return None
        slant, root = self.largest(1.0), place.local.root.size()
        whole = {1: R * R / 2.0, 2: R * R / 4.0, 3: R * R / 6.0}[d]
        norm = R * math.sqrt({1: R / 6.0, 2: 1.0 / (8.0 * math.pi), 3: 1.0 / (12.0 * math.pi * R)}[d])
        one, two = slant * size * whole * root, slant * size * norm * math.sqrt(root)  # kernels.md, step 4c
        return float(up(one, 32)), float(up(two, 32))

    def box(self, rho: float, pieces: int = 1) -> list[TaylorModel]:
        """The coordinates on a box around the ellipsoid |L⁻¹y| ≤ ρR, or on so many pieces of it along each axis."""
        return self.place.box(float(up(rho * self.kernel.radius)), pieces)

    def largest(self, rho: float) -> float:
        """Upper bound of g on that ellipsoid; where it is infinite on the whole box, that of ever smaller pieces."""
        for pieces in PIECES:
            X = self.box(rho, pieces)
            Y = [x - constant(a) for x, a in zip(X, self.place.at, strict=True)]
            found = float(np.max(self.place.weight(self.place.jets(X), Y).bounds[1]))
            if math.isfinite(found):
                break
        return found

    def core(self, rho: float) -> tuple[float, float]:
        """Bounds of the integral and of the L² norm of what the cap changes in w."""
        place, radial, top = self.place, self.functions, rho * rho
        around = place.jets(self.box(rho))
        E, turn = largest(place.bracket(around, self.kernel.c)), place.lipschitz(around)
        A, slope = radial.singular.size(top), radial.singular.steepness(top)
        return self.differences(rho, E * A + 2.0 * turn * top * slope, 2.0 * turn * A)

    def differences(self, rho: float, first: float, second: float) -> tuple[float, float]:
        """Bounds of the integral and L² norm of g {first (L(s) − L(z)) + second s (L′(s) − L′(z))} for s < ρ²."""
        d, root, g = self.place.d, self.place.local.root.size() * self.kernel.radius**self.place.d, self.largest(rho)
        one, two = {  # kernels.md, step 3d: in the unit ball's part
            1: (2.0 * rho**2, rho * math.sqrt(2.0 * rho)),
            2: (PI_UP * rho**2 / 2.0, math.sqrt(PI_UP / 2.0) * rho),
            3: (2.0 * PI_UP * rho**2, math.sqrt(4.0 * PI_UP * rho)),
        }[d]
        steep = {1: (0.5 * one, 0.5 * two), 2: (one, math.sqrt(0.5) * two), 3: (0.5 * one, 0.5 * two)}[d]
        mean = g * root * (first * one + second * steep[0])
        square = g * math.sqrt(root) * (first * two + second * steep[1])
        return float(up(mean, 128)), float(up(square, 128))

    def density(self, points: Vector, cells: Index, volumes: Vector, target: float) -> Density:
        """The density on the cells that the ellipsoid meets.

        Parameters
        ----------
        volumes
            Lower bounds of |K|.
        target
            Wanted bound of ∫|ε|, roughly.
        """
        found, faint = self.reached(points, cells, volumes), self.faint
        rho = self.cap(found) if faint is None else 0.0
        w = self.enclosed(self.weight, found, rho, target)
        top = self._tops(found)
        if faint is not None:
            return added(w, faint, found, np.full(len(found.cells), fill_value=True), top)  # kernels.md, step 4c
        return added(w, self.core(rho), found, touched(found, rho), top)  # kernels.md, step 3e

    def potential(self, points: Vector, cells: Index, volumes: Vector, target: float) -> Density:
        """Ψ on the cells that the ellipsoid meets; arguments as of `density`."""
        found = self.reached(points, cells, volumes)
        rho = self.cap(found)
        f = self.enclosed(lambda cap: Kernelled(self.weight(cap)), found, rho, target)
        core = self.differences(rho, self.functions.singular.size(rho * rho), 0.0)  # indefinite.md, step 10b
        return added(f, core, found, touched(found, rho))

    def _bent(self, found: Reached) -> Mask:
        """Which of the cells are bent."""
        if self.bends is None:
            return np.zeros(len(found.cells), dtype=bool)
        return np.asarray(self.bends.row_of[found.cells] < len(self.bends.cells))

    def _tops(self, found: Reached) -> Vector:
        """Upper bounds of det J on the cells."""
        top, bent = np.ones(len(found.cells)), np.flatnonzero(self._bent(found))
        if self.bends is not None and bent.size:
            V = found.vertices[bent]
            X = coordinates(Simplices(V, np.zeros((len(V), V.shape[2]))), np.zeros(len(V), dtype=np.intp), 2)
            top[bent] = np.maximum(np.broadcast_to(self.bends.at(X).determinant.bounds[1], bent.size), 1.0)
        return top

    def promising(self, points: Vector, cells: Index, volumes: Vector) -> bool:
        """Whether models of w without any subdivision are bounded: a look that costs little."""
        if self.bends is not None:
            return True
        found = self.reached(points, cells, volumes)
        f = density(self.weight(self.cap(found) ** 2), found.vertices, tolerance=math.inf, depth=0)
        return bool(np.all(np.isfinite(f.error2)))

    def weight(self, cap: float) -> Weight:
        """The data w."""
        return Weight(self.place, self.kernel.radius, self.kernel.c, self.functions, cap, faint=self.faint is not None)

    def cap(self, found: Reached) -> float:
        """The radius √s₀ of the small ellipsoid."""
        return min(0.25, CORE[self.place.d] * found.size / self._width)

    def enclosed(self, data: Callable[[float], Smooth], found: Reached, rho: float, target: float) -> Density:
        """What depends on a cap s₀ on the cells, with the cap ρ² on those near x₀."""
        d, V, low = self.place.d, found.vertices, found.low
        inner = low <= 1.5 * rho
        skin = (found.far >= 1.0) & ~inner
        few = (low * self._width < 2.0 * found.size) & ~inner & ~skin
        more = min(12, max(0, math.ceil(math.log2(found.size / self._width)) + 2))  # balls smaller than their cells
        beta, rest, bent = np.zeros((len(V), len(pairs(d)))), np.zeros((3, len(V))), self._bent(found)
        for these, growth, cap, order, depth in (
            (few, 1.0, 0.0, ORDER[d], USUAL[d]),
            (~(inner | skin | few), 1.0, 0.0, ORDER[d], USUAL[d]),
            (skin, SKIN, 0.0, SHALLOW[d], USUAL[d] + more),
            (inner, GROWTH[d], rho * rho, ORDER[d], DEPTH[d] + more),
        ):
            limit = SHARE * target / max(float(found.volumes[these].sum()), 1e-300)
            for some, w in ((these & ~bent, data(cap)), (these & bent, self._pulled(data(cap)))):
                if some.any():
                    f = density(w, V[some], order=order, tolerance=limit, growth=growth, depth=depth)
                    beta[some], rest[:, some] = f.coefficients, (f.high, f.error1, f.error2)
        return Density(beta, rest[0], rest[1], rest[2], found.cells)

    def _pulled(self, w: Smooth) -> Smooth:
        """What stands for a density on bent cells."""
        return w if self.bends is None else Pulled(self.bends, w)

    def reached(self, points: Vector, cells: Index, volumes: Vector) -> Reached:
        """The cells that the ellipsoid may meet."""
        L = np.array([[float(x.value) for x in row] for row in self.place.local.L])
        Y = (points - np.array(self.place.at)) @ np.linalg.inv(L).T / self.kernel.radius
        slip = 1e-9 * (1.0 + np.abs(Y).max())
        Z = Y[cells]
        gap = np.maximum(np.maximum(Z.min(axis=1), -Z.max(axis=1)), 0.0)
        low, shift = np.sqrt((gap**2).sum(axis=1)) - slip, np.zeros(len(cells))
        if self.bends is not None:  # curved.md, step 1f
            shift = moves(self.bends, cells) * (np.linalg.norm(np.linalg.inv(L)) / self.kernel.radius * (1.0 + 1e-9))
        low = np.maximum(low - shift, 0.0)
        near = np.flatnonzero(low < 1.0)
        far = np.sqrt((Z[near] ** 2).sum(axis=2).max(axis=1)) + slip + shift[near]
        size = float(np.max(np.ptp(points[cells[int(np.argmin(low))]], axis=0)))
        return Reached(near, points[cells[near]], volumes[near], low[near], far, size)

    @property
    def _width(self) -> float:
        """The longest half axis along a coordinate, about."""
        A = self.place.local.A
        return self.kernel.radius * math.sqrt(max(float(A[i][i].value) for i in range(len(A))))


def touched(found: Reached, rho: float) -> Mask:
    """The cells that the small ellipsoid may meet."""
    return np.asarray(found.low <= rho * (1.0 + 1e-9))


def added(f: Density, norms: tuple[float, float], found: Reached, where: Mask, top: Vector | float = 1.0) -> Density:
    """The density with an error of which the integral and the L² norm are known, on some of the cells.

    Both are those in the domain, where cells are at most `top` times larger anywhere.
    """
    one, two = norms
    error1 = np.where(where, up(f.error1 + one / found.volumes, 16), f.error1)
    error2 = np.where(where, up(f.error2 + two * np.sqrt(top / found.volumes), 16), f.error2)
    return Density(f.coefficients, f.high, error1, np.maximum(error1, error2), f.cells)
