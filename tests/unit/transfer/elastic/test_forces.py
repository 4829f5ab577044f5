"""Moments of loads in exact rationals, and costs that no polynomial displacement exceeds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import Density, mean_of_powers, pairs, values
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.elastic import forces
from pinnpoint.transfer.elastic.forces import body_moments, oscillation, traction_cost, traction_moments
from tests.support import korn
from tests.support.fields import Fields, linear, rule
from tests.support.simplices import corners

MATERIALS = [(0.0, 0.5), (3.0, 0.4), (-0.2, 0.5), (40.0, 0.1)]


def c_min(lam, mu, d):
    return np.array([min(2.0 * mu, 2.0 * mu + d * lam)]) * (1.0 - 1e-15)


def one_cell(V):
    d = V.shape[1]
    T = Topology(V, np.arange(d + 1)[None])
    return T, Fields(V, 6)


def exact_volume(V):
    d = len(V[0])
    E = [[Fraction(V[i + 1][c]) - Fraction(V[0][c]) for c in range(d)] for i in range(d)]
    if d == 2:
        return abs(E[0][0] * E[1][1] - E[0][1] * E[1][0]) / 2
    cross = [E[1][(i + 1) % 3] * E[2][(i + 2) % 3] - E[1][(i + 2) % 3] * E[2][(i + 1) % 3] for i in range(3)]
    return abs(sum(a * b for a, b in zip(E[0], cross, strict=True))) / 6


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", ["plain", "far", "flat"])
def test_body_moments_are_exact_but_for_their_rounding(d, regime):
    rng = np.random.default_rng(d)
    V = corners(rng, d, d, regime, 3)
    T = Topology(V.reshape(-1, d), np.arange(3 * (d + 1)).reshape(3, -1))
    zero, beta = np.zeros(3), rng.normal(size=(d, 3, len(pairs(d))))
    error = np.array([0.0, 1e-3, 0.0])
    fm, rounding, data = body_moments(T, [Density(b, zero, error, error) for b in beta])
    for n in range(3):
        volume = exact_volume(V[n].tolist())
        for i in range(d + 1):
            for c in range(d):
                true = Fraction(0)
                for p, (j, k) in enumerate(pairs(d)):
                    powers = [0] * (d + 1)
                    for v in (i, j, k):
                        powers[v] += 1
                    true += Fraction(float(beta[c, n, p])) * (2 - (j == k)) * mean_of_powers(powers)
                assert abs(Fraction(float(fm[n, i, c])) - true * volume) <= Fraction(float(rounding[n]))
        assert float(volume) * error[n] <= data[n] <= 1.01 * float(volume) * error[n] + 1e-300
        assert rounding[n] < {"plain": 1e-12, "far": 1e-9, "flat": 1e-5}[regime] * float(volume)


@pytest.mark.parametrize("d", [2, 3])
def test_traction_moments_are_those_of_the_facets(d):
    rng = np.random.default_rng(d)
    V = corners(rng, d, d, "wide", 1)[0]
    T = Topology(V, np.arange(d + 1)[None])
    facets = np.arange(d + 1)
    zero, beta = np.zeros(d + 1), rng.normal(size=(d, d + 1, len(pairs(d - 1))))
    gm, rounding, data = traction_moments(T, facets, [Density(b, zero, zero, zero) for b in beta])
    bary, w = rule(d - 1, 6)
    for f in facets:
        F = V[T.facets[f]]
        area = np.sqrt(np.linalg.det((F[1:] - F[0]) @ (F[1:] - F[0]).T)) / (d - 1)
        t = values(bary) @ beta[:, f].T
        true = np.einsum("ki,kc,k->ic", bary, t, w * area)
        assert np.allclose(gm[f], true, rtol=1e-12, atol=1e-13 * area)
        assert 0.0 < rounding[f] < 1e-12 * area * np.abs(beta).max()
        assert data[f] < 1e-290
    once = traction_moments(T, facets, [Density(beta[1], zero, zero, zero)])[0]
    assert np.allclose(once[..., 0], gm[..., 1], rtol=1e-13, atol=1e-15)


def test_traction_moments_on_segments_are_exact_but_for_their_rounding():
    T = Topology([[0.0, 0.0], [3.0, 4.0], [1.0, 7.0]], [[0, 1, 2]])
    f = np.flatnonzero((T.facets == [0, 1]).all(axis=1))
    beta, zero = np.array([[0.1, 0.7, -0.3]]), np.zeros(1)
    gm, rounding, _ = traction_moments(T, f, [Density(beta, zero, zero, zero)])
    b = [Fraction(x) for x in beta[0].tolist()]
    for i, true in enumerate([b[0] / 4 + b[1] / 6 + b[2] / 12, b[0] / 12 + b[1] / 6 + b[2] / 4]):
        assert abs(Fraction(float(gm[0, i, 0])) - 5 * true) <= Fraction(float(rounding[0]))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("lam", "mu"), MATERIALS)
def test_no_displacement_feels_more_than_the_oscillation(d, lam, mu):
    rng = np.random.default_rng(3)
    formulas = ["x**3 - 2*x*y**2", "sin(3*x + y)", "exp(x) * y"][:d]
    for V in corners(rng, d, d, "wide", 3):
        T, fields = one_cell(V)
        found = [density(parse(text), V[None]) for text in formulas]
        osc, _ = oscillation(T, found, c_min(lam, mu, d))
        rest = []
        for text, f in zip(formulas, found, strict=True):
            rest.append(parse(text)(fields.points) - values(fields.bary) @ f.coefficients[0])
        reached = fields.dual_norm(fields.work(np.stack(rest, axis=1)), lam, mu)
        assert 0.0 < reached < osc[0]
        if lam >= 0.0:
            assert osc[0] < 40.0 * reached


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("lam", "mu"), MATERIALS)
def test_errors_of_data_cost_what_their_rest_and_their_stress_do(d, lam, mu):
    """ε quadratic, so that ε − Qε and the stress of its moments are known exactly."""
    rng = np.random.default_rng(4)
    for V in [korn.path(d).astype(float), *corners(rng, d, d, "wide", 2)]:
        T, fields = one_cell(V)
        e = rng.normal(size=(d, len(pairs(d))))
        at = values(fields.bary) @ e.T
        rms = np.sqrt((at**2 * fields.weights[:, None]).sum(axis=0) / fields.volume)
        zero = np.zeros(1)
        body = [Density(np.zeros((1, e.shape[1])), zero, rms[c : c + 1], rms[c : c + 1]) for c in range(d)]
        cost, data = oscillation(T, body, c_min(lam, mu, d))
        assert cost[0] >= data[0] > 0.0
        moments = np.einsum("ki,kc,k->ic", fields.bary, at, fields.weights)
        n1 = d + 1
        total = n1 * moments.sum(axis=0)
        Q = ((1.0 + 1.0 / n1) * total - n1**2 * moments) / fields.volume  # constants on the sub-simplices
        rest = 0.0
        bary, w = rule(d, 8)
        for s in range(n1):
            lam_s = bary.copy()
            lam_s += bary[:, s : s + 1] / n1
            lam_s[:, s] = bary[:, s] / n1
            left = values(lam_s) @ e.T - Q[s]
            v = fields.at(lam_s @ V)[0]
            rest = rest + np.einsum("kc,kpc,k->p", left, v, w * fields.volume / n1)
        assert fields.dual_norm(rest, lam, mu) < cost[0]
        assert fields.dual_norm(rest, lam, mu) + mean_stress(V, moments) / np.sqrt(c_min(lam, mu, d)[0]) < cost[0]


def mean_stress(V, e):
    """‖σ‖_K of the stress without facet moments of body moments e, from the exact form of Kuhn's simplex."""
    d = V.shape[1]
    B = np.diff(V, axis=0).T
    form = korn.stress_mass(d)
    ns, nm = len(korn.voigt(d)), (d + 1) * d * d
    arms = V - V.mean(axis=0)
    S = np.einsum("ia,ib->ab", e, arms)
    S = np.linalg.solve(B, np.linalg.solve(B, 0.5 * (S + S.T)).T)  # |K| s on the reference, times det
    A = np.array([[int(form[nm + a, nm + b].p) / int(form[nm + a, nm + b].q) for b in range(ns)] for a in range(ns)])
    shape = np.array([S[p, q] for p, q in korn.voigt(d)])
    reference = np.sqrt(shape @ A @ shape)
    low = np.linalg.norm(np.linalg.inv(B), 2) ** -2 / np.sqrt(abs(np.linalg.det(B)))
    return reference * low  # |BSBᵀ| ≥ |S|/‖B⁻¹‖²: from below


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(("lam", "mu"), MATERIALS)
def test_no_displacement_feels_more_of_a_traction_than_its_cost(d, lam, mu):
    rng = np.random.default_rng(6)
    bary, w = rule(d - 1, 10)
    for V in corners(rng, d, d, "wide", 3):
        T, fields = one_cell(V)
        for f in range(d + 1):
            F = V[T.facets[f]]
            area = np.sqrt(np.linalg.det((F[1:] - F[0]) @ (F[1:] - F[0]).T)) / (d - 1)
            formulas = ["x**3 - y", "sin(4*y)", "exp(x) * y"][:d]
            t = [density(parse(text), F[None]) for text in formulas]
            cost = traction_cost(T, np.array([f]), t, c_min(lam, mu, d))
            X = bary @ F
            g = np.stack([parse(text)(X) for text in formulas], axis=1)
            basis = linear(bary, d)
            own = np.einsum("kra,ksa,k->rs", basis, basis, w)
            part = np.einsum("kra,r->ka", basis, np.linalg.solve(own, np.einsum("kra,ka,k->r", basis, g, w)))
            load = np.einsum("ka,kpa,k->p", g - part, fields.at(X)[0], w * area)
            reached = fields.dual_norm(load, lam, mu)
            assert 0.0 < reached < cost[0]


