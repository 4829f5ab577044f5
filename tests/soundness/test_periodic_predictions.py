"""Predictions that are not the same on both sides of a periodic pair are judged as they were given."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import InputError


def ring(n: int = 16):
    """u = sin 2πx."""
    mesh = pp.io.generate("interval", n)
    source = "(4*pi**2+1)*sin(2*pi*x)"
    return pp.fem.ReactionDiffusion(mesh, source, reaction=1.0, periodic={"left": "right"}, degree=2)


def spiked(problem, top: float = 10.0):
    X = problem.nodes.points[:, 0]
    v = np.sin(2.0 * np.pi * X)
    v[np.argmax(X)] = top
    return v


def test_norms_and_means_are_those_of_what_was_given():
    """The last cell has 10 λ(2λ − 1): its L² norm is 10 (h 2/15)^½, its energy 10 (7/3h)^½ and its mean 10 h/6."""
    problem, h = ring(), 1.0 / 16.0
    queries = problem.l2_error() + problem.energy_error() + problem.mean()
    c = pp.certify(problem, spiked(problem), queries, accept=[0.1, 2.0, 0.1])
    assert [v["accept"] for v in c.verdicts] == ["beyond"] * 3
    truth = [10.0 * math.sqrt(2.0 * h / 15.0), 10.0 * math.sqrt(7.0 / (3.0 * h) + 2.0 * h / 15.0)]
    assert np.all(np.abs(c.center[:2] - truth) <= c.radius[:2])
    assert c.raw[2] == pytest.approx(10.0 * h / 6.0)
    assert any("judged as it was given" in note for note in c.notes)
    seen = pp.Monitor.of(problem, queries, accept=[0.1, 2.0, 0.1]).certifier.certify(spiked(problem))
    np.testing.assert_allclose(seen.center, c.center, rtol=1e-9, atol=1e-9)
    assert seen.raw[2] == pytest.approx(10.0 * h / 6.0)


@pytest.mark.parametrize("target", ["continuous", "discrete"])
def test_points_see_the_side_that_they_are_on(target):
    problem = ring()
    queries = problem.points([[1.0], [0.99], [0.5]])
    c = pp.certify(problem, spiked(problem), queries, target=target, accept=0.2)
    t = 0.99 * 16.0 - 15.0
    assert c.raw[0] == pytest.approx(10.0)
    assert c.raw[1] == pytest.approx(10.0 * t * (2.0 * t - 1.0) - 0.0632446, abs=1e-2)
    assert [v["accept"] for v in c.verdicts] == ["beyond", "beyond", "within"]


def test_formulas_that_jump():
    problem = ring()
    c = pp.certify(problem, "sin(2*pi*x) + x**2", problem.l2_error() + problem.points([[1.0]]), accept=0.1)
    assert abs(c.center[0] - math.sqrt(0.2)) <= c.radius[0] + 1e-3
    assert c.raw[1] == pytest.approx(1.0)


def test_rounding_bothers_nobody():
    problem = ring()
    v = spiked(problem, float(np.sin(2.0 * np.pi)))
    row = pp.Queries(problem.points([[0.99]]).L)
    c = pp.certify(problem, v, row, target="discrete", accept=0.1)
    assert "proved within" in str(c)
    assert not any("boundary conditions" in note for note in c.notes)


def test_rows_that_are_not_known_on_both_sides_are_refused():
    problem = ring()
    row = pp.Queries(problem.points([[0.99]]).L)
    with pytest.raises(InputError, match=r"jumps by 10 from \[0.0\] to \[1.0\].*periodic pair 'left' and 'right'"):
        pp.certify(problem, spiked(problem), row, target="discrete", accept=0.1)


def test_what_is_not_for_pairs_says_so():
    problem = ring()
    for ask in (problem.flux, problem.patch):
        with pytest.raises(InputError, match="group 'right': is one side of a periodic pair"):
            ask("right")
    with pytest.raises(InputError, match="corrected: is not proved for periodic pairs"):
        problem.corrected([[0.5]])
