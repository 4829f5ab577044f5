"""Dirichlet data that the state does not meet, lifted into the cells of its facets: part of the proof, plane meshes.

On a facet of Γ_D, g − u_h less the line through its end values is m = P + error, m′ = P₁ + error, polynomials in
ξ = 2t − 1 (stored, and compared with samples). E = r m on the triangle behind the facet, r = 1 there and 0 at the
opposite vertex, has √|K| (‖m‖ |F|/(2|K|) + L/(2|K|) ‖m′‖) ≥ ‖∇E‖ and √(|K|/2) ‖m‖ = ‖E‖. With e = u − u_h − E,

    J(u) = J(u_h) + [residual of u_h at z_h] − ∫_{Γ_D} (τ·n) m + (ϱ_d, E) + (δ_d, ∇E) + a(e, ε),

and ‖e‖_a is bounded with ‖κ^½∇E‖_K + ‖c^½E‖_K more on each cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnpoint_verify.checker import DIRICHLET, Ball, Query, Side, gamma, total, up
from pinnpoint_verify.reader import Bundle, need
from pinnpoint_verify.varying import VariedSide

Array = Any
TERMS = 11


class Raised:
    """The lift of a bundle's Dirichlet data."""

    def __init__(self, bundle: Bundle, p: Side, said: dict[str, Any]) -> None:
        mesh = p.mesh
        medium = mesh.medium
        fits = mesh.d == 2 and (medium is None or not (medium.convective or float(medium.floor.min()) < 0.0))
        need(fits, "raised: Dirichlet data is lifted in the plane, without convection, where c ≥ 0")
        self.p, self.ends = p, float(said["ends"])
        self.at = at = np.nonzero(mesh.kind == DIRICHLET)[0]
        self.P, self.P1 = bundle("raised/value", len(at), TERMS), bundle("raised/slope", len(at), TERMS)
        self.error = bundle("raised/error", len(at), 2)
        need(self.ends >= 0.0 and np.all(self.error >= 0.0), "raised: a bound is negative")
        self.cell = cell = mesh.owner[at]
        self.local = np.argmax(mesh.cell_facets[cell] == at[:, None], axis=1)
        value, slope = (_rms(P, e) for P, e in zip((self.P, self.P1), self.error.T, strict=True))
        V = mesh.points[mesh.facets[at]]
        apex = mesh.points[mesh.cells[cell, self.local]]
        base, one, two = (up(np.sqrt(((a - b) ** 2).sum(axis=1)) * (1.0 + 1e-14)) for a, b in _sides(V, apex))
        gradient = up((base * value + np.maximum(one, two) * slope) / (2.0 * np.sqrt(mesh.low[cell])) * (1.0 + 1e-14))
        kappa, c = (mesh.kappa[cell], mesh.c[cell]) if medium is None else tops_of(medium, cell)
        gradient, size = up(np.sqrt(kappa) * gradient), up(np.sqrt(0.5 * mesh.top[cell]) * value)
        every = np.zeros((3, mesh.C))
        for row, each in zip(every, (gradient, size, up(gradient + np.sqrt(c) * size)), strict=True):
            np.add.at(row, cell, each)
        self.gradient, self.size, self.energy = up(every * (1.0 + 1e-14))

    def bound(self, query: Query, goal: dict[str, Any]) -> tuple[float, float]:
        """Centre and radius of a query, but for what the end values cost."""
        p, z = self.p, query.z
        p.raised = self.energy
        center, radius = query.bound(None, goal)
        p.raised = None
        t = np.broadcast_to(z.t[self.at], (len(self.at), 2)) * p.mesh.sign[self.cell, self.local][:, None]
        n = np.arange(TERMS)
        even, odd = np.where(n % 2 == 0, 1.0 / (n + 1.0), 0.0), np.where(n % 2 == 1, 1.0 / (n + 2.0), 0.0)
        mean, tilt = self.P @ even, self.P @ odd
        moments = np.stack([0.5 * (mean - tilt), 0.5 * (mean + tilt)], axis=1)
        off = gamma(2 * TERMS) * np.abs(self.P).sum(axis=1) + self.error[:, 0]
        across = Ball(t * moments, up(np.abs(t) * off[:, None])).total()
        left = total(rest_of(self, z))
        center = center - query.sign * float(across.m)
        return center, float(
            up(radius + float(across.r) + left + 8.0 * 2.0**-53 * (abs(center) + abs(float(across.m))))
        )

    def tops(self, facets: Array) -> Array:
        """Upper bounds of |g − u_h| on facets, as the polynomials have it."""
        rows = np.searchsorted(self.at, facets)
        return np.asarray(up(np.abs(self.P[rows]).sum(axis=1) + self.error[rows, 0] + self.ends))

    def compare(self, facets: Array, value: Array, bary: Array) -> None:
        """The polynomials of some facets against samples (n, q) of g − u_h at barycentric points (q, 2) and at ends."""
        rows = np.searchsorted(self.at, facets)
        ends, inside = value[:, :2], value[:, 2:]
        xi = bary[:, 1] - bary[:, 0]
        powers = xi[:, None] ** np.arange(TERMS)
        size = np.abs(value).max(initial=0.0)
        found = self.P[rows] @ powers.T
        slip = 1e-12 * size + 1e-13 * self._scale()
        fits = np.abs(inside - ends @ bary.T - found) <= self.error[rows, :1] * (1.0 + 1e-9) + slip
        need(np.all(fits) and np.all(np.abs(ends) <= self.ends + slip), "raised: not the Dirichlet data (sampled)")
        n = np.arange(1, TERMS)
        rate = 2.0 * (self.P[rows][:, 1:] * n) @ (xi[:, None] ** (n - 1)).T
        loose = self.error[rows, 1:] + 200.0 * self.error[rows, :1] + 1e-6 * np.abs(self.P1[rows]).max(axis=1)[:, None]
        fits = np.abs(rate - self.P1[rows] @ powers.T) <= loose + 100.0 * slip
        need(np.all(fits), "raised: not the derivative of the Dirichlet data (sampled)")

    def _scale(self) -> float:
        return float(np.abs(self.p.nodal).max(initial=0.0))


