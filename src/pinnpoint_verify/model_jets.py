"""Formulas on boxes with their derivatives, each a polynomial with a remainder: a walk that carries models along."""

from __future__ import annotations

import ast
import math
from typing import Any

import numpy as np

from pinnpoint_verify.checker import TINY, UNIT, Ball, up
from pinnpoint_verify.discs import SMOOTH
from pinnpoint_verify.formulas import is_exact, syntax
from pinnpoint_verify.models import Model, bent, flat, space
from pinnpoint_verify.network_models import tanh
from pinnpoint_verify.reader import Array, need


class Jet:
    """A function with its first derivatives in all coordinates and pure second ones in those of space; None is zero."""

    def __init__(self, v: Model, g: list[Model | None], h: list[Model | None]) -> None:
        self.v, self.g, self.h = v, g, h

    def __add__(self, b: Jet) -> Jet:
        return Jet(
            self.v + b.v, *([_plus(x, y) for x, y in zip(c, d, strict=True)] for c, d in ((self.g, b.g), (self.h, b.h)))
        )

    def __neg__(self) -> Jet:
        return Jet(-self.v, *([None if x is None else -x for x in each] for each in (self.g, self.h)))

    def scaled(self, c: Ball) -> Jet:
        """A multiple by a number."""
        return Jet(self.v.scaled(c), *([None if x is None else x.scaled(c) for x in each] for each in (self.g, self.h)))

    def __mul__(self, b: Jet) -> Jet:
        g = [_plus(_times(x, b.v), _times(y, self.v)) for x, y in zip(self.g, b.g, strict=True)]
        h = []
        for i, (x, y) in enumerate(zip(self.h, b.h, strict=True)):
            cross = _times(self.g[i], b.g[i])
            h.append(
                _plus(_plus(_times(x, b.v), _times(y, self.v)), None if cross is None else cross.scaled(Ball(2.0)))
            )
        return Jet(self.v * b.v, g, h)

    def bent(self, name: str) -> Jet:
        """A function of it."""
        if name == "tanh" and all(x is None for x in self.g):
            return Jet(tanh(self.v)[0], self.g, self.h)
        if all(x is None for x in self.g):
            return Jet(bent(self.v, name, 1)[0], self.g, self.h)
        if name == "tanh":  # h′ = 1 − t², h″ = −2t(1 − t²)
            v, first = tanh(self.v)
            second = (v * first).scaled(Ball(-2.0))
        else:
            v, first, second = bent(self.v, name)
        h = [_plus(_times(x, first), _times(_times(y, y), second)) for x, y in zip(self.h, self.g, strict=False)]
        return Jet(v, [_times(x, first) for x in self.g], h)


def _plus(a: Model | None, b: Model | None) -> Model | None:
    return b if a is None else a if b is None else a + b


def _times(a: Model | None, b: Model | None) -> Model | None:
    return None if a is None or b is None else a * b


def coordinates(
    low: Array, high: Array, offset: Array, sign: Array, fixed: dict[int, float], D: int, q: int
) -> list[Model]:
    """Models of D coordinates, offset + sign · b with b in boxes (n, free), those in `fixed` constant."""
    n, free = low.shape
    S, found, k = space(free, q), list[Model](), 0
    for i in range(D):
        C, e = np.zeros((len(S.degree), n)), np.zeros(n)
        if i in fixed:
            C[0] = fixed[i]
        else:
            middle, half = Ball(low[:, k]) * 0.5 + Ball(high[:, k]) * 0.5, (Ball(high[:, k]) - Ball(low[:, k])) * 0.5
            place = middle * sign[i] + offset[i]
            unit = int(np.flatnonzero((S.degree == 1) & (S.powers[:, k] == 1))[0])
            C[0], C[unit], e, k = place.m, half.m * sign[i], up(place.r + half.r), k + 1
        found.append(Model(S, C, e))
    return found


def jets(X: list[Model], d: int) -> list[Jet]:
    """The coordinates themselves; d of them are space."""
    one = flat(X[0], Ball(np.ones_like(X[0].e)))
    return [Jet(x, [one if i == j else None for j in range(len(X))], [None] * d) for i, x in enumerate(X)]


def formula(given: Any, X: list[Jet], names: tuple[str, ...]) -> Jet:
    """A number, or a formula of the coordinates."""

    def number(c: Ball) -> Jet:
        like = X[0].v
        return Jet(
            flat(like, Ball(np.full_like(like.e, float(c.m)), np.full_like(like.e, float(c.r)))),
            [None] * len(X),
            [None] * len(X[0].h),
        )

    def walk(node: Any) -> Jet:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            v = float(node.value)  # checking.md, step 1c
            return number(Ball(v, 0.0 if is_exact(node, str(given)) else UNIT * abs(v) + TINY))
        if isinstance(node, ast.Name) and node.id in ("pi", "e"):
            return number(Ball(getattr(math, node.id), 4.0 * UNIT))
        if isinstance(node, ast.Name) and node.id in names:
            return X[names.index(node.id)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return -walk(node.operand) if isinstance(node.op, ast.USub) else walk(node.operand)
        if isinstance(node, ast.BinOp):
            return joined(node.op, walk(node.left), walk(node.right), node.right)
        known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1
        need(known and node.func.id in {*SMOOTH, "sqrt"}, "formula: a part that is not followed on boxes")
        return walk(node.args[0]).bent(node.func.id)

    def joined(op: ast.operator, a: Jet, b: Jet, right: Any) -> Jet:
        if isinstance(op, ast.Add | ast.Sub):
            return a + (b if isinstance(op, ast.Add) else -b)
        if isinstance(op, ast.Mult | ast.Div):
            return a * (b if isinstance(op, ast.Mult) else b.bent("inverse"))
        need(isinstance(op, ast.Pow), "formula: unknown part")
        k = right.value if isinstance(right, ast.Constant) else None
        if (
            isinstance(right, ast.UnaryOp)
            and isinstance(right.op, ast.USub)
            and isinstance(right.operand, ast.Constant)
        ):
            k = -right.operand.value if isinstance(right.operand.value, int | float) else None
        if isinstance(k, int | float) and float(k).is_integer() and 0 < abs(k) <= 32:
            found = a
            for _ in range(int(abs(k)) - 1):
                found = found * a
            return found if k > 0 else found.bent("inverse")
        return (b * a.bent("log")).bent("exp")

    return walk(syntax(given)) if isinstance(given, str) else number(Ball(float(given)))
