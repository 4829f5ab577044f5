"""Load families against exact rationals and independent dense solves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.rounding import matrices
from tests.support.chains import chain
from tests.support.exactly import functional, rational, rational_matrix, solve_rational, within

METHODS = [
    pp.Exact(),
    pp.Exact(refine=True),
    pp.Norm(),
    pp.Inexact(correct="adjoint"),
    pp.Inexact(correct="primal"),
    pp.Randomized(probes=8, seed=1),
    pp.Localized(radius=0.3),
]


def exact_values(system, queries, F, base, mu):
    """ℓᵀU* with the load summed in rationals."""
    free = np.asarray(system.space.free)
    A = system.A.toarray()
    b = [rational(v) for v in base]
    for m, f in zip(mu, F, strict=True):
        b = [x + rational(m) * rational(y) for x, y in zip(b, f, strict=True)]
    U0 = [rational(v) for v in system.space.U0]
    rhs = [b[i] - sum((rational(A[i, j]) * U0[j] for j in range(len(U0))), rational(0.0)) for i in free]
    M = rational_matrix(A[np.ix_(free, free)])
    column = rational_matrix(np.zeros((len(free), 1)))
    for i, v in enumerate(rhs):
        column[i, 0] = v
    y = M.solve(column)
    U = list(U0)
    for i, j in enumerate(free):
        U[j] = y[i, 0]
    L = queries.L.toarray()
    return [functional(row, U) + rational(c) for row, c in zip(L, queries.constants, strict=True)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__ + ("+" if getattr(m, "refine", 0) else ""))
def test_every_interval_holds_the_rational_truth(method):
    system, queries, rng = chain()
    F, base = rng.normal(size=(3, system.N)), 0.1 * rng.normal(size=system.N)
    certifier = pp.LoadFamily(system, F, base).prepare(queries, method)
    mu = np.concatenate([rng.normal(size=(5, 3)), np.zeros((1, 3)), [[1e9, -1e-9, 3.0]]])
    states = np.stack([system.space.project(rng.normal(size=system.N)).U for _ in mu])
    raw = rng.normal(size=(len(mu), 3))
    batch = certifier.certify_many(states, mu, raw=raw, block=2)
    for i, m in enumerate(mu):
        truth = exact_values(system, queries, F, base, m)
        for j, t in enumerate(truth):
            assert within(batch.center[i, j], batch.radius[i, j], t)
            assert within(batch.value[i, j], batch.value_radius[i, j], t)
            assert within(raw[i, j], batch.raw_radius[i, j], t)
            assert batch.radius[i, j] < 1e-9 * (1.0 + np.abs(m).max())
        one = certifier.certify(states[i], mu=m, raw=raw[i])
        np.testing.assert_allclose(one.center, batch.center[i], rtol=1e-13, atol=1e-13)
        assert one.guarantee == ("probabilistic" if isinstance(method, pp.Randomized) else "deterministic")
    assert np.all(batch.radius[5] < 1e-10)


@pytest.mark.parametrize("correct", ["adjoint", "primal", "both"])
def test_defects_of_every_load_count(correct):
    """Solvers that stop at once: what they leave of each column is nearly all of the radius, and of the error."""
    system, queries, rng = chain(40)
    F, base = rng.normal(size=(3, system.N)), rng.normal(size=system.N)
    method = pp.Inexact(correct=correct, iterations=3, primal_iterations=3)
    certifier = pp.LoadFamily(system, F, base).prepare(queries, method)
    mu = np.concatenate([np.zeros((1, 3)), 1e3 * np.eye(3)])
    batch = certifier.certify_raw(np.zeros((4, 3)), mu)
    for i, m in enumerate(mu):
        for j, truth in enumerate(exact_values(system, queries, F, base, m)):
            assert within(batch.center[i, j], batch.radius[i, j], truth)
            assert not within(batch.center[i, j], 1e-6, truth)  # far above rounding
    assert np.all(batch.radius[1:] > 50.0 * batch.radius[0])


def test_rounding_terms_are_needed():
    """Without its rounding and algebra terms the same intervals miss the rational truth."""
    system, queries, rng = chain(20)
    F = rng.normal(size=(4, system.N))
    certifier = pp.LoadFamily(system, F).prepare(queries)
    mu = rng.normal(size=(10, 4))
    batch = certifier.certify_raw(np.zeros((10, 3)), mu)
    truths = [exact_values(system, queries, F, np.zeros(system.N), m) for m in mu]
    missed = sum(not within(batch.center[i, j], 0.0, t) for i, row in enumerate(truths) for j, t in enumerate(row))
    assert missed > 20
    assert all(
        within(batch.center[i, j], batch.radius[i, j], t) for i, row in enumerate(truths) for j, t in enumerate(row)
    )
    assert np.max(batch.radius) < 1e-13
    assert set(batch.terms) == {"algebra", "rounding"}


@pytest.mark.parametrize("weight", [None, "diagonal", "energy"])
def test_residual_norms_are_upper_bounds_and_tight(weight):
    system, queries, rng = chain(16, np.linspace(0.5, 2.0, 14) if weight == "diagonal" else weight)
    F, base = rng.normal(size=(2, system.N)), rng.normal(size=system.N)
    family = pp.LoadFamily(system, F, base)
    certifier = family.prepare(queries)
    mu = rng.normal(size=(6, 2))
    V = np.zeros((system.N, 4))
    V[1:-1] = rng.normal(size=(system.N - 2, 4))
    a = rng.normal(size=(6, 4))
    a[0] = 0.0
    states = system.space.U0 + a @ V.T
    full = certifier.certify_many(states, mu)
    reduced = certifier.reduced(V).certify_many(a, mu)
    plain = pp.Exact(rounding=False).prepare(system, queries)
    for i, m in enumerate(mu):
        r = plain.observe(states[i], family.vector(m)).r.hi
        size = plain.ground.proof.form.norm(plain.observe(states[i], family.vector(m)).r)
        assert size * (1 - 1e-12) <= full.residual_norm[i] <= size * (1 + 1e-9)
        if weight == "energy":
            assert reduced.residual_norm is None
        else:
            assert size * (1 - 1e-12) <= reduced.residual_norm[i] <= size * (1 + 1e-9)
        assert r.size == system.n
    np.testing.assert_allclose(reduced.value, full.value, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(reduced.center, full.center)


@pytest.mark.parametrize("kernel", ["numpy", "compiled"])
@pytest.mark.parametrize("weight", [None, "diagonal"])
def test_residual_norms_of_groups_against_rationals(kernel, weight, monkeypatch):
    """Groups that are full, that are not, and single states; near the solution the rounding term is what holds."""
    if kernel == "compiled":
        assert matrices.compiled() is not None
        monkeypatch.setattr(matrices, "COMPILE_FROM", 0)
    w = np.linspace(0.3, 2.0, 18) if weight else None
    system, queries, rng = chain(20, w)
    F, base = rng.normal(size=(2, system.N)), rng.normal(size=system.N)
    certifier = pp.LoadFamily(system, F, base).prepare(queries)
    free, A = np.asarray(system.space.free), system.A.toarray()
    mu = rng.normal(size=(21, 2))
    states = system.space.U0 + np.zeros((21, 1))
    states[:, free] = np.linalg.solve(A[np.ix_(free, free)], ((base + mu @ F) - A @ system.space.U0)[:, free].T).T
    states[::2, free] += rng.normal(size=(11, len(free)))
    kept = states.copy()
    kept.flags.writeable = False
    batch = certifier.certify_many(kept, mu, block=18)
    exact_A = [[rational(v) for v in row] for row in A[free]]
    for i, (u, m) in enumerate(zip(states, mu, strict=True)):
        x = [rational(v) for v in u]
        b = [
            rational(base[j]) + sum((rational(c) * rational(f[j]) for c, f in zip(m, F, strict=True)), 0) for j in free
        ]
        r = [sum((a * v for a, v in zip(row, x, strict=True)), -t) for row, t in zip(exact_A, b, strict=True)]
        square = sum((v * v * (1 if w is None else rational(w[j])) for j, v in enumerate(r)), rational(0.0))
        assert rational(batch.residual_norm[i]) ** 2 >= square
        assert batch.residual_norm[i] <= float(Fraction(int(square.p), int(square.q))) ** 0.5 * (1 + 1e-12) + 1e-11
    huge = kept * 1e200
    huge[:, system.space.fixed] = system.space.U0[system.space.fixed]
    assert np.all(certifier.certify_many(huge, mu).residual_norm[::2] == np.inf)


def test_small_residuals_of_reduced_states_stay_small():
    """Near the solution a formed square would lose half of the digits; the factorization does not."""
    system, queries, rng = chain(40)
    F = rng.normal(size=(3, system.N))
    certifier = pp.LoadFamily(system, F).prepare(queries)
    free = np.asarray(system.space.free)
    A = system.A.toarray()[np.ix_(free, free)]
    V = np.zeros((system.N, 4))
    V[free, :3] = np.linalg.solve(A, F[:, free].T)
    V[free, 3] = np.linalg.solve(A, -(system.A @ system.space.U0)[free])
    mu = rng.normal(size=(5, 3))
    batch = certifier.reduced(V).certify_many(np.c_[mu, np.ones(5)], mu)
    assert np.all(batch.residual_norm < 1e-11)
    assert np.all(batch.value_radius < 1e-12)


def test_least_squares_families():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(15, 6))
    system = pp.LinearSystem(A, np.zeros(15))
    queries = pp.Queries(np.eye(6)[:2])
    F = rng.normal(size=(2, 15))
    certifier = pp.LoadFamily(system, F).prepare(queries)
    mu = rng.normal(size=(4, 2))
    batch = certifier.certify_many(rng.normal(size=(4, 6)), mu)
    for i, m in enumerate(mu):
        H = rational_matrix(A).transpose() * rational_matrix(A)
        rhs = rational_matrix(A).transpose() * sum(
            (rational_matrix(f[:, None]) * rational(x) for f, x in zip(F, m, strict=True)),
            rational_matrix(np.zeros((15, 1))),
        )
        x = H.solve(rhs)
        assert all(within(batch.center[i, j], batch.radius[i, j], x[j, 0]) for j in range(2))
    assert np.max(batch.radius) < 1e-11


def test_problem_families_against_dense_solves():
    mesh = pp.io.generate("square", 6)
    plate = pp.fem.Elasticity(mesh, young=2.0, poisson=0.3, fixed={"left": 0.0})
    loads = [
        {"force": {"right": (0.0, 1.0)}},
        {"traction": {"top": (0.2, 0.0)}},
        {"body": ("0", "x*y")},
        np.random.default_rng(0).normal(size=plate.system.N),
    ]
    family = plate.family(loads, names=["tip", "top", "own weight", "noise"])
    asked = plate.points([[0.7, 0.4], [0.31, 0.77]], "y") + plate.patch("right", "x")
    certifier = family.prepare(asked)
    mu = np.random.default_rng(1).normal(size=(20, 4))
    states = lambda block: np.zeros((len(block), plate.system.N))  # noqa: E731
    batch = certifier.certify_many(states, mu, block=7)
    free = np.asarray(plate.space.free)
    A = plate.A.toarray()
    U = np.zeros((20, plate.system.N))
    U[:, free] = np.linalg.solve(A[np.ix_(free, free)], (mu @ family.F)[:, free].T).T
    np.testing.assert_allclose(batch.center, (asked.L @ U.T).T, rtol=1e-11, atol=1e-12)
    twice = pp.fem.Elasticity(mesh, young=2.0, poisson=0.3, fixed={"left": 0.0}, force={"right": (0.0, 1.0)})
    np.testing.assert_array_equal(family.F[0], twice.b)
    heat = pp.fem.ReactionDiffusion(mesh, source="x", dirichlet={"left": 1.0})
    both = heat.family([{"source": "x"}, {"neumann": {"right": 2.0}}], base=heat.b).prepare(heat.points([[0.5, 0.5]]))
    one = pp.certify(heat, heat.space.U0, heat.points([[0.5, 0.5]]), target="discrete")
    np.testing.assert_allclose(both.certify(mu=[0.0, 0.0]).center, one.center, rtol=1e-13)


def test_forces_with_moments_are_loads_of_a_family():
    """The four load cases of the bracket, each as it is assembled alone."""
    from pinnpoint.fem.elastic.bracket_loads import LOADS, bracket

    body = bracket()
    family = body.family([{"force": {"pin": load}} for load in LOADS.values()])
    for name, f in zip(LOADS, family.F, strict=True):
        np.testing.assert_array_equal(f, bracket(name, mesh=body.mesh).b)
    with pytest.raises(pp.InputError, match="force: group 'bolts' shares"):
        body.load(force={"bolts": LOADS["vertical"]})
    with pytest.raises(pp.InputError, match="traction 'pin': must be a number"):
        pp.fem.Elasticity(body.mesh, 1.0, 0.3, fixed={"bolts": 0.0}, traction={"pin": LOADS["vertical"]})


def test_batches_are_sequences_of_certificates():
    system, queries, rng = chain()
    certifier = pp.LoadFamily(system, rng.normal(size=(2, system.N))).prepare(queries)
    batch = certifier.certify_raw(rng.normal(size=(5, 3)), rng.normal(size=(5, 2)))
    assert len(batch) == len(list(batch)) == 5
    assert len(batch[1:3]) == 2
    one = batch[-1]
    np.testing.assert_array_equal(one.lower, batch.lower[4])
    np.testing.assert_array_equal(one.raw_radius, batch.raw_radius[4])
    assert not one.evidence.predicted
    assert np.all(batch.contains(batch.center))
    assert one.to_dict()["queries"][0]["terms"]["rounding"] > 0.0


def test_a_hundred_thousand_loads_a_second():
    from time import perf_counter

    system, _, rng = chain(60)
    queries = pp.Queries(rng.normal(size=(28, system.N)))
    certifier = pp.LoadFamily(system, rng.normal(size=(4, system.N))).prepare(queries)
    mu, raw = rng.normal(size=(50_000, 4)), rng.normal(size=(50_000, 28))
    best = np.inf
    for _ in range(3):
        start = perf_counter()
        certifier.certify_raw(raw, mu)
        best = min(best, perf_counter() - start)
    assert len(mu) / best > 1e5


def test_bad_loads_and_coefficients_are_refused():
    system, queries, rng = chain()
    family = pp.LoadFamily(system, rng.normal(size=(2, system.N)))
    certifier = family.prepare(queries)
    bad = [
        (lambda: pp.LoadFamily(system, np.full((1, system.N), np.nan)), "loads: load 0"),
        (lambda: pp.LoadFamily(system, np.zeros((2, 3))), "loads: must have shape"),
        (lambda: certifier.certify(mu=[1.0]), "mu: must have shape"),
        (lambda: certifier.certify(mu=[1.0, np.nan]), "mu: row 0"),
        (lambda: certifier.certify(mu=[1.0, 1e200]), "mu"),
        (lambda: certifier.certify_raw(np.zeros((1, 2)), np.zeros((1, 2))), "raw: must have shape"),
        (lambda: certifier.certify_raw(np.full((1, 3), np.inf), np.zeros((1, 2))), "raw: row 0"),
        (lambda: certifier.certify_many(np.zeros((1, 4)), np.zeros((1, 2))), "predictions: must have shape"),
        (lambda: certifier.certify_many(np.ones((1, system.N)), np.zeros((1, 2))), r"predictions\[0\]: not admissible"),
        (lambda: certifier.certify(3.0, mu=[1.0, 2.0]), "prediction: must be a vector"),
        (lambda: certifier.certify(np.sin, mu=[1.0, 2.0]), "prediction: must hold real numbers"),
        (lambda: certifier.certify(mu=1.0), "mu: must be a vector"),
        (lambda: certifier.certify(mu=[[1.0, 2.0], [3.0]]), "mu: must hold real numbers"),
        (lambda: certifier.certify(mu=[1.0, 2.0j]), "mu: must hold real numbers"),
        (lambda: certifier.certify_many(np.ma.masked_all((1, system.N)), np.zeros((1, 2))), "entries are masked"),
        (lambda: certifier.certify_many(lambda m: m, np.zeros((1, 2))), "predictions: must give 1 states"),
        (lambda: certifier.certify_many(lambda m: None, np.zeros((1, 2))), "predictions: must hold real numbers"),
        (lambda: certifier.certify_many(np.full((1, system.N), np.nan), np.zeros((1, 2))), "state 0 is not finite"),
        (lambda: certifier.certify_many(np.zeros((1, system.N)), np.zeros((1, 2)), block=0), "block"),
        (lambda: certifier.reduced(np.zeros((system.N, 1)), offset=[1.0]), "offset: must have"),
        (lambda: certifier.reduced(np.ones((system.N, 1))), "V"),
        (lambda: certifier.reduced(np.zeros((3, 1))), "V: must be finite"),
        (lambda: family.prepare(queries, pp.Root()), "method"),
    ]
    for call, words in bad:
        with pytest.raises(pp.InputError, match=words):
            call()


def test_operators_without_a_matrix():
    """Residual norms of a family whose operator is only a function."""
    n = 8
    A = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()

    class Solver:
        def solve(self, b):
            return np.linalg.solve(A.toarray(), b)

        solve_transposed = solve

    system = pp.LinearSystem(spla.aslinearoperator(A), np.ones(n))
    method = pp.Exact(rounding=False, solver=Solver(), coercivity=0.1)
    certifier = pp.LoadFamily(system, np.ones((1, n))).prepare(pp.Queries(np.eye(n)[:2]), method)
    batch = certifier.certify_many(np.zeros((5, n)), np.ones((5, 1)))
    np.testing.assert_allclose(batch.residual_norm, np.sqrt(n), rtol=1e-12)
    np.testing.assert_allclose(batch.center[0], [4.0, 7.0], rtol=1e-12)


def test_what_overflows_is_refused_and_never_nan():
    system, _, rng = chain()
    L = rng.normal(size=(2, system.N)) * 1e120
    certifier = pp.LoadFamily(system, rng.normal(size=(2, system.N)) * 1e130).prepare(pp.Queries(L))
    with pytest.raises(pp.InputError, match="mu: row 1 leads to values beyond"):
        certifier.certify_raw(np.zeros((2, 2)), [[1.0, 1.0], [1e140, -1e140]])
    fine = certifier.certify_raw(np.zeros((1, 2)), [[1e-140, 1e-140]])
    assert np.all(np.isfinite(fine.lower))
    assert np.all(fine.lower <= fine.upper)
    V = np.zeros((system.N, 1))
    V[1:-1] = 1e140
    with pytest.raises(pp.InputError, match="predictions: row 0 leads to values beyond"):
        certifier.reduced(V).certify_many([[1e140]], [[1.0, 1.0]])


def test_any_basis_any_precision_any_scale_hold_the_rational_truth():
    """Bases that have nothing to do with the solutions, repeated columns, single precision, tiny and huge μ."""
    system, queries, rng = chain()
    F = rng.normal(size=(2, system.N))
    certifier = pp.LoadFamily(system, F).prepare(queries)
    mu = np.array([[0.0, 0.0], [1e-200, 3.0], [1e100, -1e100], [1e-300, 1e-310]])
    truths = [exact_values(system, queries, F, np.zeros(system.N), m) for m in mu]
    noise = np.zeros((system.N, 3))
    noise[1:-1] = rng.normal(size=(system.N - 2, 3))
    noise[:, 2] = noise[:, 0]
    for V in (noise, noise.astype(np.float32), 0.0 * noise, noise * 1e-150, noise[:, :1] * 1e60, noise[:, :0]):
        a = rng.normal(size=(len(mu), V.shape[1])).astype(np.float32)
        batch = certifier.reduced(V).certify_many(a, mu, raw=rng.normal(size=(len(mu), 3)).astype(np.float32))
        states = system.space.U0 + a.astype(float) @ V.T.astype(float)
        full = certifier.certify_many(states.astype(np.float64), mu)
        for found in (batch, full):
            assert not np.any(np.isnan(found.residual_norm))
            assert np.all(np.isfinite(found.value_radius))
        for i, truth in enumerate(truths):
            for j, t in enumerate(truth):
                assert within(batch.center[i, j], batch.radius[i, j], t)
                assert within(batch.value[i, j], batch.value_radius[i, j], t)
                assert within(batch.raw[i, j], batch.raw_radius[i, j], t)
                assert within(full.value[i, j], full.value_radius[i, j], t)
    nearly = noise.copy()
    nearly[0] = 1e-13  # of a size that is taken for rounding: the prescribed value is what is certified
    assert np.all(certifier.reduced(nearly).states.V[0] == 0.0)


def test_exact_truth_agrees_with_solve_rational():
    """The reference itself, against the one used elsewhere."""
    system, queries, rng = chain(8)
    f = rng.normal(size=system.N)
    free = np.asarray(system.space.free)
    b = f - system.A @ system.space.U0
    y = solve_rational(system.A.toarray()[np.ix_(free, free)], b[free])
    U = np.array(system.space.U0)
    U[free] = [float(v.p) / float(v.q) for v in y]
    mine = exact_values(system, queries, f[None], np.zeros(system.N), [1.0])
    np.testing.assert_allclose([float(v.p) / float(v.q) for v in mine], queries.L @ U + queries.constants, rtol=1e-12)
