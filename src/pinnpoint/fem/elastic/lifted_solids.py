"""The lift of an elastic body: a predicted displacement is kept as it is, and what it leaves over is certified.

With a smooth u_θ, e = u − u_θ solves the same equations with the body force r = f + ∇·Cε(u_θ), the displacements
g − u_θ and the tractions t − Cε(u_θ)n. Its values are certified like any others, with radii that scale with what u_θ
leaves over, and u_θ's own values are enclosed and added. λ and μ must be the same everywhere.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pinnpoint.base.arrays import Index, Limits, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.certificates.transfer import Route
from pinnpoint.fem.data.coefficients import require_defined, split
from pinnpoint.fem.elastic.elastic_loads import even_traction
from pinnpoint.fem.elastic.elastic_queries import ElasticQueries
from pinnpoint.fem.elastic.met import left_of
from pinnpoint.fem.elastic.solids import require_meaning, roundings
from pinnpoint.fem.extraction import Formulas
from pinnpoint.fem.lifts.forecast import MODEL, POINT, QUERY, Forecast
from pinnpoint.fem.lifts.lifted import NATURAL, AbstractLifted
from pinnpoint.fem.problem import LiftableElements
from pinnpoint.formulas.expressions import Expression
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quadrature import rule
from pinnpoint.mesh.topology import Topology
from pinnpoint.models.given import Prediction
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.torch import is_module
from pinnpoint.models.opaque import OpaqueLift
from pinnpoint.models.vector_lifts import Direction, Law, VectorLift
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.systems.goals import (
    Ball,
    Cells,
    CellStrain,
    CellStress,
    CellStressAlong,
    Compliance,
    Goal,
    Patch,
    Point,
    Reaction,
    Strain,
    Stress,
)
from pinnpoint.systems.queries import Queries
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.jets import ZERO
from pinnpoint.taylor.models import constant
from pinnpoint.taylor.simplices import density, enclose
from pinnpoint.transfer.boundary.facets import measures, normals
from pinnpoint.transfer.energy.geometry import Shapes
from pinnpoint.transfer.points.data_term import data_term
from pinnpoint.transfer.points.kernels import UniformKernel

SIDES = 512
"""Flat pieces that the loaded boundary may have."""


class SolidProblem(ElasticQueries, LiftableElements):
    """An elastic body as lifts see it."""

    @abstractmethod
    def like(
        self, mesh: Mesh, body: Any, fixed: Mapping[str, Any], traction: Mapping[str, Any], quadrature: int
    ) -> SolidProblem:
        """The same material with other data, on the same cells."""

    def lift_of(self, prediction: Prediction) -> VectorLift:
        """The prediction as a lift of this problem, or a refusal."""
        return lift_of(self, prediction)

    def lifted(self, prediction: Prediction) -> LiftedSolid:
        """The problem of what a smooth prediction leaves over, to be certified in the place of this one."""
        return lifted(self, prediction)

    def lift_cost(self, lift: VectorLift, queries: int) -> Forecast:
        """What a lift will cost, before it is begun: one model of each component of the residual on each cell."""
        N, d = len(self.mesh.cells), self.mesh.dim
        size = max(0.04, lift.neurons / 96.0) * d
        points = N * len(rule(d, max(self.quadrature, 8))[1])
        return Forecast(size * (POINT * points + QUERY * queries + 1.5 * MODEL * N * (2 * d + 2) / 4.0), N)

    def require_worth(self, lift: Any, plain: Any, solver: Any, ahead: Any) -> None:
        """Nothing is forecast of what a lift of displacements is worth; the certificate's `narrowing` says it."""


