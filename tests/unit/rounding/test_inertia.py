"""Counts of negative eigenvalues by signs of pivots."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.inertia import inertia
from pinnpoint.rounding.stability import symmetric_gap
from pinnpoint.transfer.everywhere.mesh_constant import pivots


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


def exact(A):
    return np.vectorize(Fraction)(np.asarray(A.todense(), dtype=float).tolist())


@pytest.mark.parametrize("pivot", [1.0, 1e-4, 1e-9])
def test_the_defect_bounds_what_the_symmetric_factors_leave_in_exact_arithmetic(pivot):
    """With pivots that grow: K is half of L and half of what U says of it."""
    rng = np.random.default_rng(8)
    C = sp.csc_array(sparse_symmetric(rng, 24))
    C = sp.csc_array(C + sp.diags_array(np.where(np.arange(24) % 7 == 0, pivot - C.diagonal(), 0.0)))
    options = {"SymmetricMode": True, "Equil": False}
    lu = spla.splu(C, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    order = np.argsort(lu.perm_c)
    L, U, P = exact(lu.L), exact(lu.U), exact(C[order][:, order])
    K = (L + (U / np.diag(U)[:, None]).T) / 2
    left = P - (K * np.diag(U)) @ K.T
    found = inertia(C)
    assert max(abs(x) for x in left.ravel()) <= Fraction(found.defect)  # entries are below the norm
    norm = float(np.linalg.norm(left.astype(float), 2))
    assert 1e-3 * found.defect <= norm <= found.defect
    negative, defect = pivots(C)
    assert negative == found.negative
    assert defect == pytest.approx(found.defect, rel=1e-9)


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
