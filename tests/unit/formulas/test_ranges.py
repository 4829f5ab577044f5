"""Formulas drawn by hypothesis, alike in every run, mean what Python means and lie in the range that is proved."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="pip install hypothesis")

from hypothesis import assume, given
from hypothesis import strategies as st

from pinnpoint.formulas.expressions import parse
from pinnpoint.formulas.signs import bounds
from tests.support.properties import same


def formulas(marks, exponents):
    """Texts of formulas in u with whole numbers, with brackets and without."""

    def larger(texts):
        pair = st.tuples(texts, st.sampled_from(marks), texts).map("".join)
        power = st.builds("({})**{}".format, texts, exponents)
        return pair | pair.map("({})".format) | power | texts.map("-{}".format)

    return st.recursive(st.integers(0, 20).map(str) | st.just("u"), larger, max_leaves=8)


def exactly(text, u):
    """The value of a formula as Python reads it, in fractions."""
    return eval(re.sub(r"(?<!\*\*)\b(\d+)", r"Fraction(\1)", text), {"Fraction": Fraction, "u": Fraction(u)})


@same
@given(formulas("+-*", st.integers(0, 3)), st.integers(-9, 9))
def test_a_formula_means_what_python_means(text, u):
    largest = exactly(text.replace("-", "+"), abs(u))
    assume(largest < 2**53)  # then floats are whole numbers, and exact
    assert parse(text, ("u",))(np.array([[float(u)]]))[0] == exactly(text, u)


@same
@given(formulas("+-*/", st.integers(0, 4)), st.fractions(-100, 100, max_denominator=1000))
def test_values_lie_in_the_range_that_is_proved(text, u):
    proved = bounds(parse(text, ("u",)))
    assume(proved is not None)  # else it may be undefined; where it is proved, no denominator is zero
    assert proved[0] <= exactly(text, u) <= proved[1]
