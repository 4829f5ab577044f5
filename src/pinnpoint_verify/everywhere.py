"""The largest error of the prediction over the domain, by level sets: part of the proof, beside checker.py.

For e ∈ H¹₀ with ∫κ∇e·∇w + c e w = ∫ϱw + ∫δ·∇w, κ ≥ α, in n dimensions and a domain of volume V (docs/everywhere.md, 1),
with C = nω_n^{1/n}:

    sup |e| ≤ A(V) ‖ϱ‖₂/α + B_p(V) ‖κ^{−½}δ‖_p/√α,   A = C⁻²‖∫_r^V s^{−2+2/n}‖₂,   B_p = C⁻¹‖s^{−1+1/n}‖_{p′}.

Neumann facets without data in planes across the axes, one for each axis at most, double the domain (3a there). What a
prediction that was lifted leaves over is bounded with no state and flux at all (4a), in a box by its weight (4c).
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from pinnpoint_verify.band import Norms, Residual, band, mean_error
from pinnpoint_verify.checker import NEUMANN, PI, Cells, Side, gamma, quadratic, total, up
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.reference import rule
from pinnpoint_verify.rows import same
from pinnpoint_verify.samples import Samples

Row = dict[str, Any]
Poly = dict[tuple[int, ...], Array]
"""Coefficients of powers of barycentric coordinates."""
EXPONENTS = {1: (2.0, 3.0, 4.0, 6.0), 2: (2.1, 2.25, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0)}
EXPONENTS[3] = (3.1, 3.25, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 24.0)
"""Of ‖δ‖_p, by dimension; beside ∞."""
SLACK = 1e-13
"""More than the rounding of any constant here, relative."""
MORE = {2: 48, 3: 24}
"""Terms of the box's series, for each axis."""


@cache
def powers(d: int, n: int) -> tuple[tuple[int, ...], ...]:
    """All exponents of d + 1 coordinates of degree n."""
    found = combinations_with_replacement(range(d + 1), n)
    return tuple(tuple(c.count(i) for i in range(d + 1)) for c in found)


@cache
def mean(alpha: tuple[int, ...]) -> float:
    """Of Π λ^α over a simplex."""
    top = math.prod(math.factorial(a) for a in alpha) * math.factorial(len(alpha) - 1)
    return top / math.factorial(len(alpha) - 1 + sum(alpha))


def times(a: Poly, b: Poly) -> Poly:
    """A product."""
    found: Poly = {}
    for x, u in a.items():
        for y, v in b.items():
            at = tuple(map(sum, zip(x, y, strict=True)))
            found[at] = found[at] + u * v if at in found else u * v
    return found


def against(a: Poly, b: Poly) -> Array:
    """The mean of a product."""
    return np.sum(
        [u * v * mean(tuple(map(sum, zip(x, y, strict=True)))) for x, u in a.items() for y, v in b.items()], 0
    )


def squared(m: Array) -> Poly:
    """|δ|² for quadratics m, (n, d + 1, d + 1, components)."""
    d, whole = m.shape[1] - 1, dict[tuple[int, ...], Array]()
    for c in range(m.shape[3]):
        one: Poly = {}
        for j, k in combinations_with_replacement(range(d + 1), 2):
            at = tuple((i == j) + (i == k) for i in range(d + 1))
            one[at] = m[:, j, k, c] * (1.0 if j == k else 2.0)
        for at, v in times(one, one).items():
            whole[at] = whole[at] + v if at in whole else v
    return whole


