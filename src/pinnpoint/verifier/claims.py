"""What a bundle claims, against what its witnesses prove: the verdict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from pinnpoint.verifier.checker import (
    DIRICHLET,
    Discrete,
    Mesh,
    Norms,
    Query,
    Side,
    length,
    on_a_line,
    up,
)
from pinnpoint.verifier.reader import Array, Bundle, Refused, need
from pinnpoint.verifier.samples import Samples

Row = dict[str, Any]
ALONE = ("exact", "root", "stationary")
"""Methods whose continuous interval does not depend on the prediction: it is the one of the witnesses."""


def near(a: Any, b: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether two numbers agree."""
    return isinstance(a, int | float) and abs(a - b) <= relative * max(abs(a), abs(b)) + absolute


def rows_agree(certificate: Row, case: Row, proof: Row) -> list[Row]:
    """The queries of the certificate; refuses one whose numbers do not fit together, or to the case."""
    need(certificate.get("schema") == "pinnpoint-certificate/1", "certificate.json: unknown schema")
    need(certificate.get("method") == proof["method"] == case["certificate"]["method"], "certificate: another method")
    rows, asked = certificate["queries"], case["queries"]
    need(len(rows) == len(asked) > 0, "certificate: another number of queries than the case")
    for row, query in zip(rows, asked, strict=True):
        name = row["name"]
        need(name == query["name"] and row["kind"] == query["kind"], f"{name!r}: another query than in the case")
        need(row["target"] == proof["target"] == case["certificate"]["target"], f"{name!r}: another target")
        if query.get("at") is not None:
            need(row.setdefault("at", query["at"]) == query["at"], f"{name!r}: the point is not where the case has it")
        if row["radius"] is None:
            continue
        c, r, v, raw = row["center"], row["radius"], row["value"], row["raw"]
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


def state_agrees(d: Discrete, rows: list[Row], proof: Row, bundle: Bundle) -> None:
    """Values, residual norm and points belong to the stored U, A, b and ℓ: one compatible set."""
    need(bundle.json["certificate.json"].get("dofs") == len(d.free), "certificate: dofs is not the number of unknowns")
    hi, lo, _ = d.residual(d.U)
    norm, floor = length(hi + lo), length(abs(d.rows) @ np.abs(d.U)) * 1e-13
    values, sizes = d.L @ d.U + d.constants, abs(d.L) @ np.abs(d.U) + np.abs(d.constants)
    count, meshed = int(proof["components"]), "mesh/nodes" in bundle
    points = bundle("mesh/nodes", None, None) if meshed else np.zeros((d.N, 1))
    cells = bundle("mesh/cells", None, points.shape[1] + 1, whole=len(points)) if meshed else np.zeros((0, 1))
    need(d.N == count * len(points), "nodes: their number does not fit the unknowns")
    for i, row in enumerate(rows):
        name, here = row["name"], d.L[[i]]
        if not proof.get("lift"):
            fits = near(row["value"], values[i], 0.0, 1e-13 * sizes[i] + 1e-300)
            need(fits, f"{name!r}: value is not that of U, {values[i]!r}")
        fits = proof["weighted"] or near(row["residual_norm"], norm, 1e-6, floor)
        need(fits, f"{name!r}: residual_norm is not ‖A U − b‖ = {norm!r}")
        if row["kind"] not in ("point", "average"):
            continue
        x, nodes = here.data, here.indices // count
        one = near(x.sum(), 1.0, 1e-12) and np.all(here.indices % count == here.indices[0] % count)
        need(one, f"{name!r}: ℓ is no mean of a component")
        off = np.abs(x @ points[nodes] - np.array(row["at"])).max()
        close = off <= 1e-12 * np.abs(points).max() * max(1.0, np.abs(x).sum())
        need(close, f"{name!r}: ℓ belongs to another point, {off!r} away")
        if row["kind"] == "point" and proof["degree"] == 1:
            used = nodes[x != 0.0]
            inside = np.isin(cells, used).sum(axis=1) == len(used)
            need(inside.any(), f"{name!r}: ℓ does not interpolate in one cell")


