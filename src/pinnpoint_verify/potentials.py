"""∫fΦ of points, averages over balls and derivatives, from κ, c, R and the case's formula alone (docs/checking.md, 7).

Φ = unit (S A(s) − log s A′(s) + B(s)), s = r²/R², S = s^{1−D/2}, with polynomials A, A′ and B whose coefficients are
exact fractions; then −κΔΦ + cΦ = δ − w for a density w that is C(1 − s) up to a bound that is told. The integral is
taken over boxes of radius and angles in which everything is analytic.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from pinnpoint_verify.checker import UNIT, Ball, gamma, total, up
from pinnpoint_verify.discs import Walk, _cos, _inverse, _log, _sin
from pinnpoint_verify.enclosures import RADII, line
from pinnpoint_verify.reader import Array, larger, smaller

LARGEST, SMALL = 25.0, 1e-30
"""The largest |c|R²/κ, and the size of coefficients with which a series ends."""
POINTS = {1: 12, 2: 10, 3: 8}
"""Of a rule along each axis of a box, by dimension."""
RINGS, MOST, LEVELS, FEW = 45, 20_000, 30, 200
"""Halvings of the radius at most, boxes in all, halvings of boxes, and boxes that are looked at for all R at once."""


def singular(D: int, q: Fraction) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """A and A′ of S A − log s A′, S = s^{1−D/2} (D = 1: −s^½), and what L makes of it beside its own terms."""
    logs, half = D % 2 == 0, Fraction(0) if D % 2 == 0 else 1 - Fraction(D, 2)
    a = [Fraction(1)]
    while len(a) < 4 or abs(a[-1]) > SMALL:  # L s^e = −4e(e − 1 + D/2) s^{e−1} + q s^e, checking.md, step 7a
        e = len(a) + half
        a.append(q * a[-1] / (4 * e * (e - 1 + Fraction(D, 2))))
    if not logs:
        return a, [Fraction(0)] * len(a), [Fraction(0)] * len(a)
    factor = Fraction(1) if D == 2 else -q / 4  # D = 4: L s^{−1} = q/s, which (2D − 4)A/s has to cancel
    left = [factor * (2 * D - 4 + 8 * (j + 1)) * a[j + 1] if j + 1 < len(a) else Fraction(0) for j in range(len(a))]
    return [Fraction(D == 4), *[Fraction(0)] * (len(a) - 1)], [factor * x for x in a], left


def value(p: list[Fraction], s: Fraction) -> tuple[Fraction, Fraction]:
    """A polynomial and its derivative."""
    return sum((x * s**j for j, x in enumerate(p)), Fraction(0)), sum(
        (j * x * s ** (j - 1) for j, x in enumerate(p) if j), Fraction(0)
    )


def solved(m: list[list[Fraction]], r: list[Fraction]) -> tuple[Fraction, Fraction] | None:
    """Two equations."""
    det = m[0][0] * m[1][1] - m[0][1] * m[1][0]
    if det == 0:
        return None
    return (r[0] * m[1][1] - m[0][1] * r[1]) / det, (m[0][0] * r[1] - r[0] * m[1][0]) / det


Parts = tuple[list[Fraction], list[Fraction], list[Fraction], list[Fraction], Fraction]


def coefficients(D: int, q: Fraction, edge: Fraction | None = None) -> Parts | None:
    """Of A, of A′, of B, of B inside an average's ball, and C′ with w = unit C′κ/R² (1 − s); None at a resonance.

    `edge` is a/R for an average over the ball of radius a; inside, −log s is to be replaced by its value there.
    """
    a, logs, left = singular(D, q)

    def series(b0: int, C: int, more: int, height: Fraction = Fraction(0)) -> list[Fraction]:
        b = [Fraction(b0)]
        for j in range(1, len(a)):
            right = more * left[j - 1] + C * ((j == 1) - (j == 2)) - height * (j == 1)
            b.append((q * b[-1] + right) / (4 * j * (j - 1 + Fraction(D, 2))))
        return b

    def steep(s: Fraction, S: Fraction) -> tuple[Fraction, Fraction]:
        """S A − log s A′ and its derivative, but for what log s multiplies, which cancels."""
        (x, y), z = value(a, s), value(logs, s)[0]
        return S * x, S * (y + (1 - Fraction(D, 2)) * x / s) - z / s

    zero, one, two = series(0, 0, 1), series(1, 0, 0), series(0, 1, 0)
    m, shift, inner = Fraction(1), Fraction(0), [Fraction(0)] * len(a)
    if edge is not None:  # value and slope are continuous at the edge, checking.md, step 7f
        inner = series(0, 0, 0, {1: 1 / edge, 2: 4 / edge**2, 3: 3 / edge**3}[D])
        s, own, more = edge**2, value(one, edge**2), value(inner, edge**2)
        wide = [
            x + y for x, y in zip(steep(s, {1: -edge, 2: Fraction(0), 3: 1 / edge}[D]), value(zero, s), strict=True)
        ]
        pair = solved([[wide[0], -own[0]], [wide[1], -own[1]]], list(more))
        if pair is None:
            return None
        m, shift = pair
    sign, unit = Fraction(-1 if D == 1 else 1), Fraction(1)
    first = [m * (x + y) for x, y in zip(steep(unit, sign), value(zero, unit), strict=True)]
    o, t = value(one, unit), value(two, unit)
    ends = solved([[o[0], t[0]], [o[1], t[1]]], [-x for x in first])  # Φ = Φ′ = 0 on the sphere, checking.md, step 7b
    if ends is None:
        return None
    b0, C = ends
    outer = [m * x + b0 * y + C * z for x, y, z in zip(zero, one, two, strict=True)]
    inside = [(b0 + shift) * x + C * y + z for x, y, z in zip(one, two, inner, strict=True)]
    return [m * x for x in a], [m * x for x in logs], outer, inside, C


class Potential:
    """Φ of a point, of an average over a ball of radius `average`, or ∂Φ of a derivative along an axis.

    In a ball of radius R where κ and c are constant; the last is unit (x − x₀)_l/R times a kernel in d + 2 dimensions.
    """

    def __init__(
        self,
        d: int,
        kappa: float,
        c: float,
        R: float,
        average: float = 0.0,
        axis: int | None = None,
        share: float = 1.0,
    ) -> None:
        q, D = Fraction(c) * Fraction(R) ** 2 / Fraction(kappa), d + 2 * (axis is not None)
        edge = Fraction(average) / Fraction(R) if average > 0.0 else None
        found = coefficients(D, q, edge) if abs(q) <= LARGEST and (edge is None or edge < 1) else None
        self.d, self.D, self.R, self.average, self.axis, self.known = d, D, R, average, axis, found is not None
        if found is None:
            return
        parts, C = found[:4], found[4]
        self.a, self.logs, self.b, self.inside = ([float(x) for x in part] for part in parts)
        k, pi, r = Ball(kappa), Ball(math.pi, 4.0 * UNIT), Ball(R)
        below = {1: k * 2.0 / r, 2: 4.0 * pi * k, 3: 4.0 * pi * k * r}[d]
        if axis is not None:  # 2πR times the unit in d + 2 dimensions, checking.md, step 7g
            below = {1: 2.0 * k, 2: 2.0 * pi * k * r, 3: 4.0 * pi * k * r * r}[d]
        self.unit = Ball(share) / below
        scale = self.unit * k / (r * R)
        self.peak = scale * Ball(float(C), 2.0 * UNIT * abs(float(C)))
        last = float(abs(q)) * larger(
            sum(abs(float(p[-1])) for p in some) for some in (parts[:3], parts[3:4] + parts[1:2])
        )
        self.cut = (
            float(up(scale.top * last * 1.001 * (1.0 + self._edge().top))) if last else 0.0
        )  # checking.md, step 7c

    def _edge(self) -> Ball:
        """−log s at the edge of an average's ball."""
        return -2.0 * _log(Ball(self.average) / Ball(self.R)) if self.average else Ball(0.0)

    def at(self, r: Ball, inside: Array) -> Ball:
        """The radial part on discs of radii that do not hold zero; `inside` of an average's ball or not."""
        p = r * (1.0 / Ball(self.R))
        s = p * p
        own = [self._sum(part, s) for part in (self.b, self.a, self.logs)]
        found = own[0] + own[1] * self._steep(p) + (-_log(s) * own[2] if any(self.logs) else 0.0)
        if self.average:
            within = self._sum(self.inside, s) + (self._edge() * own[2] if any(self.logs) else 0.0)
            found = Ball(np.where(inside, within.m, found.m), np.where(inside, within.r, found.r))
        whole: Ball = self.unit * found
        return whole

    def _sum(self, part: list[float], s: Ball) -> Ball:
        y = Ball(np.zeros(s.m.shape))
        for x in reversed(part):
            y = y * s + Ball(x, 2.0 * UNIT * abs(x))
        return y

    def _steep(self, p: Ball) -> Any:
        """S = s^{1−D/2}, and −s^½ on a line."""
        if self.D == 1:
            return -p
        over = 1.0 if self.D == 2 else _inverse(p)
        for _ in range(self.D - 3):
            over = over * _inverse(p)
        return over

    def inner(self, r: float) -> float:
        """Upper bound of ∫|Φ| over the ball of a small radius r, of a derivative of ∫|∂Φ|."""
        A, logs, B, inside = (1.01 * sum(map(abs, part)) for part in (self.a, self.logs, self.b, self.inside))
        unit, R, d = float(self.unit.top), self.R, self.d
        log = 1.0 + 2.0 * math.log(R / r)
        sphere = {1: 2.01, 2: 6.3, 3: 12.6}[d]
        if self.average:
            return sphere * r**d * unit * (inside + logs * float(self._edge().top))
        if self.axis is not None:  # |v| ≤ unit (r/R)(A (R/r)^d + A′ |log s| + B)
            return sphere * unit * (A * R ** (d - 1) * r + (logs * log + B) * r ** (d + 1) / R)
        return float(sphere * unit * (A * R ** larger(d - 2, 0) * r ** smaller(d, 2) + (logs * log + B) * r**d))


