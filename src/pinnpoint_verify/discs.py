"""Formulas on discs: a ball m ± r, read as the complex disc |z − m| ≤ r with a real centre.

Sums and products of balls use the triangle inequality alone, so they hold for complex discs as they stand. A function
here is one line more, a bound of |g(m + δ) − g(m)| over complex |δ| ≤ r (docs/checking.md). With r = 0 it is a
value with its rounding, with r the size of a cell or of a polydisc about it an enclosure there: one walk serves both.
"""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from pinnpoint_verify.calculus import parsed
from pinnpoint_verify.checker import TINY, UNIT, Ball, up
from pinnpoint_verify.reader import Array, Refused, need

LIBM = 16.0 * UNIT
"""Trusted, and said so: numpy's elementary functions are off by at most 8 units in the last place."""
NEAR = 0.99
"""Where a rule ends: closer to its singularity than this, differences would lose digits."""


def disc(m: Any, r: Any) -> Ball:
    """A computed value of a function and what its argument's radius does to it; what is no number is unbounded."""
    m, r = np.asarray(m, dtype=float), np.asarray(r, dtype=float)
    lost = ~(np.isfinite(m) & (r >= 0.0))
    m = np.where(lost, 0.0, m)
    return Ball(m, np.where(lost, np.inf, up(r * (1.0 + 1e-11) + LIBM * np.abs(m))))


def _exp(b: Ball) -> Ball:
    """|e^{m + δ} − e^m| ≤ e^m (e^r − 1), and ≤ 2 e^{m + r}, which does not overflow where m is far below."""
    m = np.exp(b.m)
    return disc(m, np.where(b.r > 1.0, 2.0 * np.exp(b.m + b.r), m * np.expm1(np.minimum(b.r, 1.0))))


def _turned(own: Array, other: Array, r: Array) -> Array:
    """|g(m)|(cosh r − 1) + |g′(m)| sinh r, by the addition theorems of sin, cos, sinh and cosh."""
    return np.asarray(np.abs(own) * 2.0 * np.sinh(0.5 * r) ** 2 + np.abs(other) * np.sinh(r))


def _sin(b: Ball) -> Ball:
    return disc(np.sin(b.m), _turned(np.sin(b.m), np.cos(b.m), b.r))


def _cos(b: Ball) -> Ball:
    return disc(np.cos(b.m), _turned(np.cos(b.m), np.sin(b.m), b.r))


def _sinh(b: Ball) -> Ball:
    return disc(np.sinh(b.m), _turned(np.sinh(b.m), np.cosh(b.m), b.r))


def _cosh(b: Ball) -> Ball:
    return disc(np.cosh(b.m), _turned(np.cosh(b.m), np.sinh(b.m), b.r))


def _bent(t: Array, slope: Array, r: Array) -> Array:
    """|τ| slope/(1 − |t||τ|), |τ| ≤ tan r: addition theorems of tan and tanh, |tan δ| and |tanh δ| ≤ tan |δ|."""
    T = np.tan(np.minimum(r, 1.5))
    good = (r < 1.5) & (np.abs(t) * T < NEAR)
    return np.where(good, T * slope / np.where(good, 1.0 - np.abs(t) * T, 1.0), np.inf)


def _tan(b: Ball) -> Ball:
    t = np.tan(b.m)
    return disc(t, _bent(t, 1.0 + t * t, b.r))


def _tanh(b: Ball) -> Ball:
    """Also |tanh z ∓ 1| ≤ 2/(e^{2a} − 1) where the real part of ±z is at least a > 0."""
    t, size = np.tanh(b.m), np.abs(b.m)
    near = np.minimum(size - b.r, 300.0)
    good = near > 0.01
    far = np.where(good, 4.0 / np.expm1(2.0 * np.where(good, near, 1.0)), np.inf)
    return disc(t, np.minimum(_bent(t, 1.0 / np.cosh(np.minimum(size, 300.0)) ** 2, b.r), far))


def _atan(b: Ball) -> Ball:
    """Atan(m + δ) − atan m = atan(δ/(1 + m² + mδ)), and |atan w| ≤ artanh |w|."""
    one = 1.0 + b.m**2
    good = np.abs(b.m) * b.r < NEAR * one
    q = np.where(good, b.r / np.where(good, one - np.abs(b.m) * b.r, 1.0), 1.0)
    return disc(np.arctan(b.m), np.where(q < NEAR, np.arctanh(np.minimum(q, NEAR)), np.inf))


def _log(b: Ball) -> Ball:
    """|log(1 + δ/m)| ≤ −log(1 − r/m)."""
    good = b.r < NEAR * b.m
    m = np.where(good, b.m, 1.0)
    return disc(np.log(m), np.where(good, -np.log1p(-np.where(good, b.r / m, 0.0)), np.inf) + UNIT)


def _inverse(b: Ball) -> Ball:
    """|1/(m + δ) − 1/m| ≤ r/(|m|(|m| − r))."""
    good = b.r < NEAR * np.abs(b.m)
    m = np.where(good, b.m, 1.0)
    return disc(1.0 / m, np.where(good, b.r / (np.abs(m) * (np.abs(m) - np.where(good, b.r, 0.0))), np.inf))


