"""Train the paper's numerical PINNs for several seeds and certify every one of them. Needs the extra `torch`.

    python studies/train_benchmark.py [--quick] [--out results.json]

Linear: −Δu = f on the unit square with u* = x(1−x)y(1−y) exp(−|(x, y) − (0.7, 0.35)|²/0.12²) + 0.1 sin(3πx) sin(2πy),
meshes of 8, 16, 24 and 32 cells a side, 12 nodal and 12 off-grid point queries. Nonlinear: −u″ + 20u³ = f on the unit
interval, u* = sin(πx) + 0.3 sin(3πx), 31 to 127 interior nodes, 8 points. Networks: 3 hidden layers of 96 tanh units
times a factor that vanishes on the boundary; loss: the normalised mean-squared residual of the system that is
certified; Adam, rate 2e-3, 600 and 1400 epochs; seeds 0, 1, 2. The plain collocation PINN has the same network,
optimiser and epochs, and samples the strong residual at the mesh's nodes.

Every certificate is compared with the truth: u* for the continuous target, a dense solve (Newton's method for the
nonlinear system) for the discrete one.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pinnpoint as pp
from pinnpoint import training

A, B, S = 0.7, 0.35, 0.12


def bump(t: str, middle: float) -> tuple[str, str]:
    """t(1−t) exp(−(t − middle)²/s²) and its second derivative, as formulas."""
    e = f"exp(-({t}-{middle})**2/{S}**2)"
    p, d = f"{t}*(1-{t})", f"({t}-{middle})"
    second = f"(-2 - 4*(1-2*{t})*{d}/{S}**2 + {p}*(4*{d}**2/{S}**4 - 2/{S}**2))*{e}"
    return f"{p}*{e}", second


(GX, GXX), (GY, GYY) = bump("x", A), bump("y", B)
EXACT = f"({GX})*({GY}) + 0.1*sin(3*pi*x)*sin(2*pi*y)"
SOURCE = f"-(({GXX})*({GY}) + ({GX})*({GYY})) + 1.3*pi**2*sin(3*pi*x)*sin(2*pi*y)"
WAVE = "sin(pi*x) + 0.3*sin(3*pi*x)"
WAVE_SOURCE = f"pi**2*sin(pi*x) + 2.7*pi**2*sin(3*pi*x) + 20*({WAVE})**3"


def exact(X: np.ndarray) -> np.ndarray:
    """u* of the linear benchmark, written a second time in numpy."""
    x, y = X.T
    hill = x * (1 - x) * y * (1 - y) * np.exp(-((x - A) ** 2 + (y - B) ** 2) / S**2)
    return hill + 0.1 * np.sin(3 * np.pi * x) * np.sin(2 * np.pi * y)


def places() -> np.ndarray:
    """Twelve nodes of the coarsest mesh, which all meshes share, and twelve points on no grid."""
    rng = np.random.default_rng(2024)
    nodes = np.stack(np.meshgrid(np.arange(1, 8), np.arange(1, 8)), axis=-1).reshape(-1, 2) / 8
    return np.concatenate([rng.permutation(nodes)[:12], rng.uniform(0.05, 0.95, size=(12, 2))])


def linear(cells: int, seed: int, epochs: int, *, collocation: bool) -> dict[str, Any]:
    """Train on one mesh, certify both targets, compare."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=SOURCE)
    queries, settings = problem.points(places()), training.Settings(epochs=epochs, seed=seed)
    if collocation:
        inside = problem.nodes.points[np.asarray(problem.space.free)]
        field = training.train_collocation(problem, inside, settings)
    else:
        field = training.train_field(problem, settings)
    start = time.perf_counter()
    discrete = pp.certify(problem, field, queries, target="discrete")
    middle = time.perf_counter()
    continuous = pp.certify(problem, field, queries)
    end = time.perf_counter()
    free = np.asarray(problem.space.free)
    dense = problem.A.toarray()
    U = np.zeros(problem.system.N)
    U[free] = np.linalg.solve(dense[np.ix_(free, free)], problem.b[free])
    return {
        "kind": "collocation" if collocation else "compatible",
        **_row(field, cells, seed, problem, discrete, queries.L @ U),
        **_continuous(continuous, exact(queries.points)),
        "discrete seconds": round(middle - start, 3),
        "continuous seconds": round(end - middle, 3),
    }


