"""Korn's constants: proved again on the reference simplices, and never below what polynomial fields reach."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import isqrt

import numpy as np
import pytest

from pinnpoint.transfer.elastic.constants import RIGID, TRACE, rigid_constant, spectral_norm, trace_constant
from pinnpoint.transfer.elastic.forces import MEAN, SPLIT
from tests.support import korn
from tests.support.fields import Fields, linear, rigid, rule, without
from tests.support.simplices import corners


def square_root_up(x: Fraction) -> Fraction:
    scale = 10**20
    return Fraction(isqrt(x.numerator * scale**2 // x.denominator) + 1, scale)


def split_norm(d):
    """q²: with Qp constant on sub-simplices, ‖p − Qp‖² = ‖Qp‖² − ‖p‖², the same ratio for all p of mean zero."""
    n1 = d + 1
    p = [Fraction(d, n1)] + [Fraction(-1, n1)] * d
    share = -Fraction(n1**2, (d + 1) * (d + 2))  # (1 + 1/n1 − δ)/n1² against (1 + δ)/((d + 1)(d + 2)) on mean zero
    square = sum(x * x for x in p)
    return share**2 * square / n1 / (square * Fraction(1, (d + 1) * (d + 2))) - 1


def rigid_bound(d, n, M):
    """The root c of c² = (M + qθc)² + (θc)², rounded up."""
    theta, q = Fraction(1, n), square_root_up(split_norm(d))
    a, b = 1 - theta**2 * (1 + q**2), M * q * theta
    assert a > 0
    return (b + square_root_up(b**2 + a * M**2)) / a


def proved_rigid(d, n, tries):
    cut = korn.Cut(d, n)
    M = next(M for M in tries if korn.cells_proved(cut, float((M * n) ** -2) * (1.0 + 1e-12)))
    return rigid_bound(d, n, M)


def trace_bound(d, n, M):
    cut = korn.Cut(d, n)
    assert all(korn.facet_proved(cut, j, float(M**-2 / n) * (1.0 + 1e-12)) for j in range(d + 1))
    return M / (1 - Fraction(1, n)) ** Fraction(1, 2)


def test_the_split_costs_three_halves_and_the_root_of_three_point_two():
    assert split_norm(2) == Fraction(5, 4)
    assert split_norm(3) == Fraction(11, 5)
    for d in (2, 3):
        assert Fraction(SPLIT[d]) ** 2 >= 1 + split_norm(d)


def test_the_constant_of_the_triangle_is_proved():
    assert proved_rigid(2, 32, [Fraction(611, 1000), Fraction(612, 1000)]) <= Fraction(RIGID[2])


def test_a_coarse_cut_of_the_tetrahedron_proves_a_larger_constant():
    assert proved_rigid(3, 4, [Fraction(772, 1000)]) < Fraction(13, 10)


@pytest.mark.slow
def test_the_constant_of_the_tetrahedron_is_proved():
    tries = [Fraction(k, 10000) for k in (7590, 7585, 7580, 7595)]
    assert proved_rigid(3, 10, tries) <= Fraction(RIGID[3])


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
    assert not all(korn.facet_proved(cut, j, 1.0 / n) for j in range(d + 1))


@pytest.mark.parametrize("d", [2, 3])
def test_the_stress_of_body_moments_is_bounded(d):
    form = np.array([[int(e.p) / int(e.q) for e in row] for row in korn.mean_stress_form(d).tolist()])
    largest = np.sqrt(np.linalg.eigvalsh(form)[-1] / np.prod(np.arange(1, d + 1)))
    assert largest * (1.0 + 1e-12) < MEAN[d] < 1.001 * largest


@pytest.mark.parametrize(("d", "least"), [(2, 0.95), (3, 0.8)])
def test_polynomials_on_the_reference_cell_come_close(d, least):
    V = korn.path(d).astype(float)
    fields = Fields(V, 6)
    found = fields.largest(without(fields.values, fields.weights, rigid(fields.points))) ** 0.5
    assert least * RIGID[d] < found < RIGID[d]
    assert RIGID[d] < rigid_constant(V, np.arange(d + 1)[None])[0] < 1.02 * RIGID[d]


@pytest.mark.parametrize(("d", "least"), [(2, 0.85), (3, 0.6)])
def test_polynomials_on_the_reference_facets_come_close(d, least):
    V = korn.path(d).astype(float)
    fields = Fields(V, 6)
    bary, w = rule(d - 1, 9)
    found = []
    for j in range(d + 1):
        F = np.delete(V, j, axis=0)
        values = fields.at(bary @ F)[0]
        area = np.sqrt(np.linalg.det(np.diff(F, axis=0) @ np.diff(F, axis=0).T)) / (d - 1)
        found.append(fields.largest(without(values, w * area, linear(bary, d))) ** 0.5)
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
        for j in range(d + 1):
            F = np.delete(V, j, axis=0)
            area = np.sqrt(np.linalg.det((F[1:] - F[0]) @ (F[1:] - F[0]).T)) / (d - 1)
            one = np.array([area]), np.array([fields.volume])
            c = trace_constant(V, np.arange(d + 1)[None], np.array([j]), *one)[0]
            values = fields.at(bary @ F)[0]
            assert fields.largest(without(values, w * area, linear(bary, d))) ** 0.5 < c * (1 + 1e-6)


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
