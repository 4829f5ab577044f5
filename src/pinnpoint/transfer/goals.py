"""What is asked of the PDE's own solution, as a functional that is bounded in the energy norm.

Each query becomes J(v) = ∫ w v + ∫_N g v + constant, the right-hand side of a dual problem:

- a point value or a ball average, by the mollified fundamental solution (`kernels`): w is a polynomial in the ball,
  constant = ∫ f Φ;
- an average over a boundary group: g = 1/|Γ| on its Neumann facets, the data itself on its Dirichlet facets;
- an average over cells, a block or a ball that coefficients jump in: w = 1/|G| there (`blocks`);
- a derivative or the flux at a point: w = −∂_l of the mollifier, constant = −∫ f ∂_lΦ (`slopes`);
- a flux through a Dirichlet group Γ: J(u) = a(u, φ) − ∫ f φ − ∫ g_N φ for any φ with φ = 1 on Γ and 0 on the rest of
  the Dirichlet part; the dual has no source, but the boundary values of φ;
- a flux through a Robin group: J(u) = ∫_Γ g − ∫_Γ αu.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.mesh.bent.maps import Bends
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.systems.goals import Block, Cells, Everywhere, Maximum, Minimum, Slope, extreme_queries
from pinnpoint.systems.queries import Ball, Flux, Goal, Patch, Point, Queries
from pinnpoint.taylor.bernstein import Density
from pinnpoint.taylor.inputs import enclosed
from pinnpoint.taylor.simplices import density as density_on
from pinnpoint.taylor.simplices import enclose
from pinnpoint.transfer.blocks import corners_of, over_ball, over_block, over_cells
from pinnpoint.transfer.boundary.facets import FacetLoad, measures
from pinnpoint.transfer.boundary.robin_flux import robin_flux
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.energy.anchors import DIRICHLET, NEUMANN
from pinnpoint.transfer.media.coefficients import Coefficients, Field
from pinnpoint.transfer.media.surroundings import Surroundings
from pinnpoint.transfer.media.varying_points import Found, averaged, bounded, found, reach, surroundings_at
from pinnpoint.transfer.points.distances import largest_ball
from pinnpoint.transfer.points.ground import ROOMY, WORTH, Ground
from pinnpoint.transfer.points.kernelled import Kernelled, completed
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.mollifier import density as mollified
from pinnpoint.transfer.points.places import cell_of, facet_at, in_domain
from pinnpoint.transfer.points.slopes import POWER, OddBump, reach_of, slope_term
from pinnpoint.transfer.points.work import Work
from pinnpoint.transfer.stretch import Stretch

log = logging.getLogger(__name__)

FAR = 0.02
"""Balls smaller than this share of their cell are told to be."""
SHARE = {1: 1e-6, 2: 2e-3, 3: 1e-2}
"""The mollifier's integration error against (h/R · h/L)^degree, the expected radius, relative to the solution."""

ROUGH = 50.0
"""The same for balls without a kernel, whose own surface is to be resolved; times this."""


SWIFT = 6.0
"""Péclet numbers |b|h/κ of a cell from which on radii grow with them."""
LOOSE = {1: 1.0, 2: 10.0, 3: 30.0}
"""The same where coefficients vary, times this: models of the density cost more, and the radius is larger."""


