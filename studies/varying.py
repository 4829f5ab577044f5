"""Random problems with coefficients that vary: whether the truth is inside, and how wide intervals are.

    python studies/varying.py --cases 500

For each kind so many problems on lines and in the plane, and an eighth of that in space (tests/support/varied.py), with
an average over a free side or the flux through the boundary, and some point values. Prints a table.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import pinnpoint as pp
from tests.support.varied import ask, draw

KINDS = ("scalar", "constant matrix", "matrix", "convection")
SIZES = {1: (4, 16), 2: (3, 9), 3: (2, 4)}


def campaign(kind: str, d: int, cases: int) -> list[tuple[float, float, bool]]:
    """Radius relative to the truth, distance relative to the radius, and whether the truth is inside."""
    found = []
    for seed in range(cases):
        rng = np.random.default_rng([seed, d, 7])
        case = draw(seed, kind, d, int(rng.integers(*SIZES[d])))
        queries, truth = ask(case, rng, points=d < 3 and seed % 4 == 0)
        c = pp.certify(case.problem, case.problem.space.U0, queries)
        relative, off = c.radius / np.maximum(np.abs(truth), 0.01), np.abs(c.center - truth) / c.radius
        rows = zip(relative, off, c.contains(truth), strict=True)
        found += [(float(r), float(o), bool(inside)) for r, o, inside in rows]
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    cases = parser.parse_args().cases
    print("| kind | dimension | intervals | missed | largest distance / radius | median radius / truth | seconds |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        for d, count in ((1, cases // 2), (2, cases // 2), (3, cases // 8)):
            start = time.perf_counter()
            rows = campaign(kind, d, count)
            missed = sum(not inside for _, _, inside in rows)
            worst, middle = max(o for _, o, _ in rows), float(np.median([r for r, _, _ in rows]))
            spent = time.perf_counter() - start
            print(f"| {kind} | {d} | {len(rows)} | {missed} | {worst:.2f} | {middle:.1e} | {spent:.0f} |", flush=True)


if __name__ == "__main__":
    main()
