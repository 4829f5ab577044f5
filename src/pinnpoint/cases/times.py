"""The section of a case file that says the time grid."""

from __future__ import annotations

from typing import Any

from pinnpoint.base.errors import InputError
from pinnpoint.cases.kinds import Kind, TimeSpec
from pinnpoint.cases.tables import Table, number
from pinnpoint.systems.evolution.grid import GRADES, SCHEMES


def read_time(root: Table, kind: Kind[Any]) -> TimeSpec | None:
    """An end and a number of steps, or the nodes; None where the kind's solution does not move."""
    if not kind.moves:
        root.refuse(["time"], f"does not belong to kind = '{kind.name}', whose solution does not move; remove it")
        root.known.append("time")
        return None
    table = root.table("time", required=True)
    end, steps = table.number("end", None, "positive"), table.whole("steps", None, low=1, high=10**6)
    nodes = _nodes(table)
    if nodes is None and (end is None or steps is None):
        raise InputError("time: give end and steps, or nodes, a list of times that begins with 0")
    if nodes is not None and steps is not None:
        raise InputError("time.steps: give it or nodes, not both")
    if nodes is not None:
        table.refuse(["grade"], "only with steps; nodes are graded as they are")
    spec = TimeSpec(
        end,
        steps,
        nodes,
        table.choice("grade", GRADES, "end"),
        table.choice("scheme", tuple(SCHEMES), "cg1"),
        table.whole("damped", 0, low=0, high=10**6),
    )
    table.done()
    return spec


def _nodes(table: Table) -> tuple[float, ...] | None:
    value = table.take("nodes", None)
    if value is None:
        return None
    if not isinstance(value, list):
        raise InputError(f"{table.key('nodes')}: must be a list of times; got {str(value)[:60]!r}")
    return tuple(number(f"{table.key('nodes')}.{i}", t) for i, t in enumerate(value))