@dataclass(frozen=True, eq=False)
class Functional:
    """J(v) = ∫ w v + ∫ g v + constant.

    Attributes
    ----------
    source, load, field
        w, g and the q of ∫ q·∇v; None where they vanish.
    constant, error, data
        The constant, a bound of its error, and the part of that which is due to the integration of data.
    lift
        Boundary values of the dual state (all degrees of freedom, zero elsewhere), for fluxes.
    known
        Whether J does not depend on the solution at all: it is the constant.
    scale
        Relative error of w and g as a whole.
    reach
        Upper bound of the change of J where a solution without data changes by one on the boundary: one for values and
        averages.
    ball, kernel
        Radius of the mollifier's ball, and its kernel.
    potential, height
        Where coefficients vary and it is asked for, Ψ, and a number with Ψ ≤ height · Φ, Φ the kernel for κ = 1.
    stretch
        Upper bounds of ‖L‖ and of (det L)^¼ where Φ is one of |L⁻¹(x − x₀)|.
    proved
        False where an ingredient is an estimate.
    outlook
        What was to be expected of the interval beforehand, where that is nothing good.
    work
        Units spent on integration.
    """

    source: Density | None = None
    load: FacetLoad | None = None
    constant: float = 0.0
    error: float = 0.0
    data: float = 0.0
    lift: Vector | None = None
    known: bool = False
    scale: float = 0.0
    reach: float = 1.0
    ball: float = math.nan
    kernel: Kernel | None = None
    proved: bool = True
    note: str = ""
    outlook: str = ""
    work: int = 0
    field: Field | None = None
    potential: Density | None = None
    height: float = 0.0
    stretch: tuple[float, float] = (1.0, 1.0)

    __repr__ = brief

    @property
    def acts(self) -> bool:
        """Whether there is a dual problem."""
        return not (self.source is None and self.load is None and self.lift is None and self.field is None)

    @property
    def sign(self) -> float:
        """Of the weak residual and of a(e, ε) in J(u)."""
        return 1.0 if self.lift is None else -1.0  # continuous.md, step 5c; varying.md, step 3c


Groups = Callable[[Any], Index]
"""From a group to the numbers of its facets, or of its cells: these also by their numbers, None for all."""


def functionals(
    model: Continuum, asked: Queries, facets_of: Groups, cells_of: Groups | None = None, *, harmonic: bool = False
) -> tuple[Functional, ...]:
    """The functionals of all queries; each is told to the log before its work begins.

    Extremes have none, and their intervals come from bounds on cells.
    """
    extreme, begun = extreme_queries(asked.goals), []
    if extreme:
        from pinnpoint.transfer.everywhere.grounds import require_grounds

        values = [i for i in extreme if isinstance(asked.goals[i], Everywhere | Maximum | Minimum)]
        require_grounds(model, asked.names[(values or extreme)[0]], solved=True, pointwise=bool(values))
    linear = [i for i in range(len(asked)) if i not in extreme]
    for k, i in enumerate(linear):
        name = asked.names[i]
        log.info("query %d of %d, '%s'", k + 1, len(linear), name, extra={"done": k, "total": len(linear)})
        begun.append(_begun(model, asked.goals[i], name, facets_of, cells_of, harmonic=harmonic))
    finished = iter(_finished(model, begun) if begun else ())
    return tuple(Functional(known=True) if i in extreme else next(finished) for i in range(len(asked)))


def functional(
    model: Continuum,
    goal: Goal | None,
    name: str,
    facets_of: Groups,
    cells_of: Groups | None = None,
    *,
    harmonic: bool = False,
) -> Functional:
    """The functional of one query.

    Parameters
    ----------
    facets_of, cells_of
        Facet and cell numbers of a group.
    harmonic
        Whether kernels are those of −κΔ alone: then c may jump in the ball, and −∫ c v Φ is left to the caller.
    """
    return _finished(model, [_begun(model, goal, name, facets_of, cells_of, harmonic=harmonic)])[0]


def _begun(
    model: Continuum, goal: Goal | None, name: str, facets_of: Groups, cells_of: Groups | None, *, harmonic: bool
) -> Functional | Kernelled:
    """The functional, but for data terms, which are made together."""
    if isinstance(goal, Point):
        return _ball(model, np.array(goal.at), 0.0, name, harmonic)
    if isinstance(goal, Ball):
        return _ball(model, np.array(goal.at), goal.radius, name, harmonic)
    if isinstance(goal, Patch):
        return _patch(model, facets_of(goal.group), goal.group, name)
    if isinstance(goal, Flux):
        return _flux(model, facets_of(goal.group), goal.group, name)
    if isinstance(goal, Block):
        source, wrong = over_block(model.points, model.topology.cells, *corners_of(np.array(goal.at), goal.side))
        return Functional(source, scale=wrong)  # gradients.md, step 1a
    if isinstance(goal, Cells) and cells_of is not None:
        source, wrong = over_cells(model.points, model.topology.cells, cells_of(goal.cells), model.stretch)
        return Functional(source, scale=wrong)  # gradients.md, step 1a
    if isinstance(goal, Slope) and not harmonic:
        return _slope(model, goal, name)
    raise InputError(
        f"target: query '{name}' has no proved transfer to the continuous solution; points, averages over balls, "
        "blocks, cells and boundary groups have, and of linear problems derivatives and fluxes. Say "
        "target='discrete' for it"
    )