def rest_of(lift: Any, z: Side) -> Array:
    """Upper bounds of |(ϱ_d, E) + (δ_d, ∇E)| on the cells, from norms of E."""
    rest = z.osc + z.defect / np.sqrt(z.mesh.low)
    q = up((np.sqrt(z.square) + (z.fuzz if isinstance(z, VariedSide) else 0.0)) * z.mesh.growth)
    return up(q * lift.gradient + rest * lift.size)


def tops_of(medium: Any, cell: Array) -> tuple[Array, Array]:
    """Upper bounds of A's largest eigenvalue and of c on some cells, from Bernstein coefficients of their models."""

    def top(word: str | None) -> Any:
        return 0.0 if word is None else up(np.abs(medium.beta[word][cell]).max(axis=1) + medium.error[word][cell])

    rows = [sum(top(medium.entry(i, j)) for j in range(medium.d)) for i in range(medium.d)]
    return up(np.max(rows, axis=0) * (1.0 + 1e-14)), top("c")


def _sides(V: Array, apex: Array) -> tuple[tuple[Array, Array], ...]:
    return (V[:, 0], V[:, 1]), (V[:, 0], apex), (V[:, 1], apex)


def _rms(P: Array, error: Array) -> Array:
    """Upper bounds of root mean squares over [−1, 1]."""
    n = np.arange(TERMS)
    both = n[:, None] + n[None, :]
    gram = np.where(both % 2 == 0, 1.0 / (both + 1.0), 0.0)
    square = np.einsum("fi,ij,fj->f", P, gram, P) + gamma(TERMS**2 + 8) * np.abs(P).sum(axis=1) ** 2
    return up(np.sqrt(np.maximum(square, 0.0)) + error)
