"""What data are on cells and facets, from the case's formula alone (docs/checking.md, sections 2 to 5).

On a simplex K the estimates use f = Q + h + ε, Q a stored quadratic, h ⟂ quadratics with rms h ≤ high, mean|ε| ≤ e1,
rms ε ≤ e2. Any Q will do: high, e1 and e2 are computed here, and what was stored of them is not used. No polynomial of
f is formed: a rule's values, and E_n ≥ dist(f, P_n) from Cauchy's estimate on polydiscs. Cells that fail are cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import special

from pinnpoint_verify.checker import UNIT, Ball, gamma, means, up
from pinnpoint_verify.discs import Composed, Ranges, Walk
from pinnpoint_verify.reader import Array, larger, smaller

RADII = (1.0, 1.4, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 16.0, 25.0, 40.0, 1e3, 1e5, 1e8)
"""Of polydiscs, as multiples of a cell's own; on the first a formula may have kinks, the last show polynomials."""
LINES = {0: (1,), 1: (3, 6, 12), 2: (3, 5, 8, 11), 3: (3, 5, 7, 9, 12)}
"""Points of rules along each axis, by dimension; the next is tried where one is not enough."""
PEAK = {0: 1.0, 1: 3.0, 2: 6.0, 3: 10.0}
"""The largest value of a quadratic with rms 1 on a simplex, by dimension."""
DEPTH, MOST, POINTS = 10, 20_000_000, 300_000
"""Cuts of a cell, points of parts in all, and at a time."""
FAR = 2e-4
"""The share of a mean square that its error may have: half of it in the rms, where writers keep ten times as much."""
CLOSER = 1e-5
"""Of a reaction's g(u_h), where they keep less."""
KINKS = {0: 0, 1: 8, 2: 6, 3: 3}
"""Cuts of parts in which a formula has a kink, by dimension."""
LEAST = 600_000
"""Points of parts that few cells may have in all; many may be cut as a whole besides."""

Bend = Callable[[Array, Array], Ball]
"""What is added to a formula's values, of cells (n,) at barycentric coordinates (n, q, m + 1)."""


@cache
def line(m: int, k: int) -> tuple[Array, Array, float]:
    """Points, weights on [0, 1] for the weight k x^{k−1}, and their defect on p of degree ≤ 2m − 1 with |p| ≤ 1.

    In exact arithmetic at the points as they are: p = Σ a_j T_j(2x − 1) has |a_j| ≤ 2.
    """
    x, w = special.roots_jacobi(m, 0, k - 1)
    x, w = 0.5 * (1.0 + x), w / w.sum()
    X, W = [2 * Fraction(a) - 1 for a in x.tolist()], [Fraction(a) for a in w.tolist()]
    values = [[Fraction(1)] * m, X]
    powers: list[list[Any]] = [[1], [-1, 2]]  # T_j(2x − 1) in powers of x
    while len(powers) < 2 * m:
        values.append([2 * a * b - c for a, b, c in zip(X, values[-1], values[-2], strict=True)])
        last, own, before = [0, *powers[-1]], [*powers[-1], 0], [*powers[-2], 0, 0]
        powers.append([4 * a - 2 * b - c for a, b, c in zip(last, own, before, strict=True)])
    off = Fraction(0)  # checking.md, step 3a
    for one, power in zip(values, powers, strict=True):
        exact = sum((Fraction(k, i + k) * c for i, c in enumerate(power)), Fraction(0))
        off += 2 * abs(sum(a * b for a, b in zip(W, one, strict=True)) - exact)
    return x, w, float(off) * 1.01


@cache
def rule(d: int, m: int) -> tuple[Array, Array, float]:
    """Points (q, d + 1), positive weights and defect on a d-simplex, exact to degree 2m − 1 but for that defect."""
    bary: Array = np.ones((1, 1))
    weights: Array = np.ones(1)
    off = 0.0
    for k in range(1, d + 1):
        x, w, own = line(m, k)
        bary = np.concatenate([np.repeat(1.0 - x, len(bary))[:, None], np.kron(x[:, None], bary)], axis=1)[:, ::-1]
        weights, off = np.kron(w, weights), off + 1.01 * own
    return bary, weights, off + 16.0 * d * UNIT