def nonlinear(nodes: int, seed: int, epochs: int) -> dict[str, Any]:
    """The semilinear benchmark; the reference is Newton's method on a dense matrix."""
    problem = pp.fem.Semilinear(pp.io.generate("interval", nodes + 1), cubic=20.0, source=WAVE_SOURCE)
    queries = problem.points(np.array([0.1, 0.23, 0.31, 0.42, 0.5, 0.66, 0.77, 0.9])[:, None])
    field = training.train_field(problem, training.Settings(epochs=epochs, seed=seed))
    discrete = pp.certify(problem, field, queries, pp.Root(polish=4), target="discrete")
    continuous = pp.certify(problem, field, queries)
    y = np.zeros(problem.system.n)
    for _ in range(60):
        J = problem.system.jacobian(y, rounding=False)[0].toarray()
        y = y - np.linalg.solve(J, problem.system.residual(y, rounding=False).hi)
    truth = np.sin(np.pi * queries.points[:, 0]) + 0.3 * np.sin(3 * np.pi * queries.points[:, 0])
    return {
        "kind": "semilinear",
        **_row(field, nodes + 1, seed, problem, discrete, queries.L @ problem.space.vector_of(y)),
        **_continuous(continuous, truth),
    }


def _row(field: Any, cells: int, seed: int, problem: Any, found: Any, truth: np.ndarray) -> dict[str, Any]:
    inside = np.abs(found.center - truth) <= found.radius + 1e-13 * np.abs(truth).max()  # the reference rounds too
    loss = np.array(field.history.loss)
    return {
        "cells": cells,
        "seed": seed,
        "dofs": problem.system.n,
        "first loss": float(loss[0]),
        "best loss": field.history.best_loss,
        "loss curve": [float(v) for v in loss[:: max(1, len(loss) // 60)]],
        "training seconds": round(field.history.seconds, 2),
        "queries": len(found),
        "discrete held": int(inside.sum()),
        "worst raw error": float(np.max(np.abs(found.raw - truth))),
        "worst corrected-centre error": float(np.max(np.abs(found.center - truth))),
        "median correction": float(np.median(np.abs(found.value - found.center))),
    }


def _continuous(found: Any, truth: np.ndarray) -> dict[str, Any]:
    return {
        "continuous held": int(found.contains(truth).sum()),
        "continuous guarantee": str(found.guarantee),
        "median continuous radius": float(np.median(found.radius)),
        "worst continuous radius": float(np.max(found.radius)),
        "worst distance from u*": float(np.max(np.abs(found.raw - truth))),
    }


def main() -> None:
    """Run all, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, two meshes, few epochs")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    quick = arguments.quick
    seeds, epochs = ((0,), 60) if quick else ((0, 1, 2), 600)
    rows = []
    print("kind         cells seed best loss  train s        held raw error    radius", flush=True)
    jobs = [(linear, (c, s, epochs), {"collocation": k}) for k in (False, True) for c in _meshes(quick) for s in seeds]
    jobs += [
        (nonlinear, (n, s, 60 if quick else 1400), {}) for n in ((31,) if quick else (31, 63, 95, 127)) for s in seeds
    ]
    for job, given, options in jobs:
        row = job(*given, **options)
        rows.append(row)
        held = f"{row['discrete held']}+{row['continuous held']}/{row['queries']}"
        error, radius = row["worst raw error"], row["median continuous radius"]
        print(
            f"{row['kind']:12} {row['cells']:5d} {row['seed']:4d} {row['best loss']:9.2e} "
            f"{row['training seconds']:8.1f} {held:>11} {error:9.2e} {radius:9.2e}",
            flush=True,
        )
        if arguments.out:
            arguments.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    total = sum(r["queries"] for r in rows)
    held = sum(r["discrete held"] for r in rows), sum(r["continuous held"] for r in rows)
    print(f"discrete {held[0]}/{total}, continuous {held[1]}/{total} intervals hold the truth")
    if held != (total, total):
        raise SystemExit("an interval missed the truth")


def _meshes(quick: bool) -> tuple[int, ...]:
    return (8,) if quick else (8, 16, 24, 32)


if __name__ == "__main__":
    main()
