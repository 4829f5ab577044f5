"""What the files of a bundle say, against each other and against the stored system: one compatible set."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy import special

from pinnpoint_verify.checker import Discrete, Mesh, length
from pinnpoint_verify.derivatives import readable
from pinnpoint_verify.formulas import formula
from pinnpoint_verify.glued import is_glued
from pinnpoint_verify.lengths import EXTREMES, NORMS, WHOLE
from pinnpoint_verify.reactions import reaction_load
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.rows import Row, drawn, is_number, near, same

SMALL = 1e-140
"""What is this small is zero: the producing side's bounds of zero are not quite."""
MOST_STEPS = 1000
"""Of Newton's method, from the prediction to the base point."""
MOST_NUMBERS = 2**28
"""Of the randomized method's draw."""
GOAL = {"kind", "known", "acts", "constant", "error", "scale", "radius", "kappa", "own", "compared", "raised"}
"""Of every query's bounded form."""
OWN: dict[str, set[str]] = {
    "point": {"at", "average"},
    "ball": {"at", "average"},
    "patch": set(),
    "flux": set(),
    "cells": set(),
    "block": {"at", "side"},
    "gradient": {"at", "axis", "flux"},
    "everywhere": {"boundary", "least", "local", "left"},
    "maximum": {"local"},
    "minimum": {"local"},
    "l2-error": {"mean"},
    "energy-error": set(),
}
"""Of each kind."""


def _words(goal: Row) -> tuple[str, ...]:
    """What a certificate may call a bounded form."""
    if goal["kind"] == "gradient":
        fits = type(goal["axis"]) is int and 0 <= goal["axis"] <= 2 and isinstance(goal["flux"], bool)
        need(fits, "proof.json: a derivative without its direction")
        return ("flux",) if goal["flux"] else ("gradient",)
    return {"ball": ("average",), "block": ("cells",), "cells": ("cells", "mean")}.get(goal["kind"], (goal["kind"],))


def base_point(d: Discrete, case: Row) -> Array:
    """The state that residual norm and sensitivities are of: U, or for a discrete target Newton steps on."""
    U, steps = np.array(d.U), case["certificate"]["options"].get("polish", 0)
    fits = type(steps) is int and 0 <= steps <= MOST_STEPS and (steps == 0 or d.w.size > 0)
    need(fits, f"case.json: Newton steps of a linear system, or not 0 to {MOST_STEPS}")
    for _ in range(steps if case["certificate"]["target"] == "discrete" else 0):
        hi, lo, _ = d.residual(U, np.zeros(d.N))
        step = spla.splu(sp.csc_array(d.rows[:, d.free] + d.slope(U))).solve(hi + lo)
        U[d.free] -= step
        need(np.all(np.isfinite(U)), "u: Newton's method leads nowhere from it")
        if np.abs(step).max() <= 1e-15 * np.abs(U).max(initial=0.0):
            break
    return U