@dataclass(frozen=True, eq=False)
class LiftedSolid(AbstractLifted):
    """An elastic body seen from a predicted displacement."""

    base: SolidProblem
    rest: SolidProblem
    lift: VectorLift

    __repr__ = brief

    @property
    def components(self) -> int:
        """Displacement components per node."""
        return self.rest.mesh.dim

    def refined(self, mesh: Mesh, parents: Index) -> Self:
        """The same on a refined mesh, whose normals are its own."""
        groups = {k: v for k, v in mesh.facet_groups.items() if not k.startswith(NATURAL)}
        base: Any = self.base
        base = base.refined(Mesh.trusted(mesh.points, mesh.cells, mesh.cell_groups, groups), parents)
        other = lifted(base, self.lift)
        return type(self)(other.base, other.rest, other.lift)

    def transfer(self, queries: Queries, tolerance: Limits = None, budget: int | None = None) -> Route:
        """The transfer of the rest."""
        for goal, name in zip(queries.goals, queries.names, strict=True):
            if isinstance(goal, CellStressAlong):
                raise InputError(
                    f"query '{name}': stresses along a tensor are not certified through a lift; ask for them without "
                    "it, and for displacements, strains, stresses, reactions and the work of the loads with it"
                )
            if isinstance(goal, Compliance) and not self._still:
                raise InputError(
                    f"query '{name}': the work of the loads is certified where every held displacement is zero; ask "
                    "for the reactions and for averages over the loaded groups instead"
                )
        return self.rest.transfer(queries, tolerance, budget)

    def _own(self, goal: Goal | None, name: str) -> tuple[float, float, bool]:
        u, d = self.lift, self.components
        if isinstance(goal, Point | Stress | Strain):
            at, off = enclose(self._field(goal), np.array([goal.at]))
            return float(at[0]), float(off[0]), True
        if isinstance(goal, Ball) and goal.component is not None:
            f, x0 = u.along(_unit(d, goal.component)), np.array(goal.at)
            height = max(1.0, abs(float(f(x0[None])[0])))
            kernel: Any = UniformKernel(d, goal.radius)
            return data_term(kernel, f, x0, 1e-13 * height)
        if isinstance(goal, Cells | CellStress | CellStrain):
            return self._over_cells(goal)
        if isinstance(goal, Patch):
            return self._over_facets(goal)
        if isinstance(goal, Reaction):
            return self._carried(goal)
        if isinstance(goal, Compliance):
            return self._worked()
        raise InputError(f"target: query '{name}' has no proved transfer to the solid's own solution")

    def _field(self, goal: Any) -> Any:
        """The field of which a goal asks a value or an average."""
        if isinstance(goal, Point | Cells):
            return self.lift.along(_unit(self.components, goal.component or 0))
        if isinstance(goal, Strain | CellStrain):
            return self.lift.strain(goal.i, goal.j)
        return self.lift.stress(goal.i, goal.j, law_of(self.base))

    def _over_cells(self, goal: Cells | CellStress | CellStrain) -> tuple[float, float, bool]:
        mesh, where = self.base.mesh, goal.cells
        numbers = np.arange(len(mesh.cells)) if where is None else where
        cells = mesh.cells[mesh.cells_of(where) if isinstance(where, str) else np.asarray(numbers, dtype=np.intp)]
        cells = np.sort(cells, axis=1)
        shapes = Shapes.of(mesh.points, cells)
        return _average([(shapes.volume, shapes.slack, density(self._field(goal), mesh.points[cells]))])

    def _carried(self, goal: Reaction) -> tuple[float, float, bool]:
        """∫ Σ_j σ_kj(u_θ) n_j over a boundary group."""
        mesh, law = self.base.mesh, law_of(self.base)
        T = Topology.of(mesh)
        facets = T.facet_numbers(mesh.facets(goal.group))
        which, normal = _sides(T, facets)
        parts = []
        for k, n in enumerate(normal):
            V = mesh.points[T.facets[facets[which == k]]]
            parts.append((*measures(V), density(self.lift.traction(goal.component, n, law, 0.0), V)))
        total, error, proved = _total(parts)  # lift.md, step 11
        return -total, error, proved

    @property
    def _still(self) -> bool:
        """Whether every held displacement of the body is zero."""
        return all(fixed(g) == (0.0, 0.0) for part in self.base.held.parts for g in part.given if g is not None)

    def _worked(self) -> tuple[float, float, bool]:
        """2L(u_θ) − a(u_θ, u_θ): the work of the loads, less that of what u_θ leaves over on what it leaves over."""
        base, u, d = self.base, self.lift, self.components
        mesh, body = base.mesh, base.given["body"]
        cells = np.sort(mesh.cells, axis=1)
        shapes, force = Shapes.of(mesh.points, cells), split("body", 0.0 if body is None else body, d)
        inside = u.work([0.0 if f is None else f for f in force], law_of(base))
        parts = [(shapes.volume, shapes.slack, density(inside, mesh.points[cells]))]
        loads = {g: split(f"traction '{g}'", t, d) for g, t in base.conditions["traction"].items()}
        loads |= {g: _spread(base, g, total) for g, total in base.conditions["force"].items()}
        for group, t in loads.items():
            V = mesh.points[np.sort(mesh.facets(group), axis=1)]
            parts.append((*measures(V), density(u.work([0.0 if x is None else x for x in t], None), V)))
        return _total(parts)  # lift.md, step 12

    def _over_facets(self, goal: Patch) -> tuple[float, float, bool]:
        mesh, d, along = self.base.mesh, self.components, goal.component
        T = Topology.of(mesh)
        facets = T.facet_numbers(mesh.facets(goal.group))
        sides = [(facets, _unit(d, along) if isinstance(along, int) else _exact(along))] if along != "normal" else []
        if along == "normal":
            which, each = _sides(T, facets)
            sides = [(facets[which == k], n) for k, n in enumerate(each)]
        parts = []
        for these, n in sides:
            V = mesh.points[T.facets[these]]
            parts.append((*measures(V), density(self.lift.along(n), V)))
        return _average(parts)


