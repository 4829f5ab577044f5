"""A population that workers can import, and a campaign that a test can kill: python population_tasks.py OUT FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import pinnpoint as pp
from pinnpoint.campaigns import Stored, run_population
from pinnpoint.fem.families.random_fields import darcy_fields

CELLS, COUNT = 6, 90


def make(cells=CELLS, steps=1):
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", cells), source=1.0)
    return problem.operators().prepare(problem.mean(), steps=steps)


def arrays(count=COUNT):
    """Coefficients on pixels, of which one is bad, and predictions at the nodes."""
    K = darcy_fields(CELLS, count, 4)
    K[5, 1, 1] = -1.0
    return K, 0.01 * np.random.default_rng(0).random((count, (CELLS + 1) ** 2))


def stored(folder):
    return Stored(str(Path(folder) / "k.npy"), str(Path(folder) / "u.npy"), grid="cells")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.support import population_tasks as own

    done = run_population(own.make, own.stored(sys.argv[2]), sys.argv[1], chunk=2)
    print(done.done, done.skipped, len(done.failed))
