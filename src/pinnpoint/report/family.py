"""Many loads of one part in one report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import distinct_names, per_query
from pinnpoint.base.errors import InputError
from pinnpoint.report.page import write_report
from pinnpoint.report.view import View


def marked(data: dict[str, Any], tolerance: Any) -> dict[str, Any]:
    """With the tolerance of each query, one number or one for each."""
    if tolerance is not None:
        rows = data["queries"]
        for row, limit in zip(rows, per_query("tolerance", tolerance, len(rows), sign="positive"), strict=True):
            row["tolerance"] = float(limit)
    return data


def places(data: Mapping[str, Any]) -> Any:
    """Where the queries sit, if all of them do."""
    places = [row.get("at") for row in data["queries"]]
    return None if None in places else np.array(places)


def joined(states: Sequence[Mapping[str, Any]], loads: Sequence[str] | None = None) -> dict[str, Any]:
    """Certificates of the same queries under many loads as one list of queries, named ``load: query``."""
    if not states:
        raise InputError("states: there are none; certify at least one")
    names = [f"load {i + 1}" for i in range(len(states))] if loads is None else distinct_names(loads, len(states))
    rows = [
        {**row, "name": f"{load}: {row['name']}", "query": row["name"], "load": load}
        for load, state in zip(names, states, strict=True)
        for row in state["queries"]
    ]
    terms = dict.fromkeys(term for state in states for term in state["radius_terms"])
    claims = dict.fromkeys((a["claim"], a["status"]) for state in states for a in state["assumptions"])
    return {
        **states[0],
        "radius_terms": list(terms),
        "assumptions": [{"claim": claim, "status": status} for claim, status in claims],
        "queries": rows,
    }


def write_family(
    path: str | os.PathLike[str],
    states: Sequence[Mapping[str, Any]],
    loads: Sequence[str] | None = None,
    mesh: Any = None,
    fields: Sequence[Mapping[str, Any]] | None = None,
    tolerance: Any = None,
) -> Path:
    """Write one report of certificates, each in the layout of certificate.json, with one mapping of fields per load."""
    data = joined(states, loads)
    if mesh is None:
        return write_report(path, marked(data, tolerance))
    if fields is None or len(fields) != len(states):
        raise InputError(
            f"fields: must be {len(states)} mappings, one per state; got {0 if fields is None else len(fields)}"
        )
    names = list(dict.fromkeys(row["load"] for row in data["queries"]))
    return write_report(
        path, marked(data, tolerance), View.of(mesh, list(zip(names, fields, strict=True)), places(data))
    )
