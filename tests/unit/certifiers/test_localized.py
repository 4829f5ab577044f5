"""Local/tail certificates."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from tests.support import gallery


def build(weight=None, shape="square", seed=0):
    rng = np.random.default_rng(seed)
    if shape == "square":
        case = gallery.poisson_2d(9)
        M = case.free.size
        w = {"diagonal": rng.uniform(0.5, 2, M), "matrix": gallery.random_spd(rng, M)}.get(weight, weight)
        system = case.system(weight=w, row_points=case.points)
        A, b = case.reduced()
        space = case.space
        y = np.linalg.solve(A.toarray(), b)
    else:
        M, n = 60, 40
        A, b = rng.normal(size=(M, n)), rng.normal(size=M)
        w = {"diagonal": rng.uniform(0.5, 2, M), "matrix": gallery.random_spd(rng, M)}.get(weight, weight)
        W = np.eye(M) if w is None else (np.diag(w) if isinstance(w, np.ndarray) else w.toarray())
        system = pp.LinearSystem(A, b, weight=w, row_points=rng.uniform(size=(M, 2)))
        space = system.space
        y = np.linalg.solve(A.T @ W @ A, A.T @ W @ b)
    U_star = space.vector_of(y)
    at = rng.choice(system.n, 4, replace=False)
    index = at if space.free is None else space.free[at]
    L = np.eye(system.N)[index]
    points = case.points[index] if shape == "square" else rng.uniform(size=(4, 2))
    U = space.vector_of(y * (1 + 0.1 * rng.normal(size=y.size)))
    return system, pp.Queries(L, points=points), U, L @ U_star


@pytest.mark.parametrize("weight", [None, "diagonal", "matrix", "energy"])
@pytest.mark.parametrize("shape", ["square", "rectangular"])
@pytest.mark.parametrize("radius", [0.0, 0.15, 0.5, 3.0])
def test_any_local_radius_holds_the_truth(weight, shape, radius):
    if weight == "energy" and shape == "rectangular":
        return
    system, queries, U, truth = build(weight, shape)
    c = pp.certify(system, U, queries, pp.Localized(radius=radius))
    exact = pp.certify(system, U, queries)
    assert np.all(np.abs(c.center - truth) <= c.radius + 1e-12)  # the truth is a float solve itself
    assert c.guarantee == "deterministic"
    error = np.abs(c.value - truth)
    assert np.all(error <= c.details["mixed"] * (1 + 1e-12))
    assert np.all(c.details["mixed"] <= c.details["pure_norm"] * (1 + 1e-12))
    assert np.all(c.details["pure_norm"] <= c.sigma * c.effective_residual_norm * 2)
    if weight in (None, "diagonal"):
        assert c.details["orthogonal"].all()
        assert np.allclose(c.details["chi"] ** 2 + c.details["theta"] ** 2, exact.sigma**2, rtol=1e-9)
    if radius == 3.0:  # everything is local: the exact certificate
        assert np.allclose(c.center, exact.center, rtol=1e-12)
        assert np.all(c.terms["tail"] < 1e-200)
    if radius == 0.0 and shape == "rectangular":  # nothing is local: the norm certificate
        norm = pp.certify(system, U, queries, pp.Norm())
        assert np.allclose(c.terms["tail"], norm.terms["norm"], rtol=1e-9)


@pytest.mark.parametrize("weight", [None, "diagonal", "matrix"])
@pytest.mark.parametrize("shape", ["square", "rectangular"])
def test_sweep_agrees_with_single_radii(weight, shape):
    system, queries, U, truth = build(weight, shape)
    certifier = pp.Localized(radius=0.3).prepare(system, queries)
    radii = [0.0, 0.1, 0.3, 0.8]
    sweep = certifier.sweep(U, radii)
    for j, R in enumerate(radii):
        c = pp.certify(system, U, queries, pp.Localized(radius=R))
        assert np.allclose(sweep.chi[j], c.details["chi"], rtol=1e-9)
        assert np.allclose(sweep.theta[j], c.details["theta"], rtol=1e-9)
        assert np.allclose(sweep.local[j], c.correction, rtol=1e-9, atol=1e-12)
        assert np.allclose(sweep.tail[j], c.terms["tail"], rtol=1e-9)
        assert np.allclose(sweep.mixed[j], c.details["mixed"], rtol=1e-9)
        assert np.allclose(sweep.pure_norm[j], c.details["pure_norm"], rtol=1e-9)
        assert np.all(np.abs(sweep.center[j] - truth) <= sweep.radius[j])
    if weight != "matrix":  # without orthogonality the tail mass need not decrease
        assert np.all(np.diff(sweep.theta, axis=0) <= 1e-12)


@pytest.mark.parametrize("weight", [None, "diagonal", "matrix", "energy"])
@pytest.mark.parametrize("shape", ["square", "rectangular"])
def test_any_projector_of_the_user_holds_the_truth(weight, shape):
    """A mask, one matrix for all, one per query, an oblique one, and one that is a projector only to rounding."""
    if weight == "energy" and shape == "rectangular":
        return
    system, queries, U, truth = build(weight, shape)
    rng = np.random.default_rng(1)
    M = system.M
    mask = rng.uniform(size=M) < 0.5
    basis = np.linalg.qr(rng.normal(size=(M, 5)))[0]
    orthogonal = basis @ basis.T
    oblique = np.outer(rng.normal(size=M), rng.normal(size=M))
    oblique /= np.trace(oblique)
    for given in (mask, np.stack([mask] * 4), np.diag(mask.astype(float)), [orthogonal] * 4, oblique):
        c = pp.certify(system, U, queries, pp.Localized(projectors=given))
        assert c.contains(truth).all()
        assert np.all(np.isfinite(c.radius))
        assert np.all(np.abs(c.value - truth) <= c.details["mixed"] * (1 + 1e-12))
    a = pp.certify(system, U, queries, pp.Localized(projectors=mask))
    b = pp.certify(system, U, queries, pp.Localized(projectors=np.diag(mask.astype(float))))
    assert np.allclose(a.radius, b.radius, rtol=1e-9)


def test_dropping_the_tail_is_an_estimate_and_can_miss():
    system, queries, U, truth = build()
    c = pp.certify(system, U, queries, pp.Localized(radius=0.1, tail=False))
    assert c.guarantee == "estimate"
    assert not c.contains(truth).all()
    assert pp.Localized(radius=0.1, tail=False).prepare(system, queries).sweep(U, [0.1]).guarantee == "estimate"
