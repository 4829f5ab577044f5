"""A network of space and time kept as it is: the problem of what it leaves over, on the same mesh and slabs.

With a smooth u_θ(x, t), e = u − u_θ solves the same equation with the source r = f − ∂_t u_θ + κΔu_θ − b·∇u_θ − c u_θ,
the initial values u₀ − u_θ(·, 0), the Dirichlet data g − u_θ and the fluxes g − κ∂_n u_θ − αu_θ; all of these are data
that enclose themselves. Its value is certified like any other, and u_θ's own value is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from pinnpoint.base.arrays import Index, Limits, Vector, frozen
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.transfer import Route
from pinnpoint.certifiers.protocols import Certifier, Method
from pinnpoint.certifiers.standing import Standing
from pinnpoint.fem.extraction import Extraction
from pinnpoint.fem.lifts.forecast import Forecast
from pinnpoint.fem.lifts.lifted import AbstractLifted, natural_groups
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.fem.parabolic.data import variables
from pinnpoint.fem.parabolic.storage import room_for
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models.given import Prediction, require_no_file
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import is_module
from pinnpoint.models.smooth import CHUNK, SmoothField, model_at
from pinnpoint.systems.goals import Goal, Point, time_of
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.taylor.jets import ZERO, plus, times
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.networks import BLOCK
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.media.coefficients import Coefficient, modelled
from pinnpoint.transfer.slabs.route import SlabRoute

SECONDS = {1: 1.5e-4, 2: 6e-4, 3: 4e-3}
"""Of one core for a network's model on a cell and a slab, by dimension."""


@dataclass(frozen=True)
class MovingForecast(Forecast):
    """Seconds of one core that a lift in time takes, about; whether it pays is not forecast."""

    @property
    def long(self) -> bool:
        """Nothing is asked beforehand."""
        return False


@dataclass(frozen=True, eq=False)
class MovingLifted(AbstractLifted):
    """A problem in time seen from a prediction of space and time."""

    base: MovingQueries
    rest: MovingQueries
    lift: Lift

    components = 1
    surely_linear = True

    __repr__ = brief

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The transfer of the rest; its states are swept with the enclosed modes of the residual themselves."""
        for goal, name in zip(queries.goals, queries.names, strict=True):
            if not isinstance(goal, Point):
                raise InputError(
                    f"query '{name}': with a lift in time points are known; leave lift out, or ask for points"
                )
        route = self.rest.transfer(queries, tolerance, budget)
        assert isinstance(route, SlabRoute)
        swept = _Swept(self.rest, route)
        return replace(route, states=swept.states, shared=route.whole)

    def prepared(self, method: Method, route: Route) -> Certifier:
        """As of the rest, with the states that its route uses."""
        found = self.rest.prepared(method, route)
        assert isinstance(found, Standing)
        assert isinstance(route, SlabRoute)
        return replace(found, state=lambda: route.states().ravel())

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """The states of the rest: nothing but their initial and boundary values."""
        return replace(self.rest.extract(self.rest.space.U0, how), how="lifted, not projected")

    @property
    def cuts(self) -> int:  # type: ignore[override]
        """As of the problem itself."""
        return self.rest.cuts

    def ahead(self, share: float) -> float:
        """As of the problem itself."""
        return self.rest.ahead(share)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same on a refined mesh, with every slab halved."""
        return type(self)(self.base.refined(mesh, parents), self.rest.refined(mesh, parents), self.lift)

    def _own(self, goal: Goal | None, name: str) -> tuple[float, float, bool]:
        assert isinstance(goal, Point)  # `transfer` has refused the others
        time = time_of(goal)
        at, off = enclose(self.lift.value, np.array([[*goal.at, self.rest.grid.end if time is None else time]]))
        # slabs.md, step 6b
        return float(at[0]), float(off[0]), True


@dataclass(frozen=True, eq=False)
class _Swept:
    """The states of a problem, from the modes of its source that the proof needs anyway."""

    problem: MovingQueries
    route: SlabRoute

    @cached_property
    def _found(self) -> Vector:
        problem, source = self.problem, self.route.whole
        grid, model = problem.grid, self.route.model
        fluxes = self.route.prescribed(grid)

        def load(slab: int) -> Vector:
            f, tau, rows = source.slab(slab), float(grid.lengths[slab]), []
            g = [None] * grid.per_slab if fluxes is None else fluxes.slab(slab)[0]
            for r in range(grid.per_slab):
                row = tau / (2 * r + 1) * model.vector(f.mode(r), g[r])
                rows.append(row if r == 0 or slab >= grid.damped else 0.0 * row)
            return np.stack(rows)

        out = room_for((grid.levels.size, len(problem.nodes)), problem.file)
        found = np.asarray(problem.stepper.forward(problem.start, load, problem.held, out))
        frozen(found)
        return found

    def states(self) -> Vector:
        """At all levels."""
        return self._found


