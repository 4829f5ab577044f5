"""Polynomials on cells by Bernstein coefficients, in ball arithmetic: products, projections, lower bounds.

A polynomial of degree q on a d-simplex is Σ p_α B_α over |α| = q, α sorted, with B_α = q!/α! λ^α. The B_α are
nonnegative and add up to one, so that it lies between its smallest and its largest coefficient.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, mix, up
from pinnpoint_verify.reader import Array, larger, need

MOST = {1: 16, 2: 12, 3: 10}
"""The largest degrees that are read."""
PIECES = 200_000
"""Parts of cells at a time."""
LEVELS = {1: 12, 2: 14, 3: 15}
"""How often a cell is halved at most."""


@cache
def indices(d: int, q: int) -> Array:
    """All α with |α| = q, sorted, (M, d + 1)."""
    return np.array([(*a, q - sum(a)) for a in product(range(q + 1), repeat=d) if sum(a) <= q])


def degree_of(count: int, d: int) -> int:
    """The degree of so many coefficients."""
    found = [q for q in range(MOST[d] + 1) if math.comb(q + d, d) == count]
    need(found, "medium: a model of no degree, or of too high a one")
    return found[0]


def fractions(table: list[Fraction], shape: tuple[int, ...]) -> Ball:
    """Rational numbers, rounded once."""
    m = np.array([float(x) for x in table]).reshape(shape)
    return Ball(m, 2.0 * UNIT * np.abs(m))


@cache
def _shift(d: int, q: int, j: int) -> tuple[Array, Ball]:
    """Where the coefficients of λ_j p come from, and their factors α_j/(q + 1)."""
    at = {tuple(a): k for k, a in enumerate(indices(d, q).tolist())}
    rows = indices(d, q + 1).tolist()
    source = [at.get(tuple(x - (k == j) for k, x in enumerate(a)), 0) for a in rows]
    return np.array(source), fractions([Fraction(a[j], q + 1) for a in rows], (len(rows),))


def shifted(p: Ball, d: int, j: int) -> Ball:
    """λ_j p, for coefficients (n, M)."""
    source, factor = _shift(d, degree_of(p.m.shape[1], d), j)
    return p[:, source] * factor


def by_linear(p: Ball, v: Ball, d: int) -> Ball:
    """A product with the linear function with values v (n, d + 1) at the vertices."""
    found = shifted(p * v[:, :1], d, 0)
    for j in range(1, d + 1):
        found = found + shifted(p * v[:, j : j + 1], d, j)
    return found


def by_quadratic(p: Ball, b: Ball, d: int) -> Ball:
    """A product with Σ b_jk λ_j λ_k, b (n, d + 1, d + 1)."""
    found = shifted(by_linear(p, b[:, 0], d), d, 0)
    for j in range(1, d + 1):
        found = found + shifted(by_linear(p, b[:, j], d), d, j)
    return found


def raised(p: Ball, d: int, q: int) -> Ball:
    """The same with coefficients of a higher degree."""
    while degree_of(p.m.shape[1], d) < q:
        p = by_linear(p, Ball(np.ones((len(p.m), d + 1))), d)
    return p


def plus(p: Ball | None, q: Ball, d: int) -> Ball:
    """A sum, of whatever degrees."""
    if p is None:
        return q
    most = larger(degree_of(x.m.shape[1], d) for x in (p, q))
    return raised(p, d, most) + raised(q, d, most)


@cache
def _inverse(d: int) -> Ball:
    """From means against B_jk, j ≤ k, of degree 2 to the coefficients of the projection onto quadratics."""
    G = [[_mean(a, b) for b in indices(d, 2).tolist()] for a in indices(d, 2).tolist()]
    n = len(G)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(G)]
    for k in range(n):
        rows[k] = [x / rows[k][k] for x in rows[k]]
        rows = [r if i == k else [x - r[k] * y for x, y in zip(r, rows[k], strict=True)] for i, r in enumerate(rows)]
    return fractions([x for row in rows for x in row[n:]], (n, n))


def _mean(a: list[int], b: list[int]) -> Fraction:
    """The mean of B_a B_b over a simplex."""
    d, p, q = len(a) - 1, sum(a), sum(b)
    top = math.factorial(p) * math.factorial(q) * math.factorial(d)
    top *= math.prod(math.factorial(x + y) for x, y in zip(a, b, strict=True))
    return Fraction(top, math.factorial(d + p + q) * math.prod(math.factorial(x) for x in (*a, *b)))


@cache
def against(d: int, p: int, q: int) -> Ball:
    """Means of B_a B_b of degrees p and q."""
    one, two = indices(d, p).tolist(), indices(d, q).tolist()
    return fractions([_mean(a, b) for a in one for b in two], (len(one), len(two)))


def projected(p: Ball, d: int) -> tuple[Array, Array, Array]:
    """β (n, d + 1, d + 1) of the projection onto quadratics, the rms of the rest, and a bound of the error of β."""
    p = raised(p, d, 2)
    q = degree_of(p.m.shape[1], d)
    moments, inverse = against(d, q, 2), _inverse(d)
    six = p.m if q == 2 else (p.m @ moments.m) @ inverse.m.T
    beta, pairs = np.empty((len(six), d + 1, d + 1)), indices(d, 2).tolist()
    for j, k in combinations_with_replacement(range(d + 1), 2):
        beta[:, j, k] = beta[:, k, j] = six[:, pairs.index([int(i == j) + int(i == k) for i in range(d + 1)])]
    if q == 2:
        return beta, np.zeros(len(beta)), p.r.max(axis=1)
    one = Ball(np.ones((len(six), math.comb(q - 2 + d, d))))
    rest = p - by_quadratic(one, Ball(beta), d)
    # rest = h + what rounding left of the projection, whose coefficients follow from its means
    off = up(mix("na,ab->nb", rest, moments).top @ np.abs(inverse.top).T * (1.0 + 1e-13)).max(axis=1)
    square = mix("na,ab,nb->n", rest, against(d, q, q), rest).top
    return beta, up(np.sqrt(np.maximum(square, 0.0))), off


@cache
def half(d: int, q: int, j: int, k: int) -> Ball:
    """From coefficients on a cell to those on its half where vertex k is the midpoint of j and k."""
    all_ = indices(d, q).tolist()
    at, table = {tuple(a): i for i, a in enumerate(all_)}, np.zeros((len(all_), len(all_)))
    for row, a in enumerate(all_):
        for i in range(a[k] + 1):
            b = list(a)
            b[j], b[k] = a[j] + i, a[k] - i
            table[row, at[tuple(b)]] += math.comb(a[k], i) / 2.0 ** a[k]  # exact
    return Ball(table)


def lowest(stack: Ball, error: Array) -> Array:
    """Lower bounds of the eigenvalues of symmetric matrices with polynomial entries i ≤ j (n, E, M), by Gershgorin."""
    E = stack.m.shape[1]
    d = next(k for k in range(1, 4) if k * (k + 1) // 2 == E)
    low, top = (stack.m - stack.r).min(axis=2) - error, (np.abs(stack.m) + stack.r).max(axis=2) + error
    rows = np.empty((len(low), d))
    for i in range(d):
        off = [
            e for e, pair in enumerate(combinations_with_replacement(range(d), 2)) if i in pair and pair[0] != pair[1]
        ]
        own = list(combinations_with_replacement(range(d), 2)).index((i, i))
        rows[:, i] = low[:, own] - up(top[:, off].sum(axis=1)) - 1e-15 * top[:, own]
    return np.asarray(rows.min(axis=1))


def not_above(stack: Ball, error: Array, aim: Array, d: int) -> Array:
    """Cells on which `lowest` is not proved to be at least `aim`, cut in halves where that helps."""
    owner, q, pieces = np.arange(len(aim)), degree_of(stack.m.shape[2], d), stack
    pairs = list(combinations(range(d + 1), 2))
    for level in range(LEVELS[d] + 1):
        left = lowest(pieces, error[owner]) < aim[owner]
        owner, pieces = owner[left], pieces[left]
        if not len(owner) or level == LEVELS[d] or q == 0 or len(owner) > PIECES:
            break
        j, k = pairs[level % len(pairs)]
        halves = [mix("ab,neb->nea", half(d, q, *ends), pieces) for ends in ((j, k), (k, j))]
        pieces = Ball(*(np.concatenate([getattr(h, x) for h in halves]) for x in ("m", "r")))
        owner = np.tile(owner, 2)
    return np.unique(owner)
