"""Verified lower bounds of the smallest eigenvalue: S ⪰ α D⁻² with D diagonal.

Each way of proving α stands on its own proof, given in its docstring. An eigenvalue solver only suggests where
to try; whether the bound holds is decided by the enclosures alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Index, Matrix, Vector, is_symmetric, matrix, number
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.rounding.arithmetic import TINY, UNIT, down, gamma, gammas, sum_up, up
from pinnpoint.rounding.balls import exact
from pinnpoint.rounding.bounds import Coercivity, checked_metric, fingerprint
from pinnpoint.rounding.inertia import pivots_of
from pinnpoint.rounding.matrices import EnclosedMatrix, product_up

DENSE_UP_TO = 600
"""Size up to which dense eigenvalues and Cholesky factors are used."""

NEARLY = 1e-10
"""Positive off-diagonal row sums up to this multiple of the largest diagonal entry count as roundings of zero."""

HARDLY = 1e-6
"""Share of a bound that plain floats may take from it."""

SMALL = 0.01
"""Share of a shift that a Cholesky factor's defect may take before the entries of its rows are counted."""

Solve = Callable[[Vector], Vector]
Definite = Callable[[Any], bool | Callable[[], Index]]
"""C ↦ whether its Cholesky factorization ran to its end; in place of True, how to count the entries of L's rows."""
ErrorProduct = Callable[[Vector], Vector]
"""v ↦ an upper bound of E v, for v ≥ 0, of a symmetric E that bounds the unknown part of the matrix."""


@dataclass(frozen=True, eq=False)
class Symmetric:
    """All symmetric matrices within E of a stored, bitwise symmetric sparse matrix."""

    S: Any
    error: ErrorProduct | None = None


def symmetric_part(A: Matrix, error: ErrorProduct | None = None) -> Symmetric:
    """(A + Aᵀ)/2 with the rounding of its formation in the error; `error` is already symmetrised."""
    A = sp.csr_array(A)
    if is_symmetric(A):
        return Symmetric(A, error)
    S = sp.csr_array((A + A.T) * 0.5)  # bitwise symmetric: floating-point addition commutes
    rounding = abs(S) * (4.0 * UNIT)

    def total(v: Vector) -> Vector:
        e = product_up(rounding, v) + TINY * float(np.sum(v))
        return np.asarray(up(e if error is None else e + error(v)))

    return Symmetric(S, total)


def equilibration(S: Matrix) -> Vector:
    """Powers of two D with diag(D S D) in [1/2, 2]; refuses a diagonal that is not positive."""
    d = np.asarray(S.diagonal(), dtype=np.float64)
    if not (d.size and float(d.min()) > 0.0):
        worst = int(np.argmin(d)) if d.size else -1
        raise CertificationError(
            f"coercivity: the matrix is not positive definite, diagonal entry {worst} is "
            f"{float(d[worst]) if d.size else float('nan')!r}"
        )
    return np.asarray(np.ldexp(1.0, -np.rint(0.5 * np.log2(d)).astype(int)))  # proofs.md, step 3f


def verify_coercivity(
    A: Matrix,
    P: Any | None = None,
    *,
    method: str = "auto",
    equilibrate: bool = False,
    error: ErrorProduct | None = None,
    solve: Solve | None = None,
    shift: float | None = None,
    definite: Definite | None = None,
) -> Coercivity:
    """Prove α > 0 with (A + Aᵀ)/2 ⪰ α P.

    Parameters
    ----------
    A
        Square matrix, dense or sparse; its symmetric part is meant.
    P
        None for the identity, or a sparse symmetric positive definite matrix.
    method
        ``"shift"``: factorise S − θP and bound the defect; ``"m-matrix"``: a positive vector w with Sw > 0;
        ``"auto"``: the cheaper one that applies.
    equilibrate
        Prove S ⪰ α D⁻² instead, with D the powers of two that bring the diagonal near one; use it on graded
        meshes and with large coefficient contrasts.
    error
        v ↦ E v for entrywise bounds E on the unknown part of the symmetric part.
    solve
        An approximate S⁻¹ to start from, if there is one already; it is not trusted.
    shift
        The θ to try; by default just below a computed eigenvalue.
    definite
        Tells whether a floating-point Cholesky factorization of a sparse matrix runs to its end. It is believed, as
        LAPACK is for small matrices, and saves the sparse LU factorization of large ones. In place of True it may
        return a function that counts the stored entries of each row of the factor: large matrices need that.

    Returns
    -------
    The verified bound.

    *Guarantee:* deterministic, for every matrix within the stored one's error. *Assumes:* binary64, rounding to
    nearest. *Cost:* one factorization beyond `solve`'s, or a few solves for an M-matrix.

    Raises
    ------
    CertificationError
        When no positive bound could be proved.
    """
    if method not in ("auto", "shift", "m-matrix"):
        raise InputError(f"method: must be 'auto', 'shift' or 'm-matrix'; got {method!r}")
    A = matrix("A", A)
    if A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise InputError(f"A: must be square and not empty; got shape {A.shape}")
    if error is not None and not callable(error):
        raise InputError(f"error: must be a function v ↦ E v; got {type(error).__name__}")
    shift = None if shift is None else number("shift", shift, above=0.0)
    if P is not None and equilibrate:
        raise InputError("P, equilibrate: give at most one of them")
    P = None if P is None else checked_metric(P)
    if isinstance(P, np.ndarray):
        P = sp.diags_array(P).tocsr()
    if P is not None and P.shape != A.shape:
        raise InputError(f"P: must have A's shape {A.shape}; got {P.shape}")
    found = prove_coercivity(A, P, method, equilibrate, error, solve, shift, definite)
    return found if error is not None else replace(found, fingerprint=fingerprint(A))


