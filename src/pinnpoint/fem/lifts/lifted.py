"""The neural lift: keep the prediction as it is, and certify what it leaves over.

With a smooth prediction u_θ, e = u − u_θ solves the same equation with the source r = f + κΔu_θ − c u_θ, the Dirichlet
data g_D − u_θ and the fluxes g_N − κ∂_n u_θ. Its value is certified like any other, with a radius that scales with ‖r‖,
and u_θ's own value is added. κ and c must be the same everywhere; flux boundaries must be parallel to the axes, where
the normal is exact.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from pinnpoint.base.arrays import Index, Limits, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import Route
from pinnpoint.certifiers.protocols import Certifier, Transferable
from pinnpoint.fem.assembling.elements import Nodes
from pinnpoint.fem.data.coefficients import require_defined
from pinnpoint.fem.data.held import HeldBoundary
from pinnpoint.fem.extraction import Extraction, extract
from pinnpoint.fem.lifts.lifted_bent import own_mean, rest_of
from pinnpoint.fem.lifts.lifted_coefficients import flux, require_smooth, residual
from pinnpoint.fem.lifts.lifted_periodic import Sewing
from pinnpoint.fem.lifts.lifted_robin import exchanged
from pinnpoint.fem.lifts.own_values import own_value
from pinnpoint.fem.problem import LiftableElements, ScalarProblem
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quality import unjoined_notes
from pinnpoint.mesh.refine import Refiner
from pinnpoint.mesh.topology import Topology
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import is_module
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.systems.goals import Block, Cells, Extreme, Slope
from pinnpoint.systems.queries import Ball, Flux, Goal, Patch, Point, Queries
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.transfer.boundary.facets import measures
from pinnpoint.transfer.points.data_term import data_term
from pinnpoint.transfer.points.kernels import UniformKernel

NATURAL = "natural:"
"""Names of the boundary groups on which the lift's own flux is prescribed."""


@dataclass(frozen=True, eq=False)
class AbstractLifted(Transferable):
    """A problem seen from a prediction: `rest` is the problem of what the prediction leaves over.

    Takes the place of the problem in `certify` and `certify_to`.
    """

    base: LiftableElements
    rest: LiftableElements
    lift: Any
    kept: Any = None
    """What of the prediction is added to the rest, where that is not the prediction itself."""

    __repr__ = brief

    @abstractmethod
    def _own(self, goal: Goal | None, name: str) -> tuple[float, float, bool]:
        """u_θ's own value of a query, a bound of its error, and whether that is proved."""

    @property
    def unlifted(self) -> Transferable:
        """The problem itself, without the prediction."""
        return self.base

    @property
    def system(self) -> Any:
        """The system of the rest."""
        return self.rest.system

    @property
    def space(self) -> AdmissibleSpace:
        """The admissible vectors of the rest."""
        return self.rest.space

    @property
    def mesh(self) -> Mesh:
        """The mesh, with a group for every side on which the prediction's flux is prescribed."""
        return self.rest.mesh

    @property
    def nodes(self) -> Nodes:
        """The degrees of freedom."""
        return self.rest.nodes

    @property
    def degree(self) -> int:
        """Of the elements."""
        return self.rest.degree

    @property
    def quadrature(self) -> int:
        """Order of the rules."""
        return self.rest.quadrature

    def extract(self, prediction: Prediction, how: str = "nodal") -> Extraction:
        """The state of the rest: nothing but its boundary values."""
        rest = self.rest
        state = extract(rest.nodes, rest.space, self.components, rest.space.U0, how)
        return replace(state, how="lifted, not projected")

    def ask(self, goals: Sequence[Goal | None], names: Sequence[str]) -> Queries:
        """The same queries on this mesh."""
        return self.rest.ask(goals, names)

    def drawn(self, U: Vector) -> dict[str, Vector]:
        """What the problem itself draws of a state."""
        return self.base.drawn(U)

    def why_singular(self) -> str:
        """As of the problem itself."""
        return self.base.why_singular()

    def fingerprint(self, what: str) -> str:
        """The digests of the problem itself: its queries are asked."""
        return self.base.fingerprint(what)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the mesh and the data of the rest."""
        return self.rest.notes

    def require_transfer(self) -> None:
        """Nothing to refuse: `lifted` has."""

    def finish(
        self, certificate: Certificate, queries: Queries, U: Vector, certifier: Certifier, *, own: bool
    ) -> Certificate:
        """What the intervals are of, and remarks, as the rest has them."""
        return self.rest.finish(certificate, queries, U, certifier, own=own)

    def beside(self, certificate: Certificate, queries: Queries, U: Vector, raw: Vector | None) -> Certificate:
        """Add the prediction's own values, enclosed, to the intervals of the rest."""
        own, error, proved = self.own_values(queries)
        center = certificate.center + own  # lift.md, step 5
        raw = own if self.kept is None else replace(self, kept=None).own_values(queries)[0]  # lift.md, step 13d
        extra = up(error + UNIT * (np.abs(center) + np.abs(own)))
        terms = {**certificate.terms, "quadrature": up(certificate.terms["quadrature"] + extra)}
        terms.pop("evaluation", None)
        values = queries.L @ self.base.extract(self.lift.value).U + queries.constants
        terms["mismatch"] = np.abs(raw - values)
        return replace(
            certificate,
            value=np.asarray(values),
            raw=raw,
            center=center,
            radius=np.asarray(up(certificate.radius + extra)),
            terms=terms,
            guarantee=certificate.guarantee if proved else type(certificate.guarantee).ESTIMATE,
            assumptions=(*certificate.assumptions, self._claim(proved)),
        )

    def _claim(self, proved: bool) -> Claim:
        bounds = self.lift.smoothness if isinstance(self.lift, OpaqueLift) else None
        if bounds is not None and proved:
            return Claim(bounds.claim, "declared")
        said = "enclosed by Taylor models" if proved else "taken as given"
        return Claim(f"lift: the prediction's value and residual, {said}", "verified" if proved else "declared")

    def own_values(self, queries: Queries) -> tuple[Vector, Vector, bool]:
        """u_θ's value of each query, bounds of the errors, and whether they are proved."""
        found = [self._own(goal, name) for goal, name in zip(queries.goals, queries.names, strict=True)]
        value, error, proved = zip(*found, strict=True)
        return np.array(value), np.array(error), all(proved)


