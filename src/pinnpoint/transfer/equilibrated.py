"""The transfer to the PDE's own solution by equilibrated fluxes: everything computed, in one, two and three dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.arrays import Vector
from pinnpoint.bernstein import Density, pairs
from pinnpoint.certificate import Claim
from pinnpoint.errors import CertificationError, InputError
from pinnpoint.queries import Flux, Point, Queries
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.estimator import Bounds, Pair, Side
from pinnpoint.transfer.goals import Functional, functional
from pinnpoint.transfer.interface import TransferBound, TransferContext
from pinnpoint.transfer.one_dimension import pointwise

BATCH = 4_000_000
"""Coefficients of dual sources held at once."""


@dataclass(frozen=True, eq=False)
class Equilibrated:
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
    facets_of
        Facet numbers of a boundary group.
    """

    model: Continuum
    queries: Queries
    facets_of: Any
    goals: tuple[Functional, ...] = field(init=False)
    functionals: Queries = field(init=False)

    def __post_init__(self) -> None:
        model, asked = self.model, self.queries
        found = tuple(
            functional(model, goal, name, self.facets_of) for goal, name in zip(asked.goals, asked.names, strict=True)
        )
        rows, constants = [], np.zeros(len(found))
        for i, (J, goal) in enumerate(zip(found, asked.goals, strict=True)):
            if isinstance(goal, Flux):
                rows.append(sp.csr_array(asked.L[[i]]))
                constants[i] = asked.constants[i]
            elif J.trivial and model.d == 1 and isinstance(goal, Point) and not J.error and not J.constant:
                rows.append(sp.csr_array(asked.L[[i]]))
            else:
                rows.append(sp.csr_array(model.vector(J.source, J.load)[None, :]))
                constants[i] = J.constant
        made = Queries(sp.vstack(rows), asked.names, constants, points=asked.points, goals=asked.goals)
        object.__setattr__(self, "goals", found)
        object.__setattr__(self, "functionals", made)

    def bound(self, context: TransferContext) -> TransferBound:
        """Shifts and terms for all queries."""
        if context.solve is None or context.adjoint is None or context.discrete is None:
            raise CertificationError("transfer: this method gives no solver, which the equilibrated transfer needs")
        model = self.model
        state = context.solve(model.vector(model.load, model.boundary_load))
        center, radius = context.discrete(state)
        mismatch, sure = model.mismatch(state)
        if not math.isfinite(mismatch):
            raise CertificationError("dirichlet: the data's distance from its interpolant could not be bounded")
        primal, pairs_ = self._measure(state, context.adjoint(), context)
        K = len(self.goals)
        shift, terms = np.zeros(K), {name: np.zeros(K) for name in ("transfer", "quadrature", "rounding", "algebra")}
        if mismatch > 0.0:
            terms["boundary"] = np.zeros(K)
        etas = np.full(K, np.nan)
        for i, J in enumerate(self.goals):
            flux = isinstance(self.queries.goals[i], Flux)
            if flux and mismatch > 0.0:
                raise InputError(
                    f"query '{self.queries.names[i]}': a flux needs Dirichlet data that the elements meet exactly, such as "
                    f"a number; the data given differs by up to {mismatch:.3g}. Say target='discrete'"
                )
            low = high = J.constant
            own = {
                "transfer": 0.0,
                "quadrature": J.data,
                "rounding": max(0.0, J.error - J.data),
                "algebra": float(radius[i]),
            }
            pair = pairs_.get(i)
            if pair is not None:
                ends = model.estimator.product_bound(primal, pair)
                width = 0.5 * (ends[1] - ends[0])
                etas[i] = model.estimator.energy(pair.dual)
                sign = -1.0 if flux else 1.0
                middle = pair.value + (0.0 if flux else J.constant) + sign * 0.5 * (ends[0] + ends[1])
                scale = J.details.get("scale", 0.0)
                own["transfer"] = max(0.0, width - ends[2])
                own["quadrature"] += ends[2] + pair.data
                own["rounding"] += (
                    pair.rounding + 8.0 * UNIT * (abs(middle) + width) + scale * 2.0 * (abs(middle) + width)
                )
                low = high = middle
            if mismatch > 0.0 and not (J.trivial and J.constant):
                terms["boundary"][i] = mismatch
            here = low if low == high else 0.5 * (low + high)
            better = pointwise(model, self.queries.goals[i], state, primal)
            if better is not None:
                total = own["transfer"] + own["quadrature"] + own["rounding"]
                if pair is None and not J.constant or better[1] < total:
                    here = better[0]
                    own.update(transfer=better[1] - better[2], quadrature=better[2], rounding=0.0)
            shift[i] = here - center[i]
            own["rounding"] += 2.0 * UNIT * (abs(here) + abs(shift[i]))
            for name, x in own.items():
                terms[name][i] = up(x)
        proved = sure and model.load.proved and all(J.proved for J in self.goals)
        proved = proved and (model.boundary_load is None or model.boundary_load.density.proved)
        details = {
            "energy_bound": model.estimator.energy(primal),
            "dual_energy_bound": etas,
            "ball_radius": np.array([J.details.get("ball", np.nan) for J in self.goals]),
        }
        return TransferBound(terms, self._claims(mismatch, sure), details, shift, proved)

    def _measure(self, state: Vector, adjoint: Vector, context: TransferContext) -> tuple[Bounds, dict[int, Pair]]:
        model = self.model
        asked = [i for i, J in enumerate(self.goals) if not J.trivial]
        size = len(model.kappa) * len(pairs(model.d))
        step = max(1, BATCH // size)
        zero = Density.constant(np.zeros(len(model.kappa)), model.d)
        flux = model.fluxes(state[None, :], [model.load], [model.boundary_load])[..., 0]
        primal = Side(state, model.load, flux, model.boundary_load)
        found: dict[int, Pair] = {}
        bounds = model.estimator.measure(primal, [])[0] if not asked else None
        for a in range(0, len(asked), step):
            these = asked[a : a + step]
            nodal = np.stack([self._dual_state(i, adjoint[i], context) for i in these])
            sources = [zero if (w := self.goals[i].source) is None else w.on_all(len(model.kappa)) for i in these]
            loads = [self.goals[i].load for i in these]
            fluxes = model.fluxes(nodal, sources, loads)
            duals = []
            for k, i in enumerate(these):
                side = Side(nodal[k], sources[k], fluxes[..., k], loads[k])
                duals.append((side, -1.0, False) if self.goals[i].lift is not None else (side, 1.0, True))
            bounds, some = model.estimator.measure(primal, duals)
            found |= dict(zip(these, some, strict=True))
        assert bounds is not None
        return bounds, found

    def _dual_state(self, i: int, q: Vector, context: TransferContext) -> Vector:
        """z̃ with every degree of freedom: zero on the Dirichlet part, or the lift of a flux."""
        z = np.zeros(self.model.size)
        z[slice(None) if context.free is None else context.free] = q
        lift = self.goals[i].lift
        return z if lift is None else lift - z

    def _claims(self, mismatch: float, sure: bool) -> tuple[Claim, ...]:
        model, said = self.model, []
        said.append(Claim("continuous target: the weak solution on the domain that the mesh covers"))
        said.append(Claim("κ and c are constant on each cell; energy errors bounded by equilibrated fluxes"))
        said += _data("source", model.load)
        if model.boundary_load is not None:
            said += _data("Neumann data", model.boundary_load.density)
        if mismatch > 0.0:
            how = "verified" if sure else "declared"
            said.append(Claim(f"Dirichlet data met to {mismatch:.3e}; maximum principle", how))
        said += [Claim(f"{n}: {J.note}") for n, J in zip(self.queries.names, self.goals, strict=True) if J.note]
        return tuple(said)


def _data(name: str, what: Density) -> list[Claim]:
    if not what.proved:
        return [Claim(f"{name}: an opaque function; the error of its integrals is estimated", "declared")]
    if not np.any(what.error2):
        return [Claim(f"{name}: integrated exactly")]
    return [Claim(f"{name}: enclosed on every cell to {float(np.max(what.error2)):.3e}")]
