"""Finite sums of c ρ^n log^m ρ with enclosed coefficients: their algebra, and integrals over rings.

The functions that Kelvin's solution is made of are such sums on 0 < ρ < σ and on σ < ρ ≤ 1, where σ is the radius of
the inner ball of an average; a point has no inner part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pinnpoint.base.arrays import Vector
from pinnpoint.base.brief import brief
from pinnpoint.rounding.arithmetic import up
from pinnpoint.transfer.points.decimals import Enclosed, precision, total
from pinnpoint.transfer.points.radial_series import centred

DIGITS = 90
"""Decimal digits of the computation; powers of σ and of mid/half cost fewer than 60 of them."""
Terms = Mapping[tuple[int, int], Enclosed]
"""c by (n, m); an empty sum is zero."""


def combined(*parts: tuple[Enclosed, Terms]) -> Terms:
    """Linear combination."""
    found: dict[tuple[int, int], Enclosed] = {}
    for factor, terms in parts:
        for key, c in terms.items():
            found[key] = found[key] + factor * c if key in found else factor * c
    return found


def shifted(terms: Terms, power: int) -> Terms:
    """The sum times ρ^power."""
    return {(n + power, m): c for (n, m), c in terms.items()}


def derived(terms: Terms) -> Terms:
    """(c ρ^n log^m ρ)' = c n ρ^{n−1} log^m ρ + c m ρ^{n−1} log^{m−1} ρ; constants leave nothing."""
    one = Enclosed.of(1)
    powers = {(n - 1, m): c * n for (n, m), c in terms.items() if n}
    return combined((one, powers), (one, {(n - 1, m - 1): c * m for (n, m), c in terms.items() if m}))


def antiderived(terms: Terms) -> Terms:
    """∫ ρ^n log^m ρ = ρ^{n+1} log^m ρ/(n+1) − m/(n+1) ∫ ρ^n log^{m−1} ρ; for n = −1 it is log^{m+1} ρ/(m+1)."""
    found: list[tuple[Enclosed, Terms]] = []
    for (n, power), c in terms.items():
        if n == -1:
            found.append((Enclosed.of(1), {(0, power + 1): c / (power + 1)}))
            continue
        for m in range(power, -1, -1):
            c = c / (n + 1)
            found.append((Enclosed.of(1), {(n + 1, m): c}))
            c = c * -m
    return combined(*found)


def multiplied(a: Terms, b: Terms) -> Terms:
    """Product of two sums."""
    return combined(*((c, {(n + i, m + j): x for (i, j), x in b.items()}) for (n, m), c in a.items()))


def at(terms: Terms, x: Enclosed) -> Enclosed:
    """The value at x > 0."""
    powers = {0: Enclosed.of(1)}
    for n in range(1, max((n for n, _ in terms), default=0) + 1):
        powers[n] = powers[n - 1] * x
    for n in range(-1, min((n for n, _ in terms), default=0) - 1, -1):
        powers[n] = powers[n + 1] / x
    log = [Enclosed.of(1)]
    for _ in range(max((m for _, m in terms), default=0)):
        log.append(log[-1] * x.log())
    return total(c * powers[n] * log[m] for (n, m), c in terms.items())


