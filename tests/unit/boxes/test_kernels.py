"""Moments of image kernels, rules with proved errors, and the weights of faces, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erf

from pinnpoint.boxes import panels
from pinnpoint.boxes.kernels import Axis, Kernel
from pinnpoint.boxes.panels import Face, time_rule
from pinnpoint.boxes.rules import gauss

ENDS = [("dirichlet", "dirichlet"), ("neumann", "neumann"), ("dirichlet", "neumann"), ("periodic", "periodic")]


def eigen(axis: Axis, x0: float, x: float, s: float) -> float:
    """The kernel without drift, as a series of eigenfunctions."""
    L, n = axis.high - axis.low, np.arange(1, 400)
    a, b = x0 - axis.low, x - axis.low
    if axis.ends == ("dirichlet", "dirichlet"):
        k = n * np.pi / L
        return float(2 / L * np.sum(np.sin(k * a) * np.sin(k * b) * np.exp(-axis.kappa * k**2 * s)))
    if axis.ends == ("neumann", "neumann"):
        k = n * np.pi / L
        return float(1 / L + 2 / L * np.sum(np.cos(k * a) * np.cos(k * b) * np.exp(-axis.kappa * k**2 * s)))
    if axis.ends == ("dirichlet", "neumann"):
        k = (n - 0.5) * np.pi / L
        return float(2 / L * np.sum(np.sin(k * a) * np.sin(k * b) * np.exp(-axis.kappa * k**2 * s)))
    k = 2 * n * np.pi / L
    return float(1 / L + 2 / L * np.sum(np.cos(k * (a - b)) * np.exp(-axis.kappa * k**2 * s)))


@pytest.mark.parametrize("ends", ENDS)
def test_moments_are_those_of_the_eigenfunctions(ends):
    axis, x0, s = Axis(-0.25, 1.0, ends, 0.7), 0.3, 0.05
    cells = np.array([[-0.25, 0.1], [0.1, 0.5], [0.5, 1.0]])
    found = Kernel(axis, x0).moments(cells, np.array([math.sqrt(s)]), 6)

    def powered(x, k, low, high):
        return ((2 * x - low - high) / (high - low)) ** k * eigen(axis, x0, x, s)

    for c, (low, high) in enumerate(cells):
        for k in (0, 1, 5):
            truth = quad(powered, low, high, args=(k, low, high), epsabs=1e-13)[0]
            assert abs(found.values[0, c, k] - truth) < 2e-12
    assert found.error.max() < 5e-12
    assert abs(found.mass.sum() - 1.0) < 1e-10


@pytest.mark.parametrize("v", [1e-6, 1e-3, 0.1, 1.0, 10.0])
def test_errors_of_moments_hold_what_erf_says(v):
    axis = Axis(0.0, 1.0, ("periodic", "periodic"), 1.0)
    cells = np.array([[0.0, 0.25], [0.25, 0.3], [0.3, 1.0]])
    found = Kernel(axis, 0.3).moments(cells, np.array([v]), 3)
    m = np.arange(-400, 401)[:, None]
    truth = 0.5 * (erf((cells[:, 1] - 0.3 - m) / (2 * v)) - erf((cells[:, 0] - 0.3 - m) / (2 * v))).sum(axis=0)
    assert np.all(np.abs(found.values[0, :, 0] - truth) <= found.error[0] + 4e-16 * 400)
    assert np.all(found.values[0, :, 0] <= found.mass[0])


def test_drift_between_dirichlet_ends_solves_the_equation():
    axis, s, h = Axis(0.0, 1.0, ("dirichlet", "dirichlet"), 0.5, 1.5), 0.07, 1e-3
    cells = np.array([[0.0, 1.0]])

    def mass(x, s):
        return float(Kernel(axis, x).moments(cells, np.array([math.sqrt(s)]), 0).values[0, 0, 0])

    rate = (mass(0.4, s + h) - mass(0.4, s - h)) / (2 * h)
    slope = (mass(0.4 + h, s) - mass(0.4 - h, s)) / (2 * h)
    bend = (mass(0.4 + h, s) - 2 * mass(0.4, s) + mass(0.4 - h, s)) / h**2
    assert abs(rate - 0.5 * bend + 1.5 * slope) < 1e-3
    assert mass(1e-9, s) < 1e-7


@pytest.mark.parametrize("drift", [0.0, 1.2])
def test_faces_and_what_is_left_inside_make_one(drift):
    axis, s = Axis(0.0, 1.0, ("dirichlet", "dirichlet"), 0.8, drift), 0.2
    kernel = Kernel(axis, 0.35)
    passed = 0.0
    for upper in (False, True):
        rule = time_rule(0.0, s, 0.0, (), Face(kernel, upper), 0)
        assert np.all(rule.weights >= -rule.blur)
        passed += rule.weights.sum()
        assert rule.quadrature[0] + rule.skipped < 1e-11
    left = kernel.moments(np.array([[0.0, 1.0]]), np.array([math.sqrt(s)]), 0).values[0, 0, 0]
    assert passed + left == pytest.approx(1.0, abs=1e-12)


def test_a_rule_is_off_by_no_more_than_its_bound():
    rule, rho = gauss(6), 2.0
    pole = (rho + 1 / rho) / 2 + 0.2
    truth = math.log((pole + 1) / (pole - 1))
    off = abs(float(rule.weights @ (1 / (pole - rule.nodes))) - truth)
    assert 1e-9 < off <= rule.analytic(1 / 0.2, rho) + rule.own / (pole - 1)
    assert gauss(14).defect < 1e-14


def test_times_are_summed_as_their_integral(monkeypatch):
    kernel = Kernel(Axis(0.0, 1.0, ("dirichlet", "dirichlet"), 1.0), 0.4)
    cells = np.array([[0.0, 1.0]])

    def torsion(nodes):
        monkeypatch.setattr(panels, "IN_TIME", nodes)
        rule = time_rule(0.0, 4.0, 0.0, (kernel,), None, 0)
        found = kernel.moments(cells, rule.v, 0)
        return float(rule.weights @ found.values[:, 0, 0]), rule.quadrature[0] + rule.skipped

    value, error = torsion(18)
    assert abs(value - 0.5 * 0.4 * 0.6) <= error + 1e-13
    rough, wide = torsion(12)  # panels are cut until their rules are good enough
    assert abs(rough - 0.5 * 0.4 * 0.6) <= wide + 1e-13
