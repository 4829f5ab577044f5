"""Steps in time as a system: every method against exact solutions of the stored numbers; sabotage is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

import pinnpoint as pp
from pinnpoint.base.arrays import set_fields
from tests.support.exactly import functional, holds, rational, rational_matrix

METHODS = {
    "exact": pp.Exact(),
    "inexact": pp.Inexact(),
    "norm": pp.Norm(),
    "localized": pp.Localized(radius=0.3),
    "randomized": pp.Randomized(seed=1),
}
CASES = {
    "cg1": {},
    "damped": {"damped": 2, "grade": "both"},
    "cg2": {"scheme": "cg2"},
    "cg2 damped": {"scheme": "cg2", "damped": 1},
    "drift": {"convection": ("4",), "dirichlet": {"left": 0.5}},
    "cg2 drift": {"scheme": "cg2", "convection": ("4",)},
    "flux": {"dirichlet": {}, "neumann": {"left": "1+t", "right": "-t"}},
    "growth": {"reaction": -30.0},
    "moving data": {"dirichlet": {"left": "sin(3*t)", "right": "1-t"}},
}


def problem(**more):
    given = {"dirichlet": {"boundary": 0.0}, "end": 0.3, "steps": 4, **more}
    return pp.fem.Parabolic(pp.io.generate("interval", 4), source="x+sin(5*t)", initial="x*(1-x)", **given)


def truth(p):
    """The stored system's exact solution, over all levels."""
    S, free = p.system, p.space.free
    U = [rational(v) for v in S.space.U0]
    A, rest = S.A.tocsr(), []
    for i in free:
        row = slice(A.indptr[i], A.indptr[i + 1])
        known = sum((rational(a) * U[j] for a, j in zip(A.data[row], A.indices[row], strict=True)), fmpq(0))
        rest.append(rational(S.b[i]) - known)
    x = rational_matrix(S.free_block).solve(fmpq_mat(len(rest), 1, rest))
    for k, i in enumerate(free):
        U[i] = x[k, 0]
    return U


@pytest.mark.parametrize("case", CASES)
def test_every_method_encloses_the_exact_solution_of_the_stored_steps(case):
    p = problem(**CASES[case])
    U = truth(p)
    asked = p.points([[0.4], [0.7], [0.4]], time=[0.3, 0.2, 0.05]) + p.mean(time=0.3)
    values = [functional(row, U) for row in asked.L.toarray()]
    state = p.states() * (1.0 + 0.01 * np.random.default_rng(0).standard_normal(p.states().shape))
    for name, method in METHODS.items():
        found = pp.certify(p, state, asked, method=method, target="discrete")
        for k, value in enumerate(values):
            assert holds(found.lower[k], found.upper[k], value), f"{name}, query {k}"
        if name == "exact":
            assert found.radius.max() < 1e-9
            assert found.guarantee == "deterministic"
            assert found.target == "discrete"


def test_the_proof_is_by_steps_where_there_is_one_and_by_the_whole_matrix_where_there_is_none():
    words = lambda p: " ".join(a.claim for a in pp.certify(p, p.states(), p.mean(), target="discrete").assumptions)  # noqa: E731
    assert "steps in time are stable" in words(problem())
    assert "K is at least −" in words(problem(**CASES["flux"]))
    assert "steps in time" not in words(problem(**CASES["cg2 drift"]))


def test_a_proof_for_another_matrix_is_not_used():
    p = problem()
    found = p.system.stability()
    set_fields(p.system, stability=lambda: replace(found, fingerprint="another"))
    c = pp.certify(p, p.states(), p.mean(), target="discrete")
    assert not any("steps in time are stable" in a.claim for a in c.assumptions)


def test_wrong_sweeps_widen_the_interval_and_a_dropped_algebra_term_would_miss():
    p = problem()
    asked = p.points([[0.4]], time=0.3)
    value = functional(asked.L.toarray()[0], truth(p))

    class Wrong:
        name = "wrong"
        inner = p.system.solver

        def solve(self, b):
            return 1.01 * self.inner.solve(b)

        def solve_transposed(self, b):
            return 1.01 * self.inner.solve_transposed(b)

    state = p.states() * 1.1
    state[0] = p.start
    found = pp.certify(p, state, asked, method=pp.Exact(solver=Wrong()), target="discrete")
    assert holds(found.lower[0], found.upper[0], value)
    bare = found.center[0] + (found.radius[0] - found.terms["algebra"][0]) * np.array([-1.0, 1.0])
    assert not holds(*bare, value)


def test_rows_near_in_space_and_time_make_a_local_certificate():
    p = problem(steps=8)
    asked = p.points([[0.4]], time=0.3)
    near = p.near(asked, 0.3, 0.1)
    assert near.shape == (1, p.unknowns)
    assert 0 < near.sum() < p.near(asked, 0.3, 1.0).sum() < near.size
    value = functional(asked.L.toarray()[0], truth(p))
    state = p.states() * 1.01
    state[0] = p.start
    radii = []
    for mask in (near, p.near(asked, 2.0, 1.0)):
        found = pp.certify(p, state, asked, method=pp.Localized(projectors=mask), target="discrete")
        assert holds(found.lower[0], found.upper[0], value)
        radii.append(found.radius[0])
    assert radii[1] < 1e-12 < radii[0]


def test_families_of_loads_and_initial_values_are_those_of_problems_with_them():
    base = pp.fem.Parabolic(
        pp.io.generate("interval", 6), source=0.0, initial=0.0, dirichlet={"boundary": 0.0}, end=0.3, steps=4
    )
    family = base.family([{"source": "x*cos(t)"}, {"initial": "x*(1-x)"}, {"source": "1+t"}])
    asked = base.points([[0.4]], time=0.2)
    mu = np.array([0.7, -1.3, 2.0])
    one = pp.fem.Parabolic(
        base.mesh, source="0.7*x*cos(t)+2*(1+t)", initial="-1.3*x*(1-x)", dirichlet={"boundary": 0.0}, end=0.3, steps=4
    )
    expected = float((one.points([[0.4]], time=0.2).L @ one.states().ravel())[0])
    found = family.prepare(asked).certify(mu=mu)
    assert found.center[0] == pytest.approx(expected, abs=1e-13)
