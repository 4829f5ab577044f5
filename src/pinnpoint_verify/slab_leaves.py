"""Radial functions on the cells about a point: powers of (ρ − ρ_b)/w_b on leaves, ρ = |x − x₀|²/R².

Cells are cut until ρ varies little on their parts, the leaves. A leaf has a bin, ρ_b ± w_b, and the moments of ξ^i,
ξ = (ρ − ρ_b)/w_b, against λ_j λ_k of its cell: exact but for rounding, as these are polynomials. Leaves that the rim
ρ = 1 cuts have powers of ((1 − ρ)/w)₊, found on children; on the last that are still cut they lie in [0, top].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, gamma, up
from pinnpoint_verify.enclosures import children, pairs, rule
from pinnpoint_verify.reader import Array, larger, need, smaller
from pinnpoint_verify.slab_fits import products

MOST, CHUNK = 600_000, 4000
"""Leaves and their children in all, and at a time."""
TILTED = 6
"""Degree of the polynomials in the place of a drift's factor."""
CUTS, WIDE = {1: 30, 2: 4, 3: 2}, 0.1
"""Of leaves at the rim, by dimension, and how far from it these may reach."""


def distances(V: Array, x0: Array, R: float) -> tuple[Array, Array]:
    """Bounds of ρ on simplices from below and above."""
    y = (V - x0) / R
    middle = y.mean(axis=1)
    far = np.sqrt(((y - middle[:, None]) ** 2).sum(axis=2).max(axis=1))
    size = np.sqrt((middle**2).sum(axis=1))
    coefficients = np.einsum("njc,nkc->njk", y, y)
    blur = 64.0 * UNIT * (np.abs(y).max(axis=(1, 2)) + np.abs(x0).max() / R + 1.0) ** 2
    low = np.maximum(coefficients.min(axis=(1, 2)), np.maximum(size - far, 0.0) ** 2) - blur
    return np.maximum(low, 0.0), np.einsum("njj->nj", coefficients).max(axis=1) + blur  # |x − x₀|² is convex


class Tilt:
    """E = e^{−β·(x − x₀)} of a drift, β within `error`: on a simplex a polynomial about its middle (slabs.md, 8k)."""

    def __init__(self, beta: Array, error: Array, x0: Array) -> None:
        self.beta, self.error, self.x0 = beta, error, x0

    @property
    def square(self) -> float:
        """Upper bound of |β|²."""
        return float(up(np.sum((np.abs(self.beta) + self.error) ** 2) * (1.0 + 1e-14)))

    def on(self, W: Array, B: Array) -> tuple[Array, Array, Array]:
        """The polynomial at points of simplices, and on each of these upper bounds of E and of what it leaves of E."""
        middle = W.mean(axis=1)
        away = (W - middle[:, None]) @ self.beta
        t, a = -np.einsum("qi,ni->nq", B, away), np.abs(away).max(axis=1) * (1.0 + 1e-12)
        found = np.ones_like(t)
        for j in range(TILTED, 0, -1):
            found = 1.0 + found * t / j
        size = np.abs(W).max(axis=1) + np.abs(self.x0)
        blur = size @ (4.0 * self.error + 64.0 * UNIT * np.abs(self.beta)) + 64.0 * UNIT
        height = np.exp(-(middle - self.x0) @ self.beta)
        top = up(height * np.exp(a) * (1.0 + 2.0 * blur) * (1.0 + 1e-12))
        cut = a ** (TILTED + 1) / math.factorial(TILTED + 1)  # slabs.md, step 8k
        return height[:, None] * found, top, up(top * (cut + 2.0 * blur) * (1.0 + 1e-12))


