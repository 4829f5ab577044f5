"""To a tolerance: refine the mesh until every radius for the PDE's own solution is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnpoint.base.arrays import Index, Limits, Vector, whole
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.free_memory import free_memory
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certifiers.aims import NONE, Aims
from pinnpoint.certifiers.decided import DECIDED, TOLERANCE, first_aims, hopeless, open_aims, undecided
from pinnpoint.certifiers.protocols import Certifier, Problem, Step, Transferable
from pinnpoint.certifiers.verb import Way, default_method, run_by
from pinnpoint.mesh.refine import dorfler
from pinnpoint.models.given import Prediction
from pinnpoint.systems.queries import Queries

if TYPE_CHECKING:
    from pinnpoint.certifiers.verb import AnyMethod

THETA = 0.5
"""Share of the indicators that the marked cells hold."""
MAX_DOFS = 400_000
BYTES = {(1, 1): 4e3, (1, 2): 6e3, (2, 1): 6e3, (2, 2): 8e3, (3, 1): 1.6e4, (3, 2): 2.4e4}
"""Memory for each unknown, by dimension and degree, generously."""


@dataclass(frozen=True, eq=False)
class Refined:
    """The best proved intervals, on the mesh that gave them.

    Attributes
    ----------
    reached
        Whether every radius is within its tolerance; if not, `stopped` says why.
    """

    certificate: Certificate
    certifier: Certifier
    problem: Transferable
    queries: Queries
    prediction: Any
    history: tuple[Step, ...]
    reached: bool
    stopped: str

    __repr__ = brief


def certify_to(
    problem: Any,
    prediction: Prediction,
    queries: Queries,
    tolerance: Limits = None,
    method: AnyMethod | None = None,
    *,
    until: str = TOLERANCE,
    max_dofs: int = MAX_DOFS,
    theta: float = THETA,
    extraction: str = "nodal",
    report: Callable[[Step], None] | None = None,
    accept: Limits = None,
    limit: Any = None,
    budget: int | None = None,
) -> Refined:
    """Certify, mark, refine, until every continuous radius is at most its tolerance, or every verdict is decided.

    Cells are marked by the sum of their shares of the primal and of each dual energy bound (Dörfler); every mesh is
    conforming and keeps groups and boundary data. A prediction given by nodal values is carried along; the intervals do
    not depend on it.

    Parameters
    ----------
    problem, prediction, queries, method, extraction
        As in `certify`, with queries of the problem's own making (points, averages, patches, fluxes).
    tolerance
        How narrow the proof must be: one number or one per query, > 0; infinite for queries that need none. One for
        each derived quantity may follow: then what counts of its components is what they do to it.
    until
        "tolerance", or "decided": only until every verdict on `accept` and `limit` is decided, or the budget is gone. A
        tolerance is then what is narrow enough for a query that is still undecided.
    max_dofs
        Stop before the mesh has more unknowns.
    theta
        Dörfler's parameter.
    report
        Called after every step.
    accept, limit, budget
        As in `certify`; the budget is for each mesh.
    """
    aims = first = _checked(problem, first_aims(until, queries, tolerance, accept, limit), theta)
    decide = until == DECIDED
    most = whole("max_dofs", max_dofs, low=1)
    method = default_method(problem) if method is None else method
    way = Way("continuous", None, extraction, None if decide else aims.limits(queries), budget)
    prediction = problem.prediction(prediction)
    refiner, history, notes = problem.refiner(), list[Step](), tuple[str, ...]()
    steps, least, best = list[tuple[int, float]](), math.inf, (problem, prediction, queries)
    while True:
        certificate, certifier = run_by(way, method, problem, prediction, queries)
        dofs, cells = problem.unknowns, len(problem.mesh.cells)
        if not history:  # refined facets lie in line: the first mesh shows the curve
            notes = tuple(note for note in certificate.notes if note not in certificate.evidence.remarks)
        if decide:
            judged = certificate.judged(accept, limit)
            aims = open_aims(judged, first)
        worst = aims.worst(certificate)
        history.append(Step(dofs, cells, certificate.radius, _expected(steps, worst, dofs)))
        steps.append((dofs, worst))
        if report is not None:
            report(history[-1])
        reached = aims.reached(certificate)
        score = undecided(judged) if decide else worst
        if score <= least:
            best, least = (problem, prediction, queries), score
        marked = _marked(certificate, aims.queries, theta, cells)
        stopped = hopeless(certificate) if decide and not reached else ""
        if not (reached or stopped):
            stopped = _hopeless(certificate, aims) or _limits(problem, most, marked.size, cells)
        if reached or stopped:
            if best[0] is not problem:
                certificate, certifier = run_by(way, method, *best)
            told = (*notes, *certificate.evidence.remarks)
            final = replace(certificate.judged(accept, limit), notes=told)
            where, said, asked = best
            return Refined(final, certifier, where, asked, said, tuple(history), reached, stopped)
        way = replace(way, tolerance=aims.limits(queries, certificate))
        del certificate, certifier  # the next mesh needs the room
        refiner.refine(marked, problem.cuts)
        if not callable(prediction):
            given = np.asarray(problem.extract(prediction, extraction).given)
            prediction = problem.carried(given, refiner)
        problem = problem.refined(refiner.mesh, refiner.parents)
        queries = problem.ask(queries.goals, queries.names).deriving(queries.derived)


def _checked(problem: Problem, aims: Aims, theta: float) -> Aims:
    """The same aims; refuses what cannot be refined, before the work."""
    if not isinstance(problem, Transferable):
        raise InputError(
            "tolerance: this problem has no refinement; give a reaction–diffusion, semilinear or elastic "
            "problem, or no tolerance"
        )
    if not 0.0 < theta <= 1.0:
        raise InputError(f"theta: must lie between 0 and 1; got {theta!r}")
    return aims


def _marked(certificate: Certificate, limit: Vector, theta: float, cells: int) -> Index:
    """All cells where nothing is known of their shares."""
    shares, mismatched = certificate.evidence.indicators, certificate.evidence.mismatched_cells
    if shares is None:
        return np.arange(cells)
    marked = dorfler(shares, theta) if np.any(shares) else np.arange(len(shares))
    boundary = certificate.terms.get("boundary")
    if boundary is not None and mismatched is not None and np.any(boundary > 0.2 * limit):
        marked = np.union1d(marked, mismatched)
    return marked


def _expected(steps: list[tuple[int, float]], now: float, dofs: int) -> float:
    """Unknowns at which the worst radius meets its tolerance, if the last decades' rate continues."""
    if now <= 1.0:
        return float(dofs)
    for before, then in steps[-4:]:
        if before < dofs and now < then < math.inf:
            rate = math.log(then / now) / math.log(dofs / before)
            power = math.log(now) / max(rate, 0.05)
            return float(dofs * math.exp(power)) if power < 600.0 else math.inf
    return math.nan


def _hopeless(certificate: Certificate, aims: Aims) -> str:
    """Refinement does not help where the data could not be enclosed at all."""
    own = np.array([one.radius for one in certificate.derived])
    if np.all(np.isfinite(certificate.radius[aims.queries < NONE])) and np.all(np.isfinite(own[aims.derived < NONE])):
        return ""
    return "an interval is unbounded: the source or the boundary data could not be enclosed"


def _limits(problem: Transferable, most: int, marked: int, cells: int) -> str:
    """Why to stop here; empty where the next mesh fits."""
    d, ahead = problem.mesh.dim, problem.ahead(marked / cells)
    if ahead > most:
        return f"the next mesh would have about {ahead:.0f} unknowns, more than max_dofs = {most}"
    need = ahead * BYTES[d, problem.degree]
    too_much = need > 0.8 * free_memory()
    return f"the next mesh would need about {need / 1e9:.1f} GB, more than is free" if too_much else ""
