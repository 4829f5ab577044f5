"""PINNacle's Heat2d-CG: u_t = Δu on (−8, 8)×(−12, 12) around 17 discs, t ≤ 3, zero at the start, ∂_n u = g − u.

A smaller network than PINNacle's, with soft conditions. Start and rims do not fit together: the bound shows it.
"""

from __future__ import annotations

import deepxde as dde
import numpy as np
import torch
from common import Row, main, scored, trained, weights

import pinnpoint as pp

HOLES = [((x, y), 1.0) for x in (-4.0, 4.0) for y in (-9.0, -3.0, 3.0, 9.0)]
HOLES += [((0.0, y), 1.0) for y in (-6.0, 0.0, 6.0)]
HOLES += [((x, y), 0.4) for x in (-3.2, 3.2) for y in (-6.0, 0.0, 6.0)]
CENTRES, RADII = np.array([c for c, _ in HOLES]), np.array([r for _, r in HOLES])


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
    k, angle = np.repeat(np.arange(17), 30), rng.uniform(0, 2 * np.pi, 510)
    round_it = np.column_stack([np.cos(angle), np.sin(angle)])
    rim = np.column_stack([CENTRES[k] + RADII[k, None] * round_it, rng.uniform(0, 3, 510)])
    given = np.where(RADII[k] == 1.0, 5.0, 1.0)[:, None]
    side = dde.icbc.RobinBC(domain, lambda _, u: 0.1 - u, lambda _, on_boundary: on_boundary)
    start = dde.icbc.IC(domain, lambda _: 0, lambda _, on_initial: on_initial)
    conditions = [dde.icbc.PointSetOperatorBC(rim, given, outward), side, start]
    data = dde.data.TimePDE(domain, pde, conditions, num_boundary=200, num_initial=200, anchors=inside)
    net = dde.nn.FNN([3] + [24] * 2 + [1], "tanh", "Glorot normal")
    said = trained(data, net, 100, 150, quick)
    robin = {"sides": (1.0, 0.1)} | {f"hole {i}": (1.0, 5.0 if r == 1.0 else 1.0) for i, (_, r) in enumerate(HOLES)}
    region = pp.boxes.Region([-8, 8], [-12, 12], holes=HOLES, end=3.0, robin=robin)
    asked = region.points([[2.0, 3.0], [-6.0, 0.0]], time=0.5) + region.points([[2.0, 3.0]], time=3.0)
    definition = "u_t = Δu around 17 discs, t ≤ 3, zero at the start, ∂_n u = 5 − u, 1 − u, 0.1 − u"
    return scored(region, weights(net), asked, None, said, definition, budget=60 if quick else 100)


if __name__ == "__main__":
    main({"PINNacle Heat2d-CG": around_discs})
