"""Beyond the paper: guaranteed values of the PDE in 2D and 3D, the neural lift, rounding, and a published case."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pinnpoint_paper.beyond_parts import lift, networks, poisson, rounding, values
from pinnpoint_paper.plots import BLUE, GOLD, GREEN, GREY, PURPLE, RED, canvas, label, legend, logs, ticks
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, having, ranged, slope, tell


def _parts(form: str) -> dict[str, Part]:
    quick = form == "quick"
    found: dict[str, Part] = {f"2D, {n} cells": partial(values, 2, n) for n in ((6, 12) if quick else (8, 16, 32, 64))}
    found |= {f"3D, {n} cells": partial(values, 3, n) for n in ((2, 4) if quick else (4, 8, 12))}
    found["lift"] = partial(lift, 12, (1e-1, 1e-3) if quick else (1e-1, 1e-2, 1e-3, 1e-4, 1e-5))
    if not quick:
        found["networks"] = partial(networks, 16)
    found["rounding"] = partial(rounding, 40 if quick else 600)
    found["poisson"] = partial(poisson, 200, 1000, 12, 3) if quick else partial(poisson, 1600, 8000, 32, 9)
    return found


def _worst(parts: list[Any], name: str) -> Any:
    return np.array([np.max(p[name]) for p in parts])


def _orders(results: Results, d: int) -> str:
    parts = having(results, f"{d}D")
    h = [1.0 / p["cells"] for p in parts]
    return ", ".join(tell(slope(h, _worst(parts, name)), 2) for name in ("linear", "quadratic"))


def _below(parts: list[Any]) -> tuple[int, int]:
    """How many estimates are below the error they estimate, of how many."""
    low = [np.array(p["estimate"]) < np.array(p["error"]) for p in parts]
    return int(np.sum([np.sum(v) for v in low])), sum(v.size for v in low)


def _checks(results: Results) -> list[Check]:
    parts = having(results, "2D") + having(results, "3D")
    count = sum(np.size(p["held"]) for p in parts)
    held = all(np.all(p["held"]) and set(p["guarantee"]) == {"deterministic"} for p in parts)
    missed, total = _below(parts)
    ratio = np.concatenate([np.array(p["norm"]) / np.array(p["linear"])[p["points"] :] for p in parts])
    rows, counted, case = results["lift"]["rows"], results["rounding"], results["poisson"]
    radius, size = (np.array([r[k] for r in rows]) for k in ("radius", "size"))
    scaled = np.max(radius, axis=1) / size
    return [
        Check("all guaranteed intervals hold the PDE's own solution, in 2D and 3D", held, f"{count} of {count}"),
        Check(
            "a dual-weighted estimate is no bound: it falls below the error at times",
            missed > 0,
            f"{missed} of {total} estimates are below the error",
        ),
        Check(
            "bounds by norms alone are wider than ours for averages",
            np.all(ratio > 1.0),
            f"{ranged(ratio)} times; for point values in 2D and 3D they do not exist",
        ),
        Check(
            "the radius of the lift is proportional to the prediction's error",
            float(scaled.max() / scaled.min()) < 1.1 and all(np.all(r["held"]) for r in rows),
            f"radius over ε between {ranged(scaled, 4)}",
        ),
        *_network_checks(results),
        Check(
            "naive float64 intervals miss the exact value, enclosed ones never",
            counted["naive"] > 0 and counted["enclosed"] == 0,
            f"{counted['naive']} and {counted['enclosed']} of {counted['intervals']}",
        ),
        Check(
            "the published Poisson case: proved bounds of the network's error hold",
            np.all(case["held"])
            and np.all(np.array(case["bound"]) >= np.array(case["error"]))
            and case["guarantee"] == "deterministic",
            f"largest bound {tell(max(case['bound']))}, largest error {tell(max(case['error']))} at {case['queries']} "
            f"points",
        ),
    ]


def _network_checks(results: Results) -> list[Check]:
    if "networks" not in results:
        return []
    rows = results["networks"]["rows"]
    radius = np.array([np.max(r["radius"]) for r in rows])
    return [
        Check(
            "the better a trained PINN, the narrower its proof on the same mesh",
            np.all(np.diff(radius) < 0.0)
            and all(np.all(r["held"]) and r["guarantee"] == "deterministic" for r in rows),
            f"worst radius {', '.join(tell(v) for v in radius)} for the rough, the fair and the good network",
        )
    ]


def _network_rows(results: Results) -> list[Row]:
    if "networks" not in results:
        return []
    rows, cells = results["networks"]["rows"], results["networks"]["cells"]
    plain = max(rows[0]["plain"])
    return [
        Row(
            f"trained PINNs of the benchmark under the lift, {cells} cells a side: worst radius (worst error)",
            ", ".join(f"{r['name']} {tell(max(r['radius']))} ({tell(max(r['error']))})" for r in rows),
            "",
            f"without a prediction the same mesh proves {tell(plain)}; the networks ship with the package",
        )
    ]


def _rows(results: Results) -> list[Row]:
    parts = having(results, "2D") + having(results, "3D")
    missed, total = _below(parts)
    found = []
    for d in (2, 3):
        last = having(results, f"{d}D")[-1]
        found.append(
            Row(
                f"{d}D, {last['cells']} cells a side: worst radius, linear and quadratic elements",
                f"{tell(max(last['linear']))}, {tell(max(last['quadratic']))} (error of linear elements "
                f"{tell(max(last['error']))}); orders {_orders(results, d)}",
                "",
                f"the paper declares its transfer in 2D and 3D; certified in {tell(last['certify_seconds'][0], 2)} and "
                f"{tell(last['certify_seconds'][1], 2)} s",
            )
        )
    counted, rows, case = results["rounding"], results["lift"]["rows"], results["poisson"]
    narrowing = [float(np.min(np.array(r["plain"]) / np.array(r["radius"]))) for r in rows]
    return [
        *found,
        Row(
            "dual-weighted estimates below the true error",
            f"{missed} of {total}",
            "",
            "estimated with quadratic elements on the same mesh",
        ),
        Row(
            "neural lift: narrower than without the prediction",
            ", ".join(f"ε = {r['size']:g}: {n:.0f} times" for r, n in zip(rows, narrowing, strict=True)),
            "",
            "predictions (1 − ε)u* as formulas: what a network with such a residual would give",
        ),
        *_network_rows(results),
        Row(
            "naive float64 intervals that miss the exact value",
            f"{counted['naive']} of {counted['intervals']}",
            "",
            f"enclosed ones: {counted['enclosed']}, at a median radius of {tell(counted['median_radius'])}; truth in "
            f"rational arithmetic",
        ),
        Row(
            "the Poisson case of Mukherjee et al.: proved bound of the network's error",
            f"{tell(max(case['bound']))} (error {tell(max(case['error']))}) at {case['queries']} points, fitted in "
            f"{tell(case['fit_seconds'], 2)} s and certified in {tell(case['certify_seconds'], 2)} s on one core",
            "other-poisson",
            f"the same problem and kind of network ({case['units']} random tanh features), fitted anew since their "
            f"weights "
            "are not published; theirs is one bound for the whole square, ours are bounds at points",
        ),
    ]


def _draw(results: Results) -> list[Drawing]:
    figure, axes = canvas(2, 2, (9.4, 6.8))
    for ax, d in zip(axes[0], (2, 3), strict=True):
        parts = having(results, f"{d}D")
        n = [p["cells"] for p in parts]
        far = [np.max(p["norm"]) for p in parts]
        ax.plot(n, far, "D-", color=GOLD, label="norms alone (averages only)")
        ax.plot(n, _worst(parts, "linear"), "o-", color=BLUE, label="guaranteed, linear elements")
        ax.plot(n, _worst(parts, "quadratic"), "s-", color=GREEN, label="guaranteed, quadratic elements")
        ax.plot(n, _worst(parts, "estimate"), "^:", color=PURPLE, label="dual-weighted estimate, linear")
        ax.plot(n, _worst(parts, "error"), "x-", color=RED, label="error of the linear solution")
        logs(ax, "cells a side", "worst over queries (dimensionless)", f"{d}D: points and averages")
        ticks(ax, n)
        legend(ax, 200.0, loc="upper right")
    ax = axes[1, 0]
    rows = results["lift"]["rows"]
    size = [r["size"] for r in rows]
    ax.plot(size, [np.max(r["plain"]) for r in rows], "o-", color=GREY, label="without the prediction")
    ax.plot(size, [np.max(r["radius"]) for r in rows], "s-", color=GREEN, label="with the lift, formulas (1 − ε)u*")
    if "networks" in results:
        trained = results["networks"]["rows"]
        top = np.max(np.abs(np.array(results["networks"]["truth"])))
        worst = [np.max(r["error"]) / top for r in trained]
        ax.plot(
            worst, [np.max(r["radius"]) for r in trained], "*", color=PURPLE, ms=10, label="trained PINNs, 16 cells"
        )
    logs(
        ax,
        "relative error ε of the prediction",
        "worst radius (dimensionless)",
        f"the lift on one mesh, {results['lift']['cells']} cells a side",
    )
    legend(ax, 3.0, loc="lower right")
    ax = axes[1, 1]
    r = results["rounding"]
    shares = [100.0 * r["naive"] / r["intervals"], 100.0 * r["enclosed"] / r["intervals"]]
    bars = ax.bar(["naive float64", "enclosed"], shares, color=[RED, GREEN], width=0.55)
    ax.bar_label(bars, [f"{v:.0f} %" for v in shares], padding=2)
    label(ax, "", "intervals that miss (%)", f"rounding, {r['intervals']} intervals")
    ax.set_ylim(0.0, 110.0)
    return [
        Drawing(
            "beyond",
            figure,
            "Top: guaranteed radii for the PDE's own solution against the true error of linear elements, a "
            "dual-weighted "
            "estimate, and norms alone, which bound no point values. Bottom left: the radius follows the prediction's "
            "error under the neural lift. Bottom right: how often intervals miss the exact rational value when "
            "rounding "
            "is ignored. Intervals are centred at a corrected value, so that a radius may be below the error of the "
            "linear solution.",
        )
    ]


STUDY = Study(
    "beyond",
    "Beyond the paper",
    "What the paper leaves to declared constants is computed here: intervals for the PDE's own solution in two and "
    "three "
    "dimensions, for points and ball averages. Beside them a dual-weighted residual estimate, which proves nothing, "
    "and "
    "the energy-norm bound. Then the neural lift, and plain float64 certificates against exact rational arithmetic.",
    "no experiment of the paper",
    _parts,
    _checks,
    _rows,
    _draw,
)
