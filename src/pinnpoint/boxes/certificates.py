"""Certificates of boxes: what is asked, computed and summed up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.errors import InputError
from pinnpoint.boxes.brackets import Bracketed
from pinnpoint.boxes.equation import Equation
from pinnpoint.boxes.everywhere import sizes, upper_bound
from pinnpoint.boxes.points import SHARE, errors_at
from pinnpoint.boxes.poles import require_bounded
from pinnpoint.boxes.seams import jumps_of, seam_bound, varied_seam_bound
from pinnpoint.boxes.semilinear import reaction_range, semilinear_errors
from pinnpoint.boxes.stationary import lifetime, stationary_errors
from pinnpoint.certificates.assembly import Findings, assemble
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.certificates.transfer import TransferBound
from pinnpoint.models.given import Prediction
from pinnpoint.models.lifts import Lift
from pinnpoint.rounding.arithmetic import UNIT, at_most, require_round_to_nearest, up
from pinnpoint.systems.goals import Everywhere, Point
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.targets import BOX

TERMS = ("boundary", "quadrature", "remainder", "transfer", "tail", "evaluation", "rounding")
ROUGH = 0.05
"""How narrow the errors at points are that bound the largest one from below."""
CLAIMS = (
    Claim("continuous target: the solution on the box itself"),
    Claim("no mesh and no system: what the prediction leaves of the equation against the box's heat kernel (box.md)"),
    Claim("weights of networks, numbers and formulas are exactly as given"),
)

UNBOUNDED = Claim(
    "an infinite interval: with this budget not all that it rests on could be bounded; raise it, or ask for less"
)


def certificate_of(
    equation: Equation, prediction: Prediction, queries: Queries, budget: int | None = None
) -> Certificate:
    """Intervals of the solution at the queries."""
    require_round_to_nearest()
    lift, count = equation.lift_of(prediction), len(queries)
    values, moved = np.zeros(count), np.zeros(count)
    errors = {name: np.zeros(count) for name in TERMS}
    seams = _seams(equation, lift)
    for time, rows in _by_time(queries).items():
        P = np.array([_point(queries, i).at for i in rows])
        for i, found in zip(rows, errors_of(equation, lift, P, time, budget), strict=True):
            values[i], errors["evaluation"][i] = equation.value(lift, _point(queries, i).at, time or 0.0)
            moved[i] = found.sum.value
            fill(errors, i, found, "remainder")
            errors["boundary"][i] = seams(time)
    for i, goal in enumerate(queries.goals):
        if isinstance(goal, Everywhere):
            low, high = largest_error(equation, lift, budget)
            moved[i] = 0.5 * (low + high) if math.isfinite(high) else low
            errors["transfer"][i] = up(0.5 * (high - low) + 4.0 * UNIT * high)
    if not all(np.isfinite(each).all() for each in errors.values()):
        require_bounded(equation, lift)
    return assembled(queries, values, moved, errors, CLAIMS)


def errors_of(
    equation: Equation, lift: Lift, points: Vector, time: float | None, budget: int | None = None, share: float = SHARE
) -> list[Bracketed]:
    """The prediction's error at points of one time, with what its kernel is not known by."""
    if equation.nonlinear is not None:
        return semilinear_errors(equation, lift, points, time or 0.0, budget)
    if time is None:
        return [Bracketed(found, 0.0) for found in stationary_errors(equation, lift, points, budget, share)]
    return [Bracketed(found, 0.0) for found in errors_at(equation, lift, points, time, budget, share)]


def _seams(equation: Equation, lift: Lift) -> Callable[[float | None], float]:
    """How far the prediction's jumps across periodic ends move the error, anywhere, by a time."""
    jumps = jumps_of(equation, lift)
    if equation.nonlinear is None or not jumps:
        lasts = 1.01 * lifetime(equation.axes, equation.reaction) if equation.end is None else 0.0
        return lambda time: seam_bound(equation, jumps, lasts if time is None else time)
    low, high, _ = reaction_range(equation, lift)
    return lambda time: varied_seam_bound(equation, jumps, time or 0.0, low, high)


