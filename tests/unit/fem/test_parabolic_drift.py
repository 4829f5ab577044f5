"""Convection on meshes in time, beside fluxes, Robin sides and jumps of κ, and fluxes that move: closed forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import cos, e, exp, pi, sin

import numpy as np
import pytest
from scipy.integrate import quad

import pinnpoint as pp
from pinnpoint.formulas.expressions import parse
from pinnpoint.systems.evolution.stepper import Stepper
from pinnpoint.taylor.bernstein import gram, pairs
from pinnpoint.taylor.models import constant
from pinnpoint.taylor.simplices import density
from pinnpoint.transfer.continuum import Continuum
from pinnpoint.transfer.heat_kernel.carried import Carried
from pinnpoint.transfer.heat_kernel.kernel import HeatKernel
from pinnpoint.transfer.heat_kernel.modes import KernelModes
from pinnpoint.transfer.slabs.enclosure import Slabs
from pinnpoint.transfer.slabs.fluxes import Fluxes
from pinnpoint.transfer.slabs.measured import Meter

KAPPA, C = 0.5, 1.7
QUADRATIC = {"degree": 2, "scheme": "cg2"}


def rod(b="1.5", n=6, **given):
    """The problem of u = sin(πx) e^{−t}."""
    source = f"exp(-t)*(sin(pi*x)*(-1 + {KAPPA}*pi**2 + {C}) + ({b})*pi*cos(pi*x))"
    given = {"source": source, "initial": "sin(pi*x)", "convection": [b], **given}
    return pp.fem.Parabolic(pp.io.generate("interval", n), diffusion=KAPPA, reaction=C, end=0.3, steps=n, **given)


def missed(problem, queries, truth):
    """Certificate, and whether the truth is in every interval."""
    found = pp.certify(problem, problem.states(), queries)
    return found, not np.all(found.contains(np.array(truth)))


@pytest.mark.parametrize(("b", "given"), [("1.5", QUADRATIC), ("1.5 + x", {}), ("-2*x", QUADRATIC)])
def test_points_and_averages_with_drift_hold_the_truth_and_narrow(b, given):
    problem = rod(b, **given)
    queries = problem.points([[0.4]], time=0.3) + problem.mean(time=0.3)
    found, wrong = missed(problem, queries, [sin(0.4 * pi) * exp(-0.3), 2.0 / pi * exp(-0.3)])
    assert found.guarantee == "deterministic"
    assert not wrong
    assert np.all(found.radius < (5e-3 if given else 0.1))


def test_gaussian_weights_with_drift_are_those_that_are_asked_for():
    problem = rod("1.5 + x", **QUADRATIC)
    queries = problem.averages([[0.5]], spread=0.1, reach=0.4)

    def weight(x):
        rho = ((x - 0.5) / 0.4) ** 2
        return (1 - rho) ** 4 * (1 + 4 * rho + 10 * rho**2) * exp(-((x - 0.5) ** 2) / 0.02)

    mass, value = (quad(lambda x, f=f: weight(x) * f(x), 0.1, 0.9)[0] for f in (lambda x: 1.0, lambda x: sin(pi * x)))
    found, wrong = missed(problem, queries, [value / mass * exp(-0.3)])
    assert not wrong
    assert found.radius[0] < 5e-3


def test_drift_that_turns_in_the_plane():
    """u = e^{−t}(1 + x + xy), κ = 1, b = (y, −x): f = −u + b·∇u."""
    u = "exp(-t)*(1 + x + x*y)"
    problem = pp.fem.Parabolic(
        pp.io.generate("square", 3),
        f"-({u}) + exp(-t)*(y*(1 + y) - x*x)",
        "1 + x + x*y",
        convection=["y", "-x"],
        dirichlet={"boundary": u},
        end=0.2,
        steps=3,
    )
    queries = problem.points([[0.45, 0.55]]) + problem.averages([[0.5, 0.5]], 0.2)
    found, wrong = missed(problem, queries, [exp(-0.2) * (1.45 + 0.45 * 0.55), exp(-0.2) * 1.75])
    assert not wrong
    assert found.radius[0] < 0.2


def outflow(n=6, **given):
    """−u″ + u′ = 1, u(0) = 0, u′(1) = 0, in which the flow leaves: u = x − e^{x−1} + 1/e, for ever."""
    given = {"initial": "x - exp(x - 1) + exp(-1)", "end": 0.5, "steps": n, **QUADRATIC, **given}
    return pp.fem.Parabolic(pp.io.generate("interval", n), 1.0, convection=[1.0], dirichlet={"left": 0.0}, **given)


def test_what_flows_out_of_a_free_side_is_met():
    problem, truth = outflow(), [2.0 / e - 0.5, 0.6 - exp(-0.4) + exp(-1.0)]
    found, wrong = missed(problem, problem.mean() + problem.points([[0.6]]), truth)
    assert not wrong
    assert np.all(found.radius < 1e-3)


def from_nothing(problem, queries, truth):
    """How far the truth is outside the interval that the states 0 have."""
    route = problem.transfer(queries)
    route = replace(route, states=lambda: np.zeros((problem.grid.levels.size, len(problem.nodes))))
    slabs, asked = route.asked_at(*route.times[0], [0])
    found = slabs.enclose(asked)[0]
    return abs(found.center - truth) - (found.transfer + found.quadrature + found.rounding)


def test_what_flows_out_of_a_free_side_counts_in_the_dual(monkeypatch):
    """The dual has κ∂_n z + (b·n)z = 0; "the same sweep with −b" says ½ for the mean, 2/e − ½ (errata, 2)."""
    problem, truth = outflow(initial="0", end=4.0, steps=12), 2.0 / e - 0.5
    assert from_nothing(problem, problem.mean(since=2.0), truth) < 0.0
    last = int(np.argmax(problem.nodes.points[:, 0]))
    turned, whole = problem.K.T.tolil(), Stepper.dual
    turned[last, last] -= 1.0
    monkeypatch.setattr(Continuum, "carried", lambda self, nodal, load: None)
    monkeypatch.setattr(Stepper, "dual", lambda self: Stepper(self.M, turned.tocsr(), whole(self).grid, self.free))
    meter = Slabs.meter

    def wrong(self):
        return replace(meter.func(self), transpose=lambda v: np.asarray(turned.tocsr() @ v))

    monkeypatch.setattr(Slabs, "meter", property(wrong))
    problem = outflow(initial="0", end=4.0, steps=12)
    assert from_nothing(problem, problem.mean(since=2.0), truth) > 0.1


def test_what_flows_in_through_a_free_side_is_refused():
    problem = pp.fem.Parabolic(
        pp.io.generate("interval", 4), 1.0, convection=[-1.0], dirichlet={"left": 0.0}, end=0.1, steps=2
    )
    with pytest.raises(pp.InputError, match="nothing may flow in"):
        pp.certify(problem, "0", problem.mean())


def test_drift_beside_robin_values_that_move():
    """u = e^{−t}(1 + x²), b = 1, ∂_n u + 2u = 6e^{−t} at x = 1."""
    problem = pp.fem.Parabolic(
        pp.io.generate("interval", 4),
        "exp(-t)*(-(1 + x**2) - 2 + 2*x)",
        "1 + x**2",
        convection=[1.0],
        dirichlet={"left": "exp(-t)"},
        robin={"right": (2.0, "6*exp(-t)")},
        end=0.5,
        steps=4,
        **QUADRATIC,
    )
    queries = problem.mean() + problem.points([[0.6]])
    found, wrong = missed(problem, queries, [exp(-0.5) * 4.0 / 3.0, exp(-0.5) * 1.36])
    assert not wrong
    assert np.all(found.radius < 2e-3)


def test_drift_across_a_jump_of_diffusion():
    """κ = 1 | 4 about x = ½, b = 1: u = e^{−t} y with y = x | x/4 + 3/8, κy′ = 1."""
    mesh = pp.io.generate("interval", 6)
    left = mesh.points[mesh.cells, 0].mean(axis=1) < 0.5
    groups = {"here": np.flatnonzero(left), "there": np.flatnonzero(~left)}
    problem = pp.fem.Parabolic(
        type(mesh)(mesh.points, mesh.cells, cell_groups=groups, facet_groups=dict(mesh.facet_groups)),
        {"here": "exp(-t)*(1 - x)", "there": "exp(-t)*(1/4 - x/4 - 3/8)"},
        "min(x, x/4 + 3/8)",
        {"here": 1.0, "there": 4.0},
        convection=[1.0],
        dirichlet={"left": 0.0, "right": "exp(-t)*5/8"},
        end=0.3,
        steps=6,
        **QUADRATIC,
    )
    queries = problem.points([[0.3], [0.8]]) + problem.mean()
    truth = exp(-0.3) * np.array([0.3, 0.2 + 0.375, 0.125 + 0.125 * 0.75 + 0.1875])
    found, wrong = missed(problem, queries, truth)
    assert not wrong
    assert np.all(found.radius < 5e-3)


def reproduced(kind, b):
    """How far ∫∫ωu + ∫∫fΨ is from u(x₀) for u = 1 and u = x, f = b·∇u + cu, c = 0.4, beyond what the modes state."""
    mesh = pp.io.generate(kind, 6)
    d, T, kappa, c = mesh.dim, 0.1, 0.7, 0.4
    x0 = np.array([0.45, 0.55])[:d]
    V = mesh.points[np.sort(mesh.cells, axis=1)]
    flow = tuple(parse(one, ("x", "y")[:d]) for one in b)
    carried = Carried(flow, c, kappa, x0, 0.4, c, turned=True)
    lost, blur = carried.lost
    kernel = HeatKernel(x0, kappa, lost, 0.4, 0.1, blur=blur, carried=carried, swerve=carried.tops(V))
    found = KernelModes.of(kernel, V, T, 3, 1e-6)
    one = np.ones((len(V), len(pairs(d))))
    x = np.stack([0.5 * (V[:, j, 0] + V[:, k, 0]) for j, k in pairs(d)], axis=1)
    along = density(flow[0], V).coefficients
    total, off = np.zeros(2), np.zeros(2)
    for start, end in pairwise(T * (1.0 - (1.0 - np.linspace(0.0, 1.0, 6)) ** 2)):
        two = found.slab(start, end)
        for w, data in ((two.omega, (one, x)), (two.psi, (c * one, along + c * x))):
            for i, u in enumerate(data):
                size = (end - start) * mesh.volumes
                total[i] += np.sum(np.einsum("np,pq,nq->n", w.coefficients[0], gram(d), u) * size)
                off[i] += np.sum(w.error1[0] * np.abs(u).max(axis=1) * size)
    s, near = found.start, x0[0]
    total += s * np.array([c, float(flow[0](x0[None])[0]) + c * near])
    off += kernel.early(s)[0] + s * (c + 1.0) * (kernel.lost(s) + 16.0 * np.sqrt(kappa * s))
    return np.abs(total - np.array([1.0, x0[0]])), off


@pytest.mark.parametrize(("kind", "b"), [("interval", ["3 + 2*x"]), ("square", ["3*y", "1 - x*y"])])
def test_kernels_with_drift_reproduce_what_the_equation_knows(kind, b):
    gap, off = reproduced(kind, b)
    assert np.all(gap <= off)
    assert np.all(off < 1e-2)


@pytest.mark.parametrize("term", ["_first", "_second", "factor", "lost"])
def test_part_of_the_drift_left_out_of_the_kernel_is_noticed(monkeypatch, term):
    whole = getattr(Carried, term)
    if term == "lost":
        monkeypatch.setattr(Carried, term, property(lambda self: (self.level, 0.0)))
    elif term == "factor":
        monkeypatch.setattr(Carried, term, lambda self, sign, X: constant(1.0) + constant(0.0) * X[0])
    else:
        monkeypatch.setattr(Carried, term, lambda self, X: whole(self, X) * constant(0.0))
    gap, off = reproduced("interval", ["3 + 4*x"])
    assert np.any(gap > off)


# ---- fluxes that move -----------------------------------------------------------------------------------------------


def swaying(n=4, **given):
    """u = sin(x + t) with its flux cos(1 + t) at x = 1."""
    return pp.fem.Parabolic(
        pp.io.generate("interval", n),
        "cos(x + t) + sin(x + t)",
        "sin(x)",
        dirichlet={"left": "sin(t)"},
        neumann={"right": "cos(1 + t)"},
        end=0.5,
        steps=n,
        **given,
    )


@pytest.mark.parametrize("given", [{}, QUADRATIC], ids=["linear", "quadratic"])
def test_fluxes_that_move_are_met(given):
    problem = swaying(**given)
    queries = problem.mean() + problem.points([[0.6]])
    found, wrong = missed(problem, queries, [cos(0.5) - cos(1.5), sin(1.1)])
    assert not wrong
    assert np.all(found.radius < (2e-3 if given else 0.1))


def test_fluxes_that_move_in_the_plane():
    """u = t(1 + xy): κ∂_n u = ty at x = 1."""
    problem = pp.fem.Parabolic(
        pp.io.generate("square", 2),
        "1 + x*y",
        dirichlet={"left": "t", "bottom": "t", "top": "t*(1 + x)"},
        neumann={"right": "t*y"},
        end=0.4,
        steps=2,
    )
    found, wrong = missed(problem, problem.mean(), [0.4 * 1.25])
    assert not wrong
    assert found.radius[0] < 0.05


def pulsing(g):
    return pp.fem.Parabolic(
        pp.io.generate("interval", 4), dirichlet={"left": 0.0}, neumann={"right": g}, end=1.0, steps=1
    )


def pulsed(g):
    """The mean at 1 of the solution of u_t = u_xx, u(0) = 0, u_x(1) = g(t), from nothing."""
    mu = [(k + 0.5) * pi for k in range(30)]
    each = [quad(lambda s, m=m: g(s) * exp(-m * m * (1 - s)), 0, 1, points=[1 - 1 / m])[0] for m in mu]
    return sum(2.0 * sin(m) / m * found for m, found in zip(mu, each, strict=True))


def test_what_a_flux_is_beyond_the_modes_counts(monkeypatch):
    """A flux orthogonal in time to all modes of its one slab: states are zero, and so is the radius without ‖g_⊥‖."""
    g, truth = "20*t**3 - 30*t**2 + 12*t - 1", pulsed(lambda t: 20 * t**3 - 30 * t**2 + 12 * t - 1)
    problem = pulsing(g)
    assert from_nothing(problem, problem.mean(), truth) < 0.0
    monkeypatch.setattr(Meter, "trace", 0.0)
    assert from_nothing(problem, problem.mean(), truth) > 1e-3


def test_modes_of_a_flux_left_out_are_noticed(monkeypatch):
    whole, truth = Fluxes.slab, pulsed(lambda t: 2.0 * t - 1.0)
    problem = pulsing("2*t - 1")
    assert from_nothing(problem, problem.mean(), truth) < 0.0
    monkeypatch.setattr(Fluxes, "slab", lambda self, n: ([None] * 3, whole(self, n)[1]))
    assert from_nothing(problem, problem.mean(), truth) > 1e-2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"source": lambda X, t: 0 * t}, "source: "),
        ({"b": "20*x"}, "c − ½∇·b must be ≥ 0"),
    ],
)
def test_drifts_without_a_proof_are_refused(given, words):
    problem = rod(n=4, **given)
    with pytest.raises(pp.InputError, match=words):
        pp.certify(problem, "0", problem.points([[0.4]]))
