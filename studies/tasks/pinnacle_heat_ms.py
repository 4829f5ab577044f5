"""PINNacle's Heat2d-MS: u_t = (500π)⁻² u_xx + π⁻² u_yy on the unit square, sin 20πx sin πy at the start, t ≤ 5.

The network of PINNacle (five layers of 100) is made smaller; conditions are soft, as there.
"""

from __future__ import annotations

import math

import deepxde as dde
import numpy as np
from common import Row, main, scored, trained, weights

import pinnpoint as pp

SLOW, FAST = (500 * math.pi) ** -2, math.pi**-2
RATE = SLOW * (20 * math.pi) ** 2 + FAST * math.pi**2
EXACT = f"sin(20*pi*x)*sin(pi*y)*exp(-{RATE!r}*t)"


def pde(x, u):
    """PINNacle's residual."""
    u_xx, u_yy = (dde.grad.hessian(u, x, i=i, j=i) for i in (0, 1))
    return dde.grad.jacobian(u, x, i=0, j=2) - SLOW * u_xx - FAST * u_yy


def start(x):
    """The solution at t = 0."""
    return np.sin(20 * np.pi * x[:, 0:1]) * np.sin(np.pi * x[:, 1:2])


def multiscale(quick: bool) -> Row:
    """Train as PINNacle does, and certify."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Rectangle([0, 0], [1, 1]), dde.geometry.TimeDomain(0, 5))
    bc = dde.icbc.DirichletBC(domain, lambda _: 0, lambda _, on_boundary: on_boundary)
    ic = dde.icbc.IC(domain, start, lambda _, on_initial: on_initial)
    few = 40 if quick else 10
    data = dde.data.TimePDE(
        domain, pde, [bc, ic], num_domain=4096 // few, num_boundary=1024 // few, num_initial=2048 // few
    )
    net = dde.nn.FNN([3] + [32] * 2 + [1], "tanh", "Glorot normal")
    said = trained(data, net, 150, 100, quick)

    box = pp.Box([0, 1], [0, 1], end=5.0, diffusion=(SLOW, FAST), initial="sin(20*pi*x)*sin(pi*y)")
    asked = box.points([[0.325, 0.4], [0.6, 0.7]], time=1.0) + box.points([[0.325, 0.4]], time=5.0)
    definition = "u_t = (500π)⁻² u_xx + π⁻² u_yy on (0, 1)², t ≤ 5, u = 0 on the sides, sin 20πx sin πy at the start"
    return scored(box, weights(net), asked, EXACT, said, definition, budget=1500 if quick else None)


TASKS = {"PINNacle Heat2d-MS": multiscale}

if __name__ == "__main__":
    main(TASKS)
