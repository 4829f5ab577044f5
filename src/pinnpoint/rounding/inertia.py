"""How many eigenvalues of a symmetric matrix are negative: signs of pivots of a sparse factorization (Sylvester)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, gammas, up


@dataclass(frozen=True)
class Inertia:
    """C = KDKᵀ + E with ‖E‖₂ ≤ `defect`, and the number of negative entries of D.

    C + `defect` I has at most, and C − `defect` I at least `negative` negative eigenvalues.
    """

    negative: int
    defect: float


def inertia(C: Matrix, error: float = 0.0) -> Inertia:
    """Count the negative pivots of a bitwise symmetric matrix that is known to `error` in norm.

    *Guarantee:* deterministic, for every symmetric matrix within `error`. *Assumes:* binary64, rounding to nearest.
    *Cost:* one sparse factorization with diagonal pivots, which are not chosen for stability: where they grow, the
    defect does, and a slightly different shift helps.
    """
    found = pivots_of(C)
    if found is None:
        raise CertificationError(
            "inertia: the factorization with diagonal pivots broke down; the matrix is singular or nearly so"
        )
    return Inertia(int(np.count_nonzero(found[0] < 0.0)), float(up(found[1] + error)))  # proofs.md, step 3j


def pivots_of(C: Matrix) -> tuple[Vector, float] | None:
    """Diagonal pivots D of a sparse LU factorization of C, permuted symmetrically, and a bound of ‖C − KDKᵀ‖₂.

    Gaussian elimination in floating point gives factors with |C − LU| ≤ γ_{s+4} |L||U|, s the number of entries in the
    row of L (Higham, Theorem 9.3, in any order of operations; the 4 covers pivots applied by their reciprocals and
    storage). Let U = D(L + F)ᵀ with F below the diagonal, and K = L + F/2, whose diagonal is 1. As C is symmetric,

        KDKᵀ = ½(LU + UᵀLᵀ) + ¼FDFᵀ,   ‖C − KDKᵀ‖₂ ≤ ‖γ_{s+4}|L||U|‖₂ + ¼‖|F||D||F|ᵀ‖₂,   ‖·‖₂ ≤ √(‖·‖₁ ‖·‖_∞).

    None where the factorization fails, a pivot is zero or not finite, or the permutation is not symmetric.
    """
    n = C.shape[0]
    try:
        lu = spla.splu(
            sp.csc_array(C),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True, "Equil": False},
        )
    except RuntimeError:
        return None
    L, U = lu.L, lu.U  # by columns, in arrays of their own
    pivots = np.asarray(U.diagonal())
    if not (np.array_equal(lu.perm_r, lu.perm_c) and np.all(np.isfinite(pivots)) and np.all(np.isfinite(L.data))):
        return None
    if not np.all(pivots):
        return None
    L.sort_indices()
    Ut = U.tocsr().T
    counts = [np.bincount(L.indices, minlength=n), np.diff(Ut.indptr), np.diff(L.indptr), np.diff(U.indptr)]
    skew, f, one = _skew(L, Ut, pivots), gammas(counts[0] + 4), np.ones(n)
    for factor in (L, U):  # from here on |L| and |U|
        np.abs(factor.data, out=factor.data)
    by_rows, by_columns = float((f * (L @ (U @ one))).max()), float((U.T @ (L.T @ f)).max())
    twice = float((skew @ ((skew.T @ one) / np.abs(pivots))).max())
    slack = 1.0 + 4.0 * gamma(sum(int(c.max()) for c in counts) + 10)
    defect = up((math.sqrt(by_rows * by_columns) + 0.25 * twice) * slack + n * n * TINY, 8)  # proofs.md, step 3e
    return pivots, float(defect)


def _skew(L: Matrix, Ut: Matrix, pivots: Vector) -> Matrix:
    """|F||D| and the rounding of its entries, from L and Uᵀ by columns; put into Uᵀ where the places are the same."""
    scaled = np.repeat(pivots, np.diff(L.indptr))
    scaled *= L.data
    if not (np.array_equal(L.indptr, Ut.indptr) and np.array_equal(L.indices, Ut.indices)):
        LD = sp.csc_array((scaled, L.indices, L.indptr), shape=L.shape)
        return abs(LD - Ut) + (4.0 * UNIT) * abs(LD)
    Ut.data -= scaled
    for part in (Ut.data, scaled):
        np.abs(part, out=part)
    scaled *= 4.0 * UNIT
    Ut.data += scaled
    return Ut
