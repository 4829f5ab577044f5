"""Formulas: what they mean, and that nothing else is a formula."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.formulas.expressions import MAX_LENGTH, parse

RNG = np.random.default_rng(3)
X = RNG.uniform(0.1, 0.9, (50, 3))
x, y, z = X.T

MEANING = {
    "1": np.ones(50),
    "-2.5e-1": np.full(50, -0.25),
    ".5 + 1. - 1E2": np.full(50, -98.5),
    "x*(1-x)*y*(1-y)": x * (1 - x) * y * (1 - y),
    "-x**2": -(x**2),
    "2**-x": 2**-x,
    "2**3**2": np.full(50, 512.0),
    "x - y - z": (x - y) - z,
    "x / y / z": (x / y) / z,
    "x / y * z": (x / y) * z,
    "--x + +y": x + y,
    "sin(pi*x)*cos(2*pi*y)": np.sin(np.pi * x) * np.cos(2 * np.pi * y),
    "tan(x)+asin(y)-acos(z)+atan(x)": np.tan(x) + np.arcsin(y) - np.arccos(z) + np.arctan(x),
    "sinh(x)+cosh(y)-tanh(z)": np.sinh(x) + np.cosh(y) - np.tanh(z),
    "exp(-x)+log(y)+sqrt(z)+abs(-x)": np.exp(-x) + np.log(y) + np.sqrt(z) + np.abs(-x),
    "min(x, y, z) + max(x, 0.5)": np.minimum(np.minimum(x, y), z) + np.maximum(x, 0.5),
    "e**x": np.e**x,
    "+".join(["x"] * 900): 900 * x,
    " ( ( x ) ) ": x,
}


@pytest.mark.parametrize("text", MEANING)
def test_formulas_mean_what_mathematics_says(text):
    expression = parse(text)
    np.testing.assert_allclose(expression(X), MEANING[text], rtol=1e-12)
    assert expression(X).dtype == np.float64
    np.testing.assert_array_equal(parse(expression.text)(X), expression(X))


def test_numbers_variables_and_constants():
    assert parse(3).text == "3.0"
    assert parse(-0.5).constant == -0.5
    assert parse("2*pi").constant == pytest.approx(2 * np.pi)
    assert parse("x + z").constant is None
    assert parse("z + x").variables_used == ("x", "z")
    assert parse("1").variables_used == ()
    assert parse("t*x", ("x", "t"))([[2.0, 3.0]]) == 6.0
    assert parse(2.0)(np.zeros((0, 2))).shape == (0,)
    np.testing.assert_array_equal(parse("x")([1.0, 2.0]), [1.0, 2.0])  # points on a line


def test_an_expression_is_a_value():
    assert parse("x+1") == parse("x+1", name="source") != parse("x+2")
    assert pickle.loads(pickle.dumps(parse("sin(x)")))([[0.5]]) == np.sin(0.5)


REFUSED = {
    "caret": ("x^2", r"'\^' at position 2: use \*\*"),
    "import": ("__import__('os').system('true')", "not part of a formula"),
    "attribute": ("x.real", r"'\.' at position 2"),
    "subscript": ("x[0]", r"'\[' at position 2"),
    "lambda": ("lambda: 1", "':' at position 7"),
    "unknown call": ("exec(x)", "'exec' is not known"),
    "dunder": ("__builtins__", "'__builtins__' is not known"),
    "string": ('"x"', "not part of a formula"),
    "unknown variable": ("x + t", r"'t' is not known .*known: x, y, z, pi"),
    "other word for a function": ("ln(x)", r"did you mean log\?"),
    "typing error": ("sqr(x)", r"did you mean sqrt\?"),
    "comparison": ("x < 0.5", "comparisons are not part"),
    "implicit product": ("2x", "'x' at position 2 was not expected"),
    "implicit product of names": ("x y", "'y' at position 3 was not expected"),
    "coordinate called": ("x(1+y)", r"x is not a function; is a \* missing"),
    "function not called": ("sin", r"sin is a function; write sin"),
    "missing operand": ("x +", "the text ends"),
    "missing parenthesis": ("sin(x", "closing parenthesis is missing"),
    "stray parenthesis": ("x)", r"'\)' at position 2 was not expected"),
    "two arguments": ("sin(x, y)", "sin takes one argument; got 2"),
    "one argument": ("max(x)", "max takes two arguments"),
    "no argument": ("sin()", "was expected"),
    "integer division": ("x//2", "'/' at position 3"),
    "modulo": ("x % 2", "'%' at position 3"),
    "tuple": ("x, y", "',' at position 2"),
    "assignment": ("x = 1", "'=' at position 3"),
    "complex": ("1j", "'j' at position 2"),
    "unicode": ("π*x", "not part of a formula"),
    "empty": ("  ", "empty"),
    "too long": ("x+" * MAX_LENGTH + "x", f"at most {MAX_LENGTH} characters"),
    "too deep": ("(" * 500 + "x" + ")" * 500, "nested deeper"),
    "too many signs": ("-" * 1500 + "x", "nested deeper"),
    "too many powers": ("**".join(["x"] * 400), "nested deeper"),
    "huge number": ("1e999", "too large"),
    "many digits": ("9" * 500, "too large"),
    "bool": (True, "must be a number or a formula"),
    "list": (["x"], "must be a number or a formula"),
    "none": (None, "must be a number or a formula"),
    "nan": (float("nan"), "must be finite"),
    "infinite": (float("inf"), "must be finite"),
    "huge integer": (10**400, "must be finite"),
    "nothing left": ("1e-400*1e300*1e100*5", "1e-400 is too small for float64"),
    "digits that cancel": ("1e16+1-1e16", "its digits cancel in float64, which gives 0.0"),
    "other digits": ("1-0.9-0.1", "its digits cancel"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_formula_is_refused_by_its_key(name):
    text, words = REFUSED[name]
    with pytest.raises(InputError, match=words) as caught:
        parse(text, name="problem.source")
    assert str(caught.value).startswith("problem.source")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "points", "words"),
    [
        ("z", np.zeros((2, 2)), "z in a 2D problem, which has only x, y"),
        ("y", np.zeros((2, 1)), "y in a 1D problem"),
        ("1/x", [[1.0], [0.0]], r"1 of 2 points, the first is \[0.0\] with the value inf"),
        ("log(x)", [[-1.0]], "with the value nan"),
        ("x**0.5", [[-1.0]], "with the value nan"),
        ("9**9**9**9", [[0.0]], "with the value inf"),
        ("exp(x)", [[1e4]], "with the value inf"),
        ("1", np.zeros((2, 2, 2)), "must have shape"),
    ],
)
def test_refused_when_called(text, points, words):
    with pytest.raises(InputError, match=words):
        parse(text)(points)
