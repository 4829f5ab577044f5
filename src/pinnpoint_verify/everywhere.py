"""The largest error of the prediction over the domain, by level sets: part of the proof, beside checker.py.

For e ∈ H¹₀ with ∫κ∇e·∇w + c e w = ∫ϱw + ∫δ·∇w, κ ≥ α, in n dimensions and a domain of volume V (docs/everywhere.md, 1),
with C = nω_n^{1/n}:

    sup |e| ≤ A(V) ‖ϱ‖₂/α + B_p(V) ‖κ^{−½}δ‖_p/√α,   A = C⁻²‖∫_r^V s^{−2+2/n}‖₂,   B_p = C⁻¹‖s^{−1+1/n}‖_{p′}.

Free facets in planes across the axes, one for each axis at most, double the domain (3a there); what a flux leaves of
their data is a field on their cells (sides.py). A reaction below zero adds ‖qe‖₂ to ‖ϱ‖₂ (2h). What a prediction that
was lifted leaves over is bounded with no state and flux at all (4a), in a box by its weight (4c).
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from pinnpoint_verify.band import Norms, Residual, band, mean_error, second_constant
from pinnpoint_verify.checker import NEUMANN, PI, Cells, Side, gamma, quadratic, total, up
from pinnpoint_verify.constants import seen
from pinnpoint_verify.own import held_gap
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.reference import rule
from pinnpoint_verify.rows import same
from pinnpoint_verify.samples import Samples
from pinnpoint_verify.sides import FreeData, joined
from pinnpoint_verify.spectrum import Spectrum, first_eigenvalue

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

    def __init__(self, p: Side, spectrum: Spectrum | None = None) -> None:
        self.p, self.peak, self.shares, self.spectrum = p, np.zeros(p.mesh.C), np.zeros((3, p.mesh.C)), spectrum
        self.free: FreeData | None = None
        self.tops = np.zeros(p.mesh.C)
        self.source = np.zeros(p.mesh.C)
        self.residual, self.carried = Residual(p), 0.0
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

    def lengths(self, copies: float, peak: Array, shares: Array) -> dict[float, float]:
        """‖κ^{−½}δ‖_p for p = 2, 4, 6, ∞."""
        top, mesh = float(peak.max(initial=0.0)), self.p.mesh
        share, found = peak / top if top > 0.0 else peak, {math.inf: top}
        for k in (1, 2, 3):
            whole = copies * total(up(mesh.top * share ** (2 * k) * shares[k - 1]))
            found[2.0 * k] = float(up(top * whole ** (0.5 / k) * (1.0 + SLACK)))
        return found

    def level_sets(self, peak: Array, shares: Array, density: Array) -> float:
        """The bound for δ and ϱ with these norms on cells."""
        mesh, n, copies = self.p.mesh, self.p.mesh.d, 2.0 ** (planes(self.p) or 0)
        V, low = total(mesh.top) * copies, float(mesh.kappa.min()) * (1.0 - 1e-15)
        C = {1: 2.0, 2: 2.0 * math.sqrt(PI), 3: (36.0 * PI) ** (1.0 / 3.0)}[n] * (1.0 - SLACK)
        first = self.density_constant() * (math.sqrt(total(up(density**2))) + self.carried) / low * (1.0 + SLACK)
        if not np.any(peak):
            return float(up(first))
        size, found = self.lengths(copies, peak, shares), [n * V ** (1.0 / n) / C * float(peak.max())]
        for p in EXPONENTS[n]:
            dual = p / (p - 1.0)
            left = 1.0 - dual * (1.0 - 1.0 / n)
            found.append((V**left / left) ** (1.0 / dual) / C * between(size, p))
        return float(up(first + smaller(found) / math.sqrt(low) * (1.0 + SLACK)))

    def density_constant(self) -> float:
        """Sup κ|e|/‖ϱ‖₂ over the domain and its mirror images."""
        n, copies = self.p.mesh.d, 2.0 ** (planes(self.p) or 0)
        V = total(self.p.mesh.top) * copies
        C = {1: 2.0, 2: 2.0 * math.sqrt(PI), 3: (36.0 * PI) ** (1.0 / 3.0)}[n] * (1.0 - SLACK)
        A = {1: math.sqrt(V**3 / 3.0), 2: math.sqrt(2.0 * V), 3: 3.0 * V ** (1.0 / 6.0)}[n] / (C * C)
        return float(up(A * math.sqrt(copies) * (1.0 + SLACK)))

    def falls(self, eta: float, defect: float, mismatch: float) -> float:
        """Count ‖qe‖₂ from now on; what data of the boundary changes with a reaction below zero."""
        if self.spectrum is None:
            return mismatch
        self.carried = self.spectrum.carried(eta, defect)
        if mismatch == 0.0:
            return mismatch
        need(planes(self.p) is not None, "everywhere: data that is missed, and free facets not in mirrors")
        low = float(self.p.mesh.kappa.min()) * (1.0 - 1e-15)
        return float(up(mismatch * self.spectrum.spread(self.density_constant() / low)))

    def norms(self, top: Array, *, flux: bool) -> Norms:
        """Of δ and ϱ with the fields of free facets; without a flux of the source and their data alone."""
        p, mesh = self.p, self.p.mesh
        density = up(np.sqrt(p.osc**2 + p.defect**2 / mesh.low)) if flux else self.source
        found = (self.peak, self.shares, density) if flux else (np.zeros(mesh.C), np.zeros((3, mesh.C)), density)
        if self.free is not None:
            found = joined(*found, *self.free.fields(flux=flux), mesh.top)
        return Norms(mesh.top, *found, top)

    def interval(self, bundle: Bundle, given: Array, mismatch: float, goal: Row) -> tuple[float, float]:
        """Centre and radius of max |u − v| over the domain."""
        p, mesh, boundary = self.p, self.p.mesh, goal["boundary"]
        error = self.errors(bundle, mismatch, goal)
        band = up(self.tops + error)
        if boundary is not None:
            band = np.minimum(band, up(self.sizes() + boundary))
        if goal["left"] is not None:
            need(boundary is not None, "everywhere: bounds of what nothing leaves over")
            own = self.norms(self.tops, flux=False)
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
        own, error = self.norms(np.zeros(mesh.C), flux=True), np.full(mesh.C, math.inf)
        if planes(p) is not None:
            error[:] = self.level_sets(own.peak, own.means, own.density)
        if goal["local"] is not None:
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
        need(self.spectrum is None and mesh.exchange is None, "everywhere: no theorem for a band here")
        radii = bundle(f"everywhere/{word}_radii", None)
        which = bundle(f"everywhere/{word}_radius", mesh.C, whole=len(radii))
        return band(mesh, norms, self.error(goal[word]), radii, which)

    def error(self, said: Row) -> float:
        """E ≥ ‖u − ũ‖₂, proved once."""
        if self.mean is None:
            self.mean = mean_error(self.p, self.residual, said)
        need(same(said["error"], self.mean), "two errors in the mean")
        return self.mean

    def length(self, said: Row | None, eta: float, defect: float) -> float:
        """E ≥ ‖u − ũ‖₂, from the energy where there is no mesh constant."""
        if self.spectrum is not None:
            need(said is None, "an error in the mean with a mesh constant, beside a reaction below zero")
            return self.spectrum.mean(eta, defect)  # checking.md, step 15b
        if self.p.mesh.exchange is None:
            need(said is not None, "an error in the mean without its mesh constant")
            return self.error(said or {})
        need(said is not None and said.keys() == {"first"}, "robin: an error in the mean with a mesh constant")
        C = second_constant(self.p.mesh)
        if said is not None and said["first"] is not None:
            C = smaller(
                C, 1.0 / math.sqrt(first_eigenvalue(self.p.mesh, float(said["first"])))
            )  # checking.md, step 15c
        return float(up(C * eta))  # band.md, step 8c

    def sizes(self) -> Array:
        """Bounds of |u| on each cell for zero data on Γ_D, from the source alone."""
        mesh = self.p.mesh
        need(self.spectrum is None and mesh.exchange is None, "everywhere: no theorem without a solve here")
        own, found = self.norms(np.zeros(mesh.C), flux=False), np.full(mesh.C, math.inf)
        if planes(self.p) is not None:
            found[:] = self.level_sets(own.peak, own.means, own.density)
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
    """Planes that hold the free facets, across different axes; None where there is no theorem."""
    mesh, found = p.mesh, 0
    facets = np.nonzero(mesh.kind == NEUMANN)[0]
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


def boundary_proved(samples: Samples, goal: Row, given: Array, row: Row) -> None:
    """|g_D − v| on Γ_D, v of a lift the prediction itself: its largest value there, and what vertices show of it.

    Of data that are not followed both stay as stored, which is told; a lift is compared with samples of it.
    """
    mesh, shown, top, known, name = samples.mesh, 0.0, 0.0, True, row["name"]
    alone = samples.proof["lift"] is not None and mesh.exchange is None and not np.any(mesh.c < 0.0)
    need(goal["least"] >= 0.0 and (goal["boundary"] is not None) == alone, f"{name!r}: a wrong form")
    for k, data in enumerate(samples.held):
        facets = samples.bundle(f"continuous/d{k}", None, whole=len(mesh.facets))
        V, corners, text = mesh.points[mesh.facets[facets]], np.unique(mesh.facets[facets]), samples.left_of(k)
        if text is None:
            known = False
            if data is not None and alone and samples.lift is not None:
                _compared(samples, data, V, goal["boundary"], name)
        elif len(facets):
            shown = larger(shown, seen(text, mesh.points[corners], given[corners]))
            most = larger(goal["boundary"] or 0.0, 1e-11 * row["radius"])
            top = larger(top, held_gap(text, V, np.zeros((len(V), mesh.d, mesh.d)), most) if alone else 0.0)
    if known:  # checking.md, step 15d
        fits = goal["least"] <= shown * (1.0 + 1e-9) + 1e-300
        need(fits, f"{name!r}: the Dirichlet data is not missed by that much")
        goal["least"] = smaller(goal["least"], shown)
    if alone:
        goal["boundary"] = top if known else larger(top, goal["boundary"])


def _compared(samples: Samples, data: Any, V: Array, most: float, name: str) -> None:
    """What a lift leaves of Dirichlet data is not above a bound at points of facets."""
    X = np.einsum("qi,nic->nqc", rule(V.shape[1] - 1, 5)[0], V)
    size = 0.0 if samples.lift is None else float(np.abs(samples.lift(X).v).max(initial=0.0))
    top = float(np.abs(samples.value(data, X)).max(initial=0.0))
    need(top <= most * (1.0 + 1e-9) + 1e-13 * size, f"{name!r}: misses the Dirichlet data by {top!r}")


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
