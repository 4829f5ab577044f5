"""The mollifier on meshes against exact moments and fine rules; its tables; the largest ball."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.spatial import Delaunay

import pinnpoint as pp
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.mesh.quadrature import RULE_DEFECT, conical
from pinnpoint.taylor.bernstein import children, gram, values
from pinnpoint.transfer.points import mollifier
from pinnpoint.transfer.points.ball_cells import MeshCells
from pinnpoint.transfer.points.distances import largest_ball
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.mollifier import density
from pinnpoint.transfer.points.work import Work


def _volumes(corners):
    """Volumes of simplices (n, d + 1, d) and bounds of their errors."""
    n, m, d = corners.shape
    return MeshCells.of(corners.reshape(-1, d), np.arange(n * m).reshape(n, m)).volumes


def box(d, n):
    """Uniform simplices of the unit cube, by sorting coordinates."""
    grid = np.stack(np.meshgrid(*[np.arange(n + 1)] * d, indexing="ij"), -1).reshape(-1, d)
    number = (n + 1) ** np.arange(d - 1, -1, -1)
    corner = grid[(grid < n).all(axis=1)]
    cells = []
    for p in permutations(range(d)):
        steps = np.vstack([np.zeros(d, int), np.cumsum(np.eye(d, dtype=int)[list(p)], axis=0)])
        cells.append((corner[:, None] + steps) @ number)
    return grid / n, np.concatenate(cells)


def scattered(d, n, seed):
    rng = np.random.default_rng(seed)
    if d == 1:
        x = np.sort(np.r_[0.0, rng.random(n), 1.0])
        return x[:, None], np.stack([np.arange(n + 1), np.arange(1, n + 2)], axis=1)
    P = np.vstack([np.array(list(product((0.0, 1.0), repeat=d))), rng.random((n, d))])
    cells = Delaunay(P).simplices.astype(np.intp)
    cells = cells[_volumes(P[cells])[0] > 1e-9]
    return P, cells[:, rng.permutation(d + 1)]


def quadratics(X):
    """1, x_i and x_i x_j at points (…, d)."""
    d = X.shape[-1]
    rows = [np.ones(X.shape[:-1]), *(X[..., i] for i in range(d))]
    return np.stack([*rows, *(X[..., i] * X[..., j] for i in range(d) for j in range(i, d))], axis=-1)


def exact_quadratic_moments(K, x0):
    """∫ w v for those v: ∫ w = m, ∫ w y_i y_j = δ_ij m₂/d about the centre."""
    d, k = K.d, K.k
    beta = [math.gamma(k + 1) * math.gamma(d / 2 + i) / math.gamma(k + 1 + d / 2 + i) for i in (0, 1)]
    second = K.mass * beta[1] / beta[0] * K.radius**2 / d
    rows = [K.mass, *(K.mass * x0)]
    return np.array([*rows, *(K.mass * x0[i] * x0[j] + (i == j) * second for i in range(d) for j in range(i, d))])


MESHES = [
    ("one", scattered(1, 7, 3), [0.4], 0.31, 1e-9),
    ("one, at a vertex", box(1, 8), [0.5], 0.5, 1e-9),
    ("square", box(2, 6), [0.5, 0.5], 0.5, 1e-7),
    ("scattered", scattered(2, 60, 1), [0.41, 0.55], 0.39, 1e-8),
    ("in one cell", box(2, 3), [0.41, 0.37], 0.01, 1e-7),
    ("at a vertex", box(2, 3), [1 / 3, 2 / 3], 0.01, 1e-7),
    ("on an edge", box(2, 4), [0.25, 0.6], 1e-4, 1e-6),
    ("cube", box(3, 4), [0.5, 0.5, 0.5], 0.5, 2e-5),
    ("scattered 3", scattered(3, 40, 2), [0.45, 0.5, 0.52], 0.4, 2e-5),
    ("in one tetrahedron", box(3, 2), [0.3, 0.21, 0.11], 0.02, 1e-4),
    ("on a facet", box(3, 2), [0.3, 0.3, 0.11], 0.02, 1e-4),
]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("where", MESHES, ids=lambda w: w[0])
def test_density_against_exact_moments(where, k):
    _, (P, cells), x0, R, target = where
    d, x0 = P.shape[1], np.array(x0)
    K = Kernel.build(d, 1.0, 3.0, R, k)
    D = density(K, P, cells, x0, target * 30.0 ** (2 - min(k, 2)))
    X = P[cells[D.cells]]
    volume = _volumes(X)[0]
    bary, weights = conical(d, 3)
    v = quadratics(np.einsum("qi,cid->cqd", bary, X) - x0)
    integrals = np.einsum("cj,qj,q,cqv,c->v", D.coefficients, values(bary), weights, v, volume)
    size = np.abs(quadratics(X - x0)).max(axis=1)
    allowed = (volume * D.error1) @ size
    true = exact_quadratic_moments(K, np.zeros(d))
    assert (np.abs(integrals - true) <= allowed + 1e-14 * np.abs(true) + 1e-15 * R).all()
    assert (volume * D.error1).sum() <= 1.3 * (30.0 * target if k == 1 else target)
    assert (D.error1 <= D.error2 * (1 + 1e-12)).all()
    assert np.isfinite(D.coefficients).all()
    assert D.proved


@pytest.mark.parametrize("where", [w for w in MESHES if w[3] > 0.1], ids=lambda w: w[0])
def test_density_cell_by_cell(where):
    """Fine rules on each cell: moments against all quadratics, and the root mean square of the rest."""
    _, (P, cells), x0, R, _ = where
    d, x0 = P.shape[1], np.array(x0)
    K = Kernel.build(d, 2.0, 0.0, R)
    D = density(K, P, cells, x0, 1e-4)
    X = P[cells[D.cells]]
    bary, weights = conical(d, 4)
    parts = np.eye(d + 1)[None]
    for _ in range({1: 7, 2: 5, 3: 3}[d]):
        parts = np.einsum("cij,njk->ncik", children(d), parts).reshape(-1, d + 1, d + 1)
    fine = np.einsum("qi,nij->nqj", bary, parts).reshape(-1, d + 1)
    w = np.tile(weights, len(parts)) / len(parts)
    s = (((np.einsum("qi,cid->cqd", fine, X) - x0) / R) ** 2).sum(axis=2)
    f = K.peak * np.maximum(1.0 - s, 0.0) ** K.k
    B = values(fine)
    rest = f - D.coefficients @ B.T
    rough = {1: 1e-9, 2: 1e-6, 3: 3e-5}[d] * K.peak  # error of the fine rule
    assert (np.abs((rest * w) @ B) <= D.error1[:, None] + rough).all()
    rms = np.sqrt((rest**2) @ w)
    assert (rms <= D.high + D.error2 + rough).all()
    assert (D.high <= rms * 1.05 + D.error2 + rough + 2e-2 * rms.max()).all()
    volume = _volumes(X)[0]
    assert volume @ D.high**2 <= 1.02 * (volume @ rms**2) + volume @ (D.error2 + rough) ** 2
    outside = np.setdiff1d(np.arange(len(cells)), D.cells)
    far = (((np.einsum("qi,cid->cqd", fine[::7], P[cells[outside]]) - x0) / R) ** 2).sum(axis=2)
    assert (far >= 1.0).all()


def test_density_is_sharp():
    P, cells = box(2, 32)
    K = Kernel.build(2, 1.0, 0.0, 0.37)
    for target in (1e-5, 1e-9):
        D = density(K, P, cells, np.array([0.38, 0.52]), target)
        assert _volumes(P[cells[D.cells]])[0] @ D.error1 <= target
    capped = density(K, P, cells, np.array([0.38, 0.52]), 0.0, spent=Work(2000))
    assert np.isfinite(capped.error1).all()
    inside = (((P[cells] - [0.38, 0.52]) ** 2).sum(axis=2) < 0.36**2).all(axis=1)
    small = capped.on_all(len(cells)).error1[inside]
    assert small.max() <= 1e-10 * K.peak


def test_sabotage_is_found():
    P, cells = box(2, 16)
    x0 = np.array([0.47, 0.52])
    K = Kernel.build(2, 1.0, 5.0, 0.46)
    density(K, P, cells, x0, 1e-7)
    for wrong in (
        replace(K, peak=K.peak * (1 + 1e-6)),
        replace(K, k=3),
        replace(K, k=2),
        replace(K, radius=K.radius * (1 + 1e-6)),
        replace(K, mass=K.mass * (1 - 1e-6)),
    ):
        with pytest.raises(CertificationError, match="mass"):
            density(wrong, P, cells, x0, 1e-7)
    with pytest.raises(CertificationError, match="inside the mesh"):
        density(K, P, cells, np.array([0.4, 0.52]), 1e-7)
    with pytest.raises(CertificationError, match="inside the mesh"):
        density(K, P, np.delete(cells, len(cells) // 3, axis=0), x0, 1e-7)
    with pytest.raises(CertificationError, match="inside the mesh"):
        density(K, P, cells, np.array([7.0, 0.52]), 1e-7)
    with pytest.raises(InputError, match="columns"):
        density(Kernel.build(3, 1.0, 0.0, 0.1), P, cells, x0, 1e-7)


@pytest.mark.parametrize(
    ("d", "n"),
    [
        (1, 3),
        (1, 5),
        (1, 6),
        (1, 7),
        (2, 3),
        (2, 4),
        (2, 5),
        (2, 6),
        (2, 7),
        (2, 9),
        (3, 4),
        (3, 5),
        (3, 6),
        (3, 7),
        (3, 9),
    ],
)
def test_rules_are_exact(d, n):
    """The whole Bernstein basis of degree 2n − 1 in 140-bit arithmetic on the rule's own floats."""
    points, weights = conical(d, n)
    assert (weights > 0).all()
    degree, bits = 2 * n - 1, 140
    table = []
    for row in points:
        powers = []
        for x in row:
            v, p = int(Fraction(float(x)) * 2**bits), [1 << bits]
            for _ in range(degree):
                p.append((p[-1] * v) >> bits)
            powers.append(p)
        table.append(powers)
    w = [int(Fraction(float(x)) * 2**bits) for x in weights]
    defect = Fraction(0)
    for head in product(range(degree + 1), repeat=d):
        if sum(head) > degree:
            continue
        alpha = (*head, degree - sum(head))
        many = math.factorial(degree) // math.prod(map(math.factorial, alpha))
        s = 0
        for q, v in enumerate(w):
            for i, a in enumerate(alpha):
                v = (v * table[q][i][a]) >> bits
            s += v
        defect += abs(Fraction(s * many, 1 << bits) - Fraction(1, math.comb(degree + d, d)))
    assert float(defect) <= RULE_DEFECT / 2


