"""Terms of the kernels of points, of what lifts leave and of inflow by rounding, dropped: a known truth is missed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.lifts import lifted_coefficients, lifted_robin
from pinnpoint.mesh.domains import generate
from pinnpoint.transfer.media import outflow
from pinnpoint.transfer.media.surroundings import Surroundings
from tests.soundness.test_sabotage_varying import Mutation, falsify
from tests.support.varied import primal
from tests.unit.transfer.test_varying_points import off, place

WAVE, SINE = "sin(pi*x)*sin(pi*y)", "sin(pi*y)"
X, Y = "pi*cos(pi*x)*sin(pi*y)", "pi*sin(pi*x)*cos(pi*y)"
BOTH = "pi**2*cos(pi*x)*cos(pi*y)"
HELD = {"left": 0.0, "bottom": 0.0, "top": 0.0}


def check_identity() -> None:
    """κ = 1 + x², b = c = 1 + x on a line, u = eˣ: f = (1 − x²)eˣ; kernels.md, step 1c has all its terms."""
    about = place((0.61,), "1+x**2", b=("1+x",), c="1+x")
    wrong, allowed, _ = off(about, 16, "exp(x)", "(1-x**2)*exp(x)", 1e-6)
    assert wrong <= allowed


def check_lift() -> None:
    """A = [[2 + x, xy], [xy, 3 + y]], c = 1 + x, a flux on the right or b = (1, x); the prediction is 3 % off."""
    second = f"-(5+x+y)*pi**2*{WAVE}+2*x*y*{BOTH}+(1+x)*{X}+(y+1)*{Y}"
    given: dict[str, Any] = {"diffusion": [["2+x", "x*y"], ["x*y", "3+y"]], "reaction": "1+x", "degree": 2}
    flux = f"(2+x)*{X}+x*y*{Y}"
    still = pp.fem.ReactionDiffusion(
        generate("square", 3), f"-({second})+(1+x)*{WAVE}", dirichlet=HELD, neumann={"right": flux}, **given
    )
    moving = pp.fem.ReactionDiffusion(
        generate("square", 3), f"-({second})+(1+x)*{WAVE}+{X}+x*{Y}", convection=("1", "x"), **given
    )
    for p in (still, moving):
        assert pp.certify(p, f"1.03*{WAVE}", p.mean(), lift=True).contains([4.0 / math.pi**2]).all()


def check_lifted_robin() -> None:
    """u = x sin πy with u_x + 2u = 3 sin πy on the right."""
    p = pp.fem.ReactionDiffusion(
        generate("square", 4), f"pi**2*x*{SINE}", dirichlet=HELD, robin={"right": (2.0, f"3*{SINE}")}, degree=2
    )
    assert pp.certify(p, f"1.03*x*{SINE}", p.mean(), lift=True).contains([1.0 / math.pi]).all()


def check_inflow() -> None:
    """½ε∫_F v² against ‖v‖² on one cell: v = x held at the left, and v = 1 with a small reaction."""
    eps = 1e-7
    for c, sides, true in ((0.0, {"left": 0.0}, 0.5 * eps), (0.01, {}, 0.5 * eps / 0.01)):
        b = ("-1e-7",) if sides else ("1e-7*(1-2*x)",)
        p = pp.fem.ReactionDiffusion(generate("interval", 1), 1.0, reaction=c, dirichlet=sides, convection=b)
        model, _ = primal(p, np.zeros(len(p.nodes)))
        assert model.outflow is not None
        assert -1.1 * eps < model.outflow.floor.min() < -0.9 * eps
        square = 4.0 / math.pi**2 if sides else 1.0 / c
        assert model.outflow.lack(model.topology, model.anchors, square) >= true


def kernel(label: str, old: str, new: str) -> Mutation:
    return Mutation(label, check_identity, Surroundings, "bracket", old, new)


def left(label: str, name: str, old: str, new: str) -> Mutation:
    return Mutation(label, check_lift, lifted_coefficients, name, old, new)


MUTATIONS = [
    kernel("c", "E = plus(E, -around.reaction)", "pass"),
    kernel("Δκ", "constant(-0.5)", "constant(-0.45)"),
    kernel("|∇κ|²/4κ", "constant(0.25)", "constant(0.2)"),
    kernel("κβᵀAβ", "constant(*_pair(length))", "constant(0.0)"),
    kernel("b·β", "_pair(-at.beta[i])", "_pair(at.beta[i])"),
    kernel("∇·b", "E = plus(E, v.gradient[i])", "pass"),
    kernel("b·∇κ/2κ", "E = plus(E, -times(times(v.value", "E = plus(E, times(times(v.value"),
    left("A of what a lift leaves", "_residual", "r = plus(r, times(a if i == j", "r = plus(r, times(-a if i == j"),
    left("both mixed derivatives", "_residual", "times(constant(2.0), a)", "times(constant(1.0), a)"),
    left("the derivatives of A", "_residual", "slope = plus(slope, derivative(", "slope = plus(ZERO, derivative("),
    left("b of what a lift leaves", "_residual", "-modelled(b[j], X)", "modelled(b[j], X)"),
    left("c of what a lift leaves", "_residual", "-times(modelled(c, X), u.value)", "times(modelled(c, X), u.value)"),
    left("A∇u_θ·n", "_flux", "-times(constant(n[i])", "times(constant(n[i])"),
    Mutation("αu_θ", check_lifted_robin, lifted_robin, "_model", "- model_at(alpha", "+ model_at(alpha"),
    Mutation("the gradient's part of inflow", check_inflow, outflow.Outflow, "lack", "square + steep", "square"),
    Mutation(
        "the mean's part of inflow", check_inflow, outflow.Outflow, "lack", "thin.max()) * square", "0.0) * square"
    ),
]


@pytest.mark.parametrize("m", MUTATIONS, ids=lambda m: m.label)
def test_a_term_left_out_is_noticed(monkeypatch, m):
    m.check()
    falsify(monkeypatch, m)
    with pytest.raises(AssertionError):
        m.check()
