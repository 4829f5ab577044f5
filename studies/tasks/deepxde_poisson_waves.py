"""DeepXDE's demos of −u″ = f with waves of several lengths: exact ends, and two scales."""

from __future__ import annotations

import math

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.models import Lift

SUM = " + ".join(f"sin({k}*x)/{k}" for k in (1, 2, 3, 4, 8))


def exact_ends(quick: bool) -> Row:
    """Poisson_Dirichlet_1d_exactBC."""
    pde = lambda x, y: -dde.grad.hessian(y, x) - sum(k * torch.sin(k * x) for k in (1, 2, 3, 4, 8))  # noqa: E731
    net = dde.nn.FNN([1] + [50] * 3 + [1], "tanh", "Glorot uniform")
    net.apply_output_transform(lambda x, y: x * (np.pi - x) * y + x)
    data = dde.data.PDE(dde.geometry.Interval(0, np.pi), pde, [], num_domain=64)
    said = trained(data, net, 300, 300, quick, lr=1e-4, decay=("inverse time", 1000, 0.3))
    source = " + ".join(f"{k}*sin({k}*x)" for k in (1, 2, 3, 4, 8))
    box = pp.Box([0, math.pi], source=source, dirichlet="x")
    definition = "−u″ = Σ k sin kx on (0, π), u(0) = 0, u(π) = π, k = 1, 2, 3, 4, 8"
    lift = Lift(weights(net), "x*(pi - x)", "x", variables=("x",))
    return scored(box, lift, box.points([0.6, 1.7, 2.9]), f"x + {SUM}", said, definition)


def two_scales(quick: bool) -> Row:
    """Poisson_multiscale_1d with a plain network: the demo's Fourier features are two networks in one."""
    waves = "sin(2*pi*x) + 0.1*sin(50*pi*x)"
    bend = lambda x: (2 * np.pi) ** 2 * torch.sin(2 * np.pi * x) + 250 * np.pi**2 * torch.sin(50 * np.pi * x)  # noqa: E731
    domain = dde.geometry.Interval(0, 1)
    bc = dde.icbc.DirichletBC(domain, lambda x: 0, lambda _, on_boundary: on_boundary)
    data = dde.data.PDE(domain, lambda x, y: dde.grad.hessian(y, x) + bend(x), bc, 300, 2)
    net = dde.nn.FNN([1] + [50] * 3 + [1], "tanh", "Glorot uniform")
    said = trained(data, net, 100, 0, quick)
    box = pp.Box([0, 1], source="4*pi**2*sin(2*pi*x) + 250*pi**2*sin(50*pi*x)")
    definition = "−u″ = (2π)² sin 2πx + 0.1 (50π)² sin 50πx on (0, 1), zero ends; without Fourier features"
    return scored(box, weights(net), box.points([0.21, 0.53, 0.77]), waves, said, definition)


TASKS = {"DeepXDE Poisson_Dirichlet_1d_exactBC": exact_ends, "DeepXDE Poisson_multiscale_1d": two_scales}

if __name__ == "__main__":
    main(TASKS)
