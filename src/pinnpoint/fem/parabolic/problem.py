"""u_t − ∇·(κ∇u) + b·∇u + c u = f with linear or quadratic elements in space, continuous elements in time.

What leads to the PDE's own solution stands below, in `transfer`: `Parabolic.transfer` hands it the problem's parts

- ``stationary``: the problem in space, with ``stationary.continuum(topology)``, the medium and the boundary's kinds;
- ``grid``: the `TimeGrid`; a query at an earlier time has ``grid.until(time)``, and its states are
  ``grid.until(time)``'s levels of the primal ones, ``grid.at(levels) @ states()``;
- ``M``, ``K``, ``stepper`` and ``stepper.dual()``: both sweeps; Kᵀ has the drift −b, c − ∇·b and the outflow term;
- ``states()``: the primal states (levels, n), solved once and shared by all queries;
- ``given``: source, initial values, Dirichlet and Neumann data, formulas parsed in x, y, z and t; a formula is asked at
  points whose last coordinate is t;

and gets a `Route` whose ``bound`` has centres and terms of its own. `prepared` makes the certifier that asks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Limits, Vector, digest, frozen, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.transfer import Route
from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.families.loads import LoadFamily, vectors
from pinnpoint.certifiers.protocols import Certifier, Forecast, Method
from pinnpoint.certifiers.standing import Standing
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import ORDER, Nodes
from pinnpoint.fem.assembling.enriched import Enrichment
from pinnpoint.fem.conversion import as_mesh
from pinnpoint.fem.data.coefficients import Data, function, require_defined
from pinnpoint.fem.data.conditions import admissible
from pinnpoint.fem.data.held import resolve
from pinnpoint.fem.data.sources import by_groups
from pinnpoint.fem.data.varied import require_nonnegative
from pinnpoint.fem.extraction import Extraction
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.fem.parabolic.data import in_time, initial_data, moving_robin, moving_sides, require_still
from pinnpoint.fem.parabolic.extraction import as_moving, extract_moving
from pinnpoint.fem.parabolic.lifted import MovingForecast, MovingLifted, cost, lift_of, lifted
from pinnpoint.fem.parabolic.loads import TimeLoads
from pinnpoint.fem.parabolic.queries import TIMES, over_time, places_of, times_of
from pinnpoint.fem.parabolic.sides import held_values
from pinnpoint.fem.parabolic.storage import require_blocks, require_states, room_for
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.refine import Refiner
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.solvers.direct import factorize
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.evolution.blocks import SweepSolver, block_matrix
from pinnpoint.systems.evolution.energy import step_stability
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.evolution.stepper import Stepper
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.systems.targets import DOMAINS, MESH
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.slabs.route import SlabRoute

COEFFICIENTS = ("diffusion", "reaction", "convection")


@dataclass(frozen=True, eq=False)
class Parabolic(MovingQueries):
    """The time-stepped Galerkin system of u_t − ∇·(κ∇u) + b·∇u + c u = f, u(0) = u₀.

    u = g_D on Dirichlet groups, κ∂_n u = g_N on Neumann groups and κ∂_n u + αu = g on Robin groups. A state is a row of
    nodal values for every level of the time grid, level by level; that of the first level is the L² projection of u₀
    among the functions with the Dirichlet values there.

    Parameters
    ----------
    mesh
        Intervals, triangles or tetrahedra.
    source
        f: a number, an expression in x, y, z and t, a function ``f(X, t)`` of points (N, d) and times (N,), or a table
        of these from cell groups.
    initial
        u₀: a number, an expression in x, y, z, or a function of points.
    diffusion, reaction, convection
        As in `ReactionDiffusion`; they do not depend on time.
    dirichlet, neumann
        As in `ReactionDiffusion`: where `dirichlet` is None and there is no `robin`, u = 0 on the whole boundary, and
        ``{}`` leaves it free, as case files without [problem.dirichlet] do. Expressions may contain t, functions are
        ``g(X, t)``.
    robin
        Groups to pairs (α, g), κ∂_n u + αu = g; α ≥ 0 does not depend on time.
    end, steps, nodes, grade, scheme, damped
        The time grid, see `TimeGrid.made`: an end and a number of steps, graded towards the end unless told, or the
        nodes themselves.
    degree
        Of the elements in space, 1 or 2. Scheme and degree may be mixed, as the proof asks nothing of either; "cg2"
        has twice as many levels.
    quadrature
        Order of the rules in space.
    file
        A .npy file in which the states are kept, mapped into memory; by default they are kept in memory.
    """

    mesh: Mesh
    stationary: ReactionDiffusion
    grid: TimeGrid
    M: Any
    given: Mapping[str, Any]
    file: Any

    components = 1
    surely_linear = True

    __repr__ = brief

    def __init__(
        self,
        mesh: Mesh,
        source: Data = 0.0,
        initial: Data = 0.0,
        diffusion: Data = 1.0,
        reaction: Data = 0.0,
        dirichlet: Mapping[str, Any] | None = None,
        neumann: Mapping[str, Any] | None = None,
        *,
        convection: Any = None,
        robin: Mapping[str, Any] | None = None,
        end: float | None = None,
        steps: int | None = None,
        nodes: ArrayLike | None = None,
        grade: str = "end",
        scheme: str = "cg1",
        damped: int = 0,
        degree: int = 1,
        quadrature: int | None = None,
        file: Any = None,
    ) -> None:
        mesh, grid = as_mesh(mesh), TimeGrid.made(end, steps, nodes, grade, scheme, damped)
        require_states(grid.levels.size, len(mesh.points), file)
        for name, what in (("diffusion", diffusion), ("reaction", reaction), ("convection", convection)):
            require_still(name, what)
        sides, rims = moving_sides(mesh.dim, dirichlet, neumann, robin), moving_robin(mesh.dim, robin)
        stationary = ReactionDiffusion(
            mesh,
            0.0,
            diffusion,
            reaction,
            *(dict.fromkeys(table, 0.0) for table in sides.values()),
            convection=convection,
            robin={group: (alpha, 0.0) for group, (alpha, _) in rims.items()},
            degree=degree,
            quadrature=quadrature,
            floating=True,
        )
        if convection is None:
            require_nonnegative(stationary.given["reaction"], mesh, stationary.quadrature)
        where = assembly.pattern(stationary.nodes)
        M = assembly.scalar_matrix(assembly.mass(stationary.nodes, None, np.zeros(0), np.zeros(0)), where)
        frozen(M.data, M.indices, M.indptr)
        given = {"source": in_time(source, "source", mesh.dim), "initial": initial_data(initial)}
        given |= {name: what for name, what in stationary.given.items() if name in COEFFICIENTS} | sides
        given |= {"robin": {group: (stationary.given["robin"][group][0], g) for group, (_, g) in rims.items()}}
        set_fields(self, mesh=mesh, stationary=stationary, grid=grid, M=M, given=given, file=file)

    @property
    def K(self) -> Any:
        """The matrix of −∇·(κ∇u) + b·∇u + c u over all nodes."""
        return self.stationary.A

    @property
    def nodes(self) -> Nodes:
        """The degrees of freedom of a level."""
        return self.stationary.nodes

    @property
    def degree(self) -> int:
        """Of the elements in space."""
        return self.stationary.degree

    @property
    def quadrature(self) -> int:
        """Order of the rules in space."""
        return self.stationary.quadrature

    @property
    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """Dirichlet, Neumann and Robin tables."""
        found = {name: dict(self.given[name]) for name in ("dirichlet", "neumann")}
        return found | ({"robin": dict(self.given["robin"])} if self.given["robin"] else {})

    @property
    def A(self) -> Any:
        """The block matrix over all levels and nodes."""
        return self.system.A

    @property
    def b(self) -> Vector:
        """The load of all levels."""
        return self.system.b

    @cached_property
    def loads(self) -> TimeLoads:
        """Source and fluxes, slab by slab."""
        given = self.given
        return TimeLoads(self.nodes, given["source"], given["neumann"], self.quadrature, given["robin"])

    @cached_property
    def total_load(self) -> Vector:
        """∫ f and the fluxes at the end."""
        return np.array([float(self.loads.at(self.grid.end).sum())])

    @cached_property
    def stepper(self) -> Stepper:
        """The sweep forward in time."""
        return Stepper(
            self.M, self.K, self.grid, None if self.stationary.space.is_whole else self.stationary.space.free
        )

    @cached_property
    def held(self) -> Vector:
        """Dirichlet values (levels, n), zero at free nodes."""
        found = held_values(self.nodes, self.given["dirichlet"], self.grid.levels)
        frozen(found)
        return found

    @cached_property
    def start(self) -> Vector:
        """The state at the initial time: Dirichlet values, and the L² projection of u₀ among functions with these."""
        U = self._projected(self.given["initial"], self.held[0])
        frozen(U)
        return U

    def _projected(self, initial: Data, held: Vector) -> Vector:
        """The L² projection among functions with these values at Dirichlet nodes."""
        U, free, u0 = held.copy(), self.stationary.space.free, initial_data(initial)
        require_defined("initial", u0, self.mesh.points[self.mesh.cells])
        rest = assembly.load(self.nodes, function("initial", u0), self.quadrature) - self.M @ U
        U[free] = self._mass.solve(rest[free])
        return U

    @cached_property
    def _mass(self) -> Solver:
        free = self.stationary.space.free
        return factorize(sp.csr_array(self.M[free][:, free]))

    def states(self) -> Vector:
        """The discrete solution at all levels, (levels, n), as the sweep computes it."""
        return self._states

    @cached_property
    def _states(self) -> Vector:
        out = room_for((self.grid.levels.size, len(self.nodes)), self.file)
        found = self.stepper.forward(self.start, lambda slab: self.loads.moments(self.grid, slab), self.held, out)
        frozen(found)
        return np.asarray(found)

    @cached_property
    def space(self) -> AdmissibleSpace:
        """States with the initial values at the first level and the Dirichlet values at all others."""
        values = self.held.copy()
        values[0] = self.start
        fixed = np.zeros(values.shape, dtype=bool)
        fixed[:, self.stationary.space.fixed] = True
        fixed[0] = True
        dofs = np.flatnonzero(fixed.ravel())
        return admissible(fixed.size, dofs, values.ravel()[dofs], self.stationary.space.notes)

    @cached_property
    def system(self) -> LinearSystem:
        """All steps as one compatible system."""
        require_blocks(self.M, self.grid)
        grid, free = self.grid, self.stationary.space.free
        A = block_matrix(self.M, self.K, grid)
        F = self.stepper.factors
        blocks = {"A": "diffusion, reaction: the matrix", "b": "source, neumann: the load"}
        with in_words(blocks):
            system = LinearSystem(
                A,
                self.load(),
                space=self.space,
                reduction="galerkin",
                row_points=np.tile(self.nodes.points[free], (grid.rows, 1)),
                solver=SweepSolver.of(self.stepper),
                made_on=self.mesh.fingerprint,
            )
        prove = partial(step_stability, F.M, F.K, grid, system.fingerprint)
        set_fields(system, stability=prove)
        return system

    def load(self, source: Data = None, neumann: Mapping[str, Any] | None = None, initial: Data = None) -> Vector:
        """The right-hand side of all levels; of another source, other fluxes and initial values where they are given.

        Initial values u₀ enter the rows of the first slab with their L² projection among functions that vanish at
        Dirichlet nodes, beside the problem's own, which stay in the states: give the problem ``initial=0`` to have
        these alone.
        """
        loads = self.loads
        if not (source is None and neumann is None and initial is None):
            table = in_time(neumann or {}, "neumann", self.mesh.dim)
            self.stationary.load(0.0, dict.fromkeys(table, 0.0))  # refuses groups that have another condition
            given = in_time(0.0 if source is None else source, "source", self.mesh.dim)
            loads = TimeLoads(self.nodes, given, table, self.quadrature)
        found = np.zeros((self.grid.levels.size, len(self.nodes)))
        for slab in range(self.grid.steps):
            found[self.grid.own(slab)] = self.grid.unit * loads.moments(self.grid, slab)
        if initial is not None:
            U, (G, H) = self._projected(initial, np.zeros(len(self.nodes))), self.grid.coefficients(0)
            MU, KU = self.M @ U, self.K @ U
            for r in range(self.grid.per_slab):
                found[1 + r] -= G[r, 0] * MU + H[r, 0] * KU
        return found.ravel()

    def family(self, loads: ArrayLike, base: ArrayLike | None = None, names: Sequence[str] | None = None) -> LoadFamily:
        """Loads b₀ + Σ μ_k F_k of this problem.

        Each of `loads` is a vector, or a table of `load`'s arguments such as ``{"initial": "x*(1-x)"}``.
        """
        return LoadFamily(self.system, vectors(self.load, loads), base, names=names)

    def fingerprint(self, what: str) -> str:
        """A digest of what queries may have been made from."""
        if what == TIMES:
            return times_of(self.grid)
        if what in ("matrix", "load"):
            return digest(self.b) if what == "load" else digest(self.K.data, self.M.data, self.grid.levels)
        return super().fingerprint(what)

    def prediction(self, given: Prediction) -> Prediction:
        """Values (steps + 1, nodes), or a function of points whose last coordinate is t."""
        return cast(Prediction, as_moving(given, self.mesh.dim))

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """Π_h: the admissible states of a prediction, level by level."""
        return extract_moving(self.nodes, self.grid, self.space, self.prediction(prediction), how)

    def whole(self, U: Vector) -> Vector:
        """A state as it is drawn: at the end."""
        return np.asarray(U.reshape(self.grid.levels.size, -1)[-1])

    def enriched(self, U: Vector) -> Enrichment:
        """Not known for states that move."""
        raise InputError("what the mesh leaves is not estimated for problems in time")

    def finish(
        self, certificate: Certificate, queries: Queries, U: Vector, certifier: Certifier, *, own: bool
    ) -> Certificate:
        """The same intervals with what they are of, and which are averages over time."""
        of = DOMAINS[self.mesh.dim] if certificate.target == "continuous" else MESH
        notes = (*over_time(queries), *certificate.evidence.remarks)
        at, times = places_of(queries)
        return replace(certificate, interval_of=of, notes=notes, points=at, times=times)

    def require_transfer(self) -> None:
        """Refuse data for which no transfer to the PDE's own solution is proved."""
        self.stationary.require_transfer()

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The proved way to these queries' values of the PDE's own solution."""
        self.require_transfer()
        topology = self.stationary.topology
        model = self.stationary.continuum(topology, budget)
        fluxes = [*self.given["neumann"].items(), *((group, g) for group, (_, g) in self.given["robin"].items())]
        model = replace(model, neumann=[(topology.facet_numbers(self.mesh.facets(group)), g) for group, g in fluxes])
        parts = resolve(self.mesh, self.given["dirichlet"], 1, "dirichlet")
        dirichlet = [(topology.facet_numbers(part.facets), part.given[0]) for part in parts.parts]
        sources = [
            (np.arange(len(self.mesh.cells))[cells], f) for _, f, cells in by_groups(self.given["source"], self.mesh)
        ]
        given = self.given["initial"], dirichlet, queries
        return SlabRoute(
            model, self.stepper, self.states, sources, *given, self.stationary.cell_numbers, self._energy(model)
        )

    def _energy(self, model: Continuum) -> Any:
        """The matrix of the energy in which errors are measured, where it is not K."""
        if model.medium is None:
            return None
        given = self.given
        return ReactionDiffusion(
            self.mesh,
            0.0,
            given["diffusion"],
            model.reaction,
            dict.fromkeys(given["dirichlet"], 0.0),
            robin={group: (alpha, 0.0) for group, (alpha, _) in given["robin"].items()},
            degree=self.degree,
            quadrature=self.quadrature,
            floating=True,
        ).A

    def prepared(self, method: Method, route: Route) -> Certifier:
        """The certifier of a route that stands on its own: it sweeps by itself."""
        if not isinstance(method, Exact):
            raise InputError(
                "method: the continuous target of a problem in time is certified by Exact; others are for "
                "target='discrete'"
            )
        return Standing(route.functionals, self.unknowns, lambda: self.states().ravel(), self.stationary.space.notes)

    def lift_of(self, prediction: Prediction) -> Lift:
        """The prediction as a lift of this problem, or a refusal."""
        return lift_of(self, prediction)

    def lifted(self, prediction: Prediction) -> MovingLifted:
        """The problem of what a smooth prediction of space and time leaves over."""
        return lifted(self, prediction)

    def lift_cost(self, lift: Lift, queries: int) -> MovingForecast:
        """What a lift will cost, before it is begun."""
        return cost(self, lift)

    def require_worth(self, lift: Lift, plain: Certificate, solver: Solver, ahead: Forecast) -> None:
        """Nothing is refused beforehand."""

    @property
    def unknowns(self) -> int:
        """Free values at all levels."""
        return self.grid.rows * self.stationary.space.n

    @property
    def cuts(self) -> int:  # type: ignore[override]
        """Cells are halved as slabs are."""
        return self.mesh.dim

    def ahead(self, share: float) -> float:
        """Slabs are halved too."""
        return 2.0 * self.unknowns * (1.0 + (2.0**self.mesh.dim - 1.0) * share)

    def carried(self, given: Vector, refiner: Refiner) -> Vector:
        """Values at levels and nodes, as values at those of the refined problem."""
        halves = TimeGrid(self.grid.halved, self.grid.scheme)
        U = self.grid.at(halves.levels) @ given.reshape(self.grid.levels.size, -1)
        return np.ascontiguousarray(refiner.prolong(np.ascontiguousarray(U.T)).T)

    def like(
        self,
        source: Any,
        initial: Any,
        dirichlet: Mapping[str, Any],
        reaction: Any = None,
        *,
        mesh: Mesh | None = None,
        neumann: Mapping[str, Any] | None = None,
        robin: Mapping[str, Any] | None = None,
    ) -> Self:
        """The same coefficients with other data, on the same mesh, perhaps with other groups, and the same slabs."""
        return type(self)(
            self.mesh if mesh is None else mesh,
            source,
            initial,
            self.given["diffusion"],
            self.given["reaction"] if reaction is None else reaction,
            dirichlet,
            neumann,
            convection=self.given.get("convection"),
            robin=robin,
            nodes=self.grid.nodes,
            scheme=self.grid.scheme,
            damped=self.grid.damped,
            degree=self.degree,
            quadrature=max(self.quadrature, 8),
            file=self.file,
        )

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same problem on a refined mesh with every slab halved."""
        given = dict(self.given)
        for name in ("diffusion", "reaction"):
            what = given[name]
            given[name] = what[parents] if isinstance(what, np.ndarray) and what.ndim in (1, 3) else what
        order = None if self.quadrature == ORDER[self.degree] else self.quadrature
        return type(self)(
            mesh,
            **given,
            nodes=self.grid.halved,
            scheme=self.grid.scheme,
            damped=2 * self.grid.damped,
            degree=self.degree,
            quadrature=order,
            file=self.file,
        )