@pytest.mark.parametrize(
    ("d", "k"), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (3, 4)]
)
def test_rule_sees_every_square(d, k):
    """The rule's Gram matrix of degree 2k is at least 1 − 1e-7 of the exact one: its entries agree that well."""
    points, weights = conical(d, 2 * k + 1)
    indices = [(*a, 2 * k - sum(a)) for a in product(range(2 * k + 1), repeat=d) if sum(a) <= 2 * k]
    many = [math.factorial(2 * k) // math.prod(map(math.factorial, a)) for a in indices]
    B = np.stack([m * np.prod(points ** np.array(a), axis=1) for m, a in zip(many, indices, strict=True)], axis=1)
    exact = np.array(
        [
            [
                float(
                    Fraction(
                        p * q * math.factorial(d) * math.prod(math.factorial(i + j) for i, j in zip(a, b, strict=True)),
                        math.factorial(d + 4 * k),
                    )
                )
                for b, q in zip(indices, many, strict=True)
            ]
            for a, p in zip(indices, many, strict=True)
        ]
    )
    wrong = np.abs((B * weights[:, None]).T @ B - exact).sum(axis=1).max() + 1e-14 * np.abs(exact).sum(axis=1).max()
    assert wrong <= 1e-7 * np.linalg.eigvalsh(exact)[0]


def test_children_tile_their_simplex():
    for d in (1, 2, 3):
        table = children(d)
        assert (table.sum(axis=2) == 1.0).all()
        assert np.abs(np.linalg.det(table)) == pytest.approx(0.5**d)
        bary, weights = conical(d, 3)
        fine = np.einsum("qi,cij->cqj", bary, table).reshape(-1, d + 1)
        B = values(fine)
        assert (B * np.tile(weights / len(table), len(table))[:, None]).T @ B == pytest.approx(gram(d), abs=1e-14)


def exact_distance2(x0, corners):
    """Squared distance of a point from a simplex, in rationals: the least over faces whose foot lies inside."""
    x = [Fraction(float(v)) for v in x0]
    V = [[Fraction(float(v)) for v in c] for c in corners]

    def dot(a, b):
        return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))

    best = None
    for size in range(1, len(V) + 1):
        for face in combinations(V, size):
            E = [[a - b for a, b in zip(v, face[0], strict=True)] for v in face[1:]]
            y = [a - b for a, b in zip(x, face[0], strict=True)]
            t = []
            if size == 2:
                if dot(E[0], E[0]) == 0:
                    continue
                t = [dot(y, E[0]) / dot(E[0], E[0])]
            if size == 3:
                a, b, c, p, q = dot(E[0], E[0]), dot(E[0], E[1]), dot(E[1], E[1]), dot(y, E[0]), dot(y, E[1])
                det = a * c - b * b
                if det == 0:
                    continue
                t = [(c * p - b * q) / det, (a * q - b * p) / det]
            if all(v >= 0 for v in t) and sum(t, Fraction(0)) <= 1:
                z = [v - sum((s * e[i] for s, e in zip(t, E, strict=True)), Fraction(0)) for i, v in enumerate(y)]
                best = dot(z, z) if best is None else min(best, dot(z, z))
    return best


