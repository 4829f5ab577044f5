"""PINNacle's Wave2d-MS, u_tt = u_xx + 2u_yy: the solution that its code states, held against its own equation.

The code gives u = sin πx sinh πy cos πt + sinh 3πx sin 2πy cos πt at the start and around, for t ≤ 100, and nothing of
u_t(0), which is zero for this u and taken so. With η = y/√2 the equation is u_tt = Δu, and at points whose past does
not reach the sides the start alone decides: there the stated u is certified as a prediction, and a network beside it.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.models import Lift

START = "sin(pi*x)*sinh(pi*sqrt(2)*y) + sinh(3*pi*x)*sin(2*pi*sqrt(2)*y)"
LINE = "u_tt = u_xx + 2u_yy on (0, 1)², its stated u at the start, at rest there; points at t = 0.2 and 0.3"
WAVE = pp.boxes.Wave([0, 1], [0, 0.707], end=0.3, initial=START)
ASKED = WAVE.points([[0.5, 0.35], [0.4, 0.3]], time=0.2) + WAVE.points([[0.5, 0.35]], time=0.3)


def stated(quick: bool) -> Row:
    """What the code calls the solution."""
    told = {"loss": None, "trained": "not at all: the code's own formula", "training [s]": 0.0}
    return scored(WAVE, f"({START})*cos(pi*t)", ASKED, None, told, LINE, budget=500 if quick else None)


def network(quick: bool) -> Row:
    """A network for the equation, the start and rest, t ≤ 1."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Rectangle([0, 0], [1, 1]), dde.geometry.TimeDomain(0, 1))

    def func(x):
        x, y, t = np.pi * x[:, 0:1], np.pi * x[:, 1:2], np.pi * x[:, 2:3]
        return (np.sin(x) * np.sinh(y) + np.sinh(3 * x) * np.sin(2 * y)) * np.cos(t)

    def pde(x, u):
        u_xx, u_yy, u_tt = (dde.grad.hessian(u, x, i=i, j=i) for i in range(3))
        return u_tt - u_xx - 2 * u_yy

    begins = lambda _, on_initial: on_initial  # noqa: E731
    rest = dde.icbc.OperatorBC(domain, lambda x, u, _: dde.grad.jacobian(u, x, i=0, j=2), begins)
    bc = dde.icbc.DirichletBC(domain, func, lambda _, on_boundary: on_boundary)
    conditions = [bc, dde.icbc.IC(domain, func, begins), rest]
    data = dde.data.TimePDE(domain, pde, conditions, num_domain=400, num_boundary=100, num_initial=100)
    net = dde.nn.FNN([3] + [24] * 2 + [1], "tanh", "Glorot normal")
    said = trained(data, net, 200, 200, quick)
    lift = Lift(weights(net), inputs=["x", "sqrt(2)*y", "t"], variables=("x", "y", "t"))
    return scored(WAVE, lift, ASKED, None, said, f"{LINE}; a network", budget=500 if quick else 4000)


TASKS = {"PINNacle Wave2d-MS": network, "PINNacle Wave2d-MS, its stated solution": stated}

if __name__ == "__main__":
    main(TASKS)
