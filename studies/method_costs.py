"""What each method costs and how narrow it is, on one problem: python studies/method_costs.py [--quick] [--out FILE].

−Δu = 1 on the unit square, linear elements, a prediction that is off by a smooth 10 % and by noise of 1 %; point
queries. Times are processor seconds, the best of several runs; run it with one thread (OMP_NUM_THREADS=1).
The tables of docs/choose.md are made of what this writes.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla

import pinnpoint as pp

OUT = Path(__file__).parent / "results" / "method_costs.json"


def best(action: Callable[[], Any], times: int = 2) -> tuple[float, Any]:
    """The shortest of several runs, and what came out."""
    found, seconds = None, np.inf
    for _ in range(times):
        start = time.process_time()
        found = action()
        seconds = min(seconds, time.process_time() - start)
    return seconds, found


def methods() -> dict[str, Any]:
    """One of each."""
    return {
        "Exact()": pp.Exact(),
        "Exact(refine=True)": pp.Exact(refine=True),
        "Exact(rounding=False)": pp.Exact(rounding=False),
        "Norm()": pp.Norm(),
        "Inexact(tolerance=1e-3)": pp.Inexact(tolerance=1e-3),
        'Inexact("both", tolerance=1e-3)': pp.Inexact("both", tolerance=1e-3, primal_tolerance=1e-3),
        "Localized(radius=0.25)": pp.Localized(radius=0.25),
        "Randomized(probes=16)": pp.Randomized(probes=16, delta=0.05, seed=0),
    }


def discrete(cells: int, count: int) -> dict[str, Any]:
    """Every method for `count` queries."""
    rng = np.random.default_rng(0)
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=1.0)
    free = np.asarray(problem.space.free)
    inner = problem.A.tocsc()[free][:, free]
    factorize, factors = best(lambda: spla.splu(inner))
    truth = np.zeros(problem.system.N)
    truth[free] = factors.solve(problem.b[free])
    X = problem.nodes.points
    state = truth * (1.0 + 0.1 * np.sin(2 * X[:, 0] + X[:, 1]) + 0.01 * rng.normal(size=len(X)))
    queries = problem.points(rng.uniform(0.1, 0.9, size=(count, 2)))
    product, _ = best(lambda: inner @ truth[free], 20)
    rows = {}
    for name, method in methods().items():
        prepare, certifier = best(lambda method=method: method.prepare(problem.system, queries))
        certify, found = best(lambda certifier=certifier: certifier.certify(state), 3)
        error = np.abs(found.center - queries.L @ truth)
        assert np.all(error <= found.radius + 1e-12)
        rows[name] = {
            "prepare [s]": prepare,
            "prepare [factorizations]": prepare / factorize,
            "certify [ms]": 1e3 * certify,
            "certify [products]": certify / product,
            "relative radius": float(np.median(found.radius / np.abs(found.center))),
            "guarantee": str(found.guarantee),
        }
    return {
        "dofs": int(free.size),
        "queries": count,
        "factorize [s]": factorize,
        "product [ms]": 1e3 * product,
        "rows": rows,
    }


def continuous(cells: int, count: int) -> dict[str, Any]:
    """The PDE's own solution from the same points."""
    rows = {}
    at = np.random.default_rng(0).uniform(0.1, 0.9, size=(count, 2))
    for name, degree, lift in (("linear", 1, False), ("quadratic", 2, False), ("linear, lift", 1, True)):
        problem = pp.fem.ReactionDiffusion(
            pp.io.generate("square", cells), source="2*pi**2*sin(pi*x)*sin(pi*y)", degree=degree
        )
        queries = problem.points(at)
        prediction = "0.99*sin(pi*x)*sin(pi*y)" if lift else problem.space.U0
        seconds, found = best(lambda p=problem, u=prediction, q=queries, k=lift: pp.certify(p, u, q, lift=k), 2)
        assert np.all(found.contains(np.sin(np.pi * at).prod(axis=1)))
        rows[name] = {
            "dofs": int(problem.system.n),
            "seconds": seconds,
            "radius": float(np.median(found.radius)),
            "guarantee": str(found.guarantee),
        }
    return {"cells": cells, "queries": count, "rows": rows}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    cells = 24 if arguments.quick else 100
    found = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}",
        "few": discrete(cells, 8),
        "many": discrete(cells, 16 if arguments.quick else 100),
        "continuous": continuous(8 if arguments.quick else 32, 8),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