@pytest.mark.parametrize("d", [2, 3])
def test_quadratic_forces_and_constant_tractions_cost_nothing(d):
    V = corners(np.random.default_rng(2), d, d, "plain", 1)[0]
    T = Topology(V, np.arange(d + 1)[None])
    zero = np.zeros(1)
    body = [Density(np.random.default_rng(c).normal(size=(1, len(pairs(d)))), zero, zero, zero) for c in range(d)]
    assert not np.any(oscillation(T, body, np.ones(1)))
    assert not np.any(traction_cost(T, np.array([0]), [Density.constant([2.0], d - 1)] * d, np.ones(1)))
    slope = density(parse("2*x + 3*y + 1"), V[T.facets[:1]])
    assert traction_cost(T, np.array([0]), [slope], np.ones(1))[0] < 1e-12
    none = traction_cost(T, np.zeros(0, dtype=np.intp), [Density.constant([], d - 1)], np.ones(1))
    assert not np.any(none)


def test_bounds_that_are_not_known_make_costs_infinite():
    T = Topology([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0, 1, 2]])
    zero, unknown = np.zeros(1), np.full(1, np.inf)
    f = Density(np.zeros((1, 6)), zero, unknown, unknown)
    cost, data = oscillation(T, [f, f], np.ones(1))
    assert cost[0] == data[0] == np.inf
    t = Density(np.zeros((1, 3)), zero, unknown, unknown)
    assert traction_cost(T, np.array([1]), [t], np.ones(1))[0] == np.inf


@pytest.mark.parametrize("name", ["RIGID", "LIFT", "MEAN", "QUADRATIC"])
def test_constants_are_used(monkeypatch, name):
    T = Topology([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0, 1, 2]])
    f = Density(np.zeros((1, 6)), np.ones(1), np.ones(1), np.ones(1))
    before = oscillation(T, [f, f], np.ones(1))[0]
    monkeypatch.setattr(forces, name, {2: 0.0, 3: 0.0})
    assert oscillation(T, [f, f], np.ones(1))[0] < 0.98 * before
