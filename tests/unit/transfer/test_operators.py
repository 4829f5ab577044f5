"""Sums of instances: against exact arithmetic, and one engine against the other."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.transfer.energy.estimator import Side
from pinnpoint.transfer.operators.any_mesh import AnyMesh
from pinnpoint.transfer.operators.grid import Grid
from pinnpoint.transfer.operators.lattice import Lattice
from pinnpoint.transfer.operators.particular import Geometry, particulars
from pinnpoint.transfer.operators.prepared import prepare
from pinnpoint.transfer.operators.sums import Fuzz, norms
from pinnpoint.transfer.operators.triangles import Found, Triangles

ZERO = {"boundary": 0.0}


def made(problem, queries, **options):
    T = problem.topology
    groups = partial(T.numbers_of_group, problem.mesh)
    model = problem.continuum(T)
    values = np.zeros(len(problem.mesh.points))
    return model, prepare(model, values, queries.goals, queries.names, groups, problem.cell_numbers, **options)


def exactly(points, cells, kappa, v, psi, flux, divergence):
    """∫ κ⁻¹|σ − κ∇v|² in rationals, from the floats as they are stored."""
    total = Fraction(0)
    for K, (cell, k) in enumerate(zip(cells, kappa, strict=True)):
        P = [[Fraction(float(c)) for c in points[a]] for a in cell]
        E = [[P[i][c] - P[0][c] for c in range(2)] for i in (1, 2)]
        det = E[0][0] * E[1][1] - E[0][1] * E[1][0]

        def slope(w, E=E, det=det, cell=cell):
            a, b = (Fraction(float(w[cell[i]])) - Fraction(float(w[cell[0]])) for i in (1, 2))
            return (a * E[1][1] - b * E[0][1]) / det, (b * E[0][0] - a * E[1][0]) / det

        (gx, gy), (px, py) = slope(v), slope(psi)
        k = Fraction(float(k))
        dx = Fraction(float(flux[K, 0])) + py - k * gx
        dy = Fraction(float(flux[K, 1])) - px - k * gy
        edges = [[P[i][c] - P[j][c] for c in range(2)] for i, j in ((0, 1), (0, 2), (1, 2))]
        area, squares = abs(det) / 2, sum(a * a + b * b for a, b in edges)
        total += area / k * (dx * dx + dy * dy + Fraction(float(divergence[K])) ** 2 / 4 * squares / 36)
    return total


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_rounding_is_covered_and_not_much_larger_than_it_is(size):
    rng = np.random.default_rng(0)
    mesh = pp.io.generate("square", 3)
    X = mesh.points + np.where(np.isin(np.arange(16), [5, 6, 9, 10])[:, None], 0.05 * rng.normal(size=(16, 2)), 0.0)
    p = pp.fem.ReactionDiffusion(type(mesh)(X, mesh.cells), source=1.0)
    T = p.topology
    model, geometry = p.continuum(T), Geometry.of(T.points, T.cells)
    triangles = Triangles.of(T, model.kind, geometry)
    states = triangles.primal_steps(np.ones(18), model.vector(model.load, None)[:, None], np.zeros((16, 1)), 2)
    load = particulars(model, states.T, [(model.load, None)], geometry)[0]
    fuzz = Fuzz.of(geometry)
    for _ in range(5):
        kappa = np.exp(rng.normal(size=18))
        # a state that cancels its flux as well as may be: only rounding and the flux's own part are left
        v, psi = size * rng.normal(size=(16, 1)), size * rng.normal(size=(16, 1))
        found = Found(v, psi, np.zeros((1, 0)))
        flux = load.flux.ravel()[:, None] * size
        own, _, _ = triangles.sums(kappa, found, flux, (), load.row[:, None], v[:, 0])
        tail = np.array(load.divergence**2 / 4.0 * geometry.spread @ (1.0 / kappa))
        big = replace(load, flux=load.flux * size, size=load.size * size, slip=load.slip * size)
        root, most = np.array(1.0 / np.sqrt(kappa.min())), np.array(np.sqrt(kappa.max()))
        norm = norms(own, tail, np.zeros(()), big, fuzz, root, most)
        truth = float(exactly(T.points, T.cells, kappa, v[:, 0], psi[:, 0], big.flux, load.divergence)) ** 0.5
        assert norm.low <= truth * (1 + 2e-16)
        assert truth * (1 - 2e-16) <= norm.high
        assert norm.high - norm.low < 1e-10 * truth


def test_both_engines_find_the_same():
    pytest.importorskip("numba")
    rng = np.random.default_rng(2)
    p = pp.fem.ReactionDiffusion(pp.io.generate("square", 12), source="1+x*y", dirichlet=ZERO)
    queries = p.mean() + p.cells([[0.3, 0.4]], side=0.3, name="block") + p.averages([[0.6, 0.5]], 0.2)
    kappas, guesses = rng.uniform(0.5, 5.0, (3, 288)) * 2.0**70, rng.normal(size=(3, 169)) * 1e-23
    guesses[:, p.space.fixed] = 0.0
    (_, one), (_, two) = made(p, queries), made(p, queries, lattice=False)
    assert isinstance(one.engine, Grid)
    assert isinstance(two.engine, AnyMesh)
    for steps in (0, 1, 4):
        a, b = (q.enclose(kappas, guesses, None, steps, steps) for q in (one, two))
        for name in ("error", "lower", "norm", "gap", "center", "radius"):
            np.testing.assert_allclose(vars(a)[name], vars(b)[name], rtol=2e-4)


def test_without_steps_and_with_the_references_coefficient_it_is_the_estimator_of_patches():
    p = pp.fem.ReactionDiffusion(pp.io.generate("lshape", 4), source="1+x", dirichlet=ZERO)
    model, prep = made(p, p.mean())
    ones = np.ones((1, len(p.mesh.cells)))
    state = prep.engine.states[:, 0]
    found = prep.enclose(ones, state[None], None, 0, 0)
    flux = model.fluxes(state[None], [model.load], [None])[..., 0]
    bounds, _ = model.estimator.measure(Side(state, model.load, flux), [])
    # steps 2b of both pages: sums of squares there, the two parts one after the other here
    assert model.estimator.energy(bounds) <= found.energy[0] * (1 + 1e-9)
    assert found.energy[0] <= 1.1 * model.estimator.energy(bounds)


def test_lattices_are_known_by_their_cells():
    for kind, is_one in (("square", True), ("lshape", False), ("dumbbell", False)):
        p = pp.fem.ReactionDiffusion(pp.io.generate(kind, 8), source=1.0, dirichlet=ZERO)
        assert (Lattice.of(p.topology) is not None) == is_one
    mesh = pp.io.generate("square", 10)  # i/10 is no float
    lattice = Lattice.of(pp.fem.ReactionDiffusion(mesh, source=1.0).topology)
    assert 1e-17 < lattice.uneven < 1e-13
