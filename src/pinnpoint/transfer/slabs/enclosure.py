"""The value of a functional of the PDE's own solution, from its states and its query's kernel, slab by slab.

The interface to problems is plain: a `Continuum` for the problem in space, the matrices M and K, a time grid with the
states at its levels, the source by slabs and the initial values as a density. Nothing of these is trusted but the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, sum_up, up
from pinnpoint.solvers.direct import factorize
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.evolution.stepper import Stepper
from pinnpoint.taylor.bernstein import Density, gram, pairs
from pinnpoint.taylor.prisms import Modes
from pinnpoint.transfer.boundary.facets import FacetLoad
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.products import paired
from pinnpoint.transfer.heat_kernel.modes import KernelModes, Weights
from pinnpoint.transfer.slabs.averages import Average
from pinnpoint.transfer.slabs.data import Source
from pinnpoint.transfer.slabs.fluxes import Fluxes
from pinnpoint.transfer.slabs.measured import Meter, Part, Tally
from pinnpoint.transfer.slabs.states import Motion, slab_modes
from pinnpoint.transfer.slabs.theorem import Sums, product_bound

Asked = KernelModes | Average
"""What is asked, as a functional that is bounded."""
BATCH = 3_000_000
"""Coefficients of sources held at once."""


def at_a_time(cells: int, d: int, modes: int, queries: int) -> int:
    """Slabs whose fluxes are made together."""
    return max(1, BATCH // (cells * len(pairs(d)) * modes * (queries + 1)))


def held_at_once(cells: int, d: int, modes: int, queries: int, slabs: int) -> int:
    """Coefficients of sources that are held together."""
    return min(slabs, at_a_time(cells, d, modes, queries)) * cells * len(pairs(d)) * modes * (queries + 1)


@dataclass(eq=False)
class Record:
    """What proves the values of some queries: dual states, and u_k + w_k and fluxes of every slab, part and mode.

    Attributes
    ----------
    carried, flux
        (parts, slabs · modes, n) and (parts, slabs · modes, F, 1 or d), the primal first.
    duals
        (levels, n, queries), forward in time.
    """

    carried: Vector
    flux: Vector
    duals: Vector

    __repr__ = brief

    def keep(self, slabs: Sequence[int], carried: Vector, flux: Vector) -> None:
        """Put what was found together for some slabs into its place."""
        parts, per = len(self.flux), len(carried) // (len(slabs) * len(self.flux))
        for i, s in enumerate(slabs):
            for part in range(parts):
                at, to = slice((i * parts + part) * per, (i * parts + part + 1) * per), slice(s * per, (s + 1) * per)
                self.carried[part, to] = carried[at]
                self.flux[part, to] = np.moveaxis(flux[..., at], -1, 0)


@dataclass(frozen=True)
class Found:
    """A value: centre, and what its radius is made of."""

    center: float
    transfer: float
    quadrature: float
    rounding: float
    theta: float
    parts: tuple[float, float]
    """P′ and Q′."""

    def rescaled(self, slack: float) -> Found:
        """The value of a functional that is known but for a factor 1 ± slack."""
        size = abs(self.center) + self.transfer + self.quadrature + self.rounding
        return replace(self, rounding=float(up(self.rounding + 2.0 * slack * size, 8)))


@dataclass(frozen=True, eq=False)
class Slabs:
    """A problem in time until the time of its queries.

    Attributes
    ----------
    stepper
        M, K, the grid and the free entries.
    levels
        States at the grid's levels, (levels, n): any that have the boundary values.
    source
        f.
    initial
        u₀ on the cells.
    fluxes
        Prescribed fluxes.
    energy
        The matrix of κ∇v·∇w + m v w, m the least of c − ½∇·b on each cell, with the Robin facets' part; none where
        that is the stepper's K.
    """

    model: Continuum
    stepper: Stepper
    levels: Vector
    source: Source
    initial: Density
    fluxes: Fluxes | None
    count: int
    energy: Any = None

    __repr__ = brief

    @property
    def grid(self) -> TimeGrid:
        """Until the queries' time."""
        return self.stepper.grid

    @cached_property
    def meter(self) -> Meter:
        """The estimator, with solves in space."""
        free, K = self.stepper.free, sp.csr_array(self.stepper.K)
        own, S = slice(None) if free is None else free, K if self.energy is None else sp.csr_array(self.energy)
        inner = S if free is None else sp.csr_array(S[free][:, free])
        loose = not math.isfinite(float(self.model.anchors.reach.max()))
        if loose:  # constants have no energy: any w will do, and this one is found
            M = sp.csr_array(self.stepper.M)
            inner = sp.csr_array(inner + 1e-6 / self.grid.end * (M if free is None else M[free][:, free]))
        solver = factorize(inner)

        def solve(rho: Vector) -> Vector:
            w = np.zeros_like(rho)
            w[own] = solver.solve(np.ascontiguousarray(rho[own]))
            return w

        return Meter(self.model, solve, lambda v: np.asarray(K @ v), lambda v: np.asarray(K.T @ v), self.count)

    @cached_property
    def motion(self) -> Motion:
        """u_h."""
        return Motion(self.grid, self.levels)

    def enclose(self, asked: Sequence[Asked], record: Record | None = None) -> list[Found]:
        """The values of the queries with these kernels and weights; a record keeps what proves them."""
        grid, n, Q = self.grid, self.levels.shape[1], len(asked)
        steps, meter = grid.steps, self.meter
        back = self.stepper.dual()
        Z = np.zeros((grid.levels.size, n, Q))
        primal, loose = np.zeros(steps), np.zeros(steps)
        tallies: list[list[Tally]] = [[] for _ in range(steps)]
        waiting: list[tuple[int, list[Modes], Modes]] = []
        data = [_Data() for _ in asked]
        most = at_a_time(len(self.model.topology.cells), self.model.d, self.count, Q)

        def flush() -> None:
            groups = [(float(grid.lengths[s]), self._parts(s, f, given, Z, steps)) for s, given, f in waiting]
            keep = None if record is None else partial(record.keep, [s for s, _, _ in waiting])
            every = meter.slabs(groups, steps * self.count * (Q + 1), keep)
            for (s, _, _), (P, r, own) in zip(waiting, every, strict=True):
                primal[s], loose[s], tallies[s] = P, r, own
            waiting.clear()

        def load(reversed_slab: int) -> Vector:
            if len(waiting) >= most:
                flush()
            s = steps - 1 - reversed_slab
            f = self.source.slab(s)
            given = [self._query(one, s, f, data[i]) for i, one in enumerate(asked)]
            waiting.append((s, given, f))
            tau, rows = float(grid.lengths[s]), []
            for r in range(grid.per_slab):
                vectors = [self.model.vector(w.mode(r), None) for w in given]
                rows.append((-1.0) ** r * tau / (2 * r + 1) * np.stack(vectors, axis=1))
            return np.stack(rows)

        back.forward(np.stack([self._last(one) for one in asked], axis=1), load, None, Z)
        flush()
        if record is not None:
            record.duals = Z[::-1]
        return [self._found(i, one, Z[:, :, i], primal, loose, tallies, data[i]) for i, one in enumerate(asked)]

    @cached_property
    def _mass(self) -> Solver:
        free, M = self.stepper.free, sp.csr_array(self.stepper.M)
        return factorize(M if free is None else sp.csr_array(M[free][:, free]))

    def _last(self, asked: Asked) -> Vector:
        """z_h(T): the L² projection of ψ, or zero."""
        z, free = np.zeros(self.levels.shape[1]), self.stepper.free
        if isinstance(asked, Average) and asked.final is not None:
            own = slice(None) if free is None else free
            z[own] = self._mass.solve(np.ascontiguousarray(self.model.vector(asked.final, None)[own]))
        return z

    def _query(self, kernel: Asked, slab: int, f: Modes, data: _Data) -> Modes:
        """ω on a slab; ∫∫fΨ is added to the data."""
        start, end = float(self.grid.nodes[slab]), float(self.grid.nodes[slab + 1])
        if isinstance(kernel, Average):
            return kernel.slab(start, len(self.model.topology.cells), self.model.d)
        weighed = kernel.kernel.spread > 0.0 and kernel.kernel.reaction > 0.0
        two = kernel.slab(start, end, alone=self.source.vanishes and not weighed)
        C = len(self.model.topology.cells)
        if two is None:
            return Modes.zero(self.count, C, self.model.d)
        if kernel.kernel.spread > 0.0:
            data.weigh(self.meter.volumes, self.model.topology.volumes, float(self.grid.lengths[slab]), kernel, two)
        if not self.source.vanishes:
            self._pair(f, two.psi, float(self.grid.lengths[slab]), data)
        return two.omega

    def _pair(self, f: Modes, psi: Modes, tau: float, data: _Data) -> None:
        """∫∫ f Ψ over a slab."""
        T, slack = self.model.topology, self.model.anchors.slack
        volumes = self.meter.volumes
        for k in range(self.count):
            weight = tau / (2 * k + 1)
            one, two = f.mode(k), psi.mode(k)
            top = np.asarray(up(np.abs(one.coefficients).max(axis=1)))
            value, off, unknown = paired(one, top, two, T.volumes, slack)  # slabs.md, step 4e
            beyond = sum_up(up(volumes * (one.high + one.error2) * two.error2, 8))  # f is known there in L² only
            data.value.append(weight * value)
            data.rounding = float(up(data.rounding + weight * (off + 1e-15 * abs(value)), 8))
            data.unknown = float(up(data.unknown + weight * (unknown + beyond), 8))
        both = sum_up(up(volumes * f.rest * psi.rest, 8))
        data.unknown = float(up(data.unknown + tau * both, 8))

    def _parts(self, slab: int, f: Modes, given: Sequence[Modes], Z: Vector, steps: int) -> list[Part]:
        """The primal and the dual sides of a slab."""
        m = self.grid.per_slab
        u, rate = self.motion.modes(slab, self.count)
        none: list[FacetLoad | None] = [None] * self.count
        loads, through = (none, 0.0) if self.fluxes is None else self.fluxes.slab(slab)
        parts = [Part(u, f, rate, loads, through=through)]
        own = slice((steps - 1 - slab) * m, (steps - slab) * m + 1)
        for i, w in enumerate(given):
            z, dz = slab_modes(Z[own, :, i][::-1], float(self.grid.lengths[slab]), self.count)
            parts.append(Part(z, w, -dz, none, transposed=True))  # slabs.md, step 3a
        return parts

    @cached_property
    def _start(self) -> tuple[Density, float]:
        """e₀ = u₀ − u_h(0), and an upper bound of ‖e₀‖²."""
        return self._gap(self.initial, self.levels[0])

    def _gap(self, f: Density, state: Vector) -> tuple[Density, float]:
        """What a state leaves of a function, and an upper bound of its square in L²."""
        beta = self.meter.density(state)
        blur = gamma(24) * (np.abs(beta).max(axis=1) * 3.0 + np.abs(f.coefficients).max(axis=1))
        gap = f.coefficients - beta
        e = Density(gap, f.high, up(f.error1 + blur), up(f.error2 + blur), proved=f.proved)
        square = np.maximum(np.einsum("cp,pq,cq->c", gap, gram(self.model.d), gap, optimize=True), 0.0)
        square = square + gamma(80) * np.abs(gap).max(axis=1) ** 2 + f.high**2
        size = sum_up(up(self.meter.volumes * (np.sqrt(square) + e.error2) ** 2, 32))
        return e, size

    def _found(
        self,
        i: int,
        asked: Asked,
        Z: Vector,
        primal: Vector,
        loose: Vector,
        tallies: list[list[Tally]],
        data: _Data,
    ) -> Found:
        own, top = [row[i] for row in tallies], float(np.abs(Z).max())
        e0, initial = self._start
        beginning, off, unknown = self.meter.against(e0, Z[-1])  # slabs.md, step 3a
        volume = float(sum_up(self.meter.volumes))
        jump_p, jump_d = self.motion.jump(volume), float(up(4.0 * gamma(24) * top * math.sqrt(volume), 8))
        last, final = self._ending(asked, Z[0], jump_d)
        loose_dual = np.array([t.loose for t in own]) + jump_d
        near = spread = first = 0.0
        if isinstance(asked, KernelModes):
            first, second = asked.unresolved
            earliest = int(np.searchsorted(self.grid.nodes, asked.time - asked.start, side="right")) - 1
            loose_dual[max(0, min(earliest, len(own) - 1))] += second  # slabs.md, step 4d
            near, spread = data.early(asked, self.source)
        else:
            top = max(top, asked.top)
        dual_top = top * (1.0 if self.grid.per_slab == 1 else 9.0)
        sums = Sums(
            primal,
            np.array([t.dual for t in own]),
            np.array([t.shift for t in own]),
            np.array([t.slip for t in own]),
            np.array([t.cross for t in own]),
            np.asarray(up(loose + 2.0 * jump_p)),
            np.asarray(up(loose_dual)),
            initial,
            final,
        )
        shift, radius, theta = product_bound(sums, self.grid.nodes, self._eigenvalue, self.model.growth)
        values = [x for t in own for x in t.value] + [beginning, shift, near, last[0], *data.value]
        center = math.fsum(values)  # slabs.md, step 1a
        rounding = sum(t.rounding for t in own) + off + last[1] + data.rounding
        rounding += 4.0 * UNIT * (abs(center) + abs(shift))
        # jumps of rounding between slabs, at z_h and at u_h
        rounding += (len(own) + 1) * math.sqrt(volume) * (2.0 * jump_p * dual_top + jump_d * self.motion.top())
        quadrature = sum(t.data for t in own) + unknown + last[2] + data.unknown + spread + first * self.motion.top()
        P = float(primal.sum() + 2.0 * initial)
        Q = float(sums.dual.sum() + 2.0 * final)
        found = Found(center, radius, float(up(quadrature, 64)), float(up(rounding, 64)), theta, (P, Q))
        if isinstance(asked, Average):
            return found.rescaled(asked.slack)
        return found if asked.kernel.spread == 0.0 else data.divided(found)

    def _ending(self, asked: Asked, z: Vector, jump: float) -> tuple[tuple[float, float, float], float]:
        """∫ ψ u_h(T) with its rounding and what is not known of it, and an upper bound of ‖ψ − z_h(T)‖²."""
        if not isinstance(asked, Average) or asked.final is None:
            return (0.0, 0.0, 0.0), 0.0
        square = self._gap(asked.final, z)[1]  # slabs.md, step 4g
        return self.meter.against(asked.final, self.levels[-1]), float(up((math.sqrt(square) + jump) ** 2, 8))

    @property
    def _eigenvalue(self) -> float:
        """A lower bound of the smallest eigenvalue of A."""
        C = self.meter.friedrichs
        if not math.isfinite(C):
            return 0.0
        return float(1.0 / up((C * self.model.growth) ** 2, 8)) * (1.0 - 1e-12)  # slabs.md, step 3b


