"""Certified early stopping: what primal and adjoint iterations leave is bounded, not ignored."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pinnpoint.certifiers.exact import Exact
from pinnpoint.certifiers.inexact import Inexact
from pinnpoint_paper.manufactured import exact, overdetermined, places, square
from pinnpoint_paper.plots import BLUE, GREY, PURPLE, RED, canvas, label, legend, logs
from pinnpoint_paper.predictions import predict, source_of
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, ranged, tell

TOLERANCES = tuple(10.0**-k for k in range(1, 11))


def _sweep(system: Any, U: Any, queries: Any, kind: str) -> dict[str, Any]:
    """Centre shifts and allowances over the tolerances of one kind of iteration."""
    reference = Exact().prepare(system, queries).certify(U)
    shift, allowance, inflation, slack = [], [], [], []
    for tolerance in TOLERANCES:
        if kind == "primal":
            method = Inexact("primal", primal_tolerance=tolerance, solver="direct")
        else:
            method = Inexact("adjoint", tolerance=tolerance)
        c = method.prepare(system, queries).certify(U)
        assert c.sigma is not None
        assert reference.sigma is not None
        shift.append(np.abs(c.center - reference.center))
        allowance.append(c.terms["algebra"])
        inflation.append(c.sigma / reference.sigma)
        slack.append(c.radius + reference.radius)
    return {
        "tolerances": TOLERANCES,
        "shift": np.array(shift),
        "allowance": np.array(allowance),
        "inflation": np.array(inflation),
        "slack": np.array(slack),
    }


def _square(cells: int, epochs: int, kind: str) -> dict[str, Any]:
    problem = square(cells)
    prediction = predict(problem, exact, 0, epochs, 0.01)
    U = problem.extract(prediction.field).U
    return {"kind": prediction.kind, "cells": cells, **_sweep(problem.system, U, problem.points(places()), kind)}


def _tall(cells: int, epochs: int) -> dict[str, Any]:
    problem, system, queries = overdetermined(cells)
    prediction = predict(problem, exact, 0, epochs, 0.01)
    y = problem.extract(prediction.field).U[np.asarray(problem.space.free)]
    return {"kind": prediction.kind, "cells": cells, **_sweep(system, y, queries, "primal")}


def _parts(form: str) -> dict[str, Part]:
    cells, tall, epochs = (12, 8, 100) if form == "quick" else (32, 16, 600)
    return {
        "primal": partial(_square, cells, epochs, "primal"),
        "adjoint": partial(_square, cells, epochs, "adjoint"),
        "overdetermined": partial(_tall, tall, epochs),
    }


def _checks(results: Results) -> list[Check]:
    found = []
    for name, p in results.items():
        shift, allowance, slack = (np.array(p[k]) for k in ("shift", "allowance", "slack"))
        worst_shift, worst = shift.max(axis=1), allowance.max(axis=1)
        seen = f"worst allowance {ranged(worst)}, worst shift {ranged(worst_shift)}"
        found.append(
            Check(
                f"{name}: up to rounding, the allowance stays above the shift of the centre",
                np.all(shift <= slack),
                seen,
            )
        )
        ratio = np.median(allowance[worst_shift > 1e-13] / np.maximum(shift[worst_shift > 1e-13], 1e-18))
        fallen = worst[0] / worst[-1]
        found.append(
            Check(
                f"{name}: it decays in step with the tolerance",
                fallen > 1e5,
                f"by {tell(fallen)}; median ratio to the shift {tell(float(ratio))}",
            )
        )
    inflation = np.array(results["adjoint"]["inflation"]).max(axis=1)
    found.append(
        Check(
            "the inflation of sensitivities is close to one once solves are no longer crude",
            inflation[3] < 1.05 and np.all(inflation >= 1.0 - 1e-9),
            f"{tell(inflation[0], 4)} at 0.1, {tell(inflation[3], 7)} at 1e-4",
        )
    )
    return found


def _rows(results: Results) -> list[Row]:
    rows = []
    for name, paper in (
        ("primal", "inexact-allowance"),
        ("adjoint", "inexact-allowance"),
        ("overdetermined", "inexact-overdetermined"),
    ):
        p = results[name]
        rows.append(
            Row(
                f"{name}: worst allowance and worst centre shift, tolerance 0.1 to 1e-10",
                f"{ranged(np.max(p['allowance'], axis=1))}; {ranged(np.max(p['shift'], axis=1))}",
                paper,
                f"predictions: {source_of([p['kind']])}" if name == "primal" else "",
            )
        )
    inflation = np.array(results["adjoint"]["inflation"]).max(axis=1)
    rows.append(
        Row(
            "sensitivity inflation at tolerance 0.1, 0.01, 0.001",
            ", ".join(tell(v, 5) for v in inflation[:3]),
            "inexact-inflation",
            "defects are measured in the energy norm through a few more iterations, so it is nearly one at once",
        )
    )
    return rows


def _draw(results: Results) -> list[Drawing]:
    figure, axes = canvas(2, 2, (9.0, 6.4))
    for ax, name, title in (
        (axes[0, 0], "primal", "primal correction"),
        (axes[0, 1], "adjoint", "adjoint correction"),
        (axes[1, 1], "overdetermined", "primal correction, overdetermined"),
    ):
        p = results[name]
        ax.plot(p["tolerances"], np.max(p["allowance"], axis=1), "o-", color=BLUE, label="certified allowance")
        shift = np.max(p["shift"], axis=1)
        ax.plot(p["tolerances"], np.maximum(shift, 1e-19), "x-", color=RED, label="actual centre shift")
        logs(ax, "CG tolerance", "worst over 24 queries (dimensionless)", title)
        ax.invert_xaxis()
        legend(ax)
    ax = axes[1, 0]
    p = results["adjoint"]
    excess = np.array(p["inflation"]).max(axis=1) - 1.0
    ax.plot(p["tolerances"], np.maximum(excess, 1e-16), "s-", color=PURPLE, label="worst query")
    ax.axhline(1e-16, color=GREY, lw=0.5)
    logs(ax, "CG tolerance", "σ bound / exact σ − 1", "inflation of the sensitivities")
    ax.invert_xaxis()
    legend(ax)
    label(ax, "CG tolerance", "σ bound / exact σ − 1", "inflation of the sensitivities")
    return [
        Drawing(
            "inexact",
            figure,
            f"Early-stopped linear algebra on the manufactured benchmark ({results['primal']['cells']} cells a side), "
            f"values "
            "dimensionless. The certified allowance stays above the shift of the centre that the stopped iteration "
            "causes; shifts below 1e-19 are drawn there.",
        )
    ]


STUDY = Study(
    "inexact",
    "Certification under inexact linear algebra",
    "The manufactured benchmark again. Conjugate gradients for the correction, or for the adjoints, are stopped at "
    "tolerances from 0.1 to 1e-10; the certificate counts what they leave, from recomputed defects.",
    "app. exp-inexact, fig. inexact-linear",
    _parts,
    _checks,
    _rows,
    _draw,
)
