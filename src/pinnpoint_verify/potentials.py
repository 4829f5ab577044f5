"""∫fΦ of a point, from κ, c, R and the case's formula alone (docs/checking.md, section 7).

Φ = unit (S A(s) + B(s)), s = r²/R², S = −log s, s^{−½}, −s^{½} for d = 2, 3, 1, with polynomials A and B whose
coefficients are exact fractions; then −κΔΦ + cΦ = δ − w for a density w that is C(1 − s) up to a bound that is told.
The integral is taken over boxes of radius and angles in which everything is analytic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, total, up
from pinnpoint_verify.discs import Walk, _cos, _inverse, _log, _sin
from pinnpoint_verify.enclosures import RADII, line
from pinnpoint_verify.reader import Array

LARGEST, SMALL = 25.0, 1e-30
"""The largest |c|R²/κ, and the size of coefficients with which a series ends."""
POINTS = {1: 12, 2: 10, 3: 8}
"""Of a rule along each axis of a box, by dimension."""
RINGS, MOST, LEVELS = 45, 20_000, 30
"""Halvings of the radius at most, boxes in all, and halvings of boxes."""


def coefficients(d: int, q: Fraction) -> tuple[list[Fraction], list[Fraction], Fraction] | None:
    """Coefficients of A and of B, and C′ with w = unit C′κ/R² (1 − s); None where the ball resonates."""
    half, D = {1: Fraction(1, 2), 2: Fraction(0), 3: Fraction(-1, 2)}[d], Fraction(d, 2)
    a = [Fraction(1)]
    while len(a) < 4 or abs(a[-1]) > SMALL:  # L s^e = −4e(e − 1 + d/2) s^{e−1} + q s^e, checking.md, step 7a
        e = len(a) + half
        a.append(q * a[-1] / (4 * e * (e - 1 + D)))
    J = len(a)
    left = [8 * (j + 1) * a[j + 1] if d == 2 and j + 1 < J else Fraction(0) for j in range(J)]  # of L(−log s A)

    def series(b0: int, C: int, more: int) -> tuple[list[Fraction], Fraction, Fraction]:
        b = [Fraction(b0)]
        for j in range(1, J):
            right = more * left[j - 1] + C * ((j == 1) - (j == 2))
            b.append((q * b[-1] + right) / (4 * j * (j - 1 + D)))
        return b, sum(b, Fraction(0)), sum((j * x for j, x in enumerate(b)), Fraction(0))

    whole, slope = sum(a, Fraction(0)), sum((j * x for j, x in enumerate(a)), Fraction(0))
    value, rise = {1: (-whole, -slope - whole / 2), 2: (Fraction(0), -whole), 3: (whole, slope - whole / 2)}[d]
    (zero, z0, z1), (one, o0, o1), (two, t0, t1) = series(0, 0, 1), series(1, 0, 0), series(0, 1, 0)
    r0, r1, det = -value - z0, -rise - z1, o0 * t1 - t0 * o1  # Φ = Φ′ = 0 on the sphere, checking.md, step 7b
    if det == 0:
        return None
    b0, C = (r0 * t1 - t0 * r1) / det, (o0 * r1 - r0 * o1) / det
    return a, [x + b0 * y + C * z for x, y, z in zip(zero, one, two, strict=True)], C


class Potential:
    """Φ of a point in a ball of radius R where κ and c are constant."""

    def __init__(self, d: int, kappa: float, c: float, R: float) -> None:
        q = Fraction(c) * Fraction(R) ** 2 / Fraction(kappa)
        found = coefficients(d, q) if abs(q) <= LARGEST else None
        self.d, self.R, self.known = d, R, found is not None
        if found is None:
            return
        a, b, C = found
        self.a, self.b = ([float(x) for x in part] for part in (a, b))
        four = 4.0 * Ball(math.pi, 4.0 * UNIT) * kappa
        self.unit = {1: lambda: Ball(R) / (2.0 * Ball(kappa)), 2: lambda: 1.0 / four, 3: lambda: 1.0 / (four * R)}[d]()
        scale = self.unit * Ball(kappa) / (Ball(R) * R)
        self.peak = scale * Ball(float(C), 2.0 * UNIT * abs(float(C)))
        last = float(abs(q)) * (abs(self.a[-1]) + abs(self.b[-1]))
        self.cut = float(up(scale.top * last * 1.001)) if last else 0.0  # checking.md, step 7c

    def at(self, r: Ball) -> Ball:
        """Φ on discs of radii that do not hold zero."""
        p = r * (1.0 / Ball(self.R))
        s, sums = p * p, []
        for part in (self.a, self.b):
            y = Ball(np.zeros(r.m.shape))
            for x in reversed(part):
                y = y * s + Ball(x, 2.0 * UNIT * abs(x))
            sums.append(y)
        singular = {1: lambda: -p, 2: lambda: -_log(s), 3: lambda: _inverse(p)}[self.d]()
        return self.unit * (sums[0] * singular + sums[1])

    def inner(self, r: float) -> float:
        """Upper bound of ∫|Φ| over the ball of a small radius r."""
        A, B, unit, R = 1.01 * sum(map(abs, self.a)), 1.01 * sum(map(abs, self.b)), float(self.unit.top), self.R
        if self.d == 1:
            return 2.02 * r * unit * (A + B)
        if self.d == 2:
            return 3.2 * r * r * unit * (A * (1.0 + 2.0 * math.log(R / r)) + B)
        return 12.6 * unit * (A * R * r * r / 2.0 + B * r**3 / 3.0)


class Boxes:
    """The integrand f Φ r^{d−1} sin θ in coordinates (r, θ/π, φ/π) of boxes; in 1D on the two sides of the point."""

    def __init__(self, text: Any, x0: Array, potential: Potential) -> None:
        self.text, self.x0, self.potential, self.d = text, [Ball(x) for x in x0], potential, potential.d

    def first(self, close: float) -> tuple[Array, Array, float]:
        """Dyadic rings, cut by angles (n, d, 2), the side of each, and what the ball inside them adds at most."""
        count, R = 1, self.potential.R
        while count < RINGS and not self.inside(R * 0.5**count) <= 0.1 * close:
            count += 1
        ends = R * 2.0 ** -np.arange(count + 1.0)
        rings = np.stack([ends[1:], ends[:-1]], axis=1)[:, None]
        if self.d == 1:
            return np.concatenate([rings, rings]), np.repeat([1.0, -1.0], count), self.inside(ends[-1])
        for whole, n in {2: [(2.0, 4)], 3: [(1.0, 2), (2.0, 4)]}[self.d]:
            cuts = whole * np.arange(n + 1.0) / n
            arcs = np.tile(np.stack([cuts[:-1], cuts[1:]], axis=1), (len(rings), 1))[:, None]
            rings = np.concatenate([np.repeat(rings, n, axis=0), arcs], axis=1)
        return rings, np.ones(len(rings)), self.inside(ends[-1])

    def inside(self, r: float) -> float:
        """Upper bound of |∫fΦ| over the ball of radius r."""
        top = Walk(self.text, [Ball(x.m[None], np.array([1.01 * r])) for x in self.x0]).value.top[0]
        return float(up(top * self.potential.inner(r)))

    def __call__(self, t: list[Ball], side: Array) -> tuple[Ball, Array]:
        """Values on discs, and where the formula has a kink."""
        r, pi, x0 = t[0], Ball(math.pi, 4.0 * UNIT), self.x0
        if self.d == 1:
            X, measure = [x0[0] + r * side], Ball(np.ones(r.m.shape))
        elif self.d == 2:
            X, measure = [x0[0] + r * _cos(t[1] * pi), x0[1] + r * _sin(t[1] * pi)], r * pi
        else:
            sine, turn = _sin(t[1] * pi), t[2] * pi
            flat = r * sine
            X, measure = (
                [x0[0] + flat * _cos(turn), x0[1] + flat * _sin(turn), x0[2] + r * _cos(t[1] * pi)],
                flat * r * pi * pi,
            )
        walked = Walk(self.text, X)
        return walked.value * self.potential.at(r) * measure, walked.rough

    def spread(self, pool: Array, side: Array, m: int) -> tuple[Array, Array, Array]:
        """E ≥ dist(g, P_{2m−1}) on boxes, a bound of |g| there, and where the formula has a kink."""
        middle, half = 0.5 * pool.sum(axis=2), 0.5 * (pool[:, :, 1] - pool[:, :, 0]) * (1.0 + 8.0 * UNIT)
        half = half + 4.0 * UNIT * np.abs(middle)
        E, alive = np.full(len(pool), np.inf), np.arange(len(pool))
        top, kinks = np.full(len(pool), np.inf), np.zeros(len(pool), dtype=bool)
        for k, R in enumerate(RADII):  # checking.md, step 7d
            alive = alive[middle[alive, 0] > 1.01 * R * half[alive, 0]]
            if not alive.size:
                break
            discs = [Ball(a, up(R * b)) for a, b in zip(middle[alive].T, half[alive].T, strict=True)]
            g, rough = self(discs, side[alive])
            M = np.where(np.isfinite(g.m) & (g.r >= 0.0), g.r, np.inf)
            if k == 0:
                E[alive], top[alive], kinks[alive] = M, g.top, rough
            else:
                E[alive] = np.minimum(E[alive], np.where(rough, np.inf, M * (R ** -(2 * m - 1.0) / (R - 1.0))))
            alive = alive[np.isfinite(M) & ~rough]
        return up(E), top, kinks


def halved(pool: Array, side: Array) -> tuple[Array, Array]:
    """Boxes cut in two along their longest side."""
    width = pool[:, :, 1] - pool[:, :, 0]
    width[:, 1:] *= math.pi * pool[:, :1, 1]
    rows, axis = np.arange(len(pool)), np.argmax(width, axis=1)
    one, two = pool.copy(), pool.copy()
    one[rows, axis, 1] = two[rows, axis, 0] = 0.5 * (pool[rows, axis, 0] + pool[rows, axis, 1])
    return np.concatenate([one, two]), np.concatenate([side, side])


@np.errstate(all="ignore")
def data_term(text: Any, x0: Array, potential: Potential, close: float) -> tuple[float, float]:
    """∫fΦ and a bound of its error, which is infinite where the formula has a kink; it is wanted below `close`."""
    d, boxes, m = potential.d, Boxes(text, x0, potential), POINTS[potential.d]
    x, w, off = line(m, 1)
    grid = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    weights = np.prod(np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1).reshape(-1, d), axis=1)
    (pool, side, error), sums = boxes.first(close), [0.0]
    each, made = 0.1 * close / len(pool), len(pool)
    for level in range(LEVELS + 1):
        E, top, kinks = boxes.spread(pool, side, m)
        if kinks.any():
            return 0.0, math.inf
        volume = np.prod(pool[:, :, 1] - pool[:, :, 0], axis=1)
        bad = ~(2.0 * E * volume <= each) & (level < LEVELS) & (made <= MOST)
        for a in range(0, len(pool), 4000):
            part = np.arange(a, min(a + 4000, len(pool)))
            part = part[~bad[part]]
            low, size = pool[part, :, :1], pool[part, :, 1:] - pool[part, :, :1]
            at = low + size * grid.T
            g, _ = boxes([Ball(at[:, i], 4.0 * UNIT * np.abs(pool[part, i, 1:])) for i in range(d)], side[part, None])
            sums += ((g.m @ weights) * volume[part]).tolist()
            lost = (1.02 * d * off + gamma(len(weights) + 24)) * (top[part] + E[part])  # checking.md, step 7e
            error += total(up((2.0 * E[part] + g.r.max(axis=1) + lost) * volume[part]))
        if not bad.any():
            break
        pool, side = halved(pool[bad], side[bad])
        made += len(pool)
    value = math.fsum(sums)
    return value, float(up(error + 4.0 * UNIT * abs(value)))
