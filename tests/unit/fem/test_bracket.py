"""The bracket: its mesh, its loads, its equilibrium."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.cli.main import main
from pinnpoint.fem.elastic.bracket_loads import LOADS
from pinnpoint.mesh.bracket import BOLTS, PIN, bracket_mesh, edge_length, free_dofs
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.quality import facet_angles, quality, radius_ratios

GROUPS = {"bolt1", "bolt2", "bolt3", "bolt4", "bolts", "pin", "base", "surface"}
EPS = 2.0**-52


def _gmsh_works() -> str:
    try:
        importlib.import_module("gmsh")
    except (ImportError, OSError) as error:
        return f"Gmsh cannot be imported ({error}); pip install 'pinnpoint[mesh]' and its system libraries"
    return ""


WHY = _gmsh_works()
needs_gmsh = pytest.mark.skipif(bool(WHY), reason=WHY or "Gmsh works")


@pytest.fixture(scope="module")
def small():
    return bracket_mesh()


def require_bracket(mesh):
    assert set(mesh.facet_groups) == GROUPS
    assert 0.99 < mesh.volumes.sum() / 239740.0 < 1.01  # of the finest mesh
    parts = [mesh.facets(name) for name in sorted(GROUPS - {"bolts"})]
    assert sum(map(len, parts)) == len(mesh.boundary) == len(np.unique(np.sort(np.concatenate(parts), axis=1), axis=0))
    for i, (x, y) in enumerate(BOLTS):
        P = mesh.points[np.unique(mesh.facets(f"bolt{i + 1}"))]
        assert np.hypot(P[:, 0] - x, P[:, 1] - y) == pytest.approx(6.0)
        assert P[:, 2].min() == 0.0
        assert P[:, 2].max() == pytest.approx(10.0)
    P = mesh.points[np.unique(mesh.facets("pin"))]
    assert np.hypot(P[:, 0] - PIN[0], P[:, 2] - PIN[2]) == pytest.approx(10.0)
    assert (P[:, 1] > 0).any()
    assert (P[:, 1] < 0).any()
    assert np.all(mesh.points[mesh.facets("base")][..., 2] == 0.0)
    shape = quality(mesh)
    assert shape.angle > 8.0
    assert shape.widest < 160.0
    assert shape.ratio > 0.15


def test_the_shipped_bracket_is_one(small):
    require_bracket(small)
    assert free_dofs(small) == 5070
    assert pp.fem.bracket().system.n == 5070
    assert np.array_equal(generate("bracket").cells, small.cells)


@pytest.mark.optional
@needs_gmsh
@pytest.mark.parametrize("dofs", [2000, 3500, 12000, 40000])
def test_any_size_is_met_within_15_percent(dofs):
    mesh = generate("bracket", dofs=dofs)
    require_bracket(mesh)
    assert abs(free_dofs(mesh) / dofs - 1.0) <= 0.15


@pytest.mark.optional
@needs_gmsh
def test_same_arguments_same_mesh():
    one, two, other = (generate("bracket", cells) for cells in (14, 14, 16))
    require_bracket(one)
    assert np.array_equal(one.points, two.points)
    assert np.array_equal(one.cells, two.cells)
    assert all(np.array_equal(one.facets(g), two.facets(g)) for g in GROUPS)
    assert len(other.cells) > len(one.cells)


@pytest.mark.optional
@needs_gmsh
def test_a_session_of_the_caller_is_left_alone():
    import gmsh

    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.model.add("theirs")
        gmsh.option.setNumber("Mesh.MeshSizeMax", 7.25)
        bracket_mesh(dofs=2000)
        assert gmsh.isInitialized()
        assert gmsh.model.getCurrent() == "theirs"
        assert gmsh.option.getNumber("Mesh.MeshSizeMax") == 7.25
        assert gmsh.model.list().count("pinnpoint bracket") == 0
    finally:
        gmsh.finalize()


@pytest.mark.optional
@needs_gmsh
def test_a_broken_pipe_stays_an_error():
    code = """
import os
from pinnpoint.mesh.bracket import bracket_mesh
bracket_mesh(dofs=2000)
r, w = os.pipe()
os.close(r)
try:
    os.write(w, b"x")
except BrokenPipeError:
    print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done


def test_without_gmsh_only_the_shipped_bracket_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "gmsh", None)
    with pytest.raises(DependencyMissingError, match=r"pip install 'pinnpoint\[mesh\]'"):
        generate("bracket", dofs=5000)
    assert len(generate("bracket").cells) == 5132


