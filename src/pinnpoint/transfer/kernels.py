"""Point values and ball averages of −κΔu + c u = f as integrals of u and f over a ball.

Let B be the ball of radius R about x₀, s = |x − x₀|²/R², κ > 0 and c ≥ 0 constant in B, and h the radial solution of
(−κΔ + c)h = 0 with h(x₀) = 1 (1, or cosh, I₀, sinh(z)/z of z = |x − x₀|√(c/κ)). With

    w = C (1 − s)^k,        C = 1 / ∫_B (1 − s)^k h dx,

the radial Φ with (−κΔ + c)Φ = δ_{x₀} − w and Φ = 0 at R also has Φ' = 0 at R, because both sides have the same integral
against h. Hence, by Green's formula, for every u with −κΔu + c u = f in B

    u(x₀) = ∫_B w u dx + ∫_B f Φ dx.

For the average of u over the ball of radius r₀ ≤ R replace δ by 1/|B_{r₀}| there, and C by C times the average of h.

Sign: Φ = hψ and r^{d−1}h²ψ' = −F/κσ, F(r) the integral of (δ − w)h over the ball of radius r. For a point F ≥ 0, so ψ
decreases to 0 and Φ ≥ 0. For an average with C R^{-d} ≤ 1/|B_{r₀}| too; else F is first negative, then positive (never,
if r₀ = R), so Φ changes its sign at most once, from − to +.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pinnpoint.arrays import Vector
from pinnpoint.errors import InputError
from pinnpoint.rounding.arithmetic import up
from pinnpoint.transfer.decimals import Enclosed, pi, precision, total

DEFAULT_POWER = {1: 2, 2: 2, 3: 3}
"""k for which the cells cut by the sphere cost little and the certified radius is small."""
LARGEST_DECAY = 150.0
"""Balls are not taken larger than this many decay lengths √(κ/c): w is then below e⁻¹⁴⁰ and nothing is gained."""


@dataclass(frozen=True)
class Series:
    """L(ρ) Σ A_j s^j + Σ B_j s^j with L = ρ, log ρ, 1/ρ in 1D, 2D, 3D; the tails on 0 ≤ s ≤ 1 are bounded."""

    A: tuple[Enclosed, ...]
    B: tuple[Enclosed, ...]
    tail_A: float
    tail_B: float


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

    @classmethod
    def build(
        cls, d: int, kappa: float, c: float, radius: float, k: int | None = None, average_radius: float = 0.0
    ) -> Kernel:
        """The kernel of a point value (average_radius = 0) or of a ball average.

        The radius is an upper limit: it is cut to `LARGEST_DECAY` decay lengths √(κ/c), but never below
        `average_radius`.
        """
        k = DEFAULT_POWER[d] if k is None else k
        kappa, c, radius, average_radius = float(kappa), float(c), float(radius), float(average_radius)
        _check(d, kappa, c, radius, k, average_radius)
        if c > 0.0:
            radius = max(average_radius, min(radius, LARGEST_DECAY * math.sqrt(kappa / c)))
        decay = radius * math.sqrt(c / kappa)
        if not decay <= 40.0 * LARGEST_DECAY:
            raise InputError(f"average_radius: {average_radius!r} is {decay:.0f} decay lengths √(κ/c); at most 6000")
        digits = 60 + math.ceil(decay)
        with precision(digits):
            return _build(cls, d, kappa, c, radius, k, average_radius, digits)

    @cached_property
    def potential(self) -> tuple[float, float]:
        """∫_B Φ dx and a bound of the error: the data term of f = 1."""
        values, errors, _ = self.moments(0.0, self.radius, 0)
        with precision(self.digits):
            return (_sphere(self.d) * Enclosed.of(float(values[0])).widened(float(errors[0]))).rounded()

    def moments(self, a: float, b: float, order: int) -> tuple[Vector, Vector, float]:
        """∫_a^b Φ(r) ξ^m r^{d−1} dr for m = 0 … order, ξ = (r − (a+b)/2)/((b−a)/2); bounds of the errors; ∫|Φ| r^{d−1}.

        The last is an upper bound. Needs 0 ≤ a < b ≤ R.
        """
        with precision(self.digits):
            R = Enclosed.of(self.radius)
            scale = R * R / Enclosed.of(self.kappa)
            p, q = Enclosed.of(a) / R, Enclosed.of(b) / R
            plain = self._integrals(p, q, order)
            mid, half = (p + q) / 2, (q - p) / 2
            rows = []
            for m in range(order + 1):
                s, power = Enclosed.of(0), Enclosed.of(1)
                for i in range(m, -1, -1):  # (−mid)^{m−i}
                    s = s + power * plain[i] * math.comb(m, i)
                    power = power * -mid
                for _ in range(m):
                    s = s / half
                rows.append((scale * s).rounded())
            size = scale.size() * self._size(p, q, plain[0], a, b)
        values, errors = (np.array(x) for x in zip(*rows, strict=True))
        return values, errors, float(up(size))

    def value(self, r: float) -> tuple[float, float]:
        """Φ at the distance r > 0 and a bound of its error."""
        with precision(self.digits):
            R = Enclosed.of(self.radius)
            v = self._at(Enclosed.of(r) / R, inside=r < self.average_radius) / Enclosed.of(self.kappa)
            return (v * R if self.d == 1 else v / R if self.d == 3 else v).rounded()

    def _at(self, x: Enclosed, *, inside: bool) -> Enclosed:
        form = self.inner if inside and self.inner is not None else self.outer
        L = _singular(self.d, x) if form.A else Enclosed.of(0)
        return L * _sum(form.A, x * x).widened(form.tail_A) + _sum(form.B, x * x).widened(form.tail_B)

    def _integrals(self, p: Enclosed, q: Enclosed, order: int) -> list[Enclosed]:
        """∫_p^q φ ρ^{i+d−1} dρ of the unit-ball Φ, i = 0 … order."""
        split = Enclosed.of(self.average_radius) / Enclosed.of(self.radius)
        if self.inner is None or p.value >= split.value:
            return _integrals(self.outer, self.d, p, q, order)
        if q.value <= split.value:
            return _integrals(self.inner, self.d, p, q, order)
        parts = _integrals(self.inner, self.d, p, split, order), _integrals(self.outer, self.d, split, q, order)
        return [x + y for x, y in zip(*parts, strict=True)]

    def _size(self, p: Enclosed, q: Enclosed, plain: Enclosed, a: float, b: float) -> float:
        """Upper bound of ∫_p^q |φ| ρ^{d−1} dρ, from the number of sign changes."""
        if self.positive or self.average_radius == self.radius:
            return plain.size()
        left = 0 if a == 0.0 else self._at(p, inside=a < self.average_radius).sign()
        right = 1 if b == self.radius else self._at(q, inside=b < self.average_radius).sign()
        if left > 0 or right < 0:
            return plain.size()
        low, high = a, b  # bisection towards the change of sign; low and high keep certain signs
        low_sure, high_sure = left < 0, right > 0
        for _ in range(60):
            m = 0.5 * (low + high)
            if not low < m < high:
                break
            sign = self._at(Enclosed.of(m) / Enclosed.of(self.radius), inside=m < self.average_radius).sign()
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
        L = _singular(self.d, Enclosed.of(self.average_radius) / Enclosed.of(self.radius)).size()
        out = L * (sum(x.size() for x in self.outer.A) + self.outer.tail_A) + self.outer.tail_B
        ins = sum(x.size() for x in self.inner.B) + self.inner.tail_B
        return float(up(out + sum(x.size() for x in self.outer.B) + ins, 2000))


def _build(cls: type[Kernel], d: int, kappa: float, c: float, radius: float, k: int, r0: float, digits: int) -> Kernel:
    """The unit ball: −Δ + ν² with ν² = cR²/κ; Φ = R^{2−d}/κ φ, w = R^{−d} ω."""
    R, sphere = Enclosed.of(radius), _sphere(d)
    nu2 = Enclosed.of(c) * R * R / Enclosed.of(kappa)
    J = _length(nu2.size(), digits)
    h = _recurrence(nu2, d, J, (), Enclosed.of(1))
    tail_h = 2.0 * h[-1].size()
    moment = total(h[j] * Enclosed.of(_beta(k, Fraction(2 * j + d, 2))) for j in range(J)).widened(tail_h)
    weight = Enclosed.of(1)
    split = Enclosed.of(r0) / R
    if r0 > 0.0:  # average of h over the inner ball
        powers = _powers(split * split, J)
        weight = total(h[j] * powers[j] * Enclosed.of(Fraction(d, 2 * j + d)) for j in range(J)).widened(tail_h)
    C = weight * 2 / (sphere * moment)
    source = [C * (math.comb(k, j) * (-1) ** j) for j in range(k + 1)]
    N = _recurrence(nu2, d, J, source, Enclosed.of(0))
    A, B, tails = _fundamental(d, nu2, J, sphere, h)
    A, B = [weight * x for x in A], [weight * x for x in B]
    tail_A, tail_B = (weight.size() * t for t in tails)
    tail_B += 2.0 * N[-1].size()
    h1 = total(h).widened(tail_h)
    edge = total(x - y for x, y in zip(B, N, strict=True)).widened(tail_B)
    if d != 2:
        edge = edge + total(A).widened(tail_A)
    alpha = -edge / h1
    B = [b + alpha * x - n for b, x, n in zip(B, h, N, strict=True)]
    tail_B += alpha.size() * tail_h
    outer, inner, positive = Series(tuple(A), tuple(B), up(tail_A), up(tail_B)), None, True
    if r0 > 0.0:
        x = split * split
        ball = sphere / d
        for _ in range(d):
            ball = ball * split
        Q = _recurrence(nu2, d, J, [Enclosed.of(1) / ball], Enclosed.of(0))
        tail_Q = 2.0 * (Q[-1].size() + N[-1].size())
        outside = _singular(d, split) * _sum(tuple(A), x).widened(tail_A) + _sum(tuple(B), x).widened(tail_B)
        here = _sum(tuple(a - b for a, b in zip(Q, N, strict=True)), x).widened(tail_Q)
        beta = (outside - here) / _sum(tuple(h), x).widened(tail_h)
        inside = [beta * a + b - n for a, b, n in zip(h, Q, N, strict=True)]
        inner = Series((), tuple(inside), 0.0, up(tail_Q + beta.size() * tail_h))
        positive = (Enclosed.of(1) / ball - C).sign() > 0
    for _ in range(d):
        C = C / R
    mass = C * sphere * Enclosed.of(_beta(k, Fraction(d, 2))) / 2
    for _ in range(d):
        mass = mass * R
    return cls(d, kappa, c, radius, k, r0, digits, inner, outer, *C.rounded(), *mass.rounded(), positive)


def _fundamental(
    d: int, nu2: Enclosed, J: int, sphere: Enclosed, h: list[Enclosed]
) -> tuple[list[Enclosed], list[Enclosed], tuple[float, float]]:
    """A singular radial solution with (−Δ + ν²)g = δ: −ρ sinh(z)/2z; (B − I₀ log ρ)/2π; cosh(z)/4πρ."""
    zero = [Enclosed.of(0)] * J
    if d == 2:
        harmonic = [Fraction(0)]
        for j in range(1, J):
            harmonic.append(harmonic[-1] + Fraction(1, j))
        A = [-x / sphere for x in h]
        B = [x * Enclosed.of(y) / sphere for x, y in zip(h, harmonic, strict=True)]
        return A, B, (2.0 * A[-1].size(), 2.0 * B[-1].size())
    A = _recurrence(nu2, 4 - d, J, (), Enclosed.of(1))  # 1D: sinh(z)/z has the 3D recurrence; 3D: cosh the 1D one
    A = [-x / 2 for x in A] if d == 1 else [x / sphere for x in A]
    return A, zero, (2.0 * A[-1].size(), 0.0)


def _recurrence(nu2: Enclosed, d: int, J: int, source: object, first: Enclosed) -> list[Enclosed]:
    """Coefficients of the regular solution Σ a_j s^j of (−Δ + ν²)a = Σ source_j s^j with a_0 = first."""
    given, a = list(source), [first]  # type: ignore[call-overload]
    for j in range(J - 1):
        top = nu2 * a[j]
        if j < len(given):
            top = top - given[j]
        a.append(top / ((2 * j + 2) * (2 * j + d)))
    return a


def _length(nu2: float, digits: int) -> int:
    """Terms after which each ratio is below 1/4 and the terms are below 10^{−digits}; the tail is below the last one.

    The harmonic numbers of 2D grow by less than a half from one term to the next, which leaves a ratio of 3/8.
    """
    j, term = 0, 0.0  # decimal logarithm of ν^{2j}/(2j)!, which bounds h and cosh
    while j < 12 or term > -digits or 4.0 * nu2 > (2 * j + 1) * (2 * j + 2):
        j += 1
        term += math.log10(max(nu2, 1e-30) / ((2 * j - 1) * (2 * j)))
    return j + 2


def _integrals(form: Series, d: int, p: Enclosed, q: Enclosed, order: int) -> list[Enclosed]:
    """∫_p^q (L A + B) ρ^{i+d−1} dρ, i = 0 … order, by the antiderivatives of powers and of powers times log."""
    top = 2 * max(len(form.A), len(form.B)) + order + d + 1
    low, high = _powers(p, top + 1), _powers(q, top + 1)
    plain = [(y - x) / (n + 1) for n, (x, y) in enumerate(zip(low[1:], high[1:], strict=True))]
    shift = {1: 1, 2: 0, 3: -1}[d]
    if d == 2 and form.A:
        log_q = q.log()
        log_p = p.log() if p.value > 0 else Enclosed.of(0)
        special = [(high[n + 1] * log_q - low[n + 1] * log_p - plain[n]) / (n + 1) for n in range(top)]
    else:
        special = plain
    tail = form.tail_B * plain[d - 1].size()
    if form.A:
        tail += form.tail_A * special[d - 1 + shift].size()
    out = []
    for i in range(order + 1):
        n = i + d - 1
        s = total(b * plain[n + 2 * j] for j, b in enumerate(form.B))
        s = s + total(a * special[n + shift + 2 * j] for j, a in enumerate(form.A))
        out.append(s.widened(tail))
    return out


def _beta(k: int, x: Fraction) -> Fraction:
    """∫_0^1 (1 − s)^k s^{x−1} ds = k! / x(x+1)…(x+k)."""
    value = Fraction(math.factorial(k))
    for i in range(k + 1):
        value /= x + i
    return value


def _powers(x: Enclosed, count: int) -> list[Enclosed]:
    powers = [Enclosed.of(1)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return powers


def _sum(coefficients: tuple[Enclosed, ...], x: Enclosed) -> Enclosed:
    s = Enclosed.of(0)
    for a in reversed(coefficients):
        s = s * x + a
    return s


def _singular(d: int, x: Enclosed) -> Enclosed:
    return x if d == 1 else x.log() if d == 2 else Enclosed.of(1) / x


def _sphere(d: int) -> Enclosed:
    """Measure of the unit sphere: 2, 2π, 4π."""
    return Enclosed.of(2) if d == 1 else pi() * (2 * (d - 1))


def _check(d: int, kappa: float, c: float, radius: float, k: int, average_radius: float) -> None:
    if d not in (1, 2, 3):
        raise InputError(f"d: must be 1, 2 or 3; got {d!r}")
    if k not in (1, 2, 3):
        raise InputError(f"k: the power of the mollifier must be 1, 2 or 3; got {k!r}")
    for name, x in (("kappa", kappa), ("radius", radius)):
        if not 1e-100 < x < 1e100:
            raise InputError(f"{name}: must be positive and within 1e±100; got {x!r}")
    if not (c == 0.0 or 1e-100 < c < 1e100):
        raise InputError(f"c: must be zero, or positive and within 1e±100; got {c!r}")
    if not 0.0 <= average_radius <= radius:
        raise InputError(f"average_radius: must be between 0 and the ball's radius {radius!r}; got {average_radius!r}")
    if 0.0 < average_radius < 1e-12 * radius:
        raise InputError(f"average_radius: {average_radius!r} is below 1e-12 of the radius; ask for the point value")
