"""Bad input: each is refused by name, with what was got and what to do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import pinnpoint as pp
from tests.support import gallery

CASE = gallery.poisson_1d(8)
SPACE = CASE.space
SYSTEM = CASE.system()
QUERIES = pp.Queries(np.eye(9)[[4]])
U = SPACE.U0
SPD = np.diag([2.0, 3.0]) + 0.5
NAN, INF = float("nan"), float("inf")


def poison(x, value, at=(0,)):
    y = np.array(x, dtype=float)
    y[at] = value
    return y


def no_adjoint():
    return LinearOperator((2, 2), matvec=lambda v: SPD @ v)


def operator():
    return sp.linalg.aslinearoperator(sp.csr_array(SPD))


def certify(method=None, system=SYSTEM, U=U, queries=QUERIES, **options):
    return pp.certify(system, U, queries, method, **options)


REFUSED = {
    # systems
    "NaN in A": (lambda: pp.LinearSystem(poison(SPD, NAN, (0, 1)), [1, 1]), "A: must be finite"),
    "inf in sparse A": (lambda: pp.LinearSystem(sp.csr_array(poison(SPD, INF, (0, 1))), [1, 1]), "A: must be finite"),
    "complex A": (lambda: pp.LinearSystem(SPD * 1j, [1, 1]), "A: must hold real numbers"),
    "complex sparse A": (lambda: pp.LinearSystem(sp.csr_array(SPD * 1j), [1, 1]), "A: must hold real numbers"),
    "text A": (lambda: pp.LinearSystem("matrix", [1, 1]), "A: must hold real numbers"),
    "three-dimensional A": (lambda: pp.LinearSystem(np.ones((2, 2, 2)), [1, 1]), "A: must be a matrix"),
    "NaN in b": (lambda: pp.LinearSystem(SPD, [1, NAN]), "b: must be finite"),
    "short b": (lambda: pp.LinearSystem(SPD, [1.0]), "b: must have 2 entries; got 1"),
    "matrix b": (lambda: pp.LinearSystem(SPD, SPD), "b: must be a vector"),
    "None b": (lambda: pp.LinearSystem(SPD, None), "b: must hold real numbers"),
    "wide A": (lambda: pp.LinearSystem(np.ones((1, 2)), [1.0]), "underdetermined"),
    "space of another length": (lambda: pp.LinearSystem(SPD, [1, 1], space=SPACE), "A: must have 9 columns"),
    "space of another type": (lambda: pp.LinearSystem(SPD, [1, 1], space=3), "space: must be an AdmissibleSpace"),
    "unknown reduction": (lambda: pp.LinearSystem(SPD, [1, 1], reduction="ritz"), "reduction: must be one of"),
    "operator without adjoint": (lambda: pp.LinearSystem(no_adjoint(), [1, 1]), "adjoint"),
    "operator with rounding": (
        lambda: certify(system=pp.LinearSystem(operator(), [1, 1]), U=[0, 0], queries=pp.Queries([1, 0])),
        "rounding=False",
    ),
    "operator without bound": (
        lambda: certify(pp.Inexact(rounding=False), pp.LinearSystem(operator(), [1, 1]), [0, 0], pp.Queries([1, 0])),
        "declare one",
    ),
    "operator to factorise": (
        lambda: certify(pp.Exact(rounding=False), pp.LinearSystem(operator(), [1, 1]), [0, 0], pp.Queries([1, 0])),
        "no entries to factorise",
    ),
    "singular A": (
        lambda: certify(system=pp.LinearSystem([[1, 1], [1, 1]], [1, 1]), U=[0, 0], queries=pp.Queries([1, 0])),
        "singular",
    ),
    "singular large A": (
        lambda: certify(
            system=pp.LinearSystem(gallery.poisson_1d(800).A, np.ones(801)),
            U=np.zeros(801),
            queries=pp.Queries(np.eye(801)[:1]),
        ),
        "singular",
    ),
    "zero A": (
        lambda: certify(system=pp.LinearSystem(np.zeros((2, 2)), [1, 1]), U=[0, 0], queries=pp.Queries([1, 0])),
        "singular",
    ),
    "rank-deficient rectangular A": (
        lambda: certify(system=pp.LinearSystem(np.ones((3, 2)), [1, 1, 1]), U=[0, 0], queries=pp.Queries([1, 0])),
        "rank deficient",
    ),
    "negative A_error": (lambda: pp.LinearSystem(SPD, [1, 1], A_error=-SPD), "A_error: entries must be"),
    "shape of A_error": (lambda: pp.LinearSystem(SPD, [1, 1], A_error=np.ones((3, 3))), "A_error: must have A's shape"),
    "negative b_error": (lambda: pp.LinearSystem(SPD, [1, 1], b_error=[1, -1]), "b_error: entries must be"),
    "data errors without rounding": (
        lambda: certify(
            pp.Exact(rounding=False), pp.LinearSystem(SPD, [1, 1], b_error=[1, 1]), [0, 0], pp.Queries([1, 0])
        ),
        "rounding=True",
    ),
    "data errors too large": (
        lambda: certify(system=pp.LinearSystem(SPD, [1, 1], A_error=1.0), U=[0, 0], queries=pp.Queries([1, 0])),
        "could not be verified",
    ),
    "row_points of the wrong length": (
        lambda: pp.LinearSystem(SPD, [1, 1], row_points=np.ones((5, 2))),
        "row_points: must be 2 points",
    ),
    # weights
    "unknown weight": (lambda: pp.LinearSystem(SPD, [1, 1], weight="mass"), "weight: must be None"),
    "negative diagonal weight": (lambda: pp.LinearSystem(SPD, [1, 1], weight=[1, -1]), "weight: entries must be > 0"),
    "zero diagonal weight": (
        lambda: pp.LinearSystem(SPD, [1, 1], weight=sp.diags_array([1.0, 0.0])),
        "weight: entries must be > 0",
    ),
    "NaN weight": (lambda: pp.LinearSystem(SPD, [1, 1], weight=[1, NAN]), "weight: must be finite"),
    "short weight": (lambda: pp.LinearSystem(SPD, [1, 1], weight=[1.0]), "weight: must have 2 entries"),
    "indefinite weight": (
        lambda: pp.LinearSystem(SPD, [1, 1], weight=[[1, 2], [2, 1]]),
        "weight: must be symmetric positive definite",
    ),
    "nonsymmetric weight": (lambda: pp.LinearSystem(SPD, [1, 1], weight=[[2, 1], [0, 2]]), "weight: must be symmetric"),
    "weight of another size": (lambda: pp.LinearSystem(SPD, [1, 1], weight=np.eye(3)), "weight: must be 2 × 2"),
    "weight over all rows of a Galerkin system": (lambda: CASE.system(weight=np.ones(9)), "reduction='rows'"),
    "energy for a rectangular system": (
        lambda: pp.LinearSystem(np.ones((3, 2)), [1, 1, 1], weight="energy"),
        "weight: 'energy'",
    ),
    "energy for a nonsymmetric system": (
        lambda: certify(
            system=pp.LinearSystem([[2, 1], [0, 2]], [1, 1], weight="energy"), U=[0, 0], queries=pp.Queries([1, 0])
        ),
        "symmetric positive definite operator",
    ),
    "energy for an indefinite system": (
        lambda: certify(
            system=pp.LinearSystem([[1, 2], [2, 1]], [1, 1], weight="energy"), U=[0, 0], queries=pp.Queries([1, 0])
        ),
        "energy",
    ),
    # spaces
    "NaN in U0": (lambda: pp.AdmissibleSpace([0, NAN], np.eye(2)), "U0: must be finite"),
    "rows of Z": (lambda: pp.AdmissibleSpace([0, 0], np.eye(3)), "Z: must have 2 rows"),
    "dependent columns of Z": (lambda: pp.AdmissibleSpace([0, 0], np.ones((2, 2))), "full column rank"),
    "empty Z": (lambda: pp.AdmissibleSpace([0, 0], np.ones((2, 0))), "Z: must have between 1"),
    "dof out of range": (lambda: pp.AdmissibleSpace.dirichlet(3, [3]), "dofs: must lie between 0 and 2"),
    "dof twice": (lambda: pp.AdmissibleSpace.dirichlet(3, [1, 1]), "dofs: an entry is fixed twice"),
    "fractional dof": (lambda: pp.AdmissibleSpace.dirichlet(3, [0.5]), "dofs: must be integers"),
    "mask length": (lambda: pp.AdmissibleSpace.dirichlet(3, np.array([True])), "dofs: a mask must have 3"),
    "all dofs fixed": (lambda: pp.AdmissibleSpace.dirichlet(2, [0, 1]), "nothing is left"),
    "values length": (lambda: pp.AdmissibleSpace.dirichlet(3, [0, 1], [1.0]), "values: must have 2 entries"),
    "NaN value": (lambda: pp.AdmissibleSpace.dirichlet(3, [0], NAN), "values: must be finite"),
    "dependent constraints": (lambda: pp.AdmissibleSpace.constrained([[1, 0, 0], [2, 0, 0]], [0, 0]), "dependent"),
    "too many constraints": (lambda: pp.AdmissibleSpace.constrained(np.eye(2), [0, 0]), "leave nothing"),
    # states
    "NaN in U": (lambda: certify(U=poison(U, NAN)), "U: must be finite"),
    "inf in U": (lambda: certify(U=poison(U, INF)), "U: must be finite"),
    "huge U": (lambda: certify(U=poison(U, 1e200, (3,))), r"U: entries must be finite and below 2\*\*480"),
    "short U": (lambda: certify(U=np.zeros(4)), "U: must have 9 entries; got 4"),
    "U that is not admissible": (lambda: certify(U=np.ones(9)), r"U: not admissible, entry 0 .* project"),
    "U off a general space": (
        lambda: certify(
            system=pp.LinearSystem(np.eye(3), np.ones(3), space=pp.AdmissibleSpace.constrained([1, 1, 1], 0)),
            U=np.ones(3),
            queries=pp.Queries([1, 0, 0]),
        ),
        "U: not admissible",
    ),
    "one-dimensional batch": (lambda: pp.Exact().prepare(SYSTEM, QUERIES).certify_many(U), "U_batch: must have shape"),
    "loads of another number": (
        lambda: pp.Exact().prepare(SYSTEM, QUERIES).certify_many([U, U], loads=[U]),
        "loads: must have 2 rows",
    ),
    "short load": (lambda: pp.Exact().prepare(SYSTEM, QUERIES).certify(U, load=[1.0]), "load: must have 9 entries"),
    # queries
    "NaN in L": (lambda: pp.Queries(poison(np.eye(2), NAN, (0, 0))), "L: must be finite"),
    "no queries": (lambda: pp.Queries(np.zeros((0, 3))), "L: holds no query"),
    "columns of L": (lambda: certify(queries=pp.Queries(np.eye(3))), "L: must have 9 columns"),
    "names": (lambda: pp.Queries(np.eye(2), names=["a"]), "names: must have 2 entries"),
    "equal names": (lambda: pp.Queries(np.eye(2), names=["a", "a"]), "names: must differ; repeated: a"),
    "constants": (lambda: pp.Queries(np.eye(2), constants=[1, 2, 3]), "constants: must have 2 entries"),
    "points": (lambda: pp.Queries(np.eye(2), points=[[0.0], [NAN]]), "points: must be finite"),
    "query error": (lambda: pp.Queries(np.eye(2), error=-np.eye(2)), "error: must be ≥ 0"),
    "bare matrix as queries": (lambda: certify(queries=np.eye(9)), "wrap L"),
    "unknown target": (lambda: certify(target="pde"), "target: must be"),
    "continuous without transfer": (lambda: certify(target="continuous"), "say target='discrete'"),
    "raw length": (lambda: certify(raw=[1.0, 2.0]), "raw: must have 1 entries"),
    "NaN raw": (lambda: certify(raw=[NAN]), "raw: must be finite"),
    # methods
    "method by name": (lambda: certify("exact"), "method: must be a method"),
    "system by matrix": (lambda: certify(system=SPD), "system: must be a LinearSystem"),
    "unknown solver": (lambda: certify(pp.Exact(solver="mumps")), "solver: must be"),
    "alpha zero": (lambda: pp.Coercivity(0.0), "alpha: must be a finite number > 0"),
    "alpha negative": (lambda: certify(pp.Exact(coercivity=-1.0)), "coercivity: must be a finite number > 0"),
    "alpha NaN": (lambda: certify(pp.Exact(coercivity=NAN)), "coercivity: must be a finite number > 0"),
    "kind of bound": (lambda: pp.Coercivity(1.0, of="inverse"), "of: must be"),
    "P not symmetric": (lambda: pp.Coercivity(1.0, P=[[1, 2], [0, 1]]), "P: must be symmetric"),
    "P of another size": (
        lambda: certify(pp.Inexact(coercivity=pp.Coercivity(1.0, P=np.eye(3)))),
        "P must have the reduced size 7",
    ),
    "P not definite": (
        lambda: certify(pp.Inexact(coercivity=pp.Coercivity(1.0, P=np.diag([1.0] * 6 + [-1.0])))),
        "P: ",
    ),
    "correction kind": (lambda: pp.Inexact("dual"), "correct: must be one of"),
    "tolerance": (lambda: pp.Inexact(tolerance=-1.0), "tolerance: must be a finite number ≥ 0 and ≤ 1"),
    "iterations": (lambda: pp.Inexact(iterations=-1), "iterations: must be a finite number ≥ 0"),
    "sigma for adjoints": (lambda: pp.Inexact(sigma=1.0), "sigma: only the primal"),
    "negative sigma": (lambda: certify(pp.Norm(sigma=-1.0)), "sigma: entries must be"),
    "no localization": (lambda: pp.Localized(), "give exactly one"),
    "two localizations": (lambda: pp.Localized(radius=1.0, projectors=np.ones(2, bool)), "give exactly one"),
    "radius without points": (lambda: certify(pp.Localized(radius=1.0)), "row_points"),
    "negative radius": (lambda: certify(pp.Localized(radius=-1.0)), "radius: entries must be"),
    "mask of another shape": (
        lambda: certify(pp.Localized(projectors=np.ones(3, bool))),
        "projectors: a mask must have shape",
    ),
    "not a projector": (lambda: certify(pp.Localized(projectors=2.0 * np.eye(7))), "projectors: not a projector"),
    "projector of another size": (
        lambda: certify(pp.Localized(projectors=np.eye(3))),
        "projectors: each must be 7 × 7",
    ),
    "no probes": (lambda: pp.Randomized(probes=0), "probes: must be a finite number ≥ 1"),
    "delta": (lambda: pp.Randomized(delta=1.5), "delta: must be a finite number > 0 and ≤ 1"),
    "distribution": (lambda: pp.Randomized(distribution="cauchy"), "distribution: must be"),
    # transfer
    "comparison without anything": (lambda: pp.Comparison(0.1), "exactly one"),
    "negative T": (lambda: pp.Comparison(0.1, residual=-1.0), "residual: must be a finite number ≥ 0"),
    "negative evaluation": (lambda: certify(transfer=pp.Comparison(-0.1, residual=1.0)), "evaluation: entries must be"),
    "comparison state not admissible": (
        lambda: certify(transfer=pp.Comparison(0.1, state=np.ones(9))),
        "state: not admissible",
    ),
    # words where numbers belong, and the other way round
    "text A_error": (lambda: pp.LinearSystem(SPD, [1, 1], A_error="abc"), "A_error: must be a finite number"),
    "complex A_error": (lambda: pp.LinearSystem(SPD, [1, 1], A_error=1j), "A_error: must be a finite number"),
    "infinite query error": (lambda: pp.Queries(np.eye(2), error=INF), "error: must be a finite number"),
    "negative query error": (lambda: pp.Queries(np.eye(2), error=-1), "error: must be a finite number ≥ 0"),
    "text coercivity": (lambda: certify(pp.Exact(coercivity="x")), "coercivity: must be a finite number"),
    "text alpha": (lambda: pp.Coercivity("a"), "alpha: must be a finite number"),
    "negative scale": (lambda: pp.Coercivity(1.0, scale=[1.0, -1.0]), "scale: entries must be > 0"),
    "status": (lambda: pp.Coercivity(1.0, status="sure"), "status: must be"),
    "text tolerance": (lambda: pp.Inexact(tolerance="x"), "tolerance: must be a finite number"),
    "fractional iterations": (lambda: pp.Inexact(iterations=2.5), "iterations: must be a whole number"),
    "no sharpening given": (lambda: pp.Inexact(sharpen=None), "sharpen: must be a finite number"),
    "NaN probes": (lambda: pp.Randomized(probes=NAN), "probes: must be a finite number"),
    "negative seed": (lambda: pp.Randomized(seed=-1), "seed: must be a finite number ≥ 0"),
    "no seed": (lambda: pp.Randomized(seed=None), "seed: must be a finite number"),
    "list residual": (lambda: pp.Comparison(1.0, residual=[1.0]), "residual: must be a finite number"),
    "numeric names": (lambda: pp.Queries(np.eye(2), names=5), "names: must be a list of 2 names"),
    "ragged weight": (lambda: pp.LinearSystem(SPD, [1, 1], weight=[[1], [1, 2]]), "weight: "),
    "ragged points": (lambda: pp.LinearSystem(SPD, [1, 1], row_points=[[1], [1, 2]]), "row_points: "),
    "one-dimensional sparse A": (lambda: pp.LinearSystem(sp.coo_array([1.0, 2.0]), [1, 1]), "A: must be a matrix"),
    "complex lil A": (lambda: pp.LinearSystem(sp.lil_array(SPD * 1j), [1, 1]), "A: must hold real numbers"),
    "huge integers": (lambda: pp.LinearSystem(np.array([[2**60]]), [1]), "integers beyond 2"),
    "empty A": (lambda: pp.LinearSystem(np.zeros((0, 0)), []), "A: must have rows"),
    "no constraints": (lambda: pp.AdmissibleSpace.constrained(np.zeros((0, 3)), []), "C: holds no constraint"),
    "negative length": (lambda: pp.AdmissibleSpace.dirichlet(-3, [0]), "n: must be a finite number ≥ 1"),
    "fractional length": (lambda: pp.AdmissibleSpace.unconstrained(2.5), "n: must be a whole number"),
    "ragged dofs": (lambda: pp.AdmissibleSpace.dirichlet(3, [[0], [1, 2]]), "dofs: "),
    "prepare with a matrix": (lambda: pp.Exact().prepare(SPD, QUERIES), "system: must be a LinearSystem"),
    "transfer that is none": (lambda: certify(transfer=3), "transfer: must be a transfer"),
    "solver that is none": (lambda: certify(pp.Exact(solver=False)), "solver: must be"),
    "complex states": (lambda: pp.Exact().prepare(SYSTEM, QUERIES).certify_many([U * 1j]), "U_batch: must hold real"),
    "numeric loads": (
        lambda: pp.Exact().prepare(SYSTEM, QUERIES).certify_many([U], loads=5),
        "loads: must have 1",
    ),
    "text in contains": (lambda: certify().contains("a"), "x: must hold real numbers"),
    "wrong number in contains": (lambda: certify().contains([1.0, 2.0]), "x: must be one number or 1"),
    "weight by operator": (lambda: pp.LinearSystem(SPD, [1, 1], weight=operator()), "weight: must be a matrix"),
    "orders of nothing": (lambda: pp.observed_orders([2.0, 1.0], None), "certificates: must be a list"),
    "folder that is not there": (lambda: certify().to_json("nowhere/at/all.json"), "path: the folder"),
    "NaN in a header": (lambda: certify().to_json("c.json", title=NAN), "header: must hold plain"),
    "orders of numbers": (lambda: pp.observed_orders([2.0, 1.0], [1, 2]), "certificates: must be a list"),
    "huge load": (
        lambda: pp.Exact().prepare(SYSTEM, QUERIES).certify(U, load=np.full(9, 1e300)),
        "load: entries",
    ),
    # coercivity
    "P not definite for coercivity": (lambda: pp.verify_coercivity(SPD, P=-np.eye(2)), "P: not verified"),
    "complex for coercivity": (lambda: pp.verify_coercivity(SPD * 1j), "A: must hold real numbers"),
    "negative shift": (lambda: pp.verify_coercivity(SPD, shift=-1), "shift: must be a finite number > 0"),
    "error by matrix": (lambda: pp.verify_coercivity(SPD, error=SPD), "error: must be a function"),
    "method of verification": (lambda: pp.verify_coercivity(SPD, method="qr"), "method: must be"),
    "rectangular for coercivity": (lambda: pp.verify_coercivity(np.ones((2, 3))), "A: must be square"),
    "NaN for coercivity": (lambda: pp.verify_coercivity([[NAN]]), "A: must be finite"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_clear_message(name):
    call, words = REFUSED[name]
    with pytest.raises((pp.InputError, pp.CertificationError), match=words) as caught:
        call()
    assert isinstance(caught.value, pp.PinnpointError)
    assert len(str(caught.value)) > 20


def test_ill_conditioned_beyond_float64_is_refused_not_guessed():
    n = 12
    hilbert = 1.0 / (np.arange(n)[:, None] + np.arange(n)[None, :] + 1.0)
    with pytest.raises(pp.PinnpointError, match=r"singular|could not be verified"):
        pp.certify(pp.LinearSystem(hilbert, np.ones(n)), np.zeros(n), pp.Queries(np.eye(n)[:1]))


def test_switched_rounding_mode_is_refused(monkeypatch):
    from pinnpoint.rounding import arithmetic

    class Upward(float):
        """Stands in for arithmetic that rounds up."""

        def __add__(self, other):
            return Upward(np.nextafter(float(self) + float(other), np.inf))

        def __sub__(self, other):
            return Upward(np.nextafter(float(self) - float(other), np.inf))

        def __neg__(self):
            return Upward(-float(self))

        def __rmul__(self, other):
            return Upward(float(self) * other)

    monkeypatch.setattr(arithmetic.np, "float64", Upward)
    with pytest.raises(pp.InputError, match="round to nearest"):
        arithmetic.require_round_to_nearest()
