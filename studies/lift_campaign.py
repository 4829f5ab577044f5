"""Do lifted intervals hold the PDE's own solution? Random points and meshes, trained and saturated networks.

python studies/lift_campaign.py [--cases 140] [--seed 0]

The benchmark −Δu = f on the unit square, whose solution is known. Each case is one mesh (structured, perturbed, uneven
or Delaunay, linear or quadratic elements) with five random points, or one for saturated networks. `share` is
|centre − truth| over the radius, `gain` the radius without the network over that with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import continua
import pinnpoint as pp
from pinnpoint.models import MLP, benchmark

KINDS = ("structured", "perturbed", "uneven", "delaunay")
NETWORKS = ("rough", "fair", "good", "good", "rough, steep", "good, steep")
ROUNDING = 1e-15
"""Of the true values, which are computed in floating point."""


def network(given: benchmark.Benchmark, name: str, rng: np.random.Generator) -> MLP:
    """A network by its name; a steep one has first-layer weights up to 50 times as large, most neurons saturated."""
    u = getattr(given, name.split(",")[0])
    if "steep" not in name:
        return u
    factor = 10.0 ** rng.uniform(0.3, 1.7)
    return MLP([u.weights[0] * factor, *u.weights[1:]], [u.biases[0] * factor, *u.biases[1:]], "tanh", "unit-box")


def main() -> None:
    """Run all cases and print the table; exit with 1 where an interval misses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=140)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    given, rows, missed = benchmark.load(), defaultdict(list), 0
    for k in range(asked.cases):
        rng = np.random.default_rng([asked.seed, k])
        name, degree = NETWORKS[k % len(NETWORKS)], int(rng.integers(1, 3))
        steep = "steep" in name
        n, kind = int(rng.integers(3, 6 if steep else 11)), KINDS[int(rng.integers(len(KINDS)))]
        mesh = continua.unit_mesh(rng, 2, n, kind)
        problem = pp.fem.ReactionDiffusion(mesh, source=given.source_text, degree=degree)
        X, start = rng.uniform(0.03, 0.97, (1 if steep else 5, 2)), time.process_time()
        found = pp.certify(problem, network(given, name, rng), problem.points(X), lift=True)
        seconds = time.process_time() - start
        off = np.abs(found.center - given.exact(X))
        wrong = ~(off <= found.radius + ROUNDING) | np.isnan(found.radius)
        wrong |= found.guarantee.value != "deterministic"
        missed += int(wrong.sum())
        for i in np.flatnonzero(wrong):
            print(
                f"MISSED: case {k}, {name}, P{degree}, {kind}, n = {n}, {X[i].tolist()}: {off[i]} > {found.radius[i]}"
            )
        quadrature = found.terms["quadrature"] / found.radius
        rows[name, degree] += list(
            zip(
                off / found.radius,
                found.details["narrowing"],
                quadrature,
                np.full(len(X), seconds / len(mesh.cells)),
                strict=True,
            )
        )
    print(
        "network       order  points  share: median  largest  gain: median  least     quadrature/radius  ms an element"
    )
    for (name, degree), values in sorted(rows.items()):
        share, gain, quadrature, cost = np.array(values).T
        print(
            f"{name:14}P{degree} {len(values):9d} {np.median(share):14.2g} {share.max():8.2g} {np.median(gain):13.3g} "
            f"{gain.min():6.2g} {np.median(quadrature):19.2g} {1e3 * np.median(cost):14.1f}"
        )
    print(f"{asked.cases} meshes, {sum(map(len, rows.values()))} points: {missed} missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
