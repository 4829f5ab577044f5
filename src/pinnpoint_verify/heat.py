"""Heat kernels of intervals: their moments on cells, what data on a face weighs, and rules in time with their errors.

Proofs are in docs/box.md, sections 2 to 4. Written again from there; s = v² is the time before the query's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import erfc

from pinnpoint_verify.checker import UNIT, gamma, up
from pinnpoint_verify.reader import Array, larger, need, smaller

REACH, RHO, IN_SPACE, IN_TIME, MOST = 6.5, 8.0, 14, 18, 20_000
ELLIPSES = (1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0, 40.0)


@cache
def gauss(n: int) -> tuple[Array, Array, float]:
    """Nodes, weights, and what the rule's own rounding costs for |f| ≤ 1: (8n/π) times the largest defect of a T_k."""
    x, w = np.polynomial.legendre.leggauss(n)
    X, W = ([Fraction(float(v)) for v in a] for a in (x, w))
    before, now, worst = [Fraction(1)] * n, X, abs(sum(W, Fraction(0)) - 2)
    for k in range(1, 2 * n):
        exact = Fraction(0) if k % 2 else Fraction(2, 1 - k * k)
        worst = larger(worst, abs(sum((a * b for a, b in zip(W, now, strict=True)), Fraction(0)) - exact))
        before, now = now, [2 * a * b - c for a, b, c in zip(X, now, before, strict=True)]
    return x, w, 8.0 * n / 3.14159 * float(worst) * (1.0 + 1e-12)  # box.md, step 3b


def analytic(n: int, bound: Any, rho: float) -> Any:
    """What a function below `bound` on the ellipse ρ leaves of a rule with n nodes."""
    return 4.1 * 2.0 * bound * rho ** (1 - 2 * n) / (rho - 1.0)  # box.md, step 3a


def ellipse(rho: float) -> tuple[float, float]:
    """Semi-axes, rounded up."""
    return 0.5 * (rho + 1.0 / rho) * (1.0 + 1e-14), 0.5 * (rho - 1.0 / rho) * (1.0 + 1e-14)


