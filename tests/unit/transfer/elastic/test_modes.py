"""Modes span all self-equilibrated moments; conjugate gradients over them come near to the best stress."""

from __future__ import annotations

import numpy as np
import pytest

from pinnpoint.transfer.elastic import modes as room
from pinnpoint.transfer.elastic.modes import Modes, improved
from pinnpoint.transfer.elastic.reference import voigt
from pinnpoint.transfer.elastic.start import Start, averaged
from pinnpoint.transfer.elastic.stress import Aim, StressSpace
from tests.support.elastic import Elements, body_moments, boundary_kinds, hooke, shaken, traction_moments

RNG = np.random.default_rng
KINDS = ("one facet", "one side", "rollers", "tangential", "all")


def kinds(T, name):
    """Which components of which facets have prescribed tractions."""
    X, outer, d = T.points[T.facets], T.boundary, T.dim
    held = np.zeros((len(outer), d), dtype=bool)
    if name == "one facet":
        held[np.flatnonzero(outer)[0]] = True
    elif name == "one side":
        held[np.all(X[..., 0] == 0.0, axis=1)] = True
    elif name == "all":
        held[outer] = True
    else:
        for a in range(d):
            side = outer & np.all(X[..., a] == 0.0, axis=1)
            held[side] = (np.arange(d) == a) == (name == "rollers")
    return outer[:, None] & ~held


def residual_moments(space, m):
    """ρ for f = 0, (C, d + 1, d)."""
    T = space.topology
    t = space.vertex_forces(m, None)
    X = T.points[T.cells]
    s = np.einsum("nia,nib->nab", t, X - X.mean(axis=1, keepdims=True))
    return np.einsum("nab,nib->nia", (s + np.swapaxes(s, 1, 2)) / 2.0, T.gradients) - t


def dense(space, modes):
    """All modes that are on, as columns."""
    on = np.flatnonzero(modes.inverse)
    unit = np.eye(len(modes.inverse))
    return on, np.stack([modes.moments(unit[k]).ravel() for k in on], axis=1)


