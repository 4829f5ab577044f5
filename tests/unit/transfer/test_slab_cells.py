"""The quick way through cells of linear elements says what the general one says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.energy.products import paired
from pinnpoint.transfer.slabs.linear import LinearCells
from pinnpoint.transfer.slabs.measured import Meter
from tests.support.keepers import Watching

CASES = [
    ("square", 5, {}),
    ("square", 4, dict(reaction=3.0, diffusion=0.2, dirichlet={"left": 0.0}, neumann={"right": "1 + y"})),
    ("cube", 2, dict(dirichlet={"left": 0.0}, reaction=1.0)),
]


def sides_of(kind, cells, given, size=1.0):
    mesh = pp.io.generate(kind, cells)
    problem = pp.fem.Parabolic(mesh, end=1.0, steps=2, **given)
    model = problem.transfer(problem.points(mesh.points[mesh.cells].mean(axis=1)[:1])).model
    rng, C = np.random.default_rng(5), len(model.kappa)
    nodal = rng.standard_normal((3, model.size))
    some = [np.abs(rng.standard_normal(C)) * size for _ in range(3)]
    sources = [Density(rng.standard_normal((C, len(pairs(model.d)))), *some) for _ in range(3)]
    loads = [model.boundary_load, None, None]
    flux = model.fluxes(nodal, sources, loads)
    return model, [Side(nodal[i], sources[i], flux[..., i], loads[i]) for i in range(3)]


@pytest.mark.parametrize(("kind", "cells", "given"), CASES)
def test_quick_way_says_what_the_general_one_says(kind, cells, given):
    model, (primal, *duals) = sides_of(kind, cells, given)
    slow, slow_pairs = model.estimator.measure(primal, [(side, 1.0, False) for side in duals], Watching())
    quick, quick_pairs = LinearCells(model.estimator).measure(primal, duals)
    for one, two in zip([slow, *(p.dual for p in slow_pairs)], [quick, *(p.dual for p in quick_pairs)], strict=True):
        for name in ("square", "size", "oscillation", "facet", "defect"):
            np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-10, atol=1e-13, err_msg=name)
        assert np.all(two.fuzz <= one.fuzz * (1.0 + 1e-9))
        assert np.all(two.fuzz >= 0.3 * one.fuzz)
        assert two.means == pytest.approx(one.means, rel=1e-10)
        np.testing.assert_allclose(two.data[0], one.data[0], rtol=1e-12)
    for one, two in zip(slow_pairs, quick_pairs, strict=True):
        np.testing.assert_allclose(two.product, one.product, rtol=1e-9, atol=1e-12)
        assert two.value == pytest.approx(one.value, abs=1e-11)
        assert 0.3 * one.rounding <= two.rounding <= one.rounding * (1.0 + 1e-9)
        assert two.data == pytest.approx(one.data, rel=1e-9)


def test_rounding_of_the_quick_way_is_within_its_bound():
    """The weak residual and the squares of δ in exact arithmetic, for data without errors."""
    model, (primal, dual, _) = sides_of("square", 2, dict(reaction=0.75, diffusion=0.3), 0.0)
    bounds, (pair,) = LinearCells(model.estimator).measure(primal, [dual])
    T, total, squares = model.topology, Fraction(0), []

    def frac(x):
        return [Fraction(v) for v in np.asarray(x).ravel().tolist()]

    for K, cell in enumerate(T.cells):
        V = [frac(model.points[v]) for v in cell]
        E = [[a - b for a, b in zip(v, V[0], strict=True)] for v in V]
        det = E[1][0] * E[2][1] - E[1][1] * E[2][0]
        volume = abs(det) / 2
        G = [[], [E[2][1] / det, -E[2][0] / det], [-E[1][1] / det, E[1][0] / det]]
        G[0] = [-a - b for a, b in zip(G[1], G[2], strict=True)]
        k, c = Fraction(float(model.kappa[K])), Fraction(float(model.reaction[K]))
        u, z = frac(primal.nodal[model.cell_nodes[K]]), frac(dual.nodal[model.cell_nodes[K]])
        f = dict(zip(pairs(2), frac(primal.source.coefficients[K]), strict=True))
        gu, gz = ([sum(w[j] * G[j][x] for j in range(3)) for x in range(2)] for w in (u, z))
        s = [Fraction(float(primal.flux[T.cell_facets[K, j], 0])) * int(T.sign[K, j]) for j in range(3)]
        D = [
            [sum(s[i] * (V[j][x] - V[i][x]) for i in range(3)) / (2 * volume) - k * gu[x] for x in range(2)]
            for j in range(3)
        ]
        whole = [sum(D[j][x] for j in range(3)) for x in range(2)]
        squares.append(volume / k / 12 * (sum(a * a for row in D for a in row) + sum(a * a for a in whole)))
        beta = {(i, j): f[i, j] - c * (u[i] + u[j]) / 2 for i, j in pairs(2)}
        mean = Fraction(0)
        for (i, j), b in beta.items():
            for a in range(3):
                powers = [(i, j, a).count(v) for v in range(3)]
                factor = 1
                for p in powers:
                    factor *= [1, 1, 2, 6][p]
                mean += (1 if i == j else 2) * b * z[a] * Fraction(2 * factor, 120)
        total += volume * (mean - k * sum(a * b for a, b in zip(gu, gz, strict=True)))
    assert abs(Fraction(pair.value) - total) <= Fraction(pair.rounding)
    assert pair.rounding < 1e-10
    size, square = bounds.size, np.array([float(x) for x in squares])
    near = 4.0 * (model.anchors.slack + 1e-14)
    assert np.all(np.abs(bounds.square - square) <= near * size * size)


def test_integrals_against_linear_elements_are_those_of_quadratics():
    model, (side, _, _) = sides_of(*CASES[0], 1e-3)
    meter = Meter(model, lambda v: v, lambda v: v, lambda v: v, 3)
    quick = meter.against(side.source, side.nodal)
    own = side.nodal[model.cell_nodes]
    blur = 1e-14 * np.abs(own).max(axis=1)
    state = Density(meter.density(side.nodal), np.zeros(len(own)), blur, blur)
    slow = paired(state, np.abs(own).max(axis=1), side.source, model.topology.volumes, model.anchors.slack)
    assert quick[0] == pytest.approx(slow[0], abs=1e-12)
    assert quick[2] == pytest.approx(slow[2], rel=1e-3)
    assert 0.0 < quick[1] <= 2.0 * slow[1]
