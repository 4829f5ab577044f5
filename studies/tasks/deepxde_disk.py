"""DeepXDE's demo Laplace_disk, on the disc itself."""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp


def disk(quick: bool) -> Row:
    """Laplace_disk; what its network sees of (r, θ) are r sin θ = y and r cos θ = x."""
    polar = dde.geometry.Rectangle([0, 0], [1, 2 * np.pi])
    rim = lambda x, on_boundary: on_boundary and dde.utils.isclose(x[0], 1)  # noqa: E731
    bc = dde.icbc.DirichletBC(polar, lambda x: np.cos(x[:, 1:2]), rim)

    def pde(x, y):
        r, y_r, y_rr = x[:, 0:1], dde.grad.jacobian(y, x, i=0, j=0), dde.grad.hessian(y, x, i=0, j=0)
        return r * y_r + r**2 * y_rr + dde.grad.hessian(y, x, i=1, j=1)

    net = dde.nn.FNN([2] + [20] * 3 + [1], "tanh", "Glorot normal")
    net.apply_feature_transform(lambda x: x[:, 0:1] * torch.cat([torch.sin(x[:, 1:2]), torch.cos(x[:, 1:2])], dim=1))
    said = trained(dde.data.PDE(polar, pde, bc, num_domain=400, num_boundary=80), net, 150, 100, quick)
    N = weights(net)
    problem = pp.fem.ReactionDiffusion(
        pp.io.generate("disc", 8 if quick else 16),
        0.0,
        dirichlet={"rim": "x"},
        degree=2,
        geometry={"rim": pp.Circle((0, 0), 1)},
    )
    asked = problem.points([[0.3, 0.2], [-0.5, 0.1]])
    return scored(
        problem, lambda X: N(X[:, ::-1]), asked, [0.3, -0.5], said, "Δu = 0 in the unit disc, u = x on the circle"
    )


TASKS = {"DeepXDE Laplace_disk": disk}

if __name__ == "__main__":
    main(TASKS)
