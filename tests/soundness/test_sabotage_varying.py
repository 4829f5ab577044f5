"""Each ingredient of the bounds with coefficients that vary, weakened: an example with a known truth misses."""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer import continuum, equilibrated
from pinnpoint.transfer.energy import estimator
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.flux import targets
from pinnpoint.transfer.media import medium, metric, outflow, varying
from tests.support.varied import at, draw, energy_bound, energy_error, primal, solved

MODULES = (continuum, equilibrated, estimator, medium, metric, outflow, targets, varying)


def check_energy(kind: str, d: int, n: int, seed: int) -> None:
    case = draw(seed, kind, d, n)
    U = solved(case.problem)
    assert energy_bound(case.problem, U) >= energy_error(case.problem, U, case.u, case.first)


def check_outflow() -> None:
    """−u″ + u′ = 1, u(0) = 0, u′(1) = 0, u(1) = 1/e."""
    p = pp.fem.ReactionDiffusion(generate("interval", 4), 1.0, convection=("1",), dirichlet={"left": 0.0})
    assert pp.certify(p, p.space.U0, p.patch("right")).contains(math.exp(-1.0)).all()


def check_flux(waves: int) -> None:
    """κ = 1 + sin(waves πx)/10 and u_h = x: without sources the flux is 1/∫κ⁻¹, and ‖e‖² = ∫κ − 1/∫κ⁻¹."""
    p = pp.fem.ReactionDiffusion(
        generate("interval", 4), 0.0, f"1+0.1*sin({waves}*pi*x)", dirichlet={"left": 0.0, "right": 1.0}
    )
    mean = 1.0 / math.sqrt(1.0 - 0.01)  # of 1/κ over whole periods
    assert energy_bound(p, p.nodes.points[:, 0].copy()) >= math.sqrt(1.0 - 1.0 / mean)


def check_lower(cells: int) -> None:
    """c = C + A sin(16πx), f = C and u_h = 1 with free ends: the residual −A sin(16πx) at w = sin(16πx)."""
    C, A = 1e6, 1e5
    p = pp.fem.ReactionDiffusion(generate("interval", cells), C, 1.0, f"{C}+{A}*sin(16*pi*x)", {})
    model, side = primal(p, np.ones(len(p.nodes)))
    bounds = model.estimator.measure(replace(side, flux=0.0 * side.flux), [])[0]
    assert model.estimator.energy(bounds) >= 0.5 * A / math.sqrt(0.5 * (16.0 * math.pi) ** 2 + 0.5 * C)


def check_dual(b: str, c: float, f: str, z: str, w: str, truth: float, *, free: bool = False) -> None:
    """J(u) = ∫ w u of −u″ + b u′ + c u = f from u_h = 0 and a quadratic z_h that solves a false dual exactly."""
    sides = {"left": 0.0} if free else {"left": 0.0, "right": 0.0}
    p = pp.fem.ReactionDiffusion(generate("interval", 2), f, 1.0, c, sides, convection=(b,), degree=2)
    model, one = primal(p, np.zeros(len(p.nodes)))
    nodal, source = parse(z)(p.nodes.points), density(parse(w), model.points[model.topology.cells])
    wanted = model.wanted(nodal, None)
    flux = model.fluxes(nodal[None, :], [source], [wanted], transposed=True)[..., 0]
    two = Side(nodal, source, flux, None, transposed=True, wanted=wanted)
    bounds, (pair,) = model.estimator.measure(one, [(two, 1.0, True)])
    low, high, _ = model.estimator.product_bound(bounds, pair)
    off = pair.rounding + pair.data
    assert pair.value + low - off <= truth <= pair.value + high + off


def check_metric() -> None:
    """R A Rᵀ ≥ I at points of the cells."""
    p = pp.fem.ReactionDiffusion(generate("square", 4), 1.0, [["2+x", "sin(3*y)"], ["sin(3*y)", "1.5+x*y"]])
    V = p.mesh.points[np.sort(p.mesh.cells, axis=1)]
    found = medium.Medium(p.coefficients, V)
    for weights in np.random.default_rng(0).dirichlet(np.ones(3), 20):
        X = np.einsum("i,cix->cx", weights, V)
        A = np.array([[at(a, X) for a in row] for row in p.coefficients.diffusion[0]]).transpose(2, 0, 1)
        R = found.metric.R
        assert np.linalg.eigvalsh(R @ A @ np.swapaxes(R, 1, 2)).min() >= 1.0 - 1e-12
        assert (np.linalg.eigvalsh(A)[:, 0] >= found.metric.alpha).all()


@dataclass(frozen=True)
class Mutation:
    """A piece of a function and what it is replaced by; `check` holds with the first and must not with the second."""

    label: str
    check: Callable[[], None]
    owner: Any
    name: str
    old: str
    new: str


