"""Intervals that hold in float64: 12,000 of them against 400-bit arithmetic, and interval data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.certifiers.core import Core
from tests.support import exactly, gallery, grid


@pytest.mark.parametrize("number", range(len(grid.CASES)))
def test_no_miss_where_plain_floats_miss(number):
    """1,200 intervals per system, none missed; without the rounding terms at least 100 of them miss.

    Ten systems make 12,000 intervals and more than 1,000 misses of the plain form. On solved states the radius is
    below 1e-13 of the value.
    """
    tally = grid.Tally()
    grid.run(grid.CASES[number], tally)
    assert tally.intervals == 1200
    assert tally.misses == 0
    assert tally.radius_misses == 0
    assert tally.naive_misses >= 100
    assert tally.worst_solved <= 1e-13


@pytest.mark.parametrize("seed", range(6))
def test_general_spaces_and_least_squares_against_rationals(seed):
    """Stored Z with rounded entries, Galerkin and rectangular: the truth is that of the stored numbers."""
    rng = np.random.default_rng(seed)
    N, M = 12, 17
    C = rng.normal(size=(2, N))
    space = pp.AdmissibleSpace.constrained(C, rng.normal(size=2))
    Z, U0 = exactly.rational_matrix(space.Z), exactly.rational_matrix(space.U0[:, None])
    A, b = gallery.random_matrix(rng, N, symmetric=seed % 2 == 0), rng.normal(size=N)
    R, d = rng.normal(size=(M, N)), rng.normal(size=M)
    w = rng.uniform(0.5, 2.0, M)
    W = gallery.random_spd(rng, M)
    L = rng.normal(size=(3, N))
    Lq = exactly.rational_matrix(L)
    misses = 0

    def target(B, rhs):
        return Lq * (U0 + Z * B.solve(rhs))

    Aq, bq = exactly.rational_matrix(A), exactly.rational_matrix(b[:, None])
    Rq, dq = exactly.rational_matrix(R), exactly.rational_matrix(d[:, None])
    Zt = Z.transpose()
    systems = [(pp.LinearSystem(A, b, space=space), target(Zt * Aq * Z, Zt * (bq - Aq * U0)))]
    for weight, Wq in ((None, None), (w, exactly.rational_matrix(np.diag(w))), (W, exactly.rational_matrix(W))):
        Rh = Rq * Z
        left = Rh.transpose() if Wq is None else Rh.transpose() * Wq
        truth = target(left * Rh, left * (dq - Rq * U0))
        systems.append((pp.LinearSystem(R, d, space=space, weight=weight), truth))
    for system, truth in systems:
        solved = space.vector_of(np.zeros(space.n))
        for method in (pp.Exact(), pp.Exact(refine=True), pp.Inexact("both"), pp.Norm(), pp.Exact(solver="krylov")):
            certifier = method.prepare(system, pp.Queries(L))
            for U in (space.vector_of(rng.normal(size=space.n)), solved):
                c = certifier.certify(U)
                misses += sum(not exactly.within(c.center[i], c.radius[i], truth[i, 0]) for i in range(3))
    assert misses == 0


@pytest.mark.parametrize("shape", ["square", "rectangular"])
def test_interval_data_hold_every_member(shape):
    rng = np.random.default_rng(3)
    n, m = 10, 10 if shape == "square" else 14
    A = gallery.random_matrix(rng, n, symmetric=False) if m == n else rng.normal(size=(m, n))
    b, L = rng.normal(size=m), rng.normal(size=(2, n))
    U = np.linalg.lstsq(A, b, rcond=None)[0] * (1.0 + 1e-6 * rng.normal(size=n))
    E, e, f = 1e-7 * rng.uniform(size=(m, n)), 1e-7 * rng.uniform(size=m), 1e-7 * rng.uniform(size=(2, n))
    system = pp.LinearSystem(A, b, A_error=E, b_error=e)
    c = pp.certify(system, U, pp.Queries(L, error=f))
    norm = pp.certify(system, U, pp.Queries(L, error=f), pp.Norm())
    spread = np.zeros(2)
    for _ in range(40):
        sign = lambda shape: rng.choice([-1.0, 1.0], size=shape)  # noqa: E731
        A1, b1, L1 = A + E * sign((m, n)), b + e * sign(m), L + f * sign((2, n))
        truth = L1 @ np.linalg.lstsq(A1, b1, rcond=None)[0]
        assert c.contains(truth).all()
        assert norm.contains(truth).all()
        spread = np.maximum(spread, np.abs(truth - c.center))
    assert np.all(spread > 1e-9)
    assert np.all(c.radius < 100 * spread)


def test_relative_interval_data_cover_assembly_noise():
    """The same matrix summed in another order lies within a few roundings, and its solution in the interval."""
    case = gallery.elasticity_2d(7, "cantilever")
    A, b = case.reduced()
    L = grid.functionals(b.size, np.random.default_rng(0))
    system = pp.LinearSystem(A, b, A_error=2.0**-50)
    c = pp.certify(system, np.zeros(b.size), pp.Queries(L))
    rng = np.random.default_rng(1)
    other = A.copy()
    other.data = A.data * (1.0 + 2.0**-51 * rng.uniform(-1, 1, A.nnz))
    x = exactly.solve_arb(other, b)
    for i, ell in enumerate(L):
        assert exactly.within(c.center[i], c.radius[i], exactly.functional(ell, x))


def test_extreme_scales_stay_enclosed():
    for scale in (2.0**-300, 1e-100, 1e100, 2.0**300):
        case = gallery.poisson_1d(12)
        A, b = case.reduced()
        system = pp.LinearSystem(A * scale, b)
        L = np.eye(b.size)[[2, 7]]
        U = np.linalg.solve(A.toarray() * scale, b) * 1.1
        c = pp.certify(system, U, pp.Queries(L))
        x = exactly.solve_arb(system.A, b)
        for i, ell in enumerate(L):
            assert exactly.within(c.center[i], c.radius[i], exactly.functional(ell, x))
        assert np.all(c.radius <= 1e-10 * np.abs(c.center))


def test_subnormal_data_stay_enclosed():
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    b = np.array([5e-324, 1e-310])
    c = pp.certify(pp.LinearSystem(A, b), np.array([1e-320, 3e-311]), pp.Queries(np.eye(2)))
    x = exactly.solve_rational(A, b)
    for i in range(2):
        assert exactly.within(c.center[i], c.radius[i], x[i])


def test_ill_conditioned_and_indefinite_operators():
    """Verified by an approximate inverse or refused; never wrong."""
    rng = np.random.default_rng(4)
    proved = 0
    for condition in (1e2, 1e6, 1e10, 1e13):
        Q1, Q2 = (np.linalg.qr(rng.normal(size=(15, 15)))[0] for _ in range(2))
        for A in (
            Q1 @ np.diag(np.geomspace(1, 1 / condition, 15)) @ Q2,
            Q1 @ np.diag(np.linspace(-1, 1, 15)) @ Q1.T + 0.01,
        ):
            b, L = rng.normal(size=15), rng.normal(size=(2, 15))
            x = exactly.solve_rational(A, b)
            try:
                c = pp.certify(pp.LinearSystem(A, b), rng.normal(size=15), pp.Queries(L))
            except pp.PinnpointError:
                continue
            proved += 1
            for i, ell in enumerate(L):
                assert exactly.within(c.center[i], c.radius[i], exactly.functional(ell, x))
    assert proved >= 6


def test_nonsymmetric_m_matrix_and_singular_value_witnesses():
    """Convection dominated, so that the symmetric part is no help: upwinding is an M-matrix."""
    n = 700
    speed = 1e4
    h = 1.0 / (n + 1)
    main, lower, upper = 2.0 + speed * h, -1.0 - speed * h, -1.0
    A = sp.diags_array([np.full(n, main), np.full(n - 1, lower), np.full(n - 1, upper)], offsets=[0, -1, 1]).tocsr()
    A = sp.csr_array(sp.diags_array(np.where(np.arange(n) % 2, 1.0, 1e-3)) @ A)
    b = np.full(n, h * h)
    L = sp.csr_array((np.ones(2), ([0, 1], [100, 650])), shape=(2, n))
    c = pp.certify(pp.LinearSystem(A, b), np.zeros(n), pp.Queries(L))
    truth = L @ sp.linalg.spsolve(A.tocsc(), b)
    assert np.all(np.abs(c.center - truth) <= c.radius + 1e-12 * np.abs(truth))
    assert any("M-matrix" in claim.claim for claim in c.assumptions)
    shuffled = A[np.random.default_rng(0).permutation(n)]
    big = pp.rounding.stability.smallest_singular_value(shuffled, None)
    assert big is not None
    smallest = np.linalg.svd(shuffled.toarray(), compute_uv=False)[-1]
    # sᵀB⁻¹ρ is largest for singular vectors; the product bound must not be below it
    u, _, vt = np.linalg.svd(shuffled.toarray())
    pairing = big.left(pp.rounding.balls.exact(vt[-1])) * big.right(pp.rounding.balls.exact(u[:, -1]))
    assert pairing >= 1.0 / smallest * (1 - 1e-9)


@pytest.mark.parametrize("shape", ["galerkin", "rows"])
def test_rounding_of_reduced_and_normal_matrices_is_enclosed(shape):
    """|ZᵀAZ − stored| and |ÂᵀWÂ − stored| entry by entry, in rationals."""
    rng = np.random.default_rng(7)
    N = 9
    space = pp.AdmissibleSpace.constrained(rng.normal(size=(2, N)), rng.normal(size=2))
    M = N if shape == "galerkin" else 14
    w = None if shape == "galerkin" else rng.uniform(0.5, 2.0, M)
    system = pp.LinearSystem(rng.normal(size=(M, N)), rng.normal(size=M), space=space, weight=w)
    core = Core(system, rounding=True)
    Z, A = exactly.rational_matrix(space.Z), exactly.rational_matrix(system.A)
    reduced = Z.transpose() * A * Z if shape == "galerkin" else A * Z
    pairs = [(core.matrix, reduced, core.matrix_error[0]), (core.matrix.T, reduced.transpose(), core.matrix_error[1])]
    if shape == "rows":
        exact_normal = reduced.transpose() * exactly.rational_matrix(np.diag(w)) * reduced
        pairs.append((core.normal_matrix[0], exact_normal, core.normal_matrix[1]))
    for stored, exact, error in pairs:
        difference = exact - exactly.rational_matrix(stored)
        for j in range(exact.ncols()):
            bound = error(np.eye(exact.ncols())[j])
            for i in range(exact.nrows()):
                assert abs(difference[i, j]) <= exactly.rational(bound[i])
                assert bound[i] < 1e-12


def test_a_number_stands_for_a_relative_error_of_every_entry():
    A, b, U, asked = np.diag([2.0, 4.0]), np.array([1.0, -3.0]), np.array([0.4, -0.7]), pp.Queries(np.eye(2))
    one = pp.certify(pp.LinearSystem(A, b, A_error=1e-3, b_error=1e-2), U, asked)
    each = pp.certify(pp.LinearSystem(A, b, A_error=1e-3 * A, b_error=1e-2 * np.abs(b)), U, asked)
    assert one.radius == pytest.approx(each.radius, rel=1e-12)
    assert np.all(one.contains(np.array([1.01 / 1.998, -3.03 / 3.996])))
    with pytest.raises(pp.InputError, match="b_error"):
        pp.LinearSystem(A, b, b_error=-1.0)