class Worst:
    """Norms of what a state and its flux leave on each cell, and the bound of the error at every point."""

    def __init__(self, p: Side) -> None:
        self.p, self.peak, self.shares = p, np.zeros(p.mesh.C), np.zeros((3, p.mesh.C))
        self.tops = np.zeros(p.mesh.C)
        self.source = np.zeros(p.mesh.C)
        self.residual = Residual(p)
        self.mean: float | None = None

    def measure(self, g: Cells, given: Array) -> None:
        """Measure a range of cells, and max |ũ − v| on each, for the values of v at the nodes."""
        p, mesh, d = self.p, self.p.mesh, self.p.mesh.d
        self.residual.measure(g)
        m, r = p.delta.m, p.delta.r
        size = np.abs(m).max(axis=(1, 2, 3))
        scale = np.where(size > 0.0, size, 1.0)
        m = m / scale[:, None, None, None]
        square, rough = squared(m), squared(np.abs(m))
        off, N = gamma(4000.0), float(d) * (d + 1.0) ** 4
        weights = {at: math.factorial(4) / math.prod(math.factorial(a) for a in at) for at in square}
        top = np.max([square[at] / weights[at] for at in square], axis=0) + off * N
        fourth = times(square, square)
        fourth_rough = times(rough, rough)
        unit = up(scale / np.sqrt(g.kappa))
        z = up(np.sqrt((r.max(axis=(1, 2)) ** 2).sum(axis=1)) / scale)
        high = up(np.sqrt(np.maximum(top, 0.0)) + z)
        even = [
            (
                np.sum([v * mean(at) for at, v in square.items()], axis=0),
                np.sum([v * mean(at) for at, v in rough.items()], 0),
            ),
            (against(square, square), against(rough, rough)),
            (against(fourth, square), against(fourth_rough, rough)),
        ]
        for k, (value, rounding) in enumerate(even, start=1):
            norm = up((np.maximum(value, 0.0) + off * rounding) ** (0.5 / k)) + z
            self.shares[k - 1, g.part] = up((norm / high) ** (2 * k) * (1.0 + SLACK))
        self.peak[g.part] = up(unit * high)
        b = quadratic((p.nodal - given)[mesh.nodes_of(mesh.cells[g.part])], d, mesh.degree)[0]
        slip = 4.0 * gamma(2) * (np.abs(p.nodal) + np.abs(given))[mesh.nodes_of(mesh.cells[g.part])].max(axis=1)
        self.tops[g.part] = up(b.top.max(axis=(1, 2)) + slip)
        f, h, _, e2 = p.source.on(g.part.start, g.part.stop)
        rms = np.sqrt(np.maximum(_mean_square(f, d), 0.0) + gamma(300) * np.abs(f).max(axis=(1, 2)) ** 2 + h**2) + e2
        self.source[g.part] = up(np.sqrt(g.vol.top) * rms)

    def lengths(self, copies: float) -> dict[float, float]:
        """‖κ^{−½}δ‖_p for p = 2, 4, 6, ∞."""
        top, mesh = float(self.peak.max(initial=0.0)), self.p.mesh
        share, found = self.peak / top if top > 0.0 else self.peak, {math.inf: top}
        for k in (1, 2, 3):
            whole = copies * total(up(mesh.top * share ** (2 * k) * self.shares[k - 1]))
            found[2.0 * k] = float(up(top * whole ** (0.5 / k) * (1.0 + SLACK)))
        return found

    def level_sets(self, density: Array, *, fluxless: bool = False) -> float:
        """The bound for a density with these norms on cells, and for δ, or without it."""
        mesh, n = self.p.mesh, self.p.mesh.d
        copies = 2.0 ** (planes(self.p) or 0)
        V, low = total(mesh.top) * copies, float(mesh.kappa.min()) * (1.0 - 1e-15)
        C = {1: 2.0, 2: 2.0 * math.sqrt(PI), 3: (36.0 * PI) ** (1.0 / 3.0)}[n] * (1.0 - SLACK)
        A = {1: math.sqrt(V**3 / 3.0), 2: math.sqrt(2.0 * V), 3: 3.0 * V ** (1.0 / 6.0)}[n] / (C * C)
        first = A * math.sqrt(copies * total(up(density**2))) / low * (1.0 + SLACK)
        if fluxless:
            return float(up(first))
        size, found = self.lengths(copies), [n * V ** (1.0 / n) / C * float(self.peak.max(initial=0.0))]
        for p in EXPONENTS[n]:
            dual = p / (p - 1.0)
            left = 1.0 - dual * (1.0 - 1.0 / n)
            found.append((V**left / left) ** (1.0 / dual) / C * between(size, p))
        return float(up(first + smaller(found) / math.sqrt(low) * (1.0 + SLACK)))

    def interval(self, bundle: Bundle, given: Array, mismatch: float, goal: Row) -> tuple[float, float]:
        """Centre and radius of max |u − v| over the domain."""
        p, mesh, boundary = self.p, self.p.mesh, goal["boundary"]
        error, nothing = self.errors(bundle, mismatch, goal), np.zeros(mesh.C)
        band = up(self.tops + error)
        if boundary is not None:
            band = np.minimum(band, up(self.sizes() + boundary))
        if goal["left"] is not None:
            need(boundary is not None, "everywhere: bounds of what nothing leaves over")
            own = Norms(mesh.top, nothing, np.zeros((3, mesh.C)), self.source, self.tops)
            band = np.minimum(band, up(self.band(bundle, "left", goal, own) + mismatch))
        upper, at = float(band.max()), mesh.nodes_of(mesh.cells)
        off = 4.0 * gamma(2) * (np.abs(p.nodal) + np.abs(given))
        seen = (np.abs(p.nodal - given) - off)[at].max(axis=1) * (1.0 - 1e-15) - error * (1.0 + 1e-14)
        lower = smaller(larger(0.0, float(seen.max()), float(goal["least"])), upper)
        if lower <= 1e-6 * upper:  # it is not negative
            return (float(up(0.5 * upper)),) * 2
        return 0.5 * (lower + upper), float(up(0.5 * (upper - lower)))

    def errors(self, bundle: Bundle, mismatch: float, goal: Row) -> Array:
        """Bounds of |u − ũ| on each cell."""
        p, mesh = self.p, self.p.mesh
        density = up(np.sqrt(p.osc**2 + p.defect**2 / mesh.low))
        error = np.full(mesh.C, self.level_sets(density) if planes(p) is not None else math.inf)
        if goal["local"] is not None:
            own = Norms(mesh.top, self.peak, self.shares, density, np.zeros(mesh.C))
            error = np.minimum(error, self.band(bundle, "local", goal, own))
        return np.asarray(up(error + mismatch))

    def extreme(self, bundle: Bundle, mismatch: float, goal: Row) -> tuple[float, float]:
        """Centre and radius of max u, or min u: ũ by its Bernstein coefficients, and its values at nodes."""
        mesh, sign = self.p.mesh, 1.0 if goal["kind"] == "maximum" else -1.0
        error, w = self.errors(bundle, mismatch, goal), sign * self.p.nodal[mesh.nodes_of(mesh.cells)]
        b = quadratic(w, mesh.d, mesh.degree)[0]
        slip = gamma(4) * (np.abs(w).max(axis=1) + error)
        upper = float(np.max((b.m + b.r).max(axis=(1, 2)) + error + slip))  # band.md, step 7a
        lower = float(np.max(w.max(axis=1) - error - slip))  # band.md, step 7a
        return sign * 0.5 * (lower + upper), float(up(0.5 * (upper - lower) + gamma(4) * abs(lower + upper)))

    def band(self, bundle: Bundle, word: str, goal: Row, norms: Norms) -> Array:
        """Bounds cell by cell, with the stored radii of balls and an error in the mean that is proved again."""
        mesh = self.p.mesh
        need(self.p.load is None, "everywhere: no theorem for Neumann data here")
        radii = bundle(f"everywhere/{word}_radii", None)
        which = bundle(f"everywhere/{word}_radius", mesh.C, whole=len(radii))
        return band(mesh, norms, self.error(goal[word]), radii, which)

    def error(self, said: Row) -> float:
        """E ≥ ‖u − ũ‖₂, proved once."""
        if self.mean is None:
            self.mean = mean_error(self.p, self.residual, said)
        need(same(said["error"], self.mean), "two errors in the mean")
        return self.mean

    def sizes(self) -> Array:
        """Bounds of |u| on each cell for zero data on Γ_D, from the source alone."""
        mesh = self.p.mesh
        found = np.full(mesh.C, math.inf if planes(self.p) is None else self.level_sets(self.source, fluxless=True))
        if np.all(mesh.kappa == mesh.kappa[0]) and not np.any(mesh.kind == NEUMANN):
            norm = math.sqrt(total(up(self.source**2)))
            found = np.minimum(found, up(weight(mesh.points[: mesh.n], mesh.points[mesh.cells]) * norm / mesh.kappa[0]))
        return np.asarray(found)