def prove_coercivity(
    A: Matrix,
    P: Any | None = None,
    method: str = "auto",
    equilibrate: bool = False,
    error: ErrorProduct | None = None,
    solve: Solve | None = None,
    shift: float | None = None,
    definite: Definite | None = None,
    rough: Solve | None = None,
) -> Coercivity:
    """`verify_coercivity` of a sparse matrix, its arguments known to be right, without the matrix's fingerprint.

    `rough`: an iterative inverse, which finds the positive vector of an M-matrix without factors.
    """
    bounded = symmetric_part(A, error)
    S = bounded.S
    d = equilibration(S)
    if not equilibrate:
        d = np.ones_like(d)
    B = scaled(S, d) if equilibrate else S
    loss = 0.0 if bounded.error is None else float(np.max(up(d * bounded.error(d))))
    inner, nearly = (None if f is None else (lambda v, f=f: f(v / d) / d) for f in (solve, rough))
    alpha, how, w = -math.inf, "M-matrix witness", None
    if P is None and method != "shift":
        Z, excess = z_part(B)
        if excess <= NEARLY * float(B.diagonal().max()):  # else the witness could not pay for it
            bound, w = (-math.inf, None) if nearly is None else m_matrix_bound(Z, nearly)
            if not bound > 0.0:
                bound, w = m_matrix_bound(Z, inner or _factor_solve(B))
            alpha = float(down(bound - up(loss + excess)))  # proofs.md, step 3b
    if not alpha > 0.0:
        if method == "m-matrix":
            raise CertificationError(
                "coercivity: no M-matrix witness (the matrix needs off-diagonal entries ≤ 0 and a vector w > 0 with "
                "A w > 0); use method='shift'"
            )
        (alpha, how), w = _by_shift(B, P, inner, shift, loss, definite), None
    return Coercivity(alpha, d if equilibrate else None, P, "operator", "verified", how, witness=w)


def scaled(S: Matrix, d: Vector) -> Any:
    """D S D for a diagonal D of powers of two, exact."""
    S = sp.csr_array(S)
    data = S.data * np.repeat(d, np.diff(S.indptr))
    data *= d[S.indices]
    return sp.csr_array((data, S.indices, S.indptr), shape=S.shape)


def is_z_matrix(S: Matrix) -> bool:
    """Whether every off-diagonal entry is ≤ 0."""
    C = S.tocoo()
    return not np.any(C.data[C.row != C.col] > 0.0)


def z_part(S: Matrix) -> tuple[Any, float]:
    """S without its positive off-diagonal entries, and an upper bound of the norm of what was left out.

    Assembly leaves roundings of zero with either sign; λ_min(S) ≥ λ_min(Z) − ‖S − Z‖ for symmetric S.
    """
    C = S.tocoo()
    positive = (C.row != C.col) & (C.data > 0.0)
    if not positive.any():
        return S, 0.0
    rows = np.bincount(C.row[positive], C.data[positive], minlength=S.shape[0])
    entries = int(np.bincount(C.row[positive]).max())
    Z = sp.csr_array((C.data[~positive], (C.row[~positive], C.col[~positive])), shape=S.shape)
    return Z, float(up(float(rows.max()) * (1.0 + 2.0 * gamma(entries + 1))))  # proofs.md, step 3b


