"""Predictions given as nodal values: read from files, and matched to the mesh by coordinates."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinnpoint.base.arrays import Vector, point_list
from pinnpoint.base.brief import brief
from pinnpoint.base.errors import InputError
from pinnpoint.base.files import PathLike, read_bytes
from pinnpoint.io.meshes.meshio import load

SUFFIXES = (".npz", ".npy", ".vtu", ".vtk")
BROKEN = (ValueError, EOFError, OSError, KeyError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What numpy and zipfile raise on files that are not theirs."""


@dataclass(frozen=True, eq=False)
class Field:
    """Values (n,) or (n, c), and the points (n, d) that they belong to where the file holds them."""

    values: Vector
    points: Vector | None = None

    __repr__ = brief


def read_field(path: PathLike, field: str | None = None) -> Field:
    """Read nodal values.

    Parameters
    ----------
    path
        ``.npz`` with ``values`` and, where wanted, ``points``; ``.npy`` with the values alone; ``.vtu`` or ``.vtk``
        with point data. Pickles are refused.
    field
        The name of the values; needed for VTK files with several fields, ``"values"`` by default in ``.npz``.
    """
    data = read_bytes(path, "prediction file")
    target = Path(path)
    suffix = target.suffix.lower()
    try:
        if suffix in (".npz", ".npy"):
            return _numpy(data, suffix, field)
        if suffix in SUFFIXES:
            return _vtk(target, field)
        raise InputError(f"'{suffix}' files are not read (known: {', '.join(SUFFIXES)})")
    except InputError as error:
        raise InputError(f"prediction file '{target}': {error}") from error


def read_array(path: PathLike, field: str | None = None) -> Vector:
    """An array of numbers from an ``.npz`` file, by its name (``"values"`` by default), or from an ``.npy`` file."""
    data, target = read_bytes(path, "file"), Path(path)
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(loaded, np.lib.npyio.NpzFile):
            with loaded as archive:
                name = field or "values"
                if name not in archive.files:
                    raise InputError(f"file '{target}': no array '{name}'; it holds {', '.join(archive.files)}")
                if "points" in archive.files and name != "points":
                    raise InputError(
                        f"file '{target}': holds 'points', and coefficients are not matched by place: one number for "
                        "each cell in the order of the cells, or a picture with grid; put the values in that order and "
                        "leave points out"
                    )
                loaded = archive[name]
        elif field is not None:
            raise InputError(f"file '{target}': field '{field}': it is one array without a name; leave field out")
        found = np.asarray(loaded)
        if found.dtype.kind not in "fiu":
            raise InputError(f"file '{target}': must hold real numbers; got an array of {found.dtype}")
        found = found.astype(np.float64)
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"file '{target}': {_refusal(data, error)}") from error
    if not np.isfinite(found).all():
        raise InputError(f"file '{target}': must hold finite numbers")
    return found


def _numpy(data: bytes, suffix: str, field: str | None) -> Field:
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
    except BROKEN as error:
        raise _refusal(data, error) from error
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        if suffix == ".npz":
            raise InputError("is a single array, not an .npz archive; name it .npy")
        if field is not None:
            raise InputError(f"field '{field}': a .npy file holds one array without a name; leave field out")
        return _field(loaded, None)
    with loaded as archive:
        name = field or "values"
        if name not in archive.files:
            raise InputError(f"no array '{name}'; it holds {', '.join(archive.files) or 'nothing'}")
        try:
            return _field(archive[name], archive["points"] if "points" in archive.files else None)
        except BROKEN as error:
            if isinstance(error, InputError):
                raise
            raise _refusal(data, error) from error


def _refusal(data: bytes, error: Exception) -> InputError:
    numpys = data.startswith((b"PK", b"\x93NUMPY"))
    if data[:1] == b"\x80" or (numpys and "pickle" in str(error).lower()):
        return InputError("holds a pickle or Python objects, which can run code; save plain numbers with numpy.savez")
    why = f" ({str(error)[:100]})" if numpys else ""  # of other files NumPy thinks that they are pickles
    return InputError(f"is not a numpy file{why}; save it with numpy.savez(path, values=...)")


def _vtk(path: Path, field: str | None) -> Field:
    mesh = load(path)
    names = list(mesh.point_data)
    if field is None and len(names) != 1:
        raise InputError(f"field: say which of its point data to take: {', '.join(names) or 'it has none'}")
    name = names[0] if field is None else field
    if name not in mesh.point_data:
        raise InputError(f"field '{name}': no such point data; it holds {', '.join(names) or 'none'}")
    values, points = np.asarray(mesh.point_data[name]), np.asarray(mesh.points)
    planar = points.shape[1] == 3 and not points[:, 2].any()
    if planar and values.ndim == 2 and values.shape[1] == 3 and not values[:, 2].any():
        values = values[:, :2]  # viewers' third component of plane vectors
    return _field(values, points)


def _field(values: Vector, points: Vector | None) -> Field:
    rows = np.asarray(values)
    if rows.ndim not in (1, 2) or not len(rows):
        raise InputError(f"values: must have shape (n,) or (n, c); got {rows.shape}")
    checked = point_list("values", rows, len(rows))
    return Field(checked[:, 0] if rows.ndim == 1 else checked, _points(points, len(rows)))


def _points(points: Vector | None, count: int) -> Vector | None:
    return None if points is None else point_list("points", points, count)
