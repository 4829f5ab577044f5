"""Products of models in one coordinate each."""

from __future__ import annotations

import numpy as np

from pinnpoint.taylor import functions
from pinnpoint.taylor.models import TaylorModel, constant
from pinnpoint.taylor.outer import outer
from pinnpoint.taylor.spaces import space


def line(centre, half, q):
    C = np.zeros((q + 1, len(centre)))
    C[0], C[1] = centre, half
    return TaylorModel(space(1, q), C, np.zeros(len(centre)))


def test_outer_product_encloses_the_product_of_functions():
    x = functions.exp(line(np.array([0.0, 0.5, -1.0]), np.array([0.7, 0.2, 0.9]), 5))
    y = constant(1.0) / line(np.array([2.0, 3.0]), np.array([0.8, 0.5]), 5)
    i, j = np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1])
    found = outer(x, y, i, j)
    assert np.all(found.e < 0.2)
    centres, halves = (
        (np.array([0.0, 0.5, -1.0]), np.array([2.0, 3.0])),
        (np.array([0.7, 0.2, 0.9]), np.array([0.8, 0.5])),
    )
    for xi in np.linspace(-1.0, 1.0, 9):
        for eta in np.linspace(-1.0, 1.0, 9):
            value = (found.C.T * (xi ** found.space.powers[:, 0] * eta ** found.space.powers[:, 1])).sum(axis=1)
            truth = np.exp(centres[0] + xi * halves[0])[i] / (centres[1] + eta * halves[1])[j]
            assert np.all(np.abs(value - truth) <= found.e)
    cut = TaylorModel(found.space, found.C, found.e - np.outer(x.e, y.norm)[i, j] - np.outer(x.norm, y.e)[i, j])
    assert np.all(cut.e > 1e-6)  # what is beyond the degree counts


def test_outer_product_of_what_is_not_finite_is_not_finite():
    x, y = line(np.array([1.0]), np.array([0.5]), 3), line(np.array([1.0]), np.array([0.5]), 3)
    wild = TaylorModel(x.space, np.zeros_like(x.C), np.array([np.inf]))
    zero = np.zeros(1, dtype=int)
    assert np.isinf(outer(wild, y, zero, zero).e).all()
