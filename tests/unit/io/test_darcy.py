"""Darcy data sets as people have them: the same instances by every door, conventions asked, nothing executed."""

from __future__ import annotations

import numpy as np
import pytest

import pinnpoint as pp
from pinnpoint.fem.data.grids import GridMap, from_grid, on_nodes
from pinnpoint.mesh.mesh import Mesh
from pinnpoint.models.runtimes.grid import grid_predictor

FIELDS = pp.fem.darcy_fields(8, 5, seed=1)
STATES = np.random.default_rng(0).random((5, 8, 8))


def written(tmp_path, kind):
    """The same five instances in the layout of each format."""
    path = tmp_path / f"data{kind}"
    if kind == ".npz":
        np.savez(path, kappa=FIELDS, solution=STATES)
    elif kind == ".mat":
        from scipy.io import savemat

        savemat(path, {"coeff": FIELDS, "sol": STATES})
    elif kind == ".pt":
        torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
        torch.save({"x": torch.tensor(FIELDS > 5.0), "y": torch.tensor(STATES)}, path)
    else:
        h5py = pytest.importorskip("h5py", reason="pip install 'pinnpoint[mesh]'")
        if kind == "-7.3.mat":
            with h5py.File(path, "w", userblock_size=512) as file:  # columns first, as MATLAB stores
                file["coeff"], file["sol"] = FIELDS.T, STATES.T
            with path.open("r+b") as stream:
                stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
        else:
            with h5py.File(path, "w") as file:
                file["nu"], file["tensor"], file["x-coordinate"] = FIELDS, STATES[:, None], np.arange(8.0)
    return path


@pytest.mark.optional
@pytest.mark.parametrize("kind", [".npz", ".mat", ".pt", "-7.3.mat", ".hdf5"])
def test_every_door_gives_the_same_instances(tmp_path, kind):
    two = {"low": 3.0, "high": 12.0} if kind == ".pt" else {}
    data = pp.io.read_darcy(written(tmp_path, kind), grid="cells", **two)
    np.testing.assert_array_equal(data.kappa, FIELDS)
    np.testing.assert_array_equal(data.solution, STATES)
    assert data.told["grid"] == "cells"
    assert data.told["axes"] == "first along x, then along y"
    assert ("x-coordinate 0 to 7 in the file; not used" in data.told.get("coordinates", "")) == (kind == ".hdf5")
    some = pp.io.read_darcy(tmp_path / f"data{kind}", grid="nodes", rows=slice(1, 3), **two)
    np.testing.assert_array_equal(some.kappa, FIELDS[1:3])
    np.testing.assert_array_equal(some.solution, STATES[1:3])
    assert some.at == "nodes"


def test_the_convention_of_kappa_is_asked_for(tmp_path):
    path = written(tmp_path, ".npz")
    with pytest.raises(pp.InputError, match=r"grid: say what the stored κ means: 'cells'.*'nodes'.*'bilinear'"):
        pp.io.read_darcy(path)
    with pytest.raises(pp.InputError, match="got 'pixels'"):
        pp.io.read_darcy(path, grid="pixels")
    with pytest.raises(pp.InputError, match="at: must be one of nodes, cells"):
        pp.io.read_darcy(path, grid="cells", at="corners")


def test_truth_values_are_no_coefficient(tmp_path):
    for stored in (FIELDS > 5.0, (FIELDS > 5.0).astype(float), np.ones((2, 4, 4))):
        np.savez(tmp_path / "b.npz", kappa=stored)
        with pytest.raises(pp.InputError, match="low, high: the file holds truth values"):
            pp.io.read_darcy(tmp_path / "b.npz", grid="cells")
        found = pp.io.read_darcy(tmp_path / "b.npz", grid="cells", low=4.0, high=12.0)
        np.testing.assert_array_equal(found.kappa, np.where(stored, 12.0, 4.0))
        assert found.solution is None
        assert found.told["values"].startswith("4 and 12")
    np.savez(tmp_path / "b.npz", kappa=FIELDS)
    assert pp.io.read_darcy(tmp_path / "b.npz", grid="cells", low=4.0, high=12.0).kappa.min() == 4.0
    for bad, words in (({"low": 3.0}, "together"), ({"low": 0.0, "high": 1.0}, "low")):
        with pytest.raises(pp.InputError, match=words):
            pp.io.read_darcy(tmp_path / "b.npz", grid="cells", **bad)
    np.savez(tmp_path / "b.npz", kappa=STATES)
    with pytest.raises(pp.InputError, match="320 different values"):
        pp.io.read_darcy(tmp_path / "b.npz", grid="cells", low=3.0, high=12.0)


