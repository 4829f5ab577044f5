"""The transfer to the solid's own displacements and stresses by stresses in equilibrium."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Index, Vector, attributes
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim, domain_words
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import PRODUCTS, Route, TransferBound, TransferContext, with_reserve
from pinnpoint.rounding.arithmetic import UNIT, at_most, norm_up, require_round_to_nearest, up
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.elastic.equilibrium import Equilibrium
from pinnpoint.transfer.elastic.functional import Functional
from pinnpoint.transfer.elastic.gaps import Gap
from pinnpoint.transfer.elastic.goals import functionals
from pinnpoint.transfer.elastic.product import Bounds, Pair, Products, Side
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.equilibrated import Enclosed, data_claims


@dataclass(frozen=True, eq=False)
class Witness:
    """What a bound by stresses rests on: states and facet moments, primal and by query, and what formulas leave."""

    route: Elastic
    primal: Side
    duals: Mapping[int, Side]
    gap: Gap

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Elastic(Route):
    """J(u*) of a linear elastic solid from any admissible state, by stresses of a primal and of a dual state.

    With ũ an approximate Galerkin solution, z̃ an approximate dual solution and R the weak residual of ũ,

        J(u*) = J(ũ) + R(z̃) + a(u* − ũ, z* − z̃),      a(·, ·) ∈ [−η₋²/4, η₊²/4]   (see `product`).

    *Guarantee:* deterministic, for the solution on the domain that the mesh covers. *Assumes:* nothing, where all data
    are numbers or expressions; opaque functions make it an estimate.

    Parameters
    ----------
    solid
        The problem.
    queries
        Queries with goals; `functionals` are their bounded forms, for the discrete solver.
    facets_of, cells_of
        Facet and cell numbers of a group.
    tolerance
        Indicators are for queries with larger radii; None for all.
    """

    solid: Solid
    queries: Queries
    facets_of: Callable[[str], Index]
    cells_of: Callable[[Any], Index]
    tolerance: Any = None
    goals: tuple[Functional, ...] = field(init=False)
    bounded: Queries = field(init=False)

    __repr__ = brief

    def __post_init__(self) -> None:
        require_round_to_nearest()
        solid, asked = self.solid, self.queries
        self.equilibrium.tree.require_held()
        found = functionals(solid, asked, self.facets_of, self.cells_of)
        rows, constants = [], np.array([J.constant for J in found])
        for i, J in enumerate(found):
            if J.lift is not None or J.known:  # the query's own form is the bounded one
                rows.append(sp.csr_array(asked.L[[i]]))
                constants[i] = asked.constants[i]
            else:
                rows.append(sp.csr_array(solid.vector(J.load)[None, :]))
        made = Queries(sp.vstack(rows), asked.names, constants, points=asked.points, goals=asked.goals)
        object.__setattr__(self, "goals", found)
        object.__setattr__(self, "bounded", made)

    @property
    def functionals(self) -> Queries:
        """The queries' bounded forms, of which the discrete certificate is made."""
        return self.bounded

    @property
    def curved(self) -> Sequence[tuple[Index, Sequence[Any]]]:
        """Facets and tractions on curved sides, by components."""
        return ()

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """Stresses for states."""
        return Equilibrium(self.solid)

    @cached_property
    def products(self) -> Products:
        """Norms and products of them."""
        return Products(self.solid, self.equilibrium.space)

    def bound(self, context: TransferContext) -> TransferBound:
        """Centres and terms for all queries."""
        solid, (state, gap) = self.solid, self._state(context)
        primal = self.equilibrium.side(state, solid.load, self._increment(context))
        primal = replace(primal, rest=np.asarray(up(primal.rest + gap.energy)))  # elasticity.md, step 7a
        duals = self._duals(context, primal)
        bounds, found, shares = self._enclosures(primal, duals, gap)
        terms, details, proved, evidence = self._told(primal, duals, gap, bounds, found, shares)
        claims, here = self._claims(), np.array([f.center for f in found])
        if context.discrete is None:
            # elasticity.md, step 9e
            return TransferBound(with_reserve(terms), claims, details, None, here, proved, evidence)
        center, terms["algebra"] = context.discrete(state.ravel())
        shift = here - center
        terms["rounding"] = up(terms["rounding"] + 2.0 * UNIT * (np.abs(here) + np.abs(shift)))
        return TransferBound(with_reserve(terms), claims, details, shift, None, proved, evidence)

    def _state(self, context: TransferContext) -> tuple[Vector, Gap]:
        """An approximate Galerkin solution, and how it misses what is held."""
        require_round_to_nearest()
        if context.solve is None or context.adjoint is None or context.increment is None:
            raise CertificationError("transfer: this method gives no solver, which the transfer of solids needs")
        if context.names != self.queries.names:
            raise InputError("transfer: belongs to other queries; make it from these, problem.transfer(queries)")
        solid = self.solid
        state = np.asarray(context.solve(solid.vector(solid.load))).reshape(-1, solid.d)
        gap = Gap.of(solid.topology, solid.cell_nodes, solid.degree, solid.lam, solid.mu, solid.dirichlet, state)
        return state, gap

    def _told(
        self,
        primal: Side,
        duals: Mapping[int, Side],
        gap: Gap,
        bounds: Bounds,
        found: Sequence[Enclosed],
        shares: Mapping[int, Vector],
    ) -> tuple[dict[str, Vector], dict[str, Any], bool, Evidence]:
        """Terms, details, whether all data are proved, and evidence."""
        parts = [attributes(f, "transfer", "quadrature", "rounding") for f in found]
        terms = {name: np.array([part[name] for part in parts]) for name in ("transfer", "quadrature", "rounding")}
        if gap.is_open:
            terms["boundary"] = np.array([f.remainder for f in found])
        radius = np.sum(list(terms.values()), axis=0)
        proved = self.solid.load.proved and all(J.proved for J in self.goals)
        details = {
            "energy_bound": self.products.energy(bounds),
            "dual_energy_bound": np.array([f.dual for f in found]),
            "ball_radius": np.array([J.ball for J in self.goals]),
            "work": np.array([J.work for J in self.goals]),
        }
        evidence = Evidence(
            indicators=self._indicators(bounds, shares, radius),
            remarks=self._remarks(radius, gap),
            witness=Witness(self, primal, duals, gap),
        )
        return terms, details, proved, evidence

    def _increment(self, context: TransferContext) -> Callable[[Vector], Vector]:
        free = slice(None) if context.free is None else context.free

        def increment(r: Vector) -> Vector:
            assert context.increment is not None
            w = np.zeros(self.solid.size * self.solid.d)
            w[free] = context.increment(r[free])
            return w

        return increment

    def _duals(self, context: TransferContext, primal: Side) -> dict[int, Side]:
        """Dual states with their stresses; the compliance's is the primal one."""
        assert context.adjoint is not None
        free = slice(None) if context.free is None else context.free
        adjoint, found = context.adjoint(), {}
        for i, J in enumerate(self.goals):
            if J.known:
                continue
            if J.own:  # elasticity.md, step 10e
                found[i] = primal
                continue
            z = np.zeros(self.solid.size * self.solid.d)
            z[free] = adjoint[i]
            z = z if J.lift is None else J.lift - z  # elasticity.md, step 10d
            side = self.equilibrium.side
            found[i] = side(z.reshape(-1, self.solid.d), J.load, self._increment(context), J.sign, acts=J.lift is None)
        return found

    def _enclosures(
        self, primal: Side, duals: Mapping[int, Side], gap: Gap
    ) -> tuple[Bounds, list[Enclosed], dict[int, Vector]]:
        found: list[Enclosed] = []
        shares: dict[int, Vector] = {}
        bounds, pairs = self.products.measure(primal, list(duals.values()))
        by_query = dict(zip(duals, pairs, strict=True))
        for i, J in enumerate(self.goals):
            if i not in duals:
                found.append(Enclosed(J.constant, 0.0, J.data, max(0.0, J.error - J.data)))
                continue
            pair = by_query[i]
            found.append(self._moved(self._enclosed(J, bounds, pair), duals[i], pair.dual, gap))
            shares[i] = self.products.shares(pair.dual)
        return bounds, found, shares

    def _enclosed(self, J: Functional, primal: Bounds, pair: Pair) -> Enclosed:
        low, high, share = self.products.product_bound(primal, pair)  # elasticity.md, step 10b
        if not math.isfinite(share):
            low, high, share = 0.0, 0.0, math.inf
        half = 0.5 * (high - low)
        center = pair.value + J.constant + J.sign * 0.5 * (low + high)
        size = abs(pair.value) + abs(J.constant) + abs(low) + abs(high)
        rounding = pair.rounding + 8.0 * UNIT * size + max(0.0, J.error - J.data) + 2.0 * J.scale * size
        eta, dual = self.products.energy(primal), self.products.energy(pair.dual)
        # elasticity.md, step 9d
        rounding += 2.0 * self.solid.off * (primal.energy + eta) * (pair.dual.energy + dual + J.stress_norm)
        rounding += PRODUCTS * half
        quadrature = share + pair.data + J.data
        return Enclosed(center, float(up(max(0.0, half - share))), float(up(quadrature)), float(up(rounding)), dual)

    def _moved(self, found: Enclosed, dual: Side, bounds: Bounds, gap: Gap) -> Enclosed:
        """What displacements that the elements do not have change: `remainder` is the part of the radius."""
        if not gap.is_open:
            return found
        if dual.sign < 0.0:  # a(E, z_h) of a reaction; elasticity.md, step 10d
            return replace(found, remainder=at_most(up(norm_up(gap.energy) * bounds.energy)))
        shift, wrong = gap.facet_term(dual.m)
        wide = gap.radius(self.products.lengths(bounds), dual.force, dual.moment, dual.stray)
        return replace(
            found, center=found.center + shift, remainder=at_most(up(wrong + wide + UNIT * abs(found.center + shift)))
        )

    def _indicators(self, primal: Bounds, shares: Mapping[int, Vector], radius: Vector) -> Vector:
        limit = np.zeros(len(radius)) if self.tolerance is None else self.tolerance
        total, first = np.zeros(len(self.solid.mu)), self.products.shares(primal)
        for i in np.nonzero(radius > limit)[0].tolist():
            total += first
            total += shares.get(i, 0.0)
        return total

    def _remarks(self, radius: Vector, gap: Gap) -> tuple[str, ...]:
        """What a reader should know of single intervals: why they are wide, or unbounded."""
        said = [f"query '{n}': {J.outlook}" for n, J in self._named() if J.outlook]
        endless = [n for n, r in zip(self.queries.names, radius, strict=True) if not math.isfinite(r)]
        if endless:
            why = unbounded(self.solid, gap.energy) or "what is left of a cell's balance could not be bounded"
            more = f" (and {len(endless) - 1} more)" if len(endless) > 1 else ""
            said.append(f"query '{endless[0]}'{more}: unbounded, because {why}")
        return tuple(said)

    def _named(self) -> Iterator[tuple[str, Functional]]:
        return zip(self.queries.names, self.goals, strict=True)

    def _claims(self) -> tuple[Claim, ...]:
        domain = domain_words(self.solid.arcs is not None)
        said = [
            Claim(f"continuous target: the weak solution of linear elasticity on {domain}"),
            Claim("λ and μ are constant on each cell; energy errors bounded by symmetric stresses in equilibrium"),
        ]
        load = self.solid.load
        for c, f in enumerate(load.body or ()):
            said += [] if f is None else data_claims(f"body force {'xyz'[c]}", f)
        for t in load.traction:
            said += data_claims(f"traction {'xyz'[t.component]}", t.on.density)
        if load.stress is not None:
            said += data_claims("thermal stress", load.stress.weight)
        said += [Claim(f"{n}: {J.note}") for n, J in self._named() if J.note]
        return tuple(dict.fromkeys(said))


