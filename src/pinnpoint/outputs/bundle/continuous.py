"""Witnesses of the continuous target: states, fluxes, data, and every query in its bounded form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.certificates.extremes import Extremes
from pinnpoint.fem.lifts.lifted import Lifted
from pinnpoint.outputs.bundle.curved import bent
from pinnpoint.outputs.bundle.document import KINDS, text
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.outputs.bundle.parts import density
from pinnpoint.outputs.bundle.predictions import kept
from pinnpoint.outputs.bundle.varied import components, diffusion_at, medium
from pinnpoint.systems.goals import Block, EnergyError, Everywhere, L2Error, Maximum, Minimum, Slope
from pinnpoint.systems.queries import Ball, Flux, Patch, Point
from pinnpoint.taylor.bernstein import Density
from pinnpoint.transfer.boundary.facets import FacetLoad
from pinnpoint.transfer.boundary.space_lift import SpaceLift
from pinnpoint.transfer.equilibrated import Equilibrated
from pinnpoint.transfer.equilibrated import Witness as EquilibratedWitness
from pinnpoint.transfer.media.regional import Regional
from pinnpoint.transfer.nonlinear.monotone import Monotone
from pinnpoint.transfer.nonlinear.monotone import Witness as NonlinearWitness
from pinnpoint.transfer.nonlinear.reactions import CubicTerm, ReactionTerm


def continuous(
    out: Writer, witness: Any, problem: Any, queries: Any, extremes: Extremes | None, given: Vector
) -> dict[str, Any]:
    """States, fluxes and data of the transfer, with every query's bounded form, and extremes of a prediction."""
    route, model = witness.route, witness.route.model
    term = route.term if isinstance(route, Monotone) else None
    cubic = term.cubic if isinstance(term, CubicTerm) else np.zeros(len(model.kappa))
    for name, a in (("kappa", model.kappa), ("reaction", model.reaction), ("cubic", cubic), ("kind", model.kind)):
        out.array(f"continuous/{name}", a)
    primal = witness.primal()
    out.array("continuous/state", primal.nodal)
    out.array("continuous/flux", primal.flux)
    density(out, "source/f", primal.source)
    store_load(out, "source/g", primal.load)
    sides_of(out, model.dirichlet, model)
    lift = problem.lift if isinstance(problem, Lifted) else None
    own = problem.own_values(queries) if isinstance(problem, Lifted) else None
    said, known = [], {} if extremes is None else extremes.found(given)
    for i, (J, goal) in enumerate(zip(route.goals, queries.goals, strict=True)):
        about: dict[str, Any] = {
            "kind": KINDS[type(goal)],
            "known": J.known,
            "acts": J.acts and not J.known,
            "constant": J.constant,
            "error": J.error,
            "scale": J.scale,
            "compared": i in witness.compared,
            "raised": isinstance(witness, EquilibratedWitness) and i in witness.lifted,
            "radius": J.ball if np.isfinite(J.ball) else None,
            "kappa": diffusion_at(model, goal, J) if J.kernel is None else J.kernel.kappa,
            "own": None if own is None else [float(own[0][i]), float(own[1][i])],
        }
        about |= _place(goal)
        if isinstance(goal, Everywhere | Maximum | Minimum):
            about |= _band(out, known[i].numbers)
        if isinstance(goal, L2Error | EnergyError):
            about |= known[i].numbers
        if about["acts"]:
            side = witness.dual(i)
            out.array(f"dual/z{i}", side.nodal)
            out.array(f"dual/t{i}", side.flux)
            density(out, f"dual/w{i}", side.source)
            store_load(out, f"dual/g{i}", side.load)
            for c, part in enumerate(components(side.field)):
                density(out, f"dual/q{i}_{c}", part)
            if isinstance(route, Monotone):
                zero = Density.constant(np.zeros(len(cubic)), model.d)
                density(out, f"dual/m{i}", J.source or zero)
                density(out, f"dual/phi{i}", witness.potential(i) or zero)
        if isinstance(goal, Patch | Flux):
            out.array(f"dual/facets{i}", np.sort(route.facets_of(goal.group)))
        said.append(about)
    turned = route.indefinite if isinstance(route, Equilibrated) else None
    about = medium(out, model) if turned is None else {"spectrum": turned.witness}
    if isinstance(term, ReactionTerm):
        about |= {"reaction": _reaction(out, witness, term)}
    return (
        about
        | bent(out, problem)
        | {
            "goals": said,
            "lift": None if lift is None else kept(out, lift),
            "source": _source(out, model.source if model.ground is None else model.ground.source),
            "mismatch": witness.mismatch,
            "raised": _raised(out, witness),
            "range": list(model.range) if witness.compared else None,
            "dirichlet": [text(given) for _, given in model.dirichlet],
            "neumann": [text(given) for _, given in model.neumann],
        }
    )


