"""What a bundle of a solution in time claims, against what the checker proves from its states and fluxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.fields import plain
from pinnpoint_verify.reader import Bundle, need
from pinnpoint_verify.rows import is_number, keys_agree, near, numbers_agree, same, verdict_agrees
from pinnpoint_verify.slab_runs import Bundled, Run

Row = dict[str, Any]
PROOF = {"target", "method", "radius_terms", "degree", "scheme", "runs", "goals", "source", "dirichlet", "neumann"}
CERTIFICATE = {"schema", "title", "units", "versions", "method", "dofs", "radius_terms", "interval_of", "assumptions"}
ROW = {"target": "continuous", "guarantee": "deterministic", "confidence": 1.0, "rounding": "covered"}
ROW |= {"sensitivity": None, "residual_norm": None}
ASKED = ("name", "kind", "at", "ball", "side", "spread", "reach", "group", "time", "since", "accept", "limit")
SIZES = {"ball", "side", "spread", "reach"}
PLACED = {
    "point": {"at"},
    "gaussian": {"at", "spread", "reach"},
    "average": {"at", "ball", "since"},
    "block": {"at", "side", "since"},
    "cells": {"group", "since"},
    "mean": {"since"},
}
"""What says where a query looks, by its kind."""
GOAL = {"radius", "span", "powers"}
"""What the kernel of a point has."""
DOMAINS = {1: "interval", 2: "polygon", 3: "polyhedron"}
SMALL = 1e-130
"""What counts as nothing."""
CASE = {"title", "units", "problem", "certificate", "queries"}
PROVED = {"u is enclosed slab by slab: modes in time, equilibrated fluxes, a cut-off heat kernel"}
KEPT = "lift: the prediction's value and residual, enclosed by Taylor models"
"""What a certificate says of a prediction that is kept as it is."""


def header(certificate: Row, case: Row, proof: Row, d: int) -> list[str]:
    """The certificate's own words; what it takes for granted."""
    need(
        proof.keys() - {"lift"} == PROOF and proof["target"] == "continuous",
        "proof.json: a key is missing, or too many",
    )
    keys = certificate.keys() - {"notes", "id", "of"}
    need(keys == CERTIFICATE | {"queries"}, "certificate.json: a key is missing, or too many")
    odd = sorted(case.keys() ^ CASE)
    need(not odd, f"case.json: {odd[:1]} is missing, or not part of such a case")
    need(certificate["schema"] == "pinnpoint-certificate/1", "certificate.json: unknown schema")
    need(certificate["method"] == proof["method"] == "exact", "certificate: another method")
    need(case["certificate"] == {"method": "exact", "target": "continuous"}, "case.json: another method or target")
    need(all(same(certificate[k], case[k]) for k in ("title", "units")), "certificate: another title or other units")
    need(same(certificate["radius_terms"], proof["radius_terms"]), "certificate: other radius_terms than the proof's")
    own = f"the PDE's solution on the mesh's {DOMAINS[d]}"
    need(certificate["interval_of"] == own, f"certificate: its intervals are of {own}")
    said = certificate["assumptions"]
    fits = all(one.keys() == {"claim", "status"} and one["status"] in ("verified", "declared") for one in said)
    known = PROVED | {KEPT} if "lift" in proof else PROVED
    need(fits and all(one["claim"] in known for one in said if one["status"] == "verified"), "certificate: a claim")
    told = [one["claim"] for one in said if one["status"] == "declared"] + list(certificate.get("notes", []))
    return told + ([f"it is made from certificate {certificate['of']}"] if "of" in certificate else [])


