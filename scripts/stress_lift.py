"""Make the table of `transfer/elastic/lift.py`: stresses that lift quadratic body forces, in exact rationals.

    python scripts/stress_lift.py [FILE]       # src/pinnpoint/data/stress_lift.npz by default

The conditions (no traction outside, continuous traction inside, the divergence) are solved by elimination; of all
solutions one close to the shortest on equilateral cells is taken, with short denominators. Any solution is a proof, and
tests/unit/transfer/elastic/test_lift.py verifies the one that is stored. Needs python-flint.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations
from math import lcm, prod
from pathlib import Path

import numpy as np
from flint import fmpq, fmpq_mat

from pinnpoint.taylor.bernstein import mean_of_powers, pairs
from pinnpoint.transfer.elastic.lift import TABLES, lattice, mass

STEPS = 2**20
"""Free parameters are multiples of 1/STEPS."""


def derivatives(node, at):
    """∂/∂λ_i at a point of the cubic that is one at a node: Π_i Π_{k < 3λ_i(node)} (3λ_i − k)/(3λ_i(node) − k)."""
    both = list(zip(node, at, strict=True))
    factors = [[((3 * x - k) / (3 * own - k), 3 / (3 * own - k)) for k in range(int(3 * own))] for own, x in both]
    values = [prod((v for v, _ in f), start=Fraction(1)) for f in factors]
    found = []
    for i, f in enumerate(factors):
        slope = sum(
            (s * prod((v for j, (v, _) in enumerate(f) if j != k), start=Fraction(1)) for k, (_, s) in enumerate(f)),
            start=Fraction(0),
        )
        found.append(slope * prod((v for j, v in enumerate(values) if j != i), start=Fraction(1)))
    return found


def constants(d):
    """Q of each B_jl on each sub-simplex."""
    n1, rows = d + 1, []
    for j, k in pairs(d):
        m = [(2 - (j == k)) * mean_of_powers([(v == i) + (v == j) + (v == k) for v in range(n1)]) for i in range(n1)]
        rows.append([(n1 + 1) * sum(m) - n1**2 * x for x in m])
    return rows


def conditions(d):
    """Rows over τ̂ at the nodes (s, node, entry), and right-hand sides over the coefficients (pair, component) of f̂."""
    n1, nodes, si = d + 1, lattice(d, 3), [(a, b) for a in range(d) for b in range(a, d)]
    G = [[Fraction(-1)] * d] + [[Fraction(int(i == c)) for c in range(d)] for i in range(d)]
    where, Q, rows = {node: a for a, node in enumerate(nodes)}, constants(d), []

    def add(parts, right):
        new = [({}, r) for r in right]
        for s, a, v in parts:
            for k, (p, q) in enumerate(si):
                at = (s * len(nodes) + a) * len(si) + k
                for row, x in {p: v[q], q: v[p]}.items():
                    new[row][0][at] = new[row][0].get(at, Fraction(0)) + x
        rows.extend(new)

    none = [{} for _ in range(d)]
    for s in range(n1):
        for a, node in enumerate(nodes):
            if node[s] == 0:
                add([(s, a, G[s])], none)
    for s, t in combinations(range(n1), 2):
        normal = [x - y for x, y in zip(G[s], G[t], strict=True)]
        for a, node in enumerate(nodes):
            if node[t] == 0:
                twin = list(node)
                twin[s], twin[t] = Fraction(0), node[s]
                add([(s, a, normal), (t, where[tuple(twin)], [-x for x in normal])], none)
    for s in range(n1):
        own = [
            [n1 * g for g in G[s]] if i == s else [x - y for x, y in zip(G[i], G[s], strict=True)] for i in range(n1)
        ]
        for at in lattice(d, 2):
            slopes = [derivatives(node, at) for node in nodes]
            parts = [(s, a, [sum(g[i] * own[i][c] for i in range(n1)) for c in range(d)]) for a, g in enumerate(slopes)]
            bary = [at[s] / n1 + (at[i] if i != s else 0) for i in range(n1)]
            left = [(2 - (j == k)) * bary[j] * bary[k] - Q[p][s] for p, (j, k) in enumerate(pairs(d))]
            add(parts, [{p * d + c: -x for p, x in enumerate(left)} for c in range(d)])
    return rows, n1 * len(nodes) * len(si), len(pairs(d)) * d


def solutions(d):
    """One solution, (unknowns, right-hand sides), and a basis of all that add nothing, in rationals."""
    rows, size, right = conditions(d)
    M = fmpq_mat(len(rows), size + right)
    for i, (left, r) in enumerate(rows):
        for k, x in left.items():
            M[i, k] = fmpq(x.numerator, x.denominator)
        for k, x in r.items():
            M[i, size + k] = fmpq(x.numerator, x.denominator)
    E, rank = M.rref()
    pivots = [next(c for c in range(size + right) if E[r, c] != 0) for r in range(rank)]
    assert pivots[-1] < size
    free = sorted(set(range(size)) - set(pivots))
    one, null = np.full((size, right), Fraction(0)), np.full((size, len(free)), Fraction(0))
    for r, c in enumerate(pivots):
        one[c] = [Fraction(int(E[r, size + k].p), int(E[r, size + k].q)) for k in range(right)]
        null[c] = [-Fraction(int(E[r, f].p), int(E[r, f].q)) for f in free]
    for k, f in enumerate(free):
        null[f, k] = Fraction(1)
    return one, null


def short(d, one, null):
    """Close to the shortest on equilateral cells; constant forces, with equal coefficients, keep the solution 0."""
    p, q = np.array([(a, b) for a in range(d) for b in range(a, d)]).T
    G, f = 0.5 * (np.eye(d) + 1.0), np.where(p == q, 1.0, 2.0)
    both = G[p[:, None], p] * G[q[:, None], q] + G[p[:, None], q] * G[q[:, None], p]
    root = np.linalg.cholesky(np.kron(np.eye(d + 1), np.kron(mass(d, 3), 0.5 * np.outer(f, f) * both))).T
    y = np.linalg.lstsq(root @ null.astype(float), -root @ one.astype(float), rcond=None)[0]
    exact = np.array([[Fraction(round(v * STEPS), STEPS) for v in row] for row in y.tolist()])
    for c in range(d):
        exact[:, c - d] = -exact[:, c:-d:d].sum(axis=1)
    return one + null.dot(exact)


def main(file):
    """Write numerators and denominators for both dimensions."""
    stored = {}
    for d in (2, 3):
        found = short(d, *solutions(d))
        den = lcm(*(x.denominator for x in found.ravel()))
        stored[f"numerators_{d}"] = np.array([[int(x * den) for x in row] for row in found], dtype=np.int64)
        stored[f"denominator_{d}"] = np.int64(den)
    np.savez_compressed(file, **stored)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TABLES)