class Boxes:
    """The integrand f Φ r^{d−1} sin θ in coordinates (r, θ/π, φ/π) of boxes, with a mark (n, 2) for each.

    A mark says on which side of the point, in 1D, and whether inside of the ball of an average.
    """

    def __init__(self, text: Any, x0: Array, potential: Potential) -> None:
        self.text, self.x0, self.potential, self.d = text, [Ball(x) for x in x0], potential, potential.d

    def first(self, close: float) -> tuple[Array, Array, float]:
        """Dyadic rings, cut by angles (n, d, 2), the mark of each, and what the ball inside them adds at most."""
        R, a = self.potential.R, self.potential.average
        ends, count = [R], 1
        while a and ends[-1] > 2.0 * a:
            ends.append(0.5 * ends[-1])
        ends += [a] if a else []
        radii = [ends[-1] * 0.5**k for k in range(RINGS)]
        inside = self.inside(radii)
        while count < 2 or (count < RINGS and not inside[count - 1] <= 0.1 * close):
            count += 1
        ends, least = ends + radii[1:count], inside[count - 1]
        rings = np.array([[low, high] for high, low in pairwise(ends)])[:, None]
        within = (rings[:, 0, 1] <= a).astype(float)
        if self.d == 1:
            sides = np.repeat([1.0, -1.0], len(rings))
            return np.concatenate([rings, rings]), np.stack([sides, np.tile(within, 2)], axis=1), least
        for whole, n in {2: [(2.0, 4)], 3: [(1.0, 2), (2.0, 4)]}[self.d]:
            cuts = whole * np.arange(n + 1.0) / n
            arcs = np.tile(np.stack([cuts[:-1], cuts[1:]], axis=1), (len(rings), 1))[:, None]
            rings, within = np.concatenate([np.repeat(rings, n, axis=0), arcs], axis=1), np.repeat(within, n)
        return rings, np.stack([np.ones(len(rings)), within], axis=1), least

    def inside(self, radii: list[float]) -> list[float]:
        """Upper bounds of |∫fΦ| over balls; of an odd kernel f may be taken less any number."""
        r = np.array(radii)
        found = Walk(self.text, [Ball(np.full(len(r), float(x.m)), 1.01 * r) for x in self.x0]).value
        tops = found.top if self.potential.axis is None else up(found.r)
        return [float(up(top * self.potential.inner(one))) for top, one in zip(tops.tolist(), radii, strict=True)]

    def weight(self, t: list[Ball], mark: Array) -> tuple[list[Ball], Ball]:
        """On discs: x − x₀, and what f is multiplied by, Φ r^{d−1} sin θ and the π of the angles."""
        r, pi = t[0], Ball(math.pi, 4.0 * UNIT)
        if self.d == 1:
            Y, measure = [r * mark[..., 0]], Ball(np.ones(r.m.shape))
        elif self.d == 2:
            Y, measure = [r * _cos(t[1] * pi), r * _sin(t[1] * pi)], r * pi
        else:
            sine, turn = _sin(t[1] * pi), t[2] * pi
            flat = r * sine
            Y, measure = [flat * _cos(turn), flat * _sin(turn), r * _cos(t[1] * pi)], flat * r * pi * pi
        if self.potential.axis is not None:
            measure = measure * Y[self.potential.axis] * (1.0 / Ball(self.potential.R))
        return Y, self.potential.at(r, mark[..., 1] > 0.0) * measure

    def __call__(self, t: list[Ball], mark: Array) -> tuple[Ball, Array]:
        """Values on discs, and where the formula has a kink."""
        Y, weight = self.weight(t, mark)
        walked = Walk(self.text, [x + y for x, y in zip(self.x0, Y, strict=True)])
        return walked.value * weight, walked.rough

    def spread(self, pool: Array, mark: Array, m: int) -> tuple[Array, Array, Array]:
        """E ≥ dist(g, P_{2m−1}) on boxes, a bound of |g| there, and where the formula has a kink."""
        middle, half = 0.5 * pool.sum(axis=2), 0.5 * (pool[:, :, 1] - pool[:, :, 0]) * (1.0 + 8.0 * UNIT)
        half = half + 4.0 * UNIT * np.abs(middle)
        E, alive = np.full(len(pool), np.inf), np.arange(len(pool))
        top, kinks = np.full(len(pool), np.inf), np.zeros(len(pool), dtype=bool)
        for some in np.array_split(np.array(RADII), len(RADII) if len(pool) > FEW else 1):  # few boxes: all at once
            k, at = np.nonzero(middle[alive, 0] > 1.01 * some[:, None] * half[alive, 0])  # checking.md, step 7d
            rows, R = alive[at], some[k]
            if not rows.size:
                break
            discs = [Ball(a, up(R * b)) for a, b in zip(middle[rows].T, half[rows].T, strict=True)]
            g, rough = self(discs, mark[rows])
            M, own = np.where(np.isfinite(g.m) & (g.r >= 0.0), g.r, np.inf), R == 1.0
            far = np.where(rough, np.inf, M * (R ** -(2 * m - 1.0) / np.where(own, 1.0, R - 1.0)))
            np.minimum.at(E, rows, np.where(own, M, far))
            top[rows[own]], kinks[rows[own]] = g.top[own], rough[own]
            alive = np.unique(rows[np.isfinite(M) & ~rough])
        return up(E), top, kinks


