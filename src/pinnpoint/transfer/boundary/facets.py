"""Prescribed fluxes on the Neumann part, and what a flux leaves of them.

With w − mean_K w on a cell K with facet F opposite the vertex a, the divergence theorem for (x − a) w² gives

    ‖w − mean_F w‖_F² ≤ |F|/|K| (h²/π² + 2 h²/(d π)) ‖∇w‖_K² ,

since ‖w − mean_K w‖_K ≤ h/π ‖∇w‖_K and the mean over F minimises. So the part of g − σ·n with mean zero costs
(|F|/√|K|) h √(1/π² + 2/(dπ)) rms(g − σ·n − mean)/√κ on the cell, and the mean costs |F| |mean| (D_K + W_K/√κ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pinnpoint.base.arrays import Index, Vector
from pinnpoint.base.brief import brief
from pinnpoint.mesh.topology import Topology
from pinnpoint.rounding.arithmetic import UNIT, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, from_linear, from_quadratic, gram, pairs
from pinnpoint.transfer.energy.anchors import Anchors

PI_DOWN = 3.141592653589793  # float64's value is below π


@dataclass(frozen=True, eq=False)
class FacetLoad:
    """g on some Neumann facets.

    Attributes
    ----------
    facets
        Facet numbers, (n,).
    vertices
        Their sorted vertices, (n, d).
    nodes
        Their degrees of freedom: vertices, then edges, (n, nodes).
    density
        g as a `Density` over these facets.
    """

    facets: Index
    vertices: Index
    nodes: Index
    density: Density

    __repr__ = brief

    def against(self, points: Vector, nodal: Vector, degree: int) -> tuple[float, float, float]:
        """∫ g v_h over the facets, a bound of its rounding, and a bound of the effect of g's own error."""
        area, slack = measures(points[self.vertices])
        w = nodal[self.nodes]
        m = self.vertices.shape[1] - 1
        v = trace(w, m, degree)
        b = self.density.coefficients
        terms = np.einsum("np,pq,nq->n", b, gram(m), v, optimize=True) * area  # continuous.md, step 3a
        top = up(np.abs(v).max(axis=1) + gamma(16) * np.abs(w).max(axis=1))  # |v_h| is at most a coefficient's
        wrong = (slack + gamma(80)) * area * np.abs(b).max(axis=1) * top
        total = math.fsum(terms.tolist())
        with np.errstate(invalid="ignore"):
            unknown = area * (1.0 + slack) * self.density.error1 * top  # continuous.md, step 8a
        data = sum_up(up(np.where(np.isnan(unknown), np.inf, unknown), 8))
        return total, float(up(sum_up(up(wrong, 8)) + UNIT * abs(total))), data


def measures(V: Vector) -> tuple[Vector, Vector]:
    """Lengths or areas of facets with vertices (n, d, d), and bounds of their relative errors."""
    n, d = len(V), V.shape[1]
    if d == 1:
        return np.ones(n), np.zeros(n)
    if d == 2:
        return np.asarray(np.hypot(*(V[:, 1] - V[:, 0]).T)), np.full(n, gamma(8))
    p, q = V[:, 1] - V[:, 0], V[:, 2] - V[:, 0]
    cross = np.cross(p, q)
    area = 0.5 * np.sqrt((cross * cross).sum(axis=1))
    p, q = np.abs(p), np.abs(q)
    rough = np.stack([p[:, (i + 1) % 3] * q[:, (i + 2) % 3] + p[:, (i + 2) % 3] * q[:, (i + 1) % 3] for i in range(3)])
    return area, np.asarray(up(gamma(10) * 0.5 * np.sqrt((rough * rough).sum(axis=0)) / area + gamma(8), 8))


@dataclass(frozen=True, eq=False)
class Left:
    """What a flux leaves of prescribed fluxes, facet by facet.

    Attributes
    ----------
    gap
        Bernstein coefficients of g − σ·n as computed, (n, pairs).
    blur
        Bounds of the rounding in them.
    high, error1, error2
        As in `Density`, of g.
    cost
        Of the part with mean zero, on the facet's cell, by the trace inequality.
    mean
        Upper bounds of |∫ g − σ·n|.
    data
        The part of these that is due to the error of g.
    how_far
        Upper bounds of |mean_F w| / ‖w‖_a.
    """

    dim: int
    cell: Index
    area: Vector
    slack: Vector
    gap: Vector
    blur: Vector
    high: Vector
    error1: Vector
    error2: Vector
    cost: Vector
    mean: Vector
    data: Vector
    how_far: Vector

    @property
    def means(self) -> float:
        """What the means cost."""
        return sum_up(up(self.mean * self.how_far, 16))  # continuous.md, step 2d

    @property
    def data_means(self) -> float:
        """The data's share of that."""
        return sum_up(up(self.data * self.how_far, 16))