def lift_of(problem: MovingQueries, prediction: Prediction) -> Lift:
    """The prediction as a lift of this problem, or a refusal."""
    names, given = variables(problem.mesh.dim), prediction
    if isinstance(given, str | int | float):
        require_no_file(given)
        given = parse(given, names, name="prediction")
    if not (isinstance(given, Lift | MLP | Expression) or is_module(given)):
        raise InputError(
            "lift: needs a prediction with known derivatives in space and time: a network by its weights, a formula or "
            f"a Lift of {', '.join(names)}; got {type(given).__name__}"
        )
    lift = given if isinstance(given, Lift) else Lift(given, variables=names)
    for formula in lift.formulas:
        for name in formula.variables_used:
            if name not in names or names.index(name) != formula.variables.index(name):
                raise InputError(
                    f"{formula.name}: {name} is not read as a coordinate of this problem, {', '.join(names)}; say "
                    f"pinnpoint.models.Lift(…, variables={names})"
                )
    u = lift.prediction
    if isinstance(u, MLP) and lift.inputs is None and u.dim != len(names):
        raise InputError(
            f"prediction: the network has {u.dim} inputs, and the problem has {len(names)}, {', '.join(names)}; say "
            "pinnpoint.models.Lift(network, inputs=[…], variables=…)"
        )
    _require_plain(problem)
    return lift


def _require_plain(problem: MovingQueries) -> None:
    """Refuse what a lift in time is not proved for."""
    model, given = problem.stationary, problem.given
    problem.require_transfer()
    if isinstance(given["source"], Mapping):
        raise InputError(
            "lift: the source must be one formula for all cells; got a table of groups. Certify without it"
        )
    kappa, c, made = model.diffusion, model.reaction, model.coefficients
    if made is None:
        plain = np.ptp(kappa) == 0.0 and (c is None or np.ptp(c) == 0.0)
    else:
        A = made.diffusion[0]
        plain = len(made.diffusion) == 1 and not isinstance(A, tuple) and fixed(A) == (float(kappa[0]), 0.0)
    if not plain:
        raise InputError(
            "lift: in time the diffusion must be a number, and convection and reaction the same numbers or formulas on "
            "all cells; certify without the lift"
        )
    sides = [*given["neumann"].items(), *((group, g) for group, (_, g) in given["robin"].items())]
    for name, what in (
        ("source", given["source"]),
        ("initial", given["initial"]),
        *given["dirichlet"].items(),
        *sides,
    ):
        if not (enclosed(what) or fixed(what) is not None):
            raise InputError(f"{name}: with a lift it must be a number or a formula; certify without the lift")


def lifted(problem: MovingQueries, prediction: Prediction) -> MovingLifted:
    """The problem of what a smooth prediction of space and time leaves over."""
    lift, given, model = lift_of(problem, prediction), problem.given, problem.stationary
    kappa, d = float(model.diffusion[0]), problem.mesh.dim
    b: tuple[Coefficient, ...] | None = None
    c: Coefficient = 0.0 if model.reaction is None else float(model.reaction[0])
    if model.coefficients is not None:
        _, b, c = model.coefficients.at(0)

    def left_of(normal: Vector, g: Any) -> SmoothField:
        return _field(lift, partial(_flux, lift, g, kappa, normal))

    mesh, fluxes, robin = natural_groups(problem.mesh, model.held, given, lift, left_of)
    rest = problem.like(
        _field(lift, partial(_residual, lift, given["source"], kappa, b, c, d), given["source"]),
        _field(lift, partial(_start, lift, given["initial"])),
        {group: _field(lift, partial(_gap, lift, g)) for group, g in given["dirichlet"].items()},
        mesh=mesh,
        neumann=fluxes,
        robin=robin,
    )
    return MovingLifted(problem, rest, lift)


def cost(problem: MovingQueries, lift: Lift) -> MovingForecast:
    """What it takes to enclose the residual on all cells and slabs."""
    cells, u = len(problem.mesh.cells), lift.prediction
    size = sum(len(W) for W in u.weights[:-1]) / 96.0 if isinstance(u, MLP) else 0.04
    return MovingForecast(size * SECONDS[problem.mesh.dim] * cells * problem.grid.steps, cells)


def _field(lift: Lift, model: Any, terms: Any = 0.0) -> SmoothField:
    return SmoothField(model, BLOCK if isinstance(lift.prediction, MLP) else CHUNK, terms)


def _flux(lift: Lift, g: Any, kappa: float, n: Vector, X: list[TaylorModel]) -> TaylorModel:
    """G − κ n·∇u for a normal along an axis, from models of the coordinates, time last."""
    axis = int(np.argmax(np.abs(n)))
    slope = lift.jet(X, (axis,)).gradient[0]
    return plus(model_at(g, X), -times(constant(kappa * float(n[axis])), slope))  # slabs.md, step 6c


def _residual(
    lift: Lift, f: Any, kappa: float, b: tuple[Coefficient, ...] | None, c: Coefficient, d: int, X: list[TaylorModel]
) -> TaylorModel:
    """F − ∂_t u + κΔu − b·∇u − c u from models of the coordinates, time last."""
    jet = lift.jet(X, tuple(range(d)))
    left = plus(model_at(f, X), jet.laplacian if kappa == 1.0 else times(constant(kappa), jet.laplacian))
    rate = lift.jet(X, (d,)).gradient[0]
    left = left if rate is ZERO else left - rate
    for v, slope in zip(b or (), jet.gradient, strict=False):
        left = plus(left, -times(modelled(v, X[:d]), slope))
    return left if c == 0.0 else left - modelled(c, X[:d]) * jet.value  # slabs.md, step 6a


def _start(lift: Lift, u0: Any, X: list[TaylorModel]) -> TaylorModel:
    """u₀ − u at the time zero, from models of the coordinates of space."""
    return model_at(u0, X) - lift.jet([*X, constant(0.0)], ()).value


def _gap(lift: Lift, g: Any, X: list[TaylorModel]) -> TaylorModel:
    """G − u on the boundary."""
    return model_at(g, X) - lift.jet(X, ()).value
