"""Densities of averages: over blocks against exact polygons, over balls against closed forms and finer ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.taylor.bernstein import exact_gram, means, pairs
from pinnpoint.transfer.blocks import corners_of, over_ball, over_block, over_cells
from pinnpoint.transfer.points import pieces
from pinnpoint.transfer.points.work import Work

SIZES = {1: 9, 2: 5, 3: 3}
DOMAINS = {1: "interval", 2: "square", 3: "cube"}


def mesh_of(d, rng):
    """The unit box with its inner vertices moved."""
    mesh = generate(DOMAINS[d], SIZES[d])
    inner = np.all((mesh.points > 1e-9) & (mesh.points < 1 - 1e-9), axis=1)
    X = mesh.points + inner[:, None] * rng.uniform(-0.15, 0.15, mesh.points.shape) / SIZES[d]
    return Mesh(X, mesh.cells)


def integral(mesh, w, q):
    """Σ ∫ w q for a quadratic q, and the largest error that the density allows."""
    cells = mesh.cells[w.cells]
    X, d = mesh.points[cells], mesh.dim
    total = slack = 0.0
    G = np.array([[float(x) for x in row] for row in exact_gram(d)])
    nodal = np.stack([_polar(q, X[:, j], X[:, k]) for j, k in pairs(d)], axis=1)
    volumes = mesh.volumes[w.cells]
    total = float(np.sum(volumes * np.einsum("ni,ij,nj->n", w.coefficients, G, nodal)))
    slack = float(np.sum(volumes * w.error1 * np.abs(nodal).max(axis=1)))
    return total, slack


def _polar(q, x, y):
    """Bernstein coefficients of q = a + b·x + xᵀMx from its blossom."""
    a, b, M = q
    return a + 0.5 * ((x + y) @ b) + np.einsum("ni,ij,nj->n", x, M, y)


def random_quadratic(d, rng):
    M = rng.normal(size=(d, d))
    return rng.normal(), rng.normal(size=d), 0.5 * (M + M.T)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_blocks_integrate_quadratics_as_boxes_do(d):
    rng = np.random.default_rng([3, d])
    mesh = mesh_of(d, rng)
    for _ in range(6):
        side = rng.uniform(0.05, 0.6)
        at = rng.uniform(side / 2, 1 - side / 2, d)
        low, high = corners_of(at, side)
        w, wrong = over_block(mesh.points, mesh.cells, low, high)
        assert wrong < 1e-9
        q = random_quadratic(d, rng)
        a, b, M = q
        second = np.outer(at, at) + np.diag(np.full(d, side**2 / 12))
        truth = a + b @ at + np.sum(M * second)
        found, slack = integral(mesh, w, q)
        assert abs(found - truth) <= 1e-12 * (1 + abs(truth)) + slack
        assert slack < 1e-7


def clip(polygon, axis, level, keep_above):
    """Sutherland and Hodgman, in rationals."""
    out = []
    for i, p in enumerate(polygon):
        q = polygon[(i + 1) % len(polygon)]
        a, b = p[axis] - level, q[axis] - level
        a, b = (a, b) if keep_above else (-a, -b)
        if a >= 0:
            out.append(p)
        if a * b < 0:
            t = a / (a - b)
            out.append(tuple(x + t * (y - x) for x, y in zip(p, q, strict=True)))
    return out


def exact_moments(triangle, low, high):
    """∫ B_jl over the part of a triangle in a box, over the triangle's area: exactly."""
    T = [tuple(Fraction(float(x)) for x in p) for p in triangle]
    area = _area(*T)
    polygon = T
    for axis in range(2):
        for level, above in ((low[axis], True), (high[axis], False)):
            polygon = clip(polygon, axis, Fraction(float(level)), above) if polygon else []
    found = [Fraction(0)] * 6
    for i in range(1, len(polygon) - 1):
        part = [polygon[0], polygon[i], polygon[i + 1]]
        share = abs(_area(*part)) / abs(area)
        bary = [_barycentric(T, area, p) for p in part]
        for n, (j, k) in enumerate(pairs(2)):
            mean = sum(b[j] * b[k] for b in bary) + sum(b[j] for b in bary) * sum(b[k] for b in bary)
            found[n] += share * mean / 12 * (1 if j == k else 2)
    return found


def _area(p, q, r):
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def _barycentric(T, area, x):
    return [_area(x, T[1], T[2]) / area, _area(T[0], x, T[2]) / area, _area(T[0], T[1], x) / area]


