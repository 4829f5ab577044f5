"""certificate.csv: one row per query."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.cases.specs import Case
from pinnpoint.certificates.certificate import Certificate
from pinnpoint.report.units import bracketed, of_query
from pinnpoint.systems.derived import PRINCIPAL
from pinnpoint.systems.limits import WORDS, Limit


def labels(case: Case, dim: int) -> list[str]:
    """The unit of each query's value, in so many dimensions, then of each derived one's."""
    kinds = [query.kind for query in case.queries]
    kinds += [spec.kind for spec in case.derived for _ in range(dim if spec.kind == PRINCIPAL else 1)]
    return [of_query(case.units, case.kind.quantities, kind, dim) for kind in kinds]


def write_csv(path: Path, certificate: Certificate, units: Sequence[str], identity: str) -> None:
    """One row per query, then one for each derived quantity; what does not apply is left empty.

    Units that all of them share stand in the header too, and `identity`, the certificate's id, in the last column.
    """
    unit = bracketed(units[0]) if len(set(units)) == 1 else ""
    columns, terms = _columns(certificate), certificate.terms
    limits, verdicts = certificate.limits, certificate.verdicts
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = [
            "name",
            *(c if c == "time" else c + unit for c in columns),
            *(f"term {t}{unit}" for t in terms),
            "target",
            "guarantee",
        ]
        head += [f"accept{unit}", "verdict", *(word + unit for word in WORDS), "limit"]
        routes = certificate.details.get("routes", {})
        writer.writerow(
            [*head, f"mesh_estimate{unit}", "interval_of", "unit", *(["route"] if routes else []), "certificate"]
        )
        for i, name in enumerate(certificate.names):
            numbers = ["" if column is None else _text(column[i]) for column in columns.values()]
            parts = [_text(term[i]) for term in terms.values()]
            worth = [certificate.target, certificate.guarantees[i]]
            accept = np.inf if certificate.accept is None else float(certificate.accept[i])
            judged = _judged(accept, limits[i], verdicts[i])
            last = [*_mesh(certificate, i), units[i], *([routes.get(name, "")] if routes else [])]
            writer.writerow([name, *numbers, *parts, *worth, *judged, *last, identity])
        for one, label in zip(certificate.derived, units[len(certificate) :], strict=True):
            own = {"value": one.value, "center": one.center, "radius": one.radius}
            own |= {"lower": one.lower, "upper": one.upper}
            numbers = [_text(own[column]) if column in own else "" for column in columns]
            judged = _judged(one.accept, one.limit, one.verdicts or {})
            what = f"{certificate.interval_of}; {one.kind} of {', '.join(one.of)}"
            empty, worth = [""] * len(terms), [certificate.target, one.guarantee]
            writer.writerow(
                [one.name, *numbers, *empty, *worth, *judged, "", what, label, *([""] if routes else []), identity]
            )


def _columns(certificate: Certificate) -> dict[str, Vector | None]:
    return ({} if certificate.times is None else {"time": certificate.times}) | {
        "value": certificate.value,
        "value_radius": certificate.value_radius,
        "raw": certificate.raw,
        "raw_radius": certificate.raw_radius,
        "center": certificate.center,
        "radius": certificate.radius,
        "lower": certificate.lower,
        "upper": certificate.upper,
    }


def _judged(accept: float | None, limit: Limit | None, verdicts: Mapping[str, str]) -> list[str]:
    """What is accepted and the verdict, the limit's ends and the verdict; nothing where it was not asked."""
    ends = {} if limit is None else limit.said()
    own = [repr(accept), verdicts["accept"]] if "accept" in verdicts else ["", ""]
    return [*own, *(repr(ends[w]) if w in ends else "" for w in WORDS), verdicts.get("limit", "")]


def _mesh(certificate: Certificate, i: int) -> list[str]:
    """What the mesh leaves, and what the interval is of."""
    left = certificate.mesh_estimate
    known = "" if left is None or not np.isfinite(left[i]) else repr(float(left[i]))
    return [known, certificate.interval_of]


def _text(x: Any) -> str:
    """All digits of a number; nothing where there is none."""
    return "" if np.isnan(x) else repr(float(x))
