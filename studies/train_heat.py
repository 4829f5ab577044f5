"""The space-time networks that come with the package: trained with PyTorch, stored as float64 weights.

Heat in one and two dimensions with two modes of the sine, and a front of the Allen–Cahn equation whose closed form is
known. Initial and boundary values are met by the form u = offset + factor · N, so that the loss is the residual alone.

    python studies/train_heat.py heat_1d heat_2d allen_cahn --out src/pinnpoint/data
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pinnpoint.formulas.expressions import parse
from pinnpoint.models import MLP
from pinnpoint.models.networks.heat import TASKS, HeatTask

OPERATORS = {"+": torch.add, "-": torch.sub, "*": torch.mul, "/": torch.div, "**": torch.pow}


def formula(text: str, columns: dict[str, torch.Tensor]) -> torch.Tensor:
    """A formula on tensors."""
    names = list(columns)

    def leaf(kind: str, what: Any) -> torch.Tensor:
        return torch.tensor(float(what)) if kind == "number" else columns[names[what]]

    def call(kind: str, what: Any, operands: list[torch.Tensor]) -> torch.Tensor:
        if kind == "negate":
            return -operands[0]
        return OPERATORS[what](*operands) if kind == "operator" else getattr(torch, what)(*operands)

    return parse(text, names).fold(leaf, call)


def residual(task: HeatTask, net: torch.nn.Module, P: torch.Tensor) -> torch.Tensor:
    """F − u_t + κΔu − g(u) of u = offset + factor · N at points."""
    P = P.clone().requires_grad_(True)
    columns = {name: P[:, i] for i, name in enumerate(task.variables)}
    u = formula(task.offset, columns) + formula(task.factor, columns) * net(P)[:, 0]
    (slope,) = torch.autograd.grad(u.sum(), P, create_graph=True)
    bend: Any = 0.0
    for i in range(len(task.variables) - 1):
        bend = bend + torch.autograd.grad(slope[:, i].sum(), P, create_graph=True)[0][:, i]
    nonlinear = formula(task.nonlinear, {"u": u})
    return formula(task.source, columns) - slope[:, -1] + task.diffusion * bend - nonlinear


def train(task: HeatTask, steps: int, points: int, seed: int = 0) -> MLP:
    """The network of a task."""
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    n, w = len(task.variables), task.width
    layers = [torch.nn.Linear(n, w), torch.nn.Tanh(), torch.nn.Linear(w, w), torch.nn.Tanh(), torch.nn.Linear(w, 1)]
    net = torch.nn.Sequential(*layers)
    low = torch.tensor([a for a, _ in (*task.domain, (0.0, task.end))])
    high = torch.tensor([b for _, b in (*task.domain, (0.0, task.end))])
    P = low + (high - low) * torch.tensor(np.random.default_rng(seed).random((points, n)))
    optimizer = torch.optim.LBFGS(
        net.parameters(),
        max_iter=steps,
        history_size=50,
        line_search_fn="strong_wolfe",
        tolerance_grad=1e-12,
        tolerance_change=1e-14,
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (residual(task, net, P) ** 2).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    print(f"{task.name}: rms residual {float(closure().detach()) ** 0.5:.2e}", flush=True)
    linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    return MLP([x.weight.detach().numpy() for x in linear], [x.bias.detach().numpy() for x in linear])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    parser.add_argument("--out", type=Path, default=Path("src/pinnpoint/data"))
    parser.add_argument("--steps", type=int, default=None)
    given = parser.parse_args()
    for name in given.names:
        task = TASKS[name]
        train(task, given.steps or task.steps, 2000).save(given.out / f"{name}.npz")
