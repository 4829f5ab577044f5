"""Formulas of a case, read and evaluated by a walk over their syntax tree: nothing is executed."""

from __future__ import annotations

import ast
import math
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from pinnpoint_verify.reader import Array, Refused, need

FUNCTIONS = {n: getattr(np, n) for n in "sin cos tan sinh cosh tanh exp log sqrt abs".split()}
FUNCTIONS |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "min": np.minimum, "max": np.maximum}
BINARY = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power}


def formula(given: Any, X: Array) -> Array:
    """A number, or a formula in x, y, z at points (…, d): a walk over its syntax tree, nothing is executed."""

    def walk(node: Any) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in ("pi", "e"):
            return getattr(math, node.id)
        if isinstance(node, ast.Name) and node.id in ("x", "y", "z")[: X.shape[-1]]:
            return X[..., "xyz".index(node.id)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            return walk(node.operand) * (-1.0 if isinstance(node.op, ast.USub) else 1.0)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](walk(node.left), walk(node.right))
        known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
        need(known and node.args, "formula: unknown part")
        first, *more = [walk(a) for a in node.args]
        f = FUNCTIONS[node.func.id]
        if node.func.id not in ("min", "max"):
            need(not more, "formula: a function of one number")
            return f(first)
        for a in more:
            first = f(first, a)
        return first

    if isinstance(given, str):
        try:
            given = walk(syntax(given))
        except RecursionError as error:
            raise Refused("formula: cannot be read") from error
    return np.broadcast_to(np.asarray(given, dtype=float), X.shape[:-1])


def plain(given: Any) -> Any:
    """What a case says of data: a number where no coordinate enters, else the text."""
    if not isinstance(given, str):
        return given
    names = {node.id for node in ast.walk(syntax(given)) if isinstance(node, ast.Name)}
    if names & {"x", "y", "z"}:
        return given.strip()
    from pinnpoint_verify.checker import Ball
    from pinnpoint_verify.discs import Walk

    with np.errstate(all="ignore"):
        number = float(formula(given, np.zeros((1, 3)))[0])
    need(math.isfinite(number), f"formula: {given.strip()[:60]!r} is not finite")
    real = Walk(given, [Ball(np.zeros(1))]).value  # of decimals as they are written; 1e16 + 1 - 1e16 is 1
    off = float(real.r[0]) + abs(float(real.m[0]) - number)
    need(off <= 1e-13 * abs(number) + 1e-200, f"formula: {given.strip()[:60]!r} loses its digits in binary64")
    return number


def lone(given: Any, d: int) -> Any:
    """On a line the one entry of a matrix, which is that number; anything else as it is given."""
    of_one = d == 1 and isinstance(given, list) and len(given) == 1
    return given[0][0] if of_one and isinstance(given[0], list) and len(given[0]) == 1 else given


def syntax(text: str) -> ast.expr:
    """The tree of a formula."""
    need(len(text) <= 2000, "formula: too long")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, ValueError, MemoryError) as error:
        raise Refused("formula: cannot be read") from error


def is_exact(node: ast.Constant, text: str) -> bool:
    """Whether a number of a formula is a float as it is written."""
    if isinstance(node.value, int):
        return abs(node.value) <= 2**53
    try:
        return Decimal(ast.get_source_segment(text.strip(), node) or "nan") == Decimal(float(node.value))  # type: ignore[arg-type]
    except (InvalidOperation, ValueError):
        return False
