"""Proved bounds of the pairing |sᵀ B⁻¹ ρ| ≤ left(s) · right(ρ), for a nonsingular B.

This product is the whole algebraic error of a certificate whose adjoint solve left the defect s and whose
state has the residual ρ. `left` is computed once per query, `right` once per state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pinnpoint.base.arrays import Matrix, Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import TINY, UNIT, dot_up, down, gamma, sum_up, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.bounds import Coercivity
from pinnpoint.rounding.coercivity import is_z_matrix, scaled, verify_coercivity
from pinnpoint.rounding.forms import DiagonalForm, Form, InverseForm, MatrixForm
from pinnpoint.rounding.inertia import inertia
from pinnpoint.rounding.matrices import EnclosedMatrix, product_up

INVERSE_UP_TO = 2000
"""Size up to which a dense approximate inverse may serve as a witness."""


SKEW = 1e-10
"""How far from symmetric, relative to its largest entry, a matrix may be whose eigenvalues are counted."""


class Stability(Protocol):
    """A proof that B is nonsingular, as a product bound."""

    @property
    def claim(self) -> str:
        """What was proved, in words."""
        ...

    @property
    def status(self) -> str:
        """``"verified"`` or ``"declared"``."""
        ...

    def left(self, s: Ball) -> float:
        """The query's factor."""
        ...

    def right(self, rho: Ball) -> float:
        """The state's factor."""
        ...

    def green_error(self, left: float, form: Form) -> float:
        """Upper bound of ‖B⁻ᵀ s‖_{W⁻¹}; `left` is left(s), already at hand."""
        ...

    def solution_norm(self, rho: Ball, right: float) -> float:
        """Upper bound of ‖B⁻¹ ρ‖₂; `right` is right(ρ), already at hand."""
        ...


@dataclass(frozen=True, eq=False)
class Coercive:
    """(B + Bᵀ)/2 = S ⪰ αP: |sᵀB⁻¹ρ| ≤ ‖s‖_{S⁻¹} ‖ρ‖_{S⁻¹}.

    With v = B⁻ᵀs: ‖v‖²_S = vᵀBᵀv = vᵀs ≤ ‖v‖_S ‖s‖_{S⁻¹}, so ‖v‖_S ≤ ‖s‖_{S⁻¹}, and |vᵀρ| ≤ ‖v‖_S ‖ρ‖_{S⁻¹}.
    """

    form: MatrixForm
    claim: str
    status: str
    sharpen: bool = False
    witness: Vector | None = None
    """The positive vector that proves it, where it is one."""

    __repr__ = brief

    def left(self, s: Ball) -> float:
        """‖s‖_{S⁻¹}, sharpened where asked."""
        return self.form.dual(s) if self.sharpen else self.form.cheap_dual(s)  # proofs.md, step 2a

    @property
    def weights(self) -> tuple[Vector | None, float] | None:
        """D and c with left(s) = c ‖Ds‖₂, D None for the identity; None where left(s) is no such length."""
        P = self.form.P
        if self.sharpen or math.isinf(self.form.alpha) or not isinstance(P, DiagonalForm):
            return None
        return P.roots[1], float(up(1.0 / down(math.sqrt(self.form.alpha))))

    def right(self, rho: Ball) -> float:
        """‖ρ‖_{S⁻¹}, sharpened where asked."""
        return self.left(rho)

    def green_error(self, left: float, form: Form) -> float:
        """By ‖v‖_S ≤ left where W = S⁻¹, else from √α ‖v‖_P ≤ ‖v‖_S."""
        if isinstance(form, InverseForm):
            return left
        return dual_from(form, float(up(left / down(math.sqrt(self.form.alpha)))), self.form.P)

    def solution_norm(self, rho: Ball, right: float) -> float:
        """√α ‖e‖_P ≤ ‖e‖_S ≤ ‖ρ‖_{S⁻¹} ≤ right."""
        return dual_from(DiagonalForm(), float(up(right / down(math.sqrt(self.form.alpha)))), self.form.P)


