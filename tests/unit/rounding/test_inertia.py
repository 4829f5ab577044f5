"""Counts of negative eigenvalues by signs of pivots."""

import numpy as np
import pytest
import scipy.sparse as sp

from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.inertia import inertia
from pinnpoint.rounding.stability import symmetric_gap


def sparse_symmetric(rng, n):
    A = sp.csr_array(np.where(rng.random((n, n)) < 4.0 / n, rng.standard_normal((n, n)), 0.0))
    return sp.csr_array(A + A.T + sp.diags_array(rng.standard_normal(n)))


def test_counts_are_those_of_dense_eigenvalues():
    rng = np.random.default_rng(1)
    for _ in range(60):
        C = sparse_symmetric(rng, int(rng.integers(2, 60)))
        true = np.linalg.eigvalsh(C.toarray())
        try:
            found = inertia(C)
        except CertificationError:
            continue
        assert (
            np.sum(true < -found.defect * 1.01 - 1e-12) <= found.negative <= np.sum(true < found.defect * 1.01 + 1e-12)
        )


def test_what_is_not_known_of_the_matrix_is_in_the_defect():
    C = sp.csr_array(np.diag([1.0, -1e-3, 2.0]))
    plain, unknown = inertia(C), inertia(C, error=1e-2)
    assert plain.negative == unknown.negative == 1
    assert plain.defect < 1e-12
    assert unknown.defect >= 1e-2


def test_a_zero_pivot_is_told():
    with pytest.raises(CertificationError, match="inertia"):
        inertia(sp.csr_array(np.array([[0.0, 0.0], [0.0, 1.0]])))


def test_no_eigenvalue_lies_in_the_gap_that_is_claimed():
    rng = np.random.default_rng(2)
    seen = 0
    for _ in range(30):
        C = sparse_symmetric(rng, 40)
        found = symmetric_gap(C, None)
        if found is None:
            continue
        seen += 1
        D = 1.0 / np.sqrt(found.P.w)
        scaled = D[:, None] * C.toarray() * D[None, :]
        assert np.abs(np.linalg.eigvalsh(scaled)).min() >= np.sqrt(found.alpha)
        assert np.sqrt(found.alpha) >= 0.4 * np.abs(np.linalg.eigvalsh(scaled)).min()
    assert seen >= 20


def test_a_gap_is_not_claimed_where_there_is_none():
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    singular = Q @ np.diag([0.0, *rng.uniform(1.0, 2.0, 39)]) @ Q.T
    assert symmetric_gap(sp.csr_array(0.5 * (singular + singular.T)), None) is None
    assert symmetric_gap(sp.csr_array(rng.standard_normal((40, 40))), None) is None