class Span:
    """∫_p^q ρ^n log^m ρ dρ for 0 ≤ p < q ≤ 1, each computed once."""

    def __init__(self, p: Enclosed, q: Enclosed) -> None:
        self.p, self.q = p, q
        self._known: dict[tuple[int, int], Enclosed] = {}
        self._ends: dict[tuple[int, int], tuple[Enclosed, Enclosed]] = {(0, 0): (Enclosed.of(1), Enclosed.of(1))}

    def between(self, n: int, m: int) -> Enclosed:
        """∫ ρ^n log^m ρ = ([ρ^{n+1} log^m ρ] − m ∫ ρ^n log^{m−1} ρ)/(n + 1); for n = −1 it is [log^{m+1} ρ]/(m + 1)."""
        if (n, m) not in self._known:
            low, high = self._at(n + 1, m + (n == -1))
            rest = self.between(n, m - 1) * m if m and n != -1 else Enclosed.of(0)
            self._known[n, m] = (high - low - rest) / (n + 1 if n != -1 else m + 1)  # elasticity.md, step 8e
        return self._known[n, m]

    def integral(self, terms: Terms, power: int = 0) -> Enclosed:
        """Of the sum times ρ^power."""
        return total(c * self.between(n + power, m) for (n, m), c in terms.items())

    def _at(self, n: int, m: int) -> tuple[Enclosed, Enclosed]:
        """ρ^n log^m ρ at both ends."""
        if (n, m) not in self._ends:
            if m:
                low, high = self._at(n, m - 1)
                self._ends[n, m] = self._vanishing(n) or low * self.p.log(), high * self.q.log()
            elif n > 0:
                low, high = self._at(n - 1, 0)
                self._ends[n, m] = self._vanishing(n) or low * self.p, high * self.q
            else:
                low, high = self._at(n + 1, 0)
                self._ends[n, m] = low / self.p, high / self.q
        return self._ends[n, m]

    def _vanishing(self, n: int) -> Enclosed | None:
        """Zero for powers at the centre."""
        if self.p.value:
            return None
        if n > 0:
            return Enclosed.of(0)
        raise ZeroDivisionError("a term is not integrable at the centre")


@lru_cache(maxsize=1024)
def span(p: Enclosed, q: Enclosed) -> Span:
    """One table for all functions on a ring."""
    return Span(p, q)


@dataclass(frozen=True, eq=False)
class Ringed:
    """G(r) = `scale` g(r/R): `inner` is g for ρ < `split`, `outer` beyond. What the polar models integrate with."""

    d: int
    radius: float
    scale: Enclosed
    inner: Terms
    outer: Terms
    split: Enclosed

    __repr__ = brief

    def value(self, r: float) -> tuple[float, float]:
        """G at the distance r > 0 and a bound of its error."""
        with precision(DIGITS):
            x = Enclosed.of(r) / Enclosed.of(self.radius)
            return (self.scale * at(self.inner if x.value < self.split.value else self.outer, x)).rounded()

    def moments(self, a: float, b: float, order: int) -> tuple[Vector, Vector, float]:
        """∫_a^b G ξ^m r^{d−1} dr for m = 0 … order, ξ = (r − (a+b)/2)/((b−a)/2); bounds of the errors; ∫|G| r^{d−1}.

        The last is an upper bound. Needs 0 ≤ a < b ≤ R.
        """
        with precision(DIGITS):
            R = Enclosed.of(self.radius)
            p, q = Enclosed.of(a) / R, Enclosed.of(b) / R
            scale = self.scale
            for _ in range(self.d):
                scale = scale * R  # r^{d−1} dr = R^d ρ^{d−1} dρ
            parts = self._parts(p, q)
            plain = [total(on.integral(g, i + self.d - 1) for g, on in parts) for i in range(order + 1)]
            rows = [(scale * x).rounded() for x in centred(plain, (p + q) / 2, (q - p) / 2)]
            size = scale.size() * math.fsum(_size(self.d, *part) for part in parts)
        values, errors = (np.array(x) for x in zip(*rows, strict=True))
        return values, errors, float(up(size, 8))

    def _parts(self, p: Enclosed, q: Enclosed) -> list[tuple[Terms, Span]]:
        """The sums that hold on parts of [p, q]."""
        split = self.split
        if p.value >= split.value:
            return [(self.outer, span(p, q))]
        if q.value <= split.value:
            return [(self.inner, span(p, q))]
        return [(self.inner, span(p, split)), (self.outer, span(split, q))]


def _size(d: int, g: Terms, on: Span) -> float:
    """Upper bound of ∫ |g| ρ^{d−1}: by Cauchy–Schwarz, or by the terms, each of which has one sign."""
    crude = math.fsum((c * on.between(n + d - 1, m)).size() for (n, m), c in g.items())
    square = on.integral(multiplied(g, g), 2 * d - 2).size() * (on.q - on.p).size()
    return min(float(up(crude)), float(up(math.sqrt(up(square)))))  # elasticity.md, step 8e