@dataclass(frozen=True, eq=False)
class Normal:
    """Bᵀ W B ⪰ α P: |sᵀB⁻¹ρ| ≤ α^(−½) ‖s‖_{P⁻¹} ‖ρ‖_W (paper, inexact adjoint certificate)."""

    alpha: float
    P: Form
    W: Form
    claim: str
    status: str
    matches: bool = True
    """Whether W is the weight of the certificate itself."""

    __repr__ = brief

    def left(self, s: Ball) -> float:
        """‖s‖_{P⁻¹} / √α."""
        return float(up(self.P.dual(s) / down(math.sqrt(self.alpha))))  # proofs.md, step 2b; paper, eq. B.27

    def right(self, rho: Ball) -> float:
        """‖ρ‖_W."""
        return self.W.norm(rho)  # proofs.md, step 2b

    def green_error(self, left: float, form: Form) -> float:
        """‖B⁻ᵀs‖_{W⁻¹} ≤ left; another weight is compared through W = diag(w): ‖v‖_{W⁻¹} ≤ left."""
        if self.matches or not isinstance(self.W, DiagonalForm):
            return left
        inverse = None if self.W.w is None else np.asarray(1.0 / self.W.w)  # powers of two: exact
        return dual_from(form, left, DiagonalForm(inverse))

    def solution_norm(self, rho: Ball, right: float) -> float:
        """‖e‖_P ≤ ‖ρ‖_W/√α."""
        return dual_from(DiagonalForm(), float(up(right / down(math.sqrt(self.alpha)))), self.P)


@dataclass(frozen=True, eq=False)
class InversePositive:
    """B a Z-matrix with B w ≥ v > 0, w > 0: B⁻¹ ≥ 0 and |sᵀB⁻¹ρ| ≤ (|s|ᵀw) · max(|ρ|/v)."""

    w: Vector
    v: Vector
    claim: str = "the reduced operator is an M-matrix (positive witness)"
    status: str = "verified"

    __repr__ = brief

    def left(self, s: Ball) -> float:
        """|s|ᵀ w."""
        return dot_up(s.magnitude(), self.w)  # proofs.md, step 2c

    def right(self, rho: Ball) -> float:
        """The largest |ρ_i| / v_i."""
        return float(np.max(up(rho.magnitude() / self.v)))  # proofs.md, step 2c

    def green_error(self, left: float, form: Form) -> float:
        """‖B⁻ᵀ|s|‖₁ = |s|ᵀ B⁻¹ 1 bounds the Euclidean norm."""
        return dual_from(form, float(up(left * float(np.max(up(1.0 / self.v))))), DiagonalForm())

    def solution_norm(self, rho: Ball, right: float) -> float:
        """|e| ≤ w max(|ρ|/v)."""
        return float(up(right * exact(self.w).norm()))


@dataclass(frozen=True, eq=False)
class ApproximateInverse:
    """R with ‖I − R B‖_∞ ≤ β < 1: ‖B⁻¹‖_∞ ≤ ‖R‖_∞ / (1 − β), so |sᵀB⁻¹ρ| ≤ ‖s‖₁ · that · ‖ρ‖_∞."""

    bound: float
    claim: str = "the reduced operator is nonsingular (approximate inverse)"
    status: str = "verified"

    def left(self, s: Ball) -> float:
        """‖s‖₁."""
        return sum_up(s.magnitude())  # proofs.md, step 2d

    def right(self, rho: Ball) -> float:
        """‖B⁻¹‖_∞ ‖ρ‖_∞."""
        return float(up(self.bound * float(np.max(rho.magnitude(), initial=0.0))))  # proofs.md, step 2d

    def green_error(self, left: float, form: Form) -> float:
        """‖B⁻ᵀs‖₂ ≤ ‖B⁻ᵀs‖₁ ≤ ‖B⁻¹‖_∞ ‖s‖₁."""
        return dual_from(form, float(up(self.bound * left)), DiagonalForm())

    def solution_norm(self, rho: Ball, right: float) -> float:
        """√n ‖e‖_∞."""
        return float(up(math.sqrt(rho.size) * right))


def dual_from(form: Form, length: float, P: Form) -> float:
    """Upper bound of ‖v‖_{W⁻¹} when only ‖v‖_P ≤ length is known."""
    if isinstance(P, MatrixForm):  # P ⪰ α_P Q, so ‖v‖_Q ≤ ‖v‖_P / √α_P
        return dual_from(form, float(up(length / down(math.sqrt(P.alpha)))), P.P)
    if isinstance(form, MatrixForm):  # W ⪰ α_W Q, so ‖v‖_{W⁻¹} ≤ ‖v‖_{Q⁻¹} / √α_W
        return float(up(dual_from(form.P, length, P) / down(math.sqrt(form.alpha))))
    if not (isinstance(form, DiagonalForm) and isinstance(P, DiagonalForm)):
        raise CertificationError("the energy weight needs a coercive operator")
    if form.w is None or P.w is None:
        worst = form.longest * P.longest
    else:
        worst = float(np.max(up(1.0 / np.sqrt(form.w) / np.sqrt(P.w), 8)))
    return float(up(worst * length))