def sensitivities_agree(green: Array, rows: list[Row], method: str, case: Row) -> None:
    """σ = ‖g‖₂ for the weight of case files, the identity; from the seed's probes for the randomized method."""
    sizes = np.sqrt((green * green).sum(axis=1))
    if method == "randomized":
        options = case["certificate"].get("options") or {}
        m, delta, seed = (options.get(k, v) for k, v in (("probes", 16), ("delta", 0.05), ("seed", 0)))
        z = np.random.default_rng(int(seed)).standard_normal((int(m), green.shape[1]))
        quantile = 2.0 * float(special.gammaincinv(0.5 * m, delta / len(rows)))
        sizes = np.sqrt(((green @ z.T) ** 2).mean(axis=1) * m / quantile)
    for row, size in zip(rows, sizes, strict=True):
        name, said, terms = row["name"], row["sensitivity"], row["terms"]
        both = method not in ("inexact", "stationary")
        fits = said is None or (said >= size * (1.0 - 1e-6) and (not both or said <= size * (1.0 + 1e-6)))
        need(fits or method == "stationary", f"{name!r}: sensitivity is not {float(size)!r}")
        if "norm" in terms:
            need(near(terms["norm"], said * row["residual_norm"], 1e-9), f"{name!r}: norm is not σ‖r‖")
        if method in ("exact", "root", "inexact") and row["radius"] is not None:
            moved = abs(row["value"] - row["center"])
            fits = near(terms["correction"], moved, 1e-9, 1e-12 * (abs(row["value"]) + moved))
            need(fits, f"{name!r}: correction is not |value − center|")


def continuous(bundle: Bundle, proof: Row, case: Row, rows: list[Row], d: Discrete) -> list[tuple[float, float]]:
    """J(u) of every query from the stored states, fluxes and data."""
    mesh = Mesh(bundle, int(proof["degree"]))
    samples = Samples(bundle, mesh, proof, case)
    samples.system(d, rows)
    p = Side(bundle, mesh, "continuous/state", "source/f", "source/g", "continuous/flux")
    goals = [{**g, "constant": float(g["constant"]), "error": float(g["error"])} for g in proof["goals"]]
    held = np.unique(mesh.nodes_of(mesh.facets[mesh.kind == DIRICHLET]))
    asked: dict[int, Query] = {}
    for i, (row, goal) in enumerate(zip(rows, goals, strict=True)):
        need(goal["kind"].replace("ball", "average") == row["kind"], f"{row['name']!r}: another kind of query")
        need(
            min(goal["error"], goal["scale"], (goal["own"] or [0.0, 0.0])[1]) >= 0.0,
            f"{row['name']!r}: a negative bound",
        )
        if goal["acts"]:
            lift, flux = np.zeros(mesh.size), goal["kind"] == "flux"
            if flux:
                part = bundle(f"dual/facets{i}", None, whole=len(mesh.facets))
                others = np.setdiff1d(np.nonzero(mesh.kind == DIRICHLET)[0], part)
                apart = not np.isin(mesh.facets[part], mesh.facets[others]).any()
                need(np.all(mesh.kind[part] == DIRICHLET) and apart, f"{row['name']!r}: not a whole Dirichlet part")
                lift[mesh.nodes_of(mesh.facets[part])] = 1.0
            asked[i] = Query(bundle, p, i, flux)
            same = np.array_equal(asked[i].z.nodal[held], lift[held])
            need(same, f"{row['name']!r}: the dual state has other boundary values")
    for g in mesh.parts():
        p.measure(g)
        samples.primal(p, g)
        for i, query in asked.items():
            query.measure(g)
            samples.dual(i, query, g, goals[i], rows[i])
    p.finish()
    norms = Norms(p) if np.any(mesh.cubic) else None
    mismatch, found = samples.boundary(p), []
    for i, (row, goal) in enumerate(zip(rows, goals, strict=True)):
        best = (goal["constant"], goal["error"]) if goal["known"] else (0.0, math.inf)
        if i in asked:
            best = asked[i].bound(norms, goal)
        if mesh.d == 1 and goal["kind"] == "point" and not goal["known"]:
            best = min(best, on_a_line(p, float(goal["at"][0])), key=lambda b: b[1])
        samples.goal(i, asked.get(i), p, goal, row)
        own = goal.get("own") or [0.0, 0.0]  # of a prediction that was kept unprojected
        radius = float(up(best[1] + own[1] + (0.0 if goal["known"] else mismatch) + 2.0**-52 * abs(own[0])))
        found.append((best[0] + own[0], radius))
    return found


