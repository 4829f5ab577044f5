"""Steps in time as the system that they are: what its rows and queries stand for, in words that the checker prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pinnpoint.certificates.certificate import Certificate
from pinnpoint.certificates.claims import Claim
from pinnpoint.fem.parabolic.asking import MovingQueries
from pinnpoint.formulas.expressions import Expression
from pinnpoint.outputs.bundle.document import said
from pinnpoint.systems.goals import Gaussian, Goal, since_of, time_of
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.targets import SYSTEM

MOST = 300
"""Characters of a datum."""


def as_system(certificate: Certificate, problem: MovingQueries, queries: Queries) -> tuple[Certificate, Queries]:
    """A certificate and queries of all levels; the mesh, the case, points and times are told, not proved."""
    notes = (*queries.notes, *told(problem, queries))
    bare = Queries(queries.stored, queries.names, queries.constants, notes=notes)
    at = 1 + len(queries.notes)  # the claims begin with the target and the queries' notes
    claims = (*certificate.assumptions[:at], *map(Claim, notes[at - 1 :]), *certificate.assumptions[at:])
    plain = replace(certificate, points=None, times=None, interval_of=SYSTEM, mesh_estimate=None, assumptions=claims)
    return plain, bare


def told(problem: MovingQueries, queries: Queries) -> list[str]:
    """The case and the queries, a line each."""
    grid = problem.grid
    data = "; ".join(f"{key} {_text(value)}" for key, value in problem.given.items() if value is not None)
    cells = f"{len(problem.mesh.cells)} cells, degree {problem.degree}"
    found = [
        f"steps of u_t − ∇·(κ∇u) + b·∇u + c u = f on {cells}, {grid.steps} steps to {grid.end!r}, {grid.scheme}: {data}"
    ]
    for name, goal in zip(queries.names, queries.goals, strict=True):
        row, since = _row(goal), None if goal is None else since_of(goal)
        time = None if goal is None else time_of(goal)
        when = "" if time is None else f" at time {time!r}" if since is None else f" from time {since!r} to {time!r}"
        where = "".join(f", {key} {row[key]}" for key in ("at", "ball", "group") if key in row)
        found.append(f"query '{name}': {row['kind']}{where}{when}")
    return found


def _row(goal: Goal | None) -> dict[str, Any]:
    if isinstance(goal, Gaussian):
        return {"kind": f"average with a Gaussian weight of spread {goal.spread!r}", "at": list(goal.at)}
    return said(goal)


def _text(value: Any) -> str:
    if isinstance(value, Expression):
        value = value.text
    elif isinstance(value, Mapping):
        value = "{" + ", ".join(f"{key}: {_text(one)}" for key, one in value.items()) + "}"
    elif isinstance(value, tuple | list):
        value = "(" + ", ".join(map(_text, value)) + ")"
    elif callable(value):
        value = "a function"
    line = " ".join(str(value).split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"
