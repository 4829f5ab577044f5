"""Radial solutions of −Δ + ν² in the unit ball as power series with decimal coefficients and bounded tails.

ν² may be negative: the terms then alternate, and their tails are bounded by the same geometric series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import up
from pinnpoint.transfer.points.decimals import Enclosed, pi, total


@dataclass(frozen=True)
class Series:
    """L(ρ) Σ A_j s^j + Σ B_j s^j with L = ρ, log ρ, 1/ρ in 1D, 2D, 3D; the tails on 0 ≤ s ≤ 1 are bounded."""

    A: tuple[Enclosed, ...]
    B: tuple[Enclosed, ...]
    singular_tail: float
    regular_tail: float

    __repr__ = brief

    def at(self, d: int, x: Enclosed) -> Enclosed:
        """The value at ρ = x."""
        regular = _sum(self.B, x * x).widened(self.regular_tail)
        return regular + _singular(d, x) * _sum(self.A, x * x).widened(self.singular_tail) if self.A else regular


@dataclass(frozen=True)
class UnitBall:
    """φ with (−Δ + ν²)φ = δ − C (1 − s)^k, or with 1/|B_split| on the inner ball for δ, and φ = φ' = 0 at ρ = 1.

    `inner` is φ in the inner ball, `outer` beyond; `mass` is ∫ C (1 − s)^k; `positive` says that φ ≥ 0 is known.
    """

    inner: Series | None
    outer: Series
    C: Enclosed
    mass: Enclosed
    positive: bool


@lru_cache(maxsize=256)
def unit_ball(d: int, nu2: Enclosed, k: int, split: Enclosed | None, digits: int) -> UnitBall:
    """Solve in the unit ball; `split` is the radius of the ball to average over, None for a point.

    To be called within ``precision(digits)``.
    """
    sphere, J = sphere_measure(d), k + 3 if nu2.value == 0 else _length(nu2.size(), digits)
    h = _recurrence(nu2, d, J, (), Enclosed.of(1))
    tail = 2.0 * h[-1].size()
    moment = total(x * Enclosed.of(euler_beta(k, Fraction(2 * j + d, 2))) for j, x in enumerate(h)).widened(tail)
    weight = Enclosed.of(1)
    if split is not None:  # the average of h over the inner ball
        powers = _powers(split * split, J)
        averages = (x * powers[j] * Enclosed.of(Fraction(d, 2 * j + d)) for j, x in enumerate(h))
        weight = total(averages).widened(tail)  # continuous.md, step 4c
    C = weight * 2 / (sphere * moment)  # continuous.md, step 4a
    N = _recurrence(nu2, d, J, [C * (math.comb(k, j) * (-1) ** j) for j in range(k + 1)], Enclosed.of(0))
    A, B, tails = _fundamental(d, nu2, J, sphere, h)
    A, B = [weight * x for x in A], [weight * x for x in B]
    tail_A, tail_B = weight.size() * tails[0], weight.size() * tails[1] + 2.0 * N[-1].size()
    edge = total(x - y for x, y in zip(B, N, strict=True)).widened(tail_B)
    if d != 2:
        edge = edge + total(A).widened(tail_A)
    alpha = -edge / total(h).widened(tail)  # continuous.md, step 4a
    B = [b + alpha * x - n for b, x, n in zip(B, h, N, strict=True)]
    outer = Series(tuple(A), tuple(B), up(tail_A), up(tail_B + alpha.size() * tail))  # continuous.md, step 4d
    mass = C * sphere * Enclosed.of(euler_beta(k, Fraction(d, 2))) / 2
    if split is None:
        return UnitBall(None, outer, C, mass, True)
    source = Enclosed.of(d) / (sphere * _powers(split, d + 1)[d])
    Q = [q - n for q, n in zip(_recurrence(nu2, d, J, [source], Enclosed.of(0)), N, strict=True)]
    tail_Q = 2.0 * (Q[-1].size() + 2.0 * N[-1].size())
    inside = Series((), tuple(Q), 0.0, up(tail_Q)).at(d, split)
    beta = (outer.at(d, split) - inside) / Series((), tuple(h), 0.0, up(tail)).at(d, split)  # continuous.md, step 4c
    inner = Series((), tuple(q + beta * x for q, x in zip(Q, h, strict=True)), 0.0, up(tail_Q + beta.size() * tail))
    return UnitBall(inner, outer, C, mass, (source - C).sign() > 0)


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


def _recurrence(nu2: Enclosed, d: int, J: int, source: Sequence[Enclosed], first: Enclosed) -> list[Enclosed]:
    """Coefficients of the regular solution Σ a_j s^j of (−Δ + ν²)a = Σ source_j s^j with a_0 = first."""
    a = [first]
    for j in range(J - 1):
        top = nu2 * a[j]
        if j < len(source):
            top = top - source[j]
        a.append(top / ((2 * j + 2) * (2 * j + d)))  # continuous.md, step 4d
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


def integrals(form: Series, d: int, p: Enclosed, q: Enclosed, order: int, start: int | None = None) -> list[Enclosed]:
    """∫_p^q (L A + B) ρ^{i+d−1} dρ, i = 0 … order, by the antiderivatives of powers and of powers times log.

    With `start` the powers are ρ^{i+start}, start ≥ d − 2.
    """
    first = d - 1 if start is None else start
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
    tail = form.regular_tail * plain[first].size()
    if form.A:
        tail += form.singular_tail * special[first + shift].size()
    out = []
    for i in range(order + 1):
        n = i + first
        s = total(b * plain[n + 2 * j] for j, b in enumerate(form.B))
        s = s + total(a * special[n + shift + 2 * j] for j, a in enumerate(form.A))
        out.append(s.widened(tail))  # continuous.md, step 8b
    return out


def centred(plain: list[Enclosed], mid: Enclosed, half: Enclosed) -> list[Enclosed]:
    """∫ g ((ρ − mid)/half)^m for m = 0, 1, … from ∫ g ρ^i.

    With T_i = ∫ g (ρ − mid)^m ρ^i, those of m + 1 are T_{i+1} − mid T_i.
    """
    found, scale = [], Enclosed.of(1)
    for _ in range(len(plain)):
        found.append(plain[0] / scale)
        plain, scale = [y - mid * x for x, y in pairwise(plain)], scale * half
    return found


def euler_beta(k: int, x: Fraction) -> Fraction:
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


def sphere_measure(d: int) -> Enclosed:
    """Measure of the unit sphere: 2, 2π, 4π."""
    return Enclosed.of(2) if d == 1 else pi() * (2 * (d - 1))
