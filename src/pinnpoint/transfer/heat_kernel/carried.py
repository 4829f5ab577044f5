"""What convection and a reaction that varies make of a heat kernel: smooth factors of radial functions.

Φ is the radial kernel of κ and c′ about x₀, and Ψ = EΦ with E = e^{−β·(x − x₀)}. With β = b(x₀)/2κ and
c′ = c₀ + κ|β|², for any number c₀,

    −Ψ_t − κΔΨ − ∇·(bΨ) + cΨ = δ − E { ω_Φ + g₁Φ + g₂ ∂_ρΦ },

    g₁ = ∇·b − (c − c₀) − (b − b(x₀))·β,      g₂ = 2 (b − b(x₀))·(x − x₀)/R²,

ρ = |x − x₀|²/R². With β = 0, c′ = c₀ and 0 for b(x₀), as for averages whose weight has no factor E, the same holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.models.smooth import SmoothField
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.inputs import enclosed, fixed
from pinnpoint.taylor.jets import ZERO
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.simplices import enclose
from pinnpoint.taylor.suprema import supremum
from pinnpoint.transfer.media.coefficients import Coefficient, derivative, divergence, modelled


@dataclass(frozen=True, eq=False)
class Carried:
    """b and c about a point.

    Attributes
    ----------
    convection, reaction
        b and c, numbers or formulas; they hold in the ball.
    middle
        x₀.
    level
        c₀ ≥ 0.
    turned
        Whether there is a factor E; if not, β = 0.
    """

    convection: tuple[Coefficient, ...]
    reaction: Coefficient
    kappa: float
    middle: Vector
    radius: float
    level: float
    turned: bool

    __repr__ = brief

    @cached_property
    def start(self) -> tuple[Vector, Vector]:
        """b(x₀), or zero without a factor, and bounds of its errors."""
        if not self.turned:
            return np.zeros(len(self.middle)), np.zeros(len(self.middle))
        each = [enclose(b, self.middle[None]) for b in self.convection]
        return np.array([v[0] for v, _ in each]), np.array([e[0] for _, e in each])

    @cached_property
    def beta(self) -> tuple[Vector, Vector]:
        """β = b(x₀)/2κ, and bounds of its errors."""
        value, error = self.start
        beta = value / (2.0 * self.kappa)
        return beta, np.asarray(up(error / (2.0 * self.kappa) + 2.0 * UNIT * np.abs(beta), 4))

    @property
    def steep(self) -> float:
        """Upper bound of |β|."""
        beta, error = self.beta
        return float(up(math.sqrt(float(np.sum((np.abs(beta) + error) ** 2))), 8))

    @property
    def lost(self) -> tuple[float, float]:
        """c′ = c₀ + κ|β|², and a bound of its error."""
        beta, error = self.beta
        found = self.level + self.kappa * float(np.sum(beta**2))
        slip = self.kappa * float(np.sum((2.0 * np.abs(beta) + error) * error)) + 16.0 * UNIT * found
        return found, 0.0 if not (self.turned and (beta.any() or error.any())) else float(up(slip, 8))

    def _away(self, X: Sequence[TaylorModel]) -> list[TaylorModel]:
        """The entries of b − b(x₀); exact zeros where they are numbers."""
        found = []
        for b, value, error in zip(self.convection, *self.start, strict=True):
            if self.turned and fixed(b) is not None:
                found.append(ZERO)
            else:
                found.append(modelled(b, X) - constant(float(value), float(error)))
        return found

    def factor(self, sign: float, X: Sequence[TaylorModel]) -> TaylorModel:
        """e^{sign β·(x − x₀)}."""
        total = constant(0.0)
        for x, m, beta, error in zip(X, self.middle.tolist(), *self.beta, strict=True):
            if beta or error:
                total = total + constant(sign * float(beta), float(error)) * (x - constant(m))
        return functions.exp(total)

    def _first(self, X: Sequence[TaylorModel]) -> TaylorModel:
        """The coefficient g₁."""
        total = divergence(self.convection, X)
        if not self._flat:
            total = total + constant(self.level) - modelled(self.reaction, X)
        for away, beta, error in zip(self._away(X), *self.beta, strict=True):
            if away is not ZERO:
                total = total - away * constant(float(beta), float(error))
        return total  # slabs.md, step 7d

    def _second(self, X: Sequence[TaylorModel]) -> TaylorModel:
        """The coefficient g₂."""
        total, R2 = constant(0.0), self.radius * self.radius
        for away, x, m in zip(self._away(X), X, self.middle.tolist(), strict=True):
            if away is not ZERO:
                total = total + away * (x - constant(m))
        return total * constant(2.0 / R2, 8.0 * UNIT / R2)  # slabs.md, step 7d

    def _times(self, g: str, X: Sequence[TaylorModel]) -> TaylorModel:
        found = self._first(X) if g == "first" else self._second(X)
        return self.factor(-1.0, X) * found if self.turned else found

    @cached_property
    def _flat(self) -> bool:
        """Whether c is the number c₀."""
        return fixed(self.reaction) == (self.level, 0.0)

    @cached_property
    def _straight(self) -> bool:
        """Whether b is b(x₀) everywhere, or vanishes without a factor."""
        if self.turned:
            return all(fixed(b) is not None for b in self.convection)
        return all(fixed(b) == (0.0, 0.0) for b in self.convection)

    @property
    def factors(self) -> tuple[SmoothField | None, SmoothField | None, SmoothField | None]:
        """E, E g₁ and E g₂; none where they are one, zero and zero."""
        one = SmoothField(partial(self.factor, -1.0)) if self.turned else None
        first = None if self._flat and self._straight else SmoothField(partial(self._times, "first"))
        return one, first, None if self._straight else SmoothField(partial(self._times, "second"))

    def tops(self, vertices: Vector) -> tuple[float, float]:
        """Upper bounds of |g₁| and of |b(x) − b(x₀)|/|x − x₀| on cells (N, d + 1, d) that hold the ball, of a point."""
        first = 0.0
        if not (self._flat and self._straight):
            first = float(supremum(SmoothField(self._first), vertices)[0].max())
        if self._straight:
            return first, 0.0
        total = 0.0
        for b in self.convection:
            for axis in range(len(self.middle)):
                if enclosed(b):
                    slope = SmoothField(partial(_slope, b, axis))
                    total += float(supremum(slope, vertices)[0].max()) ** 2
        return first, float(up(math.sqrt(total), 16))  # slabs.md, step 7f


def _slope(b: Coefficient, axis: int, X: Sequence[TaylorModel]) -> TaylorModel:
    return derivative(b, X, axis) + constant(0.0)
