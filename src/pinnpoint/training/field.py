"""Coordinate networks whose nodal values are trained on the residual of the certified system."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.models.networks.mlp import MLP
from pinnpoint.models.networks.safetensors import write_safetensors
from pinnpoint.models.networks.torch import from_torch
from pinnpoint.training.networks import Shape, coordinate_network, factor_of
from pinnpoint.training.residuals import compatible_residual
from pinnpoint.training.trainer import History, Report, Settings, fit


@dataclass(frozen=True, eq=False)
class TrainedField:
    """A trained coordinate network: a callable on points, with its module and history."""

    module: Any
    factor: Any
    activation: str
    history: History

    __repr__ = brief

    def __call__(self, X: ArrayLike) -> Vector:
        """Values (N,) or (N, c) at points (N, d)."""
        with torch.no_grad():
            points = torch.as_tensor(np.array(X, dtype=np.float64))
            u = self.module(points) * factor_of(self.factor)(points)[:, None]
        a = np.asarray(u.numpy())
        return a[:, 0] if a.shape[1] == 1 else a

    @property
    def network(self) -> MLP:
        """The same network in numpy alone, with its derivatives, for the neural lift."""
        if self.factor not in ("unit-box", "none"):
            raise InputError("factor: MLP knows 'unit-box' and 'none'; use pinnpoint.models.Lift with one of yours")
        return from_torch(self.module, None, self.factor)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write weights as safetensors; activation, factor and losses are in its metadata."""
        state = {name: t.detach().numpy() for name, t in self.module.state_dict().items()}
        told = {"activation": self.activation, "factor": self.factor if isinstance(self.factor, str) else "custom"}
        told |= {"best_loss": repr(self.history.best_loss), "epochs": str(len(self.history.loss))}
        return write_safetensors(path, state, told)


def train_field(
    problem: Any,
    settings: Settings | None = None,
    *,
    report: Report | None = None,
    **shape: Unpack[Shape],
) -> TrainedField:
    """Train on the normalised mean-squared compatible residual ‖r(U)‖² / ‖r(U₀)‖², U the network's nodal values.

    Parameters
    ----------
    problem
        A finite-element problem, linear or semilinear, whose space fixes nodal values.
    settings
        The paper's by default: Adam, rate 2e-3, 600 epochs.
    shape
        ``factor="unit-box"``, ``"none"``, or a torch function that vanishes where values are prescribed (prescribed
        nodes take their values in any case; the factor makes the raw network vanish there too); ``width=96``,
        ``depth=3``, ``activation="tanh"`` of the hidden layers.
    """
    settings = Settings() if settings is None else settings
    system, space = problem.system, problem.space
    if space.free is None:
        raise InputError("problem: its space must fix nodal values; general constraints are not trained")
    count = problem.components
    points = torch.from_numpy(np.array(problem.nodes.points))
    net, vanish, factor, activation = coordinate_network(points.shape[1], count, settings.seed, **shape)
    free = torch.from_numpy(np.array(space.free))
    used = torch.unique(free // count)
    X, w = points[used], vanish(points[used])[:, None]
    at = torch.searchsorted(used, free // count) * count + free % count
    residual = compatible_residual(system)
    with torch.no_grad():
        start = residual(torch.zeros(len(free), dtype=torch.float64))
        scale = float((start * start).sum())
    if not scale > 0.0:
        raise InputError("problem: its residual is zero at the start; there is nothing to train")

    def loss(_: Any) -> Any:
        r = residual((net(X) * w).reshape(-1)[at])
        return (r * r).sum() / scale

    history = fit(net, loss, 1, settings, report=report)
    return TrainedField(net, factor, activation, history)
