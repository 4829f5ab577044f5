"""The sections of a case file that say what is wanted, and how it is to be proved."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.base.units import ELASTIC, SCALAR
from pinnpoint.cases.specs import CertificateSpec, QuerySpec
from pinnpoint.cases.tables import Table, number
from pinnpoint.solvers.choice import NAMES

LINEAR = ("exact", "norm", "inexact", "localized", "randomized")
NONLINEAR = ("root", "stationary")
OPTIONS = {"localized": ("radius",), "randomized": ("probes", "delta", "seed")}
"""Further keys of a method."""


def read_units(root: Table, problem: str) -> str | dict[str, str]:
    """One label for everything, or a table of labels."""
    if not isinstance(root.data.get("units"), dict):
        return str(root.text("units", ""))
    table = root.table("units")
    wanted, others = (ELASTIC, SCALAR) if problem == "elasticity" else (SCALAR, ELASTIC)
    why = f"does not belong to kind = '{problem}', which has {', '.join(wanted)}; remove it"
    table.refuse([key for key in others if key not in wanted], why)
    found = {key: table.text(key, "") for key in wanted}
    table.done()
    return {key: text for key, text in found.items() if text}


def read_queries(root: Table, problem: str) -> tuple[QuerySpec, ...]:
    """All queries, of which there is at least one; their names differ."""
    rows = root.take("query")
    if not isinstance(rows, list) or not rows:
        raise InputError("query: give at least one [[query]], each in double brackets")
    queries = [_query(_named(row, i, root), i, problem) for i, row in enumerate(rows)]
    names = [q.name for q in queries]
    for i, name in enumerate(names):
        if name in names[:i]:
            first = names.index(name)
            raise InputError(f"query '{name}': queries {first + 1} and {i + 1} have this name; names must differ")
    return tuple(queries)


def _named(row: Any, i: int, root: Table) -> Table:
    """A query's table, called by the query's name in messages, or by its number where it has none that can be shown."""
    name = row.get("name", f"q{i}") if isinstance(row, dict) else None
    if isinstance(name, str) and name.strip() and name.isprintable():
        return Table(f"query '{name[:60]}'", row, root.folder, ": ", "query")
    return Table(f"query {i + 1}", row, root.folder, ": ", "query")


def _query(table: Table, i: int, problem: str) -> QuerySpec:
    name = table.text("name", f"q{i}")
    if not name.strip():
        raise InputError(f"{table.key('name')}: is empty; give the query a name, or leave it out")
    kind = table.choice("kind", ("point", "average", "patch", "flux"), "point")
    at = radius = group = None
    if kind in ("patch", "flux"):
        if kind == "flux" and problem == "elasticity":
            raise InputError(
                f"{table.key('kind')}: 'flux' does not fit kind = 'elasticity'; average over the patch instead"
            )
        table.refuse(["at", "radius"], f"does not belong to a {kind}; remove it")
        group = table.text("group")
    else:
        table.refuse(["group"], f"does not belong to kind = '{kind}'; remove it")
        at = _coordinates(table)
        if kind == "average":
            radius = table.number("radius", sign="positive")
        else:
            table.refuse(["radius"], "does not belong to a point; write kind = 'average' for a ball")
    if problem != "elasticity":
        table.refuse(["component"], "the solution has one component; remove it")
    component = table.choice("component", ("x", "y", "z"), None)
    limits = [table.number(key, None, "positive") for key in ("tolerance", "accept")]
    table.known.extend(("at", "radius", "group"))
    table.done()
    return QuerySpec(name, kind, at, radius, group, component, *limits)


def _coordinates(table: Table) -> tuple[float, ...]:
    value = table.take("at")
    row = value if isinstance(value, list) else [value]
    if not 1 <= len(row) <= 3:
        raise InputError(f"{table.key('at')}: must have 1 to 3 coordinates; got {len(row)}")
    return tuple(number(f"{table.key('at')}.{k}", v) for k, v in enumerate(row))


def read_certificate(table: Table, problem: str) -> CertificateSpec:
    """The target, the method with its options, and what it may cost."""
    nonlinear = problem == "semilinear"
    method = table.choice("method", LINEAR + NONLINEAR, "root" if nonlinear else "exact")
    if (method in NONLINEAR) != nonlinear:
        fitting = ", ".join(NONLINEAR if nonlinear else LINEAR)
        raise InputError(f"certificate.method: '{method}' does not fit kind = '{problem}'; use one of {fitting}")
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
    if values["solver"] is not None and nonlinear:
        raise InputError("certificate.solver: is for linear problems; remove it")
    if values["polish"] is not None and not nonlinear:
        raise InputError(f"certificate.polish: Newton steps are for kind = 'semilinear'; got kind = '{problem}'")
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
    )
    table.done()
    return spec