# checking.md, step 1a
SMOOTH = {"exp": _exp, "sin": _sin, "cos": _cos, "sinh": _sinh, "cosh": _cosh, "tan": _tan, "tanh": _tanh}
SMOOTH |= {"atan": _atan, "log": _log}


class Composed(str):
    """A formula of the coordinates and of a state u, whose discs come from further coordinates.

    These are u itself, or barycentric coordinates t and the values w at vertices and midpoints j < k of a quadratic
    Σ b_jk t_j t_k.
    """

    __slots__ = ("d", "quadratic")
    d: int
    quadratic: bool

    @classmethod
    def of(cls, text: str, d: int, quadratic: bool) -> Composed:
        """With so many coordinates of space."""
        found = cls(text)
        found.d, found.quadratic = d, quadratic
        return found

    def named(self, X: list[Ball]) -> dict[str, Ball]:
        """What its variables are: |u(t + δ) − u(t)| ≤ Σ|∂_j u| r_j + Σ|b_jk| r_j r_k on discs."""
        found, rest, n = dict(zip("xyz", X[: self.d], strict=False)), X[self.d :], self.d + 1
        if not self.quadratic:
            return found | {"u": rest[0]}
        t, w = rest[:n], rest[n:]
        b, place = dict[tuple[int, int], Ball](), n
        for j in range(n):
            b[j, j] = w[j]
            for k in range(j + 1, n):
                b[j, k] = b[k, j] = 2.0 * w[place] - 0.5 * (w[j] + w[k])
                place += 1
        m, r, size = 0.0 * t[0].m, 0.0 * t[0].m, 0.0 * t[0].m
        for j in range(n):
            slope = sum(b[j, k].m * t[k].m for k in range(n))
            m = m + t[j].m * slope
            r = r + 2.0 * np.abs(slope) * t[j].r
            for k in range(n):
                outer = (np.abs(t[j].m) + t[j].r) * (np.abs(t[k].m) + t[k].r)
                r = r + np.abs(b[j, k].m) * t[j].r * t[k].r + b[j, k].r * outer
                size = size + np.abs(b[j, k].m) * outer
        return found | {"u": Ball(m, up(r * (1.0 + 1e-12) + 64.0 * UNIT * size))}  # checking.md, step 12b


