"""Verified balls of −u″ + 20u³ = f against 300-bit roots: violations, misses without rounding terms, radii.

python studies/nonlinear_balls.py [--seeds 4]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from flint import arb

sys.path.insert(0, str(Path(__file__).parent.parent))

import pinnpoint as pp
from tests.support.newton import ROUGH, SMOOTH, inside, largest_gap, line, states

METHODS = {
    "root, maximum norm": pp.Root(norm="max"),
    "root, both norms": pp.Root(),
    "root, norm only": pp.Root(correct=False),
    "stationary": pp.Stationary(),
}


def main() -> None:
    """Every source, mesh, state and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    balls = intervals = outside = beyond = naive = plain = 0
    print(
        f"{'solution':8} {'nodes':>5} "
        + " ".join(f"{name:>20}" for name in METHODS)
        + "   (radius at x = 0.5, 1 % error)"
    )
    for label, source in (("smooth", SMOOTH), ("rough", ROUGH)):
        for nodes in (31, 63, 95, 127):
            problem, queries, root, truths = line(source, nodes)
            shown = dict.fromkeys(METHODS, np.nan)
            for seed in range(seeds):
                for size, U in states(problem, source, root, seed):
                    gap = largest_gap(U[problem.space.free], root)
                    for name, method in METHODS.items():
                        c = pp.certify(problem, U, queries, method, target="discrete")
                        balls += 1
                        beyond += not gap <= arb(c.details["balls"]["max"]["radius"])
                        intervals += len(truths)
                        outside += sum(not inside(a, b, t) for a, b, t in zip(c.lower, c.upper, truths, strict=True))
                        if size == 1e-2 and np.isnan(shown[name]):
                            shown[name] = c.radius[2]
                    c = pp.certify(problem, U, queries, pp.Root(rounding=False), target="discrete")
                    ends = zip(c.center - c.radius, c.center + c.radius, truths, strict=True)
                    plain += len(truths)
                    naive += sum(not inside(a, b, t) for a, b, t in ends)
            print(f"{label:8} {nodes:5d} " + " ".join(f"{r:20.2e}" for r in shown.values()), flush=True)
    print(f"{balls} verified balls: {beyond} do not hold the root; {intervals} intervals: {outside} miss")
    print(f"without the rounding terms {naive} of {plain} miss")


if __name__ == "__main__":
    main()