def test_a_missing_system_library_is_named(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "gmsh":
                raise OSError("libGLU.so.1: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "gmsh", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(DependencyMissingError, match=r"libGLU.so.1.*apt install libglu1-mesa"):
        generate("bracket", dofs=5000)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dofs": 10}, "dofs: must lie between 2000 and 2500000 for 'bracket'; got 10"),
        ({"dofs": 3e3}, "dofs: must be a whole number"),
        ({"cells": 2}, "cells: must lie between 10 and 280"),
        ({"cells": True}, "whole number"),
        ({"cells": 20, "dofs": 3000}, "cells or dofs, not both"),
    ],
)
def test_bad_sizes_of_the_bracket_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        generate("bracket", **arguments)


def test_dofs_are_for_the_bracket():
    with pytest.raises(InputError, match="dofs: only for 'bracket'"):
        generate("square", dofs=100)
    assert edge_length(2000) > edge_length(100000) > edge_length(2e6)


def _resultants(points, f, at):
    """Force and moment in rational arithmetic, and the sizes that rounding is measured by."""
    F, M = [Fraction(0)] * 3, [Fraction(0)] * 3
    for p, g in zip(points.tolist(), f.tolist(), strict=True):
        x, g = [Fraction(a) - Fraction(b) for a, b in zip(p, at, strict=True)], [Fraction(v) for v in g]
        for k in range(3):
            F[k] += g[k]
            i, j = (k + 1) % 3, (k + 2) % 3
            M[k] += x[i] * g[j] - x[j] * g[i]
    arms = np.linalg.norm(points - np.array(at), axis=1)
    size = np.linalg.norm(f, axis=1)
    return np.array(F), np.array(M), float(size.sum()), float((arms * size).sum())


@pytest.mark.parametrize("name", LOADS)
def test_loads_are_reproduced(small, name):
    load = LOADS[name]
    nodes = np.unique(small.facets("pin"))
    f = pp.fem.spread(small.points[nodes], load.force, load.moment, load.at)
    F, M, forces, moments = _resultants(small.points[nodes], f, load.at)
    wanted = load.moment or (0.0, 0.0, 0.0)
    assert max(abs(float(F[k] - Fraction(load.force[k]))) for k in range(3)) <= 2 * EPS * forces
    assert max(abs(float(M[k] - Fraction(wanted[k]))) for k in range(3)) <= 4 * EPS * moments
    problem = pp.fem.bracket(name)
    b = problem.b.reshape(-1, 3)
    assert np.array_equal(b[nodes], f)
    assert np.count_nonzero(np.abs(b).sum(axis=1)) <= len(nodes)


@pytest.mark.parametrize("seed", range(4))
def test_spread_of_any_cloud(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(17, 3)) * np.array([1.0, 30.0, 0.2]) + 1e4 * rng.normal(size=3)
    at, F, M, w = X.mean(axis=0) + rng.normal(size=3) * 50, rng.normal(size=3), rng.normal(size=3), rng.random(17)
    f = pp.fem.spread(X, F, M, at, weights=w)
    total, turn, forces, moments = _resultants(X, f, at.tolist())
    assert float(np.abs((total - [Fraction(v) for v in F]).astype(float)).max()) <= 4 * EPS * forces
    assert float(np.abs((turn - [Fraction(v) for v in M]).astype(float)).max()) <= 8 * EPS * moments


def test_spread_is_the_rbe3_of_the_formula():
    rng = np.random.default_rng(3)
    X, F, M, at = rng.normal(size=(9, 3)), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    r = X - X.mean(axis=0)
    J = sum((v @ v) * np.eye(3) - np.outer(v, v) for v in r)
    omega = np.linalg.solve(J, np.cross(at - X.mean(axis=0), F) + M)
    assert pp.fem.spread(X, F, M, at) == pytest.approx(F / 9 + np.cross(omega, r), rel=1e-12)


