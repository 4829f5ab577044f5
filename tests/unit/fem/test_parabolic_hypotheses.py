"""Hypotheses of the proof in slabs without which it is false: what breaks them is refused or paid for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pinnpoint as pp


def rod(n=8, **given):
    return pp.fem.Parabolic(pp.io.generate("interval", n), **{"end": 0.1, "steps": n, **given})


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"diffusion": "1 + t"}, "diffusion"),
        ({"diffusion": [["1 + t"]]}, "diffusion"),
        ({"diffusion": {"a": "1 + t"}}, "diffusion 'a'"),
        ({"reaction": "t"}, "reaction"),
        ({"convection": ["1 + t"]}, "convection"),
        ({"robin": {"left": ("1 + t", "1")}}, "robin 'left' coefficient"),
        ({"initial": "x*t"}, "initial"),
    ],
)
def test_coefficients_that_move_are_refused(given, name):
    """Modes in time are orthogonal where coefficients do not depend on it; (b·∇u)_k is not b·∇u_k elsewhere."""
    with pytest.raises(pp.InputError, match=f"{name}: must not depend on t: .* got"):
        rod(**given)


def test_damped_steps_in_a_drift_are_held():
    """Backward Euler leaves (A + B)u₁ of mode 0, which u₁ alone does not correct where there is a drift."""
    b, kappa = 6.0, 0.5
    decay = b * b / (4.0 * kappa) + kappa * math.pi**2
    problem = rod(16, diffusion=kappa, convection=[b], initial=f"exp({b / 2 / kappa}*x)*sin(pi*x)", damped=3)
    found = pp.certify(problem, "0", problem.points([[0.4]]) + problem.mean())
    at = math.exp(b / (2.0 * kappa) * 0.4) * math.sin(0.4 * math.pi) * math.exp(-0.1 * decay)
    a = b / (2.0 * kappa)
    mean = math.pi * (math.exp(a) + 1.0) / (a * a + math.pi**2) * math.exp(-0.1 * decay)
    assert found.contains([at, mean]).all()


def test_boundary_values_that_are_missed_grow_where_the_reaction_is_below_zero():
    """With c = −20 and b = −40(x − ½) the energy sees no growth, and values at the ends are 2.89 times themselves."""
    given = {"convection": ["-40*(x - 1/2)"], "reaction": -20.0, "dirichlet": {"boundary": "sin(40*pi*t)"}}
    problem = rod(8, **given, steps=2, grade="none")
    found = pp.certify(problem, np.zeros(problem.grid.levels.size * len(problem.nodes)), problem.mean())
    assert found.terms["boundary"][0] >= math.exp(20.0 * 0.1)