def test_parts_of_triangles_are_those_of_exact_polygons():
    rng = np.random.default_rng(5)
    G = exact_gram(2)
    worst = 0.0
    for k in range(40):
        triangle = rng.uniform(-1, 1, (3, 2))
        low, high = np.sort(rng.uniform(-0.8, 0.8, (2, 2)), axis=0)
        if k % 2:  # a face within a few units in the last place of a corner
            low[0] = triangle[0, 0] + rng.integers(-3, 4) * 2.0**-53
        if np.any(high - low < 0.05):
            continue
        w = _unchecked(triangle, low, high)
        height = 1 / float(np.prod(high - low))
        truth = exact_moments(triangle, low, high)
        beta = [Fraction(float(b)) for b in (w.coefficients[0] if len(w.coefficients) else np.zeros(6))]
        for i in range(6):
            stored = sum(G[i][j] * beta[j] for j in range(6))
            gap = abs(float(stored - truth[i] * Fraction(height)))
            allowed = float(w.error1[0]) if len(w.error1) else 0.0
            assert gap <= allowed
            worst = max(worst, gap / allowed if allowed else 0.0)
    assert worst > 1e-6


def _unchecked(triangle, low, high):
    """The density on a triangle that holds a part of the block only."""
    from pinnpoint.transfer import blocks

    keep, blocks._missing = blocks._missing, lambda *rest: 0.0
    try:
        return over_block(triangle, np.array([[0, 1, 2]]), low, high)[0]
    finally:
        blocks._missing = keep


@pytest.mark.parametrize("d", [1, 2, 3])
def test_what_quadratics_leave_of_a_block_is_bounded(d):
    """`high` against samples of the indicator minus its projection."""
    rng = np.random.default_rng([8, d])
    mesh = mesh_of(d, rng)
    w, _ = over_block(mesh.points, mesh.cells, *corners_of(np.full(d, 0.47), 0.51))
    bary = rng.dirichlet(np.ones(d + 1), 20_000)
    B = np.stack([bary[:, j] * bary[:, k] * (1 if j == k else 2) for j, k in pairs(d)], axis=1)
    height = 0.51**-d
    tight = 0.0
    for row, cell in enumerate(w.cells):
        X = bary @ mesh.points[mesh.cells[cell]]
        inside = np.all(np.abs(X - 0.47) <= 0.255, axis=1) * height
        rms = np.sqrt(np.mean((inside - B @ w.coefficients[row]) ** 2))
        if np.mean(inside > 0.0) > 0.02:  # of others there are too few samples
            assert rms <= 1.1 * (w.high[row] + w.error2[row]) + 1e-6
            tight = max(tight, rms / max(w.high[row], 1e-9))
    assert tight > 0.9


@pytest.mark.parametrize("d", [2, 3])
def test_balls_without_kernels_integrate_quadratics_as_balls_do(d):
    rng = np.random.default_rng([4, d])
    mesh = mesh_of(d, rng)
    x0, R = np.full(d, 0.48), 0.33
    w = over_ball(mesh.points, mesh.cells, x0, R, {2: 1e-6, 3: 1e-3}[d], Work())
    for _ in range(4):
        a, b, M = q = random_quadratic(d, rng)
        truth = a + b @ x0 + np.sum(M * (np.outer(x0, x0) + np.eye(d) * R**2 / (d + 2)))
        found, slack = integral(mesh, w, q)
        assert abs(found - truth) <= slack < {2: 1e-4, 3: 5e-2}[d]


def test_errors_of_coarse_balls_hold_and_are_not_far_too_large():
    mesh = generate("square", 6)
    x0, R = np.array([0.48, 0.53]), 0.33
    fine = over_ball(mesh.points, mesh.cells, x0, R, 1e-7, Work())
    worst = 0.0
    for target in (0.3, 0.1, 0.03):
        rough = over_ball(mesh.points, mesh.cells, x0, R, target, Work())
        assert np.array_equal(rough.cells, fine.cells)
        gap = np.abs((rough.coefficients - fine.coefficients) @ means(2))
        assert np.all(gap <= rough.error1 + fine.error1)
        worst = max(worst, float(np.max(gap / np.maximum(rough.error1, 1e-12))))
    assert worst > 0.05


def test_a_ball_whose_cut_pieces_count_too_little_is_noticed(monkeypatch):
    """Sabotage: a hundredth of step 2b's share; the ball's mass is then off by more than its bound."""
    density = pieces._density
    monkeypatch.setattr(pieces, "_density", lambda a, r: density(a, r) / 100.0)
    mesh = generate("square", 6)
    with pytest.raises(pp.CertificationError, match="mass"):
        over_ball(mesh.points, mesh.cells, np.array([0.48, 0.53]), 0.33, 1e-8, Work())


def test_cells_have_the_inverse_of_their_volume():
    mesh = generate("square", 4)
    w, wrong = over_cells(mesh.points, mesh.cells, np.arange(5))
    assert np.allclose(w.coefficients, 1 / mesh.volumes[:5].sum(), rtol=1e-14)
    assert 0.0 < wrong < 1e-13


def test_blocks_that_leave_the_domain_are_refused():
    mesh = generate("lshape", 4)
    middle = 0.5 * (mesh.points.min(axis=0) + mesh.points.max(axis=0))
    with pytest.raises(pp.InputError, match="leaves the domain"):
        over_block(mesh.points, mesh.cells, middle - 0.2, middle + 0.2)