def test_largest_ball_is_never_too_large():
    rng = np.random.default_rng(5)
    for d in (1, 2, 3):
        for scale in (1.0, 1e-6, 1e5):
            for n in (1, 3):
                for _ in range(25):
                    x0 = rng.normal(size=d) * scale
                    facets = rng.normal(size=(n, d, d)) * scale * rng.choice([0.1, 1.0, 3.0])
                    if d == 3 and rng.random() < 0.3:  # needles
                        facets[:, 2] = facets[:, 1] + 1e-9 * scale * rng.normal(size=(n, 3))
                    R = largest_ball(x0, facets)
                    true = min(exact_distance2(x0, c) for c in facets)
                    assert Fraction(R) ** 2 <= true
                    assert R >= (1 - 1e-12) * math.sqrt(true) - 1e-13 * scale
    for _ in range(300):  # close to a large facet, where the rounding of the corners decides
        d = int(rng.integers(2, 4))
        facets = rng.normal(size=(1, d, d)) + 3.0
        x0 = rng.dirichlet(np.ones(d)) @ facets[0] + 1e-15 * rng.normal(size=d)
        assert Fraction(largest_ball(x0, facets)) ** 2 <= exact_distance2(x0, facets[0])
    square = np.array([[[0, 0], [1, 0]], [[1, 0], [1, 1]], [[1, 1], [0, 1]], [[0, 1], [0, 0]]], dtype=float)
    assert largest_ball(np.array([0.5, 0.5]), square) == pytest.approx(0.5, rel=1e-13)
    assert largest_ball(np.array([0.5, 0.0]), square) == 0.0
    assert largest_ball(np.array([0.5, 0.0]), square[:0]) == math.inf
    with pytest.raises(InputError, match="facets"):
        largest_ball(np.array([0.5]), square)