class _Data:
    """∫∫ f Ψ of one query."""

    def __init__(self) -> None:
        self.value: list[float] = []
        self.rounding, self.unknown = 0.0, 0.0
        self.mass: list[float] = []
        self.mass_error = 0.0

    def weigh(self, above: Vector, volumes: Vector, tau: float, kernel: KernelModes, found: Weights) -> None:
        """Add a slab to ∫∫ω + c∫∫Ψ, which is the integral of the weight at T: u = 1 solves the problem with f = c."""
        for factor, w in ((1.0, found.plain), (kernel.kernel.reaction, found.psi)):
            each = w.coefficients[0].mean(axis=1) * volumes  # slabs.md, step 4f
            self.mass.append(factor * tau * math.fsum(each.tolist()))
            blur = w.error1[0] + (gamma(16) + 1e-14) * np.abs(w.coefficients[0]).max(axis=1)
            self.mass_error = float(up(self.mass_error + factor * tau * sum_up(up(above * blur, 8)), 8))

    def divided(self, found: Found) -> Found:
        """The value divided by the integral of the weight."""
        mass = math.fsum(self.mass)
        off = float(up(self.mass_error + 4.0 * UNIT * abs(mass)))
        if not mass > 2.0 * off:
            return replace(found, transfer=math.inf)
        least = float(down(mass - off))
        center = found.center / mass
        rounding = up(found.rounding / least + 4.0 * UNIT * abs(center))
        quadrature = up(found.quadrature / least + abs(center) * off / least)
        return replace(
            found,
            center=center,
            transfer=float(up(found.transfer / least)),
            quadrature=float(quadrature),
            rounding=float(rounding),
        )

    def early(self, kernel: KernelModes, source: Source) -> tuple[float, float]:
        """∫∫ f Ψ over s < start: centre and radius, from f about the point; by its range where it has kinks there."""
        s, own = kernel.start, kernel.kernel
        if source.vanishes or s == 0.0:
            return 0.0, 0.0
        begin = max(0.0, kernel.time - s)
        low, high = source.range(kernel.reached(), begin, kernel.time)
        far = max(abs(x) for x in source.range(kernel.leaves.cells, begin, kernel.time))
        width = 12.0 * math.sqrt(own.kappa * s) * (1.0 + 1e-12)
        turned = own.carried if own.carried is not None and own.carried.turned else None
        if turned is not None:  # slabs.md, step 7g: f is multiplied by E
            grown = math.exp(min(700.0, turned.steep * kernel.reach))
            low, high = min(low * grown, low / grown), max(high * grown, high / grown)
            far *= math.exp(min(700.0, turned.steep * own.radius))
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        known = width <= own.radius
        found = source.about(own.center, kernel.reached(), width, begin, kernel.time, turned) if known else None
        if found is not None and found[1] < half:
            middle, half = found
        tail = math.exp(-18.0) * 2.0 ** (own.d / 2)  # of the Gaussian beyond the cells that it reaches
        spread = s * (half + abs(middle) * own.lost(s) + (far + abs(middle)) * tail)
        return s * middle, float(up(spread, 64))  # slabs.md, step 4e
