"""PINNacle's HeatInv, given its a: by barriers.

HeatInv asks for a(x) and u(x, t): given its a, is a network's u right? Its code has no condition around; its u is zero
there. The network is smaller than PINNacle's.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp
from pinnpoint.models import Lift

WAVE, SQUARES = "sin(pi*x)*sin(pi*y)", ("sin(pi*x)**2*sin(pi*y)**2", "cos(pi*x)**2*sin(pi*y)**2")
F = f"exp(-t)*((4*pi**2 - 1)*{WAVE} + pi**2*(2*{SQUARES[0]} - {SQUARES[1]} - sin(pi*x)**2*cos(pi*y)**2))"


def inverse(quick: bool) -> Row:
    """HeatInv: −∇·(a∇u) with a = 2 + sin πx sin πy, the network zero around by a factor."""
    domain = dde.geometry.GeometryXTime(dde.geometry.Rectangle([-1, -1], [1, 1]), dde.geometry.TimeDomain(0, 1))
    s, c = (lambda x, f=f: (f(np.pi * x[:, 0:1]), f(np.pi * x[:, 1:2])) for f in (torch.sin, torch.cos))

    def pde(x, u):
        (sx, sy), (cx, cy), t = s(x), c(x), x[:, 2:3]
        parts = [(2 + sx * sy) * dde.grad.jacobian(u, x, i=0, j=j) for j in (0, 1)]
        flow = sum(dde.grad.jacobian(q, x, i=0, j=j) for j, q in enumerate(parts))
        f = (4 * np.pi**2 - 1) * sx * sy + np.pi**2 * (2 * (sx * sy) ** 2 - (cx * sy) ** 2 - (sx * cy) ** 2)
        return dde.grad.jacobian(u, x, i=0, j=2) - flow - torch.exp(-t) * f

    data = dde.data.TimePDE(domain, pde, [], num_domain=300)
    net, started = dde.nn.FNN([3] + [16] * 2 + [1], "tanh", "Glorot normal"), lambda x: s(x)[0] * s(x)[1]
    edge = lambda x: ((1 - x[:, :2] ** 2).prod(dim=1, keepdim=True)) * x[:, 2:3]  # noqa: E731
    net.apply_output_transform(lambda x, y: started(x) + edge(x) * y)
    said = trained(data, net, 100, 200, quick)
    told = {"diffusion": f"2 + {WAVE}", "source": F, "initial": WAVE, "dirichlet": {"sides": 0.0}}
    region = pp.boxes.Region([-1, 1], [-1, 1], end=1.0, **told)
    lift = Lift(weights(net), "(1 - x**2)*(1 - y**2)*t", WAVE, variables=("x", "y", "t"))
    asked = region.points([[0.5, 0.5], [-0.4, 0.3]], time=0.5) + region.points([[0.5, 0.5]], time=1.0)
    definition = "u_t = ∇·(a∇u) + f on (−1, 1)², t ≤ 1, with its a = 2 + sin πx sin πy, u = 0 around"
    return scored(region, lift, asked, f"exp(-t)*{WAVE}", said, definition, budget=60 if quick else 100)


TASKS = {"PINNacle HeatInv": inverse}

if __name__ == "__main__":
    main(TASKS)
