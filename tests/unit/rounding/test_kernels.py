"""The double-double kernels, numpy and compiled, against exact rationals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq

from pinnpoint.rounding import lanes, matrices
from pinnpoint.rounding.arithmetic import UNIT, dot_up, gamma, norm_up, split, sum_up, two_prod, two_sum
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import EnclosedMatrix
from tests.support import exactly, gallery


@pytest.fixture(params=["numpy", "compiled"])
def backend(request, monkeypatch):
    """Both kernels, on matrices of any size."""
    if request.param == "compiled":
        assert matrices.compiled() is not None, "numba is not installed; the tests need the extra 'fast'"
        monkeypatch.setattr(matrices, "COMPILE_FROM", 0)
    else:
        monkeypatch.setattr(matrices, "_compiled", None)
        monkeypatch.setattr(matrices, "_compiled_tried", True)
    return request.param


def wild(rng, shape):
    """Numbers over 30 orders of magnitude, with cancellation."""
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-15, 16, shape)


def total(hi, lo):
    return exactly.rational(hi) + exactly.rational(lo)


@pytest.mark.parametrize("seed", range(5))
def test_products_enclose_and_are_tight(backend, seed):
    rng = np.random.default_rng(seed)
    m, n = 30, 150
    A = wild(rng, (m, n)) * (rng.uniform(size=(m, n)) < (0.9 if seed % 2 else 0.1))
    x, x_lo, b = wild(rng, n), wild(rng, n) * 1e-17, wild(rng, m)
    ball = EnclosedMatrix(sp.csr_array(A)).affine(Ball(x, x_lo), exact(b))
    Aq = exactly.rational_matrix(A)
    for i in range(m):
        truth = sum((Aq[i, j] * total(x[j], x_lo[j]) for j in range(n)), fmpq(0)) - exactly.rational(b[i])
        error = abs(truth - total(ball.hi[i], ball.lo[i]))
        assert error <= exactly.rational(ball.err[i])
        size = float(np.abs(A[i]) @ (np.abs(x) + np.abs(x_lo) / UNIT) + abs(b[i]))
        assert ball.err[i] <= 20 * n**2 * UNIT**2 * size + 1e-290  # second order in u


@pytest.mark.parametrize("n", [0, 1, 7, 129, 9000])
def test_dots_hold_the_exact_rationals(backend, n):
    rng = np.random.default_rng(n)
    G, G_lo = wild(rng, (3, n)), wild(rng, (3, n)) * 1e-17
    x, x_lo, err = wild(rng, n), wild(rng, n) * 1e-17, np.abs(wild(rng, n)) * 1e-20
    for ball_x, low in ((exact(x), None), (Ball(x, x_lo), None), (Ball(x, x_lo, err), G_lo)):
        ball = matrices.dots(G, ball_x, low)
        for i in range(3):
            g = [exactly.rational(v) for v in G[i]]
            if low is not None:
                g = [a + exactly.rational(v) for a, v in zip(g, low[i], strict=True)]
            v = [exactly.rational(a) for a in x]
            if ball_x.lo is not None:
                v = [a + exactly.rational(c) for a, c in zip(v, x_lo, strict=True)]
            truth = sum((a * c for a, c in zip(g, v, strict=True)), fmpq(0))
            slack = fmpq(0)
            if ball_x.err is not None:  # the worst member of the ball
                slack = sum((abs(a) * exactly.rational(e) for a, e in zip(g, err, strict=True)), fmpq(0))
            assert abs(truth - total(ball.hi[i], ball.lo[i])) + slack <= exactly.rational(ball.err[i])


def test_numpy_and_compiled_kernels_agree_to_second_order(monkeypatch):
    rng = np.random.default_rng(1)
    A = gallery.random_sparse(rng, 300, 300, 0.2)
    x, b = rng.normal(size=300), rng.normal(size=300)
    slow = lanes.product(lanes.arrange(A.indptr, A.indices, A.data), x, None, b, None)
    fast = matrices.compiled().product(A.indptr, A.indices, A.data, x, None, b, None)
    assert np.array_equal(slow[0], fast[0])
    assert np.all(np.abs(slow[1] - fast[1]) <= slow[2] + fast[2])


def test_errors_of_matrix_and_vector_are_carried(backend):
    rng = np.random.default_rng(2)
    A, E = rng.normal(size=(6, 6)), 1e-5 * rng.uniform(size=(6, 6))
    x, e, b, f = rng.normal(size=6), 1e-5 * rng.uniform(size=6), rng.normal(size=6), 1e-5 * rng.uniform(size=6)
    ball = EnclosedMatrix(A, E).affine(Ball(x, None, e), Ball(b, None, f))
    worst = np.zeros(6)
    for _ in range(200):
        s = lambda shape: rng.choice([-1.0, 1.0], shape)  # noqa: E731
        member = (A + E * s((6, 6))) @ (x + e * s(6)) - (b + f * s(6))
        worst = np.maximum(worst, np.abs(member - ball.hi))
        assert np.all(np.abs(member - ball.hi) <= ball.err + 1e-15)
    bound = np.abs(A) @ e + E @ (np.abs(x) + e) + f
    assert np.allclose(ball.err, bound, rtol=1e-12)


def test_error_free_transformations():
    rng = np.random.default_rng(3)
    a, b = wild(rng, 500), wild(rng, 500)
    s, t = two_sum(a, b)
    p, e = two_prod(a, b)
    high, low = split(a)
    for i in range(500):
        qa, qb = exactly.rational(a[i]), exactly.rational(b[i])
        assert total(s[i], t[i]) == qa + qb
        assert total(p[i], e[i]) == qa * qb
        assert total(high[i], low[i]) == qa


def test_upper_bounds_are_above():
    rng = np.random.default_rng(4)
    for n in (1, 10, 1000):
        x, y = np.abs(wild(rng, n)), np.abs(wild(rng, n))
        qx, qy = ([exactly.rational(v) for v in a] for a in (x, y))
        assert exactly.rational(sum_up(x)) >= sum(qx, fmpq(0))
        dot = sum((a * c for a, c in zip(qx, qy, strict=True)), fmpq(0))
        assert exactly.rational(dot_up(x, y)) >= dot
        assert exactly.rational(norm_up(x)) ** 2 >= sum((a * a for a in qx), fmpq(0))
        assert exactly.rational(gamma(n)) >= fmpq(n, 2**53) / (1 - fmpq(n, 2**53))


def test_ball_arithmetic_encloses():
    rng = np.random.default_rng(5)
    a, b = (Ball(wild(rng, 50), wild(rng, 50) * 1e-18, np.abs(wild(rng, 50)) * 1e-25) for _ in range(2))
    for ball, sign in ((a + b, 1), (a - b, -1)):
        mid, err = ball.rounded()
        for i in range(50):
            truth = total(a.hi[i], a.lo[i]) + sign * total(b.hi[i], b.lo[i])
            radii = exactly.rational(a.err[i]) + exactly.rational(b.err[i])
            assert abs(truth - total(ball.hi[i], ball.lo[i])) + radii <= exactly.rational(ball.err[i])
            assert abs(truth - exactly.rational(mid[i])) + radii <= exactly.rational(err[i])
    m = a.magnitude()
    for i in range(50):
        assert abs(total(a.hi[i], a.lo[i])) + exactly.rational(a.err[i]) <= exactly.rational(m[i])
