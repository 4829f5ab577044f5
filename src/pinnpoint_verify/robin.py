"""Free facets: what a state asks for there, g − αv_h, and what its flux leaves of it. Part of the proof.

κ∂_n u + αu = g on Robin facets, α = p + h + ε, p quadratic, h ⟂ quadratics (docs/robin.md). Of a dual state b·n is
added to α (docs/varying.md, step 4b; outflow.py). The models of α are enclosed from the case's formulas, as those of g
are (own.py), and so are its lower bounds ω.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import (
    NEUMANN,
    PI,
    UNIT,
    Ball,
    Density,
    Mesh,
    Side,
    areas,
    means,
    mix,
    quadratic,
    spread,
    total,
    up,
)
from pinnpoint_verify.intervals import widened
from pinnpoint_verify.polynomials import by_quadratic, indices, projected
from pinnpoint_verify.reader import Array, Bundle, need

Found = tuple[Ball, Array, Array, Array]
"""Coefficients (n, m + 1, m + 1), the rms of what is orthogonal to quadratics, and errors e1 and e2."""


class Exchange:
    """α on the Robin facets `at`, its lower bounds ω, and whether these are proved."""

    def __init__(self, bundle: Bundle, mesh: Mesh) -> None:
        self.m, self.model = mesh.d - 1, Density(bundle, "robin/alpha", mesh.d - 1, len(mesh.facets))
        self.at = at = self.model.at
        self.low, self.top = bundle("robin/low", len(at)), bundle("robin/top", len(at))
        need(np.all(mesh.kind[at] == NEUMANN), "robin: not on facets without values")
        need(np.all(self.low >= 0.0) and np.all(self.low <= self.top), "robin: bounds below zero, or out of order")
        self.beta, self.high, self.e1, self.e2 = (a[at] for a in self.model.on(0, len(mesh.facets)))
        self.plain = (self.high + self.e1 + self.e2 == 0.0) & (np.ptp(self.model.beta, axis=1) == 0.0)
        proved = ~self.plain | (self.low <= self.model.beta[:, 0])
        need(np.all(proved), "robin: a number is not above its lower bound")
        self.ends = self.low, self.top  # as stored; of formulas slightly wider ones are proved, checking.md, step 14d
        self.low = np.where(self.plain, self.low, np.maximum(widened(*self.ends)[0], 0.0))
        self.most = np.where(self.plain, self.model.beta[:, 0], widened(*self.ends)[1])
        self.replace(slice(0), np.zeros((0, 3)))

    def replace(self, rows: Any, rest: Array) -> None:
        """Other bounds `high`, `e1`, `e2` (n, 3) of the models on some of the facets."""
        for out, new in zip((self.high, self.e1, self.e2), rest.T, strict=True):
            out[rows] = new
        flat = mix("njk,jklm,nlm->n", Ball(self.beta), means(self.m, 4), Ball(self.beta)).top
        self.mean = up(np.sqrt(np.maximum(flat, 0.0)) * (1.0 + 1e-14) + self.high + self.e2)
        """Upper bounds of the mean of |α|."""

    def holds(self, rows: Any, number: float) -> bool:
        """Whether the models say that α is a number there; one that was rounded, as 1/3, lies within their errors."""
        same = (self.model.beta[rows] == number).all(axis=1) & (self.ends[0][rows] <= number)
        same &= np.where(self.plain[rows], self.ends[0][rows] == number, self.high[rows] == 0.0)
        return bool(np.all(same & np.where(self.plain[rows], self.top[rows] == number, number <= self.top[rows])))

    def numbers(self) -> list[tuple[int, float, float]]:
        """Facets that are points, with α there and its error."""
        error = up(self.high + self.e1 + self.e2)
        return list(zip(self.at.tolist(), self.model.beta[:, 0].tolist(), error.tolist(), strict=True))

    def times(self, v: Ball) -> Found:
        """α v_h, from the coefficients of a state on these facets."""
        size = v.top.max(axis=(1, 2))
        mean = mix("njk,jk->n", v, means(self.m, 2))
        away = up((v - mean[:, None, None]).top.max(axis=(1, 2)))
        even = Ball(self.beta[:, :1, :1]) * v  # where α is a number
        middle, radius, (high, error) = even.m, np.array(even.r), np.zeros((2, len(self.at)))
        bent = np.nonzero(~self.plain)[0]
        if len(bent):
            found, high[bent], error[bent] = product(bernstein(Ball(self.beta[bent])), v[bent], self.m)
            middle[bent], radius[bent] = found.m, found.r
        beta = Ball(middle, radius)
        rest = error + away * self.high  # docs/robin.md, step 1b
        return beta, up(high + mean.top * self.high), up(rest + size * self.e1), up(rest + size * self.e2)


def bernstein(b: Ball) -> Ball:
    """Quadratics Σ b_jk λ_j λ_k as polynomials of degree 2, in their order of indices; numbers on points."""
    m = b.m.shape[1] - 1
    if m == 0:
        return b[:, 0]
    pairs = [[j for j, times in enumerate(a) for _ in range(times)] for a in indices(m, 2).tolist()]
    j, k = (np.array(x) for x in zip(*pairs, strict=True))
    return b[:, j, k]


def product(p: Ball, v: Ball, m: int) -> tuple[Ball, Array, Array]:
    """Polynomials on facets times quadratics v: coefficients of the projection, the rms of the rest, and its error."""
    if m == 0:
        return p[:, :, None] * v, np.zeros(len(v.m)), np.zeros(len(v.m))
    beta, high, error = projected(by_quadratic(p, v, m), m)
    return Ball(beta), high, error


def on_facets(side: Side, nodal: Array, at: Array) -> Ball:
    """Coefficients of a state on facets."""
    mesh = side.mesh
    return quadratic(nodal[mesh.nodes_of(mesh.facets[at])], mesh.d - 1, mesh.degree if mesh.d > 1 else 1)[0]


def asked(side: Side) -> tuple[Array, Found]:
    """Free facets with data, α or b·n, and the flux that the state asks for on them."""
    mesh, m, F = side.mesh, side.mesh.d - 1, len(side.mesh.facets)
    taken = [] if mesh.exchange is None else [mesh.exchange]
    taken += [mesh.medium.exit] if side.transposed and mesh.medium.exit is not None else []
    at = np.zeros(0, dtype=int) if side.load is None else side.load.at
    for one in taken:
        at = np.union1d(at, one.at)
    none = (np.zeros((F, m + 1, m + 1)), *np.zeros((3, F)))
    g, *rest = (a[at] for a in (none if side.load is None else side.load.on(0, F)))
    middle, radius, size = np.array(g), np.zeros(g.shape), np.stack(rest)
    for one in taken:
        beta, *more = one.times(on_facets(side, side.nodal, one.at))
        where = np.searchsorted(at, one.at)
        left = Ball(middle[where], radius[where]) - beta
        middle[where], radius[where] = left.m, left.r
        size[:, where] = up(size[:, where] + np.stack(more))
    return at, (Ball(middle, radius), *size)


class FreeSide:
    """What a flux leaves of what its state asks for: G, by the trace inequality or by ω^{-1/2}, and its means."""

    def __init__(self, side: Side) -> None:
        mesh, d = side.mesh, side.mesh.d
        at, (wanted, high, e1, e2) = asked(side)
        t, omega = np.broadcast_to(side.t[at], (len(at), d)), mesh.alpha[at]
        area, cell = areas(mesh.points[mesh.facets[at]]), mesh.owner[at]
        gap = wanted - 0.5 * (Ball(t[:, :, None]) + t[:, None, :]) / area[:, None, None]
        rms, mean = spread(gap, d - 1, high)
        trace = math.sqrt(1.0 / PI**2 + 2.0 / (d * PI)) * area.top * mesh.h[cell] * (d > 1)
        cost = up(trace / np.sqrt(mesh.low[cell] * mesh.kappa[cell]) * (rms + e2))
        on = omega > 0.0
        held = np.where(on, 1.0 / np.sqrt(np.where(on, omega * area.low, 1.0)), np.inf)
        far = np.minimum(mesh.reach[cell] + mesh.step[cell], up(held))
        self.means = total(up(area.top * (mean.top + e1) * far))
        self.facet = up(np.bincount(cell[~on], cost[~on], minlength=mesh.C))
        self.cell, self.cost, self.m = cell[on], cost[on], d - 1
        self.gap, self.scale = gap[np.nonzero(on)[0]], area[np.nonzero(on)[0]] / omega[on]
        self.fuzz = up(np.sqrt(self.scale.top) * (high + e2)[on])
        self.square = self.against(self).top
        self.at = at[on]

    def against(self, other: FreeSide) -> Ball:
        """∫ G₁G₂/ω of the stored parts on every facet with ω > 0, which are the same for both."""
        found: Ball = mix("njk,jklm,nlm->n", self.gap, means(self.m, 4), other.gap) * self.scale
        return found


def edges(p: Any, z: Any, sign: float, s: float, count: int) -> tuple[Array, Array]:
    """By cells, for s G₁ ± G₂/s: costs by the trace, and squares by ω."""
    square, fuzz, cost = p.square * s * s, s * p.fuzz, s * p.cost
    if z is not None:
        need(np.array_equal(p.at, z.at), "robin: other facets for the dual state")
        both = p.against(z)
        both = 2.0 * (sign * both.m + both.r)
        size = square + z.square / (s * s)
        square = np.maximum(size + both, 0.0) + 8.0 * UNIT * (size + np.abs(both))
        fuzz, cost = fuzz + z.fuzz / s, cost + z.cost / s
    N = np.sqrt(square) + fuzz
    return up(np.bincount(p.cell, up(cost), minlength=count)), up(np.bincount(p.cell, up(N * N), minlength=count))


def taken(p: Side, nodal: Array) -> tuple[Ball, float]:
    """∫ α u_h v_h over the Robin facets, and what errors of α add."""
    own = p.mesh.exchange
    if own is None:
        return Ball(0.0), 0.0
    v, area = on_facets(p, nodal, own.at), areas(p.mesh.points[p.mesh.facets[own.at]])
    beta, _, e1, _ = own.times(on_facets(p, p.nodal, own.at))
    found = (mix("njk,jklm,nlm->n", beta, means(own.m, 4), v) * area).total()
    return found, total(up(area.top * e1 * v.top.max(axis=(1, 2))))


def is_robin(p: Side, part: Array) -> bool:
    """Whether a group is one of Robin facets."""
    own = p.mesh.exchange
    return own is not None and bool(np.any(np.isin(part, own.at)) and np.all(p.mesh.kind[part] == NEUMANN))


def energy_of(p: Side, top: Array) -> float:
    """Upper bound of ∫ α v² for node values of at most `top`."""
    own = p.mesh.exchange
    if own is None:
        return 0.0
    T = p.mesh.facets[own.at]
    most = 3.0 * np.abs(top)[p.mesh.nodes_of(T)].max(axis=1)
    return total(up(own.mean * areas(p.mesh.points[T]).top * most**2))


def size_of(p: Side, part: Array) -> float:
    """Upper bound of ∫ α over facets: what a flux through them makes of a change of the values."""
    own = p.mesh.exchange
    here = np.isin(own.at, part)
    return total(up(own.mean[here] * areas(p.mesh.points[p.mesh.facets[own.at[here]]]).top))
