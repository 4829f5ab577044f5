"""Bundles of solutions in time: states, dual states and fluxes; the checker encloses data and kernels by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.json import identified
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.fem.parabolic.data import steady
from pinnpoint.fem.parabolic.lifted import lift_of
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.outputs.bundle.continuous import sides_of
from pinnpoint.outputs.bundle.document import FOLLOWED, Document, text
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.outputs.bundle.predictions import called, kept, lift_obstacle
from pinnpoint.systems.goals import Ball, Block, Cells, Gaussian, Goal, Point, since_of, time_of
from pinnpoint.systems.queries import Queries
from pinnpoint.transfer.slabs.route import SlabRoute
from pinnpoint.transfer.slabs.witness import Run, numbers_of, runs

KINKS = {"abs", "min", "max", "asin", "acos"}
"""Functions that the checker follows in data which do not move."""


def moving_obstacle(certificate: Certificate, problem: MovingQueries, prediction: Prediction, queries: Queries) -> str:
    """Why the checker cannot prove the intervals of a solution in time; empty where it can."""
    route = certificate.evidence.witness
    if not isinstance(route, SlabRoute):
        return "problem: in time the checker follows intervals that were made slab by slab; keep certificate.json"
    if not np.isfinite(certificate.radius).all():
        return "certificate: an interval is unbounded; leave out that query"
    lift = kept_in(certificate, problem, prediction)
    against = _physics(problem, route, queries, lift) or _unfollowed(problem, lift)
    if against:
        return against
    need = 8 * numbers_of(route)
    if need > 0.5 * free_memory():
        return f"problem: its witnesses take {need / 1e9:.1f} GB, more than half of the memory that is free"
    return ""


def kept_in(certificate: Certificate, problem: MovingQueries, prediction: Prediction) -> Lift | None:
    """The prediction, where it was kept as it is."""
    return None if certificate.narrowing is None else lift_of(problem, prediction)


def _physics(problem: MovingQueries, route: SlabRoute, queries: Queries, lift: Lift | None) -> str:
    """What of an equation and of queries the checker has no proof of."""
    given, goals = problem.given, queries.goals
    if route.model.medium is not None and not _drifts_plainly(problem, queries):
        return (
            "problem: in time, coefficients that vary inside cells have no witnesses for the checker, and convection "
            "has them where b, κ and c are numbers, values are given all around, and not for Gaussian "
            "weights; keep certificate.json"
        )
    moves = not all(steady(g) for g in given["dirichlet"].values())
    if problem.mesh.dim == 3 and (moves or not all(isinstance(goal, Ball | Block | Cells) for goal in goals)):
        return (
            "problem: in time and space the checker follows averages over cells, blocks and balls, with boundary "
            "values that do not move; keep certificate.json"
        )
    if lift is not None and given["robin"]:
        return "robin: beside a lift in time the checker follows values and fluxes alone; keep certificate.json"
    alphas, own = [text(a) for a, _ in given["robin"].values()], route.model.exchange
    if None in alphas or not all(called(a) <= FOLLOWED for a in alphas):
        return "robin: in time the checker follows coefficients that are numbers or smooth formulas"
    if own is not None and not np.all(own.weight > 0.0):
        return "robin: in time the checker follows coefficients that are proved to be positive; one comes down to 0"
    return ""


def _unfollowed(problem: MovingQueries, lift: Lift | None) -> str:
    """What of the data, and of a prediction that is kept, the checker has no models of."""
    given, known = problem.given, FOLLOWED if lift is not None else FOLLOWED | KINKS
    sources = given["source"].values() if isinstance(given["source"], Mapping) else [given["source"]]
    for name, data, functions in (
        ("source", sources, FOLLOWED),
        ("dirichlet", given["dirichlet"].values(), known),
        ("initial", [given["initial"]], known),
        ("neumann", [*given["neumann"].values(), *(g for _, g in given["robin"].values())], FOLLOWED),
    ):
        for one in data:
            said = text(one)
            if said is None:
                return f"{name}: the checker follows numbers and formulas; got a function"
            if not called(said) <= functions:
                return f"{name}: the checker follows smooth functions here, not {sorted(called(said) - functions)}"
    return "" if lift is None else lift_obstacle(lift)


def _drifts_plainly(problem: MovingQueries, queries: Queries) -> bool:
    """Whether convection is one that the checker follows."""
    given = problem.given
    flow, numbers = given.get("convection"), []
    for what in (given["diffusion"], given["reaction"]):
        numbers += [*what.values()] if isinstance(what, Mapping) else [what]
    if not isinstance(flow, list | tuple) or not all(
        isinstance(goal, Ball | Block | Cells | Point) for goal in queries.goals
    ):
        return False
    return problem.held_all_around and all(isinstance(x, int | float) for x in (*flow, *numbers))


def asked(goal: Goal | None) -> dict[str, Any]:
    """A goal in the words of a bundle."""
    assert isinstance(goal, Point | Gaussian | Ball | Block | Cells)
    row: dict[str, Any] = {"kind": "point"}
    if isinstance(goal, Cells):
        row = {"kind": "mean"} if goal.cells is None else {"kind": "cells"}
        row |= {"group": goal.cells} if isinstance(goal.cells, str) else {}
    else:
        row["at"] = [float(x) for x in goal.at]
    if isinstance(goal, Gaussian):
        row |= {"kind": "gaussian", "spread": float(goal.spread), "reach": float(goal.reach)}
    elif isinstance(goal, Ball):
        row |= {"kind": "average", "ball": float(goal.radius)}
    elif isinstance(goal, Block):
        row |= {"kind": "cells", "side": float(goal.side)}
    return row if since_of(goal) is None else row | {"since": float(since_of(goal) or 0.0)}


def problem_of(problem: MovingQueries) -> dict[str, Any]:
    """The problem in the words of a case."""
    given = problem.given

    def words(what: Any) -> Any:
        if isinstance(what, Mapping):
            return {group: words(part) for group, part in what.items()}
        return None if isinstance(what, np.ndarray) and what.ndim else text(what)

    return {
        "kind": "parabolic",
        **{key: words(given[key]) for key in ("source", "initial", "diffusion", "reaction", "dirichlet", "neumann")},
        "robin": {group: [text(alpha), text(g)] for group, (alpha, g) in given["robin"].items()},
        "end": problem.grid.end,
        "scheme": problem.grid.scheme,
        **({} if given.get("convection") is None else {"convection": [text(b) for b in given["convection"]]}),
    }


def rows_of(certificate: Certificate, queries: Queries, end: float, **header: Any) -> dict[str, Any]:
    """The content of certificate.json."""
    data = certificate.to_dict(**header)
    for row, goal in zip(data["queries"], queries.goals, strict=True):
        row.pop("at", None)
        row |= asked(goal) | {"time": end if goal is None or time_of(goal) is None else float(time_of(goal) or 0.0)}
    return identified(data)


def _run(out: Writer, r: int, run: Run, carries: bool) -> None:
    """States, dual states and fluxes of the queries of one time."""
    out.array(f"run{r}/nodes", run.slabs.grid.nodes)
    out.array(f"run{r}/u", run.slabs.levels)
    for part, name in enumerate(["", *map(str, run.which)]):
        out.array(f"run{r}/t{name}", run.record.flux[part])
        if carries:
            out.array(f"run{r}/v{name}", run.record.carried[part])
        if part:
            out.array(f"run{r}/z{name}", run.record.duals[:, :, part - 1])


def _witnesses(
    out: Writer, problem: MovingQueries, route: SlabRoute, queries: Queries, lift: Lift | None
) -> dict[str, Any]:
    """All arrays, and what they are."""
    model, given = route.model, problem.given
    out.array("mesh/nodes", problem.nodes.points)
    out.array("mesh/cells", np.sort(problem.mesh.cells, axis=1))
    zero = np.zeros(len(model.kappa))
    for name, a in (("kappa", model.kappa), ("reaction", model.reaction), ("cubic", zero), ("kind", model.kind)):
        out.array(f"continuous/{name}", a)
    if lift is None:
        sides_of(out, route.dirichlet, model)
    else:  # the groups as they were given, not those that the lift has made of them by their normals
        own = [(model.topology.facet_numbers(problem.mesh.facets(group)), g) for group, g in given["neumann"].items()]
        sides_of(out, route.dirichlet, replace(model, neumann=own))
    source = problem.given["source"]
    if isinstance(source, Mapping):
        region = np.zeros(len(model.kappa), dtype=np.int64)
        for k, (cells, _) in enumerate(route.sources):
            region[cells] = k
        out.array("source/region", region)
    goals: list[dict[str, Any]] = [{} for _ in queries.goals]
    told, carries = [], bool(np.any(model.reaction) or model.exchange is not None)
    for r, run in enumerate(runs(route)):
        _run(out, r, run, carries)
        told.append({"queries": run.which})
        for place, i in enumerate(run.which):
            kernel = run.kernel(place)
            if kernel is not None:
                powers = [*kernel.powers, *kernel.time_powers]
                goals[i] = {"radius": kernel.radius, "span": kernel.span, "powers": powers}
    for i, goal in enumerate(queries.goals):
        if isinstance(goal, Cells) and goal.cells is not None:
            out.array(f"goal/cells{i}", np.sort(route.cells_of(goal.cells)))
    found = {
        "degree": model.degree,
        "scheme": problem.grid.scheme,
        "runs": told,
        "goals": goals,
        "source": [text(f) for f in source.values()] if isinstance(source, Mapping) else text(source),
        "dirichlet": [text(g) for g in given["dirichlet"].values()],
        "neumann": [text(g) for g in (*given["neumann"].values(), *(g for _, g in given["robin"].values()))],
    }
    return found if lift is None else found | {"lift": kept(out, lift)}


def write_slabs(
    folder: Path,
    certificate: Certificate,
    problem: MovingQueries,
    prediction: Prediction,
    queries: Queries,
    document: Document | None = None,
) -> Path:
    """Write the bundle of a solution in time, or refuse what the checker cannot prove again.

    It is a certificate of its own; a document that is given has title and units, and says of which one it is.
    """
    against = moving_obstacle(certificate, problem, prediction, queries)
    if against:
        raise InputError(against)
    said = {} if document is None or document.certificate is None else document.certificate
    header = {key: said[key] for key in ("title", "units") if key in said}
    of = {} if document is None or not document.of else {"of": document.of}
    data = rows_of(certificate, queries, problem.grid.end, **header, **of)
    keys = ("name", "kind", "at", "ball", "side", "spread", "reach", "group", "time", "since", "accept", "limit")
    case = {
        "title": data["title"],
        "units": data["units"],
        "problem": problem_of(problem),
        "queries": [{key: row[key] for key in keys if key in row} for row in data["queries"]],
        "certificate": {"method": "exact", "target": "continuous"},
    }
    out = Writer(folder)
    try:
        out.json("certificate.json", data)
        out.json("case.json", case)
        proof = {"target": "continuous", "method": "exact", "radius_terms": list(certificate.radius_terms)}
        route = certificate.evidence.witness
        assert isinstance(route, SlabRoute)
        out.json(
            "proof.json", proof | _witnesses(out, problem, route, queries, kept_in(certificate, problem, prediction))
        )
        out.close(data)
    except BaseException:
        out.discard()
        raise
    return folder
