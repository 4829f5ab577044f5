"""Formulas of one variable u: derivatives by the rules of calculus, and bounds on the whole real line."""

from __future__ import annotations

import ast
import math
from decimal import Decimal
from typing import Any

from pinnpoint_verify.formulas import is_exact, syntax
from pinnpoint_verify.reader import Refused, larger, need, smaller

INNER = {
    "exp": "exp({0})",
    "sin": "cos({0})",
    "cos": "(-sin({0}))",
    "sinh": "cosh({0})",
    "cosh": "sinh({0})",
    "tanh": "(1-tanh({0})**2)",
    "atan": "(1/(1+({0})**2))",
    "log": "(1/({0}))",
    "sqrt": "(0.5/sqrt({0}))",
}
"""Derivatives of functions at a formula."""
Range = tuple[float, float]
WIDE = 1e-12
"""How far ends are moved outwards, of their size: more than any rounding here."""


def readable(text: Any) -> str:
    """A formula of u alone whose numbers survive being written again."""
    need(isinstance(text, str), "g: no formula")
    tree, found = syntax(text), str(text).strip()
    for node in ast.walk(tree):
        known = not isinstance(node, ast.Name) or node.id in {"u", "pi", "e", *INNER}
        need(known, f"g: {getattr(node, 'id', '')!r} is not known here")
        if isinstance(node, ast.Constant) and not is_exact(node, text):
            said = ast.get_source_segment(found, node)
            need(Decimal(said or "nan") == Decimal(repr(node.value)), "g: a number with too many digits")
    return found


def derivative(text: str) -> str:
    """The derivative by u."""
    try:
        return _slope(syntax(text))
    except RecursionError as error:
        raise Refused("g: cannot be read") from error


def _slope(node: Any) -> str:
    if isinstance(node, ast.Constant):
        return "0"
    if isinstance(node, ast.Name):
        return "1" if node.id == "u" else "0"
    if isinstance(node, ast.UnaryOp):
        inner = _slope(node.operand)
        return inner if isinstance(node.op, ast.UAdd) or inner == "0" else f"(-{inner})"
    if isinstance(node, ast.BinOp):
        return _joined(node)
    need(isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1, "g: unknown part")
    need(node.func.id in INNER, f"g: {node.func.id} is not differentiated here")
    return _times(INNER[node.func.id].format(ast.unparse(node.args[0])), _slope(node.args[0]))


def _joined(node: ast.BinOp) -> str:
    """Sums, products, quotients, and whole powers."""
    a, b, da = ast.unparse(node.left), ast.unparse(node.right), _slope(node.left)
    if isinstance(node.op, ast.Pow):
        power = _number(node.right)
        need(power is not None and float(power).is_integer() and abs(power) <= 64, "g: a power that is no number")
        n = int(power)  # type: ignore[arg-type]
        return (
            "0" if n == 0 else da if n == 1 else _times(f"{n}*({a})**{n - 1}" if n > 0 else f"{n}/({a})**{1 - n}", da)
        )
    db = _slope(node.right)
    if isinstance(node.op, ast.Add | ast.Sub):
        sign = "+" if isinstance(node.op, ast.Add) else "-"
        return da if db == "0" else (db if sign == "+" else f"(-{db})") if da == "0" else f"({da}{sign}{db})"
    if isinstance(node.op, ast.Mult):
        one, two = _times(da, f"({b})"), _times(db, f"({a})")
        return two if one == "0" else one if two == "0" else f"({one}+{two})"
    need(isinstance(node.op, ast.Div), "g: unknown part")
    if db == "0":
        return "0" if da == "0" else f"({da}/({b}))"
    below = f"({b})**2"
    return f"(-({a})*{db}/{below})" if da == "0" else f"(({da}*({b})-({a})*{db})/{below})"


def _times(a: str, b: str) -> str:
    if "0" in (a, b):
        return "0"
    return b if a == "1" else a if b == "1" else f"({a}*{b})"


def _number(node: Any) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


def on_the_line(text: str) -> Range:
    """Numbers, or infinities, that a formula of u lies between for every real u."""
    return _range(syntax(text))


