"""What linear elements with fluxes of lowest order leave over on each cell: `cells` where everything is linear.

With one outward density s_i on each facet, δ = σ − κ∇v_h is affine on a cell, and about the centroid x̄

    δ = a + B (x − x̄),      B = Σ s_i/(d|K|),      a = −(d|K|)⁻¹ Σ s_i (v_i − x̄) − κ∇v_h,

so that ∫_K κ⁻¹ δ₁·δ₂ = |K|/κ (a₁·a₂ + B₁B₂V), V = mean |x − x̄|² = Σ_{i<j} |v_i − v_j|²/((d + 1)²(d + 2)): terms whose
absolute values add up to no more than the product of both norms. ∇·σ = Σ s_i/|K| is constant. A state is its values at
the vertices. All bounds are those of `cells`; only where a source or a reaction is, quadratics are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.rounding.arithmetic import TINY, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, from_linear, gram, pairs
from pinnpoint.taylor.meter import Meter
from pinnpoint.transfer.energy.cells import COUNT, mean_product
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.flux.patches import first_moments

SECONDS = 3e-7
"""What NumPy takes for a side on a cell."""
METER = Meter(Path(__file__).with_name("linear_compiled.py"), 0.2, 6.0)
FILLED = ("square", "size", "fuzz", "oscillation", "defect", "osc", "def")
"""Rows that are filled for a side."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Some cells, seen from their centroids.

    Attributes
    ----------
    away
        v_i − x̄, (d + 1, d, n).
    spread
        V.
    reach
        Upper bounds of the components of `away`.
    slack
        Relative errors of volumes and gradients, and roundings.
    volume, root
        Upper bounds of |K| and of √(d|K|/κ).
    """

    shapes: Shapes
    kappa: Vector
    reaction: Vector
    reacts: bool
    away: Vector
    spread: Vector
    reach: Vector
    slack: Vector
    volume: Vector
    root: Vector

    @classmethod
    def of(cls, shapes: Shapes, kappa: Vector, reaction: Vector) -> Frame:
        """For cells with these shapes and coefficients."""
        d, V = shapes.d, shapes.vertices
        E = V - V[0]
        edges = sum(((V[i] - V[j]) ** 2).sum(axis=0) for i, j in combinations(range(d + 1), 2))
        away, volume = E - E.sum(axis=0) / (d + 1.0), np.asarray(up(shapes.volume * (1.0 + shapes.slack), 4))
        return cls(
            shapes,
            kappa,
            reaction,
            bool(np.any(reaction)),
            away,
            edges / ((d + 1.0) ** 2 * (d + 2.0)),
            np.asarray(up(np.abs(away).max(axis=(0, 1)), 16)),
            shapes.slack + gamma(COUNT),
            volume,
            np.asarray(up(np.sqrt(d * volume / kappa), 4)),
        )


@dataclass(frozen=True, eq=False)
class Linear:
    """A state and its flux on these cells.

    Attributes
    ----------
    values
        At the vertices, (d + 1, n).
    slope, size
        ∇v_h and bounds of the sums of absolute products behind it, as in `cells.State`.
    top, blur
        Upper bounds of |v_h|, and of the rounding in it.
    centre, growth
        a and B.
    """

    values: Vector
    slope: Vector
    size: Vector
    top: Vector
    blur: Vector
    centre: Vector
    growth: Vector


@dataclass(frozen=True, eq=False)
class Acting:
    """A source on the cells of a chunk that it meets.

    Attributes
    ----------
    at
        Which these are.
    source
        Bernstein coefficients, (pairs, k).
    high, error1, error2
        As in `Density`.
    """

    at: Index | slice
    source: Vector
    high: Vector
    error1: Vector
    error2: Vector

    @classmethod
    def of(cls, f: Density, part: slice) -> Acting:
        """The rows of a density that belong to the cells of a part; those of some cells are in ascending order."""
        rows, at = part, slice(None)
        if f.cells is not None:
            low, high = np.searchsorted(f.cells, (part.start, part.stop)).tolist()
            rows, at = slice(low, high), f.cells[low:high] - part.start
        source = np.ascontiguousarray(f.coefficients[rows].T)
        return cls(at, source, f.high[rows], f.error1[rows], f.error2[rows])


def linear_side(
    frame: Frame, w: Vector, s: Vector, f: Acting, rows: dict[str, Vector], i: int, part: slice
) -> tuple[Linear, Vector | None]:
    """One side with vertex values w and outward densities s, (d + 1, n): fills its rows.

    Returns it, and f − c v_h as quadratics on all cells where there is a reaction.
    """
    shapes, kappa, d = frame.shapes, frame.kappa, frame.shapes.d
    rise = w[1:] - w[0]
    slope = (rise[:, None] * shapes.gradients[1:]).sum(axis=0)
    size = np.asarray(up(d * (w.max(axis=0) - w.min(axis=0)) * shapes.steep, 8))
    most = np.abs(w).max(axis=0)
    blur = gamma(16) * most
    top = np.asarray(up(most + blur, 4))

    scale, sums, heavy = 1.0 / (d * shapes.volume), s.sum(axis=0), np.abs(s).sum(axis=0)
    growth = scale * sums  # continuous.md, step 1c
    centre = -scale * (s[:, None] * frame.away).sum(axis=0) - kappa * slope  # continuous.md, step 1a
    wrong = frame.slack * (2.0 * heavy * shapes.diameter * scale + kappa * size)  # continuous.md, step 8f
    largest = np.abs(centre).max(axis=0) + np.abs(growth) * frame.reach
    rows["size"][i, part] = up(frame.root * (largest + wrong), 16)
    rows["fuzz"][i, part] = up(frame.root * wrong, 16)
    found = Linear(w, slope, size, top, blur, centre, growth)
    rows["square"][i, part] = linear_inner(frame, found, found)  # continuous.md, step 2b
    return found, _left_over(frame, found, d * growth, heavy * scale, f, rows, i, part)


def linear_inner(frame: Frame, one: Linear, two: Linear) -> Vector:
    """∫_K κ⁻¹ δ₁·δ₂ as computed; true to γ times the product of the two `size`."""
    total = (one.centre * two.centre).sum(axis=0) + (one.growth * two.growth) * frame.spread
    return np.asarray(total * (frame.shapes.volume / frame.kappa))


def _left_over(
    frame: Frame,
    state: Linear,
    divergence: Vector,
    heavy: Vector,
    f: Acting,
    rows: dict[str, Vector],
    i: int,
    part: slice,
) -> Vector | None:
    """Oscillation, defect and data of ϱ = f − c v_h + ∇·σ; f − c v_h where there is a reaction."""
    d, volume, total = frame.shapes.d, frame.volume, None
    weight = 2.0 * (d + 1.0) ** 2 * heavy
    loose: Vector | float = 0.0
    if frame.reacts:
        c = np.abs(frame.reaction)
        total = -frame.reaction * from_linear(state.values.T).T
        weight, loose = weight + c * state.top, c * state.blur
        total[:, f.at] += f.source
    full = isinstance(f.at, slice)
    if full:
        weight = weight + np.abs(f.source).max(axis=0)
    elif len(f.source[0]):
        weight[f.at] += np.abs(f.source).max(axis=0)
    blur = up(frame.slack * weight + loose, 8) + TINY  # continuous.md, step 8f
    if total is None and not full:  # the source is zero on all but some cells
        rows["oscillation"][i, part] = up(np.sqrt(volume) * blur, 8)
        rows["defect"][i, part] = up(volume * (np.abs(divergence) + blur), 8)
        if not len(f.source[0]):
            return None
    at = slice(None) if total is not None or full else f.at
    rho = (f.source if total is None else total) + divergence[at]  # continuous.md, step 1a
    errors: tuple[Vector, ...] = (f.high, f.error1, f.error2)
    if total is not None and not full:
        errors = tuple(_spread(x, f.at, len(volume)) for x in errors)
    _acted_on(frame, rho, blur[at], errors, at, rows, i, part)
    return total


def _acted_on(
    frame: Frame, rho: Vector, blur: Vector, errors: Any, at: Any, rows: dict[str, Vector], i: int, part: slice
) -> None:
    """Oscillation, defect and data of ϱ (pairs, k) on the cells `at` of a part."""
    high, error1, error2 = errors
    volume, mean = frame.volume[at], rho.mean(axis=0)
    rest, root = rho - mean, np.sqrt(volume)
    square = np.maximum(mean_product(rest, rest, frame.shapes.d), 0.0) + gamma(COUNT) * np.abs(rest).max(axis=0) ** 2
    osc, off = up(root * error2, 4), up(volume * error1, 4)  # continuous.md, step 8a
    here = np.arange(part.start, part.stop)[at]
    rows["osc"][i, here], rows["def"][i, here] = osc, off
    # continuous.md, step 2a; continuous.md, step 2d
    rows["oscillation"][i, here] = up(root * (np.sqrt(square + high**2) + blur) + osc, 8)
    rows["defect"][i, here] = up(volume * (np.abs(mean) + blur) + off, 8)


def _spread(x: Vector, at: Any, count: int) -> Vector:
    found = np.zeros(count)
    found[at] = x
    return found


@dataclass(frozen=True, eq=False)
class Primal:
    """The primal side against which duals are measured.

    Attributes
    ----------
    moments
        Means of (f − c u_h) λ_i, (d + 1, n).
    height, off
        Bounds of |f| + |c u_h|, and of the mean error of f.
    """

    side: Linear
    moments: Vector
    height: Vector
    off: Vector


def as_primal(frame: Frame, side: Linear, f: Acting, total: Vector | None) -> Primal:
    """A side with its source, and f − c u_h where that is not f."""
    n, d = len(frame.kappa), frame.shapes.d
    known = np.zeros((len(pairs(d)), n))
    known[:, f.at] = f.source
    rest = known if total is None else total
    height = np.abs(known).max(axis=0) + np.abs(frame.reaction) * side.top
    return Primal(side, first_moments(d) @ rest, height, _spread(f.error1, f.at, n))


def linear_value(
    frame: Frame, primal: Primal, z: Linear, w: Acting | None, sign: float
) -> tuple[Vector, tuple[float, float]]:
    """∫_K w u_h + sign [∫ (f − c u_h) z_h − κ∇u_h·∇z_h], and sums of bounds: of its rounding, of the data's error.

    As `Estimator._weak`.
    """
    u, d, k = primal.side, frame.shapes.d, frame.kappa
    total = (primal.moments * z.values).sum(axis=0) - k * (u.slope * z.slope).sum(axis=0)  # continuous.md, step 3a
    total = sign * total
    size = primal.height * z.top + d * k * u.size * z.size
    wrong = 3.0 * frame.slack * size + z.blur * primal.height  # continuous.md, step 8f
    if frame.reacts:
        wrong += u.blur * np.abs(frame.reaction) * z.top
    data = primal.off * z.top  # continuous.md, step 8a
    if w is not None and len(w.source[0]):
        more = _tested(frame, u, w)
        for whole, some in zip((total, wrong, data), more, strict=True):
            whole[w.at] += some
    volume = frame.shapes.volume
    return total * volume, (sum_up(up(wrong * volume, 16)), sum_up(up(frame.volume * data, 8)))


def _tested(frame: Frame, u: Linear, w: Acting) -> tuple[Vector, Vector, Vector]:
    """Means of w u_h on the cells of w, bounds of its rounding, and of the error of w in it."""
    at, most = w.at, np.abs(w.source).max(axis=0)
    # continuous.md, step 3a
    total = ((first_moments(frame.shapes.d) @ w.source) * u.values[:, at]).sum(axis=0)
    return total, 3.0 * frame.slack[at] * most * u.top[at] + u.blur[at] * most, w.error1 * u.top[at]


def linear_rows(
    frame: Frame,
    sides: Sequence[Any],
    acting: Sequence[tuple[float, bool]],
    nodes: Index,
    facets: Index,
    sign: Vector,
    part: slice,
    rows: dict[str, Vector],
    product: Vector,
    values: Vector,
    compiled: bool,
) -> list[tuple[float, float]]:
    """Fill the rows of the cells of a part for all sides, of which the first is the primal one.

    `acting` has the sign of the residual in each dual's value, and whether its source acts on the primal state; nodes
    and facets of the cells, with the signs of the latter, are (d + 1, n).
    """
    sums, first, duals = [], None, None
    for i, side in enumerate(sides):
        if first is not None and compiled:
            duals = Compiled.of(frame, first, nodes, facets, sign, part) if duals is None else duals
            sums.append(duals.fill(side, *acting[i - 1], i, rows, product, values))
            continue
        f = Acting.of(side.source, part)
        s = side.flux[:, 0][facets] * sign
        found, total = linear_side(frame, side.nodal[nodes], s, f, rows, i, part)
        if first is None:
            first = as_primal(frame, found, f, total)
            continue
        turn, acts = acting[i - 1]
        product[i - 1, part] = linear_inner(frame, first.side, found)  # continuous.md, step 3b
        values[i - 1, part], some = linear_value(frame, first, found, f if acts else None, turn)
        sums.append(some)
    return sums


@dataclass(frozen=True, eq=False)
class Compiled:
    """Duals on the cells of a part against a primal side by compiled code, where there is no reaction.

    `arrays` are the first ones of `linear_compiled.dual_side`.
    """

    part: slice
    arrays: tuple[Any, ...]
    tables: tuple[Vector, Vector]

    @classmethod
    def of(cls, frame: Frame, primal: Primal, nodes: Index, facets: Index, sign: Vector, part: slice) -> Compiled:
        """For all sides of a part."""
        u, shapes, plain = primal.side, frame.shapes, np.ascontiguousarray
        shape = plain(shapes.gradients), plain(shapes.volume), plain(shapes.steep), plain(shapes.diameter)
        own = frame.kappa, frame.away, frame.spread, frame.reach, frame.slack, frame.volume, frame.root
        first = u.slope, u.size, u.centre, u.growth, primal.moments, primal.height, primal.off
        state = u.values, u.top, u.blur
        arrays = tuple(nodes), tuple(facets), sign, shape, tuple(map(plain, own)), tuple(map(plain, first + state))
        return cls(part, arrays, (gram(shapes.d), first_moments(shapes.d)))

    def fill(
        self, side: Any, turn: float, acts: bool, i: int, rows: dict[str, Vector], product: Vector, values: Vector
    ) -> tuple[float, float]:
        """As `linear_side`, `linear_inner` and `linear_value` do, but that values are added up."""
        from pinnpoint.transfer.energy.linear_compiled import dual_side

        part, f = self.part, side.source
        if f.cells is None:
            at, which = np.arange(part.stop - part.start), part
        else:
            low, high = np.searchsorted(f.cells, (part.start, part.stop)).tolist()
            at, which = f.cells[low:high] - part.start, slice(low, high)
        errors = np.stack([f.high[which], f.error1[which], f.error2[which]])
        source = at, np.ascontiguousarray(f.coefficients[which]), errors, acts
        mine = tuple(rows[name][i, part] for name in FILLED)
        run: Any = dual_side
        found = mine, product[i - 1, part], values[i - 1, part]
        sums: tuple[float, float] = run(
            side.nodal, np.ascontiguousarray(side.flux[:, 0]), *self.arrays, source, self.tables, turn, *found
        )
        return sums
