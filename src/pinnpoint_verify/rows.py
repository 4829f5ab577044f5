"""The certificate's own numbers and words: against the case, against the proof's labels, and against each other."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

from pinnpoint_verify.reader import larger, need, smaller

Row = dict[str, Any]
ALONE = ("exact", "root", "stationary")
"""Methods whose continuous interval does not depend on the prediction: it is the one of the witnesses."""
METHODS = (*ALONE, "norm", "inexact", "localized", "randomized")
TERMS = "correction norm transfer evaluation mismatch algebra rounding remainder local tail quadrature boundary".split()
BESIDE = {"correction", "local", "evaluation", "mismatch"}
"""Terms that a radius may leave out."""
ASKED = {"point": ("at",), "average": ("at", "radius"), "patch": ("group",), "flux": ("group",), "functional": ()}
ASKED |= {
    "cells": ("group",),
    "mean": (),
    "reaction": ("group",),
    "compliance": (),
    "everywhere": (),
    "maximum": (),
    "minimum": (),
    "l2-error": (),
    "energy-error": (),
    "stress": ("at",),
    "strain": ("at",),
    "gradient": ("at",),
}
"""What each kind of query needs; a stress or strain without a point has a group."""
POINTED = {"flux": ("at",), "cells": ("at", "side")}
"""The same of kinds that may be at a point instead."""
NOWHERE = ("flux", "reaction", "compliance", "everywhere", "maximum", "minimum", "l2-error", "energy-error")
"""Kinds that have no place: where there is one of them, what is not asked for of the others is not told."""
OWN = {"name", "kind", "target", "guarantee", "confidence", "rounding", "value", "value_radius", "raw", "raw_radius"}
OWN |= {"center", "radius", "lower", "upper", "sensitivity", "residual_norm", "terms", "verdicts"}
"""What each row has."""
DIGEST = re.compile("[0-9a-f]{64}")


SYSTEM = "the solution of the discrete system"
MESH = "the discrete solution on this mesh, not the PDE's solution"


def is_number(a: Any) -> bool:
    """Whether JSON has a number here."""
    return isinstance(a, int | float) and not isinstance(a, bool)


def is_text(a: Any) -> bool:
    """Whether JSON has some text here."""
    return isinstance(a, str) and a != ""


def near(a: Any, b: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether two numbers agree; what is infinite or no number agrees with nothing."""
    return is_number(a) and math.isfinite(b) and bool(abs(a - b) <= relative * larger(abs(a), abs(b)) + absolute)


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same; 1 and 1.0 are, True and 1, or 0.0 and -0.0, are not."""
    if is_number(a) and is_number(b):
        return bool(a == b) and math.copysign(1.0, a) == math.copysign(1.0, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def drawn(case: Row) -> tuple[int, float, int]:
    """Probes, δ and seed of the randomized method."""
    options = case["certificate"].get("options") or {}
    m, delta, seed = (options.get(k, v) for k, v in (("probes", 16), ("delta", 0.05), ("seed", 0)))
    fits = type(m) is int and type(seed) is int and is_number(delta) and m > 0 and 0.0 < delta < 1.0
    need(fits, "case.json: probes, delta or seed out of range")
    return m, float(delta), seed


def rows_agree(certificate: Row, case: Row, proof: Row, cells: int, dimension: int) -> list[Row]:
    """The queries of the certificate; refuses one whose numbers do not fit together, or to the case.

    `cells` and `dimension` are the mesh's, 0 where there is none.
    """
    header_agrees(certificate, case, proof)
    domain = {0: "", 1: "interval", 2: "polygon", 3: "polyhedron"}[dimension]
    discrete = [MESH, SYSTEM] if cells else [SYSTEM]  # a system's certificate may be stored with the mesh it came from
    where = curved(proof) or f"the mesh's {domain}"
    own = [f"the PDE's solution on {where}"]
    own = own if proof["target"] == "continuous" else discrete
    need(certificate.get("interval_of") in own, f"certificate: its intervals are of {own[0]}")
    rows, asked = certificate["queries"], case["queries"]
    need(len(rows) == len(asked) > 0, "certificate: another number of queries than the case")
    names = [row["name"] for row in rows]
    fits = all(isinstance(name, str) and len(name) <= 1000 for name in names) and len(set(names)) == len(names)
    need(fits, "certificate: names of queries are not different texts")
    for row, query in zip(rows, asked, strict=True):
        question_agrees(row, query, case)
        need(row["target"] == proof["target"] == case["certificate"]["target"], f"{row['name']!r}: another target")
        label_agrees(row, case)
        numbers_agree(row, proof)
        verdict_agrees(row)
    history_agrees(certificate, case, rows, cells)
    return list(rows)


def curved(proof: Row) -> str:
    """What a curved domain is; empty where cells are straight."""
    if "arcs" in proof:
        return "the domain that arcs at the given curves bound"
    if "bent" not in proof:
        return ""
    bounded = "the domain that the given curves bound"
    return bounded if proof["bent"]["groups"] else "the isoparametric domain of the mesh"


def header_agrees(certificate: Row, case: Row, proof: Row) -> None:
    """What the certificate says of the case as a whole."""
    need(certificate.get("schema") == "pinnpoint-certificate/1", "certificate.json: unknown schema")
    need(certificate.get("method") == proof["method"] == case["certificate"]["method"], "certificate: another method")
    need(proof["method"] in METHODS, "certificate: unknown method")
    for key in ("title", "units"):
        need(same(certificate.get(key), case.get(key)), f"certificate: its {key} is not the case's")
    terms = certificate["radius_terms"]
    fits = isinstance(terms, list) and same(terms, proof["radius_terms"]) and len(set(terms)) == len(terms)
    need(fits and set(terms) <= set(TERMS), "certificate: its radius_terms are not the proof's")
    versions = certificate["versions"]
    fits = versions.keys() == {"pinnpoint", "python", "numpy", "scipy"} and all(map(is_text, versions.values()))
    need(fits, "certificate: its versions are not those of a certificate")
    need(isinstance(case["certificate"]["options"], dict), "case.json: no options")
    filed = "prediction" in case  # a case file's; in Python there is less to say
    fits = "notes" not in case if filed else case["notes"].keys() == {"queries", "space"}
    need(fits, "case.json: notes of a case file, or none of what was asked in Python")
    for key in ("problem", "prediction", "inputs"):
        need((key in certificate) == filed, f"certificate: {key} is missing, or not part of the case")
    if not filed:
        return
    problem, inputs = certificate["problem"], certificate["inputs"]
    for key in problem.keys() | case["problem"].keys():
        fits = key == "quadrature" or (key in problem and same(problem.get(key), case["problem"].get(key)))
        need(fits, f"certificate: another {key} than in the case")
    need("quadrature" in problem, "certificate: another quadrature than in the case")
    need(same(certificate["prediction"].get("source"), case["prediction"]["source"]), "certificate: another prediction")
    made, mesh = inputs.get("mesh", {}), case.get("mesh") or {}
    for key in ("generate", "cells", "dofs"):
        need(same(made.get(key), mesh.get(key)), f"certificate: inputs.mesh.{key} is not the case's")
    used = {"case"} | ({"mesh"} if mesh else set()) | ({"deck"} if "deck" in case["problem"] else set())
    used |= {"prediction"} if case["prediction"]["source"] in ("file", "onnx", "torch", "model") else set()
    used |= {word for word in ("diffusion", "reaction") if from_file(case["problem"].get(word))}
    need(inputs.keys() == used, "certificate: inputs are not those that the case names")
    for name, about in inputs.items():
        fits = is_text(about.get("file")) and bool(DIGEST.fullmatch(str(about.get("sha256"))))
        fits = fits or "generate" in about
        need(fits and ("generate" in about) != ("file" in about), f"certificate: inputs.{name} is not a file")


def from_file(given: Any) -> bool:
    """Whether a case reads a coefficient from a file: the cells' numbers are then declared."""
    keys = {"name", "file", "grid", "field", "box"}
    return isinstance(given, dict) and is_text(given.get("file")) and given.keys() <= keys


