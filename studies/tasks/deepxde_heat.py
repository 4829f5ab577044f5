"""DeepXDE's demos heat and heat.resample: u_t = 0.4 u_xx, u = sin πx at the start, a network that meets neither."""

from __future__ import annotations

import deepxde as dde
import numpy as np
from common import Row, main, scored, trained, weights

import pinnpoint as pp

EXACT = "exp(-0.4*pi**2*t)*sin(pi*x)"


def pde(x, y):
    """The demo's residual."""
    return dde.grad.jacobian(y, x, i=0, j=1) - 0.4 * dde.grad.hessian(y, x, i=0, j=0)


def heat(quick: bool, resample: bool = False) -> Row:
    """Train as the demo does, and certify."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1))
    bc = dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on_boundary: on_boundary)
    ic = dde.icbc.IC(domain, lambda x: np.sin(np.pi * x[:, 0:1]), lambda _, on_initial: on_initial)
    data = dde.data.TimePDE(domain, pde, [bc, ic], num_domain=300, num_boundary=40, num_initial=60)
    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    callbacks = [dde.callbacks.PDEPointResampler(period=10)] if resample else None
    said = trained(data, net, 300, 0 if resample else 400, quick, callbacks=callbacks)

    box = pp.Box([0, 1], end=1.0, diffusion=0.4, initial="sin(pi*x)")
    asked = box.points([[0.25], [0.5], [0.8]], time=0.5) + box.points([[0.25], [0.5], [0.8]], time=1.0)
    definition = "u_t = 0.4 u_xx on (0, 1), t ≤ 1, u = 0 at the ends, sin πx at the start"
    return scored(box, weights(net), asked, EXACT, said, definition)


TASKS = {"DeepXDE heat": heat, "DeepXDE heat.resample": lambda quick: heat(quick, resample=True)}

if __name__ == "__main__":
    main(TASKS)