def _total(parts: Sequence[tuple[Vector, Vector, Density]]) -> tuple[float, float, bool]:
    """The integral of densities over simplices of these sizes, which are known up to their relative slack."""
    total = math.fsum(x for measure, _, f in parts for x in (measure * f.coefficients.mean(axis=1)).tolist())
    error = 0.0
    for measure, slack, f in parts:
        top = np.abs(f.coefficients).max(axis=1)
        error = float(up(error + sum_up(up(measure * (1.0 + slack) * (f.error1 + (slack + gamma(40)) * top), 8))))
    return total, float(up(error + 2.0 * UNIT * abs(total))), all(f.proved for _, _, f in parts)


def _average(parts: Sequence[tuple[Vector, Vector, Density]]) -> tuple[float, float, bool]:
    """The mean of densities over simplices of these sizes, which are known up to their relative slack."""
    means = [measure * f.coefficients.mean(axis=1) for measure, _, f in parts]
    total = math.fsum(x for mean in means for x in mean.tolist())
    size = math.fsum(x for measure, _, _ in parts for x in measure.tolist())
    error = loose = 0.0
    for measure, slack, f in parts:
        top = np.abs(f.coefficients).max(axis=1)
        each = measure * (1.0 + slack) * (f.error1 + (2.0 * slack + gamma(40)) * top)
        error = float(up(error + sum_up(up(each, 8))))
        loose = max(loose, float(np.max(slack)))
    mean = total / size
    if not loose < 0.25:
        return mean, math.inf, True
    error = error / size * (1.0 + 2.0 * loose) + (2.0 * loose + gamma(8)) * abs(mean)  # lift.md, step 10
    return mean, float(up(error, 16)), all(f.proved for _, _, f in parts)


def law_of(problem: SolidProblem) -> Law:
    """λ and μ of the material, with the rounding of their floats."""
    share = gamma(roundings(problem))
    lam, mu = (float(v[0]) for v in problem.lame)
    return constant(lam, float(up(share * abs(lam)))), constant(mu, float(up(share * abs(mu))))  # lift.md, step 6


def lift_of(problem: SolidProblem, prediction: Prediction) -> VectorLift:
    """The prediction as a lift of this problem, or a refusal."""
    given, d = prediction, problem.mesh.dim
    if problem.bending is not None:
        raise InputError("lift: solids with curved sides keep no prediction; leave lift out, or the geometry")
    if isinstance(given, Formulas):
        given = list(given.parts)
    known = isinstance(given, VectorLift | MLP | Expression) or is_module(given)
    if isinstance(given, OpaqueLift) or (callable(given) and not known):
        raise InputError(
            "lift: needs a displacement with known derivatives: a network by its weights, or a list with a formula for "
            "each component; a plain function has none"
        )
    lift = given if isinstance(given, VectorLift) else VectorLift(given)
    if len(lift.parts) != d:
        raise InputError(f"lift: the prediction has {len(lift.parts)} components, the body {d}")
    require_defined("prediction", lift.formulas, problem.mesh.points[problem.mesh.cells])
    require_meaning(problem)
    if problem.thermal is not None or problem.weights is not None:
        raise InputError(
            "lift: is for bodies without thermal expansion and without forces given by cells; certify without the lift"
        )
    if any(np.ptp(v) != 0.0 for v in problem.lame):  # lift.md, step 9
        raise InputError(
            "lift: the material must be the same on all cells; across a jump of λ or μ the prediction's stress would "
            "jump. Certify without the lift"
        )
    return lift