def test_nothing_in_a_file_is_executed(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was run",))

    np.savez(tmp_path / "e.npz", kappa=np.array([Evil()], dtype=object))
    with pytest.raises(pp.InputError, match="archive of plain arrays"):
        pp.io.read_darcy(tmp_path / "e.npz", grid="cells")
    torch = pytest.importorskip("torch", reason="pip install 'pinnpoint[torch]'")
    torch.save({"x": Evil()}, tmp_path / "e.pt")
    with pytest.raises(pp.InputError, match="others can run code"):
        pp.io.read_darcy(tmp_path / "e.pt", grid="cells")


def test_refusals_name_what_is_missing(tmp_path):
    np.savez(tmp_path / "a.npz", other=FIELDS, flat=FIELDS[0], text=np.array("x"))
    with pytest.raises(pp.InputError, match="has no array 'kappa'"):
        pp.io.read_darcy(tmp_path / "a.npz", grid="cells")
    with pytest.raises(pp.InputError, match="has no array 'sol'"):
        pp.io.read_darcy(tmp_path / "a.npz", grid="cells", coefficient="other", solution="sol")
    with pytest.raises(pp.InputError, match=r"shape \(instances, n_x, n_y\)"):
        pp.io.read_darcy(tmp_path / "a.npz", grid="cells", coefficient="flat")
    (tmp_path / "a.csv").write_text("1")
    with pytest.raises(pp.InputError, match=r"'\.csv' files are not read"):
        pp.io.read_darcy(tmp_path / "a.csv", grid="cells")
    for name in ("a.mat", "b.npz"):
        (tmp_path / name).write_bytes(b"nothing of the kind, but long enough" * 20)
        with pytest.raises(pp.InputError, match="is no"):
            pp.io.read_darcy(tmp_path / name, grid="cells")


def test_pictures_on_the_mesh_are_those_of_one_picture_at_a_time():
    data = pp.io.DarcyData(FIELDS, STATES, "cells", "cells", {})
    mesh = data.mesh()
    kappas, states = data.on()
    for i in range(len(data)):
        np.testing.assert_array_equal(kappas[i], from_grid(mesh, FIELDS[i]))
        np.testing.assert_allclose(states[i], grid_predictor(STATES[i], at="cells")(mesh.points), atol=1e-14)
    assert len(mesh.cells) == 2 * 8 * 8
    fine = pp.io.generate("square", 5)
    corners = on_nodes(fine, STATES)
    np.testing.assert_allclose(corners[2], grid_predictor(STATES[2])(fine.points), atol=1e-14)
    at_nodes = pp.io.DarcyData(FIELDS, None, "nodes", "nodes", {})
    assert len(at_nodes.mesh().cells) == 2 * 7 * 7
    assert at_nodes.on()[1] is None
    with pytest.raises(pp.InputError, match="no square"):
        pp.io.DarcyData(FIELDS[:, :3], None, "cells", "cells", {}).mesh()
    with pytest.raises(pp.InputError, match="pictures must have the shape"):
        GridMap.of_cells(mesh, (8, 8), "cells")(FIELDS[:, :4])


def test_meshes_that_do_not_fit_the_pictures_are_refused():
    data = pp.io.DarcyData(FIELDS, STATES, "cells", "cells", {})
    finer = pp.io.generate("square", 16)
    np.testing.assert_array_equal(data.on(finer)[0], [from_grid(finer, field) for field in FIELDS])
    for mesh, words in (
        (pp.io.generate("square", 4), "inside one of 8 × 8 pixels; 32 are not"),
        (pp.io.generate("square", 12), "inside one of"),
        (pp.io.generate("lshape", 8), "outside|must cover"),
        (pp.io.generate("cube", 2), "axes"),
    ):
        with pytest.raises(pp.InputError, match=words):
            data.on(mesh)
    larger = Mesh(2.0 * finer.points, finer.cells)
    with pytest.raises(pp.InputError, match="outside"):
        data.on(larger)
    np.testing.assert_array_equal(data.on(larger, [[0, 2], [0, 2]])[0], data.on(finer)[0])
    smaller = Mesh(0.5 * finer.points, finer.cells)
    with pytest.raises(pp.InputError, match="must cover the box"):
        data.on(smaller)


@pytest.mark.optional
@pytest.mark.parametrize("suffix", [".npy", ".h5", ".zarr"])
def test_stores_are_read_by_rows(tmp_path, suffix):
    path = tmp_path / f"k{suffix}"
    if suffix == ".npy":
        np.save(path, FIELDS)
    elif suffix == ".h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["a"], file["b"] = FIELDS, STATES
    else:
        zarr = pytest.importorskip("zarr", reason="pip install 'pinnpoint[zarr]'")
        group = zarr.open_group(str(path), mode="w")
        for name, a in (("a", FIELDS), ("b", STATES)):
            group.create_array(name, shape=a.shape, chunks=(2, 8, 8), dtype="f8")[:] = a
    name = None if suffix == ".npy" else "a"
    rows = pp.io.open_rows(path, name)
    np.testing.assert_array_equal(rows[1:3], FIELDS[1:3])
    assert rows.shape == FIELDS.shape
    if name:
        with pytest.raises(pp.InputError, match="say which array"):
            pp.io.open_rows(path)
        with pytest.raises(pp.InputError, match="has no array 'c'; it holds a, b"):
            pp.io.open_rows(path, "c")
    with pytest.raises(pp.InputError, match="must end in"):
        pp.io.open_rows(tmp_path / "k.csv")


def test_the_order_of_the_axes_is_recorded_and_may_be_said(tmp_path):
    """Rows of the picture along y: κ grows along y then, and so do its cells."""
    np.savez(tmp_path / "a.npz", kappa=np.arange(1.0, 5.0)[None, :, None] * np.ones((1, 4, 4)))
    for axes, axis in (("xy", 0), ("yx", 1)):
        data = pp.io.read_darcy(tmp_path / "a.npz", grid="cells", axes=axes)
        mesh = data.mesh()
        place = mesh.points[mesh.cells].mean(axis=1)[:, axis]
        np.testing.assert_array_equal(data.on(mesh)[0][0], np.floor(4.0 * place) + 1.0)
        assert "xy"[axis] in data.told["axes"].split(",")[0]
    with pytest.raises(pp.InputError, match="axes: must be one of"):
        pp.io.read_darcy(tmp_path / "a.npz", grid="cells", axes="zx")


def test_rows_of_one_value_do_not_say_which_it_is(tmp_path):
    K = np.full((3, 4, 4), 3.0)
    K[0, :2] = 12.0
    K[2] = 12.0
    np.savez(tmp_path / "r.npz", kappa=K)
    for rows in (slice(1, 2), slice(2, 3)):
        with pytest.raises(pp.InputError, match=r"low, high: the instances that were read hold one value"):
            pp.io.read_darcy(tmp_path / "r.npz", grid="cells", low=4.0, high=12.0, rows=rows)
    found = pp.io.read_darcy(tmp_path / "r.npz", grid="cells", low=4.0, high=12.0)
    assert (found.kappa[1].max(), found.kappa[2].min()) == (4.0, 12.0)
    np.savez(tmp_path / "t.npz", kappa=(K > 5.0))  # truth values say it themselves
    assert pp.io.read_darcy(tmp_path / "t.npz", grid="cells", low=4.0, high=12.0, rows=slice(1, 2)).kappa.max() == 4.0
