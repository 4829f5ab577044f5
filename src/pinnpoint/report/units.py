"""Labels of quantities: given for a few, derived for the others, carried along; nothing is ever converted.

``units = "SI"`` is one label for everything. A table has labels for ``length`` and ``force`` (elasticity), or for
``length``, ``solution`` and ``flux`` (one unknown), and everything else gets its own from them: an area is in ``mm²``,
a stress in ``N/mm²``. What cannot be derived has no label, rather than a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Units = str | Mapping[str, str]


@dataclass(frozen=True)
class Quantities:
    """What the numbers of a kind of problem are.

    Attributes
    ----------
    labelled
        What a table of labels may have.
    solution
        What the solution is.
    queries
        By kind of query, what those ask for that do not ask for the solution.
    """

    labelled: tuple[str, ...]
    solution: str
    queries: Mapping[str, str] = field(default_factory=dict)


STRESSES = dict.fromkeys(("stress", "von-mises", "principal"), "stress")
ELASTIC = Quantities(
    ("length", "force"),
    "displacement",
    {**STRESSES, "strain": "strain", "reaction": "load", "compliance": "work"},
)
SCALAR = Quantities(("length", "solution", "flux"), "solution", {"flux": "flux"})
POWERS = {1: "", 2: "²", 3: "³"}


def label(units: Units, quantity: str, dim: int = 3) -> str:
    """The label of a quantity: length, area, volume, displacement, force, stress, load, work, solution, flux.

    A total load on a plane body is per unit of thickness; that of a scalar problem is the integral of its source, which
    has the unit of a flux.
    """
    if isinstance(units, str):
        return units
    length, force = units.get("length", ""), units.get("force", "")
    if quantity in ("length", "displacement"):
        return length
    if quantity in ("area", "volume"):
        return _power(length, 2 if quantity == "area" else 3)
    if quantity == "stress":
        return _over(force, _power(length, 2))
    if quantity in ("force", "load") and "force" in units:
        return force if dim == 3 else _over(force, length)
    if quantity == "work":
        return (f"{force}·{length}" if dim == 3 else force) if force and length else ""
    return units.get("flux" if quantity == "load" else quantity, "")


def of_query(units: Units, quantities: Quantities, kind: str, dim: int = 3) -> str:
    """The label of a query's value."""
    return label(units, quantities.queries.get(kind, quantities.solution), dim)


def labelled(data: Mapping[str, Any], quantities: Quantities, dim: int = 3) -> dict[str, Any]:
    """A certificate's data with the labels of the solution and of each query in it, under ``unit``."""
    units = data.get("units", "")
    shown = {**data, "unit": label(units, quantities.solution, dim)}
    for key in ("queries", "derived"):
        rows = data.get(key, [])
        shown[key] = [{**row, "unit": of_query(units, quantities, str(row.get("kind", "")), dim)} for row in rows]
    return shown if shown["derived"] else {key: shown[key] for key in shown if key != "derived"}


def of_row(data: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The label of one query of a certificate's data; one unknown where it does not say its own."""
    return str(row.get("unit", of_query(data.get("units", ""), SCALAR, str(row.get("kind", "")))))


def of_field(data: Mapping[str, Any]) -> str:
    """The label of the solution in a certificate's data."""
    return str(data.get("unit", label(data.get("units", ""), SCALAR.solution)))


def common(data: Mapping[str, Any]) -> str:
    """The label that all queries of a certificate's data share; empty where they differ."""
    units = {of_row(data, row) for row in data["queries"]}
    return units.pop() if len(units) == 1 else ""


def own(data: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The label of one query where they differ."""
    return "" if common(data) else of_row(data, row)


def bracketed(text: str) -> str:
    """Behind a name in a header."""
    return f" [{text}]" if text else ""


def _power(unit: str, k: int) -> str:
    plain = unit if unit.isalpha() or not unit else f"({unit})"
    return plain and plain + POWERS[k]


def _over(unit: str, other: str) -> str:
    return f"{unit}/{other}" if unit and other else ""
