"""Models of coefficients that vary inside cells, against the case's formulas (docs/checking.md, section 10).

A bundle has on each cell a polynomial p, by Bernstein coefficients, and says |formula − p| ≤ ε. The polynomials stay;
ε is computed here, for A, b, c and c − ∇·b alike, and what was stored of it is not used.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from pinnpoint_verify.calculus import Kink, derivative, minus, plus
from pinnpoint_verify.checker import Ball, Mesh, gamma, up
from pinnpoint_verify.enclosures import Discs, children, noise, values
from pinnpoint_verify.polynomials import degree_of, half, indices, raised
from pinnpoint_verify.reader import Array, Bundle, larger, need, smaller
from pinnpoint_verify.rows import is_number

Row = dict[str, Any]
FEW, MORE, MOST = (1, 2, 4), (0, 3, 6), {1: 16, 2: 12, 3: 8}
"""Degrees below and above that of p at which a formula is looked at, and the highest."""
DEPTH, PARTS, POINTS, KINKS = {1: 12, 2: 6, 3: 4}, 20_000, 400_000, {1: 6, 2: 4, 3: 2}
"""Cuts of a cell, parts in all, values at a time, and cuts of parts in which a formula has a kink."""
NEAR = 1.01
"""What is within this of a value that is taken is sharp enough."""
ROUNDS = {1: 6, 2: 2, 3: 1}
"""Halvings along all edges of a simplex that bound basis functions."""
CREDIT = 8.0
"""Beside kinks stored bounds count unless proved ones exceed them by this, and by a hundredth of the coefficient."""


def basis(d: int, n: int, bary: Array) -> Array:
    """B_α of degree n at points, (points, M)."""
    alpha = indices(d, n)
    factor = [math.factorial(n) / math.prod(math.factorial(k) for k in a.tolist()) for a in alpha]
    return np.asarray(np.prod(bary[:, None, :] ** alpha[None], axis=2) * np.array(factor))


@cache
def onto(d: int, n: int) -> Array:
    """From Bernstein coefficients on a simplex to those on its children, exactly: (children, M, M)."""
    index = [{tuple(a): i for i, a in enumerate(indices(d, k).tolist())} for k in range(n + 1)]
    steps = np.eye(d + 1, dtype=int)
    above = [[[index[k + 1][tuple(a)] for a in indices(d, k) + step] for step in steps] for k in range(n)]

    def lowered(row: Array, k: int, point: Array) -> Array:
        """A functional of degree k as one of degree k + 1, by one step of de Casteljau's scheme at a point."""
        found = np.zeros(len(index[k + 1]))
        for j in np.nonzero(point)[0]:
            found[above[k][j]] += point[j] * row
        return found

    tables = []
    for corners in children(np.eye(d + 1)[None]):  # the blossom at α_i times the i-th corner
        rows = []
        for alpha in indices(d, n).tolist():
            row = np.ones(1)
            for k, i in enumerate(i for i, count in enumerate(alpha) for _ in range(count)):
                row = lowered(row, k, corners[i])
            rows.append(row)
        tables.append(rows)
    return np.array(tables)


