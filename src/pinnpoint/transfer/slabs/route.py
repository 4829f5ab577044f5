"""The transfer of problems in time to the PDE's own solution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.evidence import Evidence
from pinnpoint.certificates.transfer import Route, TransferBound, TransferContext, with_reserve
from pinnpoint.rounding.arithmetic import at_most, require_round_to_nearest, up
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.evolution.stepper import Stepper
from pinnpoint.systems.goals import Ball, Block, Cells, Gaussian, Goal, Point, since_of, time_of
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.transfer.blocks import corners_of, over_ball, over_block, over_cells
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.heat_kernel.carried import Carried
from pinnpoint.transfer.heat_kernel.kernel import HeatKernel
from pinnpoint.transfer.heat_kernel.modes import KernelModes
from pinnpoint.transfer.points.distances import largest_ball
from pinnpoint.transfer.points.places import cell_of
from pinnpoint.transfer.points.work import BUDGET, Work
from pinnpoint.transfer.slabs.averages import Average
from pinnpoint.transfer.slabs.boundary import mismatch
from pinnpoint.transfer.slabs.data import Source
from pinnpoint.transfer.slabs.enclosure import Asked, Found, Slabs
from pinnpoint.transfer.slabs.fluxes import Fluxes

SPAN = 1.5
"""S against R²/κ, at most."""
FINE = 1e-4
"""What of a kernel may stay unresolved, against (h/R)^(2 · degree)."""
SHARP = {1: 1e-8, 2: 1e-5, 3: 1e-3}
"""Integration errors of a ball's weight, against (h/R)², by dimension: cells at its rim are cut so far."""
SPARE = 4e-3
"""Share of the transfer, and of the boundary's term, that is added to it."""
SMALL = {1: 2e-2, 2: 1e-3}
"""Errors of the source, against its size, by degree."""


