"""Linear elements: what their own functions say of a side is what those of any degree say, but for rounding."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.mesh.topology import Topology
from pinnpoint.taylor.bernstein import Density, pairs
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.energy.linear_sides import METER
from pinnpoint.transfer.flux.equilibration import equilibrate, solve_patches
from pinnpoint.transfer.flux.patches import Ingredients, to_nodal
from tests.support.keepers import Watching

NUMBA = pytest.param(
    True, marks=[pytest.mark.optional, pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")]
)


def by(monkeypatch, *, compiled):
    """Take compiled code, or not, however little there is to do."""
    monkeypatch.setattr(METER, "open", compiled)
    monkeypatch.setattr(METER, "shut", not compiled)


def bent(kind, cells):
    """A mesh of cells that are all different."""
    mesh, rng = pp.io.generate(kind, cells), np.random.default_rng(5)
    inside = ~np.isin(np.arange(len(mesh.points)), mesh.facets("boundary"))
    points = mesh.points + 0.2 / cells * rng.uniform(-1.0, 1.0, mesh.points.shape) * inside[:, None]
    return type(mesh)(points, mesh.cells, mesh.cell_groups, mesh.facet_groups)


@pytest.mark.parametrize("compiled", [False, NUMBA])
@pytest.mark.parametrize("reaction", [0.0, 3.0])
@pytest.mark.parametrize(("kind", "cells"), [("interval", 30), ("square", 8), ("cube", 4)])
def test_sides_of_linear_elements_are_measured_as_those_of_any_degree(kind, cells, reaction, compiled, monkeypatch):
    """Random states, fluxes and sources on a third of the cells, which balance nothing."""
    by(monkeypatch, compiled=compiled)
    mesh, rng = bent(kind, cells), np.random.default_rng(0)
    kappa = rng.uniform(1.0, 5.0, len(mesh.cells))
    model = pp.fem.ReactionDiffusion(mesh, "exp(x)", kappa, reaction).continuum(Topology.of(mesh))
    some = np.sort(rng.choice(len(kappa), len(kappa) // 3, replace=False))
    rest = rng.uniform(size=(3, len(some)))
    w = Density(rng.normal(size=(len(some), len(pairs(model.d)))), *rest, cells=some)
    states, fluxes = rng.normal(size=(2, model.size)), rng.normal(size=(2, len(model.topology.facets), 1))
    one = Side(states[0], model.load, fluxes[0])
    own, (pair,) = model.estimator.measure(one, [(Side(states[1], w, fluxes[1]), -1.0, True)])
    any_degree, (other,) = model.estimator.measure(one, [(Side(states[1], w, fluxes[1]), -1.0, True)], Watching())
    for found, wanted in ((own, any_degree), (pair.dual, other.dual)):
        for name in ("square", "fuzz", "defect", "means"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12)
        np.testing.assert_allclose(found.oscillation, wanted.oscillation, rtol=1e-12, atol=1e-10)
        assert np.all(found.oscillation >= 0.98 * wanted.oscillation)  # a mean of equal numbers is rounded there
        np.testing.assert_allclose(found.data[0], wanted.data[0], rtol=1e-12, atol=1e-200)
        assert np.all(found.size >= wanted.size * (1.0 - 1e-14))
        assert np.all(found.size <= 3.0 * wanted.size)
        assert found.data[1] == pytest.approx(wanted.data[1], rel=1e-12)
    scale = np.sqrt(own.square * pair.dual.square)
    assert np.all(np.abs(pair.product - other.product) <= 1e-13 * scale)
    assert pair.value == pytest.approx(other.value, rel=1e-12)
    assert pair.rounding == pytest.approx(other.rounding, rel=1e-12)
    assert pair.data == pytest.approx(other.data, rel=1e-12)


@pytest.mark.parametrize("given", [False, True])
def test_fans_solve_the_saddle_point_systems_of_lowest_order(given):
    """By α and β with one number a fan, and by dense systems with multipliers; with prescribed edges too."""
    mesh, rng = bent("lshape", 6), np.random.default_rng(1)
    topology = Topology.of(mesh)
    C, kappa = len(mesh.cells), rng.uniform(1.0, 5.0, len(mesh.cells))
    kind = np.where(topology.boundary, 1 + (rng.uniform(size=len(topology.facets)) < 0.4) * given, 0).astype(np.int8)
    slopes, source = rng.normal(size=(C, 1, 2, 3)), rng.normal(size=(C, 6, 3))
    prescribed = rng.normal(size=(len(kind), 2, 3)).mean(axis=1, keepdims=True).repeat(2, axis=1) if given else None
    found = equilibrate(topology, kappa, slopes, source, kind, prescribed)
    cells, out = Ingredients.of(topology, kappa, slopes, source, 0), np.zeros((len(kind), 2, 1, 3))
    if prescribed is not None:
        out[kind == 2] = 0.5 * prescribed[kind == 2][:, :, None]
    solve_patches(topology, cells, kind, out)
    np.testing.assert_allclose(found, to_nodal(out), atol=1e-11 * np.abs(found).max())


@pytest.mark.optional
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.parametrize("reaction", [0.0, 3.0])
def test_compiled_fluxes_are_those_of_numpy(reaction, monkeypatch):
    """With fans of all sizes, rows at Dirichlet and at Neumann sides, and prescribed fluxes."""
    mesh, rng = bent("lshape", 6), np.random.default_rng(2)
    problem = pp.fem.ReactionDiffusion(
        mesh, "exp(x)", rng.uniform(1.0, 5.0, len(mesh.cells)), reaction, dirichlet={"left": 0.0}, neumann={"top": 1.0}
    )
    model, found = problem.continuum(Topology.of(mesh)), []
    states = rng.normal(size=(2, model.size))
    for compiled in (False, True):
        by(monkeypatch, compiled=compiled)
        found.append(model.fluxes(states, [model.load, model.load], [model.boundary_load, None]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-13 * np.abs(found[0]).max())


@pytest.mark.optional
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
def test_compiled_sides_lose_no_number_that_is_none(monkeypatch):
    """Of a state or a flux that is not a number nothing is known, whatever comparisons say."""
    by(monkeypatch, compiled=True)
    mesh = pp.io.generate("square", 4)
    model = pp.fem.ReactionDiffusion(mesh, "exp(x)").continuum(Topology.of(mesh))
    state, flux = np.zeros(model.size), np.zeros((len(model.topology.facets), 1))
    few = Density(np.ones((1, 6)), np.zeros(1), np.zeros(1), np.zeros(1), cells=np.array([3]))
    for spoiled in (0, 1):
        z, t = state.copy(), flux.copy()
        (z, t)[spoiled][12] = np.nan
        primal, (pair,) = model.estimator.measure(Side(state, model.load, flux), [(Side(z, few, t), 1.0, True)])
        assert model.estimator.energy(pair.dual) == np.inf
        assert model.estimator.product_bound(primal, pair)[1] == np.inf


@pytest.mark.optional
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
def test_compiled_sums_of_squares_are_those_of_numpy(monkeypatch):
    """The lengths of both sides together and of each, with the data's own error and without it."""
    by(monkeypatch, compiled=True)
    mesh, rng = bent("square", 9), np.random.default_rng(7)
    model = pp.fem.ReactionDiffusion(mesh, "exp(x)", rng.uniform(1.0, 5.0, len(mesh.cells))).continuum(
        Topology.of(mesh)
    )
    w = Density(rng.normal(size=(len(mesh.cells), 6)), *rng.uniform(size=(3, len(mesh.cells))))
    states, fluxes = rng.normal(size=(2, model.size)), rng.normal(size=(2, len(model.topology.facets), 1))
    one, two = Side(states[0], model.load, fluxes[0]), Side(states[1], w, fluxes[1])
    primal, (pair,) = model.estimator.measure(one, [(two, 1.0, True)])
    assert primal.plain
    slow = replace(primal, compiled=False)
    found, wanted = model.estimator.product_bound(primal, pair), model.estimator.product_bound(slow, pair)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert found[1] > 1.01 * model.estimator.product_bound(primal, replace(pair, product=0.0 * pair.product))[1]
    energies = [model.estimator.energy(side) for side in (pair.dual, replace(pair.dual, compiled=False))]
    assert energies[0] == pytest.approx(energies[1], rel=1e-12)
