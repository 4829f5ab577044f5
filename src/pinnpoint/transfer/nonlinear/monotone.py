"""The transfer to the solution of −∇·(κ∇u) + c u + λu³ = f, λ ≥ 0, by equilibrated fluxes and a linearised dual.

Any other nondecreasing g(u) in place of λu³ has its own m in place of 3λu_h², see `reactions`.

Let u_h be any state with u's boundary values, e = u − u_h, t = ‖e‖_a, and R(v) = (f − λu_h³, v) + (g_N, v) − a(u_h, v).

*Energy.* a(e, v) + (λ(u³ − u_h³), v) = R(v). With v = e and X = ∫ λ(u² + u u_h + u_h²) e² ≥ 0, t² + X = R(e) ≤ η t,
where η is the estimator of the linear problem with source f − λu_h³. So t ≤ η, X ≤ t(η − t).

*A query.* Let J(v) = ∫w v − ∫(c v + λv³)Φ + ∫g v + ∫fΦ be the value asked (Φ = 0 for boundary averages), with the
kernel Φ of −κΔ. Let b(v, y) = a(v, y) + (3λu_h² v, y), z_h any state, R_d(v) = J′(v) − b(v, z_h), and b(v, ε) = R_d(v),
b(e₁, v) = R(v), z = z_h + ε. Then b(v, z) = J′(v) and, with q = λ(u³ − u_h³ − 3u_h² e) = λe²(2u_h + u),

    J(u) = J(u_h) + R(z_h) + b(e₁, ε) − ∫ q (z_h + ε + Φ).

‖·‖_b ≥ ‖·‖_a, so the estimators of the linear operator a with the residuals sR ± R_d/s bound ‖s e₁ ± ε/s‖_b, and
b(e₁, ε) lies between −η₋²/4 and η₊²/4 as for linear problems: the term `transfer`.

*Remainder.* ∫ q (z + Φ) is bounded in `remainder`.

*Dirichlet data.* λu³ is nondecreasing, so two solutions whose data differ by at most m differ by at most m: test the
difference of the equations with (u − ū − m)⁺. *One dimension:* |u(x) − u_h(x)| ≤ C_pt t ≤ C_pt η.

Robin facets have g − αu_h in the place of g_N, and the dual g − αz_h. *Everywhere:* (g(u) − g(u_h))e ≥ −γe², so level
sets see f − g(u_h) as they see f, and γ|e| beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Mask, Vector, attributes
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.extremes import Extremes
from pinnpoint.certificates.transfer import PRODUCTS, Route, TransferBound, TransferContext, with_reserve
from pinnpoint.rounding.arithmetic import UNIT, at_most, down, gamma, require_round_to_nearest, sum_up, up
from pinnpoint.systems.goals import EnergyError, extreme_queries
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.continuum import Continuum, bernstein
from pinnpoint.transfer.energy.estimator import Bounds, Pair, Side
from pinnpoint.transfer.energy.norms import Norms
from pinnpoint.transfer.energy.products import combined, paired
from pinnpoint.transfer.equilibrated import (
    BATCH,
    MODELS,
    UNBOUNDED,
    Enclosed,
    coefficient_claims,
    data_claims,
    indicators,
    place_of,
    remarks,
    within,
)
from pinnpoint.transfer.goals import Functional, functionals
from pinnpoint.transfer.line.one_dimension import pointwise
from pinnpoint.transfer.media.coefficients import Field
from pinnpoint.transfer.nonlinear.ceilings import Ceilings
from pinnpoint.transfer.nonlinear.reactions import Term, height, held_all_around, least_reaction
from pinnpoint.transfer.points.places import cell_of
from pinnpoint.transfer.points.potentials import potential

TERMS = ("transfer", "remainder", "quadrature", "rounding")
LOOSE = {1: 3e-3, 2: 3e-3, 3: 6e-2}
"""The error of Φ against (h/R)², for small h/R."""


@dataclass(frozen=True, eq=False)
class Primal:
    """A state with everything that does not depend on the query."""

    nodal: Vector
    cube: Density
    """λu_h³, or g(u_h)."""
    side: Side
    bounds: Bounds
    energy: float


@dataclass(frozen=True, eq=False)
class Witness:
    """What a bound rests on: the states; the dual sources and fluxes are made again when asked for."""

    route: Monotone
    state: Primal
    duals: Mapping[int, Vector]
    mismatch: float
    compared: frozenset[int] = frozenset()

    __repr__ = brief

    def primal(self) -> Side:
        """u_h with the flux of f − λu_h³."""
        return self.state.side

    def dual(self, i: int) -> Side:
        """z_h with the source w − (c + 3λu_h²)Φ − 3λu_h² z_h and its flux."""
        return self.route.sides(self.state, [i], lambda b: self.duals[i])[0]

    def potential(self, i: int) -> Density | None:
        """Φ of a query."""
        return self.route.potentials[i]


@dataclass(frozen=True, eq=False)
class Monotone(Route):
    """J(u*) of a problem with a nondecreasing reaction, from any admissible state; see the module's text.

    *Guarantee:* deterministic, for the solution on the domain that the mesh covers. *Assumes:* nothing, where all data
    are numbers or expressions; opaque functions make it an estimate.

    Parameters
    ----------
    model
        The problem without its reaction g.
    term
        The reaction.
    queries
        Queries with goals.
    facets_of, cells_of
        Facet numbers of a boundary group, and numbers of cells of a group.
    tolerance
        Indicators are for queries with larger radii; None for all.
    lifted
        Whether the solution is what a lift leaves over: then the lift's error is all of it.
    """

    model: Continuum
    term: Term
    queries: Queries
    facets_of: Any
    tolerance: Any = None
    cells_of: Any = None
    lifted: bool = False
    goals: tuple[Functional, ...] = field(init=False)
    potentials: tuple[Density | None, ...] = field(init=False)
    norms: Norms = field(init=False)

    __repr__ = brief

    def __post_init__(self) -> None:
        require_round_to_nearest()
        model, asked = self.model, self.queries
        # continuous.md, step 10c
        found = functionals(model, asked, self.facets_of, self.cells_of, harmonic=True)
        for J, name in zip(found, asked.names, strict=True):
            if J.lift is not None:
                raise InputError(
                    f"query '{name}': fluxes of semilinear problems through Dirichlet groups have no transfer; ask for "
                    "points, averages, or fluxes through Robin groups"
                )
        fall = self.term.fall + max(0.0, -least_reaction(model))  # indefinite.md, step 10a
        object.__setattr__(self, "norms", Norms.of(model).falling(float(up(fall)) if fall > 0.0 else 0.0, model))
        object.__setattr__(self, "goals", found)
        object.__setattr__(self, "potentials", tuple(self._potential(i, J) for i, J in enumerate(found)))

    @property
    def functionals(self) -> Queries:
        """What the discrete certificate is asked: the queries themselves."""
        return self.queries

    def _potential(self, i: int, J: Functional) -> Density | None:
        if J.kernel is None:
            return J.potential  # indefinite.md, step 10b
        model, x0 = self.model, np.array(self.queries.goals[i].at)  # type: ignore[union-attr]
        T, K = model.topology, J.kernel
        size = float(T.volumes[cell_of(T, x0)]) ** (1.0 / model.d)
        x = size / K.radius
        tolerance = LOOSE[model.d] * (min(0.3, x) * max(1.0, x)) ** (1 + model.degree)
        return potential(K, model.points, T.cells, model.anchors.volume, x0, tolerance, size)

    def bound(self, context: TransferContext) -> TransferBound:
        """Centres and terms for all queries."""
        require_round_to_nearest()
        if context.root is None:
            raise CertificationError(
                "transfer: this method gives no root, which the transfer of a nonlinear reaction needs"
            )
        model = self.model
        state, solve = context.root(model.vector(model.load, model.boundary_load))  # continuous.md, step 10k
        mismatch, sure = model.mismatch(state)
        if not math.isfinite(mismatch):
            raise CertificationError("dirichlet: the data's distance from its interpolant could not be bounded")
        free = slice(None) if context.free is None else context.free
        primal, pairs_ = self._measured(state, lambda b: _spread(solve(b[free]), free, model.size))
        found = self._values(primal, pairs_)
        if self.norms.fall == 0.0 and model.medium is None:
            given = Ceilings.of(model, state, reacts=True, at_zero=self.term.at_zero)
            found = within(given, self.queries.goals, self.goals, found)
        extreme = extreme_queries(self.queries.goals)
        found = [UNBOUNDED if i in extreme else f for i, f in enumerate(found)]
        terms = {name: np.array([attributes(f, name)[name] for f in found]) for name in TERMS}
        if mismatch > 0.0:
            change = self._missed(mismatch)
            # continuous.md, step 10j
            terms["boundary"] = np.array([0.0 if J.known else float(up(change * J.reach)) for J in self.goals])
        proved = sure and model.load.proved and all(J.proved for J in self.goals)
        proved = proved and (model.boundary_load is None or model.boundary_load.density.proved)
        proved = proved and (model.exchange is None or model.exchange.alpha.proved)
        details = {
            "energy_bound": primal.energy,
            "dual_energy_bound": np.array([f.dual for f in found]),
            "ball_radius": np.array([J.ball for J in self.goals]),
            "work": np.array([J.work for J in self.goals]),
        }
        pairs = {i: pair for i, (pair, _) in pairs_.items()}
        duals = {i: z for i, (_, z) in pairs_.items()}
        evidence = Evidence(
            extremes=self._extremes(primal, (mismatch, sure)) if extreme else None,
            indicators=indicators(model, primal.bounds, pairs, np.sum(list(terms.values()), axis=0), self.tolerance),
            mismatched_cells=model.mismatched_cells(state, mismatch),
            remarks=tuple(remarks(self.queries.names, self.goals, found, model.budget)),
            witness=Witness(self, primal, duals, mismatch, frozenset(i for i, f in enumerate(found) if f.compared)),
        )
        here = np.array([f.center for f in found])
        return TransferBound(with_reserve(terms), self._claims(mismatch, sure), details, None, here, proved, evidence)

    def _extremes(self, primal: Primal, mismatch: tuple[float, bool]) -> Extremes:
        """What is known of the largest error, of norms and of extreme values."""
        from pinnpoint.transfer.everywhere.asked import asked_for
        from pinnpoint.transfer.everywhere.setting import OnCells, Setting

        for goal, name in zip(self.queries.goals, self.queries.names, strict=True):
            if isinstance(goal, EnergyError) and mismatch[0] > 0.0:
                raise InputError(
                    f"query '{name}': beside a nonlinear reaction the energy error needs Dirichlet data that the "
                    f"elements meet exactly, such as numbers; the data given differs by up to {mismatch[0]:.3g}"
                )
        length = float(up(self.norms.second * primal.energy, 2))  # indefinite.md, step 11e
        carried = float(up(self.norms.fall * length)) if self.norms.fall else 0.0  # indefinite.md, step 11d
        seen = OnCells.empty(self.model, primal.side)
        bounds = self.model.estimator.measure(primal.side, [], seen)[0]
        lengths = length, at_most(primal.energy)
        setting = Setting(self.model, primal.side, bounds, seen, carried=carried, lengths=lengths)
        if mismatch[0] > 0.0:
            mismatch = self._missed(mismatch[0]), mismatch[1]
        return asked_for(setting, mismatch, self.queries, self.cells_of, lifted=self.lifted)

    def _missed(self, mismatch: float) -> float:
        """What Dirichlet data within `mismatch` of the state's changes anywhere."""
        model, norms = self.model, self.norms
        if norms.fall == 0.0:
            return mismatch
        if model.d == 1:
            length = math.sqrt(sum_up(up(model.topology.volumes * (1.0 + model.anchors.slack))))
            grown = norms.fall * length * norms.second * norms.top / norms.slope
            return float(up(mismatch * (1.0 + grown), 32))  # indefinite.md, step 6e
        if held_all_around(model):
            return float(up(mismatch * (1.0 + norms.fall * height(model, norms)), 8))  # indefinite.md, step 6e
        raise InputError(
            "dirichlet: where c + g′ may be negative and a side is free, data must be met by the elements: numbers, or "
            f"linear formulas; it differs by up to {mismatch:.3g}. Say target='discrete'"
        )

    def enclosed(self, state: Vector, dual: Callable[[Vector], Vector]) -> tuple[Primal, list[Enclosed]]:
        """Every value, from any state that has the boundary values, and a solver for dual states.

        `dual` takes a load vector to coefficients that vanish on the Dirichlet part; the proof does not depend on them.
        """
        primal, pairs_ = self._measured(state, dual)
        return primal, self._values(primal, pairs_)

    def _values(self, primal: Primal, pairs_: Mapping[int, tuple[Pair, Vector]]) -> list[Enclosed]:
        return [self._value(i, primal, *pairs_.get(i, (None, None))) for i in range(len(self.goals))]

    def _measured(self, state: Vector, dual: Callable[[Vector], Vector]) -> tuple[Primal, dict[int, Any]]:
        primal = self.primal(state)
        step = max(1, BATCH // (2 * len(self.model.kappa) * len(pairs(self.model.d))))
        asked = [i for i, J in enumerate(self.goals) if J.acts]
        found: dict[int, Any] = {}
        for a in range(0, len(asked), step):
            found |= self._pairs(primal, asked[a : a + step], dual)
        return primal, found

    def primal(self, state: Vector) -> Primal:
        """λu_h³, the flux of the state, and its energy bound."""
        model = self.model
        w = state[model.cell_nodes]
        cube = self.term.values(w)
        source = combined([(1.0, model.load), (-1.0, cube)])  # continuous.md, step 10b
        wanted = model.wanted(state, model.boundary_load, dual=False)  # indefinite.md, step 11a
        flux = model.fluxes(state[None, :], [source], [model.boundary_load if wanted is None else wanted])[..., 0]
        side = Side(state, source, flux, model.boundary_load, wanted=wanted)
        bounds = model.estimator.measure(side, [])[0]
        energy = model.estimator.energy(bounds)  # continuous.md, step 10b
        return Primal(state, cube, side, bounds, self._grown(energy))

    def _grown(self, x: float) -> float:
        """A bound of a form or an energy, divided by s; as it is where s = 1."""
        return x if self.norms.fall == 0.0 else math.copysign(float(up(abs(x) / self.norms.slope)), x)

    def _pairs(self, primal: Primal, these: list[int], dual: Callable[[Vector], Vector]) -> dict[int, Any]:
        sides = self.sides(primal, these, dual)
        _, found = self.model.estimator.measure(primal.side, [(side, 1.0, False) for side in sides])
        return {i: (found[k], sides[k].nodal) for k, i in enumerate(these)}

    def sides(self, primal: Primal, these: list[int], dual: Callable[[Vector], Vector]) -> list[Side]:
        """The dual states of some queries with their sources and fluxes."""
        model, C = self.model, len(self.model.kappa)
        u = primal.nodal[model.cell_nodes]
        nodal, sources, loads = [], [], [self.goals[i].load for i in these]
        zero = Density.constant(np.zeros(C), model.d)
        for i in these:
            parts: list[tuple[Vector | float, Density]] = [(1.0, zero)]
            J, Phi = self.goals[i], self.potentials[i]
            if J.source is not None:
                parts.append((1.0, J.source.on_all(C)))
            if Phi is not None:
                parts.append((-1.0, self.term.on_density(u, Phi)))  # continuous.md, step 10d
                if self._left_to_us:
                    parts.append((-model.reaction, Phi.on_all(C)))
            known = combined(parts)
            z = dual(model.vector(known, J.load, J.field))
            nodal.append(z)
            # continuous.md, step 10d
            sources.append(combined([(1.0, known), (-1.0, self.term.on_state(u, z[model.cell_nodes]))]))
        wanted = [model.wanted(z, load, dual=False) for z, load in zip(nodal, loads, strict=True)]
        aims = [load if w is None else w for w, load in zip(wanted, loads, strict=True)]
        fields = [self._field(i) for i in these]
        fluxes = model.fluxes(np.stack(nodal), sources, aims, fields)
        return [
            Side(nodal[k], sources[k], fluxes[..., k], loads[k], fields[k], wanted=wanted[k]) for k in range(len(these))
        ]

    def _field(self, i: int) -> Field | None:
        """The q of ∫ q·∇v of a query, on every cell."""
        q = self.goals[i].field
        return None if q is None else q.on_all(len(self.model.kappa))

    def _value(self, i: int, primal: Primal, pair: Pair | None, z: Vector | None) -> Enclosed:
        J, goal, model = self.goals[i], self.queries.goals[i], self.model
        if J.known:
            return Enclosed(J.constant, 0.0, J.data, max(0.0, J.error - J.data))
        enclosed = None
        if pair is not None and z is not None:
            # indefinite.md, step 6c
            low, high, share = (self._grown(x) for x in model.estimator.product_bound(primal.bounds, pair))
            value, off, data = self._at_state(i, primal)
            dual = self._grown(model.estimator.energy(pair.dual))
            # continuous.md, step 10f
            less, more = self.term.rest(model, self.norms, primal.nodal, primal.energy, self._beside(J), z, dual)
            shift, more_or_less = (0.5 * (more - less), less + more) if math.isfinite(less + more) else (0.0, 0.0)
            center = pair.value + value + J.constant + 0.5 * (low + high) + shift  # continuous.md, step 10d
            size = abs(pair.value) + abs(value) + abs(J.constant) + abs(low) + abs(high) + more_or_less
            rounding = pair.rounding + off + 8.0 * UNIT * size + max(0.0, J.error - J.data) + 2.0 * J.scale * size
            rounding += PRODUCTS * 0.5 * (high - low) * (1.0 if model.medium is None else MODELS)
            rounding += PRODUCTS * 0.5 * more_or_less
            enclosed = Enclosed(
                center,
                float(up(max(0.0, 0.5 * (high - low) - share))),
                float(up(share + pair.data + J.data + data)),
                float(up(rounding)),
                dual,
                float(up(0.5 * (less + more))),
            )
        plain = model.medium is None
        other = pointwise(model, goal, primal.nodal, primal.bounds, primal.side.source) if plain else None
        if other is not None:
            other = other[0], self._grown(other[1]), self._grown(other[2])
        if other is not None and (enclosed is None or other[1] < enclosed.radius):
            dual = math.nan if enclosed is None else enclosed.dual
            enclosed = Enclosed(other[0], max(0.0, other[1] - other[2]), other[2], 0.0, dual)
        if enclosed is None:
            raise InputError(
                f"query '{self.queries.names[i]}': no ball around {place_of(goal)} stays where the "
                "diffusion is constant, and no end of the interval is fixed. Move the point, or say target='discrete'"
            )
        return enclosed

    def _at_state(self, i: int, primal: Primal) -> tuple[float, float, float]:
        """∫ w u_h + ∫ q·∇u_h − ∫ (c u_h + λu_h³)Φ, rounding, and what is not known of w, q and Φ."""
        model, J, Phi = self.model, self.goals[i], self.potentials[i]
        C, volume, slack = len(model.kappa), model.anchors.volume, 3.0 * model.anchors.slack + gamma(64)
        w = primal.nodal[model.cell_nodes]
        blur = np.asarray(up(gamma(4 if model.degree == 1 else 16) * np.abs(w).max(axis=1)))
        linear = Density(bernstein(w, model.d, model.degree), np.zeros(C), blur, blur)
        top = np.abs(w).max(axis=1) if model.degree == 1 else up(np.abs(linear.coefficients).max(axis=1) + blur)
        found = []
        if J.source is not None:
            found.append((1.0, paired(linear, top, J.source.on_all(C), volume, slack)))
        if Phi is not None:
            full = Phi.on_all(C)
            found.append((-1.0, paired(self.term.simple(primal.cube, w), self.term.size(w), full, volume, slack)))
            if self._left_to_us:
                found.append((-1.0, paired(linear, top, combined([(model.reaction, full)]), volume, slack)))
        q = self._field(i)
        if q is not None:
            found.append((1.0, model.estimator.along(replace(primal.side, field=q))))  # indefinite.md, step 10c
        value = sum(sign * p[0] for sign, p in found)  # continuous.md, step 10c
        off = sum(p[1] for _, p in found) + 8.0 * UNIT * sum(abs(p[0]) for _, p in found)
        return float(value), float(up(off)), float(up(sum(p[2] for _, p in found)))

    @property
    def _left_to_us(self) -> bool:
        """Whether −∫ c v Φ is no part of the kernel's own density, and there is any."""
        return self.model.medium is None and bool(np.any(self.model.reaction))

    def _beside(self, J: Functional) -> float:
        """C_Φ: an upper bound of ‖vΦ‖₂/‖v‖_a; zero where there is no kernel."""
        if J.kernel is not None:
            return self.norms.weighted(J.kernel)
        if J.potential is None or not math.isfinite(J.height):
            return 0.0 if J.potential is None else math.inf
        return self.norms.below(J.ball, float(down(1.0 / J.height)), stretch=J.stretch)

    def _uniqueness(self) -> list[Claim]:
        norms = self.norms
        if norms.fall == 0.0:
            return []
        return [
            Claim(f"c + g′ ≥ −{norms.fall:.6g}, the first eigenvalue is at least {norms.second**-2.0:.6g}: u is unique")
        ]

    def _reaction_claim(self) -> str:
        """What is said of g, and of numbers κ and c; uniqueness has its own claim where c + g′ may fall."""
        said = self.term.claim if self.model.medium is None else self.term.claim.split("; ")[1]
        return said if self.norms.fall == 0.0 else said.removesuffix(", so u is unique").replace("c ≥ 0", "c", 1)

    def _claims(self, mismatch: float, sure: bool) -> tuple[Claim, ...]:
        model = self.model
        said = [
            Claim("continuous target: the weak solution on the domain that the mesh covers"),
            *([] if model.medium is None else coefficient_claims(model)),
            Claim(self._reaction_claim()),
            *self._uniqueness(),
            Claim("energy errors bounded by equilibrated fluxes; the remainder of the linearised dual is bounded"),
            *data_claims("source", model.load),
        ]
        if model.boundary_load is not None:
            said += data_claims("Neumann data", model.boundary_load.density)
        if model.exchange is not None:
            said += model.exchange.claims()
        if mismatch > 0.0:
            how = "verified" if sure else "declared"
            said.append(Claim(f"Dirichlet data met to {mismatch:.3e}; comparison principle", how))
        said += [Claim(f"{n}: {J.note}") for n, J in zip(self.queries.names, self.goals, strict=True) if J.note]
        return tuple(said)


def _spread(q: Vector, free: Mask | slice, size: int) -> Vector:
    z = np.zeros(size)
    z[free] = q
    return z
