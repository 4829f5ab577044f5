"""u(x₀, T) and averages of the PDE's own solution in time, from stored states and fluxes (docs/slabs.md). The proof.

On a slab every mode of the states is an equation in space: u_k with the source F_k − u̇_k, z_k with ω_k + ż_k. A stored
flux, and a stored v_k = u_k + w_k where there is a reaction or a Robin side, represent what they leave over. Nothing is
believed of how these were found: any states, fluxes and v_k give an interval, and this is it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import (
    NEUMANN,
    UNIT,
    Ball,
    Cells,
    Mesh,
    Side,
    even,
    means,
    mix,
    quadratic,
    total,
    up,
)
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.robin import FreeSide, taken
from pinnpoint_verify.slab_fits import Modes

SHARES = (0.0, 0.2, 0.35, 0.5, 0.65)
"""θ of the weights e^{−θλ(T−t)} that are tried."""


def modes_of(U: Array, count: int) -> Array:
    """Legendre modes from the two or three levels of a slab: the function is what these say (docs/slabs.md, 2a)."""
    found = np.zeros((count, U.shape[1]))
    found[1] = 0.5 * (U[-1] - U[0])
    if len(U) == 2:
        found[0] = 0.5 * (U[0] + U[1])
    else:
        bend = 0.5 * (U[0] + U[2]) - U[1]
        found[0], found[2] = U[1] + bend / 3.0, bend * (2.0 / 3.0)
    return found


class Given:
    """What stands on one side of an equation on a slab: modes of the state, v_k, fluxes, data and fluxes of these."""

    def __init__(
        self,
        state: Array,
        carried: Array | None,
        flux: Array,
        data: Modes,
        sign: float,
        loads: list[Any] | None = None,
        through: float = 0.0,
    ) -> None:
        self.state, self.carried, self.flux, self.data, self.sign = state, carried, flux, data, sign
        self.loads, self.through = loads, through  # C_Γ‖g_⊥‖, slabs.md, step 2h


class ModeSide(Side):
    """One mode of one side: δ = σ − κ∇u_k and ϱ = F_k ∓ u̇_k ∓ b·∇u_k − c(u_k + w_k) + ∇·σ."""

    def __init__(self, mesh: Mesh, given: Given, k: int, rate: Ball) -> None:
        self.mesh, self.nodal, self.t = mesh, given.state[k], given.flux[k]
        self.load = None if given.loads is None else given.loads[k]
        F = len(mesh.facets)
        loaded = np.isin(np.arange(F), [] if self.load is None else self.load.at)
        wanted = loaded | mesh.open(False)
        need(not np.any(self.t[(mesh.kind == NEUMANN) & ~wanted]), "flux: not zero on Neumann facets without data")
        self.square, self.osc, self.defect, self.facet = np.zeros((4, mesh.C))
        self.edges = self.raised = None
        d = given.data
        f = Ball(d.beta[k]) - given.sign * rate
        self.open_source = f  # before c w_k is taken from it
        self.w: Ball | None = None
        if given.carried is not None:
            v = quadratic(given.carried[k][mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]
            u = quadratic(self.nodal[mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]
            self.w = v - u
            f = f - mesh.c[:, None, None] * self.w
        self.data, self.sign = (f, d.high[k], d.e1[k], d.e2[k]), given.sign
        self.carried = self.nodal if given.carried is None else given.carried[k]

    def read(self, g: Cells) -> None:
        """The source on a range of cells, and there κ∇u_k and c u_k ± b·∇u_k."""
        f, high, e1, e2 = self.data
        self.given = self.f, self.high, self.e1, self.e2 = f[g.part], high[g.part], e1[g.part], e2[g.part]
        self.own, self.lower = (g.kappa[:, None, None] * self.slopes)[:, :, None], g.c[:, None, None] * self.b
        flow: Array | None = self.mesh.flow  # type: ignore[attr-defined]
        if flow is not None:  # slabs.md, step 8h
            along = mix("njc,c->nj", self.slopes, flow)
            self.lower = self.lower + self.sign * even(along[:, :, None] + Ball(np.zeros(self.mesh.d + 1)))

    def finish(self) -> None:
        """Means, and what the flux leaves of g − α v_k on free facets (docs/slabs.md, step 2g)."""
        mesh = self.mesh
        self.mean = mesh.cost(self.defect)
        self.rest = self.facet + mesh.convex * self.osc
        if self.load is not None or np.any(mesh.open(False)):
            state, self.nodal = self.nodal, self.carried
            left = FreeSide(self)
            self.nodal, self.mean = state, self.mean + left.means
            more = left.facet
            if len(left.cell):
                one = np.bincount(left.cell, left.cost, minlength=mesh.C)
                two = np.sqrt(np.bincount(left.cell, (np.sqrt(left.square) + left.fuzz) ** 2, minlength=mesh.C))
                more = more + np.minimum(one, two * (1.0 + 1e-12))
            self.rest = self.rest + more
        self.q, self.rest = up(np.sqrt(np.maximum(self.square, 0.0))), up(self.rest)

    def energy(self) -> tuple[float, float, float]:
        """‖D‖² but for means, what these cost in the energy, or in L² where that is infinite (docs/slabs.md, 1d)."""
        own = held(self, self)
        P = float(up(total(up((self.q + self.rest) ** 2)) + larger(float(own.m), 0.0) + float(own.r)))
        if math.isfinite(self.mean):
            return P, self.mean, 0.0
        return P, 0.0, float(up(math.sqrt(total(up(self.defect**2 / self.mesh.low)))))


def held(p: ModeSide, z: ModeSide) -> Ball:
    """∫ c w_p w_z, with ∫ α w_p w_z over Robin facets."""
    if p.w is None or z.w is None:
        return Ball(0.0)
    mesh: Any = p.mesh
    found: Ball = (mix("njk,jklm,nlm->n", p.w, means(mesh.d, 4), z.w) * mesh.volume * mesh.c).total()
    if mesh.exchange is None:
        return found
    for one, sign in ((p.carried, 1.0), (p.nodal, -1.0)):
        for two, other in ((z.carried, 1.0), (z.nodal, -1.0)):
            own, error = rim(mesh, one, two)
            found = found + (sign * other) * Ball(own.m, own.r + error)
    return found


def rim(mesh: Mesh, one: Array, two: Array) -> tuple[Ball, float]:
    """∫ α v w over the Robin facets."""
    side: Any = _State(mesh, one)
    return taken(side, two)


class _State:
    def __init__(self, mesh: Mesh, nodal: Array) -> None:
        self.mesh, self.nodal = mesh, nodal


class Tally:
    """Sums of one query over all slabs."""

    def __init__(self, steps: int) -> None:
        self.dual, self.shift, self.slip, self.cross, self.loose = np.zeros((5, steps))
        self.value, self.off = Ball(0.0), 0.0

    def add(self, value: Ball, off: float) -> None:
        """A part of the value, and what is not known of it."""
        self.value, self.off = self.value + value, float(up(self.off + off))


class Sweep:
    """A problem until the time of some queries: `slab` after `slab` is measured, then `bound` says where they are."""

    def __init__(self, mesh: Mesh, nodes: Array, levels: Array, count: int, queries: int) -> None:
        self.mesh, self.nodes, self.levels, self.count = mesh, nodes, levels, count
        N = len(nodes) - 1
        self.primal, self.loose = np.zeros((2, N))
        self.tallies = [Tally(N) for _ in range(queries)]
        least = float(mesh.c.min())
        self.friedrichs = smaller(mesh.friedrichs, float(up(1.0 / math.sqrt(least))) if least > 0.0 else math.inf)
        self.ends: list[tuple[Array, Array]] = []

    def slab(self, n: int, primal: Given, duals: list[Given]) -> None:
        """Measure a slab: P_n, Q_n, C_n, X_n and the value's part of every query (docs/slabs.md, 2f and 3a)."""
        mesh, tau = self.mesh, Ball(self.nodes[n + 1]) - self.nodes[n]
        for k in range(self.count):
            weight = tau / float(2 * k + 1)
            sides = [self._side(given, k, tau) for given in (primal, *duals)]
            work = [Ball(0.0)] * len(duals)
            both, off = [Ball(0.0)] * len(duals), [0.0] * len(duals)
            for g in mesh.parts():
                for side in sides:
                    side.measure(g)
                for i, z in enumerate(sides[1:]):
                    both[i] = both[i] + sides[0].against(z, g).total()
                    value, more = self._value(sides[0], z, duals[i].data, k, g)
                    work[i], off[i] = work[i] + value, off[i] + more
            for side in sides:
                side.finish()
            p = sides[0]
            P, F, rp = p.energy()
            size = float(up(tau.top / math.sqrt(2 * k + 1)))
            self.primal[n] += float(up(weight.top * (math.sqrt(P) + F) ** 2))
            self.loose[n] += float(up(size * rp))
            for i, z in enumerate(sides[1:]):
                tally = self.tallies[i]
                Q, G, rd = z.energy()
                tally.dual[n] += float(up(weight.top * (math.sqrt(Q) + G) ** 2))
                tally.loose[n] += float(up(size * rd))
                cross = total(up(p.q * z.rest + z.q * p.rest + p.rest * z.rest))
                cross += F * math.sqrt(Q) + G * math.sqrt(P) + F * G
                tally.cross[n] += float(up(weight.top * cross))
                shift = weight * (both[i] + held(p, z))
                tally.shift[n] += float(shift.m)
                tally.slip[n] += float(up(shift.r + 4.0 * UNIT * abs(tally.shift[n])))
                own, error = self._outside(p, z, k)
                tally.add(weight * (work[i] + own), float(up(weight.top * (off[i] + error))))
        self._rests(n, tau, primal, [given.data for given in duals])

    def _side(self, given: Given, k: int, tau: Ball) -> ModeSide:
        """With the derivative in time of what the stored modes say."""
        mesh = self.mesh
        rate = Ball(np.zeros((mesh.C, mesh.d + 1, mesh.d + 1)))
        if k < 2:
            b = quadratic(given.state[k + 1][mesh.nodes_of(mesh.cells)], mesh.d, mesh.degree)[0]
            rate = b * (Ball(2.0 if k == 0 else 6.0) / tau)
        return ModeSide(mesh, given, k, rate)

    def _value(self, p: ModeSide, z: ModeSide, omega: Modes, k: int, g: Cells) -> tuple[Ball, float]:
        """∫ ω_k u_k + (F_k − u̇_k − c u_k) z_k − κ∇u_k·∇z_k on a range of cells."""
        M, part = means(p.mesh.d, 4), g.part
        terms = mix("njk,jklm,nlm->n", p.open_source[part] - p.lower, M, z.b) - p.work(z, g)[0]
        terms = terms + mix("njk,jklm,nlm->n", omega.beta[k][part], M, p.b)
        off = p.e1 * z.b.top.max(axis=(1, 2)) + omega.e1[k][part] * p.b.top.max(axis=(1, 2))
        return (terms * g.vol).total(), total(up(off * g.vol.top))

    def _outside(self, p: ModeSide, z: ModeSide, k: int) -> tuple[Ball, float]:
        """∫ g_k z_k and −∫ α u_k z_k over the boundary."""
        value, error = p.load_on(z.nodal)
        if self.mesh.exchange is not None:
            more, wrong = taken(p, z.nodal)
            value, error = value - more, error + wrong
        return value, error

    def _rests(self, n: int, tau: Ball, primal: Given, omegas: list[Modes]) -> None:
        """What is orthogonal in time to all modes (docs/slabs.md, steps 1e and 2h)."""
        volume, C, f = self.mesh.top, self.friedrichs, primal.data
        for into, own, rest, side in (
            (self.primal, self.loose, f.rest, primal.through),
            *((t.dual, t.loose, w.rest, 0.0) for t, w in zip(self.tallies, omegas, strict=True)),
        ):
            square = float(up(tau.top * total(up(volume * rest**2))))
            if math.isfinite(C):
                into[n] += float(up((C * math.sqrt(square) + side) ** 2 * (1.0 + 1e-14)))
            else:
                into[n] += float(up(side * side))
                own[n] += float(up(math.sqrt(tau.top * square)))
        if math.isfinite(C):
            for tally, w in zip(self.tallies, omegas, strict=True):
                both = C * C * tau.top * total(up(volume * f.rest * w.rest))
                both += primal.through * C * math.sqrt(tau.top * total(up(volume * w.rest**2)))  # slabs.md, step 2h
                tally.cross[n] += float(up(both))

    def jumps(self, states: list[Array]) -> Array:
        """Upper bounds of ‖[u_h]‖ at the nodes between slabs, from the modes on both sides."""
        size = math.sqrt(total(self.mesh.top))
        signs = (-1.0) ** np.arange(self.count)
        found = np.zeros(len(states))
        for n in range(1, len(states)):
            gap = mix("kn->n", states[n - 1]) - mix("kn,k->n", states[n], signs)
            found[n] = float(up(3.0 * float(gap.top.max(initial=0.0)) * size))
        return found

    def bound(
        self, i: int, jumps: tuple[Array, Array], squares: tuple[float, float], near: float, second: float
    ) -> tuple[Ball, float, float]:
        """The value with C/2, what is not known of it, and the radius of the product theorem with its best θ.

        `squares` are ‖e(0)‖² and ‖ε(T)‖², `second` is ∫‖ω‖ in L² of what is not resolved, later than `near`.
        """
        tally, T = self.tallies[i], float(self.nodes[-1])
        loose_p, loose_d = self.loose + jumps[0], tally.loose + jumps[1]
        first = int(np.searchsorted(self.nodes, near, side="right")) - 1
        loose_d[larger(0, smaller(first, len(loose_d) - 1))] += second
        rate = 0.0 if not math.isfinite(self.friedrichs) else (1.0 - 1e-12) / self.friedrichs**2
        best: tuple[float, float] | None = None
        shift, slip = math.fsum(tally.shift.tolist()), total(tally.slip)
        for theta in SHARES if rate > 0.0 else (0.0,):
            phi = np.exp(-theta * rate * (T - self.nodes))
            slack = 1e-13 * (10.0 + theta * rate * T)
            most, least, one = phi[1:] * (1.0 + slack), phi[:-1] * (1.0 - slack), (1.0 - theta) * (1.0 - 4.0 * UNIT)
            if not least.min() > 1e-150:
                continue
            P = total(up(most**2 * self.primal)) / one + 2.0 * (phi[0] * (1.0 + slack)) ** 2 * squares[0]
            Q = total(up(tally.dual / least**2)) / one + 2.0 * squares[1]
            radius = 0.5 * (math.sqrt(P * Q) + (total(tally.cross) + slip) / one)
            rp, rd = total(up(most * loose_p)), total(up(loose_d / least))
            radius += rp * math.sqrt(0.5 * Q) + rd * math.sqrt(0.5 * P) + rp * rd
            radius = float(up(radius * (1.0 + 1e-12) + 1e-15 * abs(shift)))
            if best is None or radius < best[1]:
                best = 0.5 * shift / (1.0 - theta), radius
        assert best is not None
        return tally.value + Ball(best[0], 4.0 * UNIT * abs(best[0])), tally.off, best[1]


def states_of(bundle: Bundle, name: str, mesh: Mesh, steps: int, per_slab: int) -> Array:
    """Levels of a function in time, (levels, nodes)."""
    return bundle(name, steps * per_slab + 1, mesh.size)
