"""Tables of stresses on the reference simplex, verified in exact arithmetic: part of the proof of solids.py.

A simplex is cut by its centroid into d + 1 parts; in part s the centroid stands for vertex s.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from pinnpoint_verify.reader import Array, Bundle, need


def pairs(d: int) -> list[tuple[int, int]]:
    """Entries xx, xy, … of a symmetric tensor."""
    return [(a, b) for a in range(d) for b in range(a, d)]


def slots(d: int) -> list[tuple[int, int]]:
    """(j, i): vertex i of the facet opposite vertex j."""
    return [(j, i) for j in range(d + 1) for i in range(d + 1) if i != j]


@cache
def tables(d: int) -> tuple[Array, Array]:
    """(d + 1)R and (d + 1)R_f, integers: stresses of the reference simplex at the nodes (s, a) of its parts, (…, d, d).

    Found by solving, rounded, and verified in integers: σn is continuous inside, the facets have the moments that are
    put in, and Σσ is (d + 1)² s, |K| s = sym Σ t_i ⊗ (x_i − x̄).
    """
    n, S = d + 1, pairs(d)
    X = np.vstack([np.zeros((1, d), dtype=int), np.eye(d, dtype=int)])
    grad, arms = np.vstack([-np.ones((1, d), dtype=int), np.eye(d, dtype=int)]), n * X - X.sum(axis=0)

    def pull(s: int, a: int, normal: Array) -> Array:
        rows = np.zeros((d, n, n, len(S)), dtype=int)
        for v, (p, q) in enumerate(S):
            rows[p, s, a, v] += normal[q]
            rows[q, s, a, v] += normal[p] * (p != q)
        return rows.reshape(d, -1)

    ties = []
    for s, t in combinations(range(n), 2):
        rest = [v for v in range(n) if v not in (s, t)]
        normal = across(arms[rest])
        ties += [pull(s, a, normal) - pull(t, b, normal) for a, b in [*zip(rest, rest, strict=True), (s, t)]]
    moments = [sum((1 + (a == i)) * pull(j, a, -grad[j]) for a in range(n) if a != j) for j, i in slots(d)]
    turn = np.zeros((len(S), n, d), dtype=int)  # 2(d + 1) sym Σ t_i ⊗ (x_i − x̄)
    for v, (p, q) in enumerate(S):
        turn[v, :, p] += arms[:, q]
        turn[v, :, q] += arms[:, p]
    M = np.vstack([*ties, *moments, 2 * n * np.tile(np.eye(len(S), dtype=int), n * n)])
    right = np.zeros((len(M), n * d * d + n * d), dtype=int)
    first = sum(map(len, ties))
    right[first : first + n * d * d, : n * d * d] = math.factorial(n) * np.eye(n * d * d, dtype=int)
    both = np.concatenate([turn[:, [i for _, i in slots(d)]], turn], axis=1)
    right[-len(S) :] = n * n * math.factorial(d) * both.reshape(len(S), -1)
    T = np.rint(n * np.linalg.solve(M.astype(float), right.astype(float))).astype(int)
    need(np.array_equal(M @ T, n * right), "stress: the tables do not satisfy their conditions")
    full = T.reshape(n, n, len(S), -1)[:, :, whole(d)].astype(float)
    return full[..., : n * d * d].reshape(n, n, d, d, n, d, d), full[..., n * d * d :].reshape(n, n, d, d, n, d)


def whole(d: int) -> Array:
    """Numbers of the entries of a symmetric tensor, (d, d)."""
    at = np.zeros((d, d), dtype=int)
    for v, (p, q) in enumerate(pairs(d)):
        at[p, q] = at[q, p] = v
    return at


def across(E: Array) -> Array:
    """A vector normal to d − 1 edges."""
    return np.array([E[0][1], -E[0][0]]) if len(E) == 1 else np.cross(E[0], E[1])


@cache
def cubic(d: int) -> tuple[Array, list[tuple[int, ...]], Array]:
    """Barycentric coordinates of the cubic nodes, their multi-indices, and the means of products of their functions."""
    nodes = [a for a in product(range(4), repeat=d + 1) if sum(a) == 3]
    half = Fraction(9, 2)  # φ = Π C(3μ_v, a_v)
    powers: dict[int, dict[int, Any]] = {
        0: {0: 1},
        1: {1: 3},
        2: {2: half, 1: Fraction(-3, 2)},
        3: {3: half, 2: -half, 1: 1},
    }
    shapes = []
    for a in nodes:
        terms: dict[tuple[int, ...], Any] = {(): Fraction(1)}
        for k in a:
            terms = {(*p, e): c * x for p, c in terms.items() for e, x in powers[k].items()}
        shapes.append(terms)

    def mean(f: Any, g: Any) -> Fraction:
        found = Fraction(0)
        for (p, x), (q, y) in product(f.items(), g.items()):
            both = [i + j for i, j in zip(p, q, strict=True)]
            top = math.factorial(d) * math.prod(map(math.factorial, both))
            found += x * y * Fraction(top, math.factorial(d + sum(both)))
        return found

    mass = np.array([[float(mean(f, g)) for g in shapes] for f in shapes])
    return np.array(nodes) / 3.0, nodes, mass


def lift_table(bundle: Bundle, d: int) -> tuple[Array, float]:
    """Numerators and denominator of τ̂ for quadratic forces, verified in integers.

    τn = 0 on ∂K, τn continuous inside, and f + div τ constant on each part with the moments of f against linears.
    """
    n, nodes = d + 1, cubic(d)[1]
    many = n * (d + 2) // 2
    stored = bundle("lift/table", n * len(nodes) * len(pairs(d)), many * d)
    below = bundle("lift/denominator", 1)
    exact = all(np.all(np.rint(x) == x) and np.abs(x).max() < 2.0**53 for x in (stored, below)) and below[0] > 0.0
    need(exact, "lift/table: not integers")
    den = int(below[0])
    T = stored.astype(np.int64).astype(object).reshape(n, len(nodes), len(pairs(d)), -1)[:, :, whole(d)]
    X = np.vstack([np.zeros((1, d), dtype=int), np.eye(d, dtype=int)])
    arms, grad = n * X - X.sum(axis=0), np.vstack([-np.ones((1, d), dtype=int), np.eye(d, dtype=int)])
    good, number = True, {a: k for k, a in enumerate(nodes)}
    for s in range(n):
        good &= not any(np.any(np.tensordot(T[s, k], grad[s], ([1], [0]))) for k, a in enumerate(nodes) if a[s] == 0)
    for s, t in combinations(range(n), 2):
        normal = across(arms[[v for v in range(n) if v not in (s, t)]])
        for k, a in enumerate(nodes):
            if a[t] == 0:
                b = tuple(a[s] if v == t else 0 if v == s else a[v] for v in range(n))
                good &= not np.any(np.tensordot(T[s, k] - T[t, number[b]], normal, ([1], [0])))
    need(good, "lift/table: a stress with tractions on the boundary of its cell, or jumps inside")
    rest = remainder(d, T, den, grad)
    same = all(not np.any(rest[s] - rest[s, :1]) for s in range(n))
    share = [[Fraction(1 + n * (i != s), n**3) for s in range(n)] for i in range(n)]
    held = [sum(share[i][s] * rest[s, 0] for s in range(n)) for i in range(n)]
    wanted = np.array([[(2 + 2 * (i == j) + 2 * (i == k)) for j in range(n) for k in range(j, n)] for i in range(n)])
    for i, c in product(range(n), range(d)):
        right = np.zeros((many, d), dtype=object)
        right[:, c] = wanted[i] * Fraction(1, n * (d + 2) * (d + 3))
        same &= not np.any(held[i][c] - right.ravel())
    need(same, "lift/table: a stress of another force")
    return stored.reshape(n, len(nodes), len(pairs(d)), many, d)[:, :, whole(d)], float(den)


def remainder(d: int, T: Array, den: int, grad: Array) -> Array:
    """F + div τ̂ at the quadratic nodes of each part, (d + 1, nodes, d, columns), in fractions."""
    n, nodes = d + 1, cubic(d)[1]
    at = [tuple(Fraction(k, 2) for k in a) for a in product(range(3), repeat=n) if sum(a) == 2]

    def value(a: int, x: Fraction) -> Fraction:
        return math.prod((x - k for k in range(a)), start=Fraction(1, math.factorial(a)))

    def slope(a: int, x: Fraction) -> Fraction:
        return sum(
            (math.prod((x - j for j in range(a) if j != k), start=Fraction(1)) for k in range(a)), Fraction(0)
        ) / math.factorial(a)

    rest = np.zeros((n, len(at), d, T.shape[-1]), dtype=object)
    for s, (b, mu) in product(range(n), enumerate(at)):
        inner = np.where(np.arange(n)[:, None] == s, n * grad[s], grad - grad[s])  # of the part's own coordinates
        weights = np.zeros((len(nodes), d), dtype=object)
        for k, a in enumerate(nodes):
            for v in range(n):
                others = math.prod((value(a[w], 3 * mu[w]) for w in range(n) if w != v), start=Fraction(1))
                weights[k] = weights[k] + 3 * slope(a[v], 3 * mu[v]) * others * inner[v]
        below = math.lcm(*(x.denominator for x in weights.ravel()))
        whole_ = np.array([int(x * below) for x in weights.ravel()], dtype=object).reshape(weights.shape)
        rest[s, b] = np.tensordot(whole_, T[s], ([0, 1], [0, 2])) * Fraction(1, below * den)
        lam = [Fraction(mu[s], n) + (mu[v] if v != s else 0) for v in range(n)]
        for p, (j, k) in enumerate(combinations_with_replacement(range(n), 2)):
            for c in range(d):
                rest[s, b, c, p * d + c] += (2 - (j == k)) * lam[j] * lam[k]
    return rest