def needed(query: Row) -> tuple[str, ...]:
    """What a query must have."""
    kind, pointed = query["kind"], query.get("at") is not None
    if kind in ("stress", "strain") and not pointed:
        return ("group",)
    return POINTED[kind] if kind in POINTED and pointed else ASKED[kind]


def nowhere(query: Row) -> bool:
    """Whether a query has no place at all."""
    return query["kind"] in NOWHERE and query.get("at") is None


def cells_agree(row: Row, cells: Any) -> None:
    """Where a query says its cells by numbers, they are those that are stored."""
    given = row.get("group")
    fits = not isinstance(given, list) or (len(given) == len(cells) and all(map(same, given, cells.tolist())))
    need(fits, f"{row['name']!r}: its cells are not those that it says")


def question_agrees(row: Row, query: Row, case: Row) -> None:
    """A row asks what the case asks."""
    name, kind = row["name"], query["kind"]
    need(same(name, query["name"]) and same(row["kind"], kind), f"{name!r}: another query than in the case")
    need(kind in ASKED and (kind != "functional" or "prediction" not in case), f"{name!r}: unknown kind of query")
    needs = needed(query)
    keys = (("at", "at"), ("radius", "ball"), ("side", "side"), ("group", "group"), ("component", "component"))
    for key, word in keys:
        given, said = query.get(key), row.get(word)
        need((given is not None) == (key in needs) or key == "component", f"{name!r}: the case has a wrong {key}")
        if (
            word == "at" and "at" not in needs and not nowhere(query) and kind != "functional"
        ):  # the middle of the group
            known = "prediction" in case and not any(map(nowhere, case["queries"]))
            need((said is not None) == known, f"{name!r}: the middle of the group is missing, or not known")
            continue
        where = "the point is not where the case has it" if word == "at" else f"another {key} than in the case"
        need(same(said, given), f"{name!r}: {where}")
    common = case["certificate"]
    for key in ("tolerance", "accept"):
        given = query[key] if query.get(key) is not None else common.get(key)
        fits = same(row.get(key), given) and (given is None or (is_number(given) and given > 0.0 and key in row))
        need(fits, f"{name!r}: another {key} than in the case")
    need(same(row.get("limit"), query.get("limit")), f"{name!r}: another limit than in the case")