class Group:
    """Leaves of one sort with their powers first … first + count − 1."""

    def __init__(self, cell: Array, bin_: Array, share: Array, first: int, count: int, P: int) -> None:
        self.cell, self.bin, self.share, self.first, self.count = cell, bin_, share, first, count
        n = len(cell)
        self.moments = np.zeros((n, count, P))
        self.means = np.zeros((n, 2 * count - 1))  # of the powers 2 first … 2 (first + count − 1)
        self.one, self.two = np.zeros((2, n, count))
        self.noise, self.loss, self.top = np.zeros(n), np.zeros(n), np.ones(n)
        """Of ξ, of the factor E, and what E is at most; without a drift it is one."""

    def add(self, at: Array, part: Array, xi: Array, bary: Array, w: Array, noise: Array, E: Array | None) -> None:
        """Parts of leaves `at`, each a share `part` of its leaf: ξ and E at points of the rule, there the cells' λ."""
        P = products(bary)
        power = xi**self.first * (1.0 if E is None else E)
        for i in range(self.count):
            np.add.at(self.moments[:, i], at, part[:, None] * np.einsum("nq,nqp,q->np", power, P, w))
            power = power * xi
        power = xi ** (2 * self.first) * (1.0 if E is None else E * E)
        for i in range(2 * self.count - 1):
            np.add.at(self.means[:, i], at, part * (power @ w))
            power = power * xi
        np.maximum.at(self.noise, at, noise)


