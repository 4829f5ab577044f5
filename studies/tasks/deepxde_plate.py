"""DeepXDE's demo elasticity_plate: plane strain on the unit square, λ = 1, μ = ½, Q = 4, its hard constraints.

The demo's five networks of five layers of 40 are made smaller; E = 4/3 and ν = 1/3 are floats.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained

import pinnpoint as pp

Q, PI = 4.0, np.pi
A, B = "cos(2*pi*x)*sin(pi*y)", "cos(pi*x)"
FX = f"-(4*pi**2*{A} - 4*y**3*pi*{B}) - 0.5*(pi**2*{A} - 4*y**3*pi*{B}) - 4*pi**2*{A}"
C, D = "sin(pi*x)", "cos(pi*y)*sin(2*pi*x)"
FY = f"12*y**2*{C} - 2*pi**2*{D} - 0.5*(2*pi**2*{D} + y**4*pi**2*{C}) + 12*y**2*{C}"


def pde(x, f):
    """The demo's residuals: momentum and Hooke's law."""
    d = lambda i, j: dde.grad.jacobian(f, x, i=i, j=j)  # noqa: E731
    xx, yy, xy = d(0, 0), d(1, 1), 0.5 * (d(0, 1) + d(1, 0))
    px, py, y = PI * x[:, 0:1], PI * x[:, 1:2], x[:, 1:2]
    a, b, c, e = torch.cos(2 * px) * torch.sin(py), torch.cos(px), torch.sin(px), torch.cos(py) * torch.sin(2 * px)
    fx = -(4 * PI**2 * a - Q * y**3 * PI * b) - 0.5 * (PI**2 * a - Q * y**3 * PI * b) - 4 * PI**2 * a
    fy = 3 * Q * y**2 * c - 2 * PI**2 * e - 0.5 * (2 * PI**2 * e + Q * y**4 * PI**2 * c / 4) + 3 * Q * y**2 * c
    stress = [2 * xx + yy - f[:, 2:3], 2 * yy + xx - f[:, 3:4], xy - f[:, 4:5]]
    return [d(2, 0) + d(4, 1) - fx, d(4, 0) + d(3, 1) - fy, *stress]


def hard(x, f):
    """The demo's hard constraints."""
    X, Y = x[:, 0], x[:, 1]
    top = f[:, 3] * (1 - Y) + 2 * Q * torch.sin(PI * X)
    return torch.stack((f[:, 0] * Y * (1 - Y), f[:, 1] * X * (1 - X) * Y, f[:, 2] * X * (1 - X), top, f[:, 4]), dim=1)


def plate(quick: bool) -> Row:
    """Displacements at points, of the solid's own solution."""
    net = dde.nn.PFNN([2, [20] * 5, [20] * 5, [20] * 5, 5], "tanh", "Glorot uniform")
    net.apply_output_transform(hard)
    said = trained(dde.data.PDE(dde.geometry.Rectangle([0, 0], [1, 1]), pde, [], 300, 100), net, 300, 500, quick)
    mesh = pp.io.generate("square", 8 if quick else 24)
    free = {"left": (None, 0.0), "right": (None, 0.0), "bottom": 0.0, "top": (0.0, None)}
    load, body = {"top": (0.0, "8*sin(pi*x)")}, [f"-({FX})", f"-({FY})"]
    problem = pp.fem.Elasticity(mesh, 4 / 3, 1 / 3, body, free, load, plane="strain", degree=2)
    asked = problem.points([[0.3, 0.6], [0.55, 0.35]], "x") + problem.points([[0.3, 0.6], [0.55, 0.35]], "y")
    told = lambda X: net(torch.as_tensor(X)).detach().numpy()[:, :2]  # noqa: E731
    x, y = np.array([0.3, 0.55]), np.array([0.6, 0.35])
    known = [*(np.cos(2 * PI * x) * np.sin(PI * y)), *(np.sin(PI * x) * y**4)]
    definition = "plane strain on (0, 1)², λ = 1, μ = ½, its body force and load, conditions by component"
    return scored(problem, told, asked, known, said, definition)


if __name__ == "__main__":
    main({"DeepXDE elasticity_plate": plate})
