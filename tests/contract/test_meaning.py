"""What is handed in means what it says or is refused, and what was prepared does not change."""

from __future__ import annotations

import ctypes
import json
import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import scipy.sparse as sp

import pinnpoint as pp
from pinnpoint import fem
from pinnpoint.certificates.json import once
from pinnpoint.cli.main import main
from pinnpoint.fem.elastic.loads import spread
from pinnpoint.formulas.expressions import parse
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.mesh.quality import coincident
from pinnpoint.mesh.refine.marking import dorfler

SQUARE = generate("square", 4)
C = len(SQUARE.cells)
LEFT = SQUARE.points[SQUARE.cells].mean(axis=1)[:, 0] < 0.5


def with_group(members) -> Mesh:
    return Mesh(SQUARE.points, SQUARE.cells, {"g": members})


@pytest.mark.parametrize("mask", [LEFT, LEFT.tolist()])
def test_a_mask_is_a_group_of_cells(mask):
    assert np.array_equal(with_group(mask).cell_groups["g"], np.flatnonzero(LEFT))


BAD_GROUPS = {
    "floats": np.array([0.0, 1.0]),
    "whole floats": np.arange(C) * 1.0,
    "a short mask": LEFT[:-1],
    "a mask of rows": LEFT[:, None],
    "text": ["0", "1"],
    "objects": np.array([0, None], dtype=object),
    "complex": np.array([0j, 1.0]),
    "masked": np.ma.masked_array([0, 1], [True, False]),
    "negative": [-1],
    "too large": [C],
}


@pytest.mark.parametrize("name", BAD_GROUPS)
def test_a_group_of_anything_else_is_refused(name):
    with pytest.raises(pp.InputError, match="cell group 'g'"):
        with_group(BAD_GROUPS[name])


def imaginary(X):
    return np.ones(len(X)) + 1j


COMPLEX = {
    "source": lambda: fem.ReactionDiffusion(SQUARE, source=imaginary),
    "constant source": lambda: fem.ReactionDiffusion(SQUARE, source=np.complex128(1 + 2j)),
    "reaction": lambda: fem.ReactionDiffusion(SQUARE, reaction=imaginary),
    "diffusion": lambda: fem.ReactionDiffusion(SQUARE, diffusion=lambda X: np.ones((len(X), 2, 2)) * 1j),
    "matrix": lambda: fem.ReactionDiffusion(SQUARE, diffusion=np.eye(2) + 0j),
    "cells": lambda: fem.ReactionDiffusion(SQUARE, diffusion=np.ones(C) + 0j),
    "number": lambda: fem.ReactionDiffusion(SQUARE, diffusion=np.complex64(2)),
    "dirichlet": lambda: fem.ReactionDiffusion(SQUARE, dirichlet={"boundary": imaginary}),
    "dirichlet number": lambda: fem.ReactionDiffusion(SQUARE, dirichlet={"boundary": 1j}),
    "neumann": lambda: fem.ReactionDiffusion(SQUARE, dirichlet={"left": 0}, neumann={"right": imaginary}),
    "body": lambda: fem.Elasticity(SQUARE, 1.0, 0.3, [imaginary, 0.0], fixed={"left": 0}),
    "force": lambda: fem.Elasticity(SQUARE, 1.0, 0.3, fixed={"left": 0}, force={"right": [1j, 0.0]}),
    "young": lambda: fem.Elasticity(SQUARE, np.complex128(1.0), 0.3, fixed={"left": 0}),
    "spread": lambda: spread(np.ones((3, 2)) + 1j, [1.0, 0.0]),
    "points": lambda: Mesh(SQUARE.points + 1j, SQUARE.cells),
    "A": lambda: pp.LinearSystem(np.eye(2) + 1j, np.ones(2)),
    "sparse A": lambda: pp.LinearSystem(sp.csr_array(np.eye(2) + 1j), np.ones(2)),
    "b": lambda: pp.LinearSystem(np.eye(2), [1j, 0.0]),
    "L": lambda: pp.Queries(np.eye(2) * 1j),
    "prediction": lambda: fem.ReactionDiffusion(SQUARE).extract(imaginary),
    "nodal prediction": lambda: fem.ReactionDiffusion(SQUARE).extract(np.zeros(25) + 0j),
    "formula's points": lambda: parse("x")(np.ones((2, 1)) + 1j),
    "indicators": lambda: dorfler(np.ones(4) + 1j, 0.5),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", COMPLEX)
def test_an_imaginary_part_is_refused_not_dropped(name):
    with pytest.raises(pp.InputError):
        COMPLEX[name]()


def test_numbers_that_are_no_float64_are_refused():
    wide = np.longdouble(1) + np.finfo(np.longdouble).eps
    cases = [2**53 + 1, np.bool_(True), np.timedelta64(5, "s"), 10**400]
    for x in cases:
        with pytest.raises(pp.InputError, match="diffusion"):
            fem.ReactionDiffusion(SQUARE, diffusion=x)
    if float(wide) != wide:
        for make in (lambda: pp.LinearSystem(np.eye(2), [wide, 1]), lambda: pp.LinearSystem(np.eye(2) * wide, [1, 1])):
            with pytest.raises(pp.InputError, match="not float64 numbers"):
                make()
    assert fem.ReactionDiffusion(SQUARE, diffusion=np.float32(2)).diffusion[0] == 2.0
    assert fem.ReactionDiffusion(SQUARE, diffusion=np.array(2)).diffusion[0] == 2.0


def unconstrained():
    A, b, L = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, 2.0]), np.eye(2)
    system, queries = pp.LinearSystem(A, b, A_error=1e-9), pp.Queries(L, constants=[0.5, 0.5], error=1e-9)
    return system, queries, (A, b, L)


