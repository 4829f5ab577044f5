"""Where formulas vanish on flat sets, in exact arithmetic: what is said to be zero is zero."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pinnpoint.formulas.expressions import parse
from pinnpoint.formulas.vanishing import TooLongError, atom, minus, number, plus, restricted, times

X, Y = atom("x", 0), atom("x", 1)


@pytest.mark.parametrize(
    ("text", "x", "zero"),
    [
        ("x*(1-x)*exp(y)", 1, True),
        ("x*(1-x)*exp(y)", 0.5, False),
        ("sin(pi*x)*y", 1, True),
        ("sin(pi*x)*y", 0.5, False),
        ("1+cos(3*pi*x)", 1, True),
        ("1-cos(2*pi*x)", 1, True),
        ("1+cos(2*pi*x)", 1, False),
        ("tanh(x)+sqrt(x)+abs(x)+atan(x)+sinh(x)+tan(x)+asin(x)", 0, True),
        ("cosh(x)-exp(x)+log(1+x)", 0, True),
        ("acos(x)", 0, False),
        ("(y+x)**3-y**3", 0, True),
        ("(y+x)**3-y**3-3*x*y**2-3*x**2*y-x**3", 7, True),
        ("x**0.5*y", 0, True),
        ("x**0", 0, False),
        ("sin(y+x)/(2+y)-sin(y)/(y+2)", 0, True),
        ("sin(y+x)-sin(2*y)", 0, False),
        ("0.1*x-0.1", 1, True),
        ("3*x-1", 1 / 3, False),  # the float is no third
        ("max(x,y)-max(0,y)", 0, True),
        ("max(x,y)-max(y,0)", 0, False),  # true, and not seen
        ("-x+x*1e2/100", 3, True),
        ("x-1.00000000000000000000000000001", 1, False),
        ("e-2.718281828459045", 0, False),
    ],
)
def test_on_a_line(text, x, zero):
    f = parse(text)
    assert (not restricted(f, [number(x), Y])) is zero
    if zero:
        assert np.abs(f(np.array([[x, y] for y in (0.3, 0.7, 1.1)]))).max() < 1e-12


def test_on_a_slanted_segment():
    """x + 2y = 1 between (1, 0) and (0, ½)."""
    s = atom("s", 0)
    place = [minus(number(1), s), times(number(Fraction(1, 2)), s)]
    assert not restricted(parse("(1-x-2*y)*exp(x*y)"), place)
    assert restricted(parse("(1-x-2.0001*y)*exp(x*y)"), place)


def test_long_polynomials_are_not_followed():
    with pytest.raises(TooLongError):
        restricted(parse("(x+y+1)**30*(x-y+2)**30"), [X, Y])


def test_arithmetic():
    one = plus(X, Y)
    assert times(one, minus(X, Y)) == minus(times(X, X), times(Y, Y))
    assert minus(one, one) == {} == number(0)