def lifted(problem: SolidProblem, prediction: Prediction) -> LiftedSolid:
    """The problem of what a smooth displacement leaves over.

    Parameters
    ----------
    prediction
        A `VectorLift`, or what makes one.
    """
    lift = lift_of(problem, prediction)
    law, d, body = law_of(problem), problem.mesh.dim, problem.given["body"]
    force = split("body", 0.0 if body is None else body, d)
    mesh, tractions = _with_natural_groups(problem, lift, law)
    rest = problem.like(
        mesh,
        [lift.residual(i, law, 0.0 if f is None else f) for i, f in enumerate(force)],
        {part.group: left_of(problem.mesh, part, lift) for part in problem.held.parts},  # lift.md, step 7
        tractions,
        max(problem.quadrature, 8),
    )
    return LiftedSolid(problem, rest, lift)


def _with_natural_groups(problem: SolidProblem, lift: VectorLift, law: Law) -> tuple[Mesh, dict[str, Any]]:
    """The mesh with a group for every flat side with one load, and what the lift leaves of the traction there."""
    mesh, d = problem.mesh, problem.mesh.dim
    T = Topology.of(mesh)
    held = np.zeros((len(T.facets), d), dtype=bool)
    for part in problem.held.parts:
        held[T.facet_numbers(part.facets)] |= np.array([g is not None for g in part.given])
    facets = np.flatnonzero(T.boundary & ~held.all(axis=1))
    loads: list[list[Any]] = [[0.0] * d]
    load = np.zeros(len(T.facets), dtype=np.intp)
    for group, t in problem.conditions["traction"].items():
        load[T.facet_numbers(mesh.facets(group))] = len(loads)
        loads.append([0.0 if x is None else x for x in split(f"traction '{group}'", t, d)])
    for group, total in problem.conditions["force"].items():
        load[T.facet_numbers(mesh.facets(group))] = len(loads)
        loads.append(_spread(problem, group, total))
    which, normal = _sides(T, facets)
    keys = np.column_stack([load[facets], held[facets] @ (1 << np.arange(d)), which])
    kinds, kind = np.unique(keys, axis=0, return_inverse=True)
    groups, tractions = dict(mesh.facet_groups), {}
    for k, (of, holds, side) in enumerate(kinds.tolist()):
        name = f"{NATURAL}{k}"
        groups[name] = T.facets[facets[kind.ravel() == k]]
        tractions[name] = [
            None if holds >> c & 1 else lift.traction(c, normal[side], law, loads[of][c]) for c in range(d)
        ]
    return Mesh.trusted(mesh.points, mesh.cells, mesh.cell_groups, groups), tractions


def _spread(problem: SolidProblem, group: str, total: Any) -> list[Any]:
    """An even traction, with the rounding of the group's measure."""
    values = even_traction(problem.nodes, group, total)[0]
    area, slack = measures(problem.mesh.points[np.sort(problem.mesh.facets(group), axis=1)])
    whole = math.fsum(area.tolist())
    off = float(up(sum_up(area * slack) / whole + gamma(8)))  # elasticity.md, step 10f
    return [constant(v / whole, float(up(off * abs(v) / whole))) for v in values.tolist()]


def _sides(T: Topology, facets: Index) -> tuple[Index, list[Direction]]:
    """Which flat side of the boundary a facet belongs to, and the outer normals of the sides, enclosed."""
    cells = T.facet_cells[facets, 0]
    V = T.points[T.facets[facets]]
    n, off = normals(V, V.mean(axis=1) - T.points[T.cells[cells]].mean(axis=1))  # lift.md, step 8
    _, first, which = np.unique(np.round(n, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    if len(first) > SIDES:
        raise InputError(
            f"lift: the loaded boundary has {len(first)} flat sides, and tractions of a prediction are enclosed on at "
            f"most {SIDES}; certify without the lift"
        )
    found = []
    for k, at in enumerate(first.tolist()):
        here = which == k
        wrong = float(up(np.max(np.abs(n[here] - n[at]).max(axis=1) + off[here]), 4))  # lift.md, step 8
        wrong = 0.0 if not np.any(off[here]) and not np.any(n[here] != n[at]) else float(up(wrong + UNIT))
        found.append(tuple(ZERO if x == 0.0 and wrong == 0.0 else constant(x, wrong) for x in n[at].tolist()))
    return which, found


def _unit(d: int, k: int) -> Direction:
    return tuple(constant(1.0 if c == k else 0.0) for c in range(d))


def _exact(v: Any) -> Direction:
    return tuple(constant(float(x)) for x in v)
