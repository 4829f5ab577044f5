"""Solutions of −∇·(κ∇u) + c u = f known from outside: piecewise ODEs in 256-bit arithmetic, and formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

BITS = 256


def exactly(x: Any) -> arb:
    """A float as the rational it is; a decimal as the real number it denotes."""
    ctx.prec = BITS
    if isinstance(x, arb):
        return x
    if isinstance(x, str):
        return arb(x)
    p, q = float(x).as_integer_ratio()
    return arb(p) / arb(q)


@dataclass(frozen=True)
class Factor:
    """A function of one coordinate t with its derivatives, as formulas and in high precision.

    kinds: sin and cos of a t + b, exp of a t, and polynomials a₀ + a₁t + … ; numbers are decimals.
    """

    kind: str
    numbers: tuple[str, ...]

    def text(self, name: str, order: int = 0) -> str:
        """The derivative of an order as a formula in `name`."""
        if self.kind == "poly":
            a = [*self.numbers]
            for _ in range(order):
                a = [f"{k}*{x}" for k, x in enumerate(a)][1:]
            return "(" + " + ".join(f"({x})*{name}**{k}" for k, x in enumerate(a)) + ")" if a else "(0)"
        a = self.numbers[0]
        if self.kind == "exp":
            return f"(({a})**{order}*exp(({a})*{name}))"
        turn = {"sin": ("sin", "cos", "-sin"), "cos": ("cos", "-sin", "-cos")}[self.kind][order]
        sign = "-" if turn.startswith("-") else ""
        return f"({sign}({a})**{order}*{turn.lstrip('-')}(({a})*{name} + ({self.numbers[1]})))"

    def __call__(self, t: arb, order: int = 0) -> arb:
        """The derivative of an order at t."""
        if self.kind == "poly":
            a = [number(x) for x in self.numbers]
            for _ in range(order):
                a = [x * k for k, x in enumerate(a)][1:]
            total = arb(0)
            for x in reversed(a):
                total = total * t + x
            return total
        a = number(self.numbers[0])
        if self.kind == "exp":
            return a**order * (a * t).exp()
        s = a * t + number(self.numbers[1])
        value = {
            ("sin", 0): lambda: s.sin(),
            ("sin", 1): lambda: s.cos(),
            ("sin", 2): lambda: -s.sin(),
            ("cos", 0): lambda: s.cos(),
            ("cos", 1): lambda: -s.sin(),
            ("cos", 2): lambda: -s.cos(),
        }[self.kind, order]()
        return a**order * value


def number(text: str) -> arb:
    """A decimal, pi, or a multiple of it such as 2*pi."""
    ctx.prec = BITS
    total = arb(1)
    for part in text.split("*"):
        total *= arb.pi() if part == "pi" else arb(part)
    return total


@dataclass(frozen=True)
class Separable:
    """u = Σ_t Π_i F_ti(x_i)."""

    terms: tuple[tuple[Factor, ...], ...]

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.terms[0])

    def text(self, orders: Sequence[int] | None = None) -> str:
        """A partial derivative as a formula."""
        orders = [0] * self.d if orders is None else orders
        return " + ".join(
            "*".join(F.text(name, k) for F, name, k in zip(term, "xyz", orders, strict=False)) for term in self.terms
        )

    def source(self, kappa: float, c: float) -> str:
        """−κΔu + c u as a formula."""
        second = [self.text([2 * (i == k) for i in range(self.d)]) for k in range(self.d)]
        text = f"-({kappa!r})*(" + " + ".join(second) + ")"
        return text + (f" + ({c!r})*({self.text()})" if c else "")

    def slope(self, axis: int, scale: float) -> str:
        """A multiple of a first derivative as a formula."""
        return f"({scale!r})*(" + self.text([int(i == axis) for i in range(self.d)]) + ")"

    def __call__(self, x: Any) -> arb:
        """u(x) for floats x."""
        total = arb(0)
        for term in self.terms:
            part = arb(1)
            for F, t in zip(term, x, strict=True):
                part *= F(exactly(float(t)))
            total += part
        return total

    def line_integrals(self, low: Sequence[float], high: Sequence[float], axis: int, at: float, order: int) -> arb:
        """∫ ∂^order u / ∂x_axis^order over the side x_axis = at of a box, by Gauss points in each direction."""
        total = arb(0)
        for term in self.terms:
            part = arb(1)
            for i, F in enumerate(term):
                part *= F(exactly(at), order) if i == axis else integral(F, low[i], high[i])
            total += part
        return total

    def ball_average(self, x0: Any, radius: float) -> arb:
        """The average over a ball, by Gauss points along the radius and over the sphere."""
        x0, d = np.asarray(x0, dtype=float), self.d
        r, w = np.polynomial.legendre.leggauss(14)
        r, w = 0.5 * (r + 1.0), 0.5 * w
        if d == 1:
            return integral(self.terms[0][0], x0[0] - radius, x0[0] + radius, self) / (2 * exactly(radius))
        angles = np.arange(28) * (2.0 * np.pi / 28)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        if d == 2:
            directions, share = circle, np.full(28, 1.0 / 28)
        else:
            z, v = np.polynomial.legendre.leggauss(14)
            flat = np.sqrt(1.0 - z * z)[:, None, None] * circle
            directions = np.concatenate([flat, np.broadcast_to(z[:, None, None], (14, 28, 1))], axis=2).reshape(-1, 3)
            share = np.repeat(v / 56.0, 28)
        X = x0 + radius * r[:, None, None] * directions
        values = self.floats(X.reshape(-1, d)).reshape(X.shape[:2])
        value = float(d * np.einsum("r,s,rs->", w * r ** (d - 1), share, values))
        return exactly(value) + arb(0, 1e-12 * (1.0 + float(np.abs(values).max())))

    def floats(self, X: Any) -> Any:
        """Values in float64."""
        total = 0.0
        for term in self.terms:
            part = 1.0
            for i, F in enumerate(term):
                t, a = X[:, i], [float(number(s)) for s in F.numbers]
                if F.kind == "poly":
                    part = part * np.polynomial.polynomial.polyval(t, a)
                else:
                    part = part * (np.exp(a[0] * t) if F.kind == "exp" else getattr(np, F.kind)(a[0] * t + a[1]))
            total = total + part
        return total


def integral(F: Any, a: float, b: float, whole: Any = None) -> arb:
    """∫_a^b F by 30 Gauss–Legendre points in high precision; the remainder for these factors is far below 1e-16."""
    low, high = exactly(a), exactly(b)
    half, middle = (high - low) / 2, (high + low) / 2
    total = arb(0)
    for k in range(30):
        x, w = arb.legendre_p_root(30, k, weight=True)
        t = middle + half * x
        total += w * (F(t) if whole is None else sum((term[0](t) for term in whole.terms), arb(0)))
    return total * half


@dataclass(frozen=True, eq=False)
class Layers:
    """φ with −(κφ′)′ + cφ = f on consecutive intervals, κ and c constant on each, in 256-bit arithmetic.

    f is a `Factor` (poly up to degree 2, sin, cos, exp) or several of them added.
    ends: for each end ("value", g) or ("flux", g), the flux outward.
    """

    breaks: Sequence[Any]
    kappa: Sequence[Any]
    reaction: Sequence[Any]
    source: Sequence[Factor]
    ends: tuple[tuple[str, Any], tuple[str, Any]]
    constants: list[arb] = field(default_factory=list)

    def __post_init__(self) -> None:
        ctx.prec = BITS
        n = len(self.kappa)
        M, rhs = [[arb(0)] * (2 * n) for _ in range(2 * n)], [arb(0)] * (2 * n)
        row = 0
        for piece, end, sign in ((0, 0, -1), (n - 1, 1, 1)):
            x = exactly(self.breaks[0 if end == 0 else n])
            kind, g = self.ends[end]
            value, slope = self._basis(piece, x)
            own, own_slope = self._particular(piece, x)
            k = exactly(self.kappa[piece])
            scale = arb(1) if kind == "value" else k * sign
            for j in range(2):
                M[row][2 * piece + j] = scale * (value[j] if kind == "value" else slope[j])
            rhs[row] = exactly(g) - scale * (own if kind == "value" else own_slope)
            row += 1
        for i in range(n - 1):
            x = exactly(self.breaks[i + 1])
            for flux in (False, True):
                for piece, sign in ((i, 1), (i + 1, -1)):
                    value, slope = self._basis(piece, x)
                    own, own_slope = self._particular(piece, x)
                    scale = exactly(self.kappa[piece]) * sign if flux else arb(sign)
                    for j in range(2):
                        M[row][2 * piece + j] += scale * (slope[j] if flux else value[j])
                    rhs[row] -= scale * (own_slope if flux else own)
                row += 1
        found = arb_mat(M).solve(arb_mat([[b] for b in rhs]))
        self.constants.extend(found[i, 0] for i in range(2 * n))

    def _basis(self, piece: int, x: arb) -> tuple[list[arb], list[arb]]:
        c, k = exactly(self.reaction[piece]), exactly(self.kappa[piece])
        a, b = exactly(self.breaks[piece]), exactly(self.breaks[piece + 1])
        if c == 0:
            return [arb(1), x - a], [arb(0), arb(1)]
        m = (c / k).sqrt()
        return [(m * (a - x)).exp(), (m * (x - b)).exp()], [-m * (m * (a - x)).exp(), m * (m * (x - b)).exp()]

    def _particular(self, piece: int, x: arb) -> tuple[arb, arb]:
        c, k = exactly(self.reaction[piece]), exactly(self.kappa[piece])
        value, slope = arb(0), arb(0)
        for F in self.source:
            if F.kind == "poly":
                p, q, r = [*(number(t) for t in F.numbers), arb(0), arb(0)][:3]
                if c == 0:
                    value -= (p * x**2 / 2 + q * x**3 / 6 + r * x**4 / 12) / k
                    slope -= (p * x + q * x**2 / 2 + r * x**3 / 3) / k
                else:
                    value += (p + q * x + r * x**2) / c + 2 * k * r / c**2
                    slope += (q + 2 * r * x) / c
                continue
            a = number(F.numbers[0])
            scale = 1 / (c - k * a * a if F.kind == "exp" else c + k * a * a)
            value += scale * F(x)
            slope += scale * F(x, 1)
        return value, slope

    def piece(self, x: float) -> int:
        """The interval that holds x."""
        return int(
            np.clip(np.searchsorted(np.asarray(self.breaks, dtype=float), x, side="right") - 1, 0, len(self.kappa) - 1)
        )

    def __call__(self, x: float, slope: bool = False) -> arb:
        """φ(x), or φ′(x)."""
        i, t = self.piece(float(x)), exactly(float(x))
        basis, own = self._basis(i, t)[slope], self._particular(i, t)[slope]
        return basis[0] * self.constants[2 * i] + basis[1] * self.constants[2 * i + 1] + own


def holds(lower: float, upper: float, truth: arb) -> bool:
    """False only where the truth is for certain outside: enclosures of the truth are far thinner than intervals."""
    assert truth.is_finite()
    assert float(truth.rad()) < 2e-7
    return not (bool(truth < exactly(lower)) or bool(truth > exactly(upper)))


Truth = Callable[[Any], arb]