def problem():
    kappa = np.ones(C)
    made = fem.ReactionDiffusion(SQUARE, source=1.0, diffusion=kappa)
    return made, made.points([[0.4, 0.6]]), (kappa,)


def test_what_a_caller_writes_later_changes_no_answer():
    for make in (unconstrained, problem):
        made, queries, given = make()
        certifier = pp.Exact().prepare(getattr(made, "system", made), queries)
        U = np.zeros(certifier.ground.core.system.N)
        before = certifier.certify(U)
        for a in given:
            a[...] = 7.0
        after = certifier.certify(U)
        assert np.array_equal(before.center, after.center)
        assert np.array_equal(before.radius, after.radius)
    assert np.all(made.given["diffusion"] == 1.0)


def test_nothing_prepared_can_be_written_into():
    system, queries, _ = unconstrained()
    made, points, _ = problem()
    solid = fem.Elasticity(SQUARE, 1.0, 0.3, fixed={"left": 0.0})
    bent = fem.Semilinear(SQUARE, 1.0)
    held = [
        *(system.b, system.A.data, system.A.indices, system.A_error.data, system.space.U0, system.space.Z.data),
        *(queries.L.data, queries.constants, queries.error.data, points.L.data, points.points),
        *(
            made.b,
            made.A.data,
            made.system.b,
            made.system.A.data,
            made.diffusion,
            made.space.U0,
            made.given["diffusion"],
        ),
        *(solid.b, solid.A.data, solid.lame[0], bent.b, bent.system.A.data, bent.system.b, bent.system.w, bent.cubic),
        *(SQUARE.points, SQUARE.cells, SQUARE.boundary, SQUARE.volumes, SQUARE.facet_groups["left"]),
        with_group(LEFT).cell_groups["g"],
    ]
    for k, a in enumerate(held):
        with pytest.raises(ValueError, match="read-only"):
            a[(0,) * a.ndim] = 3
        assert not a.flags.writeable, k


METHODS = [pp.Exact(), pp.Norm(), pp.Localized(radius=0.3), pp.Randomized(probes=4, delta=0.05, seed=0), pp.Inexact()]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_certificates_cannot_be_written_into(method):
    """Some of their arrays are the certifier's own, such as the sensitivities that later intervals rest on."""
    made, points, _ = problem()
    found = method.prepare(made.system, points).certify(made.space.U0, raw=0.3).judged(0.1)
    known = ("value", "center", "radius", "correction", "sigma", "raw", "points", "accept")
    for a in (*(getattr(found, name) for name in known), *found.terms.values()):
        if a is not None:
            with pytest.raises(ValueError, match="read-only"):
                a[0] = 0.0


def test_families_of_certificates_cannot_be_written_into():
    made, points, _ = problem()
    batch = made.family([{"source": 1.0}]).prepare(points).certify_many(None, [[1.0]], raw=[[0.1] * len(points)])
    for a in (batch.center, batch.radius, batch.sigma, *batch.terms.values()):
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 0.0


@pytest.mark.parametrize("given", [True, np.True_, [True], np.array([True])], ids=repr)
def test_truth_values_are_no_amounts(given):
    made, points, _ = problem()
    for name in ("accept", "raw"):
        with pytest.raises(pp.InputError, match=f"{name}: must hold numbers; got .*True"):
            pp.certify(made, made.space.U0, points, target="discrete", **{name: given})
    with pytest.raises(pp.InputError, match=r"radius: must hold numbers; got .*True"):
        made.averages([[0.5, 0.5]], given)


