"""What the scripts of the scoreboard share: training by DeepXDE, and a row for each task."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("DDE_BACKEND", "pytorch")

import deepxde as dde
import numpy as np

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.models import from_torch

dde.config.set_default_float("float64")
Row = dict[str, Any]
Tasks = Mapping[str, Callable[[bool], Row]]
KEPT: dict[str, Any] = {}
"""The prediction that was certified last."""


def trained(data: Any, net: Any, adam: int, lbfgs: int = 0, quick: bool = False, **options: Any) -> Row:
    """DeepXDE's own training; the loss that it ends with, and processor seconds."""
    start, model = time.process_time(), dde.Model(data, net)
    rate = options.pop("lr", 1e-3)
    model.compile("adam", lr=rate, verbose=0, **{k: v for k, v in options.items() if k != "callbacks"})
    steps, callbacks = (min(adam, 20) if quick else adam), options.get("callbacks")
    losses, _ = model.train(iterations=steps, display_every=10**9, verbose=0, callbacks=callbacks)
    if lbfgs and not quick:
        dde.optimizers.config.set_LBFGS_options(maxiter=lbfgs)
        model.compile("L-BFGS", verbose=0)
        losses, _ = model.train(display_every=10**9, verbose=0)
    spent = time.process_time() - start
    told = f"Adam {steps}" + (f", L-BFGS {lbfgs}" if lbfgs and not quick else "")
    return {"loss": float(np.sum(losses.loss_train[-1])), "trained": told, "training [s]": round(spent, 1)}


def weights(net: Any) -> pp.models.MLP:
    """The network itself, without what DeepXDE does to its inputs and outputs."""
    net._input_transform = net._output_transform = None
    return from_torch(net)


def scored(problem: Any, prediction: Any, queries: Any, truth: Any, said: Row, definition: str, **options: Any) -> Row:
    """The row of a task: how wrong the network is at points, by the truth and by proof.

    `truth` is a formula in the coordinates, or the values at the points; None where nobody knows it.
    """
    start, KEPT["prediction"] = time.process_time(), prediction
    found = pp.certify(problem, prediction, queries, **options)
    spent = time.process_time() - start
    off = np.maximum(found.upper - found.value, found.value - found.lower)
    least = np.maximum(0.0, np.maximum(found.lower - found.value, found.value - found.upper))
    row = {"definition": definition, "verdict": "certified", "guarantee": str(found.guarantee), **said}
    row |= {"points": len(off), "proved at most": float(off.max()), "proved at least": float(least.max())}
    row |= {"radius": float(found.radius.max()), "certifying [s]": round(spent, 1)}
    if truth is not None:
        known = at(truth, queries) if isinstance(truth, str) else np.asarray(truth)
        row |= {"true error": float(np.abs(found.value - known).max()), "held": bool(found.contains(known).all())}
    return row


def at(truth: str, queries: Any) -> np.ndarray[Any, Any]:
    """The values of a formula in x, y, z, t at queries of points."""
    goals = [(*goal.at, *(() if goal.time is None else (goal.time,))) for goal in queries.goals]
    timed = queries.goals[0].time is not None
    d = len(goals[0]) - int(timed)
    names = (*("xyz"[:d] if d <= 3 else [f"x{i + 1}" for i in range(d)]), *(("t",) if timed else ()))
    return np.asarray(parse(truth, names)(np.array(goals)))


def refused(problem: Callable[[], object], definition: str) -> Row:
    """The row of a task that is refused: the message is the product's own."""
    try:
        problem()
    except pp.InputError as error:
        return {"definition": definition, "verdict": "refused", "why": str(error)}
    raise AssertionError(f"{definition}: was not refused")


def main(tasks: Tasks, arguments: Sequence[str] | None = None) -> None:
    """Run the tasks of a script and print their rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="all by default")
    parser.add_argument("--quick", action="store_true", help="a network that is hardly trained")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", type=Path, help="a folder for the networks")
    given = parser.parse_args(arguments)
    for name in given.names or tasks:
        dde.config.set_random_seed(given.seed)
        print(json.dumps({name: tasks[name](given.quick)}, ensure_ascii=False), flush=True)
        network = KEPT.get("prediction")
        if given.weights and isinstance(network, pp.models.MLP):
            arrays = {f"W{i}": v for i, v in enumerate(network.weights)}
            arrays |= {f"b{i}": v for i, v in enumerate(network.biases)}
            np.savez(given.weights / f"{name}.npz", **arrays)