@cache
def pairs(d: int) -> list[tuple[int, int]]:
    """Of coordinates, j ≤ k."""
    return list(combinations_with_replacement(range(d + 1), 2))


@cache
def gram(d: int) -> Array:
    """Means of products of λ_j λ_k and λ_l λ_m over a simplex."""
    M = means(d, 4).m
    return np.array([[M[(*a, *b)] for b in pairs(d)] for a in pairs(d)])


@cache
def inverse_gram(d: int) -> Array:
    """Of the products λ_j λ_k in the mean over a simplex; its condition is below 10⁴."""
    return np.linalg.inv(gram(d))


def projection(text: Any, V: Array) -> Array:
    """Coefficients (n, m + 1, m + 1) of about the nearest quadratic on simplices, by a rule."""
    d = V.shape[1] - 1
    B, w, _ = rule(d, LINES[d][-1])
    f = Walk(text, [Ball(x) for x in np.moveaxis(np.einsum("qi,nic->nqc", B, V), 2, 0)]).value.m
    flat = np.stack([(f * B[:, j] * B[:, k]) @ w for j, k in pairs(d)], axis=1) @ inverse_gram(d)
    beta = np.zeros((len(V), d + 1, d + 1))
    for p, (j, k) in enumerate(pairs(d)):
        beta[:, j, k] += 0.5 * flat[:, p]
        beta[:, k, j] += 0.5 * flat[:, p]
    return beta


class Discs:
    """A formula on polydiscs about simplices V (n, m + 1, d): how far it is from polynomials."""

    def __init__(self, text: Any, V: Array) -> None:
        c = V.mean(axis=1)
        rho = up(np.abs(V - c[:, None]).max(axis=1) + 32.0 * UNIT * np.abs(V).max(axis=1))
        self.spread, alive = np.full((len(RADII), len(V)), np.inf), np.arange(len(V))
        for k, R in enumerate(RADII):
            if k:
                found = Walk(text, [Ball(a, up(R * b)) for a, b in zip(c[alive].T, rho[alive].T, strict=True)])
            else:  # real points in the box of the simplex
                low, high = V.min(axis=1).T, V.max(axis=1).T
                found = Ranges(text, [Ball(0.5 * (a + b), up(0.5 * (b - a))) for a, b in zip(low, high, strict=True)])
            self.spread[k, alive] = np.where(found.rough & (k > 0), np.inf, found.value.r)
            if k == 0:
                self.rough, self.top = found.rough, found.value.top  # |f| on K
            alive = alive[np.isfinite(found.value.r) & ~found.rough]
            if not alive.size:
                break

    def distance(self, n: int) -> Array:
        """E_n ≥ dist(f, P_n) in the maximum norm: M R^{-n}/(R − 1), or M at R = 1, as a constant is a polynomial."""
        R = np.array(RADII[1:])[:, None]  # checking.md, step 2a
        far = self.spread[1:] * (R ** -larger(n, 0) / (R - 1.0))
        return np.asarray(up(np.minimum(self.spread[0], far.min(axis=0))))

    def square(self, beta: Array, sup: Array, n: int) -> Array:
        """The same for (f − Q)²: along rays from the centroid Q moves by at most (7R + 6R²) times what it does on K."""
        moved = np.abs(beta - beta.mean(axis=(1, 2))[:, None, None]).max(axis=(1, 2)) * 2.0
        R = np.array(RADII[1:])[:, None]
        A = sup + self.spread[1:] + (7.0 * R + 6.0 * R * R) * moved  # checking.md, step 2b
        return np.asarray(up(np.minimum((A * A * (R**-n / (R - 1.0))).min(axis=0), sup * sup)))

    def some(self, at: Array) -> Discs:
        """Of some of the simplices."""
        own = object.__new__(Discs)
        own.spread, own.rough, own.top = self.spread[:, at], self.rough[at], self.top[at]
        return own


