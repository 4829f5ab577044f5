"""Do the intervals for the PDE's own solution hold it? Random problems with known solutions, by family.

python studies/continuous.py [--cases 2400] [--seed 0] [--family TEXT]

Truth comes from outside: piecewise ODEs in 256-bit arithmetic, formulas, singular functions, series. `ratio` is the
radius over the error of a plain solve at the same query; plain errors vanish by chance, so the worst is taken over
cases that the plain solve does not hit exactly, the largest radius over the largest error.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support import continua

WEIGHTS = {"1D, P1": 5.0, "1D, P2": 4.0, "smooth 3D, P2": 0.5, "smooth 3D, P1": 0.7, "cross points": 0.7}
"""Shares of the cases; 1 where nothing is said."""


def main() -> None:
    """Run all families and print the table; exit with 1 where an interval misses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", default="")
    given = parser.parse_args()
    chosen = [name for name in continua.FAMILIES if given.family in name]
    total = sum(WEIGHTS.get(name, 1.0) for name in chosen)
    print(
        f"{'family':24} {'cases':>6} {'intervals':>9} {'misses':>6} {'ratio: median':>14} {'worst':>9} {'seconds':>8}"
    )
    cases = intervals = 0
    misses = []
    for name in chosen:
        tally, start = continua.Tally(), time.perf_counter()
        for k in range(max(1, round(given.cases * WEIGHTS.get(name, 1.0) / total))):
            rng = np.random.default_rng([given.seed, list(continua.FAMILIES).index(name), k])
            continua.run(continua.FAMILIES[name](rng), tally)
        print(
            f"{name:24} {tally.cases:6d} {tally.intervals:9d} {len(tally.misses):6d} {np.median(tally.ratios):14.3g} "
            f"{max(tally.by_case, default=0.0):9.3g} {time.perf_counter() - start:8.0f}   {tally.worst}",
            flush=True,
        )
        cases, intervals, misses = cases + tally.cases, intervals + tally.intervals, misses + tally.misses
    print(f"{cases} cases, {intervals} intervals: {len(misses)} missed")
    for miss in misses:
        print(miss)
    sys.exit(1 if misses else 0)


if __name__ == "__main__":
    main()
