"""Residuals of many vectors at once, against exact rationals."""

from __future__ import annotations

import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq

from pinnpoint.base.workspace import Workspace, release_memory
from pinnpoint.rounding import sliced_dots, slices
from pinnpoint.rounding.arithmetic import UNIT
from pinnpoint.rounding.matrices import EnclosedMatrix
from pinnpoint.rounding.slices import Sliced
from tests.support import exactly, gallery


def case(seed, m=40, n=30, k=13, wild=0):
    rng = np.random.default_rng(seed)
    A = gallery.random_sparse(rng, m, n, 0.3, rng.normal)
    A.data *= 10.0 ** rng.integers(-wild, wild + 1, A.nnz)
    X = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-wild, wild + 1, (n, k))
    return A, X, A @ X * (1.0 + UNIT * rng.integers(-3, 4, (m, k)))  # so that residuals cancel


def exact_residual(A, x, b):
    rows = [fmpq(0)] * A.shape[0]
    C = A.tocoo()
    for i, j, a in zip(C.row, C.col, C.data, strict=True):
        rows[i] += exactly.rational(a) * exactly.rational(x[j])
    return [r - exactly.rational(v) for r, v in zip(rows, b, strict=True)]


def worst(sliced, A, X, B):
    """The largest distance from the truth in radii, and the largest radius in plain roundings."""
    far, wide = fmpq(0), 0.0
    plain = UNIT * (abs(A) @ np.abs(X))
    for j, ball in enumerate(sliced.residuals(X, B)):
        for i, true in enumerate(exact_residual(A, X[:, j], B[:, j])):
            distance, radius = abs(true - exactly.rational(ball.hi[i])), exactly.rational(ball.err[i])
            far = max(far, distance / radius) if radius else max(far, fmpq(0 if not distance else 10))
        wide = max(wide, float(ball.err.max() / plain[:, j].max())) if plain[:, j].max() > 1e-200 else wide
    return far, wide


@pytest.mark.parametrize("wild", [0, 3, 12])
def test_residuals_are_enclosed(wild):
    for seed in range(3):
        A, X, B = case(seed, wild=wild)
        far, wide = worst(Sliced(A), A, X, B)
        assert far <= 1
        assert wide < (1e-4 if wild == 0 else 1.0)  # far below plain roundings, unless sizes differ wildly


def test_no_trailing_slice_for_short_entries():
    A, X, B = case(0)
    A.data = np.rint(4.0 * A.data) / 4.0
    sliced = Sliced(A)
    assert sliced.tail is None
    assert worst(sliced, A, X, B)[0] <= 1


@pytest.mark.parametrize("broken", ["row", "bits", "tail"])
def test_every_part_is_needed(broken):
    A, X, B = case(1)
    sliced = Sliced(A)
    if broken == "row":
        sliced.row = np.zeros_like(sliced.row)
    elif broken == "bits":
        sliced.q += 14  # leading products are then rounded
    else:
        sliced.tail = None
    assert worst(sliced, A, X, B)[0] > 1


def test_empty_rows_zero_vectors_and_tiny_numbers():
    A = sp.csr_array(np.array([[0.0, 0.0], [1e-300, 3.0], [1e140, -1e140]]))
    X = np.array([[0.0, 1e-310, 1e140], [0.0, 5e-324, 1e140]])
    B = np.zeros((3, 3))
    far, _ = worst(Sliced(A), A, X, B)
    assert far <= 1


def test_many_rows_are_chunked(monkeypatch):

    A, X, B = case(2)
    whole = [ball.hi.copy() for ball in Sliced(A).residuals(X, B)]
    monkeypatch.setattr(slices, "CHUNK", 7)
    assert all(np.array_equal(a, ball.hi) for a, ball in zip(whole, Sliced(A).residuals(X, B), strict=True))


def enclosed(balls, A, X, B):
    """Whether each residual lies in its ball."""
    return all(
        abs(true - exactly.rational(hi)) <= exactly.rational(err)
        for j, ball in enumerate(balls)
        for true, hi, err in zip(exact_residual(A, X[:, j], B[:, j]), ball.hi, ball.err, strict=True)
    )


