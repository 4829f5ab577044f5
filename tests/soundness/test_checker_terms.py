"""The checker's discrete bounds against exact rational truths, in systems so small that each term is needed."""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from pinnpoint_verify import checker
from pinnpoint_verify.reader import Refused


class Arrays(dict):
    """A bundle's arrays, by name."""

    def __call__(self, name, *shape, **more):
        return self[name]

    def sparse(self, name, rows, columns):
        return sp.csr_array(self[name])


def system(A, b, ell, state, green, w=None, constant=0.0, alpha=None):
    """A system without constraints, and what a bundle would say of it."""
    A = np.atleast_2d(np.array(A, dtype=float))
    n = len(A)
    lowest = float(np.linalg.eigvalsh(0.5 * (A + A.T))[0]) if alpha is None else alpha
    bundle = Arrays(
        {
            "system/u": np.zeros(n),
            "system/l": np.atleast_2d(ell),
            "system/constants": np.array([constant]),
            "system/free": np.arange(n),
            "system/fixed": np.zeros(0),
            "system/a": A,
            "system/b": np.array(b, dtype=float),
            "witness/state": np.array(state, dtype=float),
            "witness/green": np.atleast_2d(np.array(green, dtype=float)),
            "witness/scale": 2.0 ** -np.round(0.5 * np.log2(np.diag(A))),
            "witness/w": np.ones(n),
        }
    )
    if w is not None:
        bundle |= {"system/cubic": np.array([w]), "mesh/cells": np.arange(n)[None, :]}
    return bundle, {"coercivity": {"how": "m-matrix", "alpha": (1.0 - 1e-12) * lowest}}


def found(bundle, proof, kind=None):
    (pair,) = (kind or checker.Discrete)(bundle, 1).bounds(bundle, proof)
    return pair


def holds(pair, truth):
    center, radius = map(Fraction, pair)
    return abs(center - truth) <= radius


def solved(A, b):
    """A⁻¹b for two unknowns."""
    (p, q), (r, s) = [[Fraction(float(x)) for x in row] for row in A]
    e, f = (Fraction(float(x)) for x in b)
    return (s * e - q * f) / (p * s - q * r), (p * f - r * e) / (p * s - q * r)


def test_defects_of_green_vectors_count():
    """One unknown: sᵀd is all that is left of the error, and its bound is an equality."""
    pair = found(*system([1.0], [0.0], [1.0], [1.0], [1.0 - 1e-9]))
    assert holds(pair, Fraction(0))
    assert pair[1] < 1.01e-9
    pair = found(*system([2.0], [0.0], [1.0], [1.0], [0.5 - 1e-9]))  # of other stiffness
    assert holds(pair, Fraction(0))