def largest_error(equation: Equation, lift: Lift, budget: int | None = None) -> tuple[float, float]:
    """Bounds of max |e| over the box and all times: from above by sizes, from below by the error at a few points."""
    seams = _seams(equation, lift)
    if equation.nonlinear is None:
        sized = upper_bound(equation, sizes(equation, lift), equation.reaction)
        above = float(up(sized + seams(equation.end)))
    else:
        above = reaction_range(equation, lift)[2]
    if not math.isfinite(above):
        return 0.0, math.inf
    places = [[a.low + (a.high - a.low) * k / 4.0 for a in equation.axes] for k in (1, 2, 3)]
    found = errors_of(equation, lift, np.array(places), equation.end, budget or 1000, ROUGH)
    below = max(abs(one.sum.value) - one.sum.radius - one.spread for one in found) - seams(equation.end)
    return min(max(below * (1.0 - 8.0 * UNIT), 0.0), above), above  # box.md, step 6e


def assembled(
    queries: Queries, values: Vector, moved: Vector, terms: dict[str, Vector], claims: Sequence[Claim]
) -> Certificate:
    """The certificate; terms that are nowhere used are left out."""
    moved = np.where(np.isfinite(moved), moved, 0.0)
    center = values + moved
    if not all(np.isfinite(term).all() for term in terms.values()):
        claims = (*claims, UNBOUNDED)
    terms["rounding"] = np.asarray(up(terms["rounding"] + UNIT * np.abs(center)))  # box.md, step 5d
    used = {name: term for name, term in terms.items() if np.any(term)}
    findings = Findings(
        queries=queries,
        method="box",
        value=values,
        center=np.zeros(len(queries)),
        terms={"correction": np.abs(moved)},
        counted=(),
        claims=(),
        correction=moved,
        dofs=0,
    )
    made = assemble(findings, TransferBound(used, tuple(claims), center=center), values)
    sizes = np.array([isinstance(goal, Everywhere) for goal in queries.goals])
    below = sizes & np.isfinite(made.radius) & (made.center < made.radius)
    center = np.where(below, made.radius, made.center)  # box.md, step 6f
    points, times = _where(queries, made)
    return replace(made, center=center, interval_of=BOX, points=points, times=times)


def fill(errors: dict[str, Vector], i: int, found: Bracketed, spread: str) -> None:
    """What an error is not known by, under the names of a certificate's terms."""
    one = found.sum
    errors["quadrature"][i] = up(one.remainder + one.quadrature) if math.isfinite(one.radius) else math.inf
    errors["tail"][i], errors["rounding"][i] = at_most(one.tail), at_most(one.rounding)
    errors[spread][i] = at_most(found.spread)


def _point(queries: Queries, i: int) -> Point:
    goal = queries.goals[i]
    if not isinstance(goal, Point):
        raise InputError(f"query '{queries.names[i]}': a box answers points and everywhere; got {goal!r}")
    return goal


def _where(queries: Queries, made: Certificate) -> tuple[Vector | None, Vector | None]:
    """Place and time of every point; the largest error beside them has none, which is not a number."""
    points = {i: goal for i, goal in enumerate(queries.goals) if isinstance(goal, Point)}
    if not points or len(points) == len(queries):
        return made.points, made.times
    at = np.full((len(queries), len(next(iter(points.values())).at)), np.nan)
    at[list(points)] = [goal.at for goal in points.values()]
    times = np.array([np.nan if goal is None else goal.time for goal in map(points.get, range(len(queries)))], float)
    return at, None if np.isnan(times).all() else times


def _by_time(queries: Queries) -> dict[float | None, list[int]]:
    """The queries of points of each time."""
    found: dict[float | None, list[int]] = {}
    for i, goal in enumerate(queries.goals):
        if not isinstance(goal, Everywhere):
            found.setdefault(_point(queries, i).time, []).append(i)
    return found
