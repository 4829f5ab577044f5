"""Solutions that move: the moments that are drawn, and what was asked at several times of one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def label_of(time: float) -> str:
    """What a moment is called."""
    return f"t = {time:.4g}"


def moment_of(row: Mapping[str, Any], times: Sequence[str]) -> str | None:
    """The moment that shows a query's time; it is one of those drawn."""
    found = label_of(row["time"]) if "time" in row else None
    return found if found in times else None


def series_of(rows: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """The numbers of queries that ask the same of the same place at two times or more, by time."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        if "time" in row:
            place = tuple(row.get("at") or ()), row.get("group"), row.get("ball"), row.get("spread")
            found.setdefault((row.get("kind"), *place), []).append(i)
    together = [sorted(some, key=lambda i: float(rows[i]["time"])) for some in found.values()]
    return [some for some in together if len({rows[i]["time"] for i in some}) > 1]
