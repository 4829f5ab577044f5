"""Numbers that are none, infinite, huge or tiny, and other shapes: no bound is lost, and nothing false verifies."""

from __future__ import annotations

import math

import numpy as np

from pinnpoint_verify import checker, enclosures
from pinnpoint_verify.reader import larger, smaller
from pinnpoint_verify.rules import exactness


def test_the_larger_and_the_smaller_keep_what_is_no_number():
    nan = math.nan
    for of, python in ((larger, max), (smaller, min)):
        for several in ((0.0, nan), (nan, 0.0), (1.0, nan, math.inf), ([nan, -1.0],), ([0.0, np.float64("nan")],)):
            assert math.isnan(of(*several))
        assert of(2.0, 3.0) == python(2.0, 3.0)
        assert of([5, 4]) == python(5, 4)
        assert of([], default=7.0) == 7.0
        assert math.isnan(of((0.0, 1.0), (0.0, nan), key=lambda b: b[1])[1])


def test_a_bound_of_a_formula_that_is_no_number_is_no_bound(monkeypatch):
    monkeypatch.setattr(enclosures, "peaks", lambda text, V, *rest: np.full(len(V), math.nan))
    found = enclosures.largest("x", np.array([[[0.0], [1.0]]]), np.zeros((1, 2, 2)), 1e-3)
    assert not found <= 1e-3


def test_a_rule_without_numbers_is_exact_for_nothing():
    assert exactness(np.array([[0.5, 0.5]]), np.array([math.nan])) == -1


def test_an_energy_that_is_no_number_is_kept(monkeypatch):
    """Where ‖e‖ is no number, so is the bound: the product of the errors is not left out."""
    monkeypatch.setattr(checker, "energy", lambda *a: math.nan)
    query = object.__new__(checker.Query)
    query.p = query.z = _Still()
    query.sign, query.value, query.off, query.both = 1.0, checker.Ball(1.0), 0.0, checker.Ball(np.zeros(1))
    _, radius = query.bound(None, {"scale": 0.0, "constant": 0.0, "error": 0.0})
    assert math.isnan(radius)


class _Still:
    """A side on which nothing acts."""

    nodal = np.zeros(2)

    class mesh:  # noqa: N801
        exchange = None

    def finish(self):
        pass

    def load_on(self, nodal):
        return checker.Ball(0.0), 0.0
