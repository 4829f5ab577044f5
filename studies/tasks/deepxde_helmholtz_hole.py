"""DeepXDE's demo Helmholtz_Neumann_2d_hole: −Δu − k²u = f around a disc, k = 2π, its slope given on the rim.

A smaller network than the demo's. Reactions below zero are not to be had on curves: certified on a polygon with its
corners on the circle, across whose sides u has the slope of the demo's own solution, which is the solution there too.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights
from pinnacle_poisson_discs import perforated

import pinnpoint as pp

K, R, WAVE = 2 * np.pi, 0.25, "sin(2*pi*x)*sin(2*pi*y)"
SLOPES = "2*pi*cos(2*pi*x)*sin(2*pi*y)", "2*pi*sin(2*pi*x)*cos(2*pi*y)"


def pde(x, y):
    """The demo's residual."""
    bend = dde.grad.hessian(y, x, i=0, j=0) + dde.grad.hessian(y, x, i=1, j=1)
    return -bend - K**2 * (y + torch.sin(K * x[:, 0:1]) * torch.sin(K * x[:, 1:2]))


def slope(x):
    """Of the solution, across the circle."""
    sin, cos = np.sin(K * x), np.cos(K * x)
    return -(x[:, 0:1] * cos[:, 0:1] * sin[:, 1:2] + x[:, 1:2] * sin[:, 0:1] * cos[:, 1:2]) * K / R


def hole(quick: bool) -> Row:
    """Train as the demo does, and certify; k² lies between two eigenvalues, which is proved."""
    square, disc = dde.geometry.Rectangle([-0.5, -0.5], [0.5, 0.5]), dde.geometry.Disk([0, 0], R)
    plate, wave = square - disc, lambda x: np.sin(K * x[:, 0:1]) * np.sin(K * x[:, 1:2])
    rim = dde.icbc.NeumannBC(plate, slope, lambda x, on_boundary: on_boundary and disc.on_boundary(x))
    sides = dde.icbc.DirichletBC(plate, wave, lambda x, on_boundary: on_boundary and square.on_boundary(x))
    data = dde.data.PDE(plate, pde, [rim, sides], num_domain=225, num_boundary=240)
    net = dde.nn.FNN([2] + [32] * 2 + [1], "sin", "Glorot uniform")
    said = trained(data, net, 200, 300, quick, loss_weights=[1, 10, 100])

    mesh = perforated(0.5, [(0, 0, R)], 0.1 if quick else 0.03)
    facets = mesh.facets("disc 0")
    parts = mesh.with_facets({f"side {k}": facet[None] for k, facet in enumerate(facets)})
    across = [f"({float(n)!r})*{SLOPES[0]} + ({float(m)!r})*{SLOPES[1]}" for n, m in mesh.outer_normals(facets)]
    held = {"dirichlet": {"outside": 0.0}, "neumann": {f"side {k}": told for k, told in enumerate(across)}}
    problem = pp.fem.ReactionDiffusion(parts, f"4*pi**2*{WAVE}", reaction=-(K**2), degree=2, **held)
    definition = (
        f"−Δu − k²u = k² sin kx sin ky on (−½, ½)² without a polygon of {len(facets)} corners on the circle of "
    )
    definition += "radius ¼, k = 2π (its square a float), u = 0 outside, on the polygon the slope of sin kx sin ky"
    return scored(problem, weights(net), problem.points([[0.3, 0.3], [-0.4, 0.1]]), WAVE, said, definition)


if __name__ == "__main__":
    main({"DeepXDE Helmholtz_Neumann_2d_hole": hole})
