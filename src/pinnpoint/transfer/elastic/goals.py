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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, sum_up, up
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
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.taylor.simplices import density as density_on
from pinnpoint.taylor.simplices import enclose
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.distances import largest_ball
from pinnpoint.transfer.elastic.kelvin import Kelvin, kelvin_of
from pinnpoint.transfer.elastic.kernel_terms import displacement_term, tensor_term
from pinnpoint.transfer.elastic.loads import Load, StressLoad, Traction, root_mean_square
from pinnpoint.transfer.elastic.mollified import mollified
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.solid import Solid
from pinnpoint.transfer.elastic.thermal import mean
from pinnpoint.transfer.facets import measures, normals
from pinnpoint.transfer.places import cell_of, facet_at, in_domain
from pinnpoint.transfer.work import Work

log = logging.getLogger(__name__)

FAR = 0.02
"""Balls smaller than this share of their cell are told to be."""
SHARE = {2: 2e-3, 3: 1e-2}
"""The density's integration error against (h/R · h/L)^degree, relative to the solution."""
Groups = Callable[[Any], Index]


@dataclass(frozen=True, eq=False)
class Functional:
    """J(v) = ∫ b·v + ∫ t·v + ∫ S : ε(v) + constant.

    Attributes
    ----------
    load
        b, t and S.
    constant, error, data
        The constant, a bound of its error, and the part of that which is due to the integration of data.
    lift
        Boundary values of the dual state (nodes · d, zero elsewhere), for reactions.
    known
        Whether J does not depend on the solution at all: it is the constant.
    own
        Whether it is the work of the loads themselves.
    scale
        Relative error of the load as a whole.
    stress_norm
        Upper bound of ‖S‖.
    ball
        Radius of the kernel's ball.
    proved
        False where an ingredient is an estimate.
    """

    load: Load = field(default_factory=Load)
    constant: float = 0.0
    error: float = 0.0
    data: float = 0.0
    lift: Vector | None = None
    known: bool = False
    own: bool = False
    scale: float = 0.0
    stress_norm: float = 0.0
    ball: float = math.nan
    proved: bool = True
    note: str = ""
    outlook: str = ""
    work: int = 0

    __repr__ = brief

    @property
    def sign(self) -> float:
        """Of the weak residual and of a(e, ε) in J(u)."""
        return 1.0 if self.lift is None else -1.0  # elasticity.md, step 10d


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
        return _displacement(solid, goal, goal.component, name)
    if isinstance(goal, Stress | Strain):
        return _at_point(solid, goal, name)
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


def unit_tensor(d: int, i: int, j: int) -> Vector:
    """E_ij = sym(e_i ⊗ e_j), by its entries."""
    return np.array([(0.5 if i != j else 1.0) if {a, b} == {i, j} else 0.0 for a, b in voigt(d)])


def _tensor(solid: Solid, cells: Any, goal: Any) -> Vector:
    """CE_ij, or E_ij, on cells, (n, ns)."""
    along = isinstance(goal, CellStressAlong)
    E = np.array(goal.along) if along else unit_tensor(solid.d, goal.i, goal.j)
    mu, lam = solid.mu[cells], solid.lam[cells]
    if isinstance(goal, Strain | CellStrain):
        return np.repeat(E[None], len(mu), axis=0)
    diagonal = np.array([1.0 if a == b else 0.0 for a, b in voigt(solid.d)])
    if along:
        trace = float(E @ diagonal)
        return np.asarray(2.0 * mu[:, None] * E + lam[:, None] * trace * diagonal)
    # elasticity.md, step 10h
    return np.asarray(2.0 * mu[:, None] * E + (lam[:, None] * diagonal if goal.i == goal.j else 0.0))


def _displacement(solid: Solid, goal: Point | Ball, k: int, name: str) -> Functional:
    x0, average = np.array(goal.at), goal.radius if isinstance(goal, Ball) else 0.0
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


def _at_point(solid: Solid, goal: Stress | Strain, name: str) -> Functional:
    x0, d = np.array(goal.at), solid.d
    kernel, w, spent, outlook = _kernel(solid, x0, 0.0, name)
    cell = cell_of(solid.topology, x0)
    forces = solid.forces_in(cell, name)
    tolerance = _tolerance(solid, kernel, forces) / kernel.radius
    T = _tensor(solid, w.cells, goal)
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
    return _with_norm(solid, made, load)


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


def _with_norm(solid: Solid, J: Functional, S: StressLoad) -> Functional:
    """The same with a bound of ‖S‖, and with the rounding of its tensor."""
    cells = slice(None) if S.weight.cells is None else S.weight.cells
    size = root_mean_square(S.weight) * solid.d * np.abs(S.tensor).max(axis=1)
    square = size * size * solid.topology.volumes[cells] * (1.0 + solid.slack[cells]) / solid.c_min[cells]
    return replace(J, stress_norm=at_most(up(math.sqrt(sum_up(up(square, 16))), 4)))


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
    return kernel, mollified(kernel, solid.points, T.cells, x0, _small(solid, R), spent), spent, outlook


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


def _given(solid: Solid, facet: int, k: int) -> Any:
    for facets, given in solid.dirichlet:
        if given[k] is not None and facet in facets:
            return given[k]
    raise InputError(f"fixed: facet {facet} is held in component {'xyz'[k]} without data")


def _held_value(solid: Solid, x0: Vector, facet: int, k: int) -> Functional:
    given = _given(solid, facet, k)
    sure = not callable(given) or enclosed(given)
    value, error = enclose(given, x0[None, :]) if sure else (given(x0[None, :]), np.zeros(1))
    note = "a point of a held boundary: the given value"
    return Functional(
        constant=float(value[0]), error=float(error[0]), data=float(error[0]), known=True, proved=sure, note=note
    )


def _cells(solid: Solid, goal: Cells | CellStress | CellStrain | CellStressAlong, cells: Index) -> Functional:
    """An average over cells."""
    T = solid.topology
    size, slack = T.volumes[cells], solid.slack[cells]
    total = math.fsum(size.tolist())
    wrong = float(up(sum_up(size * slack) / total + gamma(8)))  # elasticity.md, step 10g
    weight = Density.constant(np.full(len(cells), 1.0 / total), solid.d)
    weight = Density(weight.coefficients, weight.high, weight.error1, weight.error2, np.asarray(cells))
    if isinstance(goal, Cells):
        if goal.component is None:
            raise InputError("query: averages over cells need a component")
        body = tuple(weight if c == goal.component else None for c in range(solid.d))
        return Functional(Load(body), scale=wrong)
    load, found = StressLoad(weight, _tensor(solid, cells, goal)), Functional(scale=wrong)
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
    return _with_norm(solid, replace(found, load=Load(stress=load)), rounded)


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


def needs_exact_data(goals: Sequence[Functional]) -> bool:
    """Whether a query is about a reaction, for which displacements must be met exactly."""
    return any(J.lift is not None for J in goals)
