"""Robin conditions in time: κ∂_n u + αu = g, on both targets, against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer.slabs.measured import Meter

ALPHA = "sin(1)/cos(1)"
"""u = 1 + cos(x) e^{−t} has ∂_n u + αu = α at x = 1 and zero flux at x = 0."""


def cooling(kind: str = "interval", n: int = 12, **more) -> pp.fem.Parabolic:
    given = dict(initial="1 + cos(x)", robin={"right": (ALPHA, ALPHA)}, end=0.3, steps=n) | more
    return pp.fem.Parabolic(pp.io.generate(kind, n), **given)


def truth(x: float, t: float = 0.3) -> float:
    return 1.0 + math.cos(x) * math.exp(-t)


@pytest.mark.parametrize(
    ("kind", "n", "more", "width"),
    [
        ("interval", 12, {}, 3e-3),
        ("interval", 8, dict(degree=2, scheme="cg2"), 4e-5),
        ("square", 6, {}, 4e-2),
        ("cube", 2, {}, 2.0),
    ],
)
def test_intervals_hold_the_solution(kind, n, more, width):
    problem = cooling(kind, n, **more)
    x = [0.45, 0.5, 0.55][: problem.mesh.dim]
    found = pp.certify(problem, problem.states(), problem.points([x]))
    assert found.guarantee == "deterministic"
    assert found.contains([truth(x[0])]).all()
    assert found.radius[0] < width


def test_states_that_solve_nothing_are_held_and_averages_too():
    problem = cooling(reaction=0.5, source="0.5 + 0.5*cos(x)*exp(-t)")
    asked = problem.points([[0.4]]) + problem.mean(time=0.2) + problem.averages([[0.6]], spread=0.1, reach=0.35)
    found = pp.certify(problem, lambda X: 0.0 * X[:, 0], asked)
    assert found.contains([truth(0.4), 1.0 + math.sin(1.0) * math.exp(-0.2), found.center[2]]).all()
    route = problem.transfer(problem.points([[0.4]]))
    rng = np.random.default_rng(2)
    slabs = route._slabs(0.3)
    noisy = slabs.levels + 0.05 * rng.standard_normal(slabs.levels.shape)
    one = replace(slabs, levels=noisy).enclose([route._kernel(route.queries.goals[0], "q", 0.3)])[0]
    assert abs(one.center - truth(0.4)) <= one.transfer + one.quadrature + one.rounding
    assert one.transfer < 0.3


def test_what_the_correction_takes_at_robin_facets_counts(monkeypatch):
    """Without ∫αwz the value of a state that is off at the Robin end is wrong, and its interval misses."""
    problem = cooling(n=24)
    route = problem.transfer(problem.points([[0.8]]))
    slabs = route._slabs(0.3)
    ramp = problem.grid.levels / problem.grid.end
    levels = slabs.levels + 0.3 * ramp[:, None]

    def off() -> tuple[float, float]:
        one = replace(slabs, levels=levels).enclose([route._kernel(route.queries.goals[0], "q", 0.3)])[0]
        return abs(one.center - truth(0.8)), one.transfer + one.quadrature + one.rounding

    distance, radius = off()
    assert distance <= radius
    monkeypatch.setattr(Meter, "mass", Meter._inside)
    wrong, narrow = off()
    assert wrong > 1.5 * narrow


def test_discrete_system_has_the_coefficient_and_values_may_move():
    problem = cooling(robin={"right": (ALPHA, f"{ALPHA} + 0*t")}, n=40)
    found = pp.certify(problem, problem.states(), problem.points([[0.45]]), target="discrete")
    assert found.radius[0] < 1e-9
    assert abs(found.center[0] - truth(0.45)) < 2e-4


@pytest.mark.parametrize(
    ("words", "robin"),
    [("must be a pair", {"right": 2.0}), ("coefficient must be ≥ 0", {"right": (-1.0, 0.0)})],
)
def test_what_is_no_condition_is_refused(words, robin):
    with pytest.raises(pp.InputError, match=words):
        cooling(robin=robin)