def state_agrees(d: Discrete, rows: list[Row], proof: Row, bundle: Bundle, base: Array) -> None:
    """Values, residual norm and points belong to the stored U, its base point, A, b and ℓ: one compatible set."""
    need(bundle.json["certificate.json"].get("dofs") == len(d.free), "certificate: dofs is not the number of unknowns")
    hi, lo, _ = d.residual(base, np.zeros(d.N))
    if "reaction" in proof:
        lo = lo + reaction_load(bundle, readable(proof["reaction"]["g"]), base)[d.free]
    norm, floor = length(hi + lo), length(abs(d.rows) @ np.abs(d.U)) * 1e-13 + SMALL
    values, sizes = d.L @ d.U + d.constants, abs(d.L) @ np.abs(d.U) + np.abs(d.constants)
    for i, row in enumerate(rows):
        if row["kind"] in EXTREMES:
            values[i] = np.max(d.U) if row["kind"] == "maximum" else np.min(d.U)
    points = bundle("mesh/nodes", None, None) if "mesh/nodes" in bundle else np.zeros((0, 0))
    for i, row in enumerate(rows):
        name, here = row["name"], d.L[[i]]
        if not proof.get("lift"):
            fits = near(row["value"], values[i], 0.0, 1e-13 * sizes[i] + (1e-300 if sizes[i] > 0.0 else 0.0))
            need(fits, f"{name!r}: value is not that of U, {float(values[i])!r}")
        fits = proof["weighted"] or near(row["residual_norm"], norm, 1e-6, floor)
        need(fits, f"{name!r}: residual_norm is not ‖A U − b‖ = {norm!r}")
        if row["kind"] not in ("point", "average"):
            continue
        x = here.data
        need(near(x.sum(), 1.0, 1e-12), f"{name!r}: ℓ is no mean of a component")
        if "bent" in proof or is_glued(bundle):  # of a curved domain, or with periodic pairs: by functionals.py
            continue
        off = float(np.abs(x @ points[here.indices // proof["components"]] - np.array(row["at"])).max())
        close = off <= 1e-12 * np.abs(points).max() * larger(1.0, np.abs(x).sum())
        need(close, f"{name!r}: ℓ belongs to another point, {off!r} away")


def prediction_agrees(d: Discrete, rows: list[Row], case: Row, proof: Row, bundle: Bundle) -> None:
    """U and the raw values at points are those of the formula that the case predicts with, where it has one."""
    given = case.get("prediction", {})
    if proof.get("lift") or given.get("source") not in ("expression", "zero"):
        return
    if "bent" in proof and given["source"] == "expression":  # nodes are elsewhere in a curved domain
        return
    nodes, count = bundle("mesh/nodes", None, None), proof["components"]
    parts = given["expression"] if given["source"] == "expression" else 0.0
    parts = parts if isinstance(parts, list) else [parts] * count
    need(len(parts) == count, "case.json: the prediction has another number of components")
    every = np.stack([formula(part, nodes) for part in parts], axis=1).ravel()
    need(np.all(np.isfinite(every)), "case.json: the prediction is not finite at a node")
    own = every[d.free]
    close = np.abs(d.U[d.free] - own) <= 1e-9 * np.max(np.abs(own), initial=0.0)
    need(np.all(close), "u: is not the prediction of the case (sampled)")
    far = given["source"] == "expression" and np.max(np.abs(d.U - every), initial=0.0) > 1e-9 * np.max(
        np.abs(every), initial=0.0
    )
    for goal, row in zip(proof.get("goals", []), rows, strict=False):  # these are about the values as they were given
        seen = not far or goal.get("kind") not in ("everywhere", *NORMS)
        need(
            seen, f"{row['name']!r}: the case's prediction has other values on the boundary than u, which were dropped"
        )
    for row in rows:
        need(row["raw"] is None or given["source"] == "expression", f"{row['name']!r}: raw is not the prediction's")
        if row["kind"] == "point" and row["raw"] is not None:
            part = parts[0 if count == 1 else ("x", "y", "z").index(row["component"])]
            value = float(formula(part, np.array([row["at"]], dtype=float))[0])
            fits = near(row["raw"], value, 1e-9, 1e-12 * np.max(np.abs(own), initial=0.0))
            need(fits, f"{row['name']!r}: raw is not the prediction's, {value!r} (sampled)")


def given_agrees(d: Discrete, rows: list[Row], proof: Row, bundle: Bundle) -> None:
    """Verdicts on values at nodes are on them as they were given, no further from U than conditions changed them."""
    said = bundle.json["certificate.json"].get("prediction", {})
    if proof.get("lift") or not str(said.get("extraction")).startswith("nodal values"):
        return
    most, sizes = said.get("projection_mismatch"), np.asarray(abs(d.L).sum(axis=1)).ravel()
    need(is_number(most) and most >= 0.0, "prediction: what the boundary conditions changed is no number")
    for row, size in zip(rows, sizes.tolist(), strict=True):
        name, raw, v = row["name"], row["raw"], row["value"]
        judged = raw is not None or row.get("accept") is None or most == 0.0
        need(judged, f"{name!r}: the verdict is not on the prediction as it was given, before conditions changed it")
        fits = raw is None or abs(raw - v) <= size * most * (1.0 + 1e-9) + 1e-12 * (abs(raw) + abs(v))
        need(fits, f"{name!r}: raw is further from value than the boundary conditions changed the prediction")


def not_above_energies(d: Discrete, alpha: float, vectors: Sequence[Array]) -> None:
    """No coercivity exceeds vᵀAv/|v|²; Green vectors and states are smooth, so that theirs are near the smallest."""
    B = d.rows[:, d.free]
    for v in vectors:
        size = float(v @ v)
        least = float(v @ (B @ v)) / size if size > 1e-300 else math.inf
        need(alpha <= least * (1.0 + 1e-6), f"coercivity: {alpha!r} is declared, and a stored vector has {least!r}")


def sensitivities_agree(
    green: Array, rows: list[Row], method: str, case: Row, alpha: float, start: Array, tall: bool = False
) -> None:
    """σ = ‖g‖₂ for the weight of case files, the identity; from the seed's probes for the randomized method.

    `start` are the values at the base point. Of least squares only a part of the residual counts in σ‖r‖.

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
    for row, size, first in zip(rows, sizes, start.tolist(), strict=True):
        name, said, terms = row["name"], row["sensitivity"], row["terms"]
        both = method not in ("inexact", "stationary")
        loose = not both or "sigma" in case["certificate"]["options"]  # the caller's own upper bound
        fits = said is None or (said >= size * (1.0 - share) and (loose or said <= most * size + SMALL))
        need(fits or method == "stationary", f"{name!r}: sensitivity is not {float(size)!r}")
        if "norm" in terms:
            whole = said * row["residual_norm"]
            fits = terms["norm"] <= whole * (1.0 + 1e-9) if tall else near(terms["norm"], whole, 1e-9)
            need(fits, f"{name!r}: norm is not σ‖r‖")
        if method in ("exact", "root", "inexact"):
            moved = abs(first - row["center"])
            fits = near(terms["correction"], moved, 1e-9, (1e-12 + 1e-14 / alpha) * (abs(first) + moved))
            need(fits, f"{name!r}: correction is not |value − center|")


def goals_agree(rows: list[Row], proof: Row, case: Row, mesh: Mesh, harmonic: bool) -> list[Row]:
    """What is asked of the solution, where the case has it; refuses forms for which there is no theorem."""
    lift, problem = bool(proof.get("lift")), case["problem"]
    need(lift == bool(case["certificate"].get("lift")), "proof.json: a lift that the case does not have")
    need(len(proof["goals"]) == len(rows), "proof.json: another number of goals")
    need(problem.get("degree", mesh.degree) == mesh.degree, "mesh: not of the degree of the case")
    kind, cubic = problem.get("kind", "semilinear"), bool(np.any(mesh.cubic))
    need(kind == "semilinear" or not cubic, "cubic: not part of the case")
    fits = mesh.degree == 1 or not (cubic or (harmonic and mesh.reaction is None))
    need(fits, "degree: cubic reactions are for linear elements")
    fits = not harmonic or cubic or mesh.reaction is not None or kind == "semilinear"
    need(fits, "dual: kernels of a linear problem")
    given, some = proof["range"], any(goal["compared"] for goal in proof["goals"])
    fits = given is None or (isinstance(given, list) and len(given) == 2 and all(map(is_number, given)))
    need(fits and (given is not None) == some, "range: not two numbers, or of no use")
    goals = []
    for row, query, given in zip(rows, case["queries"], proof["goals"], strict=True):
        goal = {**given, "constant": float(given["constant"]), "error": float(given["error"])}
        name, kind, own = row["name"], goal["kind"], goal["own"]
        need(kind in OWN, f"{name!r}: unknown kind of query")
        need(given.keys() == GOAL | OWN[kind], f"{name!r}: a wrong form")
        need((goal["radius"] is None) == (goal["kappa"] is None), f"{name!r}: a ball without its diffusion")
        need(row["kind"] in _words(goal), f"{name!r}: another kind of query")
        need(lift == (own is not None), f"{name!r}: a value of its own, but nothing was lifted, or none")
        need(smaller(goal["error"], goal["scale"], (own or [0.0, 0.0])[1]) >= 0.0, f"{name!r}: a negative bound")
        fits = all(isinstance(goal[k], bool) for k in ("known", "acts", "compared"))
        need(fits and not (goal["known"] and goal["acts"]), f"{name!r}: both known and to be found")
        fits = isinstance(given["raised"], bool) and not (given["raised"] and (given["compared"] or given["known"]))
        need(fits and (not given["raised"] or proof["raised"] is not None), f"{name!r}: no lifted Dirichlet data")
        need(
            not goal["known"] or kind in ("point", "patch", *WHOLE),
            f"{name!r}: a {kind} is not known from the data",
        )
        if kind in ("point", "ball"):
            need(same(goal["at"], row["at"]), f"{name!r}: not where the certificate has it")
            need(same(goal["average"], query.get("radius", 0.0)), f"{name!r}: another radius than in the case")
        if kind in ("block", "gradient"):
            need(same(goal["at"], row["at"]), f"{name!r}: not where the certificate has it")
            fits = same(goal["side"], row["side"]) if kind == "block" else same("xyz"[goal["axis"]], row["component"])
            need(fits, f"{name!r}: another side or direction than in the certificate")
        if kind in WHOLE:
            need(goal["known"] and not harmonic and not goal["compared"], f"{name!r}: no theorem for it here")
            need(not own or own == [0.0, 0.0], f"{name!r}: a value of its own")
        fits = kind != "gradient" and (kind != "flux" or mesh.exchange is not None)  # claims.py looks at the group
        need(fits or not harmonic, f"{name!r}: no theorem for fluxes of such problems")
        goals.append(goal)
    return goals
