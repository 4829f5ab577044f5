"""The mollifier on cells cut by the sphere: exact clipping, integrals by cones about the centre."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy.special import roots_legendre

from pinnpoint.mesh.quadrature import conical
from pinnpoint.taylor.bernstein import gram, values
from pinnpoint.transfer.points import pieces
from pinnpoint.transfer.points.clipping import positive_parts
from pinnpoint.transfer.points.kernels import DEFAULT_POWER, Kernel
from pinnpoint.transfer.points.mollifier import density
from pinnpoint.transfer.points.pieces import Cells, start
from pinnpoint.transfer.points.profiles import Profile
from pinnpoint.transfer.points.work import Work


def box(d, n, jitter=0.0, seed=0):
    """The unit cube by sorting coordinates; inner points are moved by up to `jitter` of a spacing."""
    grid = np.stack(np.meshgrid(*[np.arange(n + 1)] * d, indexing="ij"), -1).reshape(-1, d)
    number = (n + 1) ** np.arange(d - 1, -1, -1)
    corner = grid[(grid < n).all(axis=1)]
    cells = []
    for p in permutations(range(d)):
        steps = np.vstack([np.zeros(d, int), np.cumsum(np.eye(d, dtype=int)[list(p)], axis=0)])
        cells.append((corner[:, None] + steps) @ number)
    move = np.random.default_rng(seed).uniform(-jitter, jitter, grid.shape)
    move[((grid == 0) | (grid == n)).any(axis=1)] = 0.0
    return (grid + move) / n, np.concatenate(cells)


def volumes(V):
    return np.abs(np.linalg.det(V[:, 1:] - V[:, :1])) / math.factorial(V.shape[2])


def determinant(rows):
    rows = [[Fraction(float(x)) for x in r] for r in rows]
    if len(rows) == 1:
        return rows[0][0]
    total = Fraction(0)
    for i, r in enumerate(rows):
        if r[0]:
            total += (-1) ** i * r[0] * determinant([q[1:] for j, q in enumerate(rows) if j != i])
    return total


@pytest.mark.parametrize("d", [1, 2, 3])
def test_parts_tile_the_positive_side(d):
    rng = np.random.default_rng(d)
    y = rng.normal(size=(300, d + 1)) * 10.0 ** rng.integers(-6, 3, (300, d + 1))
    y[:40] = np.sign(y[:40]) * rng.integers(0, 2, (40, d + 1))  # zeros and ties
    points = rng.dirichlet(np.full(d + 1, 0.5), 200)
    height = points @ y.T
    inside, share_of, volume = np.zeros(height.shape, int), np.zeros(len(y)), [Fraction(0)] * len(y)
    for rows, parts, share in positive_parts(y):
        corners = np.broadcast_to(np.eye(d + 1), (len(rows), d + 1, d + 1)) if parts is None else parts
        assert (corners >= 0.0).all()
        for row, c, s in zip(rows, corners, share, strict=True):
            assert all(sum(map(Fraction, r)) == 1 for r in c.tolist())
            low = min(
                sum(Fraction(a) * Fraction(b) for a, b in zip(r, y[row].tolist(), strict=True)) for r in c.tolist()
            )
            assert low >= -Fraction(4 * 2**-53) * Fraction(np.ptp(y[row]) * (1 + 1e-15))
            exact = abs(determinant(c))
            assert abs(exact - Fraction(float(s))) <= exact * Fraction(4 * 2**-53)
            volume[row] += exact
            if s > 1e-12:
                inside[:, row] += (points @ np.linalg.inv(c) > 0.0).all(axis=1)
        np.add.at(share_of, rows, share)
    clear = np.abs(height) > 1e-9 * np.abs(y).max(axis=1)
    small = share_of < 1e-9
    assert (inside[:, ~small] == (height > 0.0)[:, ~small])[clear[:, ~small]].all()
    for v, a in zip(volume, y, strict=True):  # divided differences of the truncated power
        if len(set(a.tolist())) == d + 1 and np.abs(np.subtract.outer(a, a) + np.eye(d + 1)).min() > 1e-3:
            f = [Fraction(x) for x in a.tolist()]
            true = sum(
                max(x, Fraction(0)) ** d / math.prod(x - z for j, z in enumerate(f) if j != i) for i, x in enumerate(f)
            )
            assert float(v) == pytest.approx(float(true), rel=1e-9, abs=1e-12)


def random_cells(rng, d, n):
    """Simplices near the unit sphere, of all sizes and shapes."""
    size = 10.0 ** rng.uniform(-3, 0.5, (n, 1, 1))
    centre = rng.normal(size=(n, 1, d))
    centre *= (1.0 + size * rng.uniform(-1, 1, (n, 1, 1))) / np.linalg.norm(centre, axis=2, keepdims=True)
    return centre + size * rng.normal(size=(n, d + 1, d)) * 10.0 ** rng.uniform(-1, 0, (n, 1, d))


def sampled(d, k, count=400, seed=1):
    """Bounds of `pieces` and sampled means of |t₊^k − f| and of its square, for f = t^k where y > 0."""
    rng = np.random.default_rng(seed)
    z = random_cells(rng, d, count)
    if d == 1:  # the sphere is met at the middle, and close to a corner: all of one bound is used
        h = 10.0 ** rng.uniform(-1.5, -0.5, (count // 2, 1, 1))
        z[: len(h)] = 1.0 + h * np.where(rng.random(h.shape) < 0.5, [[[-1.0], [1.0]]], [[[-2.0], [0.0]]])
    p = start(Cells.build(z), Profile(k))
    u = (np.arange(20_000) + 0.5) / 20_000
    bary = np.stack([u, 1 - u], axis=1) if d == 1 else rng.dirichlet(np.ones(d + 1), 4000)
    t = 1.0 - ((bary @ z[p.cell]) ** 2).sum(axis=2)
    wrong = np.abs(np.maximum(t, 0.0) ** k - np.where(p.y @ bary.T > 0.0, t**k, 0.0))
    out = np.setdiff1d(np.arange(count), p.cell)
    lost = bool((((bary @ z[out]) ** 2).sum(axis=2) < 1.0).any())
    return p, wrong, lost


def violated(p, wrong, found):
    """Whether a sampled mean is significantly above its bound, or a part of the ball was left out."""
    for x, bound in ((wrong, p.error), (wrong**2, p.square)):
        random = 0.0 if p.y.shape[1] == 2 else 5.0 * np.sqrt((x**2).mean(axis=1) / x.shape[1])
        noise = random + 5e-2 * bound + 1e-13
        found |= bool((x.mean(axis=1) > bound + noise).any())
    return found


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_bounds_of_pieces(d, k):
    p, wrong, lost = sampled(d, k)
    assert not violated(p, wrong, lost)
    open_ = p.error > 1e-9
    assert (wrong.mean(axis=1)[open_] / p.error[open_]).max() > {1: 0.45, 2: 0.1, 3: 0.05}[d]
    assert (p.error > 0.0).sum() > 100


@pytest.mark.parametrize("d", [1, 2, 3])
def test_weaker_bounds_are_found_out(monkeypatch, d):
    excess, spread = pieces._excess, pieces._density
    with monkeypatch.context() as m:
        m.setattr(pieces, "_excess", lambda z: {1: 0.5, 2: 0.4, 3: 0.3}[d] * excess(z))
        assert violated(*sampled(d, 1))
    with monkeypatch.context() as m:
        m.setattr(pieces, "_density", lambda a, r: {1: 0.4, 2: 0.1, 3: 0.05}[d] * spread(a, r))
        assert violated(*sampled(d, 1))


def test_density_of_linear_functions():
    """B-splines: exactly the largest value in general, and below the cones' sections near the ends."""
    rng = np.random.default_rng(4)
    for d in (1, 2, 3):
        a = np.sort(rng.normal(size=(50, d + 1)), axis=1)
        for row in a:
            level = np.linspace(row[0], row[-1], 2001)[1:-1]
            value = sum(
                d * np.maximum(x - level, 0.0) ** (d - 1) * (level < x) / np.prod(x - np.delete(row, i))
                for i, x in enumerate(row)
            )
            general = pieces._density(row[None], np.array([1e9]))[0]
            assert value.max() <= general * (1 + 1e-9)
            assert value.max() >= 0.99 * general
            for r in (r for r in (0.01, 0.3) if row[-1] > -r and row[0] < r):
                window = value[np.abs(level) <= r]
                assert window.max(initial=0.0) <= pieces._density(row[None], np.array([r]))[0] * (1 + 1e-9)


