"""Displacements, strains and stresses at points, and displacements averaged over balls, by Kelvin's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, up
from pinnpoint.systems.goals import (
    Ball,
    Point,
    Strain,
    Stress,
)
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.taylor.simplices import enclose
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.elastic.functional import Functional, given_on, tensor_on, with_norm
from pinnpoint.transfer.elastic.kelvin import Kelvin, kelvin_of
from pinnpoint.transfer.elastic.kernel_terms import displacement_term, tensor_term
from pinnpoint.transfer.elastic.loads import Load, StressLoad
from pinnpoint.transfer.elastic.mollified import mollified
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.points.distances import largest_ball
from pinnpoint.transfer.points.places import cell_of, facet_at, in_domain
from pinnpoint.transfer.points.work import Work

FAR = 0.02
"""Balls smaller than this share of their cell are told to be."""
SHARE = {2: 2e-3, 3: 1e-2}
"""The density's integration error against (h/R · h/L)^degree, relative to the solution."""

CURVED = 0.1
"""How much less of it is allowed for beside arcs, where linear elements have that of quadratic ones."""


def displacement(solid: Solid, goal: Point | Ball, k: int, name: str) -> Functional:
    """u_k at a point or averaged over a ball; the given value where it is held."""
    x0, average = np.array(goal.at), goal.radius if isinstance(goal, Ball) else 0.0
    _require_straight(solid, x0, name)
    facet = facet_at(solid.topology, np.flatnonzero(solid.held[:, k]), x0) if average == 0.0 else None
    if facet is not None:
        return _held_value(solid, x0, facet, k)  # elasticity.md, step 10i
    kernel, w, spent, outlook = _kernel(solid, x0, average, name)
    forces = solid.forces_in(cell_of(solid.topology, x0), name)
    tolerance = _tolerance(solid, kernel, forces)
    value, error, sure = displacement_term(kernel, forces, k, x0, tolerance, spent)  # elasticity.md, step 8d
    body = tuple(w if c == k else None for c in range(solid.d))
    error += _other_kernel(solid, w, kernel.of_rounded_displacement, forces)
    return _pointed(Load(body), value, error, kernel, sure, outlook, spent)


def tensor_at(solid: Solid, goal: Stress | Strain, name: str) -> Functional:
    """σ_ij or ε_ij at a point."""
    x0, d = np.array(goal.at), solid.d
    _require_straight(solid, x0, name)
    kernel, w, spent, outlook = _kernel(solid, x0, 0.0, name)
    cell = cell_of(solid.topology, x0)
    forces = solid.forces_in(cell, name)
    tolerance = _tolerance(solid, kernel, forces) / kernel.radius
    T = tensor_on(solid, w.cells, goal)
    mu, lam = float(solid.mu[cell]), float(solid.lam[cell])
    half = 0.5 if isinstance(goal, Strain) else mu
    slopes = [(2.0 * half, goal.i, goal.i)] if goal.i == goal.j else [(half, goal.i, goal.j), (half, goal.j, goal.i)]
    slopes += [(lam, k, k) for k in range(d)] if isinstance(goal, Stress) and goal.i == goal.j else []
    tolerance *= 1.0 if isinstance(goal, Strain) else mu
    value, error, sure = tensor_term(kernel, forces, slopes, x0, tolerance, spent)  # elasticity.md, step 8e
    error += _other_kernel(solid, w, kernel.of_rounded_gradient, forces) * sum(abs(c) for c, _, _ in slopes)
    if solid.thermal is not None and isinstance(goal, Stress) and goal.i == goal.j:
        here, wrong = solid.thermal.at(x0, cell)
        value, error = value - here, float(up(error + wrong + UNIT * abs(value - here)))  # elasticity.md, step 12d
    load = StressLoad(w, T)
    made = _pointed(Load(stress=load), value, error, kernel, sure, outlook, spent)
    return with_norm(solid, made, load)


def _require_straight(solid: Solid, x0: Vector, name: str) -> None:
    """Refuse points in cells at curved sides."""
    if solid.arcs is not None and cell_of(solid.topology, x0) in solid.arcs.cells:
        raise InputError(
            f"query '{name}': {x0.tolist()} lies in a cell at a curved side of the solid, where points are not "
            "supported; move it inside by about a cell, or refine the mesh"
        )


def _other_kernel(solid: Solid, w: Density, reach: float, forces: Sequence[Any]) -> float:
    """What the rounding of λ and μ does to the kernel's data term, where the force is not affine."""
    V = solid.points[solid.topology.cells[slice(None) if w.cells is None else w.cells]]
    rough = [f for f in forces if enclosed(f) and fixed(f) is None]
    top = sum(float(np.max(supremum(f, V)[0], initial=0.0)) for f in rough)
    return at_most(up(solid.off * reach * top, 8)) if rough else 0.0  # elasticity.md, step 9f


