"""The content of certificate.json, and what the report shows beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint.base.errors import CertificationError
from pinnpoint.cases.study import Result, provenance
from pinnpoint.certificates.json import identified
from pinnpoint.certifiers.localized import LocalizedCertifier

SWEPT, RADII = 12, 41
"""Local and tail parts are shown for so many queries at most, at so many radii."""


def summary(result: Result) -> dict[str, Any]:
    """The content of certificate.json."""
    study, certificate = result.study, result.certificate
    case = study.case
    known = ("extraction", "projection_mismatch", "matching_distance", "model")
    made = {k: certificate.details[k] for k in known if k in certificate.details}
    data = certificate.to_dict(
        title=case.title,
        units=case.units,
        inputs=provenance(case),
        problem={**case.to_dict()["problem"], "quadrature": study.problem.quadrature},
        **({} if case.time is None else {"time": case.to_dict()["time"]}),
        prediction={"source": case.prediction.source, **made},
        **({"refinement": _refinement(result)} if result.history else {}),
    )
    narrowing = certificate.narrowing
    for i, (row, query) in enumerate(zip(data["queries"], case.queries, strict=True)):
        row["kind"] = query.kind
        row |= {} if query.at is None else {"at": [float(x) for x in query.at]}
        asked = {"component": query.component, "group": query.group, "ball": query.radius, "side": query.side}
        asked |= {"spread": query.spread, "since": query.since}
        asked["tolerance"] = _finite(study.limits[i])
        row |= {key: value for key, value in asked.items() if value is not None}
        if narrowing is not None:
            row["narrowing"] = _finite(narrowing[i])
    return identified(data)


def sweep(result: Result) -> dict[str, Any] | None:
    """Local and tail parts over the radius of the ball, where the method is localized by distance."""
    study, certifier = result.study, result.certifier
    queries = study.queries
    if not isinstance(certifier, LocalizedCertifier) or queries.points is None or len(queries) > SWEPT:
        return None
    rows = study.problem.system.row_points
    reach = float(np.linalg.norm(np.ptp(rows, axis=0)))
    try:
        parts = certifier.sweep(study.problem.extract(study.prediction).U, np.linspace(0.0, reach, RADII))
    except CertificationError:
        return None
    return {"radii": parts.radii, "local": parts.local, "tail": parts.tail, "radius": parts.radius}


def _refinement(result: Result) -> dict[str, Any]:
    """Unknowns and radii of every mesh on the way."""
    steps = [{"dofs": s.dofs, "cells": s.cells, "radius": [_finite(r) for r in s.radius]} for s in result.history]
    limits = [_finite(t) for t in result.study.limits]
    until = {} if result.study.case.certificate.until is None else {"until": result.study.case.certificate.until}
    return {"tolerance": limits, "steps": steps, "stopped": result.stopped, **until}


def _finite(x: Any) -> float | None:
    """As strict JSON has it."""
    return float(x) if np.isfinite(x) else None
