"""Sums, balls and norms against exact fractions, for floats of every size: drawn by hypothesis, alike in every run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="pip install hypothesis")

from hypothesis import given
from hypothesis import strategies as st

from pinnpoint.rounding.arithmetic import dot_up, norm_up, sum_of, sum_up, two_prod, two_sum
from pinnpoint.rounding.balls import Ball
from tests.support.properties import numbers, same, sizes

moderate = st.floats(2.0**-400, 2.0**400) | st.floats(-(2.0**400), -(2.0**-400)) | st.just(0.0)


def total(values):
    return sum(map(Fraction, values), Fraction(0))


@same
@given(numbers, numbers)
def test_a_sum_and_its_error_are_the_sum_exactly(a, b):
    s, t = two_sum(a, b)
    assert s == a + b
    assert total([s, t]) == total([a, b])


@same
@given(moderate, moderate)
def test_a_product_and_its_error_are_the_product_exactly(a, b):
    p, e = two_prod(a, b)
    assert p == a * b
    assert total([p, e]) == Fraction(a) * Fraction(b)


@st.composite
def members(draw):
    """A ball of one number, and a member of it as a fraction: its centre or one of its ends."""
    hi, lo, err = draw(numbers), draw(st.none() | numbers), draw(st.none() | sizes)
    ball = Ball(np.array([hi]), *(None if x is None else np.array([x]) for x in (lo, err)))
    return ball, total([hi, lo or 0.0]) + draw(st.sampled_from([-1, 0, 1])) * Fraction(err or 0.0)


def radius(ball):
    return Fraction(0.0 if ball.err is None else float(ball.err[0]))


def distance(ball, truth):
    return abs(truth - total([ball.hi[0], 0.0 if ball.lo is None else ball.lo[0]]))


@same
@given(st.lists(st.tuples(members(), st.booleans()), min_size=2, max_size=6))
def test_sums_and_differences_of_balls_hold_those_of_their_members(terms):
    ball, truth = terms[0][0]
    for (other, member), minus in terms[1:]:
        ball, truth = (ball - other, truth - member) if minus else (ball + other, truth + member)
    assert distance(ball, truth) <= radius(ball)
    assert abs(truth) <= Fraction(float(ball.magnitude()[0]))
    mid, err = ball.rounded()
    assert abs(truth - Fraction(float(mid[0]))) <= Fraction(float(err[0]))


@same
@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=40))
def test_sums_products_and_norms_are_bounded_from_above(pairs):
    x, y = np.array(pairs).T
    assert total(x) <= Fraction(sum_up(x))
    assert sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0)) <= Fraction(dot_up(x, y))
    assert sum((Fraction(a) ** 2 for a in x), Fraction(0)) <= Fraction(norm_up(x)) ** 2


def test_a_long_sum_is_off_by_no_more_than_it_says_though_all_of_it_cancels():
    rng = np.random.default_rng(7)
    for n in (1, 31, 33, 1000, 4097):
        x = rng.normal(size=n) * 2.0 ** rng.integers(-60, 60, n)
        x = np.concatenate([x, -x, x * 1e-17])  # what is left is below the roundings of a plain sum
        x = rng.permutation(x)
        exact, (found, beyond) = total(x.tolist()), sum_of(x)
        assert abs(Fraction(found) - exact) <= Fraction(beyond) + Fraction(2.0**-53) * abs(exact)
        assert beyond <= 1e-23 * np.abs(x).sum()
        if n > 1000:  # a plain sum is off by far more
            assert abs(Fraction(float(np.sum(x))) - exact) > 100 * Fraction(beyond)


def test_sums_of_what_is_not_finite_are_as_they_are_term_by_term():
    x = np.ones(100)
    x[7] = np.inf
    assert sum_of(x)[0] == np.inf
    x[8] = np.nan
    assert np.isnan(sum_of(x)[0])