def _reaction(out: Writer, witness: NonlinearWitness, term: ReactionTerm) -> dict[str, Any]:
    """The reaction, its slopes on cells and what they leave of it."""
    state = witness.state
    left = term.left(witness.route.model, witness.route.norms, state.nodal, state.energy)
    out.array("reaction/slope", left.slopes)
    out.array("reaction/off", left.off)
    density(out, "reaction/g", state.cube)
    ends = [left.low, left.high] if np.isfinite(left.high - left.low) else None
    return {"g": str(text(term.g.g)), "range": ends, "bend": left.bend}


def _raised(out: Writer, witness: Any) -> dict[str, Any] | None:
    """The lift of the Dirichlet data that some intervals rest on."""
    lift = witness.data_lift() if isinstance(witness, EquilibratedWitness) and witness.lifted else None
    if lift is None:
        return None
    if isinstance(lift, SpaceLift):
        out.array("raised/edges", lift.edge_modes)
        out.array("raised/faces", lift.face_modes)
        return {"ends": lift.ends}
    order = np.argsort(lift.facets, kind="stable")
    out.array("raised/value", np.ascontiguousarray(lift.value[:, order].T))
    out.array("raised/slope", np.ascontiguousarray(lift.slope[:, order].T))
    out.array("raised/error", np.ascontiguousarray(lift.error[:, order].T))
    return {"ends": lift.ends}


def _source(out: Writer, given: Any) -> Any:
    """The source in the words of a case; of each group, with the groups that cells are in, where it is given so."""
    if not isinstance(given, Regional):
        return text(given)
    out.array("source/region", given.regions)
    return [text(part) for part in given.parts]


def _place(goal: Any) -> dict[str, Any]:
    """Where a query is, in the words of its kind."""
    if isinstance(goal, Point | Ball):
        return {"at": list(goal.at), "average": goal.radius if isinstance(goal, Ball) else 0.0}
    if isinstance(goal, Slope):
        return {"at": list(goal.at), "axis": goal.axis, "flux": goal.flux}
    return {"kind": "block", "at": list(goal.at), "side": goal.side} if isinstance(goal, Block) else {}


def _band(out: Writer, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """What bounds on cells rest on; the radii of their balls are arrays."""
    said = dict(numbers)
    for word in ("local", "left"):
        if (given := numbers.get(word)) is not None:
            out.array(f"everywhere/{word}_radii", np.array(given["radii"], dtype=np.float64))
            out.array(f"everywhere/{word}_radius", np.array(given["radius"], dtype=np.int64))
            said[word] = {key: float(given[key]) for key in ("shift", "penalty", "eigenvalue", "error")}
    return said


def sides_of(out: Writer, dirichlet: Any, model: Any) -> None:
    """Facets of the boundary's groups, and the coefficients of Robin ones."""
    for k, (facets, _) in enumerate(dirichlet):
        out.array(f"continuous/d{k}", np.sort(facets))
    for k, (facets, _) in enumerate(model.neumann):
        out.array(f"continuous/n{k}", np.sort(facets))
    if model.exchange is not None:
        density(out, "robin/alpha", model.exchange.alpha, model.exchange.facets)
        for k, (facets, _, _) in enumerate(model.robin):
            out.array(f"robin/r{k}", np.sort(facets))
        out.array("robin/low", model.exchange.weight)
        out.array("robin/top", model.exchange.top)


def store_load(out: Writer, name: str, load: FacetLoad | None) -> None:
    """Fluxes on facets, where there are any."""
    if load is not None:
        density(out, name, load.density, load.facets)
