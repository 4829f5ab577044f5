"""Densities C t₊^k (x − x₀)_l/R, t = 1 − |x − x₀|²/R², on cells against stored quadratics (docs/checking.md, 8).

Points and averages have k = 1, derivatives the factor along an axis as well, balls without a kernel k = 0. On a simplex
with corners y_j = (v_j − x₀)/R the function t has the Bernstein coefficients 1 − y_j·y_k. Where none is negative the
density is Ct^k, where none is positive it is 0. Else the simplex is cut into children, and the last
ones along the zeros of ℓ + δ/2, ℓ the linear interpolant of t, 0 ≤ t − ℓ ≤ δ. Arrays have simplices along their last
axis: X[j, :, i] are the coordinates of corner j of simplex i in its cell, and then y.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, means, up
from pinnpoint_verify.enclosures import PEAK, cuts, gram, inverse_gram, pairs, rule
from pinnpoint_verify.reader import Array, larger, smaller

DEPTH, MOST, CHUNK = {1: 24, 2: 16, 3: 12}, 800_000, 8_000
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
    """Moments and squares of p − Q₀ on cells: Q₀ = C[inner]t^k, and p − Q₀ = ±Ct^k y_l on pieces of the other side."""

    def __init__(self, cells: int, peak: float, inner: Array, form: tuple[int, int, int | None]) -> None:
        self.d, self.power, self.axis = form
        self.n, self.peak, self.height, self.inner = cells, peak, abs(peak), inner
        self.moments = np.zeros((len(pairs(self.d)), cells))
        self.square, self.first, self.second, self.parts, self.weight = np.zeros((5, cells))
        (self.noise, self.noises, self.wide), self.off = np.zeros((3, cells)), 0.0

    def add(self, X: Array, cell: Array, share: Array) -> None:
        """Pieces whose corners have coordinates X[j, :, i] in cells and y, each a share of its cell, or less it."""
        for a in range(0, len(cell), CHUNK):
            at = slice(a, a + CHUNK)
            own, part = cell[at], share[at]
            by_points = self.axis is not None or self.power != 1
            found, squares = (self._by_points if by_points else self._exactly)(X[:, :, at])
            for total, one in zip(self.moments, found, strict=True):
                total += np.bincount(own, np.where(self.inner[own], -self.peak, self.peak) * part * one, self.n)
            self.square += np.bincount(own, self.height**2 * part * squares, self.n)
            self.parts += np.bincount(own, minlength=self.n)
            self.weight += np.bincount(own, np.abs(part), self.n)

    def _exactly(self, X: Array) -> tuple[list[Array], Array]:
        """Means of tλ_jλ_k and of t², from Bernstein coefficients on the pieces."""
        k = self.d + 1
        L, T = X[:, :k], bernstein(X[:, k:])
        local = products(self.d) @ T
        half = [[sum(local[place(a, b, self.d)] * L[b, j] for b in range(k)) for j in range(k)] for a in range(k)]
        found = [np.asarray(sum(L[a, i] * half[a][j] for a in range(k))) for i, j in pairs(self.d)]
        return found, sum((1.0 + (j != i)) * T[p] * local[p] for p, (i, j) in enumerate(pairs(self.d)))

    def _by_points(self, X: Array) -> tuple[list[Array], Array]:
        """The same of t^k y_l by a rule that is exact for degree 6 but for its defect."""
        k = self.d + 1
        B, w, off = rule(self.d, 4)
        self.off = larger(self.off, PEAK[self.d] * off)  # checking.md, step 8e
        found, squares = [np.zeros(X.shape[2]) for _ in pairs(self.d)], np.zeros(X.shape[2])
        for b, weight in zip(B, w, strict=True):
            at = np.einsum("j,jrn->rn", b, X)
            p = (1.0 - (at[k:] ** 2).sum(axis=0)) ** self.power * (1.0 if self.axis is None else at[k + self.axis])
            for total, (i, j) in zip(found, pairs(self.d), strict=True):
                total += weight * p * at[i] * at[j]
            squares += weight * p * p
        return found, squares

    def blurred(self, cell: Array, share: float, off: Array) -> None:
        """Parts on which rounding moves p by at most C times `off`."""
        self.noise += np.bincount(cell, share * self.height * off, self.n)
        self.noises += np.bincount(cell, share * (self.height * off) ** 2, self.n)

    def cut(self, cell: Array, share: float, delta: Array, strip: Array, dense: Array) -> tuple[Array, Array]:
        """What cells add to `first` and `second` if their parts are cut along planes, near which p is off."""
        if self.power == 0:  # by C in a strip, checking.md, step 8e
            off = share * np.fmin(dense * delta, 1.0)
            return np.bincount(cell, self.height * off, self.n), np.bincount(cell, self.height**2 * off, self.n)
        high = self.height * (1.0 if self.axis is None else 1.0 + delta)  # |y_l| there, checking.md, step 8e
        first, second = share * high * strip, share * high**2 * strip * 0.5 * delta  # checking.md, step 8c
        return np.bincount(cell, first, self.n), np.bincount(cell, second, self.n)

    def bounds(self, start: Array, noise: float) -> tuple[Array, Array]:
        """Coefficients Q (n, d + 1, d + 1), and there high, e1, e2 (n, 3): h = (1 − Π)(p − Q), ε = Π(p − Q) + w − p."""
        d, inverse, G, g = self.d, inverse_gram(self.d), gram(self.d), self.moments.T
        c = g @ inverse  # checking.md, step 8d
        beta = start.copy()
        for p, (j, k) in enumerate(pairs(d)):
            beta[:, j, k] += 0.5 * c[:, p]
            beta[:, k, j] += 0.5 * c[:, p]
        top = self.height * np.maximum(1.0, np.abs(start).max(axis=(1, 2)) / self.height) * (1.0 + self.wide) ** 2
        each = (gamma(1.0) * (4.0 * self.parts + (240.0 if self.off == 0.0 else 1200.0)) + 2.0 * self.off) * self.weight
        left, sizes, most = g - c @ G, np.abs(c).sum(axis=1), np.abs(c).max(axis=1)
        size = np.sqrt(np.maximum(np.einsum("np,pq,nq->n", left, inverse, left), 0.0)) * (1.0 + 1e-9)
        slip = math.sqrt(float(np.linalg.norm(inverse, 2)) * len(G)) * (each * top + gamma(100) * most)
        rounding = noise + gamma(60) * np.abs(beta).max(axis=(1, 2))
        noises = rounding + np.sqrt(self.noises)
        moved = size + slip + 2.0 * noises
        square = self.square - 2.0 * np.einsum("np,np->n", c, g) + np.einsum("np,pq,nq->n", c, G, c)
        lost = each * top * (top + 2.0 * sizes) + gamma(400) * (self.square + sizes * (np.abs(g).max(axis=1) + sizes))
        high = np.sqrt(np.maximum(square, 0.0) + lost) + noises + slip
        first, second = self.first + rounding + self.noise + moved, np.sqrt(self.second) + noises + moved
        return beta, np.asarray(up(np.stack([high, first, second], axis=1) * (1.0 + 1e-9)))


@cache
def products(d: int) -> Array:
    """Means of λ_jλ_k Σ T_lm λ_lλ_m over a simplex as a matrix that acts on the T of l ≤ m."""
    M = means(d, 4).m
    return np.array([[(1.0 + (b[0] != b[1])) * M[(*a, *b)] for b in pairs(d)] for a in pairs(d)])


def bernstein(y: Array) -> Array:
    """Coefficients 1 − y_j·y_k of t, j ≤ k, of simplices with corners y[j, :, i]."""
    return np.stack([1.0 - sum(a * b for a, b in zip(y[j], y[k], strict=True)) for j, k in pairs(len(y) - 1)])


def place(j: int, k: int, d: int) -> int:
    """Of a pair among those with j ≤ k."""
    return pairs(d).index((smaller(j, k), larger(j, k)))


def above(t: Array) -> Array:
    """The mean of max(ℓ, 0) over simplices, from values t[0] ≥ t[1] ≥ … of a linear ℓ at the corners."""
    d, count, mean = len(t) - 1, (t > 0.0).sum(axis=0), t.mean(axis=0)

    def corner(s: Array) -> Array:  # the mean where only the first corner is above
        shares = [s[0] / np.where(s[0] > s[j], s[0] - s[j], 1.0) for j in range(1, d + 1)]
        return np.asarray(math.prod(shares) * s[0] / (d + 1.0))

    found = np.where(count > d, mean, np.where(count == 0, 0.0, corner(t)))
    if d > 1:
        found = np.where(count == d, mean + corner(-t[::-1]), found)
    if d == 3:
        two = np.where(count == 2, t, np.array([2.0, 1.0, -1.0, -2.0])[:, None])
        a, b = two[:2]
        ac, ad, bc, bd = (x / (x - z) for x in (a, b) for z in two[2:])
        parts = bc * bd * (a + b) + ac * ad * (1.0 - bd) * a + ac * bd * (1.0 - bc) * a
        found = np.where(count == 2, 0.25 * parts, found)
    return found


def pieces(t: Array, X: Array) -> Any:
    """Where ℓ > 0 in simplices with corners X[j, :, i] and values t[j, i]: corners, which, and shares, or less them."""
    d, order = len(t) - 1, np.argsort(-t, axis=0, kind="stable")
    t, X = np.take_along_axis(t, order, axis=0), np.take_along_axis(X, order[:, None], axis=0)
    count = (t > 0.0).sum(axis=0)

    def part(j: int, k: int, at: Array) -> Array:
        """The share of the edge from j towards k where the sign is that of j."""
        return np.asarray(t[j, at] / (t[j, at] - t[k, at]))

    def zero(j: int, k: int, at: Array) -> Array:
        theta = part(j, k, at)
        return np.asarray((1.0 - theta) * X[j][:, at] + theta * X[k][:, at])

    def corner(j: int, at: Array) -> tuple[Array, Array]:
        others = [k for k in range(d + 1) if k != j]
        return np.stack([X[j][:, at], *(zero(j, k, at) for k in others)]), math.prod(part(j, k, at) for k in others)

    whole = np.nonzero((count > d) | ((count == d) & (d > 1)))[0]
    yield X[:, :, whole], whole, np.ones(len(whole))
    one = np.nonzero(count == 1)[0]
    made, share = corner(0, one)
    yield made, one, share
    if d > 1:
        last = np.nonzero(count == d)[0]
        made, share = corner(d, last)
        yield made, last, -share
    if d == 3:  # a wedge, in three
        at = np.nonzero(count == 2)[0]
        A, B = [X[0][:, at], zero(0, 2, at), zero(0, 3, at)], [X[1][:, at], zero(1, 2, at), zero(1, 3, at)]
        ac, ad, bc, bd = (part(j, k, at) for j in (0, 1) for k in (2, 3))
        yield np.stack([A[0], *B]), at, bc * bd
        yield np.stack([*A, B[2]]), at, ac * ad * (1.0 - bd)
        yield np.stack([A[0], A[1], B[1], B[2]]), at, ac * bd * (1.0 - bc)


def bulge(T: Array, d: int) -> Array:
    """Σ λ_jλ_k|y_j − y_k|² = Σ λ_j|y_j − c|² − |y − c|² is at most max|y_j − c|², for any c: the best of some."""
    far = {(j, k): 2.0 * T[place(j, k, d)] - T[place(j, j, d)] - T[place(k, k, d)] for j, k in np.ndindex(d + 1, d + 1)}
    every = sum(far[j, k] for j, k in pairs(d)) / (d + 1.0) ** 2
    best = np.max([sum(far[j, k] for k in range(d + 1)) / (d + 1.0) - every for j in range(d + 1)], axis=0)
    for a, b in combinations(range(d + 1), 2):  # the middle of an edge
        best = np.minimum(
            best, np.max([0.5 * (far[j, a] + far[j, b]) for j in range(d + 1)], axis=0) - 0.25 * far[a, b]
        )
    return np.asarray(best)


def density_bounds(
    V: Array, x0: Array, R: float, peak: Ball, depth: int, power: int = 1, axis: int | None = None, enough: Any = None
) -> tuple[Array, Array]:
    """Coefficients β (n, d + 1, d + 1) close to C t₊^k y_l on cells V, C in `peak`, and `high`, `e1`, `e2` (n, 3).

    Cells are cut `depth` times at most, until `enough` says so of mean errors and mean square errors on cells.
    """
    d, C, n = V.shape[2], float(peak.m), len(V)
    corners = np.moveaxis((V - x0) / R, 0, 2)
    far = np.abs(corners).max(axis=(0, 1)) * math.sqrt(d)
    inner = (1.0 - (corners.mean(axis=0) ** 2).sum(axis=0) > 0.0) & (axis is None)
    sums = Sums(n, C, inner, (d, power, axis))
    start = (
        C * inner[:, None, None] * (1.0 - np.einsum("jcn,kcn->njk", corners, corners) if power else np.ones((1, 1, 1)))
    )
    start = np.broadcast_to(start, (n, d + 1, d + 1))
    X = np.concatenate([np.broadcast_to(np.eye(d + 1)[:, :, None], (d + 1, d + 1, n)), corners], axis=1)
    cell, share = np.arange(n), 1.0
    for level in range(depth + 1):
        T = bernstein(X[:, d + 1 :])
        low, high, t = T.min(axis=0), T.max(axis=0), T[[place(j, j, d) for j in range(d + 1)]]
        reach = np.sqrt(1.0 - np.minimum(t.min(axis=0), 1.0))
        blur = (12.0 + level) * UNIT * far[cell]  # of y, and of t, checking.md, step 8b
        slack = 8.0 * (reach + blur) * blur + gamma(8) * (1.0 + reach**2)
        sure = slack if power == 0 else -slack  # of an indicator the sign must be certain
        full, empty = low >= sure, high <= -sure
        done = full | empty
        whole = done & (full != inner[cell])
        sums.add(X[:, :, whole], cell[whole], np.full(int(whole.sum()), share))
        doubtful = done & (full | (high > -4.0 * slack))
        shift = np.where(low >= slack, 1.0, 4.0) * slack
        shift = shift if axis is None else shift + 2.0 * blur + 4.0 * slack * reach
        if power:
            sums.blurred(cell[doubtful], share, shift[doubtful])
        X, T, t, cell, slack, blur = X[:, :, ~done], T[:, ~done], t[:, ~done], cell[~done], slack[~done], blur[~done]
        delta = up(np.maximum(bulge(T, d), 0.0) + 8.0 * slack)
        t = t + 0.5 * delta
        strip, dense = _strip(t, delta, slack)
        first, second = sums.cut(cell, share, delta, strip, dense)
        stop = level == depth or len(cell) * 2**d > MOST
        if stop or (enough is not None and enough(sums.first + first, sums.second + second)):
            break
        X, cell, share = halves(X), np.tile(cell, 2**d), share * 0.5**d
    if len(cell):
        sums.first, sums.second = sums.first + first, sums.second + second
        np.maximum.at(sums.wide, cell, delta)
        if power:
            sums.blurred(cell, share, 8.0 * slack + (0.0 if axis is None else 4.0 * blur))
        for made, at, part in pieces(np.where(inner[cell], -t, t), X):
            sums.add(made, cell[at], share * part)
    return sums.bounds(start, float(peak.r) * (1.0 + 1e-9))


def _strip(t: Array, delta: Array, slack: Array) -> tuple[Array, Array]:
    """The mean of max(δ/2 − |ℓ|, 0), ℓ with values t at corners, and a bound of the density of ℓ."""
    d = len(t) - 1
    dense = up(np.minimum(d / np.maximum(np.ptp(t, axis=0) - 4.0 * slack, 1e-300), 3.0 / delta))
    t = -np.sort(-t, axis=0)
    found = above(t + 0.5 * delta) - 2.0 * above(t) + above(t - 0.5 * delta)  # checking.md, step 8c
    exact = np.maximum(found, 0.0) + gamma(400) * (np.abs(t).max(axis=0) + delta)
    return np.asarray(up(np.minimum(exact, np.minimum(dense * delta * 0.25, 0.5) * delta))), dense


def halves(X: Array) -> Array:
    """2^d simplices of equal size from corners X[j, :, i], one child of each after the other."""
    return np.concatenate([np.stack([0.5 * (X[j] + X[k]) for j, k in one]) for one in cuts(len(X) - 1)], axis=2)
