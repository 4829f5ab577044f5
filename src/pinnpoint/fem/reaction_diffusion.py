"""−∇·(A∇u) + b·∇u + c u = f with linear or quadratic elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Limits, Matrix, Vector, frozen, set_fields, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.protocols import Forecast as Cost
from pinnpoint.fem.assembling import assembly
from pinnpoint.fem.assembling.elements import ORDER, Nodes
from pinnpoint.fem.assembling.enriched import Enriched, Enrichment, diffusive
from pinnpoint.fem.assembling.enrichments import body_load, given_values, surface_load
from pinnpoint.fem.assembling.operators import is_opaque, operator
from pinnpoint.fem.conversion import as_mesh
from pinnpoint.fem.curved.bending import Bending
from pinnpoint.fem.curved.bent_queries import BentQueries
from pinnpoint.fem.data.coefficients import (
    Data,
    function,
    named,
    own,
    parsed,
    require_defined,
    require_defined_on,
)
from pinnpoint.fem.data.conditions import admissible, require_apart, require_boundary
from pinnpoint.fem.data.flow import require_continuous
from pinnpoint.fem.data.held import HeldBoundary, prescribed, resolve
from pinnpoint.fem.data.periodic import Periodic
from pinnpoint.fem.data.robin import Robin
from pinnpoint.fem.data.sources import body, by_groups, source_of
from pinnpoint.fem.data.varied import reaction_at, reaction_parts
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.fields import Component, FieldQueries
from pinnpoint.fem.lifts.forecast import ROUGHLY, Forecast, cost, require_worth
from pinnpoint.fem.lifts.lifted import Lifted, as_lift, lift_of, lifted
from pinnpoint.fem.lifts.lifted_bent import constants, left_on_curves, require_liftable
from pinnpoint.fem.scalar_queries import ScalarQueries
from pinnpoint.fem.stability.coercivity import path_coercivity
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.bent.shapes import Shape
from pinnpoint.mesh.gluing import Gluing, glued
from pinnpoint.mesh.mesh import BOUNDARY, Mesh
from pinnpoint.mesh.quadrature import inner_order, rule
from pinnpoint.mesh.refine import Refiner
from pinnpoint.mesh.topology import Topology
from pinnpoint.models.given import Prediction, as_prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.solvers.protocol import Solver
from pinnpoint.solvers.reference import Reference
from pinnpoint.systems.goals import EnergyError, Everywhere, L2Error, Maximum, Minimum
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Ball, Flux, Goal, Patch, Point, Queries
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.transfer.boundary.seams import Seam
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.equilibrated import Equilibrated
from pinnpoint.transfer.media.coefficients import Coefficients
from pinnpoint.transfer.media.medium import Medium
from pinnpoint.transfer.points.work import BUDGET

if TYPE_CHECKING:  # loaded where they are asked for
    from pinnpoint.certifiers.families.loads import LoadFamily
    from pinnpoint.fem.families.operator_family import OperatorFamily
    from pinnpoint.transfer.everywhere.corrected import Corrected


@dataclass(frozen=True, eq=False)
class ReactionDiffusion(ScalarQueries):
    """The Galerkin system of −∇·(A∇u) + b·∇u + c u = f, u = g_D on Dirichlet and A∇u·n = g_N on Neumann groups.

    On Robin groups A∇u·n + αu = g. Boundary parts without a condition have zero flux. The certified target is the
    solution of the assembled system; integrals of c, α, f, g_N are those of a quadrature rule whose order is recorded.

    Parameters
    ----------
    mesh
        Intervals, triangles or tetrahedra.
    source
        f: a number, a function of points (N, d), an expression in x, y, z, or a table of these from cell groups.
    diffusion
        A: a positive number or expression, a symmetric positive definite d × d table of these, a table from cell
        groups to any of them, one number or matrix per cell, or a function from points (N, d) to matrices (N, d, d),
        averaged over each cell (which for degree 2 limits the order, and has no continuous target).
    reaction
        c: a number, an expression, a table from cell groups to these, one number per cell, or a function. With
        convection c − ½∇·b ≥ 0 is needed; without it values below zero need a gap in the spectrum, which the
        continuous target proves or refuses.
    convection
        b: d numbers or expressions, or a table from cell groups to these.
    dirichlet, neumann
        Tables from boundary groups to numbers, functions or expressions; ``"boundary"`` is the whole boundary. A
        Dirichlet group overrides a Dirichlet ``"boundary"`` on its facets, which the certificate says; any other facet
        with two conditions is refused. Where groups meet their values must agree. Where `dirichlet` is None and neither
        `robin` nor `periodic` is given, u = 0 on the whole boundary; ``{}`` leaves it free, as case files without
        [problem.dirichlet] do.
    robin
        Table from boundary groups to pairs (α, g) of numbers, functions or expressions, α ≥ 0.
    periodic
        Table from boundary groups to the groups they are glued to, translates of them with matching meshes.
    weight
        Of the residual, as in `LinearSystem`.
    quadrature
        Order of the rules; by default 4, and 6 for degree 2 and on curved domains in space, whose rules have their
        points inside cells. The rule of c is exact at least for φ_i φ_j.
    degree
        1, or 2 for quadratic elements: unknowns at the vertices, then at the edge midpoints, see `Nodes`.
    floating
        Accept a problem with neither Dirichlet data nor reaction, as the linear part of another one.
    geometry
        Table from boundary groups of a plane mesh to the curves that they are: `Circle`, `Ellipse`, `LevelSet`. The
        domain is bounded by these, and so is what is certified; see docs/curved.md.

    Attributes
    ----------
    diffusion
        A on each cell, (C,) or (C, d, d); where it varies inside cells, its means.
    reaction
        c on each cell, (C,); None where c is zero or `reaction_varies`, which says that it varies inside cells.
    coefficients
        A, b and c where they are more than a number on each cell; None where they are not, or are unknown functions.
    given
        Source, diffusion, reaction, dirichlet and neumann as they were given, expressions parsed.
    held
        The Dirichlet groups resolved into parts that share no facet.
    sides, loops
        The Robin groups and the periodic pairs, where there are any.
    bending
        The map onto the domain where it is curved; then all data are those carried back to the straight mesh.
    seam
        The load of what a lift leaves beside periodic pairs.
    """

    mesh: Mesh
    b: Vector
    space: AdmissibleSpace
    system: LinearSystem
    quadrature: int
    degree: int
    nodes: Nodes
    diffusion: Vector
    reaction: Vector | None
    reaction_varies: bool
    coefficients: Coefficients | None
    given: Mapping[str, Any]
    conditions: Mapping[str, Mapping[str, Any]]
    held: HeldBoundary
    total_load: Vector
    sides: Robin | None
    loops: Periodic | None
    bending: Bending | None
    seam: Seam | None

    components = 1

    __repr__ = brief

    def __init__(
        self,
        mesh: Mesh,
        source: Data = 0.0,
        diffusion: Data = 1.0,
        reaction: Data = 0.0,
        dirichlet: Mapping[str, Any] | None = None,
        neumann: Mapping[str, Any] | None = None,
        *,
        convection: Any = None,
        robin: Mapping[str, Any] | None = None,
        periodic: Mapping[str, str] | Periodic | None = None,
        weight: Matrix | None = None,
        quadrature: int | None = None,
        degree: int = 1,
        floating: bool = False,
        geometry: Mapping[str, Shape] | None = None,
    ) -> None:
        mesh = as_mesh(mesh, bent=True)
        bending = Bending.of(mesh, geometry)
        if bending is not None:
            plain: dict[str, Any] = {
                "source": source,
                "diffusion": diffusion,
                "reaction": reaction,
                "robin": robin or {},
            }
            plain |= {"dirichlet": {BOUNDARY: 0.0} if dirichlet is None and not robin else dirichlet or {}}
            plain |= {"neumann": neumann or {}, "convection": convection, "periodic": periodic}
            mesh, data = bending.translated({name: parsed(what, name) for name, what in plain.items()})
            source, diffusion, reaction = data["source"], data["diffusion"], data["reaction"]
            dirichlet, neumann, robin = data["dirichlet"], data["neumann"], data.get("robin")
        loops = Periodic.of(mesh, degree, periodic)
        nodes = Nodes(mesh, degree, None if loops is None else loops.same)
        order = whole("quadrature", ORDER[nodes.degree] if quadrature is None else quadrature, low=1)
        if bending is not None:  # data carried back are those of the cell in which a point lies
            order = inner_order(mesh.dim, order)
        sides = Robin.of(mesh, robin)
        if dirichlet is None:
            dirichlet = {BOUNDARY: 0.0} if sides is None and loops is None else {}
        dirichlet, neumann = _tables(mesh, dirichlet, neumann or {})
        if loops is not None:
            loops.require_free(
                {"dirichlet": dirichlet, "neumann": neumann, "robin": {} if sides is None else sides.table}
            )
        source, reaction = parsed(source, "source"), parsed(reaction, "reaction")
        held = resolve(mesh, dirichlet, 1, "dirichlet")
        require_apart(mesh, held, {"neumann": neumann} | ({} if sides is None else sides.values), 1, "dirichlet")
        dofs, values = prescribed(nodes if loops is None else Nodes(mesh, degree), held, 1, "dirichlet")
        fixed = dofs.size
        if loops is not None:
            dofs, values = loops.held(dofs, values)
        diffusion, convection = parsed(diffusion, "diffusion"), parsed(convection, "convection")
        made, K, local = operator(nodes, diffusion, convection, reaction, order)
        finer = max(order, 2 * nodes.degree)
        by_cell, c = reaction_at(reaction, mesh, finer)
        held_by = sides is not None and sides.holds(nodes, order)
        if not (fixed or floating or held_by) and (c is None or not np.any(c)):
            raise InputError(
                "dirichlet: without a Dirichlet group and without reaction the solution is not unique; fix a value on "
                "some group, or give a reaction > 0, or a Robin group a coefficient > 0"
            )
        if c is not None:
            local = local + assembly.mass(nodes, c, *rule(mesh.dim, finer))
        where = assembly.pattern(nodes)
        A, b = assembly.scalar_matrix(local, where), _load(nodes, source, neumann, order)
        if sides is not None:
            A.data += sides.matrix(nodes, order, where)
            b = b + sides.load(nodes, order)
        space = admissible(len(nodes), dofs, values, held.notes)
        rows = nodes.points[slice(None) if space.free is None else space.free]
        rises = c is None or by_cell is not None or float(c.min()) >= 0.0
        floor = partial(path_coercivity, self) if convection is None and loops is None and rises else None
        with in_words({"A": "diffusion, reaction: the matrix", "b": "source, neumann: the load"}):
            system = LinearSystem(
                A,
                b,
                space=space,
                weight=weight,
                reduction="galerkin",
                row_points=rows,
                floor=floor,
                made_on=mesh.fingerprint,
            )
        given = {"source": source, "diffusion": own(diffusion), "reaction": own(reaction)}
        given |= {} if convection is None else {"convection": convection}
        set_fields(
            self,
            mesh=mesh,
            b=b,
            space=space,
            system=system,
            quadrature=order,
            degree=nodes.degree,
            nodes=nodes,
            diffusion=K,
            reaction=by_cell,
            reaction_varies=c is not None and by_cell is None,
            coefficients=made,
            given={**given, "dirichlet": dirichlet, "neumann": neumann}
            | ({} if sides is None else sides.given)
            | ({} if loops is None else {"periodic": loops.pairs}),
            conditions={"dirichlet": dict(dirichlet), "neumann": dict(neumann)}
            | ({} if sides is None else sides.given)
            | ({} if loops is None else {"periodic": loops.pairs}),
            sides=sides,
            loops=loops,
            bending=bending,
            seam=None,
            held=held,
            total_load=np.array([float(b.sum())]),
        )
        frozen(b, K, by_cell, self.total_load)

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.nodes, 1) if self.bending is None else BentQueries(self.nodes, 1, self.bending)

    @property
    def A(self) -> Any:
        """The matrix over all nodes."""
        return self.system.A

    @property
    def domain(self) -> str:
        """What intervals of the PDE's own solution are of."""
        return super().domain if self.bending is None else self.bending.domain

    def curve_notes(self) -> tuple[str, ...]:
        """What looks curved and is not; and what is."""
        return super().curve_notes() if self.bending is None else self.bending.notes()

    def load(self, source: Data = 0.0, neumann: Mapping[str, Any] | None = None) -> Vector:
        """The right-hand side of another source and other fluxes."""
        neumann = {} if neumann is None else neumann
        require_boundary(self.mesh, neumann, "neumann")
        require_apart(self.mesh, self.held, {"neumann": neumann}, 1, "dirichlet")
        if self.bending is not None:  # carried back as the problem's own
            first = self.bending
            made = ReactionDiffusion(
                first.mesh if first.second_order is None else first.second_order,
                source,
                dirichlet={},
                neumann=neumann,
                quadrature=self.quadrature,
                degree=self.degree,
                floating=True,
                geometry=first.geometry,
            )
            return made.b
        return _load(self.nodes, parsed(source, "source"), parsed(neumann, "neumann"), self.quadrature)

    def family(self, loads: ArrayLike, base: ArrayLike | None = None, names: Sequence[str] | None = None) -> LoadFamily:
        """Loads b₀ + Σ μ_k F_k of this problem.

        Each of `loads` is a vector, or a table of `load`'s arguments such as ``{"source": "x*y"}``.
        """
        from pinnpoint.certifiers.families.loads import LoadFamily, vectors

        return LoadFamily(self.system, vectors(self.load, loads), base, names=names)

    def operators(
        self, diffusion: str | Sequence[str] = "cells", loads: Sequence[Mapping[str, Any]] | None = None
    ) -> OperatorFamily:
        """The family of problems in which every instance has its own κ, on each cell or on each of these groups.

        `loads` are tables with "source" and "neumann": every instance has the problem's own load and a multiple μ_k
        of each of these, ``certify_many(kappas, predictions, mu=mu)``.
        """
        from pinnpoint.fem.families.operator_family import OperatorFamily

        return OperatorFamily.of(self, diffusion, loads)

    def reference(
        self, *, steps: int | None = None, tolerance: float = 1e-3, multigrid: bool | None = None
    ) -> Reference:
        """Its diffusion inverted once, for other problems on the mesh: ``Exact(solver=reference)`` spares them solves.

        Their states are what a few steps towards them end with, and what the steps leave is made part of their fluxes.
        `steps` beyond the reference's own state; None to go on until what is left is `tolerance` of the load.
        `multigrid`: steps by cycles of each problem's own matrix (extra ``amg``); None where its diffusion is far from
        this one.
        """
        from pinnpoint.fem.families.references import reference_of

        return reference_of(self, steps, tolerance, multigrid)

    def patch(self, group: str, component: Component = None, name: str | None = None) -> Queries:
        """The average over a boundary group."""
        self._require_unpaired(group)
        return self._queries.patch(group, None if name is None else [name], component)

    def flux(self, group: str, name: str | None = None) -> Queries:
        """The total flux ∫ A∇u·n through a Dirichlet group, from the weak form, or through a Robin group.

        With φ = 1 at a Dirichlet group's nodes and 0 at all others: a(u, φ) − ∫ f φ − ∫ g_N φ. Through a Robin group
        ∫ g − ∫ αu.
        """
        facets = self.mesh.facets(group)
        if not len(facets):
            raise InputError(f"group '{group}': has no facets to measure a flux through")
        self._require_unpaired(group)
        if self.sides is not None and self.sides.has(group):
            return self.sides.flux(self, group, name)
        nodes = np.unique(self.nodes.facet_dofs(facets))
        phi = np.zeros(len(self.nodes))
        phi[nodes] = 1.0
        row = self.system.stored.T @ phi
        label = [f"flux {group}" if name is None else name]
        made_for = {what: self.fingerprint(what) for what in ("mesh", f"group '{group}'", "matrix", "load")}
        return Queries(row[None, :], label, [-float(phi @ self.b)], goals=[Flux(group)], made_for=made_for)

    def corrected(self, X: ArrayLike, prediction: Prediction | None = None) -> Corrected:
        """Values of the PDE's own solution at any number of points from one solve: no dual problem for any of them.

        Every one is known to ``.radius``, one number for all points, or to its own entry of ``.radii``. With a smooth
        `prediction` what it leaves over is corrected, and added to it.

        Parameters
        ----------
        X
            Points inside the domain, (N, d). In a box where u vanishes on the boundary, κ is one number and c = 0,
            points next to the boundary are known as well as those in the middle; elsewhere the radius grows as the
            ball around a point shrinks.
        """
        if self.loops is not None:
            raise InputError("corrected: is not proved for periodic pairs; certify points")
        points = self._queries.as_points("points", X)
        self._queries.locator.locate(points, "points")
        from pinnpoint.fem.corrected import corrected_lift, corrected_values

        if prediction is None:
            return corrected_values(self, points)
        return corrected_lift(self.lifted(prediction), points)

    def refiner(self) -> Refiner:
        """How the mesh is refined: sides of periodic pairs alike."""
        return Refiner(self.mesh, None if self.loops is None else self.loops.gluing)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same problem on a refined mesh, whose cells came from these."""
        own_ = self.given if self.bending is None else self.bending.given
        given = {name: what[parents] if _by_cell(what) else what for name, what in own_.items()}
        order = None if self.quadrature == ORDER[self.degree] else self.quadrature
        if self.bending is None:
            return type(self)(mesh, **given, quadrature=order, degree=self.degree)
        made = type(self)(self.bending.on(mesh), **given, quadrature=order, degree=self.degree)
        if made.bending is not None:
            set_fields(made.bending, origin=self.bending.root(mesh))
        return made

    def ask(self, goals: Sequence[Goal | None], names: Sequence[str]) -> Queries:
        """Queries for what is asked of the PDE's own solution."""
        asked: Queries | None = None
        for kind, run in groupby(zip(goals, names, strict=True), key=lambda pair: type(pair[0])):
            these, labels = zip(*run, strict=True)
            if kind is Point:
                part = self.points([g.at for g in these], labels)
            elif kind is Ball:
                part = self.averages([g.at for g in these], [g.radius for g in these], labels)
            elif kind in (Patch, Flux):
                each = [
                    (self.patch if kind is Patch else self.flux)(g.group, name=n)
                    for g, n in zip(these, labels, strict=True)
                ]
                part = each[0]
                for more in each[1:]:
                    part = part + more
            elif issubclass(kind, L2Error | EnergyError | Maximum | Minimum):
                part = self._extreme(these[0], labels[0])
                for goal, label in zip(these[1:], labels[1:], strict=True):
                    part = part + self._extreme(goal, label)
            elif kind is Everywhere:
                parts = [
                    self.everywhere(n, solve=g.solve, barrier=g.barrier, checked=g.checked, thorough=g.thorough)
                    for g, n in zip(these, labels, strict=True)
                ]
                part = parts[0]
                for more in parts[1:]:
                    part = part + more
            else:
                part = self.ask_one(these[0], labels[0])
                for g, n in zip(these[1:], labels[1:], strict=True):
                    part = part + self.ask_one(g, n)
            asked = part if asked is None else asked + part
        assert asked is not None
        return asked

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Equilibrated:
        """The proved way from these queries' discrete values to the PDE's own solution."""
        return self._route(queries, tolerance, budget, lifted=False)

    def left_over(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Equilibrated:
        """The same where the solution is what a lift leaves over."""
        return self._route(queries, tolerance, budget, lifted=True)

    @property
    def gluing(self) -> Gluing | None:
        """The facets of periodic pairs."""
        return None if self.loops is None else self.loops.gluing

    @property
    def topology(self) -> Topology:
        """How the cells hang together, across periodic pairs too."""
        T = Topology.of(self.mesh)
        return T if self.loops is None else glued(T, self.loops.gluing)

    def _route(self, queries: Queries, tolerance: Limits, budget: int | None, *, lifted: bool) -> Equilibrated:
        self.require_transfer()
        T = self.topology
        groups = partial(T.numbers_of_group, self.mesh)
        with in_words({"kappa": "diffusion", "c": "reaction", "f": "source"}):
            frugal = T.dim > 1 and not lifted and all(isinstance(goal, Point | Ball) for goal in queries.goals)
            model = replace(self.continuum(T, budget), frugal=frugal)
            return Equilibrated(model, queries, groups, tolerance, lifted, self.cell_numbers)

    def lifted(self, prediction: Prediction) -> Lifted:
        """The problem of what a smooth prediction leaves over, to be certified in the place of this one."""
        if self.bending is not None:
            return self._lifted_on_curves(self.bending, self.lift_of(prediction))
        return lifted(self, prediction)

    def _lifted_on_curves(self, bending: Bending, lift: Lift | OpaqueLift) -> Lifted:
        """The problem of what is left over, with the same curves."""
        source, dirichlet = left_on_curves(bending, lift)  # curved.md, step 1e
        rest = type(self)(
            bending.mesh if bending.second_order is None else bending.second_order,
            source,
            *constants(bending),
            dirichlet,
            quadrature=max(self.quadrature, 8),
            degree=self.degree,
            geometry=bending.geometry,
        )
        return Lifted(self, rest, lift)

    def lift_of(self, prediction: Prediction) -> Lift | OpaqueLift:
        """The prediction as a lift of this problem, or a refusal."""
        if self.bending is not None:
            require_liftable(self.bending, sum(len(part.facets) for part in self.held.parts))
            return as_lift(self, prediction)
        return lift_of(self, prediction)

    def _require_unpaired(self, group: str) -> None:
        if self.loops is not None and group in {*self.loops.pairs, *self.loops.pairs.values()}:
            raise InputError(
                f"group '{group}': is one side of a periodic pair, which lies inside the domain; ask for points, for "
                "averages over cells, or for groups that are not periodic"
            )

    def lift_cost(self, lift: Lift | OpaqueLift, queries: int) -> Forecast:
        """What a lift will cost, before it is begun."""
        return cost(self, lift, queries, None if self.bending is None else ROUGHLY)

    def require_worth(self, lift: Lift | OpaqueLift, plain: Certificate, solver: Solver, ahead: Cost) -> None:
        """Refuse a lift that is forecast to make the proof no narrower than `plain`."""
        if isinstance(lift, Lift) and self.bending is None:
            require_worth(self, lift, plain, solver, ahead)

    def like(
        self,
        mesh: Mesh,
        source: Data,
        dirichlet: Mapping[str, Any],
        neumann: Mapping[str, Any],
        quadrature: int,
        robin: Mapping[str, Any] | None = None,
        seam: Seam | None = None,
    ) -> Self:
        """The same constant coefficients with other data, on the same cells."""
        order: dict[str, Any] = {"quadrature": quadrature, "degree": self.degree, "robin": robin}
        if self.loops is not None:
            order["periodic"] = self.loops.on(mesh, float(np.max(np.abs(self.space.U0), initial=0.0)))
        if self.coefficients is not None:
            order["convection"] = self.given.get("convection")
            A, c = self.given["diffusion"], self.given["reaction"]
        else:
            A, c = float(self.diffusion[0]), 0.0 if self.reaction is None else float(self.reaction[0])
        made = type(self)(mesh, source, A, c, dirichlet, neumann, **order)
        set_fields(made, seam=seam)
        return made

    def require_transfer(self) -> None:
        """Refuse coefficients for which no transfer to the PDE's own solution is proved."""
        opaque = [name for name in ("diffusion", "reaction") if is_opaque(self.given[name])]
        if opaque:
            raise InputError(
                f"target: the continuous target needs numbers or formulas; {opaque[0]} is a function of which nothing "
                "is known. Write it as a formula, or say target='discrete'"
            )

    def _least(self, medium: Medium) -> Vector:
        """Lower bounds of the diffusion on each cell."""
        try:
            return medium.metric.alpha
        except InputError as error:
            if self.bending is None:
                raise
            raise InputError(
                "geometry: the cells at the curved boundary are too large for the proof, or the diffusion is not "
                f"positive there ({error}); refine the mesh at the curve"
            ) from error

    def continuum(self, T: Topology, budget: int | None = None) -> Continuum:
        """The problem as its transfer sees it."""
        kind = np.where(T.boundary, NEUMANN, 0).astype(np.int8)
        dirichlet = [(T.facet_numbers(part.facets), part.given[0]) for part in self.held.parts]
        neumann = [
            (T.facet_numbers(self.mesh.facets(group)), named(f"neumann '{group}'", g))
            for group, g in self.given["neumann"].items()
        ]
        robin: list[tuple[Index, Any, str]] = []
        if self.sides is not None:
            neumann += self.sides.fluxes(T)
            robin = self.sides.coefficients(T)
        for numbers, _ in dirichlet:
            kind[numbers] = DIRICHLET
        if self.coefficients is not None:
            pairs = None if self.loops is None else self.loops.gluing
            ends = None if pairs is None else (pairs.first, pairs.second)
            require_continuous(self.coefficients, T, self.mesh, ends)
        medium = None if self.coefficients is None else Medium(self.coefficients, T.points[T.cells])
        kappa, c = self.diffusion, np.zeros(len(T.cells)) if self.reaction is None else self.reaction
        if medium is not None:
            kappa, c = self._least(medium), np.maximum(medium.floor, 0.0)
        return Continuum(
            T,
            self.nodes.edges,
            self.degree,
            kappa,
            c,
            kind,
            source_of(self.given["source"], self.mesh),
            dirichlet,
            neumann,
            BUDGET if budget is None else whole("budget", budget, low=1),
            medium=medium,
            robin=robin,
            gluing=self.gluing,
            same=None if self.loops is None else self.loops.same,
            seam=self.seam,
            stretch=None if self.bending is None else self.bending.stretch,
            ground=None if self.bending is None else self.bending.ground,
            helpers=self.helpers,
        )

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """Π_h: the admissible vector of a prediction."""
        if self.bending is not None:
            return extract(self.bending.nodes(self.nodes), self.space, 1, prediction, how)
        if self.loops is None:
            return extract(self.nodes, self.space, 1, prediction, how)
        plain = Nodes(self.mesh, self.degree)
        if how == "constrained" and callable(as_prediction(prediction)):
            found = extract(self.nodes, self.space, 1, prediction, how)
            return self.loops.extracted(replace(found, given=self.whole(found.U)), plain)
        return self.loops.extracted(extract(plain, self.space, 1, prediction, how), plain)

    def whole(self, U: Vector) -> Vector:
        """A state as it is drawn."""
        return U if self.loops is None else self.loops.whole(U)

    def enriched(self, U: Vector) -> Enrichment:
        """The problem on linear elements and edge bubbles, around its discrete solution U."""
        if self.loops is not None:
            raise InputError("periodic pairs are not carried over to quadratic elements")
        nodes, order, f = Nodes(self.mesh, 2), max(self.quadrature, ORDER[1]), self.given["source"]
        constant = f.constant if isinstance(f, Expression) else None
        if isinstance(f, Mapping):
            load = body(nodes, f, order)[len(self.mesh.points) :, None]
        else:
            load = body_load(nodes, f if constant is None else constant, order, 1, "source")
        load += surface_load(nodes, self.given["neumann"], order, 1, "neumann")
        if self.sides is not None:
            load += self.sides.bubble_load(nodes, U, order)
        held, values = given_values(nodes, self.held, 1, "dirichlet")
        c = self.reaction
        if self.reaction_varies:
            middle = self.mesh.points[self.mesh.cells].mean(axis=1)
            c = reaction_parts(self.given["reaction"], self.mesh).at(middle[:, None], self.mesh)[:, 0]
        operator = Enriched(nodes, 1, *diffusive(self.diffusion), c)
        return Enrichment(operator, load - operator.of_bubbles(U), held, values)


def _tables(mesh: Mesh, dirichlet: Mapping[str, Any], neumann: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Both tables with their formulas parsed."""
    for table, name in ((dirichlet, "dirichlet"), (neumann, "neumann")):
        require_boundary(mesh, table, name)
    return parsed(dirichlet, "dirichlet"), parsed(neumann, "neumann")


def _load(nodes: Nodes, source: Data, neumann: Mapping[str, Any], order: int) -> Vector:
    """∫ f φ_i and the fluxes of all groups."""
    b = body(nodes, source, order)
    for group, g in neumann.items():
        b = b + assembly.boundary_load(nodes, nodes.mesh.facets(group), function(f"neumann '{group}'", g), order)
    for name, f, cells in by_groups(source, nodes.mesh):
        require_defined(name, f, nodes.mesh.points[nodes.mesh.cells[cells]])
    require_defined_on(nodes.mesh, neumann, "neumann")
    return b


def _by_cell(given: Any) -> bool:
    """Whether data are one number, or one matrix, for each cell."""
    return isinstance(given, np.ndarray) and given.ndim in (1, 3)
