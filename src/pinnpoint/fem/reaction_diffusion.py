"""−∇·(A∇u) + c u = f with linear or quadratic elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Index, Limits, Matrix, Vector, floats, frozen, set_fields, whole
from pinnpoint.base.asking import asked
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError, in_words
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.families.loads import LoadFamily, vectors
from pinnpoint.certifiers.protocols import Forecast as Cost
from pinnpoint.fem import assembly
from pinnpoint.fem.coefficients import (
    Data,
    function,
    named,
    own,
    parsed,
    per_cell,
    require_defined,
    require_defined_on,
)
from pinnpoint.fem.coercivity import path_coercivity
from pinnpoint.fem.conditions import admissible, require_apart, require_boundary
from pinnpoint.fem.elements import ORDER, Nodes
from pinnpoint.fem.enriched import Enriched, Enrichment, diffusive
from pinnpoint.fem.enrichments import body_load, given_values, surface_load
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.fields import Component, FieldQueries
from pinnpoint.fem.forecast import Forecast, cost, require_worth
from pinnpoint.fem.held import HeldBoundary, prescribed, resolve
from pinnpoint.fem.lifted import Lifted, lift_of, lifted
from pinnpoint.fem.problem import ScalarProblem
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.conversion import as_mesh
from pinnpoint.mesh.mesh import BOUNDARY, Mesh
from pinnpoint.mesh.quadrature import at_points, rule
from pinnpoint.mesh.topology import Topology
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.solvers.protocol import Solver
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Ball, Flux, Goal, Patch, Point, Queries
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.transfer.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.equilibrated import Equilibrated
from pinnpoint.transfer.work import BUDGET


@dataclass(frozen=True, eq=False)
class ReactionDiffusion(ScalarProblem):
    """The Galerkin system of −∇·(A∇u) + c u = f, u = g_D on Dirichlet groups, A∇u·n = g_N on Neumann groups.

    Boundary parts without a condition have zero flux. The certified target is the solution of the assembled system;
    integrals of c, f, g_N are those of a quadrature rule whose order is recorded.

    Parameters
    ----------
    mesh
        Intervals, triangles or tetrahedra.
    source
        f: a number, a function of points (N, d), or an expression in x, y, z.
    diffusion
        A: a positive number, a table from cell groups, one number per cell, a symmetric positive definite d × d
        matrix, or a function from points (N, d) to such matrices (N, d, d), averaged over each cell (which for
        degree 2 limits the order).
    reaction
        c ≥ 0: a number, a table from cell groups, one number per cell, a function or an expression.
    dirichlet, neumann
        Tables from boundary groups to numbers, functions or expressions; ``"boundary"`` is the whole boundary. A
        Dirichlet group overrides a Dirichlet ``"boundary"`` on its facets, which the certificate says; any other facet
        with two conditions is refused. Where groups meet their values must agree.
    weight
        Of the residual, as in `LinearSystem`.
    quadrature
        Order of the rules; by default 4, and 6 for degree 2. The rule of c is exact at least for φ_i φ_j.
    degree
        1, or 2 for quadratic elements: unknowns at the vertices, then at the edge midpoints, see `Nodes`.
    floating
        Accept a problem with neither Dirichlet data nor reaction, as the linear part of another one.

    Attributes
    ----------
    diffusion
        A on each cell, (C,) or (C, d, d).
    reaction
        c on each cell, (C,); None where c is zero or `reaction_varies`, which says that it varies inside cells.
    given
        Source, diffusion, reaction, dirichlet and neumann as they were given, expressions parsed.
    held
        The Dirichlet groups resolved into parts that share no facet.
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
    given: Mapping[str, Any]
    conditions: Mapping[str, Mapping[str, Any]]
    held: HeldBoundary
    total_load: Vector

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
        weight: Matrix | None = None,
        quadrature: int | None = None,
        degree: int = 1,
        floating: bool = False,
    ) -> None:
        mesh = as_mesh(mesh)
        nodes = Nodes(mesh, degree)
        order = whole("quadrature", ORDER[nodes.degree] if quadrature is None else quadrature, low=1)
        dirichlet, neumann = _tables(mesh, {BOUNDARY: 0.0} if dirichlet is None else dirichlet, neumann or {})
        source, reaction = parsed(source, "source"), parsed(reaction, "reaction")
        held = resolve(mesh, dirichlet, 1, "dirichlet")
        require_apart(mesh, held, {"neumann": neumann}, 1, "dirichlet")
        dofs, values = prescribed(nodes, held, 1, "dirichlet")
        space = admissible(len(nodes), dofs, values, held.notes)
        K = _diffusion(diffusion, mesh, order)
        points = rule(mesh.dim, max(order, 2 * nodes.degree))
        by_cell, c = _reaction(reaction, mesh, points[0])
        if not (dofs.size or floating) and (c is None or not np.any(c > 0.0)):
            raise InputError(
                "dirichlet: without a Dirichlet group and without reaction the solution is not unique; fix a value on "
                "some group, or give a reaction > 0"
            )
        local = assembly.stiffness(nodes, K)
        if c is not None:
            local = local + assembly.mass(nodes, c, *points)
        A, b = assembly.scalar_matrix(local, assembly.pattern(nodes)), _load(nodes, source, neumann, order)
        rows = nodes.points[slice(None) if space.free is None else space.free]
        floor = partial(path_coercivity, self)
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
            given={**given, "dirichlet": dirichlet, "neumann": neumann},
            conditions={"dirichlet": dict(dirichlet), "neumann": dict(neumann)},
            held=held,
            total_load=np.array([float(b.sum())]),
        )
        frozen(b, K, by_cell, self.total_load)

    @property
    def A(self) -> Any:
        """The matrix over all nodes."""
        return self.system.A

    @cached_property
    def _queries(self) -> FieldQueries:
        return FieldQueries(self.nodes, 1)

    def load(self, source: Data = 0.0, neumann: Mapping[str, Any] | None = None) -> Vector:
        """The right-hand side of another source and other fluxes."""
        neumann = {} if neumann is None else neumann
        require_boundary(self.mesh, neumann, "neumann")
        require_apart(self.mesh, self.held, {"neumann": neumann}, 1, "dirichlet")
        return _load(self.nodes, parsed(source, "source"), parsed(neumann, "neumann"), self.quadrature)

    def family(self, loads: ArrayLike, base: ArrayLike | None = None, names: Sequence[str] | None = None) -> LoadFamily:
        """Loads b₀ + Σ μ_k F_k of this problem.

        Each of `loads` is a vector, or a table of `load`'s arguments such as ``{"source": "x*y"}``.
        """
        return LoadFamily(self.system, vectors(self.load, loads), base, names=names)

    def points(self, X: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """Values at points."""
        return self._queries.points(X, names, None)

    def averages(self, X: ArrayLike, radius: ArrayLike, names: Sequence[str] | None = None) -> Queries:
        """Averages over balls that lie in the domain."""
        return self._queries.averages(X, radius, names, None)

    def patch(self, group: str, component: Component = None, name: str | None = None) -> Queries:
        """The average over a boundary group."""
        return self._queries.patch(group, None if name is None else [name], component)

    def gradients(self, X: ArrayLike, direction: Component, names: Sequence[str] | None = None) -> Queries:
        """Derivatives in a direction ('x', 'y', 'z') in the cells that hold the points."""
        return self._queries.gradients(X, direction, names, None)

    def flux(self, group: str, name: str | None = None) -> Queries:
        """The total flux ∫ A∇u·n through a Dirichlet group, from the weak form.

        With φ = 1 at the group's nodes and 0 at all others: a(u, φ) − ∫ f φ − ∫ g_N φ.
        """
        facets = self.mesh.facets(group)
        if not len(facets):
            raise InputError(f"group '{group}': has no facets to measure a flux through")
        nodes = np.unique(self.nodes.facet_dofs(facets))
        phi = np.zeros(len(self.nodes))
        phi[nodes] = 1.0
        row = self.system.stored.T @ phi
        label = [f"flux {group}" if name is None else name]
        made_for = {what: self.fingerprint(what) for what in ("mesh", f"group '{group}'", "matrix", "load")}
        return Queries(row[None, :], label, [-float(phi @ self.b)], goals=[Flux(group)], made_for=made_for)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same problem on a refined mesh, whose cells came from these."""
        given = {name: what[parents] if _by_cell(what) else what for name, what in self.given.items()}
        order = None if self.quadrature == ORDER[self.degree] else self.quadrature
        return type(self)(mesh, **given, quadrature=order, degree=self.degree)

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
            else:
                raise InputError(
                    f"query '{labels[0]}': is not known beyond this mesh; ask for points, averages, patches"
                )
            asked = part if asked is None else asked + part
        assert asked is not None
        return asked

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Equilibrated:
        """The proved way from these queries' discrete values to the PDE's own solution."""
        self.require_transfer()
        T = Topology.of(self.mesh)
        with in_words({"kappa": "diffusion", "c": "reaction", "f": "source"}):
            return Equilibrated(self.continuum(T, budget), queries, partial(T.numbers_of_group, self.mesh), tolerance)

    def lifted(self, prediction: Prediction) -> Lifted:
        """The problem of what a smooth prediction leaves over, to be certified in the place of this one."""
        return lifted(self, prediction)

    def lift_of(self, prediction: Prediction) -> Lift | OpaqueLift:
        """The prediction as a lift of this problem, or a refusal."""
        return lift_of(self, prediction)

    def lift_cost(self, lift: Lift | OpaqueLift, queries: int) -> Forecast:
        """What a lift will cost, before it is begun."""
        return cost(self, lift, queries)

    def require_worth(self, lift: Lift | OpaqueLift, plain: Certificate, solver: Solver, ahead: Cost) -> None:
        """Refuse a lift that is forecast to make the proof no narrower than `plain`."""
        if isinstance(lift, Lift):
            require_worth(self, lift, plain, solver, ahead)

    def like(
        self, mesh: Mesh, source: Data, dirichlet: Mapping[str, Any], neumann: Mapping[str, Any], quadrature: int
    ) -> Self:
        """The same constant coefficients with other data, on the same cells."""
        k, c = float(self.diffusion[0]), 0.0 if self.reaction is None else float(self.reaction[0])
        return type(self)(mesh, source, k, c, dirichlet, neumann, quadrature=quadrature, degree=self.degree)

    def require_transfer(self) -> None:
        """Refuse coefficients for which no transfer to the PDE's own solution is proved."""
        if self.diffusion.ndim != 1:
            raise InputError(
                "target: the continuous target needs a scalar diffusion, constant on each cell; for matrices say "
                "target='discrete'"
            )
        if self.reaction_varies:
            raise InputError(
                "target: the continuous target needs a reaction that is constant on each cell: a number or a table of "
                "groups; for others say target='discrete'"
            )

    def continuum(self, T: Topology, budget: int | None = None) -> Continuum:
        """The problem as its transfer sees it."""
        kind = np.where(T.boundary, NEUMANN, 0).astype(np.int8)
        dirichlet = [(T.facet_numbers(part.facets), part.given[0]) for part in self.held.parts]
        neumann = [
            (T.facet_numbers(self.mesh.facets(group)), named(f"neumann '{group}'", g))
            for group, g in self.given["neumann"].items()
        ]
        for numbers, _ in dirichlet:
            kind[numbers] = DIRICHLET
        return Continuum(
            T,
            self.nodes.edges,
            self.degree,
            self.diffusion,
            np.zeros(len(T.cells)) if self.reaction is None else self.reaction,
            kind,
            named("source", self.given["source"]),
            dirichlet,
            neumann,
            BUDGET if budget is None else whole("budget", budget, low=1),
        )

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """Π_h: the admissible vector of a prediction."""
        return extract(self.nodes, self.space, 1, prediction, how)

    def enriched(self, U: Vector) -> Enrichment:
        """The problem on linear elements and edge bubbles, around its discrete solution U."""
        nodes, order, f = Nodes(self.mesh, 2), max(self.quadrature, ORDER[1]), self.given["source"]
        constant = f.constant if isinstance(f, Expression) else None
        load = body_load(nodes, f if constant is None else constant, order, 1, "source")
        load += surface_load(nodes, self.given["neumann"], order, 1, "neumann")
        held, values = given_values(nodes, self.held, 1, "dirichlet")
        c = self.reaction
        if self.reaction_varies:
            c = function("reaction", self.given["reaction"])(self.mesh.points[self.mesh.cells].mean(axis=1))
        operator = Enriched(nodes, 1, *diffusive(self.diffusion), c)
        return Enrichment(operator, load - operator.of_bubbles(U), held, values)


def _tables(mesh: Mesh, dirichlet: Mapping[str, Any], neumann: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Both tables with their formulas parsed."""
    for table, name in ((dirichlet, "dirichlet"), (neumann, "neumann")):
        require_boundary(mesh, table, name)
    return parsed(dirichlet, "dirichlet"), parsed(neumann, "neumann")


def _load(nodes: Nodes, source: Data, neumann: Mapping[str, Any], order: int) -> Vector:
    """∫ f φ_i and the fluxes of all groups."""
    b = assembly.load(nodes, function("source", source), order)
    for group, g in neumann.items():
        b = b + assembly.boundary_load(nodes, nodes.mesh.facets(group), function(f"neumann '{group}'", g), order)
    require_defined("source", source, nodes.mesh.points[nodes.mesh.cells])
    require_defined_on(nodes.mesh, neumann, "neumann")
    return b


def _by_cell(given: Any) -> bool:
    """Whether data are one number, or one matrix, for each cell."""
    return not isinstance(given, Mapping | str) and not callable(given) and np.ndim(given) in (1, 3)


def _diffusion(given: Any, mesh: Mesh, order: int) -> Vector:
    d = mesh.dim
    if callable(given):
        bary, weights = rule(d, order)
        X = at_points(mesh.points[mesh.cells], bary)
        values = asked(given, X.reshape(-1, d), "diffusion")
        if values.shape != (X.shape[0] * X.shape[1], d, d):
            raise InputError(f"diffusion: a function must return matrices (N, {d}, {d}); got shape {values.shape}")
        K = np.einsum("q,cqij->cij", weights, values.reshape(*X.shape[:2], d, d))
    elif not isinstance(given, Mapping) and np.ndim(given) == 2:
        K = np.broadcast_to(floats("diffusion", given), (len(mesh.cells), *np.shape(given)))
    else:
        K = per_cell("diffusion", given, mesh)
        if float(K.min()) <= 0.0:
            raise InputError(f"diffusion: must be > 0; cell {int(np.argmin(K))} has {float(K.min())!r}")
        return K
    if K.shape[1:] != (d, d) or not np.all(np.isfinite(K)):
        raise InputError(f"diffusion: must be finite {d} × {d} matrices; got shape {K.shape[1:]}")
    if not np.allclose(K, np.swapaxes(K, 1, 2), rtol=1e-12, atol=0.0):
        raise InputError("diffusion: matrices must be symmetric")
    low = np.linalg.eigvalsh(K)[:, 0]
    if float(low.min()) <= 0.0:
        raise InputError(
            f"diffusion: must be positive definite; cell {int(np.argmin(low))} has eigenvalue {low.min():.3e}"
        )
    return np.asarray(0.5 * (K + np.swapaxes(K, 1, 2)))


def _reaction(given: Any, mesh: Mesh, bary: Vector) -> tuple[Vector | None, Vector | None]:
    """The reaction per cell where it is constant on cells, and at quadrature points (C, Q); None where it is zero."""
    constant = given.constant if isinstance(given, Expression) else None
    if constant is not None or not callable(given):
        by_cell = per_cell("reaction", given if constant is None else constant, mesh)
        if float(by_cell.min()) < 0.0:
            raise InputError(f"reaction: must be ≥ 0; cell {int(np.argmin(by_cell))} has {float(by_cell.min())!r}")
        if not by_cell.any():
            return None, None
        return by_cell, np.repeat(by_cell[:, None], len(bary), axis=1)
    X = at_points(mesh.points[mesh.cells], bary)
    c = function("reaction", given)(X.reshape(-1, mesh.dim)).reshape(X.shape[:2])
    require_defined("reaction", given, mesh.points[mesh.cells])
    if float(c.min()) < 0.0:
        cell, q = np.unravel_index(int(np.argmin(c)), c.shape)
        raise InputError(f"reaction: must be ≥ 0; it is {float(c.min()):.3e} at {X[cell, q].tolist()}")
    return None, c
