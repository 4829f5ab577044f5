"""Errors in the mean and the band, proved again from a bundle's state, flux and data.

M_h is from the mesh, by Crouzeix–Raviart matrices and one factorization with the stored θ and τ; E from it; bounds on
cells are with the stored radii. Proofs are in docs/band.md. What is stored leads the way and is proved here: a smaller
eigenvalue, another E or another radius would only widen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.checker import (
    DIRICHLET,
    NEUMANN,
    PI,
    Ball,
    Mesh,
    Side,
    areas,
    energy,
    gamma,
    length,
    means,
    mix,
    total,
    up,
)
from pinnpoint_verify.convex import convex_constant
from pinnpoint_verify.mesh_constant import eigenvalue
from pinnpoint_verify.reader import Array, need, smaller

Row = dict[str, Any]
PI_UP = 3.1415926535897936
POWERS = {1: (2.0, 4.0, math.inf), 2: (3.0, 4.0, 6.0, math.inf), 3: (4.0, 6.0, math.inf)}
"""Exponents p of ‖δ‖_p, by dimension."""
CELLS = 400
"""Cells whose neighbours are looked for at a time."""


def mesh_constant(mesh: Mesh, said: Row) -> float:
    """M_h, once the stored eigenvalue is proved: λ⊥ ≥ eigenvalue by one factorization (band.md, steps 1f, 1j)."""
    d, X = mesh.d, mesh.points[mesh.cells]
    need(np.any(mesh.kind == DIRICHLET), "mesh constant: nothing is fixed")
    if d > 1 and said["eigenvalue"] == 0.0 and np.any(mesh.kind != DIRICHLET):
        return convex_constant(mesh)
    edges = np.stack([((X[:, i] - X[:, j]) ** 2).sum(axis=1) for i, j in combinations(range(d + 1), 2)])
    spread = edges.max(axis=0) / PI**2
    spread = spread if d == 1 else spread + edges.sum(axis=0) / (d * d * (d + 1) ** 2 * (d + 2))
    C = float(up(np.max(spread / mesh.kappa)))
    if d == 1:
        return float(up(math.sqrt(C)))
    theta, tau, claimed = (float(said[key]) for key in ("shift", "penalty", "eigenvalue"))
    free = np.nonzero(mesh.kind != DIRICHLET)[0]
    if not len(free):
        return float(up(math.sqrt(C)))
    need(theta > 0.0 and tau > 0.0 and claimed > 0.0, "mesh constant: θ, τ and the eigenvalue must be positive")
    need(claimed <= eigenvalue(mesh, free, theta, tau), f"mesh constant: the eigenvalue {claimed!r} is not proved")
    return float(up(math.sqrt(1.0 / claimed + C)))


class Residual:
    """R(λ_i) of a state against the linear elements, gathered from ranges of cells; what of it the data's error is."""

    def __init__(self, p: Side) -> None:
        n = p.mesh.n
        self.p, self.m, self.r = p, np.zeros(n), np.zeros(n)
        self.size, self.lumped, self.data = np.zeros(n), np.zeros(n), np.zeros(p.mesh.C)

    def measure(self, g: Any) -> None:
        """A range of cells that `p` has measured."""
        p, d, T = self.p, self.p.mesh.d, self.p.mesh.cells[g.part]
        mass = mix("njk,ijk->ni", p.f - g.c[:, None, None] * p.b, means(d, 3))
        slope = mix("njc,nic->ni", p.slopes, g.grad) * (g.kappa / (d + 1.0))[:, None]
        local = (mass - slope) * g.vol[:, None]
        for i in range(d + 1):
            self._add(T[:, i], local[:, i])
            self.lumped += np.bincount(T[:, i], g.vol.low / (d + 1.0), minlength=len(self.m))
        self.data[g.part] = up(np.sqrt(g.vol.top) * p.e2)

    def _add(self, at: Array, x: Ball) -> None:
        n = len(self.m)
        for total_, part in ((self.m, x.m), (self.r, x.r), (self.size, np.abs(x.m))):
            total_ += np.bincount(at, part, minlength=n)

    def norm(self, C: float) -> float:
        """Upper bound of sup R(v)/‖v‖_{a_c} over V_h, from ‖v‖₂ ≤ C‖v‖_{a_c}."""
        p, mesh, d = self.p, self.p.mesh, self.p.mesh.d
        if p.load is not None:
            T, at = mesh.facets[p.load.at], p.load.at
            g, _, e1, _ = (a[at] for a in p.load.on(0, len(mesh.facets)))
            area = areas(mesh.points[T])
            local = mix("njk,ijk->ni", g, means(d - 1, 3)) * area[:, None]
            for i in range(d):
                self._add(T[:, i], Ball(local[:, i].m, local[:, i].r + area.top * e1))
        held = np.zeros(len(self.m), dtype=bool)
        held[mesh.facets[mesh.kind == DIRICHLET]] = True
        most = np.bincount(mesh.cells.ravel()).max() + 64
        top = up(np.abs(self.m) + self.r * (1.0 + 1e-9) + gamma(4 * most) * self.size)
        nodes = length(np.where(held, 0.0, top / np.sqrt(np.where(held, 1.0, self.lumped * (1.0 - 1e-9)))))
        return float(up(C * (math.sqrt(d + 2.0) * nodes + length(self.data))))