def holds(row: Row, c: float, radius: float, rounded: bool) -> None:
    """The claimed interval holds the one proved here; 1e-9 is allowed where rounding is not covered."""
    if row["radius"] is None:
        return
    slack = 0.0 if rounded else 1e-9 * (abs(c) + abs(row["value"]))
    low, high = math.fsum([c, -radius, slack, -row["lower"]]), math.fsum([row["upper"], -c, -radius, slack])
    line = f"{row['name']!r}: [{row['lower']!r}, {row['upper']!r}] is claimed, {c!r} ± {radius!r} is proved"
    need(math.isfinite(radius) and low >= 0.0 and high >= 0.0, line)


def verify(path: Any) -> list[str]:
    """Lines of the report; raises `Refused` with the line that fails."""
    bundle = Bundle(path)
    for name in ("certificate.json", "case.json", "proof.json"):
        need(name in bundle.json, f"{name}: is missing")
    certificate, case, proof = (bundle.json[n] for n in ("certificate.json", "case.json", "proof.json"))
    need("unsupported" not in proof, f"proof.json: this certificate cannot be re-checked, {proof.get('unsupported')}")
    need(bundle.versions == certificate.get("versions"), "manifest.json: other versions than in the certificate")
    rows = rows_agree(certificate, case, proof)
    d = Discrete(bundle, len(rows))
    state_agrees(d, rows, proof, bundle)
    rounded = all(row["rounding"] == "covered" for row in rows)
    lines = ["verified: every file has its SHA-256, dtype, shape and finite numbers"]
    lines.append("verified: value, residual norm, dofs and points of one compatible set A, b, ℓ, U; sums of the terms")
    lines.append("declared: A, b and ℓ, as stored, are the discrete system and queries of the case")
    if proof["target"] == "continuous":
        need(len(proof["goals"]) == len(rows), "proof.json: another number of goals")
        found = continuous(bundle, proof, case, rows, d)
        lines.append("verified: fluxes in H(div) by representation; divergence, means, oscillation, product bound")
        lines.append("declared: κ, c and groups of facets belong to the case")
        lines.append("declared: enclosures of the data, mollifiers and ∫fΦ (compared with samples)")
    else:
        green = bundle("witness/green", len(rows), len(d.free))
        if d.w.size:  # at the prediction itself
            green = bundle("witness/base", len(rows), len(d.free))
            d.adjoint(green, d.U, "base")
        if not proof["weighted"]:
            sensitivities_agree(green, rows, proof["method"], case)
        found, how = d.bounds(bundle, proof), proof["coercivity"]
        lines.append(f"verified: coercivity {how['alpha']!r} by {how['how']}; s = ℓ − Aᵀg; rounding")
    unused = set(bundle.arrays) - bundle.used
    need(not unused, f"{sorted(unused)[:1]}: is part of no proof")
    for row, (c, radius) in zip(rows, found, strict=True):
        holds(row, c, radius, rounded)
        if proof["target"] == "continuous" and proof["method"] in ALONE and row["radius"] is not None:
            fits = row["radius"] <= radius * (1.0 + 1e-4) + 1e-9 * abs(c) + 1e-290
            fits = fits and near(row["center"], c, 1e-9, 1e-4 * radius)
            need(fits, f"{row['name']!r}: {row['center']!r} ± {row['radius']!r} is not the interval of its witnesses")
        lines.append(f"{row['name']}: proved {c!r} ± {radius:.3e}; claimed [{row['lower']!r}, {row['upper']!r}]")
    if proof["weighted"]:
        lines.append("declared: residual norms and sensitivities in the weight that was chosen")
    if not rounded:
        lines.append("declared: rounding is negligible; claims may be narrower than proved by 1e-9 of the value")
    return lines + [f"declared: {c['claim']}" for c in certificate["assumptions"] if c["status"] == "declared"]


TROUBLE = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError, MemoryError)


def main(path: Any) -> int:
    """Print the report and the verdict; 0 where everything is re-proved, else 1."""
    try:
        with np.errstate(all="ignore"):
            lines = verify(path)
    except Refused as line:
        print(f"NOT VERIFIED: {line}")
        return 1
    except TROUBLE as error:
        print(f"NOT VERIFIED: malformed ({type(error).__name__}: {str(error)[:200]})")
        return 1
    print("\n".join([*lines, "VERIFIED"]))
    return 0