def label_agrees(row: Row, case: Row) -> None:
    """The label of an interval fits its method; whether it is an estimate follows from the assumptions."""
    lucky = case["certificate"]["method"] == "randomized"
    fits = row["guarantee"] in ("estimate", "probabilistic" if lucky else "deterministic")
    need(fits, f"{row['name']!r}: the guarantee {row['guarantee']!r} is not the method's")
    sure = 1.0 - drawn(case)[1] if lucky else 1.0
    need(near(row["confidence"], sure, 1e-15), f"{row['name']!r}: the confidence is not {sure!r}")
    asked, alone = (
        case["certificate"]["rounding"],
        row["target"] == "continuous" and case["certificate"]["method"] in ALONE,
    )
    need(isinstance(asked, bool), "case.json: rounding is neither true nor false")
    # the continuous interval of some methods needs nothing discrete, so that it is covered in any case
    fits = row["rounding"] == ("covered" if asked or alone else "not covered")
    need(fits, f"{row['name']!r}: rounding is not labelled as the case has it")


def keys_agree(row: Row, asked: set[str]) -> None:
    """A row has its numbers and labels, and of what is asked only that: nothing else can be read from it."""
    odd = sorted(row.keys() - OWN - asked)
    need(not odd, f"{row['name']!r}: {odd[:1]} is not part of such a row")


def numbers_agree(row: Row, proof: Row) -> None:
    """Ends, radii and sums of the terms."""
    name, c, r, v, raw = row["name"], row["center"], row["radius"], row["value"], row["raw"]
    fits = all(is_number(row[k]) for k in ("center", "radius", "value", "lower", "upper", "value_radius"))
    fits = fits and all(row[k] is None or is_number(row[k]) for k in ("raw", "sensitivity", "residual_norm"))
    fits = fits and is_number(row.get("mesh_estimate") or 0.0)
    need(fits, f"{name!r}: an interval without all of its numbers")
    terms = row["terms"]
    fits = all(is_number(t) and t >= 0.0 for t in terms.values()) and set(terms) <= set(TERMS)
    need(fits, f"{name!r}: a term is no number ≥ 0, or unknown")
    counted = proof["radius_terms"]
    need(
        set(terms) - set(counted) <= BESIDE and set(counted) <= set(terms), f"{name!r}: terms are missing in the radius"
    )
    sums = math.fsum(terms[term] for term in counted)
    fits = r >= 0.0 and near(r, sums, 1e-12, 1e-300 if sums > 0.0 else 0.0)
    need(fits, f"{name!r}: the radius {r!r} is not the sum of its terms")
    ends = 0.0 if c == r else math.nextafter(c - r, -math.inf), math.nextafter(c + r, math.inf)
    need((row["lower"], row["upper"]) == ends, f"{name!r}: lower and upper are not center ± radius")
    need(near(row["value_radius"], abs(v - c) + r, 1e-12), f"{name!r}: value_radius does not fit value")
    if raw is None:
        need(row["raw_radius"] is None and "mismatch" not in terms, f"{name!r}: raw_radius or mismatch without raw")
    else:
        need(near(row["raw_radius"], abs(raw - c) + r, 1e-12), f"{name!r}: raw_radius does not fit raw")
        apart = near(terms.get("mismatch"), abs(raw - v), 1e-12, 1e-300)
        need(apart, f"{name!r}: mismatch is not |raw − value|")


