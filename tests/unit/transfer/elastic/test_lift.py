"""Quadratic body forces are lifted exactly: the table's conditions in rationals, and its map to any cell."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import factorial

import numpy as np
import pytest

from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import mean_of_powers, pairs
from pinnpoint.transfer.elastic.lift import lattice, lifted, mass, table
from tests.support.korn import voigt
from tests.support.simplices import corners


def lagrange(nodes, a, at):
    """The cubic that is one at node a and zero at the others: Π over coordinates of Π_{k<3λ_a} (3λ − k)/(3λ_a − k)."""
    value = Fraction(1)
    for own, x in zip(nodes[a], at, strict=True):
        for k in range(int(3 * own)):
            value *= (3 * x - k) / (3 * own - k)
    return value


def slope(nodes, a, at, i):
    """Its derivative with respect to coordinate i: a cubic in λ_i, differentiated by the product rule."""
    rest = Fraction(1)
    for c, (own, x) in enumerate(zip(nodes[a], at, strict=True)):
        factors = [((3 * x - k) / (3 * own - k), 3 / (3 * own - k)) for k in range(int(3 * own))]
        if c != i:
            for value, _ in factors:
                rest *= value
            continue
        total = Fraction(0)
        for k in range(len(factors)):
            term = factors[k][1]
            for other, (value, _) in enumerate(factors):
                term = term if other == k else term * value
            total += term
        rest *= total
    return rest


def gradients(d):
    """∇λ_i of the reference simplex, and of the barycentric coordinates of its sub-simplices."""
    G = [[Fraction(-1)] * d] + [[Fraction(int(i == c)) for c in range(d)] for i in range(d)]
    own = [
        [
            [(d + 1) * g for g in G[s]] if i == s else [a - b for a, b in zip(G[i], G[s], strict=True)]
            for i in range(d + 1)
        ]
        for s in range(d + 1)
    ]
    return G, own


def sub_constants(d):
    """Q: values on the sub-simplices of B_jl from its moments, by elimination with the matrix ∫_{K_s} λ_i."""
    n1 = d + 1
    rows = []
    for j, k in pairs(d):
        moments = []
        for i in range(n1):
            powers = [0] * n1
            for v in (i, j, k):
                powers[v] += 1
            moments.append((2 - (j == k)) * mean_of_powers(powers))
        # ∫_{K_s} λ_i / |K| = (1 + 1/n1 − δ)/n1²: v = ((1 + 1/n1) Σv − n1² m), Σ v = n1 Σ m
        total = n1 * sum(moments)
        rows.append([(1 + Fraction(1, n1)) * total - n1**2 * m for m in moments])
    return rows


class Exact:
    """τ̂ of the stored table as rational tensors (s, node) for each column."""

    def __init__(self, d):
        A, den = table(d)
        self.d, self.nodes = d, lattice(d, 3)
        self.values = np.array(A.astype(np.int64).tolist(), dtype=object).reshape(
            d + 1, len(self.nodes), -1, A.shape[1]
        )
        self.den = den

    def times(self, s, a, v):
        """den · τ̂(s, a) v, by components, for all columns."""
        out = [0] * self.d
        for k, (p, q) in enumerate(voigt(self.d)):
            out[p] = out[p] + self.values[s, a, k] * v[q]
            if p != q:
                out[q] = out[q] + self.values[s, a, k] * v[p]
        return out


@pytest.mark.parametrize("d", [2, 3])
def test_tractions_vanish_outside_and_are_continuous_inside(d):
    exact, (G, _) = Exact(d), gradients(d)
    where = {node: a for a, node in enumerate(exact.nodes)}
    for s in range(d + 1):
        for a, node in enumerate(exact.nodes):
            if node[s] == 0:
                assert not any(np.any(row) for row in exact.times(s, a, G[s]))
    for s, t in combinations(range(d + 1), 2):
        normal = [x - y for x, y in zip(G[s], G[t], strict=True)]
        for a, node in enumerate(exact.nodes):
            if node[t] == 0:
                twin = list(node)
                twin[s], twin[t] = Fraction(0), node[s]
                one, two = exact.times(s, a, normal), exact.times(t, where[tuple(twin)], normal)
                assert all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))


@pytest.mark.parametrize("d", [2, 3])
def test_the_divergence_is_the_force_without_its_constants(d):
    exact, (_, own), Q = Exact(d), gradients(d), sub_constants(d)
    for s in range(d + 1):
        for at in lattice(d, 2):  # both sides are quadratic
            found = [0] * d
            for a in range(len(exact.nodes)):
                parts = [slope(exact.nodes, a, at, i) for i in range(d + 1)]
                v = [sum(parts[i] * own[s][i][c] for i in range(d + 1)) for c in range(d)]
                if any(v):
                    found = [x + y for x, y in zip(found, exact.times(s, a, v), strict=True)]
            bary = [at[s] / (d + 1) + (at[i] if i != s else 0) for i in range(d + 1)]
            for p, (j, k) in enumerate(pairs(d)):
                right = (2 - (j == k)) * bary[j] * bary[k] - Q[p][s]
                for c in range(d):
                    for b in range(d):
                        assert -found[b][p * d + c] == exact.den * right * (b == c)


@pytest.mark.parametrize("d", [2, 3])
def test_constants_are_the_moments_of_quadratics(d):
    for p, (j, k) in enumerate(pairs(d)):
        v = sub_constants(d)[p]
        for i in range(d + 1):
            moment = sum(v[s] * (1 + Fraction(1, d + 1) - (s == i)) for s in range(d + 1)) / (d + 1) ** 2
            powers = [0] * (d + 1)
            for x in (i, j, k):
                powers[x] += 1
            assert moment == (2 - (j == k)) * mean_of_powers(powers)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", ["plain", "far", "flat"])
def test_the_map_to_a_cell_is_exact_but_for_its_rounding(d, regime):
    rng = np.random.default_rng(7)
    V = corners(rng, d, d, regime, 2)
    T = Topology(V.reshape(-1, d), np.arange(2 * (d + 1)).reshape(2, -1))
    beta = rng.normal(size=(2, len(pairs(d)), d))
    tau, error = lifted(T, np.arange(2), beta)
    A, den = table(d)
    A = np.array(A.astype(np.int64).tolist(), dtype=object)
    for n in range(2):
        X = [[Fraction(x) for x in row] for row in V[n].tolist()]
        B = np.array([[X[i + 1][c] - X[0][c] for i in range(d)] for c in range(d)], dtype=object)
        inverse = solved(B)
        f = inverse.dot(np.array([[Fraction(x) for x in row] for row in beta[n].tolist()], dtype=object).T).T.ravel()
        S = A.dot(f).reshape(-1, len(voigt(d))) / Fraction(den)
        worst, largest = 0.0, 0.0
        for row, got in zip(S, tau[n].reshape(len(S), -1), strict=True):
            full = np.empty((d, d), dtype=object)
            for k, (p, q) in enumerate(voigt(d)):
                full[p, q] = full[q, p] = row[k]
            true = B.dot(full).dot(B.T)
            for k, (p, q) in enumerate(voigt(d)):
                worst = max(worst, abs(float(Fraction(float(got[k])) - true[p, q])))
                largest = max(largest, abs(float(true[p, q])))
        assert worst <= error[n]
        assert error[n] < {"plain": 1e-9, "far": 1e-6, "flat": 1e-2}[regime] * largest


def solved(B):
    d = len(B)
    cofactors = np.empty((d, d), dtype=object)
    for i in range(d):
        for j in range(d):
            minor = np.delete(np.delete(B, i, 0), j, 1)
            cofactors[j, i] = (-1) ** (i + j) * (
                minor[0, 0] if d == 2 else minor[0, 0] * minor[1, 1] - minor[0, 1] * minor[1, 0]
            )
    return cofactors / sum(B[0, c] * cofactors[c, 0] for c in range(d))


@pytest.mark.parametrize("d", [2, 3])
def test_constant_forces_need_no_lift(d):
    A, _ = table(d)
    assert not A.reshape(len(A), -1, d).sum(axis=1).any()


@pytest.mark.parametrize("d", [2, 3])
def test_masses_are_means_of_products(d):
    nodes, M = lattice(d, 3), mass(d, 3)
    assert len(nodes) == factorial(d + 3) // factorial(d) // 6
    assert all(sum(node) == 1 for node in nodes)
    for power in ((1,) + (0,) * d, (2, 1) + (0,) * (d - 1), (0, 3) + (0,) * (d - 1)):
        v = np.array([float(np.prod([x**k for x, k in zip(node, power, strict=True)])) for node in nodes])
        assert v @ M @ v == pytest.approx(float(mean_of_powers([2 * k for k in power])), rel=1e-13)
    bubble = [lagrange(nodes, a, [Fraction(1, d + 1)] * (d + 1)) for a in range(len(nodes))]
    assert sum(bubble) == 1
