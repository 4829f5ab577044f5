"""The mollifier and the kernel of a point value as functions of s = |y|²/R², on Taylor models.

For (−Δ + ν²)Φ = δ − w, w = C(1 − s)^k, Φ = R^{2−d} (L(s) A(s) + B(s)) with L = √s, ½ log s, 1/√s and power series A, B
(`radial_series`). All three functions are 0 for s ≥ 1. Where a model of s does not tell on which side of 1 it is,

    (1 − s)₊² = ½(t² + t|t|), t = 1 − s,      |t|t| − τ² o(t/τ)| ≤ δτ² for |t| ≤ τ,

with an odd polynomial o, and 0 ≤ Φ ≤ Φ(s₋), 0 ≤ −Φ_s ≤ −Φ_s(s₋) for the lower bound s₋ of s. At the centre s in L is
replaced by z = s + (s₀ − s)₊²/(2s₀) ≥ max(s, s₀/2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnpoint.base.arrays import Mask, Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import TINY, UNIT, gamma, up
from pinnpoint.taylor import functions
from pinnpoint.taylor.models import TaylorModel, constant, reciprocal, settled
from pinnpoint.taylor.spaces import MANY
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.kernels import Kernel

Number = tuple[float, float]
"""A float and a bound of its error."""
Which = tuple[bool, bool]
"""Whether Φ and −Φ_s are asked for."""
ODD = (0.3094011, 0.7182335)
"""o(x) = ODD₀ x + ODD₁ x³."""
SLACK = 0.02765
"""δ: |x|x| − o(x)| is at most this on [−1, 1]."""
SMALLEST = 1e-19
"""Terms of the series below this share of the largest are left to the tail."""
ONE, ZERO = constant(1.0), constant(0.0)


@dataclass(frozen=True, eq=False)
class RadialModels:
    """The functions of a kernel with κ = 1.

    Attributes
    ----------
    d, k
        Dimension and the power of the mollifier, at least 2.
    singular, regular
        Coefficients of R^{2−d}A and R^{2−d}B, and bounds of what is left of them for s ≤ 1, after the values and after
        the derivatives.
    peak
        C.
    """

    d: int
    k: int
    singular: Series
    regular: Series
    peak: Number

    __repr__ = brief

    @classmethod
    def of(cls, kernel: Kernel) -> RadialModels:
        """From the kernel of a point value."""
        assert kernel.kappa == 1.0
        assert kernel.inner is None
        with precision(kernel.digits):
            R, scale = Enclosed.of(kernel.radius), Enclosed.of(1)
            scale = R if kernel.d == 1 else scale if kernel.d == 2 else scale / R
            outer = kernel.outer
            A = Series.of([scale * x for x in outer.A], scale.size() * outer.singular_tail)
            B = Series.of([scale * x for x in outer.B], scale.size() * outer.regular_tail)
        return cls(kernel.d, kernel.k, A, B, (kernel.peak, kernel.peak_error))

    def mollifier(self, s: TaylorModel) -> TaylorModel:
        """C (1 − s)₊^k."""
        t = ONE - s
        inside, outside = _sides(s)
        square = t * t
        if not bool((inside | outside).all()):
            low, high = t.bounds
            tau = np.maximum(high, -low) * (1.0 + 8.0 * UNIT)
            with np.errstate(all="ignore"):
                tau = np.where(np.isfinite(tau) & (tau > 0.0), tau, 1.0)
                # kernels.md, step 3b
                odd = t * (constant(ODD[0] * tau, 4.0 * UNIT * tau) + constant(ODD[1] / tau, 4.0 * UNIT / tau) * square)
                mixed = (square + odd) * constant(0.5) + constant(np.zeros_like(tau), up(0.5 * SLACK * tau * tau, 8))
                lost = ~(np.isfinite(low) & np.isfinite(high))
                mixed = settled(mixed.space, mixed.C, np.where(lost, np.inf, mixed.e))
            square = _chosen(inside, square, mixed)
        found = square
        for _ in range(self.k - 2):
            found = found * t
        return _zero(constant(*self.peak) * found, outside)

    def potential(self, s: TaylorModel, cap: float = 0.0) -> TaylorModel:
        """Φ, with z for s in L where a cap s₀ is given."""
        return self._bounded(s, cap, (True, False))[0]

    def slope(self, s: TaylorModel, cap: float = 0.0) -> TaylorModel:
        """−Φ_s, with z for s in L and L′ where a cap is given."""
        return self._bounded(s, cap, (False, True))[0]

    def both(self, s: TaylorModel, cap: float = 0.0) -> tuple[TaylorModel, TaylorModel]:
        """Φ and −Φ_s."""
        value, slope = self._bounded(s, cap, (True, True))
        return value, slope

    def _plain(self, s: TaylorModel, cap: float, which: Which) -> list[TaylorModel]:
        """Those that are asked for, as if s < 1."""
        A, B = self.singular, self.regular
        powers = [s]
        while len(powers) < max(len(A.terms), len(B.terms)) - 1:
            powers.append(powers[-1] * s)
        L, steep = self._singular(s, cap)
        found = [L * A(powers) + B(powers)] if which[0] else []
        if which[1]:
            found.append(-(steep * A(powers) + L * A.derivative(powers) + B.derivative(powers)))
        return found

    def _singular(self, s: TaylorModel, cap: float) -> tuple[TaylorModel, TaylorModel]:
        """L and L′."""
        if cap:
            u = functions.maximum(constant(cap) - s, ZERO)
            z = s + u * u * constant(0.5 / cap, UNIT / cap)  # kernels.md, step 3d
            s = TaylorModel(z.space, z.C, z.e, 0.499 * cap)
        if self.d == 2:
            return functions.log(s) * constant(0.5), reciprocal(s) * constant(0.5)
        root = functions.sqrt(s)
        over = reciprocal(root)
        if self.d == 1:
            return root, over * constant(0.5)
        return over, over * reciprocal(s) * constant(-0.5)

    def _bounded(self, s: TaylorModel, cap: float, which: Which) -> list[TaylorModel]:
        """Nonnegative, decreasing functions of s that are 0 beyond 1."""
        inside, outside = _sides(s)
        found = self._plain(s, cap, which)
        cut = ~(inside | outside)
        if cut.any():
            with np.errstate(all="ignore"):
                low = constant(np.where(s.bounds[0] > cap, s.bounds[0], np.nan))
                tops = [up(np.maximum(at.C[0] + at.e, 0.0), 2) for at in self._plain(low, 0.0, which)]
            found = [_hulled(f, cut, top) for f, top in zip(found, tops, strict=True)]  # kernels.md, step 3c
        return [_zero(f, outside) for f in found]


@dataclass(frozen=True, eq=False)
class Series:
    """Σ a_j s^j on 0 ≤ s ≤ 1: coefficients with errors, and bounds of what is left of it and of its derivative."""

    terms: tuple[Number, ...]
    tail: float
    steep: float

    __repr__ = brief

    @classmethod
    def of(cls, terms: Sequence[Enclosed], tail: float) -> Series:
        """Rounded once; terms far below the largest are left to the tail.

        The series of `radial_series` end with terms whose ratios are below 1/4 (3/8 in 2D), so that Σ j|a_j| of those
        left out there is below four times J times their sum.
        """
        rows = [x.rounded() for x in terms]
        sizes = np.array([abs(v) + e for v, e in rows])
        keep = int(np.flatnonzero(sizes > SMALLEST * sizes.max(initial=0.0)).max(initial=-1)) + 1
        left = sizes[keep:]
        steep = float((np.arange(keep, len(rows)) * left).sum())
        J = len(rows) + 1.0
        rest = float(up(left.sum() + tail, 200))  # kernels.md, step 3a
        return cls(tuple(rows[:keep]), rest, float(up(steep + 4.0 * J * tail, 400 + 2 * len(rows))))

    def __call__(self, powers: Sequence[TaylorModel]) -> TaylorModel:
        """Values, from the powers of s, of which the first is s itself."""
        return _combined(self.terms, powers, self.tail)

    def derivative(self, powers: Sequence[TaylorModel]) -> TaylorModel:
        """Derivatives."""
        slopes = [(j * v, float(up(j * e + UNIT * abs(j * v)))) for j, (v, e) in enumerate(self.terms)]
        return _combined(slopes[1:], powers, self.steep)

    def size(self, top: float) -> float:
        """Upper bound of the absolute value for s ≤ top."""
        return float(up(sum((abs(v) + e) * top**j for j, (v, e) in enumerate(self.terms)) + self.tail, 400))

    def steepness(self, top: float) -> float:
        """The same of the derivative."""
        rows = [j * (abs(v) + e) * top ** (j - 1) for j, (v, e) in enumerate(self.terms) if j]
        return float(up(sum(rows) + self.steep, 400))


def _combined(terms: Sequence[Number], powers: Sequence[TaylorModel], tail: float) -> TaylorModel:
    """Σ a_j s^j to within the tail."""
    if not terms:
        return constant(0.0, tail)
    if len(terms) == 1:
        return constant(terms[0][0], up(terms[0][1] + tail))
    used = powers[: len(terms) - 1]
    C = np.zeros_like(used[-1].C)
    size, error = np.full(C.shape[-1], abs(terms[0][0])), np.full(C.shape[-1], terms[0][1] + tail)
    C[0] = terms[0][0]
    for (a, e), p in zip(terms[1:], used, strict=True):
        C += a * p.C
        size += abs(a) * p.norm
        error += (abs(a) + e) * p.e + e * p.norm
    # kernels.md, step 3a: each coefficient is a sum of products
    return settled(used[-1].space, C, (error + gamma(2 * len(terms)) * size) * MANY + TINY)


def _hulled(f: TaylorModel, where: Mask, top: Vector) -> TaylorModel:
    """The model with [0, top] there."""
    half = np.where(np.isfinite(top), 0.5 * top, np.inf)
    C = np.zeros_like(f.C)
    C[0] = np.where(np.isfinite(half), half, 0.0)
    return _chosen(~where, f, settled(f.space, C, half * (1.0 + 4.0 * UNIT)))


def _sides(s: TaylorModel) -> tuple[Any, Any]:
    """Where s < 1 and where s ≥ 1 are certain."""
    low, high = s.bounds
    outside = low >= 1.0
    return (high < 1.0) & ~outside, outside


def _chosen(first: Any, a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """The first model where `first`, else the second."""
    C = np.where(first, np.broadcast_to(a.C, b.C.shape), b.C)
    return settled(b.space, C, np.where(first, a.e, b.e))


def _zero(a: TaylorModel, where: Vector) -> TaylorModel:
    """The model with zero there."""
    if not where.any():
        return a
    return settled(a.space, np.where(where, 0.0, a.C), np.where(where, 0.0, a.e))
