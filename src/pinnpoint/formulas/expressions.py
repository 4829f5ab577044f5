"""Formulas in x, y, z from case files: parsed by a small grammar of our own, never evaluated as code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pinnpoint.base.arrays import Vector, floats
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError

MAX_LENGTH = 2000
MAX_DEPTH = 60
CONSTANTS = {"pi": math.pi, "e": math.e}
FUNCTIONS: dict[str, Any] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
FOLDS: dict[str, Any] = {"min": np.minimum, "max": np.maximum}
OPERATORS: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": lambda a, b: a**b,  # numpy's operator squares by multiplication, np.power does not
}
CALLS = {"function": FUNCTIONS, "operator": OPERATORS, "fold": FOLDS}
OUTSIDE: dict[str, Any] = {
    "asin": lambda a: np.abs(a) > 1.0,
    "acos": lambda a: np.abs(a) > 1.0,
    "log": lambda a: a <= 0.0,
    "sqrt": lambda a: a < 0.0,
    "/": lambda a, b: b == 0.0,
    "**": lambda a, b: ((a == 0.0) & (b < 0.0)) | ((a < 0.0) & (b != np.round(b))) | np.isnan(a) | np.isnan(b),
}
"""Where functions are undefined. Others of them may hide it: atan(log(0)), exp(-1/0), NaN**0 are finite floats."""
OTHER_NAMES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "fabs": "abs", "pow": "**"}
TOKEN = re.compile(
    r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/(),]))",  # number, name, mark
    re.ASCII,
)

Step = tuple[str, Any]
LEAVES, UNARY = ("number", "variable"), ("negate", "function")
"""Kinds of steps without operands, and with one; all others have two."""
T = TypeVar("T")


@dataclass(frozen=True)
class Expression:
    """A formula in the coordinates, held as a postfix program.

    Attributes
    ----------
    text
        What was parsed; parsing it again gives the same expression.
    variables
        Names of the coordinates, in the order of the columns.
    name
        What messages call it, e.g. the key of the case file.
    """

    text: str
    variables: tuple[str, ...]
    name: str = field(compare=False)
    program: tuple[Step, ...] = field(repr=False, compare=False)

    __repr__ = brief

    @property
    def variables_used(self) -> tuple[str, ...]:
        """The coordinates that the formula depends on."""
        used = {step[1] for step in self.program if step[0] == "variable"}
        return tuple(v for i, v in enumerate(self.variables) if i in used)

    @property
    def constant(self) -> float | None:
        """The value where no coordinate enters, else None."""
        return None if self.variables_used else float(self._values(np.zeros((1, 1)))[0])

    def __call__(self, X: ArrayLike) -> Vector:
        """Values at points of shape (N, d); a plain vector holds points on a line.

        Refuses a coordinate that d columns do not have, and points where the value is not finite.
        """
        P = floats("points", X, copy=False)
        P = P[:, None] if P.ndim == 1 else P
        if P.ndim != 2:
            raise InputError(f"{self._label()}: points must have shape (N, d); got {P.shape}")
        beyond = [v for v in self.variables_used if self.variables.index(v) >= P.shape[1]]
        if beyond:
            known = ", ".join(self.variables[: P.shape[1]])
            raise InputError(f"{self._label()}: {beyond[0]} in a {P.shape[1]}D problem, which has only {known}")
        return self._values(P)

    def _values(self, P: Vector) -> Vector:
        """The values at points that have all coordinates."""
        with np.errstate(all="ignore"):
            result, outside = self._run(P)
            values = np.array(np.broadcast_to(result, len(P)))
        values[np.isfinite(values) & outside] = np.nan
        bad = ~np.isfinite(values)
        if bad.any():
            k = int(np.argmax(bad))
            raise InputError(
                f"{self._label()}: not finite at {int(bad.sum())} of {len(P)} points, the first is "
                f"{P[k].tolist()} with the value {values[k]}"
            )
        return values

    def fold(self, leaf: Callable[[str, Any], T], call: Callable[[str, Any, list[T]], T]) -> T:
        """The formula from its leaves up: ``leaf`` of numbers and variables, ``call`` of a step with its operands."""
        stack: list[T] = []
        for kind, what in self.program:
            if kind in LEAVES:
                stack.append(leaf(kind, what))
            else:
                operands = stack[-1 if kind in UNARY else -2 :]
                del stack[-len(operands) :]
                stack.append(call(kind, what, operands))
        return stack.pop()

    @property
    def literals(self) -> list[str]:
        """The numbers of the program as they stand in the text; postfix keeps operands in its order."""
        tokens = TOKEN.finditer(self.text)
        return [match.group().strip() for match in tokens if match.group(1) or match.group(2) in CONSTANTS]

    def _run(self, P: Vector) -> tuple[Any, Any]:
        """Values, and where something on the way to them is undefined."""
        outside: Any = np.False_

        def call(kind: str, what: Any, operands: list[Any]) -> Any:
            nonlocal outside
            if what in OUTSIDE:
                outside = outside | OUTSIDE[what](*operands)
            return -operands[0] if kind == "negate" else CALLS[kind][what](*operands)

        values = self.fold(lambda kind, what: np.float64(what) if kind == "number" else P[:, what], call)
        return values, outside

    def _label(self) -> str:
        return _label(self.name, self.text)


def parse(text: object, variables: Sequence[str] = ("x", "y", "z"), *, name: str = "expression") -> Expression:
    """Read a formula.

    Numbers, ``+ - * / **``, parentheses, the coordinates, ``pi``, ``e``, and sin, cos, tan, asin, acos, atan, sinh,
    cosh, tanh, exp, log, sqrt, abs, min, max.

    Parameters
    ----------
    text
        The formula; a plain number stands for itself.
    variables
        Names of the coordinates.
    name
        What messages call it.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise InputError(f"{name}: must be a number or a formula in quotes; got {type(text).__name__} {text!r}")
    if not isinstance(text, str):
        if (isinstance(text, int) and abs(text) > 2**1000) or not math.isfinite(text):
            raise InputError(f"{name}: must be finite; got {str(text)[:40]}")
        text = repr(float(text))
    if len(text) > MAX_LENGTH:
        raise InputError(f"{name}: at most {MAX_LENGTH} characters are read; got {len(text)}")
    parser = _Parser(name, text, tuple(variables))
    expression = Expression(text.strip(), tuple(variables), name, parser.run())
    _require_digits(expression)
    return expression


