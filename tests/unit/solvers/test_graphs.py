"""Dimensions are seen in graphs, and orders by coordinates fill in little."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.solvers.choice import Task
from pinnpoint.solvers.direct import SparseLU
from pinnpoint.solvers.graphs import dimension, dissection


def scalar(shape, cells, degree=1):
    return pp.fem.ReactionDiffusion(pp.io.generate(shape, cells), source=1.0, degree=degree).system


def solid(shape, cells, degree=1, **more):
    mesh = pp.io.generate(shape, cells)
    return pp.fem.Elasticity(mesh, young=1.0, poisson=0.3, fixed={"left": 0.0}, degree=degree, **more).system


SYSTEMS = {
    "plane": (lambda: scalar("square", 40), 2),
    "plane, quadratic": (lambda: scalar("square", 30, 2), 2),
    "L": (lambda: scalar("lshape", 20), 2),
    "plane elasticity": (lambda: solid("square", 40, plane="strain"), 2),
    "plane elasticity, quadratic": (lambda: solid("square", 24, 2, plane="strain"), 2),
    "space": (lambda: scalar("cube", 14), 3),
    "space, quadratic": (lambda: scalar("cube", 9, 2), 3),
    "solid": (lambda: solid("cube", 12), 3),
    "solid, quadratic": (lambda: solid("cube", 7, 2), 3),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_dimension_of_a_bare_matrix_is_seen_in_its_graph(name):
    make, dim = SYSTEMS[name]
    B = make().free_block
    assert dimension(B) == dim
    shuffled = np.random.default_rng(1).permutation(B.shape[0])
    assert Task.of(sp.csr_array(B[shuffled][:, shuffled]), None).dim == dim


def test_chains_and_unconnected_unknowns_are_no_solids():
    chain = sp.diags_array([-np.ones(999), np.full(1000, 2.0), -np.ones(999)], offsets=[-1, 0, 1])
    assert dimension(chain) == 2
    assert dimension(sp.eye_array(50)) == 2


def test_what_separates_two_halves_comes_after_both():
    """In the order by coordinates a solid's factor has no entry between the halves before their separator."""
    system = scalar("cube", 10)
    B, X = system.free_block, system.row_points
    order = dissection(B, X)
    assert np.array_equal(np.sort(order), np.arange(system.n))
    below = X[order, int(np.argmax(np.ptp(X, axis=0)))]
    half = system.n // 3  # the first part lies on one side of the first cut
    assert below[:half].max() <= np.median(below)
    C = B[order][:, order]
    fill = spla.splu(sp.csc_array(C), permc_spec="NATURAL", options={"SymmetricMode": True}).L.nnz
    plain = spla.splu(sp.csc_array(B), permc_spec="NATURAL", options={"SymmetricMode": True}).L.nnz
    assert fill < 0.7 * plain


def test_unknowns_of_a_node_stay_together():
    system = solid("cube", 6)
    places = system.row_points[dissection(system.free_block, system.row_points)]
    changes = np.count_nonzero(np.any(np.diff(places, axis=0) != 0.0, axis=1))
    assert changes == len(np.unique(places, axis=0)) - 1


def test_solids_are_solved_in_the_order_of_their_coordinates():
    system = solid("cube", 10)
    B = system.free_block
    solver = SparseLU(B, system.row_points)
    b = np.random.default_rng(0).normal(size=(system.n, 3))
    assert np.linalg.norm(B @ solver.solve(b) - b) < 1e-9 * np.linalg.norm(b)
    assert solver._lu.L.nnz < SparseLU(B)._lu.L.nnz
