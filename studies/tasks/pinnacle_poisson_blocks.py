"""PINNacle's Poisson2d-MS: 25 blocks of side 4, each with its own a from 0.13 to 88, ∂_n u = −u around.

The network is trained by the loss of PINNacle's code, a Δu + f, which says nothing of the fluxes between blocks. It is
certified as a prediction of the paper's −∇·(a∇u) = f. The numbers are read from PINNacle's folder `ref`, whose path
the variable PINNACLE_REF holds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

sys.path.append(str(Path(__file__).parents[1]))
from pinnacle import blocks

REF = Path(os.environ.get("PINNACLE_REF", "ref"))


def in_blocks(quick: bool) -> Row:
    """Train as PINNacle does, and certify."""
    a = torch.as_tensor(np.loadtxt(REF / "poisson_a_coef.dat"))
    f = torch.as_tensor(np.loadtxt(REF / "poisson_f_coef.dat")).reshape(5, 5, 2, 2)

    def pde(x, u):
        at = ((x + 10) / 4).clamp(0, 4.999)
        i, j = at.long().T
        wave = torch.sin(np.pi * (at - at.floor())).prod(dim=1, keepdim=True)
        source = f[i, j, 0, 0, None] + f[i, j, 1, 1, None] * wave
        return a[i, j, None] * (dde.grad.hessian(u, x, i=0, j=0) + dde.grad.hessian(u, x, i=1, j=1)) + source

    plate = dde.geometry.Rectangle([-10, -10], [10, 10])
    around = dde.icbc.RobinBC(plate, lambda _, u: -u, lambda _, on_boundary: on_boundary)
    data = dde.data.PDE(plate, pde, around, num_domain=1000, num_boundary=200)
    net = dde.nn.FNN([2] + [32] * 3 + [1], "tanh", "Glorot normal")
    net.apply_feature_transform(lambda x: x / 10)
    said = trained(data, net, 200, 300, quick)
    problem, known = blocks(quick, REF)
    asked, N = problem.points([point[:2] for point in known]), weights(net)
    definition = "−∇·(a∇u) = f on (−10, 10)², a and f by 25 blocks, ∂_n u = −u; trained by the code's a Δu + f = 0"
    return scored(problem, lambda X: N(X / 10), asked, None, said, definition)


if __name__ == "__main__":
    main({"PINNacle Poisson2d-MS": in_blocks})
