"""Bundles of boxes: the case, the prediction and the claimed intervals; the checker encloses all by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import InputError
from pinnpoint.boxes.box import Box
from pinnpoint.boxes.certificates import UNBOUNDED
from pinnpoint.boxes.equation import NAMES, Equation
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.json import identified
from pinnpoint.certifiers.protocols import SelfCertifying
from pinnpoint.models.lifts import Lift
from pinnpoint.outputs.bundle.document import FOLLOWED, text
from pinnpoint.outputs.bundle.files import Writer
from pinnpoint.outputs.bundle.predictions import called, kept, lift_obstacle
from pinnpoint.systems.goals import Point
from pinnpoint.systems.queries import Queries

LEFT_OUT = "the largest error, which was asked for as well, is no part of this bundle: it is about the points alone"


def obstacle(box: Box, lift: Lift, queries: Queries) -> str:
    """Why the checker cannot prove the intervals of a box again; empty where it can."""
    equation = box.equation
    if equation.end is None or equation.nonlinear is not None or equation.d > 2:
        return "problem: bundles of boxes are for linear equations in time with one or two axes"
    if any(axis.periodic for axis in equation.axes):
        return "problem: bundles of boxes are for Dirichlet and Neumann faces, not for periodic axes"
    if not any(isinstance(goal, Point) for goal in queries.goals):
        return "queries: bundles of boxes are for points, and these ask for the largest error alone"
    if against := lift_obstacle(lift):
        return against
    for given in [equation.source, equation.initial, *equation.given.values()]:
        said = text(given)
        if said is None:
            return "problem: the checker follows numbers, formulas and networks; got a function"
        if not called(said) <= FOLLOWED:
            return f"problem: the checker follows smooth functions on boxes, not {sorted(called(said) - FOLLOWED)}"
    return ""


def problem_of(equation: Equation) -> dict[str, Any]:
    """The equation in words."""
    faces = {f"{NAMES[i]}{'+' if upper else '-'}": text(g) for (i, upper), g in equation.given.items()}
    return {
        "kind": "box",
        "sides": [[a.low, a.high] for a in equation.axes],
        "ends": [list(a.ends) for a in equation.axes],
        "diffusion": [a.kappa for a in equation.axes],
        "convection": [a.drift for a in equation.axes],
        "reaction": equation.reaction,
        "end": equation.end,
        "source": text(equation.source),
        "initial": text(equation.initial),
        "faces": faces,
    }


def of_points(certificate: Certificate, queries: Queries, **header: Any) -> dict[str, Any]:
    """The content of certificate.json, about the points alone; a note says so where more was asked."""
    data = certificate.to_dict(**header)
    rows = [i for i, goal in enumerate(queries.goals) if isinstance(goal, Point)]
    if len(rows) < len(queries):
        data["notes"] = [LEFT_OUT]
    if np.isfinite(certificate.radius[rows]).all():
        data["assumptions"] = [one for one in data["assumptions"] if one["claim"] != UNBOUNDED.claim]
    data["queries"] = [data["queries"][i] | {"kind": "point"} for i in rows]
    return identified(data)


def write_box(
    folder: Path, certificate: Certificate, box: SelfCertifying, prediction: Any, queries: Queries, **header: Any
) -> Path:
    """Write the bundle of a box's points, or refuse what the checker cannot prove again; `header`: title, units."""
    if not isinstance(box, Box):
        raise InputError(
            "problem: of what needs no mesh only pinnpoint.Box has bundles; keep certificate.to_json(path)"
        )
    lift = box.equation.lift_of(prediction)
    against = obstacle(box, lift, queries)
    if against:
        raise InputError(against)
    data = of_points(certificate, queries, **header, problem=problem_of(box.equation))
    rows: Sequence[dict[str, Any]] = data["queries"]
    keys = ("name", "kind", "at", "time", "accept", "limit")
    case = {
        "title": data["title"],
        "units": data["units"],
        "problem": data["problem"],
        "queries": [{key: row[key] for key in keys if key in row} for row in rows],
        "certificate": {"method": "box", "target": "continuous"},
    }
    out = Writer(folder)
    try:
        out.json("certificate.json", data)
        out.json("case.json", case)
        proof = {"target": "continuous", "method": "box", "radius_terms": list(certificate.radius_terms)}
        out.json("proof.json", proof | {"lift": kept(out, lift)})
        out.close(data)
    except BaseException:
        out.discard()
        raise
    return folder
