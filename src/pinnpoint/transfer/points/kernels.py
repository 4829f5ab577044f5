"""Point values and ball averages of −κΔu + c u = f as integrals of u and f over a ball.

Let B be the ball of radius R about x₀, s = |x − x₀|²/R², κ > 0 and c constant in B, and h the radial solution of
(−κΔ + c)h = 0 with h(x₀) = 1 (1, or cosh, I₀, sinh(z)/z of z = |x − x₀|√(c/κ); for c < 0 cos, J₀, sin(z)/z of
z = |x − x₀|√(−c/κ), and R below the first zero, so that h > 0). With

    w = C (1 − s)^k,        C = 1 / ∫_B (1 − s)^k h dx,

the radial Φ with (−κΔ + c)Φ = δ_{x₀} − w and Φ = 0 at R also has Φ' = 0 at R, because both sides have the same integral
against h. Hence, by Green's formula, for every u with −κΔu + c u = f in B

    u(x₀) = ∫_B w u dx + ∫_B f Φ dx.

For the average of u over the ball of radius r₀ ≤ R replace δ by 1/|B_{r₀}| there, and C by C times the average of h.

Sign: Φ = hψ and r^{d−1}h²ψ' = −F/κσ, F(r) the integral of (δ − w)h over the ball of radius r. For a point F ≥ 0, so ψ
decreases to 0 and Φ ≥ 0. For an average with C ≤ 1/|B_{r₀}| too; else F is first negative, then positive (never,
if r₀ = R), so Φ changes its sign at most once, from − to +.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.rounding.arithmetic import UNIT, up
from pinnpoint.transfer.points.decimals import Enclosed, precision
from pinnpoint.transfer.points.profiles import Profile
from pinnpoint.transfer.points.radial_series import Series, centred, integrals, sphere_measure, unit_ball

DEFAULT_POWER = {1: 1, 2: 1, 3: 1}
"""k for which the cells cut by the sphere cost little and the certified radius is small."""
LARGEST_DECAY = 150.0
"""Balls are not taken larger than this many decay lengths √(κ/c): w is then below e⁻¹⁴⁰ and nothing is gained."""
FIRST_ZERO = {1: 1.49, 2: 2.28, 3: 2.98}
"""Balls are not larger than this many lengths √(κ/−c) where c < 0: 95 % of the first zeros of cos, J₀, sin(z)/z."""
LARGEST_AVERAGE = 250.0
"""Balls to average over are refused beyond this many decay lengths: e^{2·250} is about what floats can bound."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """w and Φ of the module's text; `build` makes one.

    Attributes
    ----------
    d, kappa, c, k
        Dimension, coefficients (exactly these floats) and the power of the mollifier.
    radius, average_radius
        R, and r₀ (0 for a point value).
    peak, peak_error
        w = C (1 − s)^k with |C − peak| ≤ peak_error.
    mass, mass_error
        ∫_B w dx.
    digits
        Decimal digits of the computation.
    """

    d: int
    kappa: float
    c: float
    radius: float
    k: int
    average_radius: float
    digits: int
    inner: Series | None
    outer: Series
    peak: float
    peak_error: float
    mass: float
    mass_error: float
    positive: bool

    __repr__ = brief

    @classmethod
    def build(
        cls, d: int, kappa: float, c: float, radius: float, k: int | None = None, average_radius: float = 0.0
    ) -> Kernel:
        """The kernel of a point value (average_radius = 0) or of a ball average.

        The radius is an upper limit: it is cut to `LARGEST_DECAY` decay lengths √(κ/c), but never below
        `average_radius`.
        """
        k = DEFAULT_POWER.get(d, 2) if k is None else k
        kappa, c, radius, average_radius = float(kappa), float(c), float(radius), float(average_radius)
        _check(d, kappa, c, radius, k, average_radius)
        if c > 0.0:
            radius = max(average_radius, min(radius, LARGEST_DECAY * math.sqrt(kappa / c)))
        elif c < 0.0:
            radius = min(radius, FIRST_ZERO[d] * math.sqrt(kappa / -c))  # indefinite.md, step 5a
            if average_radius > radius:
                raise InputError(
                    f"average_radius: {average_radius!r} is beyond {radius:.4g}, where the radial solution of the "
                    f"reaction {c!r} is near its first zero; ask for averages over smaller balls"
                )
        decay = radius * math.sqrt(abs(c) / kappa)
        if not decay <= LARGEST_AVERAGE:
            raise InputError(
                f"average_radius: {average_radius!r} is {decay:.0f} decay lengths √(κ/c); at most {LARGEST_AVERAGE:g} "
                "are computed; ask for averages over smaller balls"
            )
        digits = 60 + math.ceil(decay)
        with precision(digits):
            R = Enclosed.of(radius)
            split = Enclosed.of(average_radius) / R if average_radius > 0.0 else None
            nu2 = Enclosed.of(c) * R * R / Enclosed.of(kappa) if c != 0.0 else Enclosed.of(0)
            unit = unit_ball(d, nu2, k, split, digits)  # continuous.md, step 4d
            C = unit.C
            for _ in range(d):
                C = C / R  # continuous.md, step 4a
            numbers = (*C.rounded(), *unit.mass.rounded(), unit.positive)
            return cls(d, kappa, c, radius, k, average_radius, digits, unit.inner, unit.outer, *numbers)

    @property
    def profile(self) -> Profile:
        """Of w."""
        return Profile(self.k)

    @cached_property
    def potential(self) -> tuple[float, float]:
        """∫_B Φ dx and a bound of the error: the data term of f = 1."""
        values, errors, _ = self.moments(0.0, self.radius, 0)
        with precision(self.digits):
            return (sphere_measure(self.d) * Enclosed.of(float(values[0])).widened(float(errors[0]))).rounded()

    def moments(self, a: float, b: float, order: int) -> tuple[Vector, Vector, float]:
        """∫_a^b Φ(r) ξ^m r^{d−1} dr for m = 0 … order, ξ = (r − (a+b)/2)/((b−a)/2); bounds of the errors; ∫|Φ| r^{d−1}.

        The last is an upper bound. Needs 0 ≤ a < b ≤ R.
        """
        with precision(self.digits):
            R = Enclosed.of(self.radius)
            scale = R * R / Enclosed.of(self.kappa)
            p, q = Enclosed.of(a) / R, Enclosed.of(b) / R
            plain = self._integrals(p, q, order)
            # continuous.md, step 8b
            rows = [(scale * x).rounded() for x in centred(plain, (p + q) / 2, (q - p) / 2)]
            size = scale.size() * self._size(p, q, plain[0], a, b)
        values, errors = (np.array(x) for x in zip(*rows, strict=True))
        return values, errors, float(up(size))

    def value(self, r: float) -> tuple[float, float]:
        """Φ at the distance r > 0 and a bound of its error."""
        with precision(self.digits):
            R = Enclosed.of(self.radius)
            v = self._at(r) / Enclosed.of(self.kappa)
            return (v * R if self.d == 1 else v / R if self.d == 3 else v).rounded()

    def _at(self, r: float) -> Enclosed:
        """Φ of the unit ball at r/R."""
        form = self.inner if self.inner is not None and r < self.average_radius else self.outer
        return form.at(self.d, Enclosed.of(r) / Enclosed.of(self.radius))

    def _integrals(self, p: Enclosed, q: Enclosed, order: int) -> list[Enclosed]:
        """∫_p^q φ ρ^{i+d−1} dρ of the unit-ball Φ, i = 0 … order."""
        split = Enclosed.of(self.average_radius) / Enclosed.of(self.radius)
        if self.inner is None or p.value >= split.value:
            return integrals(self.outer, self.d, p, q, order)
        if q.value <= split.value:
            return integrals(self.inner, self.d, p, q, order)
        parts = integrals(self.inner, self.d, p, split, order), integrals(self.outer, self.d, split, q, order)
        return [x + y for x, y in zip(*parts, strict=True)]

    def _size(self, p: Enclosed, q: Enclosed, plain: Enclosed, a: float, b: float) -> float:
        """Upper bound of ∫_p^q |φ| ρ^{d−1} dρ, from the number of sign changes."""
        if self.positive or self.average_radius == self.radius:
            return plain.size()
        left = 0 if a == 0.0 else self._at(a).sign()
        right = 1 if b == self.radius else self._at(b).sign()
        if left > 0 or right < 0:
            return plain.size()
        low, high = a, b  # bisection towards the change of sign; low and high keep certain signs
        low_sure, high_sure = left < 0, right > 0
        for _ in range(60):
            m = 0.5 * (low + high)
            if not low < m < high:
                break
            sign = self._at(m).sign()
            if sign < 0:
                low, low_sure = m, True
            elif sign > 0:
                high, high_sure = m, True
            else:
                break
        R = Enclosed.of(self.radius)
        lo, hi = Enclosed.of(low) / R, Enclosed.of(high) / R
        size = (hi - lo).size() * self._supremum()
        if low_sure and low > a:
            size += self._integrals(p, lo, 0)[0].size()
        if high_sure and high < b:
            size += self._integrals(hi, q, 0)[0].size()
        return size

    def _supremum(self) -> float:
        """Crude upper bound of |φ| of an average."""
        if self.inner is None:
            return math.inf
        at = Enclosed.of(self.average_radius) / Enclosed.of(self.radius)
        L = (at.log() if self.d == 2 else Enclosed.of(1) / at).size() + 1.0
        parts = (*self.outer.B, *self.inner.B)
        rest = self.outer.regular_tail + self.inner.regular_tail + L * self.outer.singular_tail
        return float(up(L * sum(x.size() for x in self.outer.A) + sum(x.size() for x in parts) + rest, 4000))


def _check(d: int, kappa: float, c: float, radius: float, k: int, average_radius: float) -> None:
    if d not in (1, 2, 3):
        raise InputError(f"d: must be 1, 2 or 3; got {d!r}")
    if k not in (1, 2, 3):
        raise InputError(f"k: the power of the mollifier must be 1, 2 or 3; got {k!r}")
    for name, x in (("kappa", kappa), ("radius", radius)):
        if not 1e-60 < x < 1e60:
            raise InputError(f"{name}: must be positive and within 1e±60; got {x!r}")
    if not (c == 0.0 or 1e-60 < abs(c) < 1e60):
        raise InputError(f"c: must be zero, or within 1e±60; got {c!r}")
    if not 0.0 <= average_radius <= radius:
        raise InputError(f"average_radius: must be between 0 and the ball's radius {radius!r}; got {average_radius!r}")
    if 0.0 < average_radius < 1e-12 * radius:
        raise InputError(f"average_radius: {average_radius!r} is below 1e-12 of the radius; ask for the point value")


@dataclass(frozen=True)
class UniformKernel:
    """The uniform unit mass on a ball, in the place of Φ: the data term of f is then its average over the ball."""

    d: int
    radius: float

    @property
    def potential(self) -> tuple[float, float]:
        """∫ Φ = 1, exactly."""
        return 1.0, 0.0

    def moments(self, a: float, b: float, order: int) -> tuple[Vector, Vector, float]:
        """As `Kernel.moments`: ∫_a^b ξ^m r^{d−1} dr / |B|."""
        with precision(40):
            mid, half = (Enclosed.of(a) + Enclosed.of(b)) / 2, (Enclosed.of(b) - Enclosed.of(a)) / 2
            R = Enclosed.of(self.radius)
            size = R
            for _ in range(self.d - 1):
                size = size * R
            size = size * sphere_measure(self.d) / self.d
            rows = []
            for m in range(order + 1):
                total = Enclosed.of(0)
                for i in range(self.d):  # (mid + half ξ)^{d−1} by powers of ξ
                    if (m + i) % 2 == 0:
                        term = Enclosed.of(math.comb(self.d - 1, i)) * 2 / (m + i + 1)
                        for _ in range(i):
                            term = term * half
                        for _ in range(self.d - 1 - i):
                            term = term * mid
                        total = total + term
                rows.append((total * half / size).rounded())
        values, errors = (np.array(x) for x in zip(*rows, strict=True))
        return values, errors, float(up(abs(values[0]) + errors[0]))


def scaled(kernel: Kernel | UniformKernel, f: float, error: float) -> tuple[float, float]:
    """The data term of a constant within `error` of f."""
    value, wrong = kernel.potential
    size = abs(value) + wrong
    return f * value, float(up(abs(f) * wrong + error * size + UNIT * abs(f * value)))  # continuous.md, step 8b
