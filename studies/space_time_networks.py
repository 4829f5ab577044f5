"""The space-time networks that come with the package, certified without mesh and solve.

For each: the network's own error at points of the last time, the radius of the interval that holds the truth, their
ratio, and processor time; `ell` is the network of the square on an L-shaped part of it, with the truth as boundary
values, between the kernels of a box inside and of the square around. Kept in results/space_time_networks.json.

    python studies/space_time_networks.py [heat_1d heat_2d allen_cahn ell] [--budget 4000]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.models import Lift
from pinnpoint.models.networks.heat import TASKS, heat_task

OUT = Path(__file__).parent / "results" / "space_time_networks.json"
ELL = [[[0.0, 1.0], [0.0, 0.75]], [[0.0, 0.75], [0.0, 1.0]]]
AT = {1: [[0.4], [0.7]], 2: [[0.4, 0.55]]}


def certified(name: str, budget: int | None = None) -> dict[str, object]:
    """One network: errors, widths and times."""
    task = heat_task("heat_2d" if name == "ell" else name)
    X = np.array(AT[len(task.domain)])
    given = dict(end=task.end, diffusion=task.diffusion, source=task.source, initial=task.initial)
    box: pp.Box | pp.boxes.Boxes
    if name == "ell":
        box = pp.boxes.Boxes(ELL, dirichlet=task.exact, **given)
    else:
        g = None if task.nonlinear == "0*u" else task.nonlinear
        box = pp.Box(*task.domain, dirichlet=task.dirichlet, nonlinear=g, **given)
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
    parser.add_argument("names", nargs="*", default=[*TASKS, "ell"])
    parser.add_argument("--budget", type=int, default=None)
    given = parser.parse_args()
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    for name in given.names:
        found = certified(name, given.budget)
        print(json.dumps(found, indent=1), flush=True)
        if given.budget is None:
            known[name] = found
            OUT.write_text(json.dumps(known, indent=1) + "\n")