def second_constant(mesh: Mesh) -> float:
    """C with ‖v‖₂ ≤ C‖v‖_a (band.md, step 2c)."""
    paths, c = math.sqrt(total(mesh.top * mesh.reach**2) + float(mesh.convex.max()) ** 2), float(mesh.c.min())
    return float(up(smaller(mesh.friedrichs, paths, 1.0 / math.sqrt(c) if c > 0.0 else math.inf)))


def mean_error(p: Side, residual: Residual, said: Row) -> float:
    """E ≥ ‖u − u_h‖₂, the stored one once it is proved."""
    mesh, M = p.mesh, mesh_constant(p.mesh, said)
    need(mesh.exchange is None and float(mesh.c.min()) >= 0.0, "mesh constant: no theorem for such problems")
    most, claimed, C = float(mesh.c.max()), float(said["error"]), second_constant(mesh)
    factor = 1.0 if np.all(mesh.c == most) else 1.0 + most * C * C
    found = up(M * math.sqrt(1.0 + most * M * M) * factor * energy(p) + C * residual.norm(C))
    need(found <= claimed, f"the error in the mean is claimed to be at most {claimed!r}; {float(found)!r} is proved")
    return claimed


@dataclass(frozen=True)
class Norms:
    """On each cell: |K|, sup κ^{-½}|δ|, means of its share of that to the powers 2, 4, 6, and ‖ϱ‖₂; and sup|u_h|."""

    volume: Array
    peak: Array
    means: Array
    density: Array
    top: Array


def band(mesh: Mesh, norms: Norms, E: float, radii: Array, which: Array) -> Array:
    """Bounds on every cell with its own stored radius; infinite where the hypotheses of the ball are not met."""
    need(len(which) == mesh.C and np.all((which >= 0) & (which < len(radii))), "band: not a radius for every cell")
    need(np.all(np.isfinite(radii)) and np.all(radii > 0.0), "band: a radius that is none")
    X = mesh.points[mesh.cells]
    centre = X.mean(axis=1)
    size = np.sqrt(((X - centre[:, None]) ** 2).sum(axis=2).max(axis=1)) * (1.0 + 1e-9)
    size = size + 1e-9 * float(np.ptp(X, axis=(0, 1)).max())
    outer, free = (np.isin(np.arange(mesh.C), mesh.owner[k]) for k in (mesh.kind > 0, mesh.kind == NEUMANN))
    scale = float(norms.peak.max(initial=0.0)) or 1.0
    sums = np.stack([norms.density**2, *(norms.volume * (norms.peak / scale) ** (2 * i) * norms.means[i - 1]
                                         for i in (1, 2, 3))], axis=1)  # fmt: skip
    tops = np.stack([outer, free, mesh.kappa, -mesh.kappa, mesh.c, norms.peak, norms.top], axis=1).astype(float)
    found, r = np.empty(mesh.C), radii[which]
    for a in range(0, mesh.C, CELLS):
        part = slice(a, a + CELLS)
        apart = np.sqrt(((centre[part, None] - centre[None]) ** 2).sum(axis=2))
        near = apart <= (r[part, None] + size[part, None] + size[None]) * (1.0 + 1e-9)
        high = np.stack([np.where(near, t, -np.inf).max(axis=1) for t in tops.T])
        mass = up((near @ sums).T * (1.0 + gamma(mesh.C + 8)))
        found[part] = _bounds(mesh, part, r[part], E, high, mass, scale)
    return found