def _require_digits(f: Expression) -> None:
    """Refuse a formula that is a number, such as 1e16 + 1 − 1e16, whose value float64 does not have."""
    if f.variables_used:
        return
    with np.errstate(all="ignore"):
        near, far = (_number(f, kind) for kind in (np.float64, np.longdouble))
        lost = np.isfinite(far) and np.abs(far - near) > 1e-12 * np.abs(far)
    if lost:
        raise InputError(f"{f._label()}: its digits cancel in float64, which gives {float(near)!r}; write the number")


def _number(f: Expression, kind: type[np.floating[Any]]) -> Any:
    def call(step: str, what: Any, operands: list[Any]) -> Any:
        return -operands[0] if step == "negate" else CALLS[step][what](*operands)

    return f.fold(lambda _, what: kind(repr(what)), call)  # the decimals that were written


class _Parser:
    """Recursive descent with Python's precedences; emits postfix."""

    def __init__(self, name: str, text: str, variables: tuple[str, ...]) -> None:
        self.name, self.text, self.variables = name, text, variables
        self.tokens = self._tokens()
        self.at = 0
        self.depth = 0
        self.program: list[Step] = []

    def run(self) -> tuple[Step, ...]:
        if not self.tokens:
            raise self._error("empty; write a number or a formula")
        self._sum()
        if self.at < len(self.tokens):
            raise self._error(f"{self._found()} was not expected; is an operator missing before it?")
        return tuple(self.program)

    def _tokens(self) -> list[tuple[str, str, int]]:
        tokens, position, end = [], 0, len(self.text.rstrip())
        while position < end:
            match = TOKEN.match(self.text, position)
            if match is None:
                start = position + len(self.text[position:]) - len(self.text[position:].lstrip())
                raise self._error(_unreadable(self.text[start], start))
            kind = ("number", "name", "mark")[(match.lastindex or 1) - 1]
            tokens.append((kind, match.group(match.lastindex or 1), match.start(match.lastindex or 1)))
            position = match.end()
        return tokens

    def _sum(self) -> None:
        self._chain(("+", "-"), self._product)

    def _product(self) -> None:
        self._chain(("*", "/"), self._signed)

    def _chain(self, marks: tuple[str, ...], operand: Callable[[], None]) -> None:
        operand()
        while (mark := self._peek()) in marks:
            self.at += 1
            operand()
            self.program.append(("operator", mark))

    def _signed(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels")
        if (mark := self._peek()) in ("+", "-"):
            self.at += 1
            self._signed()
            if mark == "-":
                self.program.append(("negate", None))
        else:
            self._atom()
            if self._peek() == "**":
                self.at += 1
                self._signed()
                self.program.append(("operator", "**"))
        self.depth -= 1

    def _atom(self) -> None:
        kind, word = self.tokens[self.at][:2] if self.at < len(self.tokens) else ("end", "")
        if kind == "number":
            if not math.isfinite(float(word)):
                raise self._error(f"the number {word[:20]} is too large for float64")
            if float(word) == 0.0 and word.lower().partition("e")[0].strip("0."):
                raise self._error(f"the number {word[:20]} is too small for float64")
            self.program.append(("number", float(word)))
            self.at += 1
        elif kind == "name":
            self._name(word)
        elif word == "(":
            self.at += 1
            self._sum()
            self._close()
        else:
            raise self._error(f"a number, a name or a parenthesis was expected, but {self._found()}")

    def _name(self, word: str) -> None:
        called = self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][1] == "("
        if word in FUNCTIONS or word in FOLDS:
            if not called:
                raise self._error(f"{word} is a function; write {word}(…)")
            self.at += 2
            self._arguments(word)
        elif word in self.variables or word in CONSTANTS:
            if called:
                raise self._error(f"{word} is not a function; is a * missing after it?")
            step = ("variable", self.variables.index(word)) if word in self.variables else ("number", CONSTANTS[word])
            self.program.append(step)
            self.at += 1
        else:
            raise self._error(self._unknown(word))

    def _arguments(self, word: str) -> None:
        self._sum()
        count = 1
        while self._peek() == ",":
            self.at += 1
            self._sum()
            count += 1
            if word in FOLDS:
                self.program.append(("fold", word))
        self._close()
        if word in FUNCTIONS:
            if count != 1:
                raise self._error(f"{word} takes one argument; got {count}")
            self.program.append(("function", word))
        elif count < 2:
            raise self._error(f"{word} takes two arguments or more; got one")

    def _close(self) -> None:
        if self._peek() != ")":
            raise self._error(f"a closing parenthesis is missing; {self._found()}")
        self.at += 1

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _found(self) -> str:
        if self.at >= len(self.tokens):
            return "the text ends"
        _, word, position = self.tokens[self.at]
        return f"'{word}' at position {position + 1}"

    def _unknown(self, word: str) -> str:
        known = [*self.variables, *CONSTANTS, *FUNCTIONS, *FOLDS]
        close = [OTHER_NAMES[word]] if word in OTHER_NAMES else get_close_matches(word, known, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"'{word[:40]}' is not known{hint} (known: {', '.join(known)})"

    def _error(self, what: str) -> InputError:
        return InputError(f"{_label(self.name, self.text)}: {what}")


def _unreadable(character: str, position: int) -> str:
    where = f"{character!r} at position {position + 1}"
    if character == "^":
        return f"{where}: use ** for powers"
    if character in "<>=!&|":
        return f"{where}: comparisons are not part of formulas; use min, max or abs"
    return f"{where} is not part of a formula (numbers, names, + - * / ** and parentheses)"


def _label(name: str, text: str) -> str:
    return f"{name} '{text if len(text) <= 60 else text[:57] + '...'}'"
