"""`verify --inputs` reads coefficients from files cell by cell, and predictions in all forms: others are refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.cli.main import main
from pinnpoint.models.networks.safetensors import write_safetensors
from pinnpoint_verify.cell_values import on_cells
from pinnpoint_verify.reader import Refused
from tests.contract.test_verify_inputs import CASE, old, verdict
from tests.soundness.test_bundle_forged import Forger

PICTURE = """[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
diffusion = {{ file = "kappa.npz"{how} }}
source = 1.0
[problem.dirichlet]
boundary = 0.0
[prediction]
zero = true
[certificate]
target = "{target}"
[[query]]
name = "all"
kind = "mean"
"""
HOW = {
    "cells": (', grid = "cells"', (3, 2)),
    "nodes": (', grid = "nodes", field = "k"', (3, 3)),
    "bilinear": (', grid = "bilinear", box = [[-1.0, 2.0], [0.0, 1.5]]', (4, 5)),
    "by cell": ("", (32,)),
    "matrices": ("", (32, 2, 2)),
}


def resealed(folder, word, name):
    """The digest of a file that another stands for now."""
    forger, digest = Forger(folder / "o/bundle"), hashlib.sha256((folder / name).read_bytes()).hexdigest()
    forger.json("certificate.json", lambda d: d["inputs"][word].update(sha256=digest))
    forger.seal()


def certified(folder, case):
    (folder / "case.toml").write_text(case)
    assert main(["certify", str(folder / "case.toml"), "--out", str(folder / "o"), "--quiet"]) == 0


@pytest.mark.parametrize("target", ["discrete", "continuous"])
@pytest.mark.parametrize("how", HOW)
def test_coefficients_are_the_files_on_every_cell(tmp_path, capsys, how, target):
    more, shape = HOW[how]
    rng, field = np.random.default_rng(3), "k" if "field" in more else "values"
    values = 1.0 + rng.random(shape)
    if how == "matrices":
        values = 0.2 * (values + values.swapaxes(1, 2)) + np.eye(2)
    np.savez(tmp_path / "kappa.npz", **{field: values})
    certified(tmp_path, PICTURE.format(how=more, target=target))
    assert str(tmp_path) not in "".join(p.read_text() for p in (tmp_path / "o/bundle").glob("*.json"))
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 0, out
    proved = target == "continuous"
    assert ("its value on each of 32 cells" in out) == proved
    assert ("verified: A, with diffusion" in out) == (how not in ("cells", "matrices"))
    if proved:
        assert "nothing to compare with" not in out or "A where coefficients vary" in out
    np.savez(tmp_path / "kappa.npz", **{field: values * (1.0 + 1e-6 * rng.random(shape)[..., :1] ** 9)})
    assert "has the SHA-256" in verdict(tmp_path, capsys, "--inputs", str(tmp_path))[1]
    resealed(tmp_path, "diffusion", "kappa.npz")
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    if proved or how not in ("cells", "matrices"):
        assert code == 1, out
        assert "is not that of the file" in out or "not the matrix" in out
    else:
        assert "declared: mesh and prediction" in out


@pytest.mark.parametrize(
    "values",
    [np.zeros((2, 0)), np.zeros(31), np.full((3, 2), np.nan), np.array([["a"]]), np.zeros((3, 2, 1))],
)
def test_files_of_other_shapes_or_without_numbers_are_refused(tmp_path, capsys, values):
    np.savez(tmp_path / "kappa.npz", values=np.ones((3, 2)))
    certified(tmp_path, PICTURE.format(how=HOW["cells"][0], target="continuous"))
    np.savez(tmp_path / "kappa.npz", values=values)
    resealed(tmp_path, "diffusion", "kappa.npz")
    assert verdict(tmp_path, capsys, "--inputs", str(tmp_path))[0] == 1


REFUSED = {
    "complex numbers": ({"values": np.ones(32) + 5j}, "", "must hold real numbers; got an array of complex128"),
    "texts": ({"values": np.array(["1"] * 32)}, "", "must hold real numbers"),
    "flags": ({"values": np.ones(32, bool)}, "", "must hold real numbers; got an array of bool"),
    "a box of no picture": ({"values": np.ones(32)}, ", box = [[0, 2], [0, 1]]", "diffusion.box: only with grid"),
    "places": ({"values": np.ones(32), "points": np.ones((32, 2))}, "", "not matched by place"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_be_dropped_of_a_file_is_refused(tmp_path, capsys, what):
    arrays, how, line = REFUSED[what]
    np.savez(tmp_path / "kappa.npz", **arrays)
    (tmp_path / "case.toml").write_text(PICTURE.format(how=how, target="continuous"))
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 2
    assert line in capsys.readouterr().err


def test_a_name_in_a_file_of_one_array_is_refused(tmp_path, capsys):
    np.save(tmp_path / "kappa.npy", np.ones(32))
    text = PICTURE.format(how=', field = "k"', target="continuous").replace(".npz", ".npy")
    (tmp_path / "case.toml").write_text(text)
    assert main(["certify", str(tmp_path / "case.toml"), "--out", str(tmp_path / "o"), "--quiet"]) == 2
    assert "one array without a name" in capsys.readouterr().err


def test_another_name_than_the_cases_is_refused(tmp_path, capsys):
    for name, top in (("kappa", 2.0), ("other", 3.0)):
        np.savez(tmp_path / f"{name}.npz", values=np.array([[1.0, top]]))
    certified(tmp_path, PICTURE.format(how=HOW["cells"][0], target="continuous"))
    forger = Forger(tmp_path / "o/bundle")
    forger.json("certificate.json", lambda d: d["inputs"]["diffusion"].update(file="other.npz"))
    forger.seal()
    assert "the case names 'kappa.npz'" in verdict(tmp_path, capsys, "--inputs", str(tmp_path))[1]


def test_a_centre_on_an_edge_of_pixels_may_have_either_value_and_no_third():
    X = np.array([[[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]])
    said = {"grid": "cells", "box": [[0.0, 1.0], [0.0, 1.0]]}
    found = {float(v[0]) for v in on_cells(np.array([[1.0, 2.0], [3.0, 4.0]]), said, X)}
    assert found == {1.0, 3.0}
    with pytest.raises(Refused, match="outside"):
        on_cells(np.ones((2, 2)), said, X + 0.6)


def test_values_by_cells_need_the_mesh_files_order(tmp_path, capsys):
    """Cells that change places carry values away, though cells and values are the same sets."""
    (tmp_path / "part.msh").write_text(old(2))
    mesh = pp.io.read_mesh(tmp_path / "part.msh")
    np.save(tmp_path / "k.npy", 1.0 + np.arange(len(mesh.cells)))
    np.save(tmp_path / "f.npy", 0.3 * mesh.points[:, 0])
    case = CASE.replace("{ iron = 1.0, air = 5.0 }", '{ file = "k.npy" }').replace("f.npz", "f.npy")
    certified(tmp_path, case)
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 0, out
    assert "prediction f.npy: its SHA-256, values at the nodes" in out
    assert "declared: mesh and prediction" not in out
    lines = old(2).splitlines()
    first, *_, last = (i for i, line in enumerate(lines) if line.split()[1:3] == ["2", "2"])
    lines[first], lines[last] = lines[last], lines[first]
    (tmp_path / "part.msh").write_text("\n".join(lines) + "\n")
    resealed(tmp_path, "mesh", "part.msh")
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert "but not the order of the cells" in out
    assert "declared: mesh and prediction" in out


def test_values_by_place_and_by_another_name_are_read(tmp_path, capsys):
    (tmp_path / "part.msh").write_text(old(2))
    points = pp.io.read_mesh(tmp_path / "part.msh").points[::-1]
    np.savez(tmp_path / "f.npz", values=np.zeros(3), u=0.3 * points[:, 0], points=points)
    certified(tmp_path, CASE.replace('"f.npz"', '"f.npz"\nfield = "u"'))
    assert "f.npz: its SHA-256, values at the nodes" in verdict(tmp_path, capsys, "--inputs", str(tmp_path))[1]
    np.savez(tmp_path / "f.npz", values=np.zeros(3), u=0.3 * points[:, 0] + 1e-9, points=points)
    resealed(tmp_path, "prediction", "f.npz")
    assert "does not have the values" in verdict(tmp_path, capsys, "--inputs", str(tmp_path))[1]


NETWORK = """[mesh]
generate = "square"
cells = 4
[problem]
kind = "reaction-diffusion"
source = 1.0
[problem.dirichlet]
boundary = 0.0
[prediction]
torch = "net.safetensors"
activation = "{activation}"
factor = "x*(1-x)*y*(1-y)"
[certificate]
target = "continuous"
lift = true
[[query]]
name = "all"
kind = "mean"
"""


def test_weights_of_a_lifted_network_are_the_files(tmp_path, capsys):
    rng = np.random.default_rng(5)
    tensors = {"0.weight": rng.normal(size=(3, 2)), "0.bias": rng.normal(size=3)}
    tensors |= {"2.weight": 0.1 * rng.normal(size=(1, 3)), "2.bias": np.zeros(1)}
    write_safetensors(tmp_path / "net.safetensors", tensors)
    certified(tmp_path, NETWORK.format(activation="tanh"))
    code, out = verdict(tmp_path, capsys, "--inputs", str(tmp_path))
    assert code == 0, out
    assert "net.safetensors: its SHA-256, weights" in out
    assert "declared: the weights" not in out
    assert "declared: the weights" in verdict(tmp_path, capsys)[1]
    tensors["0.bias"] = tensors["0.bias"] + 1e-12
    write_safetensors(tmp_path / "net.safetensors", tensors)
    resealed(tmp_path, "prediction", "net.safetensors")
    assert "the bias of layer 0 is not the file's" in verdict(tmp_path, capsys, "--inputs", str(tmp_path))[1]
