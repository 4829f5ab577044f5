"""The discrete system of a general reaction g(u), integrated by a quadrature rule that is part of the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinnpoint.base.arrays import Vector, attributes, floats, set_fields
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.formulas.derivatives import derivative
from pinnpoint.formulas.expressions import Expression, parse
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import EnclosedMatrix
from pinnpoint.systems.semilinear.base import AbstractSemilinear
from pinnpoint.systems.spaces import AdmissibleSpace
from pinnpoint.taylor.geometry import Simplices
from pinnpoint.taylor.inputs import fixed, models
from pinnpoint.taylor.suprema import supremum

CHUNK = 65536
TRUSTED = 2.0**-48
"""Relative error that a caller's own functions are taken to have; the certificate says so."""


@dataclass(frozen=True, eq=False)
class Reaction:
    """g with its first two derivatives, each a formula in u or a function of arrays.

    Formulas are enclosed: values with their rounding, and sup |g″| over intervals by Taylor models. The derivatives are
    taken from g itself; those given are compared with it, and refused where they differ. Only where g has corners (abs,
    min, max) do the given ones count, declared. For functions the rounding is taken to be 2⁻⁴⁸ relative, and sup |g″|
    is the caller's `bound(low, high)`, declared, or else sampled, which makes the certificate an estimate.

    Parameters
    ----------
    g, first, second
        g(u), g′(u), g″(u): all formulas or all functions. For a formula g the derivatives can be left out.
    bound
        For functions: arrays (low, high) ↦ upper bounds of |g″| between them.
    """

    g: Any
    first: Any = None
    second: Any = None
    bound: Callable[[Vector, Vector], Any] | None = None
    differentiated: bool = field(init=False, default=False)
    """Whether g′ and g″ were taken from the formula g."""

    __repr__ = brief

    def __post_init__(self) -> None:
        for name, given in attributes(self, "g", "first", "second").items():
            if given is None and name != "g" and isinstance(self.g, Expression):
                continue
            if isinstance(given, str | int | float) and not isinstance(given, bool):
                set_fields(self, **{name: parse(str(given), ("u",), name=name)})
            elif not (callable(given) or isinstance(given, Expression)):
                raise InputError(f"{name}: must be a formula in u or a function; got {type(given).__name__}")
        if len({isinstance(f, Expression) for f in (self.g, self.first, self.second) if f is not None}) > 1:
            raise InputError("g, first, second: give three formulas or three functions")
        if isinstance(self.g, Expression):
            self._differentiate(self.g)

    def _differentiate(self, g: Expression) -> None:
        """Take g′ and g″ from g, where it has them, and compare what was given."""
        first = derivative(g)
        second = None if first is None else derivative(first)
        if first is None or second is None:
            if self.first is None or self.second is None:
                raise InputError(f"g '{g.text}': give first and second too; this formula is not differentiated here")
            return
        for name, own, given in (("first", first, self.first), ("second", second, self.second)):
            if given is not None:
                _compare(name, given, own)
        set_fields(self, first=first, second=second, differentiated=True)

    @property
    def formulas(self) -> bool:
        """Whether everything is enclosed."""
        return isinstance(self.g, Expression)

    def values(self, name: str, u: Vector, slack: Vector | None) -> tuple[Vector, Vector]:
        """Values at u and upper bounds of their errors for arguments within `slack`; None for plain floats."""
        f, shape = {"g": self.g, "first": self.first, "second": self.second}[name], u.shape
        flat = u.ravel()
        if slack is None or not self.formulas:
            v = floats(name, f(flat))
            if v.shape != flat.shape:
                raise InputError(f"{name}: must map {flat.size} numbers to as many; got shape {v.shape}")
            if not np.all(np.isfinite(v)):
                at = int(np.argmin(np.isfinite(v)))
                raise InputError(f"{name}: must be finite; it is {v[at]} at u = {float(flat[at])!r}")
            return v.reshape(shape), np.asarray(up(TRUSTED * np.abs(v) + TINY)).reshape(shape)
        known = fixed(f)
        if known is not None:
            return np.full(shape, known[0]), np.full(shape, known[1])
        v, e = np.empty(flat.size), np.empty(flat.size)
        wide = slack.ravel()
        for a in range(0, flat.size, CHUNK):
            part = slice(a, a + CHUNK)
            model, _ = models(f, Simplices(flat[part, None, None], wide[part, None]), 0)
            v[part], e[part] = model.C[0], model.e
        if not (np.all(np.isfinite(v)) and np.all(np.isfinite(e))):
            raise CertificationError(
                f"{name}: the formula is not enclosed at some values of the state; is it smooth there?"
            )
        return v.reshape(shape), e.reshape(shape)

    def top(self, low: Vector, high: Vector) -> Vector:
        """Upper bounds of |g″| on intervals."""
        if self.bound is not None:
            found = np.broadcast_to(floats("bound", self.bound(low, high)), low.shape)
            if not np.all(found >= 0.0):
                raise InputError("bound: must return bounds ≥ 0 of |g″|")
            return np.asarray(found)
        f = self.second if self.formulas else (lambda X: self.second(X[:, 0]))
        return supremum(f, np.stack([low, high], axis=1)[:, :, None], relative=0.05)[0]  # proofs.md, step 6h


