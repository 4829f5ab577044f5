"""Truth from outside: exact rationals and 400-bit arithmetic (python-flint)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

BITS = 400


def rational(x: float) -> fmpq:
    """A float as the rational it is."""
    p, q = float(x).as_integer_ratio()
    return fmpq(p, q)


def rational_matrix(A: Any) -> fmpq_mat:
    D = np.atleast_2d(A.toarray() if sp.issparse(A) else np.asarray(A, dtype=float))
    return fmpq_mat(D.shape[0], D.shape[1], [rational(v) for v in D.ravel()])


def solve_rational(A: Any, b: np.ndarray) -> list[fmpq]:
    """A⁻¹b exactly."""
    x = rational_matrix(A).solve(rational_matrix(np.asarray(b, dtype=float)[:, None]))
    return [x[i, 0] for i in range(x.nrows())]


def solve_arb(A: Any, b: np.ndarray) -> list[arb]:
    """A⁻¹b as 400-bit enclosures."""
    ctx.prec = BITS
    D = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=float)
    n = D.shape[0]
    M = arb_mat(n, n, [arb(float(v)) for v in D.ravel()])
    x = M.solve(arb_mat(n, 1, [arb(float(v)) for v in b]))
    return [x[i, 0] for i in range(n)]


def functional(ell: np.ndarray, x: list[Any]) -> Any:
    """ℓᵀx in the arithmetic of x."""
    kind = rational if isinstance(x[0], fmpq) else (lambda v: arb(float(v)))
    total = kind(0.0)
    for i in np.nonzero(ell)[0]:
        total += kind(ell[i]) * x[i]
    return total


def number(v: float, like: Any) -> Any:
    return rational(v) if isinstance(like, fmpq) else arb(float(v))


def holds(lower: float, upper: float, truth: Any) -> bool:
    """Whether lower ≤ truth ≤ upper for certain."""
    return bool(number(lower, truth) <= truth) and bool(truth <= number(upper, truth))


def within(center: float, radius: float, truth: Any) -> bool:
    """Whether |center − truth| ≤ radius for certain."""
    return bool(abs(number(center, truth) - truth) <= number(radius, truth))


def is_positive_semidefinite(S: Any, alpha: float) -> bool:
    """Exactly decide S − αI ⪰ 0 for a float matrix."""
    M = rational_matrix(S)
    n = M.nrows()
    return is_positive_semidefinite_rational([[M[i, j] for j in range(n)] for i in range(n)], alpha)


def is_positive_semidefinite_rational(S: list[list[fmpq]], alpha: float) -> bool:
    """The same for rationals, by the pivots of an LDLᵀ factorization."""
    n = len(S)
    rows = [list(row) for row in S]
    for i in range(n):
        rows[i][i] -= rational(alpha)
    for k in range(n):
        pivot = rows[k][k]
        if pivot < 0:
            return False
        if pivot == 0:
            if any(rows[i][k] != 0 for i in range(k + 1, n)):
                return False
            continue
        for i in range(k + 1, n):
            f = rows[i][k] / pivot
            if f != 0:
                for j in range(k + 1, n):
                    rows[i][j] -= f * rows[k][j]
    return True


def is_positive_semidefinite_banded(S: Any, alpha: float) -> bool:
    """The same for a tridiagonal S, by its pivots in 400-bit arithmetic; undecided counts as false."""
    ctx.prec = BITS
    D = S.toarray()
    pivot = arb(float(D[0, 0])) - arb(alpha)
    for i in range(1, D.shape[0]):
        if not pivot > 0:
            return False
        pivot = arb(float(D[i, i])) - arb(alpha) - arb(float(D[i, i - 1])) * arb(float(D[i - 1, i])) / pivot
    return bool(pivot > 0)
