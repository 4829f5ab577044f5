"""Nonlinear systems as a caller describes them: residual, Jacobian, second derivative, and Lipschitz constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Matrix, Vector, dimensions, matrix, number, set_fields, vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import LIMIT, at_most, dot_up, up
from pinnpoint.rounding.balls import Ball
from pinnpoint.rounding.forms import DiagonalForm, Form
from pinnpoint.rounding.stability import form_of
from pinnpoint.systems.spaces import AdmissibleSpace

Lipschitz = float | Callable[[Vector, float], float]


@dataclass(frozen=True, eq=False)
class MaxNorm:
    """‖x‖ = max |x_i| / scale_i, with its dual Σ scale_i |s_i|; bounded by the form P = diag(scale⁻²)."""

    scale: Vector

    __repr__ = brief

    @property
    def P(self) -> Vector:
        """A diagonal with ‖x‖² ≤ xᵀPx."""
        return np.asarray(up(1.0 / (self.scale * self.scale)))

    def norm(self, v: Ball) -> float:
        """The norm over the ball, rounded up."""
        return at_most(float(np.max(up(v.magnitude() / self.scale))))

    def dual(self, v: Ball) -> float:
        """The dual norm over the ball, rounded up."""
        return at_most(dot_up(v.magnitude(), self.scale))


@dataclass(frozen=True, eq=False)
class FormNorm:
    """‖x‖ = √(xᵀPx)."""

    P: Any
    form: Form

    __repr__ = brief

    def norm(self, v: Ball) -> float:
        """The norm over the ball, rounded up."""
        return self.form.norm(v)

    def dual(self, v: Ball) -> float:
        """The dual norm over the ball, rounded up."""
        return self.form.dual(v)


@dataclass(frozen=True, eq=False)
class NonlinearSystem:
    """F(y) = 0 for free coordinates y, U = U₀ + Z y (paper, section Nonlinear Certification).

    All functions take the reduced vector y, length n. Their own rounding cannot be seen from outside: it is covered up
    to `F_error` and `J_error`, or, where these are not given, not covered. Every constant is the caller's word, and the
    certificate lists it as declared.

    Parameters
    ----------
    F
        y ↦ M residual entries, M ≥ n.
    J
        y ↦ DF(y), M × n, dense or sparse.
    space
        The admissible vectors, or their number n where nothing is constrained.
    second
        (y, z) ↦ Σ_k z_k ∇²F_k(y), n × n and symmetric; only stationary targets need it.
    lipschitz
        L with ‖(J(u) − J(v))x‖_W ≤ L ‖u − v‖_X ‖x‖_X: a number that holds everywhere, or (y, R) ↦ L on the ball of
        radius R around y.
    weight
        W on residuals: None, a positive vector, or a symmetric positive definite matrix.
    norm
        ‖·‖_X on states: "euclidean", "max", or a symmetric positive definite matrix P for √(xᵀPx).
    scale
        For "max": ‖x‖ = max |x_i|/scale_i; ones by default.
    F_error
        Absolute bound of F's evaluation error, one number or one per entry.
    J_error
        The same for J: entrywise bounds, or a number for that multiple of |J|.
    second_lipschitz
        The same as `lipschitz` for K = D(JᵀWF), from ‖·‖_X to its dual; for stationary targets of systems with more
        equations than unknowns.
    """

    F: Callable[[Vector], Any]
    J: Callable[[Vector], Any]
    space: AdmissibleSpace
    second_derivative: Callable[[Vector, Vector], Any] | None
    lipschitz: Lipschitz | None
    weight: Any
    X: MaxNorm | FormNorm
    F_error: Any
    J_error: Any
    second_lipschitz: Lipschitz | None

    proved = True

    __repr__ = brief

    def __init__(
        self,
        F: Callable[[Vector], Any],
        J: Callable[[Vector], Any],
        space: AdmissibleSpace | int,
        second: Callable[[Vector, Vector], Any] | None = None,
        lipschitz: Lipschitz | None = None,
        *,
        weight: Matrix | None = None,
        norm: Any = "euclidean",
        scale: Any = None,
        F_error: Any = None,
        J_error: Any = None,
        second_lipschitz: Lipschitz | None = None,
    ) -> None:
        for name, f in (("F", F), ("J", J)):
            if not callable(f):
                raise InputError(f"{name}: must be a function of y; got {type(f).__name__}")
        space = space if isinstance(space, AdmissibleSpace) else AdmissibleSpace.unconstrained(space)
        if isinstance(weight, str):
            raise InputError(
                "weight: 'energy' is for symmetric positive definite Jacobians of semilinear problems only"
            )
        for name, L in (("lipschitz", lipschitz), ("second_lipschitz", second_lipschitz)):
            if L is not None and not callable(L):
                number(name, L, low=0.0)
        set_fields(
            self,
            F=F,
            J=J,
            space=space,
            second_derivative=second,
            lipschitz=lipschitz,
            weight=weight,
            X=_norm(norm, scale, space.n),
            F_error=F_error,
            J_error=J_error,
            second_lipschitz=second_lipschitz,
        )

    @property
    def n(self) -> int:
        """Number of free coordinates."""
        return self.space.n

    @property
    def N(self) -> int:
        """Length of U."""
        return self.space.N

    @property
    def covers_rounding(self) -> bool:
        """Whether bounds of the evaluation errors were declared."""
        return self.F_error is not None and self.J_error is not None

    @property
    def target(self) -> str:
        """What the certified value belongs to, in words."""
        return "the verified root of F near the base point"

    @cached_property
    def claims(self) -> tuple[tuple[str, str], ...]:
        """What rests on the caller's word."""
        within = "are within the given bounds" if self.covers_rounding else "are negligible"
        return ((f"the evaluation errors of F, J and the second derivative {within}", "declared"),)

    def residual(self, y: Vector, *, rounding: bool = True) -> Ball:
        """F(y), with its declared evaluation error."""
        F = vector("F(y)", self.F(y.copy()))
        if not rounding:
            return Ball(F)
        e = np.full(F.size, float(self.F_error)) if np.ndim(self.F_error) == 0 else self.F_error
        return Ball(F, None, vector("F_error", e, F.size, sign="nonnegative"))

    def jacobian(self, y: Vector, *, rounding: bool = True) -> tuple[Any, Any]:
        """J(y), with its declared entrywise error."""
        J = matrix("J(y)", self.J(y.copy()))
        if not float(np.max(np.abs(J.data), initial=0.0)) < LIMIT:
            raise InputError("J(y): entries must be below 2**480 (3e144) in magnitude; rescale the system")
        if J.shape[1] != self.n:
            raise InputError(f"J: must have {self.n} columns, one per free coordinate; got shape {J.shape}")
        if J.shape[0] < self.n:
            raise InputError(f"J: {J.shape[0]} equations for {self.n} free coordinates; add equations or constraints")
        if not rounding:
            return J, None
        if dimensions("J_error", self.J_error) == 0:
            return J, sp.csr_array(abs(J) * (number("J_error", self.J_error, low=0.0) * (1.0 + 2.0**-50)))
        E = matrix("J_error", self.J_error)
        if E.shape != J.shape:
            raise InputError(f"J_error: must be a number or have J's shape {J.shape}; got shape {E.shape}")
        if float(np.min(E.data, initial=0.0)) < 0.0:
            raise InputError(f"J_error: entries must be ≥ 0; got {float(np.min(E.data))!r}")
        return J, E

    def second(self, y: Vector, z: Ball, *, rounding: bool = True) -> tuple[Any, Any]:
        """Σ_k z_k ∇²F_k(y) at the midpoint of z, and entrywise bounds of its error.

        That of each number is `J_error` (2⁻⁵⁰ where that is a matrix) of itself. With more equations than unknowns it
        has to hold for all of the ball z, so Σ_k |z_k − mid z_k| |∇²F_k(y)| is added, ∇²F_k by one call for each k; the
        proof for square systems holds for any matrix in this place.
        """
        G = self._second(y, z.hi)
        if not rounding:
            return G, None
        relative = number("J_error", self.J_error, low=0.0) if dimensions("J_error", self.J_error) == 0 else 0.0
        E = sp.csr_array(abs(G) * (relative + 2.0**-50))
        away = np.zeros(z.size) if z.lo is None else np.abs(z.lo)
        away = away if z.err is None else np.asarray(up(away + z.err))
        for k in np.nonzero(away)[0] if z.size > self.n else ():
            unit = np.zeros(z.size)
            unit[k] = 1.0
            E = sp.csr_array(
                E + abs(self._second(y, unit)) * float(up(away[k] * (1.0 + relative + 2.0**-50), z.size + 8))
            )
        return G, E

    def _second(self, y: Vector, z: Vector) -> Any:
        if self.second_derivative is None:
            raise InputError("second: a stationary target needs (y, z) ↦ Σ_k z_k ∇²F_k(y); give it to NonlinearSystem")
        G = matrix("second(y, z)", self.second_derivative(y.copy(), z.copy()))
        if G.shape != (self.n, self.n):
            raise InputError(f"second: must return {self.n} × {self.n} matrices; got shape {G.shape}")
        return G


def constant(given: Lipschitz | None, name: str, y: Vector, reach: float) -> float:
    """A declared Lipschitz constant on the ball of this radius."""
    if given is None:
        raise InputError(f"{name}: a verified ball needs this constant; give it to NonlinearSystem, or declare ball=")
    return number(name, given(y.copy(), reach) if callable(given) else given, low=0.0)


def _norm(given: Any, scale: Any, n: int) -> MaxNorm | FormNorm:
    if isinstance(given, str) and given == "max":
        return MaxNorm(np.ones(n) if scale is None else vector("scale", scale, n, sign="positive"))
    if scale is not None:
        raise InputError("scale: only for norm='max'")
    if isinstance(given, str):
        if given != "euclidean":
            raise InputError(f"norm: must be 'euclidean', 'max' or a matrix; got {given!r}")
        return FormNorm(None, DiagonalForm())
    P = matrix("norm", given)
    if P.shape != (n, n):
        raise InputError(f"norm: must be {n} × {n}, the number of free coordinates; got shape {P.shape}")
    if float(np.max(np.abs((P - P.T).data), initial=0.0)) > 0.0:
        raise InputError("norm: must be a symmetric matrix; give (P + P.T)/2")
    return FormNorm(P, form_of(P, "norm"))
