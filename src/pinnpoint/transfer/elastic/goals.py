"""What is asked of a solid's own solution, as functionals that are bounded in the energy norm.

Each query becomes J(v) = ∫ b·v + ∫_Γ t·v + ∫ S : ε(v) + constant, the right-hand side of a dual problem:

- u_k at a point or averaged over a ball, by Kelvin's kernel (`kelvin`): b = ϱ e_k, constant = ∫ f·Φ_k;
- σ_ij or ε_ij at a point: S = ϱ CE_ij or ϱ E_ij, E_ij = sym(e_i ⊗ e_j), with the data term of the kernel's gradient;
- averages over cells: b = e_k/|ω|, S = CE_ij/|ω| or E_ij/|ω|;
- averages over a boundary group in a direction: t = direction/|Γ| in components that are free, the data in held ones;
- the reaction of a held group: J(u) = a(u, φ) − L(φ) for any φ = e_k there and 0 on all other held pairs;
- the work of the loads, L(u): the dual problem is the primal one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.errors import InputError
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
from pinnpoint.taylor.simplices import density as density_on
from pinnpoint.transfer.boundary.facets import measures, normals
from pinnpoint.transfer.elastic.functional import Functional, tensor_on, with_norm
from pinnpoint.transfer.elastic.loads import Load, StressLoad, Traction
from pinnpoint.transfer.elastic.points import displacement, tensor_at
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.elastic.thermal import mean

log = logging.getLogger(__name__)

Groups = Callable[[Any], Index]


def functionals(solid: Solid, asked: Queries, facets_of: Groups, cells_of: Groups) -> tuple[Functional, ...]:
    """The functionals of all queries; each is told to the log before its work begins.

    Parameters
    ----------
    facets_of, cells_of
        Facet and cell numbers of a group; cells also by their numbers, None for all.
    """
    found = []
    for i, (goal, name) in enumerate(zip(asked.goals, asked.names, strict=True)):
        log.info("query %d of %d, '%s'", i + 1, len(asked), name, extra={"done": i, "total": len(asked)})
        found.append(functional(solid, goal, name, facets_of, cells_of))
    return tuple(found)


def functional(solid: Solid, goal: Goal | None, name: str, facets_of: Groups, cells_of: Groups) -> Functional:
    """The functional of one query."""
    if isinstance(goal, Point | Ball) and goal.component is not None:
        return displacement(solid, goal, goal.component, name)
    if isinstance(goal, Stress | Strain):
        return tensor_at(solid, goal, name)
    if isinstance(goal, Cells | CellStress | CellStrain | CellStressAlong):
        return _cells(solid, goal, cells_of(goal.cells))
    if isinstance(goal, Patch) and goal.component is not None:
        return _patch(solid, facets_of(goal.group), goal, name)
    if isinstance(goal, Reaction):
        return _reaction(solid, facets_of(goal.group), goal, name)
    if isinstance(goal, Compliance):
        return _compliance(solid, name)
    raise InputError(
        f"target: query '{name}' has no proved transfer to the solid's own solution; displacements, strains and "
        "stresses at points and averaged over balls, cells and boundary groups, reactions and the compliance have. Say "
        "target='discrete' for it"
    )


def _cells(solid: Solid, goal: Cells | CellStress | CellStrain | CellStressAlong, cells: Index) -> Functional:
    """An average over cells."""
    T = solid.topology
    size, slack = T.volumes[cells], solid.slack[cells]
    total, off = math.fsum(size.tolist()), sum_up(size * slack)
    if solid.arcs is not None:  # curved.md, step 6h
        own = np.isin(solid.arcs.cells, cells)
        total, off = total + math.fsum(solid.arcs.area[0][own].tolist()), off + sum_up(solid.arcs.area[1][own])
    wrong = float(up(off / total + gamma(8)))  # elasticity.md, step 10g
    weight = Density.constant(np.full(len(cells), 1.0 / total), solid.d)
    weight = Density(weight.coefficients, weight.high, weight.error1, weight.error2, np.asarray(cells))
    if isinstance(goal, Cells):
        if goal.component is None:
            raise InputError("query: averages over cells need a component")
        body = tuple(weight if c == goal.component else None for c in range(solid.d))
        return Functional(Load(body), scale=wrong)
    load, found = StressLoad(weight, tensor_on(solid, cells, goal)), Functional(scale=wrong)
    trace = trace_of(goal, solid.d)
    if solid.thermal is not None and trace != 0.0:
        here, off = mean(solid.expansion, np.asarray(cells), T.volumes, solid.slack)
        here, off = trace * here, float(up(abs(trace) * off * (1.0 + gamma(4)) + UNIT * abs(trace * here), 2))
        found = replace(found, constant=-here, error=off, data=off, proved=solid.expansion.proved)
    rounded = load
    if isinstance(goal, CellStressAlong):  # what cancels in CE is rounded all the same
        diagonal = np.array([1.0 if a == b else 0.0 for a, b in voigt(solid.d)])
        spread = abs(trace) * np.abs(solid.lam[cells])[:, None] * diagonal
        rounded = StressLoad(weight, up(2.0 * solid.mu[cells][:, None] * np.abs(goal.along) + spread, 4))
    return with_norm(solid, replace(found, load=Load(stress=load)), rounded)


def trace_of(goal: CellStress | CellStrain | CellStressAlong, d: int) -> float:
    """The trace of E of a stress's average; zero for strains, which have no part of the temperature."""
    if isinstance(goal, CellStressAlong):
        return math.fsum(x for x, (a, b) in zip(goal.along, voigt(d), strict=True) if a == b)
    return 1.0 if isinstance(goal, CellStress) and goal.i == goal.j else 0.0


