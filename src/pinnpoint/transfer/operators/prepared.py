"""A family prepared for its queries: loads, fluxes and reference states that no κ changes; bounds of instances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, down, gamma, sum_up, up
from pinnpoint.systems.goals import Ball, Block, Cells, Goal, Patch, Point
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import fixed
from pinnpoint.taylor.meter import compiler
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET
from pinnpoint.transfer.goals import Functional, Groups, ball_as_it_is, functional
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.frozen import Frozen, PointTerms
from pinnpoint.transfer.operators.grid import Grid
from pinnpoint.transfer.operators.lattice import Lattice
from pinnpoint.transfer.operators.particular import Geometry, Particular, particulars
from pinnpoint.transfer.operators.reduced import Reduced
from pinnpoint.transfer.operators.sums import (
    Asked,
    FirstWeights,
    Fuzz,
    Norms,
    Several,
    StateSums,
    Weights,
    intervals,
    norms,
    own_norm,
    two_sided,
)
from pinnpoint.transfer.operators.triangles import Triangles, rings
from pinnpoint.transfer.points.distances import largest_ball

Engine = AnyMesh | Grid | Reduced
EXACTLY = 2
"""Steps for the reference itself: the second takes what rounding left of the first."""


@dataclass(frozen=True, eq=False)
class Enclosures:
    """Proved numbers of some instances, as `certificates.population.Population` has them."""

    error: Vector
    lower: Vector
    energy: Vector
    energy_lower: Vector
    norm: Vector
    norm_lower: Vector
    gap: Vector
    center: Vector
    radius: Vector

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that no κ changes.

    Attributes
    ----------
    engine
        Makes the steps and sums.
    loads
        The problem's, then those of the queries with duals.
    with_duals
        Numbers of the queries that have a dual.
    known
        Of the other queries: None for the mean that the energy gives, or a number and its error.
    points
        Of the queries with duals: the kernels of points, None for others.
    total
        f|Ω| and a bound of its error, where the energy gives the mean; else zeros.
    """

    engine: Engine
    loads: tuple[Particular, ...]
    fuzz: Fuzz
    weights: Weights | FirstWeights
    asked: Asked
    with_duals: tuple[int, ...]
    means: tuple[int, ...]
    constants: dict[int, tuple[float, float]]
    count: int
    total: tuple[float, float]
    zero: bool
    proved: bool
    points: tuple[Frozen | None, ...] = ()

    __repr__ = brief

    def enclose(
        self,
        kappas: Vector,
        predictions: Vector,
        streams: Vector | None,
        steps: int,
        dual_steps: int,
        mu: Vector | None = None,
    ) -> Enclosures:
        """Of instances with κ > 0 (I, C) and admissible predictions (I, N); one load for all, so there is no μ."""
        own, other, duals = self.engine.sums(kappas, predictions, streams, steps, dual_steps)
        root = np.asarray(up(1.0 / np.sqrt(kappas.min(axis=1)), 4))
        most = np.asarray(up(np.sqrt(kappas.max(axis=1)), 4))
        tails, both, rough = self.weights.sums(1.0 / kappas)
        primal = norms(own, tails[:, 0], rough[:, 0], self.loads[0], self.fuzz, root, most)
        guess = norms(other, tails[:, 0], rough[:, 0], self.loads[0], self.fuzz, root, most)
        low, high = two_sided(guess, primal)
        squares = own_norm(own, primal, self.fuzz, most, zero=self.zero)
        norm_low, norm = np.maximum(down(np.sqrt(squares[0]), 4), 0.0), up(np.sqrt(squares[1]), 4)
        center, radius = np.zeros((len(kappas), self.count)), np.full((len(kappas), self.count), math.inf)
        if self.with_duals:
            terms = PointTerms.of(self.points, kappas, self.fuzz.geometry, len(self.loads[0].row))
            dual = self._dual_norms(duals, tails, rough, root, most, terms)
            asked = self.asked if not any(self.points) else self._asked(terms)
            tail = tails[:, :1] * (1.0 + 4.0 * self.fuzz.relative)
            beside = up(np.sqrt(tail) * terms.rest, 8)  # operators.md, step 11b
            middle, half = intervals(own, primal, duals, dual, both, asked, self.fuzz, most, np.asarray(beside))
            # of G − Ḡ the means act on the state itself: operators.md, step 11b
            length = np.sqrt(own.energy) * (1.0 + 4.0 * self.fuzz.relative) + self.fuzz.slope(own.top, most)
            half = np.asarray(up(half + terms.means * length[:, None], 8))
            center[:, self.with_duals] = middle
            radius[:, self.with_duals] = np.where(terms.known, half, math.inf)  # operators.md, step 11a
        for q in self.means:
            center[:, q], radius[:, q] = self._mean(squares)
        for q, (value, error) in self.constants.items():
            center[:, q], radius[:, q] = value, error
        with np.errstate(all="ignore"):
            found = (
                up(high / norm_low),
                down(low / norm),
                high,
                low,
                norm,
                norm_low,
                up(primal.energy / norm_low),
                center,
                radius,
            )  # operators.md, step 2e
        return settled(found)

    @cached_property
    def several(self) -> Several:
        """The duals' loads side by side."""
        return Several.of(self.loads[1:])

    def _asked(self, terms: PointTerms) -> Asked:
        """With what the points of each instance have of their own."""
        a = self.asked
        return Asked(a.constant + terms.constant, a.error + terms.error, a.scale, a.rows + terms.row, a.load)

    def _dual_norms(
        self, duals: StateSums, tails: Vector, rough: Vector, root: Vector, most: Vector, terms: PointTerms
    ) -> Norms:
        """Of all duals side by side, each with a load of its own."""
        added = terms.size, terms.rest, terms.means
        ends = root[:, None], most[:, None]
        return norms(duals, tails[:, 1:], rough[:, 1:], self.several, self.fuzz, *ends, added)

    def _mean(self, squares: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
        """∫u/|Ω| = ‖u‖_a²/(f|Ω|)."""
        low, high = squares
        value, error = self.total
        ends = low / value, high / value  # operators.md, step 2f
        center = 0.5 * (ends[0] + ends[1])
        size = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        relative = 2.0 * error / abs(value) + 16.0 * UNIT
        return center, np.asarray(up(0.5 * np.abs(ends[1] - ends[0]) + relative * size, 8))


def settled(found: tuple[Vector, ...]) -> Enclosures:
    """What came out as NaN proves nothing."""
    error, lower, energy, energy_low, norm, norm_low, gap, center, radius = found

    def most(x: Vector) -> Vector:
        return np.where(np.isnan(x), math.inf, x)

    def least(x: Vector) -> Vector:
        return np.where(np.isfinite(x), np.maximum(x, 0.0), 0.0)

    lost = ~(np.isfinite(center) & np.isfinite(radius))
    return Enclosures(
        most(error),
        least(lower),
        most(energy),
        least(energy_low),
        most(norm),
        least(norm_low),
        most(gap),
        np.where(lost, 0.0, center),
        np.where(lost, math.inf, radius),
    )


def prepare(
    model: Continuum,
    values: Vector,
    goals: Sequence[Goal | None],
    names: Sequence[str],
    facets_of: Groups,
    cells_of: Groups,
    *,
    lattice: bool = True,
    points: bool = True,
    constant: bool = True,
) -> Prepared:
    """For a model with κ = 1 and no reaction; `values` has the Dirichlet values at their nodes, zero elsewhere.

    `constant`: whether the load is the same for all instances, so that where it is one number the energy has the mean.
    """
    geometry = Geometry.of(model.points, model.topology.cells)
    triangles = Triangles.of(model.topology, model.kind, geometry)
    zero = not np.any(values)
    total = total_load(model, geometry) if zero and constant else (0.0, 0.0)
    functionals: list[Functional | None] = [
        None
        if isinstance(goal, Cells) and goal.cells is None and total[0] != 0.0  # operators.md, step 2f
        else bounded_form(model, goal, name, facets_of, cells_of, points=points)
        for goal, name in zip(goals, names, strict=True)
    ]
    acting = {q: J for q, J in enumerate(functionals) if J is not None and J.acts}
    frozen = tuple(_frozen(model, goals[q], J, geometry) for q, J in acting.items())
    own, holes, states = _referred(model, triangles, geometry, values, list(acting.values()))
    lattice = zero and lattice
    engine = _engine(model, geometry, triangles, own, holes, states, values, frozen, lattice=lattice)
    asked = Asked(
        np.array([0.0 if point else J.constant for J, point in zip(acting.values(), frozen, strict=True)]),
        np.array([0.0 if point else J.error for J, point in zip(acting.values(), frozen, strict=True)]),
        np.array([J.scale for J in acting.values()]),
        np.array([row_bound(p) for p in own[1:]]),
        row_bound(own[0]),
    )
    return Prepared(
        engine,
        own,
        Fuzz.of(geometry, holes, engine.more),
        Weights.of(own, geometry, model.d),
        asked,
        tuple(acting),
        tuple(q for q, J in enumerate(functionals) if J is None),
        {q: (J.constant, J.error) for q, J in enumerate(functionals) if J is not None and not J.acts},
        len(names),
        total,
        zero,
        all(p.proved for p in own) and all(J.proved for J in acting.values()),
        frozen,
    )


def _frozen(model: Continuum, goal: Goal | None, J: Functional, geometry: Geometry) -> Frozen | None:
    """The kernel of a point's query."""
    if not isinstance(goal, Point):
        return None
    return Frozen.of(model.points, model.topology.cells, np.array(goal.at), J, geometry.slack)


def _referred(
    model: Continuum, triangles: Triangles, geometry: Geometry, values: Vector, acting: Sequence[Functional]
) -> tuple[tuple[Particular, ...], tuple[Particular, ...], Vector]:
    """Loads with fluxes around the reference's states, fields of holes, and these states, (N, 1 + Q)."""
    cells = len(model.topology.cells)
    none, ones = Density.constant(np.zeros(cells), model.d), np.ones(cells)
    loads = [(model.load, model.boundary_load)]
    loads += [(none if J.source is None else J.source.on_all(cells), J.load) for J in acting]
    rows = np.stack([model.vector(w, g) for w, g in loads], axis=1)
    start = np.zeros_like(rows)
    start[:, 0] = values
    states = triangles.primal_steps(ones, rows, start, EXACTLY)
    around = rings(model.topology, model.kind)
    lifts = np.zeros((len(values), len(around)))
    for j, nodes in enumerate(around):
        lifts[nodes, j] = 1.0
    fields = triangles.primal_steps(ones, np.zeros_like(lifts), lifts, EXACTLY) if around else lifts
    everything = np.concatenate([states, fields], axis=1).T
    found = particulars(model, everything, [*loads, *[(none, None)] * len(around)], geometry)
    return tuple(found[: len(loads)]), tuple(_hole(f, geometry) for f in found[len(loads) :]), states


def _engine(
    model: Continuum,
    geometry: Geometry,
    triangles: Triangles,
    loads: tuple[Particular, ...],
    holes: tuple[Particular, ...],
    states: Vector,
    values: Vector,
    frozen: tuple[Frozen | None, ...],
    *,
    lattice: bool,
) -> AnyMesh | Grid:
    squares = Lattice.of(model.topology)
    held = bool(np.all(model.kind[model.topology.boundary] == DIRICHLET))
    if squares is not None and held and lattice and compiler():
        return Grid.of(squares, geometry, loads, states, frozen, triangles.gradient)
    return AnyMesh(triangles, loads, holes, states, values, frozen)


def _hole(field: Particular, geometry: Geometry) -> Particular:
    """A flux whose divergence is rounding alone: that part of it counts as slip."""
    lost = np.sqrt(field.divergence**2 * geometry.spread * (1.0 + geometry.slack)) / 2.0
    slip = float(up(field.slip + math.sqrt(sum_up(np.asarray(up(lost**2, 8)))), 8))  # operators.md, step 1d
    none = np.zeros_like(field.divergence)
    rest = 0.0 if field.rough is None else math.sqrt(sum_up(np.asarray(up(field.rough**2, 8))))
    means = float(up(field.means + rest))
    return Particular(
        field.flux,
        none,
        slip,
        field.size,
        None,
        means,
        field.facets,
        field.row,
        field.row_size,
        field.row_error,
        field.proved,
    )


def row_bound(p: Particular) -> float:
    """Of the error of row·v over max |v|, rounding of the product included."""
    return float(up(p.row_error + gamma(len(p.row) + 128) * p.row_size * 1.01))  # operators.md, step 5d


def total_load(model: Continuum, geometry: Geometry) -> tuple[float, float]:
    """f|Ω| where f is one number and no flux is given; else zeros."""
    if model.boundary_load is not None or len(model.sources) != 1:
        return 0.0, 0.0
    f = fixed(model.sources[0][1])
    if f is None or f[0] == 0.0:
        return 0.0, 0.0
    size = math.fsum(geometry.area.tolist())
    wrong = geometry.slack * size * 1.01 + f[1] / abs(f[0]) * size + 4.0 * UNIT * size
    return f[0] * size, float(up(abs(f[0]) * wrong, 8))


def bounded_form(
    model: Continuum, goal: Goal | None, name: str, facets_of: Groups, cells_of: Groups, *, points: bool = False
) -> Functional:
    """The bounded form of a query, the same for every κ; of points the part that κ at the point alone changes."""
    if isinstance(goal, Ball):
        x0 = np.array(goal.at)
        edge = largest_ball(x0, model.outline())
        if goal.radius > edge:
            raise InputError(
                f"query '{name}': the ball of radius {goal.radius:g} about {x0.tolist()} leaves the domain, whose "
                f"boundary is {edge!r} away; make the radius smaller"
            )
        return ball_as_it_is(model, x0, goal.radius)  # operators.md, step 3a
    if isinstance(goal, Point) and not points:
        raise InputError(
            f"query '{name}': points are certified in two dimensions by steps with stream functions alone; ask for the "
            "average over a block or a ball about it, leave patches and bases out, or certify the instance alone"
        )
    if isinstance(goal, Cells | Block | Patch | Point):
        return functional(model, goal, name, facets_of, cells_of)
    raise InputError(
        f"query '{name}': of families with a coefficient for each instance, points, means and averages over cells, "
        "blocks, balls and Neumann groups are certified"
    )
