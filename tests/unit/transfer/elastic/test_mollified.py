"""The density of points and averages on meshes, against exact moments and fine rules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from pinnpoint.base.errors import CertificationError
from pinnpoint.mesh.quadrature import conical
from pinnpoint.taylor.bernstein import children, values
from pinnpoint.transfer.elastic.kelvin import kelvin_of
from pinnpoint.transfer.elastic.mollified import bump_of, mollified
from pinnpoint.transfer.points.mollifier import density
from pinnpoint.transfer.points.profiles import Profile
from pinnpoint.transfer.points.work import Work


def box(d, n, seed):
    """Simplices of the unit cube with vertices moved inside."""
    grid = np.stack(np.meshgrid(*[np.arange(n + 1)] * d, indexing="ij"), -1).reshape(-1, d)
    number = (n + 1) ** np.arange(d - 1, -1, -1)
    corner = grid[(grid < n).all(axis=1)]
    cells = []
    for p in permutations(range(d)):
        steps = np.vstack([np.zeros(d, int), np.cumsum(np.eye(d, dtype=int)[list(p)], axis=0)])
        cells.append((corner[:, None] + steps) @ number)
    inside = ((grid > 0) & (grid < n)).all(axis=1)
    noise = 0.15 * np.random.default_rng(seed).uniform(-1, 1, grid.shape) * inside[:, None]
    return (grid + noise) / n, np.concatenate(cells)


def volumes(V):
    E = V[:, 1:] - V[:, :1]
    return np.abs(np.linalg.det(E)) / (2 if V.shape[2] == 2 else 6)


WHERE = [
    (2, 8, [0.47, 0.52], 0.43, 1e-7),
    (2, 2, [0.47, 0.52], 0.02, 1e-6),
    (2, 3, [0.5, 0.5], 0.5, 1e-6),
    (3, 3, [0.45, 0.5, 0.52], 0.43, 2e-4),
    (3, 2, [0.3, 0.21, 0.11], 0.1, 1e-3),
]


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("d", "n", "x0", "R", "target"), WHERE)
def test_against_exact_moments(d, n, x0, R, target, share):
    """∫ϱ = 1, ∫ϱ y = 0 and ∫ϱ y_i y_j = δ_ij r₀²/(d + 2)."""
    P, cells = box(d, n, 3)
    x0 = np.array(x0)
    D = mollified(kelvin_of(d, 1.0, 1.0, R, share * R), P, cells, x0, target)
    V = P[cells[D.cells]]
    bary, weights = conical(d, 3)
    Y = np.einsum("qi,cid->cqd", bary, V) - x0
    f = np.einsum("cj,qj,q,c->cq", D.coefficients, values(bary), weights, volumes(V))
    far = np.linalg.norm(V - x0, axis=2).max(axis=1)
    allowed = volumes(V) * D.error1
    assert allowed.sum() <= 1.3 * target
    assert abs(f.sum() - 1.0) <= allowed.sum() + 1e-13
    assert (np.abs(np.einsum("cq,cqi->i", f, Y)) <= allowed @ far + 1e-14).all()
    second = np.einsum("cq,cqi,cqj->ij", f, Y, Y)
    exact = np.eye(d) * (share * R) ** 2 / (d + 2)
    assert (np.abs(second - exact) <= allowed @ far**2 + 1e-14).all()
    assert D.proved


@pytest.mark.parametrize(("d", "n", "x0", "R", "target"), [WHERE[0], WHERE[2], WHERE[3]])
def test_cell_by_cell(d, n, x0, R, target):
    """Fine rules on each cell: means against all quadratics, and the root mean square of the rest."""
    P, cells = box(d, n, 5)
    x0, K = np.array(x0), kelvin_of(d, 1.0, 1.0, R, 0.3 * R)
    D = mollified(K, P, cells, x0, target)
    V = P[cells[D.cells]]
    bary, weights = conical(d, 5)
    parts = np.eye(d + 1)[None]
    for _ in range({2: 5, 3: 2}[d]):
        parts = np.einsum("cij,njk->ncik", children(d), parts).reshape(-1, d + 1, d + 1)
    fine = np.einsum("qi,nij->nqj", bary, parts).reshape(-1, d + 1)
    w = np.tile(weights, len(parts)) / len(parts)
    t = np.maximum(1.0 - (((np.einsum("qi,cid->cqd", fine, V) - x0) / R) ** 2).sum(axis=2), 0.0)
    first, second = (float(c) / ((2 if d == 2 else 4) * np.pi * R**d) for c in K.density)
    rest = first * t**3 + second * t**4 - D.coefficients @ values(fine).T
    rough = {2: 1e-8, 3: 1e-4}[d] * abs(second)
    assert (np.abs((rest * w) @ values(fine)) <= D.error1[:, None] + rough).all()
    rms = np.sqrt((rest**2) @ w)
    assert (rms <= D.high + D.error2 + rough).all()
    assert (D.high <= rms * 1.05 + D.error2 + rough).all()  # both powers together, not the sum of their norms
    outside = np.setdiff1d(np.arange(len(cells)), D.cells)
    far = (((np.einsum("qi,cid->cqd", fine[::7], P[cells[outside]]) - x0) / R) ** 2).sum(axis=2)
    assert (far >= 1.0).all()


def test_height_is_enclosed():
    for d, r0 in ((2, 0.0), (3, 0.0), (3, 0.123)):
        K = kelvin_of(d, 1.0, 1.0, 0.37, r0)
        B = bump_of(K)
        high = Fraction(355, 113) * 2 ** (d - 1) * Fraction(K.radius) ** d  # π to seven digits
        for c, exact in zip((B.profile.first, B.profile.second), K.density, strict=True):
            assert abs(Fraction(c) * Fraction(B.peak) * high / exact - 1) <= Fraction(1, 10**6)
            assert abs(Fraction(c) - exact) <= Fraction(2) ** -53 * abs(exact) * 2
        assert 1e-16 * B.peak <= B.peak_error <= 1e-15 * B.peak


def test_budget_and_sabotage():
    P, cells = box(2, 12, 1)
    x0, K = np.array([0.47, 0.52]), kelvin_of(2, 1.0, 1.0, 0.43)
    spent = Work(600)
    D = mollified(K, P, cells, x0, 0.0, spent)
    assert spent.stopped == ["the mollifier"]
    assert np.isfinite(D.error1).all()
    B = bump_of(K)
    for wrong in (
        replace(B, profile=Profile(3, B.profile.first, B.profile.second * (1 + 1e-5))),
        replace(B, profile=Profile(3, B.profile.first * (1 + 1e-5), B.profile.second)),
        replace(B, profile=Profile(2, B.profile.first, B.profile.second)),
        replace(B, peak=B.peak * (1 + 1e-5)),
        replace(B, radius=B.radius * (1 + 1e-5)),
    ):
        with pytest.raises(CertificationError, match="mass"):
            density(wrong, P, cells, x0, 1e-8)
    with pytest.raises(CertificationError, match="inside the mesh"):
        mollified(K, P, cells, np.array([0.3, 0.52]), 1e-8)
