"""Energy bounds of errors, and the product bound of a scalar query, from equilibrated fluxes.

Let e = u − u_h and ε = z − z_h be the errors of a primal and of a dual state. By the residual identity of `cells`,
a(e, w) is a sum over cells, and with v = s e ± ε/s (any s > 0; everything is linear) and w = v

    ‖v‖_a ≤ ( Σ_K E_K )^{1/2} + F,     E_K = min{ (q + p + h_K/(π√κ) o)², (q + p)² + o²/c },

q = ‖κ^{-1/2}(s δ_p ± δ_d/s)‖_K, o the oscillation of ϱ (Payne–Weinberger: convex cells, constant h_K/π), p the
oscillation of Neumann data through the trace inequality of `facets`, and F the means that do not vanish, through the
constants of `anchors`. Since a(e, ε) = ¼(‖s e + ε/s‖² − ‖s e − ε/s‖²), it lies in [−η₋²/4, η₊²/4].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.base.threads import on_all_cores
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, sum_of, sum_up, up
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.boundary.facets import FacetLoad, left_over
from pinnpoint.transfer.boundary.robin import Gaps, held
from pinnpoint.transfer.energy.anchors import NEUMANN, Anchors
from pinnpoint.transfer.energy.cells import COUNT, Keeper, Remains, State, inner, mean_product, remains
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.energy.linear_sides import METER, SECONDS, Frame, linear_rows
from pinnpoint.transfer.helpers import Helpers, OnCells
from pinnpoint.transfer.media.coefficients import Field
from pinnpoint.transfer.media.medium import Action, Medium
from pinnpoint.transfer.media.varying import Given, against_slopes, pushed, varied_inner, varied_remains, varied_weak

CHUNK = 2048
"""Cells at once: few enough for the caches, and for products that BLAS does not spread over threads."""
FEWER_CALLS = 4096
"""The same where compiled code is called for each side."""
KEPT = 200_000
"""Cells up to which shapes are kept."""
PI_DOWN = 3.141592653589793  # float64's value is below π
ROWS = ("square", "size", "fuzz", "oscillation", "defect", "osc", "def", "high")


@dataclass(frozen=True, eq=False)
class Side:
    """One state with its data and a flux for it.

    Attributes
    ----------
    nodal
        Coefficients of the state, all degrees of freedom.
    source
        Right-hand side, on every cell or on those where it is not zero, in ascending order.
    flux
        Facet densities t, (F, 1) or (F, d).
    load
        Prescribed flux on Neumann facets; others there are zero.
    field
        The part of a query's load that acts on gradients.
    transposed
        Whether the state belongs to the transposed operator; it matters where there is convection.
    wanted
        Where facets take a part of the state, as g − b·n z_h: the flux that is asked for in the place of `load`.
    """

    nodal: Vector
    source: Density
    flux: Vector
    load: FacetLoad | None = None
    field: Field | None = None
    transposed: bool = False
    wanted: FacetLoad | None = None

    __repr__ = brief

    @property
    def aim(self) -> FacetLoad | None:
        """What the flux is measured against."""
        return self.load if self.wanted is None else self.wanted


@dataclass(frozen=True, eq=False)
class Bounds:
    """Per-cell numbers of one side, as in `cells.Remains`, over all cells, and the mean part F."""

    square: Vector
    size: Vector
    fuzz: Vector
    oscillation: Vector
    facet: Vector
    means: float
    data: tuple[Vector, float]
    """How much of `oscillation` and of `means` comes from the error of the data."""
    high: Vector
    """Bounds of the part of δ that is orthogonal to quadratics; zero where coefficients are constant on cells."""
    defect: Vector
    """Bounds of |∫_K ϱ|."""
    gaps: Gaps | None = None
    """What the flux leaves on Robin facets."""
    lift: Vector | None = None
    """Bounds of the energy norms of a lift of Dirichlet data that the state is taken with."""
    compiled: bool = False
    """Whether compiled code has made the rows: then `high` is zero, and there is no reaction."""

    @cached_property
    def plain(self) -> bool:
        """Whether compiled code may sum up what is left inside cells."""
        return self.compiled and self.gaps is None and self.lift is None and not np.any(self.facet)


@dataclass(frozen=True, eq=False)
class Pair:
    """A dual against the primal: inner products of their δ, and the weak residual of the primal at the dual state."""

    dual: Bounds
    product: Vector
    value: float
    """Σ_K ∫ w u_h + sign · (residual of u_h at z_h), rounded once."""
    rounding: float
    data: float
    """Bounds of what the errors of the sources do to `value`."""
    gap: Vector | None = None
    """Products of what both fluxes leave on Robin facets."""
    across: tuple[float, float] = (0.0, 0.0)
    """∫ (τ·n) m of the dual flux τ and the lifted Dirichlet data m, and a bound of the error."""


@dataclass(frozen=True, eq=False)
class Estimator:
    """Cells, coefficients and boundary kinds of one problem.

    Parameters
    ----------
    topology
        Sorted cells and facets.
    points
        Coordinates.
    cell_nodes
        Degrees of freedom of each sorted cell: vertices, then edges in the order of pairs j < l.
    degree
        1 or 2; the flux has order degree − 1.
    kappa, reaction
        κ > 0 and c ≥ 0, constant on each cell.
    kind
        0 for interior facets, 1 for Dirichlet, 2 for Neumann.
    anchors
        Constants for means.
    medium
        A, b and c where they vary inside cells; then `kappa` and `reaction` are lower bounds of A and c − ½∇·b.
    growth
        What coercivity may lack through c − ½∇·b < 0: norms of errors are at most this factor larger.
    weight
        Lower bounds ω ≥ 0 of the energy's α on every facet, where there are Robin facets.
    helpers
        Other processes that take part in the work.
    """

    topology: Topology
    points: Vector
    cell_nodes: Index
    degree: int
    kappa: Vector
    reaction: Vector
    kind: Index
    anchors: Anchors
    medium: Medium | None = None
    growth: float = 1.0
    weight: Vector | None = None
    helpers: Helpers | None = None

    @property
    def order(self) -> int:
        """Of the flux."""
        return self.degree - 1

    def measure(
        self,
        primal: Side,
        duals: Sequence[tuple[Side, float, bool]],
        keeper: Keeper | None = None,
        *,
        ahead: int = 0,
    ) -> tuple[Bounds, list[Pair]]:
        """Bounds of a primal side, and of each dual with it; the keeper is shown what the primal side leaves.

        A dual comes with the sign of the residual in its value (+1, or −1 for a flux) and whether its source acts on
        the primal state (∫ w u_h is part of the value). `ahead` is the number of duals that are known to come, these
        included.
        """
        sides = [primal, *(dual for dual, _, _ in duals)]
        plain = self.medium is None and keeper is None and all(side.field is None for side in sides)
        if self.helpers is not None and plain:
            found = self.helpers.on_cells(primal, duals)
        else:
            found = self.on_cells(primal, duals, keeper, ahead=ahead)
        signs = [sign for _, sign, _ in duals]
        return self.put_together(sides, signs, found)

    def on_cells(
        self,
        primal: Side,
        duals: Sequence[tuple[Side, float, bool]],
        keeper: Keeper | None = None,
        *,
        ahead: int = 0,
    ) -> OnCells:
        """What all sides leave on the cells, for `put_together`."""
        C, K = len(self.kappa), len(duals)
        rows = {name: np.zeros((K + 1, C)) for name in ROWS}
        product, values = np.empty((K, C)), np.zeros((K, C))
        sides = [primal, *(dual for dual, _, _ in duals)]

        acting = [(sign, acts) for _, sign, acts in duals]
        fields = any(side.field is not None for side in sides)
        linear = self.degree == 1 and self.medium is None and keeper is None and not fields
        compiled = linear and not np.any(self.reaction) and METER.worth(SECONDS * C * K, SECONDS * C * max(K, ahead))
        if not linear:
            sides = [replace(side, source=side.source.on_all(C)) for side in sides]

        def work(part: slice) -> list[tuple[float, float]]:
            """Fill the rows of some cells; what they add to the rounding and to the data's error of each value."""
            shapes, sums = self._shapes(part), []
            if linear:
                frame, T = Frame.of(shapes, self.kappa[part], self.reaction[part]), self.topology
                nodes, facets = (np.ascontiguousarray(x[part].T) for x in (self.cell_nodes, T.cell_facets))
                signs = np.ascontiguousarray(T.sign[part].T)
                return linear_rows(frame, sides, acting, nodes, facets, signs, part, rows, product, values, compiled)
            first: Any = None
            for i, side in enumerate(sides):
                state = State.of(shapes, side.nodal[self.cell_nodes[part]].T, self.degree)
                given = self._given(side, part)
                left, rows["high"][i, part], action = self._left(shapes, side, state, given, part)
                rows["square"][i, part] = self._inner(shapes, left, left, part)  # continuous.md, step 2b
                rows["size"][i, part], rows["fuzz"][i, part] = left.size, left.fuzz
                rows["oscillation"][i, part], rows["defect"][i, part] = left.oscillation, left.defect
                rows["osc"][i, part], rows["def"][i, part] = left.data
                if i == 0:
                    first = (state, given, left, action)
                    if keeper is not None:
                        keeper.take(part, shapes, state, left, rows["high"][0, part])
                    continue
                _, sign, acts = duals[i - 1]
                product[i - 1, part] = self._inner(shapes, first[2], left, part)  # continuous.md, step 3b
                weak = self._against(shapes, part, first, state, given if acts else None, sign)
                values[i - 1, part] = weak[0]
                sums.append((sum_up(weak[1]), sum_up(weak[2])))
            return sums

        step = FEWER_CALLS if compiled else CHUNK
        parts = [slice(a, min(a + step, C)) for a in range(0, C, step)]
        added: Vector = np.array(on_all_cores(work, parts), dtype=np.float64).reshape(len(parts), K, 2)
        return OnCells(rows, product, values, added, compiled)

    def put_together(self, sides: Sequence[Side], signs: Sequence[float], cells: OnCells) -> tuple[Bounds, list[Pair]]:
        """Bounds of the first side and pairs of the others with it, from what they leave on cells."""
        K, rows, product, values, added = len(signs), cells.rows, cells.product, cells.values, cells.added
        off, data = (np.array([sum_up(added[:, i, j]) for i in range(K)]) for j in (0, 1))
        found = [
            self._bounds(side, {name: rows[name][i] for name in rows}, compiled=cells.compiled)
            for i, side in enumerate(sides)
        ]
        pairs_ = []
        for i, (dual, sign) in enumerate(zip(sides[1:], signs, strict=True)):
            more, more_off, more_data = self._facet_value(sides[0], dual, sign)
            terms = values[i][values[i] != 0.0] if cells.compiled else values[i]
            total, beyond = sum_of(np.append(terms, more))  # continuous.md, step 8g
            rounding = up(off[i] + more_off + beyond + 2.0 * UNIT * abs(total))
            one, two = found[0].gaps, found[i + 1].gaps
            gap = None if one is None or two is None else one.product(two)  # robin.md, step 3b
            unknown = at_most(up(data[i] + more_data))
            pairs_.append(Pair(found[i + 1], product[i], total, at_most(rounding), unknown, gap))
        return found[0], pairs_

    @cached_property
    def _reacts(self) -> bool:
        return bool(np.any(self.reaction > 0.0))

    @cached_property
    def _kept(self) -> dict[tuple[int, int], Shapes]:
        return {}

    def _shapes(self, part: slice) -> Shapes:
        """Shapes of some cells; those of meshes that are not large are kept for the next side."""
        shapes = self._kept.get((part.start, part.stop))
        if shapes is None:
            shapes = Shapes.of(self.points, self.topology.cells[part])
            if len(self.kappa) <= KEPT:
                self._kept[part.start, part.stop] = shapes
        return shapes

    def outward(self, t: Vector, part: slice) -> Vector:
        """Densities s_kj of the outward flux at vertex j of the facet opposite k, (d + 1, d + 1, n), on some cells."""
        T = self.topology
        d = T.cells.shape[1] - 1
        facets, sign = T.cell_facets[part], T.sign[part]
        s = np.empty((d + 1, d + 1, len(facets)))
        for k in range(d + 1):
            here = t.take(facets[:, k], axis=0) * sign[:, k, None]
            for j in range(d + 1):
                # continuous.md, step 1b
                s[k, j] = here[:, 0] if t.shape[1] == 1 else here[:, min(j if j < k else j - 1, d - 1)]
        return s

    def along(self, side: Side) -> tuple[float, float, float]:
        """∫ q·∇v_h of a side with its own field q, a bound of the rounding, and of what q's error does."""
        found = []
        for a in range(0, len(self.kappa), CHUNK):
            part = slice(a, a + CHUNK)
            shapes = self._shapes(part)
            state = State.of(shapes, side.nodal[self.cell_nodes[part]].T, self.degree)
            found.append(against_slopes(shapes, self._given(side, part), state))
        value, off, data = (np.concatenate(rows) for rows in zip(*found, strict=True))
        total = math.fsum(value.tolist())
        return total, float(up(sum_up(off) + 4.0 * UNIT * abs(total))), sum_up(data)

    def _given(self, side: Side, part: slice) -> Given:
        """The right-hand side on some cells."""
        f = side.source
        rows = np.ascontiguousarray(f.coefficients[part].T), f.high[part], f.error1[part], f.error2[part]
        if side.field is None:
            return Given(*rows)
        q = side.field
        field = np.ascontiguousarray(np.moveaxis(q.coefficients[part], 0, -1))
        return Given(*rows, field, q.high[part].T, q.error1[part].T, q.error2[part].T)

    def _left(
        self, shapes: Shapes, side: Side, state: State, f: Given, part: slice
    ) -> tuple[Remains, Vector | float, Action | None]:
        """What a side leaves over on some cells."""
        s = self.outward(side.flux, part)
        if self.medium is None:
            k, c = self.kappa[part], self.reaction[part]
            left = remains(shapes, k, c, state, f.source, f.high, f.error1, f.error2, s, self.order)
            return (*pushed(shapes, k, left, f), None) if f.field is not None else (left, 0.0, None)
        action = self.medium.act(part, shapes, state, transposed=side.transposed)
        R = np.ascontiguousarray(np.moveaxis(self.medium.metric.R[part], 0, -1))
        left, high = varied_remains(shapes, R, action, f, s, self.order)
        return left, high, action

    def _inner(self, shapes: Shapes, one: Remains, two: Remains, part: slice) -> Vector:
        if self.medium is None:
            return inner(shapes, self.kappa[part], one.delta, two.delta)
        return varied_inner(shapes, one.delta, two.delta)

    def _against(
        self, shapes: Shapes, part: slice, primal: Any, z: State, w: Given | None, sign: float
    ) -> tuple[Vector, Vector, Vector]:
        """∫_K w u_h + sign [residual of u_h at z_h], and bounds of its rounding and of the data's error."""
        u, f, _, action = primal
        if action is not None:
            return varied_weak(shapes, action, u, f, z, w, sign)
        # continuous.md, step 3a
        against = None if w is None else w.source
        weak = self._weak(shapes, self.kappa[part], self.reaction[part], u, f.source, z, against, sign)
        vol = up(shapes.volume * (1.0 + shapes.slack), 4)
        wrong = f.error1 * z.top + (w.error1 * u.top if w is not None else 0.0)  # continuous.md, step 8a
        if f.field is not None:
            more = against_slopes(shapes, f, z)
            weak = weak[0] + sign * more[0], np.asarray(up(weak[1] + more[1], 4))  # lift.md, step 13b
            return *weak, np.asarray(up(vol * wrong + more[2], 8))
        return *weak, np.asarray(up(vol * wrong, 8))

    def _weak(
        self, shapes: Shapes, k: Vector, c: Vector, u: State, f: Vector, z: State, w: Vector | None, sign: float
    ) -> tuple[Vector, Vector]:
        """∫_K w u_h + sign [∫ (f − c u_h) z_h − κ ∇u_h·∇z_h], and a bound of its rounding."""
        d = shapes.d
        mass = mean_product(f - c * u.coefficients, z.coefficients, d)
        size = (np.abs(f).max(axis=0) + np.abs(c) * u.top) * z.top
        ones = np.full((d + 1, d + 1), 1.0 / ((d + 1) * (d + 2))) + np.eye(d + 1) / ((d + 1) * (d + 2))
        if self.degree == 1:
            slope = (u.slopes[0] * z.slopes[0]).sum(axis=0)
        else:
            slope = np.einsum("jcn,jcn->n", u.slopes, np.einsum("jk,kcn->jcn", ones, z.slopes))
        total = sign * (mass - k * slope)  # continuous.md, step 3a
        if w is not None:
            total = total + mean_product(w, u.coefficients, d)  # continuous.md, step 3a
            size = size + np.abs(w).max(axis=0) * u.top
        slack = 3.0 * (shapes.slack + gamma(COUNT))
        wrong = slack * (size + d * k * u.size * z.size)  # continuous.md, step 8f
        wrong = wrong + u.blur * (np.abs(c) * z.top + (0.0 if w is None else np.abs(w).max(axis=0)))
        wrong = wrong + z.blur * (np.abs(f).max(axis=0) + np.abs(c) * u.top)
        return total * shapes.volume, up(wrong * shapes.volume, 16)

    def _facet_value(self, primal: Side, dual: Side, sign: float) -> tuple[float, float, float]:
        value = off = data = 0.0
        if primal.aim is not None:
            # continuous.md, step 3a; robin.md, step 3a
            a, b, e = primal.aim.against(self.points, dual.nodal, self.degree)
            value, off, data = value + sign * a, up(off + b), up(data + e)
        if dual.load is not None:
            a, b, e = dual.load.against(self.points, primal.nodal, self.degree)
            value, off, data = value + a, up(off + b + UNIT * abs(value)), up(data + e)
        return value, float(off), float(data)

    def _bounds(self, side: Side, row: dict[str, Vector], *, compiled: bool) -> Bounds:
        facet = np.zeros(len(self.kappa))
        extra = extra_data = 0.0
        closed, gaps = self._closed, None
        if side.aim is not None:
            closed = np.setdiff1d(closed, side.aim.facets)
        if np.any(side.flux[closed]):
            raise CertificationError("flux: must vanish on Neumann facets without data")
        if side.aim is not None:
            # robin.md, step 1a
            left = left_over(self.points, self.topology, self.kappa, self.anchors, side.aim, side.flux)
            plain = np.ones(len(left.cell), dtype=bool)
            if self.weight is not None:
                left = held(left, self.weight[side.aim.facets])
                gaps, plain = Gaps.of(left, self.weight[side.aim.facets]), self.weight[side.aim.facets] == 0.0
            facet = up(np.bincount(left.cell[plain], left.cost[plain], minlength=len(self.kappa)), 8)
            extra, extra_data = left.means, left.data_means
        means = up(self.anchors.bound(row["defect"]) + extra)  # continuous.md, step 2d
        data = up(self.anchors.bound(row["def"]) + extra_data)
        return Bounds(
            row["square"],
            row["size"],
            row["fuzz"],
            row["oscillation"],
            facet,
            at_most(means),
            (row["osc"], at_most(data)),
            row["high"],
            row["defect"],
            gaps,
            compiled=compiled,
        )

    def energy(self, p: Bounds) -> float:
        """η ≥ ‖u − u_h‖_a; that of the state which many pairs share is kept while it is asked for again and again."""
        if p not in self._energies:
            energy = self._lengths(p, None, 1.0, (0.0,), (1.0,))[0]
            for last in list(self._energies)[1:]:
                del self._energies[last]
            self._energies[p] = energy
        return self._energies[p]

    @cached_property
    def _closed(self) -> Index:
        """Numbers of the Neumann facets."""
        return np.flatnonzero(self.kind == NEUMANN)

    @cached_property
    def _near(self) -> Vector:
        """How far squares may be off, in units of the squares of their sizes."""
        return np.asarray(4.0 * (self.anchors.slack + gamma(COUNT)))

    @cached_property
    def _energies(self) -> dict[Bounds, float]:
        return {}

    def shares(self, p: Bounds) -> Vector:
        """How much of η² each cell holds, summing to one: indicators, not bounds."""
        each = (np.sqrt(np.maximum(p.square, 0.0)) + p.high + p.facet + self.anchors.convex * p.oscillation) ** 2
        if p.gaps is not None:
            cost, square = p.gaps.on_cells(len(each), 1.0, None, None)
            each = each + np.minimum(cost * cost, square)
        total = float(each.sum())
        return each / total if 0.0 < total < math.inf else np.ones(len(each)) / len(each)

    def product_bound(self, p: Bounds, pair: Pair) -> tuple[float, float, float]:
        """Ends [−η₋²/4, η₊²/4] that hold a(u − u_h, z − z_h), and the part of their half-width due to data."""
        eta_p, eta_d = self.energy(p), self.energy(pair.dual)
        if not (math.isfinite(eta_p) and math.isfinite(eta_d)):
            return -math.inf, math.inf, math.inf
        if eta_p == 0.0 or eta_d == 0.0:
            return 0.0, 0.0, 0.0
        s = math.sqrt(eta_d / eta_p)  # continuous.md, step 3d
        lengths, ends = self._lengths(p, pair, s, (-1.0, 1.0), (1.0, 0.0)), []
        for full, bare in (lengths[:2], lengths[2:]):
            # continuous.md, step 3c
            # varying.md, step 3b
            ends.append((float(up(0.25 * full * full)), float(up(0.25 * (full * full - bare * bare)))))
        return -ends[0][0], ends[1][0], float(up(0.5 * (ends[0][1] + ends[1][1])))

    def _lengths(
        self, p: Bounds, pair: Pair | None, s: float, signs: Sequence[float], counted: Sequence[float]
    ) -> list[float]:
        """Upper bounds of ‖s e ± ε/s‖_a for each sign, or of ‖e‖_a; `counted` = 0 leaves the data's own error out.

        The latter is for reports only.
        """
        d = None if pair is None else pair.dual
        if p.plain and (d is None or d.plain):
            return self._compiled_lengths(p, pair, s)

        def mix(of: Callable[[Bounds], Any]) -> Any:
            return s * of(p) if d is None else s * of(p) + of(d) / s

        def kept(data: float) -> tuple[Vector, float]:
            o, F = mix(lambda side: side.oscillation), mix(lambda side: side.means)
            return (o, F) if data else (o - mix(lambda side: side.data[0]), F - mix(lambda side: side.data[1]))

        size, high = mix(lambda side: side.size), mix(lambda side: side.high)
        blur = self._near * size * size + high * high
        wide = mix(lambda side: side.fuzz) + mix(lambda side: side.facet)
        parts, found = [kept(data) for data in counted], []
        for sign in signs:
            square = p.square * (s * s)
            if pair is not None:
                square = square + (2.0 * sign) * pair.product + pair.dual.square / (s * s)  # continuous.md, step 3b
            q = np.sqrt(np.maximum(square, 0.0) + blur) + wide
            found += [self._length(p, pair, s, sign, q, *part) for part in parts]
        return found

    def _compiled_lengths(self, p: Bounds, pair: Pair | None, s: float) -> list[float]:
        """The same in one pass: ‖e‖_a, or both lengths with and without the data's own error."""
        from pinnpoint.transfer.energy.linear_compiled import energy, lengths

        cells: tuple[Any, ...] = (self._near, self.anchors.convex)
        if pair is None:
            return [self._whole(cast(Any, energy)(*cells, p.square, p.size, p.fuzz, p.oscillation), p.means)]
        d, run = pair.dual, cast(Any, lengths)
        sides = [(x.square, x.size, x.fuzz, x.oscillation, x.data[0]) for x in (p, d)]
        squares = run(*cells, s, *sides, pair.product).tolist()
        full, bare = s * p.means + d.means / s, s * (p.means - p.data[1]) + (d.means - d.data[1]) / s
        return [self._whole(x, F) for x, F in zip(squares, (full, bare, full, bare), strict=True)]

    def _whole(self, square: float, F: float) -> float:
        """Upper bound of a length, from the sum of squares over the cells and the means."""
        bound = up(math.sqrt(square) * (1.0 + 32.0 * UNIT) + F, 8)  # continuous.md, step 2b
        return at_most(float(bound if self.growth == 1.0 else up(bound * self.growth, 2)))  # varying.md, step 3b

    def _length(self, p: Bounds, pair: Pair | None, s: float, sign: float, q: Vector, o: Vector, F: float) -> float:
        """Upper bound of a length, from q with p on the cells, the oscillation and the means."""
        convex = self.anchors.convex
        each = self._squares(q, convex * o, o)
        if p.gaps is not None:
            gap = None if pair is None or pair.gap is None else sign * pair.gap
            cost, more = p.gaps.on_cells(len(q), s, None if pair is None else pair.dual.gaps, gap)
            each = np.minimum(up(each + more, 32), self._squares(q + cost, convex * o, o))  # robin.md, step 2b
        if p.lift is not None:
            each = (np.sqrt(each) + s * p.lift) ** 2  # curved.md, step 3b
        return self._whole(sum_up(up(each, 32)), F)

    def deviation(self, p: Bounds) -> Vector:
        """Bounds of ‖A^{-1/2}δ‖_K on each cell."""
        square = np.maximum(p.square, 0.0) + self._near * p.size * p.size + p.high * p.high
        return np.asarray(up(np.sqrt(square) + p.fuzz, 16))

    def _squares(self, q: Vector, convex: Vector, o: Vector) -> Vector:
        """E_K of step 2b, from q and p together and the two bounds of the oscillation."""
        one = (q + convex) ** 2  # continuous.md, step 2b
        c = self.reaction
        if not self._reacts:
            return np.asarray(one)
        with np.errstate(divide="ignore", over="ignore"):
            two = np.where(c > 0.0, q**2 + o**2 / np.where(c > 0.0, c, 1.0), np.inf)  # continuous.md, step 2b
        return np.asarray(np.minimum(one, two))