def left_over(
    points: Vector, topology: Topology, kappa: Vector, anchors: Anchors, load: FacetLoad, flux: Vector
) -> Left:
    """What a flux leaves of g."""
    area, slack = measures(points[load.vertices])
    d = points.shape[1]
    m = d - 1
    t = flux[load.facets]
    t = np.repeat(t, d, axis=1) if t.shape[1] == 1 else t
    b = load.density.coefficients
    # continuous.md, step 2c
    gap = np.stack([b[:, p] - 0.5 * (t[:, j] + t[:, k]) / area for p, (j, k) in enumerate(pairs(m))], axis=1)
    blur = up((slack + gamma(20)) * (np.abs(b).max(axis=1) + np.abs(t).max(axis=1) / area), 8)
    mean = gap.mean(axis=1)
    away = gap - mean[:, None]
    rms = np.sqrt(
        np.maximum(np.einsum("np,pq,nq->n", away, gram(m), away, optimize=True), 0.0)
        + gamma(60) * np.abs(away).max(axis=1) ** 2
        + load.density.high**2
    )
    rms = up(rms + blur + load.density.error2, 8) if d > 1 else np.zeros(len(area))
    cell = topology.facet_cells[load.facets, 0]
    trace_ = math.sqrt(1.0 / PI_DOWN**2 + 2.0 / (d * PI_DOWN))  # continuous.md, step 2c
    top = up(area * (1.0 + slack), 4)
    # continuous.md, step 2c
    cost = up(trace_ * top * anchors.diameter[cell] / np.sqrt(anchors.volume[cell] * kappa[cell]) * rms, 24)
    how_far = anchors.reach[cell] + anchors.step[cell]
    f = load.density
    whole = top * (np.abs(mean) + blur + f.error1)
    return Left(
        m, cell, area, slack, gap, blur, f.high, f.error1, f.error2, cost, whole, top * f.error1, np.asarray(how_far)
    )


def trace(w: Vector, m: int, degree: int) -> Vector:
    """Bernstein coefficients of a state on facets, from its nodal values there."""
    if m == 0:
        return w[:, :1]
    return from_linear(w) if degree == 1 else from_quadratic(w, m)


def normals(V: Vector, outward: Vector) -> tuple[Vector, Vector]:
    """Unit normals of facets with vertices (n, d, d), d = 2, 3, and bounds of the errors of their entries, (n,).

    Of the two the one along `outward` (n, d) is taken. Facets in a plane x_k = const have exact ones. A vector a that
    is known up to δ in norm has a direction that is known up to 2δ/(|a| − δ).
    """
    p = V[:, 1] - V[:, 0]
    if V.shape[1] == 2:
        a, rough = np.stack([p[:, 1], -p[:, 0]], axis=1), np.abs(p)
    else:
        q = V[:, 2] - V[:, 0]
        a, (s, t) = np.cross(p, q), (np.abs(p), np.abs(q))
        rough = np.stack([s[:, i - 2] * t[:, i - 1] + s[:, i - 1] * t[:, i - 2] for i in range(3)], axis=1)
    length, off = np.sqrt((a * a).sum(axis=1)), gamma(10) * np.sqrt((rough * rough).sum(axis=1))
    n = a / length[:, None] * np.where((a * outward).sum(axis=1) > 0.0, 1.0, -1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(off < 0.5 * length, up(2.0 * off / (length - off) + gamma(16), 16), np.inf)
    flat = np.ptp(V, axis=1) == 0.0
    level = flat.any(axis=1)
    axis = np.argmax(flat, axis=1)[level]
    exact = np.zeros((int(level.sum()), V.shape[2]))
    exact[np.arange(len(axis)), axis] = np.sign(n[level, axis])
    n[level], error[level] = exact, 0.0
    return n, error
