"""DeepXDE's demo diffusion.reaction: u_t = u_xx + f on (−π, π) with five waves, initial and end values exactly met.

π is no float: the box is [−π, π] with the floats next to it, on whose ends the prediction's own form is not zero by
4e-16, which is counted.
"""

from __future__ import annotations

import math

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.models import Lift

WAVES = {1: 1.0, 2: 1 / 2, 3: 1 / 3, 4: 1 / 4, 8: 1 / 8}
INITIAL = " + ".join(f"sin({k}*x)/{k}" for k in WAVES)
SOURCE = "exp(-t)*(3*sin(2*x)/2 + 8*sin(3*x)/3 + 15*sin(4*x)/4 + 63*sin(8*x)/8)"


def pde(x, y):
    """The demo's residual."""
    X, t = x[:, 0:1], x[:, 1:]
    waves = sum((k * k - 1) * torch.sin(k * X) / k for k in WAVES)
    return dde.grad.jacobian(y, x, i=0, j=1) - dde.grad.hessian(y, x, i=0, j=0) - torch.exp(-t) * waves


def form(x, y):
    """The demo's output transform."""
    X = x[:, 0:1]
    return x[:, 1:2] * (np.pi**2 - X**2) * y + sum(torch.sin(k * X) / k for k in WAVES)


def reaction(quick: bool) -> Row:
    """Train as the demo does, and certify."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-np.pi, np.pi), dde.geometry.TimeDomain(0, 1))
    data = dde.data.TimePDE(domain, pde, [], num_domain=320)
    net = dde.nn.FNN([2] + [30] * 6 + [1], "tanh", "Glorot uniform")
    net.apply_output_transform(form)
    said = trained(data, net, 150, 150, quick)

    box = pp.Box([-math.pi, math.pi], end=1.0, source=SOURCE, initial=INITIAL)
    lift = Lift(weights(net), "t*(pi**2 - x**2)", INITIAL, variables=("x", "t"))
    definition = (
        "u_t = u_xx + e^{−t}Σ(k² − 1) sin(kx)/k on (−π, π), t ≤ 1, zero ends, Σ sin(kx)/k at the start, k = 1 to 4, 8"
    )
    asked = box.points([[-2.0], [0.4], [1.5]], time=1.0)
    return scored(box, lift, asked, f"exp(-t)*({INITIAL})", said, definition, budget=None if not quick else 3000)


TASKS = {"DeepXDE diffusion.reaction": reaction}

if __name__ == "__main__":
    main(TASKS)
