"""Every linear method against independent dense solves on random systems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from tests.support import gallery

SEEDS = range(3)
METHODS = {
    "exact": pp.Exact(),
    "refined": pp.Exact(refine=True),
    "norm": pp.Norm(),
    "adjoint": pp.Inexact(tolerance=1e-8),
    "primal": pp.Inexact("primal", primal_tolerance=1e-8),
    "both": pp.Inexact("both"),
    "localized": pp.Localized(radius=0.4),
    "plain": pp.Exact(rounding=False),
}
KINDS = ("symmetric", "nonsymmetric", "overdetermined")
WEIGHTS = ("identity", "diagonal", "matrix", "energy")
SPACES = ("free", "dirichlet", "constrained")


def close(a, b, tolerance=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    assert np.all(np.abs(a - b) <= tolerance * (np.abs(b) + np.max(np.abs(b))))


def build(rng, kind, weight, space_kind):
    """A system, its dense reduced form, and the dense weight."""
    N = 40
    if space_kind == "free":
        space = pp.AdmissibleSpace.unconstrained(N)
    elif space_kind == "dirichlet":
        space = pp.AdmissibleSpace.dirichlet(N, rng.choice(N, 6, replace=False), rng.normal(size=6))
    else:
        space = pp.AdmissibleSpace.constrained(
            rng.normal(size=(3, N)) * (rng.uniform(size=(3, N)) < 0.3), rng.normal(size=3)
        )
    Z, U0 = space.Z.toarray(), space.U0
    if kind == "overdetermined":
        A, b = rng.normal(size=(N + 25, N)), rng.normal(size=N + 25)
        Ah, bh = A @ Z, b - A @ U0
    else:
        A, b = gallery.random_matrix(rng, N, symmetric=kind == "symmetric"), rng.normal(size=N)
        Ah, bh = Z.T @ A @ Z, Z.T @ (b - A @ U0)
    M = Ah.shape[0]
    w = {"identity": None, "diagonal": rng.uniform(0.5, 2.0, M), "energy": "energy"}.get(weight, weight)
    if weight == "matrix":
        w = gallery.random_spd(rng, M)
    W = {"identity": np.eye(M), "energy": np.linalg.inv(Ah) if weight == "energy" else None}.get(weight)
    if weight == "diagonal":
        W = np.diag(w)
    if weight == "matrix":
        W = w.toarray()
    points = rng.uniform(size=(M, 2))
    return pp.LinearSystem(A, b, space=space, weight=w, row_points=points), Ah, bh, W


def cases():
    for kind in KINDS:
        for weight in WEIGHTS:
            for space in SPACES:
                if weight == "energy" and kind != "symmetric":
                    continue
                yield kind, weight, space


@pytest.mark.parametrize(("kind", "weight", "space_kind"), list(cases()))
def test_against_dense_solves(kind, weight, space_kind):
    """3 seeds × 27 combinations = 81 systems, each under every method."""
    for seed in SEEDS:
        rng = np.random.default_rng([seed, len(kind), len(weight), len(space_kind)])
        system, Ah, bh, W = build(rng, kind, weight, space_kind)
        space, K = system.space, 4
        Z = space.Z.toarray()
        U = space.vector_of(rng.normal(size=space.n))
        L = rng.normal(size=(K, system.N))
        constants = rng.normal(size=K)
        queries = pp.Queries(L, constants=constants, points=rng.uniform(size=(K, 2)))
        H = Ah.T @ W @ Ah
        y_star = np.linalg.solve(H, Ah.T @ W @ bh) if kind == "overdetermined" else np.linalg.solve(Ah, bh)
        truth = L @ (space.U0 + Z @ y_star) + constants
        y = np.linalg.lstsq(Z, U - space.U0, rcond=None)[0]
        r = Ah @ y - bh
        Lh = L @ Z
        G = np.linalg.solve(H, Lh.T).T @ Ah.T @ W
        sigma = np.sqrt(np.einsum("ij,ij->i", Lh, np.linalg.solve(H, Lh.T).T))
        r_norm = np.sqrt(r @ W @ r)
        effective = np.sqrt(r @ W @ Ah @ np.linalg.solve(H, Ah.T @ W @ r))
        slack = 1e-10 * np.max(np.abs(truth))
        for name, method in METHODS.items():
            c = pp.certify(system, U, queries, method)
            close(c.value, L @ U + constants)
            close(c.sigma, sigma, 1e-6 if name in ("adjoint", "primal", "both") else 1e-9)
            close(c.residual_norm, r_norm, 1e-6 if name in ("adjoint", "primal", "both") else 1e-9)
            close(c.effective_residual_norm, effective, 1e-4 if name in ("adjoint", "primal", "both") else 1e-9)
            assert np.all(c.lower - slack <= truth)
            assert np.all(truth <= c.upper + slack)
            prediction = c.interval("prediction")
            assert np.all((prediction[:, 0] - slack <= truth) & (truth <= prediction[:, 1] + slack))
            assert c.guarantee == "deterministic"
            if name in ("exact", "refined", "plain", "both"):
                close(c.correction, G @ r)
                close(c.center, truth)
            if name == "norm":
                close(c.radius, sigma * effective)
            assert c.coefficient_bound is None or c.coefficient_bound >= np.linalg.norm(Z @ (y - y_star)) * (1 - 1e-9)


def test_raw_interval_matches_theorem():
    rng = np.random.default_rng(5)
    case = gallery.poisson_2d(8)
    L = rng.normal(size=(5, case.b.size))
    U = case.space.project(rng.normal(size=case.b.size)).U
    raw = L @ U + rng.normal(size=5)
    c = pp.certify(case.system(), U, pp.Queries(L), raw=raw)
    A, b = case.reduced()
    truth = L[:, case.free] @ np.linalg.solve(A.toarray(), b)
    half = np.diff(c.interval("raw"), axis=1)[:, 0] / 2
    close(half, np.abs(raw - truth))
    close(c.raw_radius, np.abs(raw - truth))
    assert np.all(c.raw_radius <= c.mismatch + c.value_radius * (1 + 1e-12))  # ρ_θ ≤ ζ + ρ_pred
    close(c.terms["mismatch"], np.abs(raw - L @ U))


def test_width_splits_into_its_terms():
    rng = np.random.default_rng(6)
    case = gallery.poisson_2d(8)
    L = rng.normal(size=(5, case.b.size))
    U = case.space.project(rng.normal(size=case.b.size)).U
    transfer = pp.Comparison(evaluation=0.01, residual=0.02)
    for method in (pp.Exact(), pp.Norm(), pp.Inexact(), pp.Randomized(), pp.Localized(projectors=np.ones(49, bool))):
        c = pp.certify(case.system(), U, pp.Queries(L), method, transfer=transfer)
        total = sum(c.terms[name] for name in c.radius_terms)
        close(c.radius, total, 1e-14)
        assert np.all(c.radius >= total)
        close(c.terms["transfer"], 0.02 * c.sigma, 1e-12)
        close(c.terms["evaluation"], 0.01)
        assert c.target == "continuous"
        declared = [claim.claim for claim in c.assumptions if claim.status == "declared"]
        assert any("T_h" in claim for claim in declared)
        assert any("ε_eval" in claim for claim in declared)


def test_loads_and_batches_agree_with_single_states():
    rng = np.random.default_rng(7)
    case = gallery.elasticity_2d(5)
    L = rng.normal(size=(3, case.b.size))
    states = np.stack([case.space.project(rng.normal(size=case.b.size)).U for _ in range(4)])
    loads = rng.normal(size=(4, case.b.size))
    certifier = pp.Exact().prepare(case.system(), pp.Queries(L))
    batch = certifier.certify_many(states, loads=loads)
    A, _ = case.reduced()
    for i in range(4):
        single = pp.certify(pp.LinearSystem(case.A, loads[i], space=case.space), states[i], pp.Queries(L))
        assert np.array_equal(batch[i].center, single.center)
        assert np.array_equal(batch.radius[i], single.radius)
        truth = L[:, case.free] @ np.linalg.solve(A.toarray(), loads[i][case.free])
        close(batch.center[i], truth)
        assert batch[i].contains(truth).all()
    assert batch.lower.shape == batch.upper.shape == batch.value.shape == (4, 3)
    assert len(batch[1:3]) == 2
    assert batch.residual_norm.shape == (4,)


def test_matrix_formats_give_the_same_certificate():
    rng = np.random.default_rng(8)
    D = gallery.random_matrix(rng, 30, symmetric=False)
    b, U, L = rng.normal(size=30), rng.normal(size=30), rng.normal(size=(2, 30))
    formats = [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix, sp.dok_array]
    all_of_them = [pp.certify(pp.LinearSystem(make(D), b), U, pp.Queries(L)) for make in formats]
    for c in all_of_them[1:]:
        assert np.array_equal(c.center, all_of_them[0].center)
        assert np.array_equal(c.radius, all_of_them[0].radius)


def test_linear_operator_with_declared_coercivity():
    rng = np.random.default_rng(9)
    case = gallery.poisson_1d(30)
    A, b = case.reduced()
    low = np.linalg.eigvalsh(A.toarray())[0] * (1 - 1e-9)
    operator = sp.linalg.aslinearoperator(A)
    L, U = rng.normal(size=(3, b.size)), rng.normal(size=b.size)
    truth = L @ np.linalg.solve(A.toarray(), b)
    for correct in ("adjoint", "primal", "both"):
        method = pp.Inexact(correct, tolerance=1e-9, primal_tolerance=1e-9, coercivity=low, rounding=False)
        c = pp.certify(pp.LinearSystem(operator, b), U, pp.Queries(L), method)
        assert np.all(np.abs(c.center - truth) <= c.radius + 1e-12)  # the rounding that is not covered
        assert c.rounding == "not covered"
        assert any(claim.status == "declared" and "symmetric part" in claim.claim for claim in c.assumptions)
        assert np.all(c.radius < 1e-3 * np.abs(truth).max())


def test_declared_normal_bound_with_a_matrix_P():
    """Ĥ ⪰ αP with the caller's P, paper's sufficient choice for δ."""
    rng = np.random.default_rng(10)
    D = gallery.random_matrix(rng, 25, symmetric=False)
    P = gallery.random_spd(rng, 25)
    import scipy.linalg

    alpha = scipy.linalg.eigh(D.T @ D, P.toarray(), eigvals_only=True)[0] * (1 - 1e-9)
    b, U, L = rng.normal(size=25), rng.normal(size=25), rng.normal(size=(3, 25))
    truth = L @ np.linalg.solve(D, b)
    for tolerance in (1e-2, 1e-6):
        bound = pp.Coercivity(alpha, P=P, of="normal")
        c = pp.certify(pp.LinearSystem(D, b), U, pp.Queries(L), pp.Inexact(tolerance=tolerance, coercivity=bound))
        assert c.contains(truth).all()
        s = c.details["delta_adjoint"]
        assert np.all(c.terms["algebra"] <= s * c.residual_norm * (1 + 1e-12))


def test_verified_bound_stays_verified_only_for_its_own_matrix():
    case = gallery.poisson_1d(20)
    A, b = case.reduced()
    bound = pp.verify_coercivity(A)
    queries = pp.Queries(np.eye(b.size)[:2])
    own = pp.certify(pp.LinearSystem(A, b), np.zeros(b.size), queries, pp.Exact(coercivity=bound))
    other = pp.certify(pp.LinearSystem(A * 2, b), np.zeros(b.size), queries, pp.Exact(coercivity=bound))
    assert all(claim.status == "verified" for claim in own.assumptions)
    assert any(claim.status == "declared" for claim in other.assumptions)
