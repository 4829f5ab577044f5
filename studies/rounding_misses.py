"""How often plain float64 certificates miss, and that enclosed ones do not: the full grid, printed as a table.

python studies/rounding_misses.py [--seeds 8]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support import grid


def main() -> None:
    """Run every system, adjoint and state."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    seeds = parser.parse_args().seeds
    print(f"{'state':12} " + " ".join(f"{name:>20}" for name in grid.ADJOINTS))
    whole = grid.Tally()
    for kind in grid.STATES:
        cells = []
        for name, method in grid.ADJOINTS.items():
            tally = grid.Tally()
            for make in grid.CASES:
                grid.run(make, tally, adjoints={name: method}, states=(kind,), seeds=seeds)
            cells.append(f"{tally.misses:4d} / {100 * tally.naive_misses / tally.intervals:5.1f} % plain")
            for field in ("intervals", "misses", "naive_misses"):
                setattr(whole, field, getattr(whole, field) + getattr(tally, field))
        print(f"{kind:12} " + " ".join(f"{c:>20}" for c in cells), flush=True)
    print(
        f"{whole.intervals} intervals: {whole.misses} missed; without the rounding terms {whole.naive_misses} "
        f"({100 * whole.naive_misses / whole.intervals:.0f} %) miss"
    )


if __name__ == "__main__":
    main()
