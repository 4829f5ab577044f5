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
    L, U = lu.L.tocsr(), lu.U.tocsr()
    pivots = np.asarray(U.diagonal())
    if not (np.array_equal(lu.perm_r, lu.perm_c) and np.all(np.isfinite(pivots)) and np.all(np.isfinite(L.data))):
        return None
    if not np.all(pivots):
        return None
    counts = [np.diff(M.indptr) for M in (L, U, L.tocsc(), U.tocsc())]
    aL, aU, f, one = abs(L), abs(U), gammas(counts[0] + 4), np.ones(n)
    by_rows, by_columns = float((f * (aL @ (aU @ one))).max()), float((aU.T @ (aL.T @ f)).max())
    DLt = (sp.diags_array(pivots) @ L.T).tocsr()
    skew = abs(DLt - U) + (4.0 * UNIT) * abs(DLt)  # |D||F|ᵀ
    twice = float((skew.T @ ((skew @ one) / np.abs(pivots))).max())
    slack = 1.0 + 4.0 * gamma(sum(int(c.max()) for c in counts) + 10)
    defect = up((math.sqrt(by_rows * by_columns) + 0.25 * twice) * slack + n * n * TINY, 8)  # proofs.md, step 3e
    return pivots, float(defect)
