"""Sums that steps end with, and the proved enclosures that they make; one entry an instance everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, up
from pinnpoint.transfer.operators.particular import Geometry, Particular

MORE = 1.01
"""Bounds of rounding are taken this much larger: 1 + ρ with room."""


@dataclass(frozen=True, eq=False)
class StateSums:
    """Of one kind of state, as computed in float64; each (S,), or (S, Q) for duals.

    Attributes
    ----------
    square
        Σ |K| κ⁻¹ |δ̄|², δ̄ = σ̄ − κ∇v at the centroids.
    energy
        Σ |K| κ |∇v|².
    cross
        Of a primal state Σ |K| δ̄·∇v; of a dual state Σ |K| κ⁻¹ δ̄_p·δ̄_d.
    form
        Of a dual state Σ |K| κ ∇u·∇z, else zero.
    own
        Of a dual state row_w·u + row_f·z, else zero.
    top, stream
        max |v| and max |ψ|.
    extra
        Σ_j |c_j| over the fields ξ_j of holes, (S, L) or (S, Q, L).
    size
        Of sums that come from products of basis functions: bounds of the norms behind them. Zero else.
    """

    square: Vector
    energy: Vector
    cross: Vector
    form: Vector
    own: Vector
    top: Vector
    stream: Vector
    extra: Vector
    size: Vector | float = 0.0

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Fuzz:
    """Relative errors of sums over cells, and what holes' fields add.

    Attributes
    ----------
    geometry
        Of the mesh.
    relative
        ρ: of sums of nonnegative terms over cells, in any order.
    point
        g: of δ̄, relative to the sums of absolute products behind it.
    holes
        The fields ξ_j, whose divergence is rounding alone.
    """

    geometry: Geometry
    relative: float
    point: float
    holes: tuple[Particular, ...]

    __repr__ = brief

    @classmethod
    def of(cls, geometry: Geometry, holes: Sequence[Particular] = (), more: float = 0.0) -> Fuzz:
        """For a mesh; `more` is a relative error of areas and gradients beyond that of the geometry."""
        C, slack = len(geometry.area), geometry.slack + more
        # operators.md, step 5a; operators.md, step 5c
        return cls(geometry, float(up(gamma(4 * C + 128) + 4.0 * slack)), gamma(32 + 2 * len(holes)) + slack, (*holes,))

    def slope(self, top: Vector, most: Vector) -> Vector:
        """Bounds of ‖κ^½(∇v as computed − ∇v)‖, with √(max κ)."""
        return np.asarray(up(self.point * self.geometry.steep * top * most, 8))  # operators.md, step 5b

    def flux(
        self, given: Particular | Several, sums: StateSums, root: Vector, most: Vector, more: Vector | float = 0.0
    ) -> Vector:
        """Bounds of ‖κ^{-½}(δ as computed − δ)‖, with 1/√(min κ), √(max κ) and the size of what is added to σ₀."""
        wrong = self.point * (given.size + more + self.geometry.steep * sums.stream) + given.slip
        for j, hole in enumerate(self.holes):
            wrong = wrong + sums.extra[..., j] * (self.point * hole.size + hole.slip)
        return np.asarray(up(wrong * root, 16) + self.slope(sums.top, most))  # operators.md, step 5b


@dataclass(frozen=True, eq=False)
class Several:
    """Of several loads side by side what `Particular` has of one: sizes and slips of fluxes, and means, (Q,)."""

    size: Vector
    slip: Vector
    means: Vector

    __repr__ = brief

    @classmethod
    def of(cls, loads: Sequence[Particular]) -> Several:
        """Of the duals' loads."""
        return cls(*(np.array([vars(p)[name] for p in loads]) for name in ("size", "slip", "means")))


@dataclass(frozen=True, eq=False)
class Norms:
    """Enclosures of √A = ‖κ^{-½}δ‖ and ν, what else the load leaves; each like the sums."""

    low: Vector
    high: Vector
    fuzz: Vector
    rest: Vector

    __repr__ = brief

    @property
    def energy(self) -> Vector:
        """η: an upper bound of the energy error."""
        return np.asarray(up(self.high + self.rest))


