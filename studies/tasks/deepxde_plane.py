"""DeepXDE's demos in the plane: Poisson_Lshape and Helmholtz_Dirichlet_2d, on meshes."""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models import Lift

K = 4 * np.pi


def bend(x, y):
    """The Laplacian of y."""
    return dde.grad.hessian(y, x, i=0, j=0) + dde.grad.hessian(y, x, i=1, j=1)


def lshape(quick: bool) -> Row:
    """Poisson_Lshape."""
    L = dde.geometry.Polygon([[0, 0], [1, 0], [1, -1], [-1, -1], [-1, 1], [0, 1]])
    bc = dde.icbc.DirichletBC(L, lambda x: 0, lambda _, on_boundary: on_boundary)
    data = dde.data.PDE(L, lambda x, y: -bend(x, y) - 1, bc, num_domain=400, num_boundary=80)
    net = dde.nn.FNN([2] + [50] * 4 + [1], "tanh", "Glorot uniform")
    said = trained(data, net, 100, 100, quick)
    mesh = pp.io.generate("lshape", 8 if quick else 32)
    problem = pp.fem.ReactionDiffusion(Mesh(mesh.points * [1, -1], mesh.cells[:, ::-1]), 1.0, degree=2)
    asked = problem.points([[-0.27717279, -0.1875], [-0.5, 0.5], [0.5, -0.5]])
    return scored(problem, weights(net), asked, None, said, "−Δu = 1 on (−1, 1)² without [0, 1]², u = 0 around")


def helmholtz(quick: bool) -> Row:
    """Helmholtz_Dirichlet_2d, its hard constraint: k² lies between two eigenvalues, which is proved."""
    square = dde.geometry.Rectangle([0, 0], [1, 1])
    source = lambda x: K**2 * torch.sin(K * x[:, 0:1]) * torch.sin(K * x[:, 1:2])  # noqa: E731
    data = dde.data.PDE(square, lambda x, y: -bend(x, y) - K**2 * y - source(x), [], num_domain=400)
    net = dde.nn.FNN([2] + [32] * 2 + [1], "sin", "Glorot uniform")
    net.apply_output_transform(lambda x, y: (x * (1 - x)).prod(dim=1, keepdim=True) * y)
    said = trained(data, net, 100, 200, quick)
    wave = "sin(4*pi*x)*sin(4*pi*y)"
    mesh = pp.io.generate("square", 32)
    problem = pp.fem.ReactionDiffusion(mesh, f"16*pi**2*{wave}", reaction=-(K**2), degree=2)
    lift = Lift(weights(net), "x*(1 - x)*y*(1 - y)")
    asked = problem.points([[0.4, 0.35], [0.625, 0.375]])
    definition = "−Δu − k²u = k² sin kx sin ky on (0, 1)², k = 4π (its square a float), u = 0 around"
    return scored(problem, lift, asked, wave, said, definition, lift=True)


TASKS = {"DeepXDE Poisson_Lshape": lshape, "DeepXDE Helmholtz_Dirichlet_2d": helmholtz}

if __name__ == "__main__":
    main(TASKS)