def floor_of(bound: Coercivity) -> Form:
    """The form P of a bound S ⪰ αP."""
    if bound.P is not None:
        return form_of(bound.P, "P")
    # exact for powers of two; rounded down otherwise, which only weakens S ⪰ α D⁻²
    return DiagonalForm(None if bound.scale is None else np.asarray(_inverse_square(bound.scale)))


def _inverse_square(d: Vector) -> Vector:
    powers = np.array_equal(np.frexp(d)[0], np.full(d.size, 0.5))
    return np.asarray(d**-2.0 if powers else down(1.0 / (d * d), 8))


def matrix_form(map: Any, bound: Coercivity, solve: Callable[[Vector], Vector] | None, *, enclose: bool) -> MatrixForm:
    """The form of a map with a coercivity bound."""
    return MatrixForm(map, bound.alpha, floor_of(bound), solve, enclose, _RowSum(map))


class _RowSum:
    """The largest row sum of |W|, computed when it is first asked for; infinite where it is not at hand."""

    def __init__(self, map: Any) -> None:
        self.map = map

    def __call__(self) -> float:
        return self._found

    @cached_property
    def _found(self) -> float:
        if not isinstance(self.map, EnclosedMatrix):
            return math.inf
        return float(np.max(product_up(self.map.magnitude, np.ones(self.map.shape[0]))))


def form_of(P: Matrix, name: str) -> Form:
    """The form of a caller's matrix: None, a diagonal, or a sparse symmetric positive definite matrix (verified)."""
    if P is None:
        return DiagonalForm()
    if isinstance(P, np.ndarray) and P.ndim == 1:
        return DiagonalForm(P)
    P = sp.csr_array(P)
    try:
        bound = verify_coercivity(P, equilibrate=True)
    except CertificationError as error:
        raise CertificationError(f"{name}: not verified to be positive definite ({error})") from error
    return matrix_form(EnclosedMatrix(P), bound, _Direct(P), enclose=True)


class _Direct:
    """v ↦ P⁻¹v; a copy factorises again."""

    def __init__(self, P: Matrix) -> None:
        self._P, self._lu = P, spla.splu(sp.csc_array(P))

    def __call__(self, v: Vector) -> Vector:
        return np.asarray(self._lu.solve(v))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Direct, (self._P,)


def inverse_positive(B: Matrix, solve: Callable[[Vector], Vector]) -> InversePositive | None:
    """Look for a positive witness w of a (possibly nonsymmetric) Z-matrix."""
    if not is_z_matrix(B):
        return None
    with np.errstate(all="ignore"):
        w = np.abs(solve(np.ones(B.shape[0])))
    if not (np.all(np.isfinite(w)) and float(w.min()) > 0.0):
        return None
    low, err = EnclosedMatrix(B).affine(exact(w)).rounded()
    v = np.asarray(down(low - err))  # proofs.md, step 2c
    return InversePositive(w, v) if float(v.min()) > 0.0 else None


def approximate_inverse(B: Matrix, error: Callable[[Vector], Vector] | None) -> ApproximateInverse | None:
    """Invert a small matrix in floating point and enclose what is left of the identity.

    fl(R B) differs from R B by at most γ_n |R||B| entrywise; `error` bounds the unknown part of B, as v ↦ E v.
    """
    n = B.shape[0]
    if n > INVERSE_UP_TO:
        return None
    D = B.toarray()
    try:
        R = np.linalg.inv(D)
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.isfinite(R)):
        return None
    one = np.ones(n)
    rest = np.abs(R @ D - np.eye(n)) @ one
    aR = np.abs(R)
    slack = 1.0 + 4.0 * gamma(2 * n + 8)
    unknown = gamma(n + 2) * (np.abs(D) @ one)
    if error is not None:
        unknown = unknown + error(one)
    beta = float(np.max(up((rest + 2.0 * UNIT + aR @ unknown) * slack + n * TINY)))  # proofs.md, step 2d
    if not beta < 0.5:
        return None
    size = float(np.max(up((aR @ one) * slack)))
    return ApproximateInverse(float(up(size / (1.0 - beta), 8)))  # proofs.md, step 2d


