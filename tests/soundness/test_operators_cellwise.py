"""A κ for every cell, the discrete target: intervals hold the exact rational solution of the stored cells."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq, fmpq_mat

import pinnpoint as pp
from pinnpoint.fem.families import cellwise
from tests.support.exactly import rational


def problem(kind, n):
    held = {"left": 0.0, "top": 0.0} if kind == "square" else {"boundary": 0.0}
    return pp.fem.ReactionDiffusion(pp.io.generate(kind, n), source="1 + x", dirichlet=held)


def solved(prepared, kappa):
    """Queries' values and the energy of the solution, in rational arithmetic, of the stored cells' matrices."""
    n = len(prepared.free)
    S, k = sp.coo_array(prepared.entries), [rational(float(x)) for x in kappa]
    slots = [fmpq(0)] * prepared.entries.shape[0]
    for slot, cell, value in zip(*S.coords, S.data, strict=True):
        slots[slot] += rational(float(value)) * k[cell]
    A, (indptr, indices) = fmpq_mat(n, n), prepared.where
    for i in range(n):
        for at in range(indptr[i], indptr[i + 1]):
            A[i, int(indices[at])] = slots[at]
    loads = [[rational(float(x)) for x in row] for row in prepared.loads.T]
    U = A.solve(fmpq_mat(n, 1, loads[0]))
    return [sum((w * U[i, 0] for i, w in enumerate(row) if w), fmpq(0)) for row in loads[1:]], A, U


def contrasts(cells, rng):
    return np.array([10.0 ** rng.uniform(0.0, top, cells) for top in (0.0, 0.6, 1.5, 3.0)])


@pytest.fixture(scope="module", params=[("square", 5), ("cube", 3)])
def small(request):
    p = problem(*request.param)
    at = np.full((2, p.mesh.dim), [[0.31], [0.55]])
    certifier = p.operators().prepare(p.points(at) + p.mean(), steps=2, target="discrete")
    kappas = contrasts(len(p.mesh.cells), np.random.default_rng(0))
    return p, certifier, kappas, [solved(certifier.prepared, k) for k in kappas]


def missed(population, truths):
    """How many intervals do not hold the rational truth."""
    count = 0
    for i, (values, _, _) in enumerate(truths):
        for q, true in enumerate(values):
            c, r = rational(float(population.center[i, q])), rational(float(population.radius[i, q]))
            count += not (c - r <= true <= c + r)
    return count


def certified(small, steps):
    p, certifier, kappas, _ = small
    zero = np.zeros((len(kappas), len(p.mesh.points)))
    return dataclasses.replace(certifier, steps=steps, dual_steps=steps).certify_many(kappas, zero)


@pytest.mark.parametrize("steps", [0, 1, 3, 40])
def test_rational_solutions_are_inside(small, steps):
    found = certified(small, steps)
    assert np.all(np.isfinite(found.radius))
    assert missed(found, small[3]) == 0
    if steps == 40:
        assert np.all(found.radius < 1e-9 * np.abs(found.center))


def near(x):
    """A rational as a float; its numerator may be too long for one."""
    return int(x.p) / int(x.q)


def energy(A, x):
    return near((x.transpose() * A * x)[0, 0])


def test_energy_errors_hold_on_both_sides(small):
    p, certifier, kappas, truths = small
    guesses = np.random.default_rng(1).normal(size=(len(kappas), len(p.mesh.points)))
    free = certifier.prepared.free
    for i, (_, _, U) in enumerate(truths):
        if i % 2:  # nearly right
            guesses[i, free] = np.array([near(U[j, 0]) for j in range(len(free))]) + 1e-6 * guesses[i, free]
    for steps in (1, 20):
        found = dataclasses.replace(certifier, steps=steps).certify_many(kappas, guesses)
        for i, (_, A, U) in enumerate(truths):
            left = [U[j, 0] - rational(float(guesses[i, k])) for j, k in enumerate(free)]
            error, size = np.sqrt(energy(A, fmpq_mat(len(free), 1, left))), np.sqrt(energy(A, U))
            assert found.energy_lower[i] <= error * (1 + 1e-12) <= found.energy[i] * (1 + 2e-12)
            assert found.norm_lower[i] <= size * (1 + 1e-12) <= found.norm[i] * (1 + 2e-12)
    assert np.all(found.energy < 1.5 * found.energy_lower)


@pytest.mark.parametrize("part", ["spread", "middle", "rounding"])
def test_what_is_left_out_is_missed(small, part, monkeypatch):
    steps = 40 if part == "rounding" else 1
    if part == "spread":
        monkeypatch.setattr(cellwise.Cellwise, "ends", lambda self, kappa: (float(kappa.max()),) * 2)
    elif part == "middle":
        monkeypatch.setattr(cellwise._Left, "products", lambda self: (np.zeros(len(self.high) - 2),) * 2)
        monkeypatch.setattr(
            cellwise.Cellwise, "ends", lambda self, kappa: (float(np.sqrt(kappa.min() * kappa.max())),) * 2
        )
    else:
        monkeypatch.setattr(cellwise, "gamma", lambda k: 0.0)
        monkeypatch.setattr(cellwise, "UNIT", 0.0)
        monkeypatch.setattr(cellwise, "up", lambda x, k=4: x)
        monkeypatch.setattr(cellwise, "norm_up", lambda x: float(np.linalg.norm(x)))
    assert missed(certified(small, steps), small[3]) > 0


def test_the_cells_matrices_are_semidefinite_but_for_what_is_counted(small):
    """Smallest eigenvalues of the stored matrices, in 3 × 3 or 4 × 4: not below −ε by more than LAPACK's own error."""
    p, certifier, _, _ = small
    from pinnpoint.fem.assembling.assembly import stiffness

    unit = stiffness(p.nodes, np.ones(len(p.mesh.cells)))
    least = np.linalg.eigvalsh(0.5 * (unit + np.swapaxes(unit, 1, 2)))[:, 0]
    assert np.all(least >= -certifier.prepared.floors)


def test_what_has_no_discrete_bounds_is_refused():
    p = problem("square", 3)
    with pytest.raises(pp.InputError, match="target: must be"):
        p.operators().prepare(p.mean(), target="both")
    with pytest.raises(pp.InputError, match="patches"):
        p.operators().prepare(p.mean(), target="discrete", patches=True)
    loaded = p.operators(loads=[{"source": 1.0}])
    with pytest.raises(pp.InputError, match="loads"):
        loaded.prepare(p.mean(), target="discrete")
    one = pp.fem.ReactionDiffusion(p.mesh, 1.0, dirichlet={"boundary": 1.0})
    two = pp.fem.ReactionDiffusion(p.mesh, 1.0, degree=2)
    for other, word in ((one, "held at zero"), (two, "degree")):
        with pytest.raises(pp.InputError, match=word):
            other.operators().prepare(other.mean(), target="discrete")
    certifier = p.operators().prepare(p.points([[0.5, 0.5]]), target="discrete")
    with pytest.raises(pp.InputError, match="witness"):
        certifier.witness(np.ones(len(p.mesh.cells)), np.zeros(len(p.mesh.points)))
    kappas = np.ones((3, len(p.mesh.cells)))
    kappas[1, 0] = np.nan
    found = certifier.certify_many(kappas, np.zeros((3, len(p.mesh.points))))
    assert [bool(s) for s in found.status] == [False, True, False]
    assert certifier.refine(found, [0]).radius[0, 0] <= found.radius[0, 0]
