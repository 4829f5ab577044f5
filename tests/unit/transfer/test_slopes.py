"""The derivative's kernel against closed forms: moments of Φ', the odd density, data terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.taylor.bernstein import exact_gram, pairs
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.mollifier import density
from pinnpoint.transfer.points.slopes import Falling, OddBump, reach_of, slope_term

OMEGA = {1: 2.0, 2: 2 * math.pi, 3: 4 * math.pi}


def falling(d, kappa, R, r):
    """−Φ' for c = 0 and k = 2, from the mass of w inside r: κω r^{d−1}(−Φ') = 1 − m(r)."""
    C = 1 / (OMEGA[d] * quad(lambda t: (1 - t**2) ** 2 * t ** (d - 1), 0, 1)[0])
    mass = OMEGA[d] * C * quad(lambda t: (1 - t**2) ** 2 * t ** (d - 1), 0, r / R)[0]
    return (1 - mass) / (kappa * OMEGA[d] * r ** (d - 1))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_moments_of_the_derivative_are_those_of_the_flux(d):
    kappa, R = 1.7, 0.6
    F = Falling(Kernel.build(d, kappa, 0.0, R, 2))
    for a, b in ((0.0, 0.15), (0.15, 0.3), (0.3, 0.6), (0.0, 0.6)):
        values, errors, size = F.moments(a, b, 4)
        for m in range(5):

            def weighted(r, m=m, mid=0.5 * (a + b), half=0.5 * (b - a)):
                return falling(d, kappa, R, r) * ((r - mid) / half) ** m * r ** (d - 1)

            truth = quad(weighted, a, b)[0]
            assert abs(values[m] - truth) <= 1e-9 + errors[m]
        assert size >= values[0] > 0.0
        assert errors.max() < 1e-15


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("c", [0.0, 9.0])
def test_the_identity_holds_for_polynomials(d, c):
    """∂_l u(x₀) = ∫ g u + ∫(−Φ')e_l f for u = x_l(1 + x_l²): data terms of −κΔu + c u, and moments of the density."""
    kappa, R, x0 = 1.3, 0.4, np.full(d, 0.55)
    K = Kernel.build(d, kappa, c, R, 2)
    axis = d - 1
    y = f"({'xyz'[axis]}-0.55)"
    f = parse(f"-{kappa}*6*{y} + {c}*({y}+{y}**3)")
    value, error, sure = slope_term(K, f, axis, x0, 1e-12)
    bump = OddBump.of(K, axis, 1.0)
    # ∫ g y and ∫ g y³ over spheres: the means of e² and e⁴ are 1/d and 3/(d(d + 2))
    moments = [
        bump.peak * share * OMEGA[d] * quad(lambda t, n=n: (1 - t**2) * t ** (n + d), 0, 1)[0] * R ** (n + d)
        for n, share in ((1, 1 / d), (3, 3 / (d * (d + 2)) if d > 1 else 1.0))
    ]
    assert sure
    assert error < 1e-10
    assert abs(sum(moments) + value - 1.0) <= 1e-9 + error


def test_constants_and_opaque_functions():
    K = Kernel.build(2, 1.0, 0.0, 0.3, 2)
    x0 = np.array([0.5, 0.5])
    assert slope_term(K, 3.0, 0, x0, 1e-9) == (0.0, 0.0, True)
    assert slope_term(K, parse("1/3"), 0, x0, 1e-9) == (0.0, 0.0, True)
    value, error, _ = slope_term(K, parse("sin(3*x)*exp(y)"), 0, x0, 1e-11)
    other, wrong, sure = slope_term(K, lambda X: np.sin(3 * X[:, 0]) * np.exp(X[:, 1]), 0, x0, 1e-8)
    assert not sure
    assert abs(value - other) <= error + wrong


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_odd_density_on_cells(d):
    mesh = generate({1: "interval", 2: "square", 3: "cube"}[d], {1: 9, 2: 7, 3: 4}[d])
    x0, R, axis = np.full(d, 0.52), 0.41, d - 1
    K = Kernel.build(d, 1.0, 0.0, R, 2)
    bump = OddBump.of(K, axis, 1.0)
    w = density(bump, mesh.points, mesh.cells, x0, 1e-3 * bump.size)
    G = np.array([[float(x) for x in row] for row in exact_gram(d)])
    X = mesh.points[mesh.cells[w.cells]] - x0
    volumes = mesh.volumes[w.cells]
    for m in range(d):
        linear = np.stack([0.5 * (X[:, j, m] + X[:, k, m]) for j, k in pairs(d)], axis=1)
        found = float(np.sum(volumes * np.einsum("ni,ij,nj->n", w.coefficients, G, linear)))
        slack = float(np.sum(volumes * w.error1 * np.abs(linear).max(axis=1)))
        assert abs(found - (m == axis)) <= slack + 1e-12
        assert slack < 2e-2
    # values at points inside, against the formula
    rng = np.random.default_rng(1)
    bary = rng.dirichlet(np.ones(d + 1), 4000)
    B = np.stack([bary[:, j] * bary[:, k] * (1 if j == k else 2) for j, k in pairs(d)], axis=1)
    for row in range(len(w.cells)):
        P = bary @ X[row]
        t = np.maximum(0.0, 1 - (P**2).sum(axis=1) / R**2)
        truth = bump.peak * t * P[:, axis] / R
        rms = np.sqrt(np.mean((truth - B @ w.coefficients[row]) ** 2))
        assert rms <= 1.2 * (w.high[row] + w.error2[row]) + 1e-9 * bump.peak
    # what a change by one can do: ∫|w| = 4C/R · ∫ t |y_l|/R
    truth = bump.size
    found = reach_of(w, mesh.volumes, np.zeros(len(mesh.volumes)))
    assert truth <= found <= 1.5 * truth
