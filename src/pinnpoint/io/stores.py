"""Arrays of many instances where they lie: memory-mapped, in HDF5 or in zarr; rows are read when they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pinnpoint.base.errors import DependencyMissingError, InputError
from pinnpoint.base.files import PathLike, require_file

HDF5 = (".h5", ".hdf5")
SUFFIXES = (".npy", *HDF5, ".zarr")


def open_rows(path: PathLike, name: str | None = None) -> Any:
    """An array that is read row by row: anything with a shape and slices.

    Parameters
    ----------
    path
        ``.npy`` (memory-mapped), ``.h5`` or ``.hdf5`` (extra ``mesh``), a ``.zarr`` folder (extra ``zarr``).
    name
        Of the array in the file; needed where it holds several.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"path: '{target}' must end in {', '.join(SUFFIXES)}; save the array with numpy.save")
    if suffix == ".zarr":
        return _zarr(target, name)
    require_file(target, "file")
    if suffix == ".npy":
        try:
            return np.load(target, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise InputError(f"file '{target}': is no numpy file of plain numbers ({str(error)[:100]})") from error
    return dataset(open_hdf5(target), name, target)


def open_hdf5(path: PathLike) -> Any:
    """An HDF5 file, to be read."""
    try:
        import h5py
    except ImportError as error:
        raise DependencyMissingError(f"'{path}': HDF5 files need h5py: pip install 'pinnpoint[mesh]'") from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"file '{path}': is no HDF5 file ({str(error)[:100]})") from error


def dataset(file: Any, name: str | None, path: PathLike) -> Any:
    """An array of numbers in an HDF5 file; the only one, unless it is named."""
    names: list[str] = []
    file.visititems(lambda key, found: names.append(key) if hasattr(found, "shape") and found.shape else None)
    if name is None and len(names) != 1:
        raise InputError(f"name: say which array of '{path}' to take: {', '.join(names) or 'it has none'}")
    chosen = names[0] if name is None else name
    if chosen not in names:
        raise InputError(f"name: '{path}' has no array '{chosen}'; it holds {', '.join(names) or 'none'}")
    if file[chosen].dtype.kind not in "fiub":
        raise InputError(f"name: '{chosen}' in '{path}' must hold real numbers; got {file[chosen].dtype}")
    return file[chosen]


def _zarr(path: Path, name: str | None) -> Any:
    try:
        import zarr
    except ImportError as error:
        raise DependencyMissingError(f"'{path}': zarr stores need zarr: pip install 'pinnpoint[zarr]'") from error
    if not path.is_dir():
        raise InputError(f"file '{path}': no such zarr store")
    try:
        found = zarr.open(str(path), mode="r")
        if isinstance(found, zarr.Array):
            return found
        names = sorted(found.array_keys())
    except (ValueError, KeyError, OSError) as error:
        raise InputError(f"file '{path}': is no zarr store ({str(error)[:100]})") from error
    if name is None and len(names) != 1:
        raise InputError(f"name: say which array of '{path}' to take: {', '.join(names) or 'it has none'}")
    chosen = names[0] if name is None else name
    if chosen not in names:
        raise InputError(f"name: '{path}' has no array '{chosen}'; it holds {', '.join(names) or 'none'}")
    return found[chosen]