def test_new_entries_of_a_shown_matrix_change_no_answer():
    queries = pp.Queries(np.eye(2))
    certifier = pp.Exact().prepare(pp.LinearSystem(sp.csr_array(np.diag([2.0, 1.0])), np.ones(2)), queries)
    before = certifier.certify(np.zeros(2))
    with warnings.catch_warnings(), suppress(ValueError):
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        certifier.ground.core.system.A[0, 1] = 5.0
    assert np.array_equal(before.center, certifier.certify(np.zeros(2)).center)


def test_a_prediction_that_overwrites_its_points_moves_no_mesh():
    def rude(X):
        X *= 2.0
        return X[:, 0]

    made = fem.ReactionDiffusion(SQUARE)
    before = SQUARE.points.copy()
    pp.certify(made, rude, made.points([[0.5, 0.5]]))
    assert np.array_equal(SQUARE.points, before)


MODES = {"towards zero": 0xC00, "up": 0x800, "down": 0x400}


@contextmanager
def rounding(mode: int):
    """Another rounding mode of this thread (x86's numbers)."""
    fenv = ctypes.CDLL(None)
    if fenv.fesetround(mode):
        pytest.skip("the C library has other rounding modes")
    try:
        yield
    finally:
        fenv.fesetround(0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", ["discrete", "continuous"])
@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_directed_rounding_is_refused_for_every_target(mode, target, kind):
    made = fem.ReactionDiffusion(SQUARE, source=1.0) if kind == "linear" else fem.Semilinear(SQUARE, 1.0, source=1.0)
    queries = made.points([[0.4, 0.6]])
    with rounding(MODES[mode]), pytest.raises(pp.InputError, match="does not round to nearest"):
        pp.certify(made, made.space.U0, queries, target=target)
    assert pp.certify(made, made.space.U0, queries, target=target).guarantee == "deterministic"


def test_directed_rounding_is_refused_after_preparation():
    made = fem.ReactionDiffusion(SQUARE, source=1.0)
    queries = made.points([[0.4, 0.6]])
    certifier = pp.Exact().prepare(made.system, queries)
    family = made.family([{"source": 1.0}]).prepare(queries)
    U = np.zeros((1, 25))
    calls = [
        lambda: certifier.certify(U[0]),
        lambda: certifier.certify_many(U),
        lambda: family.certify_many(U, [[1.0]]),
        lambda: made.transfer(queries),
    ]
    for call in calls:
        with rounding(MODES["up"]), pytest.raises(pp.InputError, match="does not round to nearest"):
            call()


def test_a_key_twice_is_no_json():
    with pytest.raises(ValueError, match="'a' is given twice"):
        json.loads('{"a": 1, "b": 2, "a": 3}', object_pairs_hook=once)
    assert json.loads('{"a": {"b": 2}, "b": 3}', object_pairs_hook=once) == {"a": {"b": 2}, "b": 3}


def torn(gap: float) -> Mesh:
    """Two halves of the square with nodes of their own along x = 1/2, `gap` apart."""
    X, T = SQUARE.points, SQUARE.cells
    right = ~LEFT
    seam = np.flatnonzero(X[:, 0] == 0.5)
    number = np.arange(len(X))
    number[seam] = len(X) + np.arange(len(seam))
    cells = np.where(right[:, None], number[T], T)
    return Mesh(np.concatenate([X, X[seam] + [gap, 0.0]]), cells)


def test_nodes_that_were_not_merged_are_counted(tmp_path, capsys):
    assert coincident(SQUARE)[0] == 0
    assert coincident(torn(0.0))[0] == coincident(torn(1e-12))[0] == 5
    assert coincident(torn(1e-3))[0] == 0
    near = Mesh([[0.0], [1e-12], [0.5], [1.0]], [[0, 1], [1, 2], [2, 3]])
    assert coincident(near)[0] == 0  # small cells are no tear
    mesh = torn(0.0)
    import meshio

    meshio.write(tmp_path / "torn.vtu", meshio.Mesh(np.pad(mesh.points, ((0, 0), (0, 1))), [("triangle", mesh.cells)]))
    case = tmp_path / "case.toml"
    case.write_text(
        '[mesh]\nfile = "torn.vtu"\n[problem]\nkind = "reaction-diffusion"\n[problem.dirichlet]\nboundary = 0.0\n'
        '[prediction]\nzero = true\n[[query]]\nname = "a"\nkind = "point"\nat = [0.3, 0.4]\n'
    )
    assert main(["check", str(case)]) == 0
    assert "5 nodes lie at the place of another one" in capsys.readouterr().out