def test_spread_in_the_plane_and_on_lines():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    f = pp.fem.spread(X, [1.0, -3.0], 5.0, [0.5, 0.5])
    S = X - 0.5
    assert f.sum(axis=0) == pytest.approx([1.0, -3.0])
    assert (S[:, 0] * f[:, 1] - S[:, 1] * f[:, 0]).sum() == pytest.approx(5.0)
    line = np.array([[0.0, 0, 0], [1.0, 0, 0], [3.0, 0, 0]])
    g = pp.fem.spread(line, [0.0, 0, 1], [0.0, 2.0, 0.0])
    assert np.cross(line - line.mean(axis=0), g).sum(axis=0) == pytest.approx([0, 2, 0])
    with pytest.raises(InputError, match="moment: cannot be carried"):
        pp.fem.spread(line, [0.0, 0, 1], [2.0, 0.0, 0.0])
    with pytest.raises(InputError, match="moment: cannot be carried"):
        pp.fem.spread(line[:1], [0.0, 0, 1], at=[1.0, 0.0, 0.0])
    assert pp.fem.spread(line[:1], [0.0, 0, 1]).tolist() == [[0.0, 0.0, 1.0]]
    with pytest.raises(InputError, match="weights: are all zero"):
        pp.fem.spread(line, [0.0, 0, 1], weights=[0, 0, 0])


def test_supports_carry_the_load(small):
    """Reactions at the bolts balance force and moment; the diagonal load is the sum that SimJEB's is."""
    from scipy.sparse.linalg import splu

    problem = pp.fem.bracket("vertical")
    free = np.asarray(problem.space.free)
    solve = splu(problem.A[free][:, free].tocsc()).solve
    U = {}
    for name, load in LOADS.items():
        b = pp.fem.bracket(name, mesh=small).b
        u = np.zeros(problem.A.shape[0])
        u[free] = solve(b[free])
        reaction = (problem.A @ u - b).reshape(-1, 3)
        assert np.abs(reaction[np.unique(small.facets("bolts"))].sum(axis=0) + load.force).max() < 1e-5
        turn = np.cross(small.points - np.array(PIN), reaction).sum(axis=0)
        assert np.abs(turn + (load.moment or np.zeros(3))).max() < 1e-3
        U[name] = u
        assert 0.01 < np.abs(u).max() < 5.0
    mix = 0.7478518 * U["horizontal"] + 0.8824848 * U["vertical"]
    assert np.abs(mix - U["diagonal"]).max() < 1e-5 * np.abs(U["diagonal"]).max()


CASE = """title = "Bracket"
units = "N, mm, MPa"
[mesh]
generate = "bracket"
[problem]
kind = "elasticity"
young = 113800
poisson = 0.342
[problem.dirichlet]
bolts = 0.0
[problem.force.pin]
force = [0.0, 0.0, 35585.77]
at = [0.0, 0.0, 58.0]
[prediction]
zero = true
[[query]]
name = "pin"
kind = "patch"
group = "pin"
component = "z"
[certificate]
target = "discrete"
"""


def test_check_says_the_angles_and_loads_of_the_bracket(tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(CASE, encoding="utf-8")
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "dihedral angles 14.8 to 142.6 degrees; smallest radius ratio 0.246" in said
    assert "force on 'pin': force (0.0, 0.0, 35585.77) at (0.0, 0.0, 58.0)" in said
    assert "total applied load [N, mm, MPa]: " in said
    assert "35585.8" in said
    assert "unknowns: 5070 of" in said


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("mesh.dofs=10", "mesh.dofs: must lie between 2000 and"),
        ("problem.force.pin.momnt=[1,2,3]", "did you mean 'moment'"),
        ("problem.force.pin.at=[1,2]", "problem.force 'pin': at"),
        ("problem.force.pin.force=[1,2,nan]", "problem.force.pin.force.2: must be finite"),
        ("problem.force.bolt1=[1,2,3]", "problem.force: group 'bolt1' shares"),
        ("problem.force.nowhere=[1,2,3]", "no such boundary group"),
    ],
)
def test_bad_loads_of_the_bracket_are_refused(tmp_path, capsys, override, words):
    path = tmp_path / "case.toml"
    path.write_text(CASE, encoding="utf-8")
    assert main(["check", str(path), "--set", override]) == 2
    assert words in capsys.readouterr().err


def test_unknown_load_case():
    with pytest.raises(InputError, match="did you mean 'torsional'"):
        pp.fem.bracket("torsion")
    with pytest.raises(InputError, match="mesh or dofs, not both"):
        pp.fem.bracket(dofs=5000, mesh=bracket_mesh())


def test_quality_of_regular_cells():
    triangle = pp.io.generate("square", 2)
    assert facet_angles(triangle).min() == pytest.approx(45.0)
    assert radius_ratios(triangle) == pytest.approx(2 * (1 - math.sqrt(0.5)) / math.sqrt(0.5))
    from pinnpoint.mesh.mesh import Mesh

    regular = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [[0, 1, 2, 3]])
    assert radius_ratios(regular) == pytest.approx(1.0)
    assert facet_angles(regular) == pytest.approx(math.degrees(math.acos(1 / 3)))
