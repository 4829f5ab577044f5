"""Waves on a line: DeepXDE's demo wave_1d (speed 10, two modes) and PINNacle's Wave1d (speed 2, two modes).

Plain networks, where DeepXDE's demo has Fourier features; conditions are soft, as there.
"""

from __future__ import annotations

import re

import deepxde as dde
import numpy as np
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse


def wave(quick: bool, speed: float, exact: str, initial: str) -> Row:
    """Train and certify u_tt = a² u_xx on (0, 1), t ≤ 1, at rest at the start."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1))
    known, begins = parse(exact, ("x", "t")), lambda x, on_initial: on_initial

    def pde(x, y):
        return dde.grad.hessian(y, x, i=1, j=1) - speed**2 * dde.grad.hessian(y, x, i=0, j=0)

    def func(x):
        return np.asarray(known(x)).reshape(-1, 1)

    bc = dde.icbc.DirichletBC(domain, func, lambda _, on_boundary: on_boundary)
    at_rest = dde.icbc.OperatorBC(domain, lambda x, y, _: dde.grad.jacobian(y, x, i=0, j=1), begins)
    begun = dde.icbc.IC(domain, func, begins)
    data = dde.data.TimePDE(domain, pde, [bc, begun, at_rest], num_domain=300, num_boundary=60, num_initial=60)
    net = dde.nn.FNN([2] + [32] * 3 + [1], "tanh", "Glorot uniform")
    said = trained(data, net, 100, 400, quick, loss_weights=[1 / speed**4, 1, 1, 1 / speed**2])

    problem = pp.boxes.Wave([0, 1], end=1.0, speed=speed, initial=initial)
    start = re.sub(r"sin\((\d?)\*?pi\*x\)", r"sin \1πx", initial).replace("0.5*", "½ ")
    definition = f"u_tt = {speed**2:g} u_xx on (0, 1), t ≤ 1, zero ends, {start} at rest at the start"
    asked = problem.points([0.25, 0.6], time=0.3) + problem.points([0.25, 0.6], time=1.0)
    return scored(problem, weights(net), asked, exact, said, definition, budget=2000 if quick else None)


def two_modes(a: int, k: int, b: str) -> dict[str, str]:
    """The exact solution and its start: two modes."""
    exact = f"sin(pi*x)*cos({a}*pi*t) + {b}sin({k}*pi*x)*cos({a * k}*pi*t)"
    return {"exact": exact, "initial": f"sin(pi*x) + {b}sin({k}*pi*x)"}


TASKS = {
    "DeepXDE wave_1d": lambda quick: wave(quick, 10.0, **two_modes(10, 2, "")),
    "PINNacle Wave1d": lambda quick: wave(quick, 2.0, **two_modes(2, 4, "0.5*")),
}

if __name__ == "__main__":
    main(TASKS)
