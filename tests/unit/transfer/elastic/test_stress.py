"""Stresses of facet moments: the tables, the field, its rounding, forces and moments, energies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from flint import fmpq_mat

from pinnpoint.base.errors import CertificationError, InputError
from pinnpoint.mesh.topology import Topology
from pinnpoint.transfer.elastic import compensated, reference, stress
from pinnpoint.transfer.elastic.reference import numerators, slots, verified, voigt
from pinnpoint.transfer.elastic.stress import Aim, StressSpace
from pinnpoint.transfer.energy.geometry import Shapes
from tests.support.exactly import rational, rational_matrix
from tests.support.simplices import corners

RNG = np.random.default_rng
REGIMES = ("plain", "wide", "tiny", "far", "short", "flat")


def loose(d, regime, count, seed=0):
    """Simplices that share nothing, and a space of stresses on them."""
    V = corners(RNG(seed), d, d, regime, count)
    T = Topology(V.reshape(-1, d), np.arange(count * (d + 1)).reshape(count, d + 1))
    return StressSpace.of(T, np.full(count, 0.7), np.full(count, 1.3))


def pair_of_cells(d):
    """Two cells with one facet in common."""
    P = np.vstack([np.zeros(d), np.eye(d), np.full(d, 0.9)]) + RNG(3).uniform(-0.1, 0.1, (d + 2, d))
    return Topology(P, [[*range(d + 1)], [*range(1, d + 2)]])


def linear_moments(space, constant, gradient):
    """Moments and body forces of σ(x) = constant + gradient · x, in equilibrium with its own force."""
    T, d = space.topology, space.d
    X = T.points[T.facets]
    sigma = constant + np.einsum("abc,fic->fiab", gradient, X)
    K, j = space.first // (d + 1), space.first % (d + 1)
    area = -d * T.volumes[K, None] * T.gradients[K, j]
    t = np.einsum("fiab,fb->fia", sigma, area)
    m = (t + t.sum(axis=1, keepdims=True)) / (d * (d + 1))
    f = -np.einsum("abb->a", gradient)
    return m, np.broadcast_to(f, (len(T.cells), d + 1, d)) * (T.volumes / (d + 1))[:, None, None]


def symmetric(rng, d):
    A, G = rng.normal(size=(d, d)), rng.normal(size=(d, d, d))
    return A + A.T, G + np.swapaxes(G, 0, 1)


def full(values, d):
    """Stored entries as matrices."""
    out = np.empty((*values.shape[:-1], d, d))
    for k, (p, q) in enumerate(voigt(d)):
        out[..., p, q] = out[..., q, p] = values[..., k]
    return out


@pytest.mark.parametrize("d", [2, 3])
def test_tables_are_the_stated_integers_and_any_other_entry_is_noticed(d):
    R, Rf, den = numerators(d)
    assert den == d + 1
    assert np.abs(R).max() == {2: 12, 3: 72}[d] * den
    assert verified(d, R, Rf, den)
    rng = RNG(0)
    for table in (0, 1):
        for _ in range(20):
            wrong = [R.copy(), Rf.copy()]
            at = tuple(rng.integers(n) for n in wrong[table].shape)
            wrong[table][at] += rng.choice([-1, 1])
            assert not verified(d, *wrong, den)
    assert not verified(d, R, Rf, den + 1)


def test_a_table_that_fails_its_conditions_is_refused(monkeypatch):
    monkeypatch.setattr(reference, "verified", lambda *_: False)
    with pytest.raises(CertificationError, match="reference tables"):
        numerators.__wrapped__(2)


@pytest.mark.parametrize("d", [2, 3])
def test_linear_stresses_are_met_exactly(d):
    space = StressSpace.of(pair_of_cells(d), np.ones(2), np.ones(2))
    A, G = symmetric(RNG(1), d)
    m, fm = linear_moments(space, A, G)
    values, error = space.nodal(m, fm, slice(0, 2))
    X = space.topology.points[space.topology.cells]
    for s in range(d + 1):
        Y = X.copy()
        Y[:, s] = X.mean(axis=1)
        truth = A + np.einsum("abc,nic->niab", G, Y)
        assert np.abs(full(values[:, s], d) - truth).max() < 1e-12
    assert error.max() < 1e-9
    force, moment = space.balance(m, fm)
    assert max(force.max(), moment.max()) < 1e-14


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", ["plain", "wide", "flat"])
def test_the_field_has_continuous_tractions_the_moments_and_the_mean(d, regime):
    """In physical coordinates, from the definition, for moments that are in no equilibrium."""
    space = loose(d, regime, 30)
    T, rng = space.topology, RNG(1)
    m, fm = rng.normal(size=(len(T.facets), d, d)), rng.normal(size=(len(T.cells), d + 1, d))
    values, error = space.nodal(m, fm, slice(0, 30))
    sigma, X = full(values, d), T.points[T.cells]
    scale = np.abs(sigma).max(axis=(1, 2, 3, 4)) + error
    centre, tight = X.mean(axis=1), {"flat": 1e-8}.get(regime, 1e-11)
    for s, t in combinations(range(d + 1), 2):
        rest = [v for v in range(d + 1) if v not in (s, t)]
        E = X[:, rest] - centre[:, None]
        n = np.stack([E[:, 0, 1], -E[:, 0, 0]], 1) if d == 2 else np.cross(E[:, 0], E[:, 1])
        n /= np.linalg.norm(n, axis=1)[:, None]
        for a, b in [*((v, v) for v in rest), (s, t)]:
            jump = np.einsum("nab,nb->na", sigma[:, s, a] - sigma[:, t, b], n)
            assert np.abs(jump).max(axis=1).max() <= tight * scale.max()
    out, total = space.outward(m, slice(0, 30)), fm.copy()
    for j, i in slots(d):
        area = -d * T.volumes[:, None] * T.gradients[:, j]
        here = [(1 + (a == i)) / (d * (d + 1)) * sigma[:, j, a] for a in range(d + 1) if a != j]
        given = out[:, j, i if i < j else i - 1]
        found = np.einsum("nab,nb->na", sum(here), area)
        assert np.abs(found - given).max() <= tight * (scale * np.linalg.norm(area, axis=1)).max()
        total[:, i] += given
    mean = np.einsum("nia,nib->nab", total, X - centre[:, None])
    mean = (mean + np.swapaxes(mean, 1, 2)) / 2 / T.volumes[:, None, None]
    assert np.abs(sigma.mean(axis=(1, 2)) - mean).max() <= tight * scale.max()


def exact_nodal(X, out, fm):
    """σ_h of one cell in rationals, rows (s, a), columns the stored entries."""
    d = X.shape[1]
    R, Rf, den = numerators(d)
    B = fmpq_mat(d, d, [rational(X[1 + p, c]) - rational(X[0, c]) for c in range(d) for p in range(d)])
    det, back = B.det(), B.inv().transpose()
    columns = [fmpq_mat(rows.size, 1, (rational_matrix(rows) * back).entries()) for rows in (out.reshape(-1, d), fm)]
    S = fmpq_mat([[int(v) for v in row] for row in R]) * columns[0]
    S += fmpq_mat([[den * int(v) for v in row] for row in Rf]) * columns[1]
    scale, found, k = 1 / (den * abs(det)), [], 0
    for _ in range((d + 1) ** 2):
        M = [[0] * d for _ in range(d)]
        for p, q in voigt(d):
            M[p][q] = M[q][p] = S[k, 0]
            k += 1
        P = B * fmpq_mat(M) * B.transpose()
        found.append([P[p, q] * scale for p, q in voigt(d)])
    return found


def nodal_ratios(d, regime, count=12):
    """Bound over true error of nodal values, cell by cell."""
    space = loose(d, regime, count, seed=d)
    T, rng = space.topology, RNG(5)
    m, fm = linear_moments(space, *symmetric(rng, d))
    m[::2] = rng.normal(size=m[::2].shape) * np.abs(m).max()
    values, error = space.nodal(m, fm, slice(0, count))
    out, ratios = space.outward(m, slice(0, count)), []
    for k in range(count):
        truth = exact_nodal(T.points[T.cells[k]], out[k], fm[k])
        got = values[k].reshape(-1, values.shape[-1])
        rows = zip(got, truth, strict=True)
        worst = max(abs(rational(v) - w) for row, true in rows for v, w in zip(row, true, strict=True))
        ratio = Fraction(float(error[k])) / Fraction(int(worst.p), int(worst.q)) if worst != 0 else Fraction(1)
        ratios.append(float(ratio))
    return np.array(ratios)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", REGIMES)
def test_rounding_of_nodal_values_is_bounded_and_not_much_too_large(d, regime):
    ratios = nodal_ratios(d, regime)
    assert ratios.min() >= 1.0
    assert np.median(ratios) < 1e4


@pytest.mark.parametrize("d", [2, 3])
def test_rounding_left_out_of_nodal_values_is_noticed(d, monkeypatch):
    class Exact(stress.Shapes):
        @classmethod
        def of(cls, points, cells):
            shapes = Shapes.of(points, cells)
            return replace(shapes, slack=np.zeros_like(shapes.slack))

    monkeypatch.setattr(stress, "Shapes", Exact)
    monkeypatch.setattr(stress, "gamma", lambda k: 0.0)
    assert nodal_ratios(d, "plain").min() < 1.0


def test_nodal_values_of_some_cells_are_those_of_all():
    space = loose(3, "plain", 5)
    m = RNG(0).normal(size=(len(space.topology.facets), 3, 3))
    values, error = space.nodal(m, None, slice(None))
    picked, same = space.nodal(m, None, np.array([3, 1]))
    assert np.allclose(picked, values[[3, 1]], rtol=1e-12)
    assert np.allclose(same, error[[3, 1]])


@pytest.mark.parametrize("d", [2, 3])
def test_the_error_of_body_forces_is_carried_to_nodal_values_and_to_forces(d):
    count = 40
    space = loose(d, "plain", count)
    rng = RNG(2)
    m, fm = rng.normal(size=(len(space.topology.facets), d, d)), rng.normal(size=(count, d + 1, d))
    e = np.full(count, 1e-3)
    away = 1e-3 * rng.choice([-1.0, 1.0], size=fm.shape)
    one, off = space.nodal(m, fm, slice(0, count), e)
    two, plain = space.nodal(m, fm + away, slice(0, count))
    moved = np.abs(one - two).max(axis=(1, 2, 3))
    assert np.all(moved <= off + plain)
    assert np.median(moved / off) > 0.005
    f0, t0 = space.balance(m, fm)
    f1, t1 = space.balance(m, fm, e)
    f2, t2 = space.balance(m, fm + away)
    assert np.all(np.abs(f2 - f0) <= f1 - f0)
    assert np.all(np.abs(t2 - t0) <= t1 - t0)


def exact_wrench(X, out, fm):
    """Force and moment of one cell in rationals."""
    d = X.shape[1]
    t = [[rational(v) for v in fm[i]] for i in range(d + 1)]
    for j, i in slots(d):
        for c in range(d):
            t[i][c] += rational(out[j, i if i < j else i - 1, c])
    Y = [[rational(v) for v in x] for x in X]
    centre = [sum(y[c] for y in Y) / (d + 1) for c in range(d)]
    force = [sum(t[i][c] for i in range(d + 1)) for c in range(d)]
    planes = [(0, 1)] if d == 2 else [(1, 2), (2, 0), (0, 1)]
    turn = [
        sum(t[i][a] * (Y[i][b] - centre[b]) - t[i][b] * (Y[i][a] - centre[a]) for i in range(d + 1)) for a, b in planes
    ]
    return sum(v * v for v in force), sum(v * v for v in turn)


def wrenches_hold(d, regime, *, narrow=True):
    """Whether all bounds hold for a field in equilibrium up to rounding; asserts that they are as small as that."""
    count = 40
    space = loose(d, regime, count, seed=10 + d)
    T = space.topology
    m, fm = linear_moments(space, *symmetric(RNG(6), d))
    force, moment = space.balance(m, fm)
    out, holds = space.outward(m, slice(0, count)), True
    for k in range(count):
        X = T.points[T.cells[k]]
        f, t = exact_wrench(X, out[k], fm[k])
        holds &= bool(f <= rational(force[k]) ** 2) and bool(t <= rational(moment[k]) ** 2)
        if narrow:
            bulk = np.abs(out[k]).sum() + np.abs(fm[k]).sum()
            assert force[k] <= 1.01 * float(f) ** 0.5 + 1e-27 * bulk
            assert moment[k] <= 1.01 * float(t) ** 0.5 + 1e-27 * bulk * np.ptp(X, axis=0).max()
    return holds


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", REGIMES)
def test_forces_and_moments_are_bounded_by_what_the_stored_numbers_leave(d, regime):
    assert wrenches_hold(d, regime)


@pytest.mark.parametrize("d", [2, 3])
def test_rounding_left_out_of_forces_and_moments_is_noticed(d, monkeypatch):
    monkeypatch.setattr(compensated, "UNIT", 0.0)
    monkeypatch.setattr(compensated, "SQUARE", 0.0)
    monkeypatch.setattr(compensated, "gamma", lambda k: 0.0)
    monkeypatch.setattr(compensated, "up", lambda x, k=4: x)
    assert not all(wrenches_hold(d, regime, narrow=False) for regime in REGIMES)


def test_numbers_too_large_for_the_sums_give_no_bound():
    space = loose(3, "wide", 2)
    m = np.full((len(space.topology.facets), 3, 3), 1e300)
    with np.errstate(all="ignore"):
        force, moment = space.balance(m, None)
    assert not np.any(np.isnan(force) | np.isnan(moment))
    assert np.all(moment == np.inf)


@pytest.mark.parametrize("d", [2, 3])
def test_energy_is_the_norm_and_gradient_its_derivative(d):
    T = pair_of_cells(d)
    lam, mu = np.array([1.5, -0.2]), np.array([0.7, 1.1])
    space, rng = StressSpace.of(T, lam, mu), RNG(7)
    m, fm = rng.normal(size=(len(T.facets), d, d)), rng.normal(size=(2, d + 1, d))
    ns = len(voigt(d))
    aim = Aim(rng.normal(size=(2, d + 1, ns)), np.array([1]), rng.normal(size=(1, d + 1, d + 1, ns)))
    energy, gradient = space.gradient(m, fm, aim)
    delta = space.nodal(m, fm, slice(0, 2))[0]
    delta[1] -= aim.extra[0]
    for s in range(d + 1):
        at = aim.linear.copy()
        at[:, s] = aim.linear.mean(axis=1)
        delta[:, s] -= at
    D = full(delta, d)
    trace = np.einsum("nsaii->nsa", D)
    part = lam / (d * lam + 2 * mu)
    mass = (np.ones((d + 1, d + 1)) + np.eye(d + 1)) / ((d + 1) * (d + 2))
    inner = np.einsum("nsaij,ab,nsbij->n", D, mass, D) - part * np.einsum("nsa,ab,nsb->n", trace, mass, trace)
    assert np.allclose(energy, inner * T.volumes / (d + 1) / (2 * mu), rtol=1e-12)
    step = rng.normal(size=m.shape)
    rise = space.gradient(m + step, fm, aim)[0].sum() - space.gradient(m - step, fm, aim)[0].sum()
    assert rise / 2 == pytest.approx((gradient * step).sum(), rel=1e-11)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("regime", ["plain", "wide", "flat"])
@pytest.mark.parametrize("ratio", [1.5, 0.0, -0.5])
def test_norm_factors_bound_the_norm_of_any_moments(d, regime, ratio):
    count = 50
    mu = RNG(1).uniform(0.5, 2.0, count)
    T = loose(d, regime, count).topology
    space = StressSpace.of(T, ratio * mu, mu)
    shape, best = (len(T.facets), d, d), np.zeros(count)
    facets = T.cell_facets
    for j, i in slots(d):
        for direction in RNG(2).normal(size=(6, d)):
            m = np.zeros(shape)
            m[facets[:, j], i if i < j else i - 1] = direction / np.linalg.norm(direction)
            best = np.maximum(best, space.gradient(m, None, None)[0])
    assert np.all(np.sqrt(best) <= space.norm_factor)
    assert np.median(np.sqrt(best) / space.norm_factor) > (0.5 if ratio >= 0 else 0.25)
    m = RNG(3).normal(size=shape)
    total = np.linalg.norm(m[facets], axis=3).sum(axis=(1, 2))
    assert np.all(np.sqrt(space.gradient(m, None, None)[0]) <= space.norm_factor * total)


def test_materials_that_are_not_stable_are_refused():
    T = pair_of_cells(3)
    with pytest.raises(InputError, match="stable"):
        StressSpace.of(T, np.array([1.0, -0.7]), np.ones(2))
    with pytest.raises(InputError, match="ascend"):
        Aim(np.zeros((2, 4, 6)), np.array([1, 0]), np.zeros((2, 4, 4, 6)))


def test_weights_of_the_mass_matrix_give_volumes():
    """A constant stress has the norm |σ|²|K|/2μ for λ = 0."""
    for d in (2, 3):
        space = StressSpace.of(pair_of_cells(d), np.zeros(2), np.full(2, 0.5))
        A, _ = symmetric(RNG(0), d)
        m, _ = linear_moments(space, A, np.zeros((d, d, d)))
        energy, _ = space.gradient(m, None, None)
        E = space.topology.edges
        assert np.allclose(energy, (A**2).sum() * np.abs(np.linalg.det(E)) / factorial(d), rtol=1e-13)
