"""How tight intervals of Robin and periodic problems are, and that they hold: random problems with known solutions.

python studies/robin.py [--cases 500] [--seed 0] [--quick]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import pinnpoint as pp
from tests.support import periodic, robin

SHARES = {1: 0.5, 2: 0.38, 3: 0.12}
"""Of the cases, by dimension."""


def shares(kind: str, seed: int, d: int, count: int) -> Iterator[np.ndarray]:
    """Distances from the centres over radii, case by case."""
    for k in range(count):
        rng = np.random.default_rng([seed, d, k])
        if kind == "robin":
            case = robin.random_case(rng, d)
            problem, queries, truth = case.problem, case.queries, case.truths
        else:
            problem, queries, truth, _ = periodic.random_case(rng, d)
        c = pp.certify(problem, problem.space.U0, queries)
        assert str(c.guarantee) == "deterministic"
        yield (np.abs(c.center - truth) - 1e-13 * (1.0 + np.abs(truth))) / c.radius


def main() -> None:
    """Run the cases and print the share of the radius that the error takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a tenth of them")
    given = parser.parse_args()
    missed = 0
    for kind in ("robin", "periodic"):
        for d, share in SHARES.items():
            count = max(2, round(share * given.cases * (0.1 if given.quick else 1.0)))
            found = np.concatenate(list(shares(kind, given.seed, d, count)))
            missed += int(np.sum(found > 1.0))
            print(
                f"{kind}, {d}D: {count} cases, {len(found)} intervals, {int(np.sum(found > 1.0))} missed; distance "
                f"from the centre over radius: median {np.median(found):.3f}, largest {found.max():.3f}",
                flush=True,
            )
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
