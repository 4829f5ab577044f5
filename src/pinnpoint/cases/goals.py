"""The sections of a case file that say what is wanted, and how it is to be proved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds import KINDS, LINEAR, NONLINEAR, Kind
from pinnpoint.cases.kinds.base import GOALS
from pinnpoint.cases.specs import CertificateSpec, QuerySpec
from pinnpoint.cases.tables import Table, number
from pinnpoint.certifiers.decided import UNTIL
from pinnpoint.report.units import Quantities
from pinnpoint.solvers.choice import NAMES
from pinnpoint.systems.derived import DERIVED
from pinnpoint.systems.goals import NORMAL
from pinnpoint.systems.limits import WORDS, Limit, as_limit

MOST_NAME = 1000
"""Characters of a query's name, of which bundles hold no longer ones."""
AXES = ("x", "y", "z")
PAIRS = tuple(a + b for a in AXES for b in AXES)
PLACES = {
    "point": "at",
    "average": "at",
    "patch": "group",
    "flux": "group",
    "gradient": "at",
    "cells": "group",
    "mean": "domain",
    "stress": "either",
    "strain": "either",
    "von-mises": "either",
    "principal": "either",
    "magnitude": "at",
    "reaction": "group",
    "compliance": "domain",
    "everywhere": "domain",
    "maximum": "part",
    "minimum": "part",
    "l2-error": "domain",
    "energy-error": "domain",
}
"""Where each kind of query is."""
ALONG = ("gradient", "flux")
"""Kinds that have a direction at a point, also where the solution has one component."""
EITHER = ("flux", "cells")
"""Kinds that may be at a point where the solution has one component: the flux there, a block about it."""
TIMED = ("average", "cells", "mean")
"""Kinds that may be averaged over times."""
OPTIONS = {"localized": ("radius",), "randomized": ("probes", "delta", "seed")}
"""Further keys of a method."""


def read_units(root: Table, quantities: Quantities, of: str) -> str | dict[str, str]:
    """One label for everything, or a table of labels; `of` says what has these quantities."""
    if not isinstance(root.data.get("units"), dict):
        return str(root.text("units", ""))
    table = root.table("units")
    wanted = quantities.labelled
    why = f"does not belong to {of}, which has {', '.join(wanted)}; remove it"
    for other in KINDS.values():
        table.refuse([key for key in other.quantities.labelled if key not in wanted], why)
    labels = {key: table.text(key, "") for key in wanted}
    table.done()
    return {key: text for key, text in labels.items() if text}


def read_queries(root: Table, problem: Kind[Any], common: Limit | None = None) -> tuple[QuerySpec, ...]:
    """All queries, of which there is at least one; their names differ. `common` is the limit of those without one."""
    rows = root.take("query")
    if not isinstance(rows, list) or not rows:
        raise InputError("query: give at least one [[query]], each in double brackets")
    queries = [_query(query_table(row, i, root), i, problem, common) for i, row in enumerate(rows)]
    require_different([q.name for q in queries])
    return tuple(queries)


def require_different(names: Sequence[str]) -> None:
    """Refuse two queries of one name."""
    for i, name in enumerate(names):
        if name in names[:i]:
            first = names.index(name)
            raise InputError(f"query '{name}': queries {first + 1} and {i + 1} have this name; names must differ")


def query_table(row: Any, i: int, root: Table) -> Table:
    """A query's table, called by the query's name in messages, or by its number where it has none that can be shown."""
    name = row.get("name", f"q{i}") if isinstance(row, dict) else None
    if isinstance(name, str) and name.strip() and name.isprintable():
        return Table(f"query '{name[:60]}'", row, root.folder, ": ", "query")
    return Table(f"query {i + 1}", row, root.folder, ": ", "query")


def _query(table: Table, i: int, problem: Kind[Any], common: Limit | None) -> QuerySpec:
    name = table.text("name", f"q{i}", MOST_NAME)
    if not name.strip():
        raise InputError(f"{table.key('name')}: is empty; give the query a name, or leave it out")
    kind = table.choice("kind", GOALS, "point")
    if kind not in problem.goals:
        instead = problem.instead.get(kind) or f"ask for one of {', '.join(problem.goals)}"
        raise InputError(f"{table.key('kind')}: '{kind}' does not fit kind = '{problem.name}'; {instead}")
    at, radius, group = _place(table, kind, problem)
    side = _side(table, kind, at)
    time, spread, since = _moment(table, problem), None, _since(table, kind, problem)
    if kind == "average" and radius is None:
        spread = table.number("spread", sign="positive")
    else:
        table.refuse(["spread"], "is for averages of a solution that moves, in the place of radius; remove it")
    component = _component(table, kind, problem, at)
    tolerance, accept = (table.number(key, None, "positive") for key in ("tolerance", "accept"))
    own = read_limit(table)
    table.known.extend(("at", "radius", "group", "side", "time", "spread", "since"))
    table.done()
    limit = common if own is None else own
    return QuerySpec(name, kind, at, radius, group, component, tolerance, accept, limit, side, time, spread, since)


def read_limit(table: Table) -> Limit | None:
    """Where the true value must lie."""
    given, inner = table.has("limit"), table.table("limit")
    ends = {word: inner.number(word, None) for word in WORDS}
    inner.done()
    return as_limit(inner.name, {word: end for word, end in ends.items() if end is not None}) if given else None


