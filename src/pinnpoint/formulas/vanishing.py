"""Formulas on flat sets in exact arithmetic: where one is proved to vanish, or to equal another.

Values are polynomials with rational coefficients in coordinates of the set and in *atoms*, the functions of such
polynomials that have no simpler form. What comes out as zero is zero; what does not may still be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from pinnpoint.formulas.expressions import CONSTANTS, Expression

Atom = tuple[Any, ...]
Polynomial = dict[tuple[tuple[Atom, int], ...], Fraction]
"""From products of powers of atoms to coefficients that are not zero."""
MOST = 400
"""Terms; longer polynomials are not followed."""
PI: Atom = ("pi",)
ODD = ("sin", "tan", "asin", "atan", "sinh", "tanh", "sqrt", "abs")
"""Functions that vanish at zero."""


class TooLongError(Exception):
    """A polynomial has too many terms to be followed."""


def number(value: Fraction | float) -> Polynomial:
    """A constant."""
    exact = Fraction(value)
    return {(): exact} if exact else {}


def atom(*what: Any) -> Polynomial:
    """A quantity of which nothing is known but its name."""
    return {((tuple(what), 1),): Fraction(1)}


def plus(a: Polynomial, b: Polynomial) -> Polynomial:
    """The sum."""
    sums = dict(a)
    for term, coefficient in b.items():
        total = sums.pop(term, Fraction(0)) + coefficient
        if total:
            sums[term] = total
    return sums


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product."""
    if len(a) * len(b) > MOST:
        raise TooLongError
    product: Polynomial = {}
    for one, x in a.items():
        for two, y in b.items():
            powers = dict(one)
            for what, n in two:
                powers[what] = powers.get(what, 0) + n
            product = plus(product, {tuple(sorted(powers.items(), key=repr)): x * y})
    return product


def minus(a: Polynomial, b: Polynomial) -> Polynomial:
    """The difference."""
    return plus(a, {term: -coefficient for term, coefficient in b.items()})


def restricted(f: Expression, coordinates: Sequence[Polynomial]) -> Polynomial:
    """A formula where its coordinates are these polynomials; it is taken to be defined there.

    *Raises* `TooLongError` where that is not followed to its end.
    """
    words = iter(f.literals)

    def leaf(kind: str, what: Any) -> Polynomial:
        if kind != "number":
            return coordinates[int(what)]
        word = next(words)
        if word in CONSTANTS or len(word) > 60 or abs(int(word.lower().partition("e")[2] or 0)) > 300:
            return atom(word)
        return number(Fraction(word))

    return f.fold(leaf, _called)


def _called(kind: str, what: Any, operands: list[Polynomial]) -> Polynomial:
    a, b = operands[0], operands[-1]
    if kind == "negate":
        return minus({}, a)
    if kind == "function":
        return _function(str(what), a)
    known: dict[str, Callable[[], Polynomial]] = {
        "+": lambda: plus(a, b),
        "-": lambda: minus(a, b),
        "*": lambda: times(a, b),
        "/": lambda: _quotient(a, b),
        "**": lambda: _power(a, b),
    }
    return known[what]() if what in known else atom(what, _key(a), _key(b))


def _function(name: str, a: Polynomial) -> Polynomial:
    turns = a.get(((PI, 1),)) if len(a) == 1 else Fraction(0) if not a else None
    if not a and name in ODD:
        return {}
    if not a and name in ("cos", "cosh", "exp"):
        return number(1)
    if turns is not None and turns.denominator == 1 and name in ("sin", "tan", "cos"):
        return number(1 - 2 * (turns.numerator % 2)) if name == "cos" else {}
    if name == "log" and a == number(1):
        return {}
    return atom(name, _key(a))


def _quotient(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(b) == 1 and () in b:
        return times(a, number(1 / b[()]))
    return times(a, atom("1/", _key(b)))


def _power(a: Polynomial, b: Polynomial) -> Polynomial:
    exponent = b.get((), Fraction(0)) if not b or (len(b) == 1 and () in b) else None
    if exponent is None or exponent < 0:
        return atom("**", _key(a), _key(b))
    if not a and exponent > 0:
        return {}
    if exponent.denominator != 1 or exponent > 32:
        return atom("**", _key(a), _key(b))
    power = number(1)
    for _ in range(int(exponent)):
        power = times(power, a)
    return power


def _key(a: Polynomial) -> tuple[Any, ...]:
    """A polynomial as a name; equal polynomials have equal ones."""
    return tuple(sorted(a.items(), key=repr))