def test_roundings_of_defects_count():
    """Nearly singular: what ℓ − Aᵀg loses by rounding is far above the roundings of gᵀr."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        a, small = rng.uniform(1.0, 2.0), rng.uniform(1.0, 2.0) * 2.0**-20
        A = np.array([[a, small - a], [small - a, a]])
        g = np.linalg.solve(A, [1.0, 1.0])
        state = rng.uniform(0.5, 1.0) * np.ones(2)
        bundle, proof = system(A, [0.0, 0.0], [1.0, 1.0], state, g)
        proof["coercivity"]["alpha"] *= 1.0 - 1e-6
        assert holds(found(bundle, proof), Fraction(0))


def test_centres_that_are_no_floats():
    """Nothing but the last rounding of the centre is left."""
    pair = found(*system([1.0], [1.0], [1.0], [1.0], [1.0], constant=2.0**-60))
    assert holds(pair, 1 + Fraction(2) ** -60)


def test_residuals_known_within_bounds():
    """Both gᵀF and the distance from the solution grow by what is not known of F."""

    class Vague(checker.Discrete):
        def residual(self, U, rest):
            hi, lo, err = super().residual(U, rest)
            return hi, lo, err + 1.0

    pair = found(*system([1.0], [0.0], [1.0], [0.0], [1.0 - 1e-9]), kind=Vague)
    assert holds(pair, Fraction(1))
    assert holds(pair, Fraction(-1))


@pytest.mark.parametrize("rest", [1e-2, -0.5])
def test_the_rest_of_a_state_counts(rest):
    """The state is a sum: its residual, its value and the roundings of both are of the sum."""
    A = np.array([[2.0 + 1e-3, -1.0], [-1.0, 2.0]])
    b, ell = [0.1, 0.7], [0.3, 1.0]
    x = solved(A, b)
    truth = sum(Fraction(float(c)) * v for c, v in zip(ell, x, strict=True))
    state = np.array([float(v) for v in x]) - rest
    bundle, _ = system(A, b, ell, state, np.linalg.solve(A.T, ell) * (1.0 + 3e-9))
    proof = {"coercivity": {"how": "declared", "alpha": 0.99}}
    wide = found(bundle, proof)
    bundle["witness/rest"] = np.array([rest, float(x[1] - Fraction(state[1]))])
    pair = found(bundle, proof)
    assert holds(pair, truth)
    assert pair[1] < 1e-3 * wide[1]
    bundle["witness/rest"] = np.array([rest, -rest])
    assert holds(found(bundle, proof), truth)
    bundle["system/free"], bundle["system/fixed"] = np.array([0]), state[1:]
    bundle |= {"system/u": np.array([0.0, state[1]]), "system/a": A[:1], "system/b": np.array(b[:1])}
    with pytest.raises(Refused, match="not admissible"):
        found(bundle, proof)


@pytest.mark.parametrize(("state", "root"), [(1e-3, 0.0), (0.0, 1e-3), (1.0, 1.0 + 1e-3), (1.0, 1.0 - 1e-3)])
def test_the_remainder_of_a_cubic_counts(state, root):
    """One cell, states and Green vectors that are constant on it: the bound is sharp but for the norm of d."""
    w, low = 2.0**-12, 2.0**-3
    A = np.array([[1.0, low - 1.0], [low - 1.0, 1.0]])
    # ∫λu³φ_i = w h₃(u, u, u) = 10 w u³ for both ends, and h₂(u, u, u, u) = 10 u²
    b = low * root + 10.0 * w * root**3
    slope = low + 30.0 * w * state**2
    exact = Fraction(low) * Fraction(root) + 10 * Fraction(w) * Fraction(root) ** 3
    assert Fraction(b) == pytest.approx(exact, rel=1e-15)
    pair = found(*system(A, [b, b], [1.0, 1.0], [state] * 2, [1.0 / slope] * 2, w=w))
    assert abs(pair[0] - 2.0 * root) <= pair[1] + 1e-15
    assert pair[1] < 1e-3
    bent = 2.0 * 10.0 * w * abs(3.0 * state - (state - root)) * (state - root) ** 2 / slope
    assert pair[1] >= bent * (1.0 - 1e-6)


def test_residuals_are_enclosed():
    """Sums in twice the precision, with the cubic, against rationals."""
    rng = np.random.default_rng(4)
    for cubic in (False, True):
        for n in (2, 3, 4):
            for _ in range(20):
                A, U = rng.normal(size=(n, n)), rng.normal(size=n)
                b = A @ U + 1e-12 * rng.normal(size=n)
                w = abs(rng.normal()) if cubic else None
                bundle, _ = system(np.eye(n), b, np.ones(n), U, np.ones(n), w=w)
                bundle["system/a"] = A
                rest = np.zeros(n) if cubic else 10.0 ** rng.integers(-20, 0) * rng.normal(size=n)
                hi, lo, err = checker.Discrete(bundle, 1).residual(U, rest)
                X = [Fraction(float(x)) + Fraction(float(y)) for x, y in zip(U, rest, strict=True)]
                for i in range(n):
                    true = sum(Fraction(float(A[i, j])) * X[j] for j in range(n)) - Fraction(float(b[i]))
                    true += Fraction(w) * homogeneous([*X, X[i]], 3) if cubic else 0
                    assert abs(true - Fraction(float(hi[i])) - Fraction(float(lo[i]))) <= Fraction(float(err[i]))


def homogeneous(X, degree):
    """The complete homogeneous symmetric polynomial, by recursion."""
    if degree == 0 or not X:
        return Fraction(int(degree == 0))
    return X[0] * homogeneous(X, degree - 1) + homogeneous(X[1:], degree)


def definite(A):
    """Whether a symmetric matrix is positive semidefinite, by elimination in rationals."""
    M = [[Fraction(x) if not isinstance(x, Fraction) else x for x in row] for row in A]
    n = len(M)
    for k in range(n):
        if M[k][k] < 0 or (M[k][k] == 0 and any(M[k][j] != 0 for j in range(k + 1, n))):
            return False
        for i in range(k + 1, n):
            factor = M[i][k] / M[k][k] if M[k][k] else Fraction(0)
            for j in range(k, n):
                M[i][j] -= factor * M[k][j]
    return True


def shifted(B, alpha):
    """The symmetric part minus αI, exactly."""
    n = len(B)
    return [
        [
            (Fraction(float(B[i, j])) + Fraction(float(B[j, i]))) / 2 - (Fraction(alpha) if i == j else 0)
            for j in range(n)
        ]
        for i in range(n)
    ]


def most(B, bundle, said):
    """The largest α that the checker would accept."""
    with pytest.raises((Refused, RuntimeError)) as refused:  # the latter where a factor is singular
        checker.coercivity(bundle, sp.csr_array(B), said | {"alpha": 1e9})
    proved = re.search(r"(\S+) is proved", str(refused.value))
    return 0.0 if proved is None else float(proved[1])


def test_coercivity_by_an_eigenvector_is_no_more_than_there_is():
    """The best witness of all, so that roundings alone keep the bound below the smallest eigenvalue."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        n = int(rng.integers(2, 6))
        B = -rng.uniform(0.0, 1.0, (n, n)) / n
        np.fill_diagonal(B, rng.uniform(0.9, 1.1, n))
        w = np.abs(np.linalg.eigh(0.5 * (B + B.T))[1][:, 0])
        bundle = Arrays({"witness/scale": np.ones(n), "witness/w": w / w.max()})
        alpha = most(B, bundle, {"how": "m-matrix"})
        assert alpha <= 0.0 or definite(shifted(B, alpha))


