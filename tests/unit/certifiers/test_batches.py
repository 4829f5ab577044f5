"""Blocks of states, and Green vectors in single precision or in a file."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint.certifiers import batches
from pinnpoint.rounding import matrices
from tests.support import gallery


def setting(count=5, states=7, cells=28):
    case = gallery.poisson_2d(cells)
    rng = np.random.default_rng(0)
    at = rng.choice(case.free, count, replace=False)
    L = sp.csr_array((np.ones(count), (np.arange(count), at)), shape=(count, case.b.size))
    U = np.stack([case.space.project(rng.uniform(size=case.b.size)).U for _ in range(states)])
    return case.system(), pp.Queries(L, constants=np.arange(count) * 1.0), U, rng.normal(size=(states, case.b.size))


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("rounding", [False, True])
def test_blocks_of_states_agree_with_single_ones(rounding, refine, monkeypatch):
    monkeypatch.setattr(batches, "BLOCK", 3)
    system, queries, U, loads = setting()
    certifier = pp.Exact(rounding=rounding, refine=refine).prepare(system, queries)
    for given in (None, loads):
        many = certifier.certify_many(U, given)
        for i, found in enumerate(many):
            one = certifier.certify(U[i], load=None if given is None else given[i])
            assert np.allclose(found.center, one.center, rtol=1e-12, atol=1e-14)
            assert np.allclose(found.value, one.value, rtol=1e-14)
            assert np.allclose(found.correction, one.correction, rtol=1e-11, atol=1e-13)
            assert found.residual_norm == pytest.approx(one.residual_norm, rel=1e-12)


def test_blocks_with_other_methods():
    system, queries, U, _ = setting()
    for method in (pp.Norm(rounding=False), pp.Randomized(rounding=False), pp.Inexact(rounding=False)):
        certifier = method.prepare(system, queries)
        many = certifier.certify_many(U)
        for found, u in zip(many, U, strict=True):
            assert np.allclose(found.center, certifier.certify(u).center, rtol=1e-10, atol=1e-12)


def test_bad_states_in_a_block_are_refused():
    system, queries, U, _ = setting()
    U[3, 5] = np.nan
    with pytest.raises(pp.InputError):
        pp.Exact(rounding=False).prepare(system, queries).certify_many(U)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [1, 5, 30])
def test_single_precision_pays_for_its_rounding(count, compiled, monkeypatch, tmp_path):
    if compiled:
        monkeypatch.setattr(matrices, "COMPILE_FROM", 0)
    else:
        monkeypatch.setattr(matrices, "_compiled", None)
        monkeypatch.setattr(matrices, "_compiled_tried", True)
    system, queries, U, _ = setting(count)
    true = pp.certify(system, U[0], queries, pp.Exact(refine=True))
    good = true.center  # the discrete solution's own values
    for solver in ("superlu", "krylov"):
        for file in (None, tmp_path / f"green-{solver}.npy"):
            certifier = pp.Exact(storage="float32", file=file, solver=solver).prepare(system, queries)
            assert certifier.green.q.dtype == np.float32
            rough = certifier.certify(U[0])
            assert np.all((rough.lower <= true.lower) & (rough.upper >= true.upper))
            assert np.all(rough.radius > 1e-12)
    free = system.space.free
    A = sp.csc_array(system.A[free][:, free])
    solved = system.space.vector_of(sp.linalg.spsolve(A, system.b[free]))
    fine = certifier.certify(solved)
    assert np.all(fine.radius < 1e-14)
    assert np.all(np.abs(fine.center - good) < 1e-13)


def test_unpaid_single_precision_would_be_seen():
    system, queries, U, _ = setting()
    true = pp.certify(system, U[0], queries, pp.Exact(refine=True))
    certifier = pp.Exact(storage="float32").prepare(system, queries)
    certifier.green.left[:] = 0.0
    found = certifier.certify(U[0])
    assert not np.all((found.lower <= true.lower) & (found.upper >= true.upper))


def test_green_vectors_in_a_file(tmp_path):
    system, queries, U, _ = setting()
    file = tmp_path / "green.npy"
    kept, mapped = (pp.Exact(file=f).prepare(system, queries).certify(U[0]) for f in (None, file))
    assert np.array_equal(kept.center, mapped.center)
    assert np.array_equal(kept.radius, mapped.radius)
    assert np.load(file).shape == (5, system.n)
    plain = pp.Exact(rounding=False, file=file).prepare(system, queries)
    assert np.allclose(plain.certify_many(U[:2]).center[0], kept.center, rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"storage": "float16"}, "storage"),
        ({"storage": "float32", "refine": True}, "storage"),
        ({"file": "green.txt"}, "file"),
        ({"file": "/no/such/folder/green.npy"}, "file"),
    ],
)
def test_bad_storage_is_refused(options, word):
    system, queries, _, _ = setting()
    with pytest.raises(pp.InputError, match=f"^{word}:"):
        pp.Exact(**options).prepare(system, queries)
