"""Point queries in three dimensions: sensitivities grow, those of averages do not; norms are wider than the bias."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla

from pinnpoint.certifiers.exact import Exact
from pinnpoint.fem import Elasticity
from pinnpoint.io import generate
from pinnpoint.transfer.declared.comparison import Comparison
from pinnpoint_paper.plots import BLUE, GOLD, GREY, RED, canvas, legend, logs, ticks
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, having, ranged, slope, tell

YOUNG, POISSON, RADIUS = 1.0, 0.3, 0.2
PLACES = np.array([[2, 2, 2], [1, 2, 2], [2, 1, 3], [3, 3, 2], [1, 1, 1], [3, 2, 1]]) / 4.0
"""Nodes of the mesh of 4 cells a side, which all meshes share."""


def _exact(X: Any) -> Any:
    """U = w (1, ½, −¼), w = sin(πx) sin(πy) sin(πz)."""
    w = np.prod(np.sin(np.pi * X), axis=1)
    return np.stack([w, 0.5 * w, -0.25 * w], axis=1)


def _body() -> list[str]:
    """−∇·σ = −μΔu − (λ + μ)∇(∇·u), with ∇·u = π(c s s + ½ s c s − ¼ s s c)."""
    lam = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    mu = YOUNG / (2 * (1 + POISSON))
    s, c = ({v: f"{f}(pi*{v})" for v in "xyz"} for f in ("sin", "cos"))
    weights = dict(zip("xyz", (1.0, 0.5, -0.25), strict=True))
    whole = f"{s['x']}*{s['y']}*{s['z']}"

    def second(i: str, j: str) -> str:
        """∂²w/∂i∂j over π²."""
        if i == j:
            return f"(-{whole})"
        (k,) = set("xyz") - {i, j}
        return f"({c[i]}*{c[j]}*{s[k]})"

    body = []
    for i in "xyz":
        mixed = " + ".join(f"({weights[j]!r})*{second(i, j)}" for j in "xyz")
        body.append(f"{3 * mu * weights[i]!r}*pi**2*{whole} - {lam + mu!r}*pi**2*({mixed})")
    return body


def _one(cells: int) -> dict[str, Any]:
    problem = Elasticity(
        generate("cube", cells), YOUNG, POISSON, _body(), fixed={"boundary": 0.0}, weight="energy", quadrature=4
    )
    points, balls = problem.points(PLACES, "x"), problem.averages(PLACES[:4], RADIUS, "x")
    U_pi = problem.extract(_exact).U
    certifier = Exact(refine=True).prepare(problem.system, points + balls)
    c = certifier.certify(problem.space.U0, transfer=Comparison(evaluation=0.0, state=U_pi))
    free = np.asarray(problem.space.free)
    K, gap = problem.A.tocsr()[free][:, free], problem.b[free] - problem.A[free] @ U_pi
    moved, failed = spla.cg(K, gap, rtol=1e-14, maxiter=4000)  # U* − U_π by a solver that the certificate never saw
    difference = np.zeros(len(U_pi))
    difference[free] = moved
    bias = np.abs((points + balls).L @ difference)
    T = float(c.details["consistency_norm"])
    assert c.sigma is not None
    n = len(PLACES)
    signed = np.abs(c.details["bias"])
    return {
        "cells": cells,
        "unknowns": int(free.size),
        "cg": int(failed),
        "sigma_points": c.sigma[:n],
        "sigma_averages": c.sigma[n:],
        "bias": bias[:n],
        "signed": signed[:n],
        "gap": np.abs(signed - bias),
        "norm": c.sigma[:n] * T,
        "T": T,
    }


def _parts(form: str) -> dict[str, Part]:
    return {f"{n} cells": partial(_one, n) for n in ((4, 8, 12) if form == "quick" else (4, 8, 12, 16, 24))}


def _grown(results: Results) -> tuple[Any, Any, Any]:
    parts = having(results, "")
    h = np.array([1.0 / p["cells"] for p in parts])
    points, balls = (np.array([np.max(p[name]) for p in parts]) for name in ("sigma_points", "sigma_averages"))
    return h, points, balls


def _checks(results: Results) -> list[Check]:
    parts = having(results, "")
    h, points, balls = _grown(results)
    gap = max(float(np.max(p["gap"])) for p in parts)
    ratio = [float(np.max(p["norm"]) / np.max(p["bias"])) for p in parts]
    rate, flat = slope(h, points), slope(h[-2:], balls[-2:])
    valid = all(np.all(np.array(p["norm"]) >= np.array(p["bias"]) * (1 - 1e-12)) for p in parts)
    return [
        Check("the sensitivity of point queries grows like h^(−1/2)", -0.65 < rate < -0.4, f"slope {tell(rate)}"),
        Check("the sensitivity of fixed-radius averages stays nearly flat", abs(flat) < 0.15, f"slope {tell(flat)}"),
        Check("the signed term is the pointwise bias to 1e-12", gap < 1e-12, f"largest discrepancy {tell(gap)}"),
        Check("the norm route is valid and wider", valid and min(ratio) > 2.0, f"ratios {ranged(ratio)}"),
    ]


def _rows(results: Results) -> list[Row]:
    parts = having(results, "")
    h, points, balls = _grown(results)
    last = parts[-1]
    size = f"meshes up to {last['cells']}³ cells, {last['unknowns']} unknowns"
    return [
        Row(
            "slope of the point sensitivity",
            tell(slope(h, points)),
            "points-slope",
            f"−1/2 is the exact exponent as h → 0; {size}, the paper does not state its meshes",
        ),
        Row(
            "slope of the sensitivity of averages, finest two meshes",
            tell(slope(h[-2:], balls[-2:])),
            "points-slope",
            f"balls of radius {RADIUS}; on the coarsest mesh a ball is smaller than a cell",
        ),
        Row(
            "signed term against bias",
            f"at most {tell(max(float(np.max(p['gap'])) for p in parts))}",
            "points-gap",
            "limited by the conjugate gradients that compute the reference, stopped at 1e-14",
        ),
        Row(
            "norm route over bias on the finest mesh",
            tell(float(np.max(last["norm"]) / np.max(last["bias"]))),
            "points-ratio",
            "another manufactured solution, other meshes and queries; the ratio grows as h → 0",
        ),
    ]


def _draw(results: Results) -> list[Drawing]:
    parts = having(results, "")
    h, points, balls = _grown(results)
    cells = [p["cells"] for p in parts]
    figure, ((a, b, c),) = canvas(1, 3, (11.0, 3.6))
    a.plot(cells, points, "o-", color=RED, label=f"points, slope {slope(h, points):.2f}")
    a.plot(cells, balls, "s-", color=BLUE, label=f"averages, radius {RADIUS}")
    a.plot(cells, points[-1] * (h / h[-1]) ** -0.5, ":", color=GREY, label="h^(−1/2)")
    logs(a, "cells a side", "largest sensitivity σ", "A: sensitivities")
    a.set_ylim(0.3 * float(balls.min()), 1.6 * float(points.max()))
    legend(a)
    bias = np.array([np.max(p["bias"]) for p in parts])
    b.plot(cells, bias, "o-", color=RED, label="bias |ℓᵀ(U* − U_π)|")
    b.plot(cells, [np.max(p["signed"]) for p in parts], "x", color=BLUE, ms=9, label="signed term |gᵀτ|")
    gap = max(float(np.max(p["gap"])) for p in parts)
    logs(b, "cells a side", "largest over queries (length)", f"B: they agree to {gap:.1e}")
    legend(b)
    c.plot(cells, [np.max(p["norm"]) for p in parts], "s-", color=GOLD, label="norm route σT")
    c.plot(cells, bias, "o-", color=RED, label="bias")
    ratio = float(np.max(parts[-1]["norm"]) / bias[-1])
    logs(c, "cells a side", "largest over queries (length)", f"C: {ratio:.1f} times wider on the finest mesh")
    legend(c)
    for ax in (a, b, c):
        ticks(ax, cells)
    return [
        Drawing(
            "points",
            figure,
            "Point queries in three dimensions (linear elasticity on the unit cube, x displacements in units of its "
            "side). A: largest sensitivity of nodal points and of ball averages. B: pointwise bias of the interpolant "
            "and the signed term. C: the same bias and the norm route.",
        )
    ]


STUDY = Study(
    "point-queries-3d",
    "Point queries in three dimensions",
    "Linear elasticity on the unit cube with a manufactured displacement, ν = 0.3, energy weight W = A⁻¹. Six nodes "
    "that "
    "all meshes share, and averages of the same component over four balls. The comparison state is the nodal "
    "interpolant, so that the evaluation term vanishes at the queries.",
    "sec. exp-3d-pointwise, fig. 3d-pointwise",
    _parts,
    _checks,
    _rows,
    _draw,
    claims=("points-3d",),
)