class Leaves:
    """Cells `near` (numbers of all cells that meet the ball) cut into leaves, and the bins of these."""

    def __init__(
        self,
        V: Array,
        x0: Array,
        R: float,
        floor: float,
        near: float,
        count: int,
        lowest: int,
        rim: int,
        depth: int,
        tilt: Tilt | None,
    ) -> None:
        self.x0, self.R, self.d, self.V, self.tilt = x0, R, V.shape[2], V, tilt
        self.more = 0 if tilt is None else TILTED
        low, _ = distances(V, x0, R)
        cell, eye = np.flatnonzero(low < 1.0), np.eye(self.d + 1)
        W, bary = V[cell], np.broadcast_to(eye, (len(cell), *eye.shape))
        kept: tuple[list[Any], ...] = ([], [], [], [], [])
        self.many = 0
        for level in range(depth + 1):
            low, high = distances(W, x0, R)
            half, middle = 0.5 * (high - low), 0.5 * (high + low)
            edge = high > 1.0
            good = (half <= np.maximum(floor, np.minimum(0.1, middle / near))) | (level == depth)
            good |= edge & (np.maximum(high - 1.0, 1.0 - low) <= WIDE)
            out = low >= 1.0
            take = good & ~out
            for into, x in zip(kept, (cell, W, bary, np.full(len(cell), level), edge), strict=True):
                into.append(x[take])
            left = ~good & ~out
            if not left.any():
                break
            cell, W, bary = np.repeat(cell[left], 2**self.d), children(W[left]), children(bary[left])
            self._count(len(cell))
        cell, W, bary, levels, edge = (np.concatenate(x) for x in kept)
        share = 0.5 ** (self.d * levels.astype(float))
        low, high = distances(W, x0, R)
        self._bins(low, high, edge)
        P = len(pairs(self.d))
        inner, outer = ~edge, edge
        self.inside = Group(cell[inner], self.number[inner], share[inner], 0, count, P)
        self.rim = Group(cell[outer], self.number[outer], share[outer], lowest, rim + 2, P)
        if tilt is not None:
            corners = np.eye(self.d + 1)
            self.inside.top, self.rim.top = tilt.on(W[inner], corners)[1], tilt.on(W[outer], corners)[1]
        self._inside(W[inner], bary[inner], count)
        self._rim(W[outer], bary[outer], rim + 2, lowest)

    def _count(self, more: int) -> None:
        self.many += more
        need(self.many <= MOST, "kernel: cells about a point that are too coarse for the checker's budget")

    def _bins(self, low: Array, high: Array, edge: Array) -> None:
        """Bins of widths 1.25^k: every leaf lies in its own; those at the rim are centred at ρ = 1."""
        half = np.where(edge, np.maximum(high - 1.0, 1.0 - low), 0.5 * (high - low) / 0.87)
        w = 1.25 ** np.ceil(np.log(np.maximum(half, 1e-12)) / np.log(1.25) + 1e-9)
        centre = np.where(edge, 1.0, np.round(0.5 * (low + high) / (0.25 * w)) * 0.25 * w)
        keys = np.stack([centre, w, edge], axis=1)
        found, self.number = np.unique(keys, axis=0, return_inverse=True)
        self.number = self.number.ravel()
        self.centre, self.half, self.edge = found[:, 0], found[:, 1], found[:, 2] > 0.5
        # as polynomials they are followed where ρ ≥ 0 may fail by a little, and beyond the rim
        fits = np.all(np.abs(low - self.centre[self.number]) <= self.half[self.number] * (1.0 + 1e-9))
        fits = fits and np.all(high - self.centre[self.number] <= self.half[self.number] * (1.0 + 1e-9))
        need(fits, "kernel: a leaf outside its bin")

    def _at(self, W: Array, B: Array, bins: Array) -> tuple[Array, Array]:
        """ξ at points of simplices (of the rim, (1 − ρ)/w), and what rounding may do to it."""
        y = (np.einsum("qi,nic->nqc", B, W) - self.x0) / self.R
        rho = np.einsum("nqc,nqc->nq", y, y)
        size = np.abs(W).max(axis=(1, 2)) + np.abs(self.x0).max()
        noise = up(64.0 * UNIT * (size / self.R) * (1.0 + np.abs(y).max(axis=(1, 2))) / self.half[bins])
        xi = (rho - self.centre[bins][:, None]) / self.half[bins][:, None]
        return np.where(self.edge[bins][:, None], -xi, xi), noise

    def _tilted(self, G: Group, leaf: Array, W: Array, B: Array) -> Array | None:
        """E at points of parts of leaves; what it is not known by is kept."""
        if self.tilt is None:
            return None
        E, _, loss = self.tilt.on(W, B)
        np.maximum.at(G.loss, leaf, loss)
        return E

    def _inside(self, W: Array, bary: Array, count: int) -> None:
        B, w, _ = rule(self.d, 2 * count - 1 + self.more)
        for a in range(0, len(W), CHUNK):
            at = np.arange(a, smaller(a + CHUNK, len(W)))
            xi, noise = self._at(W[at], B, self.inside.bin[at])
            L, E = np.einsum("qi,nij->nqj", B, bary[at]), self._tilted(self.inside, at, W[at], B)
            self.inside.add(at, np.ones(len(at)), xi, L, w, noise, E)

    def _rim(self, W: Array, bary: Array, count: int, lowest: int) -> None:
        """Children of leaves that the rim cuts, until what is not known is small."""
        G, leaf = self.rim, np.arange(len(W))
        B, w, _ = rule(self.d, 2 * (lowest + count) - 1 + self.more)
        for level in range(CUTS[self.d] + 1):  # slabs.md, step 8a
            low, high = distances(W, self.x0, self.R)
            part = 0.5 ** (self.d * level)
            inside = np.flatnonzero(high <= 1.0)
            for a in range(0, len(inside), CHUNK):
                at = inside[a : a + CHUNK]
                xi, noise = self._at(W[at], B, G.bin[leaf[at]])
                L = np.einsum("qi,nij->nqj", B, bary[at])
                G.add(leaf[at], np.full(len(at), part), xi, L, w, noise, self._tilted(G, leaf[at], W[at], B))
            cut = (high > 1.0) & (low < 1.0)
            last = level == CUTS[self.d]
            if last:
                top = (up(1.0 - low[cut]) / self.half[G.bin[leaf[cut]]])[:, None]
                top = top ** (lowest + np.arange(count))
                np.add.at(G.one, leaf[cut], part * top)
                np.add.at(G.two, leaf[cut], part * top**2)
            if last or not cut.any():
                break
            leaf, W, bary = np.repeat(leaf[cut], 2**self.d), children(W[cut]), children(bary[cut])
            self._count(len(leaf))
        G.two = np.sqrt(G.two)

    @property
    def slack(self) -> float:
        """Relative rounding of moments and means, and the rules' defects."""
        orders = 2 * self.inside.count - 1 + self.more, 2 * (self.rim.first + self.rim.count) - 1 + self.more
        defects = [rule(self.d, m)[2] for m in orders]
        return float(gamma(2000) + 4.0 * larger(defects))
