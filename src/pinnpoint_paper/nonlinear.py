"""What the two nonlinear studies share: trained base points on a line, certificates, and their figure."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pinnpoint.base.errors import CertificationError
from pinnpoint.certifiers.nonlinear.root import Root
from pinnpoint.certifiers.nonlinear.stationary import Stationary
from pinnpoint.certifiers.verb import certify
from pinnpoint.transfer.declared.comparison import Comparison
from pinnpoint_paper.manufactured import STATIONS, line, wave
from pinnpoint_paper.plots import BLUE, GOLD, GREEN, GREY, RED, canvas, label, legend, logs, ticks
from pinnpoint_paper.predictions import predict, source_of
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, having, ranged, slope, tell

Method = type[Root] | type[Stationary]


def newton(problem: Any) -> Any:
    """The discrete root by Newton's method on dense matrices, from zero, until it no longer moves."""
    y = np.zeros(problem.system.n)
    for _ in range(60):
        J = problem.system.jacobian(y, rounding=False)[0].toarray()
        step = np.linalg.solve(J, problem.system.residual(y, rounding=False).hi)
        y = y - step
        if np.abs(step).max() < 1e-15:
            break
    return problem.space.vector_of(y)


def _certified(problem: Any, U: Any, queries: Any, method: Method, **more: Any) -> tuple[Any, int]:
    """A certificate at the base point, after as few Newton steps as its proof needs."""
    for steps in range(6):
        try:
            return certify(problem, U, queries, method(polish=steps, **more), target="discrete"), steps
        except CertificationError:
            continue
    raise CertificationError("no root verified after five Newton steps")


def _one(nodes: int, seed: int, epochs: int, method: Method) -> dict[str, Any]:
    problem = line(nodes)
    prediction = predict(problem, wave, seed, epochs, 3e-4)
    queries, truth = problem.points(STATIONS), wave(STATIONS)
    U, U_pi = problem.extract(prediction.field).U, problem.extract(wave).U
    c, steps = _certified(problem, U, queries, method)
    wide, _ = _certified(problem, U, queries, method, correct=False)
    target = queries.L @ newton(problem)
    evaluation = np.abs(queries.L @ U_pi - truth) * (1 + 1e-12) + 1e-15
    compared = Comparison(evaluation=evaluation, state=U_pi)
    paper = certify(problem, U, queries, method(polish=steps), transfer=compared)
    norm = certify(problem, U, queries, method(polish=steps, correct=False), transfer=compared)
    ours = certify(problem, U, queries)
    balls = c.details["balls"]
    name = min(balls, key=lambda key: balls[key]["radius"])
    return {
        "nodes": nodes,
        "seed": seed,
        "kind": prediction.kind,
        "loss": prediction.loss,
        "newton_steps": steps,
        "value_error": np.abs(c.value - truth),
        "target_error": np.abs(c.center - target),
        "discrete_radius": c.radius,
        "norm_discrete_radius": wide.radius,
        "center_error": np.abs(paper.center - truth),
        "radius": paper.radius,
        "norm_radius": norm.radius,
        "norm_error": np.abs(norm.center - truth),
        "remainder": c.terms["remainder"],
        "comparison": paper.terms["transfer"] + paper.terms["evaluation"],
        "ball": balls[name]["radius"],
        "ball_norm": name,
        "residual": c.residual_norm,
        "proved_radius": ours.radius,
        "proved_held": ours.contains(truth),
        "guarantee": str(ours.guarantee),
        "discrete_guarantee": str(c.guarantee),
    }


def _parts(method: Method, form: str) -> dict[str, Part]:
    meshes, seeds, epochs = ((31, 63), (0,), 400) if form == "quick" else ((31, 63, 95, 127), (0, 1, 2), 1400)
    return {f"{n} nodes, seed {s}": partial(_one, n, s, epochs, method) for n in meshes for s in seeds}


def by_mesh(results: Results, name: str, reduce: Any = np.max) -> tuple[Any, Any]:
    """Numbers of nodes, and one number a mesh over seeds and queries."""
    parts = having(results, "")
    n = sorted({p["nodes"] for p in parts})
    return np.array(n), np.array([reduce([p[name] for p in parts if p["nodes"] == k]) for k in n])


def _checks(what: str, results: Results) -> list[Check]:
    parts = having(results, "")
    total = sum(len(p["radius"]) for p in parts)
    _, radius = by_mesh(results, "radius")
    _, norm = by_mesh(results, "norm_radius")
    _, remainder = by_mesh(results, "remainder", np.median)
    _, comparison = by_mesh(results, "comparison", np.median)
    _, gap = by_mesh(results, "target_error")
    held = all(np.all(np.array(p["target_error"]) <= np.array(p["discrete_radius"]) + 1e-14) for p in parts)
    above = all(np.all(np.array(p["radius"]) >= np.array(p["center_error"])) for p in parts)
    wide = all(np.all(np.array(p["norm_radius"]) >= np.array(p["norm_error"])) for p in parts)
    return [
        Check(
            f"a {what} is verified at every base point, and its intervals hold it",
            held and all(p["discrete_guarantee"] == "deterministic" for p in parts),
            f"{total} intervals, largest distance {tell(float(gap.max()))}",
        ),
        Check("reported radii bound the corrected errors", above, f"{total} of {total}"),
        Check("norm-only radii bound the errors of the prediction", wide, f"{total} of {total}"),
        Check("the corrected certificate contracts under refinement", np.all(np.diff(radius) < 0.0), ranged(radius)),
        Check(
            "it is tighter than the norm-only one",
            np.all(radius < norm),
            f"norm-only over corrected, worst query: {ranged(norm / radius)}",
        ),
        Check(
            "the comparison-to-truth term dominates the remainder",
            np.all(comparison > 3.0 * remainder),
            f"median ratio {ranged(comparison / np.maximum(remainder, 1e-300))}",
        ),
        Check(
            "beyond the paper: computed bounds alone hold the PDE's solution",
            all(np.all(p["proved_held"]) and p["guarantee"] == "deterministic" for p in parts),
            f"{total} of {total} deterministic",
        ),
    ]