class Lattice:
    """Points k/n of a simplex: X makes Bernstein coefficients of values there, a polynomial is at most Λ times them."""

    def __init__(self, d: int, n: int) -> None:
        self.at = indices(d, n) / float(n)
        B = basis(d, n, self.at)
        self.X = np.linalg.inv(B)
        size = float(np.abs(self.X).sum(axis=1).max())
        blur = size * gamma(len(B) + 8 * n + 60)  # of B's entries, of the points and of the product
        off = float(np.abs(np.eye(len(B)) - self.X @ B).sum(axis=1).max()) + blur
        need(off < 1e-3, "medium: a model of too high a degree")
        self.share = 1.0 + 1.01 * off  # ‖B⁻¹v‖ ≤ ‖Xv‖/(1 − ‖I − XB‖)
        # checking.md, step 10a: Λ ≥ Σ|basis functions|, by their Bernstein coefficients on halves of halves
        pieces, edges = [self.X], list(combinations(range(d + 1), 2))
        for j, k in edges * ROUNDS[d]:
            pieces = [half(d, n, *ends).m @ piece for piece in pieces for ends in ((j, k), (k, j))]
        self.most = self.share * (1.001 * larger(float(np.abs(p).max(axis=0).sum()) for p in pieces) + 1e-9 * size)

    def bernstein(self, v: Array) -> Ball:
        """Coefficients of polynomials with values v (n, points)."""
        found = v @ self.X.T
        blur = gamma(len(self.X) + 8) * float(np.abs(self.X).sum(axis=1).max()) * np.abs(v).max(axis=1)
        return Ball(found, up((self.share - 1.0) * (np.abs(found).max(axis=1) + blur) + blur)[:, None])

    def top(self, v: Array) -> Array:
        """Upper bounds of polynomials with values v (n, points)."""
        return np.asarray(np.fmin(self.bernstein(v).top.max(axis=1), self.most * np.abs(v).max(axis=1)))


lattice = cache(Lattice)


