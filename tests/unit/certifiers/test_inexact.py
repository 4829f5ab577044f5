"""Early-stopped solves: allowances above the truth, sharp in the energy norm, quadratic for both."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from tests.support import gallery

CASES = [
    gallery.poisson_2d(14),
    gallery.poisson_2d(12, contrast=1e6),
    gallery.elasticity_2d(9, "cantilever"),
]


def setup(case, weight=None):
    rng = np.random.default_rng(1)
    A, b = case.reduced()
    y = np.linalg.solve(A.toarray(), b)
    L = np.zeros((6, b.size))
    L[np.arange(6), rng.choice(b.size, 6, replace=False)] = 1.0
    U = y * (1.0 + 0.1 * rng.normal(size=b.size))
    return pp.LinearSystem(A, b, weight=weight), pp.Queries(L), U, L @ y


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@pytest.mark.parametrize("correct", ["adjoint", "primal", "both"])
@pytest.mark.parametrize("sharpen", [0, 20])
def test_allowance_holds_and_shrinks_with_iterations(case, correct, sharpen):
    system, queries, U, truth = setup(case)
    last = np.inf
    for k in (0, 5, 40, 200):
        method = pp.Inexact(
            correct, tolerance=0.0, iterations=k, primal_tolerance=0.0, primal_iterations=k, sharpen=sharpen
        )
        c = pp.certify(system, U, queries, method)
        assert np.all(np.abs(c.center - truth) <= c.radius + 1e-13 * np.abs(truth))
        assert c.radius.max() <= last * 1.5
        last = c.radius.max()
    assert last < 1e-3 * np.abs(truth).max() if case.name != CASES[1].name else np.isfinite(last)


@pytest.mark.parametrize("case", CASES[:1] + CASES[2:], ids=lambda c: c.name)
def test_energy_sharpening_is_near_the_truth(case):
    """δ_adj closes in on ‖s‖_{Â⁻¹} with more iterations; α^(−½)‖s‖ alone is far above it."""
    system, queries, _, _ = setup(case, weight="energy")
    A = system.A.toarray()
    ratios = {}
    for sharpen in (0, 20, 120):
        certifier = pp.Inexact(tolerance=1e-3, sharpen=sharpen).prepare(system, queries)
        s = queries.L.toarray() - certifier.green.q @ A
        exact = np.sqrt(np.einsum("ij,ij->i", s, np.linalg.solve(A, s.T).T))
        assert np.all(certifier.green.delta >= exact * (1 - 1e-7))  # s itself is rounded here
        ratios[sharpen] = float(np.max(certifier.green.delta / exact))
    assert ratios[0] > 4.0
    assert ratios[20] < 0.5 * ratios[0]
    assert ratios[120] < 1.05


def test_primal_allowance_is_sigma_times_the_remaining_residual():
    system, queries, U, truth = setup(CASES[0])
    sigma = pp.certify(system, U, queries, pp.Exact()).sigma
    c = pp.certify(system, U, queries, pp.Inexact("primal", primal_iterations=8, sigma=sigma * 1.5))
    assert np.allclose(c.terms["algebra"], 1.5 * sigma * c.details["delta_primal"], rtol=1e-12)
    assert c.contains(truth).all()
    assert any(claim.status == "declared" and "σ̄" in claim.claim for claim in c.assumptions)


def test_any_upper_bound_may_stand_in_for_sigma():
    system, queries, U, truth = setup(CASES[0])
    sigma = pp.certify(system, U, queries, pp.Exact()).sigma
    c = pp.certify(system, U, queries, pp.Norm(sigma=2.0 * sigma))
    assert c.contains(truth).all()
    assert np.allclose(c.radius, 2.0 * sigma * c.residual_norm, rtol=1e-9)
    assert all("rounding" not in claim.claim for claim in c.assumptions)


@pytest.mark.parametrize("weight", [None, "diagonal"])
@pytest.mark.parametrize("solver", [None, "lsmr", "direct"])
@pytest.mark.parametrize("correct", ["adjoint", "primal", "both"])
def test_early_stopped_least_squares_hold_the_truth(weight, solver, correct):
    rng = np.random.default_rng(2)
    M, n = 50, 30
    R, d, L, U = rng.normal(size=(M, n)), rng.normal(size=M), rng.normal(size=(4, n)), rng.normal(size=n)
    w = None if weight is None else rng.uniform(0.5, 2.0, M)
    root = np.ones(M) if w is None else np.sqrt(w)
    truth = L @ np.linalg.lstsq(root[:, None] * R, root * d, rcond=None)[0]
    system = pp.LinearSystem(R, d, weight=w)
    c = pp.certify(system, U, pp.Queries(L), pp.Inexact(correct, tolerance=1e-4, solver=solver))
    assert np.all(np.abs(c.center - truth) <= c.radius + 1e-12)
    assert np.all(c.radius < 0.1 * np.abs(c.value - truth).max())


class Broken:
    """A backend that answers nonsense."""

    name = "broken"

    def __init__(self, answer):
        self.answer = answer

    def solve(self, b):
        return np.full_like(b, self.answer)

    solve_transposed = solve


@pytest.mark.parametrize("answer", [np.nan, np.inf, 0.0, 3.0])
def test_a_broken_solver_only_widens(answer):
    system, queries, U, truth = setup(CASES[0])
    for method in (pp.Inexact(solver=Broken(answer)), pp.Exact(solver=Broken(answer))):
        c = pp.certify(system, U, queries, method)
        assert c.contains(truth).all()
        assert np.all(np.isfinite(c.center))


def test_a_solver_of_the_wrong_shape_is_named():
    system, queries, U, _ = setup(CASES[0])
    broken = Broken(0.0)
    broken.solve_transposed = lambda b: np.zeros(3)
    with pytest.raises(pp.CertificationError, match="solver: returned an array of shape"):
        pp.certify(system, U, queries, pp.Exact(solver=broken))