def unbounded(solid: Solid, gap: Vector) -> str:
    """The first of the data that is not enclosed somewhere, and where; empty where all are.

    Parameters
    ----------
    gap
        Bounds of the energy of what held displacements leave, (C,).
    """
    T = solid.topology
    for c, f in enumerate(solid.load.body or ()):
        if f is not None and not np.all(np.isfinite(f.error2)):
            cells = np.arange(len(T.cells)) if f.cells is None else f.cells
            return _words(f"the body force in {'xyz'[c]} is", solid.points[T.cells[cells[_first(f)]]])
    for t in solid.load.traction:
        if not np.all(np.isfinite(t.on.density.error2)):
            at = solid.points[t.on.vertices[_first(t.on.density)]]
            return _words(f"the traction in {'xyz'[t.component]} is", at)
    endless: Index = np.flatnonzero(~np.isfinite(gap))
    if endless.size:
        what = "a held displacement, with its slopes, which its energy needs, is"
        return _words(what, solid.points[T.cells[endless[0]]])
    return ""


def _first(f: Density) -> int:
    return int(np.argmax(~np.isfinite(f.error2)))


def _words(what: str, corners: Vector) -> str:
    place = ", ".join(f"{x:.6g}" for x in corners.mean(axis=0))
    why = "as of a root or a logarithm where its argument is zero; give data that are smooth there"
    return f"{what} not bounded near ({place}), {why}"