@np.errstate(all="ignore")
def furthest(text: Any, V: Array, beta: Array, close: float) -> tuple[Array, Array]:
    """Upper bounds (n,) of |f − Σ β_α B_α| on simplices V, and where f has a kink; errors of `close` are small."""
    d, N = V.shape[1] - 1, len(V)
    q, found, least, rough = degree_of(beta.shape[1], d), np.zeros(N), np.zeros(N), np.zeros(N, dtype=bool)
    low = [n for n in FEW if n < q]
    orders = [*low, *sorted({smaller(larger(q, 1) + k, larger(MOST[d], q)) for k in MORE})]
    small, made = close * float(np.abs(beta).max(initial=0.0)), 0
    cell, W, own = np.arange(N), V, beta
    for level in range(DEPTH[d] + 1):
        cut, again = level < DEPTH[d] and made <= PARTS + 4 * N, list[Array]()
        step = larger(1, POINTS // len(indices(d, orders[-1])))
        for a in range(0, len(cell), step):
            at = np.arange(a, smaller(a + step, len(cell)))
            discs, left = Discs(text, W[at]), np.arange(len(at))
            for n in orders:
                E, M, top = discs.distance(n), discs.spread[0], 1.0 + lattice(d, n).most
                slack = np.fmin(top * E, 2.0 * M)  # what is not seen at points
                end = discs.rough & (level >= KINKS[d]) | (n == orders[-1] and not cut)
                first = level == 0 and n == orders[len(low)]
                now = left[(end | first | (slack <= np.maximum(small, 0.2 * least[cell[at]])))[left]]
                if not now.size:
                    continue
                of = cell[at[now]]
                bound, seen = _bound(text, W[at[now]], own[at[now]], E[now], M[now], n)
                np.maximum.at(least, of, seen)
                good = end[now] | (slack[now] <= small) | (bound <= NEAR * least[of])
                np.maximum.at(found, of[good], np.where(np.isnan(bound), np.inf, bound)[good])
                rough[of[good]] |= ~np.isfinite(discs.spread[1, now[good]])
                left = np.setdiff1d(left, now[good])
            again.append(at[left])
        kept = np.concatenate([*again, np.zeros(0, dtype=np.int64)])
        if not kept.size:
            break
        cell, W = np.repeat(cell[kept], 2**d), children(W[kept])
        own = np.einsum("cab,nb->nca", onto(d, q), own[kept], optimize=True).reshape(len(cell), -1)
        made += len(cell)
    return found, rough


def _bound(text: Any, W: Array, beta: Array, E: Array, M: Array, n: int) -> tuple[Array, Array]:
    """Upper bounds of |f − p| on parts W, and what points see of it; f is within M of one of its values.

    A polynomial P within E of f has P − p = f − p at the lattice's points but for E, and lies below the largest of
    its Bernstein coefficients.
    """
    d = W.shape[1] - 1
    at, q = lattice(d, n), degree_of(beta.shape[1], d)
    f, _ = values(text, W, np.zeros((1, d + 1, d + 1)), at.at)
    gap = f.m - beta @ basis(d, q, at.at).T
    many = 16 * n + beta.shape[1] + 200 + DEPTH[d] * (beta.shape[1] + 8)  # of p's values, and on parts of p itself
    lost = noise(f, beta[:, :, None])
    if n < q:  # P by its own coefficients
        own = raised(at.bernstein(f.m), d, q)
        top = (np.abs(own.m - beta) + own.r).max(axis=1) + gamma(many) * np.abs(beta).max(axis=1)
        tops = [top + (at.most + 1.0) * E]
    else:
        lost = lost + gamma(many) * np.abs(beta).max(axis=1)
        flat = f.m[:, :1] - (f.m - gap)  # as far as f is a constant up to M, that is known
        tops = [at.top(gap) + (at.most + 1.0) * E, at.top(flat) + 2.0 * M]
    return np.asarray(up(np.fmin(tops[0], tops[-1]) + at.most * lost)), np.abs(gap).max(axis=1)  # checking.md, step 10a


def words(said: Row, region: int, d: int) -> dict[str, Any]:
    """What the models of a region are of, by their names: formulas, numbers and sums of them."""
    A, c = said["diffusion"][region], said["reaction"][region]
    found: dict[str, Any] = {"c": c}
    if not isinstance(A, list):
        found["a"] = A
    for i in range(d):
        for j in range(i, d):
            found[f"a{i}{j}"] = A[i][j] if isinstance(A, list) else A if i == j else 0.0
    b = said.get("convection")
    if b is None:
        return found
    field = [0.0] * d if is_number(b[region]) else b[region]
    found |= {f"b{i}": field[i] for i in range(d)}
    try:
        found["t"] = plus(c, *(minus(derivative(field[i], i)) for i in range(d)))  # checking.md, step 10b
    except Kink:
        pass
    return found


def _bent(bundle: Bundle, mesh: Mesh) -> Array:
    """Cells with bent edges, on which coefficients are carried back by a map."""
    found, n = np.zeros(mesh.C, dtype=bool), len(mesh.points)
    if "bent/edges" not in bundle:
        return found
    edges = bundle("bent/edges", None, 2, whole=n)
    for i, j in combinations(range(mesh.d + 1), 2):
        a, b = np.sort(mesh.cells[:, [i, j]], axis=1).T
        found |= np.isin(a * n + b, edges.min(axis=1) * n + edges.max(axis=1))
    return found


def proved_models(bundle: Bundle, said: Row, close: float, medium: Any, mesh: Mesh) -> int:
    """Replace the errors of all models outside bent cells; the number of cells on which a stored one stays."""
    kept = _bent(bundle, mesh)
    bent = np.array(kept)
    for r in np.unique(medium.region).tolist():
        need(r < len(said["diffusion"]), "medium: regions of no cell, or unknown")
        cells, given = np.nonzero((medium.region == r) & ~bent)[0], words(said, r, mesh.d)
        V = mesh.points[mesh.cells[cells]]
        for word, beta in medium.beta.items():
            if given.get(word) is None:
                kept[cells] = True
                continue
            own, stored = beta[cells], medium.error[word][cells]
            if is_number(given[word]) and np.all(own == float(given[word])):
                medium.error[word][cells] = 0.0
                continue
            found, rough = furthest(given[word], V, own, close)
            most = CREDIT * stored + 0.01 * float(np.abs(own).max(initial=0.0))
            stays = rough & (found > stored) & (found <= most)  # checking.md, step 10c
            medium.error[word][cells] = np.where(stays, stored, found)
            kept[cells] |= stays
    return int(kept.sum())