def verdict_agrees(row: Row) -> None:
    """What the interval says, in exact arithmetic, of the prediction (`accept`) and of the true value (`limit`)."""
    name, low, high = row["name"], Fraction(row["lower"]), Fraction(row["upper"])
    ranges = dict[str, tuple[Fraction | None, Fraction | None]]()
    if row.get("accept") is not None:
        p, a = Fraction(row["value"] if row["raw"] is None else row["raw"]), Fraction(row["accept"])
        ranges["accept"] = p - a, p + a
    if "limit" in row:
        ranges["limit"] = limit_of(row)
    need(list(row["verdicts"]) == list(ranges), f"{name!r}: other verdicts than were asked for")
    for key, (least, most) in ranges.items():
        inside = (least is None or least <= low) and (most is None or high <= most)
        outside = (least is not None and high < least) or (most is not None and low > most)
        yes, no = ("within", "beyond") if key == "accept" else ("holds", "violated")
        proved = yes if inside else no if outside else "undecided"
        proved = "undecided" if row["guarantee"] == "estimate" else proved
        said = row["verdicts"][key]
        need(said == proved, f"{name!r}: the verdict {said!r} is not what its interval says, {proved!r}")


def limit_of(row: Row) -> tuple[Fraction | None, Fraction | None]:
    """Between which numbers the true value must lie; None where it has no such end."""
    limit = row["limit"]
    fits = isinstance(limit, dict) and 0 < len(limit) and limit.keys() <= {"above", "below"}
    fits = fits and all(is_number(x) and math.isfinite(x) for x in limit.values())
    need(fits and limit.get("above", -math.inf) <= limit.get("below", math.inf), f"{row['name']!r}: no limit")
    least, most = (Fraction(limit[key]) if key in limit else None for key in ("above", "below"))
    return least, most


def history_agrees(certificate: Row, case: Row, rows: list[Row], cells: int) -> None:
    """The record of a refinement leads to the intervals of the certificate, the best of its steps."""
    limits, until = [row.get("tolerance") for row in rows], case["certificate"].get("until")
    need(until in (None, "tolerance", "decided"), "case.json: an unknown word for until")
    decide = until == "decided"
    refines = rows[0]["target"] == "continuous" and (decide or any(t is not None for t in limits))
    need(
        ("refinement" in certificate) == (refines and "inputs" in certificate),
        "refinement: a record of nothing, or none",
    )
    if "refinement" not in certificate:
        return
    said = certificate["refinement"]
    fits = said.keys() == {"tolerance", "steps", "stopped"} | (set() if until is None else {"until"})
    need(fits and same(said.get("until"), until), "refinement: wrong keys, or until another end than the case has")
    need(same(said["tolerance"], limits), "refinement: other tolerances than the queries have")
    steps, radii = said["steps"], [row["radius"] for row in rows]
    for step in steps:
        fits = step.keys() == {"dofs", "cells", "radius"} and len(step["radius"]) == len(rows)
        fits = fits and all(type(step[k]) is int and step[k] > 0 for k in ("dofs", "cells"))
        need(fits and all(r is None or (is_number(r) and r >= 0.0) for r in step["radius"]), "refinement: a wrong step")
    sizes = [step["cells"] for step in steps]
    need(steps and all(a < b for a, b in pairwise(sizes)), "refinement: meshes do not become finer")
    size = {"dofs": certificate["dofs"], "cells": cells}
    ends = [step for step in steps if same(step, {**size, "radius": radii})]
    need(len(ends) == 1, "refinement: no step has the intervals of the certificate")
    if decide:
        need(
            (said["stopped"] == "") == decided(certificate, rows),
            "refinement: why it stopped does not fit the verdicts",
        )
        return
    worst = [
        larger(math.inf if r is None else r / t for r, t in zip(step["radius"], limits, strict=True) if t is not None)
        for step in steps
    ]
    need(worst[steps.index(ends[0])] == smaller(worst), "refinement: another step was better")
    reached = smaller(worst) <= 1.0
    fits = isinstance(said["stopped"], str) and (said["stopped"] == "") == reached
    need(fits, "refinement: why it stopped does not fit the radii")
    need(all(w > 1.0 for w in worst[:-1]), "refinement: it went on after the tolerance was met")


def decided(certificate: Row, rows: list[Row]) -> bool:
    """Whether every verdict is decided; an interval within its tolerance is narrow enough."""
    found = [row for row in rows if row.get("tolerance") is None or not row["radius"] <= row["tolerance"]]
    found += certificate.get("derived", [])
    return not any("undecided" in (row.get("verdicts") or {}).values() for row in found)
