"""Instances on squares cut in two: sine and cosine transforms are the reference's inverse, fields are in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.operators.any_mesh import Sums, joined
from pinnpoint.transfer.operators.particular import Geometry, Particular
from pinnpoint.transfer.operators.sums import StateSums

Single = NDArray[np.float32]
PRODUCTS = 160
"""Up to so many squares along an axis, products with the matrices of sines and cosines beat fast transforms."""
TOGETHER, CHUNK = 2**17, (16, 4)
"""Nodes of all instances whose fields stay in the caches together, and instances at most: without and with duals."""
SMALL = 1e-12
"""A field's steps end where its rᵀz has fallen this far, in float32."""
WORTH = 1e-9
"""Meshes whose lines are further from even than this, against their spacing, count as any triangulation."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """A mesh that is a lattice of squares, each cut from its low corner to its high one.

    Attributes
    ----------
    shape
        Squares along x and y.
    h
        Their nominal side.
    uneven
        Upper bound of the relative distance of true differences of coordinates from h.
    """

    shape: tuple[int, int]
    h: float
    uneven: float

    __repr__ = brief

    @classmethod
    def of(cls, topology: Topology) -> Lattice | None:
        """The lattice of a mesh, or None where it is none."""
        X, cells = topology.points, topology.cells
        x, y = np.unique(X[:, 0]), np.unique(X[:, 1])
        nx, ny = len(x) - 1, len(y) - 1
        if min(nx, ny) < 2 or len(X) != (nx + 1) * (ny + 1) or len(cells) != 2 * nx * ny:
            return None
        if not (np.array_equal(X[:, 0], np.repeat(x, ny + 1)) and np.array_equal(X[:, 1], np.tile(y, nx + 1))):
            return None
        if not np.array_equal(cells, expected_cells(nx, ny)):
            return None
        h = float((x[-1] - x[0]) / nx)
        away = max(float(np.abs(np.diff(x) - h).max()), float(np.abs(np.diff(y) - h).max())) / h
        uneven = away * (1.0 + 1e-9) + 2.0**-50  # operators.md, step 5e
        return cls((nx, ny), h, uneven) if uneven < WORTH else None


def expected_cells(nx: int, ny: int) -> Index:
    """Sorted vertices of the triangles of all squares, lower and upper in turn."""
    low = (np.arange(nx)[:, None] * (ny + 1) + np.arange(ny)[None, :]).ravel()
    lower = np.stack([low, low + ny + 1, low + ny + 2], axis=1)
    upper = np.stack([low, low + 1, low + ny + 2], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)


class Diagonal:
    """M D M on both axes, D a diagonal, by matrices M whose rows and columns are even or odd about the middle.

    Folded there, each product is two of half the size.
    """

    inverse: Single
    matrices: tuple[Any, ...] = ()

    def halved(self, matrices: Sequence[Vector], even: Sequence[Any]) -> None:
        """Keep the halves: forward on each axis, then backward, and D in the order of waves that they give."""
        order, parts = [], []
        for M, yes in zip(matrices, even, strict=True):
            order.append(np.concatenate([np.flatnonzero(yes), np.flatnonzero(~yes)]))
            few = len(M) // 2
            most = len(M) - few
            forward = M[yes][:, :most], M[~yes][:, :few]
            parts.append((*forward, M[:most][:, yes], M[:few][:, ~yes], most))
        self.inverse = np.ascontiguousarray(self.inverse[np.ix_(*order)])
        self.matrices = tuple(
            tuple(np.ascontiguousarray(p, dtype=np.float32) if isinstance(p, np.ndarray) else p for p in part)
            for part in parts
        )

    def product(self, fields: Single) -> None:
        """Applied to fields in place."""
        from pinnpoint.transfer.operators.grid_compiled import fold, unfold

        x, y = self.matrices
        a, b = np.empty_like(fields), np.empty_like(fields)
        fold(fields, a)
        for way in (0, 2):
            np.matmul(x[way], a[..., : x[4], :], out=b[..., : x[4], :])
            np.matmul(x[way + 1], a[..., x[4] :, :], out=b[..., x[4] :, :])
            np.matmul(b[..., : y[4]], y[way].T, out=a[..., : y[4]])
            np.matmul(b[..., y[4] :], y[way + 1].T, out=a[..., y[4] :])
            if way == 0:
                a *= self.inverse
        unfold(a, fields)


class Sines(Diagonal):
    """The inverse of the 5-point matrix on interior nodes, for fields (I, m, nx + 1, ny + 1) in float32."""

    def __init__(self, nx: int, ny: int) -> None:
        waves = [np.arange(1, n) for n in (nx, ny)]
        lx, ly = (2.0 - 2.0 * np.cos(np.pi * k / n) for k, n in zip(waves, (nx, ny), strict=True))
        self.inverse = (1.0 / ((lx[:, None] + ly[None, :]) * (4.0 * nx * ny))).astype(np.float32)
        if max(nx, ny) <= PRODUCTS:
            matrices = [2.0 * np.sin(np.pi * np.outer(k, k) / n) for k, n in zip(waves, (nx, ny), strict=True)]
            self.halved(matrices, [k % 2 == 1 for k in waves])

    def __call__(self, r: Single) -> Single:
        """Applied to fields."""
        z = np.zeros_like(r)
        inner = np.ascontiguousarray(r[..., 1:-1, 1:-1])
        if self.matrices:
            self.product(inner)
            z[..., 1:-1, 1:-1] = inner
            return z
        across = scipy.fft.dstn(inner, type=1, axes=(-2, -1), overwrite_x=True)
        across *= self.inverse
        z[..., 1:-1, 1:-1] = scipy.fft.dstn(across, type=1, axes=(-2, -1), overwrite_x=True)
        return z


class Cosines(Diagonal):
    """The pseudo-inverse of the natural 5-point matrix on all nodes."""

    def __init__(self, nx: int, ny: int) -> None:
        waves = [np.arange(n + 1) for n in (nx, ny)]
        lx, ly = (2.0 - 2.0 * np.cos(np.pi * k / n) for k, n in zip(waves, (nx, ny), strict=True))
        total = lx[:, None] + ly[None, :]
        total[0, 0] = 1.0
        inverse = 1.0 / (total * (4.0 * nx * ny))
        inverse[0, 0] = 0.0
        self.inverse = inverse.astype(np.float32)
        ends = [np.where((k == 0) | (k == k[-1]), 2.0, 1.0) for k in waves]
        self.ends = (ends[0][:, None] * ends[1][None, :]).astype(np.float32)
        if max(nx, ny) <= PRODUCTS:
            both = zip(waves, (nx, ny), ends, strict=True)
            matrices = [np.cos(np.pi * np.outer(k, k) / n) * (2.0 / e) for k, n, e in both]
            self.halved(matrices, [k % 2 == 0 for k in waves])

    def __call__(self, r: Single) -> Single:
        """Applied to fields."""
        across = r * self.ends
        if self.matrices:
            self.product(across)
            return np.asarray(across)
        across = scipy.fft.dctn(across, type=1, axes=(-2, -1), overwrite_x=True)
        across *= self.inverse
        return np.asarray(scipy.fft.dctn(across, type=1, axes=(-2, -1), overwrite_x=True))


def power(x: Any) -> Any:
    """The power of two next to positive numbers: products with it are exact."""
    return np.exp2(np.round(np.log2(np.maximum(x, 1e-300))))


@dataclass(frozen=True, eq=False)
class Grid:
    """Steps and sums on a lattice whose whole boundary is held at zero.

    Attributes
    ----------
    loads
        The primal one, then one a query with a dual.
    rows, states
        Of the loads and the reference κ = 1, in float32 and to the scales `row_scale` and `state_scale`.
    fluxes, single, flux_scale
        Values at centroids, (1 + Q, 2 triangles, 2, nx, ny), and the same in float32 to a scale.
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

    __repr__ = brief

    @classmethod
    def of(cls, lattice: Lattice, geometry: Geometry, loads: tuple[Particular, ...], states: Vector) -> Grid:
        """From loads and reference states (N, 1 + Q)."""
        nx, ny = lattice.shape
        nodes, m = (nx + 1, ny + 1), len(loads)
        rows = np.stack([p.row.reshape(nodes) for p in loads])
        rows[:, [0, -1]], rows[:, :, [0, -1]] = 0.0, 0.0
        fluxes = np.stack([np.moveaxis(p.flux.reshape(nx, ny, 2, 2), (2, 3), (0, 1)) for p in loads])
        row_scale = power(np.abs(rows).max(axis=(1, 2)))
        flux_scale = power(np.abs(fluxes).max(axis=(1, 2, 3, 4)))
        start = np.ascontiguousarray(states.T).reshape(m, *nodes)
        return cls(
            lattice,
            geometry,
            loads,
            (rows / row_scale[:, None, None]).astype(np.float32),
            row_scale,
            (start / row_scale[:, None, None]).astype(np.float32),
            fluxes,
            (fluxes / flux_scale[:, None, None, None, None]).astype(np.float32),
            flux_scale,
            Sines(nx, ny),
            Cosines(nx, ny),
            np.stack([p.row for p in loads], axis=1),
        )

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
