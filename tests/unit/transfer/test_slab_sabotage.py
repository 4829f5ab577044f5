"""Terms of intervals in time that only what is badly solved or resolved needs: without each, the truth is missed."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

import pinnpoint as pp
from pinnpoint.transfer.slabs.measured import Meter
from pinnpoint.transfer.slabs.theorem import SHARES, Sums, product_bound

PI = math.pi


def beyond(problem, queries, truth):
    """How far the truth is outside the interval that states of zeros have."""
    route = problem.transfer(queries)
    slabs, asked = route.asked_at(problem.grid.end, None, [0])
    found = replace(slabs, levels=np.zeros_like(problem.states())).enclose(asked)[0]
    return abs(found.center - truth) - (found.transfer + found.quadrature + found.rounding)


@pytest.mark.parametrize("held", [True, False], ids=["in the energy", "in L2"])
def test_means_on_cells_count_where_no_flux_carries_them(held, monkeypatch):
    """Any fluxes are certified, zeros too: f = ±50 on the halves of a line is then a mean on every cell."""
    mesh = pp.io.generate("interval", 4)
    mesh = type(mesh)(mesh.points, mesh.cells, cell_groups={"a": np.arange(2), "b": np.arange(2, 4)})
    given = dict(source={"a": 50.0, "b": -50.0}, initial="0", end=0.1, steps=4)
    problem = pp.fem.Parabolic(mesh, dirichlet={"boundary": 0.0} if held else {}, **given)
    k = np.arange(1.0, 2001.0)
    if held:  # Σ f_k sin kπx
        f = 100.0 / (k * PI) * (1.0 - 2.0 * np.cos(k * PI / 2) + np.cos(k * PI))
        mean = (1.0 - np.cos(k * PI / 4)) / (k * PI / 4)
    else:
        f, mean = 200.0 / (k * PI) * np.sin(k * PI / 2), np.sin(k * PI / 4) / (k * PI / 4)
    rate = (k * PI) ** 2
    truth = float(np.sum(f * mean * (1.0 - np.exp(-0.1 * rate)) / rate))
    queries, fluxes, square = problem.cells([0]), Meter._fluxes, Meter._square
    monkeypatch.setattr(Meter, "_fluxes", lambda *given: 0.0 * fluxes(*given))
    assert beyond(problem, queries, truth) <= 0.0
    monkeypatch.setattr(Meter, "_square", lambda *given: (square(*given)[0], 0.0, 0.0))
    assert beyond(problem, queries, truth) > 0.0


def test_what_facets_do_not_resolve_of_a_flux_counts(monkeypatch):
    """κ∂_n u = 100 cos 4πy, whose facets are ½ long: linear elements and lowest fluxes see nothing of it."""
    wave = 4.0 * PI
    problem = pp.fem.Parabolic(
        pp.io.generate("square", 2),
        initial="0",
        dirichlet={"left": 0.0},
        neumann={"right": "100*cos(4*pi*y)"},
        end=0.1,
        steps=3,
    )
    # u = 100 sinh(ωx)/(ω cosh ω) cos ωy but for e^{−16π²/10}, over the square of side 2r in the middle of the side
    r = 0.0625
    over = (math.cosh(wave) - math.cosh(wave * (1.0 - 2.0 * r))) / (2.0 * r * wave) * math.sin(wave * r) / (wave * r)
    truth = 100.0 * over / (wave * math.cosh(wave))
    queries, each = problem.cells([[1.0 - r, 0.5]], side=2.0 * r), Meter._each
    assert beyond(problem, queries, truth) <= 0.0
    monkeypatch.setattr(Meter, "_each", lambda self, b: each(self, replace(b, facet=0.0 * b.facet)))
    assert beyond(problem, queries, truth) > 0.2 * truth


# ---- exponential weights --------------------------------------------------------------------------------------------

RATE, SPAN, SLABS = 3.0, 1.0, 400


def sharp(theta):
    """For −z′ + λz and a single number: ε = φ²e with φ = e^{−θλ(T−t)} attains the bound with this θ."""
    nodes = np.linspace(0.0, SPAN, SLABS + 1)
    x, w = leggauss(6)

    def phi(t):
        return np.exp(-theta * RATE * (SPAN - t))

    def e(t):
        return 1.0 + t - t**3

    beta = phi(0.0) ** 2 * e(0.0) ** 2
    rows = []
    for a, b in pairwise(nodes):
        t, v = 0.5 * (a + b) + 0.5 * (b - a) * x, 0.5 * (b - a) * w
        z, slope = phi(t) ** 2 * e(t), 1.0 - 3.0 * t**2
        R, Rd = slope + RATE * e(t), RATE * z - phi(t) ** 2 * (2.0 * theta * RATE * e(t) + slope)
        beta += float(v @ (R * z))
        rows.append([v @ (R * R) / RATE, v @ (Rd * Rd) / RATE, v @ (R * Rd) / RATE])
    P, Q, C = np.array(rows).T
    none = np.zeros(SLABS)
    return float(beta), Sums(P, Q, C, none, none, none, none, float(e(0.0) ** 2), float(e(SPAN) ** 2)), nodes


def missed(beta, sums, nodes, monkeypatch, theta, growth=1.0):
    """How far β is outside, in radii, with this θ alone."""
    with monkeypatch.context() as patch:
        patch.setattr("pinnpoint.transfer.slabs.theorem.SHARES", (theta,))
        center, radius, _ = product_bound(sums, nodes, RATE, growth)
    return abs(beta - center) / radius - 1.0


@pytest.mark.parametrize("theta", SHARES[1:4])
def test_exponential_weights_are_sharp_and_needed(theta, monkeypatch):
    beta, sums, nodes = sharp(theta)
    late = np.exp(-theta * RATE * (SPAN - nodes))
    assert -0.01 < missed(beta, sums, nodes, monkeypatch, theta) <= 0.0
    # 1/φ² of the dual's residual
    bare = replace(sums, dual=sums.dual * late[:-1] ** 2)
    assert missed(beta, bare, nodes, monkeypatch, theta) > 0.01
    # 1 − θ, by which all is divided
    assert missed(beta, sums, nodes, monkeypatch, theta, math.sqrt(1.0 - theta)) > 0.01
    # 2φ(0)²‖e(0)‖² and 2‖ε(T)‖²
    for part in ({"initial": 0.0}, {"final": 0.0}):
        assert missed(beta, replace(sums, **part), nodes, monkeypatch, theta) > 0.01


def test_what_no_flux_represents_is_weighted_too(monkeypatch):
    """R = 0, e = e^{−λt}; R_d a point mass at the start: β = e(0)ε(0) = 1, and r_d counts by 1/φ(0)."""
    theta, none, first = 0.5, np.zeros(SLABS), np.zeros(SLABS)
    first[0] = 1.0
    sums, nodes = Sums(none, none, none, none, none, none, first, 1.0, 0.0), np.linspace(0.0, SPAN, SLABS + 1)
    assert missed(1.0, sums, nodes, monkeypatch, theta) <= 0.0
    bare = replace(sums, loose_dual=first * math.exp(-theta * RATE * SPAN))
    assert missed(1.0, bare, nodes, monkeypatch, theta) > 0.01
