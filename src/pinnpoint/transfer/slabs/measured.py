"""What states and data leave over on the slabs: every mode of every slab through the estimator in space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.taylor.prisms import Modes
from pinnpoint.transfer.boundary.facets import FacetLoad
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.cells import COUNT
from pinnpoint.transfer.energy.estimator import Bounds, Pair, Side
from pinnpoint.transfer.energy.products import LOOSE, paired
from pinnpoint.transfer.flux.patches import first_moments
from pinnpoint.transfer.slabs.fluxes import trace_constant
from pinnpoint.transfer.slabs.linear import LinearCells, largest

Solve = Callable[[Vector], Vector]
Keep = Callable[[Vector, Vector], None]


@dataclass(frozen=True, eq=False)
class Part:
    """One side on one slab: modes of the state and of the rest of its equation.

    Attributes
    ----------
    state
        u_k, (count, n).
    given
        Modes of f (or ω).
    rate
        Modes of u_t (or of −z_t), (count, n).
    loads
        Prescribed fluxes of each mode.
    transposed
        Whether the operator is the transposed one, as for dual states.
    through
        Upper bound of ‖g_⊥‖ over Γ × I, of what prescribed fluxes are beyond the modes.
    """

    state: Vector
    given: Modes
    rate: Vector
    loads: Sequence[FacetLoad | None]
    transposed: bool = False
    through: float = 0.0


@dataclass(eq=False)
class Tally:
    """Sums of one slab for one query."""

    dual: float = 0.0
    shift: float = 0.0
    slip: float = 0.0
    cross: float = 0.0
    loose: float = 0.0
    value: list[float] = field(default_factory=list)
    rounding: float = 0.0
    data: float = 0.0

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Meter:
    """The estimator of one problem in space, for modes.

    Attributes
    ----------
    solve
        ϱ (n, m) ↦ w with a_s(w, ·) ≈ ϱ; any w will do.
    apply, transpose
        v (n, m) ↦ B(v, ·) and B(·, v).
    count
        Modes on a slab.
    """

    model: Continuum
    solve: Solve
    apply: Solve
    transpose: Solve
    count: int

    __repr__ = brief

    @cached_property
    def volumes(self) -> Vector:
        """Upper bounds of |K|."""
        return np.asarray(up(self.model.topology.volumes * (1.0 + self.model.anchors.slack), 4))

    def density(self, v: Vector) -> Vector:
        """Bernstein coefficients of a state on all cells."""
        return bernstein(v[self.model.cell_nodes], self.model.d, self.model.degree)

    def sources(self, parts: Sequence[Part]) -> list[list[Density]]:
        """F_k − u̇_k of every part and mode."""
        found = []
        for part in parts:
            row = []
            for k in range(self.count):
                f, rate = part.given.mode(k), self.density(part.rate[k])
                blur = gamma(24) * (largest(rate) * 3.0 + largest(f.coefficients))
                row.append(
                    Density(f.coefficients - rate, f.high, up(f.error1 + blur), up(f.error2 + blur))
                )  # slabs.md, step 2c
            found.append(row)
        return found

    def slabs(
        self, groups: Sequence[tuple[float, Sequence[Part]]], columns: int = 0, keep: Keep | None = None
    ) -> list[tuple[float, float, list[Tally]]]:
        """P_n, r_p and a tally for each query, for slabs given by τ and their parts, the primal first.

        `columns` is how many modes of how many parts there are on all slabs. `keep` is given u_k + w_k and the fluxes
        of all slabs, parts and modes, in this order.
        """
        parts = [part for _, own in groups for part in own]
        sources = self.sources(parts)
        states = np.concatenate([part.state for part in parts])
        w = self._corrections(parts, sources, states)
        flux = self._fluxes(parts, [f for row in sources for f in row], w, columns)
        if keep is not None:
            keep(states + w, flux)
        found, at = [], 0
        for tau, own in groups:
            n = len(own)
            here = slice(at * self.count, (at + n) * self.count)
            corrections = w[here].reshape(n, self.count, -1)
            found.append(self._slab(tau, own, sources[at : at + n], corrections, flux[..., here]))
            at += n
        return found

    def _fluxes(self, parts: Sequence[Part], sources: Sequence[Density], w: Vector, columns: int) -> Vector:
        """σ_k of every part and mode, (F, 1 or d, parts · count)."""
        model, states = self.model, np.concatenate([part.state for part in parts])
        asked = [self._asked(p, k, w[i * self.count + k]) for i, p in enumerate(parts) for k in range(self.count)]
        if model.medium is None:
            return model.fluxes(states + w, sources, asked, columns=columns)
        turned = np.repeat([part.transposed for part in parts], self.count)
        found = None
        for transposed in np.unique(turned).tolist():
            own = np.flatnonzero(turned == transposed)
            some = [sources[i] for i in own.tolist()], [asked[i] for i in own.tolist()]
            flux = model.fluxes(states[own], *some, transposed=transposed, more=w[own])  # slabs.md, step 7b
            found = np.empty((*flux.shape[:-1], len(turned))) if found is None else found
            found[..., own] = flux
        assert found is not None
        return found

    def _asked(self, part: Part, k: int, w: Vector) -> FacetLoad | None:
        """The flux that u_k and w_k ask for: g − α(u_k + w_k) on Robin facets, of a dual less b·n z_k."""
        E, model, load = self.model.exchange, self.model, part.loads[k]
        if part.transposed:
            carried = model.carried(part.state[k], load)  # slabs.md, step 7c
            load = load if carried is None else carried
        return load if E is None else E.wanted(load, part.state[k] + w, model.degree)  # slabs.md, step 2g

    def _corrections(self, parts: Sequence[Part], sources: list[list[Density]], states: Vector) -> Vector:
        """w_k of every part and mode, (parts · count, n)."""
        loads = [g for part in parts for g in part.loads]
        vectors = [self.model.vector(f, g) for f, g in zip([f for row in sources for f in row], loads, strict=True)]
        rho = np.stack(vectors, axis=1)
        for i, part in enumerate(parts):
            own = slice(i * self.count, (i + 1) * self.count)
            apply = self.transpose if part.transposed else self.apply
            rho[:, own] -= apply(np.ascontiguousarray(states[own].T))
        return np.ascontiguousarray(self.solve(rho).T)  # slabs.md, step 2d

    def _side(self, part: Part, k: int, f: Density, w: Vector, flux: Vector) -> Side:
        c = self.model.reaction
        if np.any(c):  # slabs.md, step 2e
            own = self.density(w)
            blur = gamma(24) * c * np.abs(own).max(axis=1)
            f = Density(f.coefficients - c[:, None] * own, f.high, up(f.error1 + blur), up(f.error2 + blur))
        load, wanted = part.loads[k], self._asked(part, k, w)
        wanted = None if wanted is load else wanted
        return Side(part.state[k], f, flux, load, transposed=part.transposed, wanted=wanted)

    def _slab(
        self, tau: float, parts: Sequence[Part], sources: list[list[Density]], w: Vector, flux: Vector
    ) -> tuple[float, float, list[Tally]]:
        primal, loose = 0.0, 0.0
        tallies = [Tally() for _ in parts[1:]]
        for k in range(self.count):
            weight = tau / (2 * k + 1)
            sides = [
                self._side(part, k, sources[i][k], w[i, k], flux[..., i * self.count + k])
                for i, part in enumerate(parts)
            ]
            bounds, pairs = self._measure(sides[0], sides[1:])
            p = self._each(bounds)
            # slabs.md, step 1b
            P, F, rp = self._square(p, bounds, w[0, k])
            primal += float(up(weight * up(math.sqrt(P) + F) ** 2, 8))  # slabs.md, step 2f
            loose += float(up(tau / math.sqrt(2 * k + 1) * rp, 8))
            for i, (tally, pair) in enumerate(zip(tallies, pairs, strict=True)):
                q = self._each(pair.dual)
                Q, G, rd = self._square(q, pair.dual, w[i + 1, k])
                tally.dual += float(up(weight * up(math.sqrt(Q) + G) ** 2, 8))
                tally.loose += float(up(tau / math.sqrt(2 * k + 1) * rd, 8))
                both_ways = p[0] * q[1] + q[0] * p[1] + p[1] * q[1] + bounds.high * pair.dual.high
                cross = sum_up(up(both_ways, 16))  # slabs.md, step 2f
                cross = up(cross + F * math.sqrt(Q) + G * math.sqrt(P) + F * G, 16)
                slip = sum_up(up(4.0 * (self.model.anchors.slack + gamma(COUNT)) * bounds.size * pair.dual.size, 8))
                both, off = self.mass(w[0, k], w[i + 1, k])
                tally.cross += float(up(weight * cross))
                tally.shift += weight * (math.fsum(pair.product.tolist()) + both)
                tally.slip += float(up(weight * (slip + off) + 1e-15 * abs(tally.shift)))
                self._value(tally, weight, k, pair.value, pair.rounding, pair.data, parts, w, i)
        self._rest(tau, parts, tallies)
        more, extra = self._left(tau, parts[0])
        return float(up(primal + more)), float(up(loose + extra)), tallies

    @cached_property
    def _linear(self) -> LinearCells | None:
        """The quick way through the cells, for linear elements in two dimensions and three."""
        plain = self.model.medium is None and self.model.degree == 1
        return LinearCells(self.model.estimator) if plain and self.model.d > 1 else None

    def _measure(self, primal: Side, duals: Sequence[Side]) -> tuple[Bounds, list[Pair]]:
        if self._linear is not None:
            return self._linear.measure(primal, duals)
        return self.model.estimator.measure(primal, [(side, 1.0, False) for side in duals])

    def _value(
        self,
        tally: Tally,
        weight: float,
        k: int,
        value: float,
        rounding: float,
        data: float,
        parts: Sequence[Part],
        w: Vector,
        i: int,
    ) -> None:
        """∫ω_k u_k, the residual of u_k at z_k, and c w_k z_k that was taken from its source."""
        u, z = parts[0].state[k], parts[i + 1].state[k]
        given, off, unknown = self.against(parts[i + 1].given.mode(k), u)
        back, wrong = self.mass(w[0, k], z)
        tally.value += [weight * given, weight * value, weight * back]  # slabs.md, step 3a
        size = abs(given) + abs(value) + abs(back)
        tally.rounding += float(up(weight * (rounding + off + wrong + 1e-15 * size), 8))
        tally.data += float(up(weight * (data + unknown), 8))

    def against(self, f: Density, v: Vector) -> tuple[float, float, float]:
        """∫ f v_h, its rounding and what is not known of it."""
        own = v[self.model.cell_nodes]
        if self.model.degree == 1:
            return self._against_linear(f, own)
        beta, blur = self.density(v), gamma(16) * np.abs(own).max(axis=1)
        state = Density(beta, np.zeros(len(beta)), blur, blur)
        top = np.asarray(up(np.abs(beta).max(axis=1) + blur))
        return paired(state, top, f, self.model.topology.volumes, self.model.anchors.slack)

    def _against_linear(self, f: Density, own: Vector) -> tuple[float, float, float]:
        """The same for linear elements, from their values at the vertices."""
        topology, slack = self.model.topology, self.model.anchors.slack
        value = np.einsum("na,na->n", f.coefficients @ first_moments(self.model.d).T, own) * topology.volumes
        top, size, above = largest(own), largest(f.coefficients), self.volumes
        wrong = 3.0 * (slack + LOOSE) * size * top * above  # continuous.md, step 8f
        loose = f.error1 * top * above  # continuous.md, step 8a
        total = math.fsum(value.tolist())
        return total, float(up(sum_up(up(wrong, 16)) + 2.0 * UNIT * abs(total))), sum_up(up(loose, 16))

    def mass(self, a: Vector, b: Vector) -> tuple[float, float]:
        """∫ c a b of two states, with ∫ α a b over Robin facets, and a bound of its rounding."""
        inside, off = self._inside(a, b)
        E, model = self.model.exchange, self.model
        if E is None:
            return inside, off
        taken, wrong, data = E.wanted(None, a, model.degree).against(model.points, b, model.degree)
        total = inside - taken  # slabs.md, step 2g
        return total, float(up(off + wrong + data + 2.0 * UNIT * abs(total), 8))

    def _inside(self, a: Vector, b: Vector) -> tuple[float, float]:
        """∫ c a b of two states, and a bound of its rounding."""
        c = self.model.reaction
        if not np.any(c):
            return 0.0, 0.0
        x, y = self.density(a), self.density(b)
        value = np.einsum("cp,pq,cq->c", x, gram(self.model.d), y, optimize=True) * self.model.topology.volumes * c
        top = np.abs(x).max(axis=1) * np.abs(y).max(axis=1) * self.volumes * c
        wrong = sum_up(up((gamma(120) + self.model.anchors.slack) * 9.0 * top, 8))
        total = math.fsum(value.tolist())
        return total, float(up(wrong + 1e-15 * abs(total)))

    def _each(self, b: Bounds) -> tuple[Vector, Vector]:
        """‖κ^{−½}δ‖ as computed, and what else a cell may cost."""
        near = 4.0 * (self.model.anchors.slack + gamma(COUNT))
        q = up(np.sqrt(np.maximum(b.square, 0.0) + near * b.size * b.size + b.high * b.high), 8)
        rest = b.fuzz + b.facet + self.model.anchors.convex * b.oscillation
        if b.gaps is not None:  # slabs.md, step 2g
            cost, square = b.gaps.on_cells(len(rest), 1.0, None, None)
            rest = rest + np.minimum(cost, up(np.sqrt(square), 2))
        return np.asarray(q), np.asarray(up(rest, 8))

    def _square(self, each: tuple[Vector, Vector], b: Bounds, w: Vector) -> tuple[float, float, float]:
        """‖D‖² but for means, what these cost in the energy, and what they are in L² where that is infinite."""
        own, off = self.mass(w, w)
        P = float(up(sum_up(up((each[0] + each[1]) ** 2, 8)) + max(own, 0.0) + off))
        if math.isfinite(b.means):
            return P, b.means, 0.0
        return P, 0.0, math.sqrt(sum_up(up(b.defect**2 / self.model.anchors.volume, 8)))  # slabs.md, step 1d

    def _left(self, tau: float, part: Part) -> tuple[float, float]:
        """What f_⊥ and g_⊥ add to P_n, or to r."""
        square = float(up(tau * sum_up(up(self.volumes * part.given.rest**2, 4))))
        constant = self.friedrichs
        side = float(up(self.trace * part.through)) if part.through else 0.0  # slabs.md, step 2h
        if math.isfinite(constant):
            return float(up((constant * math.sqrt(square) + side) ** 2, 16)), 0.0  # slabs.md, step 1e
        return float(up(side**2, 2)), float(up(math.sqrt(tau * square)))

    @cached_property
    def trace(self) -> float:
        """C with ‖v‖_Γ ≤ C‖v‖_a on the part of the boundary without values, or infinity."""
        return trace_constant(self.model)

    @property
    def friedrichs(self) -> float:
        """C with ‖v‖ ≤ C‖v‖_a, or infinity."""
        least = float(self.model.reaction.min())
        found = self.model.anchors.friedrichs
        return min(found, float(up(1.0 / math.sqrt(least), 4))) if least > 0.0 else found

    def _rest(self, tau: float, parts: Sequence[Part], tallies: list[Tally]) -> None:
        """Rests in time of the queries, and their products with the primal's."""
        f = parts[0].given.rest
        for tally, part in zip(tallies, parts[1:], strict=True):
            more, extra = self._left(tau, part)
            tally.dual, tally.loose = float(up(tally.dual + more)), float(up(tally.loose + extra))
            if math.isfinite(self.friedrichs):
                both = tau * sum_up(up(self.volumes * f * part.given.rest, 8))
                tally.cross += float(up(self.friedrichs**2 * both, 8))  # slabs.md, step 1e
                if parts[0].through:
                    rest = math.sqrt(tau * sum_up(up(self.volumes * part.given.rest**2, 8)))
                    side = self.trace * parts[0].through * self.friedrichs * rest
                    tally.cross += float(up(side, 16))  # slabs.md, step 2h