@pytest.mark.parametrize("together", [30_000, 60])
def test_mollifiers_made_together_are_those_made_alone(together, monkeypatch):
    """Balls of different sizes with different targets and budgets; in one group, and in several."""
    monkeypatch.setattr(mollifier, "TOGETHER", together)
    mesh = pp.io.generate("square", 10)
    X = np.array([[0.5, 0.5], [0.31, 0.72], [0.9, 0.13], [0.52, 0.45]])
    kernels = [Kernel.build(2, 1.5, 0.0, radius) for radius in (0.45, 0.2, 0.09, 0.45)]
    targets, budgets = (1e-4, 1e-6, 1e-5, 1e-9), (10**5, 10**5, 10**5, 900)
    works = [Work(budget) for budget in budgets]
    found = list(mollifier.densities(kernels, mesh.points, mesh.cells, X, targets, works))
    for i, (kernel, w) in enumerate(zip(kernels, found, strict=True)):
        work = Work(budgets[i])
        alone = mollifier.density(kernel, mesh.points, mesh.cells, X[i], targets[i], spent=work)
        assert np.array_equal(w.cells, alone.cells)
        np.testing.assert_allclose(w.coefficients, alone.coefficients, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(w.error1, alone.error1, rtol=1e-6, atol=1e-13)
        assert (works[i].spent, works[i].stopped) == (work.spent, work.stopped)
    assert works[3].stopped
    assert not works[0].stopped