def _rows(prefix: str, results: Results) -> list[Row]:
    parts = having(results, "")
    n, radius = by_mesh(results, "radius")
    _, norm = by_mesh(results, "norm_radius")
    _, error = by_mesh(results, "center_error")
    _, remainder = by_mesh(results, "remainder", np.median)
    _, comparison = by_mesh(results, "comparison", np.median)
    _, ball = by_mesh(results, "ball")
    _, proved = by_mesh(results, "proved_radius", np.median)
    steps = sorted({p["newton_steps"] for p in parts})
    said = "none" if steps == [0] else f"up to {steps[-1]}, where the proof at the network's own values was refused"
    order = f", order {tell(slope(1.0 / (n + 1), radius), 2)} in h" if len(n) > 1 else ""
    return [
        Row(
            "worst corrected error and radius",
            f"errors {ranged(error)}, radii {ranged(radius)}{order}",
            f"{prefix}-tighter",
            f"base points: {source_of(p['kind'] for p in parts)}; the paper does not state its solution, ours is "
            f"sin(πx) + 0.3 sin(3πx)",
        ),
        Row("worst norm-only radius", ranged(norm), f"{prefix}-tighter", ""),
        Row(
            "median remainder, median comparison-to-truth",
            f"{ranged(remainder)}; {ranged(comparison)}",
            f"{prefix}-split",
            "the remainder is quadratic in the network's error",
        ),
        Row("verified ball around the base point", ranged(ball), "root-ball", f"Newton steps before the proof: {said}"),
        Row(
            "median radius with computed bounds alone",
            ranged(proved),
            "",
            "beyond the paper: no knowledge of the solution, rounding included",
        ),
    ]


def _draw(prefix: str, what: str, results: Results) -> list[Drawing]:
    parts = having(results, "")
    figure, axes = canvas(2, 2, (9.0, 6.6))
    ax = axes[0, 0]
    for name, style, color, text in (
        ("norm_radius", "s-", GOLD, "norm-only certificate"),
        ("norm_error", "+", GOLD, "error of the prediction"),
        ("radius", "o-", BLUE, "corrected certificate"),
        ("center_error", "x", RED, "corrected error"),
        ("proved_radius", "^--", GREEN, "computed bounds alone (ours)"),
    ):
        n, y = by_mesh(results, name)
        ax.plot(n, y, style, color=color, label=text, ms=8 if style in "x+" else 4.5)
    logs(ax, "interior nodes", "worst over queries and seeds (dimensionless)", "errors and certificates")
    ticks(ax, n)
    legend(ax, 60.0, ncols=2, columnspacing=1.0, handlelength=1.4)
    ax = axes[0, 1]
    at = np.arange(len(n), dtype=float)
    for k, (name, color, text) in enumerate(
        (("comparison", BLUE, "comparison to truth"), ("remainder", RED, "nonlinear remainder"))
    ):
        ax.bar(at + 0.36 * (k - 0.5), by_mesh(results, name, np.median)[1], 0.34, color=color, label=text)
    ax.set_yscale("log")
    ax.set_xticks(at, [str(v) for v in n])
    label(ax, "interior nodes", "median contribution (dimensionless)", "width split")
    legend(ax, 8.0)
    ax = axes[1, 0]
    ax.plot(n, by_mesh(results, "residual")[1], "o-", color=GREY, label="residual norm at the base point")
    ax.plot(
        n,
        by_mesh(results, "ball")[1],
        "s-",
        color=GREEN,
        label=f"radius of the verified ball ({parts[0]['ball_norm']} norm)",
    )
    logs(ax, "interior nodes", "largest over seeds (dimensionless)", f"verified {what}")
    ticks(ax, n)
    legend(ax, 4.0)
    ax = axes[1, 1]
    colors = dict(zip(n, (BLUE, GREEN, GOLD, RED), strict=False))
    for k in n:
        x = np.concatenate([p["center_error"] for p in parts if p["nodes"] == k])
        y = np.concatenate([p["radius"] for p in parts if p["nodes"] == k])
        ax.plot(np.maximum(x, 1e-9), y, ".", color=colors[k], label=f"{k} nodes", ms=7)
    ends = np.array([min(ax.get_xlim()[0], ax.get_ylim()[0]), max(ax.get_xlim()[1], ax.get_ylim()[1])])
    ends = np.maximum(ends, 1e-6)
    ax.plot(ends, ends, ":", color=GREY)
    logs(ax, "corrected error (dimensionless)", "reported radius (dimensionless)", "query by query")
    legend(ax)
    return [
        Drawing(
            prefix,
            figure,
            f"Nonlinear certificates of a verified {what}; base points: {source_of(p['kind'] for p in parts)}. Top "
            f"left: worst "
            "errors and certificates. Top right: median split of the width. Bottom left: residual and verified ball. "
            "Bottom right: error against radius, query by query; the dotted line is equality. Values dimensionless.",
        )
    ]


def study(
    name: str, title: str, about: str, where: str, prefix: str, what: str, method: Method, claims: tuple[str, ...]
) -> Study:
    """A nonlinear study with one method."""
    return Study(
        name,
        title,
        about,
        where,
        partial(_parts, method),
        partial(_checks, what),
        partial(_rows, prefix),
        partial(_draw, prefix, what),
        claims=claims,
    )
