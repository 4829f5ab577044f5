"""Nodal fields: read, matched by coordinates, written for viewers."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pytest

from pinnpoint.base.errors import InputError
from pinnpoint.io.fields import read_field
from pinnpoint.io.meshes.vtu import write_vtu
from pinnpoint.mesh.domains import generate
from pinnpoint.mesh.matching import match

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("kind", ["interval", "square", "cube"])
def test_vtu_opens_in_meshio_and_comes_back(tmp_path, capsys, kind):
    meshio = pytest.importorskip("meshio")
    mesh = generate(kind, 3)
    u = RNG.standard_normal(len(mesh.points))
    vector = RNG.standard_normal((len(mesh.points), mesh.dim))
    path = write_vtu(tmp_path / "a.vtu", mesh, {'u <"&>': u, "displacement": vector}, {"size": mesh.volumes})
    opened = meshio.read(path)
    assert capsys.readouterr() == ("", "")
    np.testing.assert_array_equal(opened.points[:, : mesh.dim], mesh.points)
    np.testing.assert_array_equal(opened.cells[0].data, mesh.cells)
    np.testing.assert_array_equal(opened.point_data['u <"&>'], u)
    np.testing.assert_array_equal(opened.cell_data["size"][0], mesh.volumes)
    assert [p.name for p in tmp_path.iterdir()] == ["a.vtu"]
    field = read_field(path, "displacement")
    np.testing.assert_array_equal(field.values.reshape(vector.shape), vector)
    values, distance = match(field.points, field.values, mesh.points)
    np.testing.assert_array_equal(values, field.values)
    assert distance == 0.0


def test_fields_of_numpy_come_back_as_written(tmp_path):
    u, X = RNG.standard_normal((7, 2)), RNG.standard_normal((7, 3))
    np.savez(tmp_path / "a.npz", values=u, points=X, note=np.array(3))
    np.savez(tmp_path / "b.npz", u=u[:, 0])
    np.save(tmp_path / "c.npy", u[:, 0].astype(np.float32))
    a = read_field(tmp_path / "a.npz")
    np.testing.assert_array_equal(a.values, u)
    np.testing.assert_array_equal(a.points, X)
    b = read_field(tmp_path / "b.npz", "u")
    assert b.values.shape == (7,)
    assert b.points is None
    assert read_field(tmp_path / "c.npy").values.dtype == np.float64


def test_matching_undoes_any_order(caplog):
    mesh = generate("lshape", 6)
    u = RNG.standard_normal(len(mesh.points))
    order = RNG.permutation(len(u))
    X = mesh.points[order].astype(np.float32)
    values, distance = match(X, u[order], mesh.points)
    np.testing.assert_array_equal(values, u)
    assert 0.0 < distance < 1e-7
    extra = np.concatenate([np.pad(X, ((0, 0), (0, 1))), [[9.0, 9.0, 0.0]]])
    with caplog.at_level(logging.WARNING):
        values, _ = match(extra, np.append(u[order], 7.0), mesh.points)
    np.testing.assert_array_equal(values, u)
    assert "1 of" in caplog.text


SQUARE = generate("square", 2).points
MATCHES = {
    "too few points": ((SQUARE[:-1], np.ones(8)), "9 mesh points need a value each; only 8"),
    "one far away": ((SQUARE + [[0.01, 0.0]] * 9, np.ones(9)), r"9 of 9 mesh points have no .* 0.01 away \(0.0005 is"),
    "another plane": ((np.pad(SQUARE, ((0, 0), (0, 1)), constant_values=1.0), np.ones(9)), "no given point within"),
    "double points": ((np.repeat(SQUARE, 2, axis=0), np.ones(18)), "9 of 9 mesh points have several given points"),
    "other length": ((SQUARE, np.ones(8)), "points: must be 8 points"),
    "NaN point": ((SQUARE * np.nan, np.ones(9)), "points: must be finite"),
}


@pytest.mark.parametrize("name", MATCHES)
def test_fields_that_match_no_nodes_are_refused(name):
    (points, values), words = MATCHES[name]
    with pytest.raises(InputError, match=words):
        match(points, values, SQUARE)


def saved(tmp_path, name, **arrays):
    np.savez(tmp_path / name, **arrays)
    return tmp_path / name


def written(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


REFUSED = {
    "pickle as npy": (lambda p: (written(p, "a.npy", pickle.dumps(Evil())), None), "holds a pickle"),
    "pickle as npz": (lambda p: (written(p, "a.npz", pickle.dumps([1])), None), "holds a pickle"),
    "objects": (lambda p: (saved(p, "a.npz", values=np.array([Evil()], dtype=object)), None), "holds a pickle"),
    "pickle by name": (lambda p: (written(p, "a.pkl", pickle.dumps([1])), None), "'.pkl' files are not read"),
    "junk": (lambda p: (written(p, "a.npz", b"junk" * 9), None), "is not a numpy file; save it"),
    "cut archive": (
        lambda p: (written(p, "b.npz", saved(p, "a.npz", values=np.ones(99)).read_bytes()[:300]), None),
        "not a numpy file",
    ),
    "empty": (lambda p: (written(p, "a.npz", b""), None), "the file is empty"),
    "missing": (lambda p: (p / "a.npz", None), "no such file"),
    "directory": (lambda p: (p, None), "is a directory"),
    "no values": (lambda p: (saved(p, "a.npz", u=np.ones(3)), None), "no array 'values'; it holds u"),
    "NaN": (lambda p: (saved(p, "a.npz", values=[1.0, np.nan]), None), "values: must be finite; 1 of 2"),
    "inf": (lambda p: (saved(p, "a.npz", values=[1.0, np.inf]), None), "values: must be finite"),
    "NaN point": (lambda p: (saved(p, "a.npz", values=[1.0], points=[[np.nan]]), None), "points: must be finite"),
    "points of another number": (
        lambda p: (saved(p, "a.npz", values=[1.0, 2.0], points=[[1.0]]), None),
        "points: must be 2 points",
    ),
    "complex": (lambda p: (saved(p, "a.npz", values=[1j]), None), "values: must hold real numbers"),
    "text": (lambda p: (saved(p, "a.npz", values=["a"]), None), "values: must hold real numbers"),
    "one number": (lambda p: (saved(p, "a.npz", values=3.0), None), "must have shape"),
    "three dimensions": (lambda p: (saved(p, "a.npz", values=np.ones((2, 2, 2))), None), "must have shape"),
    "no rows": (lambda p: (saved(p, "a.npz", values=np.ones(0)), None), "must have shape"),
    "which field": (
        lambda p: (write_vtu(p / "a.vtu", generate("square", 1), {"u": np.ones(4), "v": np.ones(4)}), None),
        "say which of its point data to take: u, v",
    ),
    "unknown field": (
        lambda p: (write_vtu(p / "a.vtu", generate("square", 1), {"u": np.ones(4)}), "w"),
        "field 'w': no such point data; it holds u",
    ),
    "junk vtu": (lambda p: (written(p, "a.vtu", b"junk"), None), "could not be read as VTU"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_field_files_are_refused(tmp_path, capsys, name):
    make, words = REFUSED[name]
    path, field = make(tmp_path)
    with pytest.raises(InputError, match=words):
        read_field(path, field)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"u": np.ones(3)}, "field 'u': must be 4 points"),
        ({"u": np.full(4, np.nan)}, "field 'u': must be finite"),
        ({"": np.ones(4)}, "needs a name"),
    ],
)
def test_nothing_is_written_when_refused(tmp_path, fields, words):
    with pytest.raises(InputError, match=words):
        write_vtu(tmp_path / "a.vtu", generate("square", 1), fields)
    with pytest.raises(InputError, match="could not be written"):
        write_vtu(tmp_path / "none" / "a.vtu", generate("square", 1), {"u": np.ones(4)})
    assert list(tmp_path.iterdir()) == []
