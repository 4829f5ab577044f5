"""Polynomials with remainders of the checker: products against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pinnpoint_verify.models import Model, bent, space


def at(C, powers, x):
    """Σ C_α x^α, exactly."""
    total = Fraction(0)
    for c, power in zip(C.tolist(), powers.tolist(), strict=True):
        term = Fraction(c)
        for v, p in zip(x, power, strict=True):
            term *= v**p
        total += term
    return total


@pytest.mark.parametrize(("D", "q"), [(1, 5), (2, 4), (3, 3)])
@pytest.mark.parametrize("terms", [1, 3, 1000], ids=["constant", "few", "all"])
def test_products_hold_the_product_of_what_they_hold(D, q, terms):
    """p + ε and r + δ with any |ε| ≤ e: their product lies in that of the models, whichever way it is formed."""
    rng = np.random.default_rng(D + terms)
    S, n = space(D, q), 2
    C, B = rng.standard_normal((2, len(S.degree), n))
    C[terms:] = 0.0
    one, two = Model(S, C, np.full(n, 1e-3)), Model(S, B, np.array([0.0, 1e-4]))
    for a, b in ((one, two), (two, one)):
        made = a * b
        for i in range(n):
            for _ in range(4):
                x = [Fraction(int(k), 8) for k in rng.integers(-8, 9, D)]
                for sign in (-1, 1):
                    exact = (at(a.C[:, i], S.powers, x) + sign * Fraction(a.e[i])) * (
                        at(b.C[:, i], S.powers, x) - sign * Fraction(b.e[i])
                    )
                    assert abs(exact - at(made.C[:, i], S.powers, x)) <= Fraction(made.e[i])


def test_a_product_that_forgets_what_it_cuts_off_is_noticed():
    S = space(1, 2)
    x = Model(S, np.array([[0.0], [0.0], [1.0]]), np.zeros(1))
    assert (x * x).e[0] >= 1.0  # ξ⁴ is beyond the degree
    assert (x * x).e[0] < 1.0 + 1e-11


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "tanh"])
@pytest.mark.parametrize("at_", [0.0, 2.0])
def test_functions_of_numbers_have_derivatives_too(name, at_):
    """On a face a coordinate is a number: what the series leaves of h′ and h″ there is rounding."""
    S = space(2, 10)
    C = np.zeros((len(S.degree), 1))
    C[0] = at_
    for model in bent(Model(S, C, np.zeros(1)), name):
        assert model.e[0] < 1e-12
