"""Networks trained for tasks of DeepXDE and PINNacle, certified again from their weights: loss beside proved error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.boxes import Box, Burgers, Region, Wave
from pinnpoint.certifiers.verb import certify
from pinnpoint.models.networks.mlp import MLP
from pinnpoint_paper.plots import BLUE, GREEN, GREY, canvas, label
from pinnpoint_paper.study import Check, Drawing, Part, Results, Row, Study, ranged, tell

WAVES = " + ".join(f"sin(pi*x{i}/2)" for i in range(1, 6))
SLOW, FAST = (500 * np.pi) ** -2, np.pi**-2
RATE = SLOW * (20 * np.pi) ** 2 + FAST * np.pi**2
MIXED = [0.2, 0.4, 0.6, 0.8, 0.3]
Asked = tuple[Any, Any, Vector]


@dataclass(frozen=True, eq=False)
class Task:
    """A task: its equation in words, the problem with its queries and their true values, and the solution's size."""

    about: str
    asked: Callable[[], Asked]
    size: float
    budget: int | None = None
    """Boxes of the quick form; None for tasks that it leaves out."""

    __repr__ = brief


def _heat() -> Asked:
    box = Box([0, 1], end=1.0, diffusion=0.4, initial="sin(pi*x)")
    x = np.array([0.25, 0.5, 0.8])
    truth = np.concatenate([np.exp(-0.4 * np.pi**2 * t) * np.sin(np.pi * x) for t in (0.5, 1.0)])
    return box, box.points(x[:, None], time=0.5) + box.points(x[:, None], time=1.0), truth


def _poisson() -> Asked:
    box = Box([-1, 1], source="pi**2*sin(pi*x)")
    x = np.array([-0.5, 0.1, 0.7])
    return box, box.points(x), np.sin(np.pi * x)


def _wave() -> Asked:
    wave = Wave([0, 1], end=1.0, speed=2.0, initial="sin(pi*x) + 0.5*sin(4*pi*x)")
    x, modes = np.array([0.25, 0.6]), ((1, 1.0), (4, 0.5))
    truth = [sum(a * np.sin(k * np.pi * x) * np.cos(2 * k * np.pi * t) for k, a in modes) for t in (0.3, 1.0)]
    return wave, wave.points(x, time=0.3) + wave.points(x, time=1.0), np.concatenate(truth)


def _multiscale() -> Asked:
    box = Box([0, 1], [0, 1], end=5.0, diffusion=(SLOW, FAST), initial="sin(20*pi*x)*sin(pi*y)")
    X = np.array([[0.325, 0.4], [0.6, 0.7], [0.325, 0.4]])
    truth = np.sin(20 * np.pi * X[:, 0]) * np.sin(np.pi * X[:, 1]) * np.exp(-RATE * np.array([1.0, 1.0, 5.0]))
    return box, box.points(X[:2], time=1.0) + box.points(X[:1], time=5.0), truth


def _burgers() -> Asked:
    line = Burgers([-1, 1], end=1.0, viscosity=0.01 / np.pi, initial="-sin(pi*x)")
    return line, line.averages([0.0], 0.5, time=0.2) + line.averages([0.0], 0.5, time=1.0), np.zeros(2)


def _cube() -> Asked:
    cube = Region(*[[0, 1]] * 5, source=f"pi**2/4*({WAVES})", dirichlet={"sides": WAVES})
    X = np.array([[0.5] * 5, MIXED])
    return cube, cube.points(X), np.sin(np.pi * X / 2).sum(axis=1)


def _ball() -> Asked:
    told = {"source": "-s/5*exp(s/2 + t)", "initial": "exp(s/2)", "neumann": {"ball": "exp(s/2 + t)/5"}}
    ball = Region(ball=([0.0] * 5, 1.0), end=1.0, diffusion=0.2, radial=True, **told)  # type: ignore[arg-type]
    X = np.array([[0.3, -0.2, 0.1, 0.4, -0.3], [0.1] * 5])
    truth = np.exp((X**2).sum(axis=1) / 2 + np.array([0.25, 1.0]))
    return ball, ball.points(X[:1], time=0.25) + ball.points(X[1:], time=1.0), truth


TASKS = {
    "DeepXDE heat": Task("u_t = 0.4 u_xx", _heat, 1.0, 2000),
    "DeepXDE heat.resample": Task("u_t = 0.4 u_xx", _heat, 1.0, 2000),
    "DeepXDE Poisson_Dirichlet_1d": Task("−u″ = π² sin πx", _poisson, 1.0, 2000),
    "PINNacle Wave1d": Task("u_tt = 4 u_xx", _wave, 1.5),
    "PINNacle Heat2d-MS": Task("u_t = (500π)⁻² u_xx + π⁻² u_yy", _multiscale, 1.0),
    "PINNacle Burgers1D": Task("u_t + u u_x = (0.01/π) u_xx, averages", _burgers, 1.0),
    "PINNacle PoissonND": Task("−Δu = π²/4 Σ sin(πx_i/2) in five dimensions", _cube, 5.0),
    "PINNacle HeatND": Task("u_t = Δu/5 + f in the ball of five dimensions", _ball, float(np.exp(1.5)), 200),
}


