"""Any κ on the cells, the discrete target: radii after a few steps, beside solves of the same instances.

Ten points and the mean; κ of two values on the sides of random waves. Radii are relative to the largest value of u;
"over error" is relative to the true error of the interval's centre, by a factor of the instance's own matrix.

python studies/cellwise.py [--quick] [--out cellwise.json]
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from reference_steps import coefficient
from scipy.sparse.linalg import splu

import pinnpoint as pp

CASES = (("square", 64, 4.0), ("square", 64, 30.0), ("square", 64, 1000.0), ("cube", 16, 4.0), ("cube", 16, 1000.0))
QUICK = (("square", 8, 4.0), ("cube", 4, 30.0))
STEPS = (1, 2, 3, 4, 6, 8)


def measured(kind, cells, contrast, count=4):
    """One row for each number of steps."""
    mesh = pp.io.generate(kind, cells)
    p = pp.fem.ReactionDiffusion(mesh, 1.0)
    family, queries = p.operators(), p.points(np.random.default_rng(0).uniform(0.1, 0.9, (10, mesh.dim))) + p.mean()
    kappas = np.stack([coefficient(mesh, contrast, seed) for seed in range(count)])
    free, zero = p.space.free, np.zeros((count, len(mesh.points)))
    L, top, truth = queries.L[:, free], [], []
    start = time.process_time()
    for kappa in kappas:
        u = splu(family.matrix(kappa)[free][:, free].tocsc()).solve(p.b[free])
        truth.append(L @ u)
        top.append(np.abs(u).max())
    solve = 1e3 * (time.process_time() - start) / count
    row = {"kind": kind, "cells": cells, "contrast": contrast, "solve [ms]": solve, "steps": {}}
    for steps in STEPS:
        certifier = family.prepare(queries, steps=steps, dual_steps=steps, target="discrete")
        start = time.process_time()
        found = certifier.certify_many(kappas, zero)
        took = 1e3 * (time.process_time() - start) / count
        away = np.abs(found.center - np.array(truth))
        row["steps"][str(steps)] = {
            "radius": float(np.median(found.radius / np.array(top)[:, None])),
            "over error": float(np.median(found.radius / np.maximum(away, 1e-300))),
            "missed": int(np.sum(away > found.radius + 1e-12 * np.array(top)[:, None])),
            "milliseconds": took,
        }
    return row


def main():
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="cellwise.json")
    options = parser.parse_args()
    rows = []
    for case in QUICK if options.quick else CASES:
        rows.append(measured(*case))
        print(json.dumps(rows[-1]), flush=True)
    Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
