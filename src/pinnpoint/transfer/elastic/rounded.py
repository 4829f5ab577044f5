"""The transfer to a plane solid with curved sides: the polygon's stresses and states, continued to the arcs.

States and stresses are those of the straight mesh, on the slivers between chords and arcs the same polynomials. On a
chord the stress has a linear traction with the force and the moment of what acts on the arc and in the sliver; what it
leaves on the arc is carried by Airy functions (`airy`). See docs/curved.md, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import TransferBound, TransferContext, with_reserve
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.transfer.elastic import airy, slivers
from pinnpoint.transfer.elastic.arcs import Arcs, Pulled, shapes
from pinnpoint.transfer.elastic.chords import Chords
from pinnpoint.transfer.elastic.equilibrium import Increment
from pinnpoint.transfer.elastic.gaps import Gap
from pinnpoint.transfer.elastic.held_arcs import Miss, work
from pinnpoint.transfer.elastic.loads import Load
from pinnpoint.transfer.elastic.product import Bounds, Pair, Side
from pinnpoint.transfer.elastic.route import Elastic
from pinnpoint.transfer.elastic.slivers import OnArcs
from pinnpoint.transfer.elastic.strains import Strains
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.equilibrated import Enclosed

SWEEPS = 3
"""How often chords are told the stress along the arc."""
COARSE = 8.0
"""Degrees that a facet at a curve turns by, above which intervals are wide: half a percent of Lamé's displacements."""


