"""DeepXDE's demos diffusion.1d, diffusion.1d.exactBC and diffusion.1d.resample: u_t = u_xx + f, u = e^{−t} sin πx."""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.models import Lift

EXACT = "exp(-t)*sin(pi*x)"


def pde(x, y):
    """The demo's residual."""
    wave = torch.sin(np.pi * x[:, 0:1])
    dy_t, dy_xx = dde.grad.jacobian(y, x, i=0, j=1), dde.grad.hessian(y, x, i=0, j=0)
    return dy_t - dy_xx + torch.exp(-x[:, 1:]) * (wave - np.pi**2 * wave)


def func(x):
    """The solution."""
    return np.sin(np.pi * x[:, 0:1]) * np.exp(-x[:, 1:])


def diffusion(quick: bool, exact: bool = False, resample: bool = False) -> Row:
    """Train as the demo does, and certify."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
    net = dde.nn.FNN([2] + [32] * 3 + [1], "tanh", "Glorot uniform")
    bc = dde.icbc.DirichletBC(domain, func, lambda _, on_boundary: on_boundary)
    ic = dde.icbc.IC(domain, func, lambda _, on_initial: on_initial)
    numbers = {"num_domain": 40} if exact else {"num_domain": 40, "num_boundary": 20, "num_initial": 10}
    kind = {"train_distribution": "pseudo"} if resample else {}
    data = dde.data.TimePDE(domain, pde, [] if exact else [bc, ic], **numbers, **kind)
    if exact:
        net.apply_output_transform(lambda x, y: x[:, 1:2] * (1 - x[:, 0:1] ** 2) * y + torch.sin(np.pi * x[:, 0:1]))
    callbacks = [dde.callbacks.PDEPointResampler(period=100)] if resample else None
    said = trained(data, net, 500, 0 if resample else 400, quick, callbacks=callbacks)

    box = pp.Box([-1, 1], end=1.0, source="exp(-t)*(pi**2 - 1)*sin(pi*x)", initial="sin(pi*x)")
    form = ("t*(1 - x**2)", "sin(pi*x)") if exact else (None, None)
    lift = Lift(weights(net), *form, variables=("x", "t"))
    asked = box.points([[-0.6], [0.3], [0.5]], time=0.5) + box.points([[-0.6], [0.3], [0.5]], time=1.0)
    definition = "u_t = u_xx − e^{−t}(1 − π²) sin πx on (−1, 1), t ≤ 1, u = 0 at the ends, sin πx at the start"
    return scored(box, lift, asked, EXACT, said, definition)


TASKS = {
    "DeepXDE diffusion.1d": diffusion,
    "DeepXDE diffusion.1d.exactBC": lambda quick: diffusion(quick, exact=True),
    "DeepXDE diffusion.1d.resample": lambda quick: diffusion(quick, resample=True),
}

if __name__ == "__main__":
    main(TASKS)