@dataclass(frozen=True)
class Axis:
    """An interval with its ends, "dirichlet" or "neumann", κ, drift β, and the query's coordinate x₀."""

    low: float
    high: float
    ends: tuple[str, str]
    kappa: float
    beta: float
    x0: float

    @property
    def tilt(self) -> float:
        """e^{|β|L/2κ}."""
        return float(up(math.exp(abs(self.beta) * (self.high - self.low) / (2.0 * self.kappa)) * (1.0 + 1e-12)))

    def images(self, reach: float) -> tuple[Array, Array, Array]:
        """Places, signs and logarithms of weights within a reach of the interval."""
        L = self.high - self.low
        count = math.ceil(reach / L) + 2
        need(count <= MOST, "time: too many images of the point")
        m = np.arange(-count, count + 1)
        a, b = (-1.0 if end == "dirichlet" else 1.0 for end in self.ends)
        turned = np.where(m % 2 == 0, 1.0, a * b)  # box.md, step 2a
        p = np.concatenate([self.x0 + 2 * m * L, 2 * self.low - self.x0 + 2 * m * L])
        return p, np.concatenate([turned, a * turned]), self.beta * (self.x0 - p) / (2.0 * self.kappa)

    def seen(self, v: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Widths ℓ, how many of them count, and images."""
        width, far = 2.0 * math.sqrt(self.kappa) * v, REACH + abs(self.beta) * v / (2.0 * math.sqrt(self.kappa))
        return (
            width,
            far,
            *self.images(float(np.max(far * width) + abs(self.beta) * np.max(v) ** 2 + (self.high - self.low))),
        )

    def moments(self, cells: Array, v: Array, q: int) -> tuple[Array, Array, Array]:
        """∫ ξ^k g over cells (n, 2) at times v²: (J, n, q + 1), what each may be off by, and the mass without signs."""
        J, n = len(v), len(cells)
        width, far, p, signs, folds = self.seen(v)
        at = p - self.beta * v[:, None] ** 2
        y = (cells[None, :, None, :] - at[:, None, :, None]) / width[:, None, None, None]
        low, high = np.maximum(y[..., 0], -far[:, None, None]), np.minimum(y[..., 1], far[:, None, None])
        j, c, m = np.nonzero(high > low)
        low, high, fold = low[j, c, m], high[j, c, m], folds[m]
        pieces = np.ceil(high - low).astype(int)
        row = np.repeat(np.arange(len(j)), pieces)
        place = np.arange(len(row)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        half = ((high - low) / (2.0 * pieces))[row]
        middle = low[row] + half * (2.0 * place + 1.0)
        x, w, own = gauss(IN_SPACE)
        y = middle[:, None] + half[:, None] * x
        mid, hw = 0.5 * (cells[:, 0] + cells[:, 1]), 0.5 * (cells[:, 1] - cells[:, 0])
        jr, cr = j[row], c[row]
        density = np.exp(fold[row][:, None] - y * y) * (w * (half / math.sqrt(math.pi))[:, None])  # box.md, step 3c
        xi = np.clip(((at[jr, m[row]] - mid[cr]) / hw[cr])[:, None] + (width[jr] / hw[cr])[:, None] * y, -1.0, 1.0)
        key, values = jr * n + cr, np.empty((J, n, q + 1))
        term = density * signs[m][row][:, None]
        for k in range(q + 1):
            values[:, :, k] = np.bincount(key, term.sum(axis=1), J * n).reshape(J, n)
            term = term * xi
        add: Any = lambda at, x: np.bincount(at, x, J * n).reshape(J, n)  # noqa: E731
        mass = add(key, density.sum(axis=1))
        blur = 8.0 * UNIT * (np.abs(cells).max() + abs(self.x0) + np.abs(at[j, m]) + abs(self.beta) * v[j] ** 2)
        (long, short), (A, _) = (0.5 * a for a in ellipse(RHO)), ellipse(RHO)
        rules = analytic(IN_SPACE, math.exp(short**2) * A**q, RHO) + own
        near = np.maximum(np.abs(middle) - long, 0.0)
        border = np.maximum(np.minimum(np.abs(low), np.abs(high)) - blur / width[j], 0.0)
        relative = gamma(16 * IN_SPACE + int(np.bincount(key).max(initial=0)) + 8 * q + 64)
        relative += UNIT * (
            32.0 * float(far.max()) ** 2 + 16.0 * abs(self.beta) * (abs(self.x0) + np.abs(p).max()) / self.kappa
        )
        error = mass * relative + add(key, density.sum(axis=1) * (q * blur / hw[c])[row])
        error += rules * add(key, half * np.exp(fold[row] - near**2))
        error += 4.0 * add(j * n + c, np.exp(fold - border**2) * (blur / hw[c] + blur / width[j]))
        error += self.tilt * float(erfc(REACH)) * 1.01  # box.md, step 3d
        return values, up(error), up(mass * (1.0 + relative) + error)

    def face(self, upper: bool, v: Array) -> tuple[Array, Array]:
        """What data on a face weighs at times v², and what that may be off by."""
        width, far, p, signs, folds = self.seen(v)
        at = self.high if upper else self.low
        y = (at - (p - self.beta * v[:, None] ** 2)) / width[:, None]
        felt = np.abs(y) <= far[:, None] + 2.0
        g = signs * np.exp(np.where(felt, folds - y * y, -np.inf)) / (math.sqrt(math.pi) * width[:, None])
        blur = 16.0 * UNIT * (abs(at) + np.abs(p) + abs(self.beta) * v[:, None] ** 2) / width[:, None]
        off = 128.0 * UNIT * (1.0 + y * y) + (2.0 * np.abs(y) + 1.0) * blur * 2.0 + gamma(len(p) + 16)
        off = off + 16.0 * UNIT * abs(self.beta) * (abs(self.x0) + np.abs(p)) / self.kappa
        beyond = self.tilt * math.exp(-((REACH + 1.0) ** 2)) / width  # box.md, step 3d
        if self.ends[int(upper)] == "neumann":  # box.md, step 2e
            return g.sum(axis=1), up((np.abs(g) * off).sum(axis=1) + 40.0 * beyond)
        slope = 2.0 * self.kappa / width[:, None] * (y if upper else -y)  # box.md, step 2d
        wrong = np.abs(g) * 2.0 * self.kappa / width[:, None] * (np.abs(y) * off + blur)
        return (g * slope).sum(axis=1), up(wrong.sum(axis=1) + 400.0 * beyond * self.kappa / width)

    def mass(self, theta: float, size: float, least: float) -> float:
        """Upper bound of the mass without signs for complex v, |arg v| ≤ θ, least ≤ |v| ≤ size."""
        c, k4 = math.cos(2.0 * theta), 4.0 * self.kappa
        near = math.exp(smaller(self.beta**2 * size**2 * (1.0 - c * c) / (k4 * c) * (1.0 + 1e-12), 700.0))
        if self.beta:  # box.md, step 4b
            apart = c * (self.high - self.low) ** 2 / (self.kappa * size**2)
            near = smaller(near * (5.0 + 4.0 / apart), self.tilt * math.exp(-(self.beta**2) * least**2 * c / k4))
        return near / math.sqrt(c) * (1.0 + 1e-9)

    def face_bound(self, upper: bool, least: float, decay: float) -> float:
        """Upper bound of a face's weight for complex v with |v| ≥ least, Re v⁻² ≥ decay."""
        at = self.high if upper else self.low
        p, _, _ = self.images(math.sqrt(4.0 * self.kappa * 750.0 / decay) + (self.high - self.low))
        z = np.maximum(np.abs(at - p) * (1.0 - 1e-11) - 1e-12 * np.abs(p), 0.0)
        size = np.exp(-(z**2) * decay / (4.0 * self.kappa)) / (math.sqrt(4.0 * math.pi * self.kappa) * least)
        if self.ends[int(upper)] == "dirichlet":
            size = size * np.abs(at - p) * (1.0 + 1e-12) / (2.0 * least**2)
        turned = math.exp(self.beta * (self.x0 - at) / (2.0 * self.kappa))
        return float(up(size.sum() * turned * (1.0 + 1e-8))) + 1e-290  # box.md, step 4c

    def gap(self, upper: bool) -> float:
        """Distance of the point from an end, rounded down."""
        return (self.high - self.x0 if upper else self.x0 - self.low) * (1.0 - 4.0 * UNIT)


Side = tuple[Axis, bool] | None


class TimeRule:
    """Nodes and weights of ∫ 2v e^{−cv²}(…) dv for s in an interval; with a face its weight is among them."""

    def __init__(self, span: tuple[float, float], c: float, axes: list[Axis], side: Side, q: int) -> None:
        a, b = math.sqrt(span[0]), math.sqrt(span[1])
        start = a if span[0] > 0.0 else self._start(b, side)
        x, w, _ = gauss(IN_TIME)
        count = larger(1, math.ceil(math.log2(b / start) - 1e-9))
        cuts = [start, *(b * (start / b) ** (k / count) for k in range(count - 1, 0, -1)), b]
        todo, nodes, weights, self.error = list(pairwise(cuts)), [], [], np.zeros(q + 1)
        while todo:
            left, right = todo.pop()
            bound, close = self._panel(left, right, span, c, axes, side, q)
            if not close and right > 1.0005 * left:
                todo += [(left, 0.5 * (left + right)), (0.5 * (left + right), right)]
                continue
            half = 0.5 * (right - left)
            nodes.append(0.5 * (left + right) + half * x)
            weights.append(half * w)
            self.error = self.error + bound
        v = self.v = np.concatenate(nodes)
        self.w = np.concatenate(weights) * 2.0 * v * np.exp(-c * v * v)
        self.blur = (
            np.abs(self.w) * UNIT * (128.0 + 16.0 * abs(c) * v * v + 16.0 * b / np.maximum(v - 0.5 * start, 1e-300))
        )
        if side is not None:
            g, off = side[0].face(side[1], v)
            self.blur = self.blur * (np.abs(g) + off) + np.abs(self.w) * off
            self.w = self.w * g
        self.skipped = self._skipped(span, start, c, side)

    @staticmethod
    def _start(b: float, side: Side) -> float:
        if side is None:
            return b * 2.0**-25
        felt = side[0].gap(side[1]) / (2.0 * math.sqrt(62.0 * side[0].kappa))
        return float(smaller(larger(felt, b * 2.0**-40), 0.5 * b))

    @staticmethod
    def _skipped(span: tuple[float, float], start: float, c: float, side: Side) -> float:
        """Upper bound of what is left out next to s = 0 and moved at the ends, for data of size one."""
        growth = math.exp(larger(-c, 0.0) * span[1]) * (1.0 + 1e-12)
        if side is None:
            return float(
                up(((start**2 if span[0] == 0.0 else 0.0) + 16.0 * UNIT * span[1]) * growth)
            )  # box.md, step 4d
        a, upper = side
        width = 2.0 * math.sqrt(a.kappa) * start
        passed = a.tilt * math.exp(-((a.gap(upper) / width) ** 2) * (1.0 - 1e-11)) if span[0] == 0.0 else 0.0
        if a.ends[int(upper)] == "neumann":
            passed *= 4.0 * start / math.sqrt(a.kappa) * (1.0 + start * math.sqrt(a.kappa) / (a.high - a.low))
        edge = math.sqrt(span[0] if span[0] > 0.0 else span[1]) * (1.0 - 1e-12)
        ends = 32.0 * UNIT * span[1] * a.face_bound(upper, edge, 1.0 / (span[1] * (1.0 + 1e-12)))
        return float(up((passed * (1.0 + 1e-9) + ends) * growth)) + 1e-290  # box.md, step 4d

    @staticmethod
    def _panel(
        left: float, right: float, span: tuple[float, float], c: float, axes: list[Axis], side: Side, q: int
    ) -> tuple[Array, bool]:
        """What a panel's rule may be off by, for each power of τ; and whether that is little."""
        centre, half = 0.5 * (left + right), 0.5 * (right - left) * (1.0 + 1e-14)
        middle, spread, a = 0.5 * (span[0] + span[1]), 0.5 * (span[1] - span[0]) * (1.0 - 1e-14), np.arange(q + 1)
        best, real, slope, own = np.full(q + 1, np.inf), math.inf, (math.inf, np.ones(q + 1)), gauss(IN_TIME)[2]
        for rho in ELLIPSES:
            long, short = (half * e for e in ellipse(rho))
            if long >= 0.99 * centre:
                break
            theta = math.atan2(short, math.sqrt(centre**2 - long**2)) * (1.0 + 1e-12)
            if theta >= 0.76:
                break
            size, least = (centre + long) * (1.0 + 1e-12), (centre - long) * (1.0 - 1e-12)
            bound = (
                2.0
                * size
                * math.exp(smaller(larger(-c, 0.0) * size**2, 700.0))
                * math.prod(axis.mass(theta, size, least) for axis in axes)
            )
            if side is not None:
                bound *= side[0].face_bound(side[1], least, math.cos(2.0 * theta) / size**2)
            tau = (
                np.maximum((abs(centre**2 - middle) + 2.0 * centre * long + long**2) / spread * (1.0 + 1e-12), 1.0) ** a
            )
            real = smaller(real, bound)
            slope = smaller(slope, (bound / (long / half - 1.0), tau), key=lambda m: m[0])
            best = np.minimum(best, half * analytic(IN_TIME, bound, rho) * tau)  # box.md, step 4a
        more = half * own * real + 16.0 * UNIT * right * slope[0] * slope[1]  # box.md, step 4a
        return up(best + more), bool(best[q] <= 1e-15 * half * real + 1e-30 and math.isfinite(real))


class Instant:
    """The one time s."""

    def __init__(self, s: float, c: float, axes: list[Axis]) -> None:
        weight, v = math.exp(-c * s), math.sqrt(s)
        self.v, self.w = np.array([v]), np.array([weight])
        self.blur = np.array([weight * UNIT * (128.0 + 16.0 * abs(c) * s)])
        theta = smaller(0.126, *(math.sqrt(a.kappa) / (abs(a.beta) * v) for a in axes if a.beta), 1.0)
        near = math.prod(a.mass(theta, (1.0 + theta) * v, (1.0 - theta) * v) for a in axes)
        self.error = np.array([8.0 * UNIT / theta * weight * near])  # box.md, step 4a
        self.skipped = 0.0
