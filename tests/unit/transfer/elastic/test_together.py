"""Stress, lift, tree and data together: Σ ∫ f·w + ∫ t·w = Σ ∫ (σ_h + τ) : ε(w) for a stress that the tree balanced."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.formulas.expressions import parse
from pinnpoint.taylor.bernstein import Density, pairs, values
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.elastic.forces import body_moments, oscillation, traction_cost, traction_moments
from pinnpoint.transfer.elastic.lift import lattice, lifted
from pinnpoint.transfer.elastic.stress import StressSpace
from pinnpoint.transfer.elastic.tree import Tree
from tests.support.balanced import Signed, grid, sides
from tests.support.fields import monomials, rule
from tests.support.korn import voigt

LAM, MU = 0.8, 0.6


class Problem:
    """A body with loads, random facet moments with the given tractions, and the tree's correction of them."""

    def __init__(self, d, kind, force, traction, seed=0):
        rng = np.random.default_rng(seed)
        self.d, self.T = d, grid(d, {2: 2, 3: 1}[d], rng, 0.3)
        T = self.T
        C = len(T.cells)
        self.held = np.zeros((len(T.facets), d), dtype=bool)
        if kind == "clamped":
            self.held[sides(T, 0, 0.0)] = True
        else:
            for axis in range(d):
                self.held[sides(T, axis, 0.0), axis] = True
        self.body = [force(c, T.points[T.cells]) for c in range(d)]
        self.facets = np.flatnonzero(T.boundary)
        self.traction = [traction(c, T.points[T.facets[self.facets]]) for c in range(d)]
        self.fm = body_moments(T, self.body)[0]
        m = rng.normal(size=(len(T.facets), d, d))
        given = traction_moments(T, self.facets, self.traction)[0]
        free = ~self.held[self.facets]
        m[self.facets] = np.where(free[:, None, :], given, m[self.facets])
        self.space = StressSpace.of(T, np.full(C, LAM), np.full(C, MU))
        self.tree = Tree.of(T, self.held, self.space.lam, self.space.mu)
        self.tree.require_held()
        signed = Signed(self.tree, self.held, self.space.vertex_forces(m, self.fm))
        assert signed.left() < 1e-11
        self.before, self.extra = m, np.zeros_like(m)
        for k in range(C):
            for j in range(d + 1):
                f = T.cell_facets[k, j]
                if T.facet_cells[f, 0] == k:
                    self.extra[f] = signed.m[k, j]
        self.m = m + self.extra

    def field(self, seed):
        """A polynomial displacement that vanishes where the body is held: values and strains at points."""
        d = self.d
        whole = self.held.all(axis=1).any()

        def at(X):
            v, g = monomials(X, 4)
            w, D = np.zeros((len(X), d)), np.zeros((len(X), d, d))
            for c, a in enumerate(np.random.default_rng(seed).normal(size=(d, v.shape[1]))):
                axis = 0 if whole else c
                w[:, c] = X[:, axis] * (v @ a)
                D[:, c] = X[:, axis : axis + 1] * np.einsum("kpb,p->kb", g, a)
                D[:, c, axis] += v @ a
            return w, 0.5 * (D + np.swapaxes(D, 1, 2))

        return at

    def gap(self, w, m, f, t):
        """Work of the loads minus that of σ_h + τ, and ‖w‖_a, by cells; f, t: functions (cell or facet, points, λ)."""
        T, d = self.T, self.d
        bary, weight = rule(d, 7)
        sigma = self.space.nodal(m, self.fm, slice(None))[0]
        tau, _ = lifted(T, np.arange(len(T.cells)), np.stack([b.coefficients for b in self.body], axis=2))
        cubic = lagrange(bary, d)
        rest, size = np.zeros(len(T.cells)), np.zeros(len(T.cells))
        for k in range(len(T.cells)):
            V, volume = T.points[T.cells[k]], T.volumes[k]
            for s in range(d + 1):
                own = bary + bary[:, s : s + 1] / (d + 1)
                own[:, s] = bary[:, s] / (d + 1)
                X = own @ V
                value, strain = w(X)
                S = tensor(bary @ sigma[k, s] + cubic @ tau[k, s], d)
                part = weight * volume / (d + 1)
                rest[k] += part @ ((f(k, X, own) * value).sum(axis=1) - (S * strain).sum(axis=(1, 2)))
                trace = np.trace(strain, axis1=1, axis2=2)
                size[k] += part @ (2 * MU * (strain**2).sum(axis=(1, 2)) + LAM * trace**2)
        low, weight = rule(d - 1, 7)
        for i, facet in enumerate(self.facets):
            F = T.points[T.facets[facet]]
            area = np.sqrt(np.linalg.det((F[1:] - F[0]) @ (F[1:] - F[0]).T)) / (d - 1)
            load = t(i, low @ F, low) * ~self.held[facet]
            rest[T.facet_cells[facet, 0]] += area * weight @ (load * w(low @ F)[0]).sum(axis=1)
        return rest, np.sqrt(size)


