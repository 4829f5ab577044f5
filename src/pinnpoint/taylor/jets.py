"""Values, gradients and Laplacians together, as Taylor models.

A jet of u holds models of u, of ∂u/∂x_i in the coordinates of space, and of Δu = Σ ∂²u/∂x_i², or the same for some of
the axes alone. Sums, products and functions of jets are jets:

    Δ(uv) = uΔv + 2∇u·∇v + vΔu,    ∇φ(u) = φ′(u)∇u,    Δφ(u) = φ′(u)Δu + φ″(u)|∇u|².

Beside the Laplacian some second derivatives ∂_a∂_b u may be carried, by the same rules for each pair of axes.

The models may be over any set, since derivatives are carried and never taken of polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import Expression
from pinnpoint.taylor import functions, models
from pinnpoint.taylor.formulas import PARTIAL, Doubts, leaves
from pinnpoint.taylor.models import TaylorModel, constant

ZERO, ONE = constant(0.0), constant(1.0)
"""Derivatives that are known; products with these very objects cost nothing."""
Bent = tuple[TaylorModel, TaylorModel, TaylorModel]
"""φ, φ′ and φ″ of a model."""


Pairs = tuple[tuple[int, int], ...]
"""Places of two axes among those of the gradient."""


@dataclass(frozen=True, eq=False)
class Jet:
    """Models of u, of its partial derivatives and of its Laplacian; each may be a batch of the same length."""

    value: TaylorModel
    gradient: tuple[TaylorModel, ...]
    laplacian: TaylorModel
    pairs: Pairs = ()
    """Which ∂_a∂_b u are carried; none of what is constant."""
    mixed: tuple[TaylorModel, ...] = ()
    """These, in the order of the pairs."""

    __repr__ = brief

    @classmethod
    def constant(cls, value: TaylorModel, d: int) -> Jet:
        """A jet without derivatives."""
        return cls(value, (ZERO,) * d, ZERO)

    @property
    def flat(self) -> bool:
        """Whether every derivative is known to vanish."""
        return all(v is ZERO for v in (*self.gradient, self.laplacian, *self.mixed))

    def __neg__(self) -> Jet:
        return self._each(lambda v: v if v is ZERO else -v)

    def __add__(self, other: Jet) -> Jet:
        return self._both(other, plus)

    def __sub__(self, other: Jet) -> Jet:
        return self + (-other)

    def __mul__(self, other: Jet) -> Jet:
        if other is self:
            return self.bent(lambda x: (x * x, x * constant(2.0), constant(2.0)))
        u, v = self, other
        pairs = list(zip(u.gradient, v.gradient, strict=True))
        gradient = tuple(plus(times(u.value, b), times(a, v.value)) for a, b in pairs)
        mixed = ZERO
        for a, b in pairs:
            mixed = plus(mixed, times(a, b))  # taylor.md, step 4a
        outer = plus(times(u.value, v.laplacian), times(u.laplacian, v.value))
        laplacian = plus(outer, times(constant(2.0), mixed))  # taylor.md, step 4a
        which = u.pairs or v.pairs
        return Jet(u.value * v.value, gradient, laplacian, which, tuple(_crossed(u, v, which)))

    def __truediv__(self, other: Jet) -> Jet:
        if self.flat and other.flat:
            return Jet.constant(self.value / other.value, len(self.gradient))
        return self * other.bent(reciprocal)

    def __pow__(self, n: int) -> Jet:
        """Integer powers."""
        return self.bent(power(constant(float(n))))

    def bent(self, phi: Callable[[TaylorModel], Bent]) -> Jet:
        """The jet of φ(u), from φ with its first two derivatives."""
        y, slope, curvature = phi(self.value)
        square = ZERO
        for g in self.gradient:
            square = plus(square, times(g, g))
        bend = plus(times(slope, self.laplacian), times(curvature, square))  # taylor.md, step 4b
        crossed = [times(self.gradient[a], self.gradient[b]) for a, b in self.pairs]
        mixed = tuple(
            plus(times(slope, m), times(curvature, c))  # taylor.md, step 4c
            for m, c in zip(self.mixed, crossed, strict=True)
        )
        gradient = tuple(times(slope, g) for g in self.gradient)  # taylor.md, step 4b
        return Jet(y, gradient, bend, self.pairs, mixed)

    def under(self, doubts: Doubts) -> Jet:
        """The jet with infinite remainders where something on the way to it may be undefined."""
        return self._each(doubts.on)

    def _each(self, operation: Callable[[TaylorModel], TaylorModel]) -> Jet:
        gradient, mixed = (tuple(map(operation, models)) for models in (self.gradient, self.mixed))
        return Jet(operation(self.value), gradient, operation(self.laplacian), self.pairs, mixed)

    def _both(self, other: Jet, operation: Callable[[TaylorModel, TaylorModel], TaylorModel]) -> Jet:
        gradient = tuple(operation(a, b) for a, b in zip(self.gradient, other.gradient, strict=True))
        which = self.pairs or other.pairs
        both = zip(self.second(which), other.second(which), strict=True)
        laplacian = operation(self.laplacian, other.laplacian)
        return Jet(operation(self.value, other.value), gradient, laplacian, which, tuple(operation(*m) for m in both))

    def second(self, pairs: Pairs) -> tuple[TaylorModel, ...]:
        """∂_a∂_b u for these pairs, those that are carried or, of what is constant, any."""
        return self.mixed if self.pairs else (ZERO,) * len(pairs)


def _crossed(u: Jet, v: Jet, pairs: Pairs) -> Iterator[TaylorModel]:
    """∂_a∂_b(uv) = u ∂_a∂_b v + v ∂_a∂_b u + ∂_a u ∂_b v + ∂_b u ∂_a v."""
    for (a, b), of_u, of_v in zip(pairs, u.second(pairs), v.second(pairs), strict=True):
        outer = plus(times(u.value, of_v), times(of_u, v.value))
        one, two = times(u.gradient[a], v.gradient[b]), times(u.gradient[b], v.gradient[a])
        yield plus(outer, plus(one, two))  # taylor.md, step 4c


def times(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """The product, where `ZERO` and `ONE` stand for what is so identically."""
    if a is ZERO or b is ZERO:
        return ZERO
    return b if a is ONE else a if b is ONE else a * b


def plus(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """The sum, where `ZERO` stands for what vanishes identically."""
    return b if a is ZERO else a if b is ZERO else a + b


def sin(x: TaylorModel) -> Bent:
    """The sine."""
    s, c = functions.sincos(x)
    return s, c, -s


def cos(x: TaylorModel) -> Bent:
    """The cosine."""
    s, c = functions.sincos(x)
    return c, -s, -c


def tan(x: TaylorModel) -> Bent:
    """The tangent: φ′ = 1/cos², φ″ = 2 tan/cos²."""
    s, c = functions.sincos(x)
    r = models.reciprocal(c)
    t, slope = s * r, r * r
    return t, slope, constant(2.0) * (t * slope)


def asin(x: TaylorModel) -> Bent:
    """The arcsine: φ′ = (1 − x²)^(−1/2), φ″ = x φ′³."""
    slope = models.reciprocal(functions.sqrt((ONE - x) * (ONE + x)))
    return functions.asin(x), slope, x * (slope * (slope * slope))


def acos(x: TaylorModel) -> Bent:
    """The arccosine."""
    _, slope, curvature = asin(x)
    return functions.acos(x), -slope, -curvature


def atan(x: TaylorModel) -> Bent:
    """The arctangent: φ′ = 1/(1 + x²), φ″ = −2x φ′²."""
    slope = models.reciprocal(ONE + x * x)
    return functions.atan(x), slope, constant(-2.0) * (x * (slope * slope))


def sinh(x: TaylorModel) -> Bent:
    """The hyperbolic sine."""
    s, c = functions.sinhcosh(x)
    return s, c, s


def cosh(x: TaylorModel) -> Bent:
    """The hyperbolic cosine."""
    s, c = functions.sinhcosh(x)
    return c, s, c


def tanh(x: TaylorModel) -> Bent:
    """The hyperbolic tangent: φ′ = 1/cosh², φ″ = −2 tanh/cosh²."""
    t, s = functions.tanh2(x)
    return t, s, constant(-2.0) * (t * s)


def exp(x: TaylorModel) -> Bent:
    """The exponential."""
    y = functions.exp(x)
    return y, y, y


def log(x: TaylorModel) -> Bent:
    """The logarithm."""
    slope = models.reciprocal(x)
    return functions.log(x), slope, -(slope * slope)


def sqrt(x: TaylorModel) -> Bent:
    """The square root: φ′ = 1/(2φ), φ″ = −φ′/(2x)."""
    y = functions.sqrt(x)
    slope = models.reciprocal(constant(2.0) * y)
    return y, slope, constant(-0.5) * (slope * models.reciprocal(x))


def reciprocal(x: TaylorModel) -> Bent:
    """1/x: φ′ = −φ², φ″ = 2φ³."""
    y = models.reciprocal(x)
    square = y * y
    return y, -square, constant(2.0) * (square * y)


def power(b: TaylorModel) -> Callable[[TaylorModel], Bent]:
    """The function x ↦ x^b for a number b: φ′ = b x^(b−1), φ″ = b(b−1) x^(b−2)."""

    def bend(x: TaylorModel) -> Bent:
        found = []
        for k, factor in enumerate([ONE, b, b * (b - ONE)]):
            exponent = b - constant(float(k))
            if _is(factor, 0.0):
                found.append(ZERO)
            elif k and _is(exponent, 0.0):
                found.append(factor)
            else:
                raised = functions.power(x, exponent)
                found.append(factor * raised if k else raised)
        return found[0], found[1], found[2]

    return bend


def _is(x: TaylorModel, value: float) -> bool:
    return x.C.size == 1 and not x.e.any() and x.C.item() == value


FUNCTIONS: dict[str, Callable[[TaylorModel], Bent]] = {
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
}
PLAIN: dict[str, Any] = {"abs": functions.absolute, "min": functions.minimum, "max": functions.maximum}
UNKNOWN = constant(0.0, math.inf)
"""What may be anything."""


def _bending(what: str, operands: Sequence[Jet]) -> Jet:
    """abs, min and max with derivatives almost everywhere, and without second ones."""
    value = PLAIN[what](*(a.value for a in operands[::-1]))
    u = operands[0] if what == "abs" else operands[0] - operands[1]
    side = functions.side(u.value)
    gradient = tuple(times(side, g) for g in u.gradient)  # taylor.md, step 4d
    if what != "abs":
        a, b = operands
        half = constant(0.5 if what == "max" else -0.5)
        sums = [times(constant(0.5), plus(g, h)) for g, h in zip(a.gradient, b.gradient, strict=True)]
        gradient = tuple(plus(m, times(half, g)) for m, g in zip(sums, gradient, strict=True))  # taylor.md, step 4d
    return Jet(value, gradient, UNKNOWN, u.pairs, tuple(UNKNOWN for _ in u.pairs))


def seeds(coordinates: Sequence[TaylorModel], axes: Sequence[int] | None = None, pairs: Pairs = ()) -> list[Jet]:
    """The jets of the coordinates, ∂x_i/∂x_k = δ_ik, with derivatives along the given axes; along all by default."""
    along, none = range(len(coordinates)) if axes is None else axes, (ZERO,) * len(pairs)
    units = [tuple(ONE if i == k else ZERO for k in along) for i in range(len(coordinates))]
    return [Jet(x, unit, ZERO, pairs, none) for x, unit in zip(coordinates, units, strict=True)]


def jet_of(
    expression: Expression,
    coordinates: Sequence[TaylorModel],
    axes: Sequence[int] | None = None,
    pairs: Pairs = (),
    *,
    bends: bool = False,
) -> Jet:
    """The jet of a formula from the models of the coordinates, with derivatives along the given axes.

    abs, min and max of anything that varies are refused where derivatives are asked for: they have none where they
    bend. With `bends` the gradient is the one that they have almost everywhere, and the second derivatives may be
    anything.
    """
    inputs, d = seeds(coordinates, axes, pairs), len(coordinates if axes is None else axes)
    doubts = Doubts()

    def call(kind: str, what: Any, operands: list[Jet]) -> Jet:
        if kind == "negate":
            return -operands[0]
        if what in PLAIN:
            if bends and not all(a.flat for a in operands):
                return _bending(what, operands)
            if not all(a.flat for a in operands):
                raise InputError(
                    f"{expression.name}: {what} has no second derivatives, which '{expression.text[:60]}' needs; "
                    "write a smooth formula"
                )
            return Jet.constant(PLAIN[what](*(a.value for a in operands[::-1])), d)
        jet = operands[0].bent(FUNCTIONS[what]) if kind == "function" else _OPERATORS[what](*operands)
        if what in PARTIAL:
            doubts.watch(what, (), jet.value)
        return jet

    leaf = leaves(expression, inputs, lambda value, error: Jet.constant(constant(value, error), d))
    return expression.fold(leaf, call).under(doubts)


def _raised(a: Jet, b: Jet) -> Jet:
    """a^b: a function of a for a number b, else exp(b log a)."""
    if a.flat and b.flat:
        return Jet.constant(functions.power(a.value, b.value), len(a.gradient))
    if b.flat:
        return a.bent(power(b.value))
    return (b * a.bent(log)).bent(exp)


_OPERATORS: dict[str, Callable[[Jet, Jet], Jet]] = {
    "+": Jet.__add__,
    "-": Jet.__sub__,
    "*": Jet.__mul__,
    "/": Jet.__truediv__,
    "**": _raised,
}
