"""What two heads are worth: certified errors of the shipped network at 64², with and without its stream function.

    python studies/two_heads.py [--quick] [--out studies/results/two-heads.json]

128 fresh fields of 3 and 12; relative energy errors as certified (median, largest), and processor time of one thread
beside a solve of the same instance by SuperLU (five-point matrix of the inner nodes, symmetric ordering, no assembly).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import splu

import pinnpoint as pp
from pinnpoint.fem.families.random_fields import darcy_fields, on_triangles
from pinnpoint.fem.families.source_flux import SourceFlux
from pinnpoint.models.networks import two_heads


def clocked(action: Any, count: int, repeats: int = 5) -> tuple[float, Any]:
    """Least milliseconds of the processor for one of `count`, and the answer."""
    best, found = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        found = action()
        best = min(best, 1e3 * (time.process_time() - start) / count)
    return best, found


def solved(problem: Any, kappa: Any) -> Any:
    """A factor and a solve, without assembly."""
    one = pp.fem.ReactionDiffusion(problem.mesh, source=1.0, diffusion=kappa)
    free = one.space.free
    A = one.A[free][:, free].tocsc()
    A.eliminate_zeros()
    options: dict[str, Any] = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0}
    return lambda: splu(A, options={"SymmetricMode": True}, **options).solve(one.b[free])


def study(cells: int, count: int) -> dict[str, Any]:
    """Every beginning, with 0 to 2 steps."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=1.0)
    K, network = darcy_fields(cells, count, 999), two_heads.load()
    kappas = on_triangles(K)
    forward, parts = clocked(lambda: [network(K[i : i + 16]) for i in range(0, count, 16)], count, 2)
    states, streams = (np.concatenate(x).reshape(count, -1) for x in zip(*parts, strict=True))
    family, mean = problem.operators(), problem.mean()
    rows = {}
    for steps in (0, 1, 2):
        certifier = family.prepare(mean, steps=steps)
        psi = streams + SourceFlux.of(problem).shift(certifier)
        for name, given in (("both heads", (states, psi)), ("the state alone", (states,))):
            certifier.certify_many(kappas[:8], *(x[:8] for x in given))
            spent, found = clocked(lambda c=certifier, g=given: c.certify_many(kappas, *g), count)
            rows[f"{name}, {steps} steps"] = {
                "median": float(np.median(found.error)), "largest": float(found.error.max()), "ms": spent,
                "mean of u": float(np.median(found.radius / found.center)),
            }  # fmt: skip
    solve = float(np.median([clocked(solved(problem, k), 1, 3)[0] for k in kappas[:8]]))
    return {"cells": cells, "count": count, "forward [ms]": forward, "SuperLU [ms]": solve, "rows": rows}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="16 × 16 pixels, 16 fields")
    parser.add_argument("--out", type=Path, default=Path("studies/results/two-heads.json"))
    options = parser.parse_args()
    found = study(16, 16) if options.quick else study(64, 128)
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
