"""Verified norms of a positive definite form: ‖v‖_W and ‖v‖_{W⁻¹}, rounded up.

Every norm of the certificates is one of these: the residual's weight, the energy weight W = Â⁻¹ (the same form
the other way round), a caller's P in Ĥ ⪰ αP, and Ĥ itself for least-squares targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import CertificationError
from pinnpoint.rounding.arithmetic import TINY, UNIT, at_most, dot_up, down, norm_up, two_prod, up
from pinnpoint.rounding.balls import Ball, exact
from pinnpoint.rounding.matrices import LinearMap, dots


class Form(Protocol):
    """A symmetric positive definite W."""

    def norm(self, v: Ball) -> float:
        """Upper bound of ‖v‖_W = (vᵀ W v)^½ over the ball."""
        ...

    def dual(self, v: Ball) -> float:
        """Upper bound of ‖v‖_{W⁻¹} over the ball."""
        ...

    def apply(self, v: Ball) -> Ball:
        """Enclosure of W v."""
        ...


@dataclass(frozen=True, eq=False)
class DiagonalForm:
    """W = diag(w), w > 0; the identity where w is None."""

    w: Vector | None = None

    __repr__ = brief

    @cached_property
    def roots(self) -> tuple[Vector | None, Vector | None]:
        """√w and 1/√w, rounded up."""
        if self.w is None:
            return None, None
        return np.asarray(up(np.sqrt(self.w))), np.asarray(up(1.0 / np.sqrt(self.w)))

    def norm(self, v: Ball) -> float:
        """‖√w v‖₂, rounded up."""
        return v.norm(self.roots[0])

    def dual(self, v: Ball) -> float:
        """‖v / √w‖₂, rounded up."""
        return v.norm(self.roots[1])

    @cached_property
    def longest(self) -> float:
        """Upper bound of max 1/√w."""
        return 1.0 if self.roots[1] is None else float(np.max(self.roots[1]))

    def apply(self, v: Ball) -> Ball:
        """W v by one enclosed product per entry."""
        if self.w is None:
            return v
        p, e = two_prod(self.w, v.hi)
        err = np.full_like(p, 16.0 * TINY)
        lo = e
        if v.lo is not None:
            f = self.w * v.lo
            lo = e + f
            err = err + 4.0 * UNIT * (np.abs(e) + np.abs(f))
        if v.err is not None:
            err = err + self.w * v.err
        return Ball(p, lo, np.asarray(up(err, 8)))


@dataclass(frozen=True, eq=False)
class MatrixForm:
    """W given by its products, with W ⪰ αP and an approximate inverse to sharpen with.

    `dual` uses, for any z (an identity in real arithmetic),

        ‖v‖²_{W⁻¹} = vᵀz − zᵀ(Wz − v) + ‖Wz − v‖²_{W⁻¹},   ‖t‖_{W⁻¹} ≤ ‖t‖_{P⁻¹} / √α,

    so z only decides how tight the bound is. *Guarantee:* deterministic when α is verified and the map encloses
    its products. An infinite α says that defects are not to be counted (plain floating point).
    """

    map: LinearMap
    alpha: float
    P: Form
    solve: Callable[[Vector], Vector] | None = None
    enclose: bool = True
    row_sum: Callable[[], float] = lambda: math.inf
    """Upper bound of the largest absolute row sum of W; only norms of vectors with a radius ask for it."""

    __repr__ = brief

    def norm(self, v: Ball) -> float:
        """√(vᵀ W v) at the centre, and the radius by the triangle inequality."""
        center = Ball(v.hi, v.lo)
        q = _pair(center, self.map.affine(center), enclose=self.enclose)
        length = float(up(_root(q)))
        if v.err is None or not np.any(v.err):
            return length
        return at_most(up(length + up(math.sqrt(self.row_sum()) * norm_up(v.err))))

    def cheap_dual(self, v: Ball) -> float:
        """‖v‖_{P⁻¹} / √α, rounded up: no solve with W, but loose for smooth v."""
        # proofs.md, step 4b
        return 0.0 if math.isinf(self.alpha) else at_most(up(self.P.dual(v) / down(math.sqrt(self.alpha))))

    def dual(self, v: Ball) -> float:
        """The sharpened bound where an approximate inverse is at hand, else the cheap one."""
        cheap = self.cheap_dual(v)
        if self.solve is None or not np.any(v.hi):
            return cheap
        with np.errstate(all="ignore"):
            z = np.asarray(self.solve(v.hi.copy()))  # some overwrite what they are given
        if not np.all(np.isfinite(z)):
            return cheap
        sharp = self.dual_with(v, z)
        return sharp if math.isinf(self.alpha) else min(cheap, sharp)

    def dual_with(self, v: Ball, z: Vector) -> float:
        """The identity above for a given z."""
        center, Z = Ball(v.hi, v.lo), exact(z)
        defect = self.map.affine(Z, center)
        q = _pair(Z, center, enclose=self.enclose) + _pair(Z, -defect, enclose=self.enclose)  # proofs.md, step 4a
        rest = self.cheap_dual(defect)  # proofs.md, step 4b
        length = up(_root(at_most(up(max(at_most(q), 0.0) + up(rest * rest), 8))))
        if v.err is not None:  # the worst member of the ball, not one vector of its radii
            length = up(length + self.cheap_dual(Ball(np.zeros_like(v.hi), None, v.err)))
        return at_most(length)

    def apply(self, v: Ball) -> Ball:
        """W v."""
        return self.map.affine(v)


@dataclass(frozen=True, eq=False)
class InverseForm:
    """W = S⁻¹ without an inverse: norms and dual norms trade places."""

    form: MatrixForm

    __repr__ = brief

    def norm(self, v: Ball) -> float:
        """‖v‖_{S⁻¹}."""
        return self.form.dual(v)  # proofs.md, step 4c

    def dual(self, v: Ball) -> float:
        """‖v‖_S."""
        return self.form.norm(v)  # proofs.md, step 4c

    def apply(self, v: Ball) -> Ball:
        """Not available: S⁻¹ is never applied exactly."""
        raise CertificationError("the energy weight S⁻¹ cannot be applied exactly; use it with square systems only")


def pairing(a: Ball, b: Ball, *, enclose: bool = True) -> tuple[float, float]:
    """aᵀb and an upper bound of its error over both balls."""
    ball = dots(a.hi[None, :], b, None if a.lo is None else a.lo[None, :], enclose=enclose)
    value, error = ball.rounded()
    extra = 0.0 if a.err is None else dot_up(a.err, b.magnitude())
    return float(value[0]), float(up(error[0] + extra))


def _root(q: float) -> float:
    """√q for an upper bound q; rounding may push a true zero below zero, and NaN bounds nothing."""
    return math.sqrt(max(0.0, at_most(q)))


def _pair(a: Ball, b: Ball, *, enclose: bool) -> float:
    """Upper bound of aᵀb over both balls."""
    value, error = pairing(a, b, enclose=enclose)
    return float(value + up(error + abs(value) * 2.0**-52))