X, W = roots_legendre(20)
X, W = 0.5 * (X + 1.0), 0.5 * W


def intervals(ends):
    ends = np.unique(np.clip(ends, 0.0, 1.0))
    a, h = ends[:-1, None], np.diff(ends)[:, None]
    return (a + h * X).ravel(), (h * W).ravel()


def crossings(a, b, s):
    """Where |a + v(b − a)| = s, and the foot of the origin."""
    e = b - a
    p, q, c = e @ e, a @ e, a @ a - s * s
    root = math.sqrt(max(q * q - p * c, 0.0))
    return [0.0, (-q - root) / p, -q / p, (-q + root) / p, 1.0]


def fan(a, b, s):
    """Points and signed weights of the triangle (0, a, b) of the plane, split at the circle of radius s."""
    points, weights = [], []
    for v, wv in zip(*intervals(crossings(a, b, s)), strict=True):
        e = a + v * (b - a)
        tau, wt = intervals([0.0, s / max(np.linalg.norm(e), 1e-300), 1.0])
        points.append(tau[:, None] * e)
        weights.append(wv * wt * tau)
    return np.concatenate(points), np.concatenate(weights) * (a[0] * b[1] - a[1] * b[0])


def cones(V):
    """Points y of the boundary and weights, such that Σ weight ∫_0^1 g(σy) σ^{d−1} dσ is the integral of g."""
    d = V.shape[1]
    sign = np.sign(np.linalg.det(V[1:] - V[0]))
    for i in range(d + 1):
        F = np.delete(V, i, axis=0)
        orientation = sign * (-1) ** i
        if d == 1:
            yield F, np.array([orientation * F[0, 0]])
        elif d == 2:
            v, w = intervals(crossings(F[0], F[1], 1.0))
            yield F[0] + v[:, None] * (F[1] - F[0]), orientation * w * (F[0, 0] * F[1, 1] - F[0, 1] * F[1, 0])
        else:
            n = np.cross(F[1] - F[0], F[2] - F[0])
            area = np.linalg.norm(n)
            n = n / area
            h = n @ F[0]
            e1 = (F[1] - F[0]) / np.linalg.norm(F[1] - F[0])
            basis = np.stack([e1, np.cross(n, e1)])
            flat = (F - h * n) @ basis.T
            s = math.sqrt(max(1.0 - h * h, 0.0))
            for j in range(3):
                y, w = fan(flat[j], flat[(j + 1) % 3], s)
                yield h * n + y @ basis, orientation * w * h