def m_matrix_bound(S: Matrix, solve: Solve) -> tuple[float, Vector | None]:
    """Collatz–Wielandt: for a symmetric Z-matrix and w > 0, λ_min(S) ≥ min_i (S w)_i / w_i; that bound, and w.

    Indeed with α that minimum, S − αI is a Z-matrix with (S − αI) w ≥ 0, hence an M-matrix or singular one, and
    symmetric, hence positive semidefinite. Returns −∞ where the witness fails.
    """
    w = np.ones(S.shape[0])
    best, witness = -math.inf, None
    ratio_of = _Ratio(S)
    for _ in range(12):
        with np.errstate(all="ignore"):
            w = np.abs(solve(w))
        if not np.all(np.isfinite(w)) or float(w.min()) <= 0.0:
            break
        w = w / float(w.max())
        ratio, before = ratio_of(w), best
        if ratio > best:
            best, witness = ratio, w
        if before > 0.0 and ratio < before * 1.01:
            break
    return best, witness


class _Ratio:
    """min (S w)_i / w_i from below, for a Z-matrix with a positive diagonal and w > 0."""

    def __init__(self, S: Matrix) -> None:
        self.S, self.diagonal = S, np.asarray(S.diagonal())
        g = gamma(int(np.diff(S.indptr).max(initial=0)) + 1)
        self.rounding = g / (1.0 - 2.0 * g)

    def __call__(self, w: Vector) -> float:
        """In plain floats where their rounding hardly counts, else in double-double ones.

        A row's rounding is at most γ|S|w, and |S|w = 2 diag(S) w − S w ≤ (2 diag(S) w + |fl(S w)|)/(1 − γ).
        """
        v = self.S @ w
        err = up(self.rounding * (2.0 * self.diagonal * w + np.abs(v)) + self.S.shape[0] * TINY, 8)
        low = float(np.min(down((v - err) / w, 8)))  # proofs.md, step 3a
        if low >= float(np.min(v / w)) * (1.0 - HARDLY):
            return low
        v, err = self.enclosed.affine(exact(w)).rounded()
        return float(np.min(down((v - err) / w, 8)))  # proofs.md, step 3a

    @cached_property
    def enclosed(self) -> EnclosedMatrix:
        return EnclosedMatrix(self.S)


def _by_shift(
    B: Matrix, P: Any | None, solve: Solve | None, shift: float | None, loss: float, definite: Definite | None = None
) -> tuple[float, str]:
    """Try θ just below λ_min, then smaller."""
    P_floor = 1.0 if P is None else _floor(P)
    guess = shift if shift is not None else _smallest_eigenvalue(B, P, solve)
    if not (math.isfinite(guess) and guess > 0.0):
        raise CertificationError(
            f"coercivity: the symmetric part has a computed smallest eigenvalue of {guess:.3e}, not above zero; the "
            "matrix is singular, indefinite or too ill-conditioned for float64"
        )
    prove, how = (cholesky_defect, "Cholesky") if B.shape[0] <= DENSE_UP_TO else (lu_defect, "LU")
    if B.shape[0] > DENSE_UP_TO and definite is not None:
        prove, how = partial(cholesky_defect, definite=definite), "Cholesky"
    best = -math.inf
    for factor in (1.0,) if shift is not None else (0.997, 0.97, 0.7, 0.2, 0.01):
        theta = guess * factor
        # B − θP ⪰ −defect I and the data error is at most `loss` in norm; I ⪯ P / P_floor.
        defect = prove(B, theta, P)
        alpha = float(down(theta - up(up(defect + loss) / P_floor)))  # proofs.md, step 3c
        best = max(best, alpha)
        if alpha > 0.5 * theta or (how == "Cholesky" and math.isfinite(defect)):  # it would stay as large
            break
    if best > 0.0:
        return best, f"shifted {how} factorization"
    raise CertificationError(
        f"coercivity: no positive bound could be verified (computed smallest eigenvalue {guess:.3e}; rounding and "
        "data errors may be larger); rescale the system, or declare alpha"
    )


def _floor(P: Matrix) -> float:
    """λ_min(P) from below."""
    try:
        return verify_coercivity(P).alpha
    except CertificationError as error:
        raise CertificationError(f"P: not verified to be positive definite ({error})") from error