def asks(row: Row, query: Row, proof: Row, end: float) -> None:
    """A row asks what the case asks, and its numbers fit together."""
    name = row["name"]
    need(query.keys() <= set(ASKED), f"{name!r}: unknown keys in the case")
    for key in ASKED:
        need(same(row.get(key), query.get(key)), f"{name!r}: another {key} than in the case")
    need(all(same(row.get(k), v) for k, v in ROW.items()), f"{name!r}: labels that such an interval does not have")
    need(is_number(row["time"]) and 0.0 < row["time"] <= end, f"{name!r}: a time that is not after the start")
    kind = "block" if row["kind"] == "cells" and "side" in row else row["kind"]
    need(kind in PLACED and row["kind"] != "block", f"{name!r}: unknown kind of query")
    others = set().union(*PLACED.values()) - PLACED[kind]
    need(all(row.get(key) is None for key in others), f"{name!r}: a place that such a query does not have")
    need(all(is_number(row.get(key)) for key in PLACED[kind] & SIZES), f"{name!r}: no weight")
    keys_agree(row, set(ASKED))
    numbers_agree(row, proof)
    verdict_agrees(row)


@np.errstate(all="ignore")
def verify_slabs(bundle: Bundle, certificate: Row, case: Row, proof: Row) -> list[str]:
    """Lines of the report."""
    rows, nodes = certificate["queries"], bundle("mesh/nodes", None, None)
    need(nodes.shape[1] in (1, 2, 3), "mesh: dimension out of range")
    told = header(certificate, case, proof, nodes.shape[1])
    need(len(rows) == len(case["queries"]) == len(proof["goals"]) > 0, "certificate: another number of queries")
    need(len({row["name"] for row in rows}) == len(rows), "certificate: names of queries are not different")
    for row, query in zip(rows, case["queries"], strict=True):
        asks(row, query, proof, case["problem"]["end"])
    need(all(goal.keys() <= GOAL for goal in proof["goals"]), "proof.json: a key that no query in time has")
    own = Bundled(bundle, case, proof, rows)
    every = sorted(i for run in proof["runs"] for i in run["queries"])
    need(every == list(range(len(rows))), "proof.json: a query that belongs to no sweep, or to two")
    lines = ["verified: every file has its SHA-256, dtype, shape and finite numbers"]
    lines.append("verified: fluxes in H(div) by representation, mode by mode; kernels, product bound, weights in time")
    lines.append("verified: bounds of source, initial values, fluxes and boundary values, from the case's formulas")
    proved: dict[int, tuple[float, float]] = {}
    for r, run in enumerate(proof["runs"]):
        need(run.keys() == {"queries"}, "proof.json: a key of a sweep is missing, or too many")
        proved |= dict(zip(run["queries"], Run(own, r, run).found(), strict=True))
    unused = set(bundle.arrays) - bundle.used
    need(not unused, f"{sorted(unused)[:1]}: is part of no proof")
    for i, row in enumerate(rows):
        c, radius = proved[i]
        line = f"{row['name']!r}: [{row['lower']!r}, {row['upper']!r}] is claimed, {c!r} ± {radius!r} is proved"
        need(math.isfinite(radius) and row["lower"] <= c - radius and c + radius <= row["upper"], line)
        fits = near(row["center"], c, 1e-9, 0.05 * row["radius"] + SMALL)
        fits = fits and row["radius"] <= 30.0 * radius + 1e-6 * abs(c) + SMALL
        need(fits, f"{row['name']!r}: {row['center']!r} ± {row['radius']!r} is not the interval of its witnesses")
        lines.append(f"{row['name']}: proved {c!r} ± {radius:.3e}; claimed [{row['lower']!r}, {row['upper']!r}]")
    told += [f"{what}" for what in dict.fromkeys(own.told)]
    told.append("values of the prediction, and the terms that a radius is split into")
    told.append("mesh, groups and the case, as stored, are those that were meant")
    told += [f"case, {key}: {plain(case[key])}" for key in ("title", "units", "problem", "certificate")]
    told += [f"case, {query['name']!r}: {plain(query)}" for query in case["queries"]]
    told += [f"certificate, {key}: {plain(certificate[key])}" for key in ("versions", "dofs")]
    return lines + [f"declared: {line}" for line in told]