def _compare(name: str, said: Expression, own: Expression) -> None:
    """Refuse a given derivative that differs from g's own by more than rounding, at points where both are finite."""
    u = np.concatenate([x * np.array([-1.0, 1.0]) for x in (0.0137, 0.31, 0.77, 1.9, 4.3)])
    for x in u:
        try:
            a, b = float(said(np.array([x]))[0]), float(own(np.array([x]))[0])
        except InputError:
            continue
        if abs(a - b) > 1e-6 * max(abs(a), abs(b)) + 1e-9:
            raise InputError(
                f"{name} '{said.text}': is not the derivative of g, which is {b:.6g} at u = {x:g}; got {a:.6g}. Leave "
                "it out, and it is taken from g"
            )


@dataclass(frozen=True, eq=False)
class ReactionSystem(AbstractSemilinear):
    """N(U)_i = Σ_c Σ_q v_cq φ_q,i g(Σ_j φ_q,j U_j): the stored floats v and φ are what is certified.

    Parameters
    ----------
    reaction
        g and its derivatives.
    phi
        (Q, m + 1) shape functions at the quadrature points; bounds of the discrete root need nonnegative ones.
    v
        (C, Q) positive weights.
    A, b, space, cells, slot, weight
        As in `AbstractSemilinear`.
    """

    A: Any
    b: Vector
    space: AdmissibleSpace
    cells: Any
    reaction: Reaction
    phi: Vector
    v: Vector
    slot: Any
    weight: Any = None

    monotone = False

    __repr__ = brief

    @property
    def proved(self) -> bool:  # type: ignore[override]
        """Formulas, or a declared bound."""
        return self.reaction.formulas or self.reaction.bound is not None

    @property
    def claims(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        """Nothing for formulas that were differentiated here."""
        if self.reaction.differentiated:
            return ()
        if self.reaction.formulas:
            return (("the formulas of g′ and g″ are the derivatives of g, which has corners", "declared"),)
        said = [(f"g, g′ and g″ are evaluated to a relative error of {TRUSTED:.1e}", "declared")]
        how = "the given bound holds" if self.reaction.bound is not None else "samples of g″ bound it (an estimate)"
        return (*said, (f"{how} for sup |g″|", "declared"))

    @property
    def target(self) -> str:
        """With the quadrature rule."""
        return f"the root of Zᵀ(A U + N(U) − b) = 0 over the admissible space, N by a rule of {len(self.phi)} points"

    @property
    def _steps(self) -> int:
        return self.phi.size + self._valence + 16

    def _at_rule(self, y: Vector) -> tuple[Vector, Vector]:
        """U at the quadrature points, (C, Q), and bounds of its rounding."""
        U = self._local(y)
        size = np.abs(U) @ np.abs(self.phi).T
        return U @ self.phi.T, np.asarray(up(gamma(self.phi.shape[1] + 2) * size + TINY))

    @cached_property
    def _scatter(self) -> EnclosedMatrix:
        """Sums v_cq φ_q,i times values at (cell, point) into the free rows."""
        C, Q = self.v.shape
        k = self.cells.shape[1]
        data = self.v[:, :, None] * self.phi[None]
        rows = np.broadcast_to(self.cells[:, None, :], (C, Q, k))
        columns = np.broadcast_to(np.arange(C * Q).reshape(C, Q, 1), (C, Q, k))
        S = sp.csr_array((data.ravel(), (rows.ravel(), columns.ravel())), shape=(self.N, C * Q))
        S = sp.csr_array(S[self.space.free])
        return EnclosedMatrix(S, abs(S) * (2.0 * UNIT), name="v")

    def residual(self, y: Vector, *, rounding: bool = True) -> Ball:
        """The linear part in double-double arithmetic, g with its enclosed error."""
        U, free = self.space.vector_of(y), self.space.free
        u, slack = self._at_rule(y)
        if not rounding:
            return Ball(
                self.A[free] @ U - self.b[free] + self._scatter.A @ self.reaction.values("g", u, None)[0].ravel()
            )
        g, error = self.reaction.values("g", u, slack)
        if not self.reaction.formulas:  # the argument's own rounding, by g′ and its growth
            error = error + slack * (np.abs(self.reaction.values("first", u, None)[0]) + slack * self._top(u, slack))
        values = Ball(g.ravel(), None, np.asarray(up(error)).ravel())  # proofs.md, step 6h
        return self._linear.affine(exact(U), exact(self.b[free])) + self._scatter.affine(values)

    def _require_positive(self) -> None:
        """Refuse what is proved for shape functions that are nowhere negative."""
        if float(self.phi.min()) < 0.0:
            raise InputError(
                "target: semilinear problems of degree 2 have the continuous target only; the discrete one needs shape "
                "functions that are nowhere negative, degree = 1"
            )

    def _top(self, u: Vector, slack: Vector) -> Vector:
        return self.reaction.top((u - slack).ravel(), (u + slack).ravel()).reshape(u.shape)

    def jacobian(self, y: Vector, *, rounding: bool = True) -> tuple[Any, Any]:
        """J(y)_ij = A_ij + Σ v φ_i φ_j g′."""
        u, slack = self._at_rule(y)
        first, error = self.reaction.values("first", u, slack if rounding else None)
        J = self._cut(self.A.data + self._summed(first))
        if not rounding:
            return J, None
        self._require_positive()
        if not self.reaction.formulas:
            error = error + slack * self._top(u, slack)
        size, apart = self._summed(np.abs(first)), self._summed(np.asarray(up(error)))
        g = gamma(self._steps)
        total = up((g * size + apart) * (1.0 + g) + 2.0**-52 * (np.abs(self.A.data) + size + apart) + TINY)
        return J, self._cut(np.asarray(total))

    def second(self, y: Vector, z: Ball, *, rounding: bool = True) -> tuple[Any, Any]:
        """G_ij = Σ v φ_i φ_j g″ z, z at the quadrature points."""
        if rounding:
            self._require_positive()
        u, slack = self._at_rule(y)
        second, error = self.reaction.values("second", u, slack if rounding else None)
        G = self._cut(self._summed(second * (self._spread(z.hi) @ self.phi.T)))
        if not rounding:
            return G, None
        if not self.reaction.formulas:
            error = error + self._top(u, slack) * TRUSTED  # the caller's word covers g″ near u too
        away = np.zeros(self.n) if z.lo is None else np.abs(z.lo)
        away = away if z.err is None else away + z.err
        wide = self._spread(z.magnitude()) @ self.phi.T
        off = self._spread(np.asarray(up(away))) @ self.phi.T
        size, apart = self._summed(np.abs(second) * wide), self._summed(error * wide + np.abs(second) * off)
        g = gamma(self._steps)
        return G, self._cut(np.asarray(up((g * size + apart) * (1.0 + 2.0 * g) + TINY)))

    def _summed(self, at_points: Vector) -> Vector:
        """Σ_q v φ_i φ_j · value per cell, bitwise symmetric, as data of A's pattern."""
        local = np.einsum("cq,qij->cij", self.v * at_points, self.phi[:, :, None] * self.phi[:, None, :])
        return self._counted(0.5 * (local + np.swapaxes(local, 1, 2)))

    @cached_property
    def lumps(self) -> Vector:
        """Σ_q v φ_i."""
        return np.asarray(up((self.v @ self.phi) * (1.0 + 2.0 * gamma(len(self.phi) + 2))))

    def slope(self, y: Vector, reach: Vector | float) -> Vector:
        """The supremum of |g″| over the range of the cell, widened."""
        self._require_positive()
        U = self._local(y)
        low, high = U.min(axis=1), U.max(axis=1)
        grown = up(reach + 2.0**-48 * (np.abs(low) + np.abs(high)))
        return self.reaction.top(low - grown, high + grown)

    def bend(self, y: Vector, reach: Vector | float) -> Vector:
        """Half of it, with a little for shape functions whose sum is rounded."""
        return np.asarray(up(0.5 * self.slope(y, reach), 8))