def _smallest_eigenvalue(B: Matrix, P: Any | None, solve: Solve | None) -> float:
    """A computed, unproved smallest eigenvalue of B x = λ P x."""
    n = B.shape[0]
    if n <= DENSE_UP_TO:
        M = None if P is None else sp.csr_array(P).toarray()
        return float(dense.eigvalsh(B.toarray(), M, subset_by_index=[0, 0])[0])
    inverse = spla.LinearOperator((n, n), matvec=solve or _factor_solve(B), dtype=np.float64)
    v0 = np.random.default_rng(0).standard_normal(n)
    try:
        with np.errstate(all="ignore"):
            values = spla.eigsh(
                sp.csc_array(B),
                k=1,
                M=P,
                sigma=0.0,
                OPinv=inverse,
                tol=1e-4,
                ncv=12,
                v0=v0,
                return_eigenvectors=False,
            )
    except (spla.ArpackNoConvergence, RuntimeError):
        return math.nan
    return float(values[0])


def _factor_solve(B: Matrix) -> Solve:
    try:
        lu = spla.splu(
            sp.csc_array(B),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:
        raise CertificationError(f"coercivity: the matrix is singular ({error})") from error
    return lambda v: np.asarray(lu.solve(np.asarray(v, dtype=np.float64).ravel()))


def _shifted(B: Matrix, theta: float, P: Any | None) -> tuple[Any, float]:
    """fl(B − θP), and a bound of the 2-norm of its rounding."""
    n = B.shape[0]
    if P is None:
        C = sp.csr_array(B - theta * sp.eye_array(n))
        top = float(np.abs(C.diagonal()).max())
        return C, float(up(2.0 * UNIT * top))
    P = sp.csr_array(P)
    C = sp.csr_array(B - theta * P)
    size = product_up(sp.csr_array(abs(B) + theta * abs(P)), np.ones(n))
    return sp.csr_array((C + C.T) * 0.5), float(up(4.0 * UNIT * float(size.max())))


def cholesky_defect(B: Matrix, theta: float, P: Any | None = None, definite: Definite | None = None) -> float:
    """A bound d with B − θP ⪰ −d I from a floating-point Cholesky factorization that ran to completion.

    Rump (2006): if the factorization of C succeeds, its factor satisfies L Lᵀ = C + ΔC with |ΔC_ij| ≤ γ_t Σ|l_ik l_jk|,
    t two more than the entries of the shorter of rows i and j of L: entries that are zero add no rounding, in any order
    of elimination and summation. On the diagonal this is Σ l_ik² ≤ c_ii/(1 − γ_t), and so, s_i being the entries of row
    i, |ΔC_ij| ≤ d_i d_j with d_i² = c_ii γ_{s_i+2}/(1 − γ_{s_i+2}) and ‖ΔC‖₂ ≤ Σ d_i². Rows of the factor are not known
    by their unknowns: the longest is taken with the largest c_ii, which gives the largest sum of all pairings. Entries
    are counted where s_i = n would cost more than `SMALL` of θ. Returns ∞ where the factorization fails.
    """
    C, rounding = _shifted(B, theta, P)
    n = C.shape[0]
    ran = (definite or _dense_definite)(C)
    if not ran:
        return math.inf
    defect = _rump(C, np.full(n, n))
    if callable(ran) and defect > SMALL * theta:
        counts = np.asarray(ran())
        if counts.shape == (n,):
            defect = min(defect, _rump(C, counts))
    return float(up(defect + rounding))


def _rump(C: Matrix, entries: Index) -> float:
    """Σ c_ii γ_{s+2}/(1 − γ_{s+2}) from above, for the entries s of the rows of a factor in any order."""
    g = gammas(np.sort(entries) + 2)
    n, sizes = C.shape[0], np.sort(np.abs(C.diagonal()))
    return float(up(sum_up(up(g / (1.0 - g) * sizes)) + n * n * TINY, 8))  # proofs.md, step 3d


def _dense_definite(C: Matrix) -> bool:
    try:
        np.linalg.cholesky(C.toarray())
    except np.linalg.LinAlgError:
        return False
    return True


def lu_defect(B: Matrix, theta: float, P: Any | None = None) -> float:
    """A bound d with B − θP ⪰ −d I from a sparse LU factorization with diagonal pivots.

    `inertia.pivots_of` factorises C = B − θP, permuted symmetrically, as KDKᵀ but for a known defect; for positive D
    that matrix is positive definite, and λ_min(C) is at least minus the defect.

    Returns ∞ where a pivot is not positive or the permutation is not symmetric.
    """
    C, rounding = _shifted(B, theta, P)
    found = pivots_of(C)
    if found is None or float(found[0].min()) <= 0.0:
        return math.inf
    return float(up(found[1] + rounding))  # proofs.md, step 3e