CUBIC = 1.07
"""Of the basis functions of cubic interpolation at thirds: none is larger."""


@cache
def cuts(m: int) -> list[list[tuple[int, int]]]:
    """The corners of 2^m parts of a simplex, each the middle of two of its own."""
    corner = [[(smaller(i, j), larger(i, j)) for j in range(m + 1)] for i in range(m + 1)]
    inner: list[Any] = {2: [[(0, 1), (1, 2), (0, 2)]]}.get(m, [])
    if m == 3:
        around = ((0, 1), (0, 3), (2, 3), (1, 2))
        inner = [[(0, 2), (1, 3), around[i], around[(i + 1) % 4]] for i in range(4)]
    return corner + inner if m else corner


def children(V: Array) -> Array:
    """2^m simplices of equal size (n 2^m, m + 1, d), by midpoints of edges."""
    m = V.shape[1] - 1
    middle = {(j, k): 0.5 * (V[:, j] + V[:, k]) for j, k in pairs(m)}
    parts = [np.stack([middle[p] for p in one], axis=1) for one in cuts(m)]
    return np.stack(parts, axis=1).reshape(-1, *V.shape[1:])


def peaks(text: Any, V: Array, bary: Array, b: Array, discs: Discs) -> Array:
    """Upper bounds of |f − Σ b_jk λ_j λ_k| on parts V of cells.

    A quadratic within E of f has values within E of f's at vertices and midpoints, so Bernstein coefficients within 3E.
    """
    d = V.shape[1] - 1
    nodes = np.array([0.5 * (np.eye(d + 1)[j] + np.eye(d + 1)[k]) for j, k in pairs(d)])
    f, L = values(text, V, bary, nodes)
    gap = f.m - _quadratic(b, L)
    ends = [[pairs(d).index((j, j)), pairs(d).index((k, k))] for j, k in pairs(d)]
    bern = np.abs(2.0 * gap - 0.5 * gap[:, ends].sum(axis=2)).max(axis=1)
    return np.asarray(up(bern + 3.0 * noise(f, b) + 4.0 * discs.distance(2)))  # checking.md, step 5a


def _bent_peaks(data: tuple[Any, Array, Array, Array, Any], discs: Discs) -> Array:
    """Upper bounds of |f + cubic − Q| on parts, from values at thirds of edges and faces."""
    text, V, bary, beta, bend = data
    d = V.shape[1] - 1
    thirds = np.array([a for a in np.ndindex(*(4,) * (d + 1)) if sum(a) == 3]) / 3.0
    f, L = values(text, V, bary, thirds)
    f = f + bend(L.swapaxes(1, 2))
    E = discs.distance(3)
    top = np.abs(f.m - _quadratic(beta, L)).max(axis=1) + noise(f, beta) + E
    return np.asarray(up(CUBIC * len(thirds) * top + E))  # checking.md, step 5b


def values(text: Any, V: Array, bary: Array, B: Array) -> tuple[Ball, Array]:
    """A formula at points B of parts V, and there the coordinates of the cells (n, m + 1, q)."""
    X = np.tensordot(V, B, (1, 1))
    blur = 16.0 * (V.shape[1] + 1) * UNIT * np.abs(V).max(axis=(1, 2))[:, None]
    balls = [Ball(X[:, i], blur) for i in range(X.shape[1])]
    value = Walk(text, balls).value
    value = value if np.all(np.isfinite(value.r)) else Ranges(text, balls).value
    return value, np.tensordot(bary, B, (1, 1))


def _quadratic(b: Array, L: Array) -> Array:
    """Σ b_jk λ_j λ_k at coordinates (n, m + 1, q)."""
    terms = (((1.0 + (j != k)) * b[:, j, k])[:, None] * L[:, j] * L[:, k] for j, k in pairs(b.shape[1] - 1))
    return np.asarray(sum(terms))


def noise(f: Ball, b: Array) -> Array:
    """What rounding does to values of f − Q."""
    return np.asarray(up(f.r.max(axis=1) + gamma(40) * (np.abs(b).max(axis=(1, 2)) + np.abs(f.m).max(axis=1))))