def _slope(model: Continuum, goal: Slope, name: str) -> Functional:
    """A derivative, or the flux, at a point."""
    x0, d, T = np.array(goal.at), model.d, model.topology
    if model.coefficients is not None:  # gradients.md, step 3g
        raise InputError(
            f"query '{name}': derivatives at points are certified where coefficients are constant in a ball around the "
            "point; here they vary. Ask for values or averages, or say target='discrete'"
        )
    R = largest_ball(x0, model.walls())
    if R <= 1e-9 * model.spacing + 64.0 * UNIT * float(np.abs(x0).max()):
        raise InputError(
            f"query '{name}': {x0.tolist()} lies on {_obstacle(model, x0)}; derivatives are certified where a ball "
            "around the point stays inside, with constant coefficients. Move the point inside, or say "
            "target='discrete'"
        )
    cell = cell_of(T, x0)
    kappa = float(model.kappa[cell])
    factor = kappa if goal.flux else 1.0
    kernel = Kernel.build(d, kappa, float(model.reaction[cell]), R, POWER)  # gradients.md, step 3a
    bump, small, spent = OddBump.of(kernel, goal.axis, factor), _small(model, kernel.radius), Work(model.budget)
    w = mollified(bump, model.points, T.cells, x0, small * bump.size, spent=spent)  # gradients.md, step 3c
    tolerance = _worth(model, small) * kernel.radius / kappa
    value, error, sure = slope_term(
        kernel, model.source_at(cell), goal.axis, x0, tolerance, spent
    )  # gradients.md, step 3d
    value, error = factor * value, float(up(factor * error + 2.0 * UNIT * abs(factor * value)))
    return Functional(
        source=w,
        constant=value,
        error=error,
        data=max(0.0, error - 4.0 * UNIT * abs(value)),
        reach=reach_of(w, T.volumes, model.anchors.slack),
        ball=kernel.radius,
        kernel=kernel,
        proved=w.proved and sure,
        outlook=_outlook(model, cell, kernel.radius),
        work=spent.spent,
    )


def _small(model: Continuum, R: float) -> float:
    """An integration error of the mollifier that does not show, relative to the solution."""
    return float(SHARE[model.d] * (min(1.0, model.spacing / R) * model.spacing / model.extent) ** model.degree)


def _worth(model: Continuum, small: float) -> float:
    """An error of the source that does not show in a data term."""
    return max(0.5 * small * model.strength, 0.1 * model.floor, 1e-300)


def ball_as_it_is(model: Continuum, x0: Vector, radius: float) -> Functional:
    """An average over a ball in which coefficients jump or vary: without a kernel."""
    spent = Work(model.budget)
    small = ROUGH * _small(model, radius)
    w = over_ball(model.points, model.topology.cells, x0, radius, small, spent)  # gradients.md, step 2a
    return Functional(source=w, work=spent.spent)