class Walk:
    """A formula at discs X of the coordinates.

    `rough` says where the value encloses real points alone: an argument of abs, min, max, sqrt, asin or acos met its
    kink or branch point. It is or-ed over the whole walk.
    """

    def __init__(self, text: Any, X: list[Ball]) -> None:
        self.shape, self.known = X[0].m.shape, dict[int, Ball]()
        self.named = text.named(X) if isinstance(text, Composed) else dict(zip("xyz", X, strict=False))
        self.rough = np.zeros(self.shape, dtype=bool)
        try:
            with np.errstate(all="ignore"):
                found = self._walk(parsed(text))
        except RecursionError as error:
            raise Refused("formula: cannot be read") from error
        lost = ~(np.isfinite(found.m) & (found.r >= 0.0))
        m, r = np.where(lost, 0.0, found.m), np.where(lost, np.inf, found.r)
        self.value = Ball(np.broadcast_to(m, self.shape), np.broadcast_to(r, self.shape))

    def _walk(self, node: Any) -> Ball:
        """A part; trees of derivatives have the same part in several places."""
        if id(node) not in self.known:
            self.known[id(node)] = self._part(node)
        return self.known[id(node)]

    def _part(self, node: Any) -> Ball:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            v = float(node.value)  # checking.md, step 1c
            return Ball(v, 0.0 if node.exact else UNIT * abs(v) + TINY)  # type: ignore[attr-defined]
        if isinstance(node, ast.Name) and node.id in ("pi", "e"):
            return Ball(getattr(math, node.id), 4.0 * UNIT)
        if isinstance(node, ast.Name) and node.id in self.named:
            return self.named[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return -self._walk(node.operand) if isinstance(node.op, ast.USub) else self._walk(node.operand)
        if isinstance(node, ast.BinOp):
            return self._joined(node.op, self._walk(node.left), self._walk(node.right))
        need(isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args, "formula: unknown part")
        return self._called(node.func.id, [self._walk(a) for a in node.args])

    def _joined(self, op: ast.operator, a: Ball, b: Ball) -> Ball:
        if isinstance(op, ast.Add | ast.Sub):
            return a + b if isinstance(op, ast.Add) else a - b
        if isinstance(op, ast.Mult | ast.Div):
            return a * b if isinstance(op, ast.Mult) else a * _inverse(b)
        need(isinstance(op, ast.Pow), "formula: unknown part")
        if b.m.ndim or b.r or not float(b.m).is_integer() or abs(b.m) > 1000.0:
            return self._power(a, b)
        k = abs(int(b.m))
        return _inverse(self._whole(a, k)) if b.m < 0.0 else self._whole(a, k)

    def _whole(self, a: Ball, k: int) -> Ball:
        """|(m + δ)^k − m^k| ≤ k r (|m| + r)^{k−1}."""
        size = np.abs(a.m)
        return disc(a.m**k, k * a.r * (size + a.r) ** (k - 1) if k else np.zeros_like(size))

    def _called(self, name: str, arguments: list[Ball]) -> Ball:
        first, *more = arguments
        if name in ("min", "max"):
            for b in more:  # max = (a + b + |a − b|)/2
                apart = self._absolute(first - b)
                first = 0.5 * (first + b + (apart if name == "max" else -apart))
            return first
        own = {"abs": self._absolute, "sqrt": self._root, "asin": self._asin, "acos": self._acos}
        need(not more and (name in own or name in SMOOTH), "formula: unknown function")
        return own[name](first) if name in own else self._smooth(name, first)

    def _smooth(self, name: str, b: Ball) -> Ball:
        return SMOOTH[name](b)

    def _power(self, a: Ball, p: Ball) -> Ball:
        root = not p.m.ndim and p.m == 0.5 and not p.r - UNIT > 0.0
        return self._root(a) if root else _exp(p * self._smooth("log", a))

    def _mark(self, where: Any) -> None:
        self.rough |= np.broadcast_to(where, self.shape)  # checking.md, step 1b

    def _absolute(self, b: Ball) -> Ball:
        """Z or −z where the sign is certain; else |·| of real points."""
        self._mark(~(b.r < np.abs(b.m)))
        return Ball(np.abs(b.m), b.r)

    def _root(self, b: Ball) -> Ball:
        """|√z − √m| = |δ|/|√z + √m|; near the branch point, for what is real and not below 0, ≤ √(|δ| + |m|)."""
        good, m = b.r < NEAR * b.m, np.maximum(b.m, 0.0)
        self._mark(~good)
        wide = np.where(b.m + b.r >= 0.0, 2.0 * np.sqrt(b.r + np.abs(b.m)), np.inf)
        return disc(np.sqrt(m), np.where(good, b.r / np.where(good, np.sqrt(m) + np.sqrt(m - b.r), 1.0), wide))

    def _asin(self, b: Ball) -> Ball:
        """|1 − z²| ≥ (1 − m − r)(1 + m − r) on the disc; else all that arcs can be."""
        good = np.abs(b.m) + b.r < NEAR
        self._mark(~good)
        low = np.where(good, (1.0 - b.m - b.r) * (1.0 + b.m - b.r), 1.0)
        wide = np.where(np.abs(b.m) - b.r <= 1.0, 3.2, np.inf)
        return disc(np.arcsin(np.clip(b.m, -1.0, 1.0)), np.where(good, b.r / np.sqrt(low), wide))

    def _acos(self, b: Ball) -> Ball:
        return Ball(0.5 * math.pi, UNIT) - self._asin(b)


class Ranges(Walk):
    """The same for real coordinates in m ± r alone: the better of a disc and of values at the ends."""

    def _smooth(self, name: str, b: Ball) -> Ball:
        wide = SMOOTH[name](b)
        if name in ("sin", "cos"):
            return Ball(np.where(wide.r > 1.0, 0.0, wide.m), np.minimum(wide.r, 1.0))
        rises = name in ("exp", "log", "sinh", "tanh", "atan")
        return self._better(wide, SMOOTH[name], *self._ends(b)) if rises else wide

    def _root(self, b: Ball) -> Ball:
        low, high = self._ends(b)
        return self._better(super()._root(b), lambda x: disc(np.sqrt(x.m), 0.0), np.maximum(low, 0.0), high)

    def _whole(self, a: Ball, k: int) -> Ball:
        wide, high = super()._whole(a, k), np.maximum(*map(np.abs, self._ends(a)))
        return wide if k % 2 else self._better(wide, lambda x: super(Ranges, self)._whole(x, k), 0.0 * high, high)

    def _power(self, a: Ball, p: Ball) -> Ball:
        """Of what is not below zero, to a power that is positive, from its ends."""
        wide, (low, high) = super()._power(a, p), self._ends(a)
        power: Any = lambda x: disc(x.m ** float(p.m), x.m ** float(p.m) * np.abs(np.log(x.m + TINY)) * p.r)  # noqa: E731
        rises = not p.m.ndim and p.m > 0.0
        return self._better(wide, power, np.maximum(low, 0.0), high) if rises else wide

    def _ends(self, b: Ball) -> tuple[Array, Array]:
        r = b.r + 2.0 * UNIT * np.abs(b.m)
        return b.m - r, b.m + r

    def _better(self, wide: Ball, g: Any, low: Array, high: Array) -> Ball:
        """What lies between g(low) and g(high), where that is less."""
        # checking.md, step 1d
        one, two = g(Ball(low)), g(Ball(high))
        a, b = one.m - one.r, two.m + two.r
        narrow = Ball(0.5 * (a + b), up(0.5 * (b - a) + 4.0 * UNIT * (np.abs(a) + np.abs(b))))
        keep = ~(narrow.r < wide.r)
        return Ball(np.where(keep, wide.m, narrow.m), np.where(keep, wide.r, narrow.r))