@pytest.mark.parametrize("name", ["lead", "tail", "residuals", "products"])
def test_vectors_in_the_memory_of_the_residuals_are_enclosed(name):
    A, X, B = case(5, m=30)
    sliced = Sliced(A)
    list(sliced.residuals(X, B))
    within = sliced._work.array(name, X.shape)
    within[...] = X
    assert enclosed(sliced.residuals(within, B), A, X, B)
    within[...] = B
    assert enclosed(sliced.residuals(X, within), A, X, B)
    within[...] = X
    assert enclosed(Sliced(A).residuals(within, B), A, X, B)  # nobody else's memory is touched
    assert np.array_equal(within, X)


def test_workspaces_share_nothing():
    one, two = Workspace(), Workspace()
    a, b = (w.array("first", (3, 4)) for w in (one, two))
    assert not np.may_share_memory(a, b)
    assert np.may_share_memory(a, one.array("first", (2, 5)))
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(one.array("first", (3, 4))))
    thread.start()
    thread.join()
    assert not np.may_share_memory(a, elsewhere[0])
    assert one.apart(a) is not a
    assert two.apart(a) is a
    release_memory()
    assert not np.may_share_memory(a, one.array("first", (3, 4)))
    assert pickle.loads(pickle.dumps(one)).array("first", (2,)).shape == (2,)


def longest(A, X, B, weights):
    """Squares of the true weighted lengths of A x − b."""
    found = []
    for j in range(X.shape[1]):
        rows = exact_residual(A, X[:, j], B[:, j])
        found.append(sum(((exactly.rational(w) * r) ** 2 for w, r in zip(weights, rows, strict=True)), fmpq(0)))
    return found


@pytest.mark.parametrize("wild", [0, 3])
@pytest.mark.parametrize("chunk", [7, 4096])
def test_lengths_of_residuals_are_bounded(wild, chunk, monkeypatch):

    monkeypatch.setattr(slices, "CHUNK", chunk)
    A, X, B = case(4, wild=wild)
    B[np.random.default_rng(1).uniform(size=B.shape) < 0.8] = 0.0
    B[:, 3] = A @ X[:, 3]
    weights = 2.0 ** np.random.default_rng(2).integers(-3, 4, A.shape[0])
    for given in (None, weights):
        true = longest(A, X, B, np.ones(A.shape[0]) if given is None else weights)
        found = Sliced(A).lengths(X.copy(), slices.largest(X), sp.csr_array(B), given)
        for bound, square in zip(found, true, strict=True):
            assert exactly.rational(bound) ** 2 >= square
            assert exactly.rational(bound) ** 2 <= square * fmpq(1001, 1000) + exactly.rational(
                1e-40 * 10.0 ** (8 * wild)
            )
    whole = slices.column_lengths(X, None)
    assert all(
        exactly.rational(w) ** 2 >= sum((exactly.rational(v) ** 2 for v in x), fmpq(0))
        for w, x in zip(whole, X.T, strict=True)
    )


