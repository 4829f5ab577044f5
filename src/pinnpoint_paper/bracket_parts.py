"""The computations behind the study `bracket`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pinnpoint.certifiers.inexact import Inexact
from pinnpoint.certifiers.localized import Localized
from pinnpoint.certifiers.randomized import Randomized
from pinnpoint.transfer.declared.comparison import Comparison
from pinnpoint_paper import bracket_case as case
from pinnpoint_paper.bracket_given import DIGITS, Which
from pinnpoint_paper.localization import early_stopped
from pinnpoint_paper.results import rounded

ITERATIONS = 12
"""Of conjugate gradients from zero, the paper's state."""


def early(which: Which) -> Any:
    """The full vector after the paper's twelve steps."""
    found = case.make(which)
    U = found.problem.space.U0.copy()
    U[np.asarray(found.problem.space.free)] = early_stopped(found.A, found.b, ITERATIONS)
    return U


def state(which: Which) -> dict[str, Any]:
    """Signed corrections, norm widths, Green concentration, fields, and the identity of a released field."""
    start = time.process_time()
    found = case.make(which)
    free, L = np.asarray(found.problem.space.free), found.queries.L
    prepared = case.certifier(which)
    offline = time.process_time() - start
    U, solved, g = early(which), case.reference(which), case.green(which)
    start = time.process_time()
    c = prepared.certify(U)
    online = time.process_time() - start
    assert c.correction is not None
    assert c.sigma is not None
    assert c.residual_norm is not None
    error = L[:, free] @ (U[free] - solved)
    released = found.given.released
    if released is None:
        released = found.problem.space.U0.copy()
        released[free] = [float(f"{v:.{DIGITS - 1}e}") for v in solved]
    bias = L[:, free] @ (solved - released[free])
    told = prepared.certify(U, transfer=Comparison(evaluation=0.0, state=released)).details
    X = found.problem.mesh.points
    far = [np.linalg.norm(X - m, axis=1) for m in found.middles]
    r = found.A @ U[free] - found.b
    shown, sizes = found.shown, [found.lengths(v) for v in g]
    return {
        "about": found.about(),
        "real": found.given.real,
        "unknowns": int(free.size),
        "offline": offline,
        "online": online,
        "reference_residual": float(np.linalg.norm(found.A @ solved - found.b) / np.linalg.norm(found.b)),
        "value": L @ U,
        "target": L[:, free] @ solved,
        "error": error,
        "signed": c.correction,
        "gap": np.abs(c.correction - error),
        "radius": c.radius,
        "guarantee": str(c.guarantee),
        "sigma": c.sigma,
        "norm": c.sigma * c.residual_norm,
        "half_mass": [_reach(d, s, 0.5) for d, s in zip(far, sizes, strict=True)],
        "released_bias": bias,
        "released_signed": told["bias"],
        "released_gap": np.abs(np.abs(told["bias"]) - np.abs(bias)),
        "released_norm": c.sigma * float(told["consistency_norm"]),
        "middles": found.middles,
        "places": [rounded(v, 4) for v in case.seen(X[shown]).T],
        "distance": [rounded(d[shown], 4) for d in far],
        "kind": found.given.kind[shown],
        "green": [rounded(s[shown] / s.max(), 3) for s in sizes],
        "density": [rounded(_density(found, v, r)[shown], 3) for v in g],
        "norm_density": [rounded((s * found.lengths(r))[shown], 3) for s in sizes],
        "fields": [rounded(found.lengths(v)[shown], 4) for v in (U[free], solved, solved - U[free])],
        "largest": float(found.lengths(solved).max()),
    }


def _reach(distance: Any, size: Any, share: float) -> float:
    """The radius around a query that holds this share of ‖g‖²."""
    order = np.argsort(distance)
    mass = np.cumsum(size[order] ** 2)
    return float(distance[order][np.searchsorted(mass, share * mass[-1])])


def _density(found: case.Bracket, g: Any, r: Any) -> Any:
    """|Σ g r| over the three components of each node."""
    whole = np.zeros(found.problem.system.N)
    whole[np.asarray(found.problem.space.free)] = g * r
    return np.abs(whole.reshape(-1, 3).sum(axis=1))


def localization(which: Which) -> dict[str, Any]:
    """Radius sweeps at the four patches."""
    found = case.make(which)
    radii = np.linspace(2.0, 190.0, 48)
    solver = case.certifier(which).ground.solver
    method = Localized(radius=20.0, refine=True, coercivity=found.coercivity, solver=solver)
    prepared: Any = method.prepare(found.problem.system, found.queries)
    U, free = early(which), np.asarray(found.problem.space.free)
    sweep = prepared.sweep(U, radii)
    error = np.abs(found.queries.L[:, free] @ (U[free] - case.reference(which)))
    return {
        "radii": radii,
        "local": np.abs(sweep.local),
        "tail": sweep.tail,
        "mixed": sweep.mixed,
        "pure_norm": sweep.pure_norm,
        "error": error,
        "guarantee": str(sweep.guarantee),
    }


def inexact(which: Which) -> dict[str, Any]:
    """Primal corrections stopped after so many steps, with the certified allowance."""
    found, U = case.make(which), early(which)
    exact = case.certifier(which).certify(U)
    steps = (20, 80, 320) if which.quick else (50, 150, 500, 1500, 4000)
    shift, allowance = [], []
    for k in steps:
        method = Inexact(
            "primal", primal_tolerance=0.0, primal_iterations=k, sigma=exact.sigma, coercivity=found.coercivity
        )
        c = method.prepare(found.problem.system, found.queries).certify(U)
        shift.append(np.abs(c.center - exact.center))
        allowance.append(c.terms["algebra"])
    return {"steps": steps, "shift": np.array(shift), "allowance": np.array(allowance), "slack": exact.radius}


def randomized(which: Which) -> dict[str, Any]:
    """Coverage and inflation of probed sensitivities over trials."""
    found = case.make(which)
    sigma = case.certifier(which).certify(early(which)).sigma
    trials = 4 if which.quick else 12
    options: Any = {"coercivity": found.paths, "solver": case.certifier(which).ground.solver, "refine": True}
    rows = []
    for probes in (4, 8, 16):
        ratio, seconds = [], []
        for seed in range(trials):
            start = time.process_time()
            method = Randomized(probes=probes, delta=0.05, seed=seed, **options)
            prepared: Any = method.prepare(found.problem.system, found.queries)
            seconds.append(time.process_time() - start)
            ratio.append(prepared.sigma / sigma)
        a = np.array(ratio)
        rows.append(
            {
                "probes": probes,
                "covered": int(np.sum(np.all(a >= 1.0, axis=1))),
                "median": float(np.median(a)),
                "q95": float(np.quantile(a, 0.95)),
                "best_seconds": min(seconds),
                "one": a[0] * sigma,
            }
        )
    return {"trials": trials, "exact": sigma, "rows": rows}
