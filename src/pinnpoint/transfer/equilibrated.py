"""The transfer to the PDE's own solution by equilibrated fluxes: everything computed, in any dimension."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector, attributes
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim, domain_words
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.extremes import Extremes
from pinnpoint.certificates.transfer import PRODUCTS, Route, TransferBound, TransferContext, with_reserve
from pinnpoint.rounding.arithmetic import UNIT, require_round_to_nearest, up
from pinnpoint.systems.goals import extreme_queries
from pinnpoint.systems.queries import Ball, Goal, Point, Queries
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.boundary.data_lift import DataLift
from pinnpoint.transfer.boundary.gaps import flux_change, is_met, reserved
from pinnpoint.transfer.boundary.space_lift import SpaceLift, lift_of
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.estimator import Bounds, Pair, Side
from pinnpoint.transfer.flux.rests import Rests
from pinnpoint.transfer.goals import Functional, functionals
from pinnpoint.transfer.line.one_dimension import pointwise
from pinnpoint.transfer.media.coefficients import Field
from pinnpoint.transfer.media.medium import mean_square
from pinnpoint.transfer.media.varied_gaps import spread, varied_change, varied_flux_change, varied_point_change
from pinnpoint.transfer.nonlinear.ceilings import Ceilings
from pinnpoint.transfer.spectrum.indefinite import Indefinite

if TYPE_CHECKING:  # what bounds on cells need is loaded where an extreme is asked for
    from pinnpoint.transfer.everywhere.setting import OnCells

log = logging.getLogger(__name__)

LARGE = 0.3
"""A share of the radius that integration should not have."""
MODELS = 10.0
"""So many times larger is the reserve of products where coefficients vary: other programs take other models of them."""
SPARE = 1e-3
"""Share of a radius on a curved domain that is added to it, so that other models of the map can prove it too."""
TRIFLE = 1e-13
"""Dirichlet data that is met to this share of the state is not lifted: that is rounding."""
KEPT = 2**28
"""Bytes that the fluxes of all duals may take to be kept for the bundle."""
BATCH, LINEAR = 4_000_000, 48_000_000
"""Coefficients of dual sources on all cells, of quadratic and of linear elements, that would be held at once."""


@dataclass(frozen=True)
class Enclosed:
    """A value of the PDE's own solution: centre, and what its radius is made of."""

    center: float
    transfer: float
    quadrature: float
    rounding: float
    dual: float = math.nan
    """Energy bound of the dual error, where one was used."""
    remainder: float = 0.0
    """Of a nonlinear problem."""

    compared: bool = False
    """Whether bounds known beforehand made it smaller."""
    unresolved: bool = False
    """Whether integration of the data is much of what fluxes say."""

    def within(self, known: Ceilings, goal: Goal | None) -> Enclosed:
        """What is left of it within bounds that are known beforehand."""
        unresolved = self.quadrature > LARGE * self.radius > 0.0
        both = known.narrowed(goal, self.center, self.radius)
        if both is None:
            return replace(self, unresolved=unresolved)
        rounding = float(up(8.0 * UNIT * (abs(both[0]) + both[1])))
        return Enclosed(both[0], both[1], 0.0, rounding, self.dual, compared=True, unresolved=unresolved)

    @property
    def radius(self) -> float:
        """Sum of the parts."""
        return self.transfer + self.quadrature + self.rounding + self.remainder


UNBOUNDED = Enclosed(0.0, math.inf, 0.0, 0.0)
"""What is said of an extreme value before a prediction is known."""


