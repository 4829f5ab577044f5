"""Intervals and bounds that were once wrong, or systems that were once refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.rounding import matrices
from tests.support import exactly, gallery


@pytest.mark.parametrize("method", [pp.Norm(), pp.Localized(projectors=np.array([False, False])), pp.Exact()])
def test_overflow_is_refused_or_unbounded_never_small(method):
    A = np.array([[2.0, 1.0], [1.0, 2.0]]) * 1e100
    W = np.array([[2.0, 1.0], [1.0, 2.0]]) * 1e140
    system = pp.LinearSystem(A, np.zeros(2), weight=W)
    try:
        c = pp.certify(system, np.array([1e70, 3e70]), pp.Queries(np.eye(2)), method)
    except pp.PinnpointError:
        return
    assert c.contains(0.0).all()
    assert c.residual_norm >= 1e300


def test_overflowing_dots_are_not_an_arithmetic_error(monkeypatch):
    for threshold in (0, 10**9):
        monkeypatch.setattr(matrices, "COMPILE_FROM", threshold)
        ball = matrices.dots(np.array([[1e300, -1e300]]), matrices.Ball(np.array([1e300, 1e300])))
        assert np.isnan(ball.hi[0])
        assert np.isinf(ball.err[0])
        assert np.isinf(ball.norm())


def test_radii_in_a_full_metric_take_the_worst_member():
    """‖·‖_{P⁻¹} over a ball is attained at a corner with mixed signs."""
    P = np.array([[1.0, 0.999], [0.999, 1.0]])
    bound = pp.verify_coercivity(P, P=sp.csr_array(P))
    system = pp.LinearSystem(P, [1.0, 1.0], weight="energy", b_error=[1.0, 1.0])
    U = np.linalg.solve(P, [1.0, 1.0]) + 1e-3
    for method in (pp.Norm(coercivity=bound), pp.Inexact("primal", coercivity=bound)):
        c = pp.certify(system, U, pp.Queries([[1.0, -1.0]]), method)
        for b in ([2.0, 0.0], [0.0, 2.0]):
            assert c.contains(np.array([1.0, -1.0]) @ np.linalg.solve(P, b)).all()


def test_permuted_space_permutes_the_load():
    A = np.array([[4.0, 1.0, 0.0], [0.0, 5.0, 1.0], [1.0, 0.0, 6.0]])
    space = pp.AdmissibleSpace(np.zeros(3), np.eye(3)[:, [2, 0, 1]])
    system = pp.LinearSystem(A, [1.0, 2.0, 3.0], space=space, reduction="galerkin")
    load = np.array([7.0, -2.0, 1.0])
    c = pp.Exact().prepare(system, pp.Queries(np.eye(3))).certify(np.zeros(3), load=load)
    assert np.allclose(c.center, np.linalg.solve(A, load), atol=1e-13)


def test_sweep_survives_underflow():
    A = np.array([[2.0, 1.0], [1.0, 2.0]]) * 1e140
    system = pp.LinearSystem(A, [1e140, 3e140], row_points=[0.0, 1.0])
    queries = pp.Queries([[1e-25, 1e-25]], points=[5.0])
    sweep = pp.Localized(radius=0.0).prepare(system, queries).sweep(np.zeros(2), [0.0])
    truth = 1e-25 * np.linalg.solve(A / 1e140, [1.0, 3.0]).sum()
    assert abs(sweep.center[0, 0] - truth) <= sweep.radius[0, 0]


def test_tiny_least_squares_systems_do_not_verify_a_false_bound():
    C = [[7.239972908749098e-161], [4.356639919501165e-161], [-6.332855063442935e-161]]
    b = [-6.872681033362934e-23, -3.0418125915755224e-22, 7.789916895352027e-23]
    system = pp.LinearSystem(C, b)
    rational = [exactly.rational(v[0]) for v in C]
    truth = sum(c * exactly.rational(v) for c, v in zip(rational, b, strict=True)) / sum(c * c for c in rational)
    try:
        c = pp.certify(system, [0.0], pp.Queries([[1.0]]))
    except pp.PinnpointError:
        return
    assert exactly.rational(c.coefficient_bound) >= abs(truth)
    assert exactly.within(c.center[0], c.radius[0], truth)


def test_energy_norm_with_nonsymmetric_data_errors():
    E = np.array([[0.0, 0.5], [0.0, 0.0]])
    system = pp.LinearSystem(np.eye(2), [1.0, 0.0], weight="energy", A_error=E)
    c = pp.certify(system, np.zeros(2), pp.Queries([[1.0, 0.0]]), pp.Norm())
    S = np.eye(2) + (E + E.T) / 2
    assert c.residual_norm >= np.sqrt(np.linalg.solve(S, [1.0, 0.0])[0])


def test_low_precision_input_is_converted_before_anything_else():
    rng = np.random.default_rng(0)
    for _ in range(40):
        T = rng.normal(size=(4, 4))
        A = (T @ T.T + 1e-6 * np.eye(4) + 1e-3 * rng.normal(size=(4, 4))).astype(np.float32)
        try:
            bound = pp.verify_coercivity(A, method="shift")
        except pp.CertificationError:
            continue
        D = A.astype(float)
        exact = exactly.rational_matrix(D)
        S = [[(exact[i, j] + exact[j, i]) / 2 for j in range(4)] for i in range(4)]
        assert exactly.is_positive_semidefinite_rational(S, bound.alpha)


def test_coercivity_leaves_its_argument_alone():
    A = sp.csr_array((np.array([1.0, 1.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    pp.verify_coercivity(A)
    assert A.nnz == 3


def test_projector_defect_counts_without_rounding_too():
    P = np.diag([1.0 + 5e-9, 1.0, 0.0, 0.0])
    system = pp.LinearSystem(np.eye(4), np.ones(4))
    c = pp.certify(system, np.zeros(4), pp.Queries([[1.0, 0, 0, 0]]), pp.Localized(projectors=P, rounding=False))
    assert c.contains(1.0).all()


class Fickle:
    """A least-squares solver that never answers twice the same."""

    name = "fickle"

    def __init__(self, H):
        self.H, self.rng = H, np.random.default_rng(0)

    def solve(self, b):
        return np.linalg.solve(self.H, b) * (1.0 + 0.3 * self.rng.normal(size=b.shape))

    solve_transposed = solve


@pytest.mark.parametrize("weight", [None, "matrix"])
def test_sweep_with_a_fickle_solver(weight):
    rng = np.random.default_rng(1)
    R, d = rng.normal(size=(12, 5)), rng.normal(size=12)
    W = np.eye(12) if weight is None else gallery.random_spd(rng, 12).toarray()
    H = R.T @ W @ R
    system = pp.LinearSystem(R, d, weight=None if weight is None else W, row_points=rng.uniform(size=12))
    L = rng.normal(size=(3, 5))
    truth = L @ np.linalg.solve(H, R.T @ W @ d)
    queries = pp.Queries(L, points=rng.uniform(size=3))
    certifier = pp.Localized(radius=0.2, solver=Fickle(H)).prepare(system, queries)
    for _ in range(20):
        sweep = certifier.sweep(rng.normal(size=5), [0.0, 0.2, 0.5, 1.0])
        assert np.all(np.abs(sweep.center - truth) <= sweep.radius + 1e-12)


@pytest.mark.parametrize("correct", ["adjoint", "primal", "both"])
@pytest.mark.parametrize("A", [np.eye(100), np.diag(np.arange(1.0, 9.0)), np.array([[3.0]])], ids=len)
def test_iterations_that_end_at_once(A, correct):
    n = len(A)
    c = pp.certify(pp.LinearSystem(A, np.ones(n)), np.zeros(n), pp.Queries(np.eye(n)[:1]), pp.Inexact(correct))
    assert abs(c.center[0] - 1.0 / A[0, 0]) <= c.radius[0]


def test_inexact_verifies_the_same_bound_as_exact():
    A, b = gallery.elasticity_2d(20).reduced()
    queries = pp.Queries(np.eye(b.size)[:1])
    alphas = []
    for method in (pp.Exact(), pp.Inexact()):
        certifier = method.prepare(pp.LinearSystem(A, b, weight="energy"), queries)
        alphas.append(certifier.ground.proof.stability.form.alpha)
    assert alphas[1] == pytest.approx(alphas[0], rel=0.01)


def test_scaled_spaces_project_as_they_should():
    for scale in (1e-200, 1e160):
        space = pp.AdmissibleSpace(np.zeros(3), np.eye(3) * scale)
        U, _, mismatch = space.project([1.0, 2.0, 3.0])
        assert np.allclose(U, [1.0, 2.0, 3.0])
        assert np.allclose(mismatch, 0.0)


def test_the_word_energy_is_not_a_length():
    """Six entries, six letters: the weight of an assembled 6 × 6 system may still be the word 'energy'."""
    case = gallery.poisson_1d(5)
    assert case.b.size == len("energy")
    c = pp.certify(case.system(weight="energy"), case.space.U0, pp.Queries(np.eye(6)[[2]]))
    assert np.isfinite(c.radius).all()


def test_problems_travel_to_other_processes():
    """Pools of processes pickle what they are given."""
    import pickle

    solid = pp.fem.Elasticity(pp.io.generate("cube", 2), young=1.0, poisson=0.3, body=[0, 0, -1.0], fixed={"left": 0.0})
    flat = pp.fem.ReactionDiffusion(pp.io.generate("square", 4), 1.0, dirichlet={"boundary": 0.0})
    for problem in (solid, flat):
        there = pickle.loads(pickle.dumps(problem))
        assert there.system.floor().alpha == problem.system.floor().alpha
        np.testing.assert_array_equal(there.system.residual(there.space.U0), problem.system.residual(problem.space.U0))


def test_cholmod_refuses_what_is_not_symmetric(monkeypatch):
    """It would factorise one triangle without a word."""
    from pinnpoint.certifiers import setup

    monkeypatch.setattr(setup, "Cholmod", lambda B: pytest.fail("was asked to factorise it"))
    A = sp.diags_array([-np.ones(899), 2.5 * np.ones(900), -1.2 * np.ones(899)], offsets=[-1, 0, 1], format="csr")
    system = pp.LinearSystem(A, np.ones(900))
    with pytest.raises(pp.InputError, match="not symmetric"):
        pp.Exact(solver="cholmod", rounding=False).prepare(system, pp.Queries(np.eye(900)[:1]))


def test_a_second_preparation_leaves_the_first_ones_file_alone(tmp_path):
    """Green vectors on disk: another certifier with the same file, or one that is refused, gets a file of its own."""
    problem = pp.fem.ReactionDiffusion(pp.io.generate("square", 20), 1.0, dirichlet={"boundary": 0.0})
    queries = problem.points([[0.5, 0.5], [0.25, 0.7], [0.8, 0.2]])
    other = pp.fem.ReactionDiffusion(pp.io.generate("square", 20), 1.0, 7.0, dirichlet={"boundary": 0.0})
    file = tmp_path / "green.npy"
    first = pp.Exact(file=file).prepare(problem.system, queries)
    before = first.certify(problem.space.U0)
    second = pp.Exact(file=file).prepare(other.system, other.points([[0.5, 0.5]]))
    np.testing.assert_array_equal(first.certify(problem.space.U0).center, before.center)
    assert np.all(second.certify(other.space.U0).center < 0.5 * before.center[0])
    singular = pp.LinearSystem(sp.csr_array((problem.space.N, problem.space.N)), problem.b)
    with pytest.raises((pp.InputError, pp.CertificationError)):
        pp.Exact(file=file).prepare(singular, pp.Queries(queries.L))
    assert not file.exists()
    np.testing.assert_array_equal(first.certify(problem.space.U0).center, before.center)


def test_a_state_that_misses_its_fixed_values_by_a_rounding_is_not_certified_as_it_is():
    """What is certified is U₀ + Z y: a fixed value is known exactly, whatever the state says of it."""
    space = pp.AdmissibleSpace.dirichlet(3, [0], [1.0])
    A = sp.csr_array(np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]))
    system = pp.LinearSystem(A, np.zeros(3), space=space, reduction="galerkin")
    U = np.array([1.0 + 2.0**-51, 0.5, 0.25])
    found = pp.certify(system, U, pp.Queries(np.eye(3)))
    for got, truth in zip(
        np.stack([found.lower, found.upper], axis=1), (1, Fraction(2, 3), Fraction(1, 3)), strict=True
    ):
        assert Fraction(got[0]) <= truth <= Fraction(got[1])
    assert found.value[0] == 1.0
