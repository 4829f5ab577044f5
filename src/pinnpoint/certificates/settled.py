"""Certificates with extremes: their rows, once a prediction is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.certificates.claims import Guarantee
from pinnpoint.certificates.extremes import Found
from pinnpoint.certificates.intervals import Intervals
from pinnpoint.certificates.transfer import LEAST, RESERVE
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.systems.goals import ERRORS
from pinnpoint.systems.queries import Queries

NOTHING = 1e-6
"""What is proved to be above so little of its bound is only said not to be negative: [0, 2 radius]."""

Some = TypeVar("Some", bound=Intervals)


def with_errors_named(certificate: Some, queries: Queries) -> Some:
    """The same certificate, which knows which rows are errors of the prediction and no values of the solution."""
    named = {
        name: ERRORS[type(goal)]
        for name, goal in zip(queries.names, queries.goals, strict=True)
        if type(goal) in ERRORS
    }
    return certificate.with_details(errors=named) if named else certificate


def known_extremes(certificate: Intervals, given: Vector) -> dict[int, Found]:
    """The intervals of extremes for a prediction by its values at the nodes, by the queries' numbers."""
    extremes = certificate.evidence.extremes
    if extremes is None:
        return {}
    seen = certificate.off
    least = 0.0 if seen is None else float(np.max(seen[0][list(extremes.places)], initial=0.0))
    return {i: _raised(one, least) for i, one in extremes.found(given).items()}


def _raised(one: Found, least: float) -> Found:
    """A largest error is at least what it is at points that were asked for as well."""
    raised = one.band is not None and one.lower < least <= one.upper
    return replace(one, lower=least) if raised else one  # everywhere.md, step 5e


def settled(certificate: Some, given: Vector) -> Some:
    """The same certificate with the intervals of extremes for a prediction by its values at the nodes."""
    extremes = certificate.evidence.extremes
    if extremes is None:
        return certificate
    found = known_extremes(certificate, given)
    rows = {name: np.array(a) for name, a in certificate.terms.items()}
    value, center, radius = (np.array(a) for a in (certificate.value, certificate.center, certificate.radius))
    raw = None if certificate.raw is None else np.array(certificate.raw)
    for i, one in found.items():
        lower = 0.0 if 0.0 <= one.lower <= NOTHING * one.upper else one.lower
        center[i], value[i] = 0.5 * lower + 0.5 * one.upper, one.value
        half = float(up(max(one.upper - center[i], center[i] - lower)))
        for name, term in rows.items():
            told = name in certificate.radius_terms or (name == "mismatch" and raw is not None)
            term[i] = 0.0 if told else math.nan
        rows["transfer"][i] = half
        rows["rounding"][i] = up(RESERVE * half + 4.0 * UNIT * abs(center[i]) + LEAST)
        radius[i] = up(rows["transfer"][i] + rows["rounding"][i])
        center[i] = radius[i] if lower == 0.0 else center[i]
        if raw is not None:
            raw[i] = one.value
    lost = not np.any(np.isfinite(certificate.radius))  # nothing else was asked
    guarantee = Guarantee.DETERMINISTIC if lost else certificate.guarantee
    bands = [one.band for one in found.values() if one.band is not None]
    return replace(
        certificate,
        value=value,
        center=center,
        radius=radius,
        raw=raw,
        terms=rows,
        guarantee=guarantee if all(one.proved for one in found.values()) else Guarantee.ESTIMATE,
        band=bands[0] if bands else None,
        notes=tuple(dict.fromkeys([*certificate.notes, *([extremes.note] if found and extremes.note else [])])),
    ).with_details(routes={certificate.names[i]: one.route for i, one in found.items()})
