"""A plain collocation PINN, to compare with: the strong residual at sampled points, by automatic differentiation."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike

from pinnpoint.base.errors import InputError
from pinnpoint.certifiers.protocols import Problem
from pinnpoint.fem.data.coefficients import function
from pinnpoint.fem.reaction_diffusion import ReactionDiffusion
from pinnpoint.training.field import TrainedField
from pinnpoint.training.networks import Shape, coordinate_network
from pinnpoint.training.trainer import Report, Settings, fit


def train_collocation(
    problem: Problem,
    points: ArrayLike,
    settings: Settings | None = None,
    *,
    report: Report | None = None,
    **shape: Unpack[Shape],
) -> TrainedField:
    """Minimise the mean of (−κΔu + c u − f)² at the points, over the mean of f².

    For `ReactionDiffusion` with one number κ and one number c; boundary values are those of the factor (zero). `shape`
    is as for `train_field`. A small loss says nothing certain between the points, which is what certificates are for.
    """
    settings = Settings() if settings is None else settings
    if not isinstance(problem, ReactionDiffusion) or np.ptp(problem.diffusion) > 0.0 or problem.diffusion.ndim != 1:
        raise InputError("problem: must be ReactionDiffusion with one number as its diffusion")
    if problem.coefficients is not None:
        raise InputError("problem: must have one number as its diffusion and one as its reaction, and no convection")
    if problem.reaction_varies or (problem.reaction is not None and np.ptp(problem.reaction) > 0.0):
        raise InputError("problem: must have one number as its reaction")
    kappa, c = float(problem.diffusion[0]), 0.0 if problem.reaction is None else float(problem.reaction[0])
    X = torch.as_tensor(np.atleast_2d(np.array(points, dtype=np.float64)))
    if X.shape[1] != problem.mesh.dim:
        raise InputError(f"points: must have {problem.mesh.dim} coordinates; got shape {tuple(X.shape)}")
    f = torch.as_tensor(function("source", problem.given["source"])(X.numpy()))
    scale = float((f * f).mean()) or 1.0
    net, vanish, factor, activation = coordinate_network(X.shape[1], 1, settings.seed, **shape)

    def loss(at: ArrayLike) -> Any:
        x = X[at].detach().requires_grad_(True)
        u = net(x)[:, 0] * vanish(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        bend = sum(torch.autograd.grad(slope[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(x.shape[1]))
        r = -kappa * bend + c * u - f[at]
        return (r * r).mean() / scale

    return TrainedField(net, factor, activation, fit(net, loss, len(X), settings, report=report))
