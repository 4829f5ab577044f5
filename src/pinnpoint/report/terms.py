"""What a radius is made of, in words, and what would shrink it most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pinnpoint.report.numbers import above, near, percent
from pinnpoint.systems.targets import MESH

SETTLED = 1e-6
"""A radius below this share of its value is not what is wrong with a discrete solution."""
LIMIT = 1e-12
"""A radius below this share of its value is floating-point rounding: there is nothing left to gain."""
TERMS: dict[str, tuple[str, str, str]] = {
    "transfer": ("discretisation", "#4f7cc4", "from the discrete solution to the PDE's own"),
    "quadrature": ("data", "#4aa3a2", "source and data integrals, known within bounds"),
    "boundary": ("boundary data", "#7a9e3f", "boundary values that the elements do not meet exactly"),
    "evaluation": ("evaluation", "#a7844d", "the functional that was certified against the one that was evaluated"),
    "norm": ("residual norm", "#c8663f", "sensitivity times the size of the residual"),
    "tail": ("tail", "#c8913a", "the residual outside the ball, bounded by its norm"),
    "remainder": ("nonlinearity", "#a05a9c", "the Taylor remainder of the nonlinear problem"),
    "algebra": ("algebra", "#8b6fc0", "what the linear solves left over"),
    "rounding": ("rounding", "#7d8794", "floating-point rounding"),
    "correction": ("correction", "#5a6b7d", "the computed error of the prediction, moved into the centre"),
    "local": ("local part", "#5a6b7d", "the computed error near the query, moved into the centre"),
    "mismatch": ("mismatch", "#5a6b7d", "the model's own output against its projection"),
}
"""Name of a term: what it is called, its colour, what it means."""


@dataclass(frozen=True)
class Share:
    """One part of a radius; an infinite one has no size and takes all of it."""

    term: str
    size: float | None
    share: float


@dataclass(frozen=True)
class Advice:
    """The one action that would narrow an interval most."""

    action: str
    why: str
    left: str
    """What would remain without the largest term."""
    hint: str = ""
    """How to go about it."""


def label(term: str) -> str:
    """What a term is called."""
    return TERMS[term][0] if term in TERMS else term


def shares(row: Mapping[str, Any], counted: list[str]) -> list[Share]:
    """The terms of a radius, the largest first; those that are infinite count for everything."""
    terms = {name: row["terms"][name] for name in counted if name in row["terms"]}
    endless = [name for name, size in terms.items() if size is None]
    if endless:
        return [Share(name, None, 1.0 / len(endless)) for name in endless]
    total = sum(terms.values())
    parts = [Share(name, size, size / total if total > 0.0 else 0.0) for name, size in terms.items()]
    return sorted(parts, key=lambda part: -part.share)


def advise(row: Mapping[str, Any], data: Mapping[str, Any]) -> Advice:
    """Derived from the largest term of the radius and from the method that made it."""
    parts = shares(row, data["radius_terms"])
    if (about := _mesh(row, data)) is not None:
        return about
    if (worth := row.get("narrowing")) is not None and worth < 1.0:
        why = f"the lift did not pay, the interval is {near(1.0 / max(worth, 1e-300), 2)} times as wide as without it"
        return Advice("Leave out the lift, or train the prediction further", why, "")
    if not parts or row["radius"] == 0.0:
        return Advice("Nothing to do", "the interval is a single number", "")
    first = parts[0]
    why = f"{percent(first.share)} of the width is {label(first.term)}"
    if first.size is None:
        return Advice(_action(first.term, row, data), f"{label(first.term)} could not be bounded", "")
    if row["radius"] is not None and row["radius"] <= LIMIT * abs(row["center"]):
        return Advice("Nothing to do", "the width is at the level of floating-point rounding", "")
    rest = sum(part.size or 0.0 for part in parts[1:])
    left = f"all else adds up to ±{above(rest, 2)}" if rest > 0.0 else "nothing else adds to it"
    return Advice(_action(first.term, row, data), why, left, _hint(first.term, row, data))


def _mesh(row: Mapping[str, Any], data: Mapping[str, Any]) -> Advice | None:
    """Where the interval is of the discrete solution, and the mesh leaves more than its width."""
    left, radius = row.get("mesh_estimate"), row["radius"]
    if data.get("interval_of") != MESH or radius is None:
        return None
    where = f"near ‘{row['name']}’" if row.get("at") else f"for ‘{row['name']}’"
    if left is None and radius <= SETTLED * abs(row["center"]):
        why = "the interval of the discrete solution is narrow, and only other meshes show what this one leaves"
        return Advice(f"Compare with a finer mesh {where}", why, "")
    if left is None or left <= radius:
        return None
    far = "far " if left > 10.0 * radius else ""
    why = f"this one leaves about {near(left, 2)} (an estimate); the interval of the discrete solution is {far}narrower"
    return Advice(f"A finer mesh {where}", why, "")


def _action(term: str, row: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    name, method = row["name"], data["method"]
    where = f"near ‘{name}’" if row.get("at") else f"for ‘{name}’"
    if term in ("transfer", "boundary", "quadrature") or (term == "remainder" and row["target"] == "continuous"):
        return _finer(term, where)
    if term == "tail":
        return f"A larger ball around ‘{name}’"
    if term == "norm":
        return "A better prediction"
    if term == "remainder":
        return "A better prediction"
    if term == "algebra":
        tighter = {"inexact": "A tighter adjoint: more iterations", "randomized": "More probes"}
        return tighter.get(method, "A tighter adjoint, or a better prediction")
    if term == "evaluation":
        return f"A finer mesh {where}, so that the evaluated functional comes closer to the certified one"
    if term == "rounding":
        return "A better-scaled system: the width is floating-point rounding"
    return f"Look at the term ‘{term}’ of ‘{name}’"


def _finer(term: str, where: str) -> str:
    if term == "boundary":
        return "A finer mesh along the boundary, where the given values are not met exactly"
    if term == "quadrature":
        return f"A finer mesh {where}: the data is enclosed too coarsely"
    return f"A finer mesh {where}"


def _hint(term: str, row: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """How to go about it."""
    if term == "tail":
        return _wider(row, data)
    if term == "norm":
        other = "; method = “exact” computes the error instead" if data["method"] == "norm" else ""
        return f"the width is proportional to its residual{other}"
    if term == "remainder":
        what = "the discretisation error" if row["target"] == "continuous" else "its error"
        return f"the remainder falls with the square of {what}"
    if term == "algebra" and data["method"] == "exact":
        return "in Python, pp.Exact(refine=True)"
    if term not in ("transfer", "boundary", "quadrature"):
        return ""
    refinement = data.get("refinement") or {}
    if refinement.get("stopped"):
        return f"refinement stopped early: {refinement['stopped']}"
    return "a tolerance in the case file refines by itself" if data.get("refines") and not refinement else ""


def _wider(row: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The first radius of the sweep that halves the interval."""
    sweep = data.get("sweep")
    if not sweep or row["radius"] is None:
        return ""
    i = [r["name"] for r in data["queries"]].index(row["name"])
    proved = [float(r[i]) for r in sweep["radius"]]
    k = next((k for k, r in enumerate(proved) if r <= 0.5 * row["radius"]), None)
    return "" if k is None else f"radius {sweep['radii'][k]:.3g} would give ±{above(proved[k], 2)}"
