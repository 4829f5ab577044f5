"""PINNacle's Heat2d-CG: u_t = Δu on (−8, 8)×(−12, 12) around 17 discs, t ≤ 3, zero at the start, ∂_n u = g − u.

A smaller network than PINNacle's, with soft conditions. Certified on a quarter of the plate, which is symmetric; discs
are polygons with their corners on the circles.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights
from quarter_plate import DISCS, quarter

import pinnpoint as pp

HOLES = np.array(sorted({(a * x, b * y, r) for x, y, r in DISCS for a in (1, -1) for b in (1, -1)}))
CENTRES, RADII = HOLES[:, :2], HOLES[:, 2]


def pde(x, u):
    """PINNacle's residual."""
    u_xx, u_yy = (dde.grad.hessian(u, x, i=i, j=i) for i in (0, 1))
    return dde.grad.jacobian(u, x, i=0, j=2) - u_xx - u_yy


def outward(x, u, _):
    """∂_n u + u with the normal of the nearest circle, into its disc."""
    away = x[:, None, :2] - torch.as_tensor(CENTRES)
    nearest = torch.argmin(away.norm(dim=2) - torch.as_tensor(RADII), dim=1)
    n = -torch.nn.functional.normalize(away[torch.arange(len(x)), nearest], dim=1)
    return (n * dde.grad.jacobian(u, x, i=0)[:, :2]).sum(dim=1, keepdim=True) + u


def around_discs(quick: bool) -> Row:
    """Train as PINNacle does, and certify."""
    plate, rng = dde.geometry.Rectangle([-8, -12], [8, 12]), np.random.default_rng(0)
    domain = dde.geometry.GeometryXTime(plate, dde.geometry.TimeDomain(0, 3))
    inside = rng.uniform([-8, -12, 0], [8, 12, 3], (900, 3))
    inside = inside[(np.linalg.norm(inside[:, None, :2] - CENTRES, axis=2) > RADII).all(axis=1)]
    k, a = np.repeat(np.arange(17), 30), rng.uniform(0, 2 * np.pi, 510)
    circles = CENTRES[k] + RADII[k, None] * np.column_stack([np.cos(a), np.sin(a)])
    rim = np.column_stack([circles, rng.uniform(0, 3, 510)])
    given = np.where(RADII[k] == 1.0, 5.0, 1.0)[:, None]
    conditions = [dde.icbc.PointSetOperatorBC(rim, given, outward), dde.icbc.IC(domain, lambda _: 0, lambda _, on: on)]
    conditions.append(dde.icbc.RobinBC(domain, lambda _, u: 0.1 - u, lambda _, on: on))
    data = dde.data.TimePDE(domain, pde, conditions, num_boundary=200, num_initial=200, anchors=inside)
    net = dde.nn.FNN([3] + [24] * 2 + [1], "tanh", "Glorot normal")
    said = trained(data, net, 100, 150, quick)
    grid = {"end": 3.0, "steps": 12 if quick else 32, "grade": "both", "scheme": "cg2", "degree": 2}
    grid["robin"] = {"big": (1.0, 5.0), "small": (1.0, 1.0), "sides": (1.0, 0.1)}
    problem = pp.fem.Parabolic(quarter(quick), neumann={"mirror": 0.0}, **grid)
    asked = problem.points([[2.0, 3.0], [6.0, 6.0]], time=3.0)
    told = "u_t = Δu around 17 discs (24-gons), t ≤ 3, zero at the start, ∂_n u = 5 − u, 1 − u, 0.1 − u"
    return scored(problem, weights(net), asked, None, said, told)


if __name__ == "__main__":
    main({"PINNacle Heat2d-CG": around_discs})
