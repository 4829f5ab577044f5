"""Burgers' equation: DeepXDE's Burgers and Burgers_RAR and PINNacle's Burgers1D, ν = 0.01/π, −sin πx at the start.

Averages over intervals, by contraction in L¹, are what is compared. u is odd, so that its average around 0 is zero:
that is the truth which is compared.
"""

from __future__ import annotations

import math

import deepxde as dde
import numpy as np
from common import Row, main, scored, trained, weights

import pinnpoint as pp

NU = 0.01 / math.pi


def pde(x, y):
    """The demo's residual."""
    along, after = dde.grad.jacobian(y, x, i=0, j=0), dde.grad.jacobian(y, x, i=0, j=1)
    return after + y * along - NU * dde.grad.hessian(y, x, i=0, j=0)


def burgers(quick: bool, end: float, refined: bool = False) -> Row:
    """Train as the demo does, and certify."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, end))
    bc = dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on_boundary: on_boundary)
    ic = dde.icbc.IC(domain, lambda x: -np.sin(np.pi * x[:, 0:1]), lambda _, on_initial: on_initial)
    data = dde.data.TimePDE(domain, pde, [bc, ic], num_domain=400, num_boundary=40, num_initial=80)
    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    said = trained(data, net, 200, 1200, quick)
    if refined:  # the demo's loop, once: the points with the largest residuals join the others
        X, model = domain.random_points(2000), dde.Model(data, net)
        model.compile("adam", lr=1e-3, verbose=0)
        data.add_anchors(X[np.argsort(-np.abs(model.predict(X, operator=pde)[:, 0]))[:10]])
        spent, said = said["training [s]"], trained(data, net, 100, 200, quick)
        said["training [s]"] = round(said["training [s]"] + spent, 1)

    problem = pp.boxes.Burgers([-1, 1], end=end, viscosity=NU, initial="-sin(pi*x)")
    line = f"u_t + u u_x = (0.01/π) u_xx on (−1, 1), t ≤ {end:g}, zero ends, −sin πx at the start"
    asked = problem.averages([0.0], 0.5, time=0.2) + problem.averages([0.0], 0.5, time=end)
    budget = 200 if quick else None
    return scored(problem, weights(net), asked, [0.0, 0.0], said, f"{line}; averages over (−½, ½)", budget=budget)


TASKS = {
    "DeepXDE Burgers": lambda quick: burgers(quick, 0.99),
    "DeepXDE Burgers_RAR": lambda quick: burgers(quick, 0.99, refined=True),
    "PINNacle Burgers1D": lambda quick: burgers(quick, 1.0),
}

if __name__ == "__main__":
    main(TASKS)
