"""Populations against proved intervals on meshes four times finer: no two may be disjoint.

Coefficients of contrast 1 to 1,000 on squares, L-shapes, frames with a hole and mixed boundaries; 0 to 4 steps; the
mean, averages over blocks and balls, or points with κ jumping around them, the size of the solution, and the energy
error of predictions of every quality.
The fine mesh's intervals come from many steps there, and for some from fluxes of patches around a solved state.

python studies/operators.py [--quick] [--only KIND] [--out operators.json]
"""

import argparse
import json
from pathlib import Path

import numpy as np

import pinnpoint as pp
from pinnpoint.mesh.refine import Refiner

KINDS = {"square": ("square", 8), "lshape": ("lshape", 4), "frame": ("frame", 4), "mixed": ("square", 8)}
KINDS |= {"points": ("square", 8), "mixed points": ("square", 8)}
CONTRASTS = (1.0, 4.0, 30.0, 1000.0)
STEPS = range(5)
COUNTS = ("compared", "disjoint", "narrow", "infinite")


def problem(kind, mesh):
    """One of the problems on a mesh."""
    if kind.startswith("mixed"):
        given = {"dirichlet": {"left": 0.0, "right": 1.0}, "neumann": {"top": 0.5}}
        return pp.fem.ReactionDiffusion(mesh, source="1+x*y", **given)
    return pp.fem.ReactionDiffusion(
        mesh, source=1.0 if kind in ("square", "points") else "1+x", dirichlet={"boundary": 0.0}
    )


def asked(p, kind):
    """Queries that both meshes have."""
    at = np.array([[0.3, 0.6], [0.7, 0.25], [0.5, 0.5]])
    if kind.endswith("points"):
        return p.mean() + p.points([[0.3, 0.6], [0.71, 0.26], [0.45, 0.52], [0.09, 0.83]])
    at = at if kind in ("square", "mixed") else np.array([[-0.7, 0.3], [-0.75, -0.4], [0.3, 0.75]])
    blocks = p.cells(at, side=0.25, name=["b0", "b1", "b2"])
    return p.mean() + blocks + p.averages(at[:2] + 0.01, [0.1, 0.15], names=["c0", "c1"])


def coefficients(rng, mesh, count, contrast):
    """Two values on the sides of random waves, or noise on every cell, and any scale."""
    x = mesh.points[mesh.cells].mean(axis=1)
    waves = np.cos(rng.normal(size=(count, 3, 2)) * 6.0 @ x.T + rng.uniform(0.0, 6.0, (count, 3, 1))).sum(axis=1)
    noise = rng.uniform(size=(count, len(x)))
    share = np.where(rng.random((count, 1)) < 0.7, waves > 0.0, noise)
    return contrast**share * 10.0 ** rng.integers(-3, 4, (count, 1))


def finer(mesh, values, times=2):
    """A mesh with cells of a quarter of the size, where its cells come from, and functions (S, nodes) on it."""
    refiner = Refiner(mesh)
    parents = np.arange(len(mesh.cells))
    for _ in range(times):
        refiner.uniform()
        parents = parents[refiner.parents]
        values = refiner.prolong(values.T).T
    return refiner.mesh, parents, values


def block(kind, contrast, count, seed):
    """How many intervals were compared, how many were disjoint, and how narrow they were."""
    rng = np.random.default_rng(seed)
    coarse = problem(kind, pp.io.generate(*KINDS[kind]))
    kappas = coefficients(rng, coarse.mesh, count, contrast)
    free = coarse.space.free
    guesses = np.tile(coarse.space.U0, (count, 1))
    guesses[:, free] += (
        rng.normal(size=(count, len(free))) * 10.0 ** rng.uniform(-4, 0, (count, 1)) / kappas.min(axis=1, keepdims=True)
    )
    mesh, parents, on_fine = finer(coarse.mesh, guesses)
    fine = problem(kind, mesh)
    many = fine.operators().prepare(asked(fine, kind), steps=24, dual_steps=16)
    truth = many.certify_many(kappas[:, parents], on_fine)
    found = dict.fromkeys(COUNTS, 0)
    size = np.abs(truth.center) + 1e-300
    for steps in STEPS:
        certifier = coarse.operators().prepare(asked(coarse, kind), steps=steps, dual_steps=steps)
        here = certifier.certify_many(kappas, guesses)
        apart = np.abs(here.center - truth.center) > here.radius + truth.radius
        sides = [(here.energy_lower > truth.energy), (truth.energy_lower > here.energy)]
        sides += [(here.norm_lower > truth.norm), (truth.norm_lower > here.norm)]
        found["compared"] += apart.size + 2 * count
        found["disjoint"] += int(apart.sum()) + sum(int(s.sum()) for s in sides)
        found["narrow"] += int((here.radius < 0.2 * size).sum())
        found["infinite"] += int(np.isinf(here.radius).sum())
    for i in range(0, count, 10):  # another proof of the same numbers
        one = pp.fem.ReactionDiffusion(
            fine.mesh, fine.given["source"], kappas[i, parents], 0.0, fine.given["dirichlet"], fine.given["neumann"]
        )
        other = pp.certify(one, np.zeros(len(fine.mesh.points)), asked(one, kind))
        found["compared"] += len(other.center)
        found["disjoint"] += int(np.sum(np.abs(other.center - truth.center[i]) > other.radius + truth.radius[i]))
    return found


def main():
    """Run all blocks and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", default="operators.json")
    parser.add_argument("--only", choices=list(KINDS), help="one kind of problem")
    options = parser.parse_args()
    total, rows = dict.fromkeys(COUNTS, 0), []
    for k, kind in enumerate(KINDS):
        if options.only not in (None, kind):
            continue
        for c, contrast in enumerate(CONTRASTS):
            if options.quick and (k + c) % 4:
                continue
            found = block(kind, contrast, 2 if options.quick else 20, seed=100 * k + c)
            rows.append({"kind": kind, "contrast": contrast, **found})
            total = {name: total[name] + found[name] for name in total}
            print(f"{kind:8} contrast {contrast:6g}: {found}", flush=True)
    print(f"together: {total}")
    Path(options.out).write_text(json.dumps({"rows": rows, "total": total}, indent=1) + "\n")


if __name__ == "__main__":
    main()
