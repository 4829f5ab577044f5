"""The equilibrated start: exact for quadratic displacements, in equilibrium for any aim, one patch for each part."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic.start import Start, averaged
from pinnpoint.transfer.elastic.stress import Aim, StressSpace
from tests.support.elastic import (
    Elements,
    body_moments,
    boundary_kinds,
    entries,
    hooke,
    shaken,
    traction_moments,
)

RNG = np.random.default_rng


def quadratic(d, lam, mu, seed=1):
    """A random quadratic displacement: gradient and stress as functions, and its constant body force."""
    rng = RNG(seed)
    Q, A = rng.normal(size=(d, d, d)), rng.normal(size=(d, d))
    Q = Q + np.swapaxes(Q, 1, 2)

    def gradient(X):
        return np.einsum("abc,...c->...ab", Q, X) + A

    def sigma(X):
        return hooke(np.full(len(X), lam), np.full(len(X), mu), gradient(X))

    slope = [(sigma(np.eye(d)[[b]]) - sigma(np.zeros((1, d))))[0, :, b] for b in range(d)]
    return sigma, -np.sum(slope, axis=0)


def problem(d, n=3, seed=0):
    """Space, kinds, data and stress of a random quadratic displacement on a shaken mesh."""
    T = shaken(d, n, 0.2, seed)
    space = StressSpace.of(T, np.full(len(T.cells), 1.3), np.full(len(T.cells), 0.7))
    sigma, f = quadratic(d, 1.3, 0.7)
    _, fixed = boundary_kinds(T)
    fm = body_moments(T, lambda X: np.broadcast_to(f, X.shape))
    gm = np.where(fixed[:, None], traction_moments(T, sigma), 0.0)
    return space, fixed, entries(sigma(T.points[T.cells])), fm, gm


@pytest.mark.parametrize("d", [2, 3])
def test_quadratic_displacements_leave_nothing(d):
    space, fixed, stress, fm, gm = problem(d)
    m = Start.of(space, fixed).equilibrated(stress, stress.mean(axis=1), fm, gm)
    energy, _ = space.gradient(m, fm, Aim(stress))
    whole, _ = space.gradient(m, fm, None)
    assert np.sqrt(energy.sum()) <= 1e-12 * np.sqrt(whole.sum())
    values, error = space.nodal(m, fm, slice(None))
    linear = np.repeat(stress[:, None], d + 1, axis=1)
    for s in range(d + 1):
        linear[:, s, s] = stress.mean(axis=1)
    assert np.abs(values - linear).max() <= 1e-11 * np.abs(stress).max()
    assert error.max() <= 1e-9 * np.abs(stress).max()


def test_two_materials_in_series_leave_nothing():
    """Tension without lateral contraction: the stress is constant, the strain jumps."""
    for d in (2, 3):
        T = shaken(d, 4, 0.0)
        mu = np.where(T.points[T.cells].mean(axis=1)[:, 0] > 0.5, 50.0, 0.5)
        held, fixed = boundary_kinds(T)
        sigma = np.zeros((d, d))
        sigma[0, 0] = 2.0

        def everywhere(X, sigma=sigma):
            return np.broadcast_to(sigma, (*X.shape[:-1], *sigma.shape))

        def nothing(X):
            return np.zeros_like(X)

        elements = Elements(T, np.zeros(len(mu)), mu, 1)
        U = elements.solved(elements.load(nothing, everywhere, fixed), held, 0.0)
        stress = elements.stress(U)
        space = StressSpace.of(T, np.zeros(len(mu)), mu)
        gm = np.where(fixed[:, None], traction_moments(T, everywhere), 0.0)
        m = Start.of(space, fixed).equilibrated(stress, stress.mean(axis=1), None, gm)
        energy, _ = space.gradient(m, None, Aim(stress))
        assert np.sqrt(energy.sum()) <= 1e-12 * 2.0


@pytest.mark.parametrize("d", [2, 3])
def test_any_aim_is_brought_into_equilibrium_and_prescribed_moments_are_kept(d):
    space, fixed, stress, fm, gm = problem(d)
    aim = stress + RNG(4).normal(size=stress.shape)
    start = Start.of(space, fixed)
    m = start.equilibrated(aim, stress.mean(axis=1), fm, gm)
    given = np.broadcast_to(fixed[:, None], gm.shape)
    assert np.array_equal(m[given], gm[given])
    size = np.abs(m).max()
    force, moment = space.balance(m, fm)
    assert max(force.max(), moment.max()) <= 2e-14 * size
    again = start.equilibrated(aim, stress.mean(axis=1), fm, gm)
    assert np.array_equal(m, again)
    force, _ = space.balance(start.equilibrated(aim, stress.mean(axis=1) + 0.1, fm, gm), fm)
    assert force.max() > 1e-4  # means that do not satisfy the linear elements' equations leave their defect


@pytest.mark.parametrize("d", [2, 3])
def test_the_repair_is_the_least_in_its_weights(d):
    """Against a dense least-norm solution of all equations at once."""
    space, fixed, stress, fm, gm = problem(d, 2)
    start, aim = Start.of(space, fixed), stress + RNG(5).normal(size=stress.shape)
    found = start.equilibrated(aim, stress.mean(axis=1), fm, gm)
    given = np.broadcast_to(fixed[:, None], gm.shape)
    before = np.where(given, gm, start._averages(aim))
    free = np.flatnonzero(~given.ravel())
    columns = []
    for k in free:
        unit = np.zeros(gm.size)
        unit[k] = 1.0
        columns.append(space.vertex_forces(unit.reshape(gm.shape), None).ravel())
    change = space.vertex_forces(found, None) - space.vertex_forces(before, None)
    S = np.stack(columns, axis=1)
    root = np.sqrt(np.repeat(start.give, d * d)[free])
    least = root * np.linalg.lstsq(S * root, change.ravel(), rcond=1e-12)[0]
    moved = (found - before).ravel()[free]
    assert np.abs(moved - least).max() <= 1e-10 * np.abs(moved).max()


def test_cells_that_meet_in_a_vertex_only_are_patches_of_their_own():
    P = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.1], [-0.2, -1.0]])
    T = Topology(P, [[0, 1, 2], [0, 3, 4]])
    space = StressSpace.of(T, np.ones(2), np.ones(2))
    held = np.zeros((len(T.facets), 2), dtype=bool)
    held[T.facet_numbers([[1, 2], [3, 4]])] = True
    start = Start.of(space, ~held)
    assert sum(p.corners.size * len(p.components) for p in start.patches) == 2 * 6
    assert {p.corners.shape[1] for p in start.patches} == {1}
    mean, fm = np.zeros((2, 3)), np.zeros((2, 3, 2))
    fm[:, 1:] = [[[0.3, 0.1], [0.2, -0.4]], [[0.5, 0.6], [0.1, 0.2]]]
    m = start.equilibrated(np.zeros((2, 3, 3)), mean, fm, np.zeros((len(T.facets), 2, 2)))
    t = space.vertex_forces(m, fm)
    assert np.abs(t).max() < 1e-15  # the held facet of each part takes its own forces


def test_a_defect_of_the_means_is_spread_over_the_vertex_and_not_hidden():
    space, fixed, stress, fm, gm = problem(2)
    start = Start.of(space, fixed)
    T = space.topology
    inner = np.setdiff1d(np.arange(len(T.points)), T.facets[T.boundary])[0]
    more = fm.copy()
    cell, local = np.argwhere(T.cells == inner)[0]
    more[cell, local] += 1e-3
    m = start.equilibrated(stress, stress.mean(axis=1), more, gm)
    t = space.vertex_forces(m, more) - space.vertex_forces(start.equilibrated(stress, stress.mean(axis=1), fm, gm), fm)
    star = T.cells == inner
    assert np.allclose(t[star], 1e-3 / star.sum(), atol=1e-14)
    assert np.abs(t[~star]).max() < 1e-13


@pytest.mark.parametrize("d", [2, 3])
def test_averages_keep_constants_and_weigh_by_volume_over_shear_modulus(d):
    T = shaken(d, 2)
    mu = RNG(0).uniform(0.5, 3.0, len(T.cells))
    space = StressSpace.of(T, mu, mu)
    S = RNG(1).normal(size=(len(mu), 3 if d == 2 else 6))
    found = averaged(space, S)
    a = T.cells[0, 1]
    star = np.any(T.cells == a, axis=1)
    w = T.volumes[star] / mu[star]
    assert np.allclose(found[0, 1], (w[:, None] * S[star]).sum(axis=0) / w.sum())
    assert np.allclose(averaged(space, np.ones_like(S)), 1.0)
