"""Work on all cores gives what one core gives, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.base import threads
from pinnpoint.rounding import matrices
from pinnpoint.rounding.balls import Ball
from pinnpoint.solvers import direct
from tests.support import gallery


@pytest.fixture(params=[1, 3])
def cores(request, monkeypatch):
    monkeypatch.setattr(threads, "CORES", request.param)
    monkeypatch.setattr(direct, "CORES", request.param)
    return request.param


def test_every_part_is_done_once(cores):
    done = []
    threads.on_all_cores(done.append, range(0, 100, 7))
    assert sorted(done) == list(range(0, 100, 7))
    threads.on_all_cores(done.append, [])


def test_an_error_in_a_part_is_raised(cores):
    def work(a):
        if a == 4:
            raise ValueError("part 4")

    with pytest.raises(ValueError, match="part 4"):
        threads.on_all_cores(work, range(6))


def test_parts_cover_what_there_is(cores):
    assert threads.share(10, threads.SHARE_FROM - 1) == 10
    assert threads.share(10, threads.SHARE_FROM) == {1: 10, 3: 4}[cores]
    assert threads.share(0, threads.SHARE_FROM) == 1


def test_works_beside_take_turns_and_keep_their_errors(monkeypatch):
    monkeypatch.setattr(threads, "CORES", 2)
    monkeypatch.setattr(threads, "_beside", [])
    running, most = [], []

    def work(a):
        running.append(a)
        most.append(len(running))
        inner = threads.begin(lambda: a + 1).result()  # within another: no turn to wait for
        running.remove(a)
        if a == 2:
            raise ValueError("work 2")
        return inner

    begun = [threads.begin(lambda a=a: work(a)) for a in range(5)]
    assert [f.result() for k, f in enumerate(begun) if k != 2] == [1, 2, 4, 5]
    with pytest.raises(ValueError, match="work 2"):
        begun[2].result()
    assert max(most) == 1


def test_shared_kernels_agree_with_one_thread(monkeypatch):
    rng = np.random.default_rng(0)
    A = gallery.random_sparse(rng, 101, 90, 0.2)
    x, x_lo, b, G = rng.normal(size=90), 1e-17 * rng.normal(size=90), rng.normal(size=101), rng.normal(size=(5, 90))
    module = matrices.compiled()

    def both():
        return [*module.product(A.indptr, A.indices, A.data, x, x_lo, b, None), *module.dots(G, None, x, x_lo, None)]

    alone = both()
    monkeypatch.setattr(threads, "SHARE_FROM", 0)
    monkeypatch.setattr(threads, "CORES", 4)
    assert all(np.array_equal(one, other) for one, other in zip(alone, both(), strict=True))


@pytest.mark.parametrize("refine", [False, True])
def test_green_vectors_do_not_depend_on_cores(monkeypatch, refine):
    case = gallery.poisson_2d(30)
    system = case.system()
    at = np.random.default_rng(1).choice(case.free, 21, replace=False)
    queries = pp.Queries(sp.csr_array((np.ones(21), (np.arange(21), at)), shape=(21, case.b.size)))
    U = case.space.project(np.zeros(case.b.size)).U
    found = []
    for count in (1, 4):
        monkeypatch.setattr(threads, "CORES", count)
        monkeypatch.setattr(direct, "CORES", 3)  # the same columns together, so the same roundings
        certificate = pp.Exact(refine=refine).prepare(system, queries).certify(U)
        found.append((certificate.center, certificate.radius, certificate.sigma))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_kernels_are_loaded_beside_and_once(monkeypatch):
    matrices.compile_early(matrices.LOAD_AFTER)
    M = sp.eye_array(10, format="csr")
    monkeypatch.setattr(matrices, "COMPILE_FROM", 0)
    y = matrices.EnclosedMatrix(M).affine(Ball(np.arange(10.0)))
    assert np.array_equal(y.hi, np.arange(10.0))
    monkeypatch.setattr(matrices, "_compiled_tried", True)
    monkeypatch.setattr(matrices, "start", None)
    matrices.compile_early(10**9)  # nothing left to start


@pytest.mark.parametrize(
    ("allowed", "machine", "environment", "share"),
    [
        (2, 2, {}, 2),
        (1, 2, {}, 1),
        (2, 2, {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 1),
        (16, 16, {"MPI_LOCALNRANKS": "4"}, 4),
        (8, 16, {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, 8),
        (2, 2, {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 1),
        (2, 2, {"OMPI_COMM_WORLD_LOCAL_SIZE": "many"}, 2),
    ],
)
def test_processes_of_mpi_share_the_cores(allowed, machine, environment, share):
    assert threads.cores_for(allowed, machine, environment) == share
