"""Robin facets, κ∂_n u + αu = g with numbers α: part of the proof, beside checker.py (docs/robin.md)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import NEUMANN, PI, UNIT, Ball, Side, areas, means, mix, quadratic, spread, total, up
from pinnpoint_verify.reader import Array


class RobinSide:
    """What a flux leaves of g − αv_h on facets with data: G, by the trace inequality or by α^{-1/2}, and its means."""

    def __init__(self, side: Side) -> None:
        mesh, d, F = side.mesh, side.mesh.d, len(side.mesh.facets)
        given = np.zeros(0, dtype=int) if side.load is None else side.load.at
        at = np.union1d(given, np.nonzero(mesh.alpha)[0])
        none = (np.zeros((F, d, d)), *np.zeros((3, F)))
        g, high, e1, e2 = (a[at] for a in (none if side.load is None else side.load.on(0, F)))
        t, alpha = np.broadcast_to(side.t[at], (len(at), d)), mesh.alpha[at]
        v = quadratic(side.nodal[mesh.nodes_of(mesh.facets[at])], d - 1, mesh.degree if d > 1 else 1)[0]
        area, cell = areas(mesh.points[mesh.facets[at]]), mesh.owner[at]
        flux = 0.5 * (Ball(t[:, :, None]) + t[:, None, :]) / area[:, None, None]
        gap = Ball(g) - alpha[:, None, None] * v - flux
        rms, mean = spread(gap, d - 1, high)
        trace = math.sqrt(1.0 / PI**2 + 2.0 / (d * PI)) * area.top * mesh.h[cell] * (d > 1)
        cost = up(trace / np.sqrt(mesh.low[cell] * mesh.kappa[cell]) * (rms + e2))
        on = alpha > 0.0
        held = np.where(on, 1.0 / np.sqrt(np.where(on, alpha * area.low, 1.0)), np.inf)
        far = np.minimum(mesh.reach[cell] + mesh.step[cell], up(held))
        self.means = total(up(area.top * (mean.top + e1) * far))
        self.facet = up(np.bincount(cell[~on], cost[~on], minlength=mesh.C))
        self.cell, self.cost, self.m = cell[on], cost[on], d - 1
        self.gap, self.scale = gap[np.nonzero(on)[0]], area[np.nonzero(on)[0]] / alpha[on]
        self.fuzz = up(np.sqrt(self.scale.top) * (high + e2)[on])
        self.square = self.against(self).top

    def against(self, other: RobinSide) -> Ball:
        """∫ G₁G₂/α of the stored parts on every Robin facet."""
        found: Ball = mix("njk,jklm,nlm->n", self.gap, means(self.m, 4), other.gap) * self.scale
        return found


def edges(p: Any, z: Any, sign: float, s: float, count: int) -> tuple[Array, Array]:
    """By cells, for s G₁ ± G₂/s: costs by the trace, and squares by α."""
    square, fuzz, cost = p.square * s * s, s * p.fuzz, s * p.cost
    if z is not None:
        both = p.against(z)
        both = 2.0 * (sign * both.m + both.r)
        size = square + z.square / (s * s)
        square = np.maximum(size + both, 0.0) + 8.0 * UNIT * (size + np.abs(both))
        fuzz, cost = fuzz + z.fuzz / s, cost + z.cost / s
    N = np.sqrt(square) + fuzz
    return up(np.bincount(p.cell, up(cost), minlength=count)), up(np.bincount(p.cell, up(N * N), minlength=count))


def taken(p: Side, nodal: Array) -> Ball:
    """∫ α u_h v_h over the Robin facets."""
    mesh, m = p.mesh, p.mesh.d - 1
    T, degree = mesh.facets[mesh.alpha > 0.0], mesh.degree if p.mesh.d > 1 else 1
    u, v = (quadratic(w[mesh.nodes_of(T)], m, degree)[0] for w in (p.nodal, nodal))
    return (mix("njk,jklm,nlm->n", u, means(m, 4), v) * areas(mesh.points[T]) * mesh.alpha[mesh.alpha > 0.0]).total()


def is_robin(p: Side, part: Array) -> bool:
    """Whether a group is one of Robin facets."""
    return bool(np.any(p.mesh.alpha[part]) and np.all(p.mesh.kind[part] == NEUMANN))


def energy_of(p: Side, top: Array) -> float:
    """Upper bound of ∫ α v² for node values of at most `top`."""
    mesh = p.mesh
    T, alpha = mesh.facets[mesh.alpha > 0.0], mesh.alpha[mesh.alpha > 0.0]
    if not len(T):
        return 0.0
    return total(up(alpha * areas(mesh.points[T]).top * (3.0 * np.abs(top)[mesh.nodes_of(T)].max(axis=1)) ** 2))


def size_of(p: Side, part: Array) -> float:
    """Upper bound of ∫ α over facets: what a flux through them makes of a change of the values."""
    return total(up(p.mesh.alpha[part] * areas(p.mesh.points[p.mesh.facets[part]]).top))