@pytest.mark.parametrize("wild", [0, 3])
@pytest.mark.parametrize("low", [False, True])
def test_products_with_stored_vectors_are_enclosed(wild, low, monkeypatch):
    rng = np.random.default_rng(5)
    K, n = 5, 2 * sliced_dots.CHUNK + 77
    G = rng.normal(size=(K, n)) * 10.0 ** rng.integers(-wild, wild + 1, (K, n))
    x = rng.normal(size=n) * 10.0 ** rng.integers(-wild, wild + 1, n)
    G[:, n // 2 :] *= -1.0
    G[0, n - n // 2 :], x[n - n // 2 :] = -G[0, : n // 2], x[: n // 2]  # cancels
    lo = 1e-17 * rng.normal(size=n) * np.abs(x) if low else None
    for stored in (G, G.astype(np.float32)):
        hi, rest, err = sliced_dots.dots(stored, x, lo, None)
        for i in range(K):
            true = sum((exactly.rational(g) * exactly.rational(v) for g, v in zip(stored[i], x, strict=True)), fmpq(0))
            if low:
                true += sum(
                    (exactly.rational(g) * exactly.rational(v) for g, v in zip(stored[i], lo, strict=True)), fmpq(0)
                )
            distance = abs(true - exactly.rational(hi[i]) - exactly.rational(rest[i]))
            assert distance <= exactly.rational(err[i])
            assert err[i] < 1e-3 * UNIT * float(np.abs(stored[i]).max() * np.abs(x).max())


def test_radii_of_products_count():
    rng = np.random.default_rng(6)
    G, x = rng.normal(size=(3, 5000)), rng.normal(size=5000)
    err = np.full(5000, 1e-27)
    assert sliced_dots.fits(x, err)
    assert not sliced_dots.fits(x, 1e6 * err)
    assert np.all(sliced_dots.dots(G, x, None, err)[2] >= np.abs(G).sum(axis=1) * 1e-27)


@pytest.mark.parametrize("broken", ["exact sums", "radius"])
def test_every_part_of_a_product_is_needed(broken, monkeypatch):
    rng = np.random.default_rng(7)
    G, x = rng.normal(size=(4, 4000)), rng.normal(size=4000)
    if broken == "exact sums":
        monkeypatch.setattr(sliced_dots, "BITS", (26, 26))
    else:
        monkeypatch.setattr(sliced_dots, "gamma", lambda k: 0.0)
    hi, rest, err = sliced_dots.dots(G, x, None, None)
    missed = 0
    for i in range(4):
        true = sum((exactly.rational(g) * exactly.rational(v) for g, v in zip(G[i], x, strict=True)), fmpq(0))
        missed += abs(true - exactly.rational(hi[i]) - exactly.rational(rest[i])) > exactly.rational(err[i])
    assert missed


def test_overflow_is_not_a_number_with_infinite_radius():
    hi, _, err = sliced_dots.dots(np.array([[1e300, 1e300], [1.0, 2.0]]), np.array([1e300, 1e300]), None, None)
    assert np.isnan(hi[0])
    assert np.isinf(err[0])


@pytest.mark.parametrize("size", [1e-30, 1e-6, 1.0])
def test_what_is_not_known_of_a_vector_and_its_tail_count(size):
    """Radii at their worst, and trailing parts as large as the leading ones, against rationals."""
    rng = np.random.default_rng(12)
    G, x = rng.normal(size=(3, 50)), rng.normal(size=50)
    lo, wide = size * rng.normal(size=50), size * rng.random(50)
    for err in (None, wide):
        hi, rest, bound = sliced_dots.dots(G, x, lo, err)
        for i, g in enumerate(G):
            true = fmpq(0)
            for j in range(50):
                entry = exactly.rational(x[j]) + exactly.rational(lo[j])
                if err is not None:
                    entry += exactly.rational(np.copysign(err[j], g[j]))
                true += exactly.rational(g[j]) * entry
            gap = true - exactly.rational(hi[i]) - exactly.rational(rest[i])
            assert abs(gap) <= exactly.rational(bound[i])


@pytest.mark.parametrize("entries", [1, 3, 40])
def test_rounded_products_hold_the_exact_ones(entries):
    """Against rational arithmetic; the rounded products alone do not."""
    rng = np.random.default_rng(entries)
    n, K = 60, 9
    A = gallery.random_sparse(rng, n, n, entries / n, rng.normal)
    X = rng.normal(size=(K, n)) * 1e-16
    missed = 0
    for x, ball in zip(X, EnclosedMatrix(A).products(X), strict=True):
        for i in range(n):
            row = slice(A.indptr[i], A.indptr[i + 1])
            terms = zip(A.data[row], A.indices[row], strict=True)
            exact = sum((Fraction(a) * Fraction(x[j]) for a, j in terms), Fraction(0))
            off = abs(exact - Fraction(ball.hi[i]))
            assert off <= Fraction(ball.err[i])
            missed += off > 0
    assert missed > 0


@pytest.mark.parametrize("rows", [0, 1, slices.TOGETHER, 3 * slices.TOGETHER + 7])
def test_largest_magnitudes_of_columns(rows):
    X = np.random.default_rng(0).normal(size=(rows, 5))
    truth = np.abs(X).max(axis=0, initial=0.0)
    assert np.array_equal(slices.largest(X), truth)
    assert np.array_equal(slices.largest(np.asfortranarray(X)), truth)
    for row in (0, rows - 1) if rows else ():
        Y = X.copy()
        Y[row, 2] = np.nan
        assert np.array_equal(np.isnan(slices.largest(Y)), np.arange(5) == 2)
