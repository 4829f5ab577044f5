"""Verified eigenvalue bounds: sharp on finite elements, and never false around the exact eigenvalue."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from flint import arb, ctx

import pinnpoint as pp
from pinnpoint.rounding import coercivity
from pinnpoint.rounding.coercivity import cholesky_defect, lu_defect
from pinnpoint.rounding.stability import approximate_inverse
from pinnpoint.solvers.cholmod import Cholmod
from pinnpoint.solvers.wheel_cholmod import WheelCholmod
from tests.support import exactly, gallery


def smallest_eigenvalue(A) -> float:
    """Independent of the package: shift-invert Lanczos to full accuracy."""
    S = sp.csc_matrix((A + A.T) * 0.5)
    return float(spla.eigsh(S, k=1, sigma=0.0, which="LM", tol=1e-12)[0][0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: gallery.poisson_2d(318),
        lambda: gallery.elasticity_2d(225),
        lambda: gallery.elasticity_2d(223, "cantilever"),
    ],
    ids=["poisson", "clamped", "cantilever"],
)
def test_within_one_percent_at_100k_dofs(make):
    A, b = make().reduced()
    assert 99_000 <= b.size <= 102_000
    exact = smallest_eigenvalue(A)
    bound = pp.verify_coercivity(A)
    assert bound.status == "verified"
    assert 0.99 * exact <= bound.alpha <= exact * (1 + 1e-9)


@pytest.mark.parametrize("method", ["shift", "m-matrix"])
@pytest.mark.parametrize("contrast", [1.0, 1e6])
def test_methods_and_equilibration(method, contrast):
    A, _ = gallery.poisson_2d(30, contrast=contrast).reduced()
    D = A.toarray()
    plain = pp.verify_coercivity(A, method=method)
    assert 0.98 < plain.alpha / np.linalg.eigvalsh(D)[0] <= 1.0
    scaled = pp.verify_coercivity(A, method=method, equilibrate=True)
    exact = np.linalg.eigvalsh(scaled.scale[:, None] * D * scaled.scale[None, :])[0]
    assert 0.98 < scaled.alpha / exact <= 1.0
    assert np.array_equal(scaled.scale, np.exp2(np.round(np.log2(scaled.scale))))


def test_bound_relative_to_a_matrix():
    rng = np.random.default_rng(0)
    A, _ = gallery.elasticity_2d(6).reduced()
    S = sp.csr_array((A + A.T) * 0.5)
    for P in (gallery.random_spd(rng, A.shape[0]), rng.uniform(0.5, 2.0, A.shape[0])):
        dense = np.diag(P) if isinstance(P, np.ndarray) else P.toarray()
        exact = scipy.linalg.eigh(S.toarray(), dense, eigvals_only=True)[0]
        bound = pp.verify_coercivity(A, P)
        assert 0.98 * exact < bound.alpha <= exact * (1 + 1e-12)


def counted(C):
    """LAPACK's factor of a dense copy, with the entries of its rows."""
    try:
        L = np.linalg.cholesky(C.toarray())
    except np.linalg.LinAlgError:
        return False
    return lambda: np.count_nonzero(L, axis=1)


