"""How tight intervals of cubic reactions are, and that they hold: random problems, states and dual states.

python studies/semilinear_containment.py [--cases 300] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support import cubics

SIZES = {1: (6, 80), 2: (3, 10), 3: (2, 4)}


def main() -> None:
    """Run the cases and print the share of the radius that the error takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    missed = 0
    for d, weight in ((1, 1.0), (2, 0.25), (3, 0.02)):
        rng = np.random.default_rng([given.seed, d])
        found = []
        for _ in range(max(1, int(given.cases * weight))):
            case = cubics.random_case(d, rng, int(rng.integers(*SIZES[d])), points=3)
            found += cubics.shares(*case)
        share = np.array(found)
        missed += int(np.sum(share > 1.0))
        print(
            f"{d}D: {len(share)} intervals, {int(np.sum(share > 1.0))} missed; error against radius: median "
            f"{np.median(share):.3f}, largest {share.max():.3f}",
            flush=True,
        )
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