@dataclass(frozen=True, eq=False)
class Witness:
    """What a bound by fluxes rests on: the states; fluxes that were not kept are made again when asked for."""

    route: Equilibrated
    side: Side
    """ũ with its flux."""
    duals: Mapping[int, Vector]
    """z̃ of the queries that have a dual problem, all degrees of freedom."""
    mismatch: float
    compared: frozenset[int] = frozenset()
    """Queries whose intervals are cut by bounds known beforehand."""
    lifted: frozenset[int] = frozenset()
    """Queries whose intervals are those with the lift of the Dirichlet data."""
    rests: Rests | None = None
    """What steps towards a reference left, where there was no tight solve."""
    fluxes: Mapping[int, Vector] = field(default_factory=dict)
    """Those that were kept, by the number of the query."""

    __repr__ = brief

    def primal(self) -> Side:
        """ũ with its flux."""
        return self.side

    def dual(self, i: int) -> Side:
        """z̃_i with its flux."""
        model, J, z = self.route.model, self.route.goals[i], self.duals[i]
        source, q = self.route.acting(i), self.route.dual_field(i)
        wanted = model.wanted(z, J.load)
        flux = self.fluxes.get(i)
        if flux is None:
            aim = J.load if wanted is None else wanted
            rest = None if self.rests is None else self.rests.of_duals([i])
            flux = model.fluxes(z[None, :], [source], [aim], [q], transposed=True, rest=rest)[..., 0]
        return Side(z, source, flux, J.load, q, transposed=True, wanted=wanted)

    def data_lift(self) -> DataLift | SpaceLift | None:
        """The lift of the Dirichlet data."""
        return lift_of(self.route.model, self.side.nodal)

    def potential(self, i: int) -> None:
        """No kernel is left over in a linear problem."""