def counted_defect(B, theta, P=None):
    """The defect by the entries of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coercivity, "SMALL", 0.0)
        return cholesky_defect(B, theta, P, counted)


@pytest.mark.parametrize("defect", [cholesky_defect, counted_defect, lu_defect])
@pytest.mark.parametrize("n", [5, 40, 200])
def test_shift_sweep_never_verifies_a_false_bound(defect, n):
    """tridiag(−1, 2, −1) is exact in float64 and its eigenvalues are known: 2 − 2 cos(kπ/(n+1))."""
    ctx.prec = 300
    S = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()
    exact = 2 - 2 * (arb.pi() / (n + 1)).cos()
    steps = np.concatenate([-np.logspace(-17, 0.5, 60), np.logspace(-17, -1, 60), [0.0]])
    verified = 0
    for step in steps:
        theta = float(exact) * (1.0 - step)
        if theta <= 0.0:
            continue
        alpha = theta - defect(S, theta)
        if np.isfinite(alpha) and alpha > 0.0:
            verified += 1
            assert arb(alpha) <= exact
        try:
            bound = pp.verify_coercivity(S, method="shift", shift=theta)
        except pp.CertificationError:
            continue
        assert arb(bound.alpha) <= exact
    assert verified >= 20


def test_the_defect_of_a_factor_is_bounded_by_the_entries_of_its_rows():
    """L Lᵀ − C in rationals, entry by entry, and its norm; rows of unequal length beside diagonals of unequal size."""
    rng = np.random.default_rng(3)
    n = 24
    T = np.tril(rng.normal(size=(n, n))) * (rng.uniform(size=(n, n)) < 0.2) * 10.0 ** rng.integers(-3, 4, n)[:, None]
    C = T @ T.T + np.diag(10.0 ** rng.integers(-4, 6, n))
    C = (C + C.T) * 0.5
    L = np.linalg.cholesky(C)
    entries = np.count_nonzero(L, axis=1)
    assert entries.min() < n // 4
    R = [[Fraction(x) for x in row] for row in L]
    u = Fraction(1, 2**53)
    g = [k * u / (1 - k * u) for k in (int(s) + 2 for s in entries)]
    d2 = [x / (1 - x) * Fraction(C[i, i]) for i, x in enumerate(g)]
    off = [
        [sum(a * b for a, b in zip(R[i], R[j], strict=True)) - Fraction(C[i, j]) for j in range(n)] for i in range(n)
    ]
    assert all(off[i][j] ** 2 <= d2[i] * d2[j] for i in range(n) for j in range(n))
    assert any(off[i][j] for i in range(n) for j in range(n))
    bound = coercivity._rump(sp.csr_array(C), entries)
    assert Fraction(bound) >= sum(d2)
    for _ in range(50):  # rows come in an order of the factor's own
        mixed = rng.permutation(n)
        assert Fraction(bound) >= sum(g[k] / (1 - g[k]) * Fraction(C[i, i]) for i, k in enumerate(mixed))
    assert coercivity._rump(sp.csr_array(C), np.full(n, n)) >= bound


def test_rows_are_counted_where_the_size_alone_costs_too_much():
    n, asked = 5000, []
    S = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()

    def definite(C):
        asked.append("factor")
        return lambda: asked.append("rows") or np.full(n, 2)

    theta = 1e-9
    assert cholesky_defect(S, theta, definite=definite) < 2e-3 * cholesky_defect(S, theta, definite=lambda C: True)
    assert asked == ["factor", "rows"]
    cholesky_defect(S, 1e-3, definite=definite)
    assert asked == ["factor", "rows", "factor"]
    assert cholesky_defect(S, theta, definite=lambda C: lambda: np.full(3, 2)) > 1e-9  # not of this matrix
    assert cholesky_defect(S, theta, definite=lambda C: False) == np.inf


@pytest.mark.parametrize("name", ["cholmod", "cvxopt"])
def test_packages_count_the_rows_of_their_factors(name):
    package = {"cholmod": Cholmod, "cvxopt": WheelCholmod}[name]
    pytest.importorskip({"cholmod": "sksparse", "cvxopt": "cvxopt"}[name], reason=f"pip install 'pinnpoint[{name}]'")
    A = gallery.elasticity_2d(20).reduced()[0]
    A = sp.csr_array((A + A.T) * 0.5)
    rows = package.definite(A)()
    assert rows.shape == (A.shape[0],)
    assert rows.min() >= 1
    assert sp.tril(A).nnz <= rows.sum() < 0.2 * A.shape[0] ** 2


def test_one_factorization_is_made_where_smaller_shifts_would_not_help():
    asked = []
    S = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(700, 700)).tocsr()
    with pytest.raises(pp.CertificationError):
        pp.verify_coercivity(S, method="shift", definite=lambda C: asked.append(1) or True, error=lambda v: v)
    assert len(asked) == 1


@pytest.mark.parametrize("seed", range(25))
def test_random_bounds_are_true_in_rationals(seed):
    """S − αP is decided exactly, for every way of proving α."""
    rng = np.random.default_rng(seed)
    n = 9
    T = rng.normal(size=(n, n))
    S = T @ T.T * 10.0 ** rng.integers(-5, 5)
    S = (S + S.T) * 0.5 + np.eye(n) * 10.0 ** rng.integers(-12, 0)
    if seed % 3 == 0:
        S = np.diag(np.abs(S).sum(axis=1) * (1 + 1e-9)) - np.abs(S - np.diag(np.diag(S)))
    for method in ("auto", "shift"):
        for equilibrate in (False, True):
            try:
                bound = pp.verify_coercivity(S, method=method, equilibrate=equilibrate)
            except pp.CertificationError:
                continue
            d = np.ones(n) if bound.scale is None else bound.scale
            assert exactly.is_positive_semidefinite(d[:, None] * S * d[None, :], bound.alpha)
    top = np.linalg.eigvalsh(S)[0]
    assert not exactly.is_positive_semidefinite(S, top * 1.001 + 1e-14 * np.abs(S).max())  # the referee can say no


@pytest.mark.parametrize("seed", range(10))
def test_roundings_of_zero_do_not_spoil_an_m_matrix(seed):
    """Tiny positive off-diagonal entries are paid for; the bound is true, and false ones are not accepted."""
    rng = np.random.default_rng(seed)
    n = 10
    off = -np.triu(rng.uniform(size=(n, n)), 1)
    tiny = np.triu(rng.uniform(size=(n, n)) < 0.3, 1)
    size = 10.0 ** rng.integers(-17, -10)
    off = np.where(tiny, size * rng.uniform(size=(n, n)), off)
    S = off + off.T
    S = S + np.diag(np.abs(S).sum(axis=1) + 10.0 ** rng.integers(-9, 0))
    bound = pp.verify_coercivity(S, method="m-matrix")
    assert bound.how == "M-matrix witness"
    assert exactly.is_positive_semidefinite(S, bound.alpha)
    assert bound.alpha > 0.5 * np.linalg.eigvalsh(S)[0] - 1e-8


def test_nonsymmetric_matrices_mean_their_symmetric_part():
    rng = np.random.default_rng(3)
    A = gallery.random_matrix(rng, 12, symmetric=False)
    bound = pp.verify_coercivity(A)
    exact = np.linalg.eigvalsh((A + A.T) / 2)[0]
    assert 0.98 * exact <= bound.alpha <= exact
    skew = rng.normal(size=(12, 12))
    assert pp.verify_coercivity(A + 3.0 * (skew - skew.T)).alpha == pytest.approx(bound.alpha, rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "shift"])
def test_indefinite_and_singular_are_refused(method):
    laplace = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(30, 30)).tolil()
    laplace[0, 0] = laplace[29, 29] = 1.0
    for A in (laplace.tocsr(), sp.csr_array(np.diag([1.0, -1.0])), sp.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))):
        with pytest.raises(pp.CertificationError, match="coercivity"):
            pp.verify_coercivity(A, method=method)


def test_m_matrix_method_says_when_it_does_not_apply():
    with pytest.raises(pp.CertificationError, match="M-matrix"):
        pp.verify_coercivity(np.array([[2.0, 1.0], [1.0, 2.0]]), method="m-matrix")


def test_data_error_is_subtracted():
    A, _ = gallery.poisson_1d(20).reduced()
    clean = pp.verify_coercivity(A)
    E = abs(A) * 1e-4
    loose = pp.verify_coercivity(A, error=lambda v: E @ v)
    worst = np.linalg.norm(E.toarray(), np.inf)
    assert loose.alpha <= clean.alpha - worst * 0.99
    with pytest.raises(pp.CertificationError):
        pp.verify_coercivity(A, error=lambda v: abs(A) @ v)


def test_defect_counts_what_the_factors_lack_in_symmetry():
    """xᵀ(B − θI)x for B = [[1, ½], [0, 1]], θ = 0.9 goes down to −0.15: LU alone would not show it."""
    assert lu_defect(sp.csr_array(np.array([[1.0, 0.5], [0.0, 1.0]])), 0.9) >= 0.15


def test_approximate_inverse_pays_for_data_errors():
    """B = 1 ± 0.4: the inverse reaches 1/0.6, and the bound is that."""
    found = approximate_inverse(sp.csr_array(np.eye(1)), lambda v: 0.4 * v)
    assert found.bound >= 1.0 / 0.6
    assert approximate_inverse(sp.csr_array(np.eye(1)), lambda v: 0.6 * v) is None


def test_plain_floats_prove_nearly_as_much_as_enclosures(monkeypatch):
    A = gallery.poisson_2d(40).reduced()[0]
    plain = pp.verify_coercivity(A, method="m-matrix")
    monkeypatch.setattr("pinnpoint.rounding.coercivity.HARDLY", -1.0)
    enclosed = pp.verify_coercivity(A, method="m-matrix")
    assert enclosed.alpha * (1.0 - 1e-6) <= plain.alpha <= enclosed.alpha
    assert plain.witness is not None
    assert plain.witness.min() > 0.0


def test_plain_floats_give_way_where_rounding_counts():
    """A path with a small λ_min, exactly known."""
    n = 6
    A = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tolil()
    A[0, 0] = A[n - 1, n - 1] = 1.0
    A = sp.csr_array(A + sp.eye_array(n) * 2.0**-40)  # λ_min = 2⁻⁴⁰
    bound = pp.verify_coercivity(A, method="m-matrix")
    assert 0.99 * 2.0**-40 < bound.alpha <= 2.0**-40


@pytest.mark.parametrize("dense_up_to", [0, 600])
def test_shifts_around_the_smallest_eigenvalue_prove_no_more_than_holds(dense_up_to, monkeypatch):
    n = 150
    S = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()
    exact = float(2 - 2 * np.cos(np.pi / (n + 1)))
    monkeypatch.setattr(coercivity, "DENSE_UP_TO", dense_up_to)
    for step in np.linspace(-3e-12, 3e-12, 61):
        with contextlib.suppress(pp.CertificationError):
            bound = pp.verify_coercivity(S, method="shift", shift=exact * (1 + step))
            assert exactly.is_positive_semidefinite_banded(S, bound.alpha)