def _ball(model: Continuum, x0: Vector, average: float, name: str, harmonic: bool) -> Functional | Kernelled:
    d, T = model.d, model.topology
    on_curves = None if model.ground is None else _near_curve(model, model.ground, x0, average, name)
    if on_curves is not None:
        return on_curves
    R = largest_ball(x0, model.walls(reaction=not harmonic))  # continuous.md, step 4e
    if average == 0.0 and R <= 1e-9 * model.spacing:
        facet = facet_at(T, model.dirichlet_facets(), x0)
        if facet is not None:
            return _boundary_value(model, x0, facet)  # continuous.md, step 4f
    if R <= 1e-9 * model.spacing + 64.0 * UNIT * float(np.abs(x0).max()) and not in_domain(T, x0):
        raise InputError(
            f"query '{name}': {x0.tolist()} lies outside the domain by the rounding of its coordinates; move "
            "it inside, or say target='discrete'"
        )
    if average == 0.0 and R <= 1e-13 * model.spacing:
        if d == 1:
            ends = np.nonzero((model.kind == NEUMANN) & (model.points[T.facets[:, 0], 0] == x0[0]))[0]
            if ends.size:  # a unit load at a free end
                return Functional(load=model.facet_load(ends, Density.constant(np.ones(1), 0)))
            return Functional(note="no ball fits around the point; the one-dimensional bound alone")
        raise InputError(
            f"query '{name}': {x0.tolist()} lies on {_obstacle(model, x0)}; no ball around it stays where the "
            "coefficients are constant. Move the point inside, or say target='discrete'"
        )
    if average > R:
        edge = largest_ball(x0, model.outline())  # gradients.md, step 2a
        if average <= edge:
            return ball_as_it_is(model, x0, average)
        raise InputError(
            f"query '{name}': the ball of radius {average:g} about {x0.tolist()} crosses {_obstacle(model, x0)}, "
            f"{edge!r} away from its centre; make the radius smaller, or say target='discrete'"
        )
    cell = cell_of(T, x0)
    if model.coefficients is not None:
        return _varying(model, model.coefficients, x0, average, cell, name, harmonic)
    c0 = 0.0 if harmonic else float(model.reaction[cell])
    # continuous.md, step 4a
    kernel = Kernel.build(d, float(model.kappa[cell]), c0, R, 1 if harmonic else None, average)
    small = _small(model, kernel.radius)
    outlook = _outlook(model, cell, kernel.radius)
    if outlook:
        log.info("query '%s': %s", name, outlook)
        small = min(1e-2, small * 0.1 * float(model.anchors.diameter[cell]) / kernel.radius)
    tolerance = _worth(model, small) * kernel.radius**2 / float(model.kappa[cell])
    return Kernelled(kernel, x0, small, model.source_at(cell), tolerance, outlook, Work(model.budget))


def _finished(model: Continuum, begun: Sequence[Functional | Kernelled]) -> list[Functional]:
    """Those with kernels get their mollifiers and data terms, together."""
    waiting = [one for one in begun if isinstance(one, Kernelled)]
    make = completed if model.helpers is None else model.helpers.completed
    made = make(model.points, model.topology.cells, waiting)
    return [one if isinstance(one, Functional) else _with_kernel(one, *next(made)) for one in begun]


def _with_kernel(one: Kernelled, w: Density, value: float, error: float, sure: bool) -> Functional:
    return Functional(
        source=w,
        constant=value,
        error=float(up(error)),
        data=max(0.0, float(error) - 4.0 * UNIT * abs(value)),
        ball=one.kernel.radius,
        kernel=one.kernel,
        proved=w.proved and sure,
        outlook=one.outlook,
        work=one.spent.spent,
    )


def _varying(
    model: Continuum, coefficients: Coefficients, x0: Vector, average: float, cell: int, name: str, whole: bool
) -> Functional:
    """A point value where coefficients vary inside cells; with Ψ itself where `whole` of it is wanted."""
    if average > 0.0:
        return ball_as_it_is(model, x0, average)  # kernels.md, step 7a
    place = surroundings_at(coefficients, cell, x0, name)
    R = reach(place, x0, model.walls(), name)  # kernels.md, step 2b
    return _about(model, place, R, cell, x0, model.source_at(cell), name, whole=whole)


def _near_curve(model: Continuum, ground: Ground, x0: Vector, average: float, name: str) -> Functional | None:
    """A place of a curved domain, by a ball that reaches into bent cells; None where there is no need to."""
    if average > 0.0 and not ground.meets(x0, average):
        return None
    cell, facets, moved, R = ground.about(model.topology, x0, name)
    place = surroundings_at(ground.coefficients, cell, x0, name)
    if average > 0.0:
        return _average_near_curve(model, ground, place, (cell, R), x0, average, name)
    if not ground.bent(cell):
        within = largest_ball(x0, model.walls())
        if place.table is not None or within >= min(R / WORTH, ROOMY * float(model.anchors.diameter[cell])):
            return None
    if place.table is not None:
        raise InputError(
            f"query '{name}': {x0.tolist()} lies in a cell at a curved boundary, where points need a diffusion that is "
            "no varying matrix; move it inside by about a cell, or refine the mesh"
        )
    R = reach(place, x0, facets, name, moved)  # curved.md, step 1f
    return _about(model, place, R, cell, x0, ground.source_at(cell), name, ground.bends)