def _place(table: Table, kind: str, problem: Kind[Any]) -> tuple[tuple[float, ...] | None, float | None, str | None]:
    """Where a query is: a point, a ball, a group, a point or a group, or nowhere."""
    place = "either" if kind in EITHER and table.has("at") and not problem.vector else PLACES[kind]
    if place == "either" and table.has("at") and table.has("group"):
        raise InputError(f"{table.key('group')}: give at or group, not both")
    if place == "part":
        table.refuse(["at", "radius"], f"does not belong to the {kind}; remove it")
        return None, None, table.text("group") if table.has("group") else None
    if place in ("group", "domain") or (place == "either" and table.has("group")):
        article = "a" if place == "group" else "the"
        table.refuse(["at", "radius"], f"does not belong to {article} {kind}; remove it")
        if place == "domain":
            table.refuse(["group"], f"does not belong to kind = '{kind}'; remove it")
        return None, None, None if place == "domain" else table.text("group")
    table.refuse(["group"], f"does not belong to kind = '{kind}'; remove it")
    at = _coordinates(table)
    if kind == "average" and problem.moves and table.has("spread"):
        table.refuse(["radius"], "give radius, of a ball, or spread, of a Gaussian weight, not both")
        return at, None, None
    if kind == "average":
        return at, table.number("radius", sign="positive"), None
    table.refuse(["radius"], f"does not belong to a {kind}; write kind = 'average' for a ball")
    return at, None, None


def _moment(table: Table, problem: Kind[Any]) -> float | None:
    """When, of a solution that moves."""
    if problem.moves:
        return table.number("time", None, "positive")  # type: ignore[no-any-return]
    table.refuse(["time"], f"does not belong to kind = '{problem.name}', whose solution does not move; remove it")
    return None


def _since(table: Table, kind: str, problem: Kind[Any]) -> float | None:
    """Since when an average over times counts."""
    if problem.moves and kind in TIMED and not table.has("spread"):
        return table.number("since", None, "nonnegative")  # type: ignore[no-any-return]
    table.refuse(["since"], "is for averages over balls, cells and the domain of a solution that moves; remove it")
    return None


def _side(table: Table, kind: str, at: tuple[float, ...] | None) -> float | None:
    """The length of a block's sides."""
    if kind == "cells" and at is not None:
        return table.number("side", sign="positive")  # type: ignore[no-any-return]
    table.refuse(["side"], "is for kind = 'cells' about a point; remove it")
    return None


def _component(
    table: Table, kind: str, problem: Kind[Any], at: tuple[float, ...] | None
) -> str | tuple[float, ...] | None:
    """Which component: an axis, for a patch also its normal or a vector, of a tensor two axes."""
    if not problem.vector and kind in ALONG and at is not None:
        return table.choice("component", AXES)  # type: ignore[no-any-return]
    if not problem.vector:
        table.refuse(["component"], "the solution has one component; remove it")
    if kind in (*DERIVED, "compliance"):
        table.refuse(["component"], f"does not belong to kind = '{kind}'; remove it")
        return None
    if kind in ("stress", "strain"):
        return table.choice("component", PAIRS, None)  # type: ignore[no-any-return]
    if kind == "patch" and isinstance(table.data.get("component"), list):
        given = table.take("component")
        return tuple(number(f"{table.key('component')}.{k}", v) for k, v in enumerate(given))
    words = (*AXES, NORMAL) if kind == "patch" and problem.vector else AXES
    return table.choice("component", words, None)  # type: ignore[no-any-return]


def _coordinates(table: Table) -> tuple[float, ...]:
    value = table.take("at")
    row = value if isinstance(value, list) else [value]
    if not 1 <= len(row) <= 3:
        raise InputError(f"{table.key('at')}: must have 1 to 3 coordinates; got {len(row)}")
    return tuple(number(f"{table.key('at')}.{k}", v) for k, v in enumerate(row))


def read_certificate(table: Table, problem: Kind[Any]) -> CertificateSpec:
    """The target, the method with its options, and what it may cost."""
    method = table.choice("method", LINEAR + NONLINEAR, problem.methods[0])
    if method not in problem.methods:
        fitting = ", ".join(problem.methods)
        raise InputError(f"certificate.method: '{method}' does not fit kind = '{problem.name}'; use one of {fitting}")
    for other, keys in OPTIONS.items():
        if other != method:
            table.refuse(keys, f"only for method = '{other}'; remove it")
    values: dict[str, Any] = {
        "radius": table.number("radius", None, "positive"),
        "probes": table.whole("probes", None, low=1, high=100_000),
        "delta": table.number("delta", None, "positive"),
        "seed": table.whole("seed", None),
        "polish": table.whole("polish", None),
        "solver": table.choice("solver", NAMES[:-2], None),
    }
    if values["solver"] is not None and not problem.linear:
        raise InputError("certificate.solver: is for linear problems; remove it")
    if values["polish"] is not None and problem.linear:
        others = " or ".join(f"'{kind.name}'" for kind in KINDS.values() if not kind.linear)
        raise InputError(f"certificate.polish: Newton steps are for kind = {others}; got kind = '{problem.name}'")
    if values["delta"] is not None and values["delta"] >= 1:
        raise InputError(f"certificate.delta: must lie between 0 and 1; got {values['delta']!r}")
    spec = CertificateSpec(
        table.choice("target", ("continuous", "discrete"), "continuous"),
        method,
        table.flag("rounding", True),
        table.flag_or_word("lift", False, "anyway"),
        table.number("tolerance", None, "positive"),
        table.whole("max_dofs", None, low=1, high=10**9),
        table.whole("quadrature", None, low=1, high=20),
        {k: v for k, v in values.items() if v is not None},
        table.number("accept", None, "positive"),
        table.whole("budget", None, low=1, high=10**9),
        table.choice("until", UNTIL, None),
    )
    table.done()
    return spec