MUTATIONS = [
    Mutation(
        "the root of κ by 15 %",
        lambda: check_energy("scalar", 1, 6, 0),
        metric.Metric,
        "of",
        "up(1.0 / down(np.sqrt(alpha[plain]), 2), 4)",
        "0.85 * (1.0 / np.sqrt(alpha[plain]))",
    ),
    Mutation(
        "the metric of a matrix by 40 %",
        lambda: check_energy("constant matrix", 2, 5, 4),
        metric,
        "_bounded",
        "R = R * t[:, None, None]",
        "R = 0.6 * R * t[:, None, None]",
    ),
    Mutation("Gershgorin without neighbours", check_metric, metric, "_bounded", "down(low - off)", "down(low)"),
    Mutation(
        "the metric at the centre alone", check_metric, metric, "_bounded", "np.where(good, g, 1.0)", "np.ones_like(g)"
    ),
    Mutation(
        "Rδ by 15 %",
        lambda: check_energy("scalar", 1, 6, 0),
        varying,
        "varied_remains",
        'y = np.einsum("kin,pin->pkn", R, delta)',
        'y = 0.85 * np.einsum("kin,pin->pkn", R, delta)',
    ),
    Mutation(
        "what A∇u_h has beyond quadratics",
        lambda: check_flux(8),
        varying,
        "varied_remains",
        "action.flux_high, wrong + action.flux_error",
        "0.0 * action.flux_high, wrong + action.flux_error",
    ),
    Mutation(
        "the error of A∇u_h",
        lambda: check_flux(40),
        varying,
        "varied_remains",
        "action.flux_high, wrong + action.flux_error",
        "action.flux_high, wrong",
    ),
    Mutation(
        "what c u_h has beyond quadratics",
        lambda: check_lower(8),
        varying,
        "varied_remains",
        "given.high + action.lower_high",
        "given.high",
    ),
    Mutation(
        "the error of c u_h",
        lambda: check_lower(4),
        varying,
        "varied_remains",
        "given.error1 + action.lower_error, given.error2 + action.lower_error",
        "given.error1, given.error2",
    ),
    Mutation(
        "the sign of b in the dual",
        lambda: check_dual("1", 0.0, "1", "x*(1-x)", "3-2*x", 5.0 / 6.0 - (3.0 * math.e - 7.0) / (math.e - 1.0)),
        medium.Medium,
        "act",
        "-g if transposed else g",
        "g",
    ),
    Mutation(
        "∇·b in the dual",
        lambda: check_dual("2*x", 1.0, "2+3*x-5*x**2", "x*(1-x)", "2-x+3*x**2", 0.4),
        medium.Medium,
        "transposed",
        "self._balance(1.0)",
        "self._balance(0.0)",
    ),
    Mutation(
        "what flows out, in the dual",
        lambda: check_dual("1", 0.0, "1", "x*(2-x)", "2*x", 2.0 / 3.0 - math.exp(-1.0), free=True),
        outflow.Outflow,
        "times",
        "* constant(beta[:, 0].copy(), blur)",
        "* constant(0.0 * beta[:, 0], blur)",
    ),
    Mutation(
        "the terms of lower order in the value",
        check_outflow,
        varying,
        "varied_weak",
        "rest = f.source - action.lower",
        "rest = f.source - 0.9 * action.lower",
    ),
    Mutation(
        "A∇u_h·∇z_h in the value",
        check_outflow,
        varying,
        "varied_weak",
        "total - mean_product(action.flux",
        "total - 0.99 * mean_product(action.flux",
    ),
]


def falsify(monkeypatch: Any, m: Mutation) -> None:
    """Put the mutated function in place of the true one, wherever its module's names are imported."""
    true = inspect.getattr_static(m.owner, m.name)
    bare = true.func if hasattr(true, "func") else true.__func__ if isinstance(true, classmethod) else true
    source = textwrap.dedent(inspect.getsource(bare))
    assert source.count(m.old) == 1, f"{m.name}: '{m.old}' occurs {source.count(m.old)} times"
    space: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + source.replace(m.old, m.new), bare.__globals__, space)
    made = space[m.name]
    if hasattr(made, "func"):
        made.__set_name__(m.owner, m.name)
    monkeypatch.setattr(m.owner, m.name, made)
    for module in MODULES:
        if getattr(module, m.name, None) is true:
            monkeypatch.setattr(module, m.name, made)


@pytest.mark.parametrize("m", MUTATIONS, ids=lambda m: m.label)
def test_a_weakened_ingredient_is_noticed(monkeypatch, m):
    m.check()
    falsify(monkeypatch, m)
    with pytest.raises(AssertionError):
        m.check()
