"""Steps towards a reference in the place of tight solves, for problems certified alone: width and processor time.

κ of two values on the sides of random waves, f = 1, u = 0 all around; the mean and averages over balls of the PDE's own
solution. "Tight" is what `Exact` does by itself; the others take the diffusion 1 as their reference, by sine transforms
where the mesh is a lattice, else by a factor that is made once and not counted. "Without v" takes the same states, and
leaves what the steps leave to the means.

python studies/reference_steps.py [--quick] [--only cases|contrasts] [--out reference-steps.json]
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import pinnpoint as pp

CASES = (("square", 64, 4.0), ("square", 128, 4.0), ("lshape", 32, 4.0), ("cube", 12, 4.0), ("cube", 20, 4.0))
CONTRASTS = (1.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Of each in the plane and in space: η after 3 steps, by the reference alone and by cycles where it is far."""
QUICK = (("square", 8, 4.0), ("cube", 4, 4.0))
STEPS = (0, 1, 2, 3, 4, None)


class WithoutRest:
    """A solver by the same steps that does not say what they leave; a second solve for that does nothing."""

    name, accurate, calls = "steps", True, 0

    def __init__(self, steps):
        self.steps, self.solve_transposed = steps, steps.solve

    def solve(self, b):
        """The first of two."""
        self.calls += 1
        return self.steps.solve(b) if self.calls % 2 else np.zeros_like(b)


def coefficient(mesh, contrast, seed):
    """Two values on the sides of random waves."""
    rng, x = np.random.default_rng(seed), mesh.points[mesh.cells].mean(axis=1)
    waves = np.cos(6.0 * rng.normal(size=(3, mesh.dim)) @ x.T + rng.uniform(0.0, 6.0, (3, 1))).sum(axis=0)
    return np.where(waves > 0.0, contrast, 1.0)


def measured(kind, cells, contrast, seed=0):
    """One row: of each number of steps η and the radii beside those of tight solves, and processor time."""
    mesh = pp.io.generate(kind, cells)
    held = {"dirichlet": {"boundary": 0.0}}
    p = pp.fem.ReactionDiffusion(mesh, 1.0, coefficient(mesh, contrast, seed), **held)
    base = pp.fem.ReactionDiffusion(mesh, 1.0, **held)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    at = low + (high - low) * np.random.default_rng(seed + 1).uniform(0.15, 0.35, (10, mesh.dim))
    queries, U = p.mean() + p.averages(at, 0.08 * float(high[0] - low[0])), np.zeros(len(mesh.points))

    def run(method):
        start = time.process_time()
        found = pp.certify(p, U, queries, method)
        return found, time.process_time() - start

    run(pp.Exact())
    tight, seconds = run(pp.Exact())
    row = {"kind": kind, "cells": cells, "contrast": contrast, "unknowns": int(p.unknowns), "tight": seconds}
    row |= {"tight solver": tight.details["solver"].split(" (")[0], "steps": {}}
    start = time.process_time()
    reference = base.reference()
    row |= {"reference": time.process_time() - start, "by": reference.inverse.name}
    for steps in STEPS:
        now = reference if steps is None else base.reference(steps=steps)
        some, took = run(pp.Exact(solver=now))
        bare = now.on(p.system.free_block, p.system.made_on, p.space.free)
        other, _ = run(pp.Exact(solver=WithoutRest(bare)))
        apart = np.abs(some.center - tight.center) > some.radius + tight.radius
        row["steps"][str(steps)] = {
            "eta": some.details["energy_bound"] / tight.details["energy_bound"],
            "radius": float(np.max(some.radius / tight.radius)),
            "eta without v": other.details["energy_bound"] / tight.details["energy_bound"],
            "seconds": took,
            "disjoint": int(apart.sum()),
        }
    return row


def by_contrast(kind, cells, contrasts, seeds=2):
    """Rows of the worst η after three steps, over that of tight solves: with v by the reference in all of them."""
    mesh, rows = pp.io.generate(kind, cells), []
    base = pp.fem.ReactionDiffusion(mesh, 1.0)
    for contrast in contrasts:
        row = {"kind": kind, "cells": cells, "contrast": contrast, "as chosen": 0.0, "by the reference alone": 0.0}
        for seed in range(seeds):
            p = pp.fem.ReactionDiffusion(mesh, 1.0, coefficient(mesh, contrast, seed))
            U, asked = np.zeros(len(mesh.points)), p.mean()
            tight = pp.certify(p, U, asked).details["energy_bound"]
            for name, how in (("as chosen", None), ("by the reference alone", False)):
                found = pp.certify(p, U, asked, pp.Exact(solver=base.reference(steps=3, multigrid=how)))
                row[name] = max(row[name], found.details["energy_bound"] / tight)
        rows.append(row)
        print(json.dumps(row), flush=True)
    return rows


def main():
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("cases", "contrasts"), help="the other rows stay as they are")
    parser.add_argument("--out", default="reference-steps.json")
    options = parser.parse_args()
    out = Path(options.out)
    found = json.loads(out.read_text()) if options.only else {}
    if options.only != "contrasts":
        found["cases"] = []
        for case in QUICK if options.quick else CASES:
            found["cases"].append(measured(*case))
            print(json.dumps(found["cases"][-1]), flush=True)
    if options.only != "cases":
        sizes = (("square", 8), ("cube", 4)) if options.quick else (("square", 64), ("cube", 12))
        some = CONTRASTS[::3] if options.quick else CONTRASTS
        found["contrasts"] = [row for size in sizes for row in by_contrast(*size, some)]
    out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
