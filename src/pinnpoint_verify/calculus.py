"""Formulas as trees that know their numbers, sums and products of them, and their derivatives (docs/checking.md, 1).

A tree keeps of each number whether it is a float as it is written, so that parts of several formulas can be joined.
Parts are shared, not copied: whoever walks over a tree may keep the value of each node by its identity.
"""

from __future__ import annotations

import ast
from decimal import Decimal
from functools import cache
from typing import Any

from pinnpoint_verify.formulas import is_exact, syntax
from pinnpoint_verify.reader import Refused, need

Tree = ast.expr
NAMES = ("x", "y", "z")


class Kink(Exception):  # noqa: N818
    """A part has no derivative that is a formula."""


def number(v: float) -> Tree:
    """A float, as it is."""
    node = ast.Constant(value=float(v))
    node.exact = True  # type: ignore[attr-defined]
    return node


@cache
def _read(text: str) -> Tree:
    tree = syntax(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            node.exact = is_exact(node, text)  # type: ignore[attr-defined]
    return tree


def parsed(given: Any) -> Tree:
    """The tree of a formula, of a number, or a tree itself."""
    if isinstance(given, ast.expr):
        return given
    return _read(given) if isinstance(given, str) else number(given)


def is_zero(a: Any) -> bool:
    """Whether a tree is the number zero."""
    return isinstance(a, ast.Constant) and a.value == 0


def _is_one(a: Any) -> bool:
    return isinstance(a, ast.Constant) and a.value == 1


def plus(*parts: Any) -> Tree:
    """A sum; zeros are left out."""
    found = number(0.0)
    for part in map(parsed, parts):
        both = ast.BinOp(left=found, op=ast.Add(), right=part)
        found = part if is_zero(found) else found if is_zero(part) else both
    return found


def times(*parts: Any) -> Tree:
    """A product; ones are left out."""
    found = number(1.0)
    for part in map(parsed, parts):
        if is_zero(found) or is_zero(part):
            return number(0.0)
        both = ast.BinOp(left=found, op=ast.Mult(), right=part)
        found = part if _is_one(found) else found if _is_one(part) else both
    return found


def minus(a: Any) -> Tree:
    """−a."""
    return a if is_zero(a) else ast.UnaryOp(op=ast.USub(), operand=parsed(a))


def _power(a: Tree, k: int) -> Tree:
    return a if k == 1 else ast.BinOp(left=a, op=ast.Pow(), right=number(k))


def _call(name: str, a: Tree) -> Tree:
    return ast.Call(func=ast.Name(id=name), args=[a], keywords=[])


def _over(a: Tree, b: Tree) -> Tree:
    return ast.BinOp(left=a, op=ast.Div(), right=b)


def _slope(name: str, a: Tree, own: Tree) -> Tree:
    """The derivative of a function at a; `own` is its value."""
    one, square = number(1.0), _power(a, 2)
    rest = {
        "exp": lambda: own,
        "log": lambda: _over(one, a),
        "sin": lambda: _call("cos", a),
        "cos": lambda: minus(_call("sin", a)),
        "tan": lambda: plus(one, _power(own, 2)),
        "sinh": lambda: _call("cosh", a),
        "cosh": lambda: _call("sinh", a),
        "tanh": lambda: plus(one, minus(_power(own, 2))),
        "atan": lambda: _over(one, plus(one, square)),
        "sqrt": lambda: _over(number(0.5), own),
        "asin": lambda: _over(one, _call("sqrt", plus(one, minus(square)))),
        "acos": lambda: minus(_over(one, _call("sqrt", plus(one, minus(square))))),
    }
    if name not in rest:
        raise Kink(name)
    return rest[name]()


def derivative(given: Any, axis: int, known: dict[int, Tree] | None = None) -> Tree:
    """Of a formula along an axis; parts that were met before are shared. Raises `Kink` at abs, min and max."""
    known = {} if known is None else known

    def walk(node: Any) -> Tree:
        if id(node) not in known:
            known[id(node)] = rule(node)
        return known[id(node)]

    def rule(node: Any) -> Tree:
        if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in ("pi", "e")):
            return number(0.0)
        if isinstance(node, ast.Name):
            need(node.id in NAMES, "formula: unknown part")
            return number(float(node.id == NAMES[axis]))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return minus(walk(node.operand)) if isinstance(node.op, ast.USub) else walk(node.operand)
        if isinstance(node, ast.BinOp):
            return joined(node)
        need(isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args, "formula: unknown part")
        inner = [walk(a) for a in node.args]
        if all(is_zero(a) for a in inner):
            return number(0.0)
        return times(_slope(node.func.id, node.args[0], node), inner[0])

    def joined(node: ast.BinOp) -> Tree:
        a, b, u, v = node.left, node.right, walk(node.left), walk(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            return plus(u, v if isinstance(node.op, ast.Add) else minus(v))
        if isinstance(node.op, ast.Mult):
            return plus(times(u, b), times(a, v))
        if isinstance(node.op, ast.Div):  # u/b − (a/b) v/b
            first = number(0.0) if is_zero(u) else _over(u, b)
            return first if is_zero(v) else plus(first, minus(times(node, _over(v, b))))
        need(isinstance(node.op, ast.Pow), "formula: unknown part")
        if is_zero(u) and is_zero(v):
            return number(0.0)
        if is_zero(v):
            return times(b, lowered(a, b), u)
        return times(node, plus(times(v, _call("log", a)), times(b, _over(u, a))))

    def lowered(a: Tree, b: Tree) -> Tree:
        """a^{b − 1}; the exponent is exact where it is a number as it is written."""
        sign, bare = (-1, b.operand) if isinstance(b, ast.UnaryOp) and isinstance(b.op, ast.USub) else (1, b)
        if isinstance(bare, ast.Constant) and getattr(bare, "exact", False):
            less = sign * Decimal(float(bare.value)) - 1  # type: ignore[arg-type]
            if Decimal(float(less)) == less:
                return number(1.0) if less == 0 else ast.BinOp(left=a, op=ast.Pow(), right=number(float(less)))
        return _over(ast.BinOp(left=a, op=ast.Pow(), right=b), a)

    try:
        return walk(parsed(given))
    except RecursionError as error:
        raise Refused("formula: cannot be read") from error