@pytest.mark.parametrize(("d", "n"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_modes_are_in_equilibrium_and_span_all_that_is(d, n, kind):
    T = shaken(d, n, 0.2)
    rng, C = RNG(0), len(T.cells)
    space = StressSpace.of(T, rng.uniform(0.5, 2.0, C), rng.uniform(0.5, 2.0, C))
    fixed = kinds(T, kind)
    modes = Modes.of(space, fixed)
    on, Z = dense(space, modes)
    shape = (len(T.facets), d, d)
    given = np.broadcast_to(fixed[:, None], shape).ravel()
    assert not np.any(Z[given])
    size = np.abs(Z).max(axis=0)
    for column, top in zip(Z.T, size, strict=True):
        assert np.abs(residual_moments(space, column.reshape(shape))).max() <= 1e-14 * top
    free, unit = np.flatnonzero(~given), np.eye(Z.shape[0])
    D = np.stack([residual_moments(space, unit[k].reshape(shape)).ravel() for k in free], axis=1)
    null = len(free) - np.linalg.matrix_rank(D, 1e-9)
    assert np.linalg.matrix_rank(Z / size, 1e-9) == null
    energies = [space.gradient(column.reshape(shape), None, None)[0].sum() for column in Z.T]
    assert np.allclose(np.array(energies) * modes.inverse[on], 1.0, rtol=1e-11)
    r = rng.normal(size=shape)
    assert np.allclose(Z.T @ r.ravel(), modes.amplitudes(r)[on], atol=1e-12 * size.max())


def test_modes_off_the_boundary_alone_do_not_span():
    """The test above can fail: without swells something is missing."""
    T = shaken(2, 3, 0.2)
    space = StressSpace.of(T, np.ones(len(T.cells)), np.ones(len(T.cells)))
    modes = Modes.of(space, kinds(T, "all"))
    _, Z = dense(space, modes)
    assert np.linalg.matrix_rank(Z[:, : -len(T.points)], 1e-9) < np.linalg.matrix_rank(Z, 1e-9)


def manufactured(d):
    """A displacement that vanishes at x = 0: itself, its gradient, and its second derivatives."""
    k = np.array([2.0, 1.3, 0.9])[:d]
    amplitude, phase = np.array([1.0, -0.7, 0.5])[:d], np.array([0.3, 1.1, 2.0])[:d]

    def u(X):
        return X[..., :1] * amplitude * np.sin((X @ k)[..., None] + phase)

    def gradient(X):
        angle = (X @ k)[..., None] + phase
        first = amplitude * np.sin(angle)
        out = X[..., :1, None] * (amplitude * np.cos(angle))[..., None] * k
        out[..., 0] += first
        return out

    def hessian(X):
        angle = (X @ k)[..., None] + phase
        out = -X[..., :1, None, None] * (amplitude * np.sin(angle))[..., None, None] * np.outer(k, k)
        slope = (amplitude * np.cos(angle))[..., None] * k
        out[..., 0, :] += slope
        out[..., :, 0] += slope
        return out

    return u, gradient, hessian


def solved(d, n, degree, lam=1.5, mu=1.0):
    """A smooth problem, clamped at x = 0, with its state: everything that the stress needs, and the error."""
    T = shaken(d, n, 0.15, 3)
    u, gradient, hessian = manufactured(d)

    def sigma(X):
        return hooke(np.full(len(X), lam), np.full(len(X), mu), gradient(X))

    def f(X):
        H = hessian(X)
        return -(mu * np.einsum("...abb->...a", H) + (lam + mu) * np.einsum("...bab->...a", H))

    held, fixed = boundary_kinds(T, roller=False)
    C = len(T.cells)
    elements = Elements(T, np.full(C, lam), np.full(C, mu), degree)
    U = elements.solved(elements.load(f, sigma, fixed), held, elements.interpolated(u))
    gm = np.where(fixed[:, None], traction_moments(T, sigma), 0.0)
    space = StressSpace.of(T, elements.lam, elements.mu)
    return space, elements, held, fixed, U, body_moments(T, f), gm, elements.energy_error(U, gradient)


@pytest.mark.parametrize(("d", "n"), [(2, 12), (3, 4)])
def test_quadratic_elements_overestimate_a_smooth_error_by_little(d, n):
    space, elements, _, fixed, U, fm, gm, error = solved(d, n, 2)
    stress = elements.stress(U)
    m = Start.of(space, fixed).equilibrated(stress, stress.mean(axis=1), fm, gm)
    modes, aim = Modes.of(space, fixed), Aim(stress)
    norms = {}
    for iterations in (0, 8, 60):
        found = improved(space, modes, m, fm, aim, iterations)
        norms[iterations] = float(np.sqrt(space.gradient(found, fm, aim)[0].sum()))
        force, moment = space.balance(found, fm)
        assert max(force.max(), moment.max()) <= 1e-14 * np.abs(found).max()
        given = np.broadcast_to(fixed[:, None], gm.shape)
        assert np.array_equal(found[given], gm[given])
    assert error <= norms[8] <= 2.6 * error
    assert norms[8] <= 1.15 * norms[60]
    assert norms[60] < norms[8] < 0.9 * norms[0]


@pytest.mark.parametrize(("d", "n"), [(2, 12), (3, 4)])
def test_linear_elements_too_with_averaged_stresses_and_corrected_means(d, n):
    space, elements, held, fixed, U, fm, gm, error = solved(d, n, 1)
    stress = elements.stress(U)
    T = space.topology
    smooth = averaged(space, stress[:, 0])
    before = smooth.mean(axis=1)
    # a(w, φ) = (s⁰, ε(φ)) − L(φ)
    b, entry = np.zeros_like(T.points), np.zeros((d, d), dtype=int)
    for k, (p, q) in enumerate(voigt(d)):
        entry[p, q] = entry[q, p] = k
    inner = np.einsum("nab,nib,n->nia", before[:, entry], T.gradients, T.volumes)
    np.add.at(b, T.cells, inner - fm)
    np.add.at(b, T.facets, -gm)
    w = elements.solved(b, held, 0.0)
    mean = before - elements.stress(w)[:, 0]
    m = Start.of(space, fixed).equilibrated(smooth, mean, fm, gm)
    aim = Aim(stress)
    found = improved(space, Modes.of(space, fixed), m, fm, aim)
    force, moment = space.balance(found, fm)
    assert max(force.max(), moment.max()) <= 1e-13 * np.abs(found).max()
    eta = float(np.sqrt(space.gradient(found, fm, aim)[0].sum()))
    assert error <= eta <= 1.4 * error


def test_a_stop_by_relative_decrease_saves_iterations(monkeypatch):
    space, elements, _, fixed, U, fm, gm, _ = solved(2, 6, 2)
    stress = elements.stress(U)
    m = Start.of(space, fixed).equilibrated(stress, stress.mean(axis=1), fm, gm)
    modes, aim, calls = Modes.of(space, fixed), Aim(stress), []
    plain = StressSpace.gradient

    def counted(*arguments):
        calls.append(1)
        return plain(*arguments)

    monkeypatch.setattr(room.StressSpace, "gradient", counted)
    found = improved(space, modes, m, fm, aim, 100, decrease=0.02)
    used = len(calls)
    assert used < 20
    best = improved(space, modes, m, fm, aim, 100)
    assert space.gradient(found, fm, aim)[0].sum() <= 1.3 * space.gradient(best, fm, aim)[0].sum()


def test_nothing_to_improve_is_left_alone():
    T = shaken(2, 2)
    C = len(T.cells)
    space = StressSpace.of(T, np.ones(C), np.ones(C))
    fixed = kinds(T, "one side")
    m = np.zeros((len(T.facets), 2, 2))
    assert not np.any(improved(space, Modes.of(space, fixed), m, None, Aim(np.zeros((C, 3, 3)))))