def _patch(solid: Solid, facets: Index, goal: Patch, name: str) -> Functional:
    T, d = solid.topology, solid.d
    if not len(facets) or not np.all(T.boundary[facets]):
        raise InputError(
            f"query '{name}': group '{goal.group}' has facets inside the domain, for which no transfer is proved; ask "
            "for an average over cells, or say target='discrete'"
        )
    if solid.arcs is not None and np.isin(facets, solid.arcs.facets).any():
        raise InputError(f"query '{name}': averages over curved groups of solids are not supported; ask for points")
    area, slack = measures(solid.points[T.facets[facets]])
    total = math.fsum(area.tolist())
    wrong = float(up(sum_up(area * slack) / total + gamma(8)))  # elasticity.md, step 10f
    direction, off = _directions(solid, facets, goal.component)
    tractions = []
    constant = error = data = 0.0
    proved = True
    for c in range(d):
        free = ~solid.held[facets, c]
        acts = free & ((direction[:, c] != 0.0) | (off > 0.0))
        if acts.any():
            what = Density.constant(direction[acts, c] / total, d - 1)
            blur = off[acts] / total
            what = Density(what.coefficients, what.high, blur, blur)
            tractions.append(Traction(c, solid.facet_load(facets[acts], what), flat=True))
        value, more, unknown, sure = _held_part(solid, facets, ~free, direction[:, c], off, c)
        constant, error, data = constant + value / total, up(error + more / total, 8), up(data + unknown / total, 8)
        proved = proved and sure
    error = float(up(error + data + 2.0 * wrong * abs(constant) + d * UNIT * abs(constant)))
    load = Load(traction=tuple(tractions))
    known = not tractions
    return Functional(load, constant, error, float(data), known=known, scale=wrong, proved=proved)


def _directions(solid: Solid, facets: Index, component: Any) -> tuple[Vector, Vector]:
    """Unit or given directions on facets, (n, d), and bounds of their rounding, (n,)."""
    d, T = solid.d, solid.topology
    if isinstance(component, int):
        return np.repeat(np.eye(d)[component][None], len(facets), axis=0), np.zeros(len(facets))
    if isinstance(component, tuple):
        return np.repeat(np.array(component, dtype=np.float64)[None], len(facets), axis=0), np.zeros(len(facets))
    cell = T.facet_cells[facets, 0]
    local = np.argmax(T.cell_facets[cell] == facets[:, None], axis=1)
    return normals(solid.points[T.facets[facets]], -T.gradients[cell, local])


def _held_part(
    solid: Solid, facets: Index, which: Any, direction: Vector, blur: Vector, c: int
) -> tuple[float, float, float, bool]:
    """Σ direction ∫ g_c over facets that are held in a component: value, rounding, data's error, whether proved."""
    value = error = data = 0.0
    proved, T = True, solid.topology
    for these, given in solid.dirichlet:
        mine = which & np.isin(facets, these) if given[c] is not None else np.zeros(len(facets), dtype=bool)
        if not np.any(mine):
            continue
        V = solid.points[T.facets[facets[mine]]]
        size, off = measures(V)
        g = density_on(given[c], V)
        weight = np.abs(direction[mine]) + blur[mine]
        value += math.fsum((size * direction[mine] * g.coefficients.mean(axis=1)).tolist())
        top = np.abs(g.coefficients).max(axis=1)
        wrong = weight * (off + gamma(24)) + blur[mine]
        error = float(up(error + sum_up(up(size * wrong * top, 4)), 8))
        data = float(up(data + sum_up(up(size * weight * g.error1, 4)), 8))
        proved = proved and g.proved
    return value, error, data, proved


def _reaction(solid: Solid, facets: Index, goal: Reaction, name: str) -> Functional:
    T, k = solid.topology, goal.component
    if solid.arcs is not None and np.isin(facets, solid.arcs.facets).any():
        raise InputError(
            f"query '{name}': reactions of curved sides of solids are not supported; ask for points, or leave the "
            "geometry out for the polygon"
        )
    if not len(facets) or not np.all(solid.held[facets, k]):
        raise InputError(
            f"query '{name}': group '{goal.group}' is not held in {'xyz'[k]} on all of its facets; what acts on the "
            "others is part of the data. Ask for the reaction of a group that is held"
        )
    others = np.setdiff1d(np.flatnonzero(solid.held[:, k]), facets)
    shared = np.intersect1d(np.unique(T.facets[facets]), np.unique(T.facets[others]))
    if shared.size:
        raise InputError(
            f"query '{name}': group '{goal.group}' touches other facets that are held in {'xyz'[k]}, for example at "
            f"{solid.points[shared[0]].tolist()}; the reaction of a part of a connected support is not a bounded "
            "functional. Take the whole connected part"
        )
    lift = np.zeros((solid.size, solid.d))
    lift[np.unique(solid.nodes_of(T.facets[facets])), k] = 1.0  # elasticity.md, step 10d
    return Functional(lift=lift.ravel())


def _compliance(solid: Solid, name: str) -> Functional:
    if solid.thermal is not None:
        raise InputError(
            f"query '{name}': the work of the loads is not certified with thermal expansion; ask for averages over the "
            "loaded groups instead"
        )
    given = [g for _, each in solid.dirichlet for g in each if g is not None]
    if any(fixed(g) != (0.0, 0.0) for g in given):
        raise InputError(
            f"query '{name}': the work of the loads is certified where every held displacement is zero; ask for the "
            "reactions and for averages over the loaded groups instead"
        )
    return Functional(solid.load, own=True, proved=solid.load.proved)
