"""Triangular solves in one pass, against dense ones and SuperLU's own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.solvers import direct
from pinnpoint.solvers.direct import SparseLU
from tests.support import gallery


def solved(A, B, monkeypatch):
    solver = SparseLU(A)
    before = np.stack([solver.solve(b) for b in B.T], axis=1)
    assert solver._both is None
    after = solver.solve(B)
    assert solver._both is not None
    assert np.array_equal(solver.solve_transposed(B), after)
    assert np.allclose(np.stack([solver.solve(b) for b in B.T], axis=1), after, rtol=1e-10, atol=1e-13)
    return before, after


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("problem", [gallery.poisson_2d, gallery.elasticity_2d])
def test_blocks_agree_with_single_solves(problem, sparse, monkeypatch):
    A, _ = problem(24).reduced()
    A = sp.csr_array((A + A.T) * 0.5)
    n, rng = A.shape[0], np.random.default_rng(0)
    B = np.zeros((n, 20))
    if sparse:
        B[rng.integers(0, n, 20), np.arange(20)] = 1.0
    else:
        B = rng.normal(size=(n, 20))
    before, after = solved(A, B, monkeypatch)
    assert np.abs(A @ after - B).max() < 1e-11 * max(1.0, float(np.abs(after).max())) * float(abs(A).max())
    assert np.allclose(before, after, rtol=1e-9, atol=1e-12)


def test_sparse_right_hand_sides_and_those_in_focus():
    A, _ = gallery.poisson_2d(24).reduced()
    A = sp.csr_array((A + A.T) * 0.5)
    n, rng = A.shape[0], np.random.default_rng(4)
    at = rng.choice(n, 30, replace=False)
    L = sp.csr_array((rng.normal(size=30), (np.arange(30) % 15, at)), shape=(15, n))
    solver, other = SparseLU(A), SparseLU(A)
    dense = solver.solve(L.toarray().T)
    other.expect(15 * direct.CORES, L.indices)
    other.settle()
    assert other._lu is None
    assert other._both._focus is not None
    room = (np.empty((n, 15)), np.empty((n, 15)))
    for found in (
        solver.adjoints(L, room).copy(),
        other.adjoints(L, room).copy(),
        other.adjoints(L[:, :], room).copy(),
    ):
        assert np.allclose(found, dense, rtol=1e-11, atol=1e-14)
    elsewhere = sp.csr_array(([1.0], ([0], [int(np.setdiff1d(np.arange(n), at)[0])])), shape=(1, n))
    found = other.adjoints(elsewhere, (np.empty((n, 1)), np.empty((n, 1)))).copy()
    assert np.allclose(found, solver.solve(elsewhere.toarray().T), rtol=1e-11, atol=1e-14)


def test_a_forest_has_many_roots(monkeypatch):
    """Unconnected blocks and single unknowns."""
    path = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(40, 40))
    A = sp.csr_array(sp.block_diag([path, sp.eye_array(30) * 3.0, path, path]))
    B = np.random.default_rng(1).normal(size=(A.shape[0], 15))
    _, after = solved(A, B, monkeypatch)
    assert np.abs(A @ after - B).max() < 1e-12


def test_indefinite_matrices_pivot_and_stay_with_superlu():
    rng = np.random.default_rng(2)
    G = gallery.random_sparse(rng, 300, 300, 0.02)
    A = sp.csr_array(G + G.T - sp.eye_array(300) * 1e-8)
    solver = SparseLU(A)
    B = rng.normal(size=(300, 20))
    assert np.abs(A @ solver.solve(B) - B).max() < 1e-6


def test_certificates_of_many_queries_equal_those_of_few(monkeypatch):
    case = gallery.poisson_2d(30)
    at = np.random.default_rng(1).choice(case.free, 40, replace=False)
    queries = pp.Queries(sp.csr_array((np.ones(40), (np.arange(40), at)), shape=(40, case.b.size)))
    U = case.space.project(np.random.default_rng(3).uniform(size=case.b.size)).U
    many = pp.certify(case.system(), U, queries)
    monkeypatch.setattr(direct, "MANY", 10**9)
    monkeypatch.setattr("pinnpoint.certifiers.green.MANY", 10**9)
    few = pp.certify(case.system(), U, queries)
    assert np.all(np.abs(many.center - few.center) <= many.radius + few.radius)
    assert np.all(many.radius < 3.0 * few.radius)
    assert np.allclose(many.sigma, few.sigma, rtol=1e-12)