def _range(node: Any) -> Range:
    value = _number(node) if isinstance(node, ast.Constant) else None
    if value is not None:
        whole = value.is_integer() and abs(value) < 2.0**53  # no rounding
        return (value, value) if whole else _out(value, value)
    if isinstance(node, ast.Name):
        return (-math.inf, math.inf) if node.id == "u" else _out(*[getattr(math, node.id)] * 2)
    if isinstance(node, ast.UnaryOp):
        low, high = _range(node.operand)
        return (-high, -low) if isinstance(node.op, ast.USub) else (low, high)
    if isinstance(node, ast.BinOp):
        return _combined(node, _range(node.left), _range(node.right))
    return _called(node.func.id, *_range(node.args[0]))


def _combined(node: ast.BinOp, a: Range, b: Range) -> Range:
    if isinstance(node.op, ast.Add):
        return _out(a[0] + b[0], a[1] + b[1])
    if isinstance(node.op, ast.Sub):
        return _out(a[0] - b[1], a[1] - b[0])
    if isinstance(node.op, ast.Pow):
        return _power(a, int(_number(node.right) or 0.0))
    if isinstance(node.op, ast.Div):
        need(b[0] > 0.0 or b[1] < 0.0, "g: a quotient that may have a pole")
        ends = sorted(0.0 if math.isinf(x) else 1.0 / x for x in b)
        return _product(a, _out(ends[0], ends[1]))
    if ast.dump(node.left) == ast.dump(node.right):
        return _power(a, 2)
    return _product(a, b)


def _product(a: Range, b: Range) -> Range:
    ends = [0.0 if x == 0.0 or y == 0.0 else x * y for x in a for y in b]
    return _out(smaller(ends), larger(ends))


def _power(a: Range, n: int) -> Range:
    if n < 0:
        low, high = _power(a, -n)
        need(low > 0.0 or high < 0.0, "g: a quotient that may have a pole")
        ends = sorted(0.0 if math.isinf(x) else 1.0 / x for x in (low, high))
        return _out(ends[0], ends[1])
    sizes = [_capped(lambda x=x: abs(x) ** n) for x in a]
    if n == 0:
        return 1.0, 1.0
    if all(size in (0.0, 1.0, math.inf) for size in sizes):  # powers of these are not rounded
        least = 0.0 if a[0] <= 0.0 <= a[1] else smaller(sizes)
        return (math.copysign(sizes[0], a[0]), math.copysign(sizes[1], a[1])) if n % 2 else (least, larger(sizes))
    if n % 2:
        return _out(math.copysign(sizes[0], a[0]), math.copysign(sizes[1], a[1]))
    return _out(0.0 if a[0] <= 0.0 <= a[1] else smaller(sizes), larger(sizes))


def _called(name: str, low: float, high: float) -> Range:
    if name in ("sin", "cos"):
        return -1.0, 1.0
    if name == "cosh":
        near, far = sorted((abs(low), abs(high)))
        least = 1.0 if low <= 0.0 <= high else larger(1.0, _least(lambda: math.cosh(near)))
        return least, _out(0.0, _capped(lambda: math.cosh(far)))[1]
    if name == "tanh":
        found = _out(math.tanh(low), math.tanh(high))
        return larger(-1.0, found[0]), smaller(1.0, found[1])
    if name in ("sqrt", "log"):
        need(low > 0.0, f"g: {name} of what may be below zero")
    f = getattr(math, name)
    found = _out(_least(lambda: f(low)), _capped(lambda: f(high)))
    return (larger(0.0, found[0]), found[1]) if name in ("exp", "sqrt") else found


def _capped(f: Any) -> float:
    """A value as an upper end: infinite where it is beyond all floats."""
    try:
        return float(f())
    except OverflowError:
        return math.inf


def _least(f: Any) -> float:
    """A value as a lower end."""
    try:
        return float(f())
    except OverflowError:  # of what rises: far above, or far below
        return -math.inf


def _out(low: float, high: float) -> Range:
    """Ends moved outwards; what is no number is unbounded, and zero stays."""
    low, high = (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
    return low - WIDE * abs(low) if math.isfinite(low) else -math.inf, (
        high + WIDE * abs(high) if math.isfinite(high) else math.inf
    )