@dataclass(frozen=True, eq=False)
class Equilibrated(Route):
    """J(u*) from any admissible state, by fluxes of a primal and a dual state.

    With ũ an approximate Galerkin solution, z̃ an approximate dual solution and R the weak residual of ũ,

        J(u*) = J(ũ) + R(z̃) + a(u* − ũ, z* − z̃),      a(·, ·) ∈ [−η₋²/4, η₊²/4]   (see `estimator`),

    and the discrete target's value is known from the same state, J_h ∈ c(ũ) ± ϱ(ũ). So J(u*) − J_h is the difference,
    a shift of the centre, up to η₊² and η₋², integration errors of the data, ϱ(ũ), and rounding. Where the Dirichlet
    data is not met exactly, u* moves by at most the largest mismatch (weak maximum principle: c ≥ 0, zero Neumann data
    for the difference). In one dimension point values also have |u*(x) − ũ(x)| ≤ C_pt η (paper, thm.
    1d_fully_computable_transfer); the smaller interval counts.

    *Guarantee:* as the discrete certificate's, for the solution on the domain that the mesh covers. *Assumes:* nothing,
    where all data are numbers or expressions; opaque functions make it an estimate.

    Parameters
    ----------
    model
        The problem.
    queries
        Queries with goals; `functionals` are their bounded forms, for the discrete certificate.
    facets_of, cells_of
        Facet numbers of a boundary group, and numbers of cells of a group.
    tolerance
        Indicators are for queries with larger radii; None for all.
    lifted
        Whether the solution is what a lift leaves over: then the lift's error is all of it.
    """

    model: Continuum
    queries: Queries
    facets_of: Any
    tolerance: Any = None
    lifted: bool = False
    cells_of: Any = None
    goals: tuple[Functional, ...] = field(init=False)
    bounded: Queries = field(init=False)
    indefinite: Indefinite | None = field(init=False)
    """What a negative reaction does to the bounds; None where there is none."""

    __repr__ = brief

    def __post_init__(self) -> None:
        require_round_to_nearest()
        model, asked = self.model, self.queries
        object.__setattr__(self, "indefinite", Indefinite.of(model))
        for said in foreseen(model):
            log.info(said)
        found = functionals(model, asked, self.facets_of, self.cells_of)
        rows, constants = [], np.array([J.constant for J in found])
        for i, J in enumerate(found):
            if J.lift is not None or not (J.known or J.acts):  # the query's own form is the bounded one
                rows.append(sp.csr_array(asked.L[[i]]))
                constants[i] = asked.constants[i]
            else:
                rows.append(sp.csr_array(model.vector(J.source, J.load, J.field)[None, :]))
        made = Queries(sp.vstack(rows), asked.names, constants, points=asked.points, goals=asked.goals)
        object.__setattr__(self, "goals", found)
        object.__setattr__(self, "bounded", made)

    @property
    def functionals(self) -> Queries:
        """The queries' bounded forms, of which the discrete certificate is made."""
        return self.bounded

    def bound(self, context: TransferContext) -> TransferBound:
        """Shifts and terms for all queries."""
        require_round_to_nearest()
        if context.solve is None or context.adjoint is None:
            raise CertificationError("transfer: this method gives no solver, which the equilibrated transfer needs")
        if context.names != self.queries.names:
            raise InputError("transfer: belongs to other queries; make it from these, problem.transfer(queries)")
        model = self.model
        self._require_held()
        state = context.solve(model.right_side)  # continuous.md, step 9a
        mismatch, sure = self._mismatch(state)
        adjoint = context.adjoint()
        duals = {i: self._dual_state(i, adjoint[i], context) for i, J in enumerate(self.goals) if J.acts}
        rests = self._rests(state, duals, context)
        side = model.primal(state, rests)
        lift = self._lift(state, mismatch)
        self._require_met(mismatch, lift)
        extreme = extreme_queries(self.queries.goals)
        seen = self._on_cells(side) if extreme else None
        primal, pairs_, fluxes = self._measure(side, duals, seen, lift, rests)
        found = [self._enclosed(i, state, primal, pairs_.get(i), duals.get(i)) for i in range(len(self.goals))]
        if self.indefinite is None and model.medium is None:
            given = Ceilings.of(model, state, reacts=False)
            found = within(given, self.queries.goals, self.goals, found)  # continuous.md, step 11e
        found = [UNBOUNDED if i in extreme else f for i, f in enumerate(found)]
        parts = [attributes(f, "transfer", "quadrature", "rounding") for f in found]
        terms = {name: np.array([part[name] for part in parts]) for name in ("transfer", "quadrature", "rounding")}
        if model.stretch is not None:  # for another program's models of the map
            terms["transfer"] = up(terms["transfer"] * (1.0 + SPARE))
        if mismatch > 0.0:
            # continuous.md, step 7a; continuous.md, step 7b
            gone = {True: mismatch, False: reserved(model, mismatch, state)}
            changed = [self._missed(i, gone[J.lift is None], duals, found[i]) for i, J in enumerate(self.goals)]
            terms["boundary"] = np.array(changed)
        found, lifted = self._narrower(found, terms, lift, state, primal, pairs_, duals)
        proved = sure and model.load.proved and all(J.proved for J in self.goals)
        proved = proved and (model.boundary_load is None or model.boundary_load.density.proved)
        proved = proved and (model.exchange is None or model.exchange.alpha.proved)
        details = {
            "energy_bound": self._energy(primal, state),
            "dual_energy_bound": np.array([f.dual for f in found]),
            "ball_radius": np.array([J.ball for J in self.goals]),
            "work": np.array([J.work for J in self.goals]),
        }
        compared = frozenset(i for i, f in enumerate(found) if f.compared)
        evidence = Evidence(
            extremes=self._extremes(side, primal, seen, (mismatch, sure)) if extreme else None,
            indicators=indicators(model, primal, pairs_, self._sums(terms), self.tolerance),
            mismatched_cells=model.mismatched_cells(state, mismatch),
            remarks=(*foreseen(model), *remarks(self.queries.names, self.goals, found, model.budget)),
            witness=Witness(self, side, duals, mismatch, compared, lifted, rests, fluxes),
        )
        claims, here = self._claims(mismatch, sure, lifted), np.array([f.center for f in found])
        if context.discrete is None:
            return TransferBound(with_reserve(terms), claims, details, None, here, proved, evidence)
        center, terms["algebra"] = context.discrete(state)  # continuous.md, step 9a
        shift = here - center  # continuous.md, step 9a
        terms["rounding"] = up(terms["rounding"] + 2.0 * UNIT * (np.abs(here) + np.abs(shift)))
        return TransferBound(with_reserve(terms), claims, details, shift, None, proved, evidence)

    def _lift(self, state: Vector, mismatch: float) -> DataLift | SpaceLift | None:
        """The lift of Dirichlet data that is not met, where there is one and it could matter."""
        small = mismatch <= TRIFLE * float(np.abs(state).max(initial=0.0))
        small = small and (mismatch == 0.0 or self._met() or all(J.lift is None for J in self.goals))
        return None if small or self.indefinite is not None or self._sinks() else lift_of(self.model, state)

    def _narrower(
        self,
        found: list[Enclosed],
        terms: dict[str, Vector],
        lift: DataLift | SpaceLift | None,
        state: Vector,
        primal: Bounds,
        pairs_: Mapping[int, Pair],
        duals: Mapping[int, Vector],
    ) -> tuple[list[Enclosed], frozenset[int]]:
        """The intervals with the lifted data in the place of those that are wider; which these are."""
        if lift is None:
            return found, frozenset()
        raised, chosen, over = list(found), set(), lift.over(primal)
        for i, pair in pairs_.items():
            if self.goals[i].known or i not in duals:
                continue
            other, more = self._raised(i, lift, state, over, pair, duals[i])
            if other.radius + more < found[i].radius + terms["boundary"][i]:  # curved.md, step 3d
                raised[i] = other
                chosen.add(i)
                for name, value in attributes(other, "transfer", "quadrature", "rounding").items():
                    spare = SPARE if name == "transfer" and self.model.stretch is not None else 0.0
                    terms[name][i] = value * (1.0 + spare)
                terms["boundary"][i] = more
        return raised, frozenset(chosen)

    def _raised(
        self, i: int, lift: DataLift | SpaceLift, state: Vector, over: Bounds, pair: Pair, dual: Vector
    ) -> tuple[Enclosed, float]:
        """J(u*) from the state with a lift of the data added, and what the lift costs."""
        model, J = self.model, self.goals[i]
        enclosed = self._enclosed(i, state, over, pair, dual)
        value, off = pair.across
        rest = lift.left(model, pair.dual)
        center = enclosed.center - J.sign * value  # curved.md, step 3c
        rounding = float(up(enclosed.rounding + off + 4.0 * UNIT * (abs(center) + abs(value))))
        if J.lift is None:
            corner = lift.ends * abs(J.reach)
        elif isinstance(lift, SpaceLift):
            corner = lift.through(model, dual)
        elif model.medium is not None:
            corner = varied_flux_change(model, model.medium, lift.ends, dual, enclosed.dual)
        else:
            corner = flux_change(model, lift.ends, dual)
        return replace(enclosed, center=center, rounding=rounding), float(up(rest + corner, 4))

    def _on_cells(self, side: Side) -> OnCells:
        """Room for what is left on each cell."""
        from pinnpoint.transfer.everywhere.setting import OnCells

        return OnCells.empty(self.model, side)

    def _extremes(self, side: Side, primal: Bounds, seen: OnCells | None, mismatch: tuple[float, bool]) -> Extremes:
        from pinnpoint.transfer.everywhere.asked import asked_for
        from pinnpoint.transfer.everywhere.lengths import by_energy
        from pinnpoint.transfer.everywhere.setting import Setting

        setting = Setting(self.model, side, primal, seen)
        model, eta = self.model, setting.energy
        if self.indefinite is not None:
            gone = self.indefinite.defect(setting.side.nodal, model.load, model.boundary_load)
            setting = replace(setting, carried=self.indefinite.carried(eta, gone))
            eta = self.indefinite.energy(eta, gone)
        elif model.medium is not None:
            lack = max(0.0, -model.medium.least_reaction, -model.medium.least_transposed)
            length = math.sqrt(mean_square(model.anchors)) * model.growth * eta if lack else 0.0
            setting = replace(setting, carried=float(up(lack * length, 8)))  # everywhere.md, step 2h
        setting = replace(setting, lengths=by_energy(model, eta, self.indefinite, setting.carried))
        if mismatch[0] and (self.indefinite is not None or self._sinks()):
            mismatch = float(up(self._spread() * mismatch[0])), mismatch[1]
        return asked_for(setting, mismatch, self.queries, self.cells_of, lifted=self.lifted)

    def _spread(self) -> float:
        """How many times its size data on the boundary changes the solution, where the reaction is negative."""
        from pinnpoint.transfer.everywhere.mirrors import mirrors

        planes, medium = mirrors(self.model), self.model.medium
        if planes is None or self.model.gluing is not None:  # robin.md, step 7d: tubes have no constant of level sets
            return math.inf
        return spread(self.model, medium, planes) if self.indefinite is None else self.indefinite.spread(planes)  # type: ignore[arg-type]

    def _require_held(self) -> None:
        """Parts that meet in a vertex or an edge alone do not hold each other, whatever the discrete system says."""
        loose = ~np.isfinite(self.model.anchors.reach)
        if loose.any():
            where = self.model.points[self.model.topology.cells[int(np.argmax(loose))]].mean(axis=0)
            so = "to no reaction, so the PDE has no unique solution there"
            if self.model.medium is not None:
                so = "to no reaction with a proved bound above zero, so a unique solution could not be proved there"
            raise InputError(
                f"mesh: {int(loose.sum())} cells, for example at {where.tolist()}, are joined through facets to no "
                f"Dirichlet group, to no Robin group and {so}; fix a value on that part"
            )

    @staticmethod
    def _sums(terms: Mapping[str, Vector]) -> Vector:
        return np.asarray(np.sum(list(terms.values()), axis=0))

    def _mismatch(self, state: Vector) -> tuple[float, bool]:
        mismatch, sure = self.model.mismatch(state)
        if not math.isfinite(mismatch):
            raise CertificationError("dirichlet: the data's distance from its interpolant could not be bounded")
        field = any(J.field is not None for J in self.goals)
        if mismatch > 0.0 and self._sinks() and field:
            raise InputError(  # varying.md, step 5c
                f"dirichlet: the elements meet the data up to {mismatch:.3e}, and beside a matrix that varies and a "
                "reaction that is not proved to be ≥ 0 nothing is known of what that changes at a point. Give data "
                "that the elements meet exactly, such as numbers, ask for averages, or take a reaction ≥ 0; the lower "
                f"bound found is {self.model.medium.least_reaction:.3e}"  # type: ignore[union-attr]
            )
        return mismatch, sure

    def _sinks(self) -> bool:
        """Whether c, which varies, is not proved to be ≥ 0."""
        return self.model.medium is not None and self.model.medium.least_reaction < 0.0

    def _met(self) -> bool:
        """Whether fluxes know what Dirichlet data changes that the elements do not meet: then it is rounding."""
        return is_met(self.model)

    def _require_met(self, mismatch: float, lift: DataLift | SpaceLift | None) -> None:
        """Refuse fluxes where data is not met and not lifted."""
        known = isinstance(lift, DataLift) or (isinstance(lift, SpaceLift) and self.model.medium is None)
        if mismatch > 0.0 and not known and not self._met():
            for J, name in zip(self.goals, self.queries.names, strict=True):
                if J.lift is not None:
                    raise InputError(
                        f"query '{name}': a flux needs Dirichlet data that the elements meet but for rounding: "
                        f"numbers, or polynomials of degree {self.model.degree}; the data given differs by up to "
                        f"{mismatch:.3g}. Say target='discrete'"
                    )

    def _energy(self, primal: Bounds, state: Vector) -> float:
        """Upper bound of ‖u* − ũ‖_a."""
        model, eta = self.model, self.model.estimator.energy(primal)
        if self.indefinite is None:
            return eta
        return self.indefinite.energy(eta, self.indefinite.defect(state, model.load, model.boundary_load))

    def _missed(self, i: int, mismatch: float, duals: Mapping[int, Vector], found: Enclosed) -> float:
        """What Dirichlet data that is not met exactly changes: by the maximum principle, or, of a flux, by `gaps`."""
        J = self.goals[i]
        if J.known:
            return 0.0
        if self.indefinite is not None:
            return self.indefinite.moved(J, mismatch, duals.get(i), found.dual)
        medium = self.model.medium
        if medium is not None and self._sinks() and i not in duals:
            return varied_point_change(self.model, medium, self.queries.goals[i], mismatch)
        if J.lift is None and medium is not None and self._sinks():
            return varied_change(self.model, medium, J, mismatch, duals[i], found.dual)
        # continuous.md, step 7b; varying.md, step 5a
        if J.lift is None:
            return float(up(mismatch * J.reach)) if J.reach != 1.0 else mismatch
        if not self._met():
            return math.inf  # lifted data say more
        if medium is not None:
            return varied_flux_change(self.model, medium, mismatch, duals[i], found.dual)
        return flux_change(self.model, mismatch, duals[i])

    def _product(
        self, i: int, state: Vector, primal: Bounds, pair: Pair, dual: Vector | None
    ) -> tuple[float, float, float]:
        """Ends that hold the form of both errors, and the part of their half-width due to data."""
        model, J = self.model, self.goals[i]
        found = model.estimator.product_bound(primal, pair)  # continuous.md, step 3c
        if self.indefinite is None or dual is None:
            return found
        energies = model.estimator.energy(primal), model.estimator.energy(pair.dual)
        own = self.indefinite.defect(state, model.load, model.boundary_load)
        return self.indefinite.ends(found, energies, (own, self.indefinite.defect(dual, self.dual_source(i), J.load)))

    def _enclosed(
        self, i: int, state: Vector, primal: Bounds, pair: Pair | None, dual_state: Vector | None
    ) -> Enclosed:
        """J(u*) for the Dirichlet data of the state, by the product bound or, in one dimension, by C_pt."""
        J, goal = self.goals[i], self.queries.goals[i]
        found = None
        if J.known:
            found = Enclosed(J.constant, 0.0, J.data, max(0.0, J.error - J.data))
        elif pair is not None:
            low, high, from_data = self._product(i, state, primal, pair, dual_state)
            if not math.isfinite(from_data):
                low, high, from_data = 0.0, 0.0, math.inf
            half = 0.5 * (high - low)  # continuous.md, step 3c
            center = pair.value + J.constant + J.sign * 0.5 * (low + high)  # continuous.md, step 3a
            size = abs(pair.value) + abs(J.constant) + abs(low) + abs(high)
            rounding = pair.rounding + 8.0 * UNIT * size + max(0.0, J.error - J.data) + 2.0 * J.scale * size
            rounding += PRODUCTS * half * (1.0 if self.model.medium is None else MODELS)
            dual = self.model.estimator.energy(pair.dual)
            quadrature = from_data + pair.data + J.data  # continuous.md, step 8c
            found = Enclosed(
                center, float(up(max(0.0, half - from_data))), float(up(quadrature)), float(up(rounding)), dual
            )
        alone = J.known or (self.model.medium is not None and found is not None)
        other = None if alone else pointwise(self.model, goal, state, primal)  # continuous.md, step 6d
        if other is not None and self.indefinite is not None:
            gain = self.indefinite.gap.gain
            other = other[0], float(up(gain * other[1])), float(up(gain * other[2]))  # indefinite.md, step 1d
        if other is not None and (found is None or other[1] < found.radius):
            found = Enclosed(other[0], max(0.0, other[1] - other[2]), other[2], 0.0, found.dual if found else math.nan)
        if found is None:
            raise InputError(
                f"query '{self.queries.names[i]}': no ball around {place_of(goal)} stays where the "
                "coefficients are constant, and no end of the interval is fixed. Move the point, or say "
                "target='discrete'"
            )
        return found

    def dual_source(self, i: int) -> Density:
        """The source w of a query on every cell."""
        cells, w = len(self.model.kappa), self.goals[i].source
        return Density.constant(np.zeros(cells), self.model.d) if w is None else w.on_all(cells)

    def acting(self, i: int) -> Density:
        """The same, of linear elements with constant coefficients on the cells where it is not zero alone."""
        w, model = self.goals[i].source, self.model
        few = model.degree == 1 and model.medium is None and model.helpers is None
        if few and w is not None and w.cells is not None and bool(np.all(w.cells[1:] > w.cells[:-1])):
            return w
        return self.dual_source(i)

    def dual_field(self, i: int) -> Field | None:
        """The field q of a query on every cell."""
        q = self.goals[i].field
        return None if q is None else q.on_all(len(self.model.kappa))

    def _measure(
        self,
        primal: Side,
        nodal_of: Mapping[int, Vector],
        seen: OnCells | None = None,
        lift: DataLift | SpaceLift | None = None,
        rests: Rests | None = None,
    ) -> tuple[Bounds, dict[int, Pair], dict[int, Vector]]:
        """Bounds of the primal side, pairs with the duals, and the duals' fluxes where there is room for them."""
        model = self.model
        asked = list(nodal_of)
        kept: dict[int, Vector] = {}
        size = len(model.kappa) * len(pairs(model.d))
        step = max(1, (LINEAR if model.degree == 1 and model.medium is None else BATCH) // size)
        found: dict[int, Pair] = {}
        bounds = model.estimator.measure(primal, [], seen)[0] if not asked else None
        for a in range(0, len(asked), step):
            these = asked[a : a + step]
            nodal = np.stack([nodal_of[i] for i in these])
            sources = [self.acting(i) for i in these]
            loads, fields = [self.goals[i].load for i in these], [self.dual_field(i) for i in these]
            wanted = [model.wanted(z, load) for z, load in zip(nodal, loads, strict=True)]
            asked_for = [load if w is None else w for w, load in zip(wanted, loads, strict=True)]
            rest = None if rests is None else rests.of_duals(these)
            fluxes = model.fluxes(nodal, sources, asked_for, fields, transposed=True, rest=rest)
            if 8 * len(asked) * fluxes[..., 0].size <= KEPT:
                kept |= {i: fluxes[..., k] for k, i in enumerate(these)}
            duals = []
            for k, i in enumerate(these):
                side = Side(nodal[k], sources[k], fluxes[..., k], loads[k], fields[k], True, wanted[k])
                duals.append((side, self.goals[i].sign, self.goals[i].lift is None))
            bounds, some = model.estimator.measure(primal, duals, seen if a == 0 else None, ahead=len(asked))
            if lift is not None:
                some = [replace(p, across=lift.across(model, side[0])) for p, side in zip(some, duals, strict=True)]
            found |= dict(zip(these, some, strict=True))
        assert bounds is not None
        return bounds, found, kept

    def _rests(self, state: Vector, duals: Mapping[int, Vector], context: TransferContext) -> Rests | None:
        """What the states leave of their loads, where they come from steps towards a reference."""
        if context.left is None or context.reference is None:
            return None
        model, left = self.model, context.left
        other = model.medium is not None or model.gluing is not None or self.indefinite is not None
        if other or extreme_queries(self.queries.goals):
            raise InputError(
                "solver: steps towards a reference are for coefficients that are numbers on cells, a reaction ≥ 0, no "
                "periodic pairs, and values, averages and fluxes; use solver='auto'"
            )
        own = left(state, model.right_side)
        rows = {i: model.vector(self.dual_source(i), self.goals[i].load, self.dual_field(i)) for i in duals}
        return Rests(context.reference, own, {i: left(z, rows[i]) for i, z in duals.items()})

    def _dual_state(self, i: int, q: Vector, context: TransferContext) -> Vector:
        """z̃ with every degree of freedom: zero on the Dirichlet part, or the lift of a flux."""
        z = np.zeros(self.model.size)
        z[slice(None) if context.free is None else context.free] = q
        lift = self.goals[i].lift
        return z if lift is None else lift - z  # continuous.md, step 5b

    def _claims(self, mismatch: float, sure: bool, lifted: frozenset[int]) -> tuple[Claim, ...]:
        model, said = self.model, []
        said.append(Claim(f"continuous target: the weak solution on {domain_words(model.stretch is not None)}"))
        said += coefficient_claims(model)
        if self.indefinite is not None:
            said.append(Claim(self.indefinite.gap.claim))
        said += data_claims("source", model.load)
        if model.boundary_load is not None:
            said += data_claims("Neumann data", model.boundary_load.density)
        if model.exchange is not None:
            said += model.exchange.claims()
        if mismatch > 0.0:
            how = "verified" if sure else "declared"
            why = "maximum principle" + (
                ", and what the reaction makes of it" if self.indefinite is not None or self._sinks() else ""
            )
            said.append(Claim(f"Dirichlet data met to {mismatch:.3e}; {why}", how))
            if lifted:
                said.append(Claim(f"Dirichlet data of {len(lifted)} queries: lifted into the cells of its facets", how))
            if any(J.lift is not None and i not in lifted for i, J in enumerate(self.goals)):
                said.append(Claim("Dirichlet data of fluxes: met but for rounding, by energies of its extension", how))
        said += [Claim(f"{n}: {J.note}") for n, J in zip(self.queries.names, self.goals, strict=True) if J.note]
        return tuple(said)


def coefficient_claims(model: Continuum) -> list[Claim]:
    """What is known of the coefficients."""
    if model.medium is None:
        return [Claim("κ and c are constant on each cell; energy errors bounded by equilibrated fluxes")]
    low = float(model.kappa.min())
    said = [
        Claim(f"diffusion enclosed on each cell and proved to be ≥ {low:.3e}; energy errors by equilibrated fluxes")
    ]
    floor = float(model.medium.floor.min())
    if model.coefficients is not None and not model.coefficients.convective and floor < 0.0:
        said.append(Claim(f"c ≥ {floor:.3e} on every cell, above minus the first eigenvalue"))
    if model.coefficients is not None and model.coefficients.convective:
        said.append(Claim(f"c − ½∇·b ≥ {floor:.3e} on every cell"))
    return said


def indicators(
    model: Continuum, primal: Bounds, pairs_: Mapping[int, Pair], radius: Vector, tolerance: Vector | float | None
) -> Vector:
    """Σ over queries with radii above `tolerance` of each cell's shares of the primal and of the dual energy bound."""
    limit = np.zeros(len(radius)) if tolerance is None else tolerance
    shares = model.estimator.shares
    total, first = np.zeros(len(model.kappa)), shares(primal)
    for i in np.nonzero(radius > limit)[0].tolist():
        total += first
        if i in pairs_:
            total += shares(pairs_[i].dual)
    return total


def within(
    given: Ceilings, goals: Sequence[Goal | None], asked: Sequence[Functional], found: Sequence[Enclosed]
) -> list[Enclosed]:
    """What is left of intervals within bounds that are known beforehand; values that are data stay as they are."""
    parts = zip(goals, asked, found, strict=True)
    return [f if J.known else f.within(given, goal) for goal, J, f in parts]


def foreseen(model: Continuum) -> list[str]:
    """What is known of all intervals beforehand."""
    said = "" if model.medium is None else model.medium.outlook()
    return [said] if said else []


def remarks(
    names: Sequence[str], goals: Sequence[Functional], found: Sequence[Enclosed], budget: int
) -> tuple[str, ...]:
    """What a reader should know of single intervals: why they are wide, and what to do."""
    said = []
    for name, J, f in zip(names, goals, found, strict=True):
        about = f"query '{name}': "
        if f.compared:
            said.append(
                f"{about}comparison with functions of one coordinate, which rests on the size of the data alone, says "
                "more than fluxes do on this mesh, and is issued"
            )
        if J.outlook:
            said.append(about + J.outlook)
        if f.unresolved:
            said.append(
                f"{about}integration of the data is much of what makes it wide: the data varies within cells by more "
                f"than budget = {budget} resolves; refine the mesh there, or raise budget"
            )
    return tuple(said)


def data_claims(name: str, what: Density) -> list[Claim]:
    """How data was integrated."""
    if not what.proved:
        return [Claim(f"{name}: an opaque function; the error of its integrals is estimated", "declared")]
    if not np.any(what.error2):
        return [Claim(f"{name}: integrated exactly")]
    return [Claim(f"{name}: enclosed on every cell to {float(np.max(what.error2)):.3e}")]


def place_of(goal: Goal | None) -> list[float]:
    """Where a query is, if it is about a place."""
    return list(goal.at) if isinstance(goal, Point | Ball) else []
