"""What the files of a bundle say, against each other and against the stored system: one compatible set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from pinnpoint.verifier.checker import Discrete, Mesh, length
from pinnpoint.verifier.reader import Array, Bundle, need

Row = dict[str, Any]
ALONE = ("exact", "root", "stationary")
"""Methods whose continuous interval does not depend on the prediction: it is the one of the witnesses."""
METHODS = (*ALONE, "norm", "inexact", "localized", "randomized")
SMALL = 1e-140
"""What is this small is zero: the producing side's bounds of zero are not quite."""
MOST_NUMBERS = 2**28
"""Of the randomized method's draw."""


def near(a: Any, b: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether two numbers agree."""
    return is_number(a) and abs(a - b) <= relative * max(abs(a), abs(b)) + absolute


def is_number(a: Any) -> bool:
    """Whether JSON has a number here."""
    return isinstance(a, int | float) and not isinstance(a, bool)


def drawn(case: Row) -> tuple[int, float, int]:
    """Probes, δ and seed of the randomized method."""
    options = case["certificate"].get("options") or {}
    m, delta, seed = (options.get(k, v) for k, v in (("probes", 16), ("delta", 0.05), ("seed", 0)))
    fits = type(m) is int and type(seed) is int and is_number(delta) and m > 0 and 0.0 < delta < 1.0
    need(fits, "case.json: probes, delta or seed out of range")
    return m, float(delta), seed


def worth(row: Row, case: Row) -> None:
    """The label of an interval fits its method."""
    lucky = case["certificate"]["method"] == "randomized"
    fits = row["guarantee"] in ("estimate", "probabilistic" if lucky else "deterministic")
    need(fits, f"{row['name']!r}: the guarantee {row['guarantee']!r} is not the method's")
    sure = 1.0 - drawn(case)[1] if lucky else 1.0
    need(near(row["confidence"], sure, 1e-15), f"{row['name']!r}: the confidence is not {sure!r}")
    asked = case["certificate"].get("rounding", False)
    fits = row["rounding"] == "covered" or (row["rounding"] == "not covered" and asked is False)
    need(fits, f"{row['name']!r}: rounding is not labelled as the case has it")


def rows_agree(certificate: Row, case: Row, proof: Row) -> list[Row]:
    """The queries of the certificate; refuses one whose numbers do not fit together, or to the case."""
    need(certificate.get("schema") == "pinnpoint-certificate/1", "certificate.json: unknown schema")
    need(certificate.get("method") == proof["method"] == case["certificate"]["method"], "certificate: another method")
    need(proof["method"] in METHODS, "certificate: unknown method")
    for key in ("title", "units"):
        fits = key not in case or certificate.get(key, case[key]) == case[key]
        need(fits, f"certificate: its {key} is not the case's")
    for key, value in (certificate.get("problem") or {}).items():
        need(key == "quadrature" or case["problem"].get(key) == value, f"certificate: another {key} than in the case")
    rows, asked = certificate["queries"], case["queries"]
    need(len(rows) == len(asked) > 0, "certificate: another number of queries than the case")
    names = [row["name"] for row in rows]
    fits = all(isinstance(name, str) and len(name) <= 1000 for name in names) and len(set(names)) == len(names)
    need(fits, "certificate: names of queries are not different texts")
    for row, query in zip(rows, asked, strict=True):
        name = row["name"]
        need(name == query["name"] and row["kind"] == query["kind"], f"{name!r}: another query than in the case")
        worth(row, case)
        need(row["target"] == proof["target"] == case["certificate"]["target"], f"{name!r}: another target")
        if row["kind"] in ("point", "average"):
            fits = isinstance(query.get("at"), list) and row.setdefault("at", query["at"]) == query["at"]
            need(fits, f"{name!r}: the point is not where the case has it")
        c, r, v, raw = row["center"], row["radius"], row["value"], row["raw"]
        fits = all(is_number(row[k]) for k in ("center", "radius", "value", "lower", "upper", "value_radius"))
        fits = fits and all(row[k] is None or is_number(row[k]) for k in ("raw", "sensitivity", "residual_norm"))
        need(fits, f"{name!r}: an interval without all of its numbers")
        parts = row["terms"].values()
        need(all(t is None or (is_number(t) and t >= 0.0) for t in parts), f"{name!r}: a term is no number ≥ 0")
        sums = math.fsum(row["terms"][term] for term in proof["radius_terms"])
        need(r >= 0.0 and near(r, sums, 1e-12, 1e-300), f"{name!r}: the radius {r!r} is not the sum of its terms")
        ends = math.nextafter(c - r, -math.inf), math.nextafter(c + r, math.inf)
        need((row["lower"], row["upper"]) == ends, f"{name!r}: lower and upper are not center ± radius")
        need(near(row["value_radius"], abs(v - c) + r, 1e-12), f"{name!r}: value_radius does not fit value")
        if raw is not None:
            need(near(row["raw_radius"], abs(raw - c) + r, 1e-12), f"{name!r}: raw_radius does not fit raw")
            apart = near(row["terms"].get("mismatch"), abs(raw - v), 1e-12, 1e-300)
            need(apart, f"{name!r}: mismatch is not |raw − value|")
    return list(rows)


def state_agrees(d: Discrete, rows: list[Row], proof: Row, case: Row, bundle: Bundle) -> None:
    """Values, residual norm and points belong to the stored U, A, b and ℓ: one compatible set."""
    need(bundle.json["certificate.json"].get("dofs") == len(d.free), "certificate: dofs is not the number of unknowns")
    hi, lo, _ = d.residual(d.U, np.zeros(d.N))
    norm, floor = length(hi + lo), length(abs(d.rows) @ np.abs(d.U)) * 1e-13 + SMALL
    values, sizes = d.L @ d.U + d.constants, abs(d.L) @ np.abs(d.U) + np.abs(d.constants)
    count, meshed = int(proof["components"]), "mesh/nodes" in bundle
    points = bundle("mesh/nodes", None, None) if meshed else np.zeros((d.N, 1))
    cells = bundle("mesh/cells", None, points.shape[1] + 1, whole=len(points)) if meshed else np.zeros((0, 1))
    need(d.N == count * len(points), "nodes: their number does not fit the unknowns")
    for i, row in enumerate(rows):
        name, here = row["name"], d.L[[i]]
        if not proof.get("lift"):
            fits = near(row["value"], values[i], 0.0, 1e-13 * sizes[i] + 1e-300)
            need(fits, f"{name!r}: value is not that of U, {float(values[i])!r}")
        fits = proof["weighted"] or near(row["residual_norm"], norm, 1e-6, floor)
        need(fits, f"{name!r}: residual_norm is not ‖A U − b‖ = {norm!r}")
        if row["kind"] not in ("point", "average"):
            continue
        x, nodes = here.data, here.indices // count
        one = near(x.sum(), 1.0, 1e-12) and np.all(here.indices % count == here.indices[0] % count)
        need(one, f"{name!r}: ℓ is no mean of a component")
        axis = case["queries"][i].get("component")
        fits = axis is None or (count > 1 and here.indices[0] % count == ("x", "y", "z").index(axis))
        need(fits, f"{name!r}: ℓ belongs to another component")
        off = float(np.abs(x @ points[nodes] - np.array(row["at"])).max())
        close = off <= 1e-12 * np.abs(points).max() * max(1.0, np.abs(x).sum())
        need(close, f"{name!r}: ℓ belongs to another point, {off!r} away")
        if row["kind"] == "point" and proof["degree"] == 1:
            used = nodes[x != 0.0]
            inside = np.isin(cells, used).sum(axis=1) == len(used)
            need(inside.any(), f"{name!r}: ℓ does not interpolate in one cell")


def not_above_energies(d: Discrete, alpha: float, vectors: Sequence[Array]) -> None:
    """No coercivity exceeds vᵀAv/|v|²; Green vectors and states are smooth, so that theirs are near the smallest."""
    B = d.rows[:, d.free]
    for v in vectors:
        size = float(v @ v)
        least = float(v @ (B @ v)) / size if size > 1e-300 else math.inf
        need(alpha <= least * (1.0 + 1e-6), f"coercivity: {alpha!r} is declared, and a stored vector has {least!r}")


def sensitivities_agree(green: Array, rows: list[Row], method: str, case: Row, alpha: float) -> None:
    """σ = ‖g‖₂ for the weight of case files, the identity; from the seed's probes for the randomized method.

    What is said is an upper bound, up to the condition of the system that the stored vectors suffer from; where
    rounding is much of it, it may be well above.
    """
    share = 1e-6 + 1e-13 / alpha
    most = 1.0 + share if method == "randomized" else 2.0
    sizes = np.sqrt((green * green).sum(axis=1))
    if method == "randomized":
        m, delta, seed = drawn(case)
        need(m * green.shape[1] <= MOST_NUMBERS, "case.json: too many probes to draw again")
        z = np.random.default_rng(seed).standard_normal((m, green.shape[1]))
        quantile = 2.0 * float(special.gammaincinv(0.5 * m, delta / len(rows)))
        sizes = np.sqrt(((green @ z.T) ** 2).mean(axis=1) * m / quantile)
    for row, size in zip(rows, sizes, strict=True):
        name, said, terms = row["name"], row["sensitivity"], row["terms"]
        both = method not in ("inexact", "stationary")
        fits = said is None or (said >= size * (1.0 - share) and (not both or said <= most * size + SMALL))
        need(fits or method == "stationary", f"{name!r}: sensitivity is not {float(size)!r}")
        if "norm" in terms:
            need(near(terms["norm"], said * row["residual_norm"], 1e-9), f"{name!r}: norm is not σ‖r‖")
        if method in ("exact", "root", "inexact"):
            moved = abs(row["value"] - row["center"])
            fits = near(terms["correction"], moved, 1e-9, 1e-12 * (abs(row["value"]) + moved))
            need(fits, f"{name!r}: correction is not |value − center|")


def goals_agree(rows: list[Row], proof: Row, case: Row, mesh: Mesh, harmonic: bool) -> list[Row]:
    """What is asked of the solution, where the case has it; refuses forms for which there is no theorem."""
    lift, problem = bool(proof.get("lift")), case["problem"]
    need(lift == bool(case["certificate"].get("lift")), "proof.json: a lift that the case does not have")
    need(len(proof["goals"]) == len(rows), "proof.json: another number of goals")
    need(problem.get("degree", mesh.degree) == mesh.degree, "mesh: not of the degree of the case")
    kind, cubic = problem.get("kind", "semilinear"), bool(np.any(mesh.cubic))
    need(kind == "semilinear" or not cubic, "cubic: not part of the case")
    need(not harmonic or mesh.degree == 1, "degree: cubic reactions are for linear elements")
    goals = []
    for row, query, given in zip(rows, case["queries"], proof["goals"], strict=True):
        goal = {**given, "constant": float(given["constant"]), "error": float(given["error"])}
        name, kind, own = row["name"], goal["kind"], goal.get("own")
        need(kind in ("point", "ball", "patch", "flux"), f"{name!r}: unknown kind of query")
        need(kind.replace("ball", "average") == row["kind"], f"{name!r}: another kind of query")
        need(lift or own is None, f"{name!r}: a value of its own, but nothing was lifted")
        need(min(goal["error"], goal["scale"], (own or [0.0, 0.0])[1]) >= 0.0, f"{name!r}: a negative bound")
        fits = isinstance(goal["known"], bool) and isinstance(goal["acts"], bool)
        need(fits and not (goal["known"] and goal["acts"]), f"{name!r}: both known and to be found")
        need(not goal["known"] or kind in ("point", "patch"), f"{name!r}: a {kind} is not known from the data")
        if kind in ("point", "ball"):
            need(goal["at"] == row["at"], f"{name!r}: not where the certificate has it")
        if kind == "ball" and query.get("radius") is not None:
            need(goal["average"] == query["radius"], f"{name!r}: another radius than in the case")
        if kind == "flux":
            need(not harmonic, f"{name!r}: no theorem for fluxes of such problems")
        goals.append(goal)
    return goals