class Part:
    """F − Q on parts of cells by a rule: moments against products of the cells' coordinates, errors, mean squares."""

    def __init__(self, data: tuple[Any, Array, Array, Array, Any], discs: Discs, sup: Array, m: int) -> None:
        text, V, bary, beta, bend = data
        d = V.shape[1] - 1
        B, w, off = rule(d, m)
        f, L = values(text, V, bary, B)
        if bend is not None:
            more = bend(L.swapaxes(1, 2))
            f, sup = f + more, np.minimum(up(sup + more.top.max(axis=1)), _bent_peaks(data, discs))
        gap, lost, E = f.m - _quadratic(beta, L), noise(f, beta), discs.distance(2 * m - 3)
        self.moments = np.stack([(gap * L[:, j] * L[:, k]) @ w for j, k in pairs(d)], axis=1)
        self.slip = up(gamma(len(w) + 12) * np.abs(gap).max(axis=1))  # of the sums
        self.E = up(E + lost + 0.5 * PEAK[d] * off * (sup + E))  # checking.md, step 3b
        square = (gap * gap) @ w * (1.0 + gamma(len(w) + 6))
        if bend is None:
            self.far = up(2.0 * discs.square(beta, sup, 2 * m - 1) + off * sup * sup)
        else:  # by the triangle inequality, with a polynomial whose square the rule integrates
            second = discs.distance(m - 1)
            self.far = up(4.0 * second * (np.sqrt(square) + lost + second) + off * (sup + second) ** 2)
        self.square = up((np.sqrt(square) + lost) ** 2 + self.far)  # checking.md, step 4b


class Sums:
    """Moments of f − Q on cells, and squares of errors, gathered from their parts."""

    def __init__(self, count: int, d: int) -> None:
        self.moments = np.zeros((count, len(pairs(d))))
        self.error, self.squares, self.slip, self.first = np.zeros((4, count))

    def add(self, at: Array, share: float, part: Part, keep: Array) -> None:
        """Parts of cells, each a share of its cell."""
        np.add.at(self.moments, at, share * part.moments[keep])
        sums = ((self.error, part.E**2), (self.squares, part.square), (self.slip, part.slip), (self.first, part.E))
        for out, x in sums:
            np.add.at(out, at, share * x[keep])

    def rest(self, d: int) -> Array:
        """High, e1 and e2 (n, 3): h = (1 − Π)(f − Q) and ε = Π(f − Q)."""
        G = inverse_gram(d)
        size = np.sqrt(np.maximum(np.einsum("np,pq,nq->n", self.moments, G, self.moments), 0.0))
        # checking.md, step 3c
        lost = math.sqrt(float(np.linalg.norm(G, 2)) * len(G)) * (
            self.slip + gamma(40) * np.abs(self.moments).max(axis=1)
        )
        # checking.md, step 4a
        off = np.minimum(np.sqrt(self.error), PEAK[d] * self.first)  # checking.md, step 3b
        e = up((size + lost + 2.0 * off) * (1.0 + 1e-9))
        return np.stack([up(np.sqrt(self.squares) * (1.0 + 1e-9)), e, e], axis=1)


