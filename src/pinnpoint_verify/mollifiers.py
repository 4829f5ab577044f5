"""Densities C t₊^k (x − x₀)_l/R, t = 1 − |x − x₀|²/R², on cells against stored quadratics (docs/checking.md, 8).

Points and averages have k = 1, derivatives the factor along an axis as well, balls without a kernel k = 0. On a simplex
with corners y_j = (v_j − x₀)/R the function t has the Bernstein coefficients 1 − y_j·y_k. Where none is negative the
density is Ct^k, where none is positive it is 0. Else the simplex is cut into children, and the last
ones along the zeros of the linear interpolant ℓ of t, 0 ≤ t − ℓ ≤ δ.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, means, up
from pinnpoint_verify.enclosures import PEAK, children, inverse_gram, pairs, rule
from pinnpoint_verify.reader import Array, larger, smaller

DEPTH, MOST, CHUNK = {1: 24, 2: 16, 3: 12}, 800_000, 20_000
"""Cuts of a cell at most, by dimension; parts of all cells that are cut once more; parts at a time."""


def clear(x0: Array, V: Array, R: float) -> bool:
    """Whether simplices (n, k, d) stay out of the open ball: by planes that lie between."""
    P, best = V - x0, np.full(len(V), -np.inf)  # checking.md, step 8a
    normals = np.zeros((len(V), V.shape[2]))
    for size in range(1, V.shape[1] + 1):
        for corners in combinations(range(V.shape[1]), size):
            a, E = P[:, corners[0]], P[:, corners[1:]] - P[:, corners[:1]]
            t = -np.linalg.pinv(E @ E.swapaxes(1, 2)) @ (E @ a[:, :, None]) if size > 1 else np.zeros((len(V), 0, 1))
            normal = a + np.einsum("nk,nkc->nc", t[:, :, 0], E)
            ahead = np.einsum("njc,nc->nj", P, normal).min(axis=1) / np.sqrt((normal**2).sum(axis=1) + 1e-300)
            better = ahead > best
            best, normals = np.where(better, ahead, best), np.where(better[:, None], normal, normals)
    blur = 1e-12 * (np.abs(V).max(initial=0.0) + np.abs(x0).max())
    exact = [Fraction(x) for x in x0.tolist()]
    for k in np.nonzero(~(best > R + blur))[0].tolist():  # in exact arithmetic
        n, own = [Fraction(x) for x in normals[k].tolist()], [[Fraction(x) for x in v] for v in V[k].tolist()]
        gap = smaller(sum((a * (x - y) for a, x, y in zip(n, v, exact, strict=True)), Fraction(0)) for v in own)
        if gap <= 0 or gap * gap < Fraction(R) ** 2 * sum(a * a for a in n):
            return False
    return True


class Sums:
    """Moments and squares of p − Q on cells, gathered from pieces on which p = C[full]t^k y_l."""

    def __init__(self, beta: Array, peak: float, power: int, axis: int | None) -> None:
        self.power, self.axis = power, axis
        self.beta, self.peak, self.height, (self.n, k) = beta, peak, abs(peak), beta.shape[:2]
        self.moments, self.parts = np.zeros((self.n, k, k)), np.zeros(self.n)
        self.square, self.first, self.second = np.zeros((3, self.n))
        (self.noise, self.noises, self.wide), self.off = np.zeros((3, self.n)), 0.0

    def add(self, y: Array, bary: Array, cell: Array, share: Array, full: Array) -> None:
        """Pieces with corners y, at `bary` of their cells, each a share of its cell."""
        k = bary.shape[1]
        if self.axis is not None or self.power != 1:
            return self._by_points(y, bary, cell, share, full)
        M = means(k - 1, 4).m.reshape(k * k, k * k)
        for a in range(0, len(cell), CHUNK):
            at = slice(a, a + CHUNK)
            L, own = np.ascontiguousarray(bary[at]), cell[at]
            D = (self.peak * full[at])[:, None, None] * (1.0 - np.einsum("njc,nkc->njk", y[at], y[at]))
            D = D - L @ self.beta[own] @ L.swapaxes(1, 2)
            local = (D.reshape(len(D), -1) @ M).reshape(D.shape)
            turned = share[at, None, None] * (L.swapaxes(1, 2) @ local @ L)
            for i, j in np.ndindex(k, k):
                self.moments[:, i, j] += np.bincount(own, turned[:, i, j], minlength=self.n)
            squares = share[at] * np.maximum(np.einsum("njk,njk->n", D, local), 0.0)
            self.square += np.bincount(own, squares, minlength=self.n)
            self.parts += np.bincount(own, minlength=self.n)
        return None

    def _by_points(self, y: Array, bary: Array, cell: Array, share: Array, full: Array) -> None:
        """The same by a rule that is exact for p of degree 3 but for its defect."""
        d = y.shape[2]
        B, w, off = rule(d, 4)
        for a in range(0, len(cell), CHUNK // 4):
            at = slice(a, a + CHUNK // 4)
            Y, L, own = np.einsum("qj,njc->nqc", B, y[at]), np.einsum("qj,njk->nqk", B, bary[at]), cell[at]
            p = (self.peak * full[at])[:, None] * (1.0 - (Y * Y).sum(axis=2)) ** self.power
            p = p if self.axis is None else p * Y[:, :, self.axis]
            gap = p - np.einsum("nqj,njk,nqk->nq", L, self.beta[own], L, optimize=True)
            for i, j in np.ndindex(d + 1, d + 1):
                moment = share[at] * ((gap * L[:, :, i] * L[:, :, j]) @ w)
                self.moments[:, i, j] += np.bincount(own, moment, minlength=self.n)
            self.square += np.bincount(own, share[at] * (gap * gap @ w), minlength=self.n)
            self.parts += np.bincount(own, minlength=self.n)
        self.off = larger(self.off, PEAK[d] * off)  # checking.md, step 8e

    def blurred(self, cell: Array, share: Array, off: Array) -> None:
        """Parts on which rounding moves p by at most C times `off`."""
        self.noise += np.bincount(cell, share * self.height * off, minlength=self.n)
        self.noises += np.bincount(cell, share * (self.height * off) ** 2, minlength=self.n)

    def cut(self, cell: Array, share: Array, delta: Array, dense: Array) -> None:
        """Parts along whose plane p is off by at most C|ℓ + δ/2| where that is below Cδ/2, for k = 0 by C."""
        np.maximum.at(self.wide, cell, delta)
        if self.power == 0:  # checking.md, step 8e
            off = share * np.fmin(dense * delta, 1.0)
            self.first += np.bincount(cell, self.height * off, minlength=self.n)
            self.second += np.bincount(cell, self.height**2 * off, minlength=self.n)
            return
        high = self.height * (1.0 if self.axis is None else 1.0 + delta)  # |y_l| there, checking.md, step 8e
        # checking.md, step 8c
        self.first += np.bincount(cell, share * high * dense * delta**2 / 4.0, minlength=self.n)
        self.second += np.bincount(cell, share * high**2 * dense * delta**3 / 12.0, minlength=self.n)

    def closer(self, d: int) -> Array:
        """What Q lacks of the projection of p (n, d + 1, d + 1), in floats."""
        found = np.stack([self.moments[:, j, k] for j, k in pairs(d)], axis=1) @ inverse_gram(d)
        gap = np.zeros_like(self.beta)
        for p, (j, k) in enumerate(pairs(d)):
            gap[:, j, k] += 0.5 * found[:, p]
            gap[:, k, j] += 0.5 * found[:, p]
        return gap

    def rest(self, d: int, noise: Array) -> Array:
        """High, e1 and e2 (n, 3): h = (1 − Π)(p − Q) and ε = Π(p − Q) + w − p."""
        G = inverse_gram(d)
        g = np.stack([self.moments[:, j, k] for j, k in pairs(d)], axis=1)
        size = np.sqrt(np.maximum(np.einsum("np,pq,nq->n", g, G, g), 0.0)) * (1.0 + 1e-9)
        top = self.height * (1.0 + self.wide) ** 2 + np.abs(self.beta).max(axis=(1, 2))  # p on its pieces, where t ≥ −δ
        each = gamma(1.0) * (self.parts + (60.0 if self.off == 0.0 else 300.0)) + self.off
        slip = math.sqrt(float(np.linalg.norm(G, 2)) * len(G)) * each * top
        noise, noises = noise + self.noise, noise + np.sqrt(self.noises)
        moved = size + slip + 2.0 * noises  # checking.md, step 8d
        high = np.sqrt(self.square * (1.0 + gamma(1.0) * (self.parts + 300.0)) + self.off * top**2) + noises + slip
        first, second = self.first + noise + moved, np.sqrt(self.second) + noises + moved
        return np.asarray(up(np.stack([high, first, second], axis=1) * (1.0 + 1e-9)))


def split(t: Array, y: Array, bary: Array, tag: Array, share: Array) -> tuple[Array, ...]:
    """Simplices cut at zeros of ℓ on their edges until none has corners of both signs; the last: where ℓ > 0."""
    while True:
        mixed = (t.max(axis=1) > 0.0) & (t.min(axis=1) < 0.0)
        if not mixed.any():
            return y, bary, tag, share, t.max(axis=1) > 0.0
        at, rows = np.nonzero(mixed)[0], np.arange(int(mixed.sum()))
        j, k = np.argmax(t[at], axis=1), np.argmin(t[at], axis=1)
        theta, new = t[at, j] / (t[at, j] - t[at, k]), []  # from j towards k
        for z in (y, bary, t[:, :, None]):
            one, two = z[at].copy(), z[at].copy()
            one[rows, k] = two[rows, j] = (1.0 - theta)[:, None] * z[at, j] + theta[:, None] * z[at, k]
            new.append(np.concatenate([z[~mixed], one, two]))
        (y, bary), t, n = new[:2], new[2][:, :, 0], len(at)
        first, last = slice(len(t) - 2 * n, len(t) - n), slice(len(t) - n, None)
        t[first][rows, k] = t[last][rows, j] = 0.0
        share = np.concatenate([share[~mixed], share[at] * theta, share[at] * (1.0 - theta)])
        tag = np.concatenate([tag[~mixed], tag[at], tag[at]])


def density_bounds(
    V: Array, beta: Array, x0: Array, R: float, peak: Ball, depth: int, power: int = 1, axis: int | None = None
) -> tuple[Array, Array]:
    """`high`, `e1`, `e2` (n, 3) of C t₊^k y_l against coefficients β (n, d + 1, d + 1) on cells V, C in `peak`.

    Then what would bring β closer.
    """
    d, C = V.shape[2], float(peak.m)
    corners, sums = (V - x0) / R, Sums(beta, C, power, axis)
    far = np.abs(corners).max(axis=(1, 2)) * math.sqrt(d)
    blur = 8.0 * UNIT * (np.abs(V).max(axis=(1, 2)) + np.abs(x0).max()) / R + 32.0 * UNIT * far  # of y
    bary = np.broadcast_to(np.eye(d + 1), (len(V), d + 1, d + 1))
    cell, share = np.arange(len(V)), np.ones(len(V))
    for level in range(depth + 1):
        y = bary @ corners[cell]
        T = 1.0 - np.einsum("njc,nkc->njk", y, y)
        reach = np.sqrt((y * y).sum(axis=2).max(axis=1))
        slack = 8.0 * (reach + blur[cell]) * blur[cell] + gamma(40) * (1.0 + reach**2)  # of t, checking.md, step 8b
        sure = slack if power == 0 else -slack  # of an indicator the sign must be certain
        full, empty = T.min(axis=(1, 2)) >= sure, T.max(axis=(1, 2)) <= -sure
        done, left = full | empty, ~(full | empty)
        sums.add(y[done], bary[done], cell[done], share[done], full[done] * 1.0)
        doubtful = done & (full | (T.max(axis=(1, 2)) > -4.0 * slack))
        shift = 4.0 * slack + (0.0 if axis is None else 2.0 * blur[cell] + 4.0 * slack * reach)
        if power:
            sums.blurred(cell[doubtful], share[doubtful], shift[doubtful])
        y, T, bary, cell, share, slack = y[left], T[left], bary[left], cell[left], share[left], slack[left]
        if level == depth or len(cell) * 2**d > MOST:
            break
        bary, cell, share = children(bary), np.repeat(cell, 2**d), np.repeat(share * 0.5**d, 2**d)
    if len(cell):
        edges = [((y[:, j] - y[:, k]) ** 2).sum(axis=1) for j, k in pairs(d) if j < k]
        delta, t = up(0.5 * d / (d + 1.0) * np.max(edges, axis=0) + 4.0 * slack), np.einsum("njj->nj", T)
        dense = d / np.maximum(np.ptp(t, axis=1) - 4.0 * slack, 1e-300)
        sums.cut(cell, share, delta, up(np.minimum(dense, 3.0 / delta)))
        if power:
            sums.blurred(cell, share, 8.0 * slack + (0.0 if axis is None else 4.0 * blur[cell]))
        t = t + 0.5 * delta[:, None]
        y, bary, tag, share, full = split(t, y, bary, np.arange(len(cell)), share)
        sums.add(y, bary, cell[tag], share, full * 1.0)
    noise = gamma(60) * np.abs(beta).max(axis=(1, 2)) + float(peak.r) * (1.0 + 1e-9)
    return sums.rest(d, noise), sums.closer(d)