@dataclass(frozen=True, eq=False)
class Rounded(Elastic):
    """J(u*) of a plane solid whose boundary has arcs.

    *Guarantee:* deterministic, for the domain that the arcs bound, which pass through the mesh's vertices and are
    within `Arcs.away` of the described curves. *Assumes:* nothing.

    Parameters
    ----------
    arcs
        The arcs.
    given
        Facets and tractions on arcs, by components.
    target
        Displacements of held arcs, (n, 2).
    """

    arcs: Arcs = field(kw_only=True)
    target: Vector = field(kw_only=True)
    given: Sequence[tuple[Index, Sequence[Any]]] = field(default=(), kw_only=True)

    __repr__ = brief

    @cached_property
    def _pulled(self) -> Pulled:
        return self.arcs.pulled(self.given)

    @cached_property
    def _nothing(self) -> Pulled:
        return self.arcs.pulled(())

    @property
    def curved(self) -> Sequence[tuple[Index, Sequence[Any]]]:
        """What is given on arcs."""
        return self.given

    @cached_property
    def chords(self) -> Chords:
        """What acts on chords."""
        return Chords(self.solid, self.arcs)

    def bound(self, context: TransferContext) -> TransferBound:
        """Centres and terms for all queries."""
        solid, (state, gap) = self.solid, self._state(context)
        assert context.adjoint is not None
        increment = self._increment(context)
        if np.any(gap.energy[self.arcs.cells] > 0.0):
            raise InputError(
                "fixed: beside curved sides of a solid displacements are held at numbers that the elements meet; leave "
                "the geometry out for the polygon"
            )
        primal, here = self._side(state, solid.load, self._pulled, self.target, increment)
        primal = replace(primal, rest=np.asarray(up(primal.rest + gap.energy)))  # elasticity.md, step 7a
        adjoint, duals, there = context.adjoint(), dict[int, Side](), dict[int, OnArcs]()
        free, zero = slice(None) if context.free is None else context.free, np.zeros_like(self.target)
        for i, J in enumerate(self.goals):
            if J.known:
                continue
            if J.own:
                duals[i], there[i] = primal, here
                continue
            z = np.zeros(solid.size * 2)
            z[free] = adjoint[i]
            z = z if J.lift is None else J.lift - z
            duals[i], there[i] = self._side(
                z.reshape(-1, 2), J.load, self._nothing, zero, increment, J.sign, acts=J.lift is None
            )
        bounds, found, shares = self._rounded(primal, here, duals, there, gap)
        terms, details, proved, evidence = self._told(primal, duals, gap, bounds, found, shares)
        center = np.array([f.center for f in found])
        return TransferBound(with_reserve(terms), self._claims(), details, None, center, proved, evidence)

    def _remarks(self, radius: Vector, gap: Gap) -> tuple[str, ...]:
        """Also that facets at curves are long for narrow intervals."""
        said = super()._remarks(radius, gap)
        turn = float(np.rad2deg(2.0 * np.abs(self.arcs.shape[:, 0]).max()))  # eight times sagitta over length
        if turn <= COARSE:
            return said
        return (
            *said,
            f"curved sides turn by up to {turn:.0f}° a facet: what stresses leave of their tractions makes intervals "
            f"wide there; refine the mesh to about {COARSE:.0f}° a facet, or say tolerance",
        )

    # sides

    def _side(
        self,
        state: Vector,
        load: Load,
        pulled: Pulled,
        target: Vector,
        increment: Increment,
        sign: float = 1.0,
        *,
        acts: bool = True,
    ) -> tuple[Side, OnArcs]:
        """A state told what acts on chords, with its stress, and what that costs at the arcs."""
        arcs, solid = self.arcs, self.solid
        body = self._body(load.on_all(len(solid.mu)))
        self._require_plain(load)
        drag, tractions = np.zeros(len(arcs.facets)), load.traction
        before = np.zeros(solid.size * 2)
        for _ in range(SWEEPS + 1):
            chords, moments = self.chords.tractions(pulled, body, drag)
            now = solid.vector(Load(traction=chords))
            lift = self._lift(state, target)
            more = now - before - solid.against_linear(self.equilibrium.stress(lift))
            state = state + lift + increment(more).reshape(-1, 2)
            before = now
            drag = self.chords.drag(pulled, self._on_cells(state).stress)
        chords = self.chords.with_errors(chords, moments, pulled, body)
        side = self.equilibrium.side(
            state, Load(load.body, (*tractions, *chords), load.stress), increment, sign, acts=acts
        )
        side = replace(side, load=replace(side.load, traction=tractions))
        values, wrong = self.equilibrium.space.nodal(side.m, side.fm, arcs.cells, side.fm_error)
        c_min, shapes = solid.c_min[arcs.cells], Shapes.of(solid.points, solid.topology.cells[arcs.cells])
        stress = airy.framed(arcs, values)
        here = pulled.turned(arcs.frame)
        lifted = np.where(arcs.free, airy.cost(arcs, stress, wrong, here, c_min, arcs.blur), 0.0)  # curved.md, step 6d
        lam, mu = solid.lam[arcs.cells], solid.mu[arcs.cells]
        c_max = up(2.0 * mu + 2.0 * np.abs(lam), 4)
        low = shapes.volume * (1.0 - 2.0 * shapes.slack)
        rest = side.rest.copy()
        rest[arcs.cells] = up(airy.amplified(arcs, rest[arcs.cells], c_min, c_max, low) + lifted, 8)
        nodal = state[solid.cell_nodes[arcs.cells]]
        miss = Miss.of(arcs, nodal, solid.degree, target, c_max)
        self._require_met(state, target)
        rest[arcs.cells] = up(rest[arcs.cells] + miss.energy, 2)  # curved.md, step 6j
        loose = up(np.sqrt(36.0 * c_max / low) * side.rest[arcs.cells], 8)
        mine = OnArcs(pulled, nodal, body, self._on_cells(state), stress, wrong, loose, miss)
        return replace(side, rest=rest, rest_data=np.minimum(side.rest_data, rest)), mine

    def _lift(self, state: Vector, target: Vector) -> Vector:
        """What the middles of held chords need for the state to be what is held in the middle of the arcs."""
        solid, arcs, found = self.solid, self.arcs, np.zeros_like(state)
        held = np.flatnonzero(~arcs.free)
        if solid.degree == 1 or not len(held):
            return found
        half = np.full((len(arcs.facets), 1), 0.5)
        shape = shapes(arcs.barycentric(half, 0.25 * arcs.shape[:, :1]), 2)
        now = np.einsum("npk,nkc->nc", shape, state[solid.cell_nodes[arcs.cells]])
        middle = solid.nodes_of(arcs.topology.facets[arcs.facets])[:, 2]
        found[middle[held]] = (target - now)[held]
        return found

    def _require_met(self, state: Vector, target: Vector) -> None:
        held = ~self.arcs.free
        ends = state[self.arcs.topology.facets[self.arcs.facets[held]]]
        if not np.array_equal(ends, np.broadcast_to(target[held][:, None], ends.shape)):
            raise CertificationError("transfer: a state is not what is held at the ends of curved sides")

    def _body(self, load: Load) -> Vector:
        """The force density in the arcs' cells, which is constant there, (n, 2)."""
        found = np.zeros((len(self.arcs.cells), 2))
        for c, f in enumerate(load.body or ()):
            if f is not None:
                rows = f.coefficients[self.arcs.cells]
                known = (x[self.arcs.cells] for x in (f.high, f.error1, f.error2))
                if np.any(np.ptp(rows, axis=1) != 0.0) or any(np.any(x > 0.0) for x in known):
                    raise InputError(
                        "body: at curved sides of a solid forces are numbers, or constant on each cell; leave the "
                        "geometry out for the polygon"
                    )
                found[:, c] = rows[:, 0]
        return found

    def _require_plain(self, load: Load) -> None:
        """Refuse what is not proved on cells at arcs: tractions on their other sides that vary, and stress loads."""
        cells = self.arcs.cells
        near = [
            np.isin(self.solid.topology.facet_cells[t.on.facets, 0], cells).any() for t in load.traction if not t.flat
        ]
        if any(near):
            raise InputError(
                "traction: on straight sides of cells that have a curved one tractions are numbers; refine the mesh "
                "there, or leave the geometry out for the polygon"
            )
        S = load.stress
        if (
            S is not None
            and np.isin(cells, np.arange(len(self.solid.mu)) if S.weight.cells is None else S.weight.cells).any()
        ):
            raise InputError(
                "query: averages of stresses over cells at curved sides have no proved transfer; ask for cells that "
                "keep away from them"
            )

    def _on_cells(self, state: Vector) -> Strains:
        solid, cells = self.solid, self.arcs.cells
        shapes = Shapes.of(solid.points, solid.topology.cells[cells])
        return Strains.of(shapes, state[solid.cell_nodes[cells]], solid.degree, solid.lam[cells], solid.mu[cells])

    # enclosures

    def _rounded(
        self, primal: Side, here: OnArcs, duals: Mapping[int, Side], there: Mapping[int, OnArcs], gap: Gap
    ) -> tuple[Bounds, list[Enclosed], dict[int, Vector]]:
        found: list[Enclosed] = []
        shares: dict[int, Vector] = {}
        bounds, pairs = self.products.measure(primal, list(duals.values()))
        bounds = self._grown(bounds, primal, here)
        by_query = dict(zip(duals, pairs, strict=True))
        for i, J in enumerate(self.goals):
            if i not in duals:
                found.append(Enclosed(J.constant, 0.0, J.data, max(0.0, J.error - J.data)))
                continue
            dual = self._grown(by_query[i].dual, duals[i], there[i])
            value, off = slivers.value(self.arcs, self.solid.degree, here, there[i], duals[i])
            old = by_query[i]
            one, wide, more = self._held(here, there[i], bounds, dual, duals[i].sign)
            off = float(up(old.rounding + off + wide))
            pair = Pair(dual, old.product, old.value + value + one, off, old.data)
            made = self._enclosed(J, bounds, pair)
            made = replace(made, transfer=float(up(made.transfer + more)))
            found.append(self._moved(made, duals[i], pair.dual, gap))
            shares[i] = self.products.shares(pair.dual)
        return bounds, found, shares

    def _held(self, p: OnArcs, d: OnArcs, primal: Bounds, dual: Bounds, sign: float) -> tuple[float, float, float]:
        """What held arcs add to the value, a bound of its error, and what the misses leave."""
        if self.arcs.free.all():
            return 0.0, 0.0, 0.0
        one, off = work(self.arcs, p.stress, p.wrong, p.loose, d.miss)
        two, more = work(self.arcs, d.stress, d.wrong, d.loose, p.miss)
        q, r = (self.products.lengths(b)[self.arcs.cells] for b in (primal, dual))
        each = up(r * p.miss.energy + q * d.miss.energy + p.miss.energy * d.miss.energy, 16)  # curved.md, step 6k
        # d.miss is 0 − z_h, so that −∫σ_p n·(−z_h) and −∫σ_d n·(g − u_h); of a reaction with the other sign
        return -sign * (one + two), float(up(off + more + 4.0 * UNIT * (abs(one) + abs(two)))), sum_up(each)

    def _grown(self, p: Bounds, side: Side, mine: OnArcs) -> Bounds:
        """The same with ‖δ‖ on slivers that are added to cells."""
        arcs = self.arcs
        values, wrong = self.equilibrium.space.nodal(side.m, side.fm, arcs.cells, side.fm_error)
        S, aim = airy.framed(arcs, values), self._framed_state(mine)
        delta = _largest(S - aim) + 4.0 * wrong + 4.0 * mine.state.wrong
        delta = up(delta + (gamma(64) + 8.0 * arcs.blur) * (_largest(S) + _largest(aim)), 8)
        c_min = self.solid.c_min[arcs.cells]
        more = up((1.0 + 2.0 * arcs.over) * delta * np.sqrt(arcs.added / c_min), 16)  # curved.md, step 6f
        rest, fuzz = p.rest.copy(), p.fuzz.copy()
        rest[arcs.cells] = up(rest[arcs.cells] + more, 2)
        return replace(p, rest=rest, fuzz=fuzz)

    def _framed_state(self, mine: OnArcs) -> Vector:
        """Cε of the state at the chords' ends and the cells' centroids, in the chords' frames, (n, 3, 3)."""
        arcs = self.arcs
        rows = np.arange(len(arcs.cells))
        order = np.array([[1, 2], [0, 2], [0, 1]])[arcs.local]
        S = mine.state.stress
        at = np.stack([S[rows, order[:, 0]], S[rows, order[:, 1]], S.mean(axis=1)], axis=1)
        full = np.stack([at[..., [0, 1]], at[..., [1, 2]]], axis=-2)
        turned = np.einsum("nia,nkab,njb->nkij", arcs.frame, full, arcs.frame)
        return np.stack([turned[..., 0, 0], turned[..., 0, 1], turned[..., 1, 1]], axis=-1)

    def _claims(self) -> tuple[Claim, ...]:
        away = float(self.arcs.away.max())
        said = (
            Claim("continuous target: the weak solution of linear elasticity on the domain that the arcs bound"),
            Claim(f"arcs are polynomials through the mesh's vertices, within {away:.1e} of the given curves"),
        )
        return (*said, *super()._claims()[1:])


def _largest(S: Vector) -> Vector:
    """The largest of the lengths of symmetric tensors by their entries 11, 12, 22, (n, places, 3)."""
    return np.asarray(np.sqrt((S**2 * np.array([1.0, 2.0, 1.0])).sum(axis=2)).max(axis=1))
