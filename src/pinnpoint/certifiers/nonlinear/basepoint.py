"""A nonlinear system at one base point: residual, Jacobian and the linear algebra of J there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.certifiers.core import Core
from pinnpoint.certifiers.setup import solver_for
from pinnpoint.rounding.arithmetic import LIMIT, gamma, require_range
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import EnclosedMatrix, LinearMap, PlainMatrix
from pinnpoint.solvers.protocol import Solver, answer
from pinnpoint.systems.linear import LinearSystem
from pinnpoint.systems.queries import Queries
from pinnpoint.systems.spaces import AdmissibleSpace


class VerifiedBall(Protocol):
    """A neighbourhood of the base point that holds the target, with what it says about functionals.

    With d = y − y*: `remainder` bounds |gᵀR(y; d)|, `reach` bounds |sᵀd|.
    """

    @property
    def name(self) -> str:
        """The norm."""
        ...

    @property
    def radius(self) -> float:
        """How far the target can be, in that norm."""
        ...

    @property
    def claim(self) -> str:
        """What was proved, in words."""
        ...

    @property
    def status(self) -> str:
        """``"verified"``, or ``"declared"`` where a constant is the caller's word."""
        ...

    @property
    def details(self) -> dict[str, float]:
        """The numbers of the proof."""
        ...

    def remainder(self, g: Ball) -> float:
        """Upper bound of |gᵀR|."""
        ...

    def reach(self, s: Ball) -> float:
        """Upper bound of |sᵀd|."""
        ...


@dataclass(frozen=True, eq=False)
class BasePoint:
    """F(y) and J(y), enclosed, with J's factorization."""

    system: Any
    y: Vector
    rounding: bool

    __repr__ = brief

    @cached_property
    def F(self) -> Ball:
        """The residual."""
        with np.errstate(all="ignore"):
            F: Ball = self.system.residual(self.y, rounding=self.rounding)
        if not np.all(np.isfinite(F.hi)):
            raise CertificationError("residual: F(y) is not finite at the base point; rescale the problem")
        return F

    @cached_property
    def core(self) -> Core:
        """Maps, norms and defects of J(y)."""
        with np.errstate(all="ignore"):
            J, E = self.system.jacobian(self.y, rounding=self.rounding)
        if not float(np.max(np.abs(J.data), initial=0.0)) < LIMIT:
            raise CertificationError(
                "J(y) leaves the range in which rounding is covered, 2**480, at the base point; start from a smaller "
                "prediction, or rescale the problem"
            )
        if self.F.hi.size != J.shape[0]:
            raise InputError(f"F, J: F(y) has {self.F.hi.size} entries and J(y) {J.shape[0]} rows; they must agree")
        zeros = np.zeros(J.shape[0])
        return Core(LinearSystem(J, zeros, weight=self.system.weight, A_error=E), rounding=self.rounding)

    @property
    def J(self) -> Any:
        """J(y), rounded."""
        return self.core.matrix

    @property
    def J_error(self) -> Any | None:
        """Entrywise bounds of its error."""
        return self.core.system.A_error

    @cached_property
    def solver(self) -> Solver:
        """For J(y), or for JᵀWJ where F has more entries than y."""
        core = self.core
        try:
            return solver_for(core, None)[0]
        except InputError as error:
            raise CertificationError(
                f"J(y) is singular or nearly so at the base point, as at a fold ({error})"
            ) from error

    @cached_property
    def step(self) -> Vector:
        """The Newton (or Gauss–Newton) step d̃ ≈ J⁻¹F, rounded."""
        return np.asarray(answer(self.solver.solve, self.core.normal(self.F).hi))

    def moved(self) -> BasePoint:
        """The base point one Newton step on."""
        return BasePoint(self.system, self.y - self.step, self.rounding)


@dataclass(frozen=True, eq=False)
class ReducedQueries:
    """Queries seen from the free coordinates: values of states, and the functionals ℓ̂ = Zᵀℓ."""

    queries: Queries
    space: AdmissibleSpace
    rounding: bool

    __repr__ = brief

    @cached_property
    def reduced(self) -> Queries:
        """The same functionals of y, with the rounding of Zᵀℓ in their error."""
        L, E, free = self.queries.stored, self.queries.error, self.space.free
        if L.shape[1] != self.space.N:
            raise InputError(f"L: must have {self.space.N} columns, the length of U; got shape {L.shape}")
        if E is not None and not self.rounding:
            raise InputError("error: interval data needs rounding=True")
        if free is not None:
            return Queries(L[:, free], self.queries.names, error=None if E is None else E[:, free])
        Z = self.space.stored
        aZ = sp.csr_array(abs(Z))
        k = int(np.diff(L.indptr).max(initial=0))
        error = sp.csr_array((abs(L) @ aZ) * (2.0 * gamma(k + 4)))
        error = error if E is None else sp.csr_array(error + (E @ aZ) * (1.0 + 2.0 * gamma(k + 4)))
        return Queries(L @ Z, self.queries.names, error=error if self.rounding else None)

    @cached_property
    def _maps(self) -> tuple[LinearMap, LinearMap | None]:
        Z = None if self.space.free is not None else self.space.stored
        if self.rounding:
            L = EnclosedMatrix(self.queries.stored, self.queries.error, "L")
            return L, None if Z is None else EnclosedMatrix(Z, name="Z")
        return PlainMatrix(self.queries.stored), None if Z is None else PlainMatrix(Z)

    def values(self, y: Vector) -> Ball:
        """ℓᵀ(U₀ + Z y) + constant, enclosed."""
        L, Z = self._maps
        U = exact(self.space.vector_of(y)) if Z is None else Z.affine(exact(y), exact(-self.space.U0))
        return L.affine(U, exact(-self.queries.constants))


def base_point(system: LinearSystem, y: Vector, *, rounding: bool, polish: int = 0) -> BasePoint:
    """The base point, after `polish` Newton steps."""
    if rounding:
        require_range("U", y)
    base = BasePoint(system, y, rounding)
    for _ in range(polish):
        base = base.moved()
        if not np.all(np.isfinite(base.y)):
            raise CertificationError(
                "polish: Newton's method left the range of float64; start from a better prediction"
            )
    return base


def tightest(balls: Sequence[VerifiedBall], g: Ball, s: Ball) -> tuple[float, float]:
    """Remainder and algebraic term of the ball that gives the smaller sum."""
    found = [(ball.remainder(g), ball.reach(s)) for ball in balls]
    return min(found, key=sum)
