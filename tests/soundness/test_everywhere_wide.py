"""Largest errors and values after a solve with convection, Robin conditions and reactions below zero."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.transfer import equilibrated
from pinnpoint.transfer.everywhere import level_sets, mirrors
from pinnpoint.transfer.everywhere.setting import OnCells, Setting
from pinnpoint.transfer.spectrum.indefinite import Indefinite
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
    "below zero, Robin": (
        RAMP,
        {**BENT, "source": f"(pi**2-5)*{RAMP}", "reaction": -5.0, "robin": {"right": (2.0, "3*sin(pi*y)")}},
    ),
    "between eigenvalues, Robin": (
        RAMP,
        {
            "source": f"((1+x/2)*pi**2-22-y)*{RAMP}-sin(pi*y)/2",
            "diffusion": "1+x/2",
            "reaction": "-22-y",
            "dirichlet": HELD,
            "robin": {"right": ("1+y", "(2.5+y)*sin(pi*y)")},
        },
    ),
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


def test_beside_robin_sides_it_is_needed_as_well():
    """u′(1) + u(1) = 0 for u = sin μx, tan μ = −μ, and q next to μ²."""
    mu = optimize.brentq(lambda s: math.sin(s) + s * math.cos(s), 1.7, 3.0)
    q, robin = 0.97 * mu**2, {"right": (1.0, 0.0)}
    f = f"{mu**2 - q}*sin({mu}*x)"
    p = pp.fem.ReactionDiffusion(generate("interval", 64), f, reaction=-q, dirichlet={"left": 0.0}, robin=robin)
    setting = nothing(p)
    known = Indefinite.of(setting.model)
    assert known is not None
    whole = replace(setting, carried=known.carried(setting.energy, math.inf))
    assert 1.0 <= level_sets.level_sets(whole)[0].bounds.max() < 6.0
    assert level_sets.level_sets(setting)[0].bounds.max() < 0.3


def test_a_tube_has_no_bound_below_zero_but_norms_of_errors():
    """u = sin 2πx sin πy across a pair, and an error of 1 % of it, whose mean square is a quarter."""
    wave = "sin(2*pi*x)*sin(pi*y)"
    given = {"dirichlet": {"top": 0.0, "bottom": 0.0}, "periodic": {"left": "right"}}
    p = pp.fem.ReactionDiffusion(generate("square", 8), f"(5*pi**2-20)*{wave}", reaction=-20.0, degree=2, **given)
    guess = parse(wave)(p.nodes.points)
    found = pp.certify(p, guess, p.l2_error() + p.energy_error())
    assert found.guarantee == "deterministic"
    zero = pp.certify(p, p.space.U0, p.l2_error() + p.energy_error())
    assert zero.contains([0.5, math.pi * math.sqrt(5.0) / 2.0]).all()
    assert found.upper[0] < 0.2
    with pytest.raises(pp.InputError, match="below zero beside periodic pairs"):
        pp.certify(p, p.space.U0, p.everywhere())
    given["dirichlet"] = {"top": "0.1*sin(2*pi*x)", "bottom": 0.0}
    q = pp.fem.ReactionDiffusion(generate("square", 6), 1.0, reaction=-20.0, degree=2, **given)
    with pytest.raises(pp.InputError, match="data that the elements meet exactly"):
        pp.certify(q, q.space.U0, q.l2_error())


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
        ({"reaction": -5.0, "dirichlet": {"boundary": "0.1*x"}}, "energy_error", "beside a reaction below zero"),
        (
            {"convection": ("1", "0"), "dirichlet": {"boundary": "0.1*x"}},
            "energy_error",
            "coefficients that vary numbers",
        ),
        ({"reaction": "1+y", "periodic": {"left": "right"}}, "everywhere", "periodic pairs"),
        ({"dirichlet": {"top": 0.0}, "robin": {"right": (1.0, 0.0), "left": (1.0, 0.0)}}, "everywhere", "Robin facets"),
    ],
)
def test_what_has_no_theorem_is_refused(given, ask_for, why):
    p = pp.fem.ReactionDiffusion(generate("square", 3), 1.0, **given)
    with pytest.raises(pp.InputError, match=why):
        pp.certify(p, p.space.U0, getattr(p, ask_for)())


RISE = SLOPES[0]
NORMED = {
    "convection": {"source": f"2*pi**2*{WAVE} + {RISE}", "convection": ("1", "0")},
    "κ(x)": {"source": f"2*pi**2*(1 + x)*{WAVE} - {RISE}", "diffusion": "1 + x"},
    "c(x) below zero": {"source": f"(2*pi**2 - 3 - x)*{WAVE}", "reaction": "-3 - x"},
    "below zero": {"source": f"(2*pi**2 - 30)*{WAVE}", "reaction": -30.0},
    "robin": {"source": f"2*pi**2*{WAVE}", "dirichlet": HELD, "robin": {"right": (2.0, "-pi*sin(pi*y)")}},
    "periodic": {
        "source": f"2*pi**2*{WAVE}*cos(pi*x)*5",
        "dirichlet": {"top": 0.0, "bottom": 0.0},
        "periodic": {"left": "right"},
    },
}


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("what", NORMED)
def test_norms_of_errors_hold_the_truth(what, degree):
    """Predictions 1.1 u: u = sin πx sin πy has ‖u‖₂ = ½ and energy π/√2 (with sin 2πx: ½ and √5 π/2)."""
    p = pp.fem.ReactionDiffusion(generate("square", 12), degree=degree, **NORMED[what])
    u = f"{WAVE}*2*cos(pi*x)" if what == "periodic" else WAVE
    found = pp.certify(p, f"1.1*{u}", p.l2_error() + p.energy_error())
    off = 0.02 if degree == 1 else 1e-3  # the interpolant is not the prediction
    assert found.lower[0] - off <= 0.05 <= found.upper[0] + off
    assert found.upper[0] < (0.6 if degree == 1 else 0.1)
    # ∫(1 + x)|∇u|² is 3/2 of ∫|∇u|² by symmetry
    size = 0.1 * math.pi * {"periodic": math.sqrt(5) / 2, "κ(x)": math.sqrt(0.75)}.get(what, math.sqrt(0.5))
    assert found.lower[1] - 5 * off <= size <= found.upper[1] + 5 * off
    assert degree == 1 or found.upper[1] < 1.3 * size


def test_norms_are_of_data_that_is_missed_too():
    """−u″ − 8u = 0 with u = 1 at both ends, and an error of it: what data changes grows with the reaction."""
    p = pp.fem.ReactionDiffusion(generate("square", 6), 0.0, 1.0, "-15 + 0*x", {"boundary": "x*x"})
    q = pp.fem.ReactionDiffusion(generate("square", 6), 0.0, 1.0, "15 + 0*x", {"boundary": "x*x"})
    wide, narrow = (float(pp.certify(r, r.space.U0, r.l2_error()).upper[0]) for r in (p, q))
    assert wide > narrow