def _mean_square(f: Array, d: int) -> Array:
    """Of symmetric quadratics (n, d + 1, d + 1)."""
    return against(one := {a: f[:, j, k] * (1.0 if j == k else 2.0) for j, k, a in _pairs(d)}, one)


@cache
def _pairs(d: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    every = combinations_with_replacement(range(d + 1), 2)
    return tuple((j, k, tuple((i == j) + (i == k) for i in range(d + 1))) for j, k in every)


def between(size: dict[float, float], p: float) -> float:
    """‖·‖_p by Hölder's inequality from its neighbours."""
    if p in size:
        return size[p]
    a, b = larger(q for q in size if q < p), smaller(q for q in size if q > p)
    t = (1.0 / a - 1.0 / p) / (1.0 / a - 1.0 / b)
    return float(up(size[a] ** (1.0 - t) * size[b] ** t * (1.0 + SLACK)))


def planes(p: Side) -> int | None:
    """Planes that hold the Neumann facets, across different axes, without flux; None where there is no theorem."""
    mesh, found = p.mesh, 0
    facets = np.nonzero(mesh.kind == NEUMANN)[0]
    need(p.load is None and not np.any(p.t[facets]), "everywhere: no theorem for Neumann data here")
    V = mesh.points[mesh.facets[facets]]
    flat = np.ptp(V, axis=1) == 0.0
    if not np.all(flat.any(axis=1)):
        return None
    axis = np.argmax(flat, axis=1)
    for i in range(mesh.d):
        levels = np.unique(V[axis == i, 0, i])
        if len(levels) > 1:
            return None
        found += len(levels)
    return found


def weight(nodes: Array, V: Array) -> Array:
    """‖κG(x, ·)‖₂ of the box around all nodes, its largest value on cells V: a sine series with bounded tail."""
    a, sides, d = nodes.min(axis=0), np.ptp(nodes, axis=0), nodes.shape[1]
    low, high = (V.min(axis=1) - a) / sides, (V.max(axis=1) - a) / sides
    if d == 1:
        x = np.clip(0.5, low[:, 0], high[:, 0])
        return np.asarray(up(x * (1.0 - x) * float(sides[0]) ** 1.5 / math.sqrt(3.0)))
    J = MORE[d]
    j = np.arange(1.0, J + 1.0)
    rates = sum(np.ix_(*[(j / s) ** 2 for s in sides])) * PI**2
    table = 2.0**d / math.prod(sides.tolist()) / rates**2
    found = np.empty(len(V))
    for at in range(0, len(V), 2048):
        S = []
        for i in range(d):
            s, t = low[at : at + 2048, i, None] * j, high[at : at + 2048, i, None] * j
            crest = np.floor(t + 0.5 + 1e-9) > np.floor(s + 0.5 - 1e-9)
            ends = np.maximum(np.abs(np.sin(PI * s)), np.abs(np.sin(PI * t))) + 1e-12
            S.append(np.where(crest, 1.0, np.minimum(1.0, ends**2)))
        found[at : at + 2048] = _contract(table, S)
    tail = sum(
        PI * (1.0 + 1e-15) * (s**3 / (8.0 * J**2) if d == 2 else s**2 / (4.0 * J)) * math.prod(sides.tolist()) / s
        for s in sides.tolist()
    )
    return np.asarray(
        up(np.sqrt(found * (1.0 + gamma(8.0 * J**d)) + 2.0**d / math.prod(sides.tolist()) / PI**4 * tail))
    )


def _contract(table: Array, S: list[Array]) -> Array:
    """Σ table · Π sin², for every cell."""
    inner = np.tensordot(S[0], table, axes=(1, 0))
    for s in S[1:]:
        inner = np.einsum("nj...,nj->n...", inner, s)
    return np.asarray(inner)


def boundary_agrees(samples: Samples, goal: Row, given: Array, name: str) -> None:
    """The stored maximum of |g_D − v| on Γ_D is not below samples of a lift, and what it must be not above them."""
    mesh, seen = samples.mesh, 0.0
    need(
        goal["least"] >= 0.0 and (goal["boundary"] is None) == (samples.proof["lift"] is None),
        f"{name!r}: a wrong form",
    )
    for k, data in enumerate(samples.held):
        facets = samples.bundle(f"continuous/d{k}", None, whole=len(mesh.facets))
        corners = np.unique(mesh.facets[facets])
        if data is None or (samples.lift is None and goal["boundary"] is not None):
            return  # said to be blind
        v = 0.0 if goal["boundary"] is not None else given[corners]
        seen = larger(seen, float(np.max(np.abs(samples.value(data, mesh.points[corners]) - v), initial=0.0)))
        if goal["boundary"] is not None:
            bary, _ = rule(mesh.d - 1, 5)
            X = np.einsum("qi,nic->nqc", bary, mesh.points[mesh.facets[facets]])
            values = np.abs(samples.value(data, X))
            size = float(np.abs(samples.lift(X).v).max(initial=0.0)) if samples.lift is not None else 0.0
            top = float(values.max(initial=0.0))
            need(
                top <= goal["boundary"] * (1.0 + 1e-9) + 1e-13 * size, f"{name!r}: misses the Dirichlet data by {top!r}"
            )
    need(goal["least"] <= seen * (1.0 + 1e-9) + 1e-300, f"{name!r}: the Dirichlet data is not missed by that much")


def raised(found: list[tuple[float, float]], goals: list[Row]) -> list[tuple[float, float]]:
    """At points of a lift the error is at least what their intervals prove, and so is the largest one."""
    pairs = list(zip(found, goals, strict=True))
    known = [abs(c - goal["own"][0]) - r for (c, r), goal in pairs if goal["kind"] == "point" and goal["own"]]
    least, best = larger(known, default=0.0) * (1.0 - 1e-12), list[tuple[float, float]]()
    for (c, r), goal in pairs:
        low, high = c - r, c + r
        if goal["kind"] == "everywhere" and low < least <= high:
            c, r = 0.5 * (least + high), float(up(0.5 * (high - least)))
        best.append((c, r))
    return best
