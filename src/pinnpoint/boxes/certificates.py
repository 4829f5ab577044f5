"""Certificates of boxes: what is asked, computed and summed up."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.points import Sum, errors_at
from pinnpoint.boxes.stationary import stationary_errors
from pinnpoint.certificates.assembly import Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import TransferBound
from pinnpoint.models.given import Prediction
from pinnpoint.rounding.arithmetic import UNIT, require_round_to_nearest, up
from pinnpoint.systems.goals import Point
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.targets import BOX

TERMS = ("quadrature", "tail", "evaluation", "rounding")
CLAIMS = (
    Claim("continuous target: the solution on the box itself"),
    Claim("no mesh and no system: what the prediction leaves of the equation against the box's heat kernel (box.md)"),
    Claim("weights of networks, numbers and formulas are exactly as given"),
)


def certificate_of(
    equation: Equation, prediction: Prediction, queries: Queries, budget: int | None = None
) -> Certificate:
    """Intervals of the solution at the queries."""
    require_round_to_nearest()
    lift = equation.lift_of(prediction)
    values, errors = np.zeros(len(queries)), {name: np.zeros(len(queries)) for name in TERMS}
    moved = np.zeros(len(queries))
    for time, rows in _by_time(queries).items():
        P = np.array([_point(queries, i).at for i in rows])
        sums = (
            stationary_errors(equation, lift, P, budget) if time is None else errors_at(equation, lift, P, time, budget)
        )
        for i, found in zip(rows, sums, strict=True):
            values[i], errors["evaluation"][i] = equation.value(lift, _point(queries, i).at, time or 0.0)
            moved[i] = found.value
            _fill(errors, i, found)
    center = values + moved
    errors["rounding"] = np.asarray(up(errors["rounding"] + UNIT * np.abs(center)))  # box.md, step 5d
    return _assembled(queries, values, center, moved, errors)


def _assembled(
    queries: Queries, values: Vector, center: Vector, moved: Vector, terms: dict[str, Vector]
) -> Certificate:
    zero = np.zeros(len(queries))
    bound = TransferBound(dict(terms), CLAIMS, center=center)
    findings = Findings(
        queries=queries,
        method="box",
        value=values,
        center=zero,
        terms={"correction": np.abs(moved)},
        counted=(),
        claims=(),
        correction=moved,
        dofs=0,
    )
    found = assemble(findings, bound, values)
    return replace(found, interval_of=BOX)


def _fill(errors: dict[str, Vector], i: int, found: Sum) -> None:
    """What a sum may be off by, under the names of a certificate's terms."""
    errors["quadrature"][i] = up(found.remainder + found.quadrature)
    errors["tail"][i] = found.tail
    errors["rounding"][i] = found.rounding
    if not math.isfinite(found.radius):
        errors["quadrature"][i] = math.inf


def _point(queries: Queries, i: int) -> Point:
    goal = queries.goals[i]
    if not isinstance(goal, Point):
        raise InputError(f"query '{queries.names[i]}': a box answers points and everywhere; got {goal!r}")
    return goal


def _by_time(queries: Queries) -> dict[float | None, list[int]]:
    """The queries of each time."""
    found: dict[float | None, list[int]] = {}
    for i in range(len(queries)):
        found.setdefault(_point(queries, i).time, []).append(i)
    return found