def halved(pool: Array, mark: Array) -> tuple[Array, Array]:
    """Boxes cut in two along their longest side."""
    width = pool[:, :, 1] - pool[:, :, 0]
    width[:, 1:] *= math.pi * pool[:, :1, 1]
    rows, axis = np.arange(len(pool)), np.argmax(width, axis=1)
    one, two = pool.copy(), pool.copy()
    one[rows, axis, 1] = two[rows, axis, 0] = 0.5 * (pool[rows, axis, 0] + pool[rows, axis, 1])
    return np.concatenate([one, two]), np.concatenate([mark, mark])


@np.errstate(all="ignore")
def data_term(text: Any, x0: Array, potential: Potential, close: float) -> tuple[float, float]:
    """∫fΦ and a bound of its error, which is infinite where the formula has a kink; it is wanted below `close`."""
    d, boxes, m = potential.d, Boxes(text, x0, potential), POINTS[potential.d]
    x, w, off = line(m, 1)
    weights = np.prod(np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1).reshape(-1, d), axis=1)
    (pool, mark, error), sums = boxes.first(close), [0.0]
    each, made = 0.1 * close / len(pool), len(pool)
    for level in range(LEVELS + 1):
        E, top, kinks = boxes.spread(pool, mark, m)
        if kinks.any():
            return 0.0, math.inf
        volume = np.prod(pool[:, :, 1] - pool[:, :, 0], axis=1)
        bad = ~(2.0 * E * volume <= each) & (level < LEVELS) & (made <= MOST)
        for a in range(0, len(pool), 4000):
            part = np.arange(a, smaller(a + 4000, len(pool)))
            part = part[~bad[part]]
            if not part.size:
                continue
            low, size = pool[part, :, :1], pool[part, :, 1:] - pool[part, :, :1]
            at, blur = low + size * x, 4.0 * UNIT * np.abs(pool[part, :, 1:])
            lines = [(len(part), *(m if i == k else 1 for k in range(d))) for i in range(d)]  # one axis each
            discs = [Ball(at[:, i].reshape(one), blur[:, i].reshape(-1, *[1] * d)) for i, one in enumerate(lines)]
            g, _ = boxes(discs, mark[part].reshape(-1, *[1] * d, 2))
            sums += ((g.m.reshape(len(part), -1) @ weights) * volume[part]).tolist()
            lost = (1.02 * d * off + gamma(len(weights) + 24)) * (top[part] + E[part])  # checking.md, step 7e
            error += total(up((2.0 * E[part] + g.r.reshape(len(part), -1).max(axis=1) + lost) * volume[part]))
        if not bad.any():
            break
        pool, mark = halved(pool[bad], mark[bad])
        made += len(pool)
    value = math.fsum(sums)
    return value, float(up(error + 4.0 * UNIT * abs(value)))
