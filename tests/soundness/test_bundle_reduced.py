"""Bundles of least squares and of systems over U₀ + range Z: exact fractions as the truth, and forgeries."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
import pinnpoint_verify as verifier
from pinnpoint.base.errors import InputError
from pinnpoint_verify import reduced
from pinnpoint_verify.reader import Bundle
from tests.support.forged import Forger, times
from tests.support.forging import checked

L = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.25], [0.0, 1.0, -3.0, 0.0, 0.5, 0.0]])


def stiff(n=6):
    return 2.3 * np.eye(n) - np.eye(n, k=1) - 0.9 * np.eye(n, k=-1)


def tied(n=6):
    """Pairs of entries that share a direction, with different weights."""
    Z = np.zeros((n, n // 2))
    Z[np.arange(n), np.arange(n) // 2] = 1.0 + 0.1 * np.arange(n)
    return Z


SYSTEMS = {
    "least squares": lambda: pp.LinearSystem(np.vstack([stiff(), 0.3 * np.ones((2, 6))]), np.arange(8.0)),
    "weighted": lambda: pp.LinearSystem(
        np.vstack([stiff(), 0.3 * np.ones((2, 6))]), np.arange(8.0), weight=1.0 + 0.5 * np.arange(8.0)
    ),
    "a general Z": lambda: pp.LinearSystem(stiff(), np.arange(6.0), space=pp.AdmissibleSpace(np.full(6, 0.7), tied())),
    "least squares over a general Z": lambda: pp.LinearSystem(
        stiff(), np.arange(6.0), space=pp.AdmissibleSpace(np.full(6, 0.7), tied()), reduction="rows"
    ),
    "rows of a general Z": lambda: pp.LinearSystem(
        tied().T @ stiff(), np.arange(3.0), space=pp.AdmissibleSpace(np.full(6, 0.7), tied())
    ),
}


def solved(M, rhs):
    """Gauss's elimination in fractions."""
    n = len(M)
    T = [[*row, r] for row, r in zip(M, rhs, strict=True)]
    for i in range(n):
        k = next(k for k in range(i, n) if T[k][i] != 0)
        T[i], T[k] = T[k], T[i]
        T[i] = [x / T[i][i] for x in T[i]]
        for j in range(n):
            if j != i:
                T[j] = [a - T[j][i] * b for a, b in zip(T[j], T[i], strict=True)]
    return [row[-1] for row in T]


def truths(system):
    """ℓᵀU* in fractions."""
    exact = lambda a: [[Fraction(float(x)) for x in row] for row in np.atleast_2d(a)]  # noqa: E731
    dot = lambda a, b: sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))  # noqa: E731
    A, Z = exact(system.A.toarray()), exact(system.space.Z.toarray())
    b, u0 = exact(system.b)[0], exact(system.space.U0)[0]
    ZT = list(map(list, zip(*Z, strict=True)))
    AZ = [[dot(row, z) for z in ZT] for row in A]
    right = [bi - dot(row, u0) for bi, row in zip(b, A, strict=True)]
    test = ZT if system.reduction == "galerkin" else None
    if test is None and not system.is_square:
        w = exact(np.ones(len(b)) if system.weight is None else system.weight)[0]
        test = [[wi * x for wi, x in zip(w, col, strict=True)] for col in zip(*AZ, strict=True)]
    if test is not None:
        columns = list(zip(*AZ, strict=True))
        right, AZ = [dot(t, right) for t in test], [[dot(t, c) for c in columns] for t in test]
    y = solved(AZ, right)
    U = [u + dot(row, y) for u, row in zip(u0, Z, strict=True)]
    return [dot(row, U) for row in exact(L)]


def bundled(name, folder, **more):
    system = SYSTEMS[name]()
    certificate = pp.certify(system, system.space.U0, pp.Queries(L), **more)
    return system, pp.write_bundle(folder, certificate, system, system.space.U0, pp.Queries(L))


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_truth_lies_in_what_is_proved_and_in_what_is_claimed(name, tmp_path):
    system, folder = bundled(name, tmp_path / "b")
    good, said, found = checked(folder)
    assert good, said
    rows = json.loads((folder / "certificate.json").read_text())["queries"]
    for (c, r), row, true in zip(found, rows, truths(system), strict=True):
        assert abs(Fraction(c) - true) <= Fraction(r)
        assert r <= 1e-14
        assert row["lower"] <= true <= row["upper"]


@pytest.mark.parametrize("method", [pp.Norm(), pp.Inexact()], ids=["norm", "inexact"])
def test_other_methods_verify_too(method, tmp_path):
    for k, name in enumerate(("least squares", "a general Z")):
        assert verifier.main(bundled(name, tmp_path / str(k), method=method)[1]) == 0


def proof(word, value):
    return lambda f: f.json("proof", lambda p: p.update({word: value}))


FORGED = {
    "another target": ("a general Z", proof("reduction", "rows")),
    "another entry of Z": ("a general Z", lambda f: f.array("system/z_data", times(0, 1.2))),
    "another U₀": ("a general Z", lambda f: f.array("system/u0", times(1, 1.5))),
    "another weight": ("weighted", lambda f: f.array("system/weight", times(2, 3.0))),
    "another row of A": ("least squares", lambda f: f.array("system/a_data", times(3, 1.1))),
    "a larger coercivity": (
        "least squares",
        lambda f: f.json("proof", lambda p: p["coercivity"].update(alpha=3.0 * p["coercivity"]["alpha"])),
    ),
    "a coercivity by its word": (
        "least squares",
        lambda f: f.json("proof", lambda p: p.update(coercivity={"how": "declared", "alpha": 1.0})),
    ),
    "a state outside of the space": ("a general Z", lambda f: f.array("system/u", times(0, 4.0))),
    "other words": (
        "least squares",
        lambda f: f.json("certificate", lambda c: c["assumptions"][0].update(claim=SQUARE)),
    ),
}
SQUARE = "discrete target: the solution of A U = b over the admissible space"


@pytest.mark.parametrize("what", FORGED)
def test_a_changed_system_is_refused(what, tmp_path):
    name, change = FORGED[what]
    _, folder = bundled(name, tmp_path / "b")
    forged = change(Forger(folder, tmp_path / "f")).seal()
    assert verifier.main(forged) == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["least squares", "a general Z"])
def test_poor_witnesses_prove_wider_intervals(name, seed, tmp_path):
    """Whatever state and Green vectors are stored, the truth is in what is proved, and no further than some radii."""
    system, folder = bundled(name, tmp_path / "b")
    rng, f = np.random.default_rng(seed), Forger(folder, tmp_path / "f")
    for witness in ("witness/state", "witness/green"):
        f.array(witness, lambda a: a * (1.0 + 1e-3 * rng.standard_normal(a.shape)))
    stored = Bundle(f.seal())
    said = stored.json["proof.json"]
    found = reduced.Reduced(stored, 2, said["reduction"]).bounds(stored, said)
    for (c, r), true in zip(found, truths(system), strict=True):
        assert 1e-3 * r <= abs(Fraction(c) - true) <= Fraction(r)


def test_what_has_no_witness_is_refused_when_it_is_written(tmp_path):
    W = np.eye(8) + 0.1 * np.eye(8, k=1) + 0.1 * np.eye(8, k=-1)
    system = pp.LinearSystem(np.vstack([stiff(), np.ones((2, 6))]), np.arange(8.0), weight=W)
    certificate = pp.certify(system, np.zeros(6), pp.Queries(L))
    with pytest.raises(InputError, match="weights that are vectors"):
        pp.write_bundle(tmp_path / "b", certificate, system, np.zeros(6), pp.Queries(L))