@dataclass(frozen=True, eq=False)
class Weights:
    """Sums of κ⁻¹ over cells with fixed weights: tails, products of tails and oscillations of all loads at once.

    The columns are tails of all loads, products of the first with each other, and squares of `rough` of all.

    Attributes
    ----------
    everywhere, dense
        Numbers of the columns that most cells are in, and these columns, (C, n).
    cells, few
        The cells that the other columns have, and all columns there without the dense ones.
    loads
        1 + Q.
    """

    everywhere: Index
    dense: Vector
    cells: Index
    few: Vector
    loads: int

    __repr__ = brief

    @classmethod
    def of(cls, loads: Sequence[Particular], geometry: Geometry, d: int) -> Weights:
        """Of the primal load, then the dual ones."""
        share = geometry.spread / d**2
        columns = [p.divergence**2 * share for p in loads]  # operators.md, step 1b
        columns += [loads[0].divergence * p.divergence * share for p in loads[1:]]
        columns += [np.zeros(len(share)) if p.rough is None else p.rough**2 for p in loads]
        table = np.stack(columns, axis=1)
        everywhere = np.flatnonzero((table != 0.0).sum(axis=0) > len(share) // 4)
        dense = np.ascontiguousarray(table[:, everywhere])
        table[:, everywhere] = 0.0
        cells = np.flatnonzero(np.any(table != 0.0, axis=1))
        return cls(everywhere, dense, cells, table[cells], len(loads))

    def sums(self, inverse: Vector) -> tuple[Vector, Vector, Vector]:
        """Tails (S, 1 + Q), products of tails (S, Q), squares of oscillations (S, 1 + Q), with κ⁻¹ (S, C)."""
        found = inverse[:, self.cells] @ self.few
        found[:, self.everywhere] = inverse @ self.dense
        n = self.loads
        return found[:, :n], found[:, n : 2 * n - 1], found[:, 2 * n - 1 :]


@dataclass(frozen=True, eq=False)
class FirstWeights:
    """The same with another primal load than the one that the table was made for.

    Attributes
    ----------
    table
        Of the duals, and of some primal load.
    first
        The primal load.
    share
        ∫_K |x − x̄|²/d².
    duals
        Divergences of the duals' fluxes, (C, Q).
    """

    table: Weights
    first: Particular
    share: Vector
    duals: Any

    __repr__ = brief

    def sums(self, inverse: Vector) -> tuple[Vector, Vector, Vector]:
        """As `Weights.sums`."""
        tails, both, rough = self.table.sums(inverse)
        weighted = inverse * (self.first.divergence * self.share)
        tails[:, 0] = weighted @ self.first.divergence  # operators.md, step 1b
        rough[:, 0] = 0.0 if self.first.rough is None else inverse @ self.first.rough**2
        return tails, np.asarray(weighted @ self.duals) if both.shape[1] else both, rough


def norms(
    sums: StateSums,
    tail: Vector,
    rough: Vector,
    given: Particular | Several,
    fuzz: Fuzz,
    root: Vector,
    most: Vector,
    added: tuple[Vector | float, Vector | float, Vector | float] = (0.0, 0.0, 0.0),
) -> Norms:
    """√A from below and above, its rounding, and ν; of one load (S,), or of several (S, Q).

    `added`: of a further field its size, the norm of its parts without mean, and that of its means that are not known.
    """
    off = fuzz.flux(given, sums, root, most, added[0])
    square, loose = np.maximum(sums.square + tail, 0.0), 2.0 * fuzz.relative  # operators.md, step 2a
    if np.any(added[1]):
        square = np.maximum(sums.square, 0.0) + (np.sqrt(tail) + added[1]) ** 2  # operators.md, step 11b
    more = up(loose * sums.size * sums.size, 8) if np.any(sums.size) else 0.0  # operators.md, step 9c
    high = up(np.sqrt(square * (1.0 + loose) + more) + off, 8)  # operators.md, step 5c
    low = np.maximum(down(np.sqrt(np.maximum(square * (1.0 - loose) - more, 0.0)), 8) - off, 0.0)
    rest = np.sqrt(rough * (1.0 + 2.0 * fuzz.relative)) + given.means * root  # operators.md, step 1c
    for j, hole in enumerate(fuzz.holes):
        rest = rest + sums.extra[..., j] * hole.means * root
    rest = rest + added[2]  # operators.md, step 11b
    return Norms(np.maximum(down(low), 0.0), np.asarray(high), np.asarray(off), np.asarray(up(rest, 16)))


def own_norm(sums: StateSums, norm: Norms, fuzz: Fuzz, most: Vector, *, zero: bool) -> tuple[Vector, Vector]:
    """‖u‖_a² from below and above; `zero` says that u vanishes on the whole Dirichlet part."""
    slope = fuzz.slope(sums.top, most)
    root = np.asarray(up(np.sqrt(sums.energy), 4))
    if not zero:
        eta, loose = norm.energy, up(root * 2.0 * fuzz.relative + slope, 8)
        low = np.maximum(down(np.sqrt(sums.energy)) - loose - eta, 0.0)  # operators.md, step 2d
        return np.maximum(down(low * low, 8), 0.0), np.asarray(up((root + loose + eta) ** 2, 8))
    middle = sums.energy + 2.0 * sums.cross
    wrong = 2.0 * fuzz.relative * (sums.energy + 4.0 * root * norm.high) + 2.0 * slope * root + slope * slope
    wrong = (
        wrong + 2.0 * (norm.fuzz * (root + slope) + norm.high * slope) + 8.0 * UNIT * (sums.energy + abs(sums.cross))
    )
    wrong = up(MORE * (wrong + 8.0 * fuzz.relative * sums.size * sums.size), 32)  # operators.md, step 9c
    low = np.maximum(down(np.sqrt(np.maximum(down(middle - wrong, 8), 0.0)), 4) - norm.rest, 0.0)
    high = np.sqrt(np.maximum(up(middle + wrong, 8), 0.0) + norm.high**2) + norm.rest  # operators.md, step 2d
    return np.maximum(down(low * low, 8), 0.0), np.asarray(up(np.asarray(up(high, 16)) ** 2, 8))


def two_sided(predicted: Norms, own: Norms) -> tuple[Vector, Vector]:
    """The prediction's energy error from below and above; both states have the same flux."""
    square = down(predicted.low**2, 4) - up(own.high**2, 4)
    low = down(np.sqrt(np.maximum(down(square), 0.0)), 4) - own.rest  # operators.md, step 2c
    return np.asarray(np.maximum(down(low), 0.0)), predicted.energy  # operators.md, step 2b


@dataclass(frozen=True, eq=False)
class Asked:
    """What the interval of a query needs beside sums: each (Q,).

    Attributes
    ----------
    constant, error, scale
        Of its functional.
    rows
        Bounds of the error of row_w·u over max |u|, rounding of the product included.
    load
        The same of row_f·z over max |z|.
    """

    constant: Vector
    error: Vector
    scale: Vector
    rows: Vector
    load: float

    __repr__ = brief


def intervals(
    own: StateSums,
    primal: Norms,
    duals: StateSums,
    dual: Norms,
    both: Vector,
    asked: Asked,
    fuzz: Fuzz,
    most: Vector,
    rest: Vector,
) -> tuple[Vector, Vector]:
    """Centres and radii of queries with dual states, (S, Q); `rest`: what points leave of δ_p·δ_d."""
    A, B = primal.high[:, None], dual.high
    nu, nu_d = primal.rest[:, None], dual.rest
    product = duals.cross + both
    center = duals.own - duals.form + 0.5 * product + asked.constant  # operators.md, step 3b
    radius = 0.5 * (A * B + rest) + nu * (B + nu_d) + A * nu_d  # operators.md, step 3c
    slip = 2.0 * fuzz.relative * A * B + primal.fuzz[:, None] * B + A * dual.fuzz  # operators.md, step 5c
    u, z = own.top[:, None], duals.top
    slope, slope_d = fuzz.slope(own.top, most)[:, None], fuzz.slope(duals.top, most[:, None])
    size_u, size_z = np.sqrt(own.energy)[:, None], np.sqrt(duals.energy)
    form = 2.0 * fuzz.relative * size_u * size_z + slope * (size_z + slope_d) + size_u * slope_d
    both_sizes = (own.size * np.ones(len(own.top)))[:, None] * duals.size
    form = form + 8.0 * fuzz.relative * both_sizes  # operators.md, step 9c
    rows = asked.rows * u + asked.load * z  # operators.md, step 5d
    size = np.abs(duals.own) + np.abs(duals.form) + np.abs(product) + np.abs(asked.constant)
    more = asked.error + (2.0 * asked.scale + 16.0 * UNIT) * (size + radius)
    return center, np.asarray(up(radius + MORE * (slip + form + rows + more), 64))