def _pointed(
    load: Load, value: float, error: float, kernel: Kelvin, sure: bool, outlook: str, spent: Work
) -> Functional:
    rounding = 4.0 * UNIT * abs(value)
    return Functional(
        load,
        value,
        float(up(error)),
        max(0.0, float(error) - rounding),
        ball=kernel.radius,
        proved=load.proved and sure,
        outlook=outlook,
        work=spent.spent,
    )


def _tolerance(solid: Solid, kernel: Kelvin, forces: Sequence[Any]) -> float:
    """An error of the data term that does not show: of the size of the solution's change over a cell's ball."""
    strength = max(solid.height(f) for f in forces)
    small = _small(solid, kernel.radius)
    least = max(solid.floor(f) for f in forces)
    return max(0.5 * small * strength, least, 1e-300) * kernel.radius**2 / kernel.mu


def _small(solid: Solid, R: float) -> float:
    share = min(1.0, solid.spacing / R) * solid.spacing / solid.extent
    return float(SHARE[solid.d] * share**solid.degree)


def _kernel(solid: Solid, x0: Vector, average: float, name: str) -> tuple[Kelvin, Density, Work, str]:
    """The kernel of the largest ball about a point, its density on the mesh, and what to expect."""
    T = solid.topology
    blocking = solid.blocking()
    R = largest_ball(x0, solid.points[T.facets[blocking]])  # elasticity.md, step 8f
    R *= 1.0 if solid.arcs is None else 0.999  # balls do not even touch cells at arcs
    if R <= 1e-9 * solid.spacing + 64.0 * UNIT * float(np.abs(x0).max()) and not in_domain(T, x0):
        raise InputError(
            f"query '{name}': {x0.tolist()} lies outside the domain by the rounding of its coordinates; move it "
            "inside, or say target='discrete'"
        )
    if average == 0.0 and R <= 1e-13 * solid.spacing:
        raise InputError(
            f"query '{name}': {x0.tolist()} lies on {_obstacle(solid, x0)}; no ball around it stays inside one "
            "material. Move the point inside, ask for an average over cells or over the boundary group, or say "
            "target='discrete'"
        )
    if average > R:
        raise InputError(
            f"query '{name}': the ball of radius {average:g} about {x0.tolist()} crosses {_obstacle(solid, x0)}, {R!r} "
            "away from its centre; make the radius smaller, or say target='discrete'"
        )
    cell = cell_of(T, x0)
    kernel = kelvin_of(solid.d, float(solid.lam[cell]), float(solid.mu[cell]), R, average)
    outlook = _outlook(solid, cell, R)
    spent = Work(solid.budget)
    small = _small(solid, R)
    if solid.arcs is not None:  # what the tree carries for the density's error costs hundreds of times more at arcs
        small = min(small, CURVED * small ** (2.0 / solid.degree))
    w = mollified(kernel, solid.points, T.cells, x0, small, spent)
    if solid.arcs is not None and w.cells is not None:  # the ball does not meet them
        keep = ~np.isin(w.cells, solid.arcs.cells)  # curved.md, step 6h
        w = Density(w.coefficients[keep], w.high[keep], w.error1[keep], w.error2[keep], w.cells[keep], w.proved)
    return kernel, w, spent, outlook


def _outlook(solid: Solid, cell: int, R: float) -> str:
    h = float(solid.topology.diameters[cell])
    if R >= FAR * h:
        return ""
    return (
        f"the largest ball around it that crosses no boundary and no change of material has the radius {R:.3g}, and "
        f"its cell the diameter {h:.3g}: the interval is wide until cells there are about as small as that ball. Grade "
        "the mesh towards it, move the point inside, or ask for an average over cells"
    )


def _obstacle(solid: Solid, x0: Vector) -> str:
    """What is nearest to a point."""
    T = solid.topology
    kinds = {
        "a change of material": solid.blocking()[~T.boundary[solid.blocking()]],
        "a held part of the boundary": np.flatnonzero(solid.held.any(axis=1)),
        "the free boundary": np.flatnonzero(T.boundary & ~solid.held.any(axis=1)),
    }
    found = {largest_ball(x0, solid.points[T.facets[facets]]): name for name, facets in kinds.items()}
    return found[min(found)]


def _held_value(solid: Solid, x0: Vector, facet: int, k: int) -> Functional:
    given = given_on(solid, facet, k)
    sure = not callable(given) or enclosed(given)
    value, error = enclose(given, x0[None, :]) if sure else (given(x0[None, :]), np.zeros(1))
    if callable(given):  # so that a program that trusts elementary functions less proves it too
        error = up(error + gamma(64) * np.abs(value))
    note = "a point of a held boundary: the given value"
    return Functional(
        constant=float(value[0]), error=float(error[0]), data=float(error[0]), known=True, proved=sure, note=note
    )