def network(name: str) -> tuple[MLP, float]:
    """The weights that `studies/scoreboard.py` ended with, and their loss."""
    with (files("pinnpoint_paper") / "scoreboard.npz").open("rb") as stream, np.load(stream) as kept:
        layers = range(sum(key.startswith(f"{name}/W") for key in kept.files))
        W, b = ([kept[f"{name}/{letter}{k}"] for k in layers] for letter in "Wb")
        return MLP(W, b, "tanh"), float(kept[f"{name}/loss"])


def _certified(name: str, quick: bool) -> dict[str, Any]:
    task, (net, loss) = TASKS[name], network(name)
    problem, queries, truth = task.asked()
    start = time.process_time()
    c = certify(problem, net, queries, budget=task.budget if quick else None)
    off = np.maximum(c.upper - c.value, c.value - c.lower)
    least = np.maximum(0.0, np.maximum(c.lower - c.value, c.value - c.upper))
    return {
        "loss": loss,
        "true_error": float(np.max(np.abs(c.value - truth))),
        "at_least": float(np.max(least)),
        "at_most": float(np.max(off)),
        "size": task.size,
        "held": bool(c.contains(truth).all()),
        "guarantee": str(c.guarantee),
        "seconds": time.process_time() - start,
    }


def _parts(form: str) -> dict[str, Part]:
    quick = form == "quick"
    return {n: partial(_certified, n, quick) for n, task in TASKS.items() if task.budget or not quick}


def _column(results: Results, key: str) -> Vector:
    return np.array([row[key] for row in results.values()])


def _checks(results: Results) -> list[Check]:
    low, true, high = (_column(results, key) for key in ("at_least", "true_error", "at_most"))
    loss = _column(results, "loss")
    return [
        Check(
            "every interval is proved and holds the truth",
            all(row["held"] and row["guarantee"] == "deterministic" for row in results.values()),
            f"{len(results)} networks",
        ),
        Check(
            "the true error lies between what is proved of it",
            bool(np.all((low <= true * (1.0 + 1e-12)) & (true <= high * (1.0 + 1e-12)))),
            f"bound over error {ranged(high / true)}",
        ),
        Check(
            "every bound is smaller than the solution",
            bool(np.all(high < _column(results, "size"))),
            f"bound over size {ranged(high / _column(results, 'size'))}",
        ),
        Check(
            "a loss does not say the error",
            float(np.max(true / loss)) > 10.0 * float(np.min(true / loss)),
            f"error over loss {ranged(true / loss)}",
        ),
    ]


def _rows(results: Results) -> list[Row]:
    rows = []
    for name, row in results.items():
        least = f"{tell(row['at_least'], 4)} to " if row["at_least"] else "at most "
        said = f"{least}{tell(row['at_most'], 4)}; true error {tell(row['true_error'], 4)}; loss {tell(row['loss'], 2)}"
        rows.append(Row(name, said, "", TASKS[name].about))
    return rows


def _draw(results: Results) -> list[Drawing]:
    figure, ((ax,),) = canvas(1, 1, (8.0, 0.5 * len(results) + 1.6))
    place = np.arange(len(results))[::-1]
    ax.plot(_column(results, "loss"), place, "s", color=GREY, label="loss")
    ax.plot(_column(results, "at_most"), place, "|", ms=16, mew=2, color=BLUE, label="proved: at most")
    ax.plot(_column(results, "true_error"), place, "x", color=GREEN, label="true error")
    ax.set_xscale("log")
    ax.set_yticks(place, list(results))
    label(ax, "loss and error (each in the task's own units)", "", "what a loss says, and what is proved")
    ax.legend(loc="lower right")
    return [Drawing("scoreboard", figure, "Losses, true errors and proved errors of networks for the field's tasks.")]


STUDY = Study(
    "scoreboard",
    "The field's tasks",
    "Networks that DeepXDE trained for its own demos and for PINNacle's tasks, by `studies/scoreboard.py`, certified "
    "from their weights: no mesh, no solve, no training framework. Their losses stand beside true and proved errors; "
    "the whole table, with every task that is refused and why, is on the scoreboard's page.",
    "beyond the paper",
    _parts,
    _checks,
    _rows,
    _draw,
)
