"""Time grids and sweeps: against dense matrices, closed forms and rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg as dense
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.rounding.balls import exact
from pinnpoint.systems.evolution.blocks import SweepSolver, block_matrix
from pinnpoint.systems.evolution.energy import step_stability, step_weights
from pinnpoint.systems.evolution.grid import TimeGrid
from pinnpoint.systems.evolution.stepper import Stepper

SCHEMES = [("cg1", 0), ("cg1", 2), ("cg2", 0), ("cg2", 2)]


def matrices(n=6, drift=0.0, seed=0):
    """A mass matrix and a stiffness matrix of a line, with drift where asked."""
    h = 1.0 / (n + 1)
    M = sp.diags_array([np.full(n - 1, h / 6), np.full(n, 2 * h / 3), np.full(n - 1, h / 6)], offsets=[-1, 0, 1])
    K = sp.diags_array([np.full(n - 1, -1 / h), np.full(n, 2 / h), np.full(n - 1, -1 / h)], offsets=[-1, 0, 1])
    B = sp.diags_array([np.full(n - 1, -0.5), np.full(n - 1, 0.5)], offsets=[-1, 1])
    return sp.csr_array(M), sp.csr_array(K + drift * B)


def test_grids_are_graded_where_they_are_asked_to_be():
    ends = TimeGrid.made(2.0, 8)
    assert np.allclose(ends.nodes, [2 * (1 - (1 - i / 8) ** 2) for i in range(9)])
    both = TimeGrid.made(2.0, 8, grade="both")
    assert np.allclose(both.lengths, both.lengths[::-1])
    assert both.lengths[0] < both.lengths[4]
    assert np.allclose(TimeGrid.made(2.0, 8, grade="none").lengths, 0.25)
    assert TimeGrid.made(None, None, [0.0, 0.5, 0.7]).end == 0.7


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("nodes", dict(end=None, steps=None, nodes=[0.1, 0.2])),
        ("nodes", dict(end=None, steps=None, nodes=[0.0, 0.3, 0.2])),
        ("steps, nodes", dict(end=None, steps=3, nodes=[0.0, 0.2])),
        ("end, steps", dict(end=1.0, steps=None)),
        ("end", dict(end=-1.0, steps=3)),
        ("end", dict(end=0.5, steps=None, nodes=[0.0, 0.2])),
        ("grade", dict(end=1.0, steps=3, grade="middle")),
        ("scheme", dict(end=1.0, steps=3, scheme="cn")),
        ("damped", dict(end=1.0, steps=3, damped=4)),
    ],
)
def test_grids_that_make_no_sense_are_refused_by_name(words, arguments):
    with pytest.raises(pp.InputError, match=f"^{words}"):
        TimeGrid.made(**arguments)


@pytest.mark.parametrize("scheme", ["cg1", "cg2"])
def test_values_between_levels_are_those_of_the_schemes_polynomials(scheme):
    grid = TimeGrid.made(1.0, 5, scheme=scheme)
    degree = grid.per_slab
    times = np.array([0.0, 0.123, grid.nodes[2], 0.77, 1.0])
    for power in range(degree + 1):
        assert np.allclose(grid.at(times) @ grid.levels**power, times**power, atol=1e-15)
    assert grid.at([grid.nodes[3]]).nnz == 1


def test_a_grid_ends_where_a_query_does_and_turns_round_for_the_dual():
    grid = TimeGrid.made(1.0, 6, damped=2)
    cut = grid.until(0.5)
    assert cut.end == 0.5
    assert np.array_equal(cut.nodes[:-1], grid.nodes[grid.nodes < 0.5])
    back = grid.reversed()
    assert np.array_equal(back.lengths, grid.lengths[::-1])
    assert back.damped == 0
    for time in (0.0, -0.1, 1.1):
        with pytest.raises(pp.InputError, match="time: must be after 0"):
            grid.require_inside(time)


@pytest.mark.parametrize("drift", [0.0, 7.0])
@pytest.mark.parametrize(("scheme", "damped"), SCHEMES)
def test_sweeps_solve_the_block_matrix_and_its_transpose(scheme, damped, drift):
    M, K = matrices(drift=drift)
    grid = TimeGrid.made(0.3, 5, scheme=scheme, damped=damped, grade="both")
    n = M.shape[0]
    A = block_matrix(M, K, grid).toarray()[n:, n:]
    solver = SweepSolver.of(Stepper(M, K, grid))
    b = np.random.default_rng(1).standard_normal((grid.rows * n, 3))
    assert np.allclose(solver.solve(b), np.linalg.solve(A, b), rtol=1e-10, atol=1e-12)
    assert np.allclose(solver.solve(b[:, 0]), np.linalg.solve(A, b[:, 0]), rtol=1e-10, atol=1e-12)
    assert np.allclose(solver.solve_transposed(b), np.linalg.solve(A.T, b), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("scheme", "damped"), SCHEMES)
def test_a_sweep_with_held_entries_is_the_block_systems_solution(scheme, damped):
    M, K = matrices(8)
    grid = TimeGrid.made(0.3, 4, scheme=scheme, damped=damped)
    rng, free = np.random.default_rng(2), np.arange(1, 7)
    start, loads = rng.standard_normal(8), rng.standard_normal((grid.rows, 8))
    held = rng.standard_normal((grid.levels.size, 8))
    start[[0, 7]] = held[0, [0, 7]]
    U = Stepper(M, K, grid, free).forward(start, loads, held)
    assert np.array_equal(U[:, 0], held[:, 0])
    A = block_matrix(M, K, grid)
    rest = (A @ U.ravel()).reshape(U.shape)[1:] - grid.unit * loads
    assert np.max(np.abs(rest[:, free])) < 1e-13 * np.max(np.abs(U)) * np.max(np.abs(A))


@pytest.mark.parametrize(("scheme", "rate"), [("cg1", 2), ("cg2", 4)])
def test_the_schemes_have_their_orders(scheme, rate):
    M, K = sp.csr_array([[1.0]]), sp.csr_array([[3.0]])
    errors = []
    for steps in (8, 16, 32):
        grid = TimeGrid.made(1.0, steps, scheme=scheme, grade="none")
        U = Stepper(M, K, grid).forward(np.array([1.0]), None)
        errors.append(abs(U[-1, 0] - math.exp(-3.0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(rate, abs=0.15)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(rate, abs=0.05)


def test_damped_steps_are_backward_eulers():
    M, K = sp.csr_array([[1.0]]), sp.csr_array([[3.0]])
    for scheme in ("cg1", "cg2"):
        grid = TimeGrid.made(1.0, 4, scheme=scheme, grade="none", damped=4)
        U = Stepper(M, K, grid).forward(np.array([1.0]), None)
        assert U[-1, 0] == pytest.approx((1 + 3 / 4) ** -4, rel=1e-14)
        assert np.allclose(
            grid.at(0.5 * (grid.nodes[1:] + grid.nodes[:-1])) @ U,
            0.5 * (U[:: grid.per_slab][1:] + U[:: grid.per_slab][:-1]),
        )


def test_the_dual_has_the_drift_turned_round_its_divergence_and_the_outflow():
    # −u″ + u′ = 1, u(0) = 0, u′(1) = 0: ∫u = 2/e − ½. Without the outflow term the dual would say ½.
    mesh = pp.io.generate("interval", 200)
    problem = pp.fem.Parabolic(mesh, source=1.0, convection=("1",), dirichlet={"left": 0.0}, end=1.0, steps=2)
    free, ones = problem.stationary.space.free, problem.loads.at(0.0)
    Kt = problem.stepper.dual().K[free][:, free]
    z = np.linalg.solve(Kt.toarray(), ones[free])
    assert ones[free] @ z == pytest.approx(2 / math.e - 0.5, abs=1e-5)


def blocks_of_inverse(M, K, grid):
    """‖M^½ (A⁻¹)_cr M^½‖ for every level c and row r."""
    n = M.shape[0]
    A = block_matrix(M, K, grid).toarray()[n:, n:]
    root = dense.sqrtm(M.toarray()).real
    inverse = np.linalg.inv(A).reshape(grid.rows, n, grid.rows, n).transpose(0, 2, 1, 3)
    return np.linalg.norm(root @ inverse @ root, ord=2, axis=(2, 3))


@pytest.mark.parametrize(("growth", "scheme", "damped"), [(g, *s) for g in (0.0, 2.0) for s in SCHEMES])
def test_the_weights_of_stability_bound_every_block_of_the_inverse(growth, scheme, damped):
    M, K = matrices(5)
    for scale in (1e-6, 1e-2, 1.0, 100.0):
        k = sp.csr_array(scale * K - growth * M)
        grid = TimeGrid.made(0.5, 40 if growth and scheme == "cg2" else 12, scheme=scheme, damped=damped, grade="both")
        columns, rows = step_weights(grid, growth, 1.0, 1.0)
        ratio = blocks_of_inverse(M, k, grid) / (columns[:, None] * rows[None, :])
        assert ratio.max() <= 1.0 + 1e-9
        if scheme == "cg1" and scale == 1e-6:
            assert ratio.max() > 0.97  # sharp: a tenth less would be wrong


def test_weights_without_growth_and_much_smaller_ones_of_quadratic_steps_would_be_wrong():
    M, K = matrices(5)
    grid = TimeGrid.made(0.5, 12)
    columns, rows = step_weights(grid, 0.0, 1.0, 1.0)
    grown = blocks_of_inverse(M, sp.csr_array(1e-6 * K - 2.0 * M), grid)
    assert (grown / (columns[:, None] * rows[None, :])).max() > 2.0
    grid = TimeGrid.made(0.5, 12, scheme="cg2")
    columns, rows = step_weights(grid, 0.0, 1.0, 1.0)
    blocks = blocks_of_inverse(M, sp.csr_array(1e-6 * K), grid)
    middle, end = columns[::2, None] * rows[None, :], columns[1::2, None] * rows[None, :]
    assert 18.5 * (blocks[::2] / middle).max() > 1.0 >= (blocks[::2] / middle).max()
    assert 3.05 * (blocks[1::2] / end).max() > 1.0 >= (blocks[1::2] / end).max()


@pytest.mark.parametrize(("scheme", "damped"), SCHEMES)
def test_the_product_bound_holds(scheme, damped):
    M, K = matrices(5)
    grid = TimeGrid.made(0.4, 6, scheme=scheme, damped=damped)
    found = step_stability(M, K, grid, "here")
    A = block_matrix(M, K, grid).toarray()[5:, 5:]
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(200):
        s, rho = (rng.standard_normal(A.shape[0]) * (rng.random(A.shape[0]) < 0.2) for _ in range(2))
        left, right = found.left(exact(s)), found.right(exact(rho))
        e, v = np.linalg.solve(A, rho), np.linalg.solve(A.T, s)
        worst = max(worst, abs(s @ e) / (left * right + 1e-300))
        assert np.linalg.norm(e) <= found.solution_norm(exact(rho), right)
        assert np.linalg.norm(v) <= found.green_error(left, pp.LinearSystem(np.eye(2), [0.0, 0.0]).weight_form)
    assert 1e-3 < worst <= 1.0


def test_quadratic_steps_with_convection_have_no_such_proof():
    M, K = matrices(5, drift=2.0)
    with pytest.raises(pp.CertificationError, match="without convection"):
        step_stability(M, K, TimeGrid.made(0.4, 6, scheme="cg2"), "here")