@np.errstate(all="ignore")
def enclosed(
    text: Any, V: Array, beta: Array, close: float = 1e-13, degree: int = 0, bend: Bend | None = None
) -> tuple[Array, Array]:
    """Bounds `high`, `e1`, `e2` (n, 3) for the formula plus `bend`, of a degree, on simplices V; where it has kinks.

    The coefficients β (n, m + 1, m + 1) are given and need not be good; `close` only says when errors are small enough.
    """
    d, N = V.shape[1] - 1, len(V)
    rough, sums = np.zeros(N, dtype=bool), Sums(N, d)
    size, made = float(np.abs(beta).max(initial=0.0)), 0
    orders = [m for m in LINES[d] if m > degree] or [degree + 1]
    share = CLOSER if isinstance(text, Composed) else FAR
    most = smaller(MOST, LEAST + 8 * N * orders[0] ** d)
    cell, W, bary = np.arange(N), V, np.broadcast_to(np.eye(d + 1), (N, d + 1, d + 1))
    for level in range(DEPTH + 1):
        cut = d > 0 and level < DEPTH and size > 0.0 and made <= most
        again, step = [np.zeros(0, dtype=int)], larger(1, POINTS // larger(orders) ** d)
        for a in range(0, len(cell), step):
            at, discs = cell[a : a + step], Discs(text, W[a : a + step])
            left, bent = np.arange(len(at)), discs.rough & (level >= KINKS[d])
            sup = peaks(text, W[a : a + step], bary[a : a + step], beta[at], discs)
            if not cut:  # where more points would not help
                bent |= ~(discs.distance(2 * orders[-1] - 3) <= 0.1 * discs.distance(2 * orders[0] - 3))
            for m in orders:
                last = m == orders[-1] and not cut
                now = left[(discs.distance(2 * m - 3) <= close * size)[left] | bent[left] | last]
                if len(now):
                    more = None if bend is None else partial(bend, at[now])
                    part = Part((text, W[a + now], bary[a + now], beta[at[now]], more), discs.some(now), sup[now], m)
                    good = (part.far <= share * part.square) | (part.far <= (close * size) ** 2) | bent[now]
                    good = np.nonzero(good | last)[0]
                    sums.add(at[now[good]], 0.5 ** (d * level), part, good)
                    rough[at[now[good]]] |= ~np.isfinite(discs.spread[1, now[good]])
                    left = np.setdiff1d(left, now[good])
            again.append(left + a)
        kept = np.concatenate(again)
        if not kept.size:
            break
        cell, W, bary = np.repeat(cell[kept], 2**d), children(W[kept]), children(bary[kept])
        made += len(cell) * orders[0] ** d
    rest = sums.rest(d)
    return np.where(np.isnan(rest), np.inf, rest), rough


@np.errstate(all="ignore")
def largest(text: Any, V: Array, b: Array, most: Any) -> float:
    """Upper bound of |f − Σ b_jk λ_j λ_k| on simplices V: cut until it is at most `most`, while that is cheap.

    Of several bounds `most` (n,) the result is a multiple of them: at most 1 where each is kept.
    """
    limit = np.broadcast_to(np.asarray(most, dtype=float), len(V))
    found = _cut(text, V, b, limit) / (limit if np.ndim(most) else 1.0)
    return float(larger(found.tolist(), default=0.0))


@np.errstate(all="ignore")
def tops(text: Any, V: Array, b: Array, close: float) -> Array:
    """Upper bounds of |f − Σ b_jk λ_j λ_k| on simplices: `close` times a value that is taken, while that is cheap."""
    d = V.shape[1] - 1
    whole = np.broadcast_to(np.eye(d + 1), (len(V), d + 1, d + 1))
    B = np.array([a for a in np.ndindex(*(5,) * (d + 1)) if sum(a) == 4]) / 4.0
    f, L = values(text, V, whole, B)
    return _cut(text, V, b, close * np.abs(f.m - _quadratic(b, L)).max(axis=1))


def _cut(text: Any, V: Array, b: Array, limit: Array) -> Array:
    """Upper bounds on each simplex, cut where they are above the limit; what is no number is infinite."""
    d, found = V.shape[1] - 1, np.zeros(len(V))
    cell, W, bary = np.arange(len(V)), V, np.broadcast_to(np.eye(d + 1), (len(V), d + 1, d + 1))
    for level in range(2 * DEPTH + 1):
        discs = Discs(text, W)
        bound = peaks(text, W, bary, b[cell], discs)
        bound = np.where(np.isnan(bound), np.inf, bound)
        if not np.any(b):
            bound = np.minimum(bound, discs.top)  # of values on the box of the part
        wide = bound > limit[cell]
        last = d == 0 or level == 2 * DEPTH or wide.sum() * 4**d > MOST // 100
        np.maximum.at(found, cell[~wide | last], bound[~wide | last])
        if last or not wide.any():
            break
        cell, W, bary = np.repeat(cell[wide], 2**d), children(W[wide]), children(bary[wide])
    return found