def _average_near_curve(
    model: Continuum, ground: Ground, place: Surroundings, at: tuple[int, float], x0: Vector, average: float, name: str
) -> Functional:
    """An average over a ball that reaches into bent cells, where the coefficients are numbers."""
    cell, R = at
    if average > R:
        raise InputError(
            f"query '{name}': the ball of radius {average:g} about {x0.tolist()} is not proved to stay in the domain, "
            f"or crosses a jump: {max(R, 0.0):.6g} is; make it smaller, or refine the mesh"
        )
    spent, small = Work(model.budget), LOOSE[model.d] * _small(model, R)
    mesh = model.points, model.topology.cells, model.anchors.volume
    f, size = ground.source_at(cell), _worth(model, small)
    found_ = averaged(place, R, average, mesh, small, f, size, spent, ground.bends, name)
    return _known(found_, "", spent)


def _about(
    model: Continuum,
    place: Surroundings,
    R: float,
    cell: int,
    x0: Vector,
    f: Any,
    name: str,
    bends: Bends | None = None,
    *,
    whole: bool = False,
) -> Functional:
    """The functional of a point with what surrounds it, in an ellipsoid."""
    T, d = model.topology, model.d
    width = R * math.sqrt(max(float(place.local.A[i][i].value) for i in range(d)))
    small = LOOSE[d] * _small(model, width)
    outlook = _outlook(model, cell, width) or _swift(place.peclet * float(model.anchors.diameter[cell]))
    if outlook:
        log.info("query '%s': %s", name, outlook)
    spent = Work(model.budget)
    size = _worth(model, small)
    at = found(place, R, model.points, T.cells, model.anchors.volume, small, f, size, spent, bends, whole=whole)
    for rows in (at.source, at.field):
        if rows is not None and not bounded(rows):
            outlook = _unbounded_derivatives(model, rows, x0, at.radius)
    return _known(at, outlook, spent)


def _known(at: Found, outlook: str, spent: Work) -> Functional:
    return Functional(
        source=at.source,
        field=at.field,
        constant=at.value,
        error=float(up(at.error)),
        data=max(0.0, at.error - 4.0 * UNIT * abs(at.value)),
        ball=at.radius,
        proved=at.source.proved and at.proved,
        outlook=outlook,
        work=spent.spent,
        potential=at.potential,
        height=at.height,
        stretch=at.stretch,
    )


def _unbounded_derivatives(model: Continuum, rows: Density | Field, x0: Vector, R: float) -> str:
    """Why the interval of a point is unbounded, and where."""
    lost = ~np.isfinite(rows.error2.reshape(len(rows.error2), -1)).all(axis=1)
    cells = model.topology.cells if rows.cells is None else model.topology.cells[rows.cells]
    where = np.round(model.points[cells[np.argmax(lost)]].mean(axis=0), 6).tolist()
    return (
        "its interval is unbounded: the kernel of a point needs derivatives of the coefficients that are bounded about "
        f"it, and in none of the balls tried they are, down to the radius {R:.3g} about {x0.tolist()}: in "
        f"{int(lost.sum())} cells they are not, such as the one at {where}; ask for an average, or write the "
        "coefficients otherwise"
    )


def _outlook(model: Continuum, cell: int, R: float) -> str:
    """What is known beforehand of a point in a cell much larger than its ball: fluxes there resolve nothing."""
    h = float(model.anchors.diameter[cell])
    if R >= FAR * h:
        return ""
    return (
        f"the largest ball around it that crosses no boundary and no jump of the coefficients has the radius {R:.3g}, "
        f"and its cell the diameter {h:.3g}: fluxes give a wide interval until cells there are about as small as that "
        "ball. Grade the mesh towards it, or move the point inside"
    )


def _swift(peclet: float) -> str:
    """What is known beforehand where drift carries far more across a cell than diffusion does."""
    if peclet <= SWIFT:
        return ""
    return (
        f"drift carries {peclet:.3g} times as much across its cell as diffusion does, and the width of the interval "
        f"grows with that number: cells {peclet / SWIFT:.2g} times smaller would end that"
    )


def _obstacle(model: Continuum, x0: Vector) -> str:
    """What is nearest to a point."""
    kinds = model.kind[model.blocking()]
    names = {0: "a jump of the coefficients", 1: "the Dirichlet boundary", 2: "the Neumann boundary"}
    found = {}
    for kind, name in names.items():
        facets = model.blocking()[kinds == kind]
        found[largest_ball(x0, model.points[model.topology.facets[facets]])] = name
    if model.gluing is not None:
        found[largest_ball(x0, model.walls())] = found.get(largest_ball(x0, model.walls()), "a periodic pair")
    return found[min(found)]