@dataclass(frozen=True, eq=False)
class Lifted(AbstractLifted):
    """A reaction–diffusion problem seen from a prediction."""

    base: ScalarProblem
    rest: ScalarProblem
    lift: Lift | OpaqueLift
    kept: Sewing | None = None

    components = 1

    __repr__ = brief

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The transfer of the rest, whose size is the prediction's error."""
        return self.rest.left_over(queries, tolerance, budget)

    def unsolved(self, queries: Queries, budget: int | None = None) -> Certificate:
        """The largest error from the residual alone."""
        claims = (self._claim(not isinstance(self.lift, OpaqueLift)),)
        from pinnpoint.transfer.everywhere.unsolved import unsolved  # with all that bounds on cells need

        found = unsolved(self.rest.continuum(Topology.of(self.mesh), budget), queries, claims)
        notes = (*unjoined_notes(self.mesh), *self.rest.curve_notes(), *found.notes)
        return replace(found, interval_of=self.rest.domain, notes=notes)

    def refiner(self) -> Refiner:
        """How the mesh is refined: sides of periodic pairs alike."""
        return Refiner(self.mesh, self.base.gluing)

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same on a refined mesh."""
        groups = {k: v for k, v in mesh.facet_groups.items() if not k.startswith(NATURAL)}
        plain = Mesh.trusted(mesh.points, mesh.cells, mesh.cell_groups, groups)
        if self.kept is not None:
            return type(self)(*parts_of(self.base.refined(plain, parents), self.lift))
        return type(self)(self.base.refined(plain, parents), self.rest.refined(mesh, parents), self.lift)

    @property
    def _added(self) -> Lift | OpaqueLift:
        return self.lift if self.kept is None else self.kept.lift

    def _own(self, goal: Goal | None, name: str) -> tuple[float, float, bool]:
        u, d = self._added.value, self.rest.mesh.dim
        if isinstance(goal, Point):
            X = np.array([goal.at])
            if not enclosed(u):
                return float(u(X)[0]), 0.0, False
            at, off = enclose(u, X)
            return float(at[0]), float(off[0]), True
        if isinstance(goal, Ball):
            kernel: Any = UniformKernel(d, goal.radius)
            height = max(1.0, abs(float(u(np.array([goal.at]))[0])))
            return data_term(kernel, u, np.array(goal.at), 1e-13 * height)
        if isinstance(goal, Patch | Flux):
            return self._over(goal, name)
        if isinstance(goal, Extreme):
            return 0.0, 0.0, True
        if isinstance(goal, Cells) and self.base.bending is not None:
            return own_mean(self.base.bending, self.lift, goal)
        if isinstance(goal, Cells | Block | Slope):
            return own_value(self.base, self._added, goal)
        raise InputError(f"target: query '{name}' has no proved transfer to the continuous solution")

    def _over(self, goal: Patch | Flux, name: str) -> tuple[float, float, bool]:
        """The average over, or the flux through, a boundary group."""
        mesh = self.base.mesh
        facets = np.sort(mesh.facets(goal.group), axis=1)
        parts = [(facets, self._added.value)]
        if isinstance(goal, Flux):
            each = _by_normal(mesh, facets, f"query '{name}'")
            parts = [(f, _flux_left(self.base, self.lift, -n, 0.0, self.kept)) for f, n in each]
        total = size = 0.0
        error, proved = 0.0, True
        for these, f in parts:
            V = mesh.points[these]
            area, slack = measures(V)
            g = density(f, V)
            top = np.abs(g.coefficients).max(axis=1)
            total += math.fsum((area * g.coefficients.mean(axis=1)).tolist())
            size += math.fsum(area.tolist())
            error += sum_up(up(area * (1.0 + slack) * (g.error1 + (2.0 * slack + gamma(40)) * top), 8))
            proved = proved and g.proved
        if isinstance(goal, Patch):
            return total / size, float(up(error / size + 4.0 * UNIT * abs(total / size), 8)), proved
        return total, float(up(error, 8)), proved


def lifted(problem: ScalarProblem, prediction: Prediction) -> Lifted:
    """The problem of what a smooth prediction leaves over.

    Parameters
    ----------
    prediction
        An `MLP`, a torch module that `from_torch` reads, an `Expression` or its text, a number, a `Lift`, or
        `Lift.opaque(…)`.
    """
    return Lifted(*parts_of(problem, lift_of(problem, prediction)))


def parts_of(
    problem: ScalarProblem, lift: Lift | OpaqueLift, less: Expression | None = None
) -> tuple[ScalarProblem, ScalarProblem, Lift | OpaqueLift, Sewing | None]:
    """The problem, that of what is left over, the lift, and what is kept of it beside periodic pairs.

    `less` is a reaction g(u) that comes on top, taken at the lift.
    """
    kept = Sewing.of(problem, lift)
    u = lift if kept is None else kept.lift
    left_of, glued = partial(_flux_left, problem, u, kept=kept), problem.gluing
    paired = () if glued is None else (glued.first, glued.second)
    mesh, fluxes, robin = natural_groups(problem.mesh, problem.held, problem.given, u, left_of, paired)
    left = residual_of(problem, u, less)
    rest = problem.like(
        mesh,
        left,  # lift.md, step 1
        # lift.md, step 2
        {part.group: rest_of(u, part.given[0]) for part in problem.held.parts},
        fluxes,
        max(problem.quadrature, 8),
        robin or None,
        None if kept is None else kept.seam(left),
    )
    return problem, rest, lift, kept


def lift_of(problem: ScalarProblem, prediction: Prediction) -> Lift | OpaqueLift:
    """The prediction as a lift of this problem, or a refusal."""
    lift = as_lift(problem, prediction)
    if isinstance(problem.given["source"], Mapping):
        raise InputError(
            "lift: the source must be one formula for all cells; got a table of groups. Certify without it"
        )
    if problem.coefficients is not None:
        require_smooth(problem.coefficients, lift)
        return lift
    kappa, c = problem.diffusion, problem.reaction
    if np.ptp(kappa) != 0.0 or (c is not None and np.ptp(c) != 0.0):  # lift.md, step 4
        raise InputError(
            "lift: the diffusion and the reaction must be the same on all cells; across a jump of κ the prediction's "
            "flux would jump. Certify without the lift"
        )
    return lift


def as_lift(problem: ScalarProblem, prediction: Prediction) -> Lift | OpaqueLift:
    """The prediction as a lift, whatever the coefficients of the problem are."""
    known = isinstance(prediction, Lift | OpaqueLift | MLP | Expression) or is_module(prediction)
    if callable(prediction) and not known:
        raise InputError(
            "lift: needs a prediction with known derivatives: a network by its weights, a formula, or "
            "Lift.opaque(value, laplacian, gradient); a plain function has none"
        )
    lift = prediction if isinstance(prediction, Lift | OpaqueLift) else Lift(prediction)
    lift = lift.on(problem.mesh.points) if isinstance(lift, OpaqueLift) else lift
    if isinstance(lift, Lift):
        require_defined("prediction", lift.formulas, problem.mesh.points[problem.mesh.cells])
    problem.require_transfer()
    return lift


def residual_of(problem: ScalarProblem, lift: Lift | OpaqueLift, less: Expression | None = None) -> Any:
    """What the prediction leaves of the equation, with g(u) where that is part of it."""
    f, c = problem.given["source"], problem.reaction
    if problem.coefficients is not None and isinstance(lift, Lift):
        return residual(lift, f, problem.coefficients, less)
    if less is not None and isinstance(lift, Lift):
        return lift.residual(f, float(problem.diffusion[0]), 0.0 if c is None else float(c[0]), less)
    return lift.residual(f, float(problem.diffusion[0]), 0.0 if c is None else float(c[0]))


def _flux_left(
    problem: ScalarProblem, lift: Lift | OpaqueLift, normal: Vector, given: Any, kept: Sewing | None = None
) -> Any:
    """What it leaves of a flux through facets with one normal."""
    if kept is not None:
        return kept.left(_flux_left(problem, kept.lift, normal, given), normal)
    if problem.coefficients is not None and isinstance(lift, Lift):
        return flux(lift, problem.coefficients, normal, given)
    return lift.flux(normal, float(problem.diffusion[0]), given)


def natural_groups(
    mesh: Mesh,
    held: HeldBoundary,
    given: Mapping[str, Any],
    lift: Lift | OpaqueLift,
    left_of: Callable[[Vector, Any], Any],
    paired: Sequence[Index] = (),
) -> tuple[Mesh, dict[str, Any], dict[str, Any]]:
    """The mesh with a group for every side with a prescribed flux, and what the lift leaves of the flux there.

    `left_of` says what it leaves of a flux through facets with one normal; on Robin sides αu_θ is taken too.
    """
    n = len(mesh.points)
    fixed = [np.sort(facets, axis=1) for facets in (*(part.facets for part in held.parts), *paired)]
    free = _without(np.sort(mesh.boundary, axis=1), fixed, n)
    groups, fluxes = dict(mesh.facet_groups), {}
    robin: dict[str, Any] = {}
    parts = [(np.sort(mesh.facets(name), axis=1), None, g) for name, g in given["neumann"].items()]
    parts += [(np.sort(mesh.facets(name), axis=1), *pair) for name, pair in given.get("robin", {}).items()]
    parts.append((_without(free, [f for f, _, _ in parts], n), None, 0.0))
    for number, (facets, alpha, g) in enumerate(parts):
        for side, (these, normal) in enumerate(_by_normal(mesh, facets, "lift")):
            name = f"{NATURAL}{number}.{side}"
            groups[name], left = these, left_of(normal, g)  # lift.md, step 3
            if alpha is None:
                fluxes[name] = left
            else:
                robin[name] = (alpha, exchanged(lift, alpha, left))
    return Mesh.trusted(mesh.points, mesh.cells, mesh.cell_groups, groups), fluxes, robin


def _without(facets: Index, others: list[Index], n: int) -> Index:
    def keys(f: Index) -> Any:
        key = np.zeros(len(f), dtype=np.float64 if n ** f.shape[1] < 2**52 else object)
        for column in f.T:
            key = key * n + column
        return key

    held = np.concatenate([keys(f) for f in others]) if others else np.zeros(0)
    return facets[~np.isin(keys(facets), held)]


def _by_normal(mesh: Mesh, facets: Index, what: str) -> list[tuple[Index, Vector]]:
    """Facets parallel to the axes, by their outward normals; others are refused."""
    if not len(facets):
        return []
    P, d = mesh.points[facets], mesh.dim
    flat = np.ptp(P, axis=1) == 0.0 if d > 1 else np.ones((len(P), 1), dtype=bool)
    if not np.all(flat.any(axis=1)):
        bad = P[int(np.argmin(flat.any(axis=1)))]
        raise InputError(
            f"{what}: fluxes of a prediction are enclosed on facets parallel to the axes; one with the corners "
            f"{bad.tolist()} is not. Fix values there, or certify without the lift"
        )
    axis = np.argmax(flat, axis=1)
    middle = mesh.points[mesh.cells].mean(axis=1)
    owner = _owners(mesh, facets)
    level = P[np.arange(len(P)), 0, axis]
    sign = np.where(middle[owner, axis] < level, 1.0, -1.0)
    found = []
    for i in range(d):
        for s in (-1.0, 1.0):
            these = facets[(axis == i) & (sign == s)]
            if len(these):
                normal = np.zeros(d)
                normal[i] = s
                found.append((these, normal))
    return found


def _owners(mesh: Mesh, facets: Index) -> Index:
    """The cell of each boundary facet."""
    T = Topology.of(mesh)
    return np.asarray(T.facet_cells[T.facet_numbers(facets), 0])
