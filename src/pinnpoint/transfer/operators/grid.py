"""Instances on squares cut in two: transforms are the reference's inverse, fields are in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.transfer.operators.any_mesh import Sums, joined
from pinnpoint.transfer.operators.frozen import Frozen
from pinnpoint.transfer.operators.lattice import Cosines, Lattice, Sines, Single, power
from pinnpoint.transfer.operators.particular import Geometry, Particular
from pinnpoint.transfer.operators.sums import StateSums

TOGETHER, CHUNK = 2**17, (16, 4)
"""Nodes of all instances whose fields stay in the caches together, and instances at most: without and with duals."""
SMALL = 1e-12
"""A field's steps end where its rᵀz has fallen this far, in float32."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Steps and sums on a lattice whose whole boundary is held at zero.

    Attributes
    ----------
    loads
        The primal one, then one a query with a dual.
    rows, states
        Of the loads and the reference κ = 1, in float32 and to the scale `row_scale`.
    fluxes, single, flux_scale
        Values at centroids, (1 + Q, 2 triangles, 2, nx, ny), and the same in float32 to a scale.
    all_rows, reference
        Of the loads and the reference as they are, (N, 1 + Q).
    points, gradient
        Of the duals: the kernel of a point, whose load depends on κ; and ∇v at the cells, (2C, N), for these.
    """

    lattice: Lattice
    geometry: Geometry
    loads: tuple[Particular, ...]
    rows: Single
    row_scale: Vector
    states: Single
    fluxes: Vector
    single: Single
    flux_scale: Vector
    sines: Sines
    cosines: Cosines
    all_rows: Vector
    reference: Vector
    points: tuple[Frozen | None, ...] = ()
    gradient: Any = None

    __repr__ = brief

    @classmethod
    def of(
        cls,
        lattice: Lattice,
        geometry: Geometry,
        loads: tuple[Particular, ...],
        states: Vector,
        points: tuple[Frozen | None, ...] = (),
        gradient: Any = None,
    ) -> Grid:
        """From loads and reference states (N, 1 + Q)."""
        fluxes = np.stack([lattice.by_triangles(p.flux) for p in loads])
        rows = np.stack([p.row for p in loads], axis=1)
        waves = Sines(*lattice.shape), Cosines(*lattice.shape)
        some = any(p is not None for p in points)
        kernels: dict[str, Any] = {"points": points, "gradient": gradient} if some else {}
        parts: tuple[Any, ...] = (*cls._scaled(lattice, rows, fluxes, states), *waves, rows, states)
        return cls(lattice, geometry, loads, *parts, **kernels)

    @staticmethod
    def _scaled(lattice: Lattice, rows: Vector, fluxes: Vector, states: Vector) -> tuple[Any, ...]:
        """Rows with their scale, states, fluxes with theirs: what steps and sums take."""
        nodes, m = tuple(n + 1 for n in lattice.shape), len(fluxes)
        inner = np.ascontiguousarray(rows.T).reshape(m, *nodes)
        inner[:, [0, -1]], inner[:, :, [0, -1]] = 0.0, 0.0
        row_scale = power(np.abs(inner).max(axis=(1, 2)))
        flux_scale = power(np.abs(fluxes).max(axis=(1, 2, 3, 4)))
        start = np.ascontiguousarray(states.T).reshape(m, *nodes)
        return (
            (inner / row_scale[:, None, None]).astype(np.float32),
            row_scale,
            (start / row_scale[:, None, None]).astype(np.float32),
            fluxes,
            (fluxes / flux_scale[:, None, None, None, None]).astype(np.float32),
            flux_scale,
        )

    def _with(self, loads: tuple[Particular, ...], rows: Vector, fluxes: Vector, states: Vector, points: Any) -> Grid:
        """The same lattice with other loads."""
        scaled, waves = self._scaled(self.lattice, rows, fluxes, states), (self.sines, self.cosines)
        parts: tuple[Any, ...] = (*scaled, *waves, rows, states, points, self.gradient)
        return Grid(self.lattice, self.geometry, loads, *parts)

    def with_first(self, load: Particular, state: Vector) -> Grid:
        """With another load of the problem itself."""
        rows, fluxes, states = self.all_rows.copy(), self.fluxes.copy(), self.reference.copy()
        rows[:, 0], fluxes[0], states[:, 0] = load.row, self.lattice.by_triangles(load.flux), state
        return self._with((load, *self.loads[1:]), rows, fluxes, states, self.points)

    def _at(self, kappa: Vector) -> Grid:
        """With what one instance's κ adds to the loads and fluxes of points."""
        which = [k for k, point in enumerate(self.points) if point is not None]
        own = np.zeros((len(which), len(self.geometry.area), 2))
        for i, k in enumerate(which):
            point = self.points[k]
            assert point is not None
            own[i, point.cells] = point.field(kappa)
        rows, fluxes, at = self.all_rows.copy(), self.fluxes.copy(), np.array(which) + 1
        weighted = (own * self.geometry.area[:, None]).reshape(len(which), -1).T
        rows[:, at] -= self.gradient.T @ weighted  # operators.md, step 11b
        fluxes[at] -= np.stack([self.lattice.by_triangles(field) for field in own])
        return self._with(self.loads, rows, fluxes, self.reference, ())

    @property
    def more(self) -> float:
        """Relative error of areas and gradients beyond that of the geometry."""
        return 4.0 * self.lattice.uneven  # operators.md, step 5e

    @property
    def holes(self) -> tuple[Particular, ...]:
        """A lattice of squares has none."""
        return ()

    def sums(self, kappas: Vector, predictions: Vector, streams: Vector | None, steps: int, dual_steps: int) -> Sums:
        """For rows of κ (I, C), predictions and stream functions (I, N)."""
        if self.points:  # loads of points are each instance's own
            one = [slice(i, i + 1) for i in range(len(kappas))]
            given = [None if streams is None else streams[i] for i in one]
            each = [
                self._at(kappas[i.start]).sums(kappas[i], predictions[i], s, steps, dual_steps)
                for i, s in zip(one, given, strict=True)
            ]
            return joined([e[0] for e in each]), joined([e[1] for e in each]), joined([e[2] for e in each])
        size = CHUNK[1] if len(self.loads) > 1 else max(CHUNK[1], min(CHUNK[0], TOGETHER // predictions.shape[1]))
        if len(kappas) > size:
            parts = [slice(a, a + size) for a in range(0, len(kappas), size)]
            of = [None if streams is None else streams[p] for p in parts]
            each = [self.sums(kappas[p], predictions[p], s, steps, dual_steps) for p, s in zip(parts, of, strict=True)]
            return joined([e[0] for e in each]), joined([e[1] for e in each]), joined([e[2] for e in each])
        (nx, ny), count = self.lattice.shape, len(kappas)
        kappa = np.ascontiguousarray(np.moveaxis(kappas.reshape(count, nx, ny, 2), 3, 1))
        guess = predictions.reshape(count, nx + 1, ny + 1)
        inverse = 1.0 / kappa
        unit = power(kappas[:, :: max(1, kappas.shape[1] // 64)].mean(axis=1))
        with np.errstate(all="ignore"):
            walk = _Walk.of(self, kappa, inverse, unit)
            begun = None if streams is None else streams.reshape(count, nx + 1, ny + 1)
            u, psi = walk.primal(guess, begun, steps)
            z, turned = walk.duals(dual_steps)
            return self._measured(kappa, inverse, unit, guess, (u, psi), (z, turned))

    def _measured(self, kappa: Vector, inverse: Vector, unit: Vector, guess: Vector, first: Any, rest: Any) -> Sums:
        from pinnpoint.transfer.operators.grid_compiled import against, measure_dual, measure_primal

        (nx, ny), count, Q = self.lattice.shape, len(kappa), len(self.loads) - 1
        h, area = self.lattice.h, 0.5 * self.lattice.h**2
        (u, psi), (z, turned) = first, rest
        delta = np.empty((4, nx, ny))
        one, many = np.zeros((count, 5)), np.zeros((count, Q, 4))
        scale, turns = self.row_scale / unit[:, None], self.flux_scale
        for g in range(count):
            medium = kappa[g], inverse[g], u[g]
            steep = scale[g] / h, turns / h
            own = psi[g], guess[g], self.fluxes[0], steep[0][0], steep[1][0], 1.0 / h
            one[g] = measure_primal(*medium, *own, delta)
            for q in range(Q):
                of = z[g, q], turned[g, q], self.fluxes[q + 1], steep[0][0], steep[0][q + 1], steep[1][q + 1]
                many[g, q] = measure_dual(*medium, *of, delta)
        zero, none, no = np.zeros(count), np.zeros((count, 0)), np.zeros((count, Q, 0))
        top, stream = _tops(u) * scale[:, 0], _tops(psi) * turns[0]
        one, many = one * area, many * area
        first_sums = StateSums(one[:, 0], one[:, 1], one[:, 2], zero, zero, top, stream, none)
        other = StateSums(one[:, 3], one[:, 4], zero, zero, zero, _tops(guess), stream, none)
        values, tops = np.zeros((count, Q)), (np.zeros((count, Q)), np.zeros((count, Q)))
        if Q:
            U = u.reshape(count, -1).astype(np.float64) * scale[:, :1]
            found = against(z, np.ascontiguousarray(self.all_rows[:, 0]).reshape(nx + 1, ny + 1))
            values = U @ self.all_rows[:, 1:] + found[..., 0] * scale[:, 1:]
            tops = found[..., 1] * scale[:, 1:], _tops(turned) * turns[1:]
        square, energy, cross, form = np.moveaxis(many, 2, 0)
        return first_sums, other, StateSums(square, energy, cross, form, values, *tops, no)


def _tops(fields: Any) -> Vector:
    """Max |field| over the nodes."""
    return np.asarray(np.maximum(fields.max(axis=(-2, -1)), -fields.min(axis=(-2, -1))), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Walk:
    """The steps of some instances, in float32 and scaled: κ by a power of two each, loads by their own scales."""

    grid: Grid
    wx: Single
    wy: Single
    vx: Single
    vy: Single
    inverse: Single
    unit: Vector

    @classmethod
    def of(cls, grid: Grid, kappa: Vector, inverse: Vector, unit: Vector) -> _Walk:
        from pinnpoint.transfer.operators.grid_compiled import weigh

        (nx, ny), count = grid.lattice.shape, len(kappa)
        by = unit[:, None, None, None]
        direct, over = (kappa / by).astype(np.float32), (inverse * by).astype(np.float32)
        wx, vx = (np.empty((count, nx, ny + 1), np.float32) for _ in range(2))
        wy, vy = (np.empty((count, nx + 1, ny), np.float32) for _ in range(2))
        weigh(direct, wx, wy)
        weigh(over, vx, vy)
        return cls(grid, wx, wy, vx, vy, over, unit)

    def primal(self, guess: Vector, begun: Vector | None, steps: int) -> tuple[Single, Single]:
        """States and stream functions, (I, nodes)."""
        return self.states(guess, steps), self._streams(slice(0, 1), steps, begun)[:, 0]

    def states(self, guess: Vector, steps: int) -> Single:
        """Steps from the reference's state or from predictions, (I, nodes)."""
        from pinnpoint.transfer.operators.grid_compiled import dots, operate

        grid, count = self.grid, len(guess)
        rows = np.broadcast_to(grid.rows[:1], (count, 1, *grid.rows.shape[1:]))
        own = np.zeros((count, 2, *grid.rows.shape[1:]), np.float32)
        own[:, 0] = grid.states[0]
        near = guess * (self.unit / grid.row_scale[0])[:, None, None]
        own[:, 1, 1:-1, 1:-1] = near[:, 1:-1, 1:-1]
        q = np.zeros_like(own)
        energy = operate(self.wx, self.wy, own, q, True)
        work = dots(own, np.broadcast_to(rows, own.shape))
        scale = np.where(energy > 0.0, work / np.where(energy > 0.0, energy, 1.0), 0.0)
        which = np.where(work[:, 1] * scale[:, 1] > work[:, 0] * scale[:, 0], 1, 0)  # operators.md, step 4a
        pick = np.arange(count)
        by = scale[pick, which].astype(np.float32)[:, None, None]
        u, r = (by * own[pick, which])[:, None], (rows[:, 0] - by * q[pick, which])[:, None]
        return self._steps(self.wx, self.wy, grid.sines, r, u, steps, fixed=True)[:, 0]

    def duals(self, steps: int) -> tuple[Single, Single]:
        """Dual states and stream functions, (I, Q, nodes)."""
        from pinnpoint.transfer.operators.grid_compiled import dots, operate

        grid, count = self.grid, len(self.unit)
        own = grid.states[None, 1:]
        q = np.zeros((count, *own.shape[1:]), np.float32)
        if not own.shape[1]:
            return q, q
        energy, work = operate(self.wx, self.wy, own, q, True), dots(own, grid.rows[None, 1:])
        by = np.where(energy > 0.0, work / np.where(energy > 0.0, energy, 1.0), 0.0).astype(np.float32)[..., None, None]
        z = self._steps(self.wx, self.wy, grid.sines, grid.rows[None, 1:] - by * q, by * own, steps, fixed=True)
        return z, self._streams(slice(1, None), steps, None)

    def _streams(self, which: slice, steps: int, begun: Vector | None) -> Single:
        from pinnpoint.transfer.operators.grid_compiled import operate, stream_load

        grid, count = self.grid, len(self.unit)
        flux = grid.single[which]
        nodes = tuple(n + 1 for n in grid.lattice.shape)
        x = np.zeros((count, len(flux), *nodes), np.float32)
        if begun is not None:
            x[:, 0] = (begun - begun.mean(axis=(1, 2), keepdims=True)) / grid.flux_scale[0]
        if not steps:
            return x
        r = np.empty_like(x)
        stream_load(self.inverse, flux, np.float32(0.5 * grid.lattice.h), r)
        if begun is not None:
            q = np.zeros_like(x)
            operate(self.vx, self.vy, x, q, False)
            r -= q
        return self._steps(self.vx, self.vy, grid.cosines, r, x, steps, fixed=False)

    @staticmethod
    def _steps(wx: Single, wy: Single, precondition: Any, r: Single, x: Single, steps: int, *, fixed: bool) -> Single:
        """Conjugate gradients from x, whose residual is r; nothing here is trusted."""
        from pinnpoint.transfer.operators.grid_compiled import advance, dots, operate, turn

        r, x = np.ascontiguousarray(r), np.ascontiguousarray(x)
        if fixed:
            r[..., [0, -1], :], r[..., :, [0, -1]] = 0.0, 0.0
        p, q = np.zeros_like(r), np.zeros_like(r)
        old = first = np.zeros(r.shape[:2])
        for k in range(steps):
            z = precondition(r)
            new = dots(r, z)
            first = new if k == 0 else first
            going = new > SMALL * first  # operators.md, step 4c
            turn(z, np.where(going & (old > 0.0), new / np.where(old > 0.0, old, 1.0), 0.0), p)
            curvature = operate(wx, wy, p, q, fixed)
            going &= curvature > 0.0
            advance(x, p, np.where(going, new / np.where(going, curvature, 1.0), 0.0), r, q, k == steps - 1)
            old = new
        return x
