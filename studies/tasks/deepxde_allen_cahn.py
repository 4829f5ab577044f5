"""DeepXDE's demo Allen_Cahn: u_t = 10⁻³ u_xx + 5(u − u³), x² cos πx at the start, which the network's form meets.

Errors may grow by e⁵ until t = 1: the interval is that much wider than what the network leaves. No closed form
of u is known; the error beside the proof is by our own collocation on 256 Chebyshev points.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from collocation import collocated
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.models import Lift

POINTS, TIMES = [[-0.6], [0.0], [0.5]], (0.25, 1.0)


def pde(x, y):
    """The demo's residual."""
    return dde.grad.jacobian(y, x, i=0, j=1) - 0.001 * dde.grad.hessian(y, x, i=0, j=0) - 5 * (y - y**3)


def form(x, y):
    """The demo's output transform."""
    X = x[:, 0:1]
    return X**2 * torch.cos(np.pi * X) + x[:, 1:2] * (1 - X**2) * y


def allen_cahn(quick: bool) -> Row:
    """Train as the demo does, and certify."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
    data = dde.data.TimePDE(domain, pde, [], num_domain=200 if quick else 2000)
    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    net.apply_output_transform(form)
    said = trained(data, net, 500, 1500, quick)

    box = pp.Box([-1, 1], end=1.0, diffusion=0.001, nonlinear="5*(u**3 - u)", initial="x**2*cos(pi*x)", dirichlet=-1.0)
    lift = Lift(weights(net), "t*(1 - x**2)", "x**2*cos(pi*x)", variables=("x", "t"))
    known = collocated(lambda x: x**2 * np.cos(np.pi * x), 0.001, lambda u: 5 * (u - u**3), POINTS, TIMES)
    asked = box.points(POINTS, time=TIMES[0]) + box.points(POINTS, time=TIMES[1])
    definition = "u_t = 10⁻³ u_xx + 5(u − u³) on (−1, 1), t ≤ 1, u = −1 at the ends, x² cos πx at the start"
    return scored(box, lift, asked, None if quick else known, said, definition, budget=400 if quick else None)


TASKS = {"DeepXDE Allen_Cahn": allen_cahn}

if __name__ == "__main__":
    main(TASKS)