def true_moments(V, k):
    """∫ (1 − |z|²)₊^k B_jl over the simplex V, by cones about the ball's centre: no planes."""
    d = V.shape[1]
    to = np.linalg.inv(np.concatenate([V, np.ones((d + 1, 1))], axis=1))
    total = 0.0
    for y, w in cones(V):
        reach = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(y, axis=1), 1e-300))
        z = (reach[:, None] * X)[:, :, None] * y[:, None, :]
        f = np.maximum(1.0 - (z * z).sum(axis=2), 0.0) ** k * (reach[:, None] * X) ** (d - 1) * reach[:, None] * W
        B = values(np.concatenate([z, np.ones((*z.shape[:2], 1))], axis=2) @ to)
        total = total + np.einsum("n,nq,nqb->b", w, f, B)
    return total


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("d", "n", "R"), [(1, 6, 0.31), (2, 4, 0.37), (2, 2, 0.12), (3, 3, 0.41), (3, 2, 0.17)])
def test_moments_of_each_cell(d, n, R, k):
    P, cells = box(d, n, 0.2, seed=d)
    K = Kernel.build(d, 1.0, 2.0, R, k)
    x0 = np.array([0.53, 0.48, 0.51])[:d]
    found = {}
    for target in (math.inf, 1e-3, 1e-6):
        D = density(K, P, cells, x0, target, spent=Work(20_000))
        got, sharp = D.coefficients @ gram(d), 0.0
        if not found:
            some = np.random.default_rng(3).permutation(D.cells[D.high > 1e-9])[: 30 if d < 3 else 4]
            for cell in some.tolist():
                V = (P[cells[cell]] - x0) / R
                volume = abs(np.linalg.det(V[1:] - V[0])) / math.factorial(d)
                found[cell] = K.peak * true_moments(V, k) / volume
        assert found
        for cell, true in found.items():
            i = int(np.flatnonzero(D.cells == cell)[0])
            wrong = np.abs(true - got[i]).sum()  # the B_jl add up to one
            assert wrong <= D.error1[i] + 1e-11 * K.peak
            sharp = max(sharp, wrong / D.error1[i])
        if target == math.inf and k == 1:
            assert sharp > 0.01, "the bound is not far from the truth"


