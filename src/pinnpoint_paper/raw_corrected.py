"""Fields before and after the correction: an early-stopped state, the corrected one, and what lies between."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla

from pinnpoint.certifiers.exact import Exact
from pinnpoint.fem import Elasticity
from pinnpoint.io import generate
from pinnpoint_paper.localization import early_stopped
from pinnpoint_paper.plots import canvas, field, label
from pinnpoint_paper.results import rounded
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, tell

STEPS = 5
"""Steps of conjugate gradients for each cell of a side: enough to see something, far from converged."""
YOUNG, POISSON = 113800.0, 0.342
"""MPa; the paper's material."""


def angle(cells: int) -> Elasticity:
    """An L-shaped angle in plane stress, 2 mm wide, held at its left side and loaded on its top."""
    return Elasticity(
        generate("lshape", cells),
        YOUNG,
        POISSON,
        fixed={"left": 0.0},
        traction={"top": (0.0, -50.0)},
        plane="stress",
    )


def _one(cells: int) -> dict[str, Any]:
    problem = angle(cells)
    free = np.asarray(problem.space.free)
    K = problem.A.tocsr()[free][:, free]
    raw = problem.space.U0.copy()
    raw[free] = early_stopped(K, problem.b[free], STEPS * cells)
    r = problem.A[free] @ raw - problem.b[free]
    corrected = raw.copy()
    corrected[free] -= spla.splu(K.tocsc()).solve(r)
    target = raw.copy()
    target[free], _ = spla.cg(K, problem.b[free], rtol=1e-13, maxiter=20_000)
    X = problem.mesh.points[:: max(1, len(problem.mesh.points) // 40)]
    queries = problem.points(X, "y")
    c = Exact().prepare(problem.system, queries).certify(raw)
    lengths = [np.linalg.norm(v.reshape(-1, 2), axis=1) for v in (raw, corrected, corrected - raw)]
    return {
        "cells": cells,
        "unknowns": int(free.size),
        "gap": float(np.abs(corrected - target).max()),
        "size": float(np.abs(target).max()),
        "centers": float(np.abs(c.center - queries.L @ corrected).max()),
        "radius": float(c.radius.max()),
        "spread": float(np.quantile(lengths[2], 0.95) / max(np.quantile(lengths[2], 0.05), 1e-300)),
        "fields": [rounded(v, 4) for v in lengths],
    }


def _parts(form: str) -> dict[str, Part]:
    return {"angle": partial(_one, 12 if form == "quick" else 40)}


def _checks(results: Results) -> list[Check]:
    p = results["angle"]
    return [
        Check(
            "the corrected field is the discrete target",
            p["gap"] < 1e-9 * p["size"],
            f"largest difference {tell(p['gap'])} of {tell(p['size'])} mm, against conjugate gradients at 1e-13",
        ),
        Check(
            "certified centres are values of the corrected field",
            p["centers"] <= p["radius"] + 1e-13 * p["size"],
            f"largest distance {tell(p['centers'])} mm",
        ),
        Check(
            "the difference is structured, not uniform",
            p["spread"] > 3.0,
            f"95th over 5th percentile of its size: {tell(p['spread'])}",
        ),
    ]


def _rows(results: Results) -> list[Row]:
    p = results["angle"]
    return [
        Row(
            "corrected field against the target",
            f"{tell(p['gap'])} mm of {tell(p['size'])} mm",
            "corrected-field",
            f"the paper's field is on SimJEB bracket 148; this is a plane angle of our own with {p['unknowns']} "
            f"unknowns "
            f"and {STEPS * p['cells']} steps in place of 12, which on it leave nearly all of the load",
        ),
        Row("spread of the difference, 95th over 5th percentile", tell(p["spread"]), "corrected-field", ""),
    ]


def _draw(results: Results) -> list[Drawing]:
    p = results["angle"]
    mesh = angle(p["cells"]).mesh
    figure, (axes,) = canvas(1, 3, (11.0, 3.5))
    top = float(np.max(p["fields"][1]))
    for ax, values, title in zip(
        axes, p["fields"], (f"after {STEPS * p['cells']} CG steps", "corrected", "difference"), strict=True
    ):
        high = float(np.max(values)) if title == "difference" else top
        shown = field(ax, mesh.points, mesh.cells, values, cmap="viridis", vmin=0.0, vmax=high)
        figure.colorbar(shown, ax=ax, label="|u| (mm)", shrink=0.85)
        label(ax, "x (mm)", "y (mm)", title)
    return [
        Drawing(
            "fields",
            figure,
            "Displacement of a plane angle (our stand-in for the bracket; plane stress, left side held, load on the "
            "top "
            "side): the early-stopped field, the corrected field, which is the discrete target, and their difference.",
        )
    ]


STUDY = Study(
    "raw-corrected",
    "Fields before and after the correction",
    "An elastic L-shaped angle in plane stress, with the paper's material. The state is an early-stopped run of "
    "conjugate gradients from zero; subtracting the correction gives the discrete target everywhere at once.",
    "app. exp-simjeb-extra, fig. simjeb-raw-corrected",
    _parts,
    _checks,
    _rows,
    _draw,
)
