"""certificate.json: its layout, and how it is written."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from pinnpoint.base.arrays import Vector, attributes
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import write_whole
from pinnpoint.base.version import __version__
from pinnpoint.certificates.intervals import Intervals
from pinnpoint.systems.derived import said

SCHEMA = "pinnpoint-certificate/1"


def record(certificate: Intervals, **header: Any) -> dict[str, Any]:
    """The certificate as plain Python, in the layout of certificate.json; `header` adds title, units, …."""
    versions = {
        "pinnpoint": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    data = {
        "schema": SCHEMA,
        "title": header.pop("title", ""),
        "units": header.pop("units", ""),
        "versions": versions,
        "method": certificate.method,
        "dofs": certificate.dofs,
        "radius_terms": list(certificate.radius_terms),
        "interval_of": certificate.interval_of,
        **({"notes": list(certificate.notes)} if certificate.notes else {}),
        **header,
        **({"solver": certificate.details["solver"]} if "solver" in certificate.details else {}),
        "assumptions": [{"claim": c.claim, "status": c.status} for c in certificate.assumptions],
        "queries": _rows(certificate),
        **({"derived": _derived(certificate)} if certificate.derivations else {}),
    }
    return identified(data)


def identified(data: Mapping[str, Any]) -> dict[str, Any]:
    """Content of certificate.json with its own id, in place of one that it may have had.

    The id is the SHA-256, in hexadecimal, of the content without it as one line of ASCII JSON: keys sorted, no spaces,
    numbers with the fewest digits that give them back.
    """
    rest = {key: value for key, value in data.items() if key not in ("schema", "id")}
    try:
        line = json.dumps({"schema": data["schema"], **rest}, allow_nan=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InputError(f"header: must hold plain finite JSON values ({error})") from error
    return {"schema": data["schema"], "id": hashlib.sha256(line.encode("ascii")).hexdigest(), **rest}


def _rows(certificate: Intervals) -> list[dict[str, Any]]:
    """The queries; every array is made once."""
    c, columns = certificate, dict[str, Vector | None]()
    columns |= attributes(c, "value", "value_radius", "raw", "raw_radius", "center", "radius", "lower", "upper")
    columns["sensitivity"] = c.sigma
    common = {
        "target": c.target,
        "guarantee": "",  # its place; each query has its own
        "confidence": c.confidence,
        "rounding": c.rounding,
    }
    length = None if c.residual_norm is None else _number(c.residual_norm)
    rows, errors = [], c.details.get("errors", {})
    verdicts, accept, limits, worth = c.verdicts, c.accept, c.limits, c.guarantees
    for i, name in enumerate(c.names):
        row: dict[str, Any] = {"name": name}
        if c.points is not None and not np.isnan(c.points[i]).any():
            row["at"] = [float(x) for x in c.points[i]]
        if c.times is not None and not np.isnan(c.times[i]):
            row["time"] = float(c.times[i])
        row |= common | {"guarantee": worth[i]}
        row |= {key: None if a is None else _number(a[i]) for key, a in columns.items()}
        row |= {"residual_norm": length, "terms": _terms(c, i)}
        row |= {} if c.mesh_estimate is None else {"mesh_estimate": _number(c.mesh_estimate[i])}
        row |= {"accept": float(accept[i])} if accept is not None and "accept" in verdicts[i] else {}
        row |= {} if (limit := limits[i]) is None else {"limit": limit.said()}
        row |= _extreme(c, name)
        row |= {"kind": errors[name]} if name in errors else {}
        row["verdicts"] = verdicts[i]
        rows.append(row)
    return rows


def _extreme(certificate: Intervals, name: str) -> dict[str, Any]:
    """Of an extreme value: which bound it is, and its bounds on cells in short."""
    routes, band = certificate.details.get("routes", {}), certificate.band
    if name not in routes:
        return {}
    row: dict[str, Any] = {"route": routes[name]}
    if band is not None:
        ends = {"least": np.min(band), "median": np.median(band), "largest": np.max(band)}
        row["band"] = {"cells": len(band), **{key: _number(x) for key, x in ends.items()}}
    return row


def _derived(certificate: Intervals) -> list[dict[str, Any]]:
    """What follows from the queries' intervals."""
    common = {"target": certificate.target, "confidence": certificate.confidence, "rounding": certificate.rounding}
    rows = []
    for one, found in zip(certificate.derivations, certificate.derived, strict=True):
        ends = {key: _number(x) for key, x in attributes(found, "value", "center", "radius", "lower", "upper").items()}
        row = said(one) | common | {"guarantee": found.guarantee} | ends
        rows.append(row | {"verdicts": dict(found.verdicts or {})})
    return rows


def _terms(certificate: Intervals, i: int) -> dict[str, float | None]:
    """The terms of a query; those that do not apply, which are not a number, are absent."""
    return {key: _number(t[i]) for key, t in certificate.terms.items() if not np.isnan(t[i])}


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, as json's ``object_pairs_hook``; refuses one with a key twice, of which the last would win."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(k for k in keys if keys.count(k) > 1)!r} is given twice")
    return found


def _number(x: float) -> float | None:
    x = float(x)
    return x if np.isfinite(x) else None


def write_json(path: str | os.PathLike[str], data: Mapping[str, Any]) -> Path:
    """Write plain data as strict JSON, whole or not at all."""
    try:
        text = (json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InputError(f"header: must hold plain finite JSON values ({error})") from error
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"path: the folder '{target.parent}' does not exist; make it first")
    return write_whole(target, [text])