def test_coercivity_by_a_factorization_is_no_more_than_there_is():
    """Shifts as large as floating point can factorise."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        n = int(rng.integers(2, 7))
        B = rng.normal(size=(n, n)) / n
        np.fill_diagonal(B, rng.uniform(0.9, 1.1, n))
        lowest = float(np.linalg.eigvalsh(0.5 * (B + B.T))[0])
        bundle = Arrays({"witness/scale": np.ones(n)})
        shifts = [lowest + k * 2.0**-52 for k in range(-4, 9, 2)]
        alpha = max(most(B, bundle, {"how": "shift", "theta": theta}) for theta in shifts)
        assert alpha <= 0.0 or definite(shifted(B, alpha))


def test_what_a_factorization_leaves_counts(monkeypatch):
    """In an arithmetic of five digits, of a matrix that is a little larger than the one asked for.

    So few that what the shift's own rounding adds would not do.
    """
    B = np.array([[1.0, -0.3, 0.2], [-0.3, 1.1, -0.4], [0.2, -0.4, 0.9]])
    lowest, slip = float(np.linalg.eigvalsh(B)[0]), 1e-4
    splu = checker.spla.splu

    def larger(A, **options):
        return splu(sp.csc_array(A + slip * sp.eye_array(3)), **options)

    monkeypatch.setattr(checker.spla, "splu", larger)
    monkeypatch.setattr(checker, "UNIT", 3e-6)
    bundle, said = Arrays({"witness/scale": np.ones(3)}), {"how": "shift", "theta": lowest + 0.5 * slip}
    assert 0.5 * lowest < most(B, bundle, said) <= lowest


def test_positive_entries_beside_the_diagonal_cost():
    B = sp.csr_array(np.array([[1.0, 0.9], [0.9, 1.0]]))
    bundle = Arrays({"witness/scale": np.ones(2), "witness/w": np.ones(2)})
    with pytest.raises(Refused, match="is proved"):
        checker.coercivity(bundle, B, {"how": "m-matrix", "alpha": 0.11})


def exactly(x):
    return Fraction(float(x))


def test_balls_hold_what_their_operations_may_give():
    """Ends of the operands, in rationals."""
    rng = np.random.default_rng(9)
    for _ in range(400):
        m, n = rng.normal(size=2) * 10.0 ** rng.integers(-3, 4, 2)
        r, s = (abs(x) * 10.0 ** -rng.integers(1, 17) * 0.4 * (rng.random() < 0.7) for x in (m, n))
        a, b = checker.Ball(m, r), checker.Ball(n, s)
        ends = [(exactly(m) + i * exactly(r), exactly(n) + j * exactly(s)) for i in (-1, 1) for j in (-1, 1)]
        for of in (operator.add, operator.sub, operator.mul, operator.truediv):
            got = of(a, b)
            for x, y in ends:
                assert abs(of(x, y) - exactly(got.m)) <= exactly(got.r)
        root = checker.Ball(abs(m), r).sqrt()
        for x in (abs(exactly(m)) + exactly(r), abs(exactly(m)) - exactly(r)):
            low, high = exactly(root.m) - exactly(root.r), exactly(root.m) + exactly(root.r)
            assert max(low, 0) ** 2 <= x <= high**2
        assert exactly(a.top) >= abs(exactly(m)) + exactly(r)
        assert exactly(checker.Ball(abs(m), r).low) <= abs(exactly(m)) - exactly(r)


def test_sums_of_products_of_balls_are_enclosed():
    rng = np.random.default_rng(10)
    for _ in range(40):
        m, n = rng.normal(size=(2, 1, 5))
        r, s = (np.abs(x) * 10.0 ** -rng.integers(1, 17) * (rng.random() < 0.7) for x in (m, n))
        got = checker.mix("ij,ij->i", checker.Ball(m, r), checker.Ball(n, s))
        for i in (-1, 1):
            true = sum(
                (exactly(p) + i * exactly(np.copysign(q, p))) * (exactly(x) + i * exactly(np.copysign(y, x)))
                for p, q, x, y in zip(m[0], r[0], n[0], s[0], strict=True)
            )
            assert abs(true - exactly(got.m[0])) <= exactly(got.r[0])
        whole = checker.Ball(m, r).total()
        assert abs(sum(map(exactly, m[0])) + sum(map(exactly, r[0])) - exactly(whole.m)) <= exactly(whole.r)


def test_cancellation_in_energies_is_covered():
    """‖sδ₁ − δ₂/s‖² from squares and products: what is left may be all rounding."""
    rng = np.random.default_rng(11)
    for _ in range(200):
        P, Z, s = rng.uniform(0.5, 2.0, 3)
        both = -np.nextafter(P * s * s + Z / (s * s), 0.0)
        zero = np.zeros(1)
        mesh = SimpleNamespace(growth=1.0, c=zero, convex=zero)
        none = {"facet": zero, "osc": zero, "mean": 0.0, "edges": None, "raised": None}
        p, z = (SimpleNamespace(mesh=mesh, square=np.array([x]), **none) for x in (P, Z))
        true = exactly(P) * exactly(s) ** 2 + exactly(Z) / exactly(s) ** 2 + exactly(both)
        assert exactly(checker.energy(p, z, np.array([both]), s)) ** 2 >= true