@dataclass(frozen=True, eq=False)
class SlabRoute(Route):
    """Values of u at points and times by cut-off heat kernels, a dual sweep and fluxes of every mode on every slab.

    *Guarantee:* deterministic, for the solution on the domain that the mesh covers. *Assumes:* nothing; data are
    numbers or formulas. *Cost:* per time that is asked for a dual sweep, and fluxes of all slabs.

    Parameters
    ----------
    model
        The problem in space.
    stepper
        Matrices, grid and free entries.
    states
        Makes the states at all levels.
    sources
        Cells, and f on them.
    initial
        u₀.
    dirichlet
        Facets, and g on them, in space and time; fluxes are the model's.
    cells_of
        Numbers of the cells of a group.
    """

    model: Continuum
    stepper: Stepper
    states: Callable[[], Vector]
    sources: Sequence[tuple[Index, Any]]
    initial: Any
    dirichlet: Sequence[tuple[Index, Any]]
    queries: Queries
    cells_of: Callable[[Any], Index]
    energy: Any = None
    """As of `Slabs`."""
    shared: Source | None = None
    """The source on the whole grid, where it is at hand."""

    __repr__ = brief

    def __post_init__(self) -> None:
        require_round_to_nearest()
        if self.model.medium is None and float(self.model.reaction.min()) < 0.0:
            raise InputError(
                f"reaction: must be ≥ 0 in time for the PDE's own solution; got {float(self.model.reaction.min()):g}; "
                "say target='discrete'"
            )
        loose = not np.isfinite(self.model.anchors.reach).all()
        if loose and (self.prescribed(self.stepper.grid) is not None or self.model.exchange is not None):
            raise InputError(
                "neumann, robin: fluxes need a Dirichlet group, a reaction or a positive coefficient in every part of "
                "the domain, so that their means are bounded; say target='discrete'"
            )
        for goal, name in zip(self.queries.goals, self.queries.names, strict=True):
            if not isinstance(goal, Point | Gaussian | Ball | Block | Cells):
                raise InputError(
                    f"query '{name}': of the PDE's own solution in time points and averages over balls, blocks, cells "
                    "and with Gaussian weights are known; ask for these, or say target='discrete'"
                )

    @property
    def functionals(self) -> Queries:
        """The queries as they are."""
        return self.queries

    @property
    def count(self) -> int:
        """Modes on a slab."""
        return self.stepper.grid.per_slab + 2

    def bound(self, context: TransferContext) -> TransferBound:
        """Centres and terms for all queries."""
        if context.names != self.queries.names:
            raise InputError("transfer: belongs to other queries; make it from these, problem.transfer(queries)")
        times = self.times
        found: dict[int, Found] = {}
        missed, proved = np.zeros(len(times)), True
        with np.errstate(all="ignore"):
            endless = self.whole.endless
        for time, since in dict.fromkeys(times):
            which = [i for i, t in enumerate(times) if t == (time, since)]
            if time > endless:  # nothing that follows would have a bound
                found |= dict.fromkeys(which, Found(0.0, math.inf, 0.0, 0.0, 0.0, (math.inf, math.inf)))
                continue
            slabs, asked = self.asked_at(time, since, which)
            with np.errstate(invalid="ignore", over="ignore"):  # what is no number is unbounded: `at_most`
                found |= dict(zip(which, slabs.enclose(asked), strict=True))
            missed[which], sure = mismatch(self.model, self.dirichlet, slabs.motion)
            proved = proved and sure and slabs.initial.proved
        every = [found[i] for i in range(len(times))]
        parts = {
            "transfer": [f.transfer for f in every],
            "quadrature": [f.quadrature for f in every],
            "rounding": [f.rounding for f in every],
        }
        terms = {name: np.array([at_most(x) for x in each]) for name, each in parts.items()}
        # another program encloses kernels and data by other polynomials, and is to prove the interval too
        terms["quadrature"] = np.asarray(up(2.0 * terms["quadrature"] + SPARE * terms["transfer"], 2))
        missed *= 1.0 + SPARE
        if missed.any():
            if not np.isfinite(missed).all():
                raise CertificationError("dirichlet: the data's distance from its interpolant could not be bounded")
            terms["boundary"] = np.asarray(up(missed * self._risen(times), 2))  # slabs.md, step 5a
        details = {
            "energy_bound": math.sqrt(max(f.parts[0] for f in every)),
            "dual_energy_bound": np.array([math.sqrt(f.parts[1]) for f in every]),
            "theta": np.array([f.theta for f in every]),
        }
        center = np.array([f.center if math.isfinite(f.center) else 0.0 for f in every])
        for name in terms:
            terms[name] = np.where([math.isfinite(f.center) for f in every], terms[name], math.inf)
        evidence = Evidence(witness=self, remarks=self._unbounded(terms, endless))
        return TransferBound(with_reserve(terms), self._claims(), details, None, center, proved, evidence)

    def _unbounded(self, terms: Mapping[str, Vector], since: float) -> tuple[str, ...]:
        """What is to be said of intervals that are none; the source has no bound `since` a time."""
        endless = ~np.isfinite(np.sum([*terms.values()], axis=0))
        names = [f"'{name}'" for name, x in zip(self.queries.names, endless, strict=True) if x]
        if not names:
            return ()
        asked = f"unbounded: {', '.join(names[:3])}{' and others' if len(names) > 3 else ''}"
        if since < math.inf:
            return (
                f"{asked}; the source has no bound on the slab that begins at t = {since:g}, as log(t) and 1/t have no "
                "bound at t = 0: begin later, or ask for times before",
            )
        return (
            f"{asked}; data, coefficients or "
            "kernels could not be enclosed on some slab. log(t) and 1/t have no bound at t = 0; beside convection far "
            "beyond what the mesh resolves, or for a tiny spread, kernels are too large",
        )

    def _risen(self, times: Sequence[tuple[float, float | None]]) -> Vector:
        """How much larger data on the boundary may be at each time: e^{γt} where c ≥ −γ."""
        medium = self.model.medium
        low = 0.0 if medium is None else min(0.0, medium.least_reaction)
        return np.array([float(up(math.exp(-low * t), 4)) if low else 1.0 for t, _ in times])

    @property
    def times(self) -> list[tuple[float, float | None]]:
        """Of every query: its time, and since when it is averaged."""
        return [(self._time(goal), since_of(goal)) for goal in self.queries.goals]

    def asked_at(self, time: float, since: float | None, which: Sequence[int]) -> tuple[Slabs, list[Asked]]:
        """The problem until a time, and queries of it as functionals that are bounded."""
        slabs, queries = self._slabs(time, since), self.queries
        return slabs, [self._asked(queries.goals[i], queries.names[i], time, slabs.grid.nodes) for i in which]

    @staticmethod
    def _claims() -> tuple[Claim, ...]:
        return (
            Claim("u is enclosed slab by slab: modes in time, equilibrated fluxes, a cut-off heat kernel", "verified"),
        )

    def _time(self, goal: Goal | None) -> float:
        time = None if goal is None else time_of(goal)
        return self.stepper.grid.end if time is None else float(time)

    def _slabs(self, time: float, since: float | None = None) -> Slabs:
        """The problem until a time, with a node at another."""
        whole, model = self.stepper.grid, self.model
        grid = whole if time == whole.end else whole.until(time)
        grid = grid if since is None else grid.with_node(since)
        levels = self.states()
        if grid is not whole:
            levels = np.asarray(whole.at(np.maximum(grid.levels, 0.0)) @ levels)
            levels[0] = self.states()[0]
        V = model.points[model.topology.cells]
        source = self.whole if grid is whole else self._source(grid)
        top = float(np.abs(levels[0]).max(initial=1e-300)) or 1.0  # how large u₀ is, about
        small, share = SMALL[model.degree] * top * self._spacing ** (2 * model.degree), model.budget / BUDGET
        u0 = density(self.initial, V, tolerance=small, work=share)
        stepper = self.stepper if grid is whole else _on(self.stepper, grid)
        return Slabs(model, stepper, levels, source, u0, self.prescribed(grid), self.count, self.energy)

    def prescribed(self, grid: TimeGrid) -> Fluxes | None:
        """Prescribed fluxes on slabs."""
        share = SMALL[self.model.degree] * self._spacing ** (2 * self.model.degree)
        return Fluxes.of(self.model, self.model.neumann, grid.nodes, self.count, share)

    @cached_property
    def whole(self) -> Source:
        """The source on the whole grid."""
        return self._source(self.stepper.grid) if self.shared is None else self.shared

    def _source(self, grid: TimeGrid) -> Source:
        V, degree = self.model.points[self.model.topology.cells], self.model.degree
        small, share = SMALL[degree] * self._spacing ** (2 * degree), self.model.budget / BUDGET
        return Source(self.sources, V, grid.nodes, self.count, small, share)

    @property
    def _spacing(self) -> float:
        extent = float(np.max(self.model.points.max(axis=0) - self.model.points.min(axis=0)))
        return self.model.spacing / extent

    def _asked(self, goal: Goal | None, name: str, time: float, nodes: Vector) -> Asked:
        """A query as a functional that is bounded."""
        if not isinstance(goal, Ball | Block | Cells):
            return self._kernel(goal, name, time, nodes)
        cells, model = self.model.topology.cells, self.model
        if isinstance(goal, Cells):
            weight, scale = over_cells(model.points, cells, self.cells_of(goal.cells))  # gradients.md, step 1a
        elif isinstance(goal, Block):
            weight, scale = over_block(model.points, cells, *corners_of(np.array(goal.at), goal.side))
        else:
            edge = largest_ball(np.array(goal.at), model.outline())
            if not goal.radius <= edge:
                raise InputError(
                    f"query '{name}': the ball of radius {goal.radius:g} about {list(goal.at)} leaves the domain; its "
                    f"boundary is {edge!r} away. Make it smaller, or say target='discrete'"
                )
            small, spent = SHARP[model.d] * (model.spacing / goal.radius) ** 2, Work(model.budget)
            weight = over_ball(model.points, cells, np.array(goal.at), goal.radius, small, spent)
            scale = 0.0
        return Average(weight.on_all(len(cells)), scale, time, goal.since, self.count)

    def _kernel(self, goal: Goal | None, name: str, time: float, nodes: Vector | None = None) -> KernelModes:
        """The kernel of a point, or of an average, at a time."""
        assert isinstance(goal, Point | Gaussian)
        model, x0 = self.model, np.array(goal.at)
        R = 0.999999 * largest_ball(x0, model.walls())
        cell = cell_of(model.topology, x0)
        if not R > 0.0:
            raise InputError(
                f"query '{name}': {list(goal.at)} lies on the boundary or on a jump of the coefficients; move it "
                "inside, or say target='discrete'"
            )
        kappa, c, carried = self._coefficients(cell, x0, R, name, turned=isinstance(goal, Point))
        two, spread = model.degree == 2, 0.0
        if isinstance(goal, Gaussian):  # slabs.md, step 4f
            if not goal.reach <= R / 0.999999:
                raise InputError(
                    f"query '{name}': its weight reaches {goal.reach:g}, beyond the boundary or a jump of the "
                    f"coefficients, {R:.6g} away; give a smaller reach, or say target='discrete'"
                )
            two, R, spread = False, goal.reach, goal.spread**2 / (2.0 * kappa)
        carried = None if carried is None else replace(carried, radius=R)
        V, blur = model.points[model.topology.cells], 0.0
        swerve = (0.0, 0.0)
        if carried is not None:
            c, blur = carried.lost
            near = V[np.sqrt(((V - x0) ** 2).sum(axis=2)).min(axis=1) <= R + model.anchors.diameter]
            swerve = carried.tops(near) if isinstance(goal, Point) else swerve
        kernel = HeatKernel(
            x0,
            kappa,
            c,
            R,
            min(time, SPAN * R * R / kappa),
            spread,
            powers=(3, 4) if two else (2, 3),
            time_powers=(2, 2) if two else (1, 1),
            blur=blur,
            carried=carried,
            swerve=swerve,
        )
        fine = FINE * (model.spacing / R) ** (2 * model.degree)
        return KernelModes.of(kernel, V, time, self.count, fine, nodes)

    def _coefficients(
        self, cell: int, x0: Vector, R: float, name: str, *, turned: bool
    ) -> tuple[float, float, Carried | None]:
        """κ, c, and what b and c are about a point where they are more than these."""
        model = self.model
        if model.coefficients is None:
            return float(model.kappa[cell]), float(model.reaction[cell]), None
        A, b, c = model.coefficients.at(cell)
        known = None if isinstance(A, tuple) else fixed(A)
        if known is None or known[1] != 0.0:
            raise InputError(
                f"query '{name}': in time the diffusion must be a number about a point, or a Gaussian weight; ask for "
                "averages over balls or cells, or say target='discrete'"
            )
        level = max(0.0, float(enclose(c, x0[None])[0][0]))
        still = b is None or all(fixed(v) == (0.0, 0.0) for v in b)
        flow = (0.0,) * model.d if b is None else b
        return known[0], level, Carried(flow, c, known[0], x0, R, level, turned=turned and not still)


def _on(stepper: Stepper, grid: TimeGrid) -> Stepper:
    return Stepper(stepper.M, stepper.K, grid, stepper.free)
