"""Prepared certifiers, problems and certificates are pickled and copied: workers answer to the same bits."""

from __future__ import annotations

import copy
import importlib.util
import multiprocessing
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp

BACKENDS = {
    "superlu": None,
    "cholmod": "sksparse",
    "pardiso": "pypardiso",
    "cvxopt": "cvxopt",
    "amg": "pyamg",
    "krylov": None,
    "petsc": "petsc4py",
}


def chain(n):
    return sp.csr_array(sp.diags_array([-np.ones(n - 1), np.full(n, 2.5), -np.ones(n - 1)], offsets=[-1, 0, 1]))


def skewed(n):
    return sp.csr_array(chain(n) + sp.diags_array([np.full(n - 1, 0.3)], offsets=[1]))


def same(certifier, U, **more):
    """What a copy answers is what the original answers; both hold the truth."""
    right = certifier.certify(U, **more)
    for made in (pickle.loads(pickle.dumps(certifier)), copy.deepcopy(certifier), copy.copy(certifier)):
        found = made.certify(U, **more)
        assert np.array_equal(found.lower, right.lower)
        assert np.array_equal(found.upper, right.upper)
        assert found.assumptions == right.assumptions
    return right


METHODS = {
    "exact": lambda n: pp.Exact(),
    "refined": lambda n: pp.Exact(refine=True),
    "single precision": lambda n: pp.Exact(storage="float32"),
    "norm": lambda n: pp.Norm(),
    "inexact": lambda n: pp.Inexact(),
    "localized": lambda n: pp.Localized(projectors=np.arange(n) < n // 2),
    "randomized": lambda n: pp.Randomized(),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n", [20, 700])
def test_copies_of_every_method_answer_to_the_same_bits(name, n):
    A, b = chain(n), np.ones(n)
    truth = np.linalg.solve(A.toarray(), b)[:3]
    for weight in (None, "energy"):
        system = pp.LinearSystem(A, b, weight=weight)
        found = same(METHODS[name](n).prepare(system, pp.Queries(np.eye(n)[:3])), np.full(n, 0.5))
        assert np.all(found.lower <= truth + 1e-12)
        assert np.all(found.upper >= truth - 1e-12)


@pytest.mark.parametrize("name", BACKENDS)
def test_copies_with_every_backend_answer_to_the_same_bits(name):
    needed = BACKENDS[name]
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    n = 700
    system = pp.LinearSystem(chain(n), np.ones(n))
    same(pp.Exact(solver=name).prepare(system, pp.Queries(np.eye(n)[:20])), np.zeros(n))


def test_copies_on_other_systems_answer_to_the_same_bits():
    n, Q = 30, pp.Queries(np.eye(30)[:3])
    A, b = chain(n), np.ones(n)
    tall = sp.csr_array(sp.vstack([A, sp.eye_array(n)]))
    weight = sp.csr_array(sp.eye_array(n) * 2.0 + 0.1 * A)
    constrained = pp.AdmissibleSpace(np.zeros(n), sp.csr_array(np.vstack([np.eye(n - 1), np.ones(n - 1) / n])))
    for system in (
        pp.LinearSystem(skewed(n), b),
        pp.LinearSystem(skewed(700), np.ones(700)),
        pp.LinearSystem(A, b, A_error=abs(A) * 1e-10, b_error=np.full(n, 1e-10)),
        pp.LinearSystem(A, b, weight=weight),
        pp.LinearSystem(A, b, space=constrained),
        pp.LinearSystem(tall, np.ones(2 * n)),
    ):
        queries = Q if system.N == n else pp.Queries(np.eye(system.N)[:3])
        same(pp.Exact().prepare(system, queries), system.space.U0)
    for solver in ("lsmr", "lsqr"):
        same(pp.Inexact(solver=solver).prepare(pp.LinearSystem(tall, np.ones(2 * n)), Q), np.zeros(n))
    same(pp.LoadFamily(pp.LinearSystem(A, b), np.ones((2, n))).prepare(Q), np.zeros(n), mu=[1.0, 2.0])


def test_problems_and_certificates():
    mesh = pp.io.generate("square", 4)
    linear = pp.fem.ReactionDiffusion(mesh, source="exp(x)", dirichlet={"boundary": "x"})
    cubic = pp.fem.Semilinear(mesh, 20.0, "1", dirichlet={"boundary": 0.0})
    lifted = linear.lifted(pp.models.Lift("x*(1-x)*y*(1-y)"))
    for problem in (linear, cubic, lifted):
        asked = linear.points([[0.3, 0.4]]) if problem is lifted else problem.points([[0.3, 0.4]])
        if problem is lifted:
            asked = lifted.ask(asked.goals, asked.names)
        again = pickle.loads(pickle.dumps(problem))
        right = pp.certify(problem, problem.space.U0, asked)
        found = pp.certify(again, again.space.U0, pickle.loads(pickle.dumps(asked)))
        assert (found.lower[0], found.upper[0]) == (right.lower[0], right.upper[0])
        kept = copy.deepcopy(pickle.loads(pickle.dumps(right)))
        assert (kept.lower[0], kept.upper[0]) == (right.lower[0], right.upper[0])
    for method in (pp.Root(), pp.Stationary()):
        same(method.prepare(cubic.system, cubic.points([[0.3, 0.4]])), cubic.space.U0)
    plate = pp.fem.Elasticity(mesh, 1.0, 0.3, fixed={"left": 0.0}, traction={"right": (1.0, 0.0)})
    same(pp.Exact().prepare(plate.system, plate.points([[0.5, 0.5]], component="x")), plate.space.U0)


def answer(job):
    certifier, U = job
    return certifier.certify(U).lower


def test_workers_of_other_processes():
    n = 700
    certifier = pp.Exact().prepare(pp.LinearSystem(chain(n), np.ones(n)), pp.Queries(np.eye(n)[:3]))
    states = [np.full(n, x) for x in (0.0, 0.5)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(answer, [(certifier, U) for U in states])
    for lower, U in zip(found, states, strict=True):
        assert np.allclose(lower, certifier.certify(U).lower, rtol=0.0, atol=1e-12)


@pytest.mark.optional
@pytest.mark.skipif(importlib.util.find_spec("joblib") is None, reason="joblib comes with scikit-learn")
def test_joblib_answers_to_the_same_bits():
    from joblib import Parallel, delayed

    n = 20
    certifier = pp.Exact().prepare(pp.LinearSystem(chain(n), np.ones(n)), pp.Queries(np.eye(n)[:3]))
    with Parallel(1) as parallel:
        (found,) = parallel([delayed(answer)((certifier, np.zeros(n)))])
    assert np.array_equal(found, certifier.certify(np.zeros(n)).lower)
