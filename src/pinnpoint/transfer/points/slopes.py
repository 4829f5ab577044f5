"""Derivatives of the solution at a point as integrals of u and f over a ball: the derivative of the kernel.

With the kernel of `kernels`, w = C(1 − s)^k and (−κΔ + c)Φ = δ_{x₀} − w, both moved along with x₀,

    ∂_l u(x₀) = −∫_B (∂_l w) u dx − ∫_B f ∂_lΦ dx,      −∂_l w = (2kC/R) (1 − s)^{k−1} (x − x₀)_l/R,  ∂_lΦ = Φ'(r) e_l.

With k = 2 the density is continuous. Φ decreases: for c ≥ 0 and r > 0, κ(r^{d−1}Φ')' = r^{d−1}(cΦ + w) ≥ 0 and
Φ'(R) = 0, so Φ' ≤ 0; for c < 0, Φ = hψ is a product of decreasing functions that are not negative. So ∫|Φ'| over a ring
is minus its integral. Moments of Φ' follow by parts from those of Φ and its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, at_most, gamma, sum_up, up
from pinnpoint.taylor.bernstein import Density, gram
from pinnpoint.taylor.inputs import costly, enclosed, fixed, function, model_of
from pinnpoint.transfer.points.data_term import agreed, product_rule
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.kernels import Kernel
from pinnpoint.transfer.points.line_moments import Ring
from pinnpoint.transfer.points.polar_models import against
from pinnpoint.transfer.points.profiles import Profile
from pinnpoint.transfer.points.radial_series import centred, integrals
from pinnpoint.transfer.points.work import Work

POWER = 2
"""k of the kernel whose derivative is taken: its density is continuous."""
TURNED = {1: 2.0, 2: 4.0, 3: 6.283185307179587}
"""∫|e_l| over the unit sphere: 2, 4, 2π."""


@dataclass(frozen=True)
class OddBump:
    """−∂_l w as a height times (1 − s)^{k−1} (x − x₀)_l/R; its integral is zero."""

    d: int
    radius: float
    profile: Profile
    peak: float
    peak_error: float
    mass: float = 0.0
    mass_error: float = 0.0

    __repr__ = brief

    @classmethod
    def of(cls, kernel: Kernel, axis: int, factor: float) -> OddBump:
        """Of a kernel, times a factor."""
        scale = 2.0 * kernel.k * factor / kernel.radius  # gradients.md, step 3c
        peak = scale * kernel.peak
        error = up(scale * kernel.peak_error + 4.0 * UNIT * peak)
        return cls(kernel.d, kernel.radius, Profile(kernel.k - 1, axis=axis), peak, float(error))

    @property
    def size(self) -> float:
        """∫|w| for k = 2, roughly: ∫₀¹ (1 − ρ²)ρ^d dρ = 2/((d + 1)(d + 3))."""
        return self.peak * TURNED[self.d] * 2.0 / ((self.d + 1) * (self.d + 3)) * self.radius**self.d


@dataclass(frozen=True, eq=False)
class Falling:
    """−Φ' of a kernel of a point, a radial function that is not negative."""

    kernel: Kernel

    __repr__ = brief

    @property
    def d(self) -> int:
        """Dimension."""
        return self.kernel.d

    @property
    def radius(self) -> float:
        """Of the ball."""
        return self.kernel.radius

    def moments(self, a: float, b: float, order: int) -> Ring:
        """As `Kernel.moments`: ∫φ'ρ^n = [φρ^n] − n∫φρ^{n−1}, n = i + d − 1."""
        K, d = self.kernel, self.kernel.d
        with precision(K.digits):
            R = Enclosed.of(K.radius)
            p, q = Enclosed.of(a) / R, Enclosed.of(b) / R
            # ρ^{d−1}φ vanishes at 0 but for d = 1, where φ has a value there
            start = K.outer.at(d, p) if a > 0.0 or d == 1 else Enclosed.of(0)
            end = K.outer.at(d, q) if b < K.radius else Enclosed.of(0)
            # in one dimension ∫φρ^{−1} is not needed: its factor is zero
            first = max(d - 2, 0)
            plain = integrals(K.outer, d, p, q, order, first)
            rows, low, high = [], _power(p, d - 1), _power(q, d - 1)
            for i in range(order + 1):
                n = i + d - 1
                rest = plain[n - 1 - first] * n if n else Enclosed.of(0)
                rows.append(rest + start * low - end * high)  # gradients.md, step 3d
                low, high = low * p, high * q
            scale = R / Enclosed.of(K.kappa)
            size = (scale * rows[0]).size()  # gradients.md, step 3e
            found = [(scale * x).rounded() for x in centred(rows, (p + q) / 2, (q - p) / 2)]
        values, errors = (np.array(x) for x in zip(*found, strict=True))
        return values, errors, float(up(size))


def reach_of(w: Density, volume: Vector, slack: Vector) -> float:
    """Upper bound of ∫|w|, from the mean squares on cells: what a change of u by one can do to ∫ w u."""
    cells = slice(None) if w.cells is None else w.cells
    G, beta = gram(_dimension(w)), w.coefficients
    square = np.maximum(np.einsum("ni,ij,nj->n", beta, G, beta), 0.0) + gamma(80) * np.abs(beta).max(axis=1) ** 2
    means = np.sqrt(up(square)) + w.high + w.error1
    return sum_up(np.asarray(up(means * volume[cells] * (1.0 + slack[cells]), 8)))  # gradients.md, step 3f


def _dimension(w: Density) -> int:
    """Of the cells: quadratics on m-simplices have (m + 1)(m + 2)/2 coefficients."""
    return {3: 1, 6: 2, 10: 3}[w.coefficients.shape[1]]


def _power(x: Enclosed, n: int) -> Enclosed:
    result = Enclosed.of(1)
    for _ in range(n):
        result = result * x
    return result


def slope_term(
    kernel: Kernel, f: Any, axis: int, x0: Vector, tolerance: float, spent: Work | None = None
) -> tuple[float, float, bool]:
    """−∫_B f ∂_lΦ dx: value, bound of the error, and whether that is proved.

    Constants contribute nothing. Formulas and smooth data are enclosed, other functions sampled, as in `data_term`.
    """
    if (isinstance(f, Real) and not isinstance(f, bool)) or (enclosed(f) and fixed(f) is not None):
        return 0.0, 0.0, True  # gradients.md, step 3c
    radial = Falling(kernel)
    if enclosed(f):
        value, error = against(
            (radial,), lambda X, e: (model_of(f, X) * e()[axis],), x0, tolerance, spent, dear=costly(f)
        )
        return value, error, True

    def turned(X: Vector) -> Vector:
        values = floats("f", function(f)(X))
        if values.shape != (len(X),):
            raise InputError(f"f: must return {len(X)} values for {len(X)} points; got shape {values.shape}")
        Y = X - x0
        return np.asarray(values * Y[:, axis] / np.linalg.norm(Y, axis=1))

    value, error = agreed(lambda *sizes: product_rule(radial, turned, x0, *sizes), tolerance)
    return value, at_most(error), False
