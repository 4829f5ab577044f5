"""Every backend gives certificates that hold; none can make one lie."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.base.errors import DependencyMissingError
from pinnpoint.fem.elastic.elasticity import rigid_motions
from pinnpoint.solvers import choice
from pinnpoint.solvers.amg import Multigrid
from pinnpoint.solvers.blocks import conjugate_gradients
from pinnpoint.solvers.choice import GB, Task, choose, installed, predicted
from pinnpoint.solvers.cholmod import Cholmod
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.forecast import Fill
from pinnpoint.solvers.pardiso import Pardiso
from pinnpoint.solvers.petsc import Petsc
from pinnpoint.solvers.wheel_cholmod import WheelCholmod
from tests.support import gallery
from tests.support.exactly import functional, holds, solve_arb

HOW = {
    "cholmod": "scikit-sparse is not installed: apt install libsuitesparse-dev, pip install 'pinnpoint[cholmod]'",
    "pardiso": "pypardiso is not installed: pip install 'pinnpoint[pardiso]' (about 1 GB)",
    "cvxopt": "CVXOPT is not installed: pip install 'pinnpoint[cvxopt]'",
    "amg": "PyAMG is not installed: pip install 'pinnpoint[amg]'",
}
BACKENDS = {
    "superlu": SparseLU,
    "cholmod": Cholmod,
    "pardiso": Pardiso,
    "cvxopt": WheelCholmod,
    "amg": Multigrid,
    "petsc": Petsc,
}
if not installed("petsc"):
    del BACKENDS["petsc"]  # no wheels: `make test-mpi` runs these tests in an environment around Debian's PETSc


def among(*names):
    """Those of the backends that can be tried in this environment."""
    return [name for name in names if name in BACKENDS]


def require(name):
    if not installed(name):
        pytest.skip(HOW[name])


def reference(system, queries, U):
    """An interval far narrower than those under test, from SuperLU and refined adjoints."""
    found = pp.certify(system, U, queries, pp.Exact(solver="superlu", refine=True))
    assert np.all(found.radius < 1e-13)
    return found


def point_queries(case, count, seed=0):
    at = np.random.default_rng(seed).choice(case.free, count, replace=False)
    return pp.Queries(sp.csr_array((np.ones(count), (np.arange(count), at)), shape=(count, case.b.size)))


def rough(case, seed=1):
    return case.space.project(np.random.default_rng(seed).uniform(size=case.b.size)).U


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("problem", [gallery.poisson_2d, gallery.elasticity_2d])
def test_backends_solve_vectors_and_blocks(name, problem):
    require(name)
    A, _ = problem(26).reduced()
    A = sp.csr_array((A + A.T) * 0.5)
    solver = BACKENDS[name](A)
    B = np.random.default_rng(0).normal(size=(A.shape[0], 5))
    for solve in (solver.solve, solver.solve_transposed):
        X = solve(B)
        assert X.shape == B.shape
        assert np.linalg.norm(A @ X - B) < 1e-7 * np.linalg.norm(B)
        x = solve(B[:, 0])
        assert x.shape == (A.shape[0],)
        assert np.linalg.norm(A @ x - B[:, 0]) < 1e-7 * np.linalg.norm(B)


@pytest.mark.parametrize("name", among("superlu", "pardiso", "petsc"))
def test_transposed_solves_of_nonsymmetric_matrices(name):
    require(name)
    rng = np.random.default_rng(0)
    A = sp.csr_array(gallery.random_sparse(rng, 700, 700, 0.005) + 4.0 * sp.eye_array(700))
    solver, b = BACKENDS[name](A), rng.normal(size=700)
    assert np.linalg.norm(A @ solver.solve(b) - b) < 1e-7
    assert np.linalg.norm(A.T @ solver.solve_transposed(b) - b) < 1e-7
    assert np.linalg.norm(A @ solver.solve(b) - b) < 1e-7


@pytest.mark.parametrize("name", ["cholmod", "pardiso", "cvxopt"])
def test_indefinite_matrices_are_told(name):
    require(name)
    A = sp.csr_array(gallery.poisson_2d(26).reduced()[0])
    assert BACKENDS[name].definite(A)
    shifted = sp.csr_array(A - 1.5 * pp.verify_coercivity(A).alpha * sp.eye_array(A.shape[0]))
    assert not BACKENDS[name].definite(shifted)
    with pytest.raises(pp.InputError, match=r"(?i)" + name):
        BACKENDS[name](shifted)


@pytest.mark.parametrize("count", [2, 30])
@pytest.mark.parametrize("name", [*BACKENDS, "krylov", "auto", "direct"])
def test_certificates_hold_with_every_backend(name, count):
    require(name) if name in HOW else None
    case = gallery.poisson_2d(28)
    system, queries, U = case.system(), point_queries(case, count), rough(case)
    true = reference(system, queries, U)
    found = pp.certify(system, U, queries, pp.Exact(solver=name))
    assert np.all(found.lower <= true.lower)
    assert np.all(found.upper >= true.upper)
    assert np.all(found.radius < 1e-10)
    assert "(" in found.details["solver"]
    assert found.to_dict()["solver"] == found.details["solver"]


@pytest.mark.parametrize("name", among("cholmod", "pardiso", "cvxopt", "amg", "petsc"))
def test_elasticity_with_a_shifted_factorization(name):
    require(name)
    problem = pp.fem.Elasticity(
        pp.io.generate("cube", 6), young=1.0, poisson=0.3, body=[0, 0, -1.0], fixed={"left": 0.0}
    )
    queries = problem.points(np.random.default_rng(0).uniform(0.2, 0.8, (4, 3)), component="z")
    U = problem.space.project(0.1 * np.random.default_rng(1).uniform(size=problem.space.N)).U
    true = reference(problem.system, queries, U)
    found = pp.certify(problem.system, U, queries, pp.Exact(solver=name))
    assert np.all((found.lower <= true.lower) & (found.upper >= true.upper))
    assert np.all(found.radius < 1e-8)


def test_rigid_motions_speed_multigrid_up():
    require("amg")
    problem = pp.fem.Elasticity(
        pp.io.generate("cube", 10), young=1.0, poisson=0.3, body=[0, 0, -1.0], fixed={"left": 0.0}
    )
    system = problem.system
    free = system.space.free
    A = sp.csr_array(system.A[free][:, free])
    assert system.node_size == 3
    assert system.modes.shape == (system.n, 6)
    interior = np.abs(system.A @ rigid_motions(problem.mesh.points)).max()
    assert interior < 1e-12
    b = np.random.default_rng(0).normal(size=(system.n, 3))
    left = {}
    for modes in (None, system.modes):
        few = Multigrid(A, modes, 3, iterations=12)
        left[modes is None] = np.linalg.norm(A @ few.solve(b) - b) / np.linalg.norm(b)
    assert left[False] < 0.2 * left[True]


def test_nodes_that_lost_a_component_are_not_blocks():
    problem = pp.fem.Elasticity(
        pp.io.generate("square", 6), young=1.0, poisson=0.3, fixed={"left": 0.0, "bottom": ["free", 0.0]}
    )
    assert problem.system.node_size == 1


class Wrong:
    """SuperLU, made to lie."""

    accurate = True
    name = "wrong"

    def __init__(self, A, how):
        self.inner, self.how = SparseLU(A), how
        self.rng = np.random.default_rng(0)
        self.last = {}

    def solve(self, b):
        x = self.inner.solve(b)
        if self.how == "nan":
            x = np.full_like(x, np.nan)
        elif self.how == "one nan":
            x[3] = np.nan
        elif self.how == "infinite":
            x[0] = np.inf
        elif self.how == "garbage":
            x = self.rng.normal(size=x.shape)
        elif self.how == "zero":
            x = np.zeros_like(x)
        elif self.how == "negative":
            x = -x
        elif self.how == "huge":
            x = x * 1e200
        elif self.how == "off":
            x = x * (1.0 + 1e-6)
        elif self.how == "single":
            x = x.astype(np.float32)
        elif self.how == "stale":
            x = self.last.setdefault(x.shape, x.copy())
        elif self.how == "same buffer":
            buffer = self.last.setdefault(x.shape, np.empty_like(x))
            buffer[...] = x
            x = buffer
        elif self.how == "input":
            x = b
        elif self.how == "overwrites":
            b[...] = 0.0
            x = np.zeros_like(x)
        elif self.how == "raises":
            raise RuntimeError("no")
        elif self.how == "short":
            x = x[:-1]
        elif self.how == "complex":
            x = x + 0j
        return x

    solve_transposed = solve


LIES = (
    "nan,one nan,infinite,garbage,zero,negative,huge,off,single,stale,same buffer,input,overwrites,raises,short,complex"
)


@pytest.mark.parametrize("accurate", [True, False])
@pytest.mark.parametrize("how", LIES.split(","))
def test_wrong_backends_widen_or_raise(how, accurate):
    case = gallery.poisson_2d(28)
    system, U = case.system(), rough(case)
    for count in (1, 7):
        queries = point_queries(case, count, seed=4)
        true = reference(system, queries, U)
        solver = Wrong(case.reduced()[0], how)
        solver.accurate = accurate
        for method in (pp.Exact(solver=solver), pp.Exact(solver=solver, refine=True), pp.Inexact(solver=solver)):
            try:
                found = pp.certify(system, U, queries, method)
            except pp.PinnpointError:
                continue
            assert np.all(found.lower <= true.lower), how
            assert np.all(found.upper >= true.upper), how
            assert not np.any(np.isnan(found.radius))


class Spoilt:
    """A backend that answers blocks of right-hand sides, spoilt from its call number `late` on."""

    def __init__(self, inner, how, late):
        self.inner, self.how, self.late = inner, how, late
        self.name, self.accurate = "spoilt", inner.accurate
        self.calls, self.last, self.work = 0, {}, {}
        self.rng = np.random.default_rng(0)

    def solve(self, b):
        x = np.array(self.inner.solve(np.array(b)))
        self.calls += 1
        before, self.last[x.shape] = self.last.get(x.shape, 0.0 * x), x.copy()
        if self.calls <= self.late:
            return x
        block = np.atleast_2d(x.T).T
        if self.how == "stale":
            return before
        if self.how == "stale column":
            block[:, -1] = block[:, 0]
        elif self.how == "shifted columns":
            block[...] = np.roll(block, 1, axis=1)
        elif self.how == "nan column":
            block[:, 1 % block.shape[1]] = np.nan
        elif self.how == "garbage column":
            block[:, -1] = self.rng.normal(size=len(block)) * np.abs(block).max()
        elif self.how == "half done":
            block[len(block) // 2 :] = 0.0
        elif self.how == "one buffer":
            work = self.work.setdefault(x.shape, np.empty_like(x))
            work[...] = x
            return work
        elif self.how == "overwrites":
            b[...] = 0.0
            block[:, -1] = 0.0
        return x

    solve_transposed = solve


SPOILT = "stale,stale column,shifted columns,nan column,garbage column,half done,one buffer,overwrites"


def rough_bound(monkeypatch):
    """Small solids are treated as large ones: the bound of paths, Green vectors as pairs, refined in blocks."""
    from pinnpoint.certifiers import green

    monkeypatch.setattr(choice, "ROUGH_FROM", 50)
    monkeypatch.setattr(green, "DENSE_UP_TO", 10)


@pytest.fixture(scope="module")
def solid():
    """A body in space with its exact values."""
    problem = pp.fem.Elasticity(
        pp.io.generate("cube", 3), young=1e3, poisson=0.3, body=[0, 0, -1.0], fixed={"left": 0.0}
    )
    queries = problem.points([[0.5, 0.5, 0.5], [0.9, 0.2, 0.7], [1.0, 1.0, 1.0]], component="z")
    U = problem.space.project(np.random.default_rng(0).normal(size=problem.space.N)).U
    free = problem.space.free
    x = solve_arb(problem.system.free_block, problem.b[free])
    return problem, queries, U, [functional(ell, x) for ell in queries.L[:, free].toarray()]


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("how", SPOILT.split(","))
def test_spoilt_blocks_widen_or_raise(solid, monkeypatch, name, how):
    require(name)
    rough_bound(monkeypatch)
    problem, queries, U, truths = solid
    for late in (0, 1):  # the Green vectors, or what refines them
        solver = Spoilt(BACKENDS[name](problem.system.free_block), how, late)
        certifier = pp.Exact(solver=solver).prepare(problem.system, queries)
        assert certifier.ground.proof.rough
        assert solver.calls == 2
        found = certifier.certify(U)
        assert all(holds(a, b, t) for a, b, t in zip(found.lower, found.upper, truths, strict=True))
        assert how == "one buffer" or found.radius.max() > 1e-9
        plain = pp.Exact(solver=Spoilt(solver.inner, how, late), coercivity=1e-3)
        found = plain.prepare(problem.system, queries).certify(U)
        assert all(holds(a, b, t) for a, b, t in zip(found.lower, found.upper, truths, strict=True))


class Plain:
    """Some steps of conjugate gradients on blocks."""

    accurate = False

    def __init__(self, A):
        self.A, self.scale = A, 1.0 / A.diagonal()[:, None]

    def solve(self, b):
        return conjugate_gradients(lambda P: self.A @ P, lambda R: self.scale * R, b, 1e-9, 60)


@pytest.fixture(scope="module")
def large_solid():
    return pp.fem.Elasticity(pp.io.generate("cube", 24), young=1e3, poisson=0.3, fixed={"left": 0.0})


@pytest.mark.parametrize(("how", "late"), [("stale", 1), ("shifted columns", 0), ("overwrites", 0)])
def test_spoilt_blocks_of_a_large_solid(how, late, large_solid):
    """More than 40,000 unknowns, untouched settings; nothing loads it, so every true value is zero."""
    problem, system = large_solid, large_solid.system
    assert system.n > choice.ROUGH_FROM
    queries = problem.points([[0.5, 0.5, 0.5], [0.9, 0.2, 0.7]], component="z")
    U = 1e-3 * problem.space.project(np.random.default_rng(0).normal(size=problem.space.N)).U
    certifier = pp.Exact(solver=Spoilt(Plain(system.free_block), how, late)).prepare(system, queries)
    assert certifier.ground.proof.rough
    found = certifier.certify(U)
    assert np.all((found.lower <= 0.0) & (found.upper >= 0.0))
    assert np.all(found.radius > 1e-9)


def test_lies_without_consequence_would_be_caught():
    """The reference is narrow enough to see a Green vector that is off by 1e-6 and not paid for."""
    case = gallery.poisson_2d(28)
    system, U = case.system(), rough(case)
    queries = point_queries(case, 7, seed=4)
    true = reference(system, queries, U)
    certifier = pp.Exact(solver=Wrong(case.reduced()[0], "off")).prepare(system, queries)
    certifier.green.left[:] = 0.0
    found = certifier.certify(U)
    assert not np.all((found.lower <= true.lower) & (found.upper >= true.upper))


FLAT = Task(100_000, 700_000, 2, 100, True)
SOLID = Task(386_000, 16_100_000, 3, 28, True)


@pytest.mark.parametrize(
    ("task", "there", "name"),
    [
        (FLAT, (), "superlu"),
        (Task(2_000_000, 14_000_000, 2, 100, True), (), "superlu"),
        (Task(2_000_000, 14_000_000, 2, 100, True), ("cholmod",), "cholmod"),
        (SOLID, ("cholmod", "pardiso", "amg"), "cholmod"),
        (SOLID, ("pardiso", "amg"), "pardiso"),
        (SOLID, ("cvxopt", "amg"), "cvxopt"),
        (SOLID, ("amg",), "amg"),
        (SOLID, (), "superlu"),
        (Task(400_000, 5_600_000, 2, 8, True), ("amg",), "superlu"),
        (Task(400_000, 5_600_000, 2, 8, True), ("amg", "cvxopt"), "cvxopt"),
        (Task(386_000, 16_100_000, 3, 1, True), ("cholmod", "amg"), "amg"),
        (Task(5_000, 100_000, 3, 28, True), ("cholmod", "amg"), "superlu"),
        (Task(386_000, 16_100_000, 3, 28, False), ("cholmod", "amg"), "superlu"),
        (Task(386_000, 16_100_000, 3, 28, False), ("pardiso",), "pardiso"),
    ],
)
def test_choice_by_size_dimension_queries_and_packages(monkeypatch, task, there, name):
    monkeypatch.setattr(choice, "installed", lambda n: n in ("superlu", "krylov", *there))
    monkeypatch.setattr(choice, "on_reference_blas", lambda: False)
    found = choose(task, free=500 * GB)[0]
    assert found.name == name
    assert f"{task.n} unknowns" in found.why
    assert f"{task.queries} queries" in found.why


def test_choice_by_the_fill_that_was_analysed(monkeypatch):
    """A thin solid of the same size fills in little, and then one factorization is cheaper than one multigrid solve."""
    monkeypatch.setattr(choice, "installed", lambda n: True)
    monkeypatch.setattr(choice, "on_reference_blas", lambda: False)
    one = Task(386_000, 16_100_000, 3, 1, True)
    assert choose(one, free=500 * GB)[0].name == "amg"
    thin = choose(replace(one, fill=Fill(9e7, 4e10)), free=500 * GB)[0]
    assert thin.name == "cholmod"
    assert "s forecast" in thin.why
    assert thin.memory < choose(one, free=500 * GB)[1].memory


def test_multigrid_that_hardly_converges_gives_way(monkeypatch):
    """Eight steps foresee the iterations: of a diffusion they are few; where there are many, factors are made."""
    pytest.importorskip("pyamg")
    system = pp.fem.ReactionDiffusion(pp.io.generate("cube", 12), source=1.0).system
    assert 4 < Multigrid(system.free_block).foreseen() < 40
    monkeypatch.setattr(choice, "SOLID_UP_TO", 500)
    monkeypatch.setattr(choice, "installed", lambda n: n in ("superlu", "amg"))
    monkeypatch.setattr("pinnpoint.solvers.forecast.SETUP", 0.0)
    queries = pp.Queries(sp.eye_array(1, system.N, k=int(system.space.free[3]), format="csr"))
    assert pp.Exact().prepare(system, queries).ground.choice.name == "amg"
    monkeypatch.setattr(Multigrid, "foreseen", lambda self: 1e6)
    found = pp.Exact().prepare(system, queries).ground.choice
    assert found.name == "superlu"
    assert "amg would take 1000000 iterations" in found.why


def test_choice_by_memory(monkeypatch):
    """Peaks of whole runs: with CHOLMOD 3.7 GB for such a solid, with AMG 6.5 GB for 2.6 times as many unknowns."""
    monkeypatch.setattr(choice, "installed", lambda n: True)
    monkeypatch.setattr(choice, "on_reference_blas", lambda: False)
    assert choose(SOLID, free=20 * GB)[0].name == "cholmod"
    assert choose(SOLID, free=3.0 * GB)[0].name == "amg"
    assert choose(SOLID, free=4.5 * GB)[0].name == "cholmod"
    with pytest.raises(pp.InputError, match=r"smallest about 0\.\d+ GB"):
        choose(SOLID, free=0.1 * GB)
    assert predicted("cholmod", SOLID) == pytest.approx(3.5 * GB, rel=0.35)  # the proof needs no factor of its own
    assert predicted("amg", SOLID) == pytest.approx(2.5 * GB, rel=0.35)
    plate = Task(399_618, 5_580_356, 2, 8, True)  # 3.0 GB at the peak: rows of a factor are counted
    assert predicted("cvxopt", plate) == pytest.approx(3.0 * GB, rel=0.35)


def test_memory_is_refused_before_anything_is_allocated(monkeypatch):
    case = gallery.poisson_2d(28)
    monkeypatch.setattr(choice, "free_memory", lambda: 1e5)
    monkeypatch.setattr("scipy.sparse.linalg.splu", None)
    for name in (None, "auto", "superlu"):
        with pytest.raises(pp.InputError, match=r"solver: .* GB"):
            pp.Exact(solver=name).prepare(case.system(), point_queries(case, 2))


def test_a_proof_that_does_not_fit_is_refused_with_its_size(monkeypatch):
    require("amg")
    from pinnpoint.certifiers import proof

    monkeypatch.setattr(proof, "installed", lambda n: False)
    monkeypatch.setattr(proof, "free_memory", lambda: 1e5)
    problem = pp.fem.Elasticity(pp.io.generate("cube", 6), young=1.0, poisson=0.3, fixed={"left": 0.0})
    queries = problem.points([[0.5, 0.5, 0.5]], component="z")
    with pytest.raises(pp.CertificationError, match=r"about 0\.\d+ GB.*pinnpoint\[cholmod\]"):
        pp.Exact(solver="amg").prepare(bare(problem), queries)
    pp.Exact(solver="amg", coercivity=1e-6).prepare(bare(problem), queries)
    own = pp.Exact(solver="amg").prepare(problem.system, queries)  # the problem has a bound that needs no factors
    assert "paths of cells" in own.ground.proof.claims[0].claim
    assert own.ground.proof.claims[0].status == "verified"


def bare(problem):
    """The same matrix without what the mesh knows about it."""
    return pp.LinearSystem(problem.A, problem.b, space=problem.space, reduction="galerkin")


@pytest.mark.parametrize("solver", ["superlu", "amg"])
def test_large_solids_are_proved_before_they_are_factorised(solid, monkeypatch, solver):
    """The rough bound is taken, Green vectors become pairs, and the interval still holds an exact value tightly."""
    if solver == "amg":
        require("amg")
    problem, queries, U, truths = solid
    fine = pp.certify(problem, U, queries, pp.Exact(solver=solver), target="discrete")
    rough_bound(monkeypatch)
    certifier = pp.Exact(solver=solver).prepare(problem.system, queries)
    rough = certifier.certify(U)
    assert certifier.ground.proof.rough
    assert certifier.green.q_lo is not None
    assert any("paths of cells" in a.claim and a.status == "verified" for a in rough.assumptions)
    single = pp.Exact(solver=solver, storage="float32").prepare(problem.system, queries)
    assert not single.ground.proof.rough
    once = pp.certify(problem, U, queries, pp.Exact(solver=solver), target="discrete")  # corrects the state instead
    for found in (rough, once, fine, single.certify(U)):
        assert all(holds(a, b, t) for a, b, t in zip(found.lower, found.upper, truths, strict=True))
    assert np.all(rough.radius <= 2.0 * fine.radius + 1e-15)
    assert np.all(once.radius <= 2.0 * fine.radius + 1e-15)
    np.testing.assert_allclose(once.correction, rough.correction, rtol=1e-12)
    np.testing.assert_array_equal(once.value, rough.value)
    assert np.all(certifier.green.left * certifier.ground.proof.stability.form.alpha**0.5 < 1e-20)


@pytest.mark.parametrize("answer", ["nan", "garbage", "stale"])
def test_a_state_is_not_believed_to_be_corrected(monkeypatch, answer):
    """Where the state is corrected by a solve, its own residual tells whether that was so."""
    problem = pp.fem.Elasticity(
        pp.io.generate("cube", 3), young=1e3, poisson=0.3, body=[0, 0, -1.0], fixed={"left": 0.0}
    )
    queries = problem.points([[0.5, 0.5, 0.5], [0.9, 0.2, 0.7]], component="z")
    U = problem.space.project(np.random.default_rng(0).normal(size=problem.space.N)).U
    monkeypatch.setattr(choice, "ROUGH_FROM", 50)
    free = problem.space.free
    B = problem.system.free_block
    truths = [functional(ell, solve_arb(B, problem.b[free])) for ell in queries.L[:, free].toarray()]

    class Liar:
        name, seen = "liar", 0

        def solve(self, b):
            self.seen += 1
            x = np.linalg.solve(B.toarray(), b)
            if b.ndim == 2:  # adjoints are fine
                return x
            return {"nan": np.full_like(x, np.nan), "garbage": 1e3 * np.ones_like(x), "stale": 0.3 * x}[answer]

        solve_transposed = solve

    liar = Liar()
    certifier = pp.Exact(solver=liar, states=1).prepare(problem.system, queries)
    before = liar.seen
    found = certifier.certify(U)
    assert certifier.polish
    assert liar.seen == before + 2
    assert all(holds(a, b, t) for a, b, t in zip(found.lower, found.upper, truths, strict=True))
    good = pp.Exact(states=1).prepare(problem.system, queries).certify(U)
    assert np.all(found.radius > 10.0 * good.radius)  # and it is paid for
    assert not pp.Exact(states=3).prepare(problem.system, queries).polish
    assert not pp.Exact(states=1, refine=True).prepare(problem.system, queries).polish


def test_free_memory_is_a_number():
    assert 1e6 < choice.free_memory() < 1e15


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name, missing in (("cholmod", "sksparse.cholmod"), ("pardiso", "pypardiso"), ("amg", "pyamg")):
        monkeypatch.setitem(__import__("sys").modules, missing, None)
        with pytest.raises(DependencyMissingError, match=rf"pinnpoint\[{name}\]"):
            BACKENDS[name](sp.eye_array(3, format="csr"))
    with pytest.raises(pp.InputError, match="must be one of 'auto'"):
        pp.Exact(solver="cholmud").prepare(gallery.poisson_2d(4).system(), point_queries(gallery.poisson_2d(4), 1))


def test_automatic_choice_gives_way_where_the_matrix_is_indefinite(monkeypatch):
    """A Cholesky package that finds a pivot below zero is not the end."""

    monkeypatch.setattr(choice, "installed", lambda n: n in ("superlu", "krylov", "cholmod"))
    monkeypatch.setattr(choice, "FLAT_UP_TO", 10)
    from pinnpoint.certifiers import setup
    from pinnpoint.solvers.protocol import NotDefiniteError

    def cholmod(B):
        raise NotDefiniteError("pivot 3")

    monkeypatch.setattr(setup, "Cholmod", cholmod)
    case = gallery.poisson_2d(28)
    found = pp.certify(case.system(), rough(case), point_queries(case, 2))
    assert found.details["solver"].startswith("superlu")
    assert "cholmod found the matrix not positive definite" in found.details["solver"]