def _boundary_value(model: Continuum, x0: Vector, facet: int) -> Functional:
    for facets, given in model.dirichlet:
        if facet in facets:
            sure = not callable(given) or enclosed(given)
            value, error = enclose(given, x0[None, :]) if sure else (given(x0[None, :]), np.zeros(1))
            error = 4.0 * error  # a reserve: whoever encloses it otherwise has other rounding
            return Functional(
                constant=float(value[0]),
                error=float(error[0]),
                data=float(error[0]),
                known=True,
                proved=sure,
                note="a point of the Dirichlet boundary: the given value",
            )
    raise InputError(f"target: {x0.tolist()} lies on a Dirichlet facet without data")


def _patch(model: Continuum, facets: Index, group: str, name: str) -> Functional:
    T = model.topology
    if np.any(model.kind[facets] == 0):
        raise InputError(
            f"query '{name}': group '{group}' has facets inside the domain, for which no transfer is proved; say "
            "target='discrete'"
        )
    if model.stretch is not None and model.stretch.bent[T.facet_cells[facets, 0]].any():
        return _curved_patch(model, model.stretch, facets, name)
    area, slack = measures(model.points[T.facets[facets]])
    total = math.fsum(area.tolist())
    wrong = float(up(sum_up(area * slack) / total + gamma(8)))  # continuous.md, step 8f
    load = None
    free = model.kind[facets] != DIRICHLET
    if free.any():
        # continuous.md, step 5a
        load = model.facet_load(facets[free], Density.constant(np.full(int(free.sum()), 1.0 / total), model.d - 1))
    constant = error = data = 0.0
    proved = True
    for these, given in model.dirichlet:
        held = np.intersect1d(facets, these)
        if not held.size:
            continue
        V = model.points[T.facets[held]]
        size, off = measures(V)
        g = density_on(given, V)
        mean = g.coefficients.mean(axis=1)
        constant += math.fsum((size * mean).tolist()) / total  # continuous.md, step 5a
        top = np.abs(g.coefficients).max(axis=1)
        reserve = gamma(400) * (g.error1 > 0.0)  # whoever encloses it otherwise has other rounding
        error = float(up(error + sum_up(up(size * (off + gamma(20) + reserve) * top, 4)) / total, 8))
        data = float(up(data + sum_up(up(size * g.error1, 4)) / total, 8))
        proved = proved and g.proved
    # 1/|Γ| is off by the factor 1 ± wrong, for which the caller adds wrong · |J|
    error = float(up(error + data + wrong * abs(constant)))
    known = load is None
    return Functional(load=load, constant=constant, error=error, data=data, known=known, scale=wrong, proved=proved)


def _curved_patch(model: Continuum, stretch: Stretch, facets: Index, name: str) -> Functional:
    """The mean over facets of which some are bent, none of them with Dirichlet values."""
    T = model.topology
    if np.any(model.kind[facets] == DIRICHLET):
        raise InputError(
            f"query '{name}': means over curved groups are certified where no Dirichlet values are given; there they "
            "are integrals of the data alone"
        )
    V = model.points[T.facets[facets]]
    w, wrong = stretch.over(V, *measures(V), T.facet_cells[facets, 0], stretch.area)  # curved.md, step 1d
    return Functional(load=model.facet_load(facets, w), scale=wrong, proved=w.proved)


def _flux(model: Continuum, facets: Index, group: str, name: str) -> Functional:
    T = model.topology
    if np.any(model.kind[facets] != DIRICHLET):
        return Functional(**robin_flux(model, facets, group, name))
    mine = np.unique(model.nodes_of(T.facets[facets]))
    others = np.setdiff1d(model.dirichlet_facets(), facets)
    shared = np.intersect1d(mine, np.unique(model.nodes_of(T.facets[others])))
    if shared.size:
        raise InputError(
            f"query '{name}': group '{group}' touches other Dirichlet facets, for example at "
            f"{model.points[shared[0]].tolist()}; the flux through a part of a connected Dirichlet boundary is not a "
            "bounded functional. Take the whole connected part"
        )
    lift = np.zeros(model.size)
    lift[np.unique(model.nodes_of(T.facets[facets]))] = 1.0  # continuous.md, step 5b
    return Functional(lift=lift)