def _bounds(mesh: Mesh, part: slice, r: Array, E: float, high: Array, mass: Array, scale: float) -> Array:
    """Inside the first, over Γ_D the second; in a box the first with images."""
    d, one, kappa = mesh.d, high[0] == 0.0, np.where(high[2] == -high[3], high[2], 0.0)
    volume = {1: 2.0 * r, 2: PI_UP * r * r, 3: 4.0 / 3.0 * PI_UP * r**3}[d]
    root = np.sqrt(volume * (PI / PI_UP)) * (1.0 - 1e-14)
    flux = {math.inf: high[5]} | {2.0 * i: scale * mass[i] ** (0.5 / i) for i in (1, 2, 3)}
    flux[3.0] = np.cbrt(flux[2.0] * flux[4.0] ** 2)
    held, free, boxed = _images(mesh, part, r)
    one, twice, copies = one | boxed, 2.0 ** (0.5 * free), 2.0 ** (held + free)
    slope = np.min([_gradient(d, p, r) * flux[p] * copies ** (1.0 / p) for p in POWERS[d]], axis=0)
    level = np.min([_level(d, p, volume) * flux[p] for p in POWERS[d]], axis=0)
    rho, state, root_kappa = np.sqrt(mass[0]), high[6], np.sqrt(np.where(kappa > 0.0, kappa, 1.0))
    bound = potential(d, r) * twice * (rho + high[4] * (E + state * np.sqrt(volume))) / root_kappa**2
    bound = bound + slope / root_kappa + np.where(held > 2.0, 2.0, 1.0) * (twice * E / root + state)
    other = 2.0 * (_density(d, volume) * rho / root_kappa**2 + level / root_kappa) + E / root + state
    found = np.where(one, bound, np.where(high[1] == 0.0, other, np.inf))
    return np.asarray(np.where(kappa > 0.0, up(found), np.inf))


def _images(mesh: Mesh, part: slice, r: Array) -> tuple[Array, Array, Array]:
    """Dirichlet and Neumann faces of a box that balls may meet; and whether images may be used at all."""
    X, P, F = mesh.points[: mesh.n], mesh.points[mesh.cells[part]], mesh.facets[mesh.kind > 0]
    kind, ends, none = mesh.kind[mesh.kind > 0], (X.min(axis=0), X.max(axis=0)), np.zeros(len(r))
    on = np.array([[np.all(X[F][:, :, i] == end[i], axis=1) for i in range(mesh.d)] for end in ends])
    whole = [[len(set(kind[here].tolist())) == 1 for here in side] for side in on]
    if not (np.all(np.any(on, axis=(0, 1))) and np.all(whole)):
        return none, none, none > 0.0
    kinds = np.array([[kind[here][0] for here in side] for side in on])
    fits = 2.0 * r <= float(np.min(ends[1] - ends[0])) * (1.0 - 1e-9)
    gaps = np.stack([P.min(axis=1) - ends[0], ends[1] - P.max(axis=1)], axis=1)
    met = (gaps <= r[:, None, None] * (1.0 + 1e-9)) & fits[:, None, None]
    return *((met & (kinds == k)).sum(axis=(1, 2)).astype(float) for k in (DIRICHLET, NEUMANN)), fits


def potential(d: int, r: Array) -> Array:
    """‖Φ‖₂ of −ΔΦ = δ − 1_B/|B|."""
    return up(np.sqrt({1: r**3 / 40.0, 2: 5.0 * r * r / (96.0 * PI), 3: 33.0 * r / (560.0 * PI)}[d]))


def _gradient(d: int, p: float, r: Array) -> Array:
    """‖∇Φ‖_{p′}: the integral of ((1 − t^d)/surface)^q over the ball, by Euler's beta function."""
    q = 1.0 if math.isinf(p) else p / (p - 1.0)
    a = {1: 1.0, 2: 1.0 - q / 2.0, 3: 1.0 - 2.0 * q / 3.0}[d]
    beta = math.exp(math.lgamma(a) + math.lgamma(q + 1.0) - math.lgamma(a + q + 1.0)) / d
    surface = {1: 2.0, 2: 2.0 * PI, 3: 4.0 * PI}[d]
    return up((surface ** (1.0 - q) * r ** (d - (d - 1) * q) * beta) ** (1.0 / q) * (1.0 + 1e-12))


def _density(d: int, volume: Array) -> Array:
    """Level sets: sup ‖e‖_∞/‖ϱ‖₂."""
    C = {1: 2.0, 2: 2.0 * math.sqrt(PI), 3: (36.0 * PI) ** (1.0 / 3.0)}[d]
    return up(
        {1: np.sqrt(volume**3 / 3.0), 2: np.sqrt(2.0 * volume), 3: 3.0 * volume ** (1.0 / 6.0)}[d]
        / C**2
        * (1.0 + 1e-13)
    )


def _level(d: int, p: float, volume: Array) -> Array:
    """Level sets: sup ‖e‖_∞/‖δ‖_p."""
    C, q = {1: 2.0, 2: 2.0 * math.sqrt(PI), 3: (36.0 * PI) ** (1.0 / 3.0)}[d], 1.0 if math.isinf(p) else p / (p - 1.0)
    left = 1.0 - q * (1.0 - 1.0 / d)
    return up((volume**left / left) ** (1.0 / q) / C * (1.0 + 1e-12))
