"""The space-time networks that come with the package, certified without mesh and solve.

For each: the network's own error at points of the last time, the radius of the interval that holds the truth, their
ratio, and processor time.

    python studies/space_time_networks.py [heat_1d heat_2d allen_cahn] [--budget 4000]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.models import Lift
from pinnpoint.models.networks.heat import TASKS, heat_task

AT = {1: [[0.4], [0.7]], 2: [[0.4, 0.55]]}


def certified(name: str, budget: int | None = None) -> dict[str, object]:
    """One network: errors, widths and times."""
    task = heat_task(name)
    X = np.array(AT[len(task.domain)])
    box = pp.Box(
        *task.domain,
        end=task.end,
        diffusion=task.diffusion,
        source=task.source,
        initial=task.initial,
        dirichlet=task.dirichlet,
        nonlinear=None if task.nonlinear == "0*u" else task.nonlinear,
    )
    lift = Lift(task.network(), task.factor, task.offset, variables=task.variables)
    start = time.process_time()
    found = pp.certify(box, lift, box.points(X), budget=budget)
    seconds = time.process_time() - start
    truth = parse(task.exact, task.variables)(np.column_stack([X, np.full(len(X), task.end)]))
    return {
        "name": name,
        "held": found.contains(truth).tolist(),
        "error": np.abs(found.value - truth).tolist(),
        "radius": found.radius.tolist(),
        "share": (found.radius / np.abs(found.value - truth)).tolist(),
        "guarantee": str(found.guarantee),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    parser.add_argument("--budget", type=int, default=None)
    given = parser.parse_args()
    for name in given.names or list(TASKS):
        print(json.dumps(certified(name, given.budget), indent=1), flush=True)