def symmetric_gap(B: Matrix, error: Callable[[Vector], Vector] | None) -> Normal | None:
    """No eigenvalue of D B D, symmetric but for rounding, is between −σ and σ: as many are below the one as the other.

    Two factorizations with diagonal pivots count them, D powers of two. sᵀB⁻¹ρ = (D s)ᵀ(D B D)⁻¹(D ρ).
    """
    if error is not None or B.shape[0] < 2:
        return None
    C = sp.csr_array(B)
    row = np.asarray(abs(C).max(axis=1).toarray()).ravel()
    if float(row.min(initial=1.0)) <= 0.0:
        return None
    D = np.ldexp(1.0, -np.rint(0.5 * np.log2(row)).astype(int))
    C, one, eye = scaled(C, D), np.ones(B.shape[0]), sp.eye_array(B.shape[0])
    skew = float(up(product_up(sp.csr_array(abs(C - C.T)), one).max() + 4.0 * UNIT * product_up(abs(C), one).max()))
    if skew > SKEW * float(abs(C).max()):
        return None
    C = sp.csr_array((C + C.T) * 0.5)  # off by at most `skew` in norm
    near = _nearest_zero(C)
    for share in (0.97, 0.7):
        sigma = share * near
        if not (math.isfinite(sigma) and sigma > 0.0):
            return None
        try:
            two = [inertia(C + sign * sigma * eye, 4.0 * UNIT * (abs(C.diagonal()).max() + sigma)) for sign in (-1, 1)]
        except CertificationError:
            continue
        low = float(down(sigma - up(max(found.defect for found in two) + skew)))  # proofs.md, step 2f
        if two[0].negative == two[1].negative and low > 0.5 * sigma:
            claim = f"the reduced operator is nonsingular: scaled eigenvalues ≥ {low:.3e} in size (counts of pivots)"
            scale = DiagonalForm(D**-2.0), DiagonalForm(D**2.0)
            return Normal(float(down(low * low)), *scale, claim, "verified", matches=False)  # proofs.md, step 2f
    return None


def _nearest_zero(C: Matrix) -> float:
    """The computed size of the eigenvalue next to zero; not trusted."""
    n = C.shape[0]
    if n <= 32:
        return float(np.abs(np.linalg.eigvalsh(C.toarray())).min())
    try:
        lu = spla.splu(sp.csc_array(C))
        inverse = spla.LinearOperator((n, n), matvec=lu.solve, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        values = spla.eigsh(inverse, 1, which="LM", v0=start, tol=1e-3, return_eigenvectors=False)
    except (spla.ArpackNoConvergence, RuntimeError):
        return math.nan
    return float(1.0 / np.abs(values[0])) if values[0] else math.nan


def smallest_singular_value(B: Matrix, error: Callable[[Vector], Vector] | None) -> Normal | None:
    """(D_r B D_c)ᵀ(D_r B D_c) ⪰ α I by a verified factorization, with power-of-two row and column scales.

    sᵀB⁻¹ρ = (D_c s)ᵀ (D_r B D_c)⁻¹ (D_r ρ). The formed product is enclosed: fl(CᵀC) differs from CᵀC by at most
    γ_k |C|ᵀ|C|. Squares the condition number, so it is the last resort for large matrices.
    """
    if error is not None:
        return None
    C = sp.csr_array(B)
    row = np.asarray(abs(C).max(axis=1).toarray()).ravel()
    if float(row.min(initial=1.0)) <= 0.0:
        return None
    Dr = np.ldexp(1.0, -np.rint(np.log2(row)).astype(int))
    C = sp.csr_array(sp.diags_array(Dr) @ C)
    column = np.asarray(abs(C).max(axis=0).toarray()).ravel()
    if float(column.min(initial=1.0)) <= 0.0:
        return None
    Dc = np.ldexp(1.0, -np.rint(np.log2(column)).astype(int))
    C = sp.csr_array(C @ sp.diags_array(Dc))
    H = sp.csr_array(C.T @ C)
    H = sp.csr_array((H + H.T) * 0.5)
    aC = abs(C)
    aCt = sp.csr_array(aC.T)
    k = int(np.diff(C.tocsc().indptr).max())

    def forming(v: Vector) -> Vector:
        underflow = 8.0 * C.shape[0] * TINY * float(np.sum(v))  # of the products, and of the scaling itself
        return np.asarray(up(gamma(k + 2) * product_up(aCt, product_up(aC, v)) + underflow))

    try:
        bound = verify_coercivity(H, method="shift", error=forming)  # proofs.md, step 2e
    except CertificationError:
        return None
    claim = f"the reduced operator is nonsingular: scaled singular values ≥ {math.sqrt(bound.alpha):.3e}"
    # proofs.md, step 2e
    return Normal(bound.alpha, DiagonalForm(Dc**-2.0), DiagonalForm(Dr**2.0), claim, "verified", matches=False)
