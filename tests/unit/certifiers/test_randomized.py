"""Gaussian probes: exact calibration, simultaneous coverage, reproducibility."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom, chi2

import pinnpoint as pp
from pinnpoint.certifiers.randomized import inflation
from tests.support import gallery


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    case = gallery.poisson_2d(7)
    L = np.eye(case.b.size)[case.free[::6]]
    A, b = case.reduced()
    G = np.linalg.solve(A.toarray().T, L[:, case.free].T)
    truth = G.T @ b
    U = case.space.project(rng.normal(size=case.b.size)).U
    return case, L, np.linalg.norm(G, axis=0), truth, U


@pytest.mark.slow
@pytest.mark.parametrize(("probes", "delta"), [(4, 0.05), (16, 0.2)])
def test_simultaneous_coverage_over_2000_draws(problem, probes, delta):
    """Coverage of all K sensitivities together is at least 1 − δ within binomial error (3 in 10,000)."""
    case, L, sigma, _, _ = problem
    draws, good = 2000, 0
    system, queries = case.system(), pp.Queries(L)
    ratios = []
    for seed in range(draws):
        method = pp.Randomized(probes=probes, delta=delta, seed=seed, rounding=False)
        found = method.prepare(system, queries).sigma
        good += bool(np.all(found >= sigma))
        ratios.append(found / sigma)
    assert good >= binom.ppf(3e-4, draws, 1 - delta)
    # each ratio is inflation · (χ²_m / m)^½, so its mean square is the inflation squared
    mean_square = np.mean(np.square(ratios), axis=0)
    expected = inflation(probes, delta, len(L)) ** 2
    error = expected * np.sqrt(2.0 / probes / draws)
    assert np.all(np.abs(mean_square - expected) < 5 * error)


@pytest.mark.parametrize("shape", ["square", "rectangular"])
def test_refined_probes_bear_a_rough_coercivity(problem, shape):
    """Pairs of floats leave so little that a constant far too small does no harm."""
    case, L, _, _, _ = problem
    system, queries = case.system(), pp.Queries(L)
    if shape == "rectangular":
        A, b = case.reduced()
        tall = sp.vstack([A, 0.1 * A[::3]]).tocsr()
        system, queries = pp.LinearSystem(tall, np.concatenate([b, 0.1 * b[::3]])), pp.Queries(L[:, case.free])
    plain = pp.Randomized(seed=3, rounding=False).prepare(system, queries).sigma
    rough, refined = (
        pp.Randomized(seed=3, coercivity=1e-12, refine=refine).prepare(system, queries).sigma
        for refine in (False, True)
    )
    np.testing.assert_allclose(refined, plain, rtol=1e-9)
    assert np.all(refined >= plain * (1.0 - 1e-14))
    assert np.all(rough > 1.001 * refined)


@pytest.mark.parametrize("K", [1, 7, 1000])
@pytest.mark.parametrize("probes", [1, 4, 16, 64])
def test_inflation_is_the_quantile_formula(probes, K):
    q = chi2.ppf(0.05 / K, probes)
    assert inflation(probes, 0.05, K) == pytest.approx(np.sqrt(probes / q), rel=1e-8)
    assert inflation(probes, 0.05, K) >= np.sqrt(probes / q)


@pytest.mark.slow
@pytest.mark.parametrize("weight", ["identity", "diagonal", "matrix", "energy"])
@pytest.mark.parametrize("shape", ["square", "rectangular"])
def test_probes_have_the_right_covariance(weight, shape):
    """The mean of the probe squares over many probes is σ², for every weight and shape."""
    if weight == "energy" and shape == "rectangular":
        return
    rng = np.random.default_rng(2)
    n, M = 12, 12 if shape == "square" else 20
    A = gallery.random_matrix(rng, n, symmetric=True) if M == n else rng.normal(size=(M, n))
    w = {"identity": None, "diagonal": rng.uniform(0.3, 3, M), "matrix": gallery.random_spd(rng, M)}.get(weight, weight)
    W = {"identity": np.eye(M), "energy": np.linalg.inv(A) if weight == "energy" else None}.get(weight)
    W = np.diag(w) if weight == "diagonal" else (w.toarray() if weight == "matrix" else W)
    L = rng.normal(size=(5, n))
    sigma = np.sqrt(np.einsum("ij,ij->i", L, np.linalg.solve(A.T @ W @ A, L.T).T))
    m = 1500
    system = pp.LinearSystem(A, rng.normal(size=M), weight=w)
    found = pp.Randomized(probes=m, seed=1).prepare(system, pp.Queries(L)).sigma / inflation(m, 0.05, 5)
    assert np.all(np.abs(found / sigma - 1.0) < 5.0 / np.sqrt(2 * m))


def test_large_sparse_weights_use_the_same_law():
    """Above the dense limit the Cholesky factor comes from SuperLU."""
    rng = np.random.default_rng(3)
    case = gallery.poisson_2d(28)
    A, b = case.reduced()
    W = gallery.poisson_2d(28).A[case.free][:, case.free] + 0.1 * sp.eye_array(b.size)
    L = rng.normal(size=(3, b.size))
    for weight, dense in ((W, W.toarray()), ("energy", np.linalg.inv(A.toarray()))):
        H = A.toarray().T @ dense @ A.toarray()
        sigma = np.sqrt(np.einsum("ij,ij->i", L, np.linalg.solve(H, L.T).T))
        system = pp.LinearSystem(A, b, weight=weight)
        found = pp.Randomized(probes=400, seed=1).prepare(system, pp.Queries(L)).sigma / inflation(400, 0.05, 3)
        assert np.all(np.abs(found / sigma - 1.0) < 5.0 / np.sqrt(800))


def test_intervals_and_labels(problem):
    case, L, _, truth, U = problem
    system, queries = case.system(), pp.Queries(L)
    c = pp.certify(system, U, queries, pp.Randomized(seed=4))
    assert c.contains(truth).all()
    assert c.guarantee == "probabilistic"
    assert c.confidence == 0.95
    assert np.all(c.radius < 1e-10)
    loose = pp.certify(system, U, queries, pp.Randomized(seed=4, correct=False))
    assert np.array_equal(loose.center, loose.value)
    assert np.allclose(loose.radius, loose.sigma * loose.residual_norm, rtol=1e-12)
    assert loose.contains(truth).all()
    again = pp.certify(system, U, queries, pp.Randomized(seed=4))
    assert np.array_equal(again.sigma, c.sigma)
    other = pp.certify(system, U, queries, pp.Randomized(seed=5))
    assert not np.array_equal(other.sigma, c.sigma)
    rademacher = pp.certify(system, U, queries, pp.Randomized(seed=4, distribution="rademacher"))
    assert rademacher.guarantee == "estimate"


def test_corrected_interval_counts_the_solve(problem):
    """A rough solver leaves a residual, and the radius says so."""
    case, L, _, truth, U = problem
    c = pp.certify(case.system(), U, pp.Queries(L), pp.Randomized(seed=1, solver=Rough(case)))
    assert np.all(c.radius > 1e-6)
    assert c.contains(truth).all()


class Rough:
    """Solves to four digits."""

    name = "rough"

    def __init__(self, case):
        self.A = case.reduced()[0].toarray()

    def solve(self, b):
        return np.linalg.solve(self.A, b) * (1 + 1e-4)

    def solve_transposed(self, b):
        return np.linalg.solve(self.A.T, b) * (1 + 1e-4)


def test_cost_is_fixed_by_the_probes(problem):
    case, _, _, _, _ = problem
    counting = Counting(case)
    L = np.random.default_rng(0).normal(size=(200, case.b.size))
    pp.Randomized(probes=6, solver=counting).prepare(case.system(), pp.Queries(L))
    assert counting.solves == 6


class Counting(Rough):
    """Counts solves."""

    def __init__(self, case):
        super().__init__(case)
        self.solves = 0

    def solve(self, b):
        self.solves += 1
        return super().solve(b)
