"""Largest errors and values after a solve with convection, Robin conditions and reactions below zero."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.domains import generate
from pinnpoint.transfer import equilibrated
from pinnpoint.transfer.everywhere import level_sets, mirrors
from pinnpoint.transfer.everywhere.setting import OnCells, Setting
from pinnpoint.transfer.indefinite import Indefinite
from tests.support.varied import primal

WAVE = "sin(pi*x)*sin(pi*y)"
SLOPES = "pi*cos(pi*x)*sin(pi*y)", "pi*sin(pi*x)*cos(pi*y)"
RAMP = "x*sin(pi*y)"
HELD = {"left": 0.0, "top": 0.0, "bottom": 0.0}
BENT = {"source": f"pi**2*{RAMP}", "dirichlet": HELD}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "a stream": (WAVE, {"source": f"2*pi**2*{WAVE}+3*{SLOPES[0]}", "convection": ("3", "0")}),
    "a curl": (
        WAVE,
        {"source": f"2*pi**2*{WAVE}+(y-0.5)*{SLOPES[0]}+(0.5-x)*{SLOPES[1]}", "convection": ("y-0.5", "0.5-x")},
    ),
    "∇·b above c": (
        WAVE,
        {"source": f"2*pi**2*{WAVE}+x*{SLOPES[0]}+0.6*{WAVE}", "convection": ("x", "0"), "reaction": 0.6},
    ),
    "below zero": (WAVE, {"source": f"(2*pi**2-30)*{WAVE}", "reaction": -30.0}),
    "below zero, data": (
        "cos(x)*cos(y)",
        {"source": "-3*cos(x)*cos(y)", "reaction": -5.0, "dirichlet": {"boundary": "cos(x)*cos(y)"}},
    ),
    "Robin": (RAMP, {**BENT, "robin": {"right": (2.0, "3*sin(pi*y)")}}),
    "Robin, a formula": (RAMP, {**BENT, "robin": {"right": ("1+y", "(2+y)*sin(pi*y)")}}),
    "Robin and outflow": (
        RAMP,
        {
            **BENT,
            "source": f"pi**2*{RAMP}+sin(pi*y)",
            "convection": ("1", "0"),
            "robin": {"right": (2.0, "3*sin(pi*y)")},
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_largest_error_is_held_and_the_bound_falls(name):
    u, given = CASES[name]
    widths = []
    for n in (6, 12):
        p = pp.fem.ReactionDiffusion(generate("square", n), degree=2, **given)
        found = pp.certify(p, f"1.01*{u}", p.everywhere(), lift=True)
        assert found.guarantee == "deterministic"
        assert found.contains([0.01]).all()
        widths.append(float(found.upper[0]) - 0.01)
        both = pp.certify(p, p.space.U0, p.maximum() + p.minimum())
        least = {WAVE: 0.0, RAMP: 0.0}.get(u, math.cos(1.0) ** 2)
        assert both.contains([1.0, least]).all()
    assert widths[1] < 0.6 * widths[0]
    assert widths[1] < 3e-3


def nothing(problem: Any) -> Setting:
    """The state zero, whose error is the solution itself, with its flux."""
    model, side = primal(problem, np.zeros(len(problem.nodes)))
    seen = OnCells.empty(model, side)
    return Setting(model, side, model.estimator.measure(side, [], seen)[0], seen)


def test_what_a_negative_reaction_carries_is_needed():
    """−u″ − qu = (π² − q) sin πx near resonance: what is left of the equation is small, and u = sin πx is not."""
    q = 0.97 * math.pi**2
    p = pp.fem.ReactionDiffusion(generate("interval", 64), f"{math.pi**2 - q}*sin(pi*x)", reaction=-q)
    setting = nothing(p)
    known = Indefinite.of(setting.model)
    assert known is not None
    whole = replace(setting, carried=known.carried(setting.energy, math.inf))
    found = level_sets.level_sets(whole)[0].bounds.max()
    assert 1.0 <= found < 1.2
    assert level_sets.level_sets(setting)[0].bounds.max() < 0.1


def test_what_a_divergence_above_the_reaction_carries_is_counted(monkeypatch):
    u, given = CASES["∇·b above c"]
    p = pp.fem.ReactionDiffusion(generate("square", 4), **given)
    plain = pp.certify(p, f"1.01*{u}", p.everywhere(), lift=True)
    monkeypatch.setattr(equilibrated, "mean_square", lambda anchors: 1e6)
    assert pp.certify(p, f"1.01*{u}", p.everywhere(), lift=True).upper[0] > 10.0 * plain.upper[0]


def test_what_flows_in_by_rounding_alone_has_no_bound_everywhere():
    """b·n = −10⁻⁹ costs next to nothing of coercivity, but level sets need b·n ≥ 0."""
    p = pp.fem.ReactionDiffusion(generate("square", 3), 1.0, dirichlet=HELD, convection=("-1e-9", "0"))
    assert np.isfinite(pp.certify(p, p.space.U0, p.mean()).radius).all()
    with pytest.raises(pp.InputError, match="no bound that holds everywhere"):
        pp.certify(p, p.space.U0, p.everywhere())


def test_data_of_the_boundary_is_spread_by_a_negative_reaction():
    """−u″ − 9u = 0 with 1 at both ends of (0, 1) reaches 14.1."""
    p = pp.fem.ReactionDiffusion(generate("interval", 32), 0.0, reaction=-9.0, degree=2)
    known = Indefinite.of(p.transfer(p.points([[0.5]])).model)
    assert known is not None
    assert 1.0 / math.cos(1.5) <= known.spread(0) < 30.0


def test_what_a_flux_leaves_on_robin_facets_is_needed(monkeypatch):
    """The state and the flux zero: u = sinh(πx)/sinh(π) sin(πy) is driven by the Robin side alone."""
    g = f"{math.pi / math.tanh(math.pi) + 2.0}*sin(pi*y)"
    p = pp.fem.ReactionDiffusion(generate("square", 4), 0.0, dirichlet=HELD, robin={"right": (2.0, g)})
    setting = nothing(p)
    flat = replace(setting, side=replace(setting.side, flux=0.0 * setting.side.flux), seen=None)
    assert level_sets.level_sets(flat)[0].bounds.max() >= 1.0
    monkeypatch.setattr(mirrors, "supremum", lambda given, V, minus=None: (np.zeros(len(V)), True))
    assert level_sets.level_sets(flat)[0].bounds.max() < 1.0


def test_what_a_state_takes_through_robin_facets_is_needed(monkeypatch):
    """u = 0 and the state one: its error is one, and all of its residual is −α on one side."""
    p = pp.fem.ReactionDiffusion(generate("interval", 2), 0.0, dirichlet={"left": 1.0}, robin={"right": (2.0, 0.0)})
    model, side = primal(p, np.ones(len(p.nodes)))
    side = replace(side, flux=0.0 * side.flux)
    setting = Setting(model, side, model.estimator.measure(replace(side, wanted=None), [])[0])
    assert level_sets.level_sets(setting)[0].bounds.max() >= 2.0 / 3.0  # u = 1 − 2x/3
    monkeypatch.setattr(mirrors, "_taken", lambda m, facets, V, w: (np.zeros((len(V), 1)), np.zeros(len(V)), True))
    assert level_sets.level_sets(setting)[0].bounds.max() < 2.0 / 3.0


@pytest.mark.parametrize(
    ("given", "ask_for", "why"),
    [
        ({"reaction": -5.0}, "energy_error", "a reaction ≥ 0 is needed"),
        ({"convection": ("1", "0")}, "l2_error", "nothing is proved with convection"),
        ({"dirichlet": HELD, "robin": {"right": (1.0, 0.0)}}, "l2_error", "Robin groups"),
        ({"dirichlet": {"top": 0.0, "bottom": 0.0}, "periodic": {"left": "right"}}, "everywhere", "periodic pairs"),
        ({"dirichlet": {"top": 0.0}, "robin": {"right": (1.0, 0.0), "left": (1.0, 0.0)}}, "everywhere", "Robin facets"),
    ],
)
def test_what_has_no_theorem_is_refused(given, ask_for, why):
    p = pp.fem.ReactionDiffusion(generate("square", 3), 1.0, **given)
    with pytest.raises(pp.InputError, match=why):
        pp.certify(p, p.space.U0, getattr(p, ask_for)())
