"""A constant drift taken out of a problem in time: u = e^{β·(x − m)} v, β = b/(2κ).

v solves v_t − κΔv + (c + |b|²/4κ) v = e^{−β·(x − m)} f with initial and Dirichlet data that carry the same factor: a
problem without drift, which is certified as it is, and u(x₀, T) = e^{β·(x₀ − m)} v(x₀, T).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import Route, TransferBound, TransferContext
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.models.smooth import SmoothField, model_at
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.systems.goals import Point
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor import functions
from pinnpoint.taylor.inputs import Data, enclosed, fixed
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.prisms import bounds
from pinnpoint.taylor.simplices import enclose, supremum

FAST = 100.0
"""Exponents β·(x − m) that are taken, at most."""
ORDER = 5
"""Of the models of which the size of data is read."""


@dataclass(frozen=True, eq=False)
class Drift:
    """The factor e^{β·(x − m)}.

    Attributes
    ----------
    b, kappa, c
        The coefficients, numbers.
    middle
        m.
    """

    b: Vector
    kappa: float
    c: float
    middle: Vector

    __repr__ = brief

    def factor(self, sign: float, X: list[TaylorModel]) -> TaylorModel:
        """e^{± β·(x − m)} from models of the coordinates."""
        total = constant(0.0)
        for i, (b, m) in enumerate(zip(self.b.tolist(), self.middle.tolist(), strict=True)):
            if b:
                beta = sign * b / (2.0 * self.kappa)
                total = total + constant(beta, 2.0 * UNIT * abs(beta)) * (X[i] - constant(m))
        return functions.exp(total)

    def _without(self, f: Any, X: list[TaylorModel]) -> TaylorModel:
        return self.factor(-1.0, X) * model_at(f, X)

    def without(self, f: Data) -> Data:
        """Data of the problem of v."""
        if fixed(f) == (0.0, 0.0):
            return 0.0
        return SmoothField(partial(self._without, f))  # slabs.md, step 7a

    @property
    def reaction(self) -> tuple[float, float]:
        """The reaction of v, c + |b|²/4κ, and a bound of its rounding."""
        found = self.c + float(np.sum(self.b**2)) / (4.0 * self.kappa)
        return found, 16.0 * UNIT * found

    def at(self, points: Vector) -> tuple[Vector, Vector]:
        """e^{β·(x₀ − m)} at points, and bounds of its errors."""
        value, error = enclose(SmoothField(partial(self.factor, 1.0)), points)
        return np.asarray(value), np.asarray(error)


@dataclass(frozen=True, eq=False)
class DriftRoute(Route):
    """The route of v, its values multiplied by the factor at the points.

    Attributes
    ----------
    factor, error
        e^{β·(x₀ − m)} of each query.
    slip
        Upper bound of what the rounding of v's reaction changes.
    """

    inner: Route
    factor: Vector
    error: Vector
    slip: float

    __repr__ = brief

    @property
    def functionals(self) -> Queries:
        """The queries as they are."""
        return self.inner.functionals

    def bound(self, context: TransferContext) -> TransferBound:
        """Centres and terms of v, times the factor."""
        found = self.inner.bound(context)
        assert found.center is not None
        center, most = self.factor * found.center, np.asarray(up(self.factor + self.error))
        terms = {name: np.asarray(up(most * each)) for name, each in found.terms.items()}
        off = self.error * np.abs(found.center) + 2.0 * UNIT * np.abs(center) + most * self.slip
        terms["rounding"] = np.asarray(up(terms["rounding"] + up(off, 8), 2))  # slabs.md, step 7b
        claim = Claim("the drift is taken out by an exponential factor, which is enclosed", "verified")
        details = {name: what for name, what in found.details.items() if "energy" not in name}
        return replace(found, terms=terms, center=center, claims=(*found.claims, claim), details=details)


def drift_of(problem: MovingQueries) -> Drift:
    """The drift of a problem, or a refusal."""
    given = problem.given
    known = [None if x is None or isinstance(x, dict | list | np.ndarray) else fixed(x) for x in _numbers(given)]
    if any(x is None or x[1] != 0.0 for x in known):
        raise InputError(
            "convection: in time, for the PDE's own solution, it must be numbers, and diffusion and reaction too; say "
            "target='discrete'"
        )
    kappa, c, *b = (x[0] for x in known if x is not None)
    if c < 0.0:
        raise InputError(f"reaction: must be ≥ 0 in time for the PDE's own solution; got {c:g}; say target='discrete'")
    if not problem.held_all_around:
        raise InputError(
            "convection: in time, for the PDE's own solution, Dirichlet conditions must hold all around; say "
            "target='discrete'"
        )
    for name, what in (("source", given["source"]), ("initial", given["initial"]), *given["dirichlet"].items()):
        if not (enclosed(what) or (not isinstance(what, dict) and fixed(what) is not None)):
            raise InputError(f"{name}: with convection it must be one number or formula; say target='discrete'")
    X = problem.mesh.points
    found = Drift(np.array(b), kappa, c, 0.5 * (X.min(axis=0) + X.max(axis=0)))
    swift = float(np.abs(found.b) @ np.ptp(X, axis=0)) / (4.0 * kappa)
    if not swift <= FAST:
        raise InputError(
            f"convection: widths grow like e to the power {swift:.3g}, |b|L/4κ, and more than {FAST:g} is refused; say "
            "target='discrete'"
        )
    return found


def _numbers(given: Any) -> list[Any]:
    """κ, c and the components of b."""
    b = given["convection"]
    return [given["diffusion"], given["reaction"], *(b if isinstance(b, list | tuple | np.ndarray) else [None])]


def without_drift(problem: MovingQueries, queries: Queries, budget: int | None) -> Route:
    """The way to values of a problem with a constant drift."""
    drift = drift_of(problem)
    for goal, name in zip(queries.goals, queries.names, strict=True):
        if not isinstance(goal, Point):
            raise InputError(f"query '{name}': with convection in time points are known; say target='discrete'")
    given, (c, off) = problem.given, drift.reaction
    rest = problem.like(
        drift.without(given["source"]),
        drift.without(given["initial"]),
        {group: drift.without(g) for group, g in given["dirichlet"].items()},
        c,
    )
    slip = float(up(off * problem.grid.end * _largest(rest), 8))  # slabs.md, step 7b
    at = np.array([goal.at for goal in queries.goals if isinstance(goal, Point)])
    return DriftRoute(rest.transfer(queries, None, budget), *drift.at(at), slip)


def _largest(problem: MovingQueries) -> float:
    """Upper bound of |v|, from its data."""
    mesh, end, given = problem.mesh, problem.grid.end, problem.given
    top = [0.0]
    if enclosed(given["initial"]):
        top.append(float(supremum(given["initial"], mesh.points[mesh.cells])[0].max()))
    for g in given["dirichlet"].values():
        if enclosed(g):
            top.append(max(abs(x) for x in bounds(g, mesh.points[mesh.boundary], 0.0, end, ORDER)))
    f = given["source"]
    force = max(abs(x) for x in bounds(f, mesh.points[mesh.cells], 0.0, end, ORDER)) if enclosed(f) else 0.0
    return float(up(max(top) + end * force, 4))
