"""Overdetermined systems: effective residual, minimal Green representative, large sparse normal equations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from tests.support import gallery


def make(weight, seed=0):
    rng = np.random.default_rng(seed)
    M, n = 40, 25
    R, d = rng.normal(size=(M, n)), rng.normal(size=M)
    w = {"diagonal": rng.uniform(0.5, 2.0, M), "matrix": gallery.random_spd(rng, M)}.get(weight)
    W = np.eye(M) if w is None else (np.diag(w) if isinstance(w, np.ndarray) else w.toarray())
    return rng, R, d, w, W


@pytest.mark.parametrize("weight", [None, "diagonal", "matrix"])
def test_effective_residual_and_minimal_green_vector(weight):
    rng, R, d, w, W = make(weight)
    n = R.shape[1]
    L, U = rng.normal(size=(3, n)), rng.normal(size=n)
    system = pp.LinearSystem(R, d, weight=w)
    certifier = pp.Exact().prepare(system, pp.Queries(L))
    c = certifier.certify(U)
    H = R.T @ W @ R
    P_eff = R @ np.linalg.solve(H, R.T @ W)
    r = R @ U - d
    effective = np.sqrt((P_eff @ r) @ W @ (P_eff @ r))
    assert c.effective_residual_norm == pytest.approx(effective, rel=1e-10)
    assert c.effective_residual_norm >= effective * (1 - 1e-13)
    assert c.effective_residual_norm < c.residual_norm
    # every other g with Âᵀg = ℓ̂ is longer in the W⁻¹ norm (prop. minimal_green_representative)
    inverse = np.linalg.inv(W)
    kernel = np.linalg.svd(R.T)[2][n:]
    for i in range(3):
        g = certifier.ground.core.green(certifier.green.ball(i)).hi
        assert np.allclose(R.T @ g, L[i])
        assert np.sqrt(g @ inverse @ g) == pytest.approx(c.sigma[i], rel=1e-10)
        for _ in range(5):
            other = g + kernel.T @ rng.normal(size=kernel.shape[0])
            assert np.sqrt(other @ inverse @ other) > c.sigma[i]


def test_norm_width_uses_the_effective_residual():
    rng, R, d, _, _ = make(None)
    U = rng.normal(size=R.shape[1])
    c = pp.certify(pp.LinearSystem(R, d), U, pp.Queries(np.eye(R.shape[1])[:3]), pp.Norm())
    assert np.allclose(c.radius, c.sigma * c.effective_residual_norm, rtol=1e-9)
    assert np.all(c.radius < c.sigma * c.residual_norm)


@pytest.mark.parametrize("solver", [None, "lsmr", "krylov"])
def test_large_sparse_least_squares(solver):
    """Collocation-like: more equations than unknowns, 800 unknowns, so the sparse normal matrix is factored."""
    rng = np.random.default_rng(4)
    n, M = 800, 1500
    R = gallery.random_sparse(rng, M, n, 0.004) + sp.eye_array(M, n) * 2.0
    R = sp.csr_array(R)
    d, U = rng.normal(size=M), rng.normal(size=n)
    L = sp.csr_array((np.ones(3), ([0, 1, 2], [5, 300, 799])), shape=(3, n))
    truth = L @ np.linalg.lstsq(R.toarray(), d, rcond=None)[0]
    c = pp.certify(pp.LinearSystem(R, d), U, pp.Queries(L), pp.Exact(solver=solver))
    assert np.all(np.abs(c.center - truth) <= c.radius + 1e-11)
    assert np.all(c.radius < 1e-8)


def test_square_systems_are_not_squared():
    """Condition 1e9 is fine for Â itself and hopeless for ÂᵀÂ."""
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    A = Q @ np.diag(np.geomspace(1, 1e-9, 20)) @ Q.T
    A = (A + A.T) * 0.5
    x = rng.normal(size=20)
    c = pp.certify(pp.LinearSystem(A, A @ x), np.zeros(20), pp.Queries(np.eye(20)[:3]), pp.Exact(refine=True))
    assert np.all(c.radius < 1e-4)


def test_assembled_matrix_with_dirichlet_space_means_galerkin():
    case = gallery.poisson_2d(6)
    L = np.eye(case.b.size)[case.free[:2]]
    A, b = case.reduced()
    truth = L[:, case.free] @ np.linalg.solve(A.toarray(), b)
    c = pp.certify(case.system(), case.space.U0, pp.Queries(L))
    assert c.contains(truth).all() or np.all(np.abs(c.center - truth) < 1e-13)
    assert any("Zᵀ(A U − b)" in claim.claim for claim in c.assumptions)
    rows = pp.LinearSystem(case.A, case.b, space=case.space, reduction="rows")
    assert rows.M == case.b.size
    least = pp.certify(rows, case.space.U0, pp.Queries(L))
    dense = case.A.toarray()[:, case.free]
    other = L[:, case.free] @ np.linalg.lstsq(dense, case.b, rcond=None)[0]
    assert np.allclose(least.center, other, rtol=1e-8)
    assert any("least-squares" in claim.claim for claim in least.assumptions)