def radial_moments(K, d, k):
    """∫ w and ∫ w |x − x₀|²."""
    beta = [math.gamma(k + 1) * math.gamma(d / 2 + i) / math.gamma(k + 1 + d / 2 + i) for i in (0, 1)]
    return K.mass, K.mass * beta[1] / beta[0] * K.radius**2


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("where", ["inside", "vertex", "edge", "facet"])
def test_radial_moments_of_all_cells(d, where):
    rng = np.random.default_rng(7)
    n = {1: 45, 2: 45, 3: 9}[d]
    P, cells = box(d, n, 0.15, seed=11)
    middle = cells[np.argmin(np.abs(P[cells].mean(axis=1) - 0.5).sum(axis=1))]
    corners = {"inside": d + 1, "vertex": 1, "edge": 2, "facet": max(d, 1)}[where]
    x0 = rng.dirichlet(np.ones(corners)) @ P[middle[:corners]]
    for R in np.array([1e-6, 1e-3, 0.1, 0.6, 1.0, 3.7, 20.0]) / n:
        if R > 0.42 or (d == 3 and 0.05 < R * n < 0.3):
            continue
        for k in (1, 3):
            K = Kernel.build(d, 1.0, 0.0, float(R), k)
            D = density(K, P, cells, x0, 1e-5, spent=Work(40_000 if d < 3 else 12_000))
            V = P[cells[D.cells]]
            volume = volumes(V)
            bary, weights = conical(d, 3)
            x = np.einsum("qi,cid->cqd", bary, V - x0)
            f = D.coefficients @ values(bary).T
            second = (x * x).sum(axis=2)
            reach = ((V - x0) ** 2).sum(axis=2).max(axis=1)
            for g, size, true in zip((np.ones_like(f), second), (1.0, reach), radial_moments(K, d, k), strict=True):
                value = np.einsum("cq,cq,q,c->", f, g, weights, volume)
                allowed = float(np.sum(volume * D.error1 * size))
                noise = 1e-13 * np.sum(volume * np.abs(f).max(axis=1) * size)
                assert abs(value - true) <= allowed + noise + 1e-14 * true
            assert (volume * D.error1).sum() <= (1e-5 if d < 3 else 1e-3)
            assert (D.error1 <= D.error2 * (1 + 1e-9)).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_errors_fall_like_the_fourth_power(d):
    """Without any division: O(t²) in height on a part O(t²) of the ball."""
    sizes, K = {1: (64, 128), 2: (32, 64), 3: (10, 20)}[d], Kernel.build(d, 1.0, 0.0, 0.43)
    assert K.k == DEFAULT_POWER[d] == 1
    totals = []
    for n in sizes:
        found = []
        for shift in np.linspace(0.0, 1.0, 7 if d == 1 else 2):
            P, cells = box(d, n)
            D = density(K, P, cells, np.full(d, 0.5 + 0.317 * shift / n), math.inf)
            V = P[cells[D.cells]]
            found.append((volumes(V) * D.error1).sum())
        totals.append(np.mean(found))
    assert 10.0 < totals[0] / totals[1] < 25.0


def test_aims_are_met():
    """Few pieces suffice: the caps are a tenth of the default or less."""
    for d, n, target, most in ((2, 32, 1e-10, 6000), (3, 12, 1e-5, 40_000)):
        P, cells = box(d, n)
        D = density(Kernel.build(d, 1.0, 0.0, 0.5), P, cells, np.full(d, 0.5), target, spent=Work(most))
        assert (volumes(P[cells[D.cells]]) * D.error1).sum() <= target
