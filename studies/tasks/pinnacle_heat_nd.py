"""PINNacle's HeatND: u_t = Δu/5 + f in the unit ball of five dimensions with its flux given, by barriers.

All data turn with the ball, and so does the network: its inputs are s, the squared distance from 0, and t, by DeepXDE's
feature transform. It is smaller than PINNacle's; conditions are soft, as there.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp


def bend(x, u):
    """The Laplacian."""
    return sum(dde.grad.hessian(u, x, i=i, j=i) for i in range(5))


def heat(quick: bool) -> Row:
    """HeatND, κ∂_n u on the sphere: the code's ∂_n u = u of the solution, divided by five."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Hypersphere([0] * 5, 1), dde.geometry.TimeDomain(0, 1))
    ref = lambda x: np.exp((x[:, :-1] ** 2).sum(axis=1, keepdims=True) / 2 + x[:, -1:])  # noqa: E731

    def pde(x, u):
        r2 = (x[:, :-1] ** 2).sum(dim=1, keepdim=True)
        return bend(x, u) / 5 - r2 / 5 * torch.exp(r2 / 2 + x[:, -1:]) - dde.grad.jacobian(u, x, i=0, j=5)

    given = [dde.icbc.NeumannBC(domain, ref, lambda _, on: on), dde.icbc.IC(domain, ref, lambda _, on: on)]
    data = dde.data.TimePDE(domain, pde, given, num_domain=300, num_boundary=100, num_initial=100)
    net = dde.nn.FNN([2] + [16] * 2 + [1], "tanh", "Glorot normal")
    net.apply_feature_transform(lambda x: torch.cat([(x[:, :-1] ** 2).sum(dim=1, keepdim=True), x[:, -1:]], dim=1))
    said = trained(data, net, 100, 150, quick)
    told = {"source": "-s/5*exp(s/2 + t)", "initial": "exp(s/2)", "neumann": {"ball": "exp(s/2 + t)/5"}}
    region = pp.boxes.Region(ball=([0.0] * 5, 1.0), end=1.0, diffusion=0.2, radial=True, **told)
    asked = region.points([[0.3, -0.2, 0.1, 0.4, -0.3]], time=0.25) + region.points([[0.1] * 5], time=1.0)
    definition = (
        "u_t = Δu/5 − r²e^{r²/2 + t}/5 in the unit ball of five dimensions, r = the distance from 0, t ≤ 1, ∂_n u given"
    )
    truth = [np.exp(0.195 + 0.25), np.exp(0.025 + 1.0)]
    return scored(region, weights(net), asked, truth, said, definition, budget=100 if quick else None)


if __name__ == "__main__":
    main({"PINNacle HeatND": heat})
