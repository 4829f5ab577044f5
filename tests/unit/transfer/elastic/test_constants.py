"""Korn's constants: proved again on the reference simplices, and never below what polynomial fields reach."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import isqrt

import numpy as np
import pytest
from flint import fmpq

from pinnpoint.taylor.bernstein import values
from pinnpoint.transfer.elastic.constants import (
    LIFT,
    MEAN,
    QUADRATIC,
    RIGID,
    TRACE,
    spectral_norm,
    stretch,
    trace_constant,
)
from tests.support import korn
from tests.support.fields import Fields, linear, rigid, rule, without
from tests.support.simplices import corners


def rigid_constant(V, cells):
    return RIGID[V.shape[1]] * stretch(V, cells)


def root_up(x: Fraction) -> Fraction:
    scale = 10**20
    return Fraction(isqrt(x.numerator * scale**2 // x.denominator) + 1, scale)


def rigid_bound(d, n, M):
    """c ≤ (M + θt)/√(1 − θ²), rounded up."""
    theta = Fraction(1, n)
    return (M + theta * Fraction(LIFT[d])) * root_up(1 / (1 - theta**2))


def proved(holds, cut, tries):
    return next(M for M in tries if holds(cut, float((M * cut.n) ** -2) * (1.0 + 1e-12)))


def quadratic_bound(d, n, M, M2, kappa):
    """c₂ ≤ √((M₂ + θt)² + (Mκ + θĉ)²), rounded up."""
    cut, theta = korn.Cut(d, n), Fraction(1, n)
    assert korn.quadratics_near(cut, fmpq(kappa.numerator, kappa.denominator))
    M2 = proved(korn.quadratics_proved, cut, M2)
    M = proved(korn.cells_proved, cut, M)
    return root_up((M2 + theta * Fraction(LIFT[d])) ** 2 + (M * kappa + theta * Fraction(RIGID[d])) ** 2)


def trace_bound(d, n, M):
    cut = korn.Cut(d, n)  # x ↦ (n − x_d, …, n − x_1) maps the simplex to itself and facet j to facet d − j
    assert all(korn.facet_proved(cut, j, float(M**-2 / n) * (1.0 + 1e-12)) for j in range(d // 2 + 1))
    return M / (1 - Fraction(1, n)) ** Fraction(1, 2)


M_TRIANGLE = [Fraction(611, 1000), Fraction(612, 1000)]
M_TETRAHEDRON = [Fraction(k, 10000) for k in (7590, 7585, 7580, 7595)]


@pytest.mark.parametrize("d", [2, 3])
def test_the_lift_of_linear_forces_has_its_norm(d):
    t = Fraction(LIFT[d]).limit_denominator(1000)
    assert t <= Fraction(LIFT[d])
    assert korn.lift_norm(d, fmpq(t.numerator, t.denominator))
    assert not korn.lift_norm(d, fmpq(t.numerator, t.denominator) * fmpq(98, 100))


def test_the_constants_of_the_triangle_are_proved():
    cut = korn.Cut(2, 32)
    assert rigid_bound(2, 32, proved(korn.cells_proved, cut, M_TRIANGLE)) <= Fraction(RIGID[2])
    M2 = [Fraction(320, 1000), Fraction(3205, 10000)]
    assert quadratic_bound(2, 32, M_TRIANGLE, M2, Fraction(1, 1000)) <= Fraction(QUADRATIC[2])


def test_a_coarse_cut_of_the_tetrahedron_proves_larger_constants():
    M = [Fraction(772, 1000)]
    assert rigid_bound(3, 4, proved(korn.cells_proved, korn.Cut(3, 4), M)) < Fraction(93, 100)
    assert quadratic_bound(3, 4, M, [Fraction(1, 2)], Fraction(1, 5)) < Fraction(73, 100)


@pytest.mark.slow
def test_the_constants_of_the_tetrahedron_are_proved():
    cut = korn.Cut(3, 10)
    assert rigid_bound(3, 10, proved(korn.cells_proved, cut, M_TETRAHEDRON)) <= Fraction(RIGID[3])
    M2 = [Fraction(460, 1000), Fraction(455, 1000)]
    assert quadratic_bound(3, 10, M_TETRAHEDRON, M2, Fraction(2, 100)) <= Fraction(QUADRATIC[3])


def test_the_trace_constant_of_the_triangle_is_proved():
    assert trace_bound(2, 32, Fraction(17, 10)) <= TRACE[2]


def test_a_coarse_cut_proves_a_larger_trace_constant():
    assert trace_bound(3, 4, Fraction(304, 100)) < 3.52


@pytest.mark.slow
def test_the_trace_constant_of_the_tetrahedron_is_proved():
    assert trace_bound(3, 10, Fraction(29, 10)) <= TRACE[3]


@pytest.mark.parametrize(("d", "n"), [(2, 8), (3, 3)])
def test_the_eigenvalue_proof_fails_beyond_the_eigenvalue(d, n):
    cut = korn.Cut(d, n)
    assert not korn.cells_proved(cut, (0.95 * {2: 0.611, 3: 0.79}[d] * n) ** -2)
    assert not korn.quadratics_proved(cut, (0.9 * {2: 0.32, 3: 0.5}[d] * n) ** -2)
    assert not korn.quadratics_near(cut, fmpq(1, 1000))
    assert not all(korn.facet_proved(cut, j, 1.0 / n) for j in range(d + 1))


@pytest.mark.parametrize("d", [2, 3])
def test_the_stress_of_body_moments_is_bounded(d):
    form = np.array([[int(e.p) / int(e.q) for e in row] for row in korn.mean_stress_form(d).tolist()])
    largest = np.sqrt(np.linalg.eigvalsh(form)[-1] / np.prod(np.arange(1, d + 1)))
    assert largest * (1.0 + 1e-12) < MEAN[d] < 1.001 * largest


@pytest.mark.parametrize(("d", "least"), [(2, 0.94), (3, 0.8)])
def test_polynomials_on_the_reference_cell_come_close(d, least):
    V = korn.path(d).astype(float)
    fields = Fields(V, 6)
    found = fields.largest(without(fields.values, fields.weights, rigid(fields.points))) ** 0.5
    assert least * RIGID[d] < found < RIGID[d]
    assert RIGID[d] < rigid_constant(V, np.arange(d + 1)[None])[0] < 1.02 * RIGID[d]
    basis = np.einsum("kp,ab->kpab", values(fields.bary), np.eye(d)).reshape(len(fields.bary), -1, d)
    found = fields.largest(without(fields.values, fields.weights, basis)) ** 0.5
    assert least * QUADRATIC[d] < found < QUADRATIC[d]


@pytest.mark.parametrize(("d", "least"), [(2, 0.85), (3, 0.6)])
def test_polynomials_on_the_reference_facets_come_close(d, least):
    V = korn.path(d).astype(float)
    fields = Fields(V, 6)
    bary, w = rule(d - 1, 9)
    found = []
    for j in range(d + 1):
        F = np.delete(V, j, axis=0)
        traces = fields.at(bary @ F)[0]
        area = np.sqrt(np.linalg.det(np.diff(F, axis=0) @ np.diff(F, axis=0).T)) / (d - 1)
        found.append(fields.largest(without(traces, w * area, linear(bary, d))) ** 0.5)
    assert least * TRACE[d] < max(found) < TRACE[d]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", ["plain", "wide"])
def test_no_polynomial_on_any_cell_exceeds_its_constants(d, regime):
    rng = np.random.default_rng(d)
    bary, w = rule(d - 1, 8)
    for V in corners(rng, d, d, regime, 8):
        fields = Fields(V, 4)
        c = rigid_constant(V, np.arange(d + 1)[None])[0]
        found = fields.largest(without(fields.values, fields.weights, rigid(fields.points - V[0]))) ** 0.5
        assert found < c * (1 + 1e-6)
        basis = np.einsum("kp,ab->kpab", values(fields.bary), np.eye(d)).reshape(len(fields.bary), -1, d)
        found = fields.largest(without(fields.values, fields.weights, basis)) ** 0.5
        assert found < QUADRATIC[d] * stretch(V, np.arange(d + 1)[None])[0] * (1 + 1e-6)
        for j in range(d + 1):
            F = np.delete(V, j, axis=0)
            area = np.sqrt(np.linalg.det((F[1:] - F[0]) @ (F[1:] - F[0]).T)) / (d - 1)
            one = np.array([area]), np.array([fields.volume])
            c = trace_constant(V, np.arange(d + 1)[None], np.array([j]), *one)[0]
            traces = fields.at(bary @ F)[0]
            assert fields.largest(without(traces, w * area, linear(bary, d))) ** 0.5 < c * (1 + 1e-6)


def measure(F):
    """Of a simplex (m + 1, d) in any space."""
    E = F[1:] - F[0]
    return np.sqrt(np.linalg.det(E @ E.T)) / np.prod(np.arange(1, len(F)))


@pytest.mark.parametrize("d", [2, 3])
def test_trace_constants_are_those_of_the_maps_from_the_reference_cell(d):
    """ĉ_F ‖B‖²‖B⁻¹‖ √(|F||K̂|/(|F̂||K|)) in the best order, with the facets of K̂ as they are."""
    K = korn.path(d).astype(float)
    for V in corners(np.random.default_rng(7), d, d, "wide", 6):
        for j in range(d + 1):
            size, volume = measure(np.delete(V, j, axis=0)), measure(V)
            each = []
            for order in permutations(range(d + 1)):
                B = np.linalg.solve(np.diff(K, axis=0), np.diff(V[list(order)], axis=0)).T
                stretched = np.linalg.norm(B, 2) ** 2 * np.linalg.norm(np.linalg.inv(B), 2)
                own = measure(np.delete(K, order.index(j), axis=0))
                each.append(stretched * np.sqrt(size * measure(K) / (own * volume)))
            found = trace_constant(V, np.arange(d + 1)[None], np.array([j]), np.array([size]), np.array([volume]))[0]
            assert TRACE[d] * min(each) * (1.0 - 1e-12) < found < 1.03 * TRACE[d] * min(each)


@pytest.mark.parametrize("d", [2, 3])
def test_constants_do_not_depend_on_the_order_of_vertices_and_scale(d):
    V = np.random.default_rng(5).normal(size=(d + 1, d))
    orders = np.array(list(permutations(range(d + 1))))
    c = rigid_constant(V, orders)
    assert np.ptp(c) < 1e-9 * c[0]
    assert rigid_constant(4.0 * V, orders[:1])[0] == pytest.approx(4.0 * c[0])
    j = np.argsort(orders, axis=1)[:, 0]  # the facet opposite the same vertex
    c = trace_constant(V, orders, j, np.ones(len(orders)), np.ones(len(orders)))
    assert np.ptp(c) < 1e-9 * c[0]


def test_spectral_norms_are_bounds():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(500, 3, 3)) * 10.0 ** rng.integers(-80, 80, (500, 1, 1))
    A[:100, 2] = 0.0
    found, true = spectral_norm(A), np.linalg.norm(A, 2, axis=(1, 2))
    assert np.all(found >= true)
    assert np.all(found <= 1.01 * true)
    assert spectral_norm(np.eye(3)[None])[0] >= 1.0


def test_flat_cells_have_no_constant():
    V = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
    assert rigid_constant(V, np.array([[0, 1, 2]]))[0] == np.inf
    assert np.isfinite(rigid_constant(V, np.array([[0, 1, 3]]))[0])
