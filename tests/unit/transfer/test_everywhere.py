"""Bounds that hold everywhere: constants against extremal examples, powers against samples, weights against series."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import pairs, values
from pinnpoint.taylor.inputs import ORDER
from pinnpoint.transfer.everywhere.box_weight import box_weight
from pinnpoint.transfer.everywhere.constants import POWERS, density_constant, flux_constant
from pinnpoint.transfer.everywhere.level_sets import interpolated
from pinnpoint.transfer.everywhere.powers import powers
from pinnpoint.transfer.everywhere.setting import peak_constant

BALL = {1: 2.0, 2: math.pi, 3: 4.0 * math.pi / 3.0}
"""Volumes of the unit balls."""


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("R", [0.3, 1.0, 7.0])
def test_radial_sources_attain_the_constants_of_densities(n, R):
    V = BALL[n] * R**n
    kernel = {1: lambda r: V - r, 2: lambda r: math.log(V / r), 3: lambda r: 3.0 * (r ** (-1 / 3) - V ** (-1 / 3))}[n]
    C = n * BALL[n] ** (1.0 / n)
    square = quad(lambda t: kernel(t**3 * V) ** 2 * 3.0 * t * t * V, 0.0, 1.0)[0]
    attained = square / C**2 / math.sqrt(square)  # e(0) for ϱ* = kernel, against its norm
    assert attained * (1.0 - 1e-9) <= density_constant(n, V) <= attained * (1.0 + 1e-8)


@pytest.mark.parametrize(("n", "p"), [(n, p) for n in POWERS for p in POWERS[n]])
def test_radial_fields_attain_the_constants_of_fluxes(n, p):
    if math.isinf(p):
        attained = 1.0  # δ = 1 in the unit ball: e(0) = 1
    else:
        size = (p - 1.0) / (p - n)  # ∫₀¹ r^{(1−n)/(p−1)} dr = e(0), and ‖δ‖_p^p/(nω_n)
        attained = size / (n * BALL[n] * size) ** (1.0 / p)
    for scale in (1.0, 8.0):  # of the volume: the constant goes with R^{1 − n/p}
        expected = attained * scale ** (1.0 / n - (0.0 if math.isinf(p) else 1.0 / p))
        assert expected <= flux_constant(n, p, BALL[n] * scale) <= expected * (1.0 + 1e-11)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_powers_bound_samples_and_are_close(d):
    rng = np.random.default_rng(d)
    delta, kappa = rng.normal(size=(len(pairs(d)), d, 6)) * 1e-3, rng.uniform(0.1, 10.0, 6)
    bary = rng.dirichlet(np.ones(d + 1), 60_000)
    size = np.sqrt((np.einsum("qp,pin->qin", values(bary), delta) ** 2).sum(axis=1) / kappa)
    for fuzz in (0.0, 2e-4):
        peak, means = powers(delta, kappa, np.full(6, fuzz))
        assert np.all(size.max(axis=0) + fuzz <= peak * (1.0 + 1e-12))
        for k, p in enumerate((2, 4, 6)):
            sampled, proved = np.mean((size + fuzz) ** p, axis=0) ** (1 / p), means[k] ** (1 / p) * peak
            assert np.all(sampled <= 1.02 * proved)
            assert np.all(proved <= 1.02 * sampled + fuzz)


def test_powers_of_nothing_are_next_to_nothing():
    peak, means = powers(np.zeros((6, 2, 3)), np.ones(3), np.zeros(3))
    assert np.all(peak < 1e-5)
    assert np.all(means <= 1.0)


def test_norms_between_known_exponents_are_not_below_the_truth():
    x, w = np.random.default_rng(0).exponential(size=1000), 1.0 / 1000
    norm = {p: float((w * x**p).sum() ** (1 / p)) for p in (2.0, 4.0, 6.0)} | {math.inf: float(x.max())}
    for p in (2.1, 3.0, 3.9, 5.0, 8.0, 24.0):
        assert float((w * x**p).sum() ** (1 / p)) <= interpolated(norm, p)


def test_the_weight_of_a_box_bounds_its_series_in_every_cell():
    sides, J = np.array([1.0, 2.5]), 600
    j = np.arange(1.0, J + 1)
    table = 4.0 / sides.prod() / (math.pi**2 * ((j[:, None] / sides[0]) ** 2 + (j / sides[1]) ** 2)) ** 2
    X = np.random.default_rng(1).random((200, 2)) * sides

    def series(P):
        s, t = (np.sin(math.pi * j * (P[:, i : i + 1] / sides[i])) ** 2 for i in range(2))
        return np.sqrt(np.einsum("nj,jk,nk->n", s, table, t))

    exact = series(X)
    there = box_weight(X, X, (np.zeros(2), sides))
    assert np.all(exact <= there)
    assert np.all(there <= 1.05 * exact + 2e-2)
    low, high = np.maximum(X - 0.05, 0.0), np.minimum(X + 0.05, sides)
    around = box_weight(low, high, (np.zeros(2), sides))
    for a in (0.0, 0.3, 1.0):
        for b in (0.0, 0.6, 1.0):
            inside = low + np.array([a, b]) * (high - low)
            assert np.all(series(inside) <= around)


def test_the_weight_of_a_line_is_the_norm_of_its_green_function():
    x = np.linspace(0.0, 2.0, 9)[:, None]
    assert np.allclose(box_weight(x, x, (np.zeros(1), np.full(1, 2.0))), (x * (2 - x) / math.sqrt(6.0))[:, 0])


def test_rows_of_the_band_are_the_mesh_s_cells():
    mesh = pp.io.generate("lshape", 3)
    assert np.array_equal(np.sort(mesh.cells, axis=1), Topology.of(mesh).cells)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_largest_value_of_a_polynomial_against_its_root_mean_square(d):
    """C² is the Christoffel number of d r^(d−1) at 0, by the exact inverse of its moments."""
    q = ORDER[d]
    A = [[Fraction(d, i + j + d) for j in range(q + 1)] + [Fraction(int(i == 0))] for i in range(q + 1)]
    for k in range(q + 1):
        A[k] = [x / A[k][k] for x in A[k]]
        for i in range(q + 1):
            if i != k:
                A[i] = [x - A[i][k] * y for x, y in zip(A[i], A[k], strict=True)]
    assert A[0][-1] == int(peak_constant(d)) ** 2
