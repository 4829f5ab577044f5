"""Admissible spaces: Dirichlet values, gauges, constraints and projections."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from tests.support import gallery


def test_dirichlet_by_index_and_mask():
    a = pp.AdmissibleSpace.dirichlet(5, [0, 3], [1.0, 2.0])
    b = pp.AdmissibleSpace.dirichlet(5, np.array([True, False, False, True, False]), [1.0, 2.0])
    assert np.array_equal(a.U0, b.U0)
    assert np.array_equal(a.free, [1, 2, 4])
    U, y, mismatch = a.project(np.arange(5.0))
    assert np.array_equal(U, [1.0, 1.0, 2.0, 2.0, 4.0])
    assert np.array_equal(y, [1.0, 2.0, 4.0])
    assert np.array_equal(mismatch, [-1.0, 0.0, 0.0, 1.0, 0.0])


def test_projection_is_the_nearest_admissible_vector():
    rng = np.random.default_rng(0)
    C, d = rng.normal(size=(3, 10)), rng.normal(size=3)
    space = pp.AdmissibleSpace.constrained(C, d)
    U = rng.normal(size=10)
    V, _, mismatch = space.project(U)
    assert np.allclose(C @ V, d)
    assert np.allclose(V + mismatch, U)
    nearest = U - np.linalg.pinv(C) @ (C @ U - d)
    assert np.allclose(V, nearest)
    assert np.linalg.norm(space.Z.toarray(), 2) <= space.norm


def test_gauge_removes_the_nullspace_of_a_neumann_problem():
    """Zero mean: the singular stiffness matrix becomes definite on the space."""
    case = gallery.poisson_1d(12)
    b = np.cos(np.pi * np.linspace(0, 1, 13)) * np.r_[0.5, np.ones(11), 0.5] / 12
    mean = np.r_[0.5, np.ones(11), 0.5] / 12
    space = pp.AdmissibleSpace.constrained(mean, 0.0)
    c = pp.certify(
        pp.LinearSystem(case.A, b, space=space), space.vector_of(np.zeros(12)), pp.Queries(np.eye(13)[[0, 6]])
    )
    dense = np.block([[case.A.toarray(), mean[:, None]], [mean[None, :], np.zeros((1, 1))]])
    truth = np.linalg.solve(dense, np.append(b, 0.0))[:13]
    assert np.allclose(c.center, truth[[0, 6]], atol=1e-13)
    with pytest.raises(pp.InputError, match="singular"):
        pp.certify(pp.LinearSystem(case.A, b), np.zeros(13), pp.Queries(np.eye(13)[:1]))


def test_multi_point_constraints_tie_entries():
    """Periodic ends and a rigid link, as rows of C."""
    case = gallery.poisson_1d(10)
    A = case.A + sp.eye_array(11) * 0.1
    C = np.zeros((2, 11))
    C[0, [0, 10]] = 1.0, -1.0
    C[1, [3, 4]] = 1.0, -2.0
    space = pp.AdmissibleSpace.constrained(C, [0.0, 0.5])
    rng = np.random.default_rng(1)
    c = pp.certify(pp.LinearSystem(A, case.b, space=space), space.vector_of(rng.normal(size=9)), pp.Queries(np.eye(11)))
    saddle = np.block([[A.toarray(), C.T], [C, np.zeros((2, 2))]])
    truth = np.linalg.solve(saddle, np.r_[case.b, 0.0, 0.5])[:11]
    assert np.allclose(c.center, truth, atol=1e-12)


def test_full_rank_is_verified():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(8, 3))
    assert pp.AdmissibleSpace(np.zeros(8), Z).n == 3
    dependent = np.column_stack([Z, Z @ [1.0, 2.0, 3.0]])
    with pytest.raises(pp.InputError, match="full column rank"):
        pp.AdmissibleSpace(np.zeros(8), dependent)
    with pytest.raises(pp.InputError, match="dependent"):
        pp.AdmissibleSpace.constrained(np.stack([Z[:, 0], 2 * Z[:, 0]]), [0.0, 0.0])


def test_a_shifted_origin_is_the_same_space():
    """U₀ may carry values on free entries; only the set matters."""
    rng = np.random.default_rng(3)
    case = gallery.poisson_1d(8)
    Z = case.space.Z
    U0 = case.space.U0 + Z @ rng.normal(size=7)
    U = case.space.vector_of(rng.normal(size=7))
    queries = pp.Queries(np.eye(9)[[4]])
    a = pp.certify(case.system(), U, queries)
    b = pp.certify(pp.LinearSystem(case.A, case.b, space=pp.AdmissibleSpace(U0, Z)), U, queries)
    assert np.array_equal(a.center, b.center)
