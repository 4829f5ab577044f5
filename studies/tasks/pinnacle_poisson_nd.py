"""PINNacle's PoissonND: −Δu = π²/4 Σ sin(πx_i/2) on the unit cube of five dimensions, by barriers.

The network is smaller than PINNacle's; conditions are soft, as there.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp

PLACES = [[0.5] * 5, [0.2, 0.4, 0.6, 0.8, 0.3]]
SUM = " + ".join(f"sin(pi*x{i}/2)" for i in range(1, 6))


def bend(x, u):
    """The Laplacian."""
    return sum(dde.grad.hessian(u, x, i=i, j=i) for i in range(5))


def poisson(quick: bool) -> Row:
    """PoissonND."""
    cube = dde.geometry.Hypercube([0] * 5, [1] * 5)
    bc = dde.icbc.DirichletBC(cube, lambda x: np.sin(np.pi / 2 * x).sum(axis=1, keepdims=True), lambda _, on: on)
    source = lambda x: np.pi**2 / 4 * torch.sin(np.pi / 2 * x).sum(dim=1, keepdim=True)  # noqa: E731
    data = dde.data.PDE(cube, lambda x, u: bend(x, u) + source(x), bc, num_domain=800, num_boundary=400)
    net = dde.nn.FNN([5] + [20] * 2 + [1], "tanh", "Glorot normal")
    said = trained(data, net, 300, 300, quick)
    region = pp.boxes.Region(*[[0, 1]] * 5, source=f"pi**2/4*({SUM})", dirichlet={"sides": SUM})
    definition = "−Δu = π²/4 Σ sin(πx_i/2) on (0, 1)⁵, u = Σ sin(πx_i/2) around"
    return scored(region, weights(net), region.points(PLACES), SUM, said, definition, budget=200 if quick else None)


if __name__ == "__main__":
    main({"PINNacle PoissonND": poisson})
