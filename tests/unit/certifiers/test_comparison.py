"""Transfer by comparison states: the exact identity, μ, and what is declared."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from tests.support import gallery

METHODS = [
    pp.Exact(),
    pp.Exact(rounding=False),
    pp.Norm(),
    pp.Inexact("both"),
    pp.Localized(radius=0.3),
    pp.Randomized(seed=1),
]


def poisson(n):
    """−u″ = π² sin πx with exactly integrated loads; u* = sin πx."""
    case = gallery.poisson_1d(n)
    x, h = case.points[:, 0], 1.0 / n
    b = np.sin(np.pi * x) * 2.0 * (1.0 - np.cos(np.pi * h)) / h
    system = pp.LinearSystem(case.A, b, space=case.space, row_points=case.points)
    return system, x


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_interpolant_as_comparison_state(method):
    """In 1D the Galerkin solution interpolates, so off-node queries show only the evaluation error."""
    system, x = poisson(16)
    rng = np.random.default_rng(0)
    at = np.array([0.11, 0.3, 0.53, 0.77])
    cell = np.floor(at * 16).astype(int)
    L = np.zeros((4, x.size))
    t = at * 16 - cell
    L[np.arange(4), cell], L[np.arange(4), cell + 1] = 1.0 - t, t
    queries = pp.Queries(L, points=at)
    truth = np.sin(np.pi * at)
    interpolant = np.sin(np.pi * x)
    interpolant[[0, -1]] = 0.0
    evaluation = np.abs(L @ interpolant - truth) + 1e-15
    U = system.space.project(interpolant + 0.1 * rng.normal(size=x.size)).U
    c = pp.certify(system, U, queries, method, transfer=pp.Comparison(evaluation, state=interpolant))
    assert c.contains(truth).all()
    assert c.target == "continuous"
    assert np.all(np.abs(U @ L.T - truth) <= c.value_radius * (1 + 1e-12))
    if "bias" in c.details:
        identity = c.details["bias"] + L @ interpolant - truth
        exact = pp.certify(system, U, queries)
        assert np.allclose(exact.center - truth, identity, atol=1e-12)
    declared = [a.claim for a in c.assumptions if a.status == "declared" and "ε_eval" in a.claim]
    assert len(declared) == 1


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_declared_bound_is_sigma_times_T(method):
    system, x = poisson(12)
    L = np.eye(x.size)[[3, 6]]
    queries = pp.Queries(L, points=x[[3, 6]])
    c = pp.certify(system, np.zeros(x.size), queries, method, transfer=pp.Comparison([0.1, 0.2], residual=0.5))
    assert np.allclose(c.terms["transfer"], 0.5 * c.sigma, rtol=1e-12)
    assert np.array_equal(c.terms["evaluation"], [0.1, 0.2])
    assert sum(a.status == "declared" for a in c.assumptions) >= 2


def test_computed_consistency_norm_where_no_green_vectors_are_kept():
    system, x = poisson(12)
    state = np.sin(np.pi * x) * 1.01
    state[[0, -1]] = 0.0
    queries, transfer = pp.Queries(np.eye(x.size)[[3]]), pp.Comparison(0.0, state=state)
    c = pp.certify(system, np.zeros(x.size), queries, pp.Norm(), transfer=transfer)
    tau = system.residual(state)
    assert c.details["consistency_norm"] == pytest.approx(np.linalg.norm(tau), rel=1e-12)
    assert c.terms["transfer"][0] == pytest.approx(c.sigma[0] * np.linalg.norm(tau), rel=1e-12)


def test_contraction_orders_of_a_sequence():
    """|gᵀr| of the interpolated quadratic perturbation and ε_eval contract at second order in 1D."""
    sizes, certificates = (8, 16, 32, 64), []
    for n in sizes:
        system, x = poisson(n)
        at, cell = 0.3, int(0.3 * n)
        L = np.zeros((1, x.size))
        L[0, cell], L[0, cell + 1] = 1.0 - (at * n - cell), at * n - cell
        U = system.space.project(np.sin(np.pi * x) + x * (1 - x) / n**2).U
        interpolant = np.sin(np.pi * x)
        interpolant[[0, -1]] = 0.0
        evaluation = np.pi**2 / 8 / n**2  # ‖u″‖_∞ h²/8
        transfer = pp.Comparison(evaluation, state=interpolant)
        certificates.append(pp.certify(system, U, pp.Queries(L), transfer=transfer, raw=L @ U + 1.0 / n))
    orders = pp.observed_orders([1.0 / n for n in sizes], certificates)
    assert np.allclose(orders["evaluation"], 2.0, atol=1e-9)
    assert np.allclose(orders["correction"], 2.0, atol=0.05)
    assert np.allclose(orders["mismatch"], 1.0, atol=1e-9)
    assert np.allclose(orders["radius"], 2.0, atol=0.05)
    assert np.allclose(orders["raw_radius"][-1], 1.0, atol=0.2)
    with pytest.raises(pp.InputError, match="decrease"):
        pp.observed_orders([1.0, 2.0, 3.0, 4.0], certificates)
    with pytest.raises(pp.InputError, match="two levels"):
        pp.observed_orders([1.0], certificates[:1])
