"""DeepXDE's demos of −u″ = f: Dirichlet, Neumann, periodic, point sets."""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp

LINE, SMALL = dde.geometry.Interval(-1, 1), [1] + [50] * 3 + [1]


def left(x, on_boundary):
    """The end −1."""
    return on_boundary and dde.utils.isclose(x[0], -1)


def right(x, on_boundary):
    """The end 1."""
    return on_boundary and dde.utils.isclose(x[0], 1)


def wave(quick: bool, periodic: bool) -> Row:
    """Poisson_Dirichlet_1d and Poisson_periodic_1d, whose two conditions say that u = 0 at both ends."""
    zero = lambda x: np.sin(np.pi * x)  # noqa: E731
    bc = [dde.icbc.DirichletBC(LINE, zero, left if periodic else lambda _, on_boundary: on_boundary)]
    bc += [dde.icbc.PeriodicBC(LINE, 0, right)] if periodic else []
    pde = lambda x, y: -dde.grad.hessian(y, x) - np.pi**2 * torch.sin(np.pi * x)  # noqa: E731
    net = dde.nn.FNN(SMALL, "tanh", "Glorot uniform")
    said = trained(dde.data.PDE(LINE, pde, bc, 16, 2), net, 300, 300, quick)
    box = pp.Box([-1, 1], source="pi**2*sin(pi*x)")
    definition = "−u″ = π² sin πx on (−1, 1), u(−1) = 0, " + ("u(1) = u(−1)" if periodic else "u(1) = 0")
    return scored(box, weights(net), box.points([-0.5, 0.1, 0.7]), "sin(pi*x)", said, definition)


def slope(quick: bool, points: bool) -> Row:
    """Poisson_Neumann_1d and Poisson_PointSetOperator_1d."""
    ends = [dde.icbc.DirichletBC(LINE, lambda x: (x + 1) ** 2, left)]
    set_of = dde.icbc.PointSetOperatorBC(np.array([[1.0]]), np.array([[4.0]]), lambda x, y, X: dde.grad.jacobian(y, x))
    ends += [set_of if points else dde.icbc.NeumannBC(LINE, lambda x: 2 * (x + 1), right)]
    net = dde.nn.FNN(SMALL, "tanh", "Glorot uniform")
    data = dde.data.PDE(LINE, lambda x, y: dde.grad.hessian(y, x) - 2, ends, 16, 2)
    said = trained(data, net, 600 if points else 300, 300, quick)  # the second demo trains twice as long
    box = pp.Box([-1, 1], source=-2.0, boundary=[("dirichlet", "neumann")], neumann=4.0)
    definition = "u″ = 2 on (−1, 1), u(−1) = 0, u′(1) = 4"
    return scored(box, weights(net), box.points([-0.5, 0.1, 0.7]), "(x + 1)**2", said, definition)


TASKS = {
    "DeepXDE Poisson_Dirichlet_1d": lambda quick: wave(quick, periodic=False),
    "DeepXDE Poisson_Neumann_1d": lambda quick: slope(quick, points=False),
    "DeepXDE Poisson_periodic_1d": lambda quick: wave(quick, periodic=True),
    "DeepXDE Poisson_PointSetOperator_1d": lambda quick: slope(quick, points=True),
}

if __name__ == "__main__":
    main(TASKS)
