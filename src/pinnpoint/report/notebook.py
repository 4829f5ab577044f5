"""A certificate as a small table, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinnpoint.report.headline import decided, left_by_mesh, off, stated, telling, truth
from pinnpoint.report.markup import data as number
from pinnpoint.report.markup import name, text
from pinnpoint.report.numbers import UNBOUNDED, above, below, interval, near, short
from pinnpoint.report.surety import bounds, chance, share, sure

MOST = 50


def compact(data: Mapping[str, Any]) -> str:
    """Names, predictions, intervals and radii, without styles of its own."""
    rows = data["queries"]
    first = telling(rows)
    luck = f", confidence {share(first['confidence'])}" if first["guarantee"] == "probabilistic" else ""
    follows = [{**row, "raw": None} for row in data.get("derived", [])]
    meshed, judged = any("mesh_estimate" in row for row in rows), any(map(decided, [*rows, *follows]))
    limited = any(decided(row, "limit") for row in [*rows, *follows])
    guess = "estimated " if first["guarantee"] == "estimate" else ""
    columns = ["query", "prediction", f"{truth(first)} between", "", "± radius", f"{guess}off by at least", "at most"]
    columns += ["mesh (estimate)"] if meshed else []
    columns += ["accepted", "verdict"] if judged else []
    columns += ["limit", "verdict"] if limited else []
    head = "".join(f"<th>{c}</th>" for c in columns)
    body = "".join(
        f"<tr><th>{name(row['name'])}{_parts(row)}</th><td>{number(stated(row), near(stated(row)))}</td>{_ends(row)}"
        f"<td>{number(row['radius'], above(row['radius']))}</td>{_apart(row)}"
        f"{_mesh(row) if meshed else ''}{_judgement(row) if judged else ''}{_limit(row) if limited else ''}</tr>"
        for row in [*rows[:MOST], *follows]
    )
    more = f"<p>and {len(rows) - MOST} more</p>" if len(rows) > MOST else ""
    of = data.get("interval_of", "")
    worth = f"{first['guarantee']}{luck}; target: {first['target']}; rounding {first['rounding']}; intervals of {of}"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    notes = "".join(f"<p>note: {text(note)}</p>" for note in data.get("notes") or [])
    return f"<p><b>{text(data['method'])}</b>: {text(worth)}</p>{table}{more}{notes}"


def _parts(row: Mapping[str, Any]) -> str:
    """What a derived quantity is derived from, by interval arithmetic; nothing of a query."""
    parts = row.get("derived_from", [])
    return f", {text(row['kind'])} of {', '.join(map(name, parts))}" if parts else ""


def _mesh(row: Mapping[str, Any]) -> str:
    left = left_by_mesh(row)
    return "<td>not known</td>" if left is None else f"<td>~ {number(left, near(left, 2))}</td>"


def _apart(row: Mapping[str, Any]) -> str:
    least, most = off(row)
    return f"<td>{number(least, below(least) if least > 0.0 else '0')}</td><td>{number(most, above(most))}</td>"


def _judgement(row: Mapping[str, Any]) -> str:
    word = decided(row)
    if word is None:
        return "<td></td><td></td>"
    return f"<td>{number(row['accept'], short(row['accept']))}</td><td>{sure(word, chance(row))}</td>"


def _limit(row: Mapping[str, Any]) -> str:
    word = decided(row, "limit")
    return (
        "<td></td><td></td>" if word is None else f"<td>{bounds(row['limit'])}</td><td>{sure(word, chance(row))}</td>"
    )


def _ends(row: Mapping[str, Any]) -> str:
    if row["radius"] is None:
        return f'<td colspan="2">{UNBOUNDED}</td>'
    lower, upper = interval(row["lower"], row["upper"])
    return f"<td>{number(row['lower'], lower)}</td><td>{number(row['upper'], upper)}</td>"
