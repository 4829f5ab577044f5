"""That bounds of the largest error hold, cell by cell: 300 random problems, each on at least 10,000 points.

python studies/everywhere.py [--quick]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import pinnpoint as pp
from tests.support.worst import FAMILIES

PLANE, SOLID = 46, 12
"""Cases of each family; in three dimensions."""


def main() -> None:
    """Run the cases and print how much of its bound the largest error takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one of each family")
    given, missed = parser.parse_args(), 0
    for name, make in FAMILIES.items():
        count = 1 if given.quick else SOLID if "3D" in name else PLANE
        shares = []
        for i in range(count):
            known = make(np.random.default_rng([7, i, sum(map(ord, name))]))
            certificate = pp.certify(known.problem, known.prediction, known.problem.everywhere())
            errors = known.errors()
            missed += int(np.any(errors.max(axis=1) > certificate.band * (1 + 1e-12) + 1e-12))
            shares.append(float(errors.max()) / float(certificate.upper[0]))
        print(f"{name}: {count} cases; error over bound: median {np.median(shares):.2f}, largest {max(shares):.2f}")
    print(f"{missed} missed")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
