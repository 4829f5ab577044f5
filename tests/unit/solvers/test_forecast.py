"""What a factor will hold and cost is foreseen from separators, and orders are found without coordinates."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import pinnpoint as pp
from pinnpoint.solvers.cholmod import on_reference_blas
from pinnpoint.solvers.forecast import REFERENCE, Fill, seconds
from pinnpoint.solvers.graphs import Graph, dissection, distances

SYSTEMS = {
    "plane": lambda: pp.fem.ReactionDiffusion(pp.io.generate("square", 60), source=1.0).system,
    "plane elasticity": lambda: (
        pp.fem.Elasticity(
            pp.io.generate("square", 50), young=1.0, poisson=0.3, plane="strain", fixed={"left": 0.0}
        ).system
    ),
    "space": lambda: pp.fem.ReactionDiffusion(pp.io.generate("cube", 14), source=1.0).system,
    "solid": lambda: pp.fem.Elasticity(pp.io.generate("cube", 10), young=1.0, poisson=0.3, fixed={"left": 0.0}).system,
}


def factor(B, order):
    """Entries and multiplications of the factor itself, in an order."""
    C = sp.csc_array(B[order][:, order])
    L = spla.splu(C, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).L
    columns = np.diff(L.indptr).astype(float)
    return columns.sum(), (columns**2).sum()


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("bare", [False, True])
def test_fill_is_foreseen(name, bare):
    system = SYSTEMS[name]()
    B, X = system.free_block, None if bare else system.row_points
    foreseen, (entries, work) = Fill.of(B, X), factor(B, dissection(B, X))
    assert 0.6 < foreseen.entries / entries < 1.6
    assert 0.6 < foreseen.work / work < 1.6


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_bare_matrix_in_any_numbering_is_ordered_by_distances(name):
    """Nearly as well as by coordinates, and far better than it came."""
    system = SYSTEMS[name]()
    B = system.free_block
    placed = factor(B, dissection(B, system.row_points))[1]
    shuffled = np.random.default_rng(0).permutation(system.n)
    C = sp.csr_array(B[shuffled][:, shuffled])
    order = dissection(C, None)
    assert np.array_equal(np.sort(order), np.arange(system.n))
    assert factor(C, order)[1] < 2.5 * placed


def test_unknowns_of_a_node_are_told_by_their_neighbours():
    system = SYSTEMS["solid"]()
    assert len(Graph.of(system.free_block, None).places) == len(np.unique(system.row_points, axis=0))


def test_distances_are_steps_from_the_ends_of_a_chain():
    pairs = np.stack([np.arange(9), np.arange(1, 10)])
    found = distances(pairs, 10)
    assert sorted(found[:, 0].tolist()) == list(range(10))
    assert np.array_equal(found[:, 0] + found[:, 1], np.full(10, 9.0))


def test_what_is_not_connected_is_cut_apart_first():
    half = SYSTEMS["plane"]().free_block
    both = sp.csr_array(sp.block_diag([half, half]))
    first = next(Graph.of(both, None).cuts(1))
    assert not first.between.any()
    assert np.array_equal(np.sort(dissection(both, None)), np.arange(both.shape[0]))


def test_many_queries_are_for_factors_and_one_is_for_multigrid():
    fill = Fill(3.5e8, 1.6e12)
    for queries, least in ((1, "amg"), (28, "cholmod")):
        cost = {k: seconds(k, 386_000, 16_100_000, 3, queries, fill) for k in ("superlu", "cholmod", "amg", "krylov")}
        assert min(cost, key=cost.get) == least


def test_with_the_reference_blas_another_factor_is_chosen():
    fill = Fill(3.5e8, 1.6e12)
    times = [seconds("cholmod", 386_000, 16_100_000, 3, 28, fill, slow=slow) for slow in (1.0, REFERENCE)]
    assert times[0] == seconds("pardiso", 386_000, 16_100_000, 3, 28, fill) < times[1]


@pytest.mark.parametrize(
    ("path", "slow"),
    [
        ("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0", True),
        ("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", False),
        ("/opt/conda/lib/libopenblasp-r0.3.27.so", False),
        ("/usr/lib/x86_64-linux-gnu/libm.so.6", False),
    ],
)
def test_the_reference_blas_is_known_by_what_is_loaded(path, slow, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sksparse.cholmod", ModuleType("sksparse.cholmod"))
    monkeypatch.setitem(sys.modules, "sksparse", ModuleType("sksparse"))
    maps = tmp_path / "maps"
    maps.write_text(f"7f00-7f01 r-xp 0000 fe:00 1 {path}\n7f01-7f02 r--p 0000 fe:00 2 /usr/bin/python3\n")
    assert on_reference_blas(maps) is slow
    assert not on_reference_blas(tmp_path / "missing")