def lagrange(bary, d):
    """Values of the cubic nodal basis."""
    nodes = [[int(3 * x) for x in node] for node in lattice(d, 3)]
    found = np.ones((len(bary), len(nodes)))
    for a, node in enumerate(nodes):
        for i, top in enumerate(node):
            for k in range(top):
                found[:, a] *= (3.0 * bary[:, i] - k) / (top - k)
    return found


def tensor(rows, d):
    full = np.empty((len(rows), d, d))
    for k, (p, q) in enumerate(voigt(d)):
        full[:, p, q] = full[:, q, p] = rows[:, k]
    return full


def random_quadratic(c, V):
    zero = np.zeros(len(V))
    return Density(np.random.default_rng(c).normal(size=(len(V), len(pairs(V.shape[1] - 1)))), zero, zero, zero)


def random_linear(c, V):
    d, zero = V.shape[1], np.zeros(len(V))
    w = np.random.default_rng(10 + c).normal(size=(len(V), d))
    from_pairs = np.stack([0.5 * (w[:, j] + w[:, k]) for j, k in pairs(d - 1)], axis=1)
    return Density(from_pairs, zero, zero, zero)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("kind", ["clamped", "rollers"])
def test_quadratic_forces_and_linear_tractions_are_in_equilibrium_to_rounding(d, kind):
    p = Problem(d, kind, random_quadratic, random_linear)

    def f(k, X, bary):
        return values(bary) @ np.stack([b.coefficients[k] for b in p.body], axis=1)

    def t(i, X, bary):
        return values(bary) @ np.stack([b.coefficients[i] for b in p.traction], axis=1)

    for seed in range(3):
        w = p.field(seed)
        rest, size = p.gap(w, p.m, f, t)
        assert abs(rest.sum()) < 1e-11 * size.sum() * np.abs(p.m).sum()
        before, _ = p.gap(w, p.before, f, t)
        assert abs(before.sum()) > 1e-3 * size.sum()  # without the tree's tractions it is not
        cost = p.tree.cost(*p.space.balance(p.before, p.fm), p.space.norm_factor)
        assert abs(before.sum()) <= (cost * size).sum()


@pytest.mark.parametrize("d", [2, 3])
def test_formulas_leave_no_more_than_their_costs(d):
    body = [parse("exp(x + y)"), parse("sin(3*x) * y"), parse("x*y*z + x**3")]
    load = [parse("cos(2*x - y)"), parse("x**3 + y**2"), parse("exp(x) * y")]
    p = Problem(d, "clamped", lambda c, V: density(body[c], V), lambda c, V: density(load[c], V))
    c_min = np.full(len(p.T.cells), min(2 * MU, 2 * MU + d * LAM))
    cost = oscillation(p.T, p.body, c_min)[0]
    free = [(p.facets, t) for t in p.traction]
    cost = cost + sum(traction_cost(p.T, facets, [t], c_min) for facets, t in free)

    def f(k, X, bary):
        return np.stack([body[c](X) for c in range(d)], axis=1)

    def t(i, X, bary):
        return np.stack([load[c](X) for c in range(d)], axis=1)

    seen = []
    for seed in range(4):
        rest, size = p.gap(p.field(seed), p.m, f, t)
        left = (cost * size).sum()
        seen.append(abs(rest.sum()) / left)
    assert 1e-4 < max(seen) < 1.0
